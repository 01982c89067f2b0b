// The bytes of one entry:
//   "APCACHE2", then seven sections (key, kernel, description, source, binary, log, evidence), each a 64-bit
//   little-endian length and its bytes, then the XXH3-128 of all before as 32 hex digits.
// The description is a small JSON object: what of the candidate is neither source nor text of its own.
// Nothing here trusts a byte: whatever is not exactly such a file is no entry.
#pragma once

#include <optional>
#include <string>

#include "cache/cache.h"

namespace autoperfect {

std::string encode_entry(const CacheEntry& entry);
std::optional<CacheEntry> decode_entry(const std::string& bytes);

// The whole of a regular file of this user that is not too large; opened without following a link and without
// waiting (for the writer of a FIFO, say).
std::optional<std::string> read_entry_file(const std::string& path);

}  // namespace autoperfect
