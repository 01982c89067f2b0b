#include "ir/kernel_text.h"
#include "support/hash.h"

namespace autoperfect {

std::string signature(const Kernel& kernel) {
  return hash_hex(print(kernel, Names::canonical));
}

}  // namespace autoperfect
