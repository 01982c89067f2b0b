#include "python/arguments.h"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "dispatch/input_layout.h"

namespace autoperfect::python {

namespace {

bool is_heap_type(PyObject* object) {
  return PyType_HasFeature(Py_TYPE(object), Py_TPFLAGS_HEAPTYPE);
}

// A list that holds itself ends in Python's own error.
struct RecursionGuard {
  RecursionGuard() { check(Py_EnterRecursiveCall(" in an argument of a compiled function") ? -1 : 0); }
  ~RecursionGuard() { Py_LeaveRecursiveCall(); }
};

[[noreturn]] void throw_unsupported(PyObject* object) {
  throw std::invalid_argument(
      "[compile] Function arguments must be trees of arrays or constants (floats, ints, strings, or None), "
      "but received "
      "type " +
      nb::cast<std::string>(nb::type_name(nb::handle(object).type())) + ".");
}

}  // namespace

PyObject* attributes_of(PyObject* object) {
  auto** attributes = _PyObject_GetDictPtr(object);
  return attributes ? *attributes : nullptr;
}

bool is_plain_instance(PyObject* object) {
  return is_heap_type(object) && attributes_of(object) && !PyType_Check(object) && !PyModule_Check(object) &&
         !PyFunction_Check(object);
}

void Arguments::add_positional(PyObject* tuple) {
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); ++i)
    add(PyTuple_GET_ITEM(tuple, i));
  key.tag('|');
}

void Arguments::add_keywords(PyObject* dict) {
  if (dict && PyDict_GET_SIZE(dict) > 0) add_items(dict);
}

void Arguments::add_array(const mlx::core::array& array) {
  key.tag('a');
  key.number(static_cast<uint8_t>(array.dtype().val()));
  key.number(static_cast<uint8_t>(array.ndim()));
  for (auto size : array.shape())
    key.number(size);
  arrays.push_back(array);
}

void Arguments::add_layouts() {
  types_size = key.size();
  for (size_t i = 0; i < arrays.size(); ++i) {
    const auto& array = arrays[i];
    if (!is_strided(array)) continue;
    key.tag('L');
    key.number(i);
    for (auto stride : layout_of(array).strides)
      key.number(stride);
  }
}

void Arguments::add(PyObject* object) {
  auto* type = Py_TYPE(object);
  if (type == array_type()) {
    add_array(array_of(object));
  } else if (type == &PyFloat_Type) {
    key.tag('f');
    key.number(PyFloat_AS_DOUBLE(object));
  } else if (type == &PyLong_Type) {
    add_integer(object);
  } else if (type == &PyBool_Type) {
    key.tag(object == Py_True ? '+' : '-');
  } else if (object == Py_None) {
    key.tag('n');
  } else if (type == &PyUnicode_Type) {
    add_string(object);
  } else if (type == &PyTuple_Type) {
    key.tag('(');
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(object); ++i)
      add(PyTuple_GET_ITEM(object, i));
    key.tag(')');
  } else if (type == &PyList_Type || type == &PyDict_Type) {
    add_items(object);
  } else {
    add_other(object);
  }
}

void Arguments::add_integer(PyObject* integer) {
  int overflow = 0;
  auto value = PyLong_AsLongLongAndOverflow(integer, &overflow);
  key.tag('i');
  if (!overflow) return key.number(static_cast<int64_t>(value));
  auto text = checked(PyNumber_ToBase(integer, 16));
  add_string(text.ptr());
}

void Arguments::add_string(PyObject* string) {
  key.tag('s');
  key.tag(static_cast<char>('0' + PyUnicode_KIND(string)));
  key.bytes(
      PyUnicode_DATA(string), static_cast<size_t>(PyUnicode_GET_LENGTH(string)) * PyUnicode_KIND(string));
}

// A list, or a dict: its keys may be anything hashable, and are compared like constants where they are
// constants.
void Arguments::add_items(PyObject* list_or_dict) {
  RecursionGuard guard;
  if (PyList_Check(list_or_dict)) {
    key.tag('[');
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list_or_dict); ++i)
      add(PyList_GET_ITEM(list_or_dict, i));
    key.tag(']');
    return;
  }
  key.tag('{');
  PyObject *name = nullptr, *value = nullptr;
  for (Py_ssize_t at = 0; PyDict_Next(list_or_dict, &at, &name, &value);) {
    if (PyUnicode_CheckExact(name)) {
      add_string(name);
    } else if (PyLong_CheckExact(name)) {
      add_integer(name);
    } else {
      add_identity(name);
    }
    add(value);
  }
  key.tag('}');
}

void Arguments::add_other(PyObject* object) {
  if (PyType_IsSubtype(Py_TYPE(object), array_type())) return add_array(array_of(object));
  if (PyList_Check(object) || PyDict_Check(object)) return add_object(object);
  if (PyTuple_Check(object)) {
    key.tag('<');
    add_type(object);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(object); ++i)
      add(PyTuple_GET_ITEM(object, i));
    return key.tag('>');
  }
  if (PyUnicode_Check(object) || PyLong_Check(object) || PyFloat_Check(object)) {
    add_type(object);  // an IntEnum, a NumPy float...
    if (PyUnicode_Check(object)) return add_string(object);
    if (PyLong_Check(object)) return add_integer(object);
    key.tag('f');
    return key.number(PyFloat_AS_DOUBLE(object));
  }
  if (inside_objects_ == 0) throw_unsupported(object);
  add_opaque(object);
}

// An object with state: its items, and its attributes, which the function may read as well.
void Arguments::add_object(PyObject* object) {
  auto seen = std::find(objects_.begin(), objects_.end(), object);
  key.tag('o');
  if (seen != objects_.end()) return key.number(static_cast<int64_t>(seen - objects_.begin()));
  objects_.push_back(object);
  add_type(object);
  bool instance = is_plain_instance(object);
  inside_objects_ += instance;
  if (PyList_Check(object) || PyDict_Check(object)) add_items(object);
  if (instance) add_items(attributes_of(object));
  inside_objects_ -= instance;
}

void Arguments::add_opaque(PyObject* object) {
  if (PyAnySet_Check(object)) {
    key.tag('#');
    key.number(PySet_GET_SIZE(object));
    auto iterator = checked(PyObject_GetIter(object));
    while (auto* next = PyIter_Next(iterator.ptr())) {
      auto item = nb::steal(next);
      bool constant = PyUnicode_CheckExact(next) || PyLong_CheckExact(next) || PyFloat_CheckExact(next);
      constant ? add(next) : add_identity(next);
    }
    if (PyErr_Occurred()) throw_python_error();
    return;
  }
  if (is_plain_instance(object)) return add_object(object);
  add_identity(object);
}

void Arguments::add_type(PyObject* object) {
  key.tag('t');
  add_identity(reinterpret_cast<PyObject*>(Py_TYPE(object)));
}

void Arguments::add_identity(PyObject* object) {
  key.tag('@');
  key.number(object);
  identities.push_back(object);
}

}  // namespace autoperfect::python
