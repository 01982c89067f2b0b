// Random kernels on a GPU: RANDOM_KERNELS of them (200), from RANDOM_SEED (1) on.
#include <cstdlib>

#include "../unit/random_gpu_kernels.h"
#include "../unit/schedule_check.h"

namespace autoperfect {
namespace {

int number(const char* name, int otherwise) {
  const char* text = std::getenv(name);
  return text ? std::atoi(text) : otherwise;
}

constexpr int shares = 16;

class device_random : public testing::TestWithParam<int> {};

TEST_P(device_random, kernels) {
  const int count = (number("RANDOM_KERNELS", 200) - GetParam() + shares - 1) / shares;
  const int first = number("RANDOM_SEED", 1) + GetParam();
  const auto kernels =
      random_gpu_kernels(static_cast<size_t>(std::max(0, count)), static_cast<unsigned>(first), shares);
  for (auto& [seed, kernel] : kernels) {
    check_kernel(kernel);
    if (HasFailure()) std::printf("seed %u\n", seed);
    if (HasFatalFailure()) return;
  }
  std::printf("%zu kernels of %d\n", kernels.size(), count);
  EXPECT_EQ(kernels.size(), static_cast<size_t>(std::max(0, count))) << "few seeds give a kernel for a GPU";
}

INSTANTIATE_TEST_SUITE_P(shares, device_random, testing::Range(0, shares));

}  // namespace
}  // namespace autoperfect
