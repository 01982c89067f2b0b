// Files: whole reads, atomic writes, private directories.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "support/result.h"

namespace autoperfect {

std::optional<std::string> read_file(const std::string& path, int64_t max_bytes = int64_t{1} << 30);
Status write_file_atomically(const std::string& path, const std::string& bytes);  // temporary, fsync, rename

// Makes the directory (0700) and checks, without following links and on the descriptor, that it is a
// directory owned by this user and not writable by others.
Status make_private_directory(const std::string& path);

}  // namespace autoperfect
