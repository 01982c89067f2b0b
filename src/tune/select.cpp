#include "tune/select.h"

#include <algorithm>
#include <string>
#include <tuple>

#include "support/hash.h"

namespace autoperfect {
namespace {

constexpr double same_speed = 1.02;  // of two medians that differ by less nobody can say which is faster

}  // namespace

std::optional<size_t> best_of(const std::vector<Score>& scores) {
  std::optional<size_t> fastest;
  for (size_t i = 0; i < scores.size(); ++i) {
    if (scores[i].timing.failed) continue;
    if (!fastest || scores[i].timing.median < scores[*fastest].timing.median) fastest = i;
  }
  if (!fastest) return std::nullopt;
  const Timing& lead = scores[*fastest].timing;
  auto is_tied = [&](const Timing& t) { return !t.failed && t.median <= lead.median * same_speed; };
  auto simplicity = [&](size_t i) {
    return std::tuple(scores[i].source.size(), hash_hex(scores[i].source), i);
  };
  size_t best = *fastest;
  for (size_t i = 0; i < scores.size(); ++i)
    if (is_tied(scores[i].timing) && simplicity(i) < simplicity(best)) best = i;
  return best;
}

bool beats_all(const Timing& timing, const std::vector<Timing>& baselines, double margin) {
  return std::all_of(baselines.begin(), baselines.end(), [&](const Timing& baseline) {
    return baseline.failed || clearly_faster(timing, baseline, margin);
  });
}

}  // namespace autoperfect
