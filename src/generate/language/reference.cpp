// The prompt's section on the language. The texts are fixed but for the kernel's buffers and sizes; functions
// come from the vocabulary, so that nothing is promised that the check refuses.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "generate/language/language.h"
#include "generate/language/vocabulary.h"
#include "ir/layout.h"
#include "ir/shape.h"
#include "lower/mlx_names.h"

namespace autoperfect {

namespace {

constexpr std::string_view common_rules =
    R"(Allowed: `if`, `for`, `while`, `do`, `switch`, `?:`, `break`, `continue`, early `return`; `auto`, `const`, `constexpr`;
arrays of a constant size, also of vectors; `alignas`; casts `(type)x`, `static_cast`, `reinterpret_cast` to pointers of
the listed types; vector and scalar operators; `[[likely]]`, `[[unlikely]]`; comments.
Refused before it is compiled: the preprocessor (but the unroll pragma), literals of text, `goto`, `static`, `extern`,
`volatile`, `asm`, types, templates and functions of your own (but local ones, if listed here), `new`, exceptions,
backslashes, digraphs, any name that is neither declared by you nor listed here. Names do not begin with `_` or `ap_`.
Inputs are never written, each output is written in full, const is not cast away, no pointer is made of a number.
Every branch that data or sizes decide must be taken by some input, or the kernel is refused: write no code for
cases that cannot come. Branches that constants alone decide are free.
)";

constexpr std::string_view cpu_form =
    R"(C++20, the statements of one function: no signature and no braces around them. The first line is the launch line:
  // launch: parallel=i,j grain=16 align=1 scratch=4*n_k partial=0
parallel: the axes that are cut into chunks, outermost first, flattened into units; the code computes the units
[begin, end), of which unit u is the index of those axes in row-major order; `none` is a single unit. grain: fewest
units worth a chunk; align: chunks begin at multiples of it; scratch: bytes for each thread, 64-byte aligned, found as
`char* scratch`; partial: bytes for each chunk, found as `char* partial`, which are combined in order by a second list
of statements after a line `// finish:`; it finds `const char* partials` (chunk c at partials + c * partial_step),
`chunks`, and the buffers. Numbers may be expressions of constant sizes with + - * / % ( ), ceil_div, min, max.
A kernel that is only for some sizes of a dynamic axis says so: // guard: n_i % 16 == 0, n_i >= 64, aligned 64
(`aligned`: the address of every buffer). For other sizes MLX runs.
Compiler: -O3 -march=native -ffp-contract=off -fno-math-errno -fwrapv: products and sums are never fused unless fma() is
called; there is no fast math; integers wrap. Timing is warm, all threads, outputs in memory that is reused.
)";

constexpr std::string_view cpu_rules =
    R"(Also allowed: `#pragma GCC unroll 4` before a loop; local functions: auto f = [&](long j, vf& sum) {...};
Vectors: W lanes whatever the type (vf f32, vd f64, vi32, vu8...); operators work lane by lane; `v[l]` is a lane. A
comparison of two vectors with an operator is a vector of 0 and -1; use lt() and the like for a mask, select() to choose.
load() gives vf for f32, f16 and bf16; store() takes it; round_bf16()/round_f16() first, where the kernel has that dtype.
Streaming: stream(p, v) leaves the cache alone when p is a multiple of the bytes of W elements, and is a plain store
otherwise; end with fence() when you streamed. It pays for outputs larger than the last cache.
Element types T: f32 (float), f64, i8...i64, u8...u64, f16, bf16, bool8. `value` is the vector of T (vf for the halves,
mask for bool8), `scalar` its element, V any vector. Constants: W, inf, nan.
)";

constexpr std::string_view cpu_example =
    R"(For example, a complete draft for out0[i] = sum over j of in0[i,j] * 2, f32, with i dynamic and j constant:
// launch: parallel=i grain=8
for (long i = begin; i < end; ++i) {
  const float* x = in0 + i * n_j;
  vf sum0 = splat(0.0f), sum1 = splat(0.0f);
  long j = 0;
  for (; j + 2 * W <= n_j; j += 2 * W) {
    sum0 = sum0 + load(x + j);
    sum1 = sum1 + load(x + j + W);
  }
  for (; j + W <= n_j; j += W) sum0 = sum0 + load(x + j);
  if (j < n_j) sum1 = sum1 + load(x + j, n_j - j);
  out0[i] = lane(hsum(sum0 + sum1)) * 2.0f;
}
)";

constexpr std::string_view cuda_form =
    R"(CUDA C++17, the statements of one `__global__` function: no signature and no braces around them. The first line is:
  // launch: grid=ceil_div(n_i*n_j,256) block=256 shared=0
grid: blocks, block: threads of a block, one to three numbers each, separated by commas; shared: dynamic bytes, found
as `char* shared`. With what is declared __shared__ at most 48 KiB, at most 1024 threads. Numbers may be expressions of
sizes with + - * / % ( ), ceil_div, min, max. Compiled by NVRTC without fast math; NVRTC fuses products and sums (fma).
The grid is never empty. No atomics. Warps have 32 lanes.
A kernel that is only for some sizes says so: // guard: n_i % 16 == 0, n_i >= 64, aligned 16
)";

