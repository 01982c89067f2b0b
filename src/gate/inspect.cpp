#include "gate/inspect.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "gate/judge.h"
#include "gate/plan.h"

namespace autoperfect {
namespace {

struct Output {
  const Buffer& buffer;
  Arena arenas[passes];
  int64_t poisons[passes];
  bool is_aliased = false;  // in one pass
};

class OutputInspector {
 public:
  OutputInspector(const Output& output, const unsigned char* file, bool any_cut_agrees)
      : output_(output), file_(file), any_cut_agrees_(any_cut_agrees) {}

  std::string run() const {
    for (int pass = 0; pass < passes; ++pass) {
      if (auto found = find_touched(pass); !found.empty()) return found;
    }
    if (output_.buffer.role == BufferRole::temp) return "";  // what it holds is the kernel's own
    if (auto found = find_difference(0, 2); !found.empty()) return found;
    return any_cut_agrees_ ? find_difference(0, 1) : find_unwritten(1);
  }

 private:
  const unsigned char* data(int pass) const {
    return file_ + output_.arenas[pass].offset + output_.arenas[pass].data;
  }

  std::string find_touched(int pass) const {
    const Arena& arena = output_.arenas[pass];
    const unsigned char* pages = file_ + arena.offset;
    for (int64_t i = 0; i < arena.size; ++i) {
      if (i == arena.data) i += arena.bytes;
      if (i >= arena.size || pages[i] == output_.poisons[pass]) continue;
      int64_t distance = i < arena.data ? arena.data - i : i - arena.data - arena.bytes;
      return fmt::format(
          "writes {} bytes {} %{}",
          distance,
          i < arena.data ? "before" : "past the end of",
          output_.buffer.name);
    }
    return "";
  }

  int64_t element_bytes() const { return size_of(output_.buffer.type.dtype); }

  bool is_poison(int pass, int64_t element) const {
    const unsigned char* bytes = data(pass) + element * element_bytes();
    return std::all_of(
        bytes, bytes + element_bytes(), [&](unsigned char byte) { return byte == output_.poisons[pass]; });
  }

  std::string find_unwritten(int pass) const {
    // A number may look like the poison of one run by chance, not like that of two.
    for (int64_t e = 0, n = output_.buffer.type.elements(); e < n; ++e) {
      if (is_poison(pass, e) && is_poison(0, e)) return unwritten(e);
    }
    return "";
  }

  std::string unwritten(int64_t element) const {
    return fmt::format(
        "does not write %{}{}", output_.buffer.name, index_text(output_.buffer.type.shape, element));
  }

  std::string find_difference(int a, int b) const {
    if (std::memcmp(data(a), data(b), static_cast<size_t>(output_.arenas[a].bytes)) == 0) return "";
    int64_t size = element_bytes();
    for (int64_t e = 0, n = output_.buffer.type.elements(); e < n; ++e) {
      if (std::memcmp(data(a) + e * size, data(b) + e * size, static_cast<size_t>(size)) == 0) continue;
      if (is_poison(a, e) || is_poison(b, e)) return unwritten(e);
      std::string place = output_.buffer.name + index_text(output_.buffer.type.shape, e);
      if (b != 1) return "gives another %" + place + " when it is called again";
      return "gives another %" + place +
             (output_.is_aliased ? " when it takes the memory of an input, or the range is cut otherwise"
                                 : " when the range is cut otherwise");
    }
    return "";
  }

  const Output& output_;
  const unsigned char* file_;
  bool any_cut_agrees_;
};

}  // namespace

std::string inspect_memory(const InputFamily& family, size_t index, const Job& job, MemoryFile& outputs) {
  size_t next = 0;
  for (auto& buffer : family.kernel.buffers) {
    if (buffer.role == BufferRole::in) continue;
    Output output{buffer, {}, {}, buffer.alias >= 0};
    for (int pass = 0; pass < passes; ++pass) {
      const JobRun& run = job.runs[run_index(job.families.size(), pass, index)];
      output.arenas[pass] = run.outputs[next];
      output.poisons[pass] = run.poison;
    }
    auto found = OutputInspector(output, outputs.data(), job.passes_agree()).run();
    if (!found.empty()) return found;
    ++next;
  }
  return "";
}

std::vector<Tensor> outputs_of(const InputFamily& family, const JobRun& run, MemoryFile& outputs) {
  std::vector<Tensor> tensors;
  size_t next = 0;
  for (auto& buffer : family.kernel.buffers) {
    if (buffer.role != BufferRole::out) continue;
    const Arena& arena = run.outputs[next++];
    Tensor tensor = Tensor::zeros(buffer.type);
    std::copy_n(outputs.data() + arena.offset + arena.data, arena.bytes, tensor.bytes.begin());
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

}  // namespace autoperfect
