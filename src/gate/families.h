// The inputs a candidate is tried on: families of values, each of which has defeated some wrong kernel
// somewhere, at sizes (of the dynamic axes) that leave tails, single elements and full vectors.
#pragma once

#include <string>
#include <vector>

#include "generate/candidate.h"
#include "ir/kernel.h"
#include "reference/laid_out.h"

namespace autoperfect {

struct InputFamily {
  std::string name;  // "normal", "shifted 1021"...
  Kernel kernel;     // with the sizes and strides of this family
  std::vector<Tensor> inputs;
  std::vector<int64_t> dims = {};   // what the kernel is told: see layout.h
  std::vector<Memory> memory = {};  // the inputs as the kernel gets them
};

// Deterministic in the seed. Families that come first matter most: a kernel whose static sizes are huge gets
// only those. Sizes are those that the guards of the candidate admit.
std::vector<InputFamily> make_families(
    const Kernel& kernel, uint64_t seed, int64_t max_elements, const Guards& guards = {});

// Inputs just below, at and above numbers: all at random places, and row by row the same number, also where
// only a sum, a mean or a root of the inputs would meet it.
std::vector<InputFamily> make_constant_families(
    const Kernel& kernel,
    uint64_t seed,
    int64_t max_elements,
    const std::vector<double>& constants,
    const Guards& guards = {});

// Inputs made to reach arms that all others missed, harder to come by from round to round. Sizes of dynamic
// axes may exceed those of max_elements.
constexpr int search_rounds = 8;
std::vector<InputFamily> make_search_families(
    const Kernel& kernel,
    uint64_t seed,
    int round,
    int64_t max_elements,
    const std::vector<double>& constants,
    const Guards& guards = {});

std::vector<int64_t> sizes_of_axes(const Kernel& kernel);

// The nearest sizes, of all axes, that a candidate is for.
std::vector<int64_t> sizes_admitted(const Guards& guards, std::vector<int64_t> sizes);

// Elements of the largest iteration space in the kernel.
int64_t work_of(const Kernel& kernel);

}  // namespace autoperfect
