// The inputs a candidate sits and what they must give.
#pragma once

#include <memory>
#include <vector>

#include "gate/families.h"
#include "gate/gate.h"
#include "gate/judge.h"

namespace autoperfect {

struct Examination {
  std::vector<InputFamily> families;
  std::vector<References> references;
};

Result<std::shared_ptr<const Examination>> make_examination(
    std::vector<InputFamily> families, const EagerRunner& eager);

// The families every candidate for the kernel sits. The last one is kept: candidates for the same kernel,
// given the same seed, sit the same.
Result<std::shared_ptr<const Examination>> common_examination(
    const Kernel& kernel, uint64_t seed, const GateOptions& options, const Guards& guards = {});

// Empty, or why there is nothing to examine.
Status can_be_examined(const Kernel& kernel);

}  // namespace autoperfect
