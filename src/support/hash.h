// XXH3-128 as 32 hex digits. A hash only finds an entry; whoever uses it compares the full key as well.
#pragma once

#include <string>
#include <string_view>

namespace autoperfect {

std::string hash_hex(std::string_view bytes);

}  // namespace autoperfect
