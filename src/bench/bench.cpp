#include "bench/bench.h"

#include <algorithm>
#include <chrono>
#include <cmath>

namespace autoperfect {
namespace {

constexpr int fewest_rounds = 3;

double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Linear interpolation between the two nearest of the sorted samples.
double quantile(const std::vector<double>& sorted, double share) {
  double position = share * static_cast<double>(sorted.size() - 1);
  auto below = static_cast<size_t>(position);
  size_t above = std::min(below + 1, sorted.size() - 1);
  return std::lerp(sorted[below], sorted[above], position - static_cast<double>(below));
}

// One contender and its samples so far.
struct Lane {
  const Contender* contender;
  std::vector<double> samples;
  bool failed = false;
  std::string error = {};

  void run(const std::function<double()>& clock, bool keep) {
    if (failed) return;
    try {
      double start = clock();
      contender->run();
      double end = clock();
      if (keep) samples.push_back((end - start) / contender->calls);
    } catch (const std::exception& thrown) {
      failed = true;
      error = thrown.what();
    } catch (...) {
      failed = true;
      error = "an exception of an unknown type";
    }
  }

  Timing summary() {
    Timing timing;
    timing.name = contender->name;
    timing.iterations = static_cast<int>(samples.size());
    timing.failed = failed || samples.empty();
    timing.error = error;
    if (timing.failed) return timing;
    std::sort(samples.begin(), samples.end());
    timing.low = quantile(samples, 0.25);
    timing.median = quantile(samples, 0.5);
    timing.high = quantile(samples, 0.75);
    return timing;
  }
};

}  // namespace

std::vector<Timing> bench(const std::vector<Contender>& contenders, const BenchOptions& options) {
  std::function<double()> clock = options.clock ? options.clock : steady_seconds;
  double start = clock();
  std::vector<Lane> lanes;
  for (auto& contender : contenders)
    lanes.push_back({&contender, {}, false, {}});

  // Everybody is warmed up at least once; slow ones may not eat the time of the measured rounds.
  for (int i = 0; i < std::max(1, options.warmup); ++i) {
    if (i > 0 && clock() - start > options.max_seconds / 4) break;
    for (auto& lane : lanes)
      lane.run(clock, false);
  }
  if (options.before_rounds) options.before_rounds();
  start = clock();
  // A round starts with another contender each time, so that none always runs after the same neighbour.
  int rounds = std::max(fewest_rounds, options.iterations);
  for (int round = 0; round < rounds; ++round) {
    if (round >= fewest_rounds && clock() - start > options.max_seconds) break;
    for (size_t i = 0; i < lanes.size(); ++i) {
      lanes[(i + static_cast<size_t>(round)) % lanes.size()].run(clock, true);
    }
  }

  std::vector<Timing> timings;
  for (auto& lane : lanes)
    timings.push_back(lane.summary());
  return timings;
}

bool clearly_faster(const Timing& a, const Timing& b, double margin) {
  if (a.failed) return false;
  if (b.failed) return true;
  return a.median < b.median * (1 - margin) && a.low < b.low * (1 - margin);
}

}  // namespace autoperfect
