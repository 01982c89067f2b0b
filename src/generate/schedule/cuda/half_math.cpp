// Functions of half dtypes, in fewer instructions than of f32: the prelude's 01_of_half.h and quotients.
#include <algorithm>
#include <cmath>

#include "generate/schedule/access.h"
#include "generate/schedule/cuda/body.h"
#include "generate/schedule/cuda/mapping.h"
#include "ir/scalar_semantics.h"

namespace autoperfect::schedule::cuda {
namespace {

bool gives_halves_only(const Kernel& kernel) {
  return std::all_of(kernel.buffers.begin(), kernel.buffers.end(), [](const Buffer& buffer) {
    return buffer.role != BufferRole::out || is_half(buffer.type.dtype);
  });
}

bool is_operand(const KernelValue& value, int v) {
  return std::any_of(value.operands.begin(), value.operands.end(), [&](const KernelOperand& operand) {
    auto needed = values_in(operand);
    return std::find(needed.begin(), needed.end(), v) != needed.end();
  });
}

// Whether the relative error of v stays one until it is summed or rounded: nothing is taken away from it.
bool keeps_share(const Kernel& kernel, int v, bool may_be_summed) {
  if (kernel.values[v].output >= 0) return false;
  return std::all_of(kernel.values.begin(), kernel.values.end(), [&](const KernelValue& user) {
    if (!is_operand(user, v)) return true;
    if (user.op == Op::cast) return is_half(user.dtype);
    if (user.op == Op::sum) return may_be_summed;
    if (user.op != Op::mul && user.op != Op::div) return false;
    return keeps_share(kernel, static_cast<int>(&user - kernel.values.data()), false);
  });
}

// Whether the product with the reciprocal of a number in f32 rounds to the half dtype as the quotient does.
// In bf16 a quotient by what is no even number is halfway between no two neighbours; in f16, where f32 has
// hardly twice the digits, all quotients are tried.
bool scales_alike(Dtype half, double by) {
  double size = std::fabs(by);
  if (half == Dtype::bf16) return size > 0x1p-64 && size < 0x1p64 && std::fmod(size, 2) != 0;
  if (!(size > 0x1p-14) || size >= 0x1p14) return false;
  const auto reciprocal = static_cast<float>(1 / by);
  for (int bits = 1; bits < 0x7c00; ++bits) {
    int exponent = bits >> 10, digits = exponent ? (bits & 1023) + 1024 : bits;
    double a = std::ldexp(digits, std::max(exponent, 1) - 25);
    float product = static_cast<float>(a) * reciprocal;
    if (round_to(half, product) != round_to(half, a / by)) return false;
  }
  return true;
}

}  // namespace

std::vector<bool> coarse_values(const Kernel& kernel) {
  std::vector<bool> coarse(kernel.values.size(), false);
  if (!gives_halves_only(kernel)) return coarse;
  for (size_t v = 0; v < coarse.size(); ++v)
    coarse[v] = kernel.values[v].op == Op::exp && kernel.values[v].dtype == Dtype::f32 &&
                keeps_share(kernel, static_cast<int>(v), true);
  return coarse;
}

// Empty: the expression that serves every dtype.
std::string Body::of_half(int v, const std::vector<std::string>& operands) const {
  auto& value = kernel_.values[v];
  if (coarse_[v]) return "ap::exp_of_half(" + operands[0] + ")";
  if (!is_half(value.dtype)) return "";
  if (value.op == Op::div) return half_quotient(value, operands);
  if (value.op != Op::exp && value.op != Op::erf) return "";
  return rounded(value.dtype, "ap::" + std::string(name(value.op)) + "_of_half(" + operands[0] + ")");
}

std::string Body::half_quotient(const KernelValue& value, const std::vector<std::string>& operands) const {
  auto& divisor = value.operands[1];
  std::string function = value.dtype == Dtype::bf16 ? "bf16_quotient" : "f16_quotient", by = operands[1];
  if (divisor.kind == KernelOperand::Kind::literal && scales_alike(value.dtype, divisor.literal))
    function = "half_scaled", by = literal(Dtype::f32, 1 / divisor.literal);
  return rounded(value.dtype, "ap::" + function + "(" + operands[0] + ", " + by + ")");
}

}  // namespace autoperfect::schedule::cuda
