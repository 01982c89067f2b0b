// Composites: library functions, and MLX's own that it keeps whole on a GPU.
#include <fmt/format.h>

#include <algorithm>

#include "ir/infer_dtype.h"
#include "ir/infer_rules.h"
#include "ir/shape.h"

namespace autoperfect::infer_rules {

namespace {

Diagnostic wrong_operand(Op op, const char* which, const TensorType& type) {
  return rule_broken(
      "shape-mismatch", fmt::format("'{}' does not take {} as its {}", name(op), to_string(type), which));
}

// A weight or bias of the last axis, or one number for all.
bool is_affine_of(const TensorType& weight, const TensorType& x) {
  return weight.rank() == 0 || (weight.rank() == 1 && weight.shape[0] == x.shape.back());
}

Status check_norm(Op op, const Types& operands, size_t weights) {
  const auto& x = operands[0];
  if (!is_floating(x.dtype) || x.rank() == 0) return wrong_operand(op, "operand", x);
  for (size_t i = 1; i <= weights; ++i) {
    if (!is_affine_of(operands[i], x) || operands[i].dtype != x.dtype)
      return wrong_operand(op, "weight", operands[i]);
  }
  if (operands.size() > weights + 1 && !(operands.back() == x))
    return wrong_operand(op, "cotangent", operands.back());
  return Success{};
}

}  // namespace

Result<TensorType> infer_moment(Op op, const TensorType& operand, const Attributes& attributes) {
  auto dtype = at_least_float(operand.dtype);
  if (op != Op::mean && dtype == Dtype::c64) dtype = Dtype::f32;
  return infer_reduced_shape(
      {dtype, operand.shape},
      attributes.get<std::vector<int64_t>>("axes"),
      attributes.get_or("keepdims", false));
}

Result<TensorType> infer_last_axis(Op op, const TensorType& operand) {
  if (operand.rank() == 0)
    return rule_broken("axis-range", fmt::format("'{}' needs at least one axis", name(op)));
  TensorType out{at_least_float(operand.dtype), operand.shape};
  if (op == Op::logsumexp) out.shape.back() = 1;
  return out;
}

Result<Types> infer_divmod(const Types& operands) {
  auto one = infer_elementwise(Op::floor_divide, operands, {});
  if (!one) return one.errors();
  return Types{*one, *one};
}

// As MLX makes it: ascending positions inside the axis.
Result<Types> infer_split(const TensorType& operand, const Attributes& attributes) {
  auto axis = attributes.get<int64_t>("axis");
  if (auto status = check_distinct_axes({axis}, operand.rank()); !status) return status.errors();
  Types parts;
  int64_t begin = 0, size = operand.shape[axis];
  auto ends = attributes.get<std::vector<int64_t>>("indices");
  ends.push_back(size);
  for (auto end : ends) {
    if (end < begin || end > size) {
      auto message = fmt::format("cannot split {} elements at {}", size, to_string(ends));
      return rule_broken("attribute-value", message, "positions ascend");
    }
    parts.push_back(operand);
    parts.back().shape[axis] = end - begin;
    begin = end;
  }
  return parts;
}

Result<TensorType> infer_number_of_elements(const TensorType& operand, const Attributes& attributes) {
  auto dtype = attributes.get<Dtype>("dtype");
  auto status = check_distinct_axes(attributes.get<std::vector<int64_t>>("axes"), operand.rank());
  if (!status) return status.errors();
  return TensorType{dtype, {}};
}

Result<Types> infer_custom_transforms(const Types& operands, const Attributes& attributes) {
  auto count = attributes.get<int64_t>("outputs");
  if (count < 0 || count > static_cast<int64_t>(operands.size()))
    return rule_broken(
        "attribute-value", fmt::format("{} operands cannot give {} results", operands.size(), count));
  return Types(operands.end() - count, operands.end());
}

Result<Types> infer_norm(Op op, const Types& operands) {
  bool layer = op == Op::layer_norm || op == Op::layer_norm_vjp;
  size_t weights = layer ? 2 : 1;
  if (auto status = check_norm(op, operands, weights); !status) return status.errors();
  bool forward = op == Op::rms_norm || op == Op::layer_norm;
  return forward ? Types{operands[0]} : Types(operands.begin(), operands.end() - 1);
}

// x [batch, .., position, feature], offset of the positions [, reciprocal frequencies]
Result<TensorType> infer_rope(const Types& operands, const Attributes& attributes) {
  if (operands.size() != 2 && operands.size() != 3)
    return rule_broken("arity", "'rope' takes x, an offset and maybe frequencies");
  const auto &x = operands[0], &offset = operands[1];
  auto dims = attributes.get<int64_t>("dims");
  if (!is_floating(x.dtype) || x.rank() < 3) return wrong_operand(Op::rope, "operand", x);
  if (dims <= 0 || dims % 2 != 0 || dims > x.shape.back())
    return rule_broken("attribute-value", fmt::format("dims={} is not even, or not in the last axis", dims));
  bool one = offset.elements() == 1 || offset.elements() == x.shape[0];
  if (!is_integer(offset.dtype) || size_of(offset.dtype) != 4 || offset.rank() > 1 || !one)
    return wrong_operand(Op::rope, "offset", offset);
  bool frequencies = operands.size() == 3;
  if (frequencies && operands[2].shape != Shape{dims / 2})
    return wrong_operand(Op::rope, "frequencies", operands[2]);
  if (frequencies == attributes.has("base"))
    return rule_broken("attribute-value", "'rope' has a base or frequencies, and not both");
  return x;
}

Result<Types> infer_attention(Types operands, const Attributes& attributes) {
  bool causal = attributes.get_or("causal", false), sinks = attributes.get_or("sinks", false);
  auto op = Op::scaled_dot_product_attention;
  if (operands.size() < 3u + sinks || operands.size() > 4u + sinks)
    return rule_broken(
        "arity", fmt::format("'{}' takes q, k, v, maybe a mask, and sinks if it says so", name(op)));
  const auto &q = operands[0], &k = operands[1], &v = operands[2];
  bool ranks = q.rank() == 4 && k.rank() == 4 && v.rank() == 4;
  bool types = is_floating(q.dtype) && q.dtype == k.dtype && q.dtype == v.dtype;
  if (!ranks || !types) return wrong_operand(op, "query", q);
  bool fits = q.shape[0] == k.shape[0] && q.shape[0] == v.shape[0] && k.shape[1] == v.shape[1] &&
              k.shape[2] == v.shape[2] && q.shape[3] == k.shape[3] && k.shape[1] > 0 &&
              q.shape[1] % k.shape[1] == 0;
  if (!fits) return wrong_operand(op, "key", k);
  bool masked = operands.size() == 4u + sinks;
  Shape scores{q.shape[0], q.shape[1], q.shape[2], k.shape[2]};
  if (masked) {
    const auto& mask = operands[3];
    bool typed = mask.dtype == Dtype::bool_ || mask.dtype == q.dtype;
    if (causal || !typed || mask.shape != scores) return wrong_operand(op, "mask", mask);
  }
  if (sinks && !(operands.back() == TensorType{q.dtype, {q.shape[1]}}))
    return wrong_operand(op, "sinks", operands.back());
  if (attributes.has("of_bool") && (!masked || operands[3].dtype == Dtype::bool_))
    return rule_broken("attribute-value", fmt::format("'{}' has no mask of numbers", name(op)));
  Types out{{q.dtype, {q.shape[0], q.shape[1], q.shape[2], v.shape[3]}}};
  if (attributes.get_or("logsumexp", false))
    out.push_back({Dtype::f32, {q.shape[0], q.shape[1], q.shape[2], 1}});
  return out;
}

Result<Types> infer_attention_vjp(const Types& operands, const Attributes& attributes) {
  auto op = Op::scaled_dot_product_attention_vjp;
  if (operands.size() < 6)
    return rule_broken("arity", fmt::format("'{}' takes at least 6 operands", name(op)));
  Attributes forward = attributes;
  forward.set("logsumexp", true);
  auto out = infer_attention({operands.begin(), operands.end() - 3}, forward);
  if (!out) return out.errors();
  if (!(operands.end()[-3] == (*out)[0])) return wrong_operand(op, "result", operands.end()[-3]);
  if (!(operands.end()[-2] == (*out)[1])) return wrong_operand(op, "logsumexp", operands.end()[-2]);
  if (!(operands.back() == (*out)[0])) return wrong_operand(op, "cotangent", operands.back());
  return Types(operands.begin(), operands.begin() + 3);
}

Result<TensorType> infer_cross_entropy(Op op, const Types& operands) {
  const auto &logits = operands[0], &targets = operands[1];
  bool fits = logits.rank() > 0 && is_floating(logits.dtype) && is_integer(targets.dtype) &&
              targets.shape == Shape(logits.shape.begin(), logits.shape.end() - 1);
  if (!fits) return wrong_operand(op, "target", targets);
  TensorType loss{Dtype::f32, targets.shape};
  if (op == Op::cross_entropy) return loss;
  if (!(operands[2] == loss)) return wrong_operand(op, "loss", operands[2]);
  if (!(operands[3] == loss)) return wrong_operand(op, "cotangent", operands[3]);
  return logits;
}

Result<TensorType> infer_fp8(Op op, const TensorType& operand, const Attributes& attributes) {
  if (op == Op::to_fp8) {
    if (!is_floating(operand.dtype)) return wrong_operand(op, "operand", operand);
    return TensorType{Dtype::u8, operand.shape};
  }
  auto dtype = attributes.get<Dtype>("dtype");
  if (operand.dtype != Dtype::u8 || !is_floating(dtype)) return wrong_operand(op, "operand", operand);
  return TensorType{dtype, operand.shape};
}

}  // namespace autoperfect::infer_rules
