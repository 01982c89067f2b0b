// MLX program -> GraphIR, by array identity, without evaluating anything. Every primitive is kept, so every
// node can be replayed on other inputs; what is not understood is an opaque barrier, never an error.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ir/graph.h"
#include "mlx/array.h"
#include "mlx/primitives.h"

namespace autoperfect {

using ArrayFunction = std::function<std::vector<mlx::core::array>(const std::vector<mlx::core::array>&)>;

// Which line of a program made which array, noted while its function ran. The arrays are kept, so that no
// other gets the id of one. What is not listed has the line of what is made of it.
using SourceLines = std::vector<std::pair<mlx::core::array, std::string>>;

struct Captured {
  Graph graph;  // arguments first (all of them, also unused), then captured arrays in order of first use
  std::vector<mlx::core::array> constants;                        // the captured inputs' arrays
  std::vector<std::shared_ptr<mlx::core::Primitive>> primitives;  // per node of the graph; null for sources
  std::vector<std::string> lines;  // of the program; `where.line` of a node counts from 1 in here, 0: unknown
  // A captured array belongs to an outer transformation: nothing else is set; run the function plainly.
  bool uses_tracers = false;
};

// Traces fn on placeholders like `arguments`. Exceptions of fn and MLX's own tracing errors pass unchanged.
// `lines` is read once fn has run.
Captured capture(
    const ArrayFunction& fn,
    const std::vector<mlx::core::array>& arguments,
    const SourceLines* lines = nullptr);
Captured capture_file(const std::string& mlxfn_path, const std::vector<mlx::core::array>& arguments);

// A function transformation (vjp, vmap, compile, export...) is running on this thread: call functions as they
// are, so that it sees their own operations.
bool in_transformation();

// Replays one node of a captured graph on other inputs of the same types with its own primitive.
std::vector<mlx::core::array> replay(
    const Captured& captured, NodeId node, const std::vector<mlx::core::array>& inputs);

// The MLX operations of one node from its op and attributes alone; throws std::invalid_argument for opaque.
std::vector<mlx::core::array> apply(
    const Graph& graph, NodeId node, const std::vector<mlx::core::array>& inputs);
// A whole graph without opaque nodes, through apply().
std::vector<mlx::core::array> interpret(const Graph& graph, const std::vector<mlx::core::array>& inputs);

mlx::core::Dtype to_mlx(Dtype dtype);
Dtype from_mlx(mlx::core::Dtype dtype);

}  // namespace autoperfect
