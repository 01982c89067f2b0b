#include <fmt/format.h>

#include <cmath>
#include <set>
#include <unordered_set>

#include "ir/scalar_semantics.h"
#include "ir/shape.h"
#include "lower/lower.h"
#include "lower/mlx_names.h"
#include "support/number.h"

namespace autoperfect {

namespace {

std::string python_number(double value) {
  if (std::isnan(value)) return "mx.nan";
  if (std::isinf(value)) return value > 0 ? "mx.inf" : "-mx.inf";
  return format_number(value);
}

std::string python_integer(int64_t value, Dtype dtype) {
  return dtype == Dtype::u64 ? std::to_string(static_cast<uint64_t>(value)) : std::to_string(value);
}

template <class T>
std::string tuple(const std::vector<T>& values) {
  return fmt::format("({}{})", fmt::join(values, ", "), values.size() == 1 ? "," : "");
}

// Names that Python or the text itself needs.
bool is_reserved(const std::string& name) {
  static const std::unordered_set<std::string> reserved = {
      "False", "None",     "True",  "and",    "as",   "assert", "async",  "await",    "break",
      "class", "continue", "def",   "del",    "elif", "else",   "except", "finally",  "for",
      "from",  "global",   "if",    "import", "in",   "is",     "lambda", "nonlocal", "not",
      "or",    "pass",     "raise", "return", "try",  "while",  "with",   "yield",    "mx"};
  return reserved.count(name) > 0;
}

class PythonText {
 public:
  explicit PythonText(const Graph& graph) : graph_(graph) { name_values(); }

  std::string run() {
    std::vector<std::string> arguments, results;
    for (const auto& input : graph_.inputs)
      arguments.push_back(fmt::format("{}: \"{}\"", of(input.value), to_string(graph_.type(input.value))));
    for (auto output : graph_.outputs)
      results.push_back(of(output));
    const std::string title = is_reserved(graph_.name) ? graph_.name + "_" : graph_.name;
    std::string text = fmt::format("def {}({}):\n", title, fmt::join(arguments, ", "));
    for (const auto& node : graph_.nodes) {
      if (is_inlined(node) || is_part_of_take(node)) continue;
      text += fmt::format("    {} = {}\n", of(node.results[0]), expression(node));
    }
    return text + fmt::format("    return {}\n", fmt::join(results, ", "));
  }

 private:
  void name_values() {
    std::set<std::string> used;
    for (const auto& value : graph_.values) {
      const bool is_number = std::isdigit(static_cast<unsigned char>(value.name[0]));
      std::string name = is_number ? "t" + value.name : value.name;
      while (is_reserved(name) || !used.insert(name).second)
        name += "_";
      names_.push_back(std::move(name));
    }
    uses_ = find_uses(graph_);
  }

  const std::string& of(ValueId v) const { return names_[v]; }

  // A scalar constant is written where it is read, when it takes its dtype from another operand there.
  bool is_inlined(const Node& node) const {
    if (node.op != Op::constant) return false;
    const ValueId v = node.results[0];
    if (!is_weak(v) || uses_.is_output[v]) return false;
    for (auto reader : uses_.readers[v]) {
      if (!takes_weak(graph_.nodes[reader])) return false;
    }
    return true;
  }

  // MLX gives a Python number the dtype of the array it meets: a float one beside floats, an int one beside
  // integers.
  bool is_weak(ValueId v) const {
    const Node* node = graph_.producer(v);
    const TensorType& type = graph_.type(v);
    if (!node || node->op != Op::constant || type.rank() != 0) return false;
    const auto* value = node->attributes.find("value");
    if (std::holds_alternative<double>(*value)) return is_floating(type.dtype) && type.dtype != Dtype::f64;
    return std::holds_alternative<int64_t>(*value) && type.dtype == Dtype::i32;
  }

  bool takes_weak(const Node& node) const {
    if (node.op == Op::pad) return !is_weak(node.operands[0]);
    if (class_of(node.op) != OpClass::elementwise || node.operands.size() < 2) return false;
    if (node.attributes.get_or("nan_equal", false)) return false;  // mx.isnan() wants an array
    for (size_t i = node.op == Op::select ? 1 : 0; i < node.operands.size(); ++i) {
      if (!is_weak(node.operands[i])) return true;
    }
    return false;
  }

