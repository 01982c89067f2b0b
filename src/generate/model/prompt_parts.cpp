#include "generate/model/prompt_parts.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/layout.h"
#include "support/number.h"

namespace autoperfect::prompt {

namespace {

bool any_value(const Kernel& kernel, bool (*is)(const KernelValue&)) {
  return std::any_of(kernel.values.begin(), kernel.values.end(), is);
}

bool any_operand(const Kernel& kernel, bool (*is)(const KernelOperand&)) {
  return std::any_of(kernel.values.begin(), kernel.values.end(), [is](const KernelValue& value) {
    return std::any_of(value.operands.begin(), value.operands.end(), is);
  });
}

bool any_op(const Kernel& kernel, OpClass wanted) {
  return std::any_of(kernel.values.begin(), kernel.values.end(), [wanted](const KernelValue& value) {
    return class_of(value.op) == wanted;
  });
}

bool has_dtype(const Kernel& kernel, bool (*is)(Dtype)) {
  return std::any_of(
             kernel.buffers.begin(),
             kernel.buffers.end(),
             [is](const Buffer& buffer) { return is(buffer.type.dtype); }) ||
         std::any_of(kernel.values.begin(), kernel.values.end(), [is](const KernelValue& value) {
           return is(value.dtype);
         });
}

// An output several values store to, each a part.
bool stores_parts(const Kernel& kernel) {
  std::vector<int> writers(kernel.buffers.size());
  for (const auto& value : kernel.values)
    if (value.output >= 0 && ++writers[value.output] > 1) return true;
  return false;
}

// What an element may be off by, leaving out what is 0: "12.0 units in the last place of its dtype or 1e-06".
std::string tolerance(const Numerics& n) {
  std::vector<std::string> parts;
  if (n.ulp > 0)
    parts.push_back(fmt::format("{} units in the last place of its dtype", format_number(n.ulp)));
  if (n.abs > 0) parts.push_back(format_number(n.abs));
  if (n.rel > 0) parts.push_back(fmt::format("{} of its own size", format_number(n.rel)));
  auto text = parts.empty() ? "nothing" : fmt::format("{}", fmt::join(parts, " or "));
  return parts.size() > 1 ? text + ", whichever is most" : text;
}

std::string cuda(const Target& t) {
  return fmt::format(
      R"(- {}: {} multiprocessors of 2048 threads, warps of {}, blocks of at most 1024 threads
- registers: 65536 a multiprocessor, at most {} a thread
- shared memory and L1: {} a multiprocessor; the shared memory of a block, static plus dynamic, is at
  most 48 KiB
- L2: {}
- global memory: {:.0f} GB/s, read plus written
- f32 FMA: {:.1f} TFLOP/s at most
- a launch: {}
)",
      t.name,
      t.threads,
      t.lanes,
      t.vector_registers,
      bytes_text(static_cast<double>(t.l1_bytes)),
      bytes_text(static_cast<double>(t.l3_bytes)),
      t.copy_bytes_per_second / 1e9,
      t.flops_per_second / 1e12,
      time_text(t.launch_seconds));
}

std::string metal(const Target& t) {
  return fmt::format(
      R"(- {}: {} cores, simdgroups of {}, threadgroups of at most 1024 threads
- registers: at most {} a thread; the fewer, the more threads hide waiting
- threadgroup memory: {} at most
- last cache: {}, shared with the processor
- memory: {:.0f} GB/s, read plus written
- f32 FMA: {:.1f} TFLOP/s at most
- a launch: {}
)",
      t.name,
      t.threads,
      t.lanes,
      t.vector_registers,
      bytes_text(static_cast<double>(t.l1_bytes)),
      bytes_text(static_cast<double>(t.l3_bytes)),
      t.copy_bytes_per_second / 1e9,
      t.flops_per_second / 1e12,
      time_text(t.launch_seconds));
}

