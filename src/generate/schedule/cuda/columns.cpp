// Columns: threads side by side along the lanes, and below one another along what is reduced.
#include "generate/schedule/cuda/part_writer.h"

namespace autoperfect::schedule::cuda {

void PartWriter::column_sweep(int s) {
  std::string below = std::to_string(mapping_.threads / mapping_.lanes);
  std::string guard = "active";
  text_ += body_.declare_accumulators(s, depth_) + body_.declare_carries(s, depth_);
  line("#pragma unroll " + std::to_string(mapping_.steps));
  begin_block("for (ix r = from + y; r < to; r += " + below + ")");
  text_ += indices(nest_.inner_groups, body_.runs_backwards() ? "to - 1 - r" : "r");
  text_ += body_.elements(s, depth_, guard);
  end_block();
}

// One pass of warps that scan, all threads to the end.
void PartWriter::tall_sweep(int s) {
  text_ += body_.declare_accumulators(s, depth_) + body_.declare_carries(s, depth_);
  begin_block("for (ix base = from; base < to; base += 32 * R)");
  std::string indent_of_head = indent(depth_ + 1);
  std::string head = indent_of_head + "const bool within = base + y * R + k < to;\n" + indent_of_head +
                     "const ix r = " + (body_.runs_backwards() ? "to - 1 - " : "") +
                     "(within ? base + y * R + k : from);\n" +
                     group_indices(nest_, nest_.inner_groups, "r", depth_ + 1, "ix");
  text_ += body_.tall_elements(s, depth_, head, "within && active");
  end_block();
}

// Threads below one another meet in their warp, then warps in shared memory, where a thread joins one column
// of all; each then takes its own.
void PartWriter::meet_below(int s) {
  if (mapping_.threads == mapping_.lanes || passes_.reductions[s].empty()) return;
  auto& reductions = passes_.reductions[s];
  if (mapping_.tall) {
    for (int v : reductions)
      line(
          "for (int l = 0; l < P; ++l) " + id("a", v) + "[l] = ap::across<32>(" + id("a", v) + "[l], " +
          body_.function(v) + ");");
    return;
  }
  std::string lanes = std::to_string(mapping_.lanes), warps = std::to_string(mapping_.threads / 32);
  for (int v : reductions) {
    std::string name = id("s", v), a = id("a", v) + "[l]";
    std::string at = "[(threadIdx.x / 32 * P + l) * " + lanes + " + x]";
    line(
        "auto* const " + name + " = (" + body_.state_type(v) + "*)(shared + " +
        std::to_string(part_.shared_bytes) + ");");
    int64_t bytes = body_.state_bytes(v) * mapping_.threads / 32 * mapping_.lanes * mapping_.pack;
    part_.shared_bytes += (bytes + 15) / 16 * 16;
    line("#pragma unroll");
    begin_block("for (int l = 0; l < P; ++l)");
    if (mapping_.lanes < 32) line(a + " = ap::down<" + lanes + ">(" + a + ", " + body_.function(v) + ");");
    line((mapping_.lanes < 32 ? "if (threadIdx.x % 32 < " + lanes + ") " : "") + name + at + " = " + a + ";");
    end_block();
  }
  line("__syncthreads();");
  begin_block(
      "for (int t = threadIdx.x; t < P * " + lanes + "; t += " + std::to_string(mapping_.threads) + ")");
  for (int v : reductions) {
    std::string name = id("s", v);
    line("#pragma unroll");
    line(
        "for (int k = 1; k < " + warps + "; ++k) " + name +
        "[t] = " + body_.step(v, name + "[t]", name + "[k * P * " + lanes + " + t]") + ";");
  }
  end_block();
  line("__syncthreads();");
  line("#pragma unroll");
  begin_block("for (int l = 0; l < P; ++l)");
  for (int v : reductions)
    line(id("a", v) + "[l] = " + id("s", v) + "[l * " + lanes + " + x];");
  end_block();
}

void PartWriter::columns() {
  std::string lanes = std::to_string(mapping_.lanes), slices = std::to_string(mapping_.slices);
  std::string units = product(nest_, nest_.unit_groups),
              wide = std::to_string(mapping_.lanes * mapping_.pack);
  std::string blocks_across = ceil_div(lanes_size(), wide);
  std::string count = product(nest_, nest_.unit_groups, mapping_.slices) + " * " + blocks_across;
  width();
  if (mapping_.tall) {
    line("constexpr int R = " + std::to_string(mapping_.steps) + ";");
    line("const int x = threadIdx.x / 32, y = threadIdx.x % 32;");
  } else {
    line("const int x = threadIdx.x % " + lanes + ", y = threadIdx.x / " + lanes + ";");
  }
  line("const ix across = " + blocks_across + ", length = " + product(nest_, nest_.inner_groups) + ";");
  over_blocks(count);
  line(
      "const ix slice = at % " + slices + ", block_x = at / " + slices + " % across, u = at / " + slices +
      " / across;");
  line("const ix own = block_x * " + wide + " + x * P;");
  // Without a branch the loads of several rows go together.
  const bool whole = nest_.groups[nest_.vector_group].size.is_multiple_of(mapping_.lanes * mapping_.pack);
  line(whole ? "constexpr bool active = true;" : "const bool active = own < " + lanes_size() + ";");
  line("const ix j = active ? own : 0;");
  line(
      "const ix share = ceil_div(length, " + slices +
      "), from = slice * share, to = min(from + share, length);");
  text_ += indices(nest_.unit_groups, "u");
  text_ += body_.unit_values(0, depth_, "active && y == 0", !sliced());
  for (int s = 0; s < passes_.count; ++s) {
    mapping_.tall && !body_.scans(s).empty() ? tall_sweep(s) : column_sweep(s);
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

void PartWriter::finish_columns() {
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

}  // namespace autoperfect::schedule::cuda
