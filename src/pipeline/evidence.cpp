#include "pipeline/evidence.h"

#include <nlohmann/json.hpp>

namespace autoperfect {

Evidence parse_evidence(const std::string& text) {
  Evidence evidence;
  auto parsed = nlohmann::json::parse(text, nullptr, false);
  if (!parsed.is_object()) return evidence;
  evidence.bytes = parsed.value("bytes", 0.0);
  evidence.gated = parsed.contains("gate");
  if (!evidence.gated) return evidence;
  evidence.isolation = parsed["gate"].value("isolation", "");
  for (auto& family : parsed["gate"].value("families", nlohmann::json::array())) {
    ++evidence.families;
    if (family.value("worst_ulp", 0.0) <= evidence.worst_ulp) continue;
    evidence.worst_ulp = family.value("worst_ulp", 0.0);
    evidence.eager_ulp = family.value("eager_ulp", 0.0);
  }
  return evidence;
}

}  // namespace autoperfect
