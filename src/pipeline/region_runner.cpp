#include "pipeline/region_runner.h"

#include <algorithm>
#include <cstring>

#include "dispatch/launch_gpu.h"
#include "ir/gathered_inputs.h"
#include "ir/layout.h"
#include "lower/lower.h"
#include "mlx/mlx.h"

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

// Coarse: the gate proved the numbers; this looks for what only the full size shows (an index, a chunk, an
// alignment). Half dtypes round at every op, where ours and eager may part by several units.
double tolerance(Dtype dtype) {
  return dtype == Dtype::bf16 ? 0.25 : dtype == Dtype::f16 ? 0.05 : 2e-3;
}

// Of floats: which elements are near, by `tolerance`.
mx::array near(const mx::array& ours, const mx::array& theirs, Dtype dtype) {
  auto a = mx::astype(ours, mx::float32), b = mx::astype(theirs, mx::float32);
  auto finite = mx::where(mx::isfinite(b), mx::abs(b), mx::array(0.0f));
  double scale = mx::sqrt(mx::mean(mx::square(finite))).item<float>();
  double t = tolerance(dtype);
  return mx::isclose(a, b, t, t * (scale + 1e-30), true);
}

// Of floats: where `moved` is another number than `result`, whatever the others are.
mx::array differs(const mx::array& moved, const mx::array& result, Dtype dtype) {
  auto a = mx::astype(moved, mx::float32), b = mx::astype(result, mx::float32);
  return mx::logical_not(mx::isclose(a, b, tolerance(dtype), 0, true));
}

// Floats by a unit in the last place, up or down.
std::vector<mx::array> moved(const std::vector<mx::array>& inputs, uint64_t seed) {
  std::vector<mx::array> result;
  for (const auto& input : inputs) {
    Dtype dtype = from_mlx(input.dtype());
    if (!is_floating(dtype)) {
      result.push_back(input);
      continue;
    }
    double unit = dtype == Dtype::bf16 ? 0x1p-7 : dtype == Dtype::f16 ? 0x1p-10 : 0x1p-23;
    auto up = mx::random::bernoulli(mx::array(0.5f), input.shape(), mx::random::key(seed++));
    auto factor = mx::where(up, mx::array(1 + unit, mx::float32), mx::array(1 - unit, mx::float32));
    result.push_back(mx::astype(mx::astype(input, mx::float32) * factor, input.dtype()));
  }
  return result;
}

// Where the inputs lie near a pole of the region, MLX's own result moves as far when they do by a unit in the
// last place, and decides nothing there. Such elements are few, or the inputs are of no use.
bool agrees(
    const mx::array& ours,
    const mx::array& theirs,
    Dtype dtype,
    const std::function<mx::array(uint64_t seed)>& theirs_moved) {
  if (!is_floating(dtype)) {
    // Where a comparison of floats decides, an ulp may turn a few.
    auto different = mx::mean(mx::astype(mx::not_equal(ours, theirs), mx::float32));
    return different.item<float>() < 1e-4f;
  }
  auto good = near(ours, theirs, dtype);
  if (mx::all(good).item<bool>()) return true;
  constexpr float most_unsteady = 0.1f;
  constexpr uint64_t draws = 8;
  auto unsteady = mx::zeros_like(good);
  for (uint64_t seed = 1; seed <= draws; ++seed)
    unsteady = mx::logical_or(unsteady, differs(theirs_moved(100 * seed), theirs, dtype));
  bool few = mx::mean(mx::astype(unsteady, mx::float32)).item<float>() < most_unsteady;
  return few && mx::all(mx::logical_or(good, unsteady)).item<bool>();
}

// As many as fill MLX's unit of work, in memory that is there.
int calls_in_flight(const Kernel& kernel) {
  constexpr int64_t most_calls = 20, most_bytes = int64_t{2} << 30;
  return static_cast<int>(std::clamp<int64_t>(most_bytes / (1 + bytes_of_outputs(kernel)), 1, most_calls));
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
  if (!inputs_.empty()) return inputs_;
  uint64_t seed = 1;
  const auto& kernel = seen_ ? *seen_ : kernel_;
  const auto index_sizes = gathered_sizes(kernel);
  for (size_t b = 0; b < index_sizes.size(); ++b) {
    const auto& buffer = kernel.buffers[b];
    if (buffer.role == BufferRole::in)
      inputs_.push_back(sample(buffer, index_sizes[b], mx::random::key(seed++)));
  }
  mx::eval(inputs_);
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

// On a GPU calls are timed as programs make them, several to an eval: one alone is all waiting.
Contender RegionRunner::timed(const std::string& name, ArrayFunction function) {
  int calls = stream_.device == mx::Device::cpu ? 1 : calls_in_flight(kernel_);
  auto run = [arrays = inputs(), function = std::move(function), calls] {
    std::vector<mx::array> outputs;
    for (int call = 0; call < calls; ++call) {
      auto made = function(arrays);
      outputs.insert(outputs.end(), made.begin(), made.end());
    }
    mx::eval(std::move(outputs));
  };
  return {name, run, calls};
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

std::string RegionRunner::recheck(const Runnable& runnable) {
  auto ours = dispatch(make_executable(kernel_, runnable), inputs(), stream_);
  // The kernel's own ops, not the captured primitives: some of those are far off in half dtypes (MLX's
  // softmax of bf16 sums in bf16), which the gate judged against the oracle.
  auto theirs = interpret(graph_, inputs());
  for (size_t i = 0; i < ours.size(); ++i) {
    Dtype dtype = from_mlx(theirs[i].dtype());
    auto theirs_moved = [&](uint64_t seed) { return interpret(graph_, moved(inputs(), seed)).at(i); };
    if (!agrees(ours[i], theirs[i], dtype, theirs_moved))
      return "output " + std::to_string(i) + " differs from MLX eager";
  }
  return "";
}

double RegionRunner::seconds_on_device(const Runnable& runnable) {
  if (!runnable.device) return 0;
  auto outputs = dispatch(make_executable(kernel_, runnable), inputs(), stream_);
  mx::eval(outputs);
  mx::synchronize(stream_);
  int64_t dynamic_size = 0;
  for (const auto& axis : kernel_.axes)
    if (axis.dynamic) dynamic_size = axis.size;
  return device_seconds(*runnable.device, dynamic_size, inputs(), outputs);
}

}  // namespace autoperfect
