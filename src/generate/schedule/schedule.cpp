#include "generate/schedule/schedule.h"

#include <algorithm>

#include "generate/schedule/contraction.h"
#include "generate/schedule/nest.h"
#include "generate/schedule/writer.h"
#include "ir/kernel_text.h"

namespace autoperfect {
namespace {

using schedule::Choice;
using schedule::Keep;

constexpr int64_t most_scratch = int64_t{1} << 20;
constexpr size_t most_unrolled_ops = 96;  // beyond that registers spill and the compiler takes seconds
constexpr int64_t streaming_bytes = int64_t{1} << 20;  // smaller outputs are read again from cache

int64_t output_bytes(const Kernel& kernel) {
  int64_t bytes = 0;
  for (auto& buffer : kernel.buffers)
    if (buffer.role == BufferRole::out) bytes += buffer.type.bytes();
  return bytes;
}

// Best guess first; duplicates in effect (nothing to keep, nothing to prefetch) are left out by their text.
std::vector<Choice> choices(const Kernel& kernel, const schedule::Nest& nest) {
  bool large = output_bytes(kernel) >= streaming_bytes;
  if (nest.columns()) {
    std::vector<Choice> columns;
    for (int unroll : {4, 8})
      for (bool prefetch : {false, true})
        columns.push_back({unroll, large, prefetch, Keep::nothing});
    return columns;
  }
  bool sweeps = find_passes(kernel, nest, Keep::nothing).count > 1;
  bool costly = !find_passes(kernel, nest, Keep::costly).kept.empty();
  std::vector<Choice> found;
  auto add = [&](int unroll, bool stream, bool prefetch, Keep keep) {
    while (unroll > 1 && unroll * kernel.values.size() > most_unrolled_ops)
      unroll /= 2;
    found.push_back({unroll, stream, prefetch, keep});
  };
  if (!sweeps) {
    for (int unroll : {2, 4})
      add(unroll, large, false, Keep::nothing);
    if (large) add(2, false, false, Keep::nothing);
    return found;
  }
  Keep keep = costly ? Keep::costly : Keep::nothing;
  add(4, large, true, keep);
  add(4, large, false, keep);
  if (large) add(4, false, true, keep);
  add(4, large, true, costly ? Keep::nothing : Keep::everything);
  return found;
}

std::string shape_text(schedule::Shape shape) {
  switch (shape) {
    case schedule::Shape::flat:
      return "flat";
    case schedule::Shape::rows:
      return "rows";
    case schedule::Shape::full_flat:
      return "full";
    case schedule::Shape::full_rows:
      return "full-rows";
    case schedule::Shape::columns_flat:
      return "columns";
    case schedule::Shape::columns_rows:
      return "columns-rows";
  }
  return "";
}

class Generator {
 public:
  Generator(const Kernel& kernel, const Target& target)
      : kernel_(kernel), target_(target), signature_(signature(kernel)) {}

  std::vector<Candidate> run() {
    if (auto contraction = schedule::find_contraction(kernel_)) {
      for (auto& blocking : schedule::blockings(*contraction, target_.lanes, target_.threads))
        add(schedule::write_contraction(kernel_, *contraction, blocking, target_.lanes),
            "matmul " + blocking.text());
      if (!candidates_.empty()) return std::move(candidates_);
    }
    if (auto nest = schedule::find_nest(kernel_))
      for (auto& choice : choices(kernel_, *nest))
        add(schedule::write_source(kernel_, *nest, choice), shape_text(nest->shape) + " " + choice.text());
    return std::move(candidates_);
  }

 private:
  void add(std::optional<schedule::Written> written, const std::string& provenance) {
    if (!written || written->launch.scratch_bytes > most_scratch) return;
    for (auto& earlier : candidates_)
      if (earlier.source == written->source) return;
    Candidate candidate;
    candidate.signature = signature_;
    candidate.target = target_.name;
    candidate.source = std::move(written->source);
    candidate.launch = std::move(written->launch);
    candidate.provenance = "schedule: " + provenance;
    candidates_.push_back(std::move(candidate));
  }

  const Kernel& kernel_;
  const Target& target_;
  std::string signature_;
  std::vector<Candidate> candidates_;
};

}  // namespace

std::vector<Candidate> generate_schedules(const Kernel& kernel, const Target& target) {
  return Generator(kernel, target).run();
}

}  // namespace autoperfect
