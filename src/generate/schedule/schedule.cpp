#include "generate/schedule/schedule.h"

#include <algorithm>

#include "generate/schedule/contraction.h"
#include "generate/schedule/cuda/generate.h"
#include "generate/schedule/nest.h"
#include "generate/schedule/parts.h"
#include "generate/schedule/tiles.h"
#include "generate/schedule/unroll.h"
#include "generate/schedule/writer.h"
#include "ir/kernel_text.h"
#include "ir/widened.h"

namespace autoperfect {
namespace {

using schedule::Choice;
using schedule::Keep;

constexpr int64_t most_scratch = int64_t{1} << 20;
constexpr size_t most_unrolled_ops = 96;  // beyond that registers spill and the compiler takes seconds
constexpr size_t most_accumulators = 16;  // vectors; half of what a core has at best
constexpr int64_t streaming_bytes = int64_t{1} << 20;  // smaller outputs are read again from cache

// Best guess first; duplicates in effect (nothing to keep, nothing to prefetch) are left out by their text.
std::vector<Choice> choices(const Kernel& kernel, const schedule::Nest& nest) {
  bool large = bytes_of_outputs(kernel) >= streaming_bytes;
  if (nest.columns()) {
    std::vector<Choice> columns{{1, large, false, Keep::nothing, true}};
    if (large) columns.push_back({1, false, false, Keep::nothing, true});
    columns.push_back({4, large, true, Keep::nothing});
    return columns;
  }
  bool sweeps = find_passes(kernel, nest, Keep::nothing).count > 1;
  bool costly = !find_passes(kernel, nest, Keep::costly).kept.empty();
  auto reductions =
      static_cast<size_t>(std::count_if(kernel.values.begin(), kernel.values.end(), schedule::is_reduction));
  std::vector<Choice> found;
  auto add = [&](int unroll, bool stream, bool prefetch, Keep keep) {
    while (unroll > 1 &&
           (unroll * kernel.values.size() > most_unrolled_ops || unroll * reductions > most_accumulators))
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

struct Variant {
  schedule::Written written;
  std::string text;
};

using Variants = std::vector<Variant>;

void add_variant(Variants& found, std::optional<schedule::Written> written, const std::string& text) {
  if (written && written->launch.scratch_bytes <= most_scratch) found.push_back({std::move(*written), text});
}

void add_loops(Variants& found, const Kernel& kernel, size_t most) {
  auto nest = schedule::find_nest(kernel);
  if (!nest) return;
  for (auto& choice : choices(kernel, *nest))
    if (found.size() < most)
      add_variant(
          found,
          schedule::write_source(kernel, *nest, choice),
          shape_text(nest->shape) + " " + choice.text());
}

// Few rows: the other operand is read once, from where it lies.
std::optional<Kernel> unroll_few_rows(const Kernel& kernel, const schedule::Contraction& contraction) {
  constexpr int64_t few_rows = 8;
  auto& rows = contraction.groups[contraction.rows];
  if (rows.seen_size > few_rows || !rows.size.is_fixed()) return std::nullopt;
  Kernel unrolled = kernel;
  for (AxisId axis : rows.axes)
    unrolled = schedule::unroll_axis(unrolled, axis);
  return unrolled;
}

void add_contraction(
    Variants& found, const Kernel& kernel, const schedule::Contraction& contraction, const Target& target) {
  if (auto unrolled = unroll_few_rows(kernel, contraction)) add_loops(found, *unrolled, 2);
  for (auto& blocking : schedule::blockings(contraction, target.lanes, target.threads))
    if (found.size() < 3)
      add_variant(
          found,
          schedule::write_contraction(kernel, contraction, blocking, target.lanes),
          "matmul " + blocking.text());
}

void add_tiles(Variants& found, const Kernel& kernel, const schedule::Nest& nest) {
  constexpr int64_t side = 128;
  for (bool stream : {true, false})
    if (!stream || bytes_of_outputs(kernel) >= streaming_bytes)
      add_variant(
          found,
          schedule::write_tiles(kernel, nest, side, stream),
          std::string("tiles store=") + (stream ? "stream" : "plain"));
}

// Of a kernel whose outputs share their loops.
Variants variants(const Kernel& kernel, const Target& target) {
  constexpr size_t most = 4;
  Variants found;
  if (auto contraction = schedule::find_contraction(kernel))
    add_contraction(found, kernel, *contraction, target);
  else if (auto nest = schedule::find_tiles(kernel))
    add_tiles(found, kernel, *nest);
  if (found.empty()) add_loops(found, kernel, most);
  return found;
}

// The first variants of all parts together, the second ones, and so on.
Variants joined_variants(const std::vector<Kernel>& parts, const Target& target) {
  std::vector<Variants> each;
  size_t count = 0;
  for (auto& part : parts) {
    each.push_back(variants(part, target));
    if (each.back().empty()) return {};
    count = std::max(count, each.back().size());
  }
  if (parts.size() == 1) return each[0];
  Variants found;
  for (size_t k = 0; k < count; ++k) {
    std::vector<schedule::Written> written;
    std::string text;
    for (auto& part : each) {
      auto& variant = part[std::min(k, part.size() - 1)];
      written.push_back(variant.written);
      text += (text.empty() ? "" : " | ") + variant.text;
    }
    found.push_back({schedule::join_parts(parts, written), text});
  }
  return found;
}

// Loops here sum lanes apart, in f32: no kernel that fixes an order, or asks for more, is for them.
bool keeps_numerics(const Kernel& kernel) {
  const Numerics& numerics = kernel.numerics;
  return std::none_of(kernel.values.begin(), kernel.values.end(), [&](const KernelValue& value) {
    if (class_of(value.op) == OpClass::elementwise || !is_floating(value.dtype)) return false;
    const bool selects =
        value.op == Op::max || value.op == Op::min || value.op == Op::cummax || value.op == Op::cummin;
    return !selects && (!numerics.reassociate || size_of(numerics.accumulate) > size_of(Dtype::f32));
  });
}

std::vector<Candidate> cpu_candidates(const Kernel& kernel, const Target& target) {
  std::vector<Candidate> candidates;
  for (auto& variant : joined_variants(schedule::split_into_parts(kernel), target)) {
    bool known = std::any_of(candidates.begin(), candidates.end(), [&](const Candidate& c) {
      return c.source == variant.written.source;
    });
    if (known) continue;
    Candidate candidate;
    candidate.target = target.name;
    candidate.source = std::move(variant.written.source);
    candidate.launch = std::move(variant.written.launch);
    candidate.provenance = "schedule: " + variant.text;
    candidates.push_back(std::move(candidate));
  }
  return candidates;
}

}  // namespace

bool has_schedule(const Kernel& kernel, const Target& target) {
  if (schedule::cuda::uses_long_numbers(kernel)) return false;
  if (!schedule::find_nest(kernel.numerics.wide ? widened(kernel) : kernel)) return false;
  if (!target.capability) return true;
  return schedule::cuda::is_told_enough(kernel) && !schedule::find_contraction(kernel);
}

std::vector<Candidate> generate_schedules(const Kernel& kernel, const Target& target) {
  if (!keeps_numerics(kernel) || schedule::cuda::uses_long_numbers(kernel)) return {};
  const bool wide = kernel.numerics.wide, cuda = target.name.starts_with("cuda.");
  const Kernel written = wide ? widened(kernel) : kernel;
  auto candidates = cuda ? schedule::cuda::generate(written, target) : cpu_candidates(written, target);
  for (auto& candidate : candidates) {
    candidate.signature = signature(kernel);
    if (wide) candidate.provenance += ", wide";
  }
  return candidates;
}

}  // namespace autoperfect
