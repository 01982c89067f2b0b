// Slices of an array that are assigned: as little of them as the result shows, and as paddings or
// concatenations where the array is one itself.
#include <algorithm>

#include "canonicalize/parts.h"
#include "canonicalize/passes.h"
#include "canonicalize/structural_hash.h"
#include "canonicalize/views.h"

namespace autoperfect {

namespace {

std::optional<Op> op_of_reduction(const Attributes& attributes) {
  const auto reduce = attributes.get_or("reduce", std::string());
  if (reduce == "sum") return Op::add;
  if (reduce == "prod") return Op::mul;
  if (reduce == "max") return Op::maximum;
  if (reduce == "min") return Op::minimum;
  return std::nullopt;
}

class Update {
 public:
  Update(Rewriter& to, const NewNode& node)
      : to_(to),
        node_(node),
        x_(node.operands[0]),
        update_(node.operands[1]),
        shape_(node.type.shape),
        box_(slice_ranges(node.attributes, node.type.shape, to.shape(node.operands[1]))) {}

  std::optional<ValueId> run() {
    if (to_.type(update_).elements() == 0) return x_;
    if (node_.attributes.has("reduce")) return reduced();
    if (auto upward = counted_upward()) return upward;
    if (is_whole()) return update_;
    if (is_unchanged()) return x_;
    if (auto other = onto_earlier_update()) return other;
    if (!is_dense()) return std::nullopt;
    if (const auto scalar = repeated_scalar(to_, x_)) return padded(*scalar);
    return joined();
  }

 private:
  ValueId assigned(ValueId x, ValueId update, const std::vector<SliceRange>& box) {
    return to_.add(Op::slice_update, {x, update}, slice_attributes(box, shape_));
  }

  // What is there already is read, and the result assigned.
  std::optional<ValueId> reduced() {
    const auto op = op_of_reduction(node_.attributes);
    const Dtype dtype = node_.type.dtype;
    if (!op || dtype == Dtype::bool_ || dtype == Dtype::c64) return std::nullopt;
    const ValueId before = to_.add(Op::slice, {x_}, slice_attributes(box_, shape_), "_before");
    return assigned(x_, to_.add(*op, {before, update_}, {}, "_update"), box_);
  }

  // From the first to the last element of every axis.
  std::optional<ValueId> counted_upward() {
    auto box = box_;
    std::vector<SliceRange> turned;
    bool turns = false;
    for (auto& range : box) {
      turned.push_back(whole(range.count));
      if (range.stride > 0) continue;
      turned.back() = {range.count - 1, -1, range.count};
      range = {range.first + (range.count - 1) * range.stride, -range.stride, range.count};
      turns = true;
    }
    if (turns) {
      const auto reversed = slice_attributes(turned, to_.shape(update_));
      return assigned(x_, to_.add(Op::slice, {update_}, reversed, "_turned"), box);
    }
    if (same_bits(slice_attributes(box, shape_), node_.attributes)) return std::nullopt;
    return assigned(x_, update_, box);
  }

  bool is_whole() const { return to_.shape(update_) == shape_; }
  bool is_dense() const {
    return std::all_of(box_.begin(), box_.end(), [](const SliceRange& range) { return range.stride == 1; });
  }

  // The update is what is there.
  bool is_unchanged() const {
    const Node* slice = to_.producer(update_, Op::slice);
    return slice && slice->operands[0] == x_ &&
           slice_ranges(slice->attributes, shape_, to_.shape(update_)) == box_;
  }

  // After another update: that one is not seen, or both are one.
  std::optional<ValueId> onto_earlier_update() {
    const Node* inner = to_.producer(x_, Op::slice_update);
    if (!inner || inner->attributes.has("reduce")) return std::nullopt;
    const ValueId x = inner->operands[0], first = inner->operands[1];
    const auto before = slice_ranges(inner->attributes, shape_, to_.shape(first));
    bool covers = true;
    for (size_t d = 0; d < box_.size(); ++d)
      covers &= box_[d] == before[d] ||
                (box_[d].stride == 1 && box_[d].first <= before[d].first &&
                 box_[d].first + box_[d].count > before[d].first + (before[d].count - 1) * before[d].stride);
    if (covers) return assigned(x, update_, box_);
    return beside(x, first, before);
  }

  // Two boxes that are one when they are put together along an axis.
  std::optional<ValueId> beside(ValueId x, ValueId first, const std::vector<SliceRange>& before) {
    const auto axis = differing_axis(box_, before);
    if (!axis || box_[*axis].stride != 1 || before[*axis].stride != 1) return std::nullopt;
    const SliceRange &a = before[*axis], &b = box_[*axis];
    const bool follows = a.first + a.count == b.first, precedes = b.first + b.count == a.first;
    if ((!follows && !precedes) || !may_grow(first, *axis)) return std::nullopt;
    auto both = box_;
    both[*axis] = {std::min(a.first, b.first), 1, a.count + b.count};
    Attributes along;
    along.set("axis", static_cast<int64_t>(*axis));
    std::vector<ValueId> parts{first, update_};
    if (precedes) std::swap(parts[0], parts[1]);
    return assigned(x, to_.add(Op::concatenate, std::move(parts), std::move(along), "_parts"), both);
  }

  bool may_grow(ValueId v, size_t axis) const {
    const Node* node = to_.producer(v, Op::concatenate);
    return !node || node->attributes.get<int64_t>("axis") != static_cast<int64_t>(axis) ||
           node->operands.size() < most_parts;
  }

  ValueId padded(ValueId scalar) {
    Padding padding;
    for (size_t d = 0; d < box_.size(); ++d) {
      padding.low.push_back(box_[d].first);
      padding.high.push_back(shape_[d] - box_[d].first - box_[d].count);
    }
    return to_.add(Op::pad, {update_, scalar}, pad_attributes(padding));
  }

  // Between what is left of the parts of x.
  std::optional<ValueId> joined() {
    std::optional<size_t> axis;
    for (size_t d = 0; d < box_.size(); ++d) {
      if (box_[d] == whole(shape_[d])) continue;
      if (axis) return std::nullopt;
      axis = d;
    }
    const auto along = static_cast<int64_t>(*axis);
    if (!is_joined_along(to_, x_, along)) return std::nullopt;
    const SliceRange& range = box_[*axis];
    Parts parts(to_, node_.type, along);
    parts.append_cut(x_, 0, range.first);
    parts.append(update_);
    parts.append_cut(x_, range.first + range.count, shape_[*axis]);
    return parts.joined(node_);
  }

  Rewriter& to_;
  const NewNode& node_;
  ValueId x_, update_;
  Shape shape_;
  std::vector<SliceRange> box_;
};

}  // namespace

std::optional<ValueId> simplify_updates(Rewriter& to, const NewNode& node) {
  if (node.op != Op::slice_update || node.type.elements() == 0) return std::nullopt;
  return Update(to, node).run();
}

}  // namespace autoperfect
