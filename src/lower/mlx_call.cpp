#include "lower/mlx_call.h"

#include <fmt/format.h>

#include <cmath>

#include "lower/mlx_names.h"

namespace autoperfect {

namespace {

AttributeValue number_as(const MlxArgument& number, Dtype dtype) {
  if (is_floating(dtype)) return number.real;
  if (dtype == Dtype::bool_) return number.real != 0;
  return number.integer;
}

bool fits(const MlxArgument& number, Dtype dtype) {
  if (number.kind == MlxArgument::Kind::real) return is_floating(dtype);
  if (number.kind == MlxArgument::Kind::boolean) return dtype == Dtype::bool_;
  return number.kind == MlxArgument::Kind::integer && dtype != Dtype::bool_ && dtype != Dtype::c64;
}

}  // namespace

std::nullopt_t MlxCalls::report(const MlxCall& call, const std::string& message) {
  reader_.report("bad-call", fmt::format("mx.{}: {}", call.function, message), call.where);
  return std::nullopt;
}

std::optional<ValueId> MlxCalls::add(
    Op op, std::vector<ValueId> operands, Attributes attributes, const Where& where) {
  std::vector<TensorType> types;
  for (auto v : operands)
    types.push_back(graph_.type(v));
  auto inferred = infer_types(op, types, attributes);
  if (inferred) return graph_.add(op, std::move(operands), std::move(attributes));
  for (const auto& error : inferred.errors())
    reader_.report(error.code, error.message, where, error.hint);
  return std::nullopt;
}

const MlxArgument* MlxCalls::argument(const MlxCall& call, size_t position, std::string_view keyword) const {
  if (position < call.arguments.size()) return &call.arguments[position];
  auto found = call.keywords.find(keyword);
  return found == call.keywords.end() ? nullptr : &found->second;
}

std::optional<ValueId> MlxCalls::value(const MlxCall& call, size_t position) {
  if (position < call.arguments.size() && call.arguments[position].kind == Kind::value)
    return call.arguments[position].value;
  return report(call, fmt::format("argument {} is an array", position + 1));
}

std::optional<std::vector<int64_t>> MlxCalls::integers(const MlxArgument* argument) const {
  if (!argument) return std::nullopt;
  if (argument->kind == Kind::integer) return std::vector<int64_t>{argument->integer};
  if (argument->kind != Kind::list) return std::nullopt;
  std::vector<int64_t> all;
  for (const auto& item : argument->items) {
    if (item.kind != Kind::integer) return std::nullopt;
    all.push_back(item.integer);
  }
  return all;
}

bool MlxCalls::flag(const MlxCall& call, std::string_view keyword, bool otherwise) const {
  auto found = call.keywords.find(keyword);
  return found == call.keywords.end() ? otherwise : found->second.real != 0;
}

std::optional<Dtype> MlxCalls::dtype(const MlxCall& call, size_t position) const {
  const auto* given = argument(call, position, "dtype");
  if (!given || given->kind != Kind::dtype) return std::nullopt;
  return given->dtype;
}

std::optional<ValueId> MlxCalls::apply(const MlxCall& call) {
  if (call.function == "array") return array(call);
  if (call.function == "full") return full(call);
  if (call.function == "arange") return arange(call);
  if (call.function == "concatenate") return concatenate(call);
  if (call.function == "take_along_axis") return take_along_axis(call);
  if (call.function == "broadcast_to") return view(Op::broadcast, "shape", call);
  if (call.function == "reshape") return view(Op::reshape, "shape", call);
  if (call.function == "transpose") return view(Op::transpose, "axes", call);
  if (call.function == "isnan") {
    auto x = value(call, 0);
    return x ? add(Op::not_equal, {*x, *x}, {}, call.where) : std::nullopt;
  }
  auto op = op_of_mlx(call.function);
  switch (op ? class_of(*op) : OpClass::barrier) {
    case OpClass::elementwise:
      return elementwise(*op, call);
    case OpClass::reduction:
      return reduction(*op, call);
    case OpClass::composite:
      return composite(*op, call);
    case OpClass::scan:
      return scan(*op, call);
    default:
      break;
  }
  if (op != Op::matmul) return report(call, "not a function that a graph has");
  auto a = value(call, 0), b = value(call, 1);
  return a && b ? add(Op::matmul, {*a, *b}, {}, call.where) : std::nullopt;
}

// A number has the dtype of the first array, the condition of `where` aside.
std::optional<ValueId> MlxCalls::elementwise(Op op, const MlxCall& call) {
  std::optional<Dtype> beside;
  for (size_t i = op == Op::select ? 1 : 0; i < call.arguments.size() && !beside; ++i) {
    if (call.arguments[i].kind == Kind::value) beside = graph_.type(call.arguments[i].value).dtype;
  }
  std::vector<ValueId> operands;
  for (size_t i = 0; i < call.arguments.size(); ++i) {
    const auto& one = call.arguments[i];
    if (one.kind == Kind::value) {
      operands.push_back(one.value);
      continue;
    }
    if (!beside) return report(call, "a number needs an array beside it");
    auto number = constant(one, *beside, {}, call);
    if (!number) return std::nullopt;
    operands.push_back(*number);
  }
  return add(op, std::move(operands), {}, call.where);
}

std::optional<ValueId> MlxCalls::reduction(Op op, const MlxCall& call) {
  auto x = value(call, 0);
  auto axes = integers(argument(call, 1, "axis"));
  if (!x) return std::nullopt;
  const bool one = op == Op::argmax || op == Op::argmin;
  if (!axes || (one && axes->size() != 1)) return report(call, "which axis is not said");
  Attributes attributes;
  if (one) {
    attributes.set("axis", axes->front());
  } else {
    attributes.set("axes", *axes);
  }
  if (flag(call, "keepdims", false)) attributes.set("keepdims", true);
  return add(op, {*x}, std::move(attributes), call.where);
}

std::optional<ValueId> MlxCalls::composite(Op op, const MlxCall& call) {
  const bool is_last = op == Op::softmax || op == Op::logsumexp;
  if (!is_last) {
    if (op != Op::mean && op != Op::var && op != Op::std)
      return report(call, "not a function that a graph has");
    auto x = value(call, 0);
    auto axes = integers(argument(call, 1, "axis"));
    if (!x) return std::nullopt;
    if (!axes) return report(call, "which axis is not said");
    Attributes attributes;
    attributes.set("axes", *axes);
    if (flag(call, "keepdims", false)) attributes.set("keepdims", true);
    if (auto ddof = integers(argument(call, 9, "ddof")); ddof && op != Op::mean)
      attributes.set("ddof", ddof->front());
    return add(op, {*x}, std::move(attributes), call.where);
  }
  auto x = value(call, 0);
  auto axes = integers(argument(call, 1, "axis"));
  if (!x) return std::nullopt;
  if (!axes || *axes != std::vector<int64_t>{-1} || (op == Op::logsumexp && !flag(call, "keepdims", false)))
    return report(call, "it is over the last axis, axis=-1, and logsumexp keeps it");
  Attributes attributes;
  if (flag(call, "precise", false)) attributes.set("precise", true);
  return add(op, {*x}, std::move(attributes), call.where);
}

std::optional<ValueId> MlxCalls::scan(Op op, const MlxCall& call) {
  auto x = value(call, 0);
  auto axis = integers(argument(call, 1, "axis"));
  if (!x) return std::nullopt;
  if (!axis || axis->size() != 1) return report(call, "which axis is not said");
  Attributes attributes;
  attributes.set("axis", axis->front());
  if (flag(call, "reverse", false)) attributes.set("reverse", true);
  if (!flag(call, "inclusive", true)) attributes.set("inclusive", false);
  return add(op, {*x}, std::move(attributes), call.where);
}

std::optional<ValueId> MlxCalls::view(Op op, const char* attribute, const MlxCall& call) {
  auto x = value(call, 0);
  auto to = integers(argument(call, 1, attribute));
  if (!x) return std::nullopt;
  if (!to) return report(call, fmt::format("a tuple of integers is its {}", attribute));
  Attributes attributes;
  attributes.set(attribute, std::move(*to));
  return add(op, {*x}, std::move(attributes), call.where);
}

std::optional<ValueId> MlxCalls::constant(
    const MlxArgument& number, Dtype dtype, const Shape& shape, const MlxCall& call) {
  if (!number.is_number() || !fits(number, dtype))
    return report(call, fmt::format("this is no number of {}", mlx_dtype(dtype)));
  Attributes attributes;
  attributes.set("value", number_as(number, dtype));
  attributes.set("dtype", dtype);
  if (!shape.empty()) attributes.set("shape", shape);
  return add(Op::constant, {}, std::move(attributes), call.where);
}

// Of a number, or a list of numbers.
std::optional<ValueId> MlxCalls::array(const MlxCall& call) {
  auto type = dtype(call, 1);
  if (!type || call.arguments.empty()) return report(call, "its dtype is not said");
  const auto& content = call.arguments[0];
  if (content.kind != Kind::list) return constant(content, *type, {}, call);
  std::vector<double> reals;
  std::vector<int64_t> integers;
  for (const auto& item : content.items) {
    if (!fits(item, *type))
      return report(call, fmt::format("an element is no number of {}", mlx_dtype(*type)));
    reals.push_back(item.real);
    integers.push_back(item.integer);
  }
  Attributes attributes;
  attributes.set("shape", Shape{static_cast<int64_t>(content.items.size())});
  attributes.set("dtype", *type);
  if (is_floating(*type)) {
    attributes.set("value", std::move(reals));
  } else {
    attributes.set("value", std::move(integers));
  }
  return add(Op::constant, {}, std::move(attributes), call.where);
}

std::optional<ValueId> MlxCalls::full(const MlxCall& call) {
  auto shape = integers(argument(call, 0, "shape"));
  auto type = dtype(call, 2);
  if (!shape || !type || call.arguments.size() < 2)
    return report(call, "shape, number and dtype are its arguments");
  return constant(call.arguments[1], *type, *shape, call);
}

std::optional<ValueId> MlxCalls::arange(const MlxCall& call) {
  auto type = dtype(call, 3);
  bool good = type && call.arguments.size() >= 3;
  for (size_t i = 0; good && i < 3; ++i)
    good = call.arguments[i].kind == Kind::integer || call.arguments[i].kind == Kind::real;
  if (!good || call.arguments[2].real == 0)
    return report(call, "start, stop, step and dtype are its arguments");
  const double start = call.arguments[0].real, step = call.arguments[2].real;
  const double size = std::max(0.0, std::ceil((call.arguments[1].real - start) / step));
  if (!(size < 0x1p57)) return report(call, "this is too long");
  Attributes attributes;
  attributes.set("start", start);
  attributes.set("step", step);
  attributes.set("size", static_cast<int64_t>(size));
  attributes.set("dtype", *type);
  return add(Op::arange, {}, std::move(attributes), call.where);
}

std::optional<ValueId> MlxCalls::concatenate(const MlxCall& call) {
  auto axis = integers(argument(call, 1, "axis"));
  if (call.arguments.empty() || !axis || axis->size() != 1)
    return report(call, "a list of arrays and an axis are its arguments");
  std::vector<ValueId> parts;
  for (const auto& item : call.arguments[0].items) {
    if (item.kind != Kind::value) return report(call, "a list of arrays is its first argument");
    parts.push_back(item.value);
  }
  Attributes attributes;
  attributes.set("axis", axis->front());
  return add(Op::concatenate, std::move(parts), std::move(attributes), call.where);
}

std::optional<ValueId> MlxCalls::take_along_axis(const MlxCall& call) {
  auto x = value(call, 0), at = value(call, 1);
  auto axis = integers(argument(call, 2, "axis"));
  if (!x || !at) return std::nullopt;
  if (!axis || axis->size() != 1) return report(call, "which axis is not said");
  Attributes attributes;
  attributes.set("axis", axis->front());
  return add(Op::gather_axis, {*x, *at}, std::move(attributes), call.where);
}

}  // namespace autoperfect
