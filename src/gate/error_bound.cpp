#include "gate/error_bound.h"

#include <algorithm>

#include "gate/elementwise_bounds.h"
#include "reference/reference.h"

// The bound is itself computed by the reference executor in double: beside each value of the kernel another
// one is written, its error. What an operation adds is its own rounding: half an ulp for arithmetic, one and
// a half for functions (the contract allows them one), and for a sum that of any sensible order. What it
// passes on is found at the corners: the operation is evaluated with each operand moved down and up by its
// error, and the largest change counts. That covers steps too: a comparison whose corners differ is
// uncertain. When some corners are finite and others are not, the error is infinite; so it is where the sign
// of a zero is open and matters.

namespace autoperfect {
namespace {

enum class Shown { errors, sign_doubts };

class BoundKernel : private ElementwiseBounds {
 public:
  BoundKernel(const Kernel& source, Shown shown) : ElementwiseBounds(source), values_(source.values.size()) {
    sign_doubts_.resize(values_, literal(0));
    for (size_t v = 0; v < values_; ++v) {
      errors_.push_back(error_of(static_cast<KernelValueId>(v)));
      zero_sign_is_open_.push_back(leaves_zero_sign_open(source.values[v]));
    }
    for (size_t v = 0; v < values_; ++v)
      add_output(v, shown == Shown::errors ? errors_[v] : sign_doubts_[v]);
  }
  const Kernel& kernel() const { return kernel_; }

 private:
  double terms_of(const KernelValue& value) const {
    double terms = 1;
    for (AxisId axis : value.reduced)
      terms *= static_cast<double>(kernel_.axes[axis].size);
    return terms;
  }

  KernelOperand sum_error(KernelValueId id, const Uncertain& operand) {
    const KernelValue value = kernel_.values[id];
    auto inner = inner_axes(value);
    auto total = emit(
        Op::sum, value.axes, {magnitude(inner, operand.nominal, operand.dtype)}, Dtype::f64, value.reduced);
    double unit = std::max(rounding_of(kernel_.numerics.accumulate).unit, rounding_of(Dtype::f32).unit);
    if (value.dtype == Dtype::f64) unit = rounding_of(Dtype::f64).unit;
    auto error = own_rounding(
        id, total, unit * (rounding_steps_of_sum(terms_of(value))) + rounding_of(value.dtype).unit);
    if (!is_zero(operand.error)) {
      auto spread = emit(Op::copy, inner, {operand.error});
      error = add(value.axes, emit(Op::sum, value.axes, {spread}, Dtype::f64, value.reduced), error);
    }
    auto largest = largest_partial_sum(value, operand);
    return unless_out_of_range(value, largest, literal(1), error, accumulates_in(value));
  }

  // In the worst order: all of one sign before any of the other.
  KernelOperand largest_partial_sum(const KernelValue& value, const Uncertain& operand) {
    auto inner = inner_axes(value);
    auto term = real(inner, operand.nominal, operand.dtype);
    auto is_finite = finite(inner, magnitude(inner, operand.nominal, operand.dtype));
    auto side = [&](const KernelOperand& terms) {
      auto counted = emit(Op::maximum, inner, {terms, literal(0)});
      auto kept = emit(Op::select, inner, {is_finite, counted, literal(0)});
      return emit(Op::sum, value.axes, {kept}, Dtype::f64, value.reduced);
    };
    return larger(value.axes, side(term), side(emit(Op::neg, inner, {term})));
  }

  // Without infinities, which act in any order.
  KernelOperand finite_magnitude(const std::vector<AxisId>& axes, const KernelOperand& operand, Dtype dtype) {
    auto size = magnitude(axes, operand, dtype);
    return emit(Op::select, axes, {finite(axes, size), size, literal(0)});
  }

  // Sums of halves go on in f32 at least.
  Dtype accumulates_in(const KernelValue& value) const {
    return value.dtype == Dtype::f64 || kernel_.numerics.accumulate == Dtype::f64 ? Dtype::f64 : Dtype::f32;
  }