  // mx.take() leaves the axis of the index out, where a gather keeps it with size 1: the two nodes are one
  // call.
  const Node* taken_by(const Node& reshape) const {
    const Node* gather = reshape.op == Op::reshape ? graph_.producer(reshape.operands[0]) : nullptr;
    return gather && gather->op == Op::gather && is_part_of_take(*gather) ? gather : nullptr;
  }

  bool is_part_of_take(const Node& gather) const {
    if (gather.op != Op::gather) return false;
    const ValueId v = gather.results[0];
    if (uses_.is_output[v] || uses_.readers[v].size() != 1) return false;
    const Node& reader = graph_.nodes[uses_.readers[v][0]];
    return reader.op == Op::reshape && graph_.type(reader.results[0]).shape == shape_of_take(gather);
  }

  Shape shape_of_take(const Node& gather) const {
    Shape shape = graph_.type(gather.results[0]).shape;
    shape.erase(shape.begin() + graph_.type(gather.operands[1]).rank());
    return shape;
  }

  std::string operand(const Node& node, size_t i) const {
    const ValueId v = node.operands[i];
    const Node* producer = graph_.producer(v);
    return producer && is_inlined(*producer) ? scalar(*producer, graph_.type(v).dtype) : of(v);
  }

  std::string scalar(const Node& constant, Dtype dtype) const {
    const auto* value = constant.attributes.find("value");
    if (auto* real = std::get_if<double>(value)) return python_number(round_to(dtype, *real));
    if (auto* integer = std::get_if<int64_t>(value)) return python_integer(*integer, dtype);
    return std::get<bool>(*value) ? "True" : "False";
  }

  std::string operands(const Node& node) const {
    std::vector<std::string> all;
    for (size_t i = 0; i < node.operands.size(); ++i)
      all.push_back(operand(node, i));
    return fmt::format("{}", fmt::join(all, ", "));
  }

  std::string call(const Node& node, const std::string& more = "") const {
    return fmt::format("mx.{}({}{})", mlx_function(node.op), operands(node), more);
  }

  std::string expression(const Node& node) const {
    switch (class_of(node.op)) {
      case OpClass::elementwise:
        return elementwise(node);
      case OpClass::reduction:
        return reduction(node);
      case OpClass::composite:
        return composite(node);
      case OpClass::view:
        return view(node);
      case OpClass::source:
        return source(node);
      case OpClass::scan:
        return scan(node);
      default:
        break;
    }
    switch (node.op) {
      case Op::concatenate:
        return fmt::format(
            "mx.concatenate([{}], axis={})", operands(node), node.attributes.get<int64_t>("axis"));
      case Op::gather_axis:
        return fmt::format(
            "mx.take_along_axis({}, axis={})", operands(node), node.attributes.get<int64_t>("axis"));
      case Op::matmul:
        return call(node);
      case Op::pad:
        return pad(node);
      case Op::gather:
        return fmt::format("mx.expand_dims({}, {})", take(node), graph_.type(node.operands[1]).rank());
      case Op::addmm:
        return fmt::format(
            "mx.addmm({}, {}, {}, alpha={}, beta={})",
            operand(node, 2),
            operand(node, 0),
            operand(node, 1),
            python_number(node.attributes.get<double>("alpha")),
            python_number(node.attributes.get<double>("beta")));
      case Op::sort:
      case Op::arg_sort:
        return call(node, fmt::format(", axis={}", node.attributes.get<int64_t>("axis")));
      default:
        throw InternalError("[mlx_python] no text for '" + std::string(name(node.op)) + "'");
    }
  }

  std::string take(const Node& gather) const { return fmt::format("mx.take({}, axis=0)", operands(gather)); }

