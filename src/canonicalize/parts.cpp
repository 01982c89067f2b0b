#include "canonicalize/parts.h"

#include <algorithm>

#include "canonicalize/structural_hash.h"
#include "canonicalize/views.h"

namespace autoperfect {

namespace {

bool is_concatenated_along(const Node& node, int64_t axis) {
  return node.op == Op::concatenate && node.attributes.get<int64_t>("axis") == axis &&
         node.operands.size() <= most_parts;
}

bool is_padded_along(const Node& node, int64_t axis) {
  return node.op == Op::pad && node.attributes.get<std::vector<int64_t>>("axes") == std::vector{axis};
}

}  // namespace

std::optional<ValueId> repeated_scalar(const Rewriter& to, ValueId v) {
  const Node* node = to.producer(v);
  const bool repeats = node && (node->op == Op::broadcast || node->op == Op::reshape);
  if (!repeats || !to.shape(node->operands[0]).empty()) return std::nullopt;
  return node->operands[0];
}

std::optional<double> constant_number(const Rewriter& to, ValueId v) {
  const Node* node = to.producer(v, Op::constant);
  if (!node) return std::nullopt;
  const auto* value = node->attributes.find("value");
  if (auto* real = std::get_if<double>(value)) return *real;
  if (auto* integer = std::get_if<int64_t>(value)) return static_cast<double>(*integer);
  return std::nullopt;
}

bool is_joined_along(const Rewriter& to, ValueId v, int64_t axis) {
  const Node* node = to.producer(v);
  return node && (is_concatenated_along(*node, axis) || is_padded_along(*node, axis));
}

Padding padding_of(const Attributes& attributes, size_t rank) {
  const auto& axes = attributes.get<std::vector<int64_t>>("axes");
  const auto& low = attributes.get<std::vector<int64_t>>("low");
  const auto& high = attributes.get<std::vector<int64_t>>("high");
  Padding padding{std::vector<int64_t>(rank, 0), std::vector<int64_t>(rank, 0)};
  for (size_t i = 0; i < axes.size(); ++i) {
    padding.low[axes[i]] = low[i];
    padding.high[axes[i]] = high[i];
  }
  return padding;
}

Attributes pad_attributes(const Padding& padding) {
  std::vector<int64_t> axes, low, high;
  for (size_t d = 0; d < padding.low.size(); ++d) {
    if (padding.low[d] == 0 && padding.high[d] == 0) continue;
    axes.push_back(static_cast<int64_t>(d));
    low.push_back(padding.low[d]);
    high.push_back(padding.high[d]);
  }
  Attributes attributes;
  attributes.set("axes", std::move(axes));
  attributes.set("low", std::move(low));
  attributes.set("high", std::move(high));
  return attributes;
}

Parts::Part Parts::whole(ValueId v) const {
  return {v, repeated_scalar(to_, v).value_or(-1), to_.shape(v)[axis_]};
}

std::vector<Parts::Part> Parts::parts_of(ValueId v) const {
  const Node* node = to_.producer(v);
  if (!node) return {whole(v)};
  std::vector<Part> parts;
  if (is_concatenated_along(*node, axis_)) {
    for (auto operand : node->operands)
      parts.push_back(whole(operand));
  } else if (is_padded_along(*node, axis_)) {
    const ValueId scalar = node->operands[1];
    parts.push_back({-1, scalar, node->attributes.get<std::vector<int64_t>>("low")[0]});
    parts.push_back(whole(node->operands[0]));
    parts.push_back({-1, scalar, node->attributes.get<std::vector<int64_t>>("high")[0]});
  } else {
    parts.push_back(whole(v));
  }
  return parts;
}

void Parts::append(ValueId v) {
  const auto parts = parts_of(v);
  if (parts_.size() + parts.size() > most_parts) return push(whole(v));
  for (const auto& part : parts)
    push(part);
}

void Parts::append_repeated(ValueId scalar, int64_t size) {
  push({-1, scalar, size});
}

void Parts::append_cut(ValueId v, int64_t first, int64_t last) {
  for (const auto& part : parts_of(v)) {
    const int64_t from = std::clamp<int64_t>(first, 0, part.size);
    const int64_t until = std::clamp<int64_t>(last, 0, part.size);
    first -= part.size;
    last -= part.size;
    if (until <= from) continue;
    if (part.scalar >= 0 || until - from == part.size) {
      push({until - from == part.size ? part.value : -1, part.scalar, until - from});
      continue;
    }
    std::vector<SliceRange> ranges;
    for (auto size : to_.shape(part.value))
      ranges.push_back(autoperfect::whole(size));
    ranges[axis_] = {from, 1, until - from};
    const auto cut = slice_attributes(ranges, to_.shape(part.value));
    push(whole(to_.add(Op::slice, {part.value}, cut)));
  }
}

// Neighbours of one scalar are one part, and so are those that are one slice.
void Parts::push(const Part& part) {
  if (part.size == 0) return;
  if (!parts_.empty()) {
    Part& last = parts_.back();
    if (part.scalar >= 0 && part.scalar == last.scalar) {
      last = {-1, part.scalar, last.size + part.size};
      return;
    }
    if (part.scalar < 0 && last.scalar < 0) {
      if (const auto both = joined_slices(last.value, part.value)) {
        last = whole(*both);
        return;
      }
    }
  }
  parts_.push_back(part);
}

// `a` and `b` as one slice of what both are slices of, when `b` goes on where `a` ends.
std::optional<ValueId> Parts::joined_slices(ValueId a, ValueId b) {
  const Node* first = to_.producer(a, Op::slice);
  const Node* second = to_.producer(b, Op::slice);
  if (!first || !second || first->operands != second->operands) return std::nullopt;
  const ValueId from = first->operands[0];
  auto ranges = slice_ranges(first->attributes, to_.shape(from), to_.shape(a));
  const auto next = slice_ranges(second->attributes, to_.shape(from), to_.shape(b));
  SliceRange& range = ranges[axis_];
  const SliceRange& rest = next[axis_];
  for (size_t d = 0; d < ranges.size(); ++d) {
    if (d != static_cast<size_t>(axis_) && ranges[d] != next[d]) return std::nullopt;
  }
  const int64_t stride = range.count > 1  ? range.stride
                         : rest.count > 1 ? rest.stride
                                          : rest.first - range.first;
  const bool goes_on = stride != 0 && rest.first == range.first + range.count * stride &&
                       (rest.count == 1 || rest.stride == stride);
  if (!goes_on) return std::nullopt;
  range.stride = stride;
  range.count += rest.count;
  return to_.add(Op::slice, {from}, slice_attributes(ranges, to_.shape(from)));
}

ValueId Parts::value_of(const Part& part) {
  if (part.value >= 0) return part.value;
  Shape shape = type_.shape;
  shape[axis_] = part.size;
  return to_.add_broadcast(part.scalar, std::move(shape), "_padding");
}

// One value, and the same scalar around it.
std::optional<NewNode> Parts::padding() const {
  ValueId value = -1, scalar = -1;
  Padding padding{std::vector<int64_t>(type_.shape.size(), 0), std::vector<int64_t>(type_.shape.size(), 0)};
  for (const auto& part : parts_) {
    const bool is_other = part.scalar < 0 ? value >= 0 : scalar >= 0 && part.scalar != scalar;
    if (is_other) return std::nullopt;
    if (part.scalar < 0) {
      value = part.value;
    } else {
      scalar = part.scalar;
      (value < 0 ? padding.low : padding.high)[axis_] = part.size;
    }
  }
  if (value < 0 || scalar < 0) return std::nullopt;
  return NewNode{Op::pad, {value, scalar}, pad_attributes(padding), type_};
}

std::optional<ValueId> Parts::joined(const NewNode& node) {
  if (parts_.empty()) return node.operands[0];
  if (parts_.size() == 1) return value_of(parts_[0]);
  if (auto padded = padding()) {
    const bool stays = node.op == Op::pad && node.operands == padded->operands &&
                       same_bits(node.attributes, padded->attributes);
    if (stays) return std::nullopt;
    return to_.add(Op::pad, std::move(padded->operands), std::move(padded->attributes));
  }
  std::vector<ValueId> values;
  for (const auto& part : parts_)
    values.push_back(part.value);
  if (node.op == Op::concatenate && values == node.operands) return std::nullopt;
  for (size_t i = 0; i < parts_.size(); ++i)
    values[i] = value_of(parts_[i]);
  Attributes attributes;
  attributes.set("axis", axis_);
  return to_.add(Op::concatenate, std::move(values), std::move(attributes));
}

}  // namespace autoperfect
