#include <algorithm>
#include <limits>

#include "canonicalize/passes.h"
#include "ir/scalar_semantics.h"

namespace autoperfect {

namespace {

Attributes over(const std::vector<int64_t>& axes, bool keepdims) {
  Attributes attributes;
  attributes.set("axes", axes);
  if (keepdims) attributes.set("keepdims", true);
  return attributes;
}

// Writes one composite node. `prefix_` is the name of its result; the last primitive takes over the name
// itself.
class Lowering {
 public:
  Lowering(Rewriter& to, const Graph& source, const Node& node)
      : to_(to),
        node_(node),
        result_(node.results[0]),
        type_(source.type(result_)),
        prefix_(source.values[result_].name) {}

  void run() {
    switch (node_.op) {
      case Op::softmax:
        return softmax();
      case Op::logsumexp:
        return finish(logsumexp(operand()));
      case Op::log_softmax:
        return log_softmax();
      case Op::mean:
        return finish({Op::mul, {total(keepdims()), constant(1 / count(), "_inv_n")}, {}});
      case Op::var:
        return finish(var());
      case Op::std:
        return finish({Op::sqrt, {add(var(), "_var")}, {}});
      default:
        return to_.keep(node_);
    }
  }

 private:
  // A primitive still to be written: the last one is the result itself.
  struct Step {
    Op op;
    std::vector<ValueId> operands;
    Attributes attributes;
  };

  ValueId add(Op op, std::vector<ValueId> operands, const char* suffix, Attributes attributes = {}) {
    return to_.add(op, std::move(operands), std::move(attributes), prefix_ + suffix);
  }
  ValueId add(Step step, const char* suffix) {
    return add(step.op, std::move(step.operands), suffix, std::move(step.attributes));
  }
  void finish(Step step) {
    to_.add_as(result_, step.op, std::move(step.operands), std::move(step.attributes));
  }
  ValueId constant(double value, const char* suffix) { return constant_of(value, type_.dtype, suffix); }
  ValueId constant_of(double value, Dtype dtype, const char* suffix) {
    return to_.add_constant(round_to(dtype, value), dtype, prefix_ + suffix);
  }
  ValueId cast(ValueId v, Dtype dtype, const char* suffix) {
    if (to_.type(v).dtype == dtype) return v;
    return add(cast_to(dtype, v), suffix);
  }
  static Step cast_to(Dtype dtype, ValueId v) {
    Step step{Op::cast, {v}, {}};
    step.attributes.set("dtype", dtype);
    return step;
  }

  // Integers are converted first, as MLX does.
  ValueId operand() { return cast(to_.of(node_.operands[0]), type_.dtype, "_in"); }

  std::vector<int64_t> last_axis(ValueId x) const { return {to_.type(x).rank() - 1}; }

  // exp(x - max) over the last axis
  ValueId powers(ValueId x, ValueId highest) {
    return add(Op::exp, {add(Op::sub, {x, highest}, "_shifted")}, "_exp");
  }

  void softmax() {
    ValueId x = operand();
    const bool widens = is_half(type_.dtype) && node_.attributes.get_or("precise", false);
    if (widens) x = cast(x, Dtype::f32, "_wide");
    const Dtype inside = to_.type(x).dtype;
    const auto reduced = over(last_axis(x), true);
    const ValueId exp = powers(x, add(Op::max, {x}, "_max", reduced));
    const ValueId sum = add(Op::sum, {exp}, "_sum", reduced);
    const ValueId scale = add(Op::div, {constant_of(1, inside, "_one"), sum}, "_scale");
    Step scaled{Op::mul, {exp, scale}, {}};
    finish(widens ? cast_to(type_.dtype, add(std::move(scaled), "_scaled")) : std::move(scaled));
  }

  // Halves in f32. A row whose maximum is infinite gives that maximum.
  Step logsumexp(ValueId x) {
    x = cast(x, is_half(type_.dtype) ? Dtype::f32 : type_.dtype, "_wide");
    const auto reduced = over(last_axis(x), true);
    const ValueId highest = add(Op::max, {x}, "_max", reduced);
    const ValueId sum = add(Op::sum, {powers(x, highest)}, "_sum", reduced);
    const ValueId total = add(Op::add, {add(Op::log, {sum}, "_log"), highest}, "_total");
    const auto inf = constant_of(std::numeric_limits<double>::infinity(), to_.type(x).dtype, "_inf");
    const ValueId is_infinite = add(Op::equal, {add(Op::abs, {highest}, "_abs"), inf}, "_is_inf");
    Step chosen{Op::select, {is_infinite, highest, total}, {}};
    return is_half(type_.dtype) ? cast_to(type_.dtype, add(std::move(chosen), "_lse_wide"))
                                : std::move(chosen);
  }

  void log_softmax() {
    const ValueId x = operand();
    finish({Op::sub, {x, add(logsumexp(x), "_lse")}, {}});
  }

  std::vector<int64_t> axes() const { return node_.attributes.get<std::vector<int64_t>>("axes"); }
  bool keepdims() const { return node_.attributes.get_or("keepdims", false); }
  double count() const {
    double n = 1;
    for (auto axis : axes())
      n *= static_cast<double>(to_.type(to_.of(node_.operands[0])).shape[axis]);
    return n;
  }

  // Integers are summed as integers, and the sum is converted.
  ValueId total(bool keepdims) {
    return cast(
        add(Op::sum, {to_.of(node_.operands[0])}, "_sum", over(axes(), keepdims)), type_.dtype, "_total");
  }

  Step var() {
    const ValueId mean = add(Op::mul, {total(true), constant(1 / count(), "_inv_n")}, "_mean");
    const ValueId square = add(Op::square, {add(Op::sub, {operand(), mean}, "_diff")}, "_square");
    const ValueId squares = add(Op::sum, {square}, "_squares", over(axes(), keepdims()));
    const auto ddof = node_.attributes.get_or<int64_t>("ddof", 0);
    if (ddof == 0) return {Op::mul, {squares, constant(1 / count(), "_inv_n")}, {}};
    const Dtype dtype = type_.dtype;
    const double freedom = round_to(dtype, count()) - round_to(dtype, static_cast<double>(ddof));
    return {Op::div, {squares, constant(std::max(round_to(dtype, freedom), 0.0), "_n")}, {}};
  }

  Rewriter& to_;
  const Node& node_;
  ValueId result_;
  const TensorType& type_;
  std::string prefix_;
};

}  // namespace

// Complex ones stay, and those of an empty axis, which has no maximum.
Rewrite lower_composites(const Graph& source) {
  Rewriter to(source);
  for (const auto& node : source.nodes) {
    const bool is_composite = class_of(node.op) == OpClass::composite;
    const auto* operand = is_composite ? &source.type(node.operands[0]) : nullptr;
    if (operand && operand->dtype != Dtype::c64 && operand->elements() > 0) {
      Lowering(to, source, node).run();
    } else {
      to.keep(node);
    }
  }
  return std::move(to).finish();
}

}  // namespace autoperfect
