#include "tune/key.h"

#include <bit>

#include "compile/cpu/compile.h"
#include "ir/kernel_text.h"
#include "support/hash.h"

namespace autoperfect {
namespace {

// Raise it when the built-in schedules write other code for the same kernel.
constexpr int generator_version = 6;
constexpr int key_version = 1;

}  // namespace

// A binary serves every size of a dynamic axis, but what wins depends on it: sizes share a decision up to a
// power of four.
std::string cache_key(const Kernel& kernel, const Target& target) {
  std::string key = "autoperfect.key " + std::to_string(key_version);
  key += "\ngenerator " + std::to_string(generator_version);
  key += "\nprelude " + hash_hex(prelude_source());
  key += "\ntarget " + target.name + " threads=" + std::to_string(target.threads);
  key += "\nfeatures " + cpu_features();
  auto& compiler = system_compiler();
  key += "\ncompiler " + (compiler ? compiler->identity + " " + compiler->flags : std::string("none"));
  for (auto& axis : kernel.axes)
    if (axis.dynamic) key += "\nsize " + std::to_string(std::bit_width(static_cast<uint64_t>(axis.size)) / 2);
  return key + "\nsignature " + signature(kernel) + "\n" + print(kernel, Names::canonical);
}

}  // namespace autoperfect
