#include "tune/questions.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "generate/model/extract.h"

namespace autoperfect {
namespace {

using Clock = std::chrono::steady_clock;

std::string name_of(const Question& question, const AuthorOptions& authors, const std::string& model) {
  if (question.draft) return fmt::format("by hand: {}", question.draft->language);
  std::string name = fmt::format(
      "model: {} {} round={} variant={}",
      model.empty() ? "unnamed" : model,
      authors.language,
      question.round,
      question.variant);
  return question.repair ? name + fmt::format(" repair={}", question.repair) : name;
}

}  // namespace

Questions::Questions(const Target& target, const TuneOptions& options, Quiet& quiet)
    : target_(target), options_(options), quiet_(quiet) {
  int threads = std::clamp(options.authors.concurrency, 1, 256);
  for (int t = 0; t < threads; ++t)
    threads_.emplace_back([this] { work(); });
}

Questions::~Questions() {
  if (options_.authors.cancelled) *options_.authors.cancelled = true;
  {
    std::lock_guard lock(mutex_);
    ending_ = true;
    questions_.clear();
  }
  changed_.notify_all();
  for (auto& thread : threads_)
    thread.join();
}

void Questions::put(Question question) {
  {
    std::lock_guard lock(mutex_);
    questions_.push_back(std::move(question));
  }
  changed_.notify_all();
}

std::optional<Answer> Questions::take(double seconds) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, std::chrono::duration<double>(seconds), [&] { return !answers_.empty(); });
  if (answers_.empty()) return std::nullopt;
  Answer answer = std::move(answers_.front());
  answers_.pop_front();
  return answer;
}

void Questions::work() {
  while (true) {
    Question question;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return ending_ || !questions_.empty(); });
      if (ending_) return;
      question = std::move(questions_.front());
      questions_.pop_front();
    }
    Answer done = answer(std::move(question));
    {
      std::lock_guard lock(mutex_);
      answers_.push_back(std::move(done));
    }
    changed_.notify_all();
  }
}

// The text of the answer, or why there is none.
Answer Questions::answer(Question question) {
  auto& authors = options_.authors;
  Answer answer{std::move(question), {}, {}};
  auto& [asked, contestant, failure] = answer;
  auto& attempt = contestant.attempt;
  attempt.round = asked.round;
  attempt.variant = asked.variant;
  attempt.repair = asked.repair;
  attempt.language = asked.draft ? asked.draft->language : authors.language;
  attempt.name = contestant.candidate.provenance = name_of(asked, authors, authors.model_name);
  contestant.draft = asked.draft;
  if (!contestant.draft) {
    attempt.stage = "ask";
    const Target& described = options_.target ? *options_.target : target_;
    auto prompt = make_prompt(
        {&asked.life->kernel(), &described, authors.language, asked.variant, asked.best, asked.failed});
    auto start = Clock::now();
    auto reply = authors.model->ask(prompt, 0);
    attempt.ask_seconds = std::chrono::duration<double>(Clock::now() - start).count();
    contestant.draft = Draft{authors.language, ""};
    if (!reply) {
      bool pending = reply.errors().front().code == "pending";
      failure = Failure{"ask", format(reply.errors()), false, pending};
      return answer;
    }
    if (!reply->model.empty())
      attempt.name = contestant.candidate.provenance = name_of(asked, authors, reply->model);
    attempt.stage = "extract";
    auto draft = extract(authors.language, *reply);
    contestant.draft->source = draft ? draft->source : reply->text;
    if (!draft) {
      failure = Failure{"extract", format(draft.errors())};
      return answer;
    }
  }
  quiet_.share([&] { failure = build(contestant, asked.life->kernel(), target_); });
  return answer;
}

}  // namespace autoperfect
