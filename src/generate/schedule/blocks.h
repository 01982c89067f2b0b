// Loops over blocks of two groups and single elements of others, cut over threads: the units of the launch
// are elements, and a chunk takes the blocks of its share of them.
#pragma once

#include <string>
#include <vector>

#include "generate/candidate.h"
#include "generate/schedule/nest.h"

namespace autoperfect::schedule {

struct Blocks {
  std::vector<int> batch;
  int rows = -1, columns = -1;
  std::string row_step, column_step;  // names of constants

  // Up to and with the brace of the loop; then i0, i1, j0, j1 and the batch's g<k> are known.
  std::string open(const Nest& nest, int depth) const;
  Launch launch(const Nest& nest, int64_t elements_a_block) const;
};

}  // namespace autoperfect::schedule
