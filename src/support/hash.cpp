#include "support/hash.h"

#include <fmt/format.h>
#include <xxhash.h>

namespace autoperfect {

std::string hash_hex(std::string_view bytes) {
  auto hash = XXH3_128bits(bytes.data(), bytes.size());
  return fmt::format("{:016x}{:016x}", static_cast<uint64_t>(hash.high64), static_cast<uint64_t>(hash.low64));
}

}  // namespace autoperfect
