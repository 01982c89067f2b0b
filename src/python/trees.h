// Trees of arrays as MLX understands them: lists, tuples and dicts; everything else is a leaf.
#pragma once

#include <functional>
#include <vector>

#include "python/python_array.h"

namespace autoperfect::python {

// What a function returned: its arrays, and everything else. Lists, tuples and dicts are rebuilt on each
// call, leaves that are not arrays are the same object each time.
class OutputTree {
 public:
  static OutputTree flatten(PyObject* tree, Arrays& arrays);
  nb::object unflatten(const Arrays& arrays) const;
  // Leaves that are neither arrays nor constants.
  std::vector<nb::object> opaque_leaves() const;
  PyObject* structure() const { return structure_.ptr(); }

 private:
  nb::object structure_;  // with a placeholder object for each array
};

// The state a compiled function reads (`inputs=`) or updates (`outputs=`): arrays in the user's own
// containers, and mx.random.state, which stands for the calling thread's key.
class State {
 public:
  State() = default;
  explicit State(nb::object tree) : tree_(std::move(tree)) {}

  bool present() const { return tree_.is_valid() && !tree_.is_none(); }
  PyObject* tree() const { return tree_.ptr(); }
  void append_arrays(Arrays& arrays) const;
  size_t count() const;
  // Replaces the arrays in place, in order.
  void fill(const mlx::core::array* values, size_t count) const;
  // Replaces the arrays that are `from[i]` by `to[i]`.
  void replace(const Arrays& from, const Arrays& to) const;
  // Every list and dict in it.
  std::vector<nb::object> containers() const;

 private:
  nb::object tree_;
};

// The list behind mx.random.state in this thread.
nb::object random_state_list();

}  // namespace autoperfect::python
