// cache ls | show | clear: what was kept on disk.
#include "cache/cache.h"

#include <fmt/format.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/input.h"

namespace autoperfect::cli {

namespace {

int list_cache(bool as_json) {
  auto& cache = Cache::instance();
  auto rows = cache.list();
  if (as_json) {
    auto out = nlohmann::json::array();
    for (const auto& row : rows)
      out.push_back(
          {{"file", row.file},
           {"name", row.name},
           {"kernel", row.use_mlx ? "" : row.provenance},
           {"use_mlx", row.use_mlx},
           {"bytes", row.bytes},
           {"valid", row.valid}});
    write_output(out.dump(2) + "\n");
    return exit_ok;
  }
  int64_t bytes = 0;
  for (const auto& row : rows) {
    bytes += row.bytes;
    std::string what = !row.valid ? "damaged" : row.use_mlx ? "MLX stays" : row.provenance;
    write_output(fmt::format("{}  {:>8}  {:<16} {}\n", row.file, row.bytes, row.name, what));
  }
  write_output(fmt::format("{} entries, {} bytes in {}\n", rows.size(), bytes, cache.directory()));
  return exit_ok;
}

int show_entry(const std::string& file) {
  const auto entry = Cache::instance().entry_of(file);
  if (!entry) {
    const Diagnostic absent{
        "cache",
        "no-entry",
        "no such entry, or a damaged one: " + file,
        {},
        "autoperfect cache ls names them"};
    std::fputs((format(absent) + "\n").c_str(), stderr);
    return exit_bad_input;
  }
  auto part = [](const std::string& title, const std::string& text) {
    if (!text.empty()) write_output("== " + title + "\n" + text + (text.ends_with('\n') ? "" : "\n"));
  };
  part("key", entry->key);
  part("kernel", entry->kernel);
  part("source: " + entry->candidate.provenance, entry->candidate.source);
  part("log of the compiler", entry->log);
  part("evidence", entry->evidence);
  write_output(fmt::format("== binary: {} bytes\n", entry->binary.size()));
  return exit_ok;
}

}  // namespace

Action declare_cache(CLI::App& app) {
  app.require_subcommand(1);
  auto* list = app.add_subcommand("ls", "list the entries");
  auto* show = app.add_subcommand("show", "print an entry: kernel, source, what the compiler said, evidence");
  auto file = std::make_shared<std::string>();
  show->add_option("entry", *file, "its file, as ls names it")->required();
  app.add_subcommand("clear", "remove all entries and rejected candidates");
  auto as_json = std::make_shared<bool>(false);
  list->add_flag("--json", *as_json, "as JSON");
  return [list, as_json, show, file] {
    if (list->parsed()) return list_cache(*as_json);
    if (show->parsed()) return show_entry(*file);
    write_output(fmt::format("{} entries removed\n", Cache::instance().clear()));
    return static_cast<int>(exit_ok);
  };
}

}  // namespace autoperfect::cli
