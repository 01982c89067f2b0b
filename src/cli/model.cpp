// prompt, ask: what a model is told of a kernel, and what it answers.
#include <fmt/format.h>

#include "cli/command.h"
#include "cli/input.h"
#include "generate/model/code_model.h"
#include "generate/model/prompt.h"

namespace autoperfect::cli {

namespace {

struct PromptArguments {
  std::string path;
  std::string language = "cpu";
  std::string target;
  int variant = 0;
};

// The machine that was named, or one the language is for.
Result<Target> target_for(const PromptArguments& arguments) {
  if (arguments.target.empty()) {
    if (arguments.language == "cuda") return *find_target("cuda.h200");
    if (arguments.language == "metal") return *find_target("metal.m1");
    return default_cpu_target();
  }
  auto kind = arguments.target.substr(0, arguments.target.find('.'));
  if (arguments.language != "mlx" && arguments.language != kind) {
    return Diagnostic{
        "cli",
        "other-machine",
        fmt::format("'{}' runs no kernels in the language '{}'", arguments.target, arguments.language)};
  }
  return *find_target(arguments.target);
}

Status print_prompt(const Kernel& kernel, const PromptArguments& arguments) {
  auto target = target_for(arguments);
  if (!target) return target.errors();
  PromptRequest request;
  request.kernel = &kernel;
  request.target = &*target;
  request.language = arguments.language;
  request.variant = arguments.variant;
  write_output(make_prompt(request));
  return Success{};
}

struct AskArguments {
  std::string path, model;
  std::vector<std::string> settings;  // NAME=VALUE
  int attempt = 0;
};

Result<std::map<std::string, std::string>> parse_settings(const std::vector<std::string>& lines) {
  std::map<std::string, std::string> settings;
  for (const auto& line : lines) {
    auto equals = line.find('=');
    if (equals == std::string::npos)
      return Diagnostic{"cli", "bad-setting", "a setting of a model is written NAME=VALUE"};
    settings[line.substr(0, equals)] = line.substr(equals + 1);
  }
  return settings;
}

Status ask(const std::string& prompt, const AskArguments& arguments) {
  auto settings = parse_settings(arguments.settings);
  if (!settings) return settings.errors();
  auto options = model_options(arguments.model, *settings);
  if (!options) return options.errors();
  auto model = open_model(*options);
  if (!model) return model.errors();
  auto reply = (*model)->ask(prompt, arguments.attempt);
  if (!reply) return reply.errors();
  write_output(reply->text);
  return Success{};
}

}  // namespace

Action declare_prompt(CLI::App& app) {
  auto arguments = std::make_shared<PromptArguments>();
  add_input_option(app, arguments->path);
  std::vector<std::string> known(languages().begin(), languages().end());
  app.add_option("--language", arguments->language, "of the kernel to be written")
      ->check(CLI::IsMember(known))
      ->capture_default_str();
  auto names = target_names();
  std::vector<std::string> targets(names.begin(), names.end());
  app.add_option("--target", arguments->target, "the machine to write for; default: one the language is for")
      ->check(CLI::IsMember(targets));
  app.add_option("--variant", arguments->variant, "each asks for another approach")
      ->check(CLI::Range(0, 1000))
      ->capture_default_str();
  return [arguments] {
    return with_parsed<Kernel>(
        arguments->path, parse_kernel, [&](Kernel kernel) { return print_prompt(kernel, *arguments); });
  };
}

Action declare_ask(CLI::App& app) {
  auto arguments = std::make_shared<AskArguments>();
  add_input_option(app, arguments->path);
  app.add_option(
         "--model",
         arguments->model,
         "http://HOST:PORT/v1, anthropic:https://..., command:PROGRAM, folder:PATH or replay:PATH")
      ->required();
  app.add_option("--set", arguments->settings, "NAME=VALUE, as in --set temperature=0.2; see docs/model.md")
      ->allow_extra_args(false);
  app.add_option("--attempt", arguments->attempt, "of the same prompt; changes the seed")
      ->check(CLI::Range(0, 1000000));
  return [arguments] {
    return with_text(arguments->path, [&](const std::string& text) { return ask(text, *arguments); });
  };
}

}  // namespace autoperfect::cli
