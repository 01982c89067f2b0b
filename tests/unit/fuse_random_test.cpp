// Random graphs over every op a region may hold: the plan is sound, and each region's kernel, run by the
// reference on what the graph gives it, gives what the graph gives: bit for bit, or for sums nearly.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

#include "fuse/plan_text.h"
#include "ir/kernel_text.h"
#include "lower/lower.h"
#include "reference/reference.h"

namespace autoperfect {
namespace {

using Ints = std::vector<int64_t>;

class RandomGraph {
 public:
  explicit RandomGraph(uint64_t seed) : random_(seed) {}

  Graph make(int size) {
    for (auto& shape : {Shape{4, 6}, Shape{4, 6}, Shape{6}, Shape{2, 3, 4}, Shape{24}, Shape{6, 6}})
      values_.push_back(graph_.add_input("", {Dtype::f32, shape}));
    for (int i = 0; i < size; ++i)
      if (ValueId made = step(); made >= 0) values_.push_back(made);
    graph_.outputs = {values_.back()};
    for (int i = 0; i < 3; ++i)
      graph_.outputs.push_back(pick());
    std::erase_if(
        graph_.outputs, [&](ValueId v) { return v != values_.back() && graph_.values[v].producer < 0; });
    return std::move(graph_);
  }

 private:
  int64_t below(int64_t n) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(n)); }
  // Late values are likelier, so that chains form.
  ValueId pick() {
    auto n = static_cast<int64_t>(values_.size());
    return below(3) ? values_[static_cast<size_t>(n - 1 - below(std::min<int64_t>(n, 6)))]
                    : values_[static_cast<size_t>(below(n))];
  }
  const Shape& shape(ValueId v) const { return graph_.type(v).shape; }
  ValueId pick_of_rank(int least) {
    for (int tries = 0; tries < 10; ++tries)
      if (ValueId v = pick(); graph_.type(v).rank() >= least) return v;
    return values_[0];
  }
  ValueId pick_like(ValueId other) {
    for (int tries = 0; tries < 10; ++tries)
      if (ValueId v = pick(); shape(v) == shape(other)) return v;
    return other;
  }
  ValueId add(Op op, std::vector<ValueId> operands, Attributes attributes = {}) {
    return graph_.add(op, std::move(operands), std::move(attributes));
  }
  Attributes with(const char* key, AttributeValue value) {
    Attributes attributes;
    attributes.set(key, std::move(value));
    return attributes;
  }
  ValueId step();
  ValueId reduce();
  ValueId reshape();
  ValueId slice();
  ValueId transpose();
  ValueId concatenate();
  ValueId gather_axis();
  ValueId matmul();
  ValueId scan();
  ValueId pad();
  ValueId take_rows();
  ValueId slice_update();

  std::mt19937_64 random_;
  Graph graph_;
  std::vector<ValueId> values_;
};

ValueId RandomGraph::reduce() {
  ValueId v = pick_of_rank(1);
  Ints axes;
  for (int64_t d = 0; d < graph_.type(v).rank(); ++d)
    if (below(2)) axes.push_back(d);
  if (axes.empty()) axes = {graph_.type(v).rank() - 1};
  auto attributes = with("axes", axes);
  attributes.set("keepdims", below(2) == 0);
  ValueId made = add(below(2) ? Op::sum : Op::max, {v}, attributes);
  if (!attributes.get<bool>("keepdims") || below(3) == 0) return made;
  return add(Op::sub, {v, made});
}

ValueId RandomGraph::reshape() {
  ValueId v = pick();
  int64_t left = graph_.type(v).elements();
  Shape to;
  while (left > 1 && to.size() < 4) {
    int64_t n = 1 + below(left);
    while (left % n)
      ++n;
    to.push_back(to.size() == 3 ? left : n);
    left /= to.back();
  }
  if (left > 1) to.push_back(left);
  return add(Op::reshape, {v}, with("shape", to));
}

ValueId RandomGraph::slice() {
  ValueId v = pick_of_rank(1);
  Ints start, stop, strides;
  for (int64_t n : shape(v)) {
    bool whole = below(2) == 0 || n == 1;
    bool half = n % 2 == 0 && below(2);
    int64_t from = whole ? 0 : half ? below(2) * n / 2 : below(n);
    int64_t step = whole || half ? 1 : 1 + below(2);
    start.push_back(from);
    stop.push_back(whole ? n : half ? from + n / 2 : n);
    strides.push_back(step);
  }
  auto attributes = with("start", start);
  attributes.set("stop", stop);
  attributes.set("strides", strides);
  return add(Op::slice, {v}, attributes);
}

