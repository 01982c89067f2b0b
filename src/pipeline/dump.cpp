#include "pipeline/dump.h"

#include <atomic>
#include <cstdio>

#include "support/file.h"
#include "support/options.h"

namespace autoperfect {

void dump(const std::string& stage, const std::string& text) {
  auto& directory = environment().dump;
  if (directory.empty()) return;
  static std::atomic<int> count{0};
  char number[16];
  std::snprintf(number, sizeof number, "%03d", count++);
  std::string path = directory + "/" + number + "_" + stage + ".ap";
  if (!write_file_atomically(path, text).ok()) warn_once("dump", "cannot write " + path);
}

}  // namespace autoperfect
