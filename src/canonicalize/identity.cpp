#include <numeric>

#include "canonicalize/canonicalize.h"

namespace autoperfect {

Canonical identity_of(const Graph& source) {
  Canonical same{source, std::vector<ValueId>(source.values.size())};
  std::iota(same.value_of_source.begin(), same.value_of_source.end(), 0);
  return same;
}

}  // namespace autoperfect
