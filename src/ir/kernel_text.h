// Text of KernelIR: as graph_text.h. The canonical form has one order (canonical_order.h) and drops names and
// dynamic sizes; its hash is the signature.
#pragma once

#include <string>

#include "ir/graph_text.h"
#include "ir/kernel.h"

namespace autoperfect {

std::string print(const Kernel& kernel, Names names = Names::kept);
std::string print_statement(
    const Kernel& kernel, const KernelValue& value);  // one line; a value of the kernel
Result<Kernel> parse_kernel(const std::string& text);

// 32 hex digits: hash of the canonical text. The same program has the same signature on any run and machine.
std::string signature(const Kernel& kernel);

}  // namespace autoperfect
