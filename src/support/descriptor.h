// An owned file descriptor, closed with its owner.
#pragma once

#include <unistd.h>

#include <cerrno>
#include <string_view>
#include <utility>

namespace autoperfect {

class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    if (this != &other) reset(std::exchange(other.fd_, -1));
    return *this;
  }
  ~Descriptor() { reset(); }

  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }

  // Closes it. Keeps errno, so that a cleanup never hides why something failed.
  void reset(int fd = -1) {
    int error = errno;
    if (fd_ >= 0) ::close(fd_);
    fd_ = fd;
    errno = error;
  }

  // The same, telling whether the system took all that was written.
  bool close_checked() { return ::close(std::exchange(fd_, -1)) == 0; }

 private:
  int fd_ = -1;
};

inline bool write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t n = write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return true;
}

}  // namespace autoperfect
