// What a winner must agree with at full size: MLX eager, but where its own result hangs on the inputs' last
// place.
#include <gtest/gtest.h>

#include <string>

#include "ir/graph_text.h"
#include "ir/kernel_text.h"
#include "lower/lower.h"
#include "mlx/mlx.h"
#include "pipeline/region_runner.h"

namespace autoperfect {
namespace {

namespace mx = mlx::core;

// x / (x + y + z): a pole wherever three random numbers nearly cancel.
const char* const near_a_pole = R"(autoperfect.kernel 1
kernel @r {
  abi {
    in %x: bf16[64,1024] row
    in %y: bf16[64,1024] row
    in %z: bf16[64,1024] row
    out %r: bf16[64,1024] row
  }
  math {
    axes i=64, j=1024
    %t[i,j] = add %x[i,j], %y[i,j] : bf16
    %u[i,j] = add %t[i,j], %z[i,j] : bf16
    %r[i,j] = div %x[i,j], %u[i,j] : bf16
  }
  numerics {
    accumulate f32
    reassociate yes
    budget ulp=4.0 abs=0.0 rel=0.0
  }
}
)";

// What eager MLX makes of `lines`, in place of a kernel.
std::string verdict_on(const std::string& lines) {
  RegionRunner runner(
      *parse_kernel(near_a_pole), [] { return ArrayFunction(); }, mx::default_stream(mx::Device::cpu));
  auto graph = parse_graph(
      "autoperfect.graph 1\ngraph @r(%x: bf16[64,1024], %y: bf16[64,1024], %z: bf16[64,1024]) {\n" + lines +
      "  return %r\n}\n");
  if (!graph) return format(graph.errors());
  return runner.recheck({.graph = std::make_shared<const Graph>(*graph)});
}

TEST(Recheck, near_a_pole_mlx_decides_nothing) {
  // In another order: 1 in 400 results is far off, up to its sign.
  EXPECT_EQ(
      verdict_on("  %t = add %y, %z : bf16[64,1024]\n"
                 "  %u = add %t, %x : bf16[64,1024]\n"
                 "  %r = div %x, %u : bf16[64,1024]\n"),
      "");
}

TEST(Recheck, what_is_wrong_elsewhere_is_found) {
  EXPECT_EQ(
      verdict_on("  %t = add %y, %x : bf16[64,1024]\n"
                 "  %u = add %t, %y : bf16[64,1024]\n"
                 "  %r = div %x, %u : bf16[64,1024]\n"),
      "output 0 differs from MLX eager");
}

}  // namespace
}  // namespace autoperfect
