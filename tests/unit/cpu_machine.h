// Runs a candidate on this processor: over all threads and over one.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "compile/cpu/compile.h"
#include "cost/target.h"
#include "reference/reference.h"

namespace autoperfect {

inline Target test_target() {
  return default_cpu_target();
}
inline bool is_in_scope(const Kernel&) {
  return true;
}

inline std::vector<Tensor> run_native(
    const Kernel& kernel, const LoadedKernel& loaded, const std::vector<Tensor>& inputs, int threads) {
  std::vector<Tensor> outputs;
  for (auto& buffer : kernel.buffers)
    if (buffer.role == BufferRole::out) {
      outputs.push_back(Tensor::zeros(buffer.type));
      for (auto& byte : outputs.back().bytes)
        byte = 0xA5;
    }
  std::vector<const void*> in;
  std::vector<void*> out;
  for (auto& t : inputs)
    in.push_back(t.bytes.data());
  for (auto& t : outputs)
    out.push_back(t.bytes.data());
  std::vector<long> dims;
  for (auto& axis : kernel.axes)
    if (axis.dynamic) dims.push_back(axis.size);
  int64_t units = 1;
  for (AxisId axis : loaded.launch.parallel)
    units *= kernel.axes[axis].size;
  launch_cpu(loaded, in.data(), out.data(), dims.data(), units, threads);
  return outputs;
}

using Runs =
    std::function<std::vector<std::vector<Tensor>>(const Kernel& sized, const std::vector<Tensor>& inputs)>;

inline Result<Runs> prepare(const Candidate& candidate) {
  auto binary = compile_cpu(candidate.source, *system_compiler());
  if (!binary) return binary.errors();
  auto loaded = load_cpu(*binary, candidate.launch);
  if (!loaded) return loaded.errors();
  return Runs([loaded = *loaded](const Kernel& sized, const std::vector<Tensor>& inputs) {
    std::vector<std::vector<Tensor>> runs;
    for (int threads : {0, 1})
      runs.push_back(run_native(sized, *loaded, inputs, threads));
    return runs;
  });
}

}  // namespace autoperfect
