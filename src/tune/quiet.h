// Who may use the processor while drafts are on their way: as many compilers as there are cores, or one
// timing with nothing beside it. Waiting for answers needs no turn.
#pragma once

#include <condition_variable>
#include <mutex>

namespace autoperfect {

class Quiet {
 public:
  explicit Quiet(int workers) : workers_(workers) {}

  template <class Work>
  void share(Work&& work) {
    Turn turn(*this, false);
    work();
  }
  template <class Work>
  void alone(Work&& work) {
    Turn turn(*this, true);
    work();
  }

 private:
  struct Turn {
    Turn(Quiet& quiet, bool alone) : quiet(quiet), alone(alone) { quiet.begin(alone); }
    ~Turn() { quiet.end(alone); }
    Quiet& quiet;
    bool alone;
  };

  void begin(bool alone) {
    std::unique_lock lock(mutex_);
    if (alone) ++wanted_;  // nobody new starts meanwhile
    changed_.wait(lock, [&] { return alone ? busy_ == 0 : wanted_ == 0 && busy_ < workers_; });
    ++busy_;
  }
  void end(bool alone) {
    std::lock_guard lock(mutex_);
    --busy_;
    if (alone) --wanted_;
    changed_.notify_all();
  }

  const int workers_;
  std::mutex mutex_;
  std::condition_variable changed_;
  int busy_ = 0, wanted_ = 0;
};

}  // namespace autoperfect
