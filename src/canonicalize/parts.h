// Values as parts in a row along an axis: what concatenations, paddings and updates share.
#pragma once

#include "canonicalize/rewriter.h"

namespace autoperfect {

// The scalar that a broadcast repeats, or nothing.
std::optional<ValueId> repeated_scalar(const Rewriter& to, ValueId v);

// The number that every element of a constant is.
std::optional<double> constant_number(const Rewriter& to, ValueId v);

class Parts {
 public:
  // Parts of a value of this type, along this axis.
  Parts(Rewriter& to, const TensorType& type, int64_t axis) : to_(to), type_(type), axis_(axis) {}

  void append(ValueId v);  // taken apart where it was put together along this axis
  void append_repeated(ValueId scalar, int64_t size);
  void append_cut(ValueId v, int64_t first, int64_t last);  // elements first ... last - 1 of v

  // The one spelling: a value alone, a scalar repeated, a value between paddings of one scalar, or else a
  // concatenation. Nothing where that is `node`.
  std::optional<ValueId> joined(const NewNode& node);

 private:
  // A value, or a scalar that is repeated.
  struct Part {
    ValueId value = -1;   // -1: not made yet
    ValueId scalar = -1;  // -1: not repeated
    int64_t size = 0;     // along the axis
  };

  std::vector<Part> parts_of(ValueId v) const;
  Part whole(ValueId v) const;
  void push(const Part& part);
  std::optional<ValueId> joined_slices(ValueId a, ValueId b);
  std::optional<NewNode> padding() const;
  ValueId value_of(const Part& part);

  Rewriter& to_;
  TensorType type_;
  int64_t axis_;
  std::vector<Part> parts_;
};

// What is put together of more parts than this is taken as one: a value that grows part by part stays linear.
constexpr size_t most_parts = 64;

// Whether a value is a concatenation of some parts, or padded, along this axis and no other.
bool is_joined_along(const Rewriter& to, ValueId v, int64_t axis);

// Paddings below and above x, one number for each of its axes.
struct Padding {
  std::vector<int64_t> low, high;
};
Padding padding_of(const Attributes& attributes, size_t rank);
Attributes pad_attributes(const Padding& padding);  // of axes that are padded, ascending

}  // namespace autoperfect
