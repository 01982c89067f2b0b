#include "tune/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

namespace autoperfect {

Progress::Progress(bool shown) : shown_(shown), terminal_(isatty(STDERR_FILENO) == 1) {}

size_t Progress::add(const std::string& region) {
  lines_.emplace_back().region = region;
  return lines_.size() - 1;
}

std::string Progress::text(const Line& line) const {
  std::string text = fmt::format(
      "{:<20.20} round {}  waiting {:>2}  admitted {:>2}  rejected {:>2}",
      line.region,
      line.round,
      line.outstanding,
      line.admitted,
      line.failed);
  if (!line.last_failure.empty()) text += fmt::format(" (last in {})", line.last_failure);
  if (!line.best.empty()) text += "  best " + line.best;
  return text;
}

void Progress::redraw() {
  if (!shown_ || !terminal_) return;
  std::string all = drawn_ ? fmt::format("\x1b[{}A", drawn_) : "";
  for (auto& line : lines_)
    all += "\r\x1b[2K" + text(line) + "\n";
  drawn_ = lines_.size();
  std::fputs(all.c_str(), stderr);
}

void Progress::show(size_t line, int round, int outstanding) {
  lines_[line].round = round;
  lines_[line].outstanding = outstanding;
  redraw();
}

void Progress::count(size_t line, const std::string& failed_stage) {
  auto& at = lines_[line];
  ++(failed_stage.empty() ? at.admitted : at.failed);
  if (!failed_stage.empty()) at.last_failure = failed_stage;
}

void Progress::best(size_t line, const Attempt* attempt) {
  if (attempt) lines_[line].best = fmt::format("{:.1f} us, {}", attempt->seconds * 1e6, attempt->name);
  redraw();
}

void Progress::finish(size_t line) {
  lines_[line].finished = true;
  if (shown_ && !terminal_) std::fputs((text(lines_[line]) + "\n").c_str(), stderr);
}

}  // namespace autoperfect
