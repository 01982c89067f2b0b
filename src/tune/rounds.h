// The drafts of a model or of people, for all regions at once: rounds of several variants, repairs of those
// that fail, and improvement of the best so far from the second round on. Regions wait for answers side by
// side; the gate runs here, where MLX may be called, and timing runs alone.
#pragma once

#include <string_view>
#include <vector>

#include "tune/progress.h"
#include "tune/questions.h"

namespace autoperfect {

// The reason of an attempt that has not ended.
constexpr std::string_view waited_for = "its answer is waited for";

class Rounds {
 public:
  Rounds(std::vector<Life>& lives, const Target& target, const TuneOptions& options);
  void run();

 private:
  struct Open {
    Life* life = nullptr;
    int round = 0;
    int outstanding = 0;
    size_t line = 0;  // of the display
  };
  void start_round(Open& open);
  void ask(Open& open, Question question);
  void handle(Open& open, Answer answer);
  void fail(Open& open, Answer answer, const Failure& failure);
  void finish_round(Open& open);
  bool may_ask() const;
  std::optional<BestKnown> best_known(const Life& life) const;

  std::vector<Life>& lives_;
  const Target& target_;
  const TuneOptions& options_;
  double deadline_;  // seconds of the steady clock
  std::vector<Open> open_;
  int outstanding_ = 0, pending_ = 0;
  Progress progress_;
  Quiet quiet_;
  Questions questions_;
};

}  // namespace autoperfect
