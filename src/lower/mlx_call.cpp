#include "lower/mlx_call.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

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

// Negative ones count from the end.
std::optional<std::vector<int64_t>> MlxCalls::axes(const MlxCall& call, size_t position, ValueId of) const {
  auto axes = integers(argument(call, position, "axis"));
  const int rank = graph_.type(of).rank();
  for (size_t i = 0; axes && i < axes->size(); ++i)
    if ((*axes)[i] < 0) (*axes)[i] += rank;
  return axes;
}

// Of a reduction: all where none is said.
std::optional<std::vector<int64_t>> MlxCalls::axes_or_all(const MlxCall& call, ValueId x) const {
  if (argument(call, 1, "axis")) {
    auto given = axes(call, 1, x);
    if (given) std::sort(given->begin(), given->end());
    return given;
  }
  std::vector<int64_t> all(graph_.type(x).shape.size());
  std::iota(all.begin(), all.end(), 0);
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

// What a call may name; arrays are given by position.
bool MlxCalls::takes_keywords(const MlxCall& call) {
  using Names = std::vector<std::string_view>;
  static const std::map<std::string_view, Names> of_functions = {
      {"array", {"dtype"}},
      {"full", {"shape", "dtype"}},
      {"arange", {"dtype"}},
      {"concatenate", {"axis"}},
      {"take_along_axis", {"axis"}},
      {"take", {"axis"}},
      {"pad", {"constant_values"}},
      {"addmm", {"alpha", "beta"}},
      {"sort", {"axis"}},
      {"argsort", {"axis"}},
      {"broadcast_to", {"shape"}},
      {"reshape", {"shape"}},
      {"transpose", {"axes"}},
      {"expand_dims", {"axis"}},
      {"softmax", {"axis", "precise"}},
  };
  static const std::map<OpClass, Names> of_classes = {
      {OpClass::reduction, {"axis", "keepdims"}},
      {OpClass::composite, {"axis", "keepdims", "ddof"}},
      {OpClass::scan, {"axis", "reverse", "inclusive"}},
  };
  Names allowed;
  if (auto it = of_functions.find(call.function); it != of_functions.end()) {
    allowed = it->second;
  } else if (auto op = op_of_mlx(call.function); op && of_classes.count(class_of(*op))) {
    allowed = of_classes.at(class_of(*op));
  }
  for (const auto& [keyword, argument] : call.keywords) {
    if (std::find(allowed.begin(), allowed.end(), keyword) != allowed.end()) continue;
    report(call, fmt::format("it has no argument '{}' here", keyword));
    return false;
  }
  return true;
}

std::optional<ValueId> MlxCalls::apply(const MlxCall& call) {
  return takes_keywords(call) ? apply_known(call) : std::nullopt;
}

std::optional<ValueId> MlxCalls::apply_known(const MlxCall& call) {
  if (call.function == "array") return array(call);
  if (call.function == "full") return full(call);
  if (call.function == "arange") return arange(call);
  if (call.function == "concatenate") return concatenate(call);
  if (call.function == "take_along_axis") return take_along_axis(call);
  if (call.function == "take") return take(call);
  if (call.function == "pad") return pad(call);
  if (call.function == "addmm") return addmm(call);
  if (call.function == "sort") return sort(Op::sort, call);
  if (call.function == "argsort") return sort(Op::arg_sort, call);
  if (call.function == "expand_dims") return expand_dims(call);
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
  if (!x) return std::nullopt;
  const bool one = op == Op::argmax || op == Op::argmin;
  auto axes = axes_or_all(call, *x);
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
    if (!x) return std::nullopt;
    auto axes = axes_or_all(call, *x);
    if (!axes) return report(call, "which axis is not said");
    Attributes attributes;
    attributes.set("axes", *axes);
    if (flag(call, "keepdims", false)) attributes.set("keepdims", true);
    if (auto ddof = integers(argument(call, 9, "ddof")); ddof && op != Op::mean)
      attributes.set("ddof", ddof->front());
    return add(op, {*x}, std::move(attributes), call.where);
  }
  auto x = value(call, 0);
  if (!x) return std::nullopt;
  auto axes = this->axes(call, 1, *x);
  if (!axes || *axes != std::vector<int64_t>{graph_.type(*x).rank() - 1} ||
      (op == Op::logsumexp && !flag(call, "keepdims", false)))
    return report(call, "it is over the last axis, axis=-1, and logsumexp keeps it");
  Attributes attributes;
  if (flag(call, "precise", false)) attributes.set("precise", true);
  return add(op, {*x}, std::move(attributes), call.where);
}

std::optional<ValueId> MlxCalls::scan(Op op, const MlxCall& call) {
  auto x = value(call, 0);
  if (!x) return std::nullopt;
  auto axis = axes(call, 1, *x);
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
  const int rank = parts.empty() ? 0 : graph_.type(parts[0]).rank();
  attributes.set("axis", axis->front() < 0 ? axis->front() + rank : axis->front());
  return add(Op::concatenate, std::move(parts), std::move(attributes), call.where);
}

std::optional<ValueId> MlxCalls::take_along_axis(const MlxCall& call) {
  auto x = value(call, 0), at = value(call, 1);
  if (!x || !at) return std::nullopt;
  auto axis = axes(call, 2, *x);
  if (!axis || axis->size() != 1) return report(call, "which axis is not said");
  Attributes attributes;
  attributes.set("axis", axis->front());
  return add(Op::gather_axis, {*x, *at}, std::move(attributes), call.where);
}

