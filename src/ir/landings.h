// A scatter as one element of its result sees it: which updates may land there.
#pragma once

#include <vector>

#include "ir/graph.h"

namespace autoperfect {

struct Landings {
  // Of x, one an index array; -1 where each update takes all of that axis, whose index then says nothing.
  std::vector<int64_t> axes;
  Shape at;  // of the index arrays; of scatter_axis that along its axis alone
  // Per dimension of `at`: the axis of x along which an index array counts 0, 1, 2 there, so that an element
  // is met by the update at its own place only; -1: it may be met by all of them, in order.
  std::vector<int> counted;
  std::vector<size_t> compared;  // the index arrays that say whether an update lands; the others need not
  int64_t updates = 1;           // that may land on an element
};

// Of a scatter or scatter_axis.
Landings landings_of(const Graph& graph, const Node& node);

}  // namespace autoperfect
