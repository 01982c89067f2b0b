// What the subcommands that tune and prove share: their options, and stopping on Ctrl-C.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cli/command.h"
#include "pipeline/tune_request.h"

namespace autoperfect::cli {

struct TuneArguments {
  TuneRequest request;
  std::vector<std::string> settings;  // NAME=VALUE
  bool quiet = false;
};

void add_tune_options(CLI::App& app, TuneArguments& arguments);
void add_proof_options(CLI::App& app, TuneArguments& arguments);  // the part of them that needs no model

// Calls `use` with the options; exit_interrupted when Ctrl-C ended it.
int with_tuning(const TuneArguments& arguments, const std::function<int(const TuneOptions&)>& use);

}  // namespace autoperfect::cli
