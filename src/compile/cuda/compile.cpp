#include "compile/cuda/compile.h"

#include <unistd.h>

#include <charconv>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <iterator>
#include <vector>

#include "compile/compiler_messages.h"
#include "compile/cuda/nvrtc.h"
#include "support/isolation.h"
#include "support/sandbox.h"
#include "support/subprocess.h"

namespace autoperfect {
namespace {

// No flushing of denormals, correctly rounded division and square root; and for what is built in no
// contraction: the contract is MLX eager's rounding, and MLX's own kernels are compiled so, one operation
// each. Everything not marked is device code, so that the prelude reads like the CPU's.
const std::vector<const char*> flags = {
    "-std=c++20",
    "-default-device",
    "-ftz=false",
    "-prec-div=true",
    "-prec-sqrt=true",
    "-w",
    "--ptxas-options=-v",
    "--no-source-include"};
constexpr const char *built_in_flag = "-fmad=false", *drafted_flag = "-fmad=true";
constexpr std::string_view file_name = "kernel.cu";
constexpr int oldest_capability = 80;
constexpr int64_t memory_allowed = int64_t{4} << 30, binary_allowed = int64_t{32} << 20;

std::string joined_flags() {
  std::string text = std::string(built_in_flag) + " or " + drafted_flag;
  for (const char* flag : flags)
    text += " " + std::string(flag);
  return text;
}

Result<CudaCompiler> find_compiler() {
  const Nvrtc* nvrtc = find_nvrtc();
  if (!nvrtc)
    return Diagnostic{
        "compile",
        "no-nvrtc",
        "NVRTC was not found, so plain MLX runs on the GPU",
        {},
        "install the CUDA toolkit, or the package nvidia-cuda-nvrtc"};
  int major = 0, minor = 0;
  nvrtc->version(&major, &minor);
  return CudaCompiler{std::to_string(major) + "." + std::to_string(minor), joined_flags()};
}

// "kernel.cu(12): error: message". Lines before the candidate's first are the prelude's, and said as they
// are.
bool parse_message(std::string_view line, Diagnostic& diagnostic) {
  if (!line.starts_with(file_name) || line.size() <= file_name.size() || line[file_name.size()] != '(')
    return false;
  line.remove_prefix(file_name.size() + 1);
  auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), diagnostic.where.line);
  if (error != std::errc()) return false;
  line.remove_prefix(static_cast<size_t>(end - line.data()));
  for (std::string_view kind : {"): error: ", "): catastrophic error: "}) {
    if (!line.starts_with(kind)) continue;
    diagnostic.stage = "compile";
    diagnostic.code = "compiler-error";
    diagnostic.message = line.substr(kind.size());
    return true;
  }
  return false;
}

// A program of NVRTC, destroyed at the end.
class Program {
 public:
  Program(const Nvrtc& nvrtc, const std::string& text) : nvrtc_(nvrtc) {
    if (nvrtc_.create(&program_, text.c_str(), file_name.data(), 0, nullptr, nullptr) != 0)
      program_ = nullptr;
  }
  ~Program() {
    if (program_) nvrtc_.destroy(&program_);
  }
  Program(const Program&) = delete;

  int compile(const std::vector<const char*>& options) {
    return program_ ? nvrtc_.compile(program_, static_cast<int>(options.size()), options.data()) : -1;
  }
  std::string log() const { return text(nvrtc_.log_size, nvrtc_.log); }
  std::string cubin() const { return text(nvrtc_.cubin_size, nvrtc_.cubin); }

 private:
  template <class Size, class Get>
  std::string text(Size size_of_it, Get get) const {
    size_t size = 0;
    if (!program_ || size_of_it(program_, &size) != 0) return "";
    std::string bytes(size, '\0');
    return get(program_, bytes.data()) == 0 ? bytes : "";
  }

  const Nvrtc& nvrtc_;
  Nvrtc::Program program_ = nullptr;
};

// What the compiler said of a text, and the cubin: empty when it failed.
struct Compiled {
  std::string cubin, log;
  std::string failure;
};

