#include "cache/cache.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "cache/entry_file.h"
#include "support/file.h"
#include "support/hash.h"
#include "support/options.h"

namespace autoperfect {
namespace {

namespace fs = std::filesystem;

constexpr const char* entry_suffix = ".entry";
constexpr const char* rejected_folder = "/rejected";
constexpr size_t most_rejected = 500;

CacheMode mode_of(const std::string& text) {
  return text == "off" ? CacheMode::off : text == "read" ? CacheMode::read : CacheMode::on;
}

// Why the directory cannot be used; empty: it can. In mode `read` it is not made.
std::string prepare(const std::string& directory, CacheMode mode) {
  if (directory.empty()) return "no home directory is known";
  std::error_code error;
  if (mode == CacheMode::read && !fs::exists(directory, error)) return "it does not exist";
  auto made = make_private_directory(directory);
  return made ? "" : made.errors().at(0).message;
}

std::string path_of(const std::string& directory, const std::string& key) {
  return directory + "/" + hash_hex(key) + entry_suffix;
}

// Regular files of a folder, oldest first. Links are not followed.
std::vector<fs::path> files_of(const std::string& folder, const std::string& suffix) {
  std::vector<std::pair<fs::file_time_type, fs::path>> found;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    std::error_code ignored;
    if (!it->path().string().ends_with(suffix)) continue;
    found.emplace_back(fs::last_write_time(it->path(), ignored), it->path());
  }
  std::sort(found.begin(), found.end());
  std::vector<fs::path> paths;
  for (auto& [time, path] : found)
    paths.push_back(path);
  return paths;
}

// The name in "kernel @name {" of KernelIR text.
std::string kernel_name(const std::string& text) {
  auto start = text.find("kernel @");
  if (start == std::string::npos) return "";
  start += 8;
  return text.substr(start, std::min<size_t>(text.find_first_of(" {\n", start) - start, 200));
}

}  // namespace

Cache& Cache::instance() {
  static Cache* cache = new Cache(environment().cache_dir, mode_of(environment().cache));
  return *cache;
}

Cache::Cache(std::string directory, CacheMode mode) : directory_(std::move(directory)), mode_(mode) {
  if (mode_ == CacheMode::off) return;
  std::string reason = prepare(directory_, mode_);
  persistent_ = reason.empty();
  if (!persistent_ && mode_ == CacheMode::on) {
    warn_once(
        "cache-directory " + directory_,
        "kernels are kept in memory only, the cache directory '" + directory_ +
            "' cannot be used: " + reason);
  }
}

std::optional<CacheEntry> Cache::find(const std::string& key) {
  {
    std::lock_guard lock(mutex_);
    auto known = memory_.find(key);
    if (known != memory_.end()) return known->second;
  }
  if (!persistent_) return std::nullopt;
  auto bytes = read_entry_file(path_of(directory_, key));
  if (!bytes) return std::nullopt;
  auto entry = decode_entry(*bytes);
  if (!entry || entry->key != key) return std::nullopt;
  std::lock_guard lock(mutex_);
  memory_.insert_or_assign(key, *entry);
  return entry;
}

void Cache::store(const CacheEntry& entry) {
  {
    std::lock_guard lock(mutex_);
    memory_.insert_or_assign(entry.key, entry);
  }
  if (!persistent_ || mode_ != CacheMode::on) return;
  auto written = write_file_atomically(path_of(directory_, entry.key), encode_entry(entry));
  if (!written) {
    warn_once("cache-store", "a kernel could not be stored: " + written.errors().at(0).message);
  }
}

void Cache::store_rejected(const std::string& key, const Candidate& candidate, const std::string& reason) {
  if (!persistent_ || mode_ != CacheMode::on) return;
  std::string folder = directory_ + rejected_folder;
  if (!make_private_directory(folder)) return;
  nlohmann::json record = {
      {"key", key},
      {"reason", reason},
      {"signature", candidate.signature},
      {"target", candidate.target},
      {"language", candidate.language},
      {"provenance", candidate.provenance},
      {"source", candidate.source}};
  // A candidate may be anything, also no UTF-8: replaced, never an exception.
  std::string text = record.dump(2, ' ', false, nlohmann::json::error_handler_t::replace);
  auto written = write_file_atomically(folder + "/" + hash_hex(key + candidate.source) + ".json", text);
  if (!written) {
    warn_once("cache-rejected", "a rejected kernel could not be kept: " + written.errors().at(0).message);
  }
  auto kept = files_of(folder, ".json");
  std::error_code ignored;
  for (size_t i = 0; i + most_rejected < kept.size(); ++i)
    fs::remove(kept[i], ignored);
}

std::optional<CacheEntry> Cache::entry_of(const std::string& file) {
  if (!persistent_ || file.find('/') != std::string::npos) return std::nullopt;
  auto bytes = read_entry_file(directory_ + "/" + file);
  auto entry = bytes ? decode_entry(*bytes) : std::nullopt;
  return entry && hash_hex(entry->key) + entry_suffix == file ? entry : std::nullopt;
}

std::vector<Cache::Row> Cache::list() {
  std::vector<Row> rows;
  if (!persistent_) return rows;
  for (auto& path : files_of(directory_, entry_suffix)) {
    Row row;
    row.file = path.filename().string();
    if (auto bytes = read_entry_file(path.string())) {
      row.bytes = static_cast<int64_t>(bytes->size());
      auto entry = decode_entry(*bytes);
      row.valid = entry && hash_hex(entry->key) + entry_suffix == row.file;
      if (entry) {
        row.name = kernel_name(entry->kernel);
        row.provenance = entry->candidate.provenance;
        row.use_mlx = entry->use_mlx;
      }
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

int Cache::clear() {
  std::lock_guard lock(mutex_);
  memory_.clear();
  if (!persistent_ || mode_ != CacheMode::on) return 0;
  int removed = 0;
  std::error_code ignored;
  for (auto& path : files_of(directory_, entry_suffix))
    removed += fs::remove(path, ignored) ? 1 : 0;
  for (auto& path : files_of(directory_ + rejected_folder, ".json"))
    fs::remove(path, ignored);
  return removed;
}

}  // namespace autoperfect
