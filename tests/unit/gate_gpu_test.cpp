// The gate for candidates of a GPU. Without one all it can say is that nothing runs.
#include <gtest/gtest.h>

#include "compile/cuda/compile.h"
#include "compile/cuda/device.h"
#include "gate/gate.h"
#include "gate/gpu_worker.h"
#include "generate/schedule/schedule.h"
#include "ir/kernel_text.h"

namespace autoperfect {
namespace {

const Kernel& negated() {
  static const Kernel kernel = *parse_kernel(
      "autoperfect.kernel 1\nkernel @neg {\n  abi {\n    in %x: f32[?i] row\n    out %y: f32[?i] row\n  }\n"
      "  math {\n    axes i=?1000\n    %y[i] = neg %x[i] : f32\n  }\n  numerics {\n    accumulate f32\n"
      "    reassociate yes\n    budget ulp=4.0 abs=0.0 rel=0.0\n  }\n}\n");
  return kernel;
}

// `body` for element i below d0, in both versions.
Candidate with_body(const std::string& body) {
  Candidate made;
  made.language = "cuda";
  made.launch.grid = {"ceil_div(d0, 256)"};
  made.launch.block = {"256"};
  for (const char* ending : {"", "_unaligned"})
    made.source += std::string("extern \"C\" __global__ void autoperfect_kernel") + ending +
                   "(const float* x, float* y, int d0) {\n  int i = blockIdx.x * 256 + threadIdx.x;\n  " +
                   body + "\n}\n";
  return made;
}

constexpr const char* honest = "if (i < d0) y[i] = -x[i];";

Verdict proved(const Candidate& candidate, double seconds = 30) {
  const auto device = CudaDevice::shared();
  auto binary = compile_cuda(candidate.source, device ? (*device)->facts().capability : 90);
  EXPECT_TRUE(binary.ok()) << format(binary.errors());
  GateOptions options;
  options.seconds = seconds;
  return gate(negated(), candidate, binary ? binary->cubin : "", options);
}

std::string code_of(const Verdict& verdict) {
  return verdict.failures.empty() ? "" : verdict.failures[0].code;
}

class gate_gpu_test : public testing::Test {
 protected:
  void SetUp() override {
    if (!cuda_compiler()) GTEST_SKIP() << "NVRTC is not installed";
  }
  void TearDown() override { end_gpu_worker(); }
  static bool has_gpu() { return CudaDevice::shared().ok(); }
};

TEST_F(gate_gpu_test, without_a_gpu_nothing_is_admitted) {
  if (has_gpu()) GTEST_SKIP() << "this machine has a GPU";
  auto verdict = proved(with_body(honest));
  EXPECT_FALSE(verdict.admitted);
  EXPECT_EQ(code_of(verdict), "no-gpu");
}

TEST_F(gate_gpu_test, an_honest_kernel_is_admitted) {
  if (!has_gpu()) GTEST_SKIP() << "no GPU on this machine";
  auto verdict = proved(with_body(honest));
  EXPECT_TRUE(verdict.admitted) << format(verdict.failures);
  EXPECT_EQ(verdict.isolation, "process, guard pages on the GPU");
}

TEST_F(gate_gpu_test, every_schedule_is_admitted) {
  if (!has_gpu()) GTEST_SKIP() << "no GPU on this machine";
  auto target = *find_target("cuda.sm_" + std::to_string((*CudaDevice::shared())->facts().capability));
  for (const auto& candidate : generate_schedules(negated(), target)) {
    auto verdict = proved(candidate);
    EXPECT_TRUE(verdict.admitted) << candidate.provenance << format(verdict.failures);
  }
}

TEST_F(gate_gpu_test, what_is_wrong_is_refused_with_its_reason) {
  if (!has_gpu()) GTEST_SKIP() << "no GPU on this machine";
  struct Case {
    const char *body, *code, *message;
  };
  for (const Case& wrong : {
           Case{"if (i < d0) y[i] = x[i];", "wrong-result", "expected"},
           Case{"if (i < d0 && i != 7) y[i] = -x[i];", "bad-write", "does not write %y[7]"},
           Case{"if (i <= d0) y[i] = i < d0 ? -x[i] : 1;", "memory-fault", "0 bytes past the end of %y"},
           Case{"if (i < d0) y[i] = -x[i]; if (i == 0) y[-3] = 1;", "memory-fault", "before %y"},
           Case{
               "if (i < d0) y[i] = -x[i]; if (i == 0) ((float*)x)[2] = 1;",
               "memory-fault",
               "writes its input %x"},
           Case{
               "if (i < d0) y[i] = -x[i]; if (i == 0) y[1ll << 20] = 1;",
               "memory-fault",
               "touches memory outside its buffers"},
           Case{"if (i < d0) y[i] = -x[i]; if (i == 0) __trap();", "gpu-error", "fails on the GPU"},
       }) {
    auto verdict = proved(with_body(wrong.body));
    EXPECT_FALSE(verdict.admitted) << wrong.body;
    EXPECT_EQ(code_of(verdict), wrong.code) << wrong.body << format(verdict.failures);
    EXPECT_NE(format(verdict.failures).find(wrong.message), std::string::npos) << format(verdict.failures);
    // Another helper took the place of one that is of no use any more.
    EXPECT_TRUE(proved(with_body(honest)).admitted) << "after " << wrong.body;
  }
}

TEST_F(gate_gpu_test, an_endless_kernel_is_ended) {
  if (!has_gpu()) GTEST_SKIP() << "no GPU on this machine";
  auto verdict = proved(with_body("volatile int* y0 = (int*)y; while (y0[0] != 12345) {} y[i] = -x[i];"), 3);
  EXPECT_EQ(code_of(verdict), "timeout") << format(verdict.failures);
  EXPECT_TRUE(proved(with_body(honest)).admitted);
}

}  // namespace
}  // namespace autoperfect
