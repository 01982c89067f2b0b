// From an operand's index maps to where it lies in memory: strides by axis, before axes become groups.
#pragma once

#include <optional>
#include <vector>

#include "generate/schedule/nest.h"
#include "ir/kernel.h"

namespace autoperfect::schedule {

struct AccessMap {
  std::vector<Extent> strides;  // per axis
  std::vector<Affine> guards;   // of the dimensions that may leave the buffer
};

// The values it is computed from: itself, or the indices of its gathers.
std::vector<KernelValueId> values_in(const KernelOperand& operand);

// The axes it varies over, ascending.
std::vector<AxisId> axes_in(const Kernel& kernel, const KernelOperand& operand);

// Where a value is stored, in the form of a load.
KernelOperand store_operand(const KernelValue& value);

// Of an axis, as the code knows it: a number, or one of the dims.
Extent size_of(const Kernel& kernel, AxisId axis);

// Fills all of `access` that does not depend on groups. None when it gathers from an empty dimension.
std::optional<AccessMap> map_access(const Kernel& kernel, const KernelOperand& at, Access& access);

}  // namespace autoperfect::schedule
