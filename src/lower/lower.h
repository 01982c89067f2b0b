// region -> KernelIR, and back to GraphIR: lower() states a region of the canonical graph as one exact
// contract; raise() gives the same computation as GraphIR over whole tensors (for the MLX fallback, for
// baselines and for readable MLX text). Deterministic and total over what fuse() calls legal.
#pragma once

#include <string>

#include "fuse/fuse.h"
#include "ir/kernel.h"

namespace autoperfect {

// Which axes one kernel serves in any size: code knows the others as numbers. Axes that are reduced or whose
// size the math itself depends on are never open. outermost: the first axis, or, of a large kernel, the first
// that leaves little to be proved at its own size.
enum class OpenAxes : uint8_t { outermost, all };

// `wide`: values of f16 and bf16 may stay in f32 within the kernel; it then says so, if it has any.
struct LowerOptions {
  bool wide = false;
  OpenAxes open = OpenAxes::outermost;
};

// In canonical order, so that regions of the same signature have the same kernel but for names.
Result<Kernel> lower(const Graph& graph, const Region& region, const LowerOptions& options = {});

// Inputs and outputs in ABI order, with the buffers' names and types.
Graph raise(const Kernel& kernel);

// Straight-line Python of `mx.` calls, one assignment a line, for a graph that check_mlx_python() has nothing
// against, as for any that raise() makes. Arguments are annotated with their types, `def f(x: "f32[4,8]"):`.
Status check_mlx_python(const Graph& graph);
std::string to_mlx_python(const Graph& graph);

// The way back: what to_mlx_python() prints and what is written like it. A Python number takes the dtype of
// the array beside it, as in MLX; nothing else is converted.
Result<Graph> parse_mlx_python(const std::string& text);

}  // namespace autoperfect