Compiled run_nvrtc(const Nvrtc& nvrtc, const std::string& text, const std::string& capability, bool drafted) {
  Program program(nvrtc, text);
  std::string architecture = "-arch=sm_" + capability;
  auto options = flags;
  options.push_back(drafted ? drafted_flag : built_in_flag);
  options.push_back(architecture.c_str());
  int status = program.compile(options);
  Compiled compiled;
  compiled.log = program.log();
  while (!compiled.log.empty() && (compiled.log.back() == '\0' || compiled.log.back() == '\n'))
    compiled.log.pop_back();
  if (status == 0)
    compiled.cubin = program.cubin();
  else
    compiled.failure = nvrtc.error_text(status);
  return compiled;
}

Diagnostic failure(const std::string& code, const std::string& message) {
  return {"compile", code, message};
}

Result<Compiled> run_helper(const std::string& text, const std::string& capability, double seconds) {
  const std::string worker = worker_path();
  if (worker.empty()) return failure("no-worker", "the helper program autoperfect-worker is not installed");
  ProcessOptions options;
  options.input = text;
  options.seconds = seconds;
  options.memory_bytes = memory_allowed;
  options.output_bytes = binary_allowed;
  options.environment = {"LD_LIBRARY_PATH=" + nvrtc_folder()};  // where it finds its own parts
  auto run = run_process(
      {worker, cuda_compiler_mode, std::to_string(getpid()), std::to_string(seconds), capability}, options);
  if (!run) return run.errors();
  if (run->timed_out || run->signal == SIGXCPU || run->signal == SIGKILL)
    return failure("compiler-timeout", "the compiler was stopped after its time limit");
  if (run->signal)
    return failure("compiler-killed", "the compiler ended by signal " + std::to_string(run->signal));
  if (static_cast<int64_t>(run->output.size()) >= binary_allowed)
    return failure("too-large", "the compiled kernel is too large");
  if (run->exit_code == 0) return Compiled{std::move(run->output), std::move(run->errors), ""};
  if (run->exit_code != 1) return failure("no-nvrtc", "the helper program does not find NVRTC");
  auto said = run->errors.substr(0, run->errors.find('\n'));
  return Compiled{"", std::move(run->errors), said.empty() ? "it does not say why" : said};
}

}  // namespace

const Result<CudaCompiler>& cuda_compiler() {
  static const Result<CudaCompiler> compiler = find_compiler();
  return compiler;
}

Result<CudaBinary> compile_cuda(const std::string& source, int capability, const CudaOptions& how) {
  if (!cuda_compiler()) return cuda_compiler().errors();
  if (capability < oldest_capability)
    return Diagnostic{
        "compile", "old-gpu", "GPUs before compute capability 8.0 are not supported", {}, "plain MLX runs"};
  const std::string text = cuda_prelude_source() + "\n#line 1 \"kernel.cu\"\n" + source + "\n";
  const std::string architecture = std::to_string(capability);
  auto compiled = how.drafted ? run_helper(text, architecture, how.seconds)
                              : Result<Compiled>(run_nvrtc(*find_nvrtc(), text, architecture, false));
  if (!compiled) return compiled.errors();
  if (!compiled->failure.empty()) {
    auto messages = read_compiler_messages(compiled->log, parse_message);
    if (!messages.empty()) return messages;
    return failure("compiler-failed", "NVRTC failed: " + compiled->failure);
  }
  if (compiled->cubin.empty()) return failure("no-output", "NVRTC gave no cubin");
  return CudaBinary{std::move(compiled->cubin), std::move(compiled->log)};
}

int run_cuda_compiler(int argc, char** argv) {
  if (argc != 5) return 2;
  follow_parent(std::atoi(argv[2]), SIGKILL);
  const Nvrtc* nvrtc = find_nvrtc();
  if (!nvrtc) return 3;
  const std::string text(std::istreambuf_iterator<char>(std::cin), {});
  limit_resources({memory_allowed, 0, 1, 32, std::atof(argv[3])});
  restrict_files({{nvrtc_folder(), "/etc/ld.so.cache"}, {}});
  restrict_system_calls(Phase::compiling);
  auto compiled = run_nvrtc(*nvrtc, text, argv[4], true);
  std::cerr << compiled.log << std::flush;
  std::cout << compiled.cubin << std::flush;
  return compiled.cubin.empty() ? 1 : 0;
}

}  // namespace autoperfect
