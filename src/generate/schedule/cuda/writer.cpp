#include "generate/schedule/cuda/writer.h"

#include <algorithm>

#include "generate/schedule/cuda/body.h"
#include "generate/schedule/cuda/frame.h"
#include "generate/schedule/frame.h"
#include "generate/schedule/scope.h"

namespace autoperfect::schedule::cuda {
namespace {

constexpr int64_t most_blocks = int64_t{1} << 20;
constexpr int64_t most_shared = int64_t{48} << 10;
constexpr int slot_bytes = 512;  // a value of each of 32 warps, up to 16 bytes
constexpr int finish_lanes = 32;

// What is static is one number, so that C++ gives it a type wide enough.
std::string product(const Nest& nest, const std::vector<int>& groups, int64_t factor = 1) {
  std::string dynamic;
  for (int g : groups) {
    auto& size = nest.groups[g].size;
    if (size.dynamic)
      dynamic = size.text();
    else
      factor *= size.fixed;
  }
  if (dynamic.empty()) return std::to_string(factor);
  return factor == 1 ? dynamic : dynamic + " * " + std::to_string(factor);
}

std::string ceil_div(const std::string& a, const std::string& b) {
  return "ceil_div(" + a + ", " + b + ")";
}

class Writer {
 public:
  Writer(const Kernel& kernel, const Nest& nest, const Mapping& mapping, int number)
      : kernel_(kernel),
        nest_(nest),
        mapping_(mapping),
        passes_(find_passes(kernel, nest, mapping.kept > 0 ? Keep::costly : Keep::nothing)),
        body_(kernel, nest, passes_, mapping_),
        number_(number) {}

  std::optional<Part> run();

 private:
  void line(const std::string& text) { text_ += std::string(2 * depth_, ' ') + text + "\n"; }
  void begin_block(const std::string& text) { line(text + " {"), ++depth_; }
  void end_block() { --depth_, line("}"); }
  std::string indices(const std::vector<int>& groups, const std::string& number) const {
    return group_indices(nest_, groups, number, depth_, "ix");
  }
  void over_blocks(const std::string& count);
  bool sliced() const { return mapping_.slices > 1; }
  std::string lanes_size() const {
    return nest_.vector_group < 0 ? "1" : nest_.groups[nest_.vector_group].size.text();
  }
  std::string packs() const {
    return mapping_.pack == 1 ? lanes_size() : ceil_div(lanes_size(), std::to_string(mapping_.pack));
  }
  bool short_pack() const;
  void pack_at(const std::string& j, int sweep, const std::string& guard);
  void width() { line("constexpr int P = " + std::to_string(mapping_.pack) + ";"); }

  void elements();
  void rows();
  void row_sweep(int s);
  void kept_sweep(int s, const std::string& guard);
  void position(const std::string& q);
  void meet(int s);
  void columns();
  void column_sweep(int s);
  void meet_below(int s);
  void tiles();
  std::string partials(int64_t reductions) const;
  void store_partials();
  void finish_rows();
  void finish_columns();
  void add_partials(const std::string& first, const std::string& step, const std::string& at);
  void note_stores();