// How buffers lie, and what shares memory.
std::string layouts(const Kernel& kernel) {
  const bool is_plain = std::all_of(kernel.buffers.begin(), kernel.buffers.end(), [](const Buffer& b) {
    return is_row(b) && b.role != BufferRole::temp && b.alias < 0;
  });
  std::string text = is_plain ? R"(Buffers are dense,
  row-major, and do not overlap. A value with the name of an output is stored there, at the indices on
  the left.
)"
                              : R"(A `row` buffer is dense
  and row-major. A value with the name of an output is stored there, at the indices on the left.
)";
  auto add = [&](auto applies, const char* line) {
    if (std::any_of(kernel.buffers.begin(), kernel.buffers.end(), applies)) text += line;
  };
  add([](const Buffer& b) { return !is_row(b); },
      R"(- `strides=[8,1] offset=4`: element [a,b] of that input is 4 + 8*a + b elements from its pointer. A stride
  `?` is told at launch.
)");
  add([](const Buffer& b) { return b.role == BufferRole::temp; },
      R"(- `temp` is scratch memory of one launch. No value lies in it; use it or not.
)");
  add([](const Buffer& b) { return b.alias >= 0; },
      R"(- `alias=%in0`: on the CPU that output may be given the memory of in0; a kernel is right both ways.
)");
  return text;
}

}  // namespace

std::string how_to_read(const Kernel& kernel) {
  std::string text =
      R"(- `%t[i,j] = op a, b : dtype` defines a value for every i and j. Operations mean what those of the
  same name in `mlx.core` mean. A number is rounded to the type of the operands beside it.
- `%in0[i,j]` is an element of a buffer; its indices are sums of axes and numbers. )";
  text += layouts(kernel);
  auto add = [&](bool applies, const char* line) {
    if (applies) text += line;
  };
  add(any_op(kernel, OpClass::reduction),
      R"(- `sum(j) a` reduces over all of axis j; `max`, `prod`, `argmax` and the like do the same.
)");
  add(any_op(kernel, OpClass::gemm),
      R"(- `matmul(k) a, b` is the sum over k of a * b, the products not rounded.
)");
  add(any_op(kernel, OpClass::scan),
      R"(- `cumsum(j) a` runs along axis j, and the axis stays; `inclusive=false` leaves out the element itself,
  `reverse=true` runs from the end.
)");
  add(any_operand(kernel, [](const KernelOperand& o) { return o.guarded; }),
      R"(- `%in0[i,j-2] else 0.0` is the number after `else` where an index leaves the buffer; that place is
  not read.
)");
  add(any_operand(kernel, [](const KernelOperand& o) { return o.gathers(); }),
      R"(- `%in0[%t1[i],j]` takes its index from data. A negative index counts from the end; one that is still
  outside is clamped to the nearest valid one.
)");
  add(any_operand(kernel, [](const KernelOperand& o) { return o.kind == KernelOperand::Kind::iota; }),
      R"(- `iota j` is the position along axis j.
)");
  add(any_value(kernel, [](const KernelValue& v) { return v.op == Op::select; }),
      R"(- `select c, a, b` is a where c holds, else b.
)");
  add(any_value(kernel, [](const KernelValue& v) { return v.op == Op::argmax || v.op == Op::argmin; }),
      R"(- Of equal elements the first counts for `argmax` and `argmin`; a NaN beats every number.
)");
  add(stores_parts(kernel), R"(- Several lines store parts of one output; together they cover it exactly once.
)");
  for (const auto& axis : kernel.axes) {
    if (!axis.dynamic) continue;
    text += fmt::format(
        R"(- Axis {} (`{}=?{}`) has any size of at least 1 when the code runs; {} is what is timed.
)",
        axis.name,
        axis.name,
        axis.size,
        axis.size);
  }
  return text;
}