  // An accumulation that is infinite or lost on the way, in some order or in the narrower of two dtypes,
  // gives anything.
  KernelOperand unless_out_of_range(
      const KernelValue& value,
      const KernelOperand& largest,
      const KernelOperand& smallest,
      const KernelOperand& error,
      Dtype dtype) {
    const Range range = range_of(dtype);
    auto out = emit(
        Op::logical_or,
        value.axes,
        {emit(Op::greater, value.axes, {largest, literal(range.largest)}, Dtype::bool_),
         emit(Op::less, value.axes, {smallest, literal(range.smallest)}, Dtype::bool_)},
        Dtype::bool_);
    return emit(Op::select, value.axes, {out, literal(infinity), error});
  }

  // The factors above 1, or those below it: each side multiplied is as far as any grouping may get. Zeros and
  // infinities act in any order.
  KernelOperand factors_of_a_side(
      Op op, const std::vector<AxisId>& axes, const KernelOperand& size, const KernelOperand& counts) {
    return emit(Op::select, axes, {counts, emit(op, axes, {size, literal(1)}), literal(1)});
  }

  KernelOperand product_in_range(
      const KernelValue& value, const Uncertain& operand, const KernelOperand& error) {
    auto inner = inner_axes(value);
    auto size = magnitude(inner, operand.nominal, operand.dtype);
    auto side = [&](Op op, const KernelOperand& counts) {
      auto factor = factors_of_a_side(op, inner, size, counts);
      return emit(Op::prod, value.axes, {factor}, Dtype::f64, value.reduced);
    };
    auto above = side(Op::maximum, finite(inner, size));
    auto below = side(Op::minimum, emit(Op::greater, inner, {size, literal(0)}, Dtype::bool_));
    return unless_out_of_range(value, above, below, error, value.dtype);
  }

  KernelOperand product_error(KernelValueId id, const Uncertain& operand) {
    const KernelValue value = kernel_.values[id];
    return product_in_range(value, operand, product_rounding(id, operand));
  }

  // Relative errors add up: |v| * (prod(1 + e/|a|) - 1).
  KernelOperand product_rounding(KernelValueId id, const Uncertain& operand) {
    const KernelValue value = kernel_.values[id];
    auto inner = inner_axes(value);
    auto scale = magnitude(value.axes, reference_to(id), value.dtype);
    double unit = std::max(rounding_of(kernel_.numerics.accumulate).unit, rounding_of(value.dtype).unit);
    auto own = own_rounding(id, scale, unit * (1 + terms_of(value)));
    if (is_zero(operand.error)) return own;
    auto base = emit(Op::maximum, inner, {magnitude(inner, operand.nominal, operand.dtype), literal(1e-300)});
    auto growth = emit(Op::add, inner, {emit(Op::div, inner, {operand.error, base}), literal(1)});
    auto all = emit(Op::prod, value.axes, {growth}, Dtype::f64, value.reduced);
    auto excess = emit(Op::sub, value.axes, {all, literal(1)});
    return add(value.axes, emit(Op::mul, value.axes, {excess, scale}), own);
  }

  KernelOperand reduction_error(KernelValueId id) {
    const KernelValue value = kernel_.values[id];
    Uncertain operand{
        value.operands[0], operand_dtype(kernel_, value, 0), error_of_operand(value.operands[0])};
    bool real_result = is_floating(value.dtype);
    if (real_result && value.op == Op::sum) return sum_error(id, operand);
    if (real_result && value.op == Op::prod) return product_error(id, operand);
    if (is_zero(operand.error)) return literal(0);
    auto inner = inner_axes(value);
    switch (value.op) {
      case Op::max:
      case Op::min:
        return emit(Op::max, value.axes, {emit(Op::copy, inner, {operand.error})}, Dtype::f64, value.reduced);
      case Op::any:
      case Op::all: {
        auto ends = corners(inner, operand);
        auto low = emit(value.op, value.axes, {ends[0]}, Dtype::bool_, value.reduced);
        auto high = emit(value.op, value.axes, {ends[1]}, Dtype::bool_, value.reduced);
        return emit(Op::cast, value.axes, {emit(Op::not_equal, value.axes, {low, high}, Dtype::bool_)});
      }
      case Op::sum:  // of integers or bools
        return emit(Op::sum, value.axes, {emit(Op::copy, inner, {operand.error})}, Dtype::f64, value.reduced);
      default:
        return index_error(id, operand);
    }
  }

