// The arguments of a call: what tells one specialisation from another, the arrays among them, and the same
// arguments with placeholders in the place of arrays.
//
// Exact lists, tuples and dicts are copied for the traced function, as mx.compile does. Objects of other
// classes (an nn.Module is a dict) are handed over themselves, with their arrays exchanged for the time of
// the trace.
#pragma once

#include <memory>
#include <vector>

#include "python/key.h"
#include "python/python_array.h"

namespace autoperfect::python {

// One pass over the arguments. Constants are told apart by type and value, floats by their bits. Throws what
// mx.compile throws for anything that is neither an array, a constant, nor a tree of them.
class Arguments {
 public:
  Arguments() = default;
  void add(PyObject* argument);
  void add_positional(PyObject* tuple);
  void add_keywords(PyObject* dict);  // may be null
  void add_array(const mlx::core::array& array);
  // Last of all: how those arrays lie that are there and are not row-major and dense.
  void add_layouts();

  KeyWriter key;
  size_t types_size = 0;  // of the key, without the layouts
  bool has_layouts() const { return key.size() > types_size; }
  std::string_view types() const { return key.view().substr(0, types_size); }
  Arrays arrays;
  // Compared by identity: whoever keeps the key keeps them, so that no other object takes their address.
  std::vector<PyObject*> identities;
  bool has_objects() const { return !objects_.empty(); }

 private:
  void add_other(PyObject* object);
  void add_constant_subclass(PyObject* object, char tag);
  void add_integer(PyObject* integer);
  void add_string(PyObject* string);
  void add_items(PyObject* list_or_dict);
  void add_object(PyObject* object);
  void add_opaque(PyObject* object);
  void add_type(PyObject* object);
  void add_identity(PyObject* object);

  int inside_objects_ = 0;
  std::vector<PyObject*> objects_;  // seen, so that one that occurs twice or holds itself ends the walk
};

// A place in a list or dict that holds an array, inside an object that is not copied.
struct Slot {
  nb::object container, key;  // key: null for a list
  Py_ssize_t index = 0;
  size_t array = 0;       // which of the arrays
  PyObject* get() const;  // borrowed; null when it is gone
  void set(nb::handle value) const;
};

// Arguments for the traced function. What was exchanged is put back by restore(), at the latest by the
// destructor.
class TracedArguments {
 public:
  // Reads slots only when `placeholders` is null.
  TracedArguments(PyObject* positional, PyObject* keywords, const Arrays* placeholders);
  ~TracedArguments();
  TracedArguments(const TracedArguments&) = delete;
  TracedArguments& operator=(const TracedArguments&) = delete;

  nb::object positional, keywords;
  const std::vector<Slot>& slots() const { return slots_; }
  const std::vector<nb::object>& objects() const { return objects_; }  // handed over themselves
  // Slots whose array is no longer the placeholder: the function assigned to them.
  std::vector<size_t> changed_slots() const;
  void restore();

 private:
  nb::object convert(PyObject* object);
  nb::object convert_array(PyObject* object);
  nb::object copy_list(PyObject* list);
  nb::object copy_dict(PyObject* dict);
  nb::object convert_tuple(PyObject* tuple);
  nb::object convert_object(PyObject* object);
  void exchange_items(PyObject* container);
  void exchange(Slot slot, PyObject* value);

  struct Undo {
    Slot slot;
    nb::object original;
  };
  const Arrays* placeholders_;
  size_t next_ = 0;
  int inside_objects_ = 0;
  std::vector<nb::object> objects_;
  std::vector<Slot> slots_;
  std::vector<Undo> undo_;
  std::vector<uintptr_t> placeholder_ids_;  // per slot
};

// The attributes of an object of a user's class (borrowed dict), or null.
PyObject* attributes_of(PyObject* object);
// An instance of a class written in Python, as opposed to a module, a type, a function...
bool is_plain_instance(PyObject* object);

}  // namespace autoperfect::python
