#include <fmt/format.h>

#include <algorithm>
#include <deque>

#include "ir/shape.h"
#include "ir/widened.h"
#include "reference/elementwise.h"
#include "reference/load.h"
#include "reference/reduce.h"
#include "reference/reference.h"
#include "reference/scan.h"

namespace autoperfect {

namespace {

class KernelRun {
 public:
  KernelRun(const Kernel& kernel, Precision precision)
      : kernel_(kernel), precision_(precision), state_{kernel, {}, {}, {}} {
    buffers_.resize(kernel.buffers.size());
    values_.resize(kernel.values.size());
    for (const auto& axis : kernel.axes)
      sizes_.push_back(axis.size);
  }

  Result<std::vector<Tensor>> run(const std::vector<Tensor>& inputs) {
    if (auto status = take(inputs); !status) return status.errors();
    for (size_t v = 0; v < kernel_.values.size(); ++v) {
      const auto& value = kernel_.values[v];
      auto array = evaluate(value);
      if (!array) return array.errors();
      values_[v] = std::move(array).value();
      if (value.output < 0) continue;
      if (auto status = store(value, *values_[v]); !status) return status.errors();
    }
    std::vector<Tensor> outputs;
    for (size_t b = 0; b < kernel_.buffers.size(); ++b) {
      if (kernel_.buffers[b].role == BufferRole::out) outputs.push_back(tensor_of(*buffers_[b], precision_));
    }
    return outputs;
  }

 private:
  static Diagnostic problem(const char* code, std::string message, Where where = {}) {
    return {"reference", code, std::move(message), where};
  }

  // Buffers from the inputs, and dynamic axes from their shapes; then the outputs, whose shapes follow.
  Status take(const std::vector<Tensor>& inputs) {
    size_t next = 0;
    for (size_t b = 0; b < kernel_.buffers.size(); ++b) {
      const auto& buffer = kernel_.buffers[b];
      if (buffer.role != BufferRole::in) continue;
      if (next == inputs.size()) return problem("input-count", "too few inputs");
      const Tensor& tensor = inputs[next++];
      if (!fits(buffer, tensor.type)) {
        auto message =
            fmt::format("%{} is {}, not {}", buffer.name, to_string(tensor.type), to_string(actual(buffer)));
        return problem("input-type", message);
      }
      buffers_[b] = array_of(tensor);
    }
    if (next != inputs.size()) return problem("input-count", "too many inputs");
    for (size_t b = 0; b < kernel_.buffers.size(); ++b) {
      if (kernel_.buffers[b].role == BufferRole::out) buffers_[b].emplace(actual(kernel_.buffers[b]));
    }
    return Success{};
  }

  static AxisId dynamic_axis(const Buffer& buffer, size_t d) {
    return d < buffer.dynamic_dims.size() ? buffer.dynamic_dims[d] : -1;
  }

  bool fits(const Buffer& buffer, const TensorType& type) {
    if (type.dtype != buffer.type.dtype || type.rank() != buffer.type.rank()) return false;
    for (size_t d = 0; d < type.shape.size(); ++d) {
      const AxisId axis = dynamic_axis(buffer, d);
      if (axis < 0 && type.shape[d] != buffer.type.shape[d]) return false;
      if (axis < 0) continue;
      const bool is_new = std::find(known_.begin(), known_.end(), axis) == known_.end();
      if (!is_new && sizes_[axis] != type.shape[d]) return false;
      sizes_[axis] = type.shape[d];
      known_.push_back(axis);
    }
    return true;
  }

  TensorType actual(const Buffer& buffer) const {
    TensorType type = buffer.type;
    for (size_t d = 0; d < type.shape.size(); ++d) {
      if (dynamic_axis(buffer, d) >= 0) type.shape[d] = sizes_[dynamic_axis(buffer, d)];
    }
    return type;
  }

  // An operand over `axes`. What it loads is kept in `loaded`.
  Result<ElementSource> source_of(
      const KernelValue& value, int i, const std::vector<AxisId>& axes, std::deque<Array>& loaded) const {
    const auto& operand = value.operands[i];
    const Dtype dtype = operand_dtype(kernel_, value, i);
    ElementSource source;
    source.dtype = is_floating(dtype) && precision_ == Precision::oracle ? Dtype::f64 : dtype;
    switch (operand.kind) {
      case KernelOperand::Kind::literal:
        source.scalar = convert(Dtype::f64, dtype, {operand.literal, 0});
        return source;
      case KernelOperand::Kind::iota:
        source.axis = static_cast<int>(std::find(axes.begin(), axes.end(), operand.id) - axes.begin());
        return source;
      case KernelOperand::Kind::load: {
        auto load = run_load(state_, operand, value.where);
        if (!load) return load.errors();
        loaded.push_back(std::move(load->array));
        source.array = &loaded.back();
        source.walk = walk_along(*source.array, load->axes, axes);
        return source;
      }
      case KernelOperand::Kind::value:
        break;
    }
    source.array = &*values_[operand.id];
    source.walk = walk_along(*source.array, kernel_.values[operand.id].axes, axes);
    return source;
  }

