#include "generate/schedule/blocks.h"

#include <algorithm>

#include "generate/schedule/frame.h"
#include "generate/schedule/scope.h"

namespace autoperfect::schedule {

std::string Blocks::open(const Nest& nest, int depth) const {
  std::string text, batches;
  auto line = [&](const std::string& added) { text += indent(depth) + added + "\n"; };
  auto size = [&](int group) { return nest.groups[group].size.text(); };
  for (int g : batch)
    batches += size(g) + " * ";
  auto up = [](const std::string& n, const std::string& step) {
    return "(" + n + " + " + step + " - 1) / " + step;
  };
  line("const long row_blocks = " + up(size(rows), row_step) + ";");
  line("const long column_blocks = " + up(size(columns), column_step) + ";");
  line("const long blocks = " + batches + "row_blocks * column_blocks;");
  line("const long units = " + batches + size(rows) + " * " + size(columns) + ";");
  line("const long last = ap::share(end, units, blocks, 1);");
  line("for (long block = ap::share(begin, units, blocks, 1); block < last; ++block) {");
  ++depth;
  line(
      "const long i0 = block % row_blocks * " + row_step + ", j0 = block / row_blocks % column_blocks * " +
      column_step + ";");
  line(
      "const long i1 = i0 + " + row_step + " < " + size(rows) + " ? i0 + " + row_step + " : " + size(rows) +
      ";");
  line(
      "const long j1 = j0 + " + column_step + " < " + size(columns) + " ? j0 + " + column_step + " : " +
      size(columns) + ";");
  return text + group_indices(nest, batch, "block / row_blocks / column_blocks", depth);
}

Launch Blocks::launch(const Nest& nest, int64_t elements_a_block) const {
  Launch launch;
  std::vector<int> groups = batch;
  groups.push_back(rows);
  groups.push_back(columns);
  for (int g : groups)
    for (AxisId axis : nest.groups[g].axes)
      launch.parallel.push_back(axis);
  launch.grain = std::max<int64_t>(1, elements_a_block / 2);
  return launch;
}

}  // namespace autoperfect::schedule