  // Of argmax and argmin: as far as the places are at which the extreme may be, where any element is
  // uncertain.
  KernelOperand index_error(KernelValueId id, const Uncertain& operand) {
    const KernelValue value = kernel_.values[id];
    const auto inner = inner_axes(value);
    auto reduced = [&](const KernelOperand& of) {
      return emit(Op::max, value.axes, {of}, Dtype::f64, value.reduced);
    };
    auto number = real(inner, operand.nominal, operand.dtype);
    if (value.op == Op::argmin) number = emit(Op::neg, inner, {number});
    auto error = emit(Op::copy, inner, {operand.error});
    auto surely = reduced(emit(Op::sub, inner, {number, error}));
    auto reaches =
        emit(Op::greater_equal, inner, {emit(Op::add, inner, {number, error}), surely}, Dtype::bool_);
    KernelOperand place;
    place.kind = Kind::iota;
    place.id = value.reduced.front();
    auto away = emit(Op::sub, inner, {place, emit(Op::cast, value.axes, {reference_to(id)})});
    auto farthest =
        reduced(emit(Op::select, inner, {reaches, magnitude(inner, away, Dtype::f64), literal(0)}));
    auto doubtful = emit(Op::greater, value.axes, {reduced(error), literal(0)}, Dtype::bool_);
    return emit(Op::select, value.axes, {doubtful, farthest, literal(0)});
  }

  // |a| and its error over the operand's own axes, so that a contraction is never spread out.
  Uncertain factor_of(const KernelValue& value, int i) {
    const auto axes = axes_of(kernel_, value.operands[i]);
    const Dtype dtype = operand_dtype(kernel_, value, i);
    return {magnitude(axes, value.operands[i], dtype), Dtype::f64, error_of_operand(value.operands[i])};
  }

  // Rounding of the sum in the order it has, and of the result; |a| e_b + |b| e_a + e_a e_b from the factors.
  KernelOperand contraction_error(KernelValueId id) {
    const KernelValue value = kernel_.values[id];
    auto contracted = [&](const KernelOperand& a, const KernelOperand& b) {
      return emit(Op::matmul, value.axes, {a, b}, Dtype::f64, value.reduced);
    };
    const Uncertain a = factor_of(value, 0), b = factor_of(value, 1);
    const double unit =
        value.dtype == Dtype::f64
            ? rounding_of(Dtype::f64).unit
            : std::max(rounding_of(kernel_.numerics.accumulate).unit, rounding_of(Dtype::f32).unit);
    auto error =
        own_rounding(id, contracted(a.nominal, b.nominal), unit * rounding_steps_of_sum(terms_of(value)));
    error =
        add(value.axes,
            error,
            own_rounding(
                id, magnitude(value.axes, reference_to(id), value.dtype), rounding_of(value.dtype).unit));
    if (!is_zero(a.error)) error = add(value.axes, error, contracted(a.error, b.nominal));
    if (!is_zero(b.error)) error = add(value.axes, error, contracted(a.nominal, b.error));
    if (!is_zero(a.error) && !is_zero(b.error)) error = add(value.axes, error, contracted(a.error, b.error));
    auto in_range = [&](int i) {
      return finite_magnitude(
          axes_of(kernel_, value.operands[i]), value.operands[i], operand_dtype(kernel_, value, i));
    };
    auto largest = contracted(in_range(0), in_range(1));
    return unless_out_of_range(value, largest, literal(1), error, accumulates_in(value));
  }

