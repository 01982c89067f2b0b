// python: a graph or kernel as straight-line mlx.core code; such code as a graph.
#include <memory>

#include "cli/command.h"
#include "cli/input.h"
#include "lower/lower.h"

namespace autoperfect::cli {

namespace {

// By its first line that is no comment.
bool is_python(const std::string& text) {
  size_t begin = text.find_first_not_of(" \n");
  while (begin != std::string::npos && text[begin] == ';') {
    begin = text.find('\n', begin);
    if (begin != std::string::npos) begin = text.find_first_not_of(" \n", begin);
  }
  return begin != std::string::npos &&
         (text.compare(begin, 4, "def ") == 0 || text.compare(begin, 7, "import ") == 0);
}

Status print_python(const std::string& text) {
  if (is_python(text)) {
    auto graph = parse_mlx_python(text);
    if (!graph) return graph.errors();
    write_output(print(*graph));
    return Success{};
  }
  auto parsed = parse_any(text);
  if (!parsed) return parsed.errors();
  if (auto* kernel = std::get_if<Kernel>(&*parsed)) {
    write_output(to_mlx_python(raise(*kernel)));
  } else if (auto* graph = std::get_if<Graph>(&*parsed)) {
    if (auto status = check_mlx_python(*graph); !status) return status;
    write_output(to_mlx_python(*graph));
  } else {
    return Diagnostic{"cli", "not-a-program", "a plan has no Python text", {}, "give its graph alone"};
  }
  return Success{};
}

}  // namespace

Action declare_python(CLI::App& app) {
  auto path = std::make_shared<std::string>();
  add_input_option(app, *path);
  return [path] { return with_text(*path, print_python); };
}

}  // namespace autoperfect::cli
