#include "pipeline/whole.h"

#include <algorithm>
#include <chrono>
#include <numeric>

#include "cache/cache.h"
#include "ir/graph_text.h"
#include "mlx/mlx.h"
#include "pipeline/calls.h"
#include "pipeline/steps.h"
#include "support/hash.h"
#include "tune/evidence.h"
#include "tune/turn.h"

namespace autoperfect {
namespace {

namespace mx = mlx::core;
using Arrays = std::vector<mx::array>;

constexpr int key_version = 2;  // raised when programs run, or are timed, in another way
constexpr double margin = 0.03;
constexpr double longest_call = 0.25;  // seconds: a program that takes longer is not bound by what calls cost

struct Timed {
  Way way;
  const ArrayFunction* function;
};

std::vector<Timed> timed_ways(const ProgramWays& ways) {
  std::vector<Timed> all;
  for (Way way : {Way::ours, Way::compiled, Way::eager})
    if (ways.has(way)) all.push_back({way, &ways.of(way)});
  return all;
}

double seconds_of(const std::function<void()>& work) {
  auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

int64_t bytes_of(const Arrays& arrays) {
  return std::accumulate(arrays.begin(), arrays.end(), int64_t{0}, [](int64_t sum, const mx::array& array) {
    return sum + static_cast<int64_t>(array.nbytes());
  });
}

// No more than take a while: what is long is not bound by what calls cost.
int calls_in_time(int most, double seconds) {
  constexpr double enough_seconds = 0.02;
  return std::clamp(static_cast<int>(enough_seconds / (seconds + 1e-6)), 1, most);
}

std::vector<Timing> measure(const ProgramWays& ways, const Arrays& arrays) {
  mx::eval(arrays);
  const auto& eager = ways.of(Way::eager);
  Arrays results = eager(arrays);
  const int64_t result_bytes = bytes_of(results);
  mx::eval(std::move(results));
  const double seconds = seconds_of(calling("", eager, arrays, 1).run);
  if (seconds > longest_call) return {};
  const auto stream = mx::default_stream(mx::default_device());
  const int calls = calls_in_time(calls_in_flight(stream, result_bytes), seconds);
  std::vector<Contender> contenders;
  for (const auto& [way, function] : timed_ways(ways))
    contenders.push_back(calling(std::string(name(way)), *function, arrays, calls));
  BenchOptions options;
  options.max_seconds = 1;
  return bench_in_turn(contenders, options);
}

Way way_of(const ProgramWays& ways, const std::vector<Timing>& timings) {
  if (!timings.empty()) return fastest_way(timings);
  return ways.has(Way::ours) ? Way::ours : Way::compiled;
}

std::optional<WholeDecision> take_cached(const std::string& key, const ProgramWays& ways) {
  auto entry = Cache::instance().find(key);
  if (!entry) return std::nullopt;
  Decision read;
  read.evidence = entry->evidence;
  read_evidence(read);
  if (read.timings.empty() && read.reason.empty()) return std::nullopt;
  return WholeDecision{way_of(ways, read.timings), true, std::move(read.reason), std::move(read.timings)};
}

}  // namespace

const ArrayFunction& ProgramWays::of(Way way) const {
  auto& made = made_[static_cast<size_t>(way)];
  if (!made) made = makers_[static_cast<size_t>(way)]();
  return made;
}

std::string_view name(Way way) {
  switch (way) {
    case Way::ours:
      return "with our kernels";
    case Way::compiled:
      return "mx.compile";
    case Way::eager:
      return "eager";
  }
  return "";
}

std::string whole_key(
    const Graph& captured,
    const std::vector<RegionOutcome>& outcomes,
    const std::vector<AttentionOutcome>& attentions,
    const Target& target) {
  std::string key = "autoperfect.whole " + std::to_string(key_version) + "\n" + timed_on(target);
  for (const auto& outcome : outcomes)
    key += "region " + outcome.signature + " " + (outcome.use_mlx ? "mlx" : hash_hex(outcome.winner.source)) +
           "\n";
  for (const auto& attention : attentions)
    key += std::string("attention ") + (attention.used ? library_attention_name : "mlx") + "\n";
  return key + print(captured, Names::canonical);
}

bool has_something_to_fuse(const Graph& captured) {
  auto computes = [](const Node& node) {
    const OpClass op_class = class_of(node.op);
    return op_class != OpClass::source && op_class != OpClass::view;
  };
  return std::count_if(captured.nodes.begin(), captured.nodes.end(), computes) > 1;
}

bool may_be_timed(const Graph& captured, const Arrays& arguments) {
  auto is_traced = [](const mx::array& array) { return array.is_tracer(); };
  auto can_repeat = [](const Node& node) { return is_repeatable(node.op); };
  return std::none_of(arguments.begin(), arguments.end(), is_traced) &&
         std::all_of(captured.nodes.begin(), captured.nodes.end(), can_repeat);
}

Way fastest_way(const std::vector<Timing>& timings) {
  Way chosen = Way::compiled;
  const Timing* best = nullptr;
  for (Way way : {Way::ours, Way::compiled, Way::eager}) {
    auto timing = std::find_if(
        timings.begin(), timings.end(), [&](const Timing& one) { return one.name == name(way); });
    if (timing == timings.end() || timing->failed) continue;
    if (best && !clearly_faster(*timing, *best, margin)) continue;
    best = &*timing;
    chosen = way;
  }
  return chosen;
}

std::vector<Timing> confirmed(const std::function<std::vector<Timing>()>& measure) {
  auto timings = measure();
  const bool ours_lose =
      std::any_of(
          timings.begin(), timings.end(), [](const Timing& one) { return one.name == name(Way::ours); }) &&
      fastest_way(timings) != Way::ours;
  return ours_lose ? measure() : timings;
}

WholeDecision decide_whole(const std::string& key, const ProgramWays& ways, const Arrays& arrays) {
  if (auto cached = take_cached(key, ways)) return *cached;
  WholeDecision decision;
  decision.timings = confirmed([&] { return measure(ways, arrays); });
  decision.way = way_of(ways, decision.timings);
  decision.reason = decision.timings.empty() ? "a call takes long: what each region was measured at decides"
                                             : "the fastest as a whole";
  CacheEntry entry;
  entry.key = key;
  entry.use_mlx = true;
  entry.evidence = evidence_text(decision.reason, decision.timings);
  Cache::instance().store(entry);
  return decision;
}

// The program as it was captured, op by op: what canonicalization made of it would be another program for
// mx.compile.
ArrayFunction Program::as_captured() const {
  const auto& graph = captured_.graph;
  std::vector<ValueId> inputs;
  for (const auto& input : graph.inputs)
    inputs.push_back(input.value);
  const auto same = identity_of(graph);
  auto made = make_steps(captured_, same, find_sources(same), {}, inputs, graph.outputs);
  if (!made) throw InternalError("whole: " + format(made.errors()));
  return [this, steps = std::make_shared<const Steps>(std::move(*made))](const Arrays& given) {
    return run_steps(*steps, captured_, captured_.graph, given, stream_);
  };
}

// On the CPU programs are as fast as their parts: nothing overlaps, and mx.compile is not faster than eager
// MLX.
void Program::choose_way(const CompileOptions& options, const Arrays& arguments) {
  bool runs_kernels = options.region_code == RegionCode::tuned || options.region_code == RegionCode::untimed;
  if (!target_ || !runs_kernels || !(target_->capability || options.time_whole)) return;
  ArrayFunction with_kernels = [this](const Arrays& given) {
    return run_steps(*steps_, captured_, canonical_.graph, given, stream_);
  };
  bool calls_library = std::any_of(
      attentions_.begin(), attentions_.end(), [](const auto& attention) { return attention.used; });
  ProgramWays::Maker ours;
  if (!plain_)
    ours = [&] { return with_kernels; };
  else if (calls_library)
    ours = [&] { return mx::compile(with_kernels); };
  const ProgramWays ways(
      ours, [this] { return mx::compile(as_captured()); }, [this] { return as_captured(); });
  whole_.way = way_of(ways, {});
  bool timed = options.region_code == RegionCode::tuned && options.tune.timed;
  if (!ours && !has_something_to_fuse(captured_.graph))
    whole_ = {Way::eager, false, "mx.compile has nothing to fuse in one operation"};
  else if (timed && may_be_timed(captured_.graph, arguments))
    whole_ = decide_whole(
        whole_key(captured_.graph, outcomes_, attentions_, *target_), ways, with_constants(arguments));
  const bool as_linked = whole_.way == Way::ours && !plain_;
  if (!as_linked) runs_ = ways.of(whole_.way);
  plain_ = !as_linked;
}

}  // namespace autoperfect
