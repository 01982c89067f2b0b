// Threads that take drafts through what needs no MLX: the question to the model, the one block of its answer,
// check and compile. What comes out is taken by the thread of tune().
#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "generate/model/prompt.h"
#include "tune/build.h"
#include "tune/quiet.h"

namespace autoperfect {

struct Question {
  Life* life = nullptr;
  int round = 1, variant = 0, repair = 0;
  std::optional<BestKnown> best = {};
  std::optional<Repair> failed = {};  // what is to be repaired
  std::optional<Draft> draft = {};    // by a person: nobody is asked
};

struct Answer {
  Question question;
  Contestant contestant;
  std::optional<Failure> failure;  // nothing: ready for the gate
};

class Questions {
 public:
  Questions(const Target& target, const TuneOptions& options, Quiet& quiet);
  ~Questions();  // cancels what was not answered

  void put(Question question);
  // Nothing: none came within the time.
  std::optional<Answer> take(double seconds);

 private:
  void work();
  Answer answer(Question question);

  const Target& target_;
  const TuneOptions& options_;
  Quiet& quiet_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Question> questions_;
  std::deque<Answer> answers_;
  bool ending_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace autoperfect
