// What subcommands read: one text from a file or standard input, of any of the kinds we print.
#pragma once

#include <CLI/App.hpp>
#include <functional>
#include <string>
#include <variant>

#include "fuse/plan_text.h"
#include "ir/graph_text.h"
#include "ir/kernel_text.h"
#include "lower/lower.h"

namespace autoperfect::cli {

struct PlannedGraph {
  Graph graph;
  Plan plan;
};
using ParsedText = std::variant<Graph, Kernel, PlannedGraph>;

// FILE, or standard input when it is absent or "-".
void add_input_option(CLI::App& app, std::string& path);

// --numerics mlx, or wide.
void add_numerics_option(CLI::App& app, LowerOptions& options);

Result<std::string> read_text(const std::string& path);

// The language that files with such names are written in.
std::string language_of(const std::string& path);

// What it is, the text says itself: by its first line, and by a plan after a graph.
Result<ParsedText> parse_any(const std::string& text);

// Reads, parses, calls `use` with what it needs; prints diagnostics with their source lines and returns
// exit_bad_input when any of these failed.
int with_text(const std::string& path, const std::function<Status(const std::string& text)>& use);
template <class T>
int with_parsed(
    const std::string& path,
    Result<T> (*parse)(const std::string&),
    const std::function<Status(T parsed)>& use) {
  return with_text(path, [&](const std::string& text) -> Status {
    auto parsed = parse(text);
    if (!parsed) return parsed.errors();
    return use(std::move(parsed).value());
  });
}

void write_output(const std::string& text);  // to standard output

}  // namespace autoperfect::cli
