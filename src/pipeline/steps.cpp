#include "pipeline/steps.h"

#include <algorithm>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "mlx/transforms.h"

namespace autoperfect {
namespace {

namespace mx = mlx::core;

// A tensor by name: a value of the canonical graph, or one of the captured graph that has no counterpart
// there.
struct TensorId {
  bool canonical;
  ValueId value;
  bool operator==(const TensorId&) const = default;
};

struct TensorIdHash {
  size_t operator()(TensorId id) const { return std::hash<int64_t>()(int64_t{2} * id.value + id.canonical); }
};

constexpr int64_t most_constant_bytes = int64_t{16} << 20;  // what is larger is made again in each call

// The way to a wanted value leads past the given ones.
struct NotGiven {};
// A tensor is needed for itself: one graph makes it of what the other makes of it.
struct Circular {};

// How a tensor comes about, and what has to be there before.
struct Origin {
  Step step;
  std::vector<TensorId> needs, makes;
};

class StepMaker {
 public:
  StepMaker(
      const Captured& captured,
      const Canonical& canonical,
      const std::vector<ValueId>& sources,
      const std::vector<KernelChoice>& kernels,
      bool may_redo_work)
      : captured_(captured), canonical_(canonical), sources_(sources), may_redo_work_(may_redo_work) {
    for (auto& kernel : kernels)
      for (ValueId v : kernel.region->outputs)
        kernel_of_[v] = &kernel;
  }

  Steps run(const std::vector<ValueId>& given, const std::vector<ValueId>& wanted) {
    given_.insert(given.begin(), given.end());
    for (ValueId v : given)
      slot_of_[{true, v}] = fresh_slot();
    for (ValueId v : wanted)
      make({true, v});
    for (ValueId v : given)
      steps_.given.push_back(slot_of_.at({true, v}));
    for (ValueId v : wanted)
      steps_.wanted.push_back(slot_of_.at({true, v}));
    find_constants();
    find_last_uses();
    return std::move(steps_);
  }

 private:
  int fresh_slot() { return steps_.slots++; }
  TensorId of_source(ValueId s) const {
    ValueId v = canonical_.value_of_source[s];
    return v >= 0 ? TensorId{true, v} : TensorId{false, s};
  }
  Origin origin(TensorId id) const;
  Origin replay_of(ValueId source) const;
  bool shows_ours(ValueId value) const;
  bool redoes_work(ValueId source) const;
  void make(TensorId wanted);
  void emit(Origin origin);
  bool is_constant(const Graph& graph, const Step& step) const;
  void keep_constants(const Graph& graph, const Step& step);
  void find_constants();
  void find_last_uses();

