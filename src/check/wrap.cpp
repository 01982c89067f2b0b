#include "check/wrap.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/layout.h"

namespace autoperfect::code {

namespace {

// The usual names of C for numbers.
constexpr std::string_view names_of_c =
    "using size_t = unsigned long; using int8_t = ap::i8; using uint8_t = ap::u8; using int16_t = ap::i16; "
    "using uint16_t = ap::u16; using int32_t = ap::i32; using uint32_t = ap::u32; using int64_t = ap::i64; "
    "using uint64_t = ap::u64; ";

std::string_view cpu_type(Dtype dtype) {
  return dtype == Dtype::bool_ ? "bool8" : name(dtype);
}

// For Metal by what MLX calls them in its own kernels.
std::string declare_sizes(const Abi& abi, std::string_view language) {
  std::string text;
  size_t dynamic = 0;
  for (size_t a = 0; a < abi.kernel.axes.size(); ++a) {
    const auto& axis = abi.kernel.axes[a];
    if (!axis.dynamic) {
      text += fmt::format("constexpr long {} = {}; ", size_name(axis), axis.size);
    } else if (language == "cpu") {
      text += fmt::format("const long {} = ap_dims[{}]; ", size_name(axis), dynamic++);
    } else if (language == "cuda") {
      text += fmt::format("const long {} = ap_d{}; ", size_name(axis), dynamic++);
    } else {
      for (const auto& buffer : abi.kernel.buffers) {
        auto dim = std::find(buffer.dynamic_dims.begin(), buffer.dynamic_dims.end(), static_cast<AxisId>(a));
        if (dim == buffer.dynamic_dims.end() || buffer.role != BufferRole::in) continue;
        text += fmt::format(
            "const long {} = {}_shape[{}]; ",
            size_name(axis),
            buffer.name,
            dim - buffer.dynamic_dims.begin());
        break;
      }
    }
  }
  if (language != "cpu") return text;
  for (const auto& [buffer, dimension] : free_strides(abi.kernel))
    text += fmt::format(
        "const long {} = ap_dims[{}]; ", stride_name(abi.kernel.buffers[buffer], dimension), dynamic++);
  return text;
}

std::string declare_buffers(const Abi& abi, int64_t alignment) {
  std::string text;
  int inputs = 0, outputs = 0;
  for (const auto& buffer : abi.kernel.buffers) {
    const bool is_input = buffer.role == BufferRole::in;
    auto pointer = fmt::format("{}{}*", is_input ? "const " : "", cpu_type(buffer.type.dtype));
    auto value = is_input ? fmt::format("ap_in[{}]", inputs++) : fmt::format("ap_out[{}]", outputs++);
    if (alignment > 1) value = fmt::format("__builtin_assume_aligned({}, {})", value, alignment);
    text += fmt::format("{} const {} = ({}){}; ", pointer, buffer.name, pointer, value);
  }
  return text;
}

std::string cpu_head(const Abi& abi, Part part, const Candidate& candidate, bool counted) {
  const bool is_kernel = part == Part::kernel;
  std::string text =
      is_kernel ? "extern \"C\" void autoperfect_kernel(const void* const* ap_in, void* const* ap_out, "
                  "void* ap_scratch, void* ap_partial, const long* ap_dims, long ap_begin, long ap_end"
                : "extern \"C\" void autoperfect_finish(const void* const* ap_in, void* const* ap_out, "
                  "const void* ap_partials, long ap_chunks, const long* ap_dims";
  text += counted ? ", unsigned char* reached) { " : ") { ";
  text += "using namespace ap; ";  // where the draft's own names are found before ours
  text += names_of_c;
  text += declare_buffers(abi, candidate.guards.alignment);
  text += declare_sizes(abi, "cpu");
  if (is_kernel) {
    text +=
        "char* const scratch = (char*)ap_scratch; char* const partial = (char*)ap_partial; "
        "const long begin = ap_begin, end = ap_end; ";
  } else {
    const int64_t step = (candidate.launch.partial_bytes + 63) / 64 * 64;
    text += fmt::format(
        "const char* const partials = (const char*)ap_partials; const long chunks = ap_chunks; "
        "constexpr long partial_step = {}; ",
        step);
  }
  return text + "{";
}

// Of parameters, where the names of C are not yet declared.
std::string cuda_type(Dtype dtype) {
  switch (dtype) {
    case Dtype::f16:
      return "__half";
    case Dtype::bf16:
      return "__nv_bfloat16";
    case Dtype::bool_:
      return "bool";
    case Dtype::f64:
      return "double";
    default:
      return fmt::format("ap::{}", name(dtype));
  }
}

std::string cuda_parameters(const Abi& abi, bool counted) {
  std::string text;
  for (const auto& buffer : abi.kernel.buffers)
    text += fmt::format(
        "{}{}{}* const __restrict__ {}",
        text.empty() ? "" : ", ",
        buffer.role == BufferRole::in ? "const " : "",
        cuda_type(buffer.type.dtype),
        buffer.name);
  int dynamic = 0;
  for (const auto& axis : abi.kernel.axes)
    if (axis.dynamic) text += fmt::format(", int ap_d{}", dynamic++);
  return text + (counted ? ", unsigned char* reached" : "");
}

// The counted build also shows races: warps wait for times nobody knows, and shared memory is poisoned.
std::string cuda_head(const Abi& abi, const Candidate& candidate, bool counted) {
  int64_t threads = 1;
  for (const auto& size : candidate.launch.block)
    threads *= evaluate_size(size, sizes_of(abi.kernel, false)).value.value_or(1);
  auto text = fmt::format(
      "extern \"C\" __global__ void __launch_bounds__({}) autoperfect_kernel({}) {{ ",
      threads,
      cuda_parameters(abi, counted));
  text += names_of_c;
  text += declare_sizes(abi, "cuda");
  text += "extern __shared__ __align__(16) char ap_shared[]; char* const shared = ap_shared; ";
  if (counted)
    text += fmt::format(
        "ap::poison_bytes(ap_shared, {}); "
        "auto __syncthreads = [] {{ ::__syncthreads(); ap::stagger(); }}; ",
        candidate.launch.scratch_bytes);
  return text + "{";
}

}  // namespace

std::string head_of(
    const Abi& abi, std::string_view language, Part part, const Candidate& candidate, bool counted) {
  if (language == "cpu") return cpu_head(abi, part, candidate, counted);
  if (language == "cuda") return cuda_head(abi, candidate, counted);
  return declare_sizes(abi, language) + "{";
}

std::string_view tail_of(std::string_view language) {
  return language == "metal" ? "}" : "}}";
}

}  // namespace autoperfect::code
