// The persistent store: one file an entry, written to a temporary and renamed, verified on every read (magic,
// checksum, the full key); any unreadable byte is a miss. In a private directory; when that cannot be had,
// memory only, with one warning.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "generate/candidate.h"

namespace autoperfect {

struct CacheEntry {
  std::string key;       // full text of the key; the file name is its hash
  std::string kernel;    // KernelIR text
  bool use_mlx = false;  // decided that MLX stays; then there is no binary
  Candidate candidate;
  std::string binary;    // shared object
  std::string log;       // what the compiler said of it: of a cubin registers and spills, too
  std::string evidence;  // JSON: gate and bench records
};

// off: memory only. read: what is on disk is used, nothing is written.
enum class CacheMode { on, off, read };

class Cache {
 public:
  // Directory: AUTOPERFECT_CACHE_DIR, else $XDG_CACHE_HOME/autoperfect, else ~/.cache/autoperfect.
  static Cache& instance();
  Cache(std::string directory, CacheMode mode);

  std::optional<CacheEntry> find(const std::string& key);
  void store(const CacheEntry& entry);  // failure to write is one warning, never an error
  // Also remember a rejected candidate beside the entries, for failure analysis.
  void store_rejected(const std::string& key, const Candidate& candidate, const std::string& reason);

  struct Row {
    std::string file, name, provenance;
    int64_t bytes = 0;
    bool use_mlx = false, valid = false;
  };
  std::vector<Row> list();
  std::optional<CacheEntry> entry_of(const std::string& file);  // as list() names it; none: damaged
  int clear();                                                  // entries removed
  const std::string& directory() const { return directory_; }
  bool persistent() const { return persistent_; }

 private:
  std::string directory_;
  CacheMode mode_;
  bool persistent_ = false;
  std::mutex mutex_;
  std::map<std::string, CacheEntry> memory_;  // by key: what this process stored or found
};

}  // namespace autoperfect
