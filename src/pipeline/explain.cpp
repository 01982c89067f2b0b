// What a person asks of a compiled program: what was fused and why, what was not and why, which kernels won,
// by how much.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <sstream>

#include "cache/cache.h"
#include "ir/graph_text.h"
#include "ir/kernel_text.h"
#include "pipeline/evidence.h"
#include "pipeline/pipeline.h"
#include "pipeline/tune_kernels.h"
#include "pipeline/whole.h"
#include "tune/machine.h"
#include "tune/rounds.h"

namespace autoperfect {
namespace {

std::string time_text(double seconds) {
  if (seconds < 1e-3) return fmt::format("{:.1f} us", seconds * 1e6);
  return fmt::format("{:.2f} ms", seconds * 1e3);
}

// Where the program says it, when that is known: ` (model.py:12 in block)`.
std::string line_text(const Program& program, const Node& node) {
  if (node.where.line == 0) return "";
  return " (" + program.captured().lines[node.where.line - 1] + ")";
}

std::string node_text(const Program& program, NodeId id) {
  auto& graph = program.graph();
  auto& node = graph.nodes[id];
  std::string result = node.results.empty() ? "" : "%" + graph.values[node.results[0]].name + " = ";
  return result + std::string(name(node.op)) + line_text(program, node);
}

// The lines of the program that a region computes, in its order, and which values of its kernel are made
// there.
std::string lines_of(const Program& program, const RegionOutcome& outcome) {
  std::map<int, std::string> lines;
  for (NodeId id : outcome.region.nodes)
    if (int line = program.graph().nodes[id].where.line) lines[line];
  for (const auto& value : outcome.kernel.values)
    if (value.where.line) lines[value.where.line] += " %" + value.name;
  std::string text;
  for (const auto& [line, values] : lines)
    text += "  from " + program.captured().lines[line - 1] + (values.empty() ? "" : ":" + values) + "\n";
  return text;
}

// Units of the last place mean little where the result cancels: MLX eager's own error stands beside ours.
std::string gate_text(const Evidence& evidence) {
  if (!evidence.gated) return "";
  return fmt::format(
      "  gate: passed {} input families; worst error {:.4g} ulp, MLX eager's there {:.4g} ({})\n",
      evidence.families,
      evidence.worst_ulp,
      evidence.eager_ulp,
      evidence.isolation);
}

// Where its life ended, with the reason; the text of the reason may have several lines.
std::string attempt_text(const Attempt& attempt) {
  std::string time = attempt.seconds > 0 ? time_text(attempt.seconds) : "";
  std::string end = attempt.won                                  ? "won"
                    : attempt.admitted && attempt.reason.empty() ? "admitted"
                    : attempt.reason == waited_for               ? "waiting"
                                                                 : "rejected";
  std::string text = fmt::format(
      "  {:>10}  {:<8} {}{}\n", time, end, attempt.name, end == "rejected" ? " (" + attempt.stage + ")" : "");
  std::istringstream reason(attempt.reason);
  for (std::string line; std::getline(reason, line);)
    text += "                " + line + "\n";
  return text;
}

std::string timings_text(const RegionOutcome& outcome, double bytes, const Target& target) {
  std::string text;
  for (auto& t : outcome.timings) {
    // A cached decision may come from another number of rows: the share is that of the call that was timed.
    auto share = [&](double seconds) {
      return fmt::format("{:.0f}%", 100 * bytes / seconds / target.copy_bytes_per_second);
    };
    text +=
        fmt::format("  {:>10}  {:<64} {} of the copy limit", time_text(t.median), t.name, share(t.median));
    const auto& [warm, cold] = t.on_device;
    if (warm > 0) text += fmt::format("; the device works {}, {}", time_text(warm), share(warm));
    if (cold > 0) text += fmt::format("; with nothing in L2 {}, {}", time_text(cold), share(cold));
    text += "\n";
  }
  return text;
}

std::string whole_text(const WholeDecision& whole) {
  if (whole.reason.empty()) return "";
  std::string text = fmt::format(
      "the whole program runs {}: {}{}\n",
      whole.way == Way::ours ? "with our kernels" : "as " + std::string(name(whole.way)),
      whole.reason,
      whole.from_cache ? " (from cache)" : "");
  for (auto& t : whole.timings)
    text += fmt::format("  {:>10}  {}\n", time_text(t.median), t.name);
  return text;
}

std::string region_text(const Program& program, size_t r) {
  auto& outcome = program.outcomes()[r];
  auto& region = outcome.region;
  std::string text = fmt::format(
      "region {}: {}, {} ops\n  legal: {}\n", r, name(region.kind), region.nodes.size(), region.reason);
  text += lines_of(program, outcome);
  text += fmt::format(
      "  predicted: {} in MLX, {} fused, {:.1f} MiB of intermediates saved\n",
      time_text(region.cost.unfused_seconds),
      time_text(region.cost.fused_seconds),
      static_cast<double>(region.cost.bytes_saved) / 1048576.0);
  return text + explain(outcome, *program.target());
}

}  // namespace

std::string explain(const RegionOutcome& outcome, const Target& target) {
  std::string text =
      fmt::format("  signature: {}{}\n", outcome.signature, outcome.from_cache ? " (from cache)" : " (new)");
  if (outcome.kernel.numerics.wide)
    text += "  numerics: wide, as asked for: f16 and bf16 stay in f32 until they are stored\n";
  text += outcome.use_mlx ? fmt::format("  MLX stays: {}\n", outcome.reason)
                          : fmt::format("  kernel: {}\n", outcome.winner.provenance);
  if (!outcome.layouts.empty()) text += "  inputs as they lie: " + outcome.layouts + "\n";
  Evidence evidence = parse_evidence(outcome.evidence);
  text += gate_text(evidence) + timings_text(outcome, evidence.bytes, target);
  for (auto& attempt : outcome.attempts) {
    bool is_told_by_its_time =
        attempt.round == 0 &&
        std::any_of(outcome.timings.begin(), outcome.timings.end(), [&](const Timing& t) {
          return t.name == attempt.name;
        });
    if (!is_told_by_its_time) text += attempt_text(attempt);
  }
  return text;
}

std::string explain(const Program& program) {
  auto& graph = program.graph();
  std::string text = print(graph) + "\n";
  for (size_t r = 0; r < program.outcomes().size(); ++r)
    text += region_text(program, r) + "\n";
  for (auto& region : program.plan().declined)
    text += fmt::format(
        "declined: {} ({} ops): {}: {} in MLX, {} fused\n",
        node_text(program, region.nodes.back()),
        region.nodes.size(),
        region.reason,
        time_text(region.cost.unfused_seconds),
        time_text(region.cost.fused_seconds));
  for (auto& attention : program.attentions())
    text += describe(graph, attention);
  for (auto& stop : program.plan().stops)
    text += fmt::format(
        "not fused: {} into {}: {}\n",
        node_text(program, stop.producer),
        node_text(program, stop.consumer),
        stop.reason);
  text += whole_text(program.whole());
  bool calls_library = std::any_of(
      program.attentions().begin(), program.attentions().end(), [](const auto& a) { return a.used; });
  if (program.plain() && !(calls_library && program.whole().way == Way::ours))
    text += "nothing of ours runs: this program is plain MLX\n";
  auto& cache = Cache::instance();
  text += fmt::format("cache: {}\n", cache.persistent() ? cache.directory() : std::string("memory only"));
  return text;
}

}  // namespace autoperfect
