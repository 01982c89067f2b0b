#include "python/compiled_function.h"

#include <cstdlib>

#include "compile/cpu/compile.h"
#include "mlx/compile_impl.h"
#include "python/inspect.h"
#include "support/options.h"

namespace autoperfect::python {

namespace {

namespace mx = mlx::core;

constexpr size_t most_entries = 256;
// Later kinds of arguments are built when they come a second time: arguments that change on every call (a
// step counter, a growing sequence) would otherwise cost a trace and kernels each time, for nothing.
constexpr size_t built_at_once = 4;
// Arguments that lie in other ways than that run the program of their types, which copies them where it must.
constexpr size_t most_layouts = 8;

// mx.disable_compile() and MLX_DISABLE_COMPILE: then MLX's own compile gives the function back. It does so as
// well where there is no g++, which is nothing the user asked for.
bool compile_is_disabled() {
  static const bool has_compiler = !find_program("g++").empty();
  if (!has_compiler) return std::getenv("MLX_DISABLE_COMPILE") != nullptr;
  using Function = mx::detail::ArraysAndExtra (*)(const Arrays&);
  Function probe = [](const Arrays&) { return mx::detail::ArraysAndExtra{}; };
  return mx::detail::compile(mx::detail::ArrayFnWithExtra(probe), 1, false, {}).target<Function>() != nullptr;
}

}  // namespace

nb::object CompiledFunction::call(PyObject* args, PyObject* kwargs) {
  if (!plain_reason_.empty() || in_transformation() || compile_is_disabled())
    return call_plainly(args, kwargs);
  if (!target_of(mx::default_device())) return call_mlx_compile(args, kwargs);
  Arguments arguments;
  key_of(arguments, args, kwargs);
  std::string_view key;
  auto specialisation = find(arguments, key);
  if (!specialisation) {
    if (!is_worth_building(key)) return call_plainly(args, kwargs);
    specialisation = build(arguments, key, args, kwargs, true);
    if (!specialisation) return call_plainly(args, kwargs);
  }
  return run(specialisation, arguments.arrays, args, kwargs);
}

void CompiledFunction::key_of(Arguments& arguments, PyObject* args, PyObject* kwargs) const {
  arguments.key.number(mx::default_stream(mx::default_device()).index);
  arguments.add_positional(args);
  arguments.add_keywords(kwargs);
  if (inputs_.present()) {
    Arrays state;
    inputs_.append_arrays(state);
    arguments.key.tag('|');
    for (const auto& array : state)
      arguments.add_array(array);
  }
  arguments.add_layouts();
}

nb::object CompiledFunction::call_plainly(PyObject* args, PyObject* kwargs) const {
  return checked(PyObject_Call(function_.ptr(), args, kwargs));
}

nb::object CompiledFunction::call_mlx_compile(PyObject* args, PyObject* kwargs) {
  if (!mlx_compiled_.is_valid()) {
    auto tree = [](const State& state) { return state.present() ? nb::borrow(state.tree()) : nb::none(); };
    mlx_compiled_ = nb::module_::import_("mlx.core")
                        .attr("compile")(function_, tree(inputs_), tree(outputs_), shapeless_);
  }
  return checked(PyObject_Call(mlx_compiled_.ptr(), args, kwargs));
}

nb::object CompiledFunction::run(
    const std::shared_ptr<Specialisation>& it, const Arrays& arrays, PyObject* args, PyObject* kwargs) {
  // The updated state must have the places the trace left its values in.
  bool fits = !outputs_.present() || it->state_outputs == outputs_.count();
  if (!it->program || !fits) return call_plainly(args, kwargs);
  latest_ = it->program;
  Arrays results;
  try {
    results = it->program->call(arrays);
  } catch (const InternalError& error) {
    warn_once("call", std::string("internal error, plain MLX runs: ") + error.what());
    it->program = nullptr;
    return call_plainly(args, kwargs);
  }
  if (outputs_.present()) outputs_.fill(results.data() + it->results, it->state_outputs);
  if (!it->assigned.empty()) {
    TracedArguments actual(args, kwargs, nullptr);
    auto value = results.begin() + static_cast<ptrdiff_t>(it->results + it->state_outputs);
    for (auto slot : it->assigned)
      actual.slots().at(slot).set(to_python(*value++));
  }
  return it->outputs.unflatten(results);
}

std::shared_ptr<CompiledFunction::Specialisation> CompiledFunction::find(std::string_view key) {
  auto found = by_key_.find(key);
  if (found == by_key_.end()) return nullptr;
  if (found->second != entries_.begin()) entries_.splice(entries_.begin(), entries_, found->second);
  return found->second->second;
}

std::shared_ptr<CompiledFunction::Specialisation> CompiledFunction::find(
    const Arguments& arguments, std::string_view& key) {
  key = arguments.key.view();
  auto found = find(key);
  if (found || !arguments.has_layouts() || layout_entries_ < most_layouts) return found;
  key = arguments.types();
  return find(key);
}

void CompiledFunction::insert(std::string_view key, std::shared_ptr<Specialisation> specialisation) {
  if (by_key_.count(key)) return;  // another thread built the same meanwhile
  entries_.emplace_front(std::string(key), std::move(specialisation));
  by_key_.emplace(entries_.front().first, entries_.begin());
  if (entries_.size() <= most_entries) return;
  by_key_.erase(entries_.back().first);  // a view of the list's own string: before that goes
  auto oldest = std::move(entries_.back().second);
  entries_.pop_back();  // and what it holds after the tables are in order again
}

void CompiledFunction::forget(std::string_view key) {
  auto found = by_key_.find(key);
  if (found == by_key_.end()) return;
  auto entry = found->second;
  by_key_.erase(found);  // a view of the entry's own string: before that goes
  auto forgotten = std::move(entry->second);
  entries_.erase(entry);
}

bool CompiledFunction::is_worth_building(std::string_view key) {
  if (entries_.size() < built_at_once) return true;
  if (seen_once_.size() > 4096) seen_once_.clear();
  return !seen_once_.insert(std::hash<std::string_view>{}(key)).second;
}

const Program& CompiledFunction::latest() const {
  if (!plain_reason_.empty()) throw std::runtime_error("[compile] " + plain_reason_);
  if (!latest_) throw std::runtime_error("[compile] Nothing was compiled yet: call the function first.");
  return *latest_;
}

std::string CompiledFunction::explain(PyObject* args, PyObject* kwargs) {
  auto plain = [](const std::string& reason) { return "plain MLX runs: " + reason + "\n"; };
  if (!plain_reason_.empty()) return plain(plain_reason_);
  if (in_transformation()) return plain("a transformation around this call traces the function itself");
  if (compile_is_disabled()) return plain("compilation is disabled");
  if (!target_of(mx::default_device())) return plain("mx.compile serves the default device");
  Arguments arguments;
  key_of(arguments, args, kwargs);
  std::string_view key;
  auto specialisation = find(arguments, key);
  if (!specialisation) specialisation = build(arguments, key, args, kwargs, false);
  if (!plain_reason_.empty()) return plain(plain_reason_);
  if (!specialisation || !specialisation->program) return plain("these arguments cannot be compiled");
  return autoperfect::explain(*specialisation->program);
}

std::string CompiledFunction::tune(PyObject* args, PyObject* kwargs, const TuneOptions& options) {
  if (!plain_reason_.empty() || in_transformation() || compile_is_disabled() ||
      !target_of(mx::default_device()))
    return explain(args, kwargs);
  Arguments arguments;
  key_of(arguments, args, kwargs);
  CompileOptions how;
  how.tune = options;
  forget(arguments.key.view());
  auto specialisation = build(arguments, arguments.key.view(), args, kwargs, false, how);
  if (!specialisation || !specialisation->program) return explain(args, kwargs);
  return autoperfect::explain(*specialisation->program);
}

nb::list CompiledFunction::oracle(PyObject* args, PyObject* kwargs) {
  Arguments arguments;
  key_of(arguments, args, kwargs);
  std::string_view key;
  auto specialisation = find(arguments, key);
  if (!specialisation) specialisation = build(arguments, key, args, kwargs, false);
  if (!specialisation || !specialisation->program)
    throw std::invalid_argument("[oracle] These arguments cannot be compiled.");
  return oracle_of(*specialisation->program, arguments.arrays);
}

int CompiledFunction::traverse(visitproc visit, void* arg) const {
  Py_VISIT(function_.ptr());
  Py_VISIT(inputs_.tree());
  Py_VISIT(outputs_.tree());
  Py_VISIT(mlx_compiled_.ptr());
  for (const auto& [key, specialisation] : entries_) {
    Py_VISIT(specialisation->outputs.structure());
    for (const auto& object : specialisation->kept_alive)
      Py_VISIT(object.ptr());
  }
  return 0;
}

void CompiledFunction::clear() {
  by_key_.clear();
  auto entries = std::move(entries_);
  entries_.clear();
  latest_.reset();
  mlx_compiled_.reset();
  inputs_ = State();
  outputs_ = State();
  function_.reset();
}

LowerOptions lower_options_of(const std::string& numerics) {
  if (numerics != "mlx" && numerics != "wide")
    throw std::invalid_argument("[compile] numerics is \"mlx\" or \"wide\", not \"" + numerics + "\".");
  return {numerics == "wide"};
}

}  // namespace autoperfect::python
