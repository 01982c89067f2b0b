// KernelIR: what one kernel must compute, for which buffers, how exactly, and nothing about how. Every value
// is written with the axes it varies over; views are index maps on loads and stores. Plain data; see
// kernel_text.h and verify(Kernel).
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ir/attribute.h"
#include "ir/graph.h"
#include "ir/op.h"
#include "support/result.h"

namespace autoperfect {

using AxisId = int32_t;
using BufferId = int32_t;
using KernelValueId = int32_t;

struct Axis {
  std::string name;      // i, j, k, ...
  int64_t size = 1;      // of this region; for a dynamic axis the size it was first seen with
  bool dynamic = false;  // one kernel serves every size; printed `i=?4096`, hashed as `i=?`
  Where where = {};
};

// offset + sum(coefficient * axis): the index of one dimension of a buffer. Terms sorted by axis,
// coefficients not 0.
struct Affine {
  int64_t offset = 0;
  std::vector<std::pair<AxisId, int64_t>> terms;
  bool operator==(const Affine&) const = default;
};

// How the elements of a buffer lie in memory, counted in elements from where its pointer points. See
// layout.h.
struct Layout {
  std::vector<int64_t> strides = {};  // per dimension, 0 and negative ones included; empty: `row`
  int64_t offset = 0;                 // of the element whose indices are all 0
  int64_t align = 0;                  // the pointer is a multiple of so many bytes; 0: of an element's size
  bool operator==(const Layout&) const = default;
};
// A stride that is told at launch: printed `?`. It is not negative.
constexpr int64_t free_stride = std::numeric_limits<int64_t>::min();

// temp: scratch that the runtime allocates for one launch, shared by all its chunks. What it holds before
// and after is undefined; no value of the math lies in it.
enum class BufferRole : uint8_t { in, out, temp };

// A dimension that is the size of a dynamic axis prints as its name: `f32[?i,1024]`.
struct Buffer {
  std::string name;
  BufferRole role = BufferRole::in;
  TensorType type;
  std::vector<AxisId>
      dynamic_dims;    // per dimension: the dynamic axis that is its size, or -1; empty: none is
  Layout layout = {};  // outputs and temporaries are `row`
  // Of an output: the input whose memory it may take, or -1. A kernel must be right both ways: each element
  // of that input is read at its own place alone, before it is written.
  BufferId alias = -1;
  Where where = {};
};

// An operand is a value (`%a[i]`, with exactly the axes of that value), a load (`%x[i, 2*j+1]`), a literal
// (`0.5`; its dtype is operand_dtype() of the op), or the position along an axis (`iota j`).
//
// A load may be guarded, `%x[i, j-2] else 0.0`: where an affine index leaves the buffer, it is the literal.
// It may gather, `%table[%id[i], j]`: the index of a dimension is then an integer value defined above, and as
// in MLX a negative one counts from the end. One that is still outside, which MLX leaves undefined, is
// clamped, so that no kernel reads where it must not.
struct KernelOperand {
  enum class Kind : uint8_t { value, load, literal, iota };
  Kind kind = Kind::value;
  int32_t id = -1;            // KernelValueId, BufferId or AxisId
  std::vector<Affine> index;  // load: one per dimension of the buffer; that of a gathered dimension is 0
  double literal = 0;  // literal, guarded load; integers beyond 2^53 are not inlined but stay graph constants
  std::vector<KernelValueId> gathered = {};  // load: per dimension the value that is its index, or -1
  bool guarded = false;                      // load: `literal` where the index leaves the buffer
  bool gathers() const { return !gathered.empty(); }
  bool operator==(const KernelOperand&) const = default;
};

// `%name[axes] = op(axes it runs along) operands attributes : dtype`
//
// A contraction is `%c[i,j] = matmul(k) %a[i,k], %b[k,j] : f32`: the sum over k of products that are not
// rounded. A scan is `%y[i,j] = cumsum(j) %x[i,j] inclusive=false reverse=true : f32`.
//
// An output may be stored in parts, by several values of its name (`%y[i,j]` and `%y[i,j+64]`), which
// together cover it exactly once; such values are operands of none.
struct KernelValue {
  std::string name;
  Op op = Op::copy;
  Dtype dtype = Dtype::f32;
  std::vector<AxisId> axes;     // it varies over these, ascending
  std::vector<AxisId> reduced;  // reductions and matmul only, ascending, disjoint from axes
  AxisId scanned = -1;          // scans only: one of the axes
  std::vector<KernelOperand> operands;
  Attributes attributes;
  BufferId output = -1;            // when it is also an output: the buffer it is stored to (same name) ...
  std::vector<Affine> store;       // ... and where, one per dimension: `%y[i, 0] = ...`; injective over axes
  Where where = {};                // in its text; of a kernel that was lowered, the line of the program
  std::vector<NodeId> nodes = {};  // of the graph it was lowered from: what it computes
};

struct Numerics {
  Dtype accumulate = Dtype::f32;     // sums and products of floats accumulate in this or wider
  bool reassociate = true;           // sums may be reassociated
  bool wide = false;                 // values of f16 and bf16 may stay in f32 until stored, see widened.h
  double ulp = 0, abs = 0, rel = 0;  // error budget against the double oracle, in units of the output dtype
  bool operator==(const Numerics&) const = default;
};

struct Kernel {
  std::string name = "region";
  std::vector<Buffer> buffers;  // inputs first, then outputs, then temporaries, in ABI order
  std::vector<Axis> axes;
  std::vector<KernelValue> values;  // each operand value is defined earlier
  Numerics numerics;
  // Of the name, and of lines of the numerics.
  Where where = {}, accumulate_where = {}, wide_where = {}, budget_where = {};
  // Of the program it was lowered from; `where.line` of a value counts from 1 in here. Null: it was a text.
  std::shared_ptr<const std::vector<std::string>> lines = {};
};

// "program.py:12", or "line 12" of a text; empty when it is not known.
std::string place_of(const Kernel& kernel, const KernelValue& value);

// The dtype an operand must have: that of its buffer or value; for a literal or iota the dtype the op asks
// for: the dtype of the first value or load operand (not the condition of select), the value's own dtype when
// there is none.
Dtype operand_dtype(const Kernel& kernel, const KernelValue& value, int operand);

// The axes an operand varies over, ascending.
std::vector<AxisId> axes_of(const Kernel& kernel, const KernelOperand& operand);

// The same kernel with other sizes of its dynamic axes: one size an axis, static axes keep theirs; or one for
// all of them.
Kernel resize(const Kernel& kernel, const std::vector<int64_t>& sizes);
Kernel with_dynamic_size(const Kernel& kernel, int64_t size);

int64_t bytes_of_buffers(const Kernel& kernel);
int64_t bytes_of_outputs(const Kernel& kernel);

std::vector<Diagnostic> verify(const Kernel& kernel);

}  // namespace autoperfect
