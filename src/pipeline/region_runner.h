// What tuning needs of MLX for one region: eager results, baselines and contenders on arrays of the region's
// own sizes.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "dispatch/dispatch.h"
#include "pipeline/steps.h"
#include "tune/tune.h"

namespace autoperfect {

mlx::core::array to_array(const Tensor& tensor);
Tensor to_tensor(const mlx::core::array& array);

// The outputs of a graph as MLX computes them; an error where MLX fails.
Result<std::vector<Tensor>> evaluate(const Graph& graph, const std::vector<Tensor>& inputs);

// The kernel with its fallback; where MLX's operations won, those of the winner are the fallback.
std::shared_ptr<const Executable> make_executable(const Kernel& kernel, const Runnable& runnable);

// The contender that copies strided inputs and then runs the kernel of dense ones.
constexpr const char* copying_name = "strided inputs copied first";

class RegionRunner : public Runner {
 public:
  // `plain` makes the region as MLX would run it, from captured primitives where there are any; that function
  // takes and gives what the kernel does. Asked for by baselines() only: a cached decision needs none.
  RegionRunner(Kernel kernel, std::function<ArrayFunction()> plain, mlx::core::Stream stream);

  // Of a kernel that takes inputs as they lie: `seen` is the kernel with the strides that were seen, on whose
  // arrays all is timed, and `copying` (may be null) the kernel that copies them first, one more to beat.
  void take_inputs_as(Kernel seen, std::shared_ptr<const Executable> copying) {
    seen_ = std::move(seen);
    copying_ = std::move(copying);
  }

  const Graph& graph() override { return graph_; }
  Result<std::vector<Tensor>> evaluate(const Graph& graph, const std::vector<Tensor>& inputs) override {
    return autoperfect::evaluate(graph, inputs);
  }
  Result<std::vector<Tensor>> eager(const std::vector<Tensor>& inputs) override;
  std::vector<Contender> baselines() override;
  Contender contender(const Runnable& runnable, const std::string& name) override;
  std::string recheck(const Runnable& runnable, const Recheck& how) override;
  DeviceTimes times_on_device(const Runnable& runnable) override;

 private:
  const std::vector<mlx::core::array>& inputs();
  Contender timed(const std::string& name, ArrayFunction function);

  Kernel kernel_;
  Graph graph_;  // raised
  std::function<ArrayFunction()> plain_;
  mlx::core::Stream stream_;
  std::vector<mlx::core::array> inputs_;
  std::optional<Kernel> seen_;
  std::shared_ptr<const Executable> copying_;
};

}  // namespace autoperfect
