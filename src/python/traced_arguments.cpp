// The walk is that of Arguments, in the same order: the n-th array met here is the n-th one there.
#include <algorithm>

#include "python/arguments.h"

namespace autoperfect::python {

PyObject* Slot::get() const {
  if (key.ptr()) return PyDict_GetItemWithError(container.ptr(), key.ptr());
  return index < PyList_GET_SIZE(container.ptr()) ? PyList_GET_ITEM(container.ptr(), index) : nullptr;
}

void Slot::set(nb::handle value) const {
  if (key.ptr()) {
    check(PyDict_SetItem(container.ptr(), key.ptr(), value.ptr()));
  } else if (index < PyList_GET_SIZE(container.ptr())) {
    value.inc_ref();
    check(PyList_SetItem(container.ptr(), index, value.ptr()));
  }
}

TracedArguments::TracedArguments(PyObject* args, PyObject* kwargs, const Arrays* placeholders)
    : placeholders_(placeholders) {
  try {
    nb::list items;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args); ++i)
      items.append(convert(PyTuple_GET_ITEM(args, i)));
    positional = nb::tuple(items);
    if (kwargs && PyDict_GET_SIZE(kwargs) > 0) keywords = copy_dict(kwargs);
  } catch (...) {
    restore();
    throw;
  }
}

TracedArguments::~TracedArguments() {
  restore();
}

void TracedArguments::restore() {
  for (auto undo = undo_.rbegin(); undo != undo_.rend(); ++undo) {
    if (undo->slot.get()) undo->slot.set(undo->original);
  }
  undo_.clear();
}

std::vector<size_t> TracedArguments::changed_slots() const {
  std::vector<size_t> changed;
  for (size_t i = 0; i < slots_.size(); ++i) {
    auto* now = slots_[i].get();
    if (now && is_array(now) && array_of(now).id() != placeholder_ids_[i]) changed.push_back(i);
  }
  return changed;
}

nb::object TracedArguments::convert(PyObject* object) {
  if (is_array(object)) return convert_array(object);
  if (PyTuple_Check(object)) return convert_tuple(object);
  bool is_list = PyList_Check(object), is_dict = PyDict_Check(object);
  bool exact = PyList_CheckExact(object) || PyDict_CheckExact(object);
  if (exact && inside_objects_ > 0) {
    exchange_items(object);
    return nb::borrow(object);
  }
  if (exact) return is_list ? copy_list(object) : copy_dict(object);
  if (is_list || is_dict ||
      (inside_objects_ > 0 && is_plain_instance(object) && !PyAnySet_Check(object) &&
       !PyUnicode_Check(object) && !PyLong_Check(object) && !PyFloat_Check(object))) {
    return convert_object(object);
  }
  return nb::borrow(object);
}

nb::object TracedArguments::convert_array(PyObject* object) {
  size_t array = next_++;
  return placeholders_ ? to_python((*placeholders_)[array]) : nb::borrow(object);
}

nb::object TracedArguments::copy_list(PyObject* list) {
  nb::list copy;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); ++i)
    copy.append(convert(PyList_GET_ITEM(list, i)));
  return copy;
}

nb::object TracedArguments::copy_dict(PyObject* dict) {
  nb::dict copy;
  PyObject *key = nullptr, *value = nullptr;
  for (Py_ssize_t at = 0; PyDict_Next(dict, &at, &key, &value);) {
    auto converted = convert(value);
    check(PyDict_SetItem(copy.ptr(), key, converted.ptr()));
  }
  return copy;
}

// The same object when nothing in it changed; a namedtuple stays one.
nb::object TracedArguments::convert_tuple(PyObject* tuple) {
  nb::list items;
  bool changed = false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); ++i) {
    items.append(convert(PyTuple_GET_ITEM(tuple, i)));
    changed |= nb::handle(items[i]).ptr() != PyTuple_GET_ITEM(tuple, i);
  }
  if (!changed) return nb::borrow(tuple);
  if (PyTuple_CheckExact(tuple)) return nb::tuple(items);
  auto type = nb::borrow(nb::handle(tuple).type());
  return nb::hasattr(type, "_fields") ? type(*items) : type(items);
}

nb::object TracedArguments::convert_object(PyObject* object) {
  auto same = [&](const nb::object& seen) { return seen.is(object); };
  if (std::none_of(objects_.begin(), objects_.end(), same)) {
    objects_.push_back(nb::borrow(object));
    bool instance = is_plain_instance(object);
    ++inside_objects_;
    if (PyList_Check(object) || PyDict_Check(object)) exchange_items(object);
    if (instance) exchange_items(attributes_of(object));
    --inside_objects_;
  }
  return nb::borrow(object);
}

void TracedArguments::exchange_items(PyObject* container) {
  if (PyList_Check(container)) {
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(container); ++i) {
      exchange({nb::borrow(container), nb::object(), i, 0}, PyList_GET_ITEM(container, i));
    }
    return;
  }
  PyObject *key = nullptr, *value = nullptr;
  for (Py_ssize_t at = 0; PyDict_Next(container, &at, &key, &value);) {
    exchange(
        {nb::borrow(container), nb::borrow(key), 0, 0},
        value);  // existing keys only: the iteration stays valid
  }
}

void TracedArguments::exchange(Slot slot, PyObject* value) {
  auto original = nb::borrow(value);
  slot.array = next_;
  auto converted = convert(value);
  if (is_array(value)) {
    slots_.push_back(slot);
    placeholder_ids_.push_back(placeholders_ ? (*placeholders_)[slot.array].id() : 0);
  }
  if (converted.is(original)) return;
  slot.set(converted);
  undo_.push_back({std::move(slot), std::move(original)});
}

}  // namespace autoperfect::python
