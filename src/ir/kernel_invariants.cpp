#include "ir/kernel_invariants.h"

#include <algorithm>
#include <string>

#include "support/result.h"

namespace autoperfect {

const std::vector<KernelInvariant>& kernel_invariants() {
  static const std::vector<KernelInvariant> invariants = {
      {"bad-name", 1, "names are letters, digits and _, and begin with no digit"},
      {"duplicate-name", 1, "buffers and values are named once; the parts of an output have its name"},
      {"too-many-axes", 1, "neighbouring axes that are always used together may be one"},
      {"bad-size", 1, "sizes are from 0 to 2^57"},
      {"buffer-order", 2, "inputs come first, then outputs, then temporaries"},
      {"shape-too-large", 2, "at most 32 dimensions, and 2^57 elements"},
      {"dynamic-dimension", 2, "mark the axis with '?', as in i=?4096"},
      {"layout-of-result", 2, "the runtime allocates outputs and temporaries: they are row"},
      {"strides-count", 2, "one stride a dimension, as in f32[4,8] strides=[1,4]"},
      {"row-strides", 2, "write 'row'"},
      {"layout-reach", 2, "an offset makes room for negative strides; a dynamic dimension has none"},
      {"bad-align", 2, "a power of two from the size of an element to 4096"},
      {"op-not-allowed", 3, "kernels have elementwise ops, reductions, scans and matmul"},
      {"arity", 3, "docs/ops.md lists each op's operands"},
      {"attribute-type", 3, "it is true or false"},
      {"unknown-attribute", 3, "axes and dtypes are written out in a kernel: few ops have attributes"},
      {"unknown-axis", 4, "the axes are listed at the head of the math"},
      {"axes-order", 4, "axes are listed in the order of the kernel"},
      {"axes-overlap", 4, "a reduced axis is gone from the result"},
      {"reduced-axes", 4, "reduced axes stand in parentheses: sum(j)"},
      {"scanned-axis", 4, "a scan runs along one of its axes: %y[i,j] = cumsum(j)"},
      {"empty-reduction", 4, "the largest of no elements is not defined"},
      {"use-before-definition", 5, "values are defined above their uses"},
      {"part-as-operand", 5, "give what it needs a name of its own: %t[i] = ..., %y[i] = copy %t[i]"},
      {"operand-axes", 5, "operands vary over the value's axes and its reduced axes"},
      {"not-an-input", 6, "loads read inputs; what is computed is a value"},
      {"rank-mismatch", 6, "one index a dimension"},
      {"bad-index", 6, "terms are in the order of the axes, none is 0"},
      {"out-of-bounds", 6, "indices stay inside for all values of the axes"},
      {"index-dtype", 6, "indices are integers"},
      {"empty-gather", 6, "a gathered dimension has at least one element"},
      {"dynamic-index", 7, "a dynamic axis i indexes only dimensions ?i, as i"},
      {"dtype-mismatch", 8, "cast one of the operands"},
      {"dtype-not-allowed", 8, "docs/ops.md lists each op's dtypes"},
      {"type-mismatch", 8, "a dtype follows from the op and its operands; cast converts"},
      {"literal-operand",
       8,
       "literals are operands of elementwise ops and contractions: give it a name with copy"},
      {"literal-dtype", 8, "a literal has the dtype of the operand beside it"},
      {"not-an-output", 9, "stores go to outputs"},
      {"output-name", 9, "a stored value has the name of its buffer"},
      {"not-stored", 9, "each output is stored by a value of its name"},
      {"store-map", 9, "each axis belongs to one dimension, with steps that nest, as in %y[4*i+j,k]"},
      {"stored-twice", 9, "parts of an output cover it together, each element once"},
      {"incomplete-store", 9, "parts of an output cover it together, each element once"},
      {"bad-accumulate", 10, "sums accumulate in a floating dtype: f32"},
      {"bad-budget", 10, "budgets are finite and not negative"},
      {"nothing-to-widen", 10, "leave 'wide' out: no value is f16 or bf16"},
      {"bad-alias", 11, "an output takes the memory of an input: out %y: f32[8] row alias=%x"},
      {"alias-twice", 11, "an input gives its memory to one output"},
      {"alias-hazard",
       11,
       "both are row and alike, and what depends on the input is elementwise, read where the output is "
       "stored, and stored nowhere else"},
  };
  return invariants;
}

const KernelInvariant& kernel_invariant(std::string_view code) {
  const auto& all = kernel_invariants();
  auto found = std::find_if(all.begin(), all.end(), [&](const auto& one) { return code == one.code; });
  if (found == all.end()) throw InternalError("[verify] no invariant is called " + std::string(code));
  return *found;
}

}  // namespace autoperfect
