#include "cli/input.h"

#include <fmt/format.h>

#include <cstdio>

#include "cli/command.h"
#include "support/file.h"

namespace autoperfect::cli {

namespace {

constexpr size_t most_bytes = size_t{1} << 30;

Result<std::string> read_standard_input() {
  std::string text;
  char buffer[65536];
  for (size_t got; (got = std::fread(buffer, 1, sizeof(buffer), stdin)) > 0;) {
    text.append(buffer, got);
    if (text.size() > most_bytes) return Diagnostic{"cli", "input", "standard input is larger than 1 GiB"};
  }
  return text;
}

// The word after "autoperfect." in the first line that is not a comment.
std::string_view kind_of(std::string_view text) {
  while (!text.empty()) {
    auto line = text.substr(0, text.find('\n'));
    auto begin = line.find_first_not_of(" \t\r");
    if (begin != std::string_view::npos && line[begin] != ';') {
      constexpr std::string_view prefix = "autoperfect.";
      line.remove_prefix(begin);
      if (line.substr(0, prefix.size()) != prefix) return "";
      line.remove_prefix(prefix.size());
      return line.substr(0, line.find_first_not_of("abcdefghijklmnopqrstuvwxyz"));
    }
    text.remove_prefix(std::min(line.size() + 1, text.size()));
  }
  return "";
}

template <class T, class Convert>
Result<ParsedText> converted(Result<T> result, Convert convert) {
  if (!result) return result.errors();
  return ParsedText(convert(std::move(result).value()));
}

}  // namespace

void add_input_option(CLI::App& app, std::string& path) {
  app.add_option("file", path, "the text to read; standard input when absent or -")->capture_default_str();
}

void add_numerics_option(CLI::App& app, LowerOptions& options) {
  const auto read = [&options](const std::string& name) { options.wide = name == "wide"; };
  app.add_option_function<std::string>(
         "--numerics", read, "wide: kernels may keep f16 and bf16 in f32 until they are stored")
      ->check(CLI::IsMember(std::vector<std::string>{"mlx", "wide"}))
      ->default_str("mlx");
}

Result<std::string> read_text(const std::string& path) {
  if (path.empty() || path == "-") return read_standard_input();
  if (auto text = read_file(path)) return std::move(*text);
  return Diagnostic{"cli", "input", fmt::format("cannot read '{}'", path)};
}

std::string language_of(const std::string& path) {
  const auto extension = path.substr(path.find_last_of('.') + 1);
  if (extension == "py") return "mlx";
  if (extension == "cu") return "cuda";
  return extension == "metal" || extension == "mlx" ? extension : "cpu";
}

Result<ParsedText> parse_any(const std::string& text) {
  auto kind = kind_of(text);
  // A plan is a graph with its regions after it.
  bool has_plan = kind == "graph" && text.find("\nautoperfect.plan ") != std::string::npos;
  if (has_plan) kind = "plan";
  if (kind == "graph") return converted(parse_graph(text), [](Graph g) { return g; });
  if (kind == "kernel") return converted(parse_kernel(text), [](Kernel k) { return k; });
  if (kind == "plan") {
    return converted(parse_plan(text), [](std::pair<Graph, Plan> p) {
      return PlannedGraph{std::move(p.first), std::move(p.second)};
    });
  }
  return Diagnostic{
      "cli",
      "bad-header",
      "this is no text of autoperfect",
      Where{1, 1, 1},
      "the first line is 'autoperfect.graph 1' or 'autoperfect.kernel 1'"};
}

int with_text(const std::string& path, const std::function<Status(const std::string&)>& use) {
  auto text = read_text(path);
  auto status = text ? use(*text) : Status(text.errors());
  if (status) return exit_ok;
  auto report = format(status.errors(), text ? *text : "");
  std::fwrite(report.data(), 1, report.size(), stderr);
  return exit_bad_input;
}

void write_output(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
}

}  // namespace autoperfect::cli
