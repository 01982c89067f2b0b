// GraphIR: SSA over whole tensors, as MLX means them. Plain data: values and nodes are indices into flat
// vectors. Behaviour lives in tables over ops.def and in free functions. See graph_text.h (print, parse) and
// verify_graph (invariants).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ir/attribute.h"
#include "ir/name_table.h"
#include "ir/op.h"
#include "support/result.h"

namespace autoperfect {

using ValueId = int32_t;
using NodeId = int32_t;
using Shape = std::vector<int64_t>;

struct TensorType {
  Dtype dtype = Dtype::f32;
  Shape shape;
  int64_t elements() const;
  int64_t bytes() const { return elements() * size_of(dtype); }
  int rank() const { return static_cast<int>(shape.size()); }
  bool operator==(const TensorType&) const = default;
};

struct Value {
  std::string name;  // without '%'; unique in the graph, [A-Za-z_][A-Za-z0-9_]* or digits
  TensorType type;
  NodeId producer = -1;  // -1: an input
  int result = 0;        // which result of the producer
  Where where = {};      // in the text it was parsed from
};

struct Node {
  Op op = Op::opaque;
  std::vector<ValueId> operands;
  std::vector<ValueId> results;
  Attributes attributes;
  Where where = {};
};

// An input is an argument of the function, or an array it captured. A captured one prints the hash of its
// contents (`%w: f32[1024] captured="..."`), so that two programs with other weights never look the same.
struct Input {
  ValueId value = -1;
  std::string captured_hash;  // empty: an argument
};

struct Graph {
  std::string name = "main";
  std::vector<Value> values;
  std::vector<Node> nodes;  // in a topological order: operands come from inputs or earlier nodes
  std::vector<Input> inputs;
  std::vector<ValueId> outputs;
  NameTable names;  // of the values, for add_input and add_node

  ValueId add_input(const std::string& name, TensorType type, const std::string& captured_hash = "");
  // Appends a node with results of the given types. Names are made unique by a suffix; an empty name becomes
  // t<N>.
  NodeId add_node(
      Op op,
      std::vector<ValueId> operands,
      std::vector<TensorType> types,
      Attributes attributes = {},
      const std::string& name = "");
  // The same for a single result, with its type inferred by infer_types (throws InternalError when
  // ill-typed).
  ValueId add(Op op, std::vector<ValueId> operands, Attributes attributes = {}, const std::string& name = "");
  ValueId add_constant(double value, Dtype dtype, const std::string& name = "");  // rank 0

  const TensorType& type(ValueId v) const { return values[v].type; }
  const Node* producer(ValueId v) const {
    return values[v].producer < 0 ? nullptr : &nodes[values[v].producer];
  }
};

// Nodes that read each value, in order, one entry a node; `output_of[v]` tells whether v is returned.
struct Uses {
  std::vector<std::vector<NodeId>> readers;
  std::vector<bool> is_output;
};
Uses find_uses(const Graph& graph);

// Types of the results from op, operand types and attributes. Errors say which rule was broken.
Result<std::vector<TensorType>> infer_types(
    Op op, const std::vector<TensorType>& operands, const Attributes& attributes);

// Every violation of the invariants listed at its head; empty when the graph is well-formed.
std::vector<Diagnostic> verify(const Graph& graph);

}  // namespace autoperfect
