// The invariants of KernelIR. verify() reports every violation:
//
//  1. There are at most 64 axes, of sizes up to 2^57, with unique identifiers as names. The names of
//     buffers and of values are unique together, but for an output value, which has the name of its buffer.
//  2. Buffers are inputs first, then outputs, then temporaries, of possible shapes. A dynamic dimension
//     names a dynamic axis of its size. Strides are one a dimension, of inputs only, and are not those of
//     `row`; no element lies before the pointer or beyond 2^57 elements, and of a dynamic dimension none is
//     negative. An alignment is a power of two from the size of an element to 4096.
//  3. A value is an elementwise op, a reduction, a contraction (matmul) or a scan, with the operands and
//     attributes its op takes.
//  4. Its axes exist and ascend; so do its reduced axes, which are disjoint from them. A reduction or
//     contraction has reduced axes (argmax and argmin exactly one), a scan runs along one of its axes;
//     nothing else has any. max, min, argmax and argmin reduce no axis of size 0. The product of the sizes
//     of all its axes is possible as that of a shape.
//  5. An operand value is defined earlier and no part of an output. Operands vary over axes and reduced
//     axes only.
//  6. A load reads an input, with one index per dimension: its terms in order, in bounds for all values of
//     the axes unless the load is guarded; or a gathered one, which is an integer value as in 5 and whose
//     dimension is neither dynamic nor empty. A guard is a value of the buffer's dtype.
//  7. A dynamic axis indexes only dimensions that are its size, as itself; such a dimension has no other
//     index. So the kernel is right for every size.
//  8. Dtypes follow the rules of infer_dtype.cpp; contractions are of real floats; a literal is a value of
//     its operand_dtype(). Literals are operands of elementwise ops and contractions only.
//  9. Every output is stored completely and no element twice: the dtype is the buffer's, each store map
//     uses every axis of its value, in one dimension, and all of them together tile the buffer.
// 10. Sums accumulate in a floating dtype, and budgets are finite and not negative. Only a kernel with values
//     of f16 or bf16 is wide.
// 11. An output takes the memory of an input only where no element of that input can be read once it is
//     written, whatever the loops: see alias.h. No other output takes the same.
//
// All hold at any size of the dynamic axes: a kernel that was first seen empty is also verified at size 1.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <unordered_set>

#include "ir/identifier.h"
#include "ir/kernel_verifier.h"
#include "ir/shape.h"
#include "ir/store_tiling.h"
#include "ir/widened.h"

namespace autoperfect {

namespace kernel_verifier {
namespace {

constexpr size_t most_axes = 64;

bool ascends(const std::vector<AxisId>& axes) {
  return std::is_sorted(axes.begin(), axes.end(), std::less_equal<AxisId>());
}

bool is_argument_reduction(Op op) {
  return op == Op::argmax || op == Op::argmin;
}

bool is_kernel_op(Op op) {
  switch (class_of(op)) {
    case OpClass::elementwise:
    case OpClass::reduction:
    case OpClass::scan:
      return true;
    default:
      return op == Op::matmul;
  }
}

class KernelVerifier {
 public:
  explicit KernelVerifier(const Kernel& kernel)
      : kernel_(kernel), findings_{kernel}, stores_(kernel.buffers.size()) {
    for (const auto& value : kernel.values)
      if (findings_.buffer_exists(value.output)) ++findings_.parts[value.output];
  }

  std::vector<Diagnostic> run() {
    if (!check_axes()) return std::move(findings_.found);
    for (size_t b = 0; b < kernel_.buffers.size(); ++b)
      check_buffer(b);
    for (size_t v = 0; v < kernel_.values.size(); ++v)
      check_value(static_cast<KernelValueId>(v));
    for (size_t b = 0; b < kernel_.buffers.size(); ++b) {
      check_stores(b);
      check_alias(findings_, static_cast<BufferId>(b));
    }
    check_numerics();
    return std::move(findings_.found);
  }

 private:
  void report(const char* code, std::string message, Where where = {}, std::string hint = "") {
    findings_.report(code, std::move(message), where, std::move(hint));
  }

  // Whether arithmetic on the axes is safe.
  bool check_axes() {
    if (!is_identifier(kernel_.name))
      report("bad-name", "the kernel's name is not an identifier", kernel_.where);
    std::unordered_set<std::string_view> names;
    bool safe = kernel_.axes.size() <= most_axes;
    if (!safe)
      report(
          "too-many-axes",
          fmt::format("{} axes, the most are {}", kernel_.axes.size(), most_axes),
          kernel_.axes[most_axes].where);
    for (const auto& axis : kernel_.axes) {
      bool reserved = axis.name == "iota" || axis.name == "inf" || axis.name == "nan";
      if (!is_identifier(axis.name) || reserved) {
        report("bad-name", fmt::format("'{}' is not a name of an axis", axis.name), axis.where);
      }
      if (!names.insert(axis.name).second) {
        report("duplicate-name", fmt::format("axis {} is given twice", axis.name), axis.where);
      }
      if (axis.size >= 0 && axis.size <= max_elements) continue;
      report("bad-size", fmt::format("axis {} has size {}", axis.name, axis.size), axis.where);
      safe = false;
    }
    return safe;
  }

