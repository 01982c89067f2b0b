// What is going on while a model is asked: one line a region on stderr, rewritten in place on a terminal;
// elsewhere a line for each round that ended.
#pragma once

#include <string>
#include <vector>

#include "tune/tune.h"

namespace autoperfect {

class Progress {
 public:
  explicit Progress(bool shown);

  size_t add(const std::string& region);  // its line
  void show(size_t line, int round, int outstanding);
  void count(size_t line, const std::string& failed_stage);  // empty: admitted
  void best(size_t line, const Attempt* attempt);
  void finish(size_t line);

 private:
  struct Line {
    std::string region;
    int round = 0, outstanding = 0, admitted = 0, failed = 0;
    std::string last_failure, best;
    bool finished = false;
  };
  std::string text(const Line& line) const;
  void redraw();

  bool shown_, terminal_;
  size_t drawn_ = 0;
  std::vector<Line> lines_;
};

}  // namespace autoperfect
