#include "generate/model/key.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "support/descriptor.h"
#include "support/options.h"

namespace autoperfect {

namespace {

constexpr size_t longest_key = 4096;

Diagnostic failure(std::string message, std::string hint = "") {
  return {"model", "bad-key", std::move(message), {}, std::move(hint)};
}

// A key becomes part of a header line: nothing in it may end that line.
Result<std::string> checked(std::string key, const std::string& source) {
  auto is_space = [](char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; };
  while (!key.empty() && is_space(key.back()))
    key.pop_back();
  key.erase(key.begin(), std::find_if_not(key.begin(), key.end(), is_space));
  if (key.size() > longest_key ||
      !std::all_of(key.begin(), key.end(), [](char c) { return c > ' ' && c < 0x7f; }))
    return failure(fmt::format("what {} holds is not one word of printable ASCII", source));
  return key;
}

}  // namespace

Result<std::string> read_key(const std::string& path) {
  if (path.empty()) return checked(environment().model_key, "AUTOPERFECT_MODEL_KEY");
  // All is checked on the descriptor, so that nobody can swap the file in between.
  Descriptor file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
  struct stat status;
  if (!file || ::fstat(file.get(), &status) != 0)
    return failure(fmt::format("cannot open the key file '{}': {}", path, std::strerror(errno)));
  if (!S_ISREG(status.st_mode) || status.st_nlink != 1)
    return failure(fmt::format("the key file '{}' is a link or no plain file", path));
  if (status.st_uid != ::geteuid())
    return failure(fmt::format("the key file '{}' belongs to another user", path));
  if ((status.st_mode & (S_IRWXG | S_IRWXO)) != 0)
    return failure(fmt::format("others may use the key file '{}'", path), "chmod 600 it");
  std::string key(longest_key + 2, '\0');
  auto got = ::read(file.get(), key.data(), key.size());
  if (got < 0) return failure(fmt::format("cannot read the key file '{}': {}", path, std::strerror(errno)));
  key.resize(static_cast<size_t>(got));
  auto good = checked(std::move(key), fmt::format("the key file '{}'", path));
  if (good && good->empty()) return failure(fmt::format("the key file '{}' is empty", path));
  return good;
}

std::string redact(std::string text, const std::string& key) {
  if (key.empty()) return text;
  constexpr std::string_view shown = "[key]";
  for (size_t at = text.find(key); at != std::string::npos; at = text.find(key, at + shown.size()))
    text.replace(at, key.size(), shown);
  return text;
}

}  // namespace autoperfect
