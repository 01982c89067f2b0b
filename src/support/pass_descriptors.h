// Open files handed to another process over a Unix socket, beside one byte.
#pragma once

#include <sys/socket.h>

#include <array>
#include <cstring>

namespace autoperfect {

template <size_t Count>
class DescriptorMessage {
 public:
  DescriptorMessage() {
    message_.msg_iov = &data_;
    message_.msg_iovlen = 1;
    message_.msg_control = control_;
    message_.msg_controllen = sizeof control_;
  }
  DescriptorMessage(const DescriptorMessage&) = delete;

  bool send(int socket, const std::array<int, Count>& files) {
    cmsghdr* header = CMSG_FIRSTHDR(&message_);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof files);
    std::memcpy(CMSG_DATA(header), files.data(), sizeof files);
    return sendmsg(socket, &message_, MSG_NOSIGNAL) == 1;
  }

  // The receiver owns them. False: the other end is closed, or sent something else.
  bool receive(int socket, std::array<int, Count>& files) {
    if (recvmsg(socket, &message_, MSG_CMSG_CLOEXEC) != 1) return false;
    cmsghdr* header = CMSG_FIRSTHDR(&message_);
    if (!header || header->cmsg_type != SCM_RIGHTS || header->cmsg_len != CMSG_LEN(sizeof files))
      return false;
    std::memcpy(files.data(), CMSG_DATA(header), sizeof files);
    return true;
  }

 private:
  char byte_ = 1;
  iovec data_{&byte_, 1};
  alignas(cmsghdr) char control_[CMSG_SPACE(Count * sizeof(int))] = {};
  msghdr message_{};
};

}  // namespace autoperfect
