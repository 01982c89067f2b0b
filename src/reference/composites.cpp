#include "reference/composites.h"

#include <algorithm>
#include <cmath>

#include "reference/reduce.h"
#include "support/result.h"

namespace autoperfect {

namespace {

// Arithmetic of one dtype: each step rounds to it, or, for the oracle, none does.
struct Arithmetic {
  Dtype dtype;
  Precision precision;

  double operator()(double value) const {
    return precision == Precision::exact ? round_to(dtype, value) : value;
  }
  double reduce(Op op, const std::vector<double>& elements) const {
    Reduction reduction(op, dtype, dtype, Dtype::f32, precision);
    for (double x : elements)
      reduction.add({x, 0});
    return reduction.result().real;
  }
};

using Row = std::vector<double>;

// Calls `visit` with the elements of each row: the run over `axes` (ascending) at each position of the
// others.
template <class Visit>
void for_each_row(const Array& array, const std::vector<int64_t>& axes, Visit&& visit) {
  const auto strides = row_major_strides(array.type.shape);
  Shape kept, reduced;
  Walk over_kept, over_reduced;
  for (size_t d = 0; d < strides.size(); ++d) {
    const bool is_reduced = std::find(axes.begin(), axes.end(), static_cast<int64_t>(d)) != axes.end();
    (is_reduced ? reduced : kept).push_back(array.type.shape[d]);
    (is_reduced ? over_reduced : over_kept).strides.push_back(strides[d]);
  }
  for_each_position(kept, [&](const std::vector<int64_t>& outer) {
    Row row;
    for_each_position(reduced, [&](const std::vector<int64_t>& inner) {
      row.push_back(array.reals[over_kept.at(outer) + over_reduced.at(inner)]);
    });
    visit(row);
  });
}

// exp(x - max) and their sum. MLX then multiplies by the reciprocal of the sum.
Row softmax(const Row& row, const Arithmetic& round) {
  const double highest = round.reduce(Op::max, row);
  Row powers;
  for (double x : row)
    powers.push_back(round(std::exp(round(x - highest))));
  const double scale = round(1 / round.reduce(Op::sum, powers));
  for (double& power : powers)
    power = round(power * scale);
  return powers;
}

double logsumexp(const Row& row, const Arithmetic& round) {
  const double highest = round.reduce(Op::max, row);
  if (std::isinf(highest)) return highest;
  Row powers;
  for (double x : row)
    powers.push_back(round(std::exp(round(x - highest))));
  return round(round(std::log(round.reduce(Op::sum, powers))) + highest);
}

double var(const Row& row, double mean, int64_t ddof, const Arithmetic& round) {
  const double n = static_cast<double>(row.size());
  Row squares;
  for (double x : row) {
    const double difference = round(x - mean);
    squares.push_back(round(difference * difference));
  }
  const double sum = round.reduce(Op::sum, squares);
  if (ddof == 0) return round(sum * round(1 / n));
  return round(sum / std::max(round(round(n) - round(static_cast<double>(ddof))), 0.0));
}

// MLX sums integers as integers, and converts the sum.
Array mean(const Node& node, const Array& operand, const TensorType& result, Precision precision) {
  Node sum;
  sum.op = Op::sum;
  sum.attributes.set("axes", node.attributes.get<std::vector<int64_t>>("axes"));
  sum.attributes.set("keepdims", node.attributes.get_or("keepdims", false));
  const auto type = infer_types(Op::sum, {operand.type}, sum.attributes);
  if (!type) throw InternalError("[reference] " + format(type.errors()));
  Array out = converted(reduce(sum, operand, (*type)[0], Dtype::f32, precision), result.dtype, precision);
  double n = 1;
  for (auto axis : sum.attributes.get<std::vector<int64_t>>("axes"))
    n *= static_cast<double>(operand.type.shape[axis]);
  const Arithmetic round{result.dtype, precision};
  for (double& x : out.reals)
    x = round(x * round(1 / n));
  return out;
}

Array deviation(const Node& node, const Array& operand, const TensorType& result, Precision precision) {
  const int64_t ddof = node.attributes.get_or<int64_t>("ddof", 0);
  const Arithmetic round{result.dtype, precision};
  const Array means = mean(node, operand, result, precision);
  Array out(result);
  int64_t element = 0;
  const auto& axes = node.attributes.get<std::vector<int64_t>>("axes");
  for_each_row(converted(operand, result.dtype, precision), axes, [&](const Row& row) {
    const double variance = var(row, means.reals[element], ddof, round);
    out.reals[element++] = node.op == Op::std ? round(std::sqrt(variance)) : variance;
  });
  return out;
}

// Over the last axis. `inside` is the dtype MLX computes in.
Array over_last_axis(const Node& node, const Array& operand, const TensorType& result, Precision precision) {
  const bool halves_widen = node.op != Op::softmax || node.attributes.get_or("precise", false);
  const Dtype inside = is_half(result.dtype) && halves_widen ? Dtype::f32 : result.dtype;
  const Arithmetic round{inside, precision}, narrow{result.dtype, precision};
  const Array in = converted(converted(operand, result.dtype, precision), inside, precision);
  Array out(result);
  int64_t element = 0;
  for_each_row(in, {static_cast<int64_t>(operand.type.rank()) - 1}, [&](const Row& row) {
    if (node.op == Op::softmax) {
      for (double x : softmax(row, round))
        out.reals[element++] = narrow(x);
      return;
    }
    const double total = narrow(logsumexp(row, round));
    if (node.op == Op::logsumexp) {
      out.reals[element++] = total;
    } else {
      for (double x : row)
        out.reals[element++] = narrow(x - total);
    }
  });
  return out;
}

}  // namespace

bool is_known_composite(Op op) {
  switch (op) {
    case Op::softmax:
    case Op::log_softmax:
    case Op::logsumexp:
    case Op::mean:
    case Op::var:
    case Op::std:
      return true;
    default:
      return false;
  }
}

Array run_composite(const Node& node, const Array& operand, const TensorType& result, Precision precision) {
  switch (node.op) {
    case Op::mean:
      return mean(node, operand, result, precision);
    case Op::var:
    case Op::std:
      return deviation(node, operand, result, precision);
    default:
      return over_last_axis(node, operand, result, precision);
  }
}

}  // namespace autoperfect
