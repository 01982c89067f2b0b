// Programs rather than texts: what `capture`, `explain` and `tune` share.
#pragma once

#include <string>
#include <vector>

#include "cli/command.h"
#include "pipeline/pipeline.h"

namespace autoperfect::cli {

struct ProgramArguments {
  std::string path;
  std::vector<std::string> types;
};

void add_program_arguments(CLI::App& app, ProgramArguments& arguments, const char* what);
bool is_exported(const std::string& path);

// Compile on placeholders and print what became of it.
Status explain_graph(const Graph& graph, const CompileOptions& options = {});
int explain_exported(const ProgramArguments& program, const CompileOptions& options = {});

}  // namespace autoperfect::cli
