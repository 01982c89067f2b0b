#include "tune/turn.h"

#include <fcntl.h>
#include <sys/file.h>

#include <chrono>
#include <optional>
#include <thread>

#include "cache/cache.h"
#include "support/options.h"

namespace autoperfect {

TimingTurn::TimingTurn(const std::string& directory, double patience_seconds) {
  if (directory.empty()) return;
  file_.reset(open((directory + "/timing.lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file_) return;
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::duration<double>(patience_seconds);
  constexpr auto pause = std::chrono::milliseconds(2);
  while (!(alone_ = flock(file_.get(), LOCK_EX | LOCK_NB) == 0) && Clock::now() < end)
    std::this_thread::sleep_for(pause);
}

std::vector<Timing> bench_in_turn(const std::vector<Contender>& contenders, BenchOptions options) {
  std::optional<TimingTurn> turn;
  options.before_rounds = [&] {
    auto& cache = Cache::instance();
    turn.emplace(cache.persistent() && environment().cache == "on" ? cache.directory() : "");
  };
  return bench(contenders, options);
}

}  // namespace autoperfect
