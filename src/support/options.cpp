#include "support/options.h"

#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <mutex>
#include <set>

#include "support/mlx_settings.h"

namespace autoperfect {

namespace {

std::string variable(const char* name, std::string otherwise) {
  const char* value = std::getenv(name);
  return value && *value ? value : std::move(otherwise);
}

std::string choice(const char* name, std::string otherwise, std::initializer_list<const char*> allowed) {
  auto value = variable(name, otherwise);
  for (auto* one : allowed) {
    if (value == one) return value;
  }
  std::fprintf(
      stderr, "autoperfect: warning: %s is not one of its values, using %s\n", name, otherwise.c_str());
  return otherwise;
}

std::string default_cache_directory() {
  auto base = variable("XDG_CACHE_HOME", "");
  if (!base.empty() && base[0] == '/') return base + "/autoperfect";
  auto home = variable("HOME", "");
  return home.empty() ? "" : home + "/.cache/autoperfect";
}

Environment read_environment() {
  Environment e;
  e.log = choice("AUTOPERFECT_LOG", e.log, {"off", "warning", "info", "debug"});
  e.dump = variable("AUTOPERFECT_DUMP", e.dump);
  e.cache = choice("AUTOPERFECT_CACHE", e.cache, {"on", "off", "read"});
  e.cache_dir = variable("AUTOPERFECT_CACHE_DIR", default_cache_directory());
  e.model = variable("AUTOPERFECT_MODEL", "");
  e.model_key = variable("AUTOPERFECT_MODEL_KEY", "");
  e.isolation = choice("AUTOPERFECT_ISOLATION", e.isolation, {"none", "process", "seccomp", "landlock"});
  return e;
}

void write_line(const char* level, const std::string& message) {
  auto line = std::string("autoperfect: ") + level + message + "\n";
  std::fwrite(line.data(), 1, line.size(), stderr);  // one call, so that lines of several threads do not mix
}

}  // namespace

const Environment& environment() {
  static const Environment read = read_environment();
  return read;
}

std::vector<EnvironmentRow> environment_rows() {
  const auto& e = environment();
  return {
      {"AUTOPERFECT_LOG", e.log, "what is written to stderr: off, warning, info, debug"},
      {"AUTOPERFECT_DUMP", e.dump, "a directory that receives the text of each stage"},
      {"AUTOPERFECT_CACHE", e.cache, "the cache of kernels on disk: on, off, read"},
      {"AUTOPERFECT_CACHE_DIR", e.cache_dir, "where that cache is"},
      {"AUTOPERFECT_MODEL", e.model, "the model that tuning asks when none is named"},
      {"AUTOPERFECT_MODEL_KEY", e.model_key.empty() ? "" : "(set)", "the key of a model's server; secret"},
      {"AUTOPERFECT_ISOLATION",
       e.isolation,
       "machine code written by a model or a person runs where a process can be shut in as far as this: "
       "none, process, "
       "seccomp, landlock"},
  };
}

namespace {

// Those that are set, "NAME=value" each.
void append_variables(std::vector<std::string>& lines, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    auto value = variable(name, "");
    if (!value.empty()) lines.push_back(std::string(name) + "=" + value);
  }
}

}  // namespace

std::vector<std::string> plain_environment() {
  std::vector<std::string> lines;
  append_variables(lines, {"PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "TERM", "TMPDIR", "TZ"});
  return lines;
}

std::vector<std::string> gpu_environment() {
  auto lines = plain_environment();
  append_variables(
      lines, {"LD_LIBRARY_PATH", "CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "CUDA_PATH", "CUDA_HOME"});
  return lines;
}

std::vector<std::string> mlx_settings() {
  std::vector<std::string> lines;
  append_variables(lines, {"MLX_ENABLE_TF32", "MLX_CUDA_USE_CUDNN_SDPA"});
  return lines;
}

void warn_once(const std::string& key, const std::string& message) {
  if (environment().log == "off") return;
  static std::mutex mutex;
  static std::set<std::string> seen;
  {
    std::lock_guard lock(mutex);
    if (!seen.insert(key).second) return;
  }
  write_line("warning: ", message);
}

void log_info(const std::string& message) {
  const auto& level = environment().log;
  if (level == "info" || level == "debug") write_line("", message);
}

}  // namespace autoperfect
