// Runs a function on placeholders inside MLX's own trace scope and records the arrays it made, as a flat list
// in a deterministic topological order. Knows primitives only as far as needed to tell cheap constants from
// data.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "capture/capture.h"
#include "capture/primitive_table.h"

namespace autoperfect {

struct TracedValue {
  enum class Source : uint8_t { argument, leaf, node };
  mlx::core::array array;
  Source source;
  int32_t index;   // which argument, leaf or node
  int32_t result;  // of the node
};

// Complete in itself: evaluating a leaf may take the graph apart that a node was read from.
struct TracedNode {
  std::shared_ptr<mlx::core::Primitive> primitive;
  std::optional<MappedPrimitive> mapped;
  std::vector<int32_t> operands, results;  // into TracedProgram::values
};

// What the outputs are made of. A leaf is data that does not depend on the arguments: it may still be lazy,
// and is safe to evaluate once the trace is over.
struct TracedProgram {
  std::vector<TracedValue> values;
  std::vector<TracedNode> nodes;
  std::vector<mlx::core::array> leaves;
  std::vector<int32_t> outputs;
  bool uses_tracers = false;  // data of a transformation around this one, or left over from one that is over
};

TracedProgram trace(const ArrayFunction& fn, const std::vector<mlx::core::array>& arguments);

}  // namespace autoperfect
