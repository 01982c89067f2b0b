// Rows: some threads a row, which lies in registers or is read again by every sweep.
#include <algorithm>

#include "generate/schedule/cuda/part_writer.h"

namespace autoperfect::schedule::cuda {
namespace {

constexpr int slot_bytes = 512;  // a value of each of 32 warps, up to 16 bytes
constexpr int finish_lanes = 32;
constexpr int64_t sector_bytes = 32;

}  // namespace

// From the number of a pack in its row to where it is.
void PartWriter::position(const std::string& q) {
  if (nest_.inner_groups.empty()) return;
  line("const ix packs = " + packs() + ";");
  text_ += indices(nest_.inner_groups, q + " / packs");
}

// One pass over a row that is read from memory.
void PartWriter::row_sweep(int s) {
  bool scans = !body_.scans(s).empty();
  std::string lanes = std::to_string(mapping_.lanes), pack = std::to_string(mapping_.pack);
  std::string guard = mapping_.lanes < mapping_.threads ? "active" : "";
  text_ += body_.declare_carries(s, depth_);
  if (!scans) line("#pragma unroll " + std::to_string(mapping_.steps));
  if (scans) {
    begin_block("for (ix base = from; base < to; base += " + lanes + ")");
    line("const bool within = base + lane < to;");
    std::string q = "(within ? base + lane : from)";
    line("const ix q = " + (body_.runs_backwards() ? "from + to - 1 - " + q : q) + ";");
    guard = guard.empty() ? "within" : "within && active";
  } else {
    begin_block("for (ix q = from + lane; q < to; q += " + lanes + ")");
  }
  position("q");
  pack_at((nest_.inner_groups.empty() ? "q * " : "q % packs * ") + pack, s, guard);
  end_block();
}

// Of what rows are aligned to: as many as memory moves at once, of a pack or more.
int64_t PartWriter::sector_elements() const {
  auto& buffer = kernel_.buffers[nest_.accesses[mapping_.aligned_to].buffer];
  return std::max<int64_t>(mapping_.pack, sector_bytes / size_of(buffer.type.dtype));
}

// One pass over a row in packs from where it is aligned, in registers or read from memory; then its two ends.
void PartWriter::aligned_sweep(int s, const std::string& guard) {
  std::string lanes = std::to_string(mapping_.lanes), pack = std::to_string(mapping_.pack);
  if (mapping_.kept) {
    int64_t least = (nest_.groups[nest_.vector_group].size.fixed() - sector_elements() + 1) / mapping_.pack;
    line("#pragma unroll");
    begin_block("for (int c = 0; c < " + std::to_string(mapping_.kept) + "; ++c)");
    line("const ix q = c * " + lanes + " + lane;");
    line("if (c >= " + std::to_string(least / mapping_.lanes) + " && q >= whole) continue;");
  } else {
    line("#pragma unroll " + std::to_string(mapping_.steps));
    begin_block("for (ix q = lane; q < whole; q += " + lanes + ")");
  }
  line("const ix j = head + q * P;");
  text_ += body_.elements(s, depth_, guard);
  end_block();
  // By the last threads: what is left of the packs is with the first.
  begin_block(
      "for (ix e = " + lanes + " - 1 - lane; e < " + lanes_size() + " - whole * " + pack + "; e += " + lanes +
      ")");
  line("constexpr int P = 1;");
  line("const ix j = e < head ? e : e + whole * " + pack + ";");
  text_ += end_body_.elements(s, depth_, guard);
  end_block();
}

// One pass over a row in registers.
void PartWriter::kept_sweep(int s, const std::string& guard) {
  int64_t packs = packs_of_row(nest_, mapping_.pack);
  line("#pragma unroll");
  begin_block("for (int c = 0; c < " + std::to_string(mapping_.kept) + "; ++c)");
  line("const ix q = c * " + std::to_string(mapping_.lanes) + " + lane;");
  if (packs % mapping_.lanes) line("if (q >= to) continue;");
  position("q");
  pack_at((nest_.inner_groups.empty() ? "q * " : "q % packs * ") + std::to_string(mapping_.pack), s, guard);
  end_block();
}

// Every thread of a row gets what all have found, over shared memory from `shared_bytes` on.
void PartWriter::join_threads(const std::vector<Found>& values, int64_t& shared_bytes) {
  bool warps = mapping_.lanes > 32;
  auto slots = [&](size_t k) {
    return "shared + " + std::to_string(shared_bytes + slot_bytes * static_cast<int64_t>(k));
  };
  for (size_t k = 0; k < values.size(); ++k) {
    auto& [name, type, function] = values[k];
    if (mapping_.lanes > 1)
      line(
          name + " = ap::across<" + std::to_string(std::min(mapping_.lanes, 32)) + ">(" + name + ", " +
          function + ");");
    if (warps) line("ap::leave(" + slots(k) + ", " + name + ");");
  }
  if (!warps || values.empty()) return;
  line("__syncthreads();");
  for (size_t k = 0; k < values.size(); ++k) {
    auto& [name, type, function] = values[k];
    line(
        name + " = ap::collect<" + std::to_string(mapping_.lanes / 32) + ", " + type + ">(" + slots(k) +
        ", " + function + ");");
  }
  shared_bytes += slot_bytes * static_cast<int64_t>(values.size());
}

std::vector<PartWriter::Found> PartWriter::reduced(int s) const {
  std::vector<Found> values;
  for (int v : passes_.reductions[s])
    values.push_back({id("a", v), body_.state_type(v), body_.function(v)});
  return values;
}

void PartWriter::meet(int s) {
  join_threads(reduced(s), part_.shared_bytes);
  if (leaves_partials()) return;
  for (int v : passes_.reductions[s])
    text_ += body_.end_reduction(v, depth_);
}

// What a thread has of a row: all packs of it, or those of its block's share.
void PartWriter::begin_row() {
  std::string slices = std::to_string(mapping_.slices);
  line(
      sliced() ? "const ix share = ceil_div(length, " + slices + "), from = at % " + slices +
                     " * share, to = min(from + share, length);"
               : "const ix from = 0, to = length;");
  text_ += indices(nest_.unit_groups, "u");
}

void PartWriter::rows() {
  int side_by_side = mapping_.threads / mapping_.lanes;
  std::string units = product(nest_, nest_.unit_groups), lanes = std::to_string(mapping_.lanes);
  std::string slices = std::to_string(mapping_.slices), many = std::to_string(side_by_side);
  bool scans = std::any_of(kernel_.values.begin(), kernel_.values.end(), is_scan);
  if (scans) part_.shared_bytes = slot_bytes;  // of scans alone
  std::string count = sliced() ? product(nest_, nest_.unit_groups, mapping_.slices) : ceil_div(units, many);
  std::string guard = side_by_side > 1 ? "active" : "";
  width();
  line("const int lane = threadIdx.x % " + lanes + ";");
  line(
      "const ix units = " + units + ", length = " + product(nest_, nest_.inner_groups) + " * " + packs() +
      ";");
  if (mapping_.in_shared) {
    text_ += body_.declare_shared(depth_);
    part_.block_bytes = body_.shared_bytes();
  }
  over_blocks(count);
  if (side_by_side > 1) {
    line("const ix own = at * " + many + " + threadIdx.x / " + lanes + ";");
    line("const bool active = own < units;");
    line("const ix u = active ? own : units - 1;");
  } else {
    line("const ix u = at / " + slices + ";");
  }
  begin_row();
  if (mapping_.aligned_to >= 0) {
    std::string sector = std::to_string(sector_elements());
    line(
        "const ix head = (" + sector + " - (" + body_.place(mapping_.aligned_to) + ") % " + sector + ") % " +
        sector + ", whole = (" + lanes_size() + " - head) / P;");
  }
  std::string first = guard.empty() ? "lane == 0" : "lane == 0 && active";
  if (goes_on_) {
    first += " && at % " + slices + " == 0";
    carry_on();
  }
  text_ += body_.unit_values(0, depth_, first, !leaves_partials());
  if (mapping_.kept) text_ += body_.declare_kept(depth_);
  for (int s = 0; s < (leaves_partials() ? 1 : passes_.count); ++s) {
    text_ += body_.declare_accumulators(s, depth_);
    begin_block("");
    if (mapping_.aligned_to >= 0)
      aligned_sweep(s, guard);
    else
      mapping_.kept ? kept_sweep(s, guard) : row_sweep(s);
    end_block();
    meet(s);
    if (!leaves_partials()) text_ += body_.unit_values(s + 1, depth_, first, true);
  }
  if (leaves_partials()) store_partials();
  if (part_.shared_bytes) line("__syncthreads();");
  end_block();
  part_.blocks = count;
}

void PartWriter::finish_rows() {
  constexpr int threads = 128;
  std::string units = product(nest_, nest_.unit_groups), many = std::to_string(threads / finish_lanes);
  std::string lanes = std::to_string(finish_lanes), slices = std::to_string(mapping_.slices);
  line("const int lane = threadIdx.x % " + lanes + ";");
  line("const ix units = " + units + ";");
  over_blocks(ceil_div(units, many));
  line("const ix own = at * " + many + " + threadIdx.x / " + lanes + ";");
  line("const bool active = own < units && lane == 0;");
  line("const ix u = own < units ? own : units - 1;");
  text_ += indices(nest_.unit_groups, "u") + body_.unit_values(0, depth_, "active", true);
  add_partials("lane", lanes, "(long)u * " + slices + " + s");
  for (int v : passes_.reductions[0]) {
    std::string a = id("a", v);
    line(a + " = ap::across<" + lanes + ">(" + a + ", " + body_.function(v) + ");");
    text_ += body_.end_reduction(v, depth_);
  }
  text_ += body_.unit_values(1, depth_, "active", true);
  end_block();
  part_.finish_blocks = ceil_div(units, many);
  part_.finish_threads = threads;
}

// Each block joins what all blocks of its row have found, and goes on with the elements of its share.
void PartWriter::finish_elements() {
  std::string slices = std::to_string(mapping_.slices), first = "lane == 0 && at % " + slices + " == 0";
  std::string count = product(nest_, nest_.unit_groups, mapping_.slices);
  width();
  line("const int lane = threadIdx.x;");
  line("const ix length = " + product(nest_, nest_.inner_groups) + " * " + packs() + ";");
  over_blocks(count);
  line("const ix u = at / " + slices + ";");
  begin_row();
  text_ += body_.unit_values(0, depth_, first, true);
  add_partials("lane", std::to_string(mapping_.lanes), "(long)u * " + slices + " + s");
  join_threads(reduced(0), part_.finish_shared_bytes);
  for (int v : passes_.reductions[0])
    text_ += body_.end_reduction(v, depth_);
  text_ += body_.unit_values(1, depth_, first, true);
  begin_block("");
  row_sweep(1);
  end_block();
  line("__syncthreads();");
  end_block();
  part_.finish_blocks = count;
  part_.finish_threads = mapping_.threads;
}

}  // namespace autoperfect::schedule::cuda
