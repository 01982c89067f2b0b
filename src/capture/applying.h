// The parts of apply(), by meaning: each gives the results of one node through MLX's public operations.
#pragma once

#include <string>
#include <vector>

#include "capture/capture.h"
#include "mlx/ops.h"

namespace autoperfect::applying {

namespace mx = mlx::core;
using mx::array;
using Arrays = std::vector<array>;

// One node, its operands, and its attributes as MLX spells their types.
struct Call {
  const Graph& graph;
  const Node& node;
  const Arrays& in;

  const TensorType& type(size_t result = 0) const { return graph.type(node.results[result]); }
  mx::Dtype dtype() const { return to_mlx(type().dtype); }
  mx::Shape result_shape() const { return to_shape(type().shape); }

  bool flag(const char* name, bool otherwise = false) const {
    return node.attributes.get_or(name, otherwise);
  }
  int integer(const char* name) const { return static_cast<int>(node.attributes.get<int64_t>(name)); }
  float number(const char* name) const { return static_cast<float>(node.attributes.get<double>(name)); }
  std::string text(const char* name) const { return node.attributes.get_or(name, std::string()); }
  std::vector<int> integers(const char* name) const {
    const auto& values = node.attributes.get<std::vector<int64_t>>(name);
    return {values.begin(), values.end()};
  }
  mx::Shape shape(const char* name) const {
    return to_shape(node.attributes.get<std::vector<int64_t>>(name));
  }

  static mx::Shape to_shape(const Shape& shape) { return {shape.begin(), shape.end()}; }
};

array constant(const Node& node, const TensorType& type);

Arrays source(const Call& call);
Arrays elementwise(const Call& call);
Arrays reduction(const Call& call);
Arrays scan(const Call& call);
Arrays composite(const Call& call);
Arrays view(const Call& call);
Arrays indexing(const Call& call);
Arrays contraction(const Call& call);
Arrays quantized(const Call& call);
Arrays barrier(const Call& call);

}  // namespace autoperfect::applying
