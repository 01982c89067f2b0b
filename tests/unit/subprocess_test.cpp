#include "support/subprocess.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "support/descriptor.h"

namespace autoperfect {
namespace {

ProcessResult sh(const std::string& script, ProcessOptions options = {}) {
  auto result = run_process({"/bin/sh", "-c", script}, options);
  EXPECT_TRUE(result.ok()) << (result.ok() ? "" : format(result.errors()));
  return result.ok() ? *result : ProcessResult{};
}

double seconds_of(const std::function<void()>& body) {
  auto start = std::chrono::steady_clock::now();
  body();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

TEST(Subprocess, PassesInputAndCollectsBothOutputsAndTheExitCode) {
  ProcessOptions options;
  options.input = std::string(1 << 20, 'x') + "end";
  options.output_bytes = 4 << 20;
  auto result = sh("cat; echo oops >&2; exit 7", options);
  EXPECT_EQ(result.output, options.input);
  EXPECT_EQ(result.errors, "oops\n");
  EXPECT_EQ(result.exit_code, 7);
  EXPECT_EQ(result.signal, 0);
}

TEST(Subprocess, EnvironmentIsExactlyWhatIsGiven) {
  setenv("SECRET_OF_THE_USER", "1", 1);
  ProcessOptions options;
  options.environment = {"ONLY=this"};
  auto result = run_process({"/usr/bin/env"}, options);
  ASSERT_TRUE(result);
  EXPECT_EQ(result->output, "ONLY=this\n");
}

TEST(Subprocess, DeadlineKillsTheWholeGroup) {
  ProcessOptions options;
  options.seconds = 0.3;
  ProcessResult result;
  // The grandchild holds stdout open; it must neither delay the return nor survive it.
  double seconds = seconds_of([&] { result = sh("/bin/sleep 100 & echo $!; wait", options); });
  EXPECT_TRUE(result.timed_out);
  EXPECT_EQ(result.signal, SIGKILL);
  EXPECT_LT(seconds, 2);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  pid_t grandchild = std::stoi(result.output);
  EXPECT_TRUE(kill(grandchild, 0) != 0 || waitpid(grandchild, nullptr, WNOHANG) < 0);
}

TEST(Subprocess, GrandchildrenLeftBehindAreKilled) {
  ProcessResult result;
  double seconds = seconds_of([&] { result = sh("/bin/sleep 100 & echo done"); });
  EXPECT_EQ(result.output, "done\n");
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_FALSE(result.timed_out);
  EXPECT_LT(seconds, 2);
}

TEST(Subprocess, EndlessOutputIsBoundedAndStopped) {
  ProcessOptions options;
  options.seconds = 0.3;
  options.output_bytes = 1000;
  auto result = run_process({"/usr/bin/yes"}, options);
  ASSERT_TRUE(result);
  EXPECT_TRUE(result->timed_out);
  EXPECT_EQ(result->output.size(), 1000u);
}

TEST(Subprocess, InputThatIsNotReadDoesNoHarm) {
  ProcessOptions options;
  options.input = std::string(1 << 22, 'x');
  EXPECT_EQ(sh("exit 0", options).exit_code, 0);
}

TEST(Subprocess, ReportsSignals) {
  auto result = sh("kill -SEGV $$");
  EXPECT_EQ(result.signal, SIGSEGV);
  EXPECT_EQ(result.exit_code, -1);
}

TEST(Subprocess, LimitsMemory) {
  ProcessOptions options;
  options.memory_bytes = int64_t{64} << 20;
  // The limit may come a moment after the start, so ask for the memory a little later.
  auto result = sh("/bin/sleep 0.05; ulimit -v", options);
  EXPECT_EQ(result.output, "65536\n");
}

TEST(Subprocess, OpenFilesAreNotInheritedUnlessAskedFor) {
  Descriptor leaky(open("/dev/null", O_RDONLY));  // no close-on-exec
  Descriptor kept(memfd_create("kept", MFD_CLOEXEC));
  ASSERT_TRUE(write_all(kept.get(), "through a descriptor"));
  lseek(kept.get(), 0, SEEK_SET);
  ProcessOptions options;
  options.keep_fds = {kept.get()};
  auto result = sh("/bin/cat <&" + std::to_string(kept.get()) + "; echo; ls /proc/self/fd | wc -l", options);
  EXPECT_EQ(result.output, "through a descriptor\n5\n");  // 0, 1, 2, kept, and the one ls opens
}

TEST(Subprocess, AMissingProgramIsAnError) {
  auto result = run_process({"/nonexistent/program"}, {});
  ASSERT_FALSE(result);
  EXPECT_NE(result.errors()[0].message.find("/nonexistent/program"), std::string::npos);
}

TEST(Subprocess, LeavesNoZombie) {
  for (int i = 0; i < 5; ++i)
    sh("exit 0");
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);
}

TEST(Subprocess, IsUsableFromManyThreads) {
  std::vector<std::thread> threads;
  std::atomic<int> right = 0;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 10; ++i) {
        ProcessOptions options;
        options.input = std::to_string(t * 100 + i);
        auto result = run_process({"/bin/cat"}, options);
        if (result && result->output == options.input) ++right;
      }
    });
  }
  for (auto& thread : threads)
    thread.join();
  EXPECT_EQ(right, 80);
}

}  // namespace
}  // namespace autoperfect