ValueId RandomGraph::transpose() {
  ValueId v = pick_of_rank(2);
  Ints axes(shape(v).size());
  for (size_t d = 0; d < axes.size(); ++d)
    axes[d] = static_cast<int64_t>(d);
  std::shuffle(axes.begin(), axes.end(), random_);
  return add(Op::transpose, {v}, with("axes", axes));
}

ValueId RandomGraph::concatenate() {
  ValueId v = pick_of_rank(1), w = pick_like(v);
  if (graph_.type(v).elements() > 500) return -1;
  return add(Op::concatenate, {v, w}, with("axis", below(graph_.type(v).rank())));
}

// Along an axis, at the first or last element as other data says, sometimes counted from the end.
ValueId RandomGraph::gather_axis() {
  ValueId v = pick_of_rank(1), from = pick_like(v);
  int64_t axis = below(graph_.type(v).rank());
  auto last = static_cast<double>(shape(v)[static_cast<size_t>(axis)] - 1);
  auto number = [&](double n) { return graph_.add_constant(n, Dtype::i32); };
  auto positive = add(Op::greater, {from, graph_.add_constant(0, Dtype::f32)});
  auto index = add(Op::mul, {add(Op::cast, {positive}, with("dtype", Dtype::i32)), number(last)});
  if (below(2)) index = add(Op::sub, {index, number(last + 1)});
  return add(Op::gather_axis, {v, index}, with("axis", axis));
}

ValueId RandomGraph::matmul() {
  ValueId v = pick_of_rank(2);
  for (int tries = 0; tries < 20; ++tries) {
    ValueId w = pick_of_rank(2);
    if (graph_.type(v).rank() != 2 || graph_.type(w).rank() != 2 || shape(v)[1] != shape(w)[0]) continue;
    if (graph_.type(v).elements() > 300 || graph_.type(w).elements() > 300) continue;
    return add(Op::matmul, {v, w});
  }
  return -1;
}

ValueId RandomGraph::scan() {
  ValueId v = pick_of_rank(1);
  auto attributes = with("axis", below(graph_.type(v).rank()));
  attributes.set("inclusive", below(2) == 0);
  attributes.set("reverse", below(2) == 0);
  return add(below(2) ? Op::cummax : Op::cumsum, {v}, attributes);
}

ValueId RandomGraph::pad() {
  ValueId v = pick_of_rank(1);
  if (graph_.type(v).elements() > 500) return -1;
  auto attributes = with("axes", Ints{below(graph_.type(v).rank())});
  attributes.set("low", Ints{below(3)});
  attributes.set("high", Ints{1 + below(2)});
  return add(Op::pad, {v, graph_.add_constant(below(2) ? 0 : -3, Dtype::f32)}, attributes);
}

// First and last rows, as other data says.
ValueId RandomGraph::take_rows() {
  ValueId v = pick_of_rank(1), from = pick_of_rank(1);
  if (graph_.type(from).rank() != 1) return -1;
  auto positive = add(Op::greater, {from, graph_.add_constant(0, Dtype::f32)});
  auto last = graph_.add_constant(static_cast<double>(shape(v)[0] - 1), Dtype::i32);
  auto index = add(Op::mul, {add(Op::cast, {positive}, with("dtype", Dtype::i32)), last});
  Ints sizes = shape(v);
  sizes[0] = 1;
  if (TensorType{Dtype::f32, sizes}.elements() * shape(from)[0] > 500) return -1;
  auto attributes = with("axes", Ints{0});
  attributes.set("sizes", sizes);
  return add(Op::gather, {v, index}, attributes);
}

ValueId RandomGraph::slice_update() {
  ValueId v = pick_of_rank(1);
  auto axis = static_cast<size_t>(below(graph_.type(v).rank()));
  Ints start(shape(v).size(), 0), stop = shape(v), strides(shape(v).size(), 1);
  start[axis] = below(shape(v)[axis]);
  stop[axis] = start[axis] + 1 + below(shape(v)[axis] - start[axis]);
  auto attributes = with("start", start);
  attributes.set("stop", stop);
  attributes.set("strides", strides);
  ValueId update = add(Op::slice, {pick_like(v)}, attributes);
  return add(Op::slice_update, {v, add(Op::neg, {update})}, attributes);
}

