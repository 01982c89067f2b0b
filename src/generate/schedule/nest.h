// The loops of a CPU kernel: axes of KernelIR collapsed into as few groups as memory allows, the strides of
// every load and store along them, and which group the vector lanes run along.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "generate/schedule/extent.h"
#include "ir/kernel.h"

namespace autoperfect::schedule {

// Adjacent axes that every buffer walks through as if they were one.
struct Group {
  std::vector<AxisId> axes;
  Extent size;
  int64_t seen_size = 1;  // with dynamic axes at the sizes they were first seen with
  bool swept = false;     // reduced or scanned
};

// A dimension of a load whose index is a value: it moves the load by the clamped value times stride.
struct Gather {
  KernelValueId value = -1;
  Extent stride, size;
};

// A dimension of a guarded load whose index may leave the buffer: 0 <= offset + sum over groups of step *
// index < size holds inside.
struct Guard {
  int64_t offset = 0;
  std::vector<int64_t> steps;  // per group
  Extent size;
};

// Where a load or store lies: offset + sum over groups of stride * index, in elements, moved by its gathers.
struct Access {
  BufferId buffer = -1;
  KernelOperand at;  // as written; of a store its buffer and index
  Extent offset;
  std::vector<Extent> strides;  // per group
  std::string lanes;            // where lane j lies, when that is no stride
  bool tiled = false;           // lane vectors of W rows are t<k>[0..W), l the row
  std::vector<Gather> gathers;
  std::vector<Guard> guards;
};

// flat, rows: elements, or rows of them. full: reductions over everything, a partial result a chunk. columns:
// reductions along a strided axis; the lanes are neighbouring columns.
enum class Shape { flat, rows, full_flat, full_rows, columns_flat, columns_rows };

struct Nest {
  std::vector<Group> groups;     // parallel ones first, then swept ones, outermost first
  std::vector<Access> accesses;  // distinct
  Shape shape = Shape::flat;
  std::vector<int>
      unit_groups;  // their product is the range the runtime splits (empty: the vector group itself)
  std::vector<int> inner_groups;  // sequential loops inside a unit, around the vector loop
  int vector_group = -1;          // -1: everything is a scalar

  int group_of(AxisId axis) const;  // -1: no loop needs it
  int access_of(const KernelOperand& load) const;
  int store_of(const KernelValue& value) const;
  // Another for each lane.
  bool along_lanes(const KernelValue& value) const;
  bool columns() const { return shape == Shape::columns_flat || shape == Shape::columns_rows; }
  bool full() const { return shape == Shape::full_flat || shape == Shape::full_rows; }
  bool splits_vector_group() const {
    return shape == Shape::flat || shape == Shape::full_flat || shape == Shape::columns_flat;
  }
};

// None when the kernel is outside what the CPU schedules know.
std::optional<Nest> find_nest(const Kernel& kernel);

// Groups and accesses, with no loops chosen yet; `groups`: those of a kernel this one is a part of.
std::optional<Nest> find_groups(const Kernel& kernel, std::vector<Group> groups = {});

}  // namespace autoperfect::schedule
