// canonicalize, fuse, lower: the stages that turn one text into the next.
#include <fmt/format.h>

#include <memory>

#include "canonicalize/canonicalize.h"
#include "cli/command.h"
#include "cli/input.h"

namespace autoperfect::cli {

namespace {

constexpr int all_regions = -1;

struct FuseArguments {
  std::string path;
  std::string target = "cpu.avx512";  // a fixed one: the text of a plan is the same on every machine
  bool all = false;
};

struct LowerArguments {
  std::string path;
  LowerOptions options;
  int region = all_regions;
};

Status fuse_graph(const Graph& graph, const FuseArguments& arguments) {
  FuseOptions options;
  options.gate_by_cost = !arguments.all;
  write_output(print(graph, fuse(graph, *find_target(arguments.target), options)));
  return Success{};
}

Status lower_region(const Graph& graph, const Region& region, const LowerArguments& arguments) {
  auto kernel = lower(graph, region, arguments.options);
  if (!kernel) return kernel.errors();
  write_output(print(*kernel));
  return Success{};
}

// One region, or all of them one after the other, each under a comment with its number.
Status lower_plan(const Graph& graph, const Plan& plan, const LowerArguments& arguments) {
  const int wanted = arguments.region;
  int count = static_cast<int>(plan.regions.size());
  if (wanted != all_regions && (wanted < 0 || wanted >= count)) {
    return Diagnostic{
        "cli", "no-such-region", fmt::format("region {} of {}", wanted, count), {}, "they count from 0"};
  }
  if (wanted != all_regions) return lower_region(graph, plan.regions[wanted], arguments);
  for (int r = 0; r < count; ++r) {
    if (count > 1) write_output(fmt::format("; region {}\n", r));
    auto status = lower_region(graph, plan.regions[r], arguments);
    if (!status) return status;
  }
  return Success{};
}

}  // namespace

Action declare_canonicalize(CLI::App& app) {
  auto path = std::make_shared<std::string>();
  add_input_option(app, *path);
  return [path] {
    return with_parsed<Graph>(*path, parse_graph, [](Graph graph) {
      write_output(print(canonicalize(graph).graph));
      return Success{};
    });
  };
}

Action declare_fuse(CLI::App& app) {
  auto arguments = std::make_shared<FuseArguments>();
  add_input_option(app, arguments->path);
  app.add_flag("--all", arguments->all, "keep every legal region, also where no gain is expected");
  auto names = target_names();
  app.add_option("--target", arguments->target, "the machine to plan for")
      ->check(CLI::IsMember(std::vector<std::string>(names.begin(), names.end())))
      ->capture_default_str();
  return [arguments] {
    return with_parsed<Graph>(
        arguments->path, parse_graph, [&](Graph graph) { return fuse_graph(graph, *arguments); });
  };
}

Action declare_lower(CLI::App& app) {
  auto arguments = std::make_shared<LowerArguments>();
  add_input_option(app, arguments->path);
  app.add_option("--region", arguments->region, "the number of the only region to lower, from 0");
  add_numerics_option(app, arguments->options);
  return [arguments] {
    return with_parsed<std::pair<Graph, Plan>>(
        arguments->path, parse_plan, [&](std::pair<Graph, Plan> planned) {
          return lower_plan(planned.first, planned.second, *arguments);
        });
  };
}

}  // namespace autoperfect::cli
