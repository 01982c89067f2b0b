// Functions of the CUDA prelude against double, over every 5th bit pattern of f32: the greatest error in ulp.
#include <gtest/gtest.h>

#include <cstring>
#include <ostream>
#include <stdexcept>
#include <vector>

#include "compile/cuda/compile.h"
#include "device_machine.h"

namespace autoperfect {
namespace {

struct Function {
  const char* name;
  const char* exact;  // of a double x
  double most_ulp;    // as the prelude says
};

void PrintTo(const Function& function, std::ostream* out) {
  *out << function.name;
}

const Function functions[] = {
    {"exp", "::exp(x)", 1.9},
    {"expm1", "::expm1(x)", 1.5},
    {"log", "::log(x)", 0.87},
    {"log2", "::log2(x)", 0.93},
    {"log10", "::log10(x)", 2.1},
    {"log1p", "::log1p(x)", 0.9},
    {"tanh", "::tanh(x)", 1.9},
    {"sin", "::sin(x)", 1.6},
    {"cos", "::cos(x)", 1.6},
    {"erf", "::erf(x)", 1.1},
    {"sqrt", "::sqrt(x)", 0.5},
    {"rsqrt", "1 / ::sqrt(x)", 1.5},
    {"sigmoid", "1 / (1 + ::exp(-x))", 3.7},
    {"tan", "::tan(x)", 0.51},
    {"sinh", "::sinh(x)", 0.51},
    {"cosh", "::cosh(x)", 0.51},
    {"asin", "::asin(x)", 0.51},
    {"acos", "::acos(x)", 0.51},
    {"atan", "::atan(x)", 0.51},
    {"asinh", "::asinh(x)", 0.51},
    {"acosh", "::acosh(x)", 0.51},
    {"atanh", "::atanh(x)", 0.51},
    {"erfinv", "::erfinv(x)", 0.51},
};

// worst[0]: the greatest error in ulp, as the bits of a float; worst[1]: where; worst[2]: how many are of
// another class (NaN, infinity, finite).
std::string source_of(const Function& function) {
  return std::string(R"(
extern "C" __global__ void autoperfect_kernel(const ap::u32* unused, ap::u32* worst) {
  for (ap::u64 bits = 5 * (blockIdx.x * 256ull + threadIdx.x); bits < 1ull << 32; bits += 5 * 256ull * gridDim.x) {
    float argument = __uint_as_float(ap::u32(bits));
    double x = argument, exact = )") +
         function.exact + R"(;
    float found = ap::)" +
         function.name + R"((argument);
    float nearest = float(exact);
    if (exact != exact || nearest - nearest != 0) {
      if (exact != exact ? found == found : found != nearest) atomicAdd(worst + 2, 1u);
      continue;
    }
    int e = exact == 0 ? -126 : ::ilogb(exact);
    double ulp = ::ldexp(1.0, (e < -126 ? -126 : e) - 23);
    float error = float(::fabs(found - exact) / ulp);
    if (!(error < 3e38f)) atomicAdd(worst + 2, 1u);
    else if (atomicMax(worst, __float_as_uint(error)) < __float_as_uint(error)) worst[1] = ap::u32(bits);
  }
}
extern "C" __global__ void autoperfect_kernel_unaligned(const ap::u32* unused, ap::u32* worst) {}
)";
}

// What the kernel leaves in `worst`.
std::vector<unsigned char> run(const std::string& source, const std::string& name) {
  auto binary = compile_cuda(source, test_device()->facts().capability);
  if (!binary) throw std::runtime_error(format(binary.errors()));
  Candidate candidate;
  candidate.launch.grid = {"4096"};
  candidate.launch.block = {"256"};
  auto kernel = DeviceKernel::load(test_device(), binary->cubin, candidate);
  if (!kernel) throw std::runtime_error(format(kernel.errors()));
  GuardedBuffer unused(4, 0), worst(12, 0);
  worst.poison(0);
  if (!(*kernel)->run({unused.address()}, {worst.address()}, 0, 0) || !test_device()->synchronize())
    throw std::runtime_error(name + " did not run");
  return worst.read(name.c_str());
}

class device_math : public testing::TestWithParam<Function> {};

TEST_P(device_math, error) {
  auto& function = GetParam();
  auto bytes = run(source_of(function), function.name);
  float error, where;
  uint32_t others;
  std::memcpy(&error, bytes.data(), 4);
  std::memcpy(&where, bytes.data() + 4, 4);
  std::memcpy(&others, bytes.data() + 8, 4);
  std::printf("%s: %.3f ulp at %a, %u of another class\n", function.name, error, where, others);
  EXPECT_LE(error, function.most_ulp);
  EXPECT_EQ(others, 0u);
}

const std::string by_reciprocal = R"(
    float size = ap::abs(b), scaled = ap::round_bf16(ap::half_scaled(a, 1 / b));
    if (size > 0x1p-64f && size < 0x1p64f && ::fmodf(size, 2) != 0 &&
        (exact != exact ? scaled == scaled : __float_as_uint(exact) != __float_as_uint(scaled)))
      atomicAdd(worst, 1u);
)";

// Every number of a half dtype by every 16th: how many quotients round otherwise than a / b.
class device_quotients : public testing::TestWithParam<const char*> {};

TEST_P(device_quotients, round_as_division) {
  const std::string half = GetParam();
  auto bytes = run(
      R"(
extern "C" __global__ void autoperfect_kernel(const ap::u32* unused, ap::u32* worst) {
  for (ap::u32 at = blockIdx.x * 256 + threadIdx.x; at < 1u << 28; at += 256 * gridDim.x) {
    ap::u32 bits = at >> 12;
    ap::vf a = ap::from_)" +
          half + "(ap::u16(bits)), b = ap::from_" + half +
          R"((ap::u16((at & 4095) << 4 | ((bits ^ bits >> 4) & 15)));
    float exact = ap::round_)" +
          half + "(a / b), found = ap::round_" + half + "(ap::" + half + R"(_quotient(a, b));
    bool same = exact != exact ? found != found : __float_as_uint(exact) == __float_as_uint(found);
    if (!same) atomicAdd(worst, 1u);
)" + (half == "bf16" ? by_reciprocal : "") +
          R"(  }
}
extern "C" __global__ void autoperfect_kernel_unaligned(const ap::u32* unused, ap::u32* worst) {}
)",
      half);
  uint32_t others;
  std::memcpy(&others, bytes.data(), 4);
  EXPECT_EQ(others, 0u);
}

INSTANTIATE_TEST_SUITE_P(prelude, device_quotients, testing::Values("bf16", "f16"));

INSTANTIATE_TEST_SUITE_P(prelude, device_math, testing::ValuesIn(functions));

}  // namespace
}  // namespace autoperfect
