// From index maps to one nest of loops: which axes are the same loop, in which order, and what kind of kernel
// that makes.
#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "fuse/legal.h"
#include "fuse/tracer.h"
#include "ir/shape.h"

namespace autoperfect {
namespace {

bool reduces(const Instance& instance) {
  return class_of(instance.op) == OpClass::reduction;
}

std::vector<AxisId> union_of(const std::vector<AxisId>& a, const std::vector<AxisId>& b) {
  std::vector<AxisId> both;
  std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
  return both;
}

}  // namespace

// What is read in one order twice is read in one loop. The largest first: it should be read once.
void Tracer::share_loads() {
  std::map<ValueId, std::vector<int>> loads;
  for (size_t d = 0; d < trace_.demands.size(); ++d)
    if (trace_.demands[d].kind == Demand::Kind::load)
      loads[trace_.demands[d].value].push_back(static_cast<int>(d));
  std::vector<ValueId> order;
  for (auto& [value, demands] : loads)
    if (demands.size() > 1) order.push_back(value);
  std::stable_sort(order.begin(), order.end(), [&](ValueId a, ValueId b) {
    return graph_.type(a).bytes() > graph_.type(b).bytes();
  });
  for (ValueId value : order) {
    std::vector<int> distinct;
    for (int d : loads[value]) {
      bool known = std::any_of(distinct.begin(), distinct.end(), [&](int other) {
        return space_.unify(trace_.demands[other].index, trace_.demands[d].index);
      });
      if (!known) distinct.push_back(d);
    }
  }
}

// A reduced axis is a bound name: reductions of different tensors over axes of the same sizes run in one
// loop. Outputs of one shape share theirs as well, however they are computed.
void Tracer::share_loops() {
  const Instance* first = nullptr;
  const Instance* widest = nullptr;
  for (auto& instance : trace_.instances) {
    if (reduces(instance) && (!first || instance.node < first->node)) first = &instance;
    if (instance.stored && (!widest || axes_of(instance.map).size() > axes_of(widest->map).size()))
      widest = &instance;
  }
  auto affines = [](const std::vector<AxisId>& axes) {
    IndexMap numbers;
    for (AxisId axis : axes)
      numbers.push_back({{0, {{axis, 1}}}, -1});
    return numbers;
  };
  for (auto& instance : trace_.instances) {
    if (reduces(instance)) space_.unify(affines(first->reduced), affines(instance.reduced));
    auto shape = [&](const Instance& i) { return graph_.type(graph_.nodes[i.node].results[0]).shape; };
    if (instance.stored && shape(instance) == shape(*widest)) space_.unify(widest->map, instance.map);
  }
  // What is made from a reduction, over an axis of the same size as the reduced one, is a second sweep.
  for (AxisId axis : first&& widest ? first->reduced : std::vector<AxisId>{}) {
    if (!space_.is_live(axis)) continue;
    auto outer = axes_of(widest->map);
    for (size_t k = outer.size(); k-- > 0;)
      if (outer[k] != axis && space_.size(outer[k]) == space_.size(axis) &&
          space_.unify(affines({outer[k]}), affines({axis})))
        break;
  }
}

void Tracer::resolve() {
  for (auto& demand : trace_.demands)
    resolve(demand.index);
  std::map<NodeId, std::vector<int>> made;
  std::vector<int> same(trace_.instances.size());
  for (size_t i = 0; i < trace_.instances.size(); ++i) {
    auto& instance = trace_.instances[i];
    resolve(instance.map);
    instance.axes = axes_of(instance.map);
    std::vector<AxisId> reduced;
    for (AxisId axis : instance.reduced)
      for (auto& term : space_.resolve({0, {{axis, 1}}}).terms)
        reduced.push_back(term.first);
    std::sort(reduced.begin(), reduced.end());
    instance.reduced = std::move(reduced);
    if (instance.scanned >= 0) instance.scanned = space_.resolve({0, {{instance.scanned, 1}}}).terms[0].first;
    // What was two ways to read a value may have become one.
    auto& others = made[instance.node];
    auto twin = std::find_if(others.begin(), others.end(), [&](int o) {
      return instance.part < 0 && trace_.instances[o].part < 0 && trace_.instances[o].map == instance.map;
    });
    same[i] = twin == others.end() ? static_cast<int>(i) : *twin;
    if (twin == others.end()) others.push_back(static_cast<int>(i));
  }
  for (auto& demand : trace_.demands)
    if (demand.instance >= 0) demand.instance = same[demand.instance];
  for (size_t i = 0; i < same.size(); ++i)
    if (same[i] != static_cast<int>(i)) trace_.instances[i].node = -1;
}

// By node, but an index that is gathered by comes before what it leads to.
void Tracer::order_instances() {
  std::vector<int> by_node;
  for (size_t i = 0; i < trace_.instances.size(); ++i)
    if (trace_.instances[i].node >= 0) by_node.push_back(static_cast<int>(i));
  std::stable_sort(by_node.begin(), by_node.end(), [&](int a, int b) {
    return trace_.instances[a].node < trace_.instances[b].node;
  });
  std::vector<int> place(trace_.instances.size(), -1);
  std::vector<Instance> ordered;
  std::vector<std::pair<int, bool>> stack;
  auto push = [&](int demand, auto& self) -> void {
    if (demand < 0) return;
    auto& read = trace_.demands[demand];
    if (read.instance >= 0 && place[read.instance] < 0) stack.push_back({read.instance, false});
    for (auto& index : read.index)
      if (index.gathered >= 0) self(index.gathered, self);
  };
  for (int root : by_node) {
    stack.push_back({root, false});
    while (!stack.empty()) {
      auto [i, expanded] = stack.back();
      stack.pop_back();
      if (place[i] >= 0) continue;
      if (expanded) {
        place[i] = static_cast<int>(ordered.size());
        ordered.push_back(std::move(trace_.instances[i]));
        continue;
      }
      stack.push_back({i, true});
      for (auto it = trace_.instances[i].operands.rbegin(); it != trace_.instances[i].operands.rend(); ++it)
        push(*it, push);
      for (auto& index : trace_.instances[i].map)
        if (index.gathered >= 0) push(index.gathered, push);
    }
  }
  for (auto& demand : trace_.demands)
    if (demand.instance >= 0) demand.instance = place[demand.instance];
  trace_.instances = std::move(ordered);
}

// The axes of the last value that spans them all, outermost first; none when there is no such value.
std::vector<AxisId> Tracer::widest() const {
  std::vector<AxisId> all;
  for (auto& instance : trace_.instances)
    all = union_of(all, union_of(instance.axes, instance.reduced));
  const IndexMap* map = nullptr;
  bool computed = false;
  for (auto& instance : trace_.instances) {
    if (union_of(instance.axes, instance.reduced) != all) continue;
    bool own = instance.axes == all;
    if (own < computed) continue;
    map = own || class_of(instance.op) == OpClass::gemm ? &instance.map
                                                        : &trace_.demands[instance.operands[0]].index;
    computed = own;
  }
  std::vector<AxisId> order;
  auto note = [&](const IndexMap& indices, auto& self) -> void {
    for (auto& index : indices) {
      if (index.gathered >= 0) self(trace_.demands[index.gathered].index, self);
      auto terms = index.affine.terms;
      std::stable_sort(terms.begin(), terms.end(), [](auto& a, auto& b) {
        return std::abs(a.second) > std::abs(b.second);
      });
      for (auto& term : terms)
        if (std::find(order.begin(), order.end(), term.first) == order.end()) order.push_back(term.first);
    }
  };
  if (map) note(*map, note);
  for (AxisId axis : all)  // that a contraction reduces
    if (map && std::find(order.begin(), order.end(), axis) == order.end()) order.push_back(axis);
  return order;
}

void Tracer::number_axes() {
  auto order = widest();
  bool scalar = std::all_of(trace_.instances.begin(), trace_.instances.end(), [](const Instance& i) {
    return i.axes.empty() && i.reduced.empty();
  });
  if (order.empty() && !scalar) return refuse("no value spans all axes of the region");
  auto number = [&](AxisId axis) {
    return static_cast<AxisId>(std::find(order.begin(), order.end(), axis) - order.begin());
  };
  for (AxisId axis : order)
    trace_.sizes.push_back(space_.size(axis));
  auto renumber = [&](IndexMap& map) {
    for (auto& index : map) {
      for (auto& term : index.affine.terms)
        term.first = number(term.first);
      std::sort(index.affine.terms.begin(), index.affine.terms.end());
    }
  };
  auto renumber_axes = [&](std::vector<AxisId>& axes) {
    for (auto& axis : axes)
      axis = number(axis);
    std::sort(axes.begin(), axes.end());
  };
  for (auto& demand : trace_.demands)
    renumber(demand.index);
  trace_.reduced.assign(order.size(), false);
  for (auto& instance : trace_.instances) {
    renumber(instance.map);
    renumber_axes(instance.axes);
    renumber_axes(instance.reduced);
    if (instance.scanned >= 0) instance.scanned = number(instance.scanned);
    for (AxisId axis : instance.reduced)
      trace_.reduced[axis] = true;
  }
}

void Tracer::find_inputs() {
  auto note = [&](int demand, auto& self) -> void {
    if (demand < 0) return;
    auto& read = trace_.demands[demand];
    for (auto& index : read.index)
      if (index.gathered >= 0) self(index.gathered, self);
    if (read.kind != Demand::Kind::load) return;
    auto& inputs = trace_.inputs;
    if (std::find(inputs.begin(), inputs.end(), read.value) == inputs.end()) inputs.push_back(read.value);
  };
  for (auto& instance : trace_.instances)
    for (int operand : instance.operands)
      note(operand, note);
  auto& views = trace_.views;
  std::sort(views.begin(), views.end());
  views.erase(std::unique(views.begin(), views.end()), views.end());
}

}  // namespace autoperfect