  // A scan of the same direction; inclusive, so that an error counts from where it arises.
  KernelOperand scanned(Op op, const KernelValue& value, const KernelOperand& operand) {
    auto spread = emit(Op::copy, value.axes, {operand});
    auto scan = emit(op, value.axes, {spread});
    kernel_.values[scan.id].scanned = value.scanned;
    kernel_.values[scan.id].attributes.set("reverse", value.attributes.get_or("reverse", false));
    return scan;
  }
  // Of sums or products of what the scan reads: an exclusive one has not seen the element at its place, which
  // may be NaN.
  KernelOperand scanned_terms(Op op, const KernelValue& value, const KernelOperand& operand) {
    auto scan = scanned(op, value, operand);
    if (!value.attributes.get_or("inclusive", true))
      kernel_.values[scan.id].attributes.set("inclusive", false);
    return scan;
  }

  // The same up to each place of a scan, which joins its terms in any grouping as well.
  KernelOperand largest_partial_scan(const KernelValue& value) {
    const auto& term = value.operands[0];
    const auto dtype = operand_dtype(kernel_, value, 0);
    auto is_finite = finite(value.axes, magnitude(value.axes, term, dtype));
    auto side = [&](const KernelOperand& terms) {
      auto counted = emit(Op::maximum, value.axes, {terms, literal(0)});
      return scanned(Op::cumsum, value, emit(Op::select, value.axes, {is_finite, counted, literal(0)}));
    };
    auto number = real(value.axes, term, dtype);
    return larger(value.axes, side(number), side(emit(Op::neg, value.axes, {number})));
  }

  // Each step of a scan is rounded at least to the dtype it accumulates in.
  KernelOperand scan_error(KernelValueId id) {
    const KernelValue value = kernel_.values[id];
    auto error = scan_rounding(id);
    if (!is_floating(value.dtype) || (value.op != Op::cumsum && value.op != Op::cumprod)) return error;
    if (value.op == Op::cumsum)
      return unless_out_of_range(value, largest_partial_scan(value), literal(1), error, value.dtype);
    auto size = magnitude(value.axes, value.operands[0], operand_dtype(kernel_, value, 0));
    auto side = [&](Op op, const KernelOperand& counts) {
      return scanned(Op::cumprod, value, factors_of_a_side(op, value.axes, size, counts));
    };
    auto above = side(Op::maximum, finite(value.axes, size));
    auto below = side(Op::minimum, emit(Op::greater, value.axes, {size, literal(0)}, Dtype::bool_));
    return unless_out_of_range(value, above, below, error, value.dtype);
  }

