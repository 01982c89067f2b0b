// The members of MLX's primitives that its library does not export, so that a test can make the nodes MLX
// makes on a GPU. They are traced and never evaluated.
#pragma once

#include <stdexcept>

#include "mlx/fast_primitives.h"

namespace mlx::core {

[[noreturn]] inline void only_traced() {
  throw std::logic_error("this node is only traced");
}

#define ONLY_TRACED(Class)                                               \
  void Class::eval_gpu(const std::vector<array>&, std::vector<array>&) { \
    only_traced();                                                       \
  }                                                                      \
  bool Class::is_equivalent(const Primitive&) const {                    \
    return false;                                                        \
  }
#define NO_GRADIENT(Class)         \
  std::vector<array> Class::vjp(   \
      const std::vector<array>&,   \
      const std::vector<array>&,   \
      const std::vector<int>&,     \
      const std::vector<array>&) { \
    only_traced();                 \
  }

std::pair<std::vector<array>, std::vector<int>> fast::Custom::vmap(
    const std::vector<array>&, const std::vector<int>&) {
  only_traced();
}
std::vector<array> fast::Custom::jvp(
    const std::vector<array>&, const std::vector<array>&, const std::vector<int>&) {
  only_traced();
}
NO_GRADIENT(fast::Custom)

ONLY_TRACED(fast::RMSNorm)
NO_GRADIENT(fast::RMSNorm)
ONLY_TRACED(fast::RMSNormVJP)
ONLY_TRACED(fast::LayerNorm)
NO_GRADIENT(fast::LayerNorm)
ONLY_TRACED(fast::LayerNormVJP)
ONLY_TRACED(fast::RoPE)
NO_GRADIENT(fast::RoPE)
ONLY_TRACED(fast::ScaledDotProductAttention)
NO_GRADIENT(fast::ScaledDotProductAttention)
ONLY_TRACED(fast::ScaledDotProductAttentionVJP)
NO_GRADIENT(fast::CrossEntropy)
void fast::CrossEntropy::eval_gpu(const std::vector<array>&, std::vector<array>&) {
  only_traced();
}
void fast::CrossEntropyVJP::eval_gpu(const std::vector<array>&, std::vector<array>&) {
  only_traced();
}

ONLY_TRACED(fast::Quantize)
void fast::Quantize::eval_cpu(const std::vector<array>&, std::vector<array>&) {
  only_traced();
}
std::vector<Shape> fast::Quantize::output_shapes(const std::vector<array>&) {
  only_traced();
}

void NumberOfElements::eval_cpu(const std::vector<array>&, array&) {
  only_traced();
}
void NumberOfElements::eval_gpu(const std::vector<array>&, array&) {
  only_traced();
}
std::pair<std::vector<array>, std::vector<int>> NumberOfElements::vmap(
    const std::vector<array>&, const std::vector<int>&) {
  only_traced();
}
bool NumberOfElements::is_equivalent(const Primitive&) const {
  return false;
}

#undef ONLY_TRACED
#undef NO_GRADIENT

}  // namespace mlx::core
