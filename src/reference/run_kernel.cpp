#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "reference/elementwise.h"
#include "reference/reduce.h"
#include "reference/reference.h"

namespace autoperfect {

namespace {

class KernelRun {
 public:
  KernelRun(const Kernel& kernel, Precision precision)
      : kernel_(kernel),
        precision_(precision),
        buffers_(kernel.buffers.size()),
        values_(kernel.values.size()) {
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
      if (buffer.type.dtype == Dtype::c64) return problem("unsupported-dtype", "%" + buffer.name + " is c64");
      if (buffer.role == BufferRole::out) continue;
      if (next == inputs.size()) return problem("input-count", "too few inputs");
      const Tensor& tensor = inputs[next++];
      if (!fits(buffer, tensor.type)) return problem("input-type", "%" + buffer.name + " has another type");
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

  Shape sizes_of(const std::vector<AxisId>& axes) const {
    Shape shape;
    for (auto axis : axes)
      shape.push_back(sizes_[axis]);
    return shape;
  }

  // Index maps into a buffer as a walk over `axes`. Every index must stay inside.
  Result<Walk> walk_of(
      const std::vector<Affine>& index, BufferId id, const std::vector<AxisId>& axes, Where where) const {
    const Shape& shape = buffers_[id]->type.shape;
    const auto strides = row_major_strides(shape);
    Walk walk{0, std::vector<int64_t>(axes.size(), 0)};
    for (size_t d = 0; d < index.size(); ++d) {
      int64_t lowest = index[d].offset, highest = index[d].offset;
      walk.offset += index[d].offset * strides[d];
      for (const auto& [axis, coefficient] : index[d].terms) {
        const auto place = std::find(axes.begin(), axes.end(), axis);
        if (place == axes.end()) throw InternalError("[reference] an index uses an axis its value lacks");
        walk.strides[place - axes.begin()] += coefficient * strides[d];
        (coefficient < 0 ? lowest : highest) += coefficient * (sizes_[axis] - 1);
      }
      const bool is_empty = TensorType{Dtype::bool_, sizes_of(axes)}.elements() == 0;
      if (!is_empty && (lowest < 0 || highest >= shape[d])) {
        const auto message = fmt::format("dimension {} of %{} is left", d, kernel_.buffers[id].name);
        return problem("index-out-of-range", message, where);
      }
    }
    return walk;
  }

  Result<ElementSource> source_of(const KernelValue& value, int i, const std::vector<AxisId>& axes) const {
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
        auto walk = walk_of(operand.index, operand.id, axes, value.where);
        if (!walk) return walk.errors();
        source.array = &*buffers_[operand.id];
        source.walk = std::move(walk).value();
        return source;
      }
      case KernelOperand::Kind::value:
        break;
    }
    source.array = &*values_[operand.id];
    source.walk.strides.resize(axes.size(), 0);
    const auto strides = row_major_strides(source.array->type.shape);
    const auto& own = kernel_.values[operand.id].axes;
    for (size_t d = 0; d < own.size(); ++d) {
      const auto place = std::find(axes.begin(), axes.end(), own[d]);
      if (place == axes.end())
        throw InternalError("[reference] an operand varies over an axis its reader lacks");
      source.walk.strides[place - axes.begin()] = strides[d];
    }
    return source;
  }

  Result<Array> evaluate(const KernelValue& value) const {
    std::vector<AxisId> axes = value.axes;  // then the reduced ones, innermost
    axes.insert(axes.end(), value.reduced.begin(), value.reduced.end());
    std::vector<ElementSource> sources;
    for (size_t i = 0; i < value.operands.size(); ++i) {
      auto source = source_of(value, static_cast<int>(i), axes);
      if (!source) return source.errors();
      sources.push_back(std::move(source).value());
    }
    if (class_of(value.op) == OpClass::reduction) return reduce_value(value, sources[0]);
    if (class_of(value.op) != OpClass::elementwise) {
      return problem("unsupported-op", "no reference for '" + std::string(name(value.op)) + "'", value.where);
    }
    const ScalarOp op{
        value.op,
        operand_dtype(kernel_, value, value.op == Op::select ? 1 : 0),
        value.dtype,
        precision_ == Precision::exact,
        value.attributes.get_or("nan_equal", false)};
    Array out({value.dtype, sizes_of(value.axes)});
    elementwise(op, sources, out);
    return out;
  }

  Array reduce_value(const KernelValue& value, const ElementSource& source) const {
    const Dtype operand = operand_dtype(kernel_, value, 0);
    Array out({value.dtype, sizes_of(value.axes)});
    int64_t element = 0;
    for_each_position(out.type.shape, [&](std::vector<int64_t> position) {
      Reduction reduction(value.op, operand, value.dtype, kernel_.numerics.accumulate, precision_);
      const size_t outer = position.size();
      position.resize(outer + value.reduced.size());
      for_each_position(sizes_of(value.reduced), [&](const std::vector<int64_t>& inner) {
        std::copy(inner.begin(), inner.end(), position.begin() + static_cast<int64_t>(outer));
        reduction.add(source.at(position));
      });
      out.set(element++, reduction.result());
    });
    return out;
  }

  Status store(const KernelValue& value, const Array& array) {
    auto walk = walk_of(value.store, value.output, value.axes, value.where);
    if (!walk) return walk.errors();
    int64_t element = 0;
    for_each_position(array.type.shape, [&](const std::vector<int64_t>& position) {
      buffers_[value.output]->set(walk->at(position), array.at(element++));
    });
    return Success{};
  }

  const Kernel& kernel_;
  Precision precision_;
  Shape sizes_;                // of the axes, in this run
  std::vector<AxisId> known_;  // dynamic axes whose size an input has given
  std::vector<std::optional<Array>> buffers_, values_;
};

}  // namespace

Result<std::vector<Tensor>> run_reference(
    const Kernel& kernel, const std::vector<Tensor>& inputs, Precision precision) {
  return KernelRun(kernel, precision).run(inputs);
}

}  // namespace autoperfect
