// Runs a candidate on the first NVIDIA GPU: with buffers as MLX aligns them and one element past that,
// between guard zones, over two poisons, twice.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <vector>

#include "compile/cuda/compile.h"
#include "compile/cuda/device.h"
#include "cost/target.h"
#include "reference/reference.h"

namespace autoperfect {

inline Target test_target() {
  return *find_target("cuda.sm_90");
}

// Contractions are MLX's there; f64 and c64 no GPU of MLX has.
inline bool is_in_scope(const Kernel& kernel) {
  auto is_wide = [](Dtype d) { return d == Dtype::f64 || d == Dtype::c64; };
  return std::none_of(
             kernel.values.begin(),
             kernel.values.end(),
             [&](const KernelValue& v) { return v.op == Op::matmul || is_wide(v.dtype); }) &&
         std::none_of(kernel.buffers.begin(), kernel.buffers.end(), [&](const Buffer& b) {
           return is_wide(b.type.dtype);
         });
}

inline std::shared_ptr<CudaDevice> test_device() {
  static auto device = CudaDevice::open();
  if (!device) {
    std::printf("no GPU: %s\n", device.errors().at(0).message.c_str());
    std::exit(1);
  }
  return *device;
}

// Memory of the device between two zones that must not change.
class GuardedBuffer {
 public:
  GuardedBuffer(int64_t bytes, int64_t shift) : bytes_(bytes), shift_(shift) {
    auto base = test_device()->allocate(bytes + shift + 2 * zone);
    EXPECT_TRUE(base.ok());
    base_ = base ? *base : 0;
    fill(canary, bytes + shift + 2 * zone, -zone - shift);
  }
  ~GuardedBuffer() { test_device()->release(base_); }
  GuardedBuffer(const GuardedBuffer&) = delete;

  DeviceAddress address() const { return base_ + zone + shift_; }
  void write(const std::vector<unsigned char>& bytes) {
    EXPECT_TRUE(test_device()->write(address(), bytes.data(), bytes_).ok());
  }
  void poison(int value) { fill(value, bytes_, 0); }
  // What lies in it, once the zones were found as they were.
  std::vector<unsigned char> read(const std::string& what) {
    std::vector<unsigned char> all(static_cast<size_t>(bytes_ + shift_ + 2 * zone));
    EXPECT_TRUE(test_device()->read(all.data(), base_, static_cast<int64_t>(all.size())).ok()) << what;
    auto begin = all.begin() + zone + shift_, end = begin + bytes_;
    auto touched = [](unsigned char byte) { return byte != canary; };
    EXPECT_TRUE(std::none_of(all.begin(), begin, touched)) << what << ": writes before a buffer";
    EXPECT_TRUE(std::none_of(end, all.end(), touched)) << what << ": writes past a buffer";
    return {begin, end};
  }

 private:
  static constexpr int64_t zone = 4096;
  static constexpr unsigned char canary = 0xc7;
  void fill(int value, int64_t bytes, int64_t from) {
    EXPECT_TRUE(test_device()->fill(address() + from, value, bytes).ok());
  }
  int64_t bytes_, shift_;
  DeviceAddress base_ = 0;
};

inline std::vector<Tensor> run_on_device(
    const Kernel& kernel,
    DeviceKernel& loaded,
    const std::vector<Tensor>& inputs,
    bool aligned,
    int poison,
    const std::string& what) {
  std::vector<std::unique_ptr<GuardedBuffer>> in, out;
  std::vector<DeviceAddress> from, to;
  std::vector<Tensor> outputs;
  int64_t dynamic_size = 0;
  for (auto& axis : kernel.axes)
    if (axis.dynamic) dynamic_size = axis.size;
  for (auto& buffer : kernel.buffers) {
    auto& list = buffer.role == BufferRole::in ? in : out;
    list.push_back(
        std::make_unique<GuardedBuffer>(buffer.type.bytes(), aligned ? 0 : size_of(buffer.type.dtype)));
    if (buffer.role == BufferRole::in) {
      list.back()->write(inputs.at(in.size() - 1).bytes);
      from.push_back(list.back()->address());
    } else {
      list.back()->poison(poison);
      to.push_back(list.back()->address());
      outputs.push_back(Tensor::zeros(buffer.type));
    }
  }
  int64_t partial_bytes = loaded.partial_bytes(dynamic_size).value_or(0);
  GuardedBuffer partial(partial_bytes, 0);
  partial.poison(poison);
  auto status = loaded.run(from, to, partial.address(), dynamic_size);
  EXPECT_TRUE(status.ok()) << format(status.errors()) << what;
  status = test_device()->synchronize();
  if (!status) {
    std::printf("%s\n%s\n", format(status.errors()).c_str(), what.c_str());
    std::exit(1);  // nothing works after that
  }
  for (size_t i = 0; i < in.size(); ++i)
    EXPECT_TRUE(in[i]->read(what) == inputs[i].bytes) << what << ": an input was changed";
  for (size_t o = 0; o < out.size(); ++o)
    outputs[o].bytes = out[o]->read(what);
  partial.read(what);
  return outputs;
}

using Runs =
    std::function<std::vector<std::vector<Tensor>>(const Kernel& sized, const std::vector<Tensor>& inputs)>;

inline Result<Runs> prepare(const Candidate& candidate) {
  auto binary = compile_cuda(candidate.source, test_device()->facts().capability);
  if (!binary) return binary.errors();
  auto loaded = DeviceKernel::load(test_device(), binary->cubin, candidate);
  if (!loaded) return loaded.errors();
  std::string what = candidate.provenance + "\n" + candidate.source;
  return Runs([loaded = *loaded, what](const Kernel& sized, const std::vector<Tensor>& inputs) {
    std::vector<std::vector<Tensor>> runs;
    for (bool aligned : {true, false})
      for (int poison : {0xff, 0x5b})
        runs.push_back(run_on_device(sized, *loaded, inputs, aligned, poison, what));
    for (size_t o = 0; o < runs[0].size(); ++o)
      EXPECT_TRUE(runs[0][o].bytes == runs[1][o].bytes) << what << ": another result the second time";
    return runs;
  });
}

}  // namespace autoperfect
