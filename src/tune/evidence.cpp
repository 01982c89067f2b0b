#include "tune/evidence.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <tuple>

namespace autoperfect {
namespace {

using nlohmann::json;

json to_json(const Timing& t) {
  json row = {
      {"name", t.name}, {"median", t.median}, {"low", t.low}, {"high", t.high}, {"iterations", t.iterations}};
  if (t.on_device.warm > 0) row["on_device"] = t.on_device.warm;
  if (t.on_device.cold > 0) row["on_device_cold"] = t.on_device.cold;
  return row;
}

// What failed has no time.
json to_json(const std::vector<Timing>& timings) {
  json rows = json::array();
  for (auto& timing : timings)
    if (!timing.failed) rows.push_back(to_json(timing));
  return rows;
}

json to_json(const Verdict& verdict) {
  json families = json::array();
  for (auto& f : verdict.families)
    families.push_back(
        {{"family", f.family}, {"passed", f.passed}, {"worst_ulp", f.worst_ulp}, {"eager_ulp", f.eager_ulp}});
  return {{"admitted", verdict.admitted}, {"isolation", verdict.isolation}, {"families", families}};
}

json to_json(const Attempt& a, bool timed) {
  json row = {
      {"name", a.name},
      {"round", a.round},
      {"variant", a.variant},
      {"repair", a.repair},
      {"language", a.language},
      {"stage", a.stage},
      {"admitted", a.admitted},
      {"won", a.won},
      {"reason", a.reason},
      {"isolation", a.isolation},
      {"arms", a.arms},
      {"seconds", a.seconds},
      {"built_in_seconds", a.built_in_seconds}};
  if (timed)
    row["stages"] = {
        {"ask", a.ask_seconds},
        {"check", a.check_seconds},
        {"compile", a.compile_seconds},
        {"gate", a.gate_seconds}};
  return row;
}

Attempt attempt_of(const json& row) {
  Attempt a;
  a.name = row.value("name", "");
  a.round = row.value("round", 0);
  a.variant = row.value("variant", 0);
  a.repair = row.value("repair", 0);
  a.language = row.value("language", "");
  a.stage = row.value("stage", "");
  a.admitted = row.value("admitted", false);
  a.won = row.value("won", false);
  a.reason = row.value("reason", "");
  a.isolation = row.value("isolation", "");
  a.arms = row.value("arms", size_t{0});
  a.seconds = row.value("seconds", 0.0);
  a.built_in_seconds = row.value("built_in_seconds", 0.0);
  auto stages = row.value("stages", json::object());
  a.ask_seconds = stages.value("ask", 0.0);
  a.check_seconds = stages.value("check", 0.0);
  a.compile_seconds = stages.value("compile", 0.0);
  a.gate_seconds = stages.value("gate", 0.0);
  return a;
}

Timing timing_of(const json& row) {
  return {
      row.value("name", ""),
      row.value("median", 0.0),
      row.value("low", 0.0),
      row.value("high", 0.0),
      row.value("iterations", 0),
      false,
      {},
      {row.value("on_device", 0.0), row.value("on_device_cold", 0.0)}};
}

}  // namespace

// In the order of rounds, variants and repairs, whatever came first.
std::vector<Attempt> attempts_of(const Life& life) {
  auto attempts = life.decision.attempts;
  for (auto& contestant : life.admitted)
    attempts.push_back(contestant.attempt);
  std::stable_sort(attempts.begin(), attempts.end(), [](const Attempt& a, const Attempt& b) {
    return std::tie(a.round, a.variant, a.repair, a.name) < std::tie(b.round, b.variant, b.repair, b.name);
  });
  return attempts;
}

std::string evidence_text(const Life& life, bool timed) {
  auto& decision = life.decision;
  json timings = to_json(decision.timings), attempts = json::array();
  for (auto& attempt : attempts_of(life))
    attempts.push_back(to_json(attempt, timed));
  json evidence = {{"reason", decision.reason}, {"timings", timings}, {"attempts", attempts}};
  if (!timings.empty()) evidence["bytes"] = bytes_of_buffers(life.kernel());
  if (!life.admitted.empty()) evidence["gate"] = to_json(life.admitted.front().verdict);
  // Part of it may be what a server said: never an exception over bytes that are no UTF-8.
  return evidence.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::string evidence_text(const std::string& reason, const std::vector<Timing>& timings) {
  return json{{"reason", reason}, {"timings", to_json(timings)}}.dump();
}

void read_evidence(Decision& decision) {
  auto evidence = json::parse(decision.evidence, nullptr, false);
  if (!evidence.is_object()) return;
  try {
    decision.reason = evidence.value("reason", "");
    for (auto& row : evidence.value("timings", json::array()))
      decision.timings.push_back(timing_of(row));
    for (auto& row : evidence.value("attempts", json::array()))
      decision.attempts.push_back(attempt_of(row));
  } catch (const json::exception&) {
    // Another type than ours where a field should be: what was read before it stands.
  }
}

}  // namespace autoperfect
