// Each file beside this one is a draft that cheats, or an honest one. Its first lines say for which kernel it
// is and who must refuse it:
//   // kernel: scale                        kernels/scale.ap
//   // rejected-by: check code=bad-cast     or: gate, gate code=arm-not-reached; none: it is honest and
//   admitted
//   // without-check: compile               who refuses it were the check not there: compile, gate,
//   `admitted: why
//                                           that does no harm`, or - where nothing could be run
//   // says: past the end of %y             what else the refusal has to say
// Drafts in cuda are compiled wherever NVRTC is, and run where there is a GPU; those in metal only checked.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <sstream>

#include "check/check.h"
#include "check/launch_line.h"
#include "check/wrap.h"
#include "compile/cpu/compile.h"
#include "compile/cuda/compile.h"
#include "compile/cuda/device.h"
#include "gate/gate.h"
#include "gate/gpu_worker.h"
#include "generate/schedule/schedule.h"
#include "ir/kernel_text.h"
#include "reference/reference.h"

namespace autoperfect {
namespace {

namespace fs = std::filesystem;

std::string read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

struct Cheat {
  Kernel kernel;
  Draft draft;
  std::string rejected_by, code, says, without_check;
};

Cheat load(const fs::path& path) {
  static const std::map<std::string, std::string> by_extension = {
      {".cpp", "cpu"}, {".cu", "cuda"}, {".metal", "metal"}, {".py", "mlx"}};
  Cheat cheat;
  cheat.draft = {by_extension.at(path.extension()), read(path)};
  std::istringstream lines(cheat.draft.source);
  for (std::string line; std::getline(lines, line);) {
    auto value = [&](const std::string& key) {
      auto at = line.find(" " + key + ": ");
      return at == std::string::npos || at > 2 ? "" : line.substr(at + key.size() + 3);
    };
    if (auto name = value("kernel"); !name.empty()) {
      auto text = read(path.parent_path().parent_path() / "kernels" / (name + ".ap"));
      auto kernel = parse_kernel(text);
      if (!kernel) throw std::runtime_error(format(kernel.errors(), text));
      cheat.kernel = *kernel;
    } else if (auto by = value("rejected-by"); !by.empty()) {
      cheat.rejected_by = by.substr(0, by.find(' '));
      auto code = by.find("code=");
      if (code != std::string::npos) cheat.code = by.substr(code + 5);
    } else if (auto says = value("says"); !says.empty()) {
      cheat.says = says;
    } else if (auto then = value("without-check"); !then.empty()) {
      cheat.without_check = then;
    }
  }
  return cheat;
}

std::vector<fs::path> all_files() {
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(AUTOPERFECT_CHEATS)) {
    const auto folder = entry.path().parent_path().filename();
    const bool is_draft =
        folder != "kernels" && folder != "cheats" && entry.path().filename() != ".clang-format";
    if (entry.is_regular_file() && is_draft) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::vector<std::string> codes(const std::vector<Diagnostic>& diagnostics) {
  std::vector<std::string> found;
  for (const auto& one : diagnostics)
    found.push_back(one.code);
  return found;
}

bool has_code(const std::vector<Diagnostic>& diagnostics, const std::string& code) {
  const auto found = codes(diagnostics);
  return code.empty() || std::find(found.begin(), found.end(), code) != found.end();
}

// The draft behind our names for its buffers, as the check would have it, whatever it says.
Candidate unchecked(const Cheat& cheat) {
  const auto& language = cheat.draft.language;
  Candidate candidate;
  candidate.language = language;
  code::Errors ignored;
  const auto abi = code::make_abi(cheat.kernel, language, code::Part::kernel);
  auto lexed = code::lex(cheat.draft.source, ignored);
  if (auto launch = code::read_launch(lexed.directives, abi, language, ignored)) candidate.launch = *launch;
  candidate.source = code::head_of(abi, language, code::Part::kernel, candidate, false) + "\n" +
                     cheat.draft.source + "\n" + std::string(code::tail_of(language));
  return candidate;
}

class Cheats : public testing::TestWithParam<fs::path> {
 protected:
  void SetUp() override { cheat_ = load(GetParam()); }

  void TearDown() override { end_gpu_worker(); }

  bool on_gpu() const { return cheat_.draft.language == "cuda"; }

  Result<Checked> checked() const { return check(cheat_.kernel, cheat_.draft, default_cpu_target()); }

  bool can_compile() const {
    if (cheat_.draft.language == "mlx") return true;
    if (worker_path().empty() || cheat_.draft.language == "metal") return false;
    return on_gpu() ? cuda_compiler().ok() : system_compiler().ok();
  }

  // Everything but running it needs no GPU.
  bool can_run() const { return can_compile() && (!on_gpu() || CudaDevice::shared().ok()); }

  Result<std::string> compiled(const std::string& source, Build build) const {
    if (!on_gpu()) return compile_cpu(source, *system_compiler(), build);
    const auto& device = CudaDevice::shared();
    auto binary = compile_cuda(source, device ? (*device)->facts().capability : 90, {.drafted = true});
    return binary ? Result<std::string>(binary->cubin) : binary.errors();
  }

  // A graph, evaluated plainly.
  std::string judge(const Graph& graph) {
    auto evaluate = [&](const std::vector<Tensor>& inputs) {
      return run_reference(graph, inputs, Precision::exact);
    };
    GateOptions options;
    options.seed = 7;
    verdict_ = gate(cheat_.kernel, evaluate, true, options);
    why_ = format(verdict_.failures);
    return verdict_.admitted ? "admitted" : "gate";
  }

  // Compiles and judges; what refused it: "compile", "gate", "admitted".
  std::string judge(
      const Candidate& candidate, const std::string& watched_source, Build build, const Checked* checked) {
    auto binary = compiled(candidate.source, Build::plain);
    auto watched = binary ? compiled(watched_source, build) : binary;
    if (!watched) {
      why_ = format(watched.errors());
      return "compile";
    }
    if (!can_run()) return "not run";
    GateOptions options;
    options.seed = 7;
    if (on_gpu()) options.seconds = 5;
    options.watched_binary = &*watched;
    if (checked) {
      options.arms = checked->arms;
      options.constants = checked->constants;
    }
    verdict_ = gate(cheat_.kernel, candidate, *binary, options);
    why_ = format(verdict_.failures);
    return verdict_.admitted ? "admitted" : "gate";
  }

  Cheat cheat_;
  Verdict verdict_;
  std::string why_;
};

TEST_P(Cheats, is_refused_by_the_layer_it_names) {
  auto result = checked();
  if (cheat_.rejected_by == "check") {
    ASSERT_FALSE(result);
    EXPECT_TRUE(has_code(result.errors(), cheat_.code)) << format(result.errors(), cheat_.draft.source);
    return;
  }
  ASSERT_TRUE(result) << format(result.errors(), cheat_.draft.source);
  if (!can_compile()) GTEST_SKIP() << "no compiler for " << cheat_.draft.language << ", or no helper program";
  const auto by = result->graph ? judge(*result->graph)
                                : judge(result->candidate, result->counted_source, Build::counted, &*result);
  if (by == "not run") GTEST_SKIP() << "no GPU on this machine";
  if (cheat_.rejected_by.empty()) {
    EXPECT_EQ(by, "admitted") << why_;
  } else {
    EXPECT_EQ(by, cheat_.rejected_by) << why_;
    EXPECT_TRUE(has_code(verdict_.failures, cheat_.code)) << why_;
    EXPECT_NE(why_.find(cheat_.says), std::string::npos) << why_;
  }
}

// Those that can be run at all.
class WithoutCheck : public Cheats {};

std::vector<fs::path> refused_by_the_check() {
  auto files = all_files();
  std::erase_if(files, [](const fs::path& path) {
    const auto cheat = load(path);
    return cheat.rejected_by != "check" || cheat.without_check.empty() || cheat.without_check == "-";
  });
  return files;
}

TEST_P(WithoutCheck, is_refused_by_the_next_layer) {
  if (!can_compile()) GTEST_SKIP() << "no compiler, or no helper program";
  const auto candidate = unchecked(cheat_);
  const auto by = judge(candidate, candidate.source, Build::sanitized, nullptr);
  if (by == "not run") GTEST_SKIP() << "no GPU on this machine";
  EXPECT_EQ(by, cheat_.without_check.substr(0, cheat_.without_check.find(':'))) << why_;
}

std::string name_of(const testing::TestParamInfo<fs::path>& info) {
  return info.param.parent_path().filename().string() + "_" + info.param.stem().string();
}

INSTANTIATE_TEST_SUITE_P(all, Cheats, testing::ValuesIn(all_files()), name_of);
INSTANTIATE_TEST_SUITE_P(all, WithoutCheck, testing::ValuesIn(refused_by_the_check()), name_of);

// A source of the built-in generator as a draft of somebody else: the signatures go, and its buffers and
// sizes are found by name. Nothing when it is made of several functions, which a draft cannot be.
std::optional<Draft> as_draft(const Kernel& kernel, const Candidate& candidate) {
  std::string text = candidate.source;
  const std::string first = "extern \"C\" void autoperfect_kernel(",
                    second = "}\nextern \"C\" void autoperfect_finish(";
  if (!text.starts_with(first)) return std::nullopt;
  std::vector<std::string> axes;
  const auto neutral = with_neutral_names(kernel);
  for (auto axis : candidate.launch.parallel)
    axes.push_back(neutral.axes[axis].name);
  const auto& launch = candidate.launch;
  std::ostringstream line;
  line << "// launch: parallel=";
  for (size_t a = 0; a < axes.size(); ++a)
    line << (a > 0 ? "," : "") << axes[a];
  line << (axes.empty() ? "none" : "") << " grain=" << launch.grain << " align=" << launch.align
       << " scratch=" << launch.scratch_bytes << " partial=" << launch.partial_bytes << "\n";
  if (auto finish = text.find(second); finish != std::string::npos)
    text.replace(finish, text.find('{', finish) + 1 - finish, "// finish:");
  text = text.substr(text.find('{') + 1);
  text.erase(text.rfind('}'));
  std::vector<std::string> dynamic;
  for (const auto& axis : neutral.axes)
    if (axis.dynamic) dynamic.push_back("n_" + axis.name);
  text = std::regex_replace(text, std::regex(R"(\b(in|out)\[(\d+)\])"), "$1$2");
  for (size_t d = 0; d < dynamic.size(); ++d)
    text = std::regex_replace(text, std::regex("dims\\[" + std::to_string(d) + "\\]"), dynamic[d]);
  text = std::regex_replace(text, std::regex("const long partial_step = [^;]*;"), "");
  text = std::regex_replace(text, std::regex(R"(__builtin_nanf\(""\))"), "nan");
  return Draft{"cpu", line.str() + text};
}

std::vector<Kernel> golden_kernels() {
  std::vector<Kernel> kernels;
  const std::string begin = "autoperfect.kernel 1\n", end = "\n}\n";
  for (const auto& entry :
       fs::directory_iterator(fs::path(AUTOPERFECT_CHEATS).parent_path() / "golden" / "lower")) {
    const auto text = read(entry.path());
    for (auto at = text.find(begin); at != std::string::npos; at = text.find(begin, at + 1)) {
      auto kernel = parse_kernel(text.substr(at, text.find(end, at) + end.size() - at));
      if (kernel) kernels.push_back(*kernel);
    }
  }
  return kernels;
}

TEST(built_in_sources, are_good_drafts) {
  size_t checked = 0, skipped = 0;
  for (const auto& kernel : golden_kernels()) {
    for (const auto& candidate : generate_schedules(kernel, default_cpu_target())) {
      auto draft = as_draft(kernel, candidate);
      if (!draft) {
        ++skipped;
        continue;
      }
      auto result = check(kernel, *draft, default_cpu_target());
      ASSERT_TRUE(result) << kernel.name << " " << candidate.provenance << "\n"
                          << format(result.errors(), draft->source);
      EXPECT_EQ(result->candidate.launch, candidate.launch);
      ++checked;
    }
  }
  EXPECT_GE(checked, 30u);
  std::printf("%zu sources checked, %zu of several functions left out\n", checked, skipped);
}

// With a counter at each arm they still pass the gate. Only blocks of products have code for widths that this
// kernel does not have; that is refused of a draft, and nothing else.
TEST(built_in_sources, are_admitted_as_drafts) {
  if (!system_compiler() || worker_path().empty()) GTEST_SKIP() << "no compiler, or no helper program";
  for (const auto& kernel : golden_kernels()) {
    auto candidates = generate_schedules(kernel, default_cpu_target());
    auto draft = candidates.empty() ? std::nullopt : as_draft(kernel, candidates.front());
    if (!draft) continue;
    auto result = check(kernel, *draft, default_cpu_target());
    ASSERT_TRUE(result);
    auto binary = compile_cpu(result->candidate.source, *system_compiler());
    ASSERT_TRUE(binary) << format(binary.errors());
    auto counted = compile_cpu(result->counted_source, *system_compiler(), Build::counted);
    ASSERT_TRUE(counted) << format(counted.errors());
    GateOptions options;
    options.seed = 7;
    options.watched_binary = &*counted;
    options.arms = result->arms;
    options.constants = result->constants;
    auto verdict = gate(kernel, result->candidate, *binary, options);
    const bool is_product = candidates.front().source.find("ap::multiply") != std::string::npos;
    for (const auto& code : codes(verdict.failures))
      EXPECT_EQ(code, is_product ? "arm-not-reached" : "")
          << kernel.name << format(verdict.failures) << draft->source;
    EXPECT_TRUE(verdict.admitted || is_product);
  }
}

}  // namespace
}  // namespace autoperfect
