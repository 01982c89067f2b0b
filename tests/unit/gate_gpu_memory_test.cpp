// What the gate's helper process for a GPU does around a kernel: guarded memory, poisons, counters, faults,
// deadlines. The GPU is fake_cuda/driver.cpp, which runs on the host.
#include <gtest/gtest.h>

#include <cstdlib>

#include "gate/gate.h"
#include "gate/gpu_worker.h"
#include "ir/kernel_text.h"
#include "support/file.h"

namespace autoperfect {
namespace {

class gate_gpu_memory_test : public testing::Test {
 protected:
  void SetUp() override {
    if (worker_path().empty()) GTEST_SKIP() << "no helper program";
    if (const char* path = std::getenv("LD_LIBRARY_PATH")) before_ = path;
    end_gpu_worker();
    setenv("LD_LIBRARY_PATH", FAKE_CUDA_FOLDER, 1);  // of the helper process that starts next
  }
  void TearDown() override {
    end_gpu_worker();
    setenv("LD_LIBRARY_PATH", before_.c_str(), 1);
  }

  static Verdict proved(
      const std::string& name, const std::string& grid = "ceil_div(d0*40,256)", int64_t alignment = 1) {
    static const auto kernel = *parse_kernel(*read_file(CHEATS_FOLDER "/kernels/scale.ap"));
    Candidate candidate;
    candidate.language = "cuda";
    candidate.launch.grid = {grid};
    candidate.launch.block = {"256"};
    candidate.guards.alignment = alignment;
    const std::string counted = name + ", counted";
    GateOptions options;
    options.seed = 7;
    options.seconds = 3;
    options.required = Isolation::landlock;  // which no GPU's process has, nor what runs on it needs
    options.watched_binary = &counted;
    options.arms = {{2, "then"}, {3, "else"}};
    return gate(kernel, candidate, name, options);
  }

  std::string before_;
};

TEST_F(gate_gpu_memory_test, what_is_right_is_admitted_with_all_its_arms) {
  auto verdict = proved("honest");
  EXPECT_TRUE(verdict.admitted) << format(verdict.failures);
  EXPECT_EQ(verdict.arms, 2u);
  EXPECT_EQ(verdict.isolation, "process, guard pages on the GPU");
  EXPECT_GT(verdict.watched_seconds, 0);
}

// Rows of 160 bytes end at multiples of 16 wherever they begin at one.
TEST_F(gate_gpu_memory_test, buffers_are_no_more_aligned_than_a_guard_says) {
  const std::string grid = "ceil_div(d0*40,256)";
  EXPECT_FALSE(proved("assumes an alignment", grid, 4).admitted);
  EXPECT_FALSE(proved("assumes an alignment", grid, 8).admitted);
  auto verdict = proved("assumes an alignment", grid, 16);
  EXPECT_TRUE(verdict.admitted) << format(verdict.failures);
}

TEST_F(gate_gpu_memory_test, what_is_wrong_is_refused_with_its_reason) {
  struct Case {
    const char *name, *code, *says;
    const char* grid = "ceil_div(d0*40,256)";
  };
  for (const Case& wrong : {
           Case{"writes one after", "memory-fault", "writes 0 bytes past the end of %y (inputs: normal)"},
           Case{"writes one before", "memory-fault", "writes 4 bytes before %y"},
           Case{"writes a page after", "memory-fault", "writes 4096 bytes past the end of %y"},
           Case{"writes far after", "memory-fault", "touches memory outside its buffers"},
           Case{"reads one after", "memory-fault", "touches memory outside its buffers"},
           Case{"reads one before", "memory-fault", "touches memory outside its buffers"},
           Case{"writes its input", "memory-fault", "writes its input %x"},
           Case{"writes past the counters", "memory-fault", "past the end of the counters of its arms"},
           Case{"deep", "not-run", "80000 bytes of locals a thread; 16384 may be"},
           Case{"stale", "bad-write", "does not write %y[0, 0]"},
           Case{"honest", "bad-write", "does not write %y", "max(1,d0*40/256)"},
           Case{"honest", "gpu-error", "launch: no GPU takes a size of 0, for an open size of", "d0/33"},
           Case{"an arm is missing", "arm-not-reached", "reaches this branch (else)"},
           Case{"wrong when watched", "wrong-result", "when it is watched"},
           Case{"endless", "timeout", "does not finish within 3 s"},
           Case{"no such kernel", "not-run", "load: CUDA_ERROR_NOT_FOUND"},
       }) {
    auto verdict = proved(wrong.name, wrong.grid);
    EXPECT_FALSE(verdict.admitted) << wrong.name;
    ASSERT_FALSE(verdict.failures.empty()) << wrong.name;
    EXPECT_EQ(verdict.failures[0].code, wrong.code) << format(verdict.failures);
    EXPECT_NE(format(verdict.failures).find(wrong.says), std::string::npos) << format(verdict.failures);
    EXPECT_TRUE(proved("honest").admitted) << "after " << wrong.name;
  }
}

}  // namespace
}  // namespace autoperfect