// The same values from ops that have a reference of their own: pads and updates are concatenations, rows are
// taken along an axis.
class Understood {
 public:
  Understood(const Graph& from, std::vector<ValueId>& value_of) : from_(from), value_of_(value_of) {}

  Graph run() {
    value_of_.assign(from_.values.size(), -1);
    for (auto& input : from_.inputs)
      value_of_[input.value] = to_.add_input(from_.values[input.value].name, from_.type(input.value));
    for (auto& node : from_.nodes)
      value_of_[node.results[0]] = copy(node);
    for (ValueId v : value_of_)
      to_.outputs.push_back(v);
    return std::move(to_);
  }

 private:
  ValueId slice(ValueId v, size_t axis, int64_t begin, int64_t end) {
    Ints start(to_.type(v).shape.size(), 0), stop = to_.type(v).shape, strides(start.size(), 1);
    start[axis] = begin, stop[axis] = end;
    Attributes attributes;
    attributes.set("start", start);
    attributes.set("stop", stop);
    attributes.set("strides", strides);
    return to_.add(Op::slice, {v}, attributes);
  }
  ValueId shaped(Op op, ValueId v, Shape shape) {
    Attributes attributes;
    attributes.set("shape", std::move(shape));
    return to_.add(op, {v}, attributes);
  }
  ValueId copy(const Node& node) {
    std::vector<ValueId> operands;
    for (ValueId v : node.operands)
      operands.push_back(value_of_[v]);
    if (node.op == Op::pad || node.op == Op::slice_update) {
      std::vector<ValueId> parts;
      Attributes along;
      size_t axis = 0;
      ValueId x = operands[0];
      if (node.op == Op::pad) {
        axis = static_cast<size_t>(node.attributes.get<Ints>("axes")[0]);
        for (const char* side : {"low", "high"}) {
          Shape shape = to_.type(x).shape;
          shape[axis] = node.attributes.get<Ints>(side)[0];
          if (shape[axis] > 0) parts.push_back(shaped(Op::broadcast, operands[1], shape));
          if (side[0] == 'l') parts.push_back(x);
        }
      } else {
        auto& start = node.attributes.get<Ints>("start");
        auto& stop = node.attributes.get<Ints>("stop");
        for (size_t d = 0; d < start.size(); ++d)
          if (stop[d] - start[d] != to_.type(x).shape[d]) axis = d;
        if (start[axis] > 0) parts.push_back(slice(x, axis, 0, start[axis]));
        parts.push_back(operands[1]);
        if (stop[axis] < to_.type(x).shape[axis])
          parts.push_back(slice(x, axis, stop[axis], to_.type(x).shape[axis]));
      }
      along.set("axis", static_cast<int64_t>(axis));
      return to_.add(Op::concatenate, parts, along);
    }
    if (node.op == Op::gather) {
      Shape rows = to_.type(operands[0]).shape, column(rows.size(), 1);
      rows[0] = column[0] = to_.type(operands[1]).shape[0];
      Attributes along;
      along.set("axis", int64_t{0});
      ValueId index = shaped(Op::broadcast, shaped(Op::reshape, operands[1], column), rows);
      ValueId taken = to_.add(Op::gather_axis, {operands[0], index}, along);
      return shaped(Op::reshape, taken, from_.type(node.results[0]).shape);
    }
    return to_.add(node.op, operands, node.attributes);
  }

  const Graph& from_;
  std::vector<ValueId>& value_of_;
  Graph to_;
};

ValueId RandomGraph::step() {
  constexpr Op unary[] = {Op::neg, Op::square, Op::abs, Op::tanh, Op::exp};
  switch (below(18)) {
    case 0:
    case 1:
      return add(unary[below(5)], {add(Op::tanh, {pick()})});
    case 2:
    case 3:
      return reduce();
    case 4:
      return reshape();
    case 5:
      return slice();
    case 6:
      return transpose();
    case 7:
      return concatenate();
    case 8: {
      ValueId v = pick_of_rank(1);
      auto attributes = with("start", 0.0);
      attributes.set("step", 1.0);
      attributes.set("size", shape(v).back());
      attributes.set("dtype", Dtype::f32);
      return add(Op::mul, {v, add(Op::arange, {}, attributes)});
    }
    case 9:
      return gather_axis();
    case 10:
      return matmul();
    case 11:
      return scan();
    case 12:
      return pad();
    case 13:
      return take_rows();
    case 14:
      return slice_update();
    default: {
      ValueId v = pick();
      constexpr Op binary[] = {Op::add, Op::sub, Op::mul, Op::maximum};
      return add(binary[below(4)], {v, pick_like(v)});
    }
  }
}

