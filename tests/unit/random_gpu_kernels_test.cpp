// What the random test on a GPU runs: as many kernels as it is asked for, each with a cubin.
#include "random_gpu_kernels.h"

#include <gtest/gtest.h>

#include "compile/cuda/compile.h"

namespace autoperfect {
namespace {

TEST(random_gpu_kernels, are_as_many_as_asked_for) {
  const auto kernels = random_gpu_kernels(200, 1, 1);
  ASSERT_EQ(kernels.size(), 200u);
  EXPECT_LE(kernels.back().seed, 320u);
  std::printf("200 kernels of %u seeds\n", kernels.back().seed);
  for (auto& [seed, kernel] : kernels)
    for (auto& value : kernel.values)
      EXPECT_NE(value.op, Op::matmul) << seed;
}

TEST(random_gpu_kernels, compile_to_cubins) {
  if (!cuda_compiler()) GTEST_SKIP() << "NVRTC is not installed: " << cuda_compiler().errors().at(0).message;
  for (auto& [seed, kernel] : random_gpu_kernels(4, 7, 100)) {
    const auto candidate = generate_schedules(kernel, *find_target("cuda.sm_90")).front();
    const auto binary = compile_cuda(candidate.source, 90);
    EXPECT_TRUE(binary.ok()) << seed << "\n" << format(binary.errors()) << candidate.source;
  }
}

}  // namespace
}  // namespace autoperfect
