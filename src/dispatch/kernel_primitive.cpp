#include "dispatch/kernel_primitive.h"

#include <stdexcept>

#include "dispatch/buffer_pool.h"
#include "dispatch/launch_gpu.h"
#include "dispatch/strided_copy.h"
#include "mlx/backend/cpu/encoder.h"
#include "mlx/transforms.h"

namespace autoperfect {

namespace {

namespace mx = mlx::core;
using Arrays = std::vector<mx::array>;

// Everything a launch needs, owned: the primitive and its arrays may be gone when it runs. The bytes are kept
// alive by MLX until the stream has passed this point.
struct Run {
  std::shared_ptr<const Executable> executable;
  mx::SmallVector<const void*> in;
  mx::SmallVector<void*> out;
  mx::SmallVector<long> dims;
  int64_t units = 1;
  struct Strided {
    size_t input;
    StridedSource source;
    int64_t bytes;
  };
  std::vector<Strided> strided;
  struct Temporary {
    int64_t bytes, align;
  };
  std::vector<Temporary> temporaries;

  void operator()() {
    std::vector<PooledBuffer> held;
    for (const auto& copy : strided) {
      held.push_back(pooled_buffer(copy.bytes));
      copy_to_dense(copy.source, held.back().get());
      in[copy.input] = held.back().get();
    }
    for (const auto& [bytes, align] : temporaries) {
      held.push_back(pooled_buffer(bytes + align));
      auto address = reinterpret_cast<uintptr_t>(held.back().get());
      out.push_back(reinterpret_cast<void*>((address + align - 1) / align * align));
    }
    launch_cpu(*executable->loaded, in.data(), out.data(), dims.data(), units);
  }
};

// Sizes of static dimensions must agree, those of dynamic ones must agree with each other.
bool match_buffer(const Buffer& buffer, const mx::array& input, AxisSizes& sizes) {
  if (to_mlx(buffer.type.dtype) != input.dtype() || buffer.type.shape.size() != input.ndim()) return false;
  for (size_t d = 0; d < input.ndim(); ++d) {
    int64_t size = input.shape()[d];
    auto axis = d < buffer.dynamic_dims.size() ? buffer.dynamic_dims[d] : -1;
    if (axis < 0) {
      if (size != buffer.type.shape[d]) return false;
    } else if (sizes[axis] < 0) {
      sizes[axis] = size;
    } else if (sizes[axis] != size) {
      return false;
    }
  }
  return true;
}

bool is_aligned(const void* pointer, const Guards& guards) {
  return reinterpret_cast<uintptr_t>(pointer) % static_cast<uintptr_t>(guards.alignment) == 0;
}

void add_input(Run& run, const Buffer& buffer, const mx::array& input) {
  run.in.push_back(pointer_for(input, buffer));
  bool aligned = is_aligned(run.in.back(), run.executable->guards);
  if (!is_row(buffer) || (input.flags().row_contiguous && aligned)) return;
  StridedSource source{input.data<char>(), static_cast<int64_t>(input.itemsize()), {}, {}};
  source.shape.assign(input.shape().begin(), input.shape().end());
  source.strides.assign(input.strides().begin(), input.strides().end());
  run.strided.push_back({run.in.size() - 1, std::move(source), static_cast<int64_t>(input.nbytes())});
}

// The first that takes the inputs as they lie, or makes them so; and the free strides.
const Executable& choose(const Executable& first, const Arrays& inputs, mx::SmallVector<int64_t>& free) {
  for (const Executable* one = &first; one; one = one->otherwise.get()) {
    free.clear();
    bool fits = true;
    for (size_t i = 0; i < inputs.size() && fits; ++i) {
      const auto& buffer = one->kernel.buffers[i];
      fits = is_row(buffer) ||
             (lies_as(inputs[i], buffer, free) && is_aligned(pointer_for(inputs[i], buffer), one->guards));
    }
    if (fits) return *one;
  }
  throw std::invalid_argument("[AutoPerfect] a kernel was replayed on inputs that lie otherwise");
}

// Nobody else reads the input, and its elements lie as those of the output do.
bool gives_memory(const mx::array& input, const mx::array& output) {
  return input.is_donatable() && input.flags().row_contiguous && input.itemsize() == output.itemsize() &&
         input.size() == output.size();
}

AxisSizes sizes_or_throw(const Kernel& kernel, const Arrays& inputs) {
  if (auto sizes = axis_sizes(kernel, inputs)) return *sizes;
  throw std::invalid_argument("[AutoPerfect] a kernel was replayed on inputs it was not made for");
}

}  // namespace

std::optional<AxisSizes> axis_sizes(const Kernel& kernel, const Arrays& inputs) {
  AxisSizes sizes;
  for (const auto& axis : kernel.axes)
    sizes.push_back(axis.dynamic ? -1 : axis.size);
  size_t next = 0;
  for (const auto& buffer : kernel.buffers) {
    if (buffer.role != BufferRole::in) break;
    if (next == inputs.size() || !match_buffer(buffer, inputs[next], sizes)) return std::nullopt;
    if (inputs[next++].size() == 0) return std::nullopt;
  }
  if (next != inputs.size()) return std::nullopt;
  for (auto size : sizes) {
    if (size <= 0) return std::nullopt;
  }
  return sizes;
}

int64_t dynamic_size(const Kernel& kernel, const AxisSizes& sizes) {
  int64_t size = 0;
  for (size_t a = 0; a < kernel.axes.size(); ++a)
    if (kernel.axes[a].dynamic) size = sizes[a];
  return size;
}

mx::Shape buffer_shape(const Buffer& buffer, const AxisSizes& sizes) {
  mx::Shape shape(buffer.type.shape.begin(), buffer.type.shape.end());
  for (size_t d = 0; d < buffer.dynamic_dims.size(); ++d) {
    if (buffer.dynamic_dims[d] >= 0) shape[d] = static_cast<int>(sizes[buffer.dynamic_dims[d]]);
  }
  return shape;
}

void KernelPrimitive::eval_cpu(const Arrays& inputs, Arrays& outputs) {
  mx::SmallVector<int64_t> strides;
  const auto& chosen = choose(*executable_, inputs, strides);
  const auto& kernel = chosen.kernel;
  auto sizes = sizes_or_throw(kernel, inputs);
  auto run = std::make_shared<Run>();
  run->executable = {executable_, &chosen};
  for (size_t a = 0; a < kernel.axes.size(); ++a) {
    if (kernel.axes[a].dynamic) run->dims.push_back(sizes[a]);
  }
  for (auto stride : strides)
    run->dims.push_back(stride);
  for (auto axis : chosen.loaded->launch.parallel)
    run->units *= sizes[axis];
  auto& encoder = mx::cpu::get_command_encoder(stream());
  for (size_t i = 0; i < inputs.size(); ++i) {
    add_input(*run, kernel.buffers[i], inputs[i]);
    encoder.set_input_array(inputs[i]);
  }
  for (size_t k = 0; k < outputs.size(); ++k) {
    auto alias = kernel.buffers[inputs.size() + k].alias;
    bool takes = alias >= 0 && gives_memory(inputs[alias], outputs[k]) &&
                 is_aligned(inputs[alias].data<char>(), chosen.guards);
    if (takes) {
      outputs[k].copy_shared_buffer(inputs[alias]);
    } else {
      outputs[k].set_data(allocate_result(outputs[k].nbytes()));
    }
    run->out.push_back(outputs[k].data<char>());
    encoder.set_output_array(outputs[k]);
  }
  for (const auto& buffer : kernel.buffers) {
    if (buffer.role != BufferRole::temp) continue;
    const auto shape = buffer_shape(buffer, sizes);
    const TensorType type{buffer.type.dtype, {shape.begin(), shape.end()}};
    run->temporaries.push_back({type.bytes(), alignment_of(buffer)});
  }
  encoder.dispatch([run = std::move(run)] { (*run)(); });
}

void KernelPrimitive::eval_gpu(const Arrays& inputs, Arrays& outputs) {
  auto sizes = sizes_or_throw(executable_->kernel, inputs);
  launch_gpu(
      *executable_->device,
      executable_->guards.alignment,
      dynamic_size(executable_->kernel, sizes),
      stream(),
      inputs,
      outputs);
}

ArrayFunction KernelPrimitive::fallback_of(const Arrays& primals, const std::vector<int>& argnums) const {
  return [executable = executable_, primals, argnums](const Arrays& some) {
    auto inputs = primals;
    for (size_t i = 0; i < argnums.size(); ++i)
      inputs[argnums[i]] = some[i];
    return interpret(executable->fallback, inputs);
  };
}

Arrays KernelPrimitive::jvp(const Arrays& primals, const Arrays& tangents, const std::vector<int>& argnums) {
  Arrays some;
  for (auto argnum : argnums)
    some.push_back(primals[argnum]);
  return mx::jvp(fallback_of(primals, argnums), some, tangents).second;
}

Arrays KernelPrimitive::vjp(
    const Arrays& primals, const Arrays& cotangents, const std::vector<int>& argnums, const Arrays&) {
  Arrays some;
  for (auto argnum : argnums)
    some.push_back(primals[argnum]);
  return mx::vjp(fallback_of(primals, argnums), some, cotangents).second;
}

std::pair<Arrays, std::vector<int>> KernelPrimitive::vmap(
    const Arrays& inputs, const std::vector<int>& axes) {
  auto fn = [executable = executable_](const Arrays& in) { return interpret(executable->fallback, in); };
  std::vector<int> out_axes(executable_->fallback.outputs.size(), 0);
  return {mx::vmap(fn, axes, out_axes)(inputs), out_axes};
}

bool KernelPrimitive::is_equivalent(const mx::Primitive& other) const {
  // Names first: two libraries may have classes of the same layout, never of the same name.
  if (std::string_view(other.name()) != name()) return false;
  return static_cast<const KernelPrimitive&>(other).executable_ == executable_;
}

std::vector<mx::Shape> KernelPrimitive::output_shapes(const Arrays& inputs) {
  auto sizes = sizes_or_throw(executable_->kernel, inputs);
  std::vector<mx::Shape> shapes;
  for (const auto& buffer : executable_->kernel.buffers) {
    if (buffer.role == BufferRole::out) shapes.push_back(buffer_shape(buffer, sizes));
  }
  return shapes;
}

}  // namespace autoperfect
