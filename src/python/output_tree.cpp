#include "python/arguments.h"
#include "python/trees.h"

namespace autoperfect::python {

namespace {

PyObject* placeholder() {
  static PyObject* object = PyObject_CallNoArgs(reinterpret_cast<PyObject*>(&PyBaseObject_Type));
  return object;
}

nb::object make_tuple_like(PyObject* original, nb::list items) {
  if (PyTuple_CheckExact(original)) return nb::tuple(items);
  auto type = nb::borrow(nb::handle(original).type());
  return nb::hasattr(type, "_fields") ? type(*items) : type(items);
}

// A new tree with each leaf replaced by what `leaf` makes of it.
template <class Leaf>
nb::object map_tree(PyObject* tree, Leaf& leaf) {
  if (PyList_Check(tree)) {
    nb::list items;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(tree); ++i)
      items.append(map_tree(PyList_GET_ITEM(tree, i), leaf));
    return items;
  }
  if (PyTuple_CheckExact(tree)) {
    auto size = PyTuple_GET_SIZE(tree);
    auto items = checked(PyTuple_New(size));
    for (Py_ssize_t i = 0; i < size; ++i) {
      PyTuple_SET_ITEM(items.ptr(), i, map_tree(PyTuple_GET_ITEM(tree, i), leaf).release().ptr());
    }
    return items;
  }
  if (PyTuple_Check(tree)) {
    nb::list items;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tree); ++i)
      items.append(map_tree(PyTuple_GET_ITEM(tree, i), leaf));
    return make_tuple_like(tree, items);
  }
  if (PyDict_Check(tree)) {
    nb::dict items;
    PyObject *key = nullptr, *value = nullptr;
    for (Py_ssize_t at = 0; PyDict_Next(tree, &at, &key, &value);) {
      auto mapped = map_tree(value, leaf);
      check(PyDict_SetItem(items.ptr(), key, mapped.ptr()));
    }
    return items;
  }
  return leaf(tree);
}

}  // namespace

OutputTree OutputTree::flatten(PyObject* tree, Arrays& arrays) {
  auto leaf = [&](PyObject* object) {
    if (!is_array(object)) return nb::borrow(object);
    arrays.push_back(array_of(object));
    return nb::borrow(placeholder());
  };
  OutputTree result;
  result.structure_ = map_tree(tree, leaf);
  return result;
}

nb::object OutputTree::unflatten(const Arrays& arrays) const {
  size_t next = 0;
  auto leaf = [&](PyObject* object) {
    return object == placeholder() ? to_python(arrays[next++]) : nb::borrow(object);
  };
  return map_tree(structure_.ptr(), leaf);
}

std::vector<nb::object> OutputTree::opaque_leaves() const {
  std::vector<nb::object> leaves;
  auto leaf = [&](PyObject* object) {
    if (is_plain_instance(object)) leaves.push_back(nb::borrow(object));
    return nb::borrow(object);
  };
  map_tree(structure_.ptr(), leaf);
  return leaves;
}

}  // namespace autoperfect::python
