#include "generate/schedule/cuda/generate.h"

#include <algorithm>

#include "generate/schedule/contraction.h"
#include "generate/schedule/cuda/mapping.h"
#include "generate/schedule/cuda/units.h"
#include "generate/schedule/cuda/writer.h"
#include "generate/schedule/parts.h"
#include "generate/schedule/tiles.h"
#include "ir/kernel_text.h"
#include "ir/layout.h"

namespace autoperfect::schedule::cuda {
namespace {

constexpr size_t most = 6;
constexpr int joined_threads = 256;  // parts of one launch have blocks of one size

struct Choices {
  Nest nest;
  std::vector<Mapping> mappings;
};

std::optional<Choices> choices(const Kernel& kernel, const Target& target, int64_t unit) {
  if (find_contraction(kernel)) return std::nullopt;
  if (auto tiles = find_tiles(kernel)) {
    Nest own = in_units(*tiles, unit);
    return Choices{own, tile_mappings(kernel, own)};
  }
  auto nest = find_nest(kernel);
  if (!nest) return std::nullopt;
  Nest own = for_gpu(in_units(*nest, unit));
  return Choices{own, mappings(kernel, own, target)};
}

// The same with that many threads a block.
Mapping with_threads(const Nest& nest, Mapping mapping, int threads) {
  mapping.threads = threads;
  mapping.in_shared = false;
  if (mapping.kind == Kind::rows && mapping.lanes > 32) {
    mapping.lanes = threads;
    if (mapping.kept)
      mapping.kept = static_cast<int>((packs_of_row(nest, mapping.pack) + threads - 1) / threads);
  }
  if (mapping.kind == Kind::columns && mapping.lanes > 32) mapping.lanes = threads;
  if (mapping.tall) mapping.lanes = threads / 32;
  return mapping;
}

}  // namespace

bool is_told_enough(const Kernel& kernel) {
  auto open = std::count_if(kernel.axes.begin(), kernel.axes.end(), [](const Axis& a) { return a.dynamic; });
  return open <= 1 && std::all_of(kernel.buffers.begin(), kernel.buffers.end(), [](const Buffer& buffer) {
           return is_row(buffer) && buffer.role != BufferRole::temp;
         });
}

bool uses_long_numbers(const Kernel& kernel) {
  auto is_long = [](Dtype dtype) { return dtype == Dtype::f64 || dtype == Dtype::c64; };
  return std::any_of(
             kernel.buffers.begin(), kernel.buffers.end(), [&](auto& b) { return is_long(b.type.dtype); }) ||
         std::any_of(kernel.values.begin(), kernel.values.end(), [&](auto& v) { return is_long(v.dtype); });
}

std::vector<Candidate> generate(const Kernel& kernel, const Target& target) {
  if (!is_told_enough(kernel)) return {};
  auto kernels = split_into_parts(kernel);
  std::vector<Choices> each;
  size_t count = 0;
  const SizeGuard unit = unit_of_rows(kernel);
  for (auto& part : kernels) {
    auto found = choices(part, target, unit.multiple);
    if (!found || found->mappings.empty()) return {};
    count = std::max(count, found->mappings.size());
    each.push_back(std::move(*found));
  }
  std::vector<Candidate> candidates;
  std::string id = signature(kernel);
  for (size_t k = 0; k < std::min(count, most); ++k) {
    std::vector<Part> parts;
    std::string text;
    for (size_t p = 0; p < each.size(); ++p) {
      auto mapping = each[p].mappings[std::min(k, each[p].mappings.size() - 1)];
      if (each.size() > 1) mapping = with_threads(each[p].nest, mapping, joined_threads);
      auto part = write_part(kernels[p], each[p].nest, mapping, static_cast<int>(p));
      if (!part) break;
      parts.push_back(std::move(*part));
      text += (text.empty() ? "" : " | ") + mapping.text();
    }
    if (parts.size() < each.size()) continue;
    auto candidate = join(kernel, parts, unit);
    bool known = candidate && std::any_of(candidates.begin(), candidates.end(), [&](const Candidate& c) {
                   return c.source == candidate->source;
                 });
    if (!candidate || known) continue;
    candidate->signature = id;
    candidate->target = target.name;
    candidate->provenance = "schedule: " + text;
    candidates.push_back(std::move(*candidate));
  }
  return candidates;
}

}  // namespace autoperfect::schedule::cuda
