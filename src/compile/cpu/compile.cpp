#include "compile/cpu/compile.h"

#include <stdlib.h>

#include <charconv>
#include <filesystem>

#include "compile/compiler_messages.h"
#include "compile/cpu/compiler_child.h"
#include "compile/cpu/object_check.h"
#include "support/file.h"
#include "support/isolation.h"
#include "support/subprocess.h"

namespace autoperfect {
namespace {

constexpr int64_t memory_allowed = int64_t{4} << 30;
constexpr int64_t binary_allowed = int64_t{64} << 20;
constexpr std::string_view file_name = "kernel.cpp";

// Between the prelude and the candidate: the two functions get C linkage and are the only visible ones; lines
// of messages then count from the candidate's first.
constexpr std::string_view declarations = R"(
extern "C" __attribute__((visibility("default"))) void autoperfect_kernel(
    const void* const* in, void* const* out, void* scratch, void* partial, const long* dims, long begin, long end);
extern "C" __attribute__((visibility("default"))) void autoperfect_finish(
    const void* const* in, void* const* out, const void* partials, long chunks, const long* dims);
#line 1 "kernel.cpp"
)";
constexpr std::string_view counted_declarations = R"(
extern "C" __attribute__((visibility("default"))) void autoperfect_kernel(
    const void* const* in, void* const* out, void* scratch, void* partial, const long* dims, long begin, long end,
    unsigned char* reached);
extern "C" __attribute__((visibility("default"))) void autoperfect_finish(
    const void* const* in, void* const* out, const void* partials, long chunks, const long* dims,
    unsigned char* reached);
#line 1 "kernel.cpp"
)";

// Every access and every operation that may be undefined calls a function of the gate's helper program first
// (gate/watch.cpp); locals have red zones around them, and begin as garbage.
constexpr const char* watching_flags[] = {
    "-O1",
    "-fsanitize=kernel-address",
    "-fsanitize=undefined",
    "-fno-sanitize=vptr",
    "-fno-sanitize-recover=all",
    "-ftrivial-auto-var-init=pattern"};
constexpr const char* watching_flags_gcc[] = {
    "-fasan-shadow-offset=0x7fff8000",
    "--param=asan-instrumentation-with-call-threshold=0",
    "--param=asan-stack=1",
    "--param=asan-globals=1"};
constexpr const char* watching_flags_clang[] = {
    "-fno-sanitize=function",
    "-mllvm",
    "-asan-mapping-offset=0x7fff8000",
    "-mllvm",
    "-asan-instrumentation-with-call-threshold=0",
    "-mllvm",
    "-asan-stack=1",
    "-mllvm",
    "-asan-globals=1"};

// A fresh directory only we can enter, removed with everything in it.
class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    const char* parent = getenv("TMPDIR");
    std::string pattern = std::string(parent && parent[0] == '/' ? parent : "/tmp") + "/autoperfect-XXXXXX";
    if (mkdtemp(pattern.data())) path_ = pattern;
  }
  ~TemporaryDirectory() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

std::vector<std::string> arguments_for(const Compiler& compiler, const std::string& output, Build build) {
  std::vector<std::string> arguments = {compiler.path};
  std::istringstream flags(compiler.flags);
  for (std::string flag; flags >> flag;)
    arguments.push_back(flag);
  if (build != Build::plain) {
    arguments.insert(arguments.end(), std::begin(watching_flags), std::end(watching_flags));
    if (compiler.path.find("clang") == std::string::npos)
      arguments.insert(arguments.end(), std::begin(watching_flags_gcc), std::end(watching_flags_gcc));
    else
      arguments.insert(arguments.end(), std::begin(watching_flags_clang), std::end(watching_flags_clang));
  }
  for (const char* more : {"-x", "c++", "-", "-o"})
    arguments.push_back(more);
  arguments.push_back(output);
  arguments.push_back("-lm");
  arguments.push_back("-lgcc");
  return arguments;
}

bool take_number(std::string_view& text, int& number) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end == text.data() + text.size() || *end != ':') return false;
  text.remove_prefix(static_cast<size_t>(end - text.data()) + 1);
  return true;
}

// "kernel.cpp:3:7: error: message". Only our own file is reported: the text of any other file is nobody's
// business.
bool parse_message(std::string_view line, Diagnostic& diagnostic) {
  if (!line.starts_with(file_name) || line.size() <= file_name.size()) return false;
  line.remove_prefix(file_name.size() + 1);
  if (!take_number(line, diagnostic.where.line) || !take_number(line, diagnostic.where.column)) return false;
  for (std::string_view kind : {" error: ", " fatal error: "}) {
    if (line.starts_with(kind)) {
      diagnostic.stage = "compile";
      diagnostic.code = "compiler-error";
      diagnostic.message = line.substr(kind.size());
      return true;
    }
  }
  return false;
}

std::vector<Diagnostic> explain_failure(const ProcessResult& run) {
  auto failure = [](const std::string& code, const std::string& message) {
    return std::vector<Diagnostic>{{"compile", code, message}};
  };
  if (run.timed_out) return failure("compiler-timeout", "the compiler was stopped after its time limit");
  auto messages = read_compiler_messages(run.errors, parse_message);
  if (!messages.empty()) return messages;
  if (run.signal)
    return failure("compiler-killed", "the compiler ended by signal " + std::to_string(run.signal));
  return failure("compiler-failed", "the compiler failed without a message about the kernel's source");
}

}  // namespace

Result<std::string> compile_cpu(
    const std::string& source, const Compiler& compiler, Build build, const CompilerOptions& how) {
  TemporaryDirectory directory;
  if (directory.path().empty())
    return Diagnostic{"compile", "no-temporary", "no temporary directory can be made"};
  std::string output = directory.path() + "/kernel.so";

  ProcessOptions options;
  options.input = prelude_source();
  options.input += build == Build::counted ? counted_declarations : declarations;
  options.input += source;
  options.input += '\n';
  options.environment = {
      "LC_ALL=C", "PATH=/usr/local/bin:/usr/bin:/bin", "CCACHE_DISABLE=1", "TMPDIR=" + directory.path()};
  options.seconds = how.seconds;
  options.memory_bytes = memory_allowed;
  auto arguments = arguments_for(compiler, output, build);
  const std::string worker = worker_path();
  if (how.sandbox && !worker.empty())
    arguments = shut_in_compiler(worker, directory.path(), memory_allowed, 4 * how.seconds, arguments);
  auto run = run_process(arguments, options);
  if (!run) return run.errors();
  if (run->exit_code != 0) return explain_failure(*run);
  auto binary = read_file(output, binary_allowed);
  if (!binary || binary->empty())
    return Diagnostic{"compile", "no-output", "the compiler wrote no shared object"};
  if (!how.object_check) return std::move(*binary);
  if (auto found = check_object(*binary, build != Build::plain); !found.empty()) return found;
  return std::move(*binary);
}

}  // namespace autoperfect
