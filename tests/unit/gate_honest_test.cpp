// No honest kernel is refused: what the built-in schedules write for the kernels of the golden tests passes
// the whole gate, watched as a model's candidate would be. Prints what that costs.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>

#include "compile/cpu/compile.h"
#include "gate/gate.h"
#include "generate/schedule/schedule.h"
#include "ir/kernel_text.h"
#include "support/file.h"

namespace autoperfect {
namespace {

namespace fs = std::filesystem;

double seconds_of(const std::function<void()>& work) {
  auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

std::vector<Kernel> kernels_in(const fs::path& path) {
  constexpr std::string_view head = "autoperfect.kernel 1";
  const std::string text = *read_file(path);
  std::vector<Kernel> kernels;
  for (size_t at = text.find(head); at != std::string::npos;) {
    const size_t next = text.find(head, at + 1);
    // What follows the last kernel is not part of it.
    const std::string one = text.substr(at, next - at);
    if (auto kernel = parse_kernel(one.substr(0, one.find("\n}\n") + 3))) kernels.push_back(*kernel);
    at = next;
  }
  return kernels;
}

class GateHonest : public testing::TestWithParam<fs::path> {};

TEST_P(GateHonest, BuiltInKernelsAreAdmittedWatched) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the worker's sandbox forbids what a sanitizer needs";
#endif
  const auto kernels = kernels_in(GetParam());
  EXPECT_FALSE(kernels.empty());
  for (auto& kernel : kernels) {
    auto candidates = generate_schedules(kernel, default_cpu_target());
    if (candidates.size() > 2) candidates.resize(2);
    for (auto& candidate : candidates) {
      Result<std::string> plain = Diagnostic{}, watched = Diagnostic{};
      const double compile = seconds_of([&] { plain = compile_cpu(candidate.source, *system_compiler()); });
      const double again =
          seconds_of([&] { watched = compile_cpu(candidate.source, *system_compiler(), Build::sanitized); });
      ASSERT_TRUE(plain) << format(plain.errors());
      ASSERT_TRUE(watched) << format(watched.errors());
      GateOptions options;
      options.watched_binary = &*watched;
      auto verdict = gate(kernel, candidate, *plain, options);
      EXPECT_TRUE(verdict.admitted) << candidate.provenance << '\n'
                                    << format(verdict.failures) << candidate.source;
      fmt::print(
          "{:<28} {:<20} compile {:4.0f} ms, watched build {:4.0f} ms, gate {:4.0f} ms of which watched "
          "{:4.0f} ms\n",
          GetParam().stem().string(),
          kernel.name,
          compile * 1e3,
          again * 1e3,
          verdict.seconds * 1e3,
          verdict.watched_seconds * 1e3);
    }
  }
}

std::vector<fs::path> golden_kernels() {
  std::vector<fs::path> found;
  for (auto& entry : fs::directory_iterator(AUTOPERFECT_GOLDEN_LOWER))
    if (entry.path().filename().string().rfind("bad_", 0) != 0 &&
        read_file(entry.path())->find("autoperfect.kernel 1") != std::string::npos)
      found.push_back(entry.path());
  std::sort(found.begin(), found.end());
  return found;
}

INSTANTIATE_TEST_SUITE_P(golden, GateHonest, testing::ValuesIn(golden_kernels()), [](const auto& info) {
  return info.param.stem().string();
});

}  // namespace
}  // namespace autoperfect
