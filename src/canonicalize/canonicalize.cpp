#include "canonicalize/canonicalize.h"

#include <string_view>

#include "canonicalize/passes.h"
#include "ir/graph_text.h"

namespace autoperfect {

namespace {

struct NamedPass {
  std::string_view name;
  Pass run;
};

constexpr NamedPass passes[] = {
    {"lower_composites", lower_composites},
    {"normalize_attributes", normalize_attributes},
    {"remove_identities", remove_identities},
    {"fold_constants", fold_constants},
    {"make_broadcasts_implicit", make_broadcasts_implicit},
    {"merge_common", merge_common},
    {"order_nodes", order_nodes},
};

constexpr int max_rounds = 64;  // each round but the last removes or simplifies a node; far fewer are needed

void apply(const NamedPass& pass, Canonical& state) {
  Rewrite rewrite = pass.run(state.graph);
  for (auto& value : state.value_of_source) {
    if (value >= 0) value = rewrite.value_of[value];
  }
  state.graph = std::move(rewrite.graph);
}

}  // namespace

Canonical canonicalize(const Graph& source) {
  Canonical state = identity_of(source);
  std::string text = print(source);
  for (int round = 0; round < max_rounds; ++round) {
    for (const auto& pass : passes)
      apply(pass, state);
    std::string next = print(state.graph);
    if (next == text) return state;
    text = std::move(next);
  }
  throw InternalError("[canonicalize] no fixpoint; the graph is\n" + print(source));
}

}  // namespace autoperfect
