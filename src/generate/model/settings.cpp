// Settings of a model by name: one table, so that the command line, Python and the documentation cannot
// differ.
#include <fmt/format.h>

#include <cmath>
#include <functional>
#include <string_view>
#include <vector>

#include "generate/model/code_model.h"
#include "support/number.h"
#include "support/spelling.h"

namespace autoperfect {

namespace {

struct Setting {
  std::string_view name;
  std::string_view wanted;  // what it must be, for the message
  std::function<bool(ModelOptions&, const std::string&)> set;
};

Setting text(std::string_view name, std::string ModelOptions::*field) {
  return {name, "text", [field](ModelOptions& options, const std::string& value) {
            options.*field = value;
            return true;
          }};
}

Setting number(std::string_view name, double ModelOptions::*field, double least, double most) {
  return {name, "a number in its range", [=](ModelOptions& options, const std::string& value) {
            auto parsed = parse_number(value);
            if (!parsed || !(*parsed >= least && *parsed <= most)) return false;
            options.*field = *parsed;
            return true;
          }};
}

template <class Integer>
Setting integer(std::string_view name, Integer ModelOptions::*field, double least, double most) {
  return {name, "an integer in its range", [=](ModelOptions& options, const std::string& value) {
            auto parsed = parse_number(value);
            if (!parsed || !(*parsed >= least && *parsed <= most) || *parsed != std::trunc(*parsed))
              return false;
            options.*field = static_cast<Integer>(*parsed);
            return true;
          }};
}

Setting flag(std::string_view name, bool ModelOptions::*field) {
  return {name, "true or false", [field](ModelOptions& options, const std::string& value) {
            options.*field = value == "true";
            return value == "true" || value == "false";
          }};
}

const std::vector<Setting>& settings_table() {
  using O = ModelOptions;
  static const std::vector<Setting> table = {
      text("name", &O::name),
      number("temperature", &O::temperature, 0, 2),
      integer("seed", &O::seed, 0, 2147483647),
      integer("max_tokens", &O::max_tokens, 1, 1 << 20),
      text("tokens_field", &O::tokens_field),
      flag("stream", &O::stream),
      integer("concurrency", &O::concurrency, 1, 256),
      integer("retries", &O::retries, 0, 20),
      number("seconds", &O::seconds, 0.01, 86400),
      number("idle_seconds", &O::idle_seconds, 0.01, 86400),
      integer("max_bytes", &O::max_bytes, 1, 1 << 30),
      number("prompt_price", &O::prompt_price, 0, 1e6),
      number("completion_price", &O::completion_price, 0, 1e6),
      number("spending_limit", &O::spending_limit, 0, 1e9),
      text("key_file", &O::key_file),
      text("record", &O::record),
      text("date", &O::date),
  };
  return table;
}

Diagnostic unknown(const std::string& name) {
  std::vector<std::string_view> known;
  for (const auto& setting : settings_table())
    known.push_back(setting.name);
  auto near = nearest_word(name, known);
  auto hint = near.empty() ? fmt::format("there are: {}", fmt::join(known, ", "))
                           : fmt::format("did you mean '{}'?", near);
  return {"model", "unknown-setting", fmt::format("no setting of a model is called '{}'", name), {}, hint};
}

}  // namespace

Result<ModelOptions> model_options(
    const std::string& spec, const std::map<std::string, std::string>& settings) {
  ModelOptions options;
  options.spec = spec;
  std::vector<Diagnostic> errors;
  for (const auto& [name, value] : settings) {
    const Setting* found = nullptr;
    for (const auto& setting : settings_table()) {
      if (setting.name == name) found = &setting;
    }
    if (!found) {
      errors.push_back(unknown(name));
    } else if (!found->set(options, value)) {
      errors.push_back(
          {"model", "bad-setting", fmt::format("{} is '{}', but must be {}", name, value, found->wanted)});
    }
  }
  if (!errors.empty()) return errors;
  return options;
}

}  // namespace autoperfect
