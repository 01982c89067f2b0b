#include "generate/schedule/cuda/mapping.h"

#include <algorithm>

#include "generate/schedule/cuda/part_writer.h"

namespace autoperfect::schedule::cuda {
namespace {

constexpr int most_threads = 1024;
constexpr int most_kept_words = 96;     // registers of a thread for what it keeps
constexpr int most_words_of_many = 40;  // where a block has as many threads as there may be
constexpr int64_t large_bytes = int64_t{1} << 22;

// Loads in flight: of narrow packs more.
int steps_of(int pack) {
  return std::clamp(16 / pack, 4, 16);
}

bool is_arg(const KernelValue& value) {
  return value.op == Op::argmax || value.op == Op::argmin;
}

class Chooser {
 public:
  Chooser(const Kernel& kernel, const Nest& nest, const Target& target)
      : kernel_(kernel),
        nest_(nest),
        target_(target),
        passes_(find_passes(kernel, nest, Keep::costly)),
        swept_(find_passes(kernel, nest, Keep::nothing, Sums::online)) {
    online_ = std::any_of(swept_.online.begin(), swept_.online.end(), [](int v) { return v >= 0; });
    for (auto& buffer : kernel.buffers)
      bytes_ += buffer.type.bytes();
    for (int g : nest.unit_groups)
      units_ *= nest.groups[g].seen_size;
    for (auto& value : kernel.values)
      scans_ = scans_ || is_scan(value);
  }

  std::vector<Mapping> run() {
    if (nest_.columns())
      columns();
    else if (std::any_of(nest_.groups.begin(), nest_.groups.end(), [](auto& g) { return g.swept; }))
      rows();
    else
      elements();
    by_pairs();
    return std::move(found_);
  }

 private:
  int64_t lanes_size() const {
    return nest_.vector_group < 0 ? 1 : nest_.groups[nest_.vector_group].seen_size;
  }
  void by_pairs();
  std::vector<int> wanted_packs() const;
  std::vector<int> packs(bool tail) const;
  bool packs_fit(int pack, bool tail) const;
  void elements();
  void rows();
  void add_once(const Mapping& row);
  void add_row(int pack, int64_t packs, int64_t elements_a_thread, int aligned_to = -1);
  void add_row_in_shared(Mapping row);
  void add_streamed_rows(int pack, int64_t packs, int aligned_to = -1);
  void add_rows_of_several_blocks(int pack, int64_t packs);
  void add_aligned_rows();
  int64_t kept_words(int pack, int aligned_to) const;
  void columns();
  int64_t blocks_of_columns(int64_t width) const;
  void add_columns(int width, int below);
  void add_narrow_columns(int width);
  void add_tall_columns();
  void add_scans_of_several_blocks();

