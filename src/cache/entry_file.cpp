#include "cache/entry_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <nlohmann/json.hpp>
#include <string_view>

#include "support/descriptor.h"
#include "support/hash.h"

namespace autoperfect {
namespace {

using nlohmann::json;

constexpr std::string_view magic = "APCACHE2";
constexpr size_t checksum_length = 32;
constexpr int64_t largest_file = int64_t{64} << 20;
constexpr size_t largest_description = 16 << 10;

void append_section(std::string& bytes, std::string_view section) {
  uint64_t length = section.size();
  for (int shift = 0; shift < 64; shift += 8)
    bytes += static_cast<char>((length >> shift) & 0xff);
  bytes += section;
}

bool take_section(std::string_view& rest, std::string& section) {
  if (rest.size() < 8) return false;
  uint64_t length = 0;
  for (int i = 0; i < 8; ++i)
    length |= static_cast<uint64_t>(static_cast<unsigned char>(rest[i])) << (8 * i);
  rest.remove_prefix(8);
  if (length > rest.size()) return false;
  section = rest.substr(0, length);
  rest.remove_prefix(length);
  return true;
}

json describe_gpu(const Candidate& candidate) {
  auto& second = candidate.second;
  return {
      {"grid", candidate.launch.grid},
      {"block", candidate.launch.block},
      {"second_grid", second.grid},
      {"second_block", second.block},
      {"between", second.partial_bytes},
      {"first_outputs", second.first_outputs},
      {"second_outputs", second.outputs}};
}

std::string describe(const CacheEntry& entry) {
  auto& candidate = entry.candidate;
  auto& launch = candidate.launch;
  json text = {
      {"use_mlx", entry.use_mlx},
      {"signature", candidate.signature},
      {"target", candidate.target},
      {"language", candidate.language},
      {"provenance", candidate.provenance},
      {"parallel", launch.parallel},
      {"grain", launch.grain},
      {"align", launch.align},
      {"scratch_bytes", launch.scratch_bytes},
      {"partial_bytes", launch.partial_bytes},
      {"alignment", candidate.guards.alignment},
      {"sizes", json::array()}};
  for (auto& guard : candidate.guards.sizes)
    text["sizes"].push_back({guard.axis, guard.multiple, guard.least, guard.most});
  if (!launch.grid.empty()) text["gpu"] = describe_gpu(candidate);
  return text.dump(-1, ' ', false, json::error_handler_t::replace);
}

bool read_text(const json& object, const char* name, std::string& text) {
  auto found = object.find(name);
  if (found == object.end() || !found->is_string()) return false;
  text = found->get<std::string>();
  return true;
}

bool read_integer(const json& object, const char* name, int64_t least, int64_t& number) {
  constexpr int64_t most = int64_t{1} << 40;
  auto found = object.find(name);
  if (found == object.end() || !found->is_number_integer()) return false;
  number = found->get<int64_t>();
  return number >= least && number <= most;
}

bool read_parallel(const json& object, std::vector<AxisId>& parallel) {
  constexpr int most_axes = 64;
  auto found = object.find("parallel");
  if (found == object.end() || !found->is_array() || found->size() > most_axes) return false;
  for (auto& axis : *found) {
    if (!axis.is_number_integer() || axis.get<int64_t>() < 0 || axis.get<int64_t>() >= most_axes)
      return false;
    parallel.push_back(axis.get<AxisId>());
  }
  return true;
}

bool read_guards(const json& object, Guards& guards) {
  constexpr int64_t largest_alignment = 64;  // of result buffers
  auto sizes = object.find("sizes");
  if (sizes == object.end() || !sizes->is_array()) return false;
  for (auto& row : *sizes) {
    if (!row.is_array() || row.size() != 4) return false;
    for (auto& number : row)
      if (!number.is_number_integer()) return false;
    SizeGuard guard{row[0].get<AxisId>(), row[1], row[2], row[3]};
    if (guard.axis < 0 || guard.axis >= 64 || guard.multiple < 1) return false;
    guards.sizes.push_back(guard);
  }
  return read_integer(object, "alignment", 1, guards.alignment) && guards.alignment <= largest_alignment;
}

bool read_texts(const json& object, const char* name, std::vector<std::string>& texts) {
  constexpr size_t most_texts = 3;  // one a dimension
  auto found = object.find(name);
  if (found == object.end() || !found->is_array() || found->size() > most_texts) return false;
  for (auto& text : *found) {
    if (!text.is_string()) return false;
    texts.push_back(text.get<std::string>());
  }
  return true;
}

bool read_outputs(const json& object, const char* name, std::vector<int>& outputs) {
  constexpr int most_outputs = 1024;
  auto found = object.find(name);
  if (found == object.end() || !found->is_array() || found->size() > most_outputs) return false;
  for (auto& output : *found) {
    if (!output.is_number_integer() || output.get<int64_t>() < 0 || output.get<int64_t>() >= most_outputs)
      return false;
    outputs.push_back(output.get<int>());
  }
  return true;
}

// Absent of what runs on the CPU.
bool read_gpu(const json& object, Candidate& candidate) {
  auto found = object.find("gpu");
  if (found == object.end()) return candidate.language != "cuda";
  auto& second = candidate.second;
  return found->is_object() && read_texts(*found, "grid", candidate.launch.grid) &&
         read_texts(*found, "block", candidate.launch.block) &&
         read_texts(*found, "second_grid", second.grid) && read_texts(*found, "second_block", second.block) &&
         read_text(*found, "between", second.partial_bytes) &&
         read_outputs(*found, "first_outputs", second.first_outputs) &&
         read_outputs(*found, "second_outputs", second.outputs);
}

bool read_description(const std::string& text, CacheEntry& entry) {
  if (text.size() > largest_description) return false;
  json object = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!object.is_object()) return false;
  auto use_mlx = object.find("use_mlx");
  if (use_mlx == object.end() || !use_mlx->is_boolean()) return false;
  entry.use_mlx = use_mlx->get<bool>();
  auto& candidate = entry.candidate;
  auto& launch = candidate.launch;
  return read_text(object, "signature", candidate.signature) &&
         read_text(object, "target", candidate.target) && read_text(object, "language", candidate.language) &&
         read_text(object, "provenance", candidate.provenance) && read_parallel(object, launch.parallel) &&
         read_integer(object, "grain", 1, launch.grain) && read_integer(object, "align", 1, launch.align) &&
         read_integer(object, "scratch_bytes", 0, launch.scratch_bytes) &&
         read_integer(object, "partial_bytes", 0, launch.partial_bytes) &&
         read_guards(object, candidate.guards) && read_gpu(object, candidate);
}

}  // namespace

