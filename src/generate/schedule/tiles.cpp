#include "generate/schedule/tiles.h"

#include <algorithm>

#include "generate/schedule/blocks.h"
#include "generate/schedule/body.h"
#include "generate/schedule/frame.h"

namespace autoperfect::schedule {
namespace {

constexpr size_t most_unrolled_values = 6;  // of W copies of the body

class TileWriter {
 public:
  TileWriter(const Kernel& kernel, const Nest& nest, int64_t side, bool stream)
      : kernel_(kernel), nest_(nest), side_(side), passes_(find_passes(kernel, nest, Keep::nothing)) {
    choice_.stream = stream;
  }

  std::optional<Written> run();

 private:
  void tile(const Body& body, bool edge);
  void line(const std::string& text) { source_ += indent(depth_) + text + "\n"; }
  void begin_block(const std::string& text) { line(text + " {"), ++depth_; }
  void end_block() { --depth_, line("}"); }

  const Kernel& kernel_;
  const Nest& nest_;
  int64_t side_;
  Passes passes_;
  Choice choice_;
  std::string source_;
  int depth_ = 1;
};

// Rows i, i + 1, ... of the output and lanes from j on; edge: m rows, n lanes, at most W.
void TileWriter::tile(const Body& body, bool edge) {
  for (size_t a = 0; a < nest_.accesses.size(); ++a) {
    auto& access = nest_.accesses[a];
    if (!access.tiled) continue;
    std::string t = id("t", static_cast<int>(a)), p = id("p", static_cast<int>(a));
    std::string raw = "ap::element<" + element_type(kernel_.buffers[access.buffer].type.dtype) + ">::raw";
    line(raw + " " + t + "[ap::W];");
    line("#pragma GCC unroll 16");
    line(
        "for (int l = 0; l < ap::W; ++l) " + t + "[l] = ap::raw_load<" + raw + ">(" + p + " + (j + " +
        (edge ? "(l < n ? l : n - 1)" : "l") + ") * " + access.strides[nest_.vector_group].text() + " + i" +
        (edge ? ", m);" : ");"));
    line("ap::transpose(" + t + ");");
  }
  if (kernel_.values.size() <= most_unrolled_values) line("#pragma GCC unroll 16");
  begin_block("for (int l = 0; l < " + std::string(edge ? "m" : "ap::W") + "; ++l)");
  line("const long " + id("g", nest_.inner_groups[0]) + " = i + l;");
  source_ += body.inner_pointers(depth_) + body.inner_ranges(depth_) + body.elements(0, edge, depth_);
  end_block();
}

std::optional<Written> TileWriter::run() {
  Body body(kernel_, nest_, passes_, choice_);
  if (!body.supported()) return std::nullopt;
  Blocks blocks{nest_.unit_groups, nest_.inner_groups[0], nest_.vector_group, "side", "side"};
  source_ = signature_text + buffer_pointers(kernel_, 1);
  line("constexpr long side = " + std::to_string(side_) + ";");
  source_ += blocks.open(nest_, depth_++);
  source_ += body.unit_pointers(depth_) + body.unit_ranges(depth_) + body.unit_values(0, depth_);
  begin_block("for (long i = i0; i < i1; i += ap::W)");
  line("const long m = i1 - i < ap::W ? i1 - i : ap::W;");
  line("long j = j0;");
  begin_block("if (m == ap::W) for (; j + ap::W <= j1; j += ap::W)");
  tile(body, false);
  end_block();
  begin_block("for (; j < j1; j += ap::W)");
  line("const long n = j1 - j < ap::W ? j1 - j : ap::W;");
  tile(body, true);
  end_block();
  end_block();
  end_block();
  if (choice_.stream) line("ap::fence();");
  source_ += "}\n";
  return Written{source_, blocks.launch(nest_, side_ * side_)};
}

}  // namespace

std::optional<Nest> find_tiles(const Kernel& kernel) {
  for (auto& value : kernel.values)
    if (!value.reduced.empty() || value.scanned >= 0) return std::nullopt;
  auto nest = find_groups(kernel);
  if (!nest || nest->groups.size() < 2) return std::nullopt;
  int columns = static_cast<int>(nest->groups.size()) - 1, rows = -1;
  int64_t most = 0;
  auto crosses = [&](const Access& access, int group) {
    auto& along = access.strides[columns];
    return kernel.buffers[access.buffer].role == BufferRole::in && access.gathers.empty() &&
           access.guards.empty() && !along.is(0) && !along.is(1) && access.strides[group].is(1);
  };
  for (auto& access : nest->accesses)
    for (int g = 0; g < columns; ++g) {
      int64_t bytes = kernel.buffers[access.buffer].type.bytes();
      if (crosses(access, g) && bytes > most) rows = g, most = bytes;
    }
  if (rows < 0) return std::nullopt;
  for (auto& access : nest->accesses)
    access.tiled = crosses(access, rows);
  nest->shape = Shape::rows;
  nest->vector_group = columns;
  nest->inner_groups = {rows};
  for (int g = 0; g < columns; ++g)
    if (g != rows) nest->unit_groups.push_back(g);
  return nest;
}

std::optional<Written> write_tiles(const Kernel& kernel, const Nest& nest, int64_t side, bool stream) {
  return TileWriter(kernel, nest, side, stream).run();
}

}  // namespace autoperfect::schedule