std::optional<ValueId> MlxCalls::view_of(
    Op op, ValueId v, const char* attribute, Shape value, const MlxCall& call) {
  Attributes attributes;
  attributes.set(attribute, std::move(value));
  return add(op, {v}, std::move(attributes), call.where);
}

// Rows of the first axis, by index; another axis is brought there, and back.
std::optional<ValueId> MlxCalls::take(const MlxCall& call) {
  auto x = value(call, 0), at = value(call, 1);
  if (!x || !at) return std::nullopt;
  auto axis = axes(call, 2, *x);
  const int rank = graph_.type(*x).rank(), indices = graph_.type(*at).rank();
  if (!axis || axis->size() != 1) return report(call, "which axis is not said");
  const int64_t along = axis->front();
  if (along < 0 || along >= rank) return report(call, fmt::format("axis {} does not exist", along));
  Shape order(static_cast<size_t>(rank));
  std::iota(order.begin(), order.end(), 0);
  std::rotate(order.begin(), order.begin() + along, order.begin() + along + 1);
  auto rows = along == 0 ? x : view_of(Op::transpose, *x, "axes", order, call);
  if (!rows) return std::nullopt;
  Shape sizes = graph_.type(*rows).shape, shape = graph_.type(*at).shape;
  shape.insert(shape.end(), sizes.begin() + 1, sizes.end());
  sizes[0] = 1;
  Attributes attributes;
  attributes.set("axes", Shape{0});
  attributes.set("sizes", std::move(sizes));
  auto taken = add(Op::gather, {*rows, *at}, std::move(attributes), call.where);
  if (taken) taken = view_of(Op::reshape, *taken, "shape", std::move(shape), call);
  if (!taken || along == 0) return taken;
  Shape back(static_cast<size_t>(indices + rank - 1));
  std::iota(back.begin(), back.end(), 0);
  std::rotate(back.begin(), back.begin() + indices, back.begin() + indices + along);
  return view_of(Op::transpose, *taken, "axes", std::move(back), call);
}

// mx.pad(x, [(1, 0), (0, 2)], constant_values=0.0)
std::optional<ValueId> MlxCalls::pad(const MlxCall& call) {
  auto x = value(call, 0);
  const auto* widths = argument(call, 1, "pad_width");
  const auto* padding = argument(call, 9, "constant_values");
  if (!x) return std::nullopt;
  if (!widths || widths->kind != Kind::list || !padding)
    return report(call, "a pair of widths for each axis and constant_values are its arguments");
  Shape axes, low, high;
  for (size_t d = 0; d < widths->items.size(); ++d) {
    auto pair = integers(&widths->items[d]);
    if (!pair || pair->size() != 2) return report(call, "each axis has a pair of widths, (before, after)");
    if ((*pair)[0] == 0 && (*pair)[1] == 0) continue;
    axes.push_back(static_cast<int64_t>(d));
    low.push_back((*pair)[0]);
    high.push_back((*pair)[1]);
  }
  if (widths->items.size() != graph_.type(*x).shape.size())
    return report(call, "each axis has a pair of widths, (before, after)");
  auto scalar = padding->kind == Kind::value ? std::optional(padding->value)
                                             : constant(*padding, graph_.type(*x).dtype, {}, call);
  if (!scalar) return std::nullopt;
  Attributes attributes;
  attributes.set("axes", std::move(axes));
  attributes.set("low", std::move(low));
  attributes.set("high", std::move(high));
  return add(Op::pad, {*x, *scalar}, std::move(attributes), call.where);
}

// mx.addmm(c, a, b, alpha=1.0, beta=1.0)
std::optional<ValueId> MlxCalls::addmm(const MlxCall& call) {
  auto c = value(call, 0), a = value(call, 1), b = value(call, 2);
  if (!a || !b || !c) return std::nullopt;
  Attributes attributes;
  for (const char* name : {"alpha", "beta"}) {
    auto found = call.keywords.find(name);
    if (found != call.keywords.end() && !found->second.is_number())
      return report(call, fmt::format("{} is a number", name));
    attributes.set(name, found == call.keywords.end() ? 1.0 : found->second.real);
  }
  return add(Op::addmm, {*a, *b, *c}, std::move(attributes), call.where);
}

std::optional<ValueId> MlxCalls::sort(Op op, const MlxCall& call) {
  auto x = value(call, 0);
  if (!x) return std::nullopt;
  auto axis = axes(call, 1, *x);
  if (!axis || axis->size() != 1) return report(call, "which axis is not said");
  Attributes attributes;
  attributes.set("axis", axis->front());
  return add(op, {*x}, std::move(attributes), call.where);
}

std::optional<ValueId> MlxCalls::expand_dims(const MlxCall& call) {
  auto x = value(call, 0);
  auto axis = integers(argument(call, 1, "axis"));
  if (!x) return std::nullopt;
  Shape shape = graph_.type(*x).shape;
  const auto rank = static_cast<int64_t>(shape.size());
  if (!axis || axis->size() != 1) return report(call, "which axis is not said");
  const int64_t at = axis->front() < 0 ? axis->front() + rank + 1 : axis->front();
  if (at < 0 || at > rank) return report(call, fmt::format("axis {} does not exist", axis->front()));
  shape.insert(shape.begin() + at, 1);
  return view_of(Op::reshape, *x, "shape", std::move(shape), call);
}

}  // namespace autoperfect
