// Attention as people write it, for tests that compile it.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "mlx/mlx.h"
#include "pipeline/pipeline.h"

namespace autoperfect {

namespace mx = mlx::core;
using mx::array;
using Arrays = std::vector<array>;

inline constexpr float infinity = std::numeric_limits<float>::infinity();

inline array normal(mx::Shape shape, mx::Dtype dtype, uint64_t key) {
  return mx::astype(mx::random::normal(std::move(shape), mx::random::key(key)), dtype);
}

inline array scalar(double value, const array& like) {
  return array(static_cast<float>(value), like.dtype());
}

// softmax(scale * q k^T, masked) v, as people write it.
inline array attend(
    const array& q, const array& k, const array& v, double scale, const std::function<array(array)>& masked) {
  auto scores = mx::multiply(mx::matmul(q, mx::swapaxes(k, -1, -2)), scalar(scale, q));
  return mx::matmul(mx::softmax(masked(scores), -1, true), v);
}

inline array unmasked(const array& scores) {
  return scores;
}

inline double lowest_of(const array& scores) {
  return scores.dtype() == mx::float16 ? -65504.0 : -1e9;
}

inline array causal(const array& scores, double forbidden) {
  auto rows = mx::expand_dims(mx::arange(scores.shape(-1) - scores.shape(-2), scores.shape(-1)), 1);
  auto seen = mx::greater_equal(rows, mx::arange(scores.shape(-1)));
  return mx::where(seen, scores, scalar(forbidden, scores));
}

inline CompileOptions with_library(RegionCode code = RegionCode::untimed) {
  CompileOptions options;
  options.region_code = code;
  options.library_attention = true;
  options.strict = true;
  options.tune.seed = 7;
  return options;
}

inline std::shared_ptr<Program> built(
    const ArrayFunction& fn, const Arrays& arguments, const CompileOptions& options = with_library()) {
  return Program::build(fn, arguments, options);
}

inline double largest_difference(const array& a, const array& b) {
  auto d = mx::abs(mx::subtract(mx::astype(a, mx::float32), mx::astype(b, mx::float32)));
  return mx::max(d).item<float>();
}

// One match, used, and the answers of MLX.
inline void expect_used(const ArrayFunction& fn, const Arrays& arguments, double allowed) {
  auto program = built(fn, arguments);
  ASSERT_EQ(program->attentions().size(), 1u) << explain(*program);
  EXPECT_TRUE(program->attentions()[0].used) << explain(*program);
  auto ours = program->call(arguments), theirs = fn(arguments);
  ASSERT_EQ(ours.size(), theirs.size());
  for (size_t i = 0; i < ours.size(); ++i) {
    EXPECT_EQ(ours[i].shape(), theirs[i].shape());
    EXPECT_EQ(ours[i].dtype(), theirs[i].dtype());
    EXPECT_LE(largest_difference(ours[i], theirs[i]), allowed) << i;
  }
}

inline double allowed_in(mx::Dtype dtype) {
  return dtype == mx::float32 ? 1e-5 : dtype == mx::float16 ? 4e-3 : 3e-2;
}

}  // namespace autoperfect
