#include <cmath>
#include <nlohmann/json.hpp>

#include "support/hash.h"
#include "tune/machine.h"

namespace autoperfect {
namespace {

using nlohmann::json;

// The measured figures, each with what is possible on any machine there is.
struct Figure {
  const char* name;
  double& value;
  double least, most;
};

std::vector<Figure> figures(Target& target) {
  return {
      {"copy_bytes_per_second", target.copy_bytes_per_second, 1e8, 1e13},
      {"cache_bytes_per_second", target.cache_bytes_per_second, 1e8, 1e14},
      {"flops_per_second", target.flops_per_second, 1e8, 1e15},
      {"launch_seconds", target.launch_seconds, 1e-8, 1e-2},
      {"mlx_op_seconds", target.mlx.op_seconds, 1e-8, 1e-2},
  };
}

}  // namespace

std::string machine_text(const Target& target, const std::string& identity) {
  Target copy = target;
  json measured = json::object();
  for (const auto& figure : figures(copy))
    measured[figure.name] = figure.value;
  json text = {
      {"identity", identity}, {"measured", measured}, {"checksum", hash_hex(identity + measured.dump())}};
  return text.dump(1) + "\n";
}

std::optional<Target> parse_machine(const std::string& text, Target on, const std::string& identity) {
  auto stored = json::parse(text, nullptr, false);
  if (!stored.is_object() || !stored.contains("measured") || !stored["measured"].is_object())
    return std::nullopt;
  const auto& measured = stored["measured"];
  auto text_of = [&](const char* key) {
    return stored.contains(key) && stored[key].is_string() ? stored[key].get<std::string>() : std::string();
  };
  if (text_of("identity") != identity || text_of("checksum") != hash_hex(identity + measured.dump()))
    return std::nullopt;
  for (const auto& figure : figures(on)) {
    if (!measured.contains(figure.name) || !measured[figure.name].is_number()) return std::nullopt;
    double value = measured[figure.name].get<double>();
    if (!std::isfinite(value) || value < figure.least || value > figure.most) return std::nullopt;
    figure.value = value;
  }
  return on;
}

}  // namespace autoperfect
