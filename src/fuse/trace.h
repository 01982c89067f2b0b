// The index maps of a region, found from its outputs backwards: each output has an axis a dimension, and what
// an op reads follows from what it gives (the same element, another element, all along a reduced axis). So a
// view is a map on a load, and a region is legal exactly when every operand has such a map.
//
// A value that is demanded in two ways is computed once if the two are the same up to the names of axes
// (`unify`), or else once for each way, if that is cheap. lower() writes the result down; there is no second
// opinion on what is legal.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "fuse/fuse.h"
#include "fuse/index_map.h"

namespace autoperfect {

// A value at an index: another instance, a load (inputs), or what is written into the kernel (inlined).
struct Demand {
  enum class Kind : uint8_t { instance, load, inlined } kind = Kind::load;
  ValueId value = -1;  // with the views it was seen through removed
  IndexMap index;
  int instance = -1;
  bool operator==(const Demand&) const = default;
};

// One value of the kernel: a node computed over a box of axes.
struct Instance {
  NodeId node = -1;
  Op op = Op::copy;  // that of the node; over axes of size 1 a reduction or scan is a copy, a contraction a
                     // product
  IndexMap map;      // which element of the result, one index a dimension
  std::vector<AxisId> axes;     // it varies over these, ascending
  std::vector<AxisId> reduced;  // a reduction or contraction runs over these, ascending
  AxisId scanned = -1;
  std::vector<int> operands;  // demands, in the order of the node's operands
  int part = -1;              // an output stored in parts: the operand that is this part
  bool stored = false;        // an output, stored at `map`
};

struct Trace {
  std::vector<int64_t> sizes;  // of the axes, in the order of the widest value's dimensions
  std::vector<bool> reduced;   // per axis
  std::vector<Demand> demands;
  std::vector<Instance> instances;  // each after those it reads
  std::vector<ValueId> inputs;      // loaded, in the order of first use
  std::vector<NodeId> views;        // folded into the maps, ascending
  RegionKind kind = RegionKind::elementwise;
};

struct Refusal {
  std::string reason;
};

// `nodes` ascending, without views (those in between are found); `outputs` ascending, computed by nodes.
std::variant<Trace, Refusal> trace(
    const Graph& graph, const std::vector<NodeId>& nodes, const std::vector<ValueId>& outputs);

}  // namespace autoperfect
