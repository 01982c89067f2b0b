// The parser of kernels: any bytes give a kernel or diagnostics, and a kernel prints, reads back and keeps
// its signature.
#include "ir/kernel_text.h"

#include <cstddef>
#include <cstdint>

#include "expect.h"

using namespace autoperfect;
using fuzzing::expect;

namespace {

void check_text(const Kernel& kernel, Names names) {
  auto text = print(kernel, names);
  auto again = parse_kernel(text);
  if (!again.ok()) expect(false, "that what is printed reads back", text + format(again.errors(), text));
  expect(print(*again, names) == text, "that printing is a fixpoint", text);
  expect(signature(*again) == signature(kernel), "that reading keeps the signature", text);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string text(reinterpret_cast<const char*>(data), size);
  auto kernel = parse_kernel(text);
  if (!kernel.ok()) {
    expect(!format(kernel.errors(), text).empty(), "that a refusal has a reason", text);
    return 0;
  }
  check_text(*kernel, Names::kept);
  check_text(*kernel, Names::canonical);
  return 0;
}
