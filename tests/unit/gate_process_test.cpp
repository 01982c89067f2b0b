// Helper programs and compilers that are missing, hang, die or lie; a user's process that dies.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "compile/cpu/compile.h"
#include "gate/gate.h"
#include "ir/kernel_text.h"

namespace autoperfect {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

const Kernel& negated() {
  static const Kernel kernel = *parse_kernel(
      "autoperfect.kernel 1\nkernel @neg {\n  abi {\n    in %x: f32[?i] row\n    out %y: f32[?i] row\n  }\n  "
      "math {\n  "
      "  axes i=?1000\n    %y[i] = neg %x[i] : f32\n  }\n  numerics {\n    accumulate f32\n    reassociate "
      "yes\n    "
      "budget ulp=4.0 abs=0.0 rel=0.0\n  }\n}\n");
  return kernel;
}

Candidate with_body(const std::string& body) {
  Candidate made;
  made.launch.parallel = {0};
  made.source =
      "void autoperfect_kernel(const void* const* in, void* const* out, void*, void*, const long*, long "
      "begin, long "
      "end) {\n  const float* x = (const float*)in[0]; float* y = (float*)out[0];\n" +
      body + "\n}\n";
  return made;
}

constexpr const char* honest = "for (long i = begin; i < end; i++) y[i] = -x[i];";

// A program of this test, gone with it.
class Script {
 public:
  Script(const std::string& folder, const std::string& text) : folder_(testing::TempDir() + folder) {
    fs::create_directories(folder_);
    path = folder_ + "/program";
    std::ofstream(path) << "#!/bin/sh\n" << text << "\n";
    fs::permissions(path, fs::perms::owner_all);
  }
  ~Script() { fs::remove_all(folder_); }
  std::string path;

