// When the GPU is given what an evaluation has collected so far. MLX collects nodes until the evaluation
// ends, and the GPU waits for the host; but each start takes the host ten to fifty microseconds and the GPU
// four between two graphs. So there is none before the GPU has as much to do, and the starts of an evaluation
// become ever rarer. They go by what is collected, not by the clock: MLX keeps the graphs it made, and a
// program that is run again must be cut in the same places.
#pragma once

#include <algorithm>
#include <cstdint>

namespace autoperfect {

class GpuBacklog {
 public:
  // `bytes` more are collected at `now`, in seconds, on a GPU that moves so many at most: whether to start.
  bool add(double now, int64_t bytes, double bytes_per_second) {
    if (now - last_ > pause && now > busy_until_) {  // nothing collected, nothing to do: an evaluation begins
      collected_ = 0;
      next_ = least;
    }
    last_ = now;
    busy_until_ = std::max(now, busy_until_) + static_cast<double>(bytes) / bytes_per_second;
    collected_ += bytes;
    if (collected_ < next_) return false;
    while (next_ <= collected_)
      next_ *= 2;
    return true;
  }

 private:
  static constexpr int64_t least = int64_t{256} << 20;
  static constexpr double pause = 300e-6;

  double busy_until_ = 0, last_ = 0;
  int64_t collected_ = 0, next_ = least;
};

}  // namespace autoperfect
