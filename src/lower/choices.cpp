// Ops that take one operand or another by position, and addmm: a node that is several values of a kernel.
#include <algorithm>

#include "fuse/legal.h"
#include "ir/affine.h"
#include "lower/statement_writer.h"

namespace autoperfect {

// alpha * a @ b + beta * c, each step rounded.
void StatementWriter::write_contraction(const Instance& instance, KernelValue value) {
  const Node& node = graph_.nodes[instance.node];
  const std::string& base = graph_.values[node.results[0]].name;
  double alpha = node.attributes.get<double>("alpha"), beta = node.attributes.get<double>("beta");
  KernelValue product;
  product.name = fresh_name(base + "_product");
  product.op = Op::matmul;
  product.dtype = value.dtype;
  product.axes = value.axes;
  product.reduced = value.reduced;
  for (int k : {0, 1})
    product.operands.push_back(operand(instance.operands[k]));
  KernelOperand left = push(std::move(product));
  if (alpha != 1)
    left = emit(base + "_scaled", Op::mul, value.dtype, value.axes, {left, literal_operand(alpha)});
  KernelOperand right = operand(instance.operands[2]);
  if (beta != 1) {
    KernelOperand added = named(instance.operands[2]);
    auto axes = kernel_.values[added.id].axes;
    right = emit(base + "_added", Op::mul, value.dtype, std::move(axes), {added, literal_operand(beta)});
  }
  value.op = Op::add;
  value.reduced.clear();
  value.operands = {left, right};
  finish(instance, std::move(value));
}

// A part of it, or the operand the index lies in: chosen by position where there are several.
void StatementWriter::write_concatenate(const Instance& instance, KernelValue value) {
  const Node& node = graph_.nodes[instance.node];
  auto axis = static_cast<size_t>(node.attributes.get<int64_t>("axis"));
  std::vector<std::pair<int64_t, int>> pieces;  // where each read operand ends, and its demand
  int64_t end = 0;
  for (size_t k = 0; instance.part < 0 && k < instance.operands.size(); ++k) {
    end += graph_.type(node.operands[k]).shape[axis];
    if (instance.operands[k] >= 0) pieces.push_back({end, instance.operands[k]});
  }
  if (instance.part >= 0) pieces.push_back({0, instance.operands[0]});
  value.op = Op::copy;
  std::string base = graph_.values[node.results[0]].name;
  KernelOperand chosen = operand(pieces.back().second);
  for (size_t k = pieces.size() - 1; k-- > 0;) {
    KernelOperand at = position(instance.map[axis].affine);
    KernelOperand before = emit(
        base + "_before",
        Op::less,
        Dtype::bool_,
        axes_of(instance.map[axis].affine),
        {at, literal_operand(static_cast<double>(pieces[k].first))});
    KernelOperand here = operand(pieces[k].second);
    // `select` of two literals has no dtype of its own.
    if (here.kind == KernelOperand::Kind::literal) here = named(pieces[k].second);
    std::vector<KernelOperand> operands{before, here, chosen};
    if (k == 0) {
      value.op = Op::select;
      value.operands = std::move(operands);
    } else {
      chosen = emit(base + "_rest", Op::select, value.dtype, value.axes, std::move(operands));
    }
  }
  if (value.operands.empty()) value.operands = {chosen};
  finish(instance, std::move(value));
}

// Where every index lies in the box of `shape` at `start`; a literal when that is everywhere.
KernelOperand StatementWriter::inside_of(
    const Instance& instance, const std::vector<int64_t>& start, const Shape& shape) {
  KernelOperand all = literal_operand(1);
  auto also = [&](Op op, const Affine& affine, int64_t bound) {
    KernelOperand here = emit(
        "inside",
        op,
        Dtype::bool_,
        axes_of(affine),
        {position(affine), literal_operand(static_cast<double>(bound))});
    if (all.kind == KernelOperand::Kind::literal) {
      all = here;
      return;
    }
    auto axes = kernel_.values[all.id].axes;
    for (AxisId axis : kernel_.values[here.id].axes)
      if (std::find(axes.begin(), axes.end(), axis) == axes.end()) axes.push_back(axis);
    std::sort(axes.begin(), axes.end());
    all = emit("inside", Op::logical_and, Dtype::bool_, std::move(axes), {all, here});
  };
  for (size_t d = 0; d < shape.size(); ++d) {
    const Affine& affine = instance.map[d].affine;
    if (instance.map[d].gathered >= 0) continue;
    if (!in_bounds(affine, kernel_.axes, start[d], int64_t{1} << 60))
      also(Op::greater_equal, affine, start[d]);
    if (!in_bounds(affine, kernel_.axes, -(int64_t{1} << 60), start[d] + shape[d]))
      also(Op::less, affine, start[d] + shape[d]);
  }
  return all;
}

// Where nothing else is in question.
void StatementWriter::write_copy(const Instance& instance, KernelValue value, int demand) {
  value.op = Op::copy;
  value.operands = {operand(demand)};
  finish(instance, std::move(value));
}

void StatementWriter::write_choice(
    const Instance& instance,
    KernelValue value,
    const std::vector<int64_t>& start,
    int inside,
    int outside,
    const Shape& shape) {
  KernelOperand here = inside_of(instance, start, shape);
  if (here.kind == KernelOperand::Kind::literal) return write_copy(instance, std::move(value), inside);
  KernelOperand chosen = operand(inside), other = operand(outside);
  bool literals = chosen.kind == KernelOperand::Kind::literal && other.kind == KernelOperand::Kind::literal;
  value.op = Op::select;
  value.operands = {here, literals ? named(inside) : chosen, other};
  finish(instance, std::move(value));
}

// The padding is the guard of the load itself, where that reads no further than to x.
void StatementWriter::write_pad(const Instance& instance, KernelValue value) {
  const Node& node = graph_.nodes[instance.node];
  auto& shape = graph_.type(node.operands[0]).shape;
  auto& axes = node.attributes.get<std::vector<int64_t>>("axes");
  auto& low = node.attributes.get<std::vector<int64_t>>("low");
  std::vector<int64_t> start(shape.size(), 0);
  for (size_t k = 0; k < axes.size(); ++k)
    start[static_cast<size_t>(axes[k])] = low[k];
  if (instance.operands[0] < 0) return write_copy(instance, std::move(value), instance.operands[1]);
  auto& x = trace_.demands[instance.operands[0]];
  KernelOperand padding = operand(instance.operands[1]);
  if (x.kind == Demand::Kind::load && x.value == node.operands[0] &&
      padding.kind == KernelOperand::Kind::literal) {
    value.op = Op::copy;
    value.operands = {operand(instance.operands[0], padding.literal)};
    return finish(instance, std::move(value));
  }
  write_choice(instance, std::move(value), start, instance.operands[0], instance.operands[1], shape);
}

void StatementWriter::write_slice_update(const Instance& instance, KernelValue value) {
  if (instance.operands[1] < 0) return write_copy(instance, std::move(value), instance.operands[0]);
  const Node& node = graph_.nodes[instance.node];
  auto& start = node.attributes.get<std::vector<int64_t>>("start");
  write_choice(
      instance,
      std::move(value),
      start,
      instance.operands[1],
      instance.operands[0],
      graph_.type(node.operands[1]).shape);
}

}  // namespace autoperfect
