// Random kernels on a GPU: RANDOM_KERNELS of them (200), from RANDOM_SEED (1) on.
#include <cstdlib>

#include "../unit/random_kernel.h"
#include "../unit/schedule_check.h"

namespace autoperfect {
namespace {

int number(const char* name, int otherwise) {
  const char* text = std::getenv(name);
  return text ? std::atoi(text) : otherwise;
}

class device_random : public testing::TestWithParam<int> {};

TEST_P(device_random, kernels) {
  constexpr int shares = 16;
  int count = number("RANDOM_KERNELS", 200), first = number("RANDOM_SEED", 1), checked = 0;
  for (int seed = first + GetParam(); seed < first + count; seed += shares) {
    std::string text = RandomKernel(static_cast<unsigned>(seed)).text();
    auto kernel = parse_kernel(text);
    ASSERT_TRUE(kernel.ok()) << format(kernel.errors(), text);
    if (!verify(*kernel).empty()) continue;  // the generator makes some that are not legal
    if (generate_schedules(*kernel, test_target()).empty()) continue;
    check_kernel(*kernel);
    if (HasFailure()) std::printf("seed %d\n", seed);
    if (HasFatalFailure()) return;
    ++checked;
  }
  std::printf("%d kernels\n", checked);
}

INSTANTIATE_TEST_SUITE_P(shares, device_random, testing::Range(0, 16));

}  // namespace
}  // namespace autoperfect
