#include "pipeline/dump.h"

#include <atomic>
#include <cstdio>

#include "support/file.h"

namespace autoperfect {

void write_dump(const std::string& stage, const std::string& text) {
  auto& directory = environment().dump;
  static std::atomic<int> count{0};
  char number[16];
  std::snprintf(number, sizeof number, "%03d", count++);
  std::string path = directory + "/" + number + "_" + stage + ".ap";
  if (!write_file_atomically(path, text).ok()) warn_once("dump", "cannot write " + path);
}

}  // namespace autoperfect
