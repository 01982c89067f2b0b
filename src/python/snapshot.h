// What a function can change besides its results: the variables of its closure, its globals, the object it is
// bound to, and the lists, dicts, sets, arrays and objects reachable from them. Taken before a trace and
// compared after it, so that a function with side effects can be told apart, put back, and run as plain MLX.
#pragma once

#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "python/python_array.h"

namespace autoperfect::python {

class Snapshot {
 public:
  // Everything reachable from a callable.
  void add_callable(PyObject* callable);
  // A container or object, and what is in it.
  void add(PyObject* object, const std::string& name);

  // The variable into which the trace has put an array that exists in the trace only; `expected` containers
  // do not count. To be asked inside the trace: only there can such arrays be told.
  std::optional<std::string> find_leak(const std::vector<nb::object>& expected) const;

  void restore() const;
  // Only what holds arrays of the trace: other effects of a function that failed stay, as in Python.
  void restore_tracers() const;

 private:
  enum class Kind : uint8_t { list, dict, set, cell, array, global };
  struct Item {
    Kind kind;
    std::string name;  // of the variable it was reached from
    nb::object object;
    nb::object contents;  // list, dict, set: a copy; cell and global: the value, or nothing
    nb::object key;       // global
    std::optional<mlx::core::array> array;
  };

  void add_function(PyObject* function);
  void add_globals(PyObject* globals, PyObject* code);
  void add_cell(PyObject* cell, const std::string& name);
  void visit(PyObject* object, const std::string& name);
  void visit_container(PyObject* object, const std::string& name);
  void visit_instance(PyObject* object, const std::string& name);
  bool changed(const Item& item) const;
  bool holds_new_tracer(const Item& item, const std::unordered_set<PyObject*>& ignored) const;
  void restore(const Item& item) const;

  std::vector<Item> items_;
  std::unordered_set<PyObject*> seen_;
  std::vector<std::pair<nb::object, std::string>> pending_;
};

// An array that exists only in the running trace, in an object or in what it holds besides the `ignored`
// objects.
bool contains_tracer(PyObject* object, const std::unordered_set<PyObject*>& ignored = {}, int depth = 6);

}  // namespace autoperfect::python
