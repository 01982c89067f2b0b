// One table of all ops (ops.def) behind small look-ups.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace autoperfect {

// The classification map. composite: a library function that canonicalize() lowers to primitives.
enum class OpClass : uint8_t {
  source,
  elementwise,
  reduction,
  gemm,
  view,
  indexing,
  scan,
  composite,
  barrier
};

// Why a barrier is one.
enum class BarrierReason : uint8_t {
  none,
  io,
  random,
  sort,
  factorization,
  fft,
  effects,
  multi_output,
  custom_kernel,
  compiled,
  distributed,
  unknown
};

enum class Op : uint16_t {
#define OP(id, ...) id,
#define BARRIER(id, ...) id,
#include "ir/ops.def"
#undef BARRIER
#undef OP
};

constexpr int many = -1;  // of operands or results: any number

std::string_view name(Op op);
std::optional<Op> parse_op(std::string_view text);
OpClass class_of(Op op);
int arity(Op op);
int result_count(Op op);
std::string_view name(OpClass op_class);
std::vector<std::string_view> all_op_names();
std::vector<Op> all_ops();

// Whether nobody else notices that it runs once more: not what talks to other processes, reads on in a file
// or is unknown.
bool is_repeatable(Op op);

// As a phrase after the op's name, "sorts or partitions"; empty when the op is no barrier.
std::string_view barrier_reason(Op op);

// Nothing but the primitive it was captured with can compute it: types are stated, not inferred, and text
// alone does not run.
bool needs_its_primitive(Op op);

// The attributes of ops.def as it spells them (attribute_rules.h reads them), and MLX's classes that mean
// this op.
std::string_view attribute_text(Op op);
std::vector<std::string_view> mlx_primitives(Op op);

// a op b == b op a for every dtype, NaN included.
bool is_commutative(Op op);

}  // namespace autoperfect
