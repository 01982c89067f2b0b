#include "support/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "support/descriptor.h"

namespace autoperfect {

namespace {

Diagnostic failure(const char* what, const std::string& path, int error = errno) {
  return {"support", "file", fmt::format("cannot {} '{}': {}", what, path, std::strerror(error))};
}

std::string directory_of(const std::string& path) {
  auto slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

}  // namespace

std::optional<std::string> read_file(const std::string& path, int64_t max_bytes) {
  // Non-blocking, so that a FIFO planted in place of a file cannot hold us.
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status;
  if (!file || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  if (status.st_size > max_bytes) return std::nullopt;
  std::string bytes(static_cast<size_t>(status.st_size), '\0');
  size_t done = 0;
  while (done < bytes.size()) {
    auto got = ::read(file.get(), bytes.data() + done, bytes.size() - done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return std::nullopt;
    if (got == 0) break;  // it shrank meanwhile
    done += static_cast<size_t>(got);
  }
  bytes.resize(done);
  return bytes;
}

Status write_file_atomically(const std::string& path, const std::string& bytes) {
  auto temporary = path + ".XXXXXX";
  Descriptor file(::mkostemp(temporary.data(), O_CLOEXEC));
  if (!file) return failure("create", temporary);
  bool good = write_all(file.get(), bytes) && ::fsync(file.get()) == 0;
  int error = errno;
  // Some file systems report a failed write only when the file is closed.
  if (good && !file.close_checked()) {
    good = false;
    error = errno;
  }
  if (good && ::rename(temporary.c_str(), path.c_str()) != 0) {
    good = false;
    error = errno;
  }
  if (!good) {
    ::unlink(temporary.c_str());
    return failure("write", path, error);
  }
  Descriptor directory(::open(directory_of(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (directory) ::fsync(directory.get());  // best effort: the file itself is complete either way
  return Success{};
}

Status make_private_directory(const std::string& path) {
  // Parents are made on the way, so that a first run in a bare home works.
  for (size_t slash = path.find('/', 1); slash != std::string::npos; slash = path.find('/', slash + 1)) {
    ::mkdir(path.substr(0, slash).c_str(), 0700);
  }
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) return failure("create the directory", path);
  Descriptor directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat status;
  if (!directory || ::fstat(directory.get(), &status) != 0) return failure("open the directory", path);
  if (status.st_uid != ::geteuid()) {
    return Diagnostic{"support", "foreign-directory", fmt::format("'{}' belongs to another user", path)};
  }
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return Diagnostic{
        "support",
        "open-directory",
        fmt::format("others may write in '{}'", path),
        {},
        "chmod go-w it, or name another directory"};
  }
  return Success{};
}

}  // namespace autoperfect
