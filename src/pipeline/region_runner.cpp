#include "pipeline/region_runner.h"

#include <algorithm>
#include <cstring>

#include "dispatch/device_times.h"
#include "gate/families.h"
#include "ir/gathered_inputs.h"
#include "ir/layout.h"
#include "lower/lower.h"
#include "mlx/mlx.h"
#include "pipeline/calls.h"
#include "pipeline/full_size.h"

namespace autoperfect {
namespace {

namespace mx = mlx::core;

mx::Shape to_mlx_shape(const Shape& shape) {
  return mx::Shape(shape.begin(), shape.end());
}

// Values a program could see: normal numbers, small non-negative integers (valid indices, where they are
// indices), coin flips.
mx::array sample(const TensorType& type, int64_t index_size, const mx::array& key) {
  mx::Shape shape = to_mlx_shape(type.shape);
  mx::Dtype dtype = to_mlx(type.dtype);
  if (type.dtype == Dtype::bool_) return mx::random::bernoulli(mx::array(0.5f), shape, key);
  const int64_t integers = index_size > 0 ? std::min<int64_t>(index_size, 1 << 30) : 100;
  if (is_integer(type.dtype))
    return mx::random::randint(mx::array(0), mx::array(static_cast<int>(integers)), shape, dtype, key);
  return mx::astype(mx::random::normal(shape, mx::float32, 0.0f, 1.0f, key), dtype);
}

// The same, lying as the buffer says: a view of a larger array.
mx::array sample(Buffer buffer, int64_t index_size, const mx::array& key) {
  if (is_row(buffer)) return sample(buffer.type, index_size, key);
  settle_free_strides(buffer);
  auto memory = sample(TensorType{buffer.type.dtype, {*span_of(buffer)}}, index_size, key);
  auto strides = strides_of(buffer);
  return mx::as_strided(
      memory,
      to_mlx_shape(buffer.type.shape),
      mx::Strides(strides.begin(), strides.end()),
      static_cast<size_t>(buffer.layout.offset));
}

std::vector<mx::array> sample_inputs(const Kernel& kernel) {
  std::vector<mx::array> inputs;
  uint64_t seed = 1;
  const auto index_sizes = gathered_sizes(kernel);
  for (size_t b = 0; b < index_sizes.size(); ++b) {
    const auto& buffer = kernel.buffers[b];
    if (buffer.role == BufferRole::in)
      inputs.push_back(sample(buffer, index_sizes[b], mx::random::key(seed++)));
  }
  mx::eval(inputs);
  return inputs;
}

}  // namespace

mx::array to_array(const Tensor& tensor) {
  auto buffer = mx::allocator::malloc(std::max<size_t>(1, tensor.bytes.size()));
  std::memcpy(buffer.buffer().raw_ptr(), tensor.bytes.data(), tensor.bytes.size());
  return mx::array(std::move(buffer), to_mlx_shape(tensor.type.shape), to_mlx(tensor.type.dtype));
}

Tensor to_tensor(const mx::array& source) {
  mx::array array = mx::contiguous(source);
  mx::eval(array);
  Tensor tensor;
  tensor.type.dtype = from_mlx(array.dtype());
  tensor.type.shape.assign(array.shape().begin(), array.shape().end());
  auto* data = array.data<unsigned char>();
  tensor.bytes.assign(data, data + array.nbytes());
  return tensor;
}

Result<std::vector<Tensor>> evaluate(const Graph& graph, const std::vector<Tensor>& inputs) {
  try {
    std::vector<mx::array> arrays;
    for (auto& tensor : inputs)
      arrays.push_back(to_array(tensor));
    std::vector<Tensor> results;
    for (auto& array : interpret(graph, arrays))
      results.push_back(to_tensor(array));
    return results;
  } catch (const std::exception& error) {
    return Diagnostic{"gate", "mlx-failed", error.what(), {}, ""};
  }
}

RegionRunner::RegionRunner(Kernel kernel, std::function<ArrayFunction()> plain, mx::Stream stream)
    : kernel_(std::move(kernel)), graph_(raise(kernel_)), plain_(std::move(plain)), stream_(stream) {}

// On inputs of other sizes too: through the kernel's own MLX operations.
Result<std::vector<Tensor>> RegionRunner::eager(const std::vector<Tensor>& inputs) {
  std::vector<int64_t> sizes(kernel_.axes.size(), 1);
  size_t next = 0;
  for (auto& buffer : kernel_.buffers) {
    if (buffer.role != BufferRole::in) continue;
    auto& shape = inputs.at(next++).type.shape;
    for (size_t d = 0; d < shape.size(); ++d)
      if (buffer.dynamic_dims[d] >= 0) sizes[static_cast<size_t>(buffer.dynamic_dims[d])] = shape[d];
  }
  return evaluate(raise(resize(kernel_, sizes)), inputs);
}

const std::vector<mx::array>& RegionRunner::inputs() {
  if (inputs_.empty()) inputs_ = sample_inputs(seen_ ? *seen_ : kernel_);
  return inputs_;
}

std::shared_ptr<const Executable> make_executable(const Kernel& kernel, const Runnable& runnable) {
  return std::make_shared<const Executable>(Executable{
      .kernel = kernel,
      .fallback = runnable.graph ? *runnable.graph : raise(kernel),
      .loaded = runnable.loaded,
      .guards = runnable.guards,
      .device = runnable.device});
}

Contender RegionRunner::timed(const std::string& name, ArrayFunction function) {
  return calling(name, std::move(function), inputs(), calls_in_flight(stream_, bytes_of_outputs(kernel_)));
}

std::vector<Contender> RegionRunner::baselines() {
  ArrayFunction plain = plain_();
  ArrayFunction compiled = mx::compile(plain);
  std::vector<Contender> found = {timed("eager", plain), timed("mx.compile", compiled)};
  if (copying_)
    found.push_back(timed(copying_name, [made = copying_, stream = stream_](const auto& arrays) {
      return dispatch(made, arrays, stream);
    }));
  return found;
}

Contender RegionRunner::contender(const Runnable& runnable, const std::string& name) {
  return timed(name, [made = make_executable(kernel_, runnable), stream = stream_](const auto& arrays) {
    return dispatch(made, arrays, stream);
  });
}

std::string RegionRunner::recheck(const Runnable& runnable, const Recheck& how) {
  FullSize run{resize(kernel_, how.sizes), {}, {}, {}};
  const bool is_own = how.sizes == sizes_of_axes(kernel_);
  run.inputs = is_own ? inputs() : sample_inputs(resize(seen_ ? *seen_ : kernel_, how.sizes));
  run.ours = dispatch(make_executable(run.kernel, runnable), run.inputs, stream_);
  // The kernel's own ops, not the captured primitives: some of those are far off in half dtypes (MLX's
  // softmax of bf16 sums in bf16), which the gate judged against the oracle.
  run.mlx = [graph = is_own ? graph_ : raise(run.kernel)](const auto& inputs) {
    return interpret(graph, inputs);
  };
  return wrong_at_full_size(run, how.elements, how.seed);
}

DeviceTimes RegionRunner::times_on_device(const Runnable& runnable) {
  if (!runnable.device) return {};
  auto outputs = dispatch(make_executable(kernel_, runnable), inputs(), stream_);
  mx::eval(outputs);
  mx::synchronize(stream_);
  int64_t dynamic_size = 0;
  for (const auto& axis : kernel_.axes)
    if (axis.dynamic) dynamic_size = axis.size;
  return device_times(*runnable.device, dynamic_size, inputs(), outputs);
}

}  // namespace autoperfect
