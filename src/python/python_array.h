// mlx.core.array objects, as fast as they can be told apart and unwrapped. The type is mlx.core's own: both
// modules share one nanobind domain.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <vector>

#include "mlx/array.h"

namespace autoperfect::python {

namespace nb = nanobind;
using Arrays = std::vector<mlx::core::array>;

inline PyTypeObject* array_type() {
  static auto* type = reinterpret_cast<PyTypeObject*>(nb::type<mlx::core::array>().ptr());
  return type;
}

inline bool is_array(PyObject* object) {
  return Py_TYPE(object) == array_type() || PyType_IsSubtype(Py_TYPE(object), array_type());
}

inline mlx::core::array& array_of(PyObject* object) {
  return *nb::inst_ptr<mlx::core::array>(object);
}

inline nb::object to_python(mlx::core::array array) {
  return nb::cast(std::move(array));
}

// What a failed call into Python is in C++.
[[noreturn]] inline void throw_python_error() {
  throw nb::python_error();
}
inline nb::object checked(PyObject* owned) {
  if (!owned) throw_python_error();
  return nb::steal(owned);
}
inline void check(int status) {
  if (status < 0) throw_python_error();
}

}  // namespace autoperfect::python
