#include "compile/cuda/compile.h"

#include <charconv>
#include <vector>

#include "compile/compiler_messages.h"
#include "compile/cuda/nvrtc.h"

namespace autoperfect {
namespace {

// No contraction, no flushing of denormals, correctly rounded division and square root: the contract is MLX
// eager's rounding, and MLX's own kernels are compiled so, one operation each. Everything not marked is
// device code, so that the prelude reads like the CPU's.
const std::vector<const char*> flags = {
    "-std=c++20",
    "-default-device",
    "-fmad=false",
    "-ftz=false",
    "-prec-div=true",
    "-prec-sqrt=true",
    "-w",
    "--no-source-include"};
constexpr std::string_view file_name = "kernel.cu";
constexpr int oldest_capability = 80;

std::string joined_flags() {
  std::string text;
  for (const char* flag : flags)
    text += (text.empty() ? "" : " ") + std::string(flag);
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

}  // namespace

const Result<CudaCompiler>& cuda_compiler() {
  static const Result<CudaCompiler> compiler = find_compiler();
  return compiler;
}

Result<CudaBinary> compile_cuda(const std::string& source, int capability) {
  if (!cuda_compiler()) return cuda_compiler().errors();
  if (capability < oldest_capability)
    return Diagnostic{
        "compile", "old-gpu", "GPUs before compute capability 8.0 are not supported", {}, "plain MLX runs"};
  const Nvrtc& nvrtc = *find_nvrtc();
  Program program(nvrtc, cuda_prelude_source() + "\n#line 1 \"kernel.cu\"\n" + source + "\n");
  std::string architecture = "-arch=sm_" + std::to_string(capability);
  auto options = flags;
  options.push_back(architecture.c_str());
  int status = program.compile(options);
  std::string log = program.log();
  while (!log.empty() && (log.back() == '\0' || log.back() == '\n'))
    log.pop_back();
  if (status != 0) {
    auto messages = read_compiler_messages(log, parse_message);
    if (!messages.empty()) return messages;
    return Diagnostic{
        "compile", "compiler-failed", std::string("NVRTC failed: ") + nvrtc.error_text(status), {}, ""};
  }
  CudaBinary binary{program.cubin(), std::move(log)};
  if (binary.cubin.empty()) return Diagnostic{"compile", "no-output", "NVRTC gave no cubin"};
  return binary;
}

}  // namespace autoperfect
