// At which sizes a winner is checked once more, and what it is used for where that cannot be.
#include <gtest/gtest.h>

#include "compile/cpu/compile.h"
#include "ir/kernel_text.h"
#include "lower/lower.h"
#include "reference/reference.h"
#include "tune/tune.h"

namespace autoperfect {
namespace {

Kernel scale(const std::string& rows) {
  return *parse_kernel(
      "autoperfect.kernel 1\nkernel @k {\n  abi {\n    in %x: f32[?i,64] row\n    out %y: f32[?i,64] row\n"
      "  }\n  math {\n    axes i=?" +
      rows +
      ", j=64\n    %y[i,j] = mul %x[i,j], 3.0 : f32\n  }\n  numerics {\n    accumulate f32\n    reassociate "
      "yes\n    budget ulp=2.0 abs=0.0 rel=0.0\n  }\n}\n");
}

const char* const rows =
    "// launch: parallel=i\n"
    "for (long u = begin; u < end; ++u)\n"
    "  for (long j = 0; j < n_j; ++j) out0[u * n_j + j] = in0[u * n_j + j] * 3.0f;\n";

// MLX stands aside: the reference answers for it.
class AskedRunner : public Runner {
 public:
  AskedRunner(Kernel kernel, std::string answer)
      : kernel_(std::move(kernel)), graph_(raise(kernel_)), answer_(std::move(answer)) {}

  const Graph& graph() override { return graph_; }
  Result<std::vector<Tensor>> evaluate(const Graph& graph, const std::vector<Tensor>& inputs) override {
    return run_reference(graph, inputs, Precision::exact);
  }
  Result<std::vector<Tensor>> eager(const std::vector<Tensor>& inputs) override {
    return run_reference(kernel_, inputs, Precision::exact);
  }
  std::vector<Contender> baselines() override { return {}; }
  Contender contender(const Runnable&, const std::string& name) override {
    return {name, [] {}};
  }
  std::string recheck(const Runnable&, const Recheck& how) override {
    asked.push_back(how.sizes[0]);
    return how.sizes[0] == kernel_.axes[0].size ? "" : answer_;
  }

  std::vector<int64_t> asked;

 private:
  Kernel kernel_;
  Graph graph_;
  std::string answer_;
};

Decision decide(AskedRunner& runner, const Kernel& kernel, std::vector<Draft> drafts) {
  TuneOptions options;
  options.timed = false;
  options.seed = 5;
  options.schedules = drafts.empty();
  options.authors.drafts = std::move(drafts);
  return tune({{kernel, &runner}}, default_cpu_target(), options).at(0);
}

class TuneRecheck : public testing::Test {
 protected:
  void SetUp() override {
    if (!system_compiler()) GTEST_SKIP() << "no compiler";
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "the worker's sandbox forbids what a sanitizer needs";
#endif
  }
};

TEST_F(TuneRecheck, SchedulesAtTheirOwnSize) {
  auto kernel = scale("3000");
  AskedRunner runner(kernel, "wrong");
  EXPECT_FALSE(decide(runner, kernel, {}).use_mlx);
  EXPECT_EQ(runner.asked, std::vector<int64_t>{3000});
}

// Sizes from 2048 to 8191 share a decision.
TEST_F(TuneRecheck, DraftsAtTheLargestSizeTheyAreUsedForAsWell) {
  auto kernel = scale("3000");
  AskedRunner right(kernel, "");
  auto decision = decide(right, kernel, {{"cpu", rows}});
  EXPECT_FALSE(decision.use_mlx) << decision.reason;
  EXPECT_EQ(right.asked, (std::vector<int64_t>{3000, 8191}));
  EXPECT_TRUE(decision.winner.guards.sizes.empty());

  AskedRunner wrong(kernel, "wrong there");
  decision = decide(wrong, kernel, {{"cpu", rows}});
  EXPECT_TRUE(decision.use_mlx);
  ASSERT_EQ(decision.rejected.size(), 1u);
  EXPECT_NE(decision.rejected[0].find("wrong at full size: wrong there"), std::string::npos);
}

TEST_F(TuneRecheck, WhereMemoryDoesNotAllowThatADraftIsUsedUpToItsOwnSize) {
  auto kernel = scale("2500000");  // 8388607 would take 4 GiB
  AskedRunner runner(kernel, "wrong");
  auto decision = decide(runner, kernel, {{"cpu", rows}});
  EXPECT_FALSE(decision.use_mlx) << decision.reason;
  EXPECT_EQ(runner.asked, std::vector<int64_t>{2500000});
  const std::vector<SizeGuard> wanted = {{0, 1, 1, 2500000}};
  EXPECT_EQ(decision.winner.guards.sizes, wanted);
  EXPECT_EQ(decision.runnable.guards.sizes, wanted);
}

TEST_F(TuneRecheck, ATextOfMlxIsReadAgainForTheLargestSize) {
  auto kernel = scale("3000");
  AskedRunner runner(kernel, "");
  auto decision = decide(runner, kernel, {{"mlx", "out0 = mx.multiply(in0, 3.0)\n"}});
  EXPECT_EQ(decision.attempts.at(0).admitted, true) << decision.attempts.at(0).reason;
  EXPECT_EQ(runner.asked, (std::vector<int64_t>{3000, 8191}));
}

}  // namespace
}  // namespace autoperfect
