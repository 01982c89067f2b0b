#include "fuse/domain.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <set>

namespace autoperfect {
namespace {

// Larger reductions over everything are cut at the scalar, so that all cores share the sum.
constexpr int64_t single_unit_elements = int64_t{1} << 20;

bool supported(Dtype dtype) {
  return dtype != Dtype::f64 && dtype != Dtype::c64;
}

Shape without_ones(const Shape& shape) {
  Shape kept;
  std::copy_if(shape.begin(), shape.end(), std::back_inserter(kept), [](int64_t n) { return n != 1; });
  return kept;
}

bool moves_only_ones(const Graph& graph, const Node& node) {
  return without_ones(graph.type(node.operands[0]).shape) == without_ones(graph.type(node.results[0]).shape);
}

// Union-find over (value, dimension) variables; dimensions of size 1 have none (-1).
class Unifier {
 public:
  explicit Unifier(const Graph& graph) : graph_(graph) {}

  std::vector<int>& of(ValueId value) {
    auto [it, fresh] = variables_.try_emplace(value);
    if (fresh) {
      for (int64_t size : graph_.type(value).shape) {
        it->second.push_back(size == 1 ? -1 : static_cast<int>(parents_.size()));
        if (size != 1) parents_.push_back(static_cast<int>(parents_.size()));
      }
    }
    return it->second;
  }
  int find(int v) {
    while (parents_[v] != v)
      v = parents_[v] = parents_[parents_[v]];
    return v;
  }
  void unite(int a, int b) {
    if (a < 0 || b < 0) return;
    a = find(a), b = find(b);
    parents_[std::max(a, b)] = std::min(a, b);
  }
  // The same variable in two dimensions of one value would make it a diagonal.
  bool has_diagonal() {
    for (auto& [value, dims] : variables_) {
      std::set<int> seen;
      for (int v : dims)
        if (v >= 0 && !seen.insert(find(v)).second) return true;
    }
    return false;
  }
  std::map<ValueId, std::vector<int>>& variables() { return variables_; }

 private:
  const Graph& graph_;
  std::map<ValueId, std::vector<int>> variables_;
  std::vector<int> parents_;
};

void unify_right_aligned(Unifier& unifier, ValueId narrow, ValueId wide) {
  auto a = unifier.of(narrow);
  auto b = unifier.of(wide);
  for (size_t d = 0; d < a.size(); ++d)
    unifier.unite(a[a.size() - 1 - d], b[b.size() - 1 - d]);
}

std::vector<int64_t> reduced_dims(const Node& node) {
  if (node.op == Op::argmax || node.op == Op::argmin) return {node.attributes.get<int64_t>("axis")};
  return node.attributes.get<std::vector<int64_t>>("axes");
}

void unify_reduction(Unifier& unifier, const Node& node) {
  auto in = unifier.of(node.operands[0]);
  auto out = unifier.of(node.results[0]);
  auto dims = reduced_dims(node);
  bool keep = node.attributes.get_or("keepdims", false);
  size_t o = 0;
  for (size_t d = 0; d < in.size(); ++d) {
    bool is_reduced = std::find(dims.begin(), dims.end(), static_cast<int64_t>(d)) != dims.end();
    if (is_reduced && !keep) continue;
    if (!is_reduced) unifier.unite(in[d], out[o]);
    ++o;
  }
}

void unify_reshape(Unifier& unifier, const Node& node) {
  auto in = unifier.of(node.operands[0]);
  auto out = unifier.of(node.results[0]);
  std::erase(in, -1), std::erase(out, -1);
  for (size_t d = 0; d < in.size(); ++d)
    unifier.unite(in[d], out[d]);
}

void unify_transpose(Unifier& unifier, const Node& node) {
  auto in = unifier.of(node.operands[0]);
  auto out = unifier.of(node.results[0]);
  auto& axes = node.attributes.get<std::vector<int64_t>>("axes");
  for (size_t d = 0; d < axes.size(); ++d)
    unifier.unite(in[axes[d]], out[d]);
}

void unify(Unifier& unifier, const Graph& graph, const Node& node) {
  if (class_of(node.op) == OpClass::reduction) return unify_reduction(unifier, node);
  if (node.op == Op::reshape) return unify_reshape(unifier, node);
  if (node.op == Op::transpose) return unify_transpose(unifier, node);
  for (ValueId operand : node.operands)
    if (!is_inlined(graph, operand) || graph.type(operand).rank() > 0)
      unify_right_aligned(unifier, operand, node.results[0]);
}

// Everything find_domain works on.
struct Search {
  const Graph& graph;
  const std::vector<NodeId>& nodes;
  Unifier unifier;
  std::set<NodeId> member;
  std::set<NodeId> input_views;
  std::vector<int> roots;  // axis -> variable root
  Domain domain;

