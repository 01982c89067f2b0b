// doctor: what this machine offers, and what runs because of it.
#include <fmt/format.h>
#include <mlx/device.h>
#include <mlx/version.h>

#include <nlohmann/json.hpp>

#include "cache/cache.h"
#include "cli/command.h"
#include "cli/input.h"
#include "compile/cpu/compile.h"
#include "gate/gate.h"
#include "pipeline/pipeline.h"
#include "support/isolation.h"
#include "support/options.h"
#include "tune/machine.h"

namespace autoperfect::cli {

namespace {

struct Row {
  std::string name, value;
  bool good = true;
};

std::string cache_text(int64_t bytes) {
  return bytes % (1 << 20) ? fmt::format("{} KiB", bytes >> 10) : fmt::format("{} MiB", bytes >> 20);
}

void add_machine(std::vector<Row>& rows, const Target& target) {
  rows.push_back({"target", fmt::format("{}: {}", target.name, cpu_features())});
  rows.push_back({"threads", std::to_string(target.threads)});
  rows.push_back(
      {"caches",
       fmt::format(
           "L1d {}, L2 {} a core, L3 {} shared",
           cache_text(target.l1_bytes),
           cache_text(target.l2_bytes),
           cache_text(target.l3_bytes))});
  rows.push_back({"copy limit", fmt::format("{:.1f} GB/s", target.copy_bytes_per_second / 1e9)});
  rows.push_back({"FMA peak", fmt::format("{:.0f} GFLOP/s in f32", target.flops_per_second / 1e9)});
  rows.push_back({"kernel", fmt::format("{:.1f} us to launch", target.launch_seconds * 1e6)});
  rows.push_back({"MLX op", fmt::format("{:.1f} us beside its work", target.mlx.op_seconds * 1e6)});
}

std::vector<Row> examine(const Target& target) {
  std::vector<Row> rows;
  rows.push_back({"mlx", mlx::core::version()});
  bool gpu = mlx::core::is_available(mlx::core::Device::gpu);
  const Target* on_gpu = target_of(mlx::core::Device(mlx::core::Device::gpu));
  std::string runs = on_gpu ? "kernels for " + on_gpu->name : "plain MLX runs";
  rows.push_back({"devices", gpu ? "cpu, gpu (" + runs + " on the gpu)" : "cpu"});
  auto& compiler = system_compiler();
  rows.push_back(
      {"compiler",
       compiler ? compiler->path + " (" + version_of(*compiler) + ")" : "none: plain MLX runs",
       compiler.ok()});
  add_machine(rows, target);
  std::string worker = worker_path();
  rows.push_back(
      {"gate worker", worker.empty() ? "missing: no kernel is admitted" : worker, !worker.empty()});
  const Isolation level = isolation_available(), required = *find_isolation(environment().isolation);
  rows.push_back(
      {"isolation",
       fmt::format(
           "{} (kernels of a model or a person {} '{}')",
           name_of(level),
           level >= required ? "need" : "are refused: they need",
           name_of(required)),
       level >= required});
  auto& cache = Cache::instance();
  rows.push_back(
      {"cache",
       cache.persistent() ? cache.directory() : "memory only: the directory is not private or not writable",
       cache.persistent()});
  return rows;
}

}  // namespace

Action declare_doctor(CLI::App& app) {
  auto as_json = std::make_shared<bool>(false);
  auto measure = std::make_shared<bool>(false);
  app.add_flag("--json", *as_json, "as JSON");
  app.add_flag("--measure", *measure, "measure the machine again; the better figures are kept");
  return [as_json, measure] {
    bool good = true;
    auto out = nlohmann::json::object();
    for (const auto& row : examine(*measure ? remeasure_machine() : this_machine())) {
      good = good && row.good;
      out[row.name] = row.value;
      if (!*as_json)
        write_output(fmt::format("{} {:<12} {}\n", row.good ? "ok  " : "FAIL", row.name, row.value));
    }
    if (*as_json) write_output(out.dump(2) + "\n");
    return static_cast<int>(good ? exit_ok : exit_bad_input);
  };
}

}  // namespace autoperfect::cli
