// Seconds each stage of building a program took, under the stage's own name.
#pragma once

#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace autoperfect {

class StageTimes {
 public:
  template <class Stage>
  void run(const char* name, Stage&& stage) {
    auto start = std::chrono::steady_clock::now();
    stage();
    auto seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    times_.emplace_back(name, seconds);
  }
  const std::vector<std::pair<std::string, double>>& all() const { return times_; }

 private:
  std::vector<std::pair<std::string, double>> times_;
};

}  // namespace autoperfect
