#include <fmt/format.h>

#include <string_view>

#include "generate/model/providers.h"

namespace autoperfect {

namespace {

ModelResult open_provider(const ModelOptions& options) {
  const auto& spec = options.spec;
  auto colon = spec.find(':');
  auto kind = spec.substr(0, colon);
  auto rest = colon == std::string::npos ? "" : spec.substr(colon + 1);
  if (kind == "command") return open_command(rest, options);
  if (kind == "folder") return open_folder(rest, options);
  if (kind == "replay") return open_replay(rest);
  return Diagnostic{
      "model",
      "bad-model",
      "this names no model",
      {},
      "http://HOST:PORT/v1, https://..., anthropic:https://..., command:PROGRAM, folder:PATH or replay:PATH"};
}

}  // namespace

ModelResult open_model(const ModelOptions& options) {
  auto model = open_provider(options);
  if (!model) return model;
  if (options.record.empty()) return model;
  return recorded(std::move(*model), options);
}

}  // namespace autoperfect