  KernelOperand scan_rounding(KernelValueId id) {
    const KernelValue value = kernel_.values[id];
    const Uncertain operand{
        value.operands[0], operand_dtype(kernel_, value, 0), error_of_operand(value.operands[0])};
    const double terms = static_cast<double>(kernel_.axes[value.scanned].size);
    const double accumulated =
        value.dtype == Dtype::f64
            ? rounding_of(Dtype::f64).unit
            : std::max(rounding_of(kernel_.numerics.accumulate).unit, rounding_of(Dtype::f32).unit);
    auto result = magnitude(value.axes, reference_to(id), value.dtype);
    auto own = own_rounding(id, result, rounding_of(value.dtype).unit);
    auto passed = [&](Op op) {
      if (is_zero(operand.error)) return literal(0);
      return op == Op::cumsum ? scanned_terms(op, value, operand.error) : scanned(op, value, operand.error);
    };
    switch (value.op) {
      case Op::cumsum: {
        if (!is_floating(value.dtype)) return passed(Op::cumsum);
        auto total = scanned_terms(Op::cumsum, value, magnitude(value.axes, operand.nominal, operand.dtype));
        own = add(value.axes, own, own_rounding(id, total, accumulated * rounding_steps_of_sum(terms)));
        return add(value.axes, passed(Op::cumsum), own);
      }
      case Op::cumprod: {
        if (!is_floating(value.dtype)) return passed(Op::cumsum);
        own = add(value.axes, own, own_rounding(id, result, accumulated * terms));
        if (is_zero(operand.error)) return own;
        auto size = emit(
            Op::maximum,
            value.axes,
            {magnitude(value.axes, operand.nominal, operand.dtype), literal(1e-300)});
        auto growth =
            emit(Op::add, value.axes, {emit(Op::div, value.axes, {operand.error, size}), literal(1)});
        auto excess = emit(Op::sub, value.axes, {scanned_terms(Op::cumprod, value, growth), literal(1)});
        return add(value.axes, emit(Op::mul, value.axes, {excess, result}), own);
      }
      case Op::logcumsumexp: {
        // Each step adds a rounding of its result and of a logarithm up to log 2; it weakens what came
        // before.
        auto is_finite = finite(value.axes, result);
        auto size = emit(
            Op::add, value.axes, {emit(Op::select, value.axes, {is_finite, result, literal(0)}), literal(1)});
        own = add(value.axes, own, own_rounding(id, scanned(Op::cumsum, value, size), 3 * accumulated));
        return add(value.axes, passed(Op::cummax), own);
      }
      default:
        return passed(Op::cummax);
    }
  }

  static std::vector<AxisId> inner_axes(const KernelValue& value) {
    std::vector<AxisId> axes = value.axes;
    axes.insert(axes.end(), value.reduced.begin(), value.reduced.end());
    std::sort(axes.begin(), axes.end());
    return axes;
  }

  KernelOperand error_of(KernelValueId id) {
    switch (class_of(kernel_.values[id].op)) {
      case OpClass::reduction:
        return reduction_error(id);
      case OpClass::gemm:
        return contraction_error(id);
      case OpClass::scan:
        return scan_error(id);
      default:
        return elementwise_error(id);
    }
  }

  // What is told of an output takes its place; the buffer of the output itself is gone.
  void add_output(size_t id, const KernelOperand& told) {
    BufferId output = kernel_.values[id].output;
    if (output < 0) return;
    const bool is_bool = told.kind == Kind::value && kernel_.values[told.id].dtype == Dtype::bool_;
    auto shown = emit(is_bool ? Op::cast : Op::copy, kernel_.values[id].axes, {told});
    kernel_.values[shown.id].output = output;
    kernel_.values[shown.id].store = kernel_.values[id].store;
    kernel_.values[id].output = -1;
    kernel_.values[id].store.clear();
    kernel_.buffers[output].type.dtype = Dtype::f64;
  }

  size_t values_;
};

}  // namespace

Result<std::vector<Tensor>> error_bounds(const Kernel& kernel, const std::vector<Tensor>& inputs) {
  return run_reference(BoundKernel(kernel, Shown::errors).kernel(), inputs, Precision::oracle);
}

Result<std::vector<Tensor>> sign_doubts(const Kernel& kernel, const std::vector<Tensor>& inputs) {
  return run_reference(BoundKernel(kernel, Shown::sign_doubts).kernel(), inputs, Precision::oracle);
}

const std::vector<Tensor>& LazyTensors::of(const Kernel& kernel, const std::vector<Tensor>& inputs) {
  std::call_once(once_, [&] {
    if (auto computed = compute_(kernel, inputs)) {
      tensors_ = std::move(*computed);
      return;
    }
    for (auto& buffer : kernel.buffers) {
      if (buffer.role == BufferRole::out) tensors_.push_back(Tensor::zeros({Dtype::f64, buffer.type.shape}));
    }
  });
  return tensors_;
}

}  // namespace autoperfect
