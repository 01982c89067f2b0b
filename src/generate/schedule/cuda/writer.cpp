#include "generate/schedule/cuda/writer.h"

#include <algorithm>

#include "generate/schedule/cuda/frame.h"
#include "generate/schedule/cuda/part_writer.h"

namespace autoperfect::schedule::cuda {
namespace {

constexpr int64_t most_blocks = int64_t{1} << 20;

}  // namespace

// What is static is one number, so that C++ gives it a type wide enough.
std::string product(const Nest& nest, const std::vector<int>& groups, int64_t factor) {
  std::string dynamic;
  for (int g : groups) {
    auto& size = nest.groups[g].size;
    if (size.is_fixed())
      factor *= size.fixed();
    else
      dynamic = size.text();
  }
  if (dynamic.empty()) return std::to_string(factor);
  return factor == 1 ? dynamic : dynamic + " * " + std::to_string(factor);
}

std::string ceil_div(const std::string& a, const std::string& b) {
  return "ceil_div(" + a + ", " + b + ")";
}

void PartWriter::over_blocks(const std::string& count) {
  line("const ix all = " + count + ";");
  begin_block("for (ix at = block; at < all; at += blocks)");
}

// Whether the last pack along the lanes may be short; its elements then go one by one.
bool PartWriter::short_pack() const {
  if (nest_.vector_group < 0) return false;
  return !nest_.groups[nest_.vector_group].size.is_multiple_of(mapping_.pack);
}

void PartWriter::pack_at(const std::string& j, int sweep, const std::string& guard) {
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

void PartWriter::elements() {
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
  std::string within = nest_.unit_groups.empty() ? "t" : "t % packs";
  text_ += body_.unit_values(0, depth_, within + " == 0", true);
  if (passes_.count > 0) pack_at(within + " * " + std::to_string(mapping_.pack), 0, "");
  end_block();
  end_block();
  part_.blocks = ceil_div(units + " * " + packs(), a_block);
}

// Where an element of a square is, of the direction with that many elements. Past the end the last pack is
// read once more, so that no load waits behind a branch; what is made of it is not stored.
void PartWriter::place_in_square(
    const std::string& name, const std::string& at, const Extent& size, int pack, std::string& within) {
  if (size.is_multiple_of(mapping_.lanes)) return line("const ix " + name + " = " + at + ";");
  std::string last = pack == 1 ? size.text() + " - 1" : size.text() + " - " + std::to_string(pack);
  line("const ix " + name + " = " + at + " < " + size.text() + " ? " + at + " : " + last + ";");
  within += (within.empty() ? "" : " && ") + at + " < " + size.text();
}

// A square of each input that is read across its rows, as it lies in memory.
void PartWriter::fill_squares(const std::string& below) {
  const Extent &rows = nest_.groups[nest_.inner_groups[0]].size,
               &columns = nest_.groups[nest_.vector_group].size;
  for (size_t a = 0; a < nest_.accesses.size(); ++a) {
    auto& access = nest_.accesses[a];
    if (!access.tiled) continue;
    int64_t bytes = size_of(kernel_.buffers[access.buffer].type.dtype);
    std::string type = element_type(kernel_.buffers[access.buffer].type.dtype);
    std::string t = id("t", static_cast<int>(a)), within;
    line(
        "auto* const " + t + " = (" + type + "(*)[side + P])(shared + " + std::to_string(part_.shared_bytes) +
        ");");
    part_.shared_bytes += (mapping_.lanes * (mapping_.lanes + mapping_.pack) * bytes + 15) / 16 * 16;
    line("#pragma unroll");
    begin_block("for (int n = 0, k = y; n < side / " + below + "; ++n, k += " + below + ")");
    place_in_square(id("g", nest_.inner_groups[0]), "(first_row + x)", rows, mapping_.pack, within);
    place_in_square("j", "(first_column + k)", columns, 1, within);
    line("*(ap::Pack<" + type + ", P>*)&" + t + "[k][x] = " + body_.load_across(static_cast<int>(a)) + ";");
    end_block();
  }
}

void PartWriter::tiles() {
  int side = mapping_.lanes;
  std::string s = std::to_string(side), rows_size = nest_.groups[nest_.inner_groups[0]].size.text();
  std::string units = product(nest_, nest_.unit_groups), within;
  std::string below = std::to_string(mapping_.threads * mapping_.pack / side);
  std::string count = units + " * " + ceil_div(rows_size, s) + " * " + ceil_div(lanes_size(), s);
  line("constexpr int P = " + std::to_string(mapping_.pack) + ", side = " + s + ";");
  line("const int x = threadIdx.x % (side / P) * P, y = threadIdx.x / (side / P);");
  line("const ix across = " + ceil_div(lanes_size(), s) + ", down = " + ceil_div(rows_size, s) + ";");
  over_blocks(count);
  line("const ix first_row = at / across % down * side, first_column = at % across * side;");
  text_ += indices(nest_.unit_groups, "at / across / down");
  text_ += body_.unit_values(0, depth_, "first_row == 0 && first_column == 0 && threadIdx.x == 0", true);
  fill_squares(below);
  line("__syncthreads();");
  line("#pragma unroll");
  begin_block("for (int n = 0, k = y; n < side / " + below + "; ++n, k += " + below + ")");
  place_in_square(
      id("g", nest_.inner_groups[0]), "(first_row + k)", nest_.groups[nest_.inner_groups[0]].size, 1, within);
  place_in_square("j", "(first_column + x)", nest_.groups[nest_.vector_group].size, mapping_.pack, within);
  if (!within.empty()) line("const bool within = " + within + ";");
  text_ += body_.elements(0, depth_, within.empty() ? "" : "within");
  end_block();
  line("__syncthreads();");
  end_block();
  part_.blocks = count;
}

// Bytes of the partial results of that many reductions.
std::string PartWriter::partials(int64_t reductions) const {
  std::vector<int> groups = nest_.unit_groups;
  if (nest_.columns()) groups.push_back(nest_.vector_group);
  return product(nest_, groups, 8 * reductions * mapping_.slices);
}

// Partial result k of slice s lies at ((k * units + unit) * slices + s), of columns with their number behind.
void PartWriter::store_partials() {
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

void PartWriter::add_partials(const std::string& first, const std::string& step, const std::string& at) {
  auto& reductions = passes_.reductions[0];
  std::string slices = std::to_string(mapping_.slices);
  text_ += body_.declare_accumulators(0, depth_);
  line("const long room = " + partials(1) + ";");
  line("#pragma unroll 8");
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

void PartWriter::note_stores() {
  part_.stores.assign(kernel_.buffers.size(), false);
  part_.finish_stores = part_.stores;
  for (size_t v = 0; v < kernel_.values.size(); ++v) {
    int output = kernel_.values[v].output;
    bool is_late = goes_on_ || (sliced() && (!passes_.varies[v] || passes_.ready[v] > 0));
    if (output >= 0) (is_late ? part_.finish_stores : part_.stores)[output] = true;
  }
}

std::string PartWriter::in_blocks(const std::string& count) {
  return "min(" + count + ", " + std::to_string(most_blocks) + ")";
}

void PartWriter::loops() {
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
}

std::optional<Part> PartWriter::run() {
  if (!body_.supported()) return std::nullopt;
  if (sliced() && std::any_of(kernel_.values.begin(), kernel_.values.end(), is_scan)) return split_scans();
  part_.threads = mapping_.threads;
  loops();
  if (part_.shared_bytes > most_shared) return std::nullopt;
  part_.blocks = in_blocks(part_.blocks);
  part_.source = part_head(kernel_, "part" + std::to_string(number_)) + text_ + "}\n";
  if (sliced()) {
    text_.clear(), depth_ = 1;
    if (passes_.count > 1)
      finish_elements();
    else
      nest_.columns() ? finish_columns() : finish_rows();
    part_.finish_blocks = in_blocks(part_.finish_blocks);
    part_.source += part_head(kernel_, "finish" + std::to_string(number_)) + text_ + "}\n";
  }
  note_stores();
  return std::move(part_);
}

std::optional<Part> write_part(const Kernel& kernel, const Nest& nest, const Mapping& mapping, int number) {
  return PartWriter(kernel, nest, mapping, number).run();
}

}  // namespace autoperfect::schedule::cuda