std::string encode_entry(const CacheEntry& entry) {
  std::string bytes(magic);
  append_section(bytes, entry.key);
  append_section(bytes, entry.kernel);
  append_section(bytes, describe(entry));
  append_section(bytes, entry.candidate.source);
  append_section(bytes, entry.binary);
  append_section(bytes, entry.log);
  append_section(bytes, entry.evidence);
  return bytes + hash_hex(bytes);
}

std::optional<CacheEntry> decode_entry(const std::string& bytes) {
  std::string_view rest = bytes;
  if (rest.size() < magic.size() + checksum_length || !rest.starts_with(magic)) return std::nullopt;
  std::string_view checksum = rest.substr(rest.size() - checksum_length);
  rest.remove_suffix(checksum_length);
  if (hash_hex(rest) != checksum) return std::nullopt;
  rest.remove_prefix(magic.size());

  CacheEntry entry;
  std::string description;
  bool complete = take_section(rest, entry.key) && take_section(rest, entry.kernel) &&
                  take_section(rest, description) && take_section(rest, entry.candidate.source) &&
                  take_section(rest, entry.binary) && take_section(rest, entry.log) &&
                  take_section(rest, entry.evidence);
  if (!complete || !rest.empty() || !read_description(description, entry)) return std::nullopt;
  return entry;
}

std::optional<std::string> read_entry_file(const std::string& path) {
  Descriptor file(open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat status;
  if (!file || fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  if (status.st_uid != geteuid() || status.st_size > largest_file) return std::nullopt;
  std::string bytes(static_cast<size_t>(status.st_size), '\0');
  size_t have = 0;
  while (have < bytes.size()) {
    ssize_t n = read(file.get(), bytes.data() + have, bytes.size() - have);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return std::nullopt;
    have += static_cast<size_t>(n);
  }
  return bytes;
}

}  // namespace autoperfect
