#include "ir/index_text.h"

#include <fmt/format.h>

#include <algorithm>

namespace autoperfect {

namespace {

bool report_index(TextReader& reader, const Where& where) {
  reader.report("bad-index", "this is not an integer of 64 bits", where);
  return false;
}

// A number, an axis, or a number times an axis, added to `affine`.
bool parse_term(TextReader& reader, const AxesByName& axes, int64_t sign, Affine& affine) {
  auto where = reader.peek().where;
  int64_t factor = sign;
  if (reader.at(TokenKind::number)) {
    auto number = to_int64(reader.next().text);
    if (!number || __builtin_mul_overflow(*number, sign, &factor)) return report_index(reader, where);
    if (!reader.take("*")) {
      bool fits = !__builtin_add_overflow(affine.offset, factor, &affine.offset);
      return fits || report_index(reader, where);
    }
  }
  auto axis = parse_axis(reader, axes);
  if (!axis) return false;
  auto& terms = affine.terms;
  auto place = std::lower_bound(terms.begin(), terms.end(), std::pair(*axis, INT64_MIN));
  if (place == terms.end() || place->first != *axis) place = terms.insert(place, {*axis, 0});
  bool fits = !__builtin_add_overflow(place->second, factor, &place->second);
  return fits || report_index(reader, where);
}

// The sign before a term, or nothing when no term can follow. That of a number belongs to the number: j-1 is
// j, -1.
std::optional<int64_t> parse_sign(TextReader& reader, bool first) {
  if (reader.take("-")) return -1;
  if (first || reader.take("+")) return 1;
  if (reader.at(TokenKind::number) && reader.peek().text[0] == '-') return 1;
  reader.report_unexpected("'+' or '-'");
  return std::nullopt;
}

}  // namespace

std::optional<AxisId> parse_axis(TextReader& reader, const AxesByName& axes) {
  auto word = reader.expect(TokenKind::word, "an axis");
  if (!word) return std::nullopt;
  auto axis = axes.find(word->text);
  if (axis != axes.end()) return axis->second;
  auto message = fmt::format("no axis is called '{}'", word->text);
  reader.report("unknown-axis", message, word->where, "the axes are listed at the head of the math");
  return std::nullopt;
}

// 2*j+k-1: any number of terms in any order.
std::optional<Affine> parse_affine(TextReader& reader, const AxesByName& axes) {
  Affine affine;
  bool first = true;
  do {
    auto sign = parse_sign(reader, first);
    if (!sign || !parse_term(reader, axes, *sign, affine)) return std::nullopt;
    first = false;
  } while (!reader.at(",") && !reader.at("]"));
  std::erase_if(affine.terms, [](const auto& term) { return term.second == 0; });
  return affine;
}

std::optional<std::vector<Affine>> parse_index(TextReader& reader, const AxesByName& axes) {
  std::vector<Affine> index;
  if (!reader.expect("[")) return std::nullopt;
  while (!reader.at("]")) {
    if (!index.empty() && !reader.expect(",")) return std::nullopt;
    auto affine = parse_affine(reader, axes);
    if (!affine) return std::nullopt;
    index.push_back(std::move(*affine));
  }
  reader.next();
  return index;
}

void append_axes(std::string& out, const std::vector<AxisId>& axes, const std::vector<std::string>& names) {
  for (size_t i = 0; i < axes.size(); ++i) {
    if (i > 0) out += ',';
    out += names[axes[i]];
  }
}

void append_affine(std::string& out, const Affine& affine, const std::vector<std::string>& names) {
  bool first = true;
  for (auto [axis, coefficient] : affine.terms) {
    if (coefficient >= 0 && !first) out += '+';
    if (coefficient == -1) {
      out += '-';
    } else if (coefficient != 1) {
      out += std::to_string(coefficient) + '*';
    }
    out += names[axis];
    first = false;
  }
  if (affine.offset == 0 && !first) return;
  if (affine.offset >= 0 && !first) out += '+';
  out += std::to_string(affine.offset);
}

void append_index(std::string& out, const std::vector<Affine>& index, const std::vector<std::string>& names) {
  out += '[';
  for (size_t d = 0; d < index.size(); ++d) {
    if (d > 0) out += ',';
    append_affine(out, index[d], names);
  }
  out += ']';
}

}  // namespace autoperfect
