#include "pipeline/prove_attention.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "compile/cpu/compile.h"
#include "gate/attention_proof.h"
#include "gate/judge.h"
#include "mlx/mlx.h"
#include "pipeline/region_runner.h"

namespace autoperfect {
namespace {

namespace mx = mlx::core;
using Arrays = std::vector<mx::array>;

// As numbers of a program: normal ones, and coin flips for a mask of bools.
mx::array sample(
    const TensorType& type, const std::vector<int64_t>& axes, double factor, const mx::array& key) {
  mx::Shape shape(type.shape.begin(), type.shape.end());
  for (size_t d = 0; d < axes.size(); ++d)
    shape[static_cast<size_t>(axes[d])] = static_cast<int>(type.shape[d]);
  auto made = type.dtype == Dtype::bool_
                  ? mx::random::bernoulli(mx::array(0.75f), shape, key)
                  : mx::astype(
                        mx::random::normal(shape, mx::float32, 0.0f, static_cast<float>(factor), key),
                        to_mlx(type.dtype));
  mx::eval(made);
  return axes.empty() ? made : mx::transpose(made, std::vector<int>(axes.begin(), axes.end()));
}

std::vector<Result<AttentionReferences>> references_of(
    const Graph& written, const std::vector<AttentionFamily>& families) {
  std::vector<Result<AttentionReferences>> made(families.size(), Diagnostic{"gate", "not-run", "", {}, ""});
  parallel_for(static_cast<int64_t>(families.size()), 0, [&](int64_t f, int) {
    const auto i = static_cast<size_t>(f);
    made[i] = attention_references(written, families[i].inputs);
  });
  return made;
}

Tensor computed(const Graph& graph, const std::vector<Tensor>& inputs) {
  auto outputs = evaluate(graph, inputs);
  if (!outputs) throw std::runtime_error(format(outputs.errors()));
  return std::move(outputs->at(0));
}

// What MLX gave of the match at full size, in f32.
struct Results {
  mx::array oracle, magnitude, eager, got;
};

class Prover {
 public:
  Prover(
      const Graph& graph,
      const AttentionMatch& match,
      const AttentionCall& call,
      const ArrayFunction& written,
      const Arrays& inputs)
      : graph_(graph), match_(match), call_(call), written_(written), inputs_(inputs) {}

  AttentionProof run(uint64_t seed) {
    auto small = write_call(graph_, match_, small_sizes(graph_, match_));
    if (!small) {
      proof_.reason = small.errors().at(0).message;
      return std::move(proof_);
    }
    const auto families = make_attention_families(small->written, match_.scale, seed);
    const auto references = references_of(small->written, families);
    std::string failed;
    for (size_t form = 0; form < small->library.size() && !proof_.form; ++form) {
      std::string why;
      try {
        why = why_wrong(small->written, small->library[form], families, references);
        if (why.empty()) why = why_wrong_at_full_size(call_.library[form]);
      } catch (const std::exception& error) {
        failed = why = std::string("MLX fails: ") + error.what();
      }
      if (why.empty())
        admit(form, families.size());
      else
        proof_.rejected.push_back(call_.forms[form] + ": " + why);
    }
    if (!proof_.form && !failed.empty()) throw std::runtime_error(failed);
    if (!proof_.form) proof_.reason = "its numbers are others";
    return std::move(proof_);
  }

 private:
  void admit(size_t form, size_t families) {
    proof_.form = form;
    proof_.text = fmt::format(
        "with {}, on {} families of inputs; worst error {:.2g} of the values mixed, {:.2g} as written",
        call_.forms[form],
        families,
        error_,
        written_error_);
  }
  std::string why_wrong(
      const Graph& written,
      const Graph& library,
      const std::vector<AttentionFamily>& families,
      const std::vector<Result<AttentionReferences>>& references);
  std::string why_wrong_at_full_size(const Graph& library);
  std::string why_wrong(const Results& results) const;
  Arrays with_nan_in_the_last_key(size_t input) const;