  std::string pad(const Node& node) const {
    const auto& axes = node.attributes.get<std::vector<int64_t>>("axes");
    const auto& low = node.attributes.get<std::vector<int64_t>>("low");
    const auto& high = node.attributes.get<std::vector<int64_t>>("high");
    std::vector<std::string> widths(graph_.type(node.operands[0]).shape.size(), "(0, 0)");
    for (size_t k = 0; k < axes.size(); ++k)
      widths[static_cast<size_t>(axes[k])] = fmt::format("({}, {})", low[k], high[k]);
    return fmt::format(
        "mx.pad({}, [{}], constant_values={})", operand(node, 0), fmt::join(widths, ", "), operand(node, 1));
  }

  std::string elementwise(const Node& node) const {
    const TensorType& type = graph_.type(node.results[0]);
    if (node.op == Op::cast) return fmt::format("{}.astype({})", operand(node, 0), mlx_dtype(type.dtype));
    if (node.op == Op::equal && node.attributes.get_or("nan_equal", false)) {
      const std::string a = operand(node, 0), b = operand(node, 1);
      return fmt::format(
          "mx.logical_or(mx.equal({0}, {1}), mx.logical_and(mx.isnan({0}), mx.isnan({1})))", a, b);
    }
    // mx.divide would convert integers to floats.
    if (node.op == Op::div && is_integer(type.dtype))
      return fmt::format("mx.floor_divide({})", operands(node));
    return call(node);
  }

  std::string keepdims(const Node& node) const {
    return node.attributes.get_or("keepdims", false) ? ", keepdims=True" : "";
  }

  static std::string axis_text(const std::vector<int64_t>& axes) {
    return axes.size() == 1 ? std::to_string(axes[0]) : tuple(axes);
  }

  std::string reduction(const Node& node) const {
    const auto* axis = node.attributes.find("axis");
    const std::string where = axis ? std::to_string(std::get<int64_t>(*axis))
                                   : axis_text(node.attributes.get<std::vector<int64_t>>("axes"));
    return call(node, fmt::format(", axis={}{}", where, keepdims(node)));
  }

  std::string scan(const Node& node) const {
    return call(
        node,
        fmt::format(
            ", axis={}{}{}",
            node.attributes.get<int64_t>("axis"),
            node.attributes.get_or("reverse", false) ? ", reverse=True" : "",
            node.attributes.get_or("inclusive", true) ? "" : ", inclusive=False"));
  }

  std::string composite(const Node& node) const {
    const std::string x = operand(node, 0);
    switch (node.op) {
      case Op::softmax:
        return call(node, node.attributes.get_or("precise", false) ? ", axis=-1, precise=True" : ", axis=-1");
      case Op::logsumexp:
        return call(node, ", axis=-1, keepdims=True");
      case Op::log_softmax:
        return fmt::format("mx.subtract({0}, mx.logsumexp({0}, axis=-1, keepdims=True))", x);
      default:
        break;
    }
    const auto ddof = node.attributes.get_or<int64_t>("ddof", 0);
    const std::string freedom = ddof ? fmt::format(", ddof={}", ddof) : "";
    const std::string axes = axis_text(node.attributes.get<std::vector<int64_t>>("axes"));
    return call(node, fmt::format(", axis={}{}{}", axes, keepdims(node), freedom));
  }

  std::string view(const Node& node) const {
    const Shape& to = graph_.type(node.results[0]).shape;
    switch (node.op) {
      case Op::broadcast:
        return fmt::format("mx.broadcast_to({}, {})", operand(node, 0), tuple(to));
      case Op::reshape:
        if (const Node* gather = taken_by(node)) return take(*gather);
        return fmt::format("mx.reshape({}, {})", operand(node, 0), tuple(to));
      case Op::transpose:
        return fmt::format(
            "mx.transpose({}, {})",
            operand(node, 0),
            tuple(node.attributes.get<std::vector<int64_t>>("axes")));
      default:
        return slice(node);
    }
  }

  std::string slice(const Node& node) const {
    const auto& start = node.attributes.get<std::vector<int64_t>>("start");
    const auto& stop = node.attributes.get<std::vector<int64_t>>("stop");
    const auto& strides = node.attributes.get<std::vector<int64_t>>("strides");
    std::vector<std::string> parts;
    for (size_t d = 0; d < start.size(); ++d) {
      const bool is_unit = strides[d] == 1;
      parts.push_back(
          is_unit ? fmt::format("{}:{}", start[d], stop[d])
                  : fmt::format("{}:{}:{}", start[d], stop[d], strides[d]));
    }
    return parts.empty() ? operand(node, 0) : fmt::format("{}[{}]", operand(node, 0), fmt::join(parts, ", "));
  }

