#include "tune/evidence.h"

#include <nlohmann/json.hpp>

namespace autoperfect {
namespace {

using nlohmann::json;

json to_json(const Timing& t) {
  return {
      {"name", t.name}, {"median", t.median}, {"low", t.low}, {"high", t.high}, {"iterations", t.iterations}};
}

json to_json(const Verdict& verdict) {
  json families = json::array();
  for (auto& f : verdict.families)
    families.push_back(
        {{"family", f.family}, {"passed", f.passed}, {"worst_ulp", f.worst_ulp}, {"eager_ulp", f.eager_ulp}});
  return {{"admitted", verdict.admitted}, {"isolation", verdict.isolation}, {"families", families}};
}

}  // namespace

std::string evidence_text(const Record& record) {
  json timings = json::array();
  for (auto& timing : record.timings)
    if (!timing.failed) timings.push_back(to_json(timing));
  json evidence = {{"reason", record.reason}, {"timings", timings}};
  if (record.bytes) evidence["bytes"] = record.bytes;
  if (record.verdict) evidence["gate"] = to_json(*record.verdict);
  return evidence.dump();
}

void read_evidence(Decision& decision) {
  auto evidence = json::parse(decision.evidence, nullptr, false);
  if (!evidence.is_object()) return;
  decision.reason = evidence.value("reason", "");
  for (auto& row : evidence.value("timings", json::array()))
    decision.timings.push_back(
        {row.value("name", ""),
         row.value("median", 0.0),
         row.value("low", 0.0),
         row.value("high", 0.0),
         row.value("iterations", 0),
         false,
         {}});
}

}  // namespace autoperfect
