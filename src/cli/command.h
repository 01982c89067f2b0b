// One subcommand: a row of the table in main.cpp. `declare` adds its options to the parser and returns what
// runs when the command was chosen; the options live in what it returns.
#pragma once

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <functional>
#include <string>

#include "support/result.h"

namespace autoperfect::cli {

enum ExitCode : int {
  exit_ok = 0,
  exit_bad_input = 1,
  exit_usage = 2,
  exit_internal = 3,
  exit_interrupted = 130
};

using Action = std::function<int()>;

struct Command {
  const char* name;
  const char* description;
  Action (*declare)(CLI::App& app);
};

Action declare_check(CLI::App& app);
Action declare_print(CLI::App& app);
Action declare_canonicalize(CLI::App& app);
Action declare_fuse(CLI::App& app);
Action declare_lower(CLI::App& app);
Action declare_run(CLI::App& app);
Action declare_python(CLI::App& app);
Action declare_generate(CLI::App& app);
Action declare_compile(CLI::App& app);
Action declare_gate(CLI::App& app);
Action declare_prompt(CLI::App& app);
Action declare_ask(CLI::App& app);
Action declare_tune(CLI::App& app);
Action declare_capture(CLI::App& app);
Action declare_explain(CLI::App& app);
Action declare_cache(CLI::App& app);
Action declare_doctor(CLI::App& app);
Action declare_env(CLI::App& app);
Action declare_ops(CLI::App& app);

}  // namespace autoperfect::cli
