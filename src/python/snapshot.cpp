#include "python/snapshot.h"

#include <algorithm>

#include "python/arguments.h"

namespace autoperfect::python {

namespace {

constexpr size_t most_items = 200000;  // of a program with a huge heap behind it; the rest goes unwatched

bool is_type_named(PyObject* object, const char* name) {
  return std::string_view(Py_TYPE(object)->tp_name) == name;
}

nb::object copy_of(PyObject* container) {
  if (PyList_Check(container)) return checked(PyList_GetSlice(container, 0, PyList_GET_SIZE(container)));
  if (PyDict_Check(container)) return checked(PyDict_Copy(container));
  return checked(PySet_New(container));
}

}  // namespace

bool contains_tracer(PyObject* object, const std::unordered_set<PyObject*>& ignored, int depth) {
  if (!object || ignored.count(object)) return false;
  if (is_array(object)) return array_of(object).is_tracer();
  if (depth == 0) return false;
  if (PyList_Check(object) || PyTuple_Check(object)) {
    auto items = checked(PySequence_Fast(object, ""));
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.ptr()); ++i) {
      if (contains_tracer(PySequence_Fast_GET_ITEM(items.ptr(), i), ignored, depth - 1)) return true;
    }
  }
  auto in_dict = [&](PyObject* dict) {
    PyObject *key = nullptr, *value = nullptr;
    for (Py_ssize_t at = 0; PyDict_Next(dict, &at, &key, &value);) {
      if (contains_tracer(value, ignored, depth - 1)) return true;
    }
    return false;
  };
  if (PyDict_Check(object) && in_dict(object)) return true;
  return is_plain_instance(object) && in_dict(attributes_of(object));
}

void Snapshot::add(PyObject* object, const std::string& name) {
  pending_.emplace_back(nb::borrow(object), name);
  while (!pending_.empty() && items_.size() < most_items) {
    auto [next, from] = std::move(pending_.back());
    pending_.pop_back();
    visit(next.ptr(), from);
  }
  pending_.clear();
}

void Snapshot::add_callable(PyObject* callable) {
  add(callable, "self");
}

void Snapshot::visit(PyObject* object, const std::string& name) {
  if (PyUnicode_Check(object) || PyLong_Check(object) || PyFloat_Check(object) || object == Py_None ||
      PyType_Check(object) || PyModule_Check(object) || PyCFunction_Check(object)) {
    return;
  }
  if (!seen_.insert(object).second) return;
  if (is_array(object)) {
    items_.push_back({Kind::array, name, nb::borrow(object), {}, {}, array_of(object)});
  } else if (PyList_Check(object) || PyDict_Check(object) || PyAnySet_Check(object)) {
    visit_container(object, name);
    if (is_plain_instance(object)) visit_instance(object, name);
  } else if (PyTuple_Check(object)) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(object); ++i) {
      pending_.emplace_back(nb::borrow(PyTuple_GET_ITEM(object, i)), name);
    }
  } else if (PyFunction_Check(object)) {
    add_function(object);
  } else if (PyMethod_Check(object)) {
    pending_.emplace_back(nb::borrow(PyMethod_GET_SELF(object)), "self");
    pending_.emplace_back(nb::borrow(PyMethod_GET_FUNCTION(object)), name);
  } else {
    visit_instance(object, name);
  }
}

void Snapshot::visit_container(PyObject* object, const std::string& name) {
  if (!PyFrozenSet_Check(object)) {
    auto kind = PyList_Check(object) ? Kind::list : PyDict_Check(object) ? Kind::dict : Kind::set;
    items_.push_back({kind, name, nb::borrow(object), copy_of(object), {}, std::nullopt});
  }
  if (PyList_Check(object)) {
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(object); ++i) {
      pending_.emplace_back(nb::borrow(PyList_GET_ITEM(object, i)), name);
    }
  } else if (PyDict_Check(object)) {
    PyObject *key = nullptr, *value = nullptr;
    for (Py_ssize_t at = 0; PyDict_Next(object, &at, &key, &value);)
      pending_.emplace_back(nb::borrow(value), name);
  }
}

void Snapshot::visit_instance(PyObject* object, const std::string& name) {
  if (is_type_named(object, "functools.partial")) {
    for (auto* attribute : {"func", "args", "keywords"}) {
      pending_.emplace_back(nb::handle(object).attr(attribute), name);
    }
  } else if (
      is_type_named(object, "mlx.core._gc_func") ||
      is_type_named(object, "autoperfect._core.CompiledFunction")) {
    // mx.compile, mx.grad... of a function: what it refers to includes that function.
    auto referents = nb::module_::import_("gc").attr("get_referents")(nb::handle(object));
    for (auto referent : referents)
      pending_.emplace_back(nb::borrow(referent), name);
  } else if (is_plain_instance(object)) {
    auto* attributes = attributes_of(object);
    if (seen_.insert(attributes).second) visit_container(attributes, name);
    // A callable object runs the __call__ of its class.
    auto call = nb::getattr(nb::handle(object).type(), "__call__", nb::none());
    if (PyFunction_Check(call.ptr())) pending_.emplace_back(call, name);
  }
}

void Snapshot::add_function(PyObject* function) {
  auto code = nb::handle(function).attr("__code__");
  if (auto* cells = PyFunction_GetClosure(function)) {
    auto names = nb::cast<nb::tuple>(code.attr("co_freevars"));
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(cells); ++i) {
      add_cell(PyTuple_GET_ITEM(cells, i), nb::cast<std::string>(names[i]));
    }
  }
  for (auto* defaults : {PyFunction_GetDefaults(function), PyFunction_GetKwDefaults(function)}) {
    if (defaults) pending_.emplace_back(nb::borrow(defaults), "a default argument");
  }
  nb::object code_object = code;
  add_globals(PyFunction_GetGlobals(function), code_object.ptr());
}

