#include "canonicalize/canonicalize.h"

#include "canonicalize/passes.h"

namespace autoperfect {

namespace {

constexpr NamedRule rules[] = {
    {"lower_composites", lower_composites},
    {"spell_once", spell_once},
    {"remove_identities", remove_identities},
    {"fold_constants", fold_constants},
    {"order_operands", order_operands},
    {"simplify_arithmetic", simplify_arithmetic},
    {"make_broadcasts_implicit", make_broadcasts_implicit},
    {"merge_views", merge_views},
    {"simplify_concatenations", simplify_concatenations},
    {"simplify_updates", simplify_updates},
    {"join_summands", join_summands},
    {"simplify_gathers", simplify_gathers},
    {"sink_views", sink_views},
};

}  // namespace

std::span<const NamedRule> all_rules() {
  return rules;
}

Rules rules_of_canonicalize() {
  Rules all;
  for (const auto& [name, rule] : rules)
    all.rules.push_back(rule);
  all.expansions = {expand_results};
  all.merges = true;
  return all;
}

Canonical canonicalize(const Graph& source) {
  const Rewrite simple = rewrite(source, rules_of_canonicalize());
  Rewrite ordered = order_nodes(simple.graph);
  Canonical canonical{std::move(ordered.graph), simple.value_of};
  for (auto& value : canonical.value_of_source) {
    if (value >= 0) value = ordered.value_of[value];
  }
  return canonical;
}

}  // namespace autoperfect
