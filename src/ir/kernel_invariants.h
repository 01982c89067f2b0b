// What verify(Kernel) may report: a table, so that tests can ask for a broken kernel of each line.
#pragma once

#include <string_view>
#include <vector>

namespace autoperfect {

struct KernelInvariant {
  const char* code;  // of the Diagnostic
  int number;        // in the list at the head of verify_kernel.cpp
  const char* hint;  // what to do, where the report says nothing better
};

const std::vector<KernelInvariant>& kernel_invariants();
const KernelInvariant& kernel_invariant(std::string_view code);  // throws InternalError when it is not listed

}  // namespace autoperfect
