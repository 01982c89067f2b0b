#include "generate/schedule/cuda/frame.h"

#include <algorithm>

#include "generate/schedule/cuda/units.h"
#include "generate/schedule/cuda/writer.h"
#include "generate/schedule/expression.h"
#include "generate/schedule/scope.h"

namespace autoperfect::schedule::cuda {
namespace {

bool is_dynamic(const Kernel& kernel) {
  return std::any_of(kernel.axes.begin(), kernel.axes.end(), [](const Axis& axis) { return axis.dynamic; });
}

// Whether numbers of elements, with room for the last blocks, are ints.
bool is_small(const Kernel& kernel, const SizeGuard& unit) {
  constexpr int64_t most = int64_t{1} << 30;
  if (is_dynamic(kernel)) return unit.most < most;
  int64_t all = 1;
  for (auto& axis : kernel.axes)
    all = std::min(most, all * std::max<int64_t>(axis.size, 1));
  return all < most && std::all_of(kernel.buffers.begin(), kernel.buffers.end(), [](const Buffer& buffer) {
           return buffer.type.elements() < most;
         });
}

// No launch on a GPU gives an output the memory of an input, whatever its `alias` allows.
std::string parameter(const Kernel& kernel, size_t b) {
  auto& buffer = kernel.buffers[b];
  return (buffer.role == BufferRole::in ? "const " : "") + element_type(buffer.type.dtype) +
         "* __restrict__ " + id("b", static_cast<int>(b));
}

class Joiner {
 public:
  Joiner(const Kernel& kernel, const std::vector<Part>& parts, const SizeGuard& unit)
      : kernel_(kernel), parts_(parts), unit_(unit) {
    stores_.assign(kernel.buffers.size(), false);
    finish_stores_ = stores_;
    for (auto& part : parts)
      for (size_t b = 0; b < kernel.buffers.size(); ++b) {
        stores_[b] = stores_[b] || part.stores[b];
        finish_stores_[b] = finish_stores_[b] || part.finish_stores[b];
      }
  }

  std::optional<Candidate> run();

 private:
  std::string kernel_text(bool finish, bool aligned) const;
  std::string call(size_t p, bool finish, bool aligned, const std::string& blocks) const;
  std::string partial_at(size_t p) const;
  std::vector<int> outputs(const std::vector<bool>& stored) const;

  const Kernel& kernel_;
  const std::vector<Part>& parts_;
  const SizeGuard& unit_;
  std::vector<bool> stores_, finish_stores_;
  bool finishes() const { return !launch_.finish_blocks.empty(); }

