#include "tune/compete.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <random>

#include "cost/floor.h"
#include "gate/families.h"
#include "tune/estimate.h"
#include "tune/evidence.h"
#include "tune/key.h"
#include "tune/select.h"
#include "tune/turn.h"

namespace autoperfect {
namespace {

Timing estimated(const std::string& name, double seconds) {
  return {name, seconds, seconds, seconds, 0};
}

class Competition {
 public:
  Competition(Life& life, const Target& target, const TuneOptions& options)
      : life_(life), target_(options.target.value_or(target)), options_(options) {}

  void run() {
    measure();
    drop_impossible();
    note_times();
    const Contestant* winner = choose();
    conclude(winner);
    retire();
  }

 private:
  void measure();
  void drop_impossible();
  void note_times();
  const Contestant* choose();
  std::string recheck(Contestant& contestant);
  std::optional<Runnable> at_sizes(const Contestant& contestant, const std::vector<int64_t>& sizes);
  void limit(Contestant& contestant, const std::vector<int64_t>& sizes);
  void conclude(const Contestant* winner);
  void retire();
  void drop(size_t place, const std::string& reason);

  Life& life_;
  Target target_;
  const TuneOptions& options_;
  std::vector<Timing> baselines_, timings_;  // timings_: one for each of life_.admitted
  std::string reason_;
};

void Competition::measure() {
  auto& runner = life_.runner();
  if (!options_.timed) {
    baselines_ = {estimated("eager", unfused_seconds(runner.graph(), target_))};
    for (auto& contestant : life_.admitted)
      timings_.push_back(estimated(contestant.attempt.name, estimate_seconds(contestant, life_, target_)));
    return;
  }
  auto contenders = runner.baselines();
  size_t baselines = contenders.size();
  for (auto& contestant : life_.admitted)
    contenders.push_back(runner.contender(contestant.runnable, contestant.attempt.name));
  timings_ = bench_in_turn(contenders, options_.bench);
  auto end = timings_.begin() + static_cast<ptrdiff_t>(baselines);
  baselines_.assign(timings_.begin(), end);
  timings_.erase(timings_.begin(), end);
  for (size_t c = 0; c < timings_.size(); ++c)
    if (!timings_[c].failed) timings_[c].on_device = runner.times_on_device(life_.admitted[c].runnable);
}

void Competition::drop(size_t place, const std::string& reason) {
  auto at = life_.admitted.begin() + static_cast<ptrdiff_t>(place);
  at->attempt.stage = "bench";
  reject(life_, std::move(*at), reason, options_.timed);
  life_.admitted.erase(at);
  timings_.erase(timings_.begin() + static_cast<ptrdiff_t>(place));
}

void Competition::drop_impossible() {
  double floor = options_.timed ? physical_floor_seconds(life_.kernel(), target_) : 0;
  for (size_t c = life_.admitted.size(); c-- > 0;) {
    if (timings_[c].failed)
      drop(c, "cannot be timed: " + timings_[c].error);
    else if (timings_[c].median < floor)
      drop(c, "faster than memory and arithmetic allow: it has not done its work");
  }
}

void Competition::note_times() {
  double built_in = 0;
  for (size_t c = 0; c < timings_.size(); ++c) {
    if (!life_.admitted[c].built_in) continue;
    double seconds = timings_[c].median;
    built_in = built_in ? std::min(built_in, seconds) : seconds;
  }
  for (size_t c = 0; c < timings_.size(); ++c) {
    life_.admitted[c].attempt.seconds = timings_[c].median;
    life_.admitted[c].attempt.built_in_seconds = built_in;
  }
}

// At the sizes it was timed at; and what others wrote, at the largest that it would be used for. Where that
// cannot be it is used up to its own sizes.
std::string Competition::recheck(Contestant& contestant) {
  constexpr int64_t few_elements = 1 << 14, many_elements = 1 << 18, most_bytes = int64_t{1} << 30;
  const auto& kernel = life_.kernel();
  const uint64_t seed = options_.seed ? options_.seed : std::random_device{}();
  Recheck how{sizes_of_axes(kernel), contestant.built_in ? few_elements : many_elements, seed};
  auto wrong = life_.runner().recheck(contestant.runnable, how);
  if (!wrong.empty() || contestant.built_in) return wrong;
  // A text of MLX's operations is guarded to the sizes it was read for; it is read again for others.
  const bool is_text = contestant.runnable.graph != nullptr;
  auto& guards = contestant.candidate.guards;
  const auto largest = sizes_admitted(is_text ? Guards{} : guards, largest_sizes(kernel));
  if (largest == how.sizes) return "";
  auto runnable = at_sizes(contestant, largest);
  const bool is_possible = runnable && bytes_of_buffers(resize(kernel, largest)) <= most_bytes;
  if (!is_possible) {
    if (!is_text) limit(contestant, how.sizes);
    return "";
  }
  how.sizes = largest;
  wrong = life_.runner().recheck(*runnable, how);
  if (is_text && wrong.empty()) limit(contestant, largest);
  return wrong;
}
// A text of MLX's operations is read again for other sizes.
std::optional<Runnable> Competition::at_sizes(
    const Contestant& contestant, const std::vector<int64_t>& sizes) {
  auto runnable = contestant.runnable;
  if (!runnable.graph) return runnable;
  auto checked = check(resize(life_.kernel(), sizes), *contestant.draft, target_);
  if (!checked || !checked->graph) return std::nullopt;
  runnable.graph = std::make_shared<const Graph>(std::move(*checked->graph));
  return runnable;
}

// To sizes up to these; a text also from 1 on.
void Competition::limit(Contestant& contestant, const std::vector<int64_t>& sizes) {
  auto& guards = contestant.candidate.guards.sizes;
  if (contestant.runnable.graph) guards.clear();
  for (size_t a = 0; a < sizes.size(); ++a) {
    const SizeGuard guard{static_cast<AxisId>(a), 1, 1, sizes[a]};
    const bool is_there = std::find(guards.begin(), guards.end(), guard) != guards.end();
    if (life_.kernel().axes[a].dynamic && !is_there) guards.push_back(guard);
  }
  contestant.runnable.guards = contestant.candidate.guards;
}

// The best one that is right at full size as well, when it beats MLX.
const Contestant* Competition::choose() {
  reason_ = "no candidate could be timed";
  while (!life_.admitted.empty()) {
    std::vector<Score> scores;
    for (size_t c = 0; c < timings_.size(); ++c)
      scores.push_back({timings_[c], life_.admitted[c].candidate.source});
    size_t best = *best_of(scores);
    std::string wrong = recheck(life_.admitted[best]);
    if (!wrong.empty()) {
      drop(best, "wrong at full size: " + wrong);
      reason_ = "the fastest candidate was wrong at full size";
      continue;
    }
    bool wins = beats_all(timings_[best], baselines_, options_.margin);
    std::swap(life_.admitted[0], life_.admitted[best]);
    std::swap(timings_[0], timings_[best]);
    reason_ = wins ? "faster than MLX" : "MLX is as fast";
    if (!options_.timed) reason_ += ", by estimate";
    return wins ? &life_.admitted[0] : nullptr;
  }
  return nullptr;
}

// Of those that competed, the best and the best schedule meet what comes later; the others are told apart
// here.
void Competition::retire() {
  auto& admitted = life_.admitted;
  std::vector<Contestant> kept;
  bool has_built_in = false;
  std::vector<size_t> order(admitted.size());
  std::iota(order.begin(), order.end(), 0);
  if (order.size() > 1)
    std::stable_sort(order.begin() + 1, order.end(), [&](size_t a, size_t b) {
      return timings_[a].median < timings_[b].median;
    });
  for (size_t c : order) {
    auto& contestant = admitted[c];
    bool keep = kept.empty() || (contestant.built_in && !has_built_in);
    has_built_in = has_built_in || contestant.built_in;
    if (keep)
      kept.push_back(std::move(contestant));
    else
      life_.decision.attempts.push_back(std::move(contestant.attempt));
  }
  admitted = std::move(kept);
}

void Competition::conclude(const Contestant* winner) {
  auto& decision = life_.decision;
  decision.use_mlx = !winner;
  decision.winner = winner ? winner->candidate : Candidate{};
  decision.runnable = winner ? winner->runnable : Runnable{};
  decision.reason = reason_;
  std::vector<Timing> timings = baselines_;
  timings.insert(timings.end(), timings_.begin(), timings_.end());
  decision.timings = std::move(timings);
  for (auto& contestant : life_.admitted)
    contestant.attempt.won = &contestant == winner;
  decision.evidence = evidence_text(life_, options_.timed);
  if (options_.timed) store(life_, winner);
}

}  // namespace

void note_attempts(Life& life, const TuneOptions& options) {
  life.decision.evidence = evidence_text(life, options.timed);
  if (options.timed) store(life, life.decision.use_mlx ? nullptr : &life.admitted.front());
}

void compete(Life& life, const Target& target, const TuneOptions& options) {
  Competition(life, target, options).run();
}

}  // namespace autoperfect
