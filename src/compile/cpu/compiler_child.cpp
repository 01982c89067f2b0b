#include "compile/cpu/compiler_child.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include "support/sandbox.h"

namespace autoperfect {
namespace {

constexpr int64_t file_bytes_allowed = int64_t{256} << 20;

// Where compilers and what they need are installed; nothing of a user is.
const std::vector<std::string> system_places = {
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/opt",
    "/nix/store",
    "/gnu/store",
    "/etc/ld.so.cache",
    "/etc/alternatives",
    "/dev/null",
    "/dev/urandom",
    "/proc/cpuinfo",
    "/proc/meminfo",
    "/sys/devices/system/cpu"};

// Of prefix/bin/g++: its own folder, and the parts of the prefix a compiler keeps its files in, not all of it
// (the prefix may be somebody's home).
void add_places_of(const std::filesystem::path& program, std::vector<std::string>& places) {
  const auto folder = program.parent_path(), prefix = folder.parent_path();
  places.push_back(folder);
  if (folder.filename() != "bin") return;
  for (const char* part : {"lib", "lib32", "lib64", "libexec"})
    places.push_back(prefix / part);
  std::error_code ignored;
  for (auto& entry : std::filesystem::directory_iterator(prefix, ignored)) {
    const std::string name = entry.path().filename();  // "x86_64-conda-linux-gnu"
    if (name.find("-linux-") != std::string::npos) places.push_back(entry.path());
  }
}

FileAccess access_for(const std::string& compiler, const std::string& folder) {
  FileAccess access{system_places, {folder, "/dev/null"}};
  add_places_of(compiler, access.readable);
  std::error_code error;
  auto real = std::filesystem::canonical(compiler, error);
  if (!error) add_places_of(real, access.readable);
  return access;
}

void kill_all(int) {
  kill(0, SIGKILL);
}

// Of a command that ended with this status.
[[noreturn]] void end_like(int status) {
  if (WIFEXITED(status)) _exit(WEXITSTATUS(status));
  signal(WTERMSIG(status), SIG_DFL);
  raise(WTERMSIG(status));
  _exit(127);
}

}  // namespace

std::vector<std::string> shut_in_compiler(
    const std::string& worker,
    const std::string& folder,
    int64_t memory_bytes,
    double seconds,
    const std::vector<std::string>& command) {
  std::vector<std::string> arguments = {
      worker,
      compiler_mode,
      std::to_string(getpid()),
      folder,
      std::to_string(memory_bytes),
      std::to_string(seconds)};
  arguments.insert(arguments.end(), command.begin(), command.end());
  return arguments;
}

int run_compiler(int argc, char** argv) {
  constexpr int first = 6;
  if (argc <= first) return 2;
  const std::string folder = argv[3], compiler = argv[first];
  signal(SIGTERM, kill_all);
  follow_parent(std::atoi(argv[2]), SIGTERM);
  limit_resources({std::atoll(argv[4]), 0, file_bytes_allowed, 256, std::atof(argv[5])});
  restrict_files(access_for(compiler, folder));
  restrict_system_calls(Phase::compiling);
  pid_t child = fork();
  if (child < 0) return 126;
  if (child == 0) {
    signal(SIGTERM, SIG_DFL);
    execve(compiler.c_str(), argv + first, environ);
    _exit(127);
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return 126;
  }
  end_like(status);
}

}  // namespace autoperfect
