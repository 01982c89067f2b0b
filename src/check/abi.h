// What a draft finds declared: the kernel's buffers and sizes by their neutral names, and what its language
// adds.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "generate/language/language.h"
#include "generate/size_expression.h"

namespace autoperfect::code {

enum class Part : uint8_t { kernel, finish };

struct Abi {
  Kernel kernel;  // with neutral names
  std::vector<std::string> inputs, outputs;
  std::vector<std::string> pointers;   // other memory: temporaries, scratch, partial...
  std::vector<std::string> ranges;     // numbers of a launch: begin, end, dynamic sizes, free strides
  std::vector<std::string> constants;  // static sizes

  bool has(std::string_view name) const;
};

Abi make_abi(const Kernel& kernel, std::string_view language, Part part);

std::string size_name(const Axis& axis);  // "n_i"
// The sizes of static axes, with `dynamic` those of dynamic ones too (as first seen).
SizeOf sizes_of(const Kernel& kernel, bool dynamic);

}  // namespace autoperfect::code
