#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

#include "compile/cpu/compile.h"
#include "support/subprocess.h"

namespace autoperfect {
namespace {

// No contraction and no fast math: the contract is MLX eager's rounding. The errno and trap flags change no
// value, they only let vector code be made. Without start files and default libraries the link takes a few
// milliseconds, and the object has no constructors of its own; what a kernel may call is libm (and libgcc's
// conversions). Without jump tables no jump goes where data say, which the check of the object relies on.
constexpr const char* flags =
    "-std=c++20 -O3 -march=native -fPIC -shared -ffp-contract=off -fno-math-errno -fno-trapping-math "
    "-fno-exceptions -fno-rtti -fvisibility=hidden -fno-stack-protector -fno-jump-tables -fwrapv -w "
    "-Wno-psabi -pipe "
    "-nostartfiles -nostdlib -nostdinc";

// Which program it is without running it: a warm start must not start a compiler. Links are followed, so that
// an upgrade behind /usr/bin/g++ is seen.
std::string identity_of(const std::string& path) {
  char* resolved = realpath(path.c_str(), nullptr);
  std::string real = resolved ? resolved : path;
  std::free(resolved);
  struct stat status = {};
  if (stat(real.c_str(), &status) != 0) return real;
  return real + " " + std::to_string(status.st_size) + " " + std::to_string(status.st_mtime);
}

Result<Compiler> find_compiler() {
  const char* chosen = getenv("CXX");
  for (const std::string& name :
       {std::string(chosen ? chosen : ""), std::string("g++"), std::string("c++"), std::string("clang++")}) {
    std::string path = find_program(name);
    if (path.empty()) continue;
    return Compiler{path, identity_of(path), flags};
  }
  return Diagnostic{
      "compile",
      "no-compiler",
      "no C++ compiler was found, so plain MLX runs",
      {},
      "install g++ or clang++, or set CXX to the full path of one"};
}

}  // namespace

std::string version_of(const Compiler& compiler) {
  ProcessOptions options;
  options.seconds = 10;
  options.environment = {"LC_ALL=C", "PATH=/usr/local/bin:/usr/bin:/bin"};
  auto run = run_process({compiler.path, "--version"}, options);
  if (!run || run->exit_code != 0) return "";
  return run->output.substr(0, run->output.find('\n'));
}

const Result<Compiler>& system_compiler() {
  static const Result<Compiler>* found = new Result<Compiler>(find_compiler());
  return *found;
}

}  // namespace autoperfect
