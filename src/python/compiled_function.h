// What ap.compile returns: a callable with the signature and the semantics of mx.compile's. Keeps one program
// for each kind of arguments, and calls the function as it is whenever that is the right thing to do.
#pragma once

#include <list>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "pipeline/pipeline.h"
#include "python/arguments.h"
#include "python/snapshot.h"
#include "python/trees.h"

namespace autoperfect::python {

// "mlx" or "wide"; throws std::invalid_argument.
LowerOptions lower_options_of(const std::string& numerics);

class CompiledFunction {
 public:
  CompiledFunction(
      nb::object function, nb::object inputs, nb::object outputs, bool shapeless, const LowerOptions& lower)
      : function_(std::move(function)),
        inputs_(std::move(inputs)),
        outputs_(std::move(outputs)),
        shapeless_(shapeless),
        lower_(lower) {}

  nb::object call(PyObject* args, PyObject* kwargs);
  std::string explain(PyObject* args, PyObject* kwargs);
  // Builds the program again with these options, whatever is kept, and gives its explanation.
  std::string tune(PyObject* args, PyObject* kwargs, const TuneOptions& options);
  // The results in double precision, as the reference executor computes them; builds the program when there
  // is none yet.
  nb::list oracle(PyObject* args, PyObject* kwargs);
  const nb::object& function() const { return function_; }
  // The program of the last call; throws RuntimeError when there is none, with the reason.
  const Program& latest() const;

  int traverse(visitproc visit, void* arg) const;
  void clear();

 private:
  // One kind of arguments: structure, constants, types of arrays.
  struct Specialisation {
    std::shared_ptr<Program> program;  // null: the function runs as it is
    OutputTree outputs;
    size_t results = 0, state_outputs = 0;  // then one array for each of `assigned`
    std::vector<size_t> assigned;           // slots of argument objects that the function assigns to
    std::vector<nb::object> kept_alive;     // compared by identity in the key
  };
  using Entry = std::pair<std::string, std::shared_ptr<Specialisation>>;
  struct Build;

  nb::object call_plainly(PyObject* args, PyObject* kwargs) const;
  nb::object call_mlx_compile(PyObject* args, PyObject* kwargs);
  nb::object run(
      const std::shared_ptr<Specialisation>& it, const Arrays& arrays, PyObject* args, PyObject* kwargs);
  void key_of(Arguments& arguments, PyObject* args, PyObject* kwargs) const;

  std::shared_ptr<Specialisation> find(std::string_view key);
  void insert(std::string_view key, std::shared_ptr<Specialisation> specialisation);
  void forget(std::string_view key);
  bool is_worth_building(std::string_view key);
  // The one for these types and layouts; or that for the types, once there are several for layouts. Null:
  // neither is there, and `key` becomes what is to be built.
  std::shared_ptr<Specialisation> find(const Arguments& arguments, std::string_view& key);
  Arrays trace(Build& build, const Arrays& placeholders);
  // Null: this call has to run as it is.
  std::shared_ptr<Specialisation> build(
      const Arguments& arguments,
      std::string_view key,
      PyObject* args,
      PyObject* kwargs,
      bool keep_state,
      const CompileOptions& options = {});
  bool is_usable(Build& build, const std::shared_ptr<Program>& program);
  void stop_compiling(const std::string& reason);

  nb::object function_;
  State inputs_, outputs_;
  bool shapeless_;
  LowerOptions lower_;  // as the user chose
  nb::object mlx_compiled_;
  std::string plain_reason_;  // not empty: the function always runs as it is
  std::shared_ptr<Program> latest_;

  std::list<Entry> entries_;  // most recently used first
  std::unordered_map<std::string_view, std::list<Entry>::iterator> by_key_;
  std::unordered_set<size_t> seen_once_;  // hashes of keys
  size_t layout_entries_ = 0;             // ever built
};

}  // namespace autoperfect::python