 private:
  std::string folder_;
};

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// --- the helper program

std::string refusal_with(const std::string& worker) {
  static const std::string binary = *compile_cpu(with_body(honest).source, *system_compiler());
  GateOptions options;
  options.worker = worker;
  options.seconds = 1;
  auto verdict = gate(negated(), with_body(honest), binary, options);
  EXPECT_FALSE(verdict.admitted);
  return verdict.failures.empty() ? "" : verdict.failures[0].code;
}

TEST(HelperFaults, NothingIsAdmittedByABrokenHelper) {
  EXPECT_EQ(refusal_with("/nonexistent/autoperfect-worker"), "subprocess");
  EXPECT_EQ(refusal_with(Script("helper_killed", "kill -9 $$").path), "crash");
  EXPECT_EQ(refusal_with(Script("helper_gone", "exit 0").path), "early-exit");
  EXPECT_EQ(refusal_with(Script("helper_fails", "echo reason >&2; exit 3").path), "not-run");
  EXPECT_EQ(refusal_with(Script("helper_talks", "head -c 100000000 /dev/zero; exit 0").path), "early-exit");
}

TEST(HelperFaults, AHungHelperMeetsTheDeadlineWithAllItsChildren) {
  auto start = Clock::now();
  EXPECT_EQ(refusal_with(Script("helper_hung", "sleep 4321 & sleep 4321").path), "timeout");
  EXPECT_LT(seconds_since(start), 5);
}

// --- the user's process

// Its children of a name: their ids.
std::vector<pid_t> children_of(pid_t parent, const std::string& name) {
  std::vector<pid_t> found;
  for (auto& entry : fs::directory_iterator("/proc")) {
    std::ifstream status(entry.path() / "status");
    std::string word, its_name;
    pid_t its_parent = 0;
    while (status >> word) {
      if (word == "Name:") status >> its_name;
      if (word == "PPid:") {
        status >> its_parent;
        break;
      }
    }
    if (its_parent == parent && its_name.find(name) == 0)
      found.push_back(std::atoi(entry.path().filename().c_str()));
  }
  return found;
}

bool eventually(const std::function<bool()>& holds) {
  for (auto start = Clock::now(); seconds_since(start) < 10;
       std::this_thread::sleep_for(std::chrono::milliseconds(10)))
    if (holds()) return true;
  return false;
}

// Runs `work` in a process of its own, kills that once it has a child of that name, and waits for the child
// to be gone.
void kill_while(const std::function<void()>& work, const std::string& child_name) {
  pid_t user = fork();
  if (user == 0) {
    work();
    _exit(0);
  }
  std::vector<pid_t> children;
  EXPECT_TRUE(eventually([&] { return !(children = children_of(user, child_name)).empty(); }));
  std::vector<pid_t> grandchildren;
  for (pid_t child : children)
    for (pid_t more : children_of(child, ""))
      grandchildren.push_back(more);
  kill(user, SIGKILL);
  waitpid(user, nullptr, 0);
  children.insert(children.end(), grandchildren.begin(), grandchildren.end());
  for (pid_t child : children)
    EXPECT_TRUE(eventually([&] { return kill(child, 0) != 0; })) << child;
}

TEST(UserFaults, AKernelDiesWithTheUsersProcess) {
  const auto made = with_body("volatile int on = 1; while (on) {}");
  const auto binary = compile_cpu(made.source, *system_compiler());
  ASSERT_TRUE(binary);
  kill_while([&] { (void)gate(negated(), made, *binary, {}); }, "autoperfect-wor");
}

TEST(UserFaults, ACompilerDiesWithTheUsersProcess) {
  Compiler compiler = *system_compiler();
  const Script script("compiler_hung", "sleep 4322");
  compiler.path = script.path;
  kill_while([&] { (void)compile_cpu("", compiler); }, "autoperfect-wor");
}

TEST(UserFaults, AForkedProcessCompilesAndProves) {
  pid_t child = fork();
  if (child == 0) {
    auto binary = compile_cpu(with_body(honest).source, *system_compiler());
    _exit(binary && gate(negated(), with_body(honest), *binary, {}).admitted ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST(UserFaults, ThreadsCompileAndProveAtOnce) {
  std::vector<std::thread> threads;
  std::atomic<int> admitted{0}, refused{0};
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      auto made = with_body(t % 2 ? "for (long i = begin; i < end; i++) y[i] = x[i];" : honest);
      auto binary = compile_cpu(made.source, *system_compiler());
      if (binary) ++(gate(negated(), made, *binary, {}).admitted ? admitted : refused);
    });
  for (auto& thread : threads)
    thread.join();
  EXPECT_EQ(admitted, 2);
  EXPECT_EQ(refused, 2);
}

// --- the compiler

std::string failure_of(const std::string& script_text, double seconds = 20) {
  const Script script("a compiler's \"odd\" $(place) \xc3\xa9", script_text);
  Compiler compiler = *system_compiler();
  compiler.path = script.path;
  CompilerOptions how;
  how.seconds = seconds;
  auto binary = compile_cpu(with_body(honest).source, compiler, Build::plain, how);
  return binary ? "" : binary.errors().at(0).code;
}

TEST(CompilerFaults, AreDiagnostics) {
  EXPECT_EQ(failure_of("exec g++ \"$@\""), "");
  auto start = Clock::now();
  EXPECT_EQ(failure_of("sleep 4323 & sleep 4323", 1), "compiler-timeout");
  EXPECT_LT(seconds_since(start), 5);
  EXPECT_EQ(failure_of("yes | head -c 1000000000 >&2; exit 1"), "compiler-failed");
  EXPECT_EQ(failure_of("yes | head -c 100000000; exit 0"), "no-output");
  EXPECT_EQ(failure_of("kill -11 $$"), "compiler-killed");
  EXPECT_EQ(
      failure_of("for a; do last=$a; [ \"$b\" = -o ] && o=$a; b=$a; done; echo text > \"$o\""),
      "not-an-object");
  EXPECT_EQ(
      failure_of("for a; do [ \"$b\" = -o ] && o=$a; b=$a; done; yes | head -c 100000000 > \"$o\""),
      "no-output");
  EXPECT_NE(failure_of("for a; do [ \"$b\" = -o ] && o=$a; b=$a; done; ln -s /etc/passwd \"$o\""), "");
}

TEST(CompilerFaults, TemporariesMayLieAtOddPlaces) {
  const std::string place = testing::TempDir() + "odd 'place' \xc3\xa9";
  fs::create_directories(place);
  setenv("TMPDIR", place.c_str(), 1);
  auto binary = compile_cpu(with_body(honest).source, *system_compiler());
  setenv("TMPDIR", "/nonexistent", 1);
  auto nowhere = compile_cpu(with_body(honest).source, *system_compiler());
  unsetenv("TMPDIR");
  EXPECT_TRUE(binary) << format(binary.errors());
  EXPECT_TRUE(fs::is_empty(place));
  EXPECT_FALSE(nowhere);
  fs::remove_all(place);
}

}  // namespace
}  // namespace autoperfect
