// What a compiled kernel may contain: code, constants, and calls of mathematical functions. Nothing that runs
// when it is loaded, nothing that remembers, nothing that reaches the system.
#pragma once

#include <string>
#include <vector>

#include "support/result.h"

namespace autoperfect {

// Every violation of an ELF shared object; empty when it is fit to be loaded.
//   - undefined symbols are functions of libm or the few memory functions compilers call themselves
//   - no constructors, destructors or resolvers (they run before anybody called the kernel)
//   - no writable data: a kernel has no state between calls
//   - no libraries but libm, libc and the compiler's own
//   - relocations of data only, no memory that is both written and run, no addresses of code kept as data
//   - on x86-64 every instruction is decoded (instructions.h): none reaches the system or the clock, none
//   jumps
//     where no instruction begins
// `watched`: it may call the functions that watch it, and have what registers its tables with them.
std::vector<Diagnostic> check_object(const std::string& binary, bool watched = false);

}  // namespace autoperfect