constexpr std::string_view cuda_rules =
    R"(Also allowed: `#pragma unroll` before a loop, `__shared__` arrays, vector types with .x .y .z .w, local functions:
auto f = [&](int j, float& sum) {...};
f16 is __half, bf16 __nv_bfloat16, bool is bool.
)";

constexpr std::string_view cuda_example =
    R"(For example, a complete draft for out0[i,j] = in0[i,j] * 2, f32, with i dynamic and j constant:
// launch: grid=ceil_div(n_i*n_j,256) block=256
const long at = (long)blockIdx.x * blockDim.x + threadIdx.x;
if (at < n_i * n_j) out0[at] = in0[at] * 2.0f;
)";

constexpr std::string_view metal_form =
    R"(Metal, the statements of one kernel function: no signature and no braces around them. The first line is:
  // launch: grid=ceil_div(n_i*n_j,256) block=256 shared=0
grid: threadgroups, block: threads of one, one to three numbers each, separated by commas; at most 1024 threads and
32 KiB of `threadgroup` memory (shared states the bytes). Numbers may be expressions of sizes with + - * / % ( ),
ceil_div, min, max. Compiled without fast math. No atomics. simdgroups have 32 lanes.
A kernel that is only for some sizes says so: // guard: n_i % 16 == 0, n_i >= 64, aligned 16
)";

constexpr std::string_view metal_rules =
    R"(Also allowed: `#pragma unroll` before a loop, `threadgroup` arrays, vector types with .x .y .z .w. No local functions.
f16 is half, bf16 bfloat16_t, bool is bool. Inputs are in device or constant memory: use auto for pointers to them.
)";

constexpr std::string_view metal_example =
    R"(For example, a complete draft for out0[i,j] = in0[i,j] * 2, f32, with i dynamic and j constant:
// launch: grid=ceil_div(n_i*n_j,256) block=256
const long at = thread_position_in_grid.x;
if (at < n_i * n_j) out0[at] = in0[at] * 2.0f;
)";

constexpr std::string_view mlx_form =
    R"(Straight-line calls of MLX, one assignment a line, nothing else: name = mx.function(...). It is read, not executed. Each
output is assigned by its name. A call may stand inside another. A Python number takes the dtype of the array beside it,
mx.inf and mx.nan too; arrays of different dtypes are never mixed: convert with x.astype(mx.float32). Axes of reductions
and scans are said: mx.sum(x, axis=1, keepdims=True). Slices say start and stop of every axis: x[0:4, 0:16:2]; a range
says all of itself: mx.arange(0, 16, 1, mx.int32). Comments begin with #.
Refused: control flow, imports, library functions (mx.softmax, mx.mean, mx.fast, mx.compile, nn), making arrays.
)";

constexpr std::string_view mlx_example =
    R"(For example, a complete draft for out0 = in0 divided by the sum of each of its rows:
t0 = mx.sum(in0, axis=1, keepdims=True)
out0 = mx.divide(in0, t0)
)";

std::string element_type(Dtype dtype, std::string_view language) {
  static const std::map<Dtype, std::string> cuda = {
      {Dtype::f16, "__half"}, {Dtype::bf16, "__nv_bfloat16"}, {Dtype::f32, "float"}, {Dtype::f64, "double"}};
  static const std::map<Dtype, std::string> metal = {
      {Dtype::f16, "half"}, {Dtype::bf16, "bfloat16_t"}, {Dtype::f32, "float"}};
  if (language == "cpu") return dtype == Dtype::bool_ ? "bool8" : std::string(name(dtype));
  if (dtype == Dtype::bool_) return "bool";
  if (is_floating(dtype)) {
    const auto& names = language == "cuda" ? cuda : metal;
    auto found = names.find(dtype);
    return found == names.end() ? "float" : found->second;
  }
  return fmt::format("{}int{}_t", is_unsigned_integer(dtype) ? "u" : "", size_of(dtype) * 8);
}

std::string shape_of(const Kernel& kernel, const Buffer& buffer) {
  std::string text;
  for (size_t d = 0; d < buffer.type.shape.size(); ++d) {
    const AxisId axis = d < buffer.dynamic_dims.size() ? buffer.dynamic_dims[d] : -1;
    if (d > 0) text += ", ";
    text += axis >= 0 ? "n_" + kernel.axes[axis].name : std::to_string(buffer.type.shape[d]);
  }
  return "[" + text + "]";
}

// Behind the shape: where an element lies, what it is for.
std::string remark(const Buffer& buffer) {
  if (buffer.role == BufferRole::temp) return "  temporary: one for all threads, undefined at first";
  if (is_row(buffer)) return "";
  std::string indices, place;
  const auto strides = strides_of(buffer);
  if (buffer.layout.offset != 0) place = std::to_string(buffer.layout.offset);
  for (size_t d = 0; d < strides.size(); ++d) {
    indices += fmt::format("{}x{}", d > 0 ? ", " : "", d);
    if (strides[d] == 0) continue;
    place += fmt::format("{}x{}", place.empty() ? "" : " + ", d);
    if (strides[d] == free_stride)
      place += "*" + stride_name(buffer, d);
    else if (strides[d] != 1)
      place += "*" + std::to_string(strides[d]);
  }
  return fmt::format("  element [{}] is {}[{}]", indices, buffer.name, place.empty() ? "0" : place);
}

