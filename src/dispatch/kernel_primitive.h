// An admitted kernel as a node of MLX's graph.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "dispatch/dispatch.h"
#include "dispatch/input_layout.h"

namespace autoperfect {

// Sizes of all axes of a kernel for given inputs. Nothing when they are not what the kernel was made for, or
// when there is nothing to compute.
std::optional<AxisSizes> axis_sizes(const Kernel& kernel, const std::vector<mlx::core::array>& inputs);

// Of the last axis that is dynamic: kernels of GPUs have one. 0: none is.
int64_t dynamic_size(const Kernel& kernel, const AxisSizes& sizes);

mlx::core::Shape buffer_shape(const Buffer& buffer, const AxisSizes& sizes);

class KernelPrimitive : public mlx::core::Primitive {
 public:
  KernelPrimitive(mlx::core::Stream stream, std::shared_ptr<const Executable> executable)
      : Primitive(stream), executable_(std::move(executable)) {}

  void eval_cpu(const std::vector<mlx::core::array>& inputs, std::vector<mlx::core::array>& outputs) override;
  void eval_gpu(const std::vector<mlx::core::array>& inputs, std::vector<mlx::core::array>& outputs) override;

  // Transformations are those of the region's MLX operations.
  std::vector<mlx::core::array> jvp(
      const std::vector<mlx::core::array>& primals,
      const std::vector<mlx::core::array>& tangents,
      const std::vector<int>& argnums) override;
  std::vector<mlx::core::array> vjp(
      const std::vector<mlx::core::array>& primals,
      const std::vector<mlx::core::array>& cotangents,
      const std::vector<int>& argnums,
      const std::vector<mlx::core::array>& outputs) override;
  std::pair<std::vector<mlx::core::array>, std::vector<int>> vmap(
      const std::vector<mlx::core::array>& inputs, const std::vector<int>& axes) override;

  const char* name() const override { return "AutoPerfect"; }
  bool is_equivalent(const mlx::core::Primitive& other) const override;
  std::vector<mlx::core::Shape> output_shapes(const std::vector<mlx::core::array>& inputs) override;

 private:
  // The region's MLX operations as a function of some of its inputs, the others staying what they are.
  ArrayFunction fallback_of(
      const std::vector<mlx::core::array>& primals, const std::vector<int>& argnums) const;

  std::shared_ptr<const Executable> executable_;
};

}  // namespace autoperfect