std::string accuracy(const Kernel& kernel) {
  bool floats = has_dtype(kernel, [](Dtype d) { return is_floating(d); });
  bool sums =
      any_op(kernel, OpClass::reduction) || any_op(kernel, OpClass::gemm) || any_op(kernel, OpClass::scan);
  std::string text;
  auto add = [&](bool applies, const std::string& line) {
    if (applies) text += line;
  };
  constexpr const char* distance =
      R"(- Each float is compared with the contract computed in double precision. It may differ by
  {};
  where MLX's own result differs more, by twice as much as that and 2 units.
)";
  constexpr const char* order =
      R"(- Sums and products of floats accumulate in {} or wider.
  Their order is {}.
)";
  add(floats, fmt::format(distance, tolerance(kernel.numerics)));
  add(floats && sums,
      fmt::format(
          order,
          name(kernel.numerics.accumulate),
          kernel.numerics.reassociate ? "free, and so is the sign of a zero that they give"
                                      : "that of the axis"));
  add(floats && !sums, R"(- Zeros have the sign that the contract gives them.
)");
  add(has_dtype(kernel, is_half),
      R"(- Halves (`f16`, `bf16`) are computed in f32, and every value that the contract gives a half type is
  rounded to it, to nearest, ties to even, before it is used further.
)");
  add(floats,
      R"(- Inputs are any floats: normal, denormal (not flushed to zero), huge, tiny, signed zeros, infinities
  and NaNs, all equal or with one outlier, alone or in whole rows. NaN, each infinity and finite results
  appear exactly where the contract, computed step by step in its own types, gives them. Which NaN it is
  does not matter.
)");
  add(has_dtype(kernel, [](Dtype d) { return is_integer(d); }),
      R"(- Integers are any of their type, unless they are indices; they wrap around on overflow.
)");
  add(has_dtype(kernel, [](Dtype d) { return is_integer(d) || d == Dtype::bool_; }),
      R"(- Results that are integers or booleans are exact.
)");
  return text + "- The same inputs give the same bits every time.\n";
}

std::string machine(const Target& t) {
  if (t.name.rfind("cuda", 0) == 0) return cuda(t);
  if (t.name.rfind("metal", 0) == 0) return metal(t);
  return fmt::format(
      R"(- {}: {} threads, {} vector registers of {} floats (f32)
- caches: {} of L1 data and {} of L2 a core, {} shared
- memory: a streaming copy moves {:.1f} GB/s, read plus written, all threads together;
  {:.1f} GB/s where all fits the shared cache
- f32 FMA: {:.0f} GFLOP/s at most, all threads together
- a launch: {}
)",
      t.name,
      t.threads,
      t.vector_registers,
      t.lanes,
      bytes_text(static_cast<double>(t.l1_bytes)),
      bytes_text(static_cast<double>(t.l2_bytes)),
      bytes_text(static_cast<double>(t.l3_bytes)),
      t.copy_bytes_per_second / 1e9,
      t.cache_bytes_per_second / 1e9,
      t.flops_per_second / 1e9,
      time_text(t.launch_seconds));
}

std::string approach(const std::string& language, int variant) {
  static const char* const native[] = {
      R"(Use the approach you expect to be fastest on this machine.
)",
      R"(Aim at the least memory traffic: as few passes over the data as the contract allows, nothing stored
that can be computed again more cheaply.
)",
      R"(Aim at parallelism within a thread: several independent accumulators, rows or blocks at once, so that
no operation waits for the one before.
)",
      R"(Aim at locality: cut the work into blocks that stay in registers and the nearest cache.
)",
      R"(Keep it simple: the shortest code that can be fast, straight loops that the compiler handles well.
)",
  };
  static const char* const graph[] = {
      R"(Use the operations you expect to be fastest in MLX.
)",
      R"(Use as few operations as possible.
)",
      R"(Use operations whose intermediate results are as small as possible.
)",
  };
  const auto* lines = language == "mlx" ? graph : native;
  int count = static_cast<int>(language == "mlx" ? std::size(graph) : std::size(native));
  std::string text = lines[variant % count];
  int round = variant / count;
  if (round > 0)
    text += fmt::format("This is attempt {} of this kind: differ from the obvious.\n", round + 1);
  return text;
}

std::string bytes_text(double bytes) {
  if (bytes >= 1 << 20) return fmt::format("{:.1f} MiB", bytes / (1 << 20));
  if (bytes >= 1 << 10) return fmt::format("{:.1f} KiB", bytes / (1 << 10));
  return fmt::format("{:.0f} bytes", bytes);
}

std::string time_text(double seconds) {
  if (seconds >= 1) return fmt::format("{:.3g} s", seconds);
  if (seconds >= 1e-3) return fmt::format("{:.3g} ms", seconds * 1e3);
  return fmt::format("{:.3g} us", seconds * 1e6);
}

}  // namespace autoperfect::prompt
