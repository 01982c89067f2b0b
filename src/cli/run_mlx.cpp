#include "cli/run_mlx.h"

#include <fmt/format.h>

#include "capture/capture.h"
#include "mlx/ops.h"
#include "mlx/transforms.h"

namespace autoperfect::cli {

namespace {

namespace mx = mlx::core;

mx::array to_array(const Tensor& tensor) {
  mx::Shape shape(tensor.type.shape.begin(), tensor.type.shape.end());
  auto bytes = mx::array(tensor.bytes.begin(), {static_cast<int>(tensor.bytes.size())}, mx::uint8);
  auto flat = mx::view(bytes, to_mlx(tensor.type.dtype));
  return mx::reshape(flat, shape);
}

Tensor to_tensor(const mx::array& result) {
  auto rows = mx::contiguous(result);
  rows.eval();
  Tensor tensor{{from_mlx(rows.dtype()), Shape(rows.shape().begin(), rows.shape().end())}, {}};
  if (rows.size() > 0) tensor.bytes.assign(rows.data<uint8_t>(), rows.data<uint8_t>() + rows.nbytes());
  return tensor;
}

}  // namespace

Result<std::vector<Tensor>> run_mlx(const Graph& graph, const std::vector<Tensor>& inputs) {
  for (const auto& node : graph.nodes) {
    if (!needs_its_primitive(node.op)) continue;
    auto message = fmt::format("'{}' {}: text alone does not run it", name(node.op), barrier_reason(node.op));
    return Diagnostic{"run", "opaque-node", message, node.where};
  }
  mx::set_default_device(mx::Device::cpu);
  std::vector<mx::array> arrays;
  for (const auto& input : inputs)
    arrays.push_back(to_array(input));
  std::vector<Tensor> outputs;
  try {
    for (const auto& output : interpret(graph, arrays))
      outputs.push_back(to_tensor(output));
  } catch (const std::exception& error) {
    return Diagnostic{"run", "mlx", error.what()};
  }
  return outputs;
}

}  // namespace autoperfect::cli
