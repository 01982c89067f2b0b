#include "dispatch/dispatch.h"

#include <algorithm>

#include "dispatch/kernel_primitive.h"
#include "mlx/utils.h"

namespace autoperfect {

namespace {

namespace mx = mlx::core;
using Arrays = std::vector<mx::array>;

bool admits(const Executable& executable, const AxisSizes& sizes) {
  const auto& guards = executable.guards.sizes;
  if (executable.device && !executable.device->launches(dynamic_size(executable.kernel, sizes))) return false;
  return std::all_of(guards.begin(), guards.end(), [&](const SizeGuard& guard) {
    int64_t size = sizes[guard.axis];
    return size >= guard.least && size <= guard.most && size % guard.multiple == 0;
  });
}

bool runs_on(const Executable& executable, const mx::Device& device) {
  return device == mx::Device::cpu ? executable.loaded != nullptr
                                   : executable.device && device == mx::Device(mx::Device::gpu, 0);
}

Arrays run_fallback(const Graph& fallback, const Arrays& inputs, const mx::Stream& stream) {
  if (stream == mx::default_stream(mx::default_device())) return interpret(fallback, inputs);
  mx::StreamContext context(stream);
  return interpret(fallback, inputs);
}

// Whether the inputs can be given to the kernel, however they lie once they are there.
bool is_certain(const Executable& executable, const Arrays& inputs, const AxisSizes& sizes) {
  if (executable.otherwise && admits(*executable.otherwise, sizes)) return true;
  mx::SmallVector<int64_t> free;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const auto& buffer = executable.kernel.buffers[i];
    if (!is_row(buffer) && !(is_there(inputs[i]) && lies_as(inputs[i], buffer, free))) return false;
  }
  return true;
}

}  // namespace

Arrays dispatch(
    const std::shared_ptr<const Executable>& executable, Arrays inputs, mx::StreamOrDevice stream_or_device) {
  if (executable->plain) return executable->plain(inputs);
  auto stream = mx::to_stream(stream_or_device);
  std::optional<AxisSizes> sizes;
  if (runs_on(*executable, stream.device)) sizes = axis_sizes(executable->kernel, inputs);
  if (sizes && !admits(*executable, *sizes)) sizes.reset();
  if (!sizes || !is_certain(*executable, inputs, *sizes))
    return run_fallback(executable->fallback, inputs, stream);
  std::vector<mx::Shape> shapes;
  std::vector<mx::Dtype> dtypes;
  for (const auto& buffer : executable->kernel.buffers) {
    if (buffer.role != BufferRole::out) continue;
    shapes.push_back(buffer_shape(buffer, *sizes));
    dtypes.push_back(to_mlx(buffer.type.dtype));
  }
  auto primitive = std::make_shared<KernelPrimitive>(stream, executable);
  if (shapes.size() == 1)
    return {mx::array(std::move(shapes[0]), dtypes[0], std::move(primitive), std::move(inputs))};
  return mx::array::make_arrays(std::move(shapes), dtypes, primitive, inputs);
}

}  // namespace autoperfect
