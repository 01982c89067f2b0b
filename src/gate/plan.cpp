#include "gate/plan.h"

#include <algorithm>
#include <set>

#include "compile/cpu/compile.h"
#include "compile/cpu/launch.h"
#include "ir/layout.h"

namespace autoperfect {
namespace {

// 0xff in every byte is a NaN; the others are odd numbers, and no bool.
constexpr int64_t poisons[passes] = {0xff, 0x5b, 0xa6};

// Gives out pages of a file, from its second page on.
class PageAllocator {
 public:
  PageAllocator(int64_t start, int64_t alignment) : end_(start), alignment_(alignment) {}
  // `barely_aligned`: not at a multiple of twice the alignment, for which data at the end give way.
  Arena take(int64_t bytes, int64_t placement, int64_t align, bool barely_aligned = false) {
    align = std::max(align, alignment_);
    const int64_t most = bytes + (barely_aligned ? align : 0);
    Arena arena;
    arena.bytes = bytes;
    arena.size = std::max<int64_t>(1, (most + page_bytes - 1) / page_bytes) * page_bytes;
    arena.data = placement == at_end ? (arena.size - bytes) / align * align : 0;
    if (placement == at_end && barely_aligned && arena.data % (2 * align) == 0) arena.data -= align;
    arena.offset = end_;
    end_ += arena.size;
    return arena;
  }
  int64_t end() const { return end_; }

 private:
  int64_t end_, alignment_;
};

int64_t units_of(const Kernel& kernel, const Launch& launch) {
  int64_t units = 1;
  for (AxisId axis : launch.parallel)
    units *= kernel.axes.at(static_cast<size_t>(axis)).size;
  return units;
}

std::vector<JobChunk> even_chunks(const ChunkPlan& plan, int64_t units) {
  std::vector<JobChunk> chunks;
  for (int64_t c = 0; c < plan.chunks; ++c) {
    chunks.push_back({c, c * plan.size, std::min(units, (c + 1) * plan.size)});
  }
  return chunks;
}

// Small pieces at both ends, two of different size between; last first. Begins are multiples of the
// alignment.
std::vector<JobChunk> uneven_chunks(const Launch& launch, int64_t units) {
  int64_t align = std::max<int64_t>(1, launch.align);
  std::set<int64_t> begins = {0};
  for (int64_t cut : {align, units / 3, units * 5 / 8, units - 1}) {
    int64_t begin = cut / align * align;
    if (begin > 0 && begin < units) begins.insert(begin);
  }
  std::vector<JobChunk> chunks;
  for (auto it = begins.begin(); it != begins.end(); ++it) {
    int64_t end = std::next(it) == begins.end() ? units : *std::next(it);
    chunks.push_back({static_cast<int64_t>(chunks.size()), *it, end});
  }
  std::reverse(chunks.begin(), chunks.end());
  return chunks;
}

std::vector<JobChunk> chunks_for(const Launch& launch, int64_t units, int pass) {
  bool partials = launch.partial_bytes > 0;
  if (pass == 1 && units > 0) return uneven_chunks(launch, units);
  return even_chunks(plan_chunks(launch, units, partials ? pool_threads() : 1), units);
}

JobFamily plan_family(const InputFamily& family, PageAllocator& pages, bool barely_aligned) {
  JobFamily planned;
  planned.dims = family.dims;
  for (int64_t placement : {at_start, at_end}) {
    for (size_t i = 0; i < family.memory.size(); ++i) {
      auto bytes = static_cast<int64_t>(family.memory[i].size());
      planned.inputs[placement].push_back(
          pages.take(bytes, placement, alignment_of(family.kernel.buffers[i]), barely_aligned));
    }
  }
  return planned;
}

}  // namespace

size_t run_index(size_t families, int pass, size_t family) {
  return static_cast<size_t>(pass) * families + (pass == 1 ? families - 1 - family : family);
}

Job plan_job(
    const std::vector<InputFamily>& families,
    const Launch& launch,
    const std::string& binary,
    const BuildForm& form) {
  Job job;
  job.binary = binary;
  job.watched = form.watched;
  job.arms = static_cast<int64_t>(form.arms);
  job.launch = launch;
  job.on_gpu = form.on_gpu;
  job.second = form.second;
  PageAllocator input_pages(0, form.alignment), output_pages(page_bytes, form.alignment);
  // A GPU's loads fail where they are not aligned. Every other family shows it, the others end with their
  // pages.
  auto barely_aligned = [&](size_t family) { return form.on_gpu && family % 2 == 1; };
  for (size_t f = 0; f < families.size(); ++f)
    job.families.push_back(plan_family(families[f], input_pages, barely_aligned(f)));
  job.runs.resize(families.size() * static_cast<size_t>(form.passes));
  for (int pass = 0; pass < form.passes; ++pass) {
    for (size_t f = 0; f < families.size(); ++f) {
      JobRun& run = job.runs[run_index(families.size(), pass, f)];
      run.family = static_cast<int64_t>(f);
      run.placement = (pass == 1) == form.on_gpu ? at_end : at_start;
      run.poison = poisons[pass];
      run.again = pass == 2;
      run.chunks = chunks_for(launch, units_of(families[f].kernel, launch), pass);
      for (auto& buffer : families[f].kernel.buffers) {
        if (buffer.role == BufferRole::in) continue;
        run.outputs.push_back(
            output_pages.take(buffer.type.bytes(), run.placement, alignment_of(buffer), barely_aligned(f)));
        run.aliases.push_back(pass == aliased_pass && !form.on_gpu ? buffer.alias : -1);
      }
      if (form.arms > 0) run.reached = output_pages.take(job.arms, at_end, 1);
      if (form.empty_chunks && launch.partial_bytes == 0) run.chunks.insert(run.chunks.begin(), JobChunk{});
    }
  }
  job.input_file_bytes = std::max(page_bytes, input_pages.end());
  job.output_file_bytes = output_pages.end();
  return job;
}

}  // namespace autoperfect