  struct {
    std::string blocks, finish_blocks, partial_bytes;
    int threads = 0, finish_threads = 0;
  } launch_;
};

std::string Joiner::partial_at(size_t p) const {
  std::string text = "partial";
  for (size_t k = 0; k < p; ++k)
    if (!parts_[k].partial_bytes.empty()) text += " + " + parts_[k].partial_bytes;
  return text;
}

std::string Joiner::call(size_t p, bool finish, bool aligned, const std::string& blocks) const {
  std::string text = (finish ? "finish" : "part") + std::to_string(p) + (aligned ? "<true>(" : "<false>(");
  auto& stored = finish ? finish_stores_ : stores_;
  for (size_t b = 0; b < kernel_.buffers.size(); ++b)
    text += kernel_.buffers[b].role == BufferRole::in || stored[b] ? id("b", static_cast<int>(b)) + ", "
                                                                   : "nullptr, ";
  text += (parts_[p].finish_blocks.empty() ? "nullptr" : partial_at(p)) + std::string(", ") +
          (finish && parts_[p].finish_shared_bytes == 0 ? "nullptr" : "shared") + ", " +
          (is_dynamic(kernel_) ? "d0" : "0") + ", ";
  return text + blocks + ");\n";
}

std::string Joiner::kernel_text(bool finish, bool aligned) const {
  auto& stored = finish ? finish_stores_ : stores_;
  bool partial = finishes();
  std::string parameters;
  auto add = [&](const std::string& text) { parameters += (parameters.empty() ? "" : ", ") + text; };
  for (size_t b = 0; b < kernel_.buffers.size(); ++b)
    if (kernel_.buffers[b].role == BufferRole::in) add(parameter(kernel_, b));
  if (partial && finish) add("unsigned char* partial");
  for (size_t b = 0; b < kernel_.buffers.size(); ++b)
    if (kernel_.buffers[b].role == BufferRole::out && stored[b]) add(parameter(kernel_, b));
  if (partial && !finish) add("unsigned char* partial");
  const bool counts_units = is_dynamic(kernel_) && unit_.multiple > 1;
  if (is_dynamic(kernel_)) add(counts_units ? "int size" : "int d0");
  std::string text = "extern \"C\" __global__ void __launch_bounds__(" +
                     std::to_string(finish ? launch_.finish_threads : launch_.threads) + ") autoperfect_" +
                     (finish ? "finish" : "kernel") + (aligned ? "" : "_unaligned") + "(" + parameters +
                     ") {\n";
  if (counts_units) text += "  const int d0 = size / " + std::to_string(unit_.multiple) + ";\n";
  int64_t shared = finish ? 0 : 16;
  for (auto& part : parts_)
    shared = std::max(shared, finish ? part.finish_shared_bytes : part.shared_bytes);
  if (shared > 0) text += "  __shared__ alignas(16) unsigned char shared[" + std::to_string(shared) + "];\n";
  if (parts_.size() == 1) return text + "  " + call(0, finish, aligned, "blockIdx.x, gridDim.x") + "}\n";
  text += "  ix block = blockIdx.x, blocks = 0;\n";
  for (size_t p = 0; p < parts_.size(); ++p) {
    auto& count = finish ? parts_[p].finish_blocks : parts_[p].blocks;
    if (count.empty()) continue;
    text += "  block -= blocks;\n  blocks = " + count + ";\n  if (block < blocks) return " +
            call(p, finish, aligned, "block, blocks");
  }
  return text + "}\n";
}

std::vector<int> Joiner::outputs(const std::vector<bool>& stored) const {
  std::vector<int> found;
  int output = 0;
  for (size_t b = 0; b < kernel_.buffers.size(); ++b)
    if (kernel_.buffers[b].role == BufferRole::out) {
      if (stored[b]) found.push_back(output);
      ++output;
    }
  return found;
}

std::optional<Candidate> Joiner::run() {
  for (size_t b = 0; b < stores_.size(); ++b)
    if (stores_[b] && finish_stores_[b]) return std::nullopt;
  auto add = [](std::string& sum, const std::string& term) {
    if (!term.empty()) sum += (sum.empty() ? "" : " + ") + term;
  };
  Candidate candidate;
  std::string source =
      std::string("namespace ap {\nusing ix = ") + (is_small(kernel_, unit_) ? "int" : "long") + ";\n";
  for (auto& part : parts_) {
    add(launch_.blocks, part.blocks);
    add(launch_.finish_blocks, part.finish_blocks);
    add(launch_.partial_bytes, part.partial_bytes);
    launch_.threads = part.threads;
    candidate.launch.scratch_bytes = std::max(candidate.launch.scratch_bytes, part.block_bytes);
    launch_.finish_threads = std::max(launch_.finish_threads, part.finish_threads);
    source += part.source;
  }
  for (bool aligned : {true, false}) {
    source += kernel_text(false, aligned);
    if (finishes()) source += kernel_text(true, aligned);
  }
  candidate.language = "cuda";
  candidate.source = source + "}  // namespace ap\n";
  candidate.launch.grid = {of_size(launch_.blocks, unit_.multiple)};
  candidate.launch.block = {std::to_string(launch_.threads)};
  if (finishes())
    candidate.second = {
        {of_size(launch_.finish_blocks, unit_.multiple)},
        {std::to_string(launch_.finish_threads)},
        of_size(launch_.partial_bytes, unit_.multiple),
        outputs(stores_),
        outputs(finish_stores_)};
  if (unit_.axis >= 0) candidate.guards.sizes = {unit_};
  return candidate;
}

}  // namespace

std::string part_head(const Kernel& kernel, const std::string& name) {
  std::string text = "template <bool Aligned>\nvoid " + name + "(";
  for (size_t b = 0; b < kernel.buffers.size(); ++b)
    text += parameter(kernel, b) + ", ";
  return text +
         "unsigned char* partial,\n    unsigned char* shared, const ix d0, const ix block, const ix blocks) "
         "{\n";
}

std::optional<Candidate> join(const Kernel& kernel, const std::vector<Part>& parts, const SizeGuard& unit) {
  return Joiner(kernel, parts, unit).run();
}

}  // namespace autoperfect::schedule::cuda
