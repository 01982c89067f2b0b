// ops: every op there is, from the table; the reference of the graph language.
#include <fmt/format.h>

#include "cli/command.h"
#include "cli/input.h"
#include "ir/op.h"

namespace autoperfect::cli {

namespace {

std::string count_text(int count) {
  return count == many ? "any" : std::to_string(count);
}

std::string row(Op op) {
  auto text = fmt::format(
      "{}: {}, {} -> {}", name(op), name(class_of(op)), count_text(arity(op)), count_text(result_count(op)));
  if (!attribute_text(op).empty()) text += fmt::format(", {}", attribute_text(op));
  if (auto reason = barrier_reason(op); !reason.empty()) text += fmt::format("; {}", reason);
  auto primitives = mlx_primitives(op);
  if (!primitives.empty()) text += fmt::format("; MLX {}", fmt::join(primitives, ", "));
  return text + "\n";
}

}  // namespace

Action declare_ops(CLI::App&) {
  return [] {
    for (auto op : all_ops())
      write_output(row(op));
    return exit_ok;
  };
}

}  // namespace autoperfect::cli
