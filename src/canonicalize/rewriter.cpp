#include "canonicalize/rewriter.h"

#include <algorithm>
#include <cctype>

#include "canonicalize/structural_hash.h"

namespace autoperfect {

namespace {

// What may be one node where there were two: never what is there for its effect, or is another value each
// time.
bool is_mergeable(Op op) {
  return !needs_its_primitive(op) && op != Op::random_bits && op != Op::depends;
}

TensorType inferred(
    const Graph& graph, Op op, const std::vector<ValueId>& operands, const Attributes& attributes) {
  std::vector<TensorType> types;
  for (auto v : operands)
    types.push_back(graph.type(v));
  auto result = infer_types(op, types, attributes);
  if (!result)
    throw InternalError("[canonicalize] " + std::string(name(op)) + ": " + format(result.errors()));
  return std::move((*result)[0]);
}

}  // namespace

Rewriter::Rewriter(const Graph& source, const Rules& rules)
    : source_(source), rules_(rules), value_of_(source.values.size(), -1) {
  graph_.name = source.name;
  graph_.values.reserve(source.values.size());
  graph_.nodes.reserve(source.nodes.size());
  names_.reserve(source.values.size());
  for (const auto& value : source.values)
    names_.insert(value.name);
}

// All of them, used or not: they are the arguments of the function.
void Rewriter::copy_inputs() {
  int32_t argument = 0;
  for (const auto& input : source_.inputs) {
    const auto id = static_cast<ValueId>(graph_.values.size());
    graph_.values.push_back(source_.values[input.value]);
    graph_.inputs.push_back({id, input.captured_hash});
    value_of_[input.value] = id;
    Fact fact;
    fact.hash = mix(hash_of(input.captured_hash), hash_of(graph_.type(id)));
    if (input.captured_hash.empty()) {
      fact.input = argument++;
      fact.hash = mix(fact.hash, static_cast<uint64_t>(fact.input));
    }
    facts_.push_back(fact);
  }
}

Rewrite Rewriter::run() && {
  copy_inputs();
  for (const auto& node : source_.nodes) {
    where_ = node.where;
    if (!node.results.empty()) prefix_ = source_.values[node.results[0]].name;
    if (expand(node)) continue;
    node.results.size() == 1 ? visit(node) : keep_several(node);
  }
  for (auto output : source_.outputs)
    graph_.outputs.push_back(of(output));
  return {std::move(graph_), std::move(value_of_), changed_};
}

const Node* Rewriter::producer(ValueId v, Op op) const {
  const Node* node = graph_.producer(v);
  return node && node->op == op ? node : nullptr;
}

void Rewriter::visit(const Node& node) {
  const ValueId result = node.results[0];
  const Value& value = source_.values[result];
  NewNode draft{node.op, {}, node.attributes, value.type};
  for (auto operand : node.operands)
    draft.operands.push_back(of(operand));
  const size_t first_new = graph_.values.size();
  if (auto other = rewritten(draft)) {
    changed_ = true;
    take_name(*other, result, first_new);
    value_of_[result] = *other;
    return;
  }
  const uint64_t hash = hash_of_draft(draft);
  if (auto equal = find_equal(draft, hash)) {
    changed_ = true;
    value_of_[result] = *equal;
    return;
  }
  value_of_[result] = append(std::move(draft), hash, value.name);
}

bool Rewriter::expand(const Node& node) {
  for (auto expansion : rules_.expansions) {
    const size_t first_new = graph_.values.size();
    const auto values = expansion(*this, source_, node);
    if (values.empty()) continue;
    for (size_t i = 0; i < values.size(); ++i) {
      take_name(values[i], node.results[i], first_new);
      value_of_[node.results[i]] = values[i];
    }
    return changed_ = true;
  }
  return false;
}

void Rewriter::keep_several(const Node& node) {
  const auto id = static_cast<NodeId>(graph_.nodes.size());
  Node kept{node.op, {}, {}, node.attributes, node.where};
  for (auto operand : node.operands)
    kept.operands.push_back(of(operand));
  uint64_t hash = mix(hash_of(name(node.op)), hash_of(node.attributes));
  for (auto operand : kept.operands)
    hash = mix(hash, facts_[operand].hash);
  for (auto result : node.results) {
    const auto to = static_cast<ValueId>(graph_.values.size());
    Value value = source_.values[result];
    value.producer = id;
    value_of_[result] = to;
    kept.results.push_back(to);
    facts_.push_back({mix(hash, static_cast<uint64_t>(value.result)), depth_of(kept.operands), -1});
    graph_.values.push_back(std::move(value));
  }
  graph_.nodes.push_back(std::move(kept));
}

std::optional<ValueId> Rewriter::rewritten(const NewNode& draft) {
  for (auto rule : rules_.rules) {
    if (auto other = rule(*this, draft)) return other;
  }
  return std::nullopt;
}

uint64_t Rewriter::hash_of_draft(const NewNode& draft) const {
  uint64_t hash = mix(hash_of(name(draft.op)), hash_of(draft.attributes));
  for (auto operand : draft.operands)
    hash = mix(hash, facts_[operand].hash);
  return mix(hash, hash_of(draft.type));
}

std::optional<ValueId> Rewriter::find_equal(const NewNode& draft, uint64_t hash) const {
  if (!rules_.merges || !is_mergeable(draft.op)) return std::nullopt;
  const auto [first, last] = by_hash_.equal_range(hash);
  for (auto it = first; it != last; ++it) {
    const Node& node = *graph_.producer(it->second);
    const bool equal = node.op == draft.op && node.operands == draft.operands &&
                       graph_.type(it->second) == draft.type && same_bits(node.attributes, draft.attributes);
    if (equal) return it->second;
  }
  return std::nullopt;
}

int32_t Rewriter::depth_of(const std::vector<ValueId>& operands) const {
  int32_t depth = 0;
  for (auto operand : operands)
    depth = std::max(depth, facts_[operand].depth + 1);
  return depth;
}

ValueId Rewriter::append(NewNode draft, uint64_t hash, std::string name) {
  const auto id = static_cast<ValueId>(graph_.values.size());
  const auto producer = static_cast<NodeId>(graph_.nodes.size());
  facts_.push_back({hash, depth_of(draft.operands), -1});
  graph_.values.push_back({std::move(name), std::move(draft.type), producer, 0, where_});
  graph_.nodes.push_back({draft.op, std::move(draft.operands), {id}, std::move(draft.attributes), where_});
  if (rules_.merges && is_mergeable(draft.op)) by_hash_.emplace(hash, id);
  return id;
}

// A value that was made for one of the source is called as that is.
void Rewriter::take_name(ValueId v, ValueId source, size_t first_new) {
  if (v < static_cast<ValueId>(first_new)) return;
  std::string& name = graph_.values[v].name;
  names_.erase(name);
  name = source_.values[source].name;
  names_.insert(name);
}

std::string Rewriter::fresh_name(std::string_view suffix) {
  const bool is_number = std::isdigit(static_cast<unsigned char>(prefix_[0]));
  std::string base = is_number ? "t" : "";
  base.append(prefix_).append(suffix);
  if (names_.insert(base).second) return base;
  int& last = last_suffix_[base];
  std::string name;
  do {
    name = base + "_" + std::to_string(++last);
  } while (!names_.insert(name).second);
  return name;
}

ValueId Rewriter::add(Op op, std::vector<ValueId> operands, Attributes attributes, std::string_view suffix) {
  TensorType type = inferred(graph_, op, operands, attributes);
  NewNode draft{op, std::move(operands), std::move(attributes), std::move(type)};
  const std::string_view outer = suffix_;
  if (!suffix.empty()) suffix_ = suffix;
  const auto other = rewritten(draft);
  suffix_ = outer;
  if (other) return *other;
  const uint64_t hash = hash_of_draft(draft);
  if (auto equal = find_equal(draft, hash)) return *equal;
  return append(std::move(draft), hash, fresh_name(suffix.empty() ? outer : suffix));
}

ValueId Rewriter::add_constant(double value, Dtype dtype, std::string_view suffix) {
  Attributes attributes;
  attributes.set("dtype", dtype);
  attributes.set("shape", Shape{});
  if (is_floating(dtype)) {
    attributes.set("value", value);
  } else if (dtype == Dtype::bool_) {
    attributes.set("value", value != 0);
  } else {
    attributes.set("value", static_cast<int64_t>(value));
  }
  return add(Op::constant, {}, std::move(attributes), suffix);
}

ValueId Rewriter::add_cast(ValueId v, Dtype dtype, std::string_view suffix) {
  if (type(v).dtype == dtype) return v;
  Attributes attributes;
  attributes.set("dtype", dtype);
  return add(Op::cast, {v}, std::move(attributes), suffix);
}

ValueId Rewriter::add_reshape(ValueId v, Shape to, std::string_view suffix) {
  if (shape(v) == to) return v;
  Attributes attributes;
  attributes.set("shape", std::move(to));
  return add(Op::reshape, {v}, std::move(attributes), suffix);
}

ValueId Rewriter::add_broadcast(ValueId v, Shape to, std::string_view suffix) {
  if (shape(v) == to) return v;
  Attributes attributes;
  attributes.set("shape", std::move(to));
  return add(Op::broadcast, {v}, std::move(attributes), suffix);
}

ValueId Rewriter::add_transpose(ValueId v, std::vector<int64_t> axes, std::string_view suffix) {
  Attributes attributes;
  attributes.set("axes", std::move(axes));
  return add(Op::transpose, {v}, std::move(attributes), suffix);
}

bool Rewriter::precedes(ValueId a, ValueId b) const {
  const bool a_is_constant = producer(a, Op::constant), b_is_constant = producer(b, Op::constant);
  if (a_is_constant != b_is_constant) return b_is_constant;
  const int64_t elements_a = type(a).elements(), elements_b = type(b).elements();
  if (elements_a != elements_b) return elements_a > elements_b;
  const Fact &fact_a = facts_[a], &fact_b = facts_[b];
  if (fact_a.depth != fact_b.depth) return fact_a.depth > fact_b.depth;
  if (fact_a.input >= 0 && fact_b.input >= 0) return fact_a.input < fact_b.input;
  return fact_a.hash < fact_b.hash;
}

Rewrite rewrite(const Graph& source, const Rules& rules) {
  return Rewriter(source, rules).run();
}

}  // namespace autoperfect
