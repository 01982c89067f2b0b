// Code for a GPU that takes whole packs of rows of open length: which sizes it is for, and that it is
// launched as code for a fixed size is.
#include <gtest/gtest.h>

#include "generate/schedule/cuda/units.h"
#include "generate/schedule/schedule.h"
#include "generate/size_expression.h"
#include "ir/kernel_text.h"

namespace autoperfect {
namespace {

Kernel column_sums(int64_t columns, bool open) {
  const std::string size = std::to_string(columns), dim = open ? "?j" : size;
  const std::string text =
      "autoperfect.kernel 1\nkernel @r {\n  abi {\n    in %x: bf16[8192," + dim + "] row\n    out %r: bf16[" +
      dim + "] row\n  }\n  math {\n    axes j=" + (open ? "?" : "") + size +
      ", i=8192\n    %r[j] = sum(i) %x[i,j] : bf16\n  }\n  numerics {\n    accumulate f32\n"
      "    reassociate yes\n    budget ulp=3.0 abs=0.0 rel=0.0\n  }\n}\n";
  auto kernel = parse_kernel(text);
  EXPECT_TRUE(kernel) << format(kernel.errors(), text);
  return kernel ? *kernel : Kernel{};
}

int64_t at(const std::string& expression, int64_t size) {
  auto read = evaluate_size(
      expression, [&](std::string_view name) { return name == "d0" ? std::optional(size) : std::nullopt; });
  EXPECT_TRUE(read.value) << expression << ": " << read.problem;
  return read.value.value_or(-1);
}

TEST(cuda_units, rows_of_open_length_are_counted_in_packs) {
  auto unit = schedule::cuda::unit_of_rows(column_sums(4096, true));
  EXPECT_EQ(unit.axis, 0);
  EXPECT_EQ(unit.multiple, 16);
  EXPECT_EQ(unit.least, 16);
  // Ints number no more: 8192 rows of them.
  EXPECT_EQ(unit.most, (((int64_t{1} << 30) - 1) / 8192) / 16 * 16);
  EXPECT_EQ(schedule::cuda::unit_of_rows(column_sums(4100, true)).multiple, 4);
}

TEST(cuda_units, rows_of_odd_length_are_for_every_size) {
  EXPECT_EQ(schedule::cuda::unit_of_rows(column_sums(4095, true)), SizeGuard{});
  EXPECT_EQ(schedule::cuda::unit_of_rows(column_sums(4096, false)), SizeGuard{});
}

TEST(cuda_units, a_size_beyond_ints_is_numbered_by_longs) {
  EXPECT_EQ(schedule::cuda::unit_of_rows(column_sums(1048576, true)).most, SizeGuard{}.most);
}

TEST(cuda_units, expressions_are_of_the_size_itself) {
  EXPECT_EQ(
      schedule::cuda::of_size("ceil_div(d0 * 16, 256) + d0", 16),
      "ceil_div((d0 / 16) * 16, 256) + (d0 / 16)");
  EXPECT_EQ(schedule::cuda::of_size("ceil_div(d0, 256)", 1), "ceil_div(d0, 256)");
}

TEST(cuda_units, open_columns_are_launched_as_fixed_ones) {
  const auto target = find_target("cuda.sm_90");
  ASSERT_TRUE(target);
  auto open = generate_schedules(column_sums(4096, true), *target);
  auto fixed = generate_schedules(column_sums(4096, false), *target);
  ASSERT_FALSE(open.empty());
  ASSERT_EQ(open.size(), fixed.size());
  for (size_t c = 0; c < open.size(); ++c) {
    EXPECT_EQ(open[c].provenance, fixed[c].provenance);
    ASSERT_EQ(open[c].guards.sizes.size(), 1u) << open[c].provenance;
    EXPECT_EQ(open[c].guards.sizes[0].multiple, 16);
    EXPECT_TRUE(fixed[c].guards.sizes.empty());
    EXPECT_NE(open[c].source.find("using ix = int;"), std::string::npos);
    for (size_t g = 0; g < open[c].launch.grid.size(); ++g)
      EXPECT_EQ(at(open[c].launch.grid[g], 4096), at(fixed[c].launch.grid[g], 4096))
          << open[c].launch.grid[g];
    EXPECT_GT(at(open[c].launch.grid[0], 64 * 4096), at(fixed[c].launch.grid[0], 4096));
    EXPECT_EQ(open[c].second.grid.size(), fixed[c].second.grid.size());
    if (!open[c].second.partial_bytes.empty())
      EXPECT_EQ(at(open[c].second.partial_bytes, 4096), at(fixed[c].second.partial_bytes, 4096));
  }
  EXPECT_NE(open[0].provenance.find("pack=8"), std::string::npos) << open[0].provenance;
}

}  // namespace
}  // namespace autoperfect
