#include "lower/statements.h"

#include <algorithm>

#include "fuse/legal.h"
#include "lower/statement_writer.h"

namespace autoperfect {
namespace {

const char* axis_names[] = {"i", "j", "k", "l", "m", "n", "p", "q"};

std::string axis_name(size_t axis) {
  return axis < std::size(axis_names) ? axis_names[axis] : "a" + std::to_string(axis);
}

std::vector<Affine> store_map(const IndexMap& map) {
  std::vector<Affine> store;
  for (auto& index : map)
    store.push_back(index.affine);
  return store;
}

}  // namespace

StatementWriter::StatementWriter(const Graph& graph, const Region& region, const Trace& trace)
    : graph_(graph), region_(region), trace_(trace) {}

void StatementWriter::add_buffer(ValueId v, BufferRole role) {
  if (role == BufferRole::in) input_[v] = static_cast<BufferId>(kernel_.buffers.size());
  Buffer buffer{graph_.values[v].name, role, graph_.type(v), {}};
  buffer.dynamic_dims.assign(buffer.type.shape.size(), -1);
  names_.insert(buffer.name);
  kernel_.buffers.push_back(std::move(buffer));
}

std::string StatementWriter::fresh_name(const std::string& wanted) {
  std::string name = wanted;
  for (int n = 2; !names_.insert(name).second; ++n)
    name = wanted + "_" + std::to_string(n);
  return name;
}

KernelOperand StatementWriter::push(KernelValue value) {
  if (node_ >= 0) {
    value.nodes = {node_};
    value.where.line = graph_.nodes[node_].where.line;
  }
  kernel_.values.push_back(std::move(value));
  KernelOperand self;
  self.id = static_cast<int32_t>(kernel_.values.size()) - 1;
  return self;
}

KernelOperand StatementWriter::emit(
    const std::string& name,
    Op op,
    Dtype dtype,
    std::vector<AxisId> axes,
    std::vector<KernelOperand> operands) {
  KernelValue value;
  value.name = fresh_name(name);
  value.op = op;
  value.dtype = dtype;
  value.axes = std::move(axes);
  value.operands = std::move(operands);
  return push(std::move(value));
}

Kernel StatementWriter::run() {
  kernel_.name = region_.outputs.empty() ? "region" : graph_.values[region_.outputs[0]].name;
  for (size_t a = 0; a < trace_.sizes.size(); ++a)
    kernel_.axes.push_back({axis_name(a), trace_.sizes[a], false});
  for (ValueId v : region_.inputs)
    add_buffer(v, BufferRole::in);
  for (ValueId v : region_.outputs)
    add_buffer(v, BufferRole::out);
  written_.resize(trace_.instances.size());
  for (auto& instance : trace_.instances)
    write(instance);
  return std::move(kernel_);
}

void StatementWriter::write(const Instance& instance) {
  const Node& node = graph_.nodes[instance.node];
  ValueId result = node.results[0];
  node_ = instance.node;
  size_t place = static_cast<size_t>(&instance - trace_.instances.data());
  bool gathers = node.op == Op::gather_axis || node.op == Op::gather;
  if ((gathers || node.op == Op::copy || node.op == Op::stop_gradient) && !instance.stored) {
    KernelOperand same = operand(instance.operands[0]);
    if (same.kind == KernelOperand::Kind::value || gathers) {
      written_[place] = same;
      return;
    }
  }
  KernelValue value;
  value.op = instance.op;
  value.dtype = graph_.type(result).dtype;
  value.axes = instance.axes;
  value.reduced = instance.reduced;
  value.scanned = instance.scanned;
  if (instance.stored) {
    auto output = std::find(region_.outputs.begin(), region_.outputs.end(), result);
    value.name = graph_.values[result].name;
    value.output =
        static_cast<BufferId>(region_.inputs.size() + static_cast<size_t>(output - region_.outputs.begin()));
    value.store = store_map(instance.map);
  }
  switch (node.op) {
    case Op::concatenate:
      return write_concatenate(instance, std::move(value));
    case Op::pad:
      return write_pad(instance, std::move(value));
    case Op::slice_update:
      return write_slice_update(instance, std::move(value));
    case Op::scatter:
    case Op::scatter_axis:
      return write_scatter(instance, std::move(value));
    case Op::addmm:
      return write_contraction(instance, std::move(value));
    default:
      return write_plain(instance, std::move(value));
  }
}

void StatementWriter::finish(const Instance& instance, KernelValue value) {
  if (value.output < 0) value.name = fresh_name(graph_.values[graph_.nodes[instance.node].results[0]].name);
  written_[static_cast<size_t>(&instance - trace_.instances.data())] = push(std::move(value));
}

void StatementWriter::write_plain(const Instance& instance, KernelValue value) {
  const Node& node = graph_.nodes[instance.node];
  if (node.op == Op::stop_gradient || class_of(node.op) == OpClass::indexing) value.op = Op::copy;
  for (int d : instance.operands)
    value.operands.push_back(operand(d));
  auto op_class = class_of(instance.op);
  if (op_class == OpClass::reduction || op_class == OpClass::scan || op_class == OpClass::gemm) {
    for (size_t i = 0; i < value.operands.size(); ++i)
      if (value.operands[i].kind == KernelOperand::Kind::literal)
        value.operands[i] = named(instance.operands[i]);
  }
  // Which of two truths is larger is a question of numbers.
  bool argument = instance.op == Op::argmax || instance.op == Op::argmin;
  if (argument && graph_.type(node.operands[0]).dtype == Dtype::bool_) {
    auto axes = value.axes;
    axes.insert(axes.end(), value.reduced.begin(), value.reduced.end());
    std::sort(axes.begin(), axes.end());
    value.operands[0] = emit("number", Op::cast, Dtype::u8, std::move(axes), {value.operands[0]});
  }
  if (instance.op == node.op && (op_class == OpClass::elementwise || op_class == OpClass::scan)) {
    value.attributes = node.attributes;
    for (const char* shape_only : {"dtype", "shape", "axis"})
      value.attributes.erase(shape_only);
  }
  finish(instance, std::move(value));
}

Kernel write_statements(const Graph& graph, const Region& region, const Trace& trace) {
  return StatementWriter(graph, region, trace).run();
}

}  // namespace autoperfect
