// How much rounding alone may move the values of a graph. Each run moves every result that the contract does
// not fix to the bit by a few units in the last place, at random, and turns the sign of a zero that is an
// extreme; what such runs disagree on is not decided by the program.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/graph.h"
#include "python/python_array.h"

namespace autoperfect::python {

// Per value: whether it depends on an op whose result may differ between honest implementations: an
// elementary function, or a sum, product, scan or contraction of floats.
std::vector<bool> rounding_dependent(const Graph& graph);

// The same, or on an extreme of floats, which may be a zero of either sign.
std::vector<bool> zero_sign_dependent(const Graph& graph);

class Perturbation {
 public:
  explicit Perturbation(uint64_t seed);
  // The one result of `node`, moved. Barriers are left alone: every way to run a program calls the same code
  // for them.
  mlx::core::array move(
      const Graph& graph, NodeId node, const Arrays& operands, const mlx::core::array& result);

 private:
  mlx::core::array noise(const mlx::core::array& like);  // in [-1, 1], of its shape
  mlx::core::array key_;
  bool
      one_way_;  // the same for all elements, as where a function errs on equal ones: a mean does not hide it
};

}  // namespace autoperfect::python
