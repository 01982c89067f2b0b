// The extension module autoperfect._core: a thin face over the pipeline.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <stdexcept>

#include "fuse/plan_text.h"
#include "ir/graph_text.h"
#include "ir/kernel_text.h"
#include "python/compiled_function.h"
#include "python/inspect.h"
#include "python/planning.h"
#include "python/replayed.h"
#include "python/stages.h"
#include "python/tuning.h"

namespace autoperfect::python {

namespace {

using namespace nb::literals;

// tp_call itself, not a bound __call__: nothing stands between Python and the look-up. Exceptions are
// translated as nanobind does for MLX's own functions.
PyObject* call_compiled(PyObject* self, PyObject* args, PyObject* kwargs) {
  try {
    return nb::inst_ptr<CompiledFunction>(self)->call(args, kwargs).release().ptr();
  } catch (nb::python_error& error) {
    error.restore();
  } catch (const nb::builtin_exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const std::domain_error& error) {
    PyErr_SetString(PyExc_ValueError, error.what());
  } catch (const std::invalid_argument& error) {
    PyErr_SetString(PyExc_ValueError, error.what());
  } catch (const std::length_error& error) {
    PyErr_SetString(PyExc_ValueError, error.what());
  } catch (const std::out_of_range& error) {
    PyErr_SetString(PyExc_IndexError, error.what());
  } catch (const std::overflow_error& error) {
    PyErr_SetString(PyExc_OverflowError, error.what());
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  }
  return nullptr;
}

int traverse_compiled(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  if (auto** attributes = _PyObject_GetDictPtr(self)) Py_VISIT(*attributes);
  if (!nb::inst_ready(self)) return 0;
  return nb::inst_ptr<CompiledFunction>(self)->traverse(visit, arg);
}

int clear_compiled(PyObject* self) {
  if (auto** attributes = _PyObject_GetDictPtr(self)) Py_CLEAR(*attributes);
  nb::inst_ptr<CompiledFunction>(self)->clear();
  return 0;
}

PyType_Slot slots[] = {
    {Py_tp_call, reinterpret_cast<void*>(call_compiled)},
    {Py_tp_traverse, reinterpret_cast<void*>(traverse_compiled)},
    {Py_tp_clear, reinterpret_cast<void*>(clear_compiled)},
    {0, nullptr}};

std::string kernels_text(const Program& program) {
  std::string text;
  for (const auto& outcome : program.outcomes()) {
    text +=
        outcome.use_mlx ? "; MLX stays: " + outcome.reason + "\n" : "; " + outcome.winner.provenance + "\n";
    text += print(outcome.kernel) + "\n";
  }
  return text;
}

}  // namespace

NB_MODULE(_core, m) {
  nb::module_::import_("mlx.core");
  nb::class_<CompiledFunction>(
      m, "CompiledFunction", nb::type_slots(slots), nb::dynamic_attr(), nb::is_weak_referenceable())
      .def(
          "__init__",
          [](CompiledFunction* self,
             nb::object function,
             nb::object inputs,
             nb::object outputs,
             bool shapeless,
             const std::string& numerics) {
            new (self) CompiledFunction(
                std::move(function),
                std::move(inputs),
                std::move(outputs),
                shapeless,
                lower_options_of(numerics));
          },
          "function"_a,
          "inputs"_a = nb::none(),
          "outputs"_a = nb::none(),
          "shapeless"_a = false,
          "numerics"_a = "mlx")
      .def(
          "__repr__",
          [](const CompiledFunction& self) {
            return "<autoperfect.compile of " + nb::cast<std::string>(nb::repr(self.function())) + ">";
          })
      .def_prop_ro("__wrapped__", [](const CompiledFunction& self) { return self.function(); })
      .def_prop_ro(
          "graph",
          [](const CompiledFunction& self) { return print(self.latest().graph()); },
          "Text of the graph of the last program that ran.")
      .def_prop_ro(
          "regions",
          [](const CompiledFunction& self) { return print(self.latest().graph(), self.latest().plan()); },
          "The graph and its regions, as text.")
      .def_prop_ro(
          "kernels",
          [](const CompiledFunction& self) { return kernels_text(self.latest()); },
          "KernelIR of each region, and what runs it, as text.")
      .def(
          "outcomes",
          [](const CompiledFunction& self) { return outcomes_of(self.latest()); },
          "What became of each region of the last program that ran, as dicts.")
      .def(
          "whole",
          [](const CompiledFunction& self) { return whole_of(self.latest()); },
          "How the last program that ran does so, as a dict: `way` (\"with our kernels\", \"mx.compile\" or "
          "\"eager\"), `reason`, and `timings`, seconds of a call in each way. Without a reason it was not "
          "timed as a "
          "whole: on the CPU programs are as fast as their regions.")
      .def(
          "_oracle",
          [](CompiledFunction& self, nb::tuple args, nb::dict kwargs) {
            return self.oracle(args.ptr(), kwargs.ptr());
          })
      .def(
          "_tune",
          [](CompiledFunction& self, nb::tuple args, nb::dict kwargs, nb::dict request) {
            return self.tune(args.ptr(), kwargs.ptr(), tune_options_of(request));
          })
      .def("_explain", [](CompiledFunction& self, nb::tuple args, nb::dict kwargs) {
        return self.explain(args.ptr(), kwargs.ptr());
      });
  add_inspection(m);
  add_stages(m);
  add_planning(m);
  add_tuning(m);
  m.def(
      "_replay",
      [](nb::callable function, const Arrays& arguments) {
        auto replayed = replay_captured(std::move(function), arguments);
        return nb::make_tuple(replayed.graph, replayed.by_primitive, replayed.by_op);
      },
      "function"_a,
      "arguments"_a);
}

}  // namespace autoperfect::python
