// What the rules of gathers ask of index arrays.
#pragma once

#include "canonicalize/rewriter.h"

namespace autoperfect {

// An index array without what it only repeats. `varies` has an entry for each of its axes.
struct IndexArray {
  ValueId value = -1, once = -1;  // once: before it was broadcast
  std::vector<bool> varies;
};
IndexArray index_array(const Rewriter& to, ValueId value);

// The one number that it is.
std::optional<int64_t> constant_index(const Rewriter& to, const IndexArray& index);

// The axis along which it counts 0, 1, ... size - 1, where it does nothing else.
std::optional<size_t> counted_axis(const Rewriter& to, const IndexArray& index, int64_t size);

// The same with the axes over which it may vary only those of `kept`; the others have size 1.
ValueId narrowed(Rewriter& to, const IndexArray& index, const std::vector<bool>& kept);

// The dtype before conversions of integers that lose nothing, and the array in it.
Dtype dtype_before_casts(const Rewriter& to, ValueId index);
bool counts(const Rewriter& to, ValueId index);  // it is a range, which may have any dtype that holds it
bool may_have_dtype(const Rewriter& to, ValueId index, Dtype dtype);
ValueId without_casts(Rewriter& to, ValueId index, Dtype dtype);

}  // namespace autoperfect
