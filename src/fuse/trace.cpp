#include "fuse/trace.h"

#include <algorithm>

#include "cost/weight.h"
#include "fuse/legal.h"
#include "fuse/tracer.h"

namespace autoperfect {
namespace {

// A node computed at more index maps than this is better kept in memory.
constexpr size_t most_instances = 4;
constexpr size_t most_values = 256;

}  // namespace

int Tracer::position_of(ValueId value) const {
  NodeId p = graph_.values[value].producer;
  auto at = std::lower_bound(nodes_.begin(), nodes_.end(), p);
  return at != nodes_.end() && *at == p ? static_cast<int>(at - nodes_.begin()) : -1;
}

bool Tracer::is_output(ValueId value) const {
  return std::binary_search(outputs_.begin(), outputs_.end(), value);
}

void Tracer::resolve(IndexMap& map) const {
  for (auto& index : map)
    index.affine = space_.resolve(index.affine);
}

IndexMap Tracer::fresh_map(const Shape& shape) {
  IndexMap map(shape.size());
  for (size_t d = 0; d < shape.size(); ++d)
    if (shape[d] != 1) map[d].affine.terms = {{space_.fresh(shape[d]), 1}};
  return map;
}

std::vector<AxisId> Tracer::axes_of(const IndexMap& map) const {
  std::vector<AxisId> axes;
  for (auto& index : map) {
    for (auto& term : space_.resolve(index.affine).terms)
      axes.push_back(term.first);
    if (index.gathered < 0) continue;
    auto inner = axes_of(trace_.demands[index.gathered].index);
    axes.insert(axes.end(), inner.begin(), inner.end());
  }
  std::sort(axes.begin(), axes.end());
  axes.erase(std::unique(axes.begin(), axes.end()), axes.end());
  return axes;
}

// Whether the map reaches every element of the shape exactly once.
bool Tracer::covers(const IndexMap& map, const Shape& shape) const {
  size_t terms = 0;
  for (size_t d = 0; d < map.size(); ++d) {
    if (map[d].gathered >= 0 || !space_.counts(map[d].affine, shape[d])) return false;
    terms += space_.resolve(map[d].affine).terms.size();
  }
  return axes_of(map).size() == terms;
}

// Down through views to what is computed, loaded, or written into the kernel.
int Tracer::demand(ValueId value, IndexMap map) {
  int base = position_of(base_of(graph_, value));
  size_t mark = space_.mark();
  ValueId shown = value;
  std::vector<NodeId> passed;
  while (is_view(graph_, shown)) {
    const Node& view = *graph_.producer(shown);
    auto inner = pull_back(graph_, view, map, space_);
    if (!inner) {
      if (base >= 0 || is_inlined(graph_, base_of(graph_, value)))
        refuse(std::string(name(view.op)) + " does not align with the axes of the region");
      space_.undo(mark);
      break;
    }
    map = std::move(*inner);
    passed.push_back(graph_.values[shown].producer);
    mark = space_.mark();
    shown = view.operands[0];
  }
  trace_.views.insert(trace_.views.end(), passed.begin(), passed.end());
  int position = position_of(shown);
  int id = static_cast<int>(trace_.demands.size());
  auto kind = position >= 0               ? Demand::Kind::instance
              : is_inlined(graph_, shown) ? Demand::Kind::inlined
                                          : Demand::Kind::load;
  bool gathers = std::any_of(map.begin(), map.end(), [](auto& index) { return index.gathered >= 0; });
  if (gathers && kind == Demand::Kind::inlined) refuse("a gather from an arange");
  trace_.demands.push_back({kind, shown, std::move(map), -1});
  if (position >= 0) wanted_[position].push_back(id);
  return id;
}

int Tracer::add_instance(NodeId node, IndexMap map) {
  Instance instance;
  instance.node = node;
  instance.op = graph_.nodes[node].op;
  instance.map = std::move(map);
  trace_.instances.push_back(std::move(instance));
  if (trace_.instances.size() > most_values) refuse("the kernel would hold too many values");
  return static_cast<int>(trace_.instances.size()) - 1;
}

// One value an operand, all over the same axes, when the operands have the same shape.
void Tracer::store_parts(const Node& node) {
  auto axis = static_cast<size_t>(node.attributes.get<int64_t>("axis"));
  IndexMap piece = fresh_map(graph_.type(node.operands[0]).shape);
  space_.keep_independent(axes_of(piece));
  int64_t start = 0;
  for (size_t k = 0; k < node.operands.size(); ++k) {
    IndexMap whole = piece;
    whole[axis].affine.offset = start;
    start += graph_.type(node.operands[k]).shape[axis];
    int made = add_instance(graph_.values[node.results[0]].producer, std::move(whole));
    trace_.instances[made].part = static_cast<int>(k);
    trace_.instances[made].stored = true;
    add_operand(made, node.operands[k], piece);
  }
}

void Tracer::store(size_t n, std::vector<int>& made) {
  ValueId value = graph_.nodes[nodes_[n]].results[0];
  auto& shape = graph_.type(value).shape;
  IndexMap map;
  auto whole = std::find_if(
      wanted_[n].begin(), wanted_[n].end(), [&](int d) { return covers(trace_.demands[d].index, shape); });
  map = whole != wanted_[n].end() ? trace_.demands[*whole].index : fresh_map(shape);
  space_.keep_independent(axes_of(map));
  made.push_back(add_instance(nodes_[n], std::move(map)));
  trace_.instances[made.back()].stored = true;
}

std::string Tracer::why_not_twice(const Node& node, const std::vector<int>& made) const {
  std::string what = "%" + graph_.values[node.results[0]].name;
  if (class_of(node.op) != OpClass::elementwise && class_of(node.op) != OpClass::indexing)
    return what + " is read along different axes and is no elementwise op to compute again";
  int64_t elements = 0;
  for (int i : made) {
    int64_t box = 1;
    for (AxisId axis : axes_of(trace_.instances[i].map))
      box *= space_.size(axis);
    elements += box;
  }
  if (elements <= graph_.type(node.results[0]).elements()) return "";
  if (weight_of(node.op) > Weight::light)
    return what + " is read along different axes and too dear to compute again";
  if (made.size() > most_instances) return what + " is read along too many different axes";
  return "";
}

void Tracer::visit(size_t n) {
  const Node& node = graph_.nodes[nodes_[n]];
  ValueId value = node.results[0];
  std::vector<int> made;
  if (is_output(value)) {
    bool parts = node.op == Op::concatenate && wanted_[n].empty();
    for (ValueId operand : node.operands)
      parts &= graph_.type(operand).shape == graph_.type(node.operands[0]).shape;
    if (parts) return store_parts(node);
    store(n, made);
  }
  for (int d : wanted_[n]) {
    auto same = std::find_if(made.begin(), made.end(), [&](int i) {
      return space_.unify(trace_.instances[i].map, trace_.demands[d].index);
    });
    if (same == made.end()) {
      made.push_back(add_instance(nodes_[n], trace_.demands[d].index));
      same = made.end() - 1;
    }
    trace_.demands[d].instance = *same;
  }
  if (made.size() > 1)
    if (auto why = why_not_twice(node, made); !why.empty()) return refuse(why);
  for (int i : made)
    expand(i);
}

std::variant<Trace, Refusal> Tracer::run() {
  for (size_t n = nodes_.size(); n-- > 0 && refusal_.empty();)
    visit(n);
  for (auto step :
       {&Tracer::share_loads,
        &Tracer::share_loops,
        static_cast<void (Tracer::*)()>(&Tracer::resolve),
        &Tracer::order_instances,
        &Tracer::check_mixture,
        &Tracer::number_axes,
        &Tracer::find_inputs,
        &Tracer::find_kind})
    if (refusal_.empty()) (this->*step)();
  if (!refusal_.empty()) return Refusal{std::move(refusal_)};
  return std::move(trace_);
}

std::variant<Trace, Refusal> trace(
    const Graph& graph, const std::vector<NodeId>& nodes, const std::vector<ValueId>& outputs) {
  return Tracer(graph, nodes, outputs).run();
}

}  // namespace autoperfect
