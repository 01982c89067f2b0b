// How a specialisation comes about: the function is traced once, watched for side effects, and handed to the
// pipeline.
#include <stdexcept>

#include "python/compiled_function.h"
#include "support/options.h"

namespace autoperfect::python {

// Ends a build that turned out to be of no use, so that nothing is tuned for it.
struct Useless : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Notes which line makes which array while it lives, see autoperfect/sources.py.
class LineWatch {
 public:
  LineWatch() : recorder_(nb::module_::import_("autoperfect.sources").attr("Recorder")()) {
    recorder_.attr("start")();
  }
  ~LineWatch() {
    nb::error_scope pending;
    nb::object(recorder_.attr("stop")());
  }
  SourceLines stop() {
    recorder_.attr("stop")();
    SourceLines lines;
    for (nb::handle found : recorder_.attr("found"))
      lines.emplace_back(array_of(found[0].ptr()), nb::cast<std::string>(found[1]));
    return lines;
  }

 private:
  nb::object recorder_;
};

// What one build passes between the caller, which holds the GIL at its ends, and the trace in the middle.
struct CompiledFunction::Build {
  const Arguments& arguments;
  PyObject* args;
  PyObject* kwargs;
  Snapshot before = {};
  std::shared_ptr<Specialisation> specialisation = std::make_shared<Specialisation>();
  bool keep_state = true;  // false: what the trace changed is put back at its end
  std::string leak = {};   // the variable that was left with an array of the trace
  bool failed = false;     // in the function itself, or in MLX under it
  SourceLines lines = {};
};

std::shared_ptr<CompiledFunction::Specialisation> CompiledFunction::build(
    const Arguments& arguments,
    std::string_view key,
    PyObject* args,
    PyObject* kwargs,
    bool keep_state,
    const CompileOptions& options) {
  CompileOptions chosen = options;
  chosen.lower = lower_;
  if (shapeless_) chosen.lower.open = OpenAxes::all;
  Build build{arguments, args, kwargs};
  build.keep_state = keep_state;
  build.before.add_callable(function_.ptr());
  for (const auto* state : {&inputs_, &outputs_}) {
    for (const auto& container : state->containers())
      build.before.add(container.ptr(), "the captured state");
  }
  build.before.add(random_state_list().ptr(), "mx.random.state");
  if (arguments.has_objects()) {
    TracedArguments same(args, kwargs, nullptr);
    for (const auto& object : same.objects())
      build.before.add(object.ptr(), "an argument");
  }
  std::shared_ptr<Program> program;
  try {
    // Kernels are compiled and arrays evaluated in there: other threads go on, and MLX's streams may need the
    // GIL.
    nb::gil_scoped_release released;
    program = Program::build(
        [&](const Arrays& placeholders) { return trace(build, placeholders); },
        arguments.arrays,
        chosen,
        &build.lines);
  } catch (nb::python_error&) {
    if (!build.failed) build.before.restore();
    throw;  // of the function itself, or KeyboardInterrupt
  } catch (const std::exception& error) {
    if (build.failed) throw;
    if (build.leak.empty())
      warn_once("build", std::string("cannot compile, plain MLX runs: ") + error.what());
  }
  bool usable = is_usable(build, program);
  if (!usable && build.leak.empty()) build.before.restore();
  if (!plain_reason_.empty() || (program && program->captured().uses_tracers)) return nullptr;
  for (auto* object : arguments.identities)
    build.specialisation->kept_alive.push_back(nb::borrow(object));
  if (usable) latest_ = build.specialisation->program = program;
  if (arguments.has_layouts() && key.size() > arguments.types_size) ++layout_entries_;
  insert(key, build.specialisation);
  return build.specialisation;
}

bool CompiledFunction::is_usable(Build& build, const std::shared_ptr<Program>& program) {
  if (!build.leak.empty()) {
    stop_compiling("the function changes '" + build.leak + "', which outlives the call");
    return false;
  }
  if (!program || program->captured().uses_tracers) return false;
  for (const auto& node : program->captured().graph.nodes) {
    // MLX lets a kernel for another device pass when it traces for export, and fails only when it runs.
    if (node.op == Op::custom_kernel) return false;
  }
  return true;
}

void CompiledFunction::stop_compiling(const std::string& reason) {
  plain_reason_ = reason;
  auto name = nb::cast<std::string>(
      nb::str(nb::getattr(function_, "__name__", nb::str(function_.type().attr("__name__")))));
  warn_once(name + reason, name + " runs as plain MLX: " + reason);
}

Arrays CompiledFunction::trace(Build& build, const Arrays& placeholders) {
  nb::gil_scoped_acquire gil;
  try {
    size_t arguments = placeholders.size() - inputs_.count();
    Arrays state_placeholders(placeholders.begin() + static_cast<ptrdiff_t>(arguments), placeholders.end());
    Arrays state(
        build.arguments.arrays.begin() + static_cast<ptrdiff_t>(arguments), build.arguments.arrays.end());
    TracedArguments traced(build.args, build.kwargs, &placeholders);
    inputs_.fill(state_placeholders.data(), state_placeholders.size());
    LineWatch watch;
    auto result = checked(PyObject_Call(function_.ptr(), traced.positional.ptr(), traced.keywords.ptr()));
    build.lines = watch.stop();

    auto& made = *build.specialisation;
    Arrays outputs;
    made.outputs = OutputTree::flatten(result.ptr(), outputs);
    made.results = outputs.size();
    outputs_.append_arrays(outputs);
    made.state_outputs = outputs.size() - made.results;
    made.assigned = traced.changed_slots();
    for (auto slot : made.assigned)
      outputs.push_back(array_of(traced.slots()[slot].get()));
    traced.restore();
    inputs_.replace(state_placeholders, state);
    if (auto leak = build.before.find_leak(outputs_.containers())) build.leak = *leak;
    for (const auto& leaf : made.outputs.opaque_leaves()) {
      if (contains_tracer(leaf.ptr())) build.leak = "the returned object";
    }
    if (!build.leak.empty() || !build.keep_state) build.before.restore();
    if (!build.leak.empty()) throw Useless(build.leak);
    return outputs;
  } catch (const Useless&) {
    throw;
  } catch (...) {
    build.failed = true;
    build.before.restore_tracers();
    throw;
  }
}

}  // namespace autoperfect::python
