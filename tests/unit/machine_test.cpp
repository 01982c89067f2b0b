#include "tune/machine.h"

#include <gtest/gtest.h>

#include "tune/probes.h"

namespace autoperfect {
namespace {

Target measured() {
  Target target = *find_target("cpu.avx2");
  target.copy_bytes_per_second = 57e9;
  target.cache_bytes_per_second = 171e9;
  target.flops_per_second = 270e9;
  target.launch_seconds = 3e-6;
  target.mlx.op_seconds = 1.2e-6;
  return target;
}

TEST(Machine, KeptTextGivesTheFiguresBack) {
  auto read = parse_machine(machine_text(measured(), "this"), *find_target("cpu.avx2"), "this");
  ASSERT_TRUE(read);
  EXPECT_EQ(read->copy_bytes_per_second, 57e9);
  EXPECT_EQ(read->flops_per_second, 270e9);
  EXPECT_EQ(read->launch_seconds, 3e-6);
  EXPECT_EQ(read->mlx.op_seconds, 1.2e-6);
  EXPECT_EQ(read->name, "cpu.avx2");
}

TEST(Machine, AnotherMachineOrADamagedTextIsNotTrusted) {
  auto on = *find_target("cpu.avx2");
  auto text = machine_text(measured(), "this");
  EXPECT_FALSE(parse_machine(text, on, "that"));
  EXPECT_FALSE(parse_machine("", on, "this"));
  EXPECT_FALSE(parse_machine("[1, 2]", on, "this"));
  EXPECT_FALSE(parse_machine(R"({"identity": "this", "measured": {}})", on, "this"));
  auto changed = text;
  changed.replace(changed.find("57000000000"), 11, "99000000000");
  EXPECT_FALSE(parse_machine(changed, on, "this"));
}

TEST(Machine, ImpossibleFiguresAreNotTrusted) {
  auto on = *find_target("cpu.avx2");
  auto target = measured();
  target.copy_bytes_per_second = 1;
  EXPECT_FALSE(parse_machine(machine_text(target, "this"), on, "this"));
  target = measured();
  target.launch_seconds = std::numeric_limits<double>::infinity();
  EXPECT_FALSE(parse_machine(machine_text(target, "this"), on, "this"));
}

TEST(Machine, ProbesGivePossibleFigures) {
  double flops = probe_flops_per_second(1);
  EXPECT_GT(flops, 1e9);
  EXPECT_LT(flops, 1e12);
  double copy = probe_copy_bytes_per_second(int64_t{8} << 20, 1);
  EXPECT_GT(copy, 1e8);
  EXPECT_LT(copy, 1e13);
  double launch = probe_launch_seconds(1);
  EXPECT_GT(launch, 0);
  EXPECT_LT(launch, 1e-2);
}

}  // namespace
}  // namespace autoperfect