std::vector<Tensor> inputs_of(const Graph& graph, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<float> number(-1, 1);
  std::vector<Tensor> inputs;
  for (auto& input : graph.inputs) {
    Tensor tensor;
    tensor.type = graph.type(input.value);
    std::vector<float> data(static_cast<size_t>(tensor.type.elements()));
    for (auto& x : data)
      x = number(random);
    tensor.bytes.resize(data.size() * 4);
    std::memcpy(tensor.bytes.data(), data.data(), tensor.bytes.size());
    inputs.push_back(std::move(tensor));
  }
  return inputs;
}

bool sums(const Graph& graph, const Region& region) {
  return std::any_of(region.nodes.begin(), region.nodes.end(), [&](NodeId id) {
    Op op = graph.nodes[id].op;
    return op == Op::sum || class_of(op) == OpClass::gemm || op == Op::cumsum;
  });
}

void expect_same(const Tensor& ours, const Tensor& theirs, bool nearly, const std::string& where) {
  ASSERT_EQ(ours.type, theirs.type) << where;
  if (!nearly) {
    ASSERT_EQ(ours.bytes, theirs.bytes) << where;
    return;
  }
  for (size_t i = 0; i + 4 <= ours.bytes.size(); i += 4) {
    float a, b;
    std::memcpy(&a, &ours.bytes[i], 4);
    std::memcpy(&b, &theirs.bytes[i], 4);
    if (std::isnan(a) && std::isnan(b)) continue;
    if (a == b) continue;
    ASSERT_NEAR(a, b, 1e-4 * (1 + std::abs(b))) << where;
  }
}

void expect_regions_compute_the_graph(const Graph& graph, const Plan& plan, uint64_t seed) {
  std::vector<ValueId> value_of;
  Graph all = Understood(graph, value_of).run();
  auto results = run_reference(all, inputs_of(graph, seed), Precision::exact);
  ASSERT_TRUE(results.ok()) << format(results.errors());
  auto known = [&](ValueId v) -> const Tensor& { return (*results)[static_cast<size_t>(v)]; };
  for (auto& region : plan.regions) {
    auto kernel = lower(graph, region);
    ASSERT_TRUE(kernel.ok()) << format(kernel.errors()) << print(graph, plan);
    std::vector<Tensor> inputs;
    for (ValueId v : region.inputs)
      inputs.push_back(known(v));
    auto outputs = run_reference(*kernel, inputs, Precision::exact);
    ASSERT_TRUE(outputs.ok()) << format(outputs.errors()) << print(*kernel);
    for (size_t o = 0; o < region.outputs.size(); ++o)
      expect_same(
          (*outputs)[o],
          known(region.outputs[o]),
          sums(graph, region),
          "%" + graph.values[region.outputs[o]].name + "\n" + print(*kernel) + print(graph, plan));
  }
}

TEST(fuse_random, regions_compute_what_the_graph_does) {
  FuseOptions options;
  options.gate_by_cost = false;
  size_t nodes = 0, regions = 0;
  for (uint64_t seed = 1; seed <= 3000; ++seed) {
    Graph graph = RandomGraph(seed).make(4 + static_cast<int>(seed % 30));
    ASSERT_TRUE(verify(graph).empty()) << "seed " << seed;
    Plan plan = fuse(graph, default_cpu_target(), options);
    auto problems = verify(graph, plan);
    ASSERT_TRUE(problems.empty()) << "seed " << seed << "\n"
                                  << format(problems) << "\n"
                                  << print(graph, plan);
    expect_regions_compute_the_graph(graph, plan, seed);
    if (HasFatalFailure()) FAIL() << "seed " << seed;
    for (auto& region : plan.regions)
      nodes += region.nodes.size();
    regions += plan.regions.size();
  }
  std::printf("%.2f nodes a region\n", static_cast<double>(nodes) / static_cast<double>(regions));
}

}  // namespace
}  // namespace autoperfect
