#include "tune/rounds.h"

#include <algorithm>
#include <chrono>
#include <tuple>

#include "support/options.h"
#include "tune/compete.h"
#include "tune/prove.h"

namespace autoperfect {
namespace {

constexpr double poll_seconds = 0.1;

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

Rounds::Rounds(std::vector<Life>& lives, const Target& target, const TuneOptions& options)
    : lives_(lives),
      target_(target),
      options_(options),
      deadline_(options.authors.seconds > 0 ? now() + options.authors.seconds : 0),
      progress_(options.progress),
      quiet_(std::max(1, pool_threads())),
      questions_(target, options, quiet_) {}

void Rounds::run() {
  for (auto& life : lives_)
    if (!life.settled) open_.push_back({&life, 0, 0, progress_.add(life.kernel().name)});
  for (auto& open : open_)
    start_round(open);
  while (outstanding_ > 0) {
    auto answer = questions_.take(poll_seconds);
    if (options_.poll) options_.poll();
    if (!answer) continue;
    auto open = std::find_if(
        open_.begin(), open_.end(), [&](const Open& o) { return o.life == answer->question.life; });
    handle(*open, std::move(*answer));
  }
  if (pending_)
    warn_once(
        "pending",
        std::to_string(pending_) + (pending_ == 1 ? " prompt waits" : " prompts wait") +
            " for an answer: run this again when they are there");
}

bool Rounds::may_ask() const {
  return !deadline_ || now() < deadline_;
}

void Rounds::ask(Open& open, Question question) {
  question.life = open.life;
  question.round = open.round;
  ++open.outstanding;
  ++outstanding_;
  questions_.put(std::move(question));
}

void Rounds::start_round(Open& open) {
  ++open.round;
  auto& authors = options_.authors;
  if (open.round == 1) {
    for (size_t d = 0; d < authors.drafts.size(); ++d) {
      Question question;
      question.variant = static_cast<int>(d);
      question.draft = authors.drafts[d];
      ask(open, std::move(question));
    }
  }
  if (authors.model && open.round <= authors.rounds && may_ask()) {
    for (int variant = 0; variant < authors.variants; ++variant) {
      Question question;
      question.variant = variant;
      if (open.round > 1) question.best = best_known(*open.life);
      ask(open, std::move(question));
    }
  }
  progress_.show(open.line, open.round, open.outstanding);
}

std::optional<BestKnown> Rounds::best_known(const Life& life) const {
  if (life.admitted.empty()) return std::nullopt;
  auto& champion = life.admitted.front();
  const Target& target = options_.target ? *options_.target : target_;
  BestKnown best;
  best.is_draft = champion.draft.has_value();
  best.source = best.is_draft ? champion.draft->source : champion.candidate.source;
  best.seconds = champion.attempt.seconds;
  const auto bytes = static_cast<double>(bytes_of_buffers(life.kernel()));
  if (best.seconds > 0) best.roofline = std::min(1.0, bytes / best.seconds / target.copy_bytes_per_second);
  for (auto& timing : life.decision.timings) {
    bool is_baseline = timing.name == "eager" || timing.name == "mx.compile";
    if (is_baseline && !timing.failed && (!best.baseline_seconds || timing.median < best.baseline_seconds))
      best.baseline_seconds = timing.median;
  }
  return best;
}

void Rounds::handle(Open& open, Answer answer) {
  --open.outstanding;
  --outstanding_;
  auto failure = answer.failure;
  if (!failure) failure = prove(answer.contestant, *open.life, target_, options_);
  if (failure)
    fail(open, std::move(answer), *failure);
  else
    open.life->admitted.push_back(std::move(answer.contestant));
  progress_.count(open.line, failure ? failure->stage : "");
  progress_.show(open.line, open.round, open.outstanding);
  if (open.outstanding == 0) finish_round(open);
}

// Out, and told why as long as there are repairs left.
void Rounds::fail(Open& open, Answer answer, const Failure& failure) {
  auto& asked = answer.question;
  if (failure.pending) {
    ++pending_;
    answer.contestant.attempt.reason = waited_for;
    open.life->decision.attempts.push_back(std::move(answer.contestant.attempt));
    return;
  }
  if (failure.stage == "ask")
    warn_once("model", "a question to the model got no answer: " + failure.evidence);
  if (!asked.draft && failure.repairable && asked.repair < options_.authors.repairs && may_ask()) {
    Question again;
    again.variant = asked.variant;
    again.repair = asked.repair + 1;
    again.best = asked.best;
    again.failed = Repair{answer.contestant.draft->source, failure.stage, failure.evidence};
    ask(open, std::move(again));
  }
  reject(*open.life, std::move(answer.contestant), failure.reason(), options_.timed);
}

void Rounds::finish_round(Open& open) {
  auto& admitted = open.life->admitted;
  // In the order they were asked for, not that of the answers.
  std::stable_sort(admitted.begin(), admitted.end(), [](const Contestant& a, const Contestant& b) {
    return std::tie(a.attempt.round, a.attempt.variant, a.attempt.repair) <
           std::tie(b.attempt.round, b.attempt.variant, b.attempt.repair);
  });
  bool any_new = std::any_of(
      admitted.begin(), admitted.end(), [&](const Contestant& c) { return c.attempt.round == open.round; });
  if (any_new)
    quiet_.alone([&] { compete(*open.life, target_, options_); });
  else if (!admitted.empty())
    note_attempts(*open.life, options_);
  progress_.best(open.line, admitted.empty() ? nullptr : &admitted.front().attempt);
  if (options_.authors.model && open.round < options_.authors.rounds && may_ask())
    start_round(open);
  else
    progress_.finish(open.line);
}

}  // namespace autoperfect