  const Captured& captured_;
  const Canonical& canonical_;
  const std::vector<ValueId>& sources_;
  bool may_redo_work_;
  // Not vectors over the graph: a program has many lists of steps, most of them of a few nodes.
  std::unordered_map<ValueId, const KernelChoice*> kernel_of_;
  std::unordered_set<ValueId> given_;
  std::unordered_map<TensorId, int, TensorIdHash> slot_of_;
  std::unordered_map<int, mx::array> constants_;  // by slot
  Steps steps_;
};

Origin StepMaker::replay_of(ValueId source) const {
  Origin origin;
  NodeId node = captured_.graph.values[source].producer;
  if (node < 0) throw NotGiven{};
  origin.step.kind = Step::Kind::replay;
  origin.step.node = node;
  for (ValueId s : captured_.graph.nodes[node].operands)
    origin.needs.push_back(of_source(s));
  for (ValueId s : captured_.graph.nodes[node].results)
    origin.makes.push_back(of_source(s));
  return origin;
}

// Whether it is a view of what a kernel makes, or of what is given: the captured program may have made it in
// another way, past the kernel.
bool StepMaker::shows_ours(ValueId value) const {
  const Graph& graph = canonical_.graph;
  ValueId shown = value;
  while (graph.producer(shown) && class_of(graph.producer(shown)->op) == OpClass::view &&
         !kernel_of_.count(shown))
    shown = graph.producer(shown)->operands[0];
  return shown != value && (kernel_of_.count(shown) || given_.count(shown));
}

// Whether replaying needs more than views of tensors that the canonical graph has: what it computes in
// another form (a scalar with axes of size 1, say) may be what a kernel makes, and would be computed again
// past it.
bool StepMaker::redoes_work(ValueId source) const {
  const Graph& graph = captured_.graph;
  std::vector<ValueId> open = graph.producer(source)->operands;
  while (!open.empty()) {
    ValueId s = open.back();
    open.pop_back();
    const Node* node = graph.producer(s);
    if (canonical_.value_of_source[s] >= 0 || !node || class_of(node->op) == OpClass::source) continue;
    if (class_of(node->op) != OpClass::view) return true;
    open.insert(open.end(), node->operands.begin(), node->operands.end());
  }
  return false;
}

Origin StepMaker::origin(TensorId id) const {
  if (!id.canonical) return replay_of(id.value);
  Origin origin;
  if (auto it = kernel_of_.find(id.value); it != kernel_of_.end()) {
    origin.step.kind = Step::Kind::kernel;
    origin.step.executable = it->second->executable;
    for (ValueId v : it->second->region->inputs)
      origin.needs.push_back({true, v});
    for (ValueId v : it->second->region->outputs)
      origin.makes.push_back({true, v});
    return origin;
  }
  ValueId source = sources_[id.value];
  NodeId node = canonical_.graph.values[id.value].producer;
  bool replayable = source >= 0 && captured_.graph.values[source].producer >= 0 && !shows_ours(id.value);
  bool must_replay = node < 0 || needs_its_primitive(canonical_.graph.nodes[node].op);
  if (replayable && (must_replay || may_redo_work_ || !redoes_work(source))) return replay_of(source);
  if (node < 0) throw NotGiven{};
  origin.step.kind = Step::Kind::apply;
  origin.step.node = node;
  for (ValueId v : canonical_.graph.nodes[node].operands)
    origin.needs.push_back({true, v});
  for (ValueId v : canonical_.graph.nodes[node].results)
    origin.makes.push_back({true, v});
  return origin;
}

// Depth first without recursion: a step is emitted once all it needs has a slot.
void StepMaker::make(TensorId wanted) {
  std::vector<std::pair<TensorId, bool>> stack{{wanted, false}};
  std::unordered_set<TensorId, TensorIdHash> open;
  while (!stack.empty()) {
    auto [id, expanded] = stack.back();
    stack.pop_back();
    if (slot_of_.count(id)) continue;
    Origin found = origin(id);
    if (expanded) {
      open.erase(id);
      emit(std::move(found));
      continue;
    }
    if (!open.insert(id).second) throw Circular{};
    stack.push_back({id, true});
    for (auto it = found.needs.rbegin(); it != found.needs.rend(); ++it)
      if (!slot_of_.count(*it)) stack.push_back({*it, false});
  }
}

// Made of numbers and other constants, element by element or seen otherwise: once is enough.
bool StepMaker::is_constant(const Graph& graph, const Step& step) const {
  if (step.kind == Step::Kind::kernel) return false;
  auto& node = graph.nodes[step.node];
  auto op_class = class_of(node.op);
  if (op_class == OpClass::source && step.inputs.empty()) return true;
  bool computes =
      op_class == OpClass::elementwise || op_class == OpClass::view || op_class == OpClass::source;
  return computes && graph.type(node.results[0]).bytes() <= most_constant_bytes &&
         std::all_of(
             step.inputs.begin(), step.inputs.end(), [&](int slot) { return constants_.count(slot); });
}

void StepMaker::keep_constants(const Graph& graph, const Step& step) {
  std::vector<mx::array> inputs;
  for (int slot : step.inputs)
    inputs.push_back(constants_.at(slot));
  auto arrays = step.kind == Step::Kind::replay ? replay(captured_, step.node, inputs)
                                                : autoperfect::apply(graph, step.node, inputs);
  mx::eval(arrays);
  for (size_t i = 0; i < arrays.size(); ++i)
    if (step.outputs[i] >= 0) constants_.insert({step.outputs[i], arrays[i]});
}

void StepMaker::emit(Origin found) {
  auto& graph = found.step.kind == Step::Kind::replay ? captured_.graph : canonical_.graph;
  for (auto& id : found.needs)
    found.step.inputs.push_back(slot_of_.at(id));
  for (auto& id : found.makes) {
    auto [it, fresh] = slot_of_.try_emplace(id, steps_.slots);
    if (fresh) fresh_slot();
    found.step.outputs.push_back(fresh ? it->second : -1);
  }
  if (is_constant(graph, found.step)) {
    keep_constants(graph, found.step);
  } else {
    steps_.steps.push_back(std::move(found.step));
  }
}

// Constants that only other constants were made of are not kept.
void StepMaker::find_constants() {
  std::set<int> read(steps_.wanted.begin(), steps_.wanted.end());
  for (auto& step : steps_.steps)
    read.insert(step.inputs.begin(), step.inputs.end());
  for (auto& [slot, array] : constants_)
    if (read.count(slot)) steps_.constants.push_back({slot, array});
}

void StepMaker::find_last_uses() {
  std::vector<bool> kept(steps_.slots, false);
  for (int slot : steps_.wanted)
    kept[slot] = true;
  for (const auto& [slot, array] : steps_.constants)
    kept[slot] = true;
  for (auto it = steps_.steps.rbegin(); it != steps_.steps.rend(); ++it) {
    for (auto* slots : {&it->inputs, &it->outputs})
      for (int slot : *slots)
        if (slot >= 0 && !kept[slot]) {
          kept[slot] = true;
          it->last_uses.push_back(slot);
        }
  }
}

}  // namespace

std::vector<ValueId> find_sources(const Canonical& canonical) {
  std::vector<ValueId> sources(canonical.graph.values.size(), -1);
  for (size_t s = canonical.value_of_source.size(); s-- > 0;)
    if (ValueId v = canonical.value_of_source[s]; v >= 0) sources[v] = static_cast<ValueId>(s);
  return sources;
}

Result<Steps> make_steps(
    const Captured& captured,
    const Canonical& canonical,
    const std::vector<ValueId>& sources,
    const std::vector<KernelChoice>& kernels,
    const std::vector<ValueId>& given,
    const std::vector<ValueId>& wanted) {
  // Replaying alone never goes in circles.
  for (bool may_redo_work : {false, true}) {
    try {
      return StepMaker(captured, canonical, sources, kernels, may_redo_work).run(given, wanted);
    } catch (const NotGiven&) {
      return Diagnostic{"pipeline", "not-given", "a wanted value needs an input that is not given", {}, ""};
    } catch (const Circular&) {
    }
  }
  throw InternalError("steps: steps wait for each other");
}

std::vector<mx::array> run_steps(
    const Steps& steps,
    const Captured& captured,
    const Graph& canonical,
    const std::vector<mx::array>& given,
    mx::Stream stream) {
  std::vector<std::optional<mx::array>> slots(steps.slots);
  for (size_t i = 0; i < given.size(); ++i)
    slots[steps.given[i]] = given[i];
  for (auto& [slot, array] : steps.constants)
    slots[slot] = array;
  for (auto& step : steps.steps) {
    std::vector<mx::array> inputs;
    inputs.reserve(step.inputs.size());
    for (int slot : step.inputs)
      inputs.push_back(*slots[slot]);
    auto outputs = step.kind == Step::Kind::kernel   ? dispatch(step.executable, std::move(inputs), stream)
                   : step.kind == Step::Kind::replay ? replay(captured, step.node, inputs)
                                                     : autoperfect::apply(canonical, step.node, inputs);
    for (size_t i = 0; i < outputs.size(); ++i)
      if (step.outputs[i] >= 0) slots[step.outputs[i]] = std::move(outputs[i]);
    // Dropping our reference lets MLX donate the buffer to the next operation.
    for (int slot : step.last_uses)
      slots[slot].reset();
  }
  std::vector<mx::array> results;
  results.reserve(steps.wanted.size());
  for (int slot : steps.wanted)
    results.push_back(*slots[slot]);
  return results;
}

}  // namespace autoperfect
