// The few functions of NVRTC's C interface we call, looked up at run time.
#pragma once

#include <cstddef>
#include <string>

namespace autoperfect {

struct Nvrtc {
  using Program = void*;
  int (*version)(int* major, int* minor) = nullptr;
  int (*create)(
      Program*,
      const char* source,
      const char* name,
      int headers,
      const char* const* texts,
      const char* const* names) = nullptr;
  int (*destroy)(Program*) = nullptr;
  int (*compile)(Program, int options, const char* const*) = nullptr;
  int (*log_size)(Program, size_t*) = nullptr;
  int (*log)(Program, char*) = nullptr;
  int (*cubin_size)(Program, size_t*) = nullptr;
  int (*cubin)(Program, char*) = nullptr;
  const char* (*error_text)(int) = nullptr;
};

// Null when it is not installed. Loaded once, never unloaded.
const Nvrtc* find_nvrtc();

// With all that belongs to it, which it loads while it compiles. Empty when it is not installed.
std::string nvrtc_folder();

}  // namespace autoperfect
