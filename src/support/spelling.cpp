#include "support/spelling.h"

#include <algorithm>

namespace autoperfect {

namespace {

// Levenshtein distance with two rows.
int edit_distance(std::string_view a, std::string_view b) {
  std::vector<int> above(b.size() + 1), row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j)
    above[j] = static_cast<int>(j);
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = static_cast<int>(i);
    for (size_t j = 1; j <= b.size(); ++j) {
      int replace = above[j - 1] + (a[i - 1] != b[j - 1]);
      row[j] = std::min({replace, above[j] + 1, row[j - 1] + 1});
    }
    std::swap(above, row);
  }
  return above[b.size()];
}

}  // namespace

std::string nearest_word(std::string_view word, const std::vector<std::string_view>& known) {
  if (word.empty() || word.size() > 40) return "";
  int size = static_cast<int>(word.size());
  int best = std::min(std::max(1, size / 3) + 1, size);  // farther than this is a guess
  std::string nearest;
  for (auto candidate : known) {
    int distance = edit_distance(word, candidate);
    if (distance < best) {
      best = distance;
      nearest = candidate;
    }
  }
  return nearest;
}

}  // namespace autoperfect