  Result<Array> evaluate(const KernelValue& value) const {
    std::vector<AxisId> axes = value.axes;  // then the reduced ones, innermost
    axes.insert(axes.end(), value.reduced.begin(), value.reduced.end());
    std::deque<Array> loaded;
    std::vector<ElementSource> sources;
    for (size_t i = 0; i < value.operands.size(); ++i) {
      auto source = source_of(value, static_cast<int>(i), axes, loaded);
      if (!source) return source.errors();
      sources.push_back(std::move(source).value());
    }
    switch (class_of(value.op)) {
      case OpClass::elementwise:
        return elementwise_value(value, sources);
      case OpClass::reduction:
        return reduce_value(value, sources[0]);
      case OpClass::scan:
        return scan_value(value, sources[0]);
      case OpClass::gemm:
        return contract_value(value, sources);
      default:
        return problem(
            "unsupported-op", "no reference for '" + std::string(name(value.op)) + "'", value.where);
    }
  }

  Array elementwise_value(const KernelValue& value, const std::vector<ElementSource>& sources) const {
    const ScalarOp op{
        value.op,
        operand_dtype(kernel_, value, value.op == Op::select ? 1 : 0),
        value.dtype,
        precision_ == Precision::exact,
        value.attributes.get_or("nan_equal", false)};
    Array out({value.dtype, state_.sizes_of(value.axes)});
    elementwise(op, sources, out);
    return out;
  }

  // Visits every element of the value with its place, and with each position of its axes and reduced axes.
  template <class Begin, class Visit, class End>
  void for_each_run(const KernelValue& value, Begin&& begin, Visit&& visit, End&& end) const {
    int64_t element = 0;
    for_each_position(state_.sizes_of(value.axes), [&](std::vector<int64_t> position) {
      begin();
      const size_t outer = position.size();
      position.resize(outer + value.reduced.size());
      for_each_position(state_.sizes_of(value.reduced), [&](const std::vector<int64_t>& inner) {
        std::copy(inner.begin(), inner.end(), position.begin() + static_cast<int64_t>(outer));
        visit(position);
      });
      end(element++);
    });
  }

  Array reduce_value(const KernelValue& value, const ElementSource& source) const {
    const Dtype operand = operand_dtype(kernel_, value, 0);
    const Reduction start(value.op, operand, value.dtype, kernel_.numerics.accumulate, precision_);
    Reduction reduction = start;
    Array out({value.dtype, state_.sizes_of(value.axes)});
    for_each_run(
        value,
        [&] { reduction = start; },
        [&](const std::vector<int64_t>& position) { reduction.add(source.at(position)); },
        [&](int64_t element) { out.set(element, reduction.result()); });
    return out;
  }

  Array contract_value(const KernelValue& value, const std::vector<ElementSource>& sources) const {
    const SumOfProducts start(value.dtype, kernel_.numerics.accumulate, precision_);
    SumOfProducts sum = start;
    Array out({value.dtype, state_.sizes_of(value.axes)});
    for_each_run(
        value,
        [&] { sum = start; },
        [&](const std::vector<int64_t>& position) {
          sum.add(sources[0].at(position), sources[1].at(position));
        },
        [&](int64_t element) { out.set(element, sum.result()); });
    return out;
  }

  Array scan_value(const KernelValue& value, const ElementSource& source) const {
    Array in({operand_dtype(kernel_, value, 0), state_.sizes_of(value.axes)});
    int64_t element = 0;
    for_each_position(
        in.type.shape, [&](const std::vector<int64_t>& position) { in.set(element++, source.at(position)); });
    const auto place = std::find(value.axes.begin(), value.axes.end(), value.scanned);
    return scan(scan_op(value.op, value.attributes, precision_), in, place - value.axes.begin(), value.dtype);
  }

  Status store(const KernelValue& value, const Array& array) {
    Array& buffer = *buffers_[value.output];
    const auto strides = row_major_strides(buffer.type.shape);
    int64_t element = 0;
    bool leaves = false;
    for_each_position(array.type.shape, [&](const std::vector<int64_t>& position) {
      int64_t to = 0;
      for (size_t d = 0; d < strides.size(); ++d) {
        const int64_t index = value_of(value.store[d], value.axes, position);
        leaves = leaves || index < 0 || index >= buffer.type.shape[d];
        to += index * strides[d];
      }
      if (!leaves) buffer.set(to, array.at(element++));
    });
    if (!leaves) return Success{};
    return problem("index-out-of-range", "an index leaves %" + value.name, value.where);
  }

  const Kernel& kernel_;
  Precision precision_;
  KernelState state_;
  Shape& sizes_ = state_.sizes;  // of the axes, in this run
  std::vector<std::optional<Array>>&buffers_ = state_.buffers, &values_ = state_.values;
  std::vector<AxisId> known_;  // dynamic axes whose size an input has given
};

}  // namespace

Result<std::vector<Tensor>> run_reference(
    const Kernel& kernel, const std::vector<Tensor>& inputs, Precision precision) {
  if (kernel.numerics.wide && precision == Precision::exact)
    return KernelRun(widened(kernel), precision).run(inputs);
  return KernelRun(kernel, precision).run(inputs);
}

}  // namespace autoperfect