  void check_name(const std::string& name, const Where& where) {
    if (!is_value_name(name)) report("bad-name", fmt::format("'%{}' is not a name", name), where);
    if (!names_.insert(name).second)
      report("duplicate-name", fmt::format("%{} is defined twice", name), where);
  }

  void check_buffer(size_t b) {
    check_name(kernel_.buffers[b].name, kernel_.buffers[b].where);
    check_abi(findings_, static_cast<BufferId>(b));
  }

  void check_value(KernelValueId v) {
    const auto& value = kernel_.values[v];
    if (value.output < 0) check_name(value.name, value.where);
    auto found = findings_.found.size();
    check_statement(v);
    if (!findings_.buffer_exists(value.output)) return;
    // Whether stores tile the buffer is asked when all of them are right by themselves.
    auto& stores = stores_[value.output];
    stores.values.push_back(v);
    stores.good &= found == findings_.found.size();
  }

  void check_statement(KernelValueId v) {
    const auto& value = kernel_.values[v];
    if (!is_kernel_op(value.op)) {
      auto message = fmt::format("'{}' is no op of a kernel", name(value.op));
      report(
          "op-not-allowed",
          message,
          value.where,
          "kernels have elementwise ops, reductions, scans and matmul");
      return;
    }
    if (static_cast<int>(value.operands.size()) != arity(value.op)) {
      auto message = fmt::format(
          "'{}' takes {} operands, not {}", name(value.op), arity(value.op), value.operands.size());
      report("arity", message, value.where);
      return;
    }
    check_kernel_attributes(value);
    // The rest follows axes, so they must be right first.
    if (!check_axes_of(value) || !check_reduced(value) || !check_scanned(value)) return;
    bool good = true;
    for (size_t i = 0; i < value.operands.size(); ++i)
      good &= check_operand(findings_, v, static_cast<int>(i));
    if (good) check_dtypes(findings_, value);
    if (value.output >= 0) check_store(findings_, v);
  }

  // In a kernel the axes are written out and the dtype is the value's own, so few attributes are left.
  void check_kernel_attributes(const KernelValue& value) {
    for (const auto& [name, content] : value.attributes) {
      bool known = class_of(value.op) == OpClass::scan ? name == "inclusive" || name == "reverse"
                                                       : value.op == Op::equal && name == "nan_equal";
      if (known && std::holds_alternative<bool>(content)) continue;
      auto op = autoperfect::name(value.op);
      if (known) {
        auto message = fmt::format("attribute '{}' of '{}' is not true or false", name, op);
        report("attribute-type", message, value.where);
      } else {
        auto message = fmt::format("'{}' has no attribute '{}' in a kernel", op, name);
        report("unknown-attribute", message, value.where);
      }
    }
  }

  bool check_axes_of(const KernelValue& value) {
    auto exist = [this](const auto& axes) {
      return std::all_of(axes.begin(), axes.end(), [this](AxisId a) { return findings_.axis_exists(a); });
    };
    bool scans = value.scanned == -1 || findings_.axis_exists(value.scanned);
    if (!exist(value.axes) || !exist(value.reduced) || !scans) {
      report("unknown-axis", fmt::format("%{} names an axis that does not exist", value.name), value.where);
      return false;
    }
    bool good = ascends(value.axes) && ascends(value.reduced);
    if (!good) {
      auto message = fmt::format("axes of %{} are not in the order of the kernel's axes", value.name);
      report("axes-order", message, value.where);
    }
    for (auto axis : value.reduced) {
      if (!contains(value.axes, axis)) continue;
      auto message = fmt::format("%{} both varies over and reduces {}", value.name, kernel_.axes[axis].name);
      report("axes-overlap", message, value.where);
      good = false;
    }
    Shape box;
    for (auto axes : {&value.axes, &value.reduced}) {
      for (auto axis : *axes)
        box.push_back(kernel_.axes[axis].size);
    }
    if (!checked_elements(box)) {
      report("shape-too-large", fmt::format("%{} iterates over too many elements", value.name), value.where);
      return false;
    }
    return good;
  }

