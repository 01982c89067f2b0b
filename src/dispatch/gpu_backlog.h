// When the GPU is given what an evaluation has collected so far. MLX collects nodes until the evaluation
// ends, and the GPU waits for the host; but each start takes the host some ten microseconds and the GPU four
// between two graphs. So a start is worth it where the GPU is about to run dry, and there is enough to do.
#pragma once

#include <algorithm>
#include <cstdint>

namespace autoperfect {

class GpuBacklog {
 public:
  // `bytes` more are collected at `now`, in seconds, on a GPU that moves so many at most: whether to start.
  bool add(double now, int64_t bytes, double bytes_per_second) {
    if (now - last_ > pause) collected_ = 0;  // an evaluation ended, and MLX started all there was
    last_ = now;
    collected_ += bytes;
    if (collected_ < least || busy_until_ - now > lead) return false;
    busy_until_ = std::max(now, busy_until_) + static_cast<double>(collected_) / bytes_per_second;
    collected_ = 0;
    return true;
  }

 private:
  static constexpr int64_t least = int64_t{64} << 20;
  static constexpr double lead = 30e-6, pause = 200e-6;

  double busy_until_ = 0, last_ = 0;
  int64_t collected_ = 0;
};

}  // namespace autoperfect