// The globals a function names, and those that the functions defined in it name.
void Snapshot::add_globals(PyObject* globals, PyObject* code) {
  for (auto name : nb::handle(code).attr("co_names")) {
    auto* value = PyDict_GetItemWithError(globals, name.ptr());
    if (!value || PyModule_Check(value) || PyType_Check(value) || PyCFunction_Check(value)) continue;
    auto text = nb::cast<std::string>(name);
    items_.push_back(
        {Kind::global, text, nb::borrow(globals), nb::borrow(value), nb::borrow(name), std::nullopt});
    pending_.emplace_back(nb::borrow(value), text);
  }
  for (auto constant : nb::handle(code).attr("co_consts")) {
    if (PyCode_Check(constant.ptr())) add_globals(globals, constant.ptr());
  }
}

void Snapshot::add_cell(PyObject* cell, const std::string& name) {
  if (!seen_.insert(cell).second) return;
  auto contents = nb::steal(PyCell_Get(cell));
  if (contents.is_valid()) pending_.emplace_back(contents, name);
  items_.push_back({Kind::cell, name, nb::borrow(cell), std::move(contents), {}, std::nullopt});
}

bool Snapshot::changed(const Item& item) const {
  auto* now = item.object.ptr();
  auto* then = item.contents.ptr();
  switch (item.kind) {
    case Kind::array:
      return array_of(now).id() != item.array->id();
    case Kind::cell:
      return nb::steal(PyCell_Get(now)).ptr() != then;
    case Kind::global:
      return PyDict_GetItemWithError(now, item.key.ptr()) != then;
    case Kind::set:
      return PyObject_RichCompareBool(now, then, Py_NE) != 0;
    case Kind::list:
      if (PyList_GET_SIZE(now) != PyList_GET_SIZE(then)) return true;
      for (Py_ssize_t i = 0; i < PyList_GET_SIZE(now); ++i) {
        if (PyList_GET_ITEM(now, i) != PyList_GET_ITEM(then, i)) return true;
      }
      return false;
    case Kind::dict: {
      if (PyDict_GET_SIZE(now) != PyDict_GET_SIZE(then)) return true;
      PyObject *key = nullptr, *value = nullptr;
      for (Py_ssize_t at = 0; PyDict_Next(now, &at, &key, &value);) {
        if (PyDict_GetItemWithError(then, key) != value) return true;
      }
      return false;
    }
  }
  return false;
}

// What came into it since; what was there before has an item of its own.
bool Snapshot::holds_new_tracer(const Item& item, const std::unordered_set<PyObject*>& ignored) const {
  auto* now = item.object.ptr();
  auto* then = item.contents.ptr();
  switch (item.kind) {
    case Kind::array:
      return array_of(now).is_tracer();
    case Kind::cell:
      return contains_tracer(nb::steal(PyCell_Get(now)).ptr(), ignored);
    case Kind::global:
      return contains_tracer(PyDict_GetItemWithError(now, item.key.ptr()), ignored);
    case Kind::dict: {
      PyObject *key = nullptr, *value = nullptr;
      for (Py_ssize_t at = 0; PyDict_Next(now, &at, &key, &value);) {
        if (PyDict_GetItemWithError(then, key) != value && contains_tracer(value, ignored)) return true;
      }
      return false;
    }
    case Kind::list: {
      std::unordered_set<PyObject*> old = ignored;
      for (Py_ssize_t i = 0; i < PyList_GET_SIZE(then); ++i)
        old.insert(PyList_GET_ITEM(then, i));
      for (Py_ssize_t i = 0; i < PyList_GET_SIZE(now); ++i) {
        if (contains_tracer(PyList_GET_ITEM(now, i), old)) return true;
      }
      return false;
    }
    case Kind::set: {
      auto items = checked(PySequence_List(now));
      return contains_tracer(items.ptr(), ignored);
    }
  }
  return false;
}

std::optional<std::string> Snapshot::find_leak(const std::vector<nb::object>& expected) const {
  std::unordered_set<PyObject*> ignored;
  for (const auto& container : expected)
    ignored.insert(container.ptr());
  for (const auto& item : items_) {
    if (ignored.count(item.object.ptr())) continue;
    if (changed(item) && holds_new_tracer(item, ignored)) return item.name;
  }
  PyErr_Clear();
  return std::nullopt;
}

void Snapshot::restore() const {
  for (const auto& item : items_) {
    if (changed(item)) restore(item);
  }
  PyErr_Clear();
}

void Snapshot::restore_tracers() const {
  for (const auto& item : items_) {
    if (changed(item) && holds_new_tracer(item, {})) restore(item);
  }
  PyErr_Clear();
}

void Snapshot::restore(const Item& item) const {
  auto* object = item.object.ptr();
  auto* then = item.contents.ptr();
  switch (item.kind) {
    case Kind::array:
      array_of(object).overwrite_descriptor(*item.array);
      break;
    case Kind::cell:
      check(PyCell_Set(object, then));
      break;
    case Kind::global:
      check(PyDict_SetItem(object, item.key.ptr(), then));
      break;
    case Kind::list:
      check(PyList_SetSlice(object, 0, PyList_GET_SIZE(object), then));
      break;
    case Kind::dict:
      PyDict_Clear(object);
      check(PyDict_Update(object, then));
      break;
    case Kind::set:
      check(PySet_Clear(object));
      checked(PyObject_CallMethod(object, "update", "O", then));
      break;
  }
}

}  // namespace autoperfect::python
