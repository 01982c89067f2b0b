#include "lower/lower.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "fuse/domain.h"
#include "lower/index_map.h"

namespace autoperfect {
namespace {

Dtype result_dtype(const Graph& graph, const Node& node) {
  return graph.type(node.results[0]).dtype;
}

const char* axis_names[] = {"i", "j", "k", "l", "m", "n", "p", "q"};

std::string axis_name(size_t axis) {
  return axis < std::size(axis_names) ? axis_names[axis] : "a" + std::to_string(axis);
}

KernelOperand literal(double number) {
  KernelOperand operand;
  operand.kind = KernelOperand::Kind::literal;
  operand.literal = number;
  return operand;
}

class Lowering {
 public:
  Lowering(const Graph& graph, const Region& region, const Domain& domain)
      : graph_(graph), region_(region), domain_(domain) {}

  Kernel run() {
    kernel_.name = region_.outputs.empty() ? "region" : graph_.values[region_.outputs[0]].name;
    for (size_t a = 0; a < domain_.sizes.size(); ++a)
      kernel_.axes.push_back({axis_name(a), domain_.sizes[a], false});
    for (ValueId v : region_.inputs)
      add_buffer(v, BufferRole::in);
    for (ValueId v : region_.outputs)
      add_buffer(v, BufferRole::out);
    std::set<NodeId> views(domain_.input_views.begin(), domain_.input_views.end());
    for (NodeId id : region_.nodes)
      if (!views.count(id)) add_node(graph_.nodes[id]);
    mark_dynamic();
    state_numerics();
    return std::move(kernel_);
  }

 private:
  void add_buffer(ValueId v, BufferRole role) {
    if (role == BufferRole::in) buffer_of_[v] = static_cast<BufferId>(kernel_.buffers.size());
    Buffer buffer{graph_.values[v].name, role, graph_.type(v), {}};
    buffer.dynamic_dims.assign(buffer.type.shape.size(), -1);
    kernel_.buffers.push_back(std::move(buffer));
  }
  std::vector<AxisId> axes_of(ValueId v) const {
    std::vector<AxisId> axes;
    for (int a : domain_.axes.at(v))
      if (a >= 0) axes.push_back(a);
    std::sort(axes.begin(), axes.end());
    return axes;
  }
  std::vector<Affine> store_map(ValueId v) const {
    std::vector<Affine> index;
    for (int a : domain_.axes.at(v))
      index.push_back(a < 0 ? Affine{} : Affine{0, {{a, 1}}});
    return index;
  }
  void add_node(const Node& node);
  KernelOperand operand(ValueId v);
  KernelOperand spread(ValueId v);
  KernelOperand arange_operand(ValueId arange, const Affine& position);
  void mark_dynamic();
  void state_numerics();

