#include "pipeline/attention.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <random>

#include "cache/cache.h"
#include "ir/graph_text.h"
#include "lower/attention_call.h"
#include "mlx/mlx.h"
#include "pipeline/calls.h"
#include "pipeline/dump.h"
#include "pipeline/pipeline.h"
#include "pipeline/prove_attention.h"
#include "support/options.h"
#include "tune/evidence.h"
#include "tune/select.h"
#include "tune/turn.h"

namespace autoperfect {
namespace {

namespace mx = mlx::core;
using Arrays = std::vector<mx::array>;

// Raise it when calls, families or the rule of the proof change.
constexpr int decision_version = 3;
constexpr const char* products_name = "its products alone";

class Trial {
 public:
  Trial(
      const Graph& graph,
      const AttentionMatch& match,
      const Target& target,
      const CompileOptions& options,
      mx::Stream stream,
      const std::function<std::optional<ArrayFunction>(const Region&)>& plain)
      : graph_(graph), target_(target), options_(options), stream_(stream), plain_(plain) {
    outcome_.match = match;
  }

  AttentionOutcome run() {
    auto call = write_call(graph_, match(), sizes_of(graph_, match()));
    if (!call) {
      outcome_.reason = call.errors().at(0).message;
      return std::move(outcome_);
    }
    call_ = std::move(*call);
    outcome_.region.nodes = match().nodes;
    outcome_.region.inputs = call_.inputs;
    outcome_.region.outputs = {match().result};
    outcome_.region.reason = std::string("runs as ") + library_attention_name;
    dump("attention", [&] { return print(call_.written); });
    for (const auto& library : call_.library)
      dump("attention", [&] { return print(library); });
    const bool is_timed = options_.region_code != RegionCode::untimed;
    const std::string key = this->key();
    if (is_timed && take_cached(key)) return std::move(outcome_);
    try {
      log_info("attention: proving %" + graph_.values[match().result].name);
      const auto form = prove();
      log_info("attention: " + (form ? outcome_.proof : outcome_.reason));
      if (form && is_timed) compete(*form);
      if (form && !is_timed) use(*form, "not timed");
      if (is_timed) store(key, outcome_.used ? form : std::nullopt);
    } catch (const std::exception& error) {
      // Memory that was not there says nothing about the call: another process tries again.
      outcome_.used = false;
      outcome_.reason = std::string("it could not be tried: ") + error.what();
    }
    return std::move(outcome_);
  }

 private:
  const AttentionMatch& match() const { return outcome_.match; }

  std::string key() const {
    std::string key = fmt::format("autoperfect.attention {}\n{}", decision_version, timed_on(target_));
    for (ValueId v : call_.inputs)
      key += fmt::format("axes [{}]\n", fmt::join(axes_of_view(graph_, v), ", "));
    key += print(call_.written);
    for (const auto& library : call_.library)
      key += print(library);
    return key;
  }

  std::optional<size_t> prove() {
    inputs_ = sample_inputs(graph_, match(), call_);
    written_ = plain_(outcome_.region).value_or([this](const Arrays& inputs) {
      return interpret(call_.written, inputs);
    });
    std::random_device entropy;
    const uint64_t seed = options_.tune.seed ? options_.tune.seed : uint64_t{entropy()} << 32 | entropy();
    auto proof = prove_attention(graph_, match(), call_, written_, inputs_, seed);
    outcome_.reason = std::move(proof.reason);
    outcome_.proof = std::move(proof.text);
    outcome_.rejected = std::move(proof.rejected);
    return proof.form;
  }
  ArrayFunction products();
  void compete(size_t form);
  std::vector<Timing> timed(std::vector<std::pair<std::string, ArrayFunction>> contenders);
  void use(size_t form, std::string reason);
  bool take_cached(const std::string& key);
  void store(const std::string& key, std::optional<size_t> form);