  const Graph& graph_;
  const AttentionMatch& match_;
  const AttentionCall& call_;
  const ArrayFunction& written_;
  const Arrays& inputs_;
  AttentionProof proof_;
  double error_ = 0, written_error_ = 0;
};

std::string Prover::why_wrong(
    const Graph& written,
    const Graph& library,
    const std::vector<AttentionFamily>& families,
    const std::vector<Result<AttentionReferences>>& references) {
  bool decided = false;
  error_ = written_error_ = 0;
  for (size_t f = 0; f < families.size(); ++f) {
    if (!references[f]) return format(references[f].errors());
    const Tensor eager = computed(written, families[f].inputs), got = computed(library, families[f].inputs);
    const auto verdict = judge_attention(*references[f], eager, got);
    if (!verdict.passed) return families[f].name + ": " + verdict.failure;
    if (f == 0) decided = verdict.decides;
    if (!verdict.decides) continue;
    error_ = std::max(error_, verdict.error);
    written_error_ = std::max(written_error_, verdict.written_error);
  }
  return decided ? "" : families[0].name + ": rounding decides the numbers, they cannot be judged";
}

// Another kernel may run there, and one that skips keys a mask forbids shows only there.
std::string Prover::why_wrong_at_full_size(const Graph& library) {
  auto sizes = sizes_of(graph_, match_);
  sizes.wide = true;
  auto wide = write_call(graph_, match_, sizes);
  if (!wide) return format(wide.errors());
  for (const auto& [name, inputs] :
       {std::pair("ordinary", inputs_),
        {"NaN in the last key", with_nan_in_the_last_key(1)},
        {"NaN in the last value", with_nan_in_the_last_key(2)}}) {
    Arrays widened, positive;
    for (const auto& input : inputs)
      widened.push_back(input.dtype() == mx::bool_ ? input : mx::astype(input, mx::float32));
    positive = widened;
    positive[2] = mx::abs(positive[2]);
    const Results results{
        interpret(wide->written, widened)[0],
        mx::maximum(interpret(wide->written, positive)[0], mx::array(1e-30f)),
        mx::astype(written_(inputs)[0], mx::float32),
        mx::astype(interpret(library, inputs)[0], mx::float32)};
    for (const auto& one : {results.oracle, results.magnitude, results.eager, results.got})
      mx::eval(one);  // one after the other: each has all scores in memory
    auto why = why_wrong(results);
    if (!why.empty()) return fmt::format("{}, at full size: {}", name, why);
  }
  return "";
}

// Twice the error of what is written, and of f32, which has no wider oracle there, what sums of that depth
// may lose.
std::string Prover::why_wrong(const Results& results) const {
  const auto& [oracle, magnitude, eager, got] = results;
  const TensorType& type = graph_.type(match_.k_transposed);
  const double depth =
      is_half(type.dtype) ? 0 : static_cast<double>(type.shape.back() + type.shape.end()[-2]);
  const double unit = ulp_at(type.dtype, 1);
  auto both = mx::logical_and(mx::isfinite(eager), mx::isfinite(got));
  auto finite = mx::logical_and(mx::isfinite(oracle), both);
  auto worst = [&, &oracle = oracle, &magnitude = magnitude](const mx::array& of) {
    auto errors = mx::divide(mx::abs(mx::subtract(of, oracle)), magnitude);
    return mx::max(mx::where(finite, errors, mx::array(0.0f)));
  };
  auto elsewhere = mx::any(mx::not_equal(mx::isfinite(got), mx::isfinite(eager)));
  auto ours = worst(got), theirs = worst(eager);
  mx::eval({elsewhere, ours, theirs});
  if (elsewhere.item<bool>()) return "NaN and infinities are elsewhere";
  const double allowed = 2 * theirs.item<float>() + (4 + depth) * unit;
  if (ours.item<float>() <= allowed) return "";
  return fmt::format("off by {:.3g} of the values mixed, allowed {:.3g}", ours.item<float>(), allowed);
}

Arrays Prover::with_nan_in_the_last_key(size_t input) const {
  const int keys = static_cast<int>(graph_.type(match_.k_transposed).shape.back());
  auto last = mx::equal(mx::arange(keys), mx::array(keys - 1));
  if (input == 2) last = mx::expand_dims(last, 1);  // v has keys as rows
  Arrays inputs = inputs_;
  const auto changed = mx::where(last, mx::array(std::nanf(""), inputs[input].dtype()), inputs[input]);
  for (size_t i = 0; i < inputs.size(); ++i)
    if (call_.inputs[i] == call_.inputs[input]) inputs[i] = changed;
  return inputs;
}

}  // namespace

std::vector<int64_t> axes_of_view(const Graph& graph, ValueId v) {
  const Node* node = graph.producer(v);
  if (!node || node->op != Op::transpose) return {};
  return node->attributes.get<std::vector<int64_t>>("axes");
}

Arrays sample_inputs(const Graph& graph, const AttentionMatch& match, const AttentionCall& call) {
  const double width = static_cast<double>(std::max<int64_t>(1, graph.type(match.q).shape.back()));
  const double spread = 1 / std::sqrt(std::max(std::fabs(match.scale), 1e-6) * std::sqrt(width));
  Arrays arrays;
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    const ValueId v = call.inputs[i];
    const auto same =
        static_cast<size_t>(std::find(call.inputs.begin(), call.inputs.end(), v) - call.inputs.begin());
    arrays.push_back(
        same < i ? arrays[same]
                 : sample(graph.type(v), axes_of_view(graph, v), i < 2 ? spread : 1, mx::random::key(i + 1)));
  }
  return arrays;
}

AttentionProof prove_attention(
    const Graph& graph,
    const AttentionMatch& match,
    const AttentionCall& call,
    const ArrayFunction& written,
    const Arrays& inputs,
    uint64_t seed) {
  return Prover(graph, match, call, written, inputs).run(seed);
}

}  // namespace autoperfect