  std::string source(const Node& node) const {
    const TensorType& type = graph_.type(node.results[0]);
    const char* dtype = mlx_dtype(type.dtype);
    if (node.op == Op::full)
      return fmt::format("mx.broadcast_to({}, {})", operand(node, 0), tuple(type.shape));
    if (node.op == Op::arange) return arange(node, type);
    const auto* value = node.attributes.find("value");
    std::vector<std::string> elements;
    if (auto* reals = std::get_if<std::vector<double>>(value)) {
      for (double x : *reals)
        elements.push_back(python_number(round_to(type.dtype, x)));
    } else if (auto* integers = std::get_if<std::vector<int64_t>>(value)) {
      for (int64_t x : *integers)
        elements.push_back(python_integer(x, type.dtype));
    } else {
      const std::string one = scalar(node, type.dtype);
      if (type.rank() == 0) return fmt::format("mx.array({}, {})", one, dtype);
      return fmt::format("mx.full({}, {}, {})", tuple(type.shape), one, dtype);
    }
    const std::string list = fmt::format("mx.array([{}], {})", fmt::join(elements, ", "), dtype);
    return type.rank() == 1 ? list : fmt::format("mx.reshape({}, {})", list, tuple(type.shape));
  }

  // The end lies half a step before the next element, out of reach of rounding.
  std::string arange(const Node& node, const TensorType& type) const {
    const double start = node.attributes.get<double>("start"), step = node.attributes.get<double>("step");
    const double stop = start + (static_cast<double>(type.elements()) - 0.5) * step;
    return fmt::format(
        "mx.arange({}, {}, {}, {})",
        python_number(start),
        python_number(type.elements() == 0 ? start : stop),
        python_number(step),
        mlx_dtype(type.dtype));
  }

  const Graph& graph_;
  Uses uses_;
  std::vector<std::string> names_;
};

}  // namespace

namespace {

// Whole rows, one for each index: what mx.take() along the first axis does.
bool takes_rows(const Graph& graph, const Node& gather) {
  const auto& shape = graph.type(gather.operands[0]).shape;
  Shape rows = shape;
  if (!rows.empty()) rows[0] = 1;
  return gather.attributes.get<std::vector<int64_t>>("axes") == std::vector<int64_t>{0} &&
         gather.attributes.get<Shape>("sizes") == rows;
}

bool has_python(const Graph& graph, const Node& node) {
  if (node.results.size() != 1) return false;
  switch (node.op) {
    case Op::gather:
      return takes_rows(graph, node);
    case Op::concatenate:
    case Op::gather_axis:
    case Op::matmul:
    case Op::addmm:
    case Op::pad:
    case Op::sort:
    case Op::arg_sort:
    case Op::softmax:
    case Op::log_softmax:
    case Op::logsumexp:
    case Op::mean:
    case Op::var:
    case Op::std:
      return true;
    case Op::constant:
      return graph.type(node.results[0]).dtype != Dtype::c64;
    default:
      break;
  }
  switch (class_of(node.op)) {
    case OpClass::elementwise:
    case OpClass::reduction:
    case OpClass::scan:
    case OpClass::view:
    case OpClass::source:
      return true;
    default:
      return false;
  }
}

}  // namespace

Status check_mlx_python(const Graph& graph) {
  std::vector<Diagnostic> errors;
  for (const auto& node : graph.nodes) {
    if (has_python(graph, node)) continue;
    auto message = fmt::format("'{}' has no text as one call of mlx.core", name(node.op));
    errors.push_back({"python", "no-text", std::move(message), node.where, "canonicalize the graph first"});
  }
  if (!errors.empty()) return errors;
  return Success{};
}

std::string to_mlx_python(const Graph& graph) {
  return PythonText(graph).run();
}

}  // namespace autoperfect
