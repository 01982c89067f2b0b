#include <unordered_map>

#include "python/trees.h"

namespace autoperfect::python {

namespace {

PyObject* random_state_type() {
  static PyObject* type =
      nb::module_::import_("mlx.core").attr("random").attr("state").type().inc_ref().ptr();
  return type;
}

bool is_random_state(PyObject* object) {
  return reinterpret_cast<PyObject*>(Py_TYPE(object)) == random_state_type();
}

template <class Visit>
void visit(PyObject* tree, Visit& leaf) {
  if (is_array(tree)) {
    leaf(tree);
  } else if (PyList_Check(tree)) {
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(tree); ++i)
      visit(PyList_GET_ITEM(tree, i), leaf);
  } else if (PyTuple_Check(tree)) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tree); ++i)
      visit(PyTuple_GET_ITEM(tree, i), leaf);
  } else if (PyDict_Check(tree)) {
    PyObject *key = nullptr, *value = nullptr;
    for (Py_ssize_t at = 0; PyDict_Next(tree, &at, &key, &value);)
      visit(value, leaf);
  } else if (is_random_state(tree)) {
    visit(random_state_list().ptr(), leaf);
  }
}

// Lists and dicts are updated in place, tuples are made anew. `leaf` gives the new object for an array.
template <class Update>
nb::object update(PyObject* tree, Update& leaf) {
  if (is_array(tree)) return leaf(tree);
  if (PyList_Check(tree)) {
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(tree); ++i) {
      auto item = update(PyList_GET_ITEM(tree, i), leaf);
      check(PyList_SetItem(tree, i, item.release().ptr()));
    }
  } else if (PyDict_Check(tree)) {
    PyObject *key = nullptr, *value = nullptr;
    for (Py_ssize_t at = 0; PyDict_Next(tree, &at, &key, &value);) {
      auto item = update(value, leaf);
      if (item.ptr() != value) check(PyDict_SetItem(tree, key, item.ptr()));
    }
  } else if (PyTuple_Check(tree)) {
    nb::list items;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tree); ++i)
      items.append(update(PyTuple_GET_ITEM(tree, i), leaf));
    if (PyTuple_CheckExact(tree)) return nb::tuple(items);
    auto type = nb::borrow(nb::handle(tree).type());
    return nb::hasattr(type, "_fields") ? type(*items) : type(items);
  } else if (is_random_state(tree)) {
    update(random_state_list().ptr(), leaf);
  }
  return nb::borrow(tree);
}

}  // namespace

nb::object random_state_list() {
  // The state object has no setter; its iterator is over the list itself, and says so.
  auto state = nb::module_::import_("mlx.core").attr("random").attr("state");
  auto reduced = nb::iter(state).attr("__reduce__")();
  nb::object list = reduced[1][0];
  if (!PyList_Check(list.ptr()))
    throw std::runtime_error("[compile] mx.random.state is not what it was in MLX 0.32");
  return list;
}

void State::append_arrays(Arrays& arrays) const {
  if (!present()) return;
  auto leaf = [&](PyObject* array) { arrays.push_back(array_of(array)); };
  visit(tree_.ptr(), leaf);
}

size_t State::count() const {
  size_t count = 0;
  auto leaf = [&](PyObject*) { ++count; };
  if (present()) visit(tree_.ptr(), leaf);
  return count;
}

void State::fill(const mlx::core::array* values, size_t count) const {
  size_t next = 0;
  auto leaf = [&](PyObject* array) { return next < count ? to_python(values[next++]) : nb::borrow(array); };
  if (present()) update(tree_.ptr(), leaf);
}

void State::replace(const Arrays& from, const Arrays& to) const {
  std::unordered_map<uintptr_t, const mlx::core::array*> map;
  for (size_t i = 0; i < from.size(); ++i)
    map.emplace(from[i].id(), &to[i]);
  auto leaf = [&](PyObject* array) {
    auto found = map.find(array_of(array).id());
    return found == map.end() ? nb::borrow(array) : to_python(*found->second);
  };
  if (present()) update(tree_.ptr(), leaf);
}

std::vector<nb::object> State::containers() const {
  std::vector<nb::object> found;
  std::vector<PyObject*> pending;
  if (present()) pending.push_back(tree_.ptr());
  for (size_t i = 0; i < pending.size(); ++i) {
    auto* tree = pending[i];
    if (PyList_Check(tree)) {
      found.push_back(nb::borrow(tree));
      for (Py_ssize_t j = 0; j < PyList_GET_SIZE(tree); ++j)
        pending.push_back(PyList_GET_ITEM(tree, j));
    } else if (PyTuple_Check(tree)) {
      for (Py_ssize_t j = 0; j < PyTuple_GET_SIZE(tree); ++j)
        pending.push_back(PyTuple_GET_ITEM(tree, j));
    } else if (PyDict_Check(tree)) {
      found.push_back(nb::borrow(tree));
      PyObject *key = nullptr, *value = nullptr;
      for (Py_ssize_t at = 0; PyDict_Next(tree, &at, &key, &value);)
        pending.push_back(value);
    } else if (is_random_state(tree)) {
      found.push_back(random_state_list());
    }
  }
  return found;
}

}  // namespace autoperfect::python
