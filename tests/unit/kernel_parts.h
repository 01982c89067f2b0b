// The text of a small kernel from the lines of its ABI and its mathematics: what tests of KernelIR share.
#pragma once

#include <stdexcept>
#include <string>

#include "ir/kernel_text.h"

namespace autoperfect {

inline std::string numerics_text(const std::string& accumulate = "f32", const std::string& ulp = "4.0") {
  return "    accumulate " + accumulate + "\n    reassociate yes\n    budget ulp=" + ulp +
         " abs=0.0 rel=0.0\n";
}

inline std::string kernel_text(
    const std::string& abi, const std::string& math, const std::string& numerics = numerics_text()) {
  return "autoperfect.kernel 1\nkernel @k {\n  abi {\n" + abi + "  }\n  math {\n" + math +
         "  }\n  numerics {\n" + numerics + "  }\n}\n";
}

inline Kernel parse_or_throw(const std::string& text) {
  auto kernel = parse_kernel(text);
  if (!kernel) throw std::runtime_error(format(kernel.errors(), text));
  return *kernel;
}

}  // namespace autoperfect