// Only on the CPU is memory ever donated.
std::string how_buffers_lie(const Kernel& kernel, std::string_view language) {
  std::string aliases;
  for (const auto& buffer : kernel.buffers) {
    if (buffer.alias < 0 || language != "cpu") continue;
    aliases += fmt::format(
        "{}{} may be {}", aliases.empty() ? "" : ", ", buffer.name, kernel.buffers[buffer.alias].name);
  }
  const bool dense = std::all_of(kernel.buffers.begin(), kernel.buffers.end(), is_row);
  std::string text = "buffers are dense and row-major";
  if (!dense) text += " but where a place is said";
  if (aliases.empty()) return text + ", and do not overlap";
  return fmt::format(
      "{};\n{}: read an element of it before you store there; others do not overlap", text, aliases);
}

// What the draft finds declared.
std::string declared(const Kernel& kernel, std::string_view language) {
  std::string text = fmt::format("Declared for you ({}):\n", how_buffers_lie(kernel, language));
  for (const auto& buffer : kernel.buffers) {
    const bool is_input = buffer.role == BufferRole::in;
    text += fmt::format(
        "  {}{}* {}  {}{}\n",
        is_input ? "const " : "",
        element_type(buffer.type.dtype, language),
        buffer.name,
        shape_of(kernel, buffer),
        remark(buffer));
  }
  for (const auto& axis : kernel.axes) {
    if (axis.dynamic) {
      text += fmt::format(
          "  const long n_{}  size of axis {}, {} at first; any size from 1\n",
          axis.name,
          axis.name,
          axis.size);
    } else {
      text += fmt::format("  constexpr long n_{} = {}\n", axis.name, axis.size);
    }
  }
  for (const auto& [buffer, dimension] : free_strides(kernel))
    text += fmt::format(
        "  const long {}  stride of {}, in elements, from 0\n",
        stride_name(kernel.buffers[buffer], dimension),
        kernel.buffers[buffer].name);
  if (language == "cpu") text += "  const long begin, end; char* scratch; char* partial\n";
  return text;
}

std::string machine(const Target& target, std::string_view language) {
  if (language != "cpu") return fmt::format("Target: {}.\n", target.name);
  return fmt::format(
      "Target: {}, W = {}, {} vector registers, {} threads; a core has {} KiB of first and {} KiB of second "
      "cache, all "
      "share {} KiB.\n",
      target.name,
      target.lanes,
      target.vector_registers,
      target.threads,
      target.l1_bytes >> 10,
      target.l2_bytes >> 10,
      target.l3_bytes >> 10);
}

std::string functions_of(const Vocabulary& vocabulary) {
  std::string text =
      "Functions, with their cost in vector instructions and, where not exact, the greatest error in ulp:\n";
  for (const auto& group : vocabulary.functions) {
    text += fmt::format("{}:\n", group.heading);
    for (const auto& function : group.functions) {
      text += fmt::format("  {}  [{:g}", function.usage, function.cost);
      if (!function.ulp.empty()) text += fmt::format(", {} ulp", function.ulp);
      text += "]\n";
    }
  }
  text += fmt::format("Types: {}\n", fmt::join(vocabulary.types, " "));
  if (!vocabulary.names.empty()) text += fmt::format("Names: {}\n", fmt::join(vocabulary.names, " "));
  return text;
}

std::string mlx_reference(const Kernel& kernel) {
  std::string text(mlx_form);
  text += "Declared for you:\n";
  for (const auto& buffer : kernel.buffers) {
    if (buffer.role == BufferRole::temp) continue;
    text += fmt::format(
        "  {} {}: {} {}\n",
        buffer.role == BufferRole::in ? "input" : "output",
        buffer.name,
        mlx_dtype(buffer.type.dtype),
        to_string(buffer.type.shape));
  }
  const auto functions = mlx_functions();
  text += fmt::format(
      "Functions: mx.{}; x.astype(dtype), x[start:stop:step, ...]\n", fmt::join(functions, " mx."));
  return text + std::string(mlx_example);
}

}  // namespace

std::string language_reference(const Kernel& original, const std::string& language, const Target& target) {
  const Kernel kernel = with_neutral_names(original);
  if (language == "mlx") return mlx_reference(kernel);
  const bool is_cpu = language == "cpu", is_cuda = language == "cuda";
  std::string text(is_cpu ? cpu_form : is_cuda ? cuda_form : metal_form);
  text += machine(target, language);
  text += declared(kernel, language);
  text += common_rules;
  text += is_cpu ? cpu_rules : is_cuda ? cuda_rules : metal_rules;
  text += functions_of(vocabulary(language));
  return text + std::string(is_cpu ? cpu_example : is_cuda ? cuda_example : metal_example);
}

}  // namespace autoperfect