  const Kernel& kernel_;
  const Nest& nest_;
  Mapping mapping_;
  Passes passes_;
  Body body_;
  int number_;
  Part part_;
  std::string text_;
  int depth_ = 1;
};

void Writer::over_blocks(const std::string& count) {
  line("const ix all = " + count + ";");
  begin_block("for (ix at = block; at < all; at += blocks)");
}

// Whether the last pack along the lanes may be short; its elements then go one by one.
bool Writer::short_pack() const {
  if (nest_.vector_group < 0) return false;
  auto& size = nest_.groups[nest_.vector_group].size;
  return size.fixed % mapping_.pack != 0 || size.dynamic % mapping_.pack != 0;
}

void Writer::pack_at(const std::string& j, int sweep, const std::string& guard) {
  if (!short_pack()) {
    line("const ix j = " + j + ";");
    text_ += body_.elements(sweep, depth_, guard);
    return;
  }
  line("const ix first = " + j + ";");
  begin_block("const auto body = [&](auto width, const ix j)");
  line("constexpr int P = decltype(width)::n;");
  text_ += body_.elements(sweep, depth_, guard);
  --depth_, line("};");
  std::string pack = std::to_string(mapping_.pack), size = lanes_size();
  line("if (first + " + pack + " <= " + size + ") body(ap::Width<" + pack + ">{}, first);");
  line("else for (ix j = first; j < " + size + "; ++j) body(ap::Width<1>{}, j);");
}

void Writer::elements() {
  std::string threads = std::to_string(mapping_.threads), steps = std::to_string(mapping_.steps);
  std::string units = product(nest_, nest_.unit_groups);
  std::string a_block = std::to_string(mapping_.threads * mapping_.steps);
  width();
  line("const ix packs = " + packs() + ", total = " + units + " * packs;");
  over_blocks(ceil_div("total", a_block));
  line("#pragma unroll");
  begin_block("for (int step = 0; step < " + steps + "; ++step)");
  line("const ix t = at * " + a_block + " + step * " + threads + " + threadIdx.x;");
  line("if (t >= total) break;");
  text_ += indices(nest_.unit_groups, "t / packs");
  text_ += body_.unit_values(0, depth_, "t % packs == 0", true);
  if (passes_.count > 0) pack_at("t % packs * " + std::to_string(mapping_.pack), 0, "");
  end_block();
  end_block();
  part_.blocks = ceil_div(units + " * " + packs(), a_block);
}

// From the number of a pack in its row to where it is.
void Writer::position(const std::string& q) {
  if (nest_.inner_groups.empty()) return;
  line("const ix packs = " + packs() + ";");
  text_ += indices(nest_.inner_groups, q + " / packs");
}

// One pass over a row that is read from memory.
void Writer::row_sweep(int s) {
  bool scans = !body_.scans(s).empty();
  std::string lanes = std::to_string(mapping_.lanes), pack = std::to_string(mapping_.pack);
  std::string guard = mapping_.lanes < mapping_.threads ? "active" : "";
  text_ += body_.declare_carries(s, depth_);
  if (!scans) line("#pragma unroll " + std::to_string(mapping_.steps));
  if (scans) {
    begin_block("for (ix base = from; base < to; base += " + lanes + ")");
    line("const bool within = base + lane < to;");
    std::string q = "(within ? base + lane : from)";
    line("const ix q = " + (body_.runs_backwards() ? "to - 1 - " + q : q) + ";");
    guard = guard.empty() ? "within" : "within && active";
  } else {
    begin_block("for (ix q = from + lane; q < to; q += " + lanes + ")");
  }
  position("q");
  pack_at((nest_.inner_groups.empty() ? "q * " : "q % packs * ") + pack, s, guard);
  end_block();
}

// One pass over a row in registers.
void Writer::kept_sweep(int s, const std::string& guard) {
  int64_t packs = packs_of_row(nest_, mapping_.pack);
  line("#pragma unroll");
  begin_block("for (int c = 0; c < " + std::to_string(mapping_.kept) + "; ++c)");
  line("const ix q = c * " + std::to_string(mapping_.lanes) + " + lane;");
  if (packs % mapping_.lanes) line("if (q >= to) continue;");
  position("q");
  pack_at((nest_.inner_groups.empty() ? "q * " : "q % packs * ") + std::to_string(mapping_.pack), s, guard);
  end_block();
}

// Every thread of a row gets what all have reduced.
void Writer::meet(int s) {
  auto& reductions = passes_.reductions[s];
  bool warps = mapping_.lanes > 32;
  auto slots = [&](size_t k) {
    return "shared + " + std::to_string(part_.shared_bytes + slot_bytes * static_cast<int64_t>(k));
  };
  for (size_t k = 0; k < reductions.size(); ++k) {
    std::string a = id("a", reductions[k]);
    if (mapping_.lanes > 1)
      line(
          a + " = ap::across<" + std::to_string(std::min(mapping_.lanes, 32)) + ">(" + a + ", " +
          body_.function(reductions[k]) + ");");
    if (warps) line("ap::leave(" + slots(k) + ", " + a + ");");
  }
  if (warps && !reductions.empty()) {
    line("__syncthreads();");
    for (size_t k = 0; k < reductions.size(); ++k)
      line(
          id("a", reductions[k]) + " = ap::collect<" + std::to_string(mapping_.lanes / 32) + ", " +
          body_.state_type(reductions[k]) + ">(" + slots(k) + ", " + body_.function(reductions[k]) + ");");
    part_.shared_bytes += slot_bytes * static_cast<int64_t>(reductions.size());
  }
  if (sliced()) return;
  for (int v : reductions)
    text_ += body_.end_reduction(v, depth_);
}

void Writer::rows() {
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
  over_blocks(count);
  if (side_by_side > 1) {
    line("const ix own = at * " + many + " + threadIdx.x / " + lanes + ";");
    line("const bool active = own < units;");
    line("const ix u = active ? own : units - 1;");
  } else {
    line("const ix u = at / " + slices + ";");
  }
  line(
      sliced() ? "const ix share = ceil_div(length, " + slices + "), from = at % " + slices +
                     " * share, to = min(from + share, length);"
               : "const ix from = 0, to = length;");
  text_ += indices(nest_.unit_groups, "u");
  std::string first = guard.empty() ? "lane == 0" : "lane == 0 && active";
  text_ += body_.unit_values(0, depth_, first, !sliced());
  if (mapping_.kept) text_ += body_.declare_kept(depth_);
  for (int s = 0; s < passes_.count; ++s) {
    text_ += body_.declare_accumulators(s, depth_);
    begin_block("");
    mapping_.kept ? kept_sweep(s, guard) : row_sweep(s);
    end_block();
    meet(s);
    if (!sliced()) text_ += body_.unit_values(s + 1, depth_, first, true);
  }
  if (sliced()) store_partials();
  if (part_.shared_bytes) line("__syncthreads();");
  end_block();
  part_.blocks = count;
}

void Writer::column_sweep(int s) {
  std::string below = std::to_string(mapping_.threads / mapping_.lanes);
  std::string guard = "active";
  text_ += body_.declare_accumulators(s, depth_) + body_.declare_carries(s, depth_);
  line("#pragma unroll " + std::to_string(mapping_.steps));
  begin_block("for (ix r = from + y; r < to; r += " + below + ")");
  text_ += indices(nest_.inner_groups, body_.runs_backwards() ? "to - 1 - r" : "r");
  text_ += body_.elements(s, depth_, guard);
  end_block();
}

// Threads below one another leave their results in shared memory; each takes all of its columns.
void Writer::meet_below(int s) {
  int below = mapping_.threads / mapping_.lanes;
  if (below == 1) return;
  std::string lanes = std::to_string(mapping_.lanes);
  auto& reductions = passes_.reductions[s];
  std::vector<std::string> slots;
  for (int v : reductions) {
    std::string name = id("s", v);
    line(
        "auto* const " + name + " = (" + body_.state_type(v) + "*)(shared + " +
        std::to_string(part_.shared_bytes) + ");");
    part_.shared_bytes += int64_t{16} * mapping_.threads * mapping_.pack;
    line("#pragma unroll");
    line(
        "for (int l = 0; l < P; ++l) " + name + "[(y * P + l) * " + lanes + " + x] = " + id("a", v) + "[l];");
  }
  if (reductions.empty()) return;
  line("__syncthreads();");
  line("#pragma unroll");
  begin_block("for (int l = 0; l < P; ++l)");
  for (int v : reductions) {
    std::string name = id("s", v), a = id("a", v) + "[l]";
    line(a + " = " + name + "[l * " + lanes + " + x];");
    line(
        "for (int k = 1; k < " + std::to_string(below) + "; ++k) " + a + " = " +
        body_.step(v, a, name + "[(k * P + l) * " + lanes + " + x]") + ";");
  }
  end_block();
}

void Writer::columns() {
  std::string lanes = std::to_string(mapping_.lanes), slices = std::to_string(mapping_.slices);
  std::string units = product(nest_, nest_.unit_groups),
              wide = std::to_string(mapping_.lanes * mapping_.pack);
  std::string blocks_across = ceil_div(lanes_size(), wide);
  std::string count = product(nest_, nest_.unit_groups, mapping_.slices) + " * " + blocks_across;
  width();
  line("const int x = threadIdx.x % " + lanes + ", y = threadIdx.x / " + lanes + ";");
  line("const ix across = " + blocks_across + ", length = " + product(nest_, nest_.inner_groups) + ";");
  over_blocks(count);
  line(
      "const ix slice = at % " + slices + ", block_x = at / " + slices + " % across, u = at / " + slices +
      " / across;");
  line("const ix own = block_x * " + wide + " + x * P;");
  line("const bool active = own < " + lanes_size() + ";");
  line("const ix j = active ? own : 0;");
  line(
      "const ix share = ceil_div(length, " + slices +
      "), from = slice * share, to = min(from + share, length);");
  text_ += indices(nest_.unit_groups, "u");
  text_ += body_.unit_values(0, depth_, "active && y == 0", !sliced());
  for (int s = 0; s < passes_.count; ++s) {
    column_sweep(s);
    meet_below(s);
    if (sliced()) break;
    for (int v : passes_.reductions[s])
      text_ += body_.end_reduction(v, depth_);
    text_ += body_.unit_values(s + 1, depth_, "active && y == 0", true);
  }
  if (sliced()) store_partials();
  if (part_.shared_bytes) line("__syncthreads();");
  end_block();
  part_.blocks = count;
}

void Writer::tiles() {
  int side = mapping_.lanes;
  std::string s = std::to_string(side), rows_size = nest_.groups[nest_.inner_groups[0]].size.text();
  std::string units = product(nest_, nest_.unit_groups), g = id("g", nest_.inner_groups[0]);
  std::string below = std::to_string(mapping_.threads / side);
  std::string count = units + " * " + ceil_div(rows_size, s) + " * " + ceil_div(lanes_size(), s);
  line("constexpr int P = 1, side = " + s + ", l = 0;");
  line("const int x = threadIdx.x % side, y = threadIdx.x / side;");
  line("const ix across = " + ceil_div(lanes_size(), s) + ", down = " + ceil_div(rows_size, s) + ";");
  over_blocks(count);
  line("const ix first_row = at / across % down * side, first_column = at % across * side;");
  text_ += indices(nest_.unit_groups, "at / across / down");
  text_ += body_.unit_values(0, depth_, "first_row == 0 && first_column == 0 && threadIdx.x == 0", true);
  for (size_t a = 0; a < nest_.accesses.size(); ++a) {
    auto& access = nest_.accesses[a];
    if (!access.tiled) continue;
    std::string type = element_type(kernel_.buffers[access.buffer].type.dtype),
                t = id("t", static_cast<int>(a));
    line(
        "auto* const " + t + " = (" + type + "(*)[side + 1])(shared + " + std::to_string(part_.shared_bytes) +
        ");");
    part_.shared_bytes +=
        (side * (side + 1) * size_of(kernel_.buffers[access.buffer].type.dtype) + 15) / 16 * 16;
    line("#pragma unroll");
    begin_block("for (int k = y; k < side; k += " + below + ")");
    line("const ix " + g + " = first_row + x, j = first_column + k;");
    line(
        "if (" + g + " < " + rows_size + " && j < " + lanes_size() + ") " + t +
        "[k][x] = " + body_.raw_load(static_cast<int>(a)) + ";");
    end_block();
  }
  line("__syncthreads();");
  line("#pragma unroll");
  begin_block("for (int k = y; k < side; k += " + below + ")");
  line("const ix " + g + " = first_row + k, j = first_column + x;");
  begin_block("if (" + g + " < " + rows_size + " && j < " + lanes_size() + ")");
  text_ += body_.elements(0, depth_, "");
  end_block();
  end_block();
  line("__syncthreads();");
  end_block();
  part_.blocks = count;
}

// Bytes of the partial results of that many reductions.
std::string Writer::partials(int64_t reductions) const {
  std::vector<int> groups = nest_.unit_groups;
  if (nest_.columns()) groups.push_back(nest_.vector_group);
  return product(nest_, groups, 8 * reductions * mapping_.slices);
}

// Partial result k of slice s lies at ((k * units + unit) * slices + s), of columns with their number behind.
void Writer::store_partials() {
  std::string slices = std::to_string(mapping_.slices);
  auto& reductions = passes_.reductions[0];
  for (size_t k = 0; k < reductions.size(); ++k) {
    std::string to =
        "((" + body_.state_type(reductions[k]) + "*)(partial + " + std::to_string(k) + " * room))[";
    if (k == 0) line("const long room = " + partials(1) + ";");
    if (nest_.columns())
      line(
          "if (active && y == 0) for (int l = 0; l < P; ++l) " + to + "((long)u * " + slices +
          " + slice) * " + lanes_size() + " + j + l] = " + id("a", reductions[k]) + "[l];");
    else
      line("if (lane == 0) " + to + "at] = " + id("a", reductions[k]) + ";");
  }
  part_.partial_bytes = partials(static_cast<int64_t>(reductions.size()));
}

void Writer::add_partials(const std::string& first, const std::string& step, const std::string& at) {
  auto& reductions = passes_.reductions[0];
  std::string slices = std::to_string(mapping_.slices);
  text_ += body_.declare_accumulators(0, depth_);
  line("const long room = " + partials(1) + ";");
  begin_block("for (int s = " + first + "; s < " + slices + "; s += " + step + ")");
  for (size_t k = 0; k < reductions.size(); ++k) {
    int v = reductions[k];
    std::string a = id("a", v) + (nest_.columns() ? "[0]" : "");
    std::string from =
        "((const " + body_.state_type(v) + "*)(partial + " + std::to_string(k) + " * room))[" + at + "]";
    line(a + " = " + body_.step(v, a, from) + ";");
  }
  end_block();
}

void Writer::finish_rows() {
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

void Writer::finish_columns() {
  constexpr int threads = 128;
  std::string units = product(nest_, nest_.unit_groups), size = lanes_size();
  std::string count = ceil_div(units + " * " + size, std::to_string(threads));
  line("constexpr int P = 1;");
  line("const ix columns = " + size + ", total = " + units + " * columns;");
  over_blocks(count);
  line("const ix own = at * " + std::to_string(threads) + " + threadIdx.x;");
  line("const bool active = own < total;");
  line("const ix u = active ? own / columns : 0, j = active ? own % columns : 0;");
  text_ += indices(nest_.unit_groups, "u") + body_.unit_values(0, depth_, "active", true);
  add_partials("0", "1", "((long)u * " + std::to_string(mapping_.slices) + " + s) * columns + j");
  for (int v : passes_.reductions[0])
    text_ += body_.end_reduction(v, depth_);
  text_ += body_.unit_values(1, depth_, "active", true);
  end_block();
  part_.finish_blocks = count;
  part_.finish_threads = threads;
}

void Writer::note_stores() {
  part_.stores.assign(kernel_.buffers.size(), false);
  part_.finish_stores = part_.stores;
  for (size_t v = 0; v < kernel_.values.size(); ++v) {
    int output = kernel_.values[v].output;
    if (output >= 0) (sliced() && !passes_.varies[v] ? part_.finish_stores : part_.stores)[output] = true;
  }
}

std::optional<Part> Writer::run() {
  if (!body_.supported()) return std::nullopt;
  part_.threads = mapping_.threads;
  switch (mapping_.kind) {
    case Kind::elements:
      elements();
      break;
    case Kind::rows:
      rows();
      break;
    case Kind::columns:
      columns();
      break;
    case Kind::tiles:
      tiles();
      break;
  }
  if (part_.shared_bytes > most_shared) return std::nullopt;
  part_.blocks = "min(" + part_.blocks + ", " + std::to_string(most_blocks) + ")";
  part_.source = part_head(kernel_, "part" + std::to_string(number_)) + text_ + "}\n";
  if (sliced()) {
    text_.clear(), depth_ = 1;
    nest_.columns() ? finish_columns() : finish_rows();
    part_.finish_blocks = "min(" + part_.finish_blocks + ", " + std::to_string(most_blocks) + ")";
    part_.source += part_head(kernel_, "finish" + std::to_string(number_)) + text_ + "}\n";
  }
  note_stores();
  return std::move(part_);
}

}  // namespace

std::optional<Part> write_part(const Kernel& kernel, const Nest& nest, const Mapping& mapping, int number) {
  return Writer(kernel, nest, mapping, number).run();
}

}  // namespace autoperfect::schedule::cuda