  const Graph& graph_;
  const Region& region_;
  const Domain& domain_;
  Kernel kernel_;
  std::map<ValueId, BufferId> buffer_of_;
  std::map<ValueId, KernelOperand> known_;
  int aranges_ = 0;  // written so far; keeps their names apart
};

// start + step * position, where the position may itself be an affine map of an axis (a view of the arange).
KernelOperand Lowering::arange_operand(ValueId arange, const Affine& position) {
  const Node& node = *graph_.producer(arange);
  double step = node.attributes.get<double>("step");
  double start = node.attributes.get<double>("start") + step * static_cast<double>(position.offset);
  if (position.terms.empty()) return literal(start);
  auto [axis, coefficient] = position.terms.at(0);
  step *= static_cast<double>(coefficient);
  KernelOperand last;
  last.kind = KernelOperand::Kind::iota;
  last.id = axis;
  auto emit = [&, axis = axis](Op op, std::vector<KernelOperand> operands, const char* suffix) {
    KernelValue value;
    value.name = graph_.values[arange].name + suffix + (aranges_ ? std::to_string(aranges_) : "");
    value.op = op;
    value.dtype = graph_.type(arange).dtype;
    value.axes = {axis};
    value.operands = std::move(operands);
    kernel_.values.push_back(std::move(value));
    last = {};
    last.id = static_cast<int32_t>(kernel_.values.size()) - 1;
  };
  // A value of its own, so that its dtype is stated.
  emit(Op::copy, {last}, "");
  if (step != 1) emit(Op::mul, {last, literal(step)}, "_scaled");
  if (start != 0) emit(Op::add, {last, literal(start)}, "_shifted");
  ++aranges_;
  return last;
}

// Through the views of inputs down to what they show: a buffer, or a source that is written into the kernel.
KernelOperand Lowering::operand(ValueId v) {
  if (auto it = known_.find(v); it != known_.end()) return it->second;
  auto is_source = [&](ValueId u) { return !buffer_of_.count(u) && is_inlined(graph_, u); };
  ValueId shown = v;
  std::vector<Affine> index;
  if (!is_source(v) || graph_.type(v).rank() > 0) index = store_map(v);
  while (!buffer_of_.count(shown) && !is_source(shown)) {
    const Node* view = graph_.producer(shown);
    if (!view || class_of(view->op) != OpClass::view)
      throw InternalError("lower: an operand is neither computed nor an input");
    index = pull_back(graph_, *view, index);
    shown = view->operands[0];
  }
  KernelOperand found;
  if (!is_source(shown)) {
    found.kind = KernelOperand::Kind::load;
    found.id = buffer_of_.at(shown);
    found.index = std::move(index);
  } else if (graph_.producer(shown)->op == Op::constant) {
    found = literal(constant_value(*graph_.producer(shown)));
  } else {
    found = arange_operand(shown, index.at(0));
  }
  return known_[v] = found;
}

// A constant as a value of its own over the axes of a broadcast: only that can be reduced.
KernelOperand Lowering::spread(ValueId v) {
  KernelValue value;
  value.name = graph_.values[v].name;
  value.dtype = graph_.type(v).dtype;
  value.axes = axes_of(v);
  value.operands = {operand(v)};
  kernel_.values.push_back(std::move(value));
  KernelOperand self;
  self.id = static_cast<int32_t>(kernel_.values.size()) - 1;
  return known_[v] = self;
}

void Lowering::add_node(const Node& node) {
  ValueId result = node.results[0];
  if (class_of(node.op) == OpClass::view || node.op == Op::copy || node.op == Op::stop_gradient) {
    KernelOperand same = operand(node.operands[0]);
    auto output = std::find(region_.outputs.begin(), region_.outputs.end(), result);
    bool plain_value = same.kind == KernelOperand::Kind::value && output == region_.outputs.end();
    if (class_of(node.op) == OpClass::view || plain_value) {
      known_[result] = same;
      return;
    }
  }
  KernelValue value;
  value.name = graph_.values[result].name;
  value.op = node.op == Op::stop_gradient ? Op::copy : node.op;
  value.dtype = result_dtype(graph_, node);
  value.axes = axes_of(result);
  for (ValueId v : node.operands)
    value.operands.push_back(operand(v));
  if (class_of(node.op) == OpClass::reduction) {
    if (value.operands[0].kind == KernelOperand::Kind::literal) value.operands[0] = spread(node.operands[0]);
    for (size_t a = 0; a < domain_.reduced.size(); ++a)
      if (domain_.reduced[a]) value.reduced.push_back(static_cast<AxisId>(a));
  } else {
    value.attributes = node.attributes;
    for (const char* shape_only : {"dtype", "shape"})
      value.attributes.erase(shape_only);
  }
  auto output = std::find(region_.outputs.begin(), region_.outputs.end(), result);
  if (output != region_.outputs.end()) {
    value.output = static_cast<BufferId>(region_.inputs.size() + (output - region_.outputs.begin()));
    value.store = store_map(result);
  }
  kernel_.values.push_back(std::move(value));
  KernelOperand self;
  self.id = static_cast<int32_t>(kernel_.values.size()) - 1;
  known_[result] = self;
}

// The outermost axis may have any size when no reduction runs over it and every buffer it indexes is indexed
// by it alone, along one whole dimension.
void Lowering::mark_dynamic() {
  if (kernel_.axes.empty() || domain_.reduced[0]) return;
  std::vector<std::pair<BufferId, size_t>> dims;
  auto admits = [&](BufferId buffer, const std::vector<Affine>& index) {
    for (size_t d = 0; d < index.size(); ++d) {
      bool uses =
          std::any_of(index[d].terms.begin(), index[d].terms.end(), [](auto& t) { return t.first == 0; });
      if (!uses) continue;
      bool whole =
          index[d] == Affine{0, {{0, 1}}} && kernel_.buffers[buffer].type.shape[d] == kernel_.axes[0].size;
      if (!whole) return false;
      dims.push_back({buffer, d});
    }
    return true;
  };
  for (auto& value : kernel_.values) {
    for (auto& operand : value.operands)
      if (operand.kind == KernelOperand::Kind::load && !admits(operand.id, operand.index)) return;
    if (value.output >= 0 && !admits(value.output, value.store)) return;
  }
  // A buffer read whole in one place and at a fixed index in another would change its meaning with the size.
  for (auto& value : kernel_.values)
    for (auto& operand : value.operands)
      if (operand.kind == KernelOperand::Kind::load)
        for (auto& [buffer, d] : dims)
          if (operand.id == buffer && !(operand.index[d] == Affine{0, {{0, 1}}})) return;
  kernel_.axes[0].dynamic = true;
  for (auto& [buffer, d] : dims)
    kernel_.buffers[buffer].dynamic_dims[d] = 0;
}

// The budget in units of the output dtype: every op on the longest chain may be an ulp off, functions four.
// What reassociated sums of ill-conditioned data lose beyond that is judged against MLX eager's own error by
// the gate.
void Lowering::state_numerics() {
  std::vector<double> depth(kernel_.values.size(), 0);
  double deepest = 0;
  for (size_t i = 0; i < kernel_.values.size(); ++i) {
    for (auto& operand : kernel_.values[i].operands)
      if (operand.kind == KernelOperand::Kind::value) depth[i] = std::max(depth[i], depth[operand.id]);
    depth[i] += 1;
    deepest = std::max(deepest, depth[i]);
  }
  kernel_.numerics.ulp = 2 + std::ceil(deepest);
}

}  // namespace

Result<Kernel> lower(const Graph& graph, const Region& region) {
  auto domain = find_domain(graph, region.nodes);
  if (auto* refusal = std::get_if<Refusal>(&domain))
    return Diagnostic{"lower", "not-legal", "the region is not one kernel: " + refusal->reason, {}, ""};
  Kernel kernel = Lowering(graph, region, std::get<Domain>(domain)).run();
  if (auto errors = verify(kernel); !errors.empty()) return errors;
  return kernel;
}

}  // namespace autoperfect