  Search(const Graph& g, const std::vector<NodeId>& n)
      : graph(g), nodes(n), unifier(g), member(n.begin(), n.end()) {}

  bool computed(ValueId v) const {
    NodeId p = graph.values[v].producer;
    return p >= 0 && member.count(p) && !input_views.count(p);
  }
  std::string unify_all();
  void share_reduced_axes();
  std::string order_axes();
  std::string find_reduced();
  std::string find_kind();
  int axis_of(int variable) {
    auto it = std::find(roots.begin(), roots.end(), unifier.find(variable));
    return static_cast<int>(it - roots.begin());
  }
};

std::string Search::unify_all() {
  for (NodeId id : nodes) {
    const Node& node = graph.nodes[id];
    bool view = class_of(node.op) == OpClass::view;
    if (view && !computed(node.operands[0])) {
      if (node.op == Op::reshape && !moves_only_ones(graph, node)) return "reshape splits or merges axes";
      input_views.insert(id);  // gets axes when something computed reads it
      continue;
    }
    if (node.op == Op::slice) return "slice of a value computed in the region";
    if (node.op == Op::reshape && !moves_only_ones(graph, node)) return "reshape splits or merges axes";
    unify(unifier, graph, node);
  }
  share_reduced_axes();
  if (unifier.has_diagonal()) return "one axis would run along two dimensions of a value";
  return "";
}

// A reduced axis is a bound name: reductions of different tensors over axes of the same sizes run in one
// loop.
void Search::share_reduced_axes() {
  auto bound = [&](const Node& node) {
    std::vector<std::pair<int64_t, int>> axes;
    auto dims = unifier.of(node.operands[0]);
    for (int64_t d : reduced_dims(node))
      if (dims[d] >= 0) axes.push_back({graph.type(node.operands[0]).shape[d], dims[d]});
    return axes;
  };
  const Node* first = nullptr;
  for (NodeId id : nodes) {
    const Node& node = graph.nodes[id];
    if (class_of(node.op) != OpClass::reduction) continue;
    if (!first) first = &node;
    auto a = bound(*first), b = bound(node);
    bool same = a.size() == b.size();
    for (size_t k = 0; same && k < a.size(); ++k)
      same = a[k].first == b[k].first;
    for (size_t k = 0; same && k < a.size(); ++k)
      unifier.unite(a[k].second, b[k].second);
  }
}

// Axes in the order of the last computed value that spans them all.
std::string Search::order_axes() {
  std::set<int> all;
  for (auto& [value, dims] : unifier.variables())
    for (int v : dims)
      if (v >= 0) all.insert(unifier.find(v));
  ValueId spanning = -1;
  auto spans = [&](ValueId value) {
    auto& dims = unifier.of(value);
    return static_cast<size_t>(std::count_if(dims.begin(), dims.end(), [](int v) { return v >= 0; })) ==
           all.size();
  };
  for (NodeId id : nodes) {
    if (input_views.count(id)) continue;
    for (ValueId operand : graph.nodes[id].operands)
      if (!is_inlined(graph, operand) && spans(operand) && (spanning < 0 || !computed(spanning)))
        spanning = operand;
    if (spans(graph.nodes[id].results[0])) spanning = graph.nodes[id].results[0];
  }
  if (input_views.size() == nodes.size()) return "";  // nothing is computed yet
  if (spanning < 0) return "no value spans all axes of the region";
  for (size_t d = 0; d < unifier.of(spanning).size(); ++d) {
    int v = unifier.of(spanning)[d];
    if (v < 0) continue;
    roots.push_back(unifier.find(v));
    domain.sizes.push_back(graph.type(spanning).shape[d]);
  }
  for (auto& [value, dims] : unifier.variables()) {
    auto& axes = domain.axes[value];
    for (int v : dims)
      axes.push_back(v < 0 ? -1 : axis_of(v));
  }
  return "";
}

std::string Search::find_reduced() {
  domain.reduced.assign(domain.sizes.size(), false);
  std::optional<std::set<int>> common;
  for (NodeId id : nodes) {
    const Node& node = graph.nodes[id];
    if (class_of(node.op) != OpClass::reduction) continue;
    std::set<int> here;
    for (int64_t d : reduced_dims(node)) {
      int axis = domain.axes.at(node.operands[0])[d];
      if (axis >= 0) here.insert(axis);
    }
    if (here.empty()) return "reduction over axes of size 1 only";
    if (common && *common != here) return "reductions over different axes";
    common = here;
  }
  if (common)
    for (int axis : *common)
      domain.reduced[axis] = true;
  return "";
}

// The last dimension of the largest tensor that is read: the axis along which memory is contiguous.
int fastest_axis(Search& search) {
  int64_t most = -1;
  int fastest = -1;
  for (auto& [value, axes] : search.domain.axes) {
    NodeId p = search.graph.values[value].producer;
    if (search.computed(value) ||
        (p >= 0 && search.input_views.count(p) && search.graph.nodes[p].op == Op::transpose))
      continue;
    int64_t bytes = search.graph.type(value).bytes();
    auto inner = std::find_if(axes.rbegin(), axes.rend(), [](int a) { return a >= 0; });
    if (inner == axes.rend() || bytes <= most) continue;
    most = bytes, fastest = *inner;
  }
  return fastest;
}

std::string Search::find_kind() {
  bool any_reduced = std::count(domain.reduced.begin(), domain.reduced.end(), true) > 0;
  if (!any_reduced) return domain.kind = RegionKind::elementwise, "";
  bool all_reduced = std::count(domain.reduced.begin(), domain.reduced.end(), false) == 0;
  int fastest = fastest_axis(*this);
  bool inner_is_reduced = fastest < 0 || domain.reduced[fastest];
  domain.kind = inner_is_reduced ? RegionKind::row_reduction : RegionKind::column_reduction;
  if (!all_reduced) return "";
  // Over everything: one scalar each. Elements computed from it again need a second sweep by one thread.
  std::set<ValueId> after;
  bool second_sweep = false, positional = false;
  for (NodeId id : nodes) {
    const Node& node = graph.nodes[id];
    positional |= node.op == Op::argmax || node.op == Op::argmin;
    bool reads =
        std::any_of(node.operands.begin(), node.operands.end(), [&](ValueId v) { return after.count(v); });
    auto& axes = domain.axes.at(node.results[0]);
    bool elements = std::any_of(axes.begin(), axes.end(), [](int a) { return a >= 0; });
    second_sweep |= reads && (elements || class_of(node.op) == OpClass::reduction);
    if (reads || class_of(node.op) == OpClass::reduction) after.insert(node.results[0]);
  }
  if (!second_sweep && !positional) return domain.kind = RegionKind::full_reduction, "";
  int64_t elements =
      std::accumulate(domain.sizes.begin(), domain.sizes.end(), int64_t{1}, std::multiplies<>());
  if (elements > single_unit_elements)
    return "a reduction over everything is shared by all cores and ends its kernel";
  return "";
}

}  // namespace

bool is_inlined(const Graph& graph, ValueId value) {
  const Node* node = graph.producer(value);
  if (!node) return false;
  if (node->op == Op::constant) {
    // Literals are doubles: larger integers keep their own buffer.
    auto* integer = std::get_if<int64_t>(node->attributes.find("value"));
    bool exact = !integer || std::abs(*integer) <= (int64_t{1} << 53);
    return graph.type(value).rank() == 0 && exact;
  }
  // MLX adds the step up one by one; only whole numbers are the same as start + i * step.
  auto whole = [&](const char* name) {
    double number = node->attributes.get<double>(name);
    return number == std::floor(number);
  };
  return node->op == Op::arange && whole("start") && whole("step");
}

std::string why_not_fusable(const Graph& graph, NodeId id) {
  const Node& node = graph.nodes[id];
  OpClass op_class = class_of(node.op);
  if (op_class != OpClass::elementwise && op_class != OpClass::reduction && op_class != OpClass::view)
    return std::string(name(node.op)) + " is a boundary (" + std::string(name(op_class)) + ")";
  auto check = [&](ValueId v) -> std::string {
    const TensorType& type = graph.type(v);
    if (!supported(type.dtype)) return std::string(name(type.dtype)) + " is left to MLX";
    if (type.elements() == 0) return "empty tensor";
    return "";
  };
  for (ValueId v : node.operands)
    if (auto why = check(v); !why.empty()) return why;
  for (ValueId v : node.results)
    if (auto why = check(v); !why.empty()) return why;
  if (node.op == Op::power && !is_floating(graph.type(node.results[0]).dtype))
    return "integer power is left to MLX";
  bool boolean = op_class == OpClass::elementwise && graph.type(node.operands[0]).dtype == Dtype::bool_ &&
                 graph.type(node.results[0]).dtype == Dtype::bool_;
  bool arithmetic = node.op == Op::add || node.op == Op::sub || node.op == Op::mul || node.op == Op::div ||
                    node.op == Op::maximum || node.op == Op::minimum || node.op == Op::remainder ||
                    node.op == Op::floor_divide;
  if (boolean && arithmetic) return "arithmetic on bool is left to MLX";
  return "";
}

std::variant<Domain, Refusal> find_domain(const Graph& graph, const std::vector<NodeId>& nodes) {
  Search search(graph, nodes);
  for (auto step : {&Search::unify_all, &Search::order_axes, &Search::find_reduced, &Search::find_kind})
    if (auto why = (search.*step)(); !why.empty()) return Refusal{why};
  search.domain.input_views.assign(search.input_views.begin(), search.input_views.end());
  return std::move(search.domain);
}

}  // namespace autoperfect
