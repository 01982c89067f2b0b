#include "tune/key.h"

#include <bit>
#include <numeric>

#include "compile/cpu/compile.h"
#include "compile/cuda/compile.h"
#include "compile/cuda/device.h"
#include "gate/families.h"
#include "ir/kernel_text.h"
#include "support/hash.h"

namespace autoperfect {
namespace {

// Raise it when the built-in schedules write other code for the same kernel.
constexpr int generator_version = 17;
constexpr int key_version = 1;

std::string cpu_part() {
  auto& compiler = system_compiler();
  return "\nprelude " + hash_hex(prelude_source()) + "\nfeatures " + cpu_features() + "\ncompiler " +
         (compiler ? compiler->identity + " " + compiler->flags : std::string("none"));
}

std::string gpu_part(const Target& target) {
  auto& compiler = cuda_compiler();
  return "\nprelude " + hash_hex(cuda_prelude_source()) + "\ncapability " +
         std::to_string(target.capability) + "\ndriver " + std::to_string(cuda_driver_version()) +
         "\ncompiler " +
         (compiler ? "nvrtc " + compiler->version + " " + compiler->flags : std::string("none"));
}

// A binary serves every size of a dynamic axis, but what wins depends on it: sizes share a decision up to a
// power of four.
int size_class(int64_t size) {
  return std::bit_width(static_cast<uint64_t>(size)) / 2;
}

}  // namespace

std::string cache_key(const Kernel& kernel, const Target& target) {
  std::string key = "autoperfect.key " + std::to_string(key_version);
  key += "\ngenerator " + std::to_string(generator_version);
  key += "\ntarget " + target.name + " threads=" + std::to_string(target.threads);
  key += target.capability ? gpu_part(target) : cpu_part();
  for (auto& axis : kernel.axes)
    if (axis.dynamic) {
      key += "\nsize " + std::to_string(size_class(axis.size));
      // Code for a GPU may be for whole packs only.
      if (target.capability) key += ", multiple of " + std::to_string(std::gcd(axis.size, int64_t{16}));
    }
  return key + "\nsignature " + signature(kernel) + "\n" + print(kernel, Names::canonical);
}

std::vector<int64_t> largest_sizes(const Kernel& kernel) {
  auto sizes = sizes_of_axes(kernel);
  for (size_t a = 0; a < sizes.size(); ++a)
    if (kernel.axes[a].dynamic) sizes[a] = (int64_t{1} << (2 * size_class(sizes[a]) + 1)) - 1;
  return sizes;
}

}  // namespace autoperfect
