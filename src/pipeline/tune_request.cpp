#include "pipeline/tune_request.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "pipeline/tune_kernels.h"
#include "support/isolation.h"
#include "support/options.h"

namespace autoperfect {
namespace {

constexpr int most_variants = 1000, most_rounds = 100;

template <class Words>
std::string listed(const Words& words) {
  std::string text;
  for (auto word : words)
    text += (text.empty() ? "" : ", ") + std::string(word);
  return text;
}

Diagnostic bad(const std::string& code, const std::string& message, const std::string& hint) {
  return {"tune", code, message, {}, hint};
}

Status check_language(const std::string& language) {
  auto& known = languages();
  if (std::find(known.begin(), known.end(), language) != known.end()) return Success{};
  return bad("language", "no candidate language is called '" + language + "'", "there are " + listed(known));
}

void give_language(AuthorOptions& authors) {
  const std::string own = target_of(kernel_device())->capability ? "cuda" : "cpu";
  if (authors.language.empty()) authors.language = own;
  for (auto& draft : authors.drafts)
    if (draft.language.empty()) draft.language = own;
}

Status check_numbers(const TuneRequest& request) {
  auto in_range = [](int value, int least, int most) { return value >= least && value <= most; };
  if (!in_range(request.variants, 1, most_variants) || !in_range(request.repairs, 0, most_rounds) ||
      !in_range(request.rounds, 1, most_rounds) || !(request.budget >= 0))
    return bad(
        "range",
        "variants, repairs, rounds or budget is out of range",
        fmt::format(
            "variants 1 to {}, repairs 0 to {}, rounds 1 to {}, budget in seconds from 0",
            most_variants,
            most_rounds,
            most_rounds));
  return Success{};
}

Status open_author(const TuneRequest& request, AuthorOptions& authors) {
  std::string spec =
      request.model && request.model->empty() ? environment().model : request.model.value_or("");
  if (spec.empty()) return Success{};
  auto options = model_options(spec, request.settings);
  if (!options) return options.errors();
  authors.cancelled = std::make_shared<std::atomic<bool>>(false);
  options->cancelled = authors.cancelled.get();
  auto model = open_model(*options);
  if (!model) return model.errors();
  authors.model = *model;
  authors.model_name = options->name;
  authors.concurrency = options->concurrency;
  return Success{};
}

}  // namespace

Result<TuneOptions> tune_options(const TuneRequest& request) {
  TuneOptions options;
  auto& authors = options.authors;
  authors.drafts = request.drafts;
  authors.language = request.language;
  give_language(authors);
  if (auto status = check_language(authors.language); !status) return status.errors();
  for (auto& draft : authors.drafts)
    if (auto status = check_language(draft.language); !status) return status.errors();
  if (auto status = check_numbers(request); !status) return status.errors();
  if (!request.target.empty()) {
    options.target = find_target(request.target);
    if (!options.target)
      return bad(
          "target", "no target is called '" + request.target + "'", "there are " + listed(target_names()));
  }
  if (!request.isolation.empty()) {
    auto level = find_isolation(request.isolation);
    if (!level)
      return bad(
          "isolation",
          "no level of isolation is called '" + request.isolation + "'",
          "there are none, process, seccomp, landlock");
    options.isolation = *level;
  }
  authors.variants = request.variants;
  authors.repairs = request.repairs;
  authors.rounds = request.rounds;
  authors.seconds = request.budget;
  options.seed = request.seed;
  options.timed = request.timed;
  options.schedules = request.schedules;
  options.progress = request.progress;
  if (auto status = open_author(request, authors); !status) return status.errors();
  return options;
}

}  // namespace autoperfect
