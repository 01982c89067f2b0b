// Fills the buffers of a kernel, family after family, from one stream of random numbers.
#pragma once

#include <string>
#include <vector>

#include "gate/families.h"
#include "gate/patterns.h"

namespace autoperfect {

constexpr int64_t small_family = 1 << 12;  // elements that most families have

struct Recipe {
  const char* name;
  FloatPattern floats;
  IntegerPattern integers;
};

class FamilyMaker {
 public:
  FamilyMaker(const Kernel& kernel, uint64_t seed, const Guards& guards);

  // only_input: the recipe is for that input, the others are normal; negative: for all.
  void add(
      const std::string& name, const Recipe& recipe, const std::vector<int64_t>& sizes, int only_input = -1);

  std::vector<double> list;  // of the patterns that take their numbers from one
  std::vector<InputFamily> families;

 private:
  const Kernel& kernel_;
  const Guards& guards_;
  Random random_;
  FillOptions options_;
  bool has_matrices_ = false;
};

std::vector<AxisId> dynamic_axes(const Kernel& kernel);

// One size an axis: that of the kernel, or `size` where it is dynamic.
std::vector<int64_t> sizes_with(const Kernel& kernel, int64_t size);

// Sizes that use about `elements`: each dynamic axis gets its share, cut to a prime (which one varies).
std::vector<int64_t> sizes_for(const Kernel& kernel, int64_t elements, size_t variation);

}  // namespace autoperfect