  const Kernel& kernel_;
  const Nest& nest_;
  const Target& target_;
  Passes passes_;
  Passes swept_;         // in as few sweeps as go
  bool online_ = false;  // fewer than otherwise
  int64_t bytes_ = 0, units_ = 1;
  bool scans_ = false;
  std::vector<Mapping> found_;
};

// By pairs wherever that goes; the best guess is tried without as well.
void Chooser::by_pairs() {
  if (found_.empty() || !computes_pairs(kernel_, nest_, passes_, found_.front().pack)) return;
  Mapping apart = found_.front();
  for (auto& mapping : found_)
    mapping.pairs = true;
  found_.push_back(apart);
}

bool Chooser::packs_fit(int pack, bool tail) const {
  if (!tail && !nest_.groups[nest_.vector_group].size.is_multiple_of(pack)) return false;
  return std::all_of(nest_.accesses.begin(), nest_.accesses.end(), [&](const Access& access) {
    bool along = access.strides[nest_.vector_group].is(1) && access.gathers.empty() && access.guards.empty();
    return !along || moves_packs(kernel_, nest_, passes_, access, pack);
  });
}

// As many elements as make 16 bytes of the largest, so that neighbours in a warp move neighbouring words; or
// 16 bytes of the smallest, but no more than 32 of the largest.
std::vector<int> Chooser::wanted_packs() const {
  int64_t smallest = 8, largest = 1;
  for (auto& access : nest_.accesses) {
    if (!access.strides[nest_.vector_group].is(1)) continue;
    int64_t size = size_of(kernel_.buffers[access.buffer].type.dtype);
    smallest = std::min(smallest, size);
    largest = std::max(largest, size);
  }
  return {
      static_cast<int>(16 / std::max(smallest, largest)),
      static_cast<int>(std::min(16 / smallest, 32 / largest))};
}

// What of that fits. `tail`: the last pack may be short.
std::vector<int> Chooser::packs(bool tail) const {
  if (nest_.vector_group < 0) return {1};
  std::vector<int> found;
  for (int pack : wanted_packs()) {
    while (pack > 1 && !packs_fit(pack, tail))
      pack /= 2;
    if (found.empty() || pack != found.back()) found.push_back(pack);
  }
  return found;
}

void Chooser::elements() {
  auto widths = packs(nest_.unit_groups.empty());
  bool large = bytes_ >= large_bytes;
  for (int steps : {1, 2, 4})
    if (steps == 1 || large) found_.push_back({Kind::elements, widths[0], 256, 1, 0, steps, 1, false});
  if (large) found_.push_back({Kind::elements, widths[0], 256, 1, 0, 2, 1, true});
  if (widths.size() > 1) found_.push_back({Kind::elements, widths[1], 256, 1, 0, large ? 2 : 1, 1, false});
  if (large && widths[0] < wanted_packs()[0]) add_aligned_rows();
}

// Registers a kept pack of a row takes in a thread: what was loaded, or what was made of it, which mostly
// takes its place.
int64_t Chooser::kept_words(int pack, int aligned_to) const {
  int64_t made = 0, words = 0;
  for (int v : passes_.kept)
    made += std::max<int64_t>(1, size_of(kernel_.values[v].dtype) * pack / 4);
  for (auto& access : nest_.accesses) {
    auto& buffer = kernel_.buffers[access.buffer];
    bool packs = aligned_to < 0 ? moves_packs(kernel_, nest_, passes_, access, pack)
                                : moves_packs_as(nest_, access, nest_.accesses[aligned_to], pack);
    if (buffer.role == BufferRole::in && packs)
      words += std::max<int64_t>(1, size_of(buffer.type.dtype) * pack / 4);
  }
  return std::max(words, made);
}

// Long rows have all threads there are, whatever is wanted of one.
void Chooser::add_once(const Mapping& row) {
  const bool known =
      std::any_of(found_.begin(), found_.end(), [&](const Mapping& one) { return one.text() == row.text(); });
  if (!known) found_.push_back(row);
}

void Chooser::add_row(int pack, int64_t packs, int64_t elements_a_thread, int aligned_to) {
  constexpr int64_t many = 4;      // packs of a thread: more, only where
  constexpr int side_by_side = 8;  // lanes still read whole lines of the cache
  int lanes = 1;
  while (lanes < most_threads && packs * pack > lanes * elements_a_thread)
    lanes *= 2;
  if (elements_a_thread > many * pack && lanes < side_by_side) return;
  int64_t kept = (packs + lanes - 1) / lanes;
  if (kept * kept_words(pack, aligned_to) > most_kept_words) return;
  Mapping row{
      Kind::rows, pack, std::max(lanes, 128), lanes, static_cast<int>(kept), 1, 1, false, false, aligned_to};
  if (lanes > 32) row.threads = lanes;
  add_once(row);
}

// A row that registers do not hold: a block reads it once, and again from its own memory.
void Chooser::add_row_in_shared(Mapping row) {
  constexpr int64_t beside = int64_t{8} << 10;  // what reductions take
  row.in_shared = true;
  row.lanes = row.threads = most_threads;
  const auto& size = nest_.groups[nest_.vector_group].size;
  const bool whole_packs = size.is_fixed() && (row.aligned_to >= 0 || size.is_multiple_of(row.pack));
  const bool is_long = packs_of_row(nest_, row.pack) >= 2 * most_threads;
  const bool is_kept = std::any_of(
      found_.begin(), found_.end(), [&](const Mapping& one) { return one.kept && one.pack == row.pack; });
  if (row.pack == 1 || !whole_packs || !is_long || is_kept || scans_ || swept_.count < 2 ||
      !nest_.inner_groups.empty())
    return;
  const int64_t bytes = Body(kernel_, nest_, swept_, row).shared_bytes();
  if (bytes > 0 && bytes + beside <= target_.shared_bytes) found_.push_back(row);
}

// Rows that are read once, or too long to be kept.
void Chooser::add_streamed_rows(int pack, int64_t packs, int aligned_to) {
  Mapping in_more_sweeps;
  for (int64_t target : {16, 4}) {
    int lanes = 1;
    while (lanes < most_threads && packs > lanes * target)
      lanes *= 2;
    Mapping row{
        Kind::rows, pack, std::max(lanes, 128), lanes, 0, steps_of(pack), 1, false, false, aligned_to};
    if (lanes > 32) row.threads = lanes;
    row.online = online_;
    if (target == 16) in_more_sweeps = row;
    add_once(row);
  }
  add_row_in_shared(found_.back());
  if (!online_) return;
  in_more_sweeps.online = false;
  add_once(in_more_sweeps);
}

// Few long rows: blocks share each, and a second launch joins what they found. Where elements wait for that,
// its blocks are as many, and each goes on with its share.
void Chooser::add_rows_of_several_blocks(int pack, int64_t packs) {
  constexpr int64_t long_row = 2048;
  const bool goes_on = swept_.count > 1;
  if (!can_slice(kernel_, swept_) || scans_ || packs < long_row) return;
  if (goes_on ? 4 * units_ > target_.threads : units_ >= 2 * target_.threads) return;
  for (auto [waves, least_packs] : {std::pair<int64_t, int64_t>{2, 1024}, {6, 256}}) {
    const int64_t slices = std::min(waves * target_.threads / units_, packs / least_packs);
    if (slices < 2 || (!found_.empty() && found_.back().slices == slices)) continue;
    Mapping row{Kind::rows, pack, 256, 256, 0, 4, slices, false};
    row.online = online_;
    found_.push_back(row);
  }
}

// Long rows whose length is no multiple of a pack: each begins at another place of a word.
void Chooser::add_aligned_rows() {
  constexpr int64_t least_packs = 64;
  int pack = wanted_packs()[0];
  if (scans_ || !nest_.inner_groups.empty() || nest_.vector_group < 0) return;
  auto& size = nest_.groups[nest_.vector_group].size;
  if (!size.is_fixed() || size.fixed() < least_packs * pack) return;
  for (size_t a = 0; a < nest_.accesses.size(); ++a) {
    auto& access = nest_.accesses[a];
    if (!moves_packs_as(nest_, access, access, pack) || moves_packs(kernel_, nest_, passes_, access, pack))
      continue;
    for (int64_t packs : {16, 4})
      if (passes_.count > 1) add_row(pack, size.fixed() / pack, packs * pack, static_cast<int>(a));
    return add_streamed_rows(pack, size.fixed() / pack, static_cast<int>(a));
  }
}

void Chooser::rows() {
  constexpr int64_t least_streamed = 1024;  // packs
  bool single = nest_.unit_groups.empty() && nest_.inner_groups.empty() && passes_.count <= 1 && !scans_;
  auto widths = packs(single);
  int width = widths[0];
  int64_t length = packs_of_row(nest_, width);
  add_rows_of_several_blocks(width, length);
  bool sliced = !found_.empty() && swept_.count == 1;
  const size_t several = found_.size();
  if (!sliced && width < wanted_packs()[0]) add_aligned_rows();
  size_t others = found_.size();
  bool dynamic = !nest_.groups[nest_.vector_group].size.is_fixed();
  for (int g : nest_.inner_groups)
    dynamic = dynamic || !nest_.groups[g].size.is_fixed();
  if (passes_.count > 1 && !scans_ && !dynamic)
    for (int64_t packs : {4, 8, 16, 2})
      add_row(width, length, packs * wanted_packs()[0]);
  if (found_.size() > 1 && widths.size() > 1)
    add_row(widths[1], packs_of_row(nest_, widths[1]), 2 * widths[1]);
  const bool once_is_enough = online_ && swept_.count == 1 && length >= least_streamed;
  const bool kept = std::any_of(found_.begin() + static_cast<int64_t>(others), found_.end(), [&](auto& row) {
    return row.threads < most_threads || row.kept * kept_words(row.pack, -1) <= most_words_of_many;
  });
  const bool crowded = !kept && others == several;  // none is aligned
  if (!sliced && (found_.size() == others || crowded || once_is_enough)) add_streamed_rows(width, length);
  if (scans_) add_scans_of_several_blocks();
}

void Chooser::columns() {
  int widest = packs(false).back();
  if (scans_) {
    add_tall_columns();
    for (int width : {std::min(widest, 4), 1})
      if (width == 1 || widest > 1) found_.push_back({Kind::columns, width, 128, 128, 0, 4, 1, false});
    return;
  }
  add_narrow_columns(widest);
  add_columns(std::min(widest, 4), 16);
  add_columns(widest, 8);
  if (widest > 4) add_columns(4, 8);
  if (!online_) return;
  Mapping in_more_sweeps = found_.front();
  in_more_sweeps.slices = 1;
  for (auto& mapping : found_)
    mapping.online = true;
  found_.push_back(in_more_sweeps);
}

// Packs of 32 bytes, which are what memory gives, or of 16.
void Chooser::add_tall_columns() {
  constexpr int64_t least_rows = 64;
  if (nest_.groups[nest_.inner_groups[0]].seen_size < least_rows) return;
  int widest = packs(false).back();
  for (int width : {2 * widest, widest}) {
    if (width > 8 || (width > 1 && !packs_fit(width, false))) continue;
    int side = 8;
    while (side > 2 && blocks_of_columns(side * width) * 8 < target_.threads * 7)
      side /= 2;
    for (int rows : {32 / width, 64 / width}) {
      Mapping columns{Kind::columns, width, 32 * side, side, 0, rows, 1, false};
      columns.tall = true;
      found_.push_back(columns);
    }
  }
}

// Along few long rows.
void Chooser::add_scans_of_several_blocks() {
  constexpr int64_t long_row = 2048;
  Mapping shared = found_.front();
  const int64_t packs = packs_of_row(nest_, shared.pack);
  if (packs < long_row || 4 * units_ > target_.threads || !totals_of_scans(kernel_)) return;
  shared.lanes = shared.threads = 256;
  shared.slices = std::min(2 * target_.threads / units_, packs / 256);
  found_.insert(found_.begin(), shared);
}

int64_t Chooser::blocks_of_columns(int64_t width) const {
  return units_ * ((lanes_size() + width - 1) / width);
}

// Threads side by side and `below` one another; where that gives few blocks, several share the columns.
void Chooser::add_columns(int width, int below) {
  constexpr int side = 32, blocks_of_multiprocessor = 4;
  int64_t rows = 1, slices = 1;
  for (int g : nest_.inner_groups)
    rows *= nest_.groups[g].seen_size;
  if (swept_.count == 1 && can_slice(kernel_, swept_))
    slices = std::min<int64_t>(
        blocks_of_multiprocessor * target_.threads / blocks_of_columns(side * width), rows / (below * 8));
  slices = std::max<int64_t>(1, slices);
  found_.push_back({Kind::columns, width, side * below, side, 0, steps_of(width), slices, false});
}

// So few threads side by side that every multiprocessor has columns of its own, and nothing is left to join
// by a second launch: as many as still read half a line of the cache.
void Chooser::add_narrow_columns(int width) {
  constexpr int64_t least_bytes = 64;
  int64_t bytes = 1;
  for (auto& access : nest_.accesses)
    bytes = std::max<int64_t>(bytes, size_of(kernel_.buffers[access.buffer].type.dtype) * width);
  for (int side = 16; side >= 4 && side * bytes >= least_bytes; side /= 2) {
    if (blocks_of_columns(side * width) * 8 < target_.threads * 7) continue;
    for (int steps : {steps_of(width), 2 * steps_of(width)})
      found_.push_back({Kind::columns, width, most_threads, side, 0, steps, 1, false});
    return;
  }
}

}  // namespace

std::string Mapping::text() const {
  std::string text = kind == Kind::elements ? "elements"
                     : kind == Kind::rows   ? "rows lanes=" + std::to_string(lanes)
                     : kind == Kind::tiles  ? "tiles side=" + std::to_string(lanes)
                                            : "columns lanes=" + std::to_string(lanes);
  text += " threads=" + std::to_string(threads) + " pack=" + std::to_string(pack);
  if (kept) text += " kept=" + std::to_string(kept);
  if (steps > 1) text += " steps=" + std::to_string(steps);
  if (slices > 1) text += " slices=" + std::to_string(slices);
  if (online) text += " online";
  if (in_shared) text += " shared";
  if (tall) text += " tall";
  if (aligned_to >= 0) text += " aligned";
  return text + (once ? " once" : "") + (pairs ? " pairs" : "");
}

Nest for_gpu(Nest nest) {
  if (!nest.full()) return nest;
  nest.inner_groups = nest.unit_groups;
  nest.unit_groups.clear();
  nest.shape = Shape::rows;
  return nest;
}

bool moves_packs(
    const Kernel& kernel, const Nest& nest, const Passes& passes, const Access& access, int pack) {
  if (nest.vector_group < 0 || !access.strides[nest.vector_group].is(1) || access.tiled) return false;
  for (auto& gather : access.gathers)
    if (passes.varies[gather.value] || nest.along_lanes(kernel.values[gather.value]) ||
        !gather.stride.is_multiple_of(pack))
      return false;
  for (auto& guard : access.guards)
    if (guard.steps[nest.vector_group] != 0) return false;
  for (size_t g = 0; g < nest.groups.size(); ++g)
    if (static_cast<int>(g) != nest.vector_group && !access.strides[g].is_multiple_of(pack)) return false;
  return access.offset.is_multiple_of(pack);
}

bool moves_packs_as(const Nest& nest, const Access& access, const Access& other, int pack) {
  if (!access.strides[nest.vector_group].is(1) || access.tiled) return false;
  if (!access.gathers.empty() || !access.guards.empty()) return false;
  auto alike = [&](const Extent& a, const Extent& b) { return a.plus(b.times(-1)).is_multiple_of(pack); };
  for (size_t g = 0; g < nest.groups.size(); ++g)
    if (static_cast<int>(g) != nest.vector_group && !alike(access.strides[g], other.strides[g])) return false;
  return alike(access.offset, other.offset);
}

bool can_slice(const Kernel& kernel, const Passes& passes) {
  if (passes.count < 1 || passes.reductions[0].empty()) return false;
  if (passes.count > 2 || (passes.count == 2 && !passes.reductions[1].empty())) return false;
  return std::none_of(kernel.values.begin(), kernel.values.end(), [](const KernelValue& value) {
    return is_arg(value) || is_scan(value);
  });
}

int64_t packs_of_row(const Nest& nest, int pack) {
  int64_t packs = nest.vector_group < 0 ? 1 : (nest.groups[nest.vector_group].seen_size + pack - 1) / pack;
  for (int g : nest.inner_groups)
    packs *= nest.groups[g].seen_size;
  return packs;
}

// Of half dtypes two elements at once, where rows and columns allow it.
std::vector<Mapping> tile_mappings(const Kernel& kernel, const Nest& nest) {
  int pack = 2;
  for (int g : {nest.vector_group, nest.inner_groups[0]})
    if (!nest.groups[g].size.is_multiple_of(pack)) pack = 1;
  for (auto& access : nest.accesses) {
    if (!access.tiled) continue;
    bool fits =
        size_of(kernel.buffers[access.buffer].type.dtype) == pack && access.offset.is_multiple_of(pack);
    for (size_t g = 0; g < nest.groups.size(); ++g)
      fits = fits && (static_cast<int>(g) == nest.inner_groups[0] || access.strides[g].is_multiple_of(pack));
    if (!fits) pack = 1;
  }
  std::vector<Mapping> found{{Kind::tiles, pack, 256, 64, 0, 1, 1, false}};
  found.push_back({Kind::tiles, pack, pack * 256, pack == 1 ? 32 : 128, 0, 1, 1, false});
  return found;
}

std::vector<Mapping> mappings(const Kernel& kernel, const Nest& nest, const Target& target) {
  return Chooser(kernel, nest, target).run();
}

}  // namespace autoperfect::schedule::cuda