  bool check_reduced(const KernelValue& value) {
    bool reduces = class_of(value.op) == OpClass::reduction || value.op == Op::matmul;
    bool argument = is_argument_reduction(value.op);
    size_t count = value.reduced.size();
    if (reduces ? (count == 0 || (argument && count != 1)) : count != 0) {
      auto wanted = !reduces ? "no" : argument ? "exactly one" : "at least one";
      auto message = fmt::format("'{}' reduces {} axis", name(value.op), wanted);
      auto hint = class_of(value.op) == OpClass::scan ? "a scan runs along one of its axes: cumsum(j)"
                                                      : "reduced axes stand in parentheses: sum(j)";
      report("reduced-axes", message, value.where, hint);
      return false;
    }
    for (auto axis : value.reduced) {
      bool needs_elements = argument || value.op == Op::max || value.op == Op::min;
      if (!needs_elements || kernel_.axes[axis].size > 0) continue;
      auto message = fmt::format("'{}' over axis {} of size 0", name(value.op), kernel_.axes[axis].name);
      report("empty-reduction", message, value.where);
    }
    return true;
  }

  bool check_scanned(const KernelValue& value) {
    bool scans = class_of(value.op) == OpClass::scan;
    if (scans ? contains(value.axes, value.scanned) : value.scanned == -1) return true;
    auto message = scans ? fmt::format("'{}' runs along no axis of %{}", name(value.op), value.name)
                         : fmt::format("'{}' runs along no axis", name(value.op));
    report("scanned-axis", message, value.where, "a scan runs along one of its axes: %y[i,j] = cumsum(j)");
    return false;
  }

  void check_stores(size_t b) {
    const auto& buffer = kernel_.buffers[b];
    if (buffer.role != BufferRole::out) return;
    const auto& stores = stores_[b];
    if (stores.values.empty()) {
      report("not-stored", fmt::format("output %{} is not stored", buffer.name), buffer.where);
    } else if (stores.good && checked_elements(buffer.type.shape)) {
      check_tiling_of(buffer, stores.values);
    }
  }

  void check_tiling_of(const Buffer& buffer, const std::vector<KernelValueId>& values) {
    std::vector<StorePart> parts;
    for (auto v : values)
      parts.push_back({&kernel_.values[v].store, &kernel_.values[v].axes});
    auto tiling = check_tiling(parts, kernel_.axes, buffer.type.shape);
    auto where = kernel_.values[values[tiling.part]].where;
    switch (tiling.verdict) {
      case Tiling::Verdict::tiles:
        return;
      case Tiling::Verdict::unproven:
        report(
            "store-map",
            fmt::format("the store map of %{} does not give each element of its axes a place", buffer.name),
            where,
            "each axis belongs to one dimension, with steps that nest, as in %y[4*i+j,k]");
        return;
      case Tiling::Verdict::overlaps:
        report(
            "stored-twice",
            fmt::format("this part of output %{} overlaps one above", buffer.name),
            kernel_.values[values[tiling.other]].where);
        return;
      case Tiling::Verdict::incomplete:
        report(
            "incomplete-store",
            fmt::format(
                "{} of {} elements of output %{} are stored",
                tiling.stored,
                buffer.type.elements(),
                buffer.name),
            where,
            "parts of an output cover it together, each element once");
        return;
    }
  }

  void check_numerics() {
    const auto& numerics = kernel_.numerics;
    if (!is_floating(numerics.accumulate)) {
      report(
          "bad-accumulate",
          fmt::format("sums cannot accumulate in {}", name(numerics.accumulate)),
          kernel_.accumulate_where);
    }
    if (numerics.wide && !has_halves(kernel_))
      report("nothing-to-widen", "the kernel is wide, but no value of it is f16 or bf16", kernel_.wide_where);
    for (double budget : {numerics.ulp, numerics.abs, numerics.rel}) {
      if (!(budget >= 0) || std::isinf(budget))
        report("bad-budget", "an error budget is not a finite positive number", kernel_.budget_where);
    }
  }

  struct Stores {
    std::vector<KernelValueId> values;
    bool good = true;  // each by itself
  };

  const Kernel& kernel_;
  Findings findings_;
  std::vector<Stores> stores_;  // per buffer
  std::unordered_set<std::string_view> names_;
};

}  // namespace
}  // namespace kernel_verifier

std::vector<Diagnostic> verify(const Kernel& kernel) {
  auto found = kernel_verifier::KernelVerifier(kernel).run();
  bool seen_empty = std::any_of(kernel.axes.begin(), kernel.axes.end(), [](const auto& axis) {
    return axis.dynamic && axis.size == 0;
  });
  if (!found.empty() || !seen_empty) return found;
  auto filled = with_dynamic_size(kernel, 1);
  return kernel_verifier::KernelVerifier(filled).run();
}

}  // namespace autoperfect
