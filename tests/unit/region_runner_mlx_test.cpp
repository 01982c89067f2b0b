// What a winner must agree with at full size: MLX eager, but where its own result hangs on the inputs' last
// place.
#include <gtest/gtest.h>

#include <regex>
#include <string>

#include "gate/families.h"
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

std::string verdict_on(const Kernel& kernel, const std::string& graph_text) {
  RegionRunner runner(
      kernel, [] { return ArrayFunction(); }, mx::default_stream(mx::Device::cpu));
  auto graph = parse_graph(graph_text);
  if (!graph) return format(graph.errors());
  auto wrong = runner.recheck(
      {.graph = std::make_shared<const Graph>(*graph)}, {sizes_of_axes(kernel), int64_t{1} << 14, 7});
  return wrong.substr(0, wrong.find(": %"));  // without the element
}

// What eager MLX makes of `lines`, in place of a kernel.
std::string verdict_on(const std::string& lines) {
  return verdict_on(
      *parse_kernel(near_a_pole),
      "autoperfect.graph 1\ngraph @r(%x: bf16[64,1024], %y: bf16[64,1024], %z: bf16[64,1024]) {\n" + lines +
          "  return %r\n}\n");
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

// Where MLX's own result moves by some hundredths it does not become 0.
TEST(Recheck, near_a_pole_what_is_far_from_mlx_is_found) {
  auto text = std::regex_replace(
      std::regex_replace(std::string(near_a_pole), std::regex("bf16"), "f32"), std::regex("64,"), "1024,");
  text = std::regex_replace(text, std::regex("i=64"), "i=1024");
  auto kernel = parse_kernel(text);
  ASSERT_TRUE(kernel) << format(kernel.errors(), text);
  const std::string head =
      "autoperfect.graph 1\ngraph @r(%x: f32[1024,1024], %y: f32[1024,1024], %z: f32[1024,1024]) {\n"
      "  %t = add %y, %z : f32[1024,1024]\n  %u = add %t, %x : f32[1024,1024]\n";
  EXPECT_EQ(verdict_on(*kernel, head + "  %r = div %x, %u : f32[1024,1024]\n  return %r\n}\n"), "");
  EXPECT_EQ(
      verdict_on(
          *kernel,
          head + "  %q = div %x, %u : f32[1024,1024]\n  %size = abs %u : f32[1024,1024]\n"
                 "  %least = const 0.0001 : f32[]\n  %small = less %size, %least : bool[1024,1024]\n"
                 "  %zero = const 0.0 : f32[]\n  %r = select %small, %zero, %q : f32[1024,1024]\n"
                 "  return %r\n}\n"),
      "output 0 differs from MLX eager");
}

const char* const next_integer = R"(autoperfect.kernel 1
kernel @r {
  abi {
    in %x: i32[?i,1024] row
    out %r: i32[?i,1024] row
  }
  math {
    axes i=?1024, j=1024
    %r[i,j] = add %x[i,j], 1 : i32
  }
  numerics {
    accumulate f32
    reassociate yes
    budget ulp=0.0 abs=0.0 rel=0.0
  }
}
)";

TEST(Recheck, one_integer_of_a_million_is_found) {
  const std::string head = "autoperfect.graph 1\ngraph @r(%x: i32[1024,1024]) {\n  %one = const 1 : i32[]\n",
                    tail = "  return %r\n}\n";
  const auto kernel = *parse_kernel(next_integer);
  EXPECT_EQ(verdict_on(kernel, head + "  %r = add %x, %one : i32[1024,1024]\n" + tail), "");
  EXPECT_EQ(
      verdict_on(
          kernel,
          head +
              "  %flat = arange start=0.0 step=1.0 : i32[1048576]\n"
              "  %place = reshape %flat shape=[1024,1024] : i32[1024,1024]\n"
              "  %last = const 1048575 : i32[]\n  %is_last = equal %place, %last : bool[1024,1024]\n"
              "  %s = add %x, %one : i32[1024,1024]\n  %r = select %is_last, %x, %s : i32[1024,1024]\n" +
              tail),
      "output 0 differs from MLX eager");
}

// Below what is coarse, but in every row.
TEST(Recheck, some_rows_are_judged_as_the_gate_judges) {
  auto text = std::regex_replace(std::string(next_integer), std::regex("i32"), "f32");
  auto kernel = parse_kernel(std::regex_replace(text, std::regex(", 1 :"), ", 1.0 :"));
  ASSERT_TRUE(kernel) << format(kernel.errors(), text);
  auto with = [&](const std::string& added) {
    return verdict_on(
        *kernel,
        "autoperfect.graph 1\ngraph @r(%x: f32[1024,1024]) {\n  %one = const " + added +
            " : f32[]\n  %r = add %x, %one : f32[1024,1024]\n  return %r\n}\n");
  };
  EXPECT_EQ(with("1.0"), "");
  const auto wrong = with("1.00003");
  EXPECT_EQ(wrong.find("of some rows, %r[0, 0]: expected"), 0u) << wrong;
}

// What bf16 makes of a value in between another by one unit may turn all that is multiplied by it.
TEST(Recheck, the_contract_decides_where_mlx_seems_to_differ) {
  auto kernel = parse_kernel(R"(autoperfect.kernel 1
kernel @r {
  abi {
    in %x: bf16[4] row
    in %y: f32[4,1024] row
    out %r: f32[4,1024] row
  }
  math {
    axes i=4, j=1024
    %t[i] = exp %x[i] : bf16
    %u[i] = cast %t[i] : f32
    %r[i,j] = mul %y[i,j], %u[i] : f32
  }
  numerics {
    accumulate f32
    reassociate yes
    budget ulp=4.0 abs=0.0 rel=0.0
  }
}
)");
  ASSERT_TRUE(kernel) << format(kernel.errors());
  auto with = [&](const std::string& factor) {
    return verdict_on(
        *kernel,
        "autoperfect.graph 1\ngraph @r(%x: bf16[4], %y: f32[4,1024]) {\n  %t = exp %x : bf16[4]\n"
        "  %u = cast %t dtype=f32 : f32[4]\n  %c = const " +
            factor +
            " : f32[]\n  %v = mul %u, %c : f32[4]\n  %w = reshape %v shape=[4,1] : f32[4,1]\n"
            "  %r = mul %y, %w : f32[4,1024]\n  return %r\n}\n");
  };
  EXPECT_EQ(with("1.0"), "");
  EXPECT_EQ(with("1.00390625"), "");  // a unit of bf16 is from 1/256 to 1/128
  EXPECT_EQ(with("1.0625"), "output 0 differs from MLX eager");
}

}  // namespace
}  // namespace autoperfect
