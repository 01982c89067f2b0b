// Every environment variable the project reads, parsed in one place (`autoperfect env` lists them).
#pragma once

#include <string>
#include <vector>

namespace autoperfect {

struct Environment {
  std::string log = "warning";        // AUTOPERFECT_LOG: off, warning, info, debug
  std::string dump;                   // AUTOPERFECT_DUMP: a directory for the text of each stage
  std::string cache = "on";           // AUTOPERFECT_CACHE: on, off, read
  std::string cache_dir;              // AUTOPERFECT_CACHE_DIR
  std::string model_key;              // AUTOPERFECT_MODEL_KEY: secret, shown nowhere
  std::string model;                  // AUTOPERFECT_MODEL: who tuning asks when nobody is named
  std::string isolation = "seccomp";  // AUTOPERFECT_ISOLATION: none, process, seccomp, landlock
};
const Environment& environment();

struct EnvironmentRow {
  std::string name, value, meaning;
};
std::vector<EnvironmentRow> environment_rows();

// What a program of the user's choice needs to run, "NAME=value" each, and nothing that may be secret.
std::vector<std::string> plain_environment();
// The same, with what CUDA finds its driver and its GPUs by.
std::vector<std::string> gpu_environment();

// "autoperfect: warning: ..." on stderr, each distinct `key` once a process. log_info: with
// AUTOPERFECT_LOG=info.
void warn_once(const std::string& key, const std::string& message);
void log_info(const std::string& message);

}  // namespace autoperfect