  const Graph& graph_;
  const Target& target_;
  const CompileOptions& options_;
  mx::Stream stream_;
  const std::function<std::optional<ArrayFunction>(const Region&)>& plain_;
  AttentionCall call_;
  Arrays inputs_;
  ArrayFunction written_;  // as MLX runs it
  AttentionOutcome outcome_;
};

std::vector<Timing> Trial::timed(std::vector<std::pair<std::string, ArrayFunction>> functions) {
  const int calls = calls_in_flight(stream_, call_.written.type(call_.written.outputs[0]).bytes());
  std::vector<Contender> contenders;
  for (auto& [name, function] : functions)
    contenders.push_back(calling(name, function, inputs_, calls));
  return bench_in_turn(contenders, options_.tune.bench);
}

// The two products of what is written, on arrays that are there: no kernel of ours makes the rest faster than
// that.
ArrayFunction Trial::products() {
  std::vector<std::pair<mx::array, mx::array>> operands;
  for (const auto& node : call_.written.nodes) {
    if (node.op != Op::matmul) continue;
    auto made = [&](size_t i) {
      const TensorType& type = call_.written.type(node.operands[i]);
      return mx::random::normal(mx::Shape(type.shape.begin(), type.shape.end()), to_mlx(type.dtype));
    };
    operands.emplace_back(made(0), made(1));
    mx::eval(operands.back().first, operands.back().second);
  }
  return [operands](const Arrays&) {
    Arrays made;
    for (const auto& [a, b] : operands)
      made.push_back(mx::matmul(a, b));
    return made;
  };
}

// Against MLX, and, where it beats that, against what the program would be without it: our kernels and MLX's
// products.
void Trial::compete(size_t form) {
  const ArrayFunction library = [&](const Arrays& inputs) { return interpret(call_.library[form], inputs); };
  auto beats = [&](const std::vector<Timing>& timings) {
    outcome_.timings.insert(outcome_.timings.end(), timings.begin(), timings.end());
    const std::vector<Timing> others(timings.begin() + 1, timings.end());
    return !timings[0].failed && beats_all(timings[0], others, options_.tune.margin);
  };
  auto first = timed(
      {{library_attention_name, library},
       {"eager", written_},
       {"mx.compile", mx::compile(written_)},
       {products_name, products()}});
  const Timing of_products = std::move(first.back());
  first.pop_back();
  const bool beats_products = clearly_faster(first[0], of_products, options_.tune.margin);
  const bool beats_mlx = beats(first);
  outcome_.timings.push_back(of_products);
  if (!beats_mlx) {
    outcome_.reason = "MLX is as fast";
    return;
  }
  if (beats_products) return use(form, "faster than the products of what is written");
  CompileOptions without = options_;
  without.library_attention = false;
  without.tune.authors = {};  // nobody is asked about what may never run
  auto program = Program::build(written_, inputs_, without);
  auto call = [program](const Arrays& inputs) { return program->call(inputs); };
  if (!program->plain() &&
      !beats(timed({{library_attention_name, library}, {"kernels for its parts", call}}))) {
    outcome_.reason = "kernels for its parts are as fast";
    return;
  }
  use(form, "faster than what is written");
}

void Trial::use(size_t form, std::string reason) {
  outcome_.used = true;
  outcome_.reason = std::move(reason);
  auto library = std::make_shared<const Graph>(call_.library[form]);
  outcome_.executable = std::make_shared<const Executable>(
      Executable{.kernel = {}, .fallback = *library, .plain = [library](const Arrays& inputs) {
                   return interpret(*library, inputs);
                 }});
}

// The call itself is always made anew: what is kept only says which one, and must say it exactly.
bool Trial::take_cached(const std::string& key) {
  auto entry = Cache::instance().find(key);
  if (!entry) return false;
  auto evidence = nlohmann::json::parse(entry->evidence, nullptr, false);
  if (!evidence.is_object()) return false;
  Decision decision;
  decision.evidence = entry->evidence;
  read_evidence(decision);
  if (!entry->use_mlx) {
    auto same = std::find_if(call_.library.begin(), call_.library.end(), [&](const Graph& library) {
      return print(library) == entry->candidate.source;
    });
    if (same == call_.library.end()) return false;
    use(static_cast<size_t>(same - call_.library.begin()), decision.reason);
  }
  outcome_.reason = decision.reason;
  outcome_.timings = std::move(decision.timings);
  if (auto proof = evidence.find("proof"); proof != evidence.end() && proof->is_string())
    outcome_.proof = proof->get<std::string>();
  if (auto rejected = evidence.find("rejected"); rejected != evidence.end() && rejected->is_array())
    for (const auto& why : *rejected)
      if (why.is_string()) outcome_.rejected.push_back(why.get<std::string>());
  outcome_.from_cache = true;
  return true;
}

void Trial::store(const std::string& key, std::optional<size_t> form) {
  using nlohmann::json;
  json evidence = json::parse(evidence_text(outcome_.reason, outcome_.timings));
  evidence["proof"] = outcome_.proof;
  evidence["rejected"] = outcome_.rejected;
  CacheEntry entry;
  entry.key = key;
  entry.kernel = print(call_.written);
  entry.use_mlx = !form;
  entry.evidence = evidence.dump(-1, ' ', false, json::error_handler_t::replace);
  if (form) {
    entry.candidate.target = target_.name;
    entry.candidate.language = "mlx";
    entry.candidate.provenance = library_attention_name;
    entry.candidate.source = print(call_.library[*form]);
  }
  Cache::instance().store(entry);
}

// The node of the captured program that made the result, where that is the library's already.
bool is_library_call(const Captured& captured, ValueId source) {
  const Node* node = source < 0 ? nullptr : captured.graph.producer(source);
  return node && node->op == Op::scaled_dot_product_attention;
}

}  // namespace

AttentionOutcome decide_attention(
    const Graph& graph,
    const AttentionMatch& match,
    const Target& target,
    const CompileOptions& options,
    mx::Stream stream,
    const std::function<std::optional<ArrayFunction>(const Region&)>& plain) {
  return Trial(graph, match, target, options, stream, plain).run();
}

std::vector<NodeId> Program::choose_attentions(const CompileOptions& options) {
  std::vector<NodeId> taken;
  auto plain = [this](const Region& region) { return captured_function(region); };
  const bool decides = options.region_code == RegionCode::tuned ? options.tune.timed
                                                                : options.region_code == RegionCode::untimed;
  for (auto& match : recognize_attention(canonical_.graph)) {
    AttentionOutcome outcome;
    Region region;
    region.nodes = match.nodes;
    if (is_library_call(captured_, sources_[match.result])) {
      outcome.reason = "the program calls it itself";
    } else if (!options.library_attention.value_or(target_->library_attention)) {
      outcome.reason = "MLX has no faster library call on this machine";
    } else if (!decides || !is_on_one_device(region)) {
      outcome.reason = decides ? "parts of it run on another device" : "nothing is timed";
    } else {
      outcome = decide_attention(canonical_.graph, match, *target_, options, stream_, plain);
    }
    outcome.match = std::move(match);
    if (outcome.used) taken.insert(taken.end(), outcome.match.nodes.begin(), outcome.match.nodes.end());
    attentions_.push_back(std::move(outcome));
  }
  std::sort(taken.begin(), taken.end());
  return taken;
}

std::string describe(const Graph& graph, const AttentionOutcome& outcome) {
  std::string text = describe(graph, outcome.match) + "\n";
  text += outcome.used ? fmt::format("  runs as {}: {}", library_attention_name, outcome.reason)
                       : fmt::format("  stays as it is written: {}", outcome.reason);
  text += outcome.from_cache ? " (from cache)\n" : "\n";
  if (!outcome.proof.empty()) text += "  proved: " + outcome.proof + "\n";
  for (const auto& why : outcome.rejected)
    text += "  not admitted: " + why + "\n";
  for (const auto& t : outcome.timings)
    text += fmt::format("  {:>7.1f} us  {}\n", t.median * 1e6, t.name);
  return text;
}

}  // namespace autoperfect
