// The compiler, shut in. The process of the user never forks: it starts the helper program, which gives up
// files, network and other processes, and then starts the compiler.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace autoperfect {

// The arguments with which the helper program runs `command` shut in; it may write in `folder` alone.
std::vector<std::string> shut_in_compiler(
    const std::string& worker,
    const std::string& folder,
    int64_t memory_bytes,
    double seconds,
    const std::vector<std::string>& command);

// In the helper program: runs what follows in argv and ends as it ends. When the user's process dies, the
// compiler and all it started are killed.
constexpr const char* compiler_mode = "compile";
int run_compiler(int argc, char** argv);

}  // namespace autoperfect
