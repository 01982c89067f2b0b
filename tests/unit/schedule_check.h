// Generated kernels against the reference executor: every candidate of a kernel, compiled and run over
// several sizes of the dynamic axis, in each of the ways a machine can run it: this processor, or in the
// device tests a GPU.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "gate/families.h"
#include "generate/schedule/schedule.h"
#include "ir/kernel_text.h"
#include "reference/reference.h"
#ifdef AUTOPERFECT_TEST_DEVICE
#include "../device/device_machine.h"
#else
#include "cpu_machine.h"
#endif

namespace autoperfect {

inline Tensor random_tensor(const TensorType& type, std::mt19937& random) {
  Tensor tensor = Tensor::zeros(type);
  std::normal_distribution<double> normal(0, 2);
  std::uniform_int_distribution<int> integer(is_unsigned_integer(type.dtype) ? 0 : -50, 50);
  for (int64_t i = 0; i < type.elements(); ++i) {
    if (type.dtype == Dtype::bool_) {
      tensor.set_integer(i, integer(random) & 1);
    } else if (is_integer(type.dtype)) {
      tensor.set_integer(i, integer(random));
    } else {
      tensor.set(i, normal(random));
    }
  }
  return tensor;
}

inline double unit_in_last_place(Dtype dtype, double at) {
  int bits = dtype == Dtype::bf16 ? 7 : dtype == Dtype::f16 ? 10 : 23;
  return std::ldexp(1.0, std::ilogb(std::max(std::abs(at), 1e-30)) - bits);
}

inline void expect_close(
    const Tensor& got, const Tensor& exact, const Tensor& oracle, const std::string& what) {
  double scale = 0;
  for (int64_t i = 0; i < oracle.type.elements(); ++i)
    if (std::isfinite(oracle.at(i))) scale = std::max(scale, std::abs(oracle.at(i)));
  for (int64_t i = 0; i < got.type.elements(); ++i) {
    double a = got.at(i), b = exact.at(i), o = oracle.at(i);
    if (!is_floating(got.type.dtype)) {
      ASSERT_EQ(got.integer_at(i), exact.integer_at(i)) << what << " at " << i;
      continue;
    }
    if (std::isnan(b) || std::isinf(b)) {
      ASSERT_TRUE(std::isnan(b) ? std::isnan(a) : a == b) << what << " at " << i << ": " << a << " not " << b;
      continue;
    }
    double allowed =
        4 * std::abs(b - o) + 12 * unit_in_last_place(got.type.dtype, std::max(std::abs(o), scale * 1e-1));
    ASSERT_LE(std::abs(a - o), allowed) << what << " at " << i << ": " << a << " not " << o;
  }
}

inline void check_kernel(const Kernel& kernel, bool expect_candidates = true) {
  auto candidates = generate_schedules(kernel, test_target());
  if (is_in_scope(kernel)) ASSERT_EQ(!candidates.empty(), expect_candidates) << print(kernel);
  std::vector<int64_t> sizes{-1};
  for (auto& axis : kernel.axes)
    if (axis.dynamic) sizes = {-1, 1, 2, 17, 67};
  for (auto& candidate : candidates) {
    auto run = prepare(candidate);
    ASSERT_TRUE(run.ok()) << format(run.errors()) << candidate.source;
    for (int64_t wanted : sizes) {
      Kernel sized = wanted < 0 ? kernel : with_dynamic_size(kernel, wanted);
      sized = resize(sized, sizes_admitted(candidate.guards, sizes_of_axes(sized)));
      std::mt19937 random(7);
      std::vector<Tensor> inputs;
      for (auto& buffer : sized.buffers)
        if (buffer.role == BufferRole::in) inputs.push_back(random_tensor(buffer.type, random));
      auto exact = run_reference(sized, inputs, Precision::exact);
      auto oracle = run_reference(sized, inputs, Precision::oracle);
      ASSERT_TRUE(exact.ok()) << format(exact.errors());
      for (auto& got : (*run)(sized, inputs)) {
        for (size_t o = 0; o < got.size(); ++o)
          expect_close(
              got[o],
              (*exact)[o],
              (*oracle)[o],
              candidate.provenance + " output " + std::to_string(o) + "\n" + print(sized) + candidate.source);
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  }
}

// Below the line with the version.
inline std::string kernel_text(const std::string& buffers, const std::string& math) {
  return "kernel @k {\n  abi {\n" + buffers + "  }\n  math {\n" + math +
         "  }\n  numerics {\n    accumulate f32\n  }\n}\n";
}

inline void check_kernel_text(const std::string& text) {
  auto kernel = parse_kernel("autoperfect.kernel 1\n" + text);
  ASSERT_TRUE(kernel.ok()) << format(kernel.errors(), text);
  auto wrong = verify(*kernel);
  ASSERT_TRUE(wrong.empty()) << format(wrong, text);
  check_kernel(*kernel);
}

}  // namespace autoperfect
