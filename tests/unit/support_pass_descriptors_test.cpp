#include <gtest/gtest.h>
#include <unistd.h>

#include "support/descriptor.h"
#include "support/pass_descriptors.h"

namespace autoperfect {
namespace {

struct Sockets {
  Sockets() {
    int ends[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    one = Descriptor(ends[0]);
    other = Descriptor(ends[1]);
  }
  Descriptor one, other;
};

TEST(PassDescriptors, TheReceiverReadsWhatTheSenderOpened) {
  Sockets sockets;
  int pipes[2][2];
  for (auto& ends : pipes)
    ASSERT_EQ(pipe(ends), 0);
  ASSERT_TRUE(DescriptorMessage<2>().send(sockets.one.get(), {pipes[0][0], pipes[1][0]}));
  std::array<int, 2> files;
  ASSERT_TRUE(DescriptorMessage<2>().receive(sockets.other.get(), files));
  const Descriptor first(files[0]), second(files[1]);
  EXPECT_NE(first.get(), pipes[0][0]);
  for (int p = 0; p < 2; ++p) {
    ASSERT_EQ(write(pipes[p][1], p ? "b" : "a", 1), 1);
    char byte = 0;
    ASSERT_EQ(read((p ? second : first).get(), &byte, 1), 1);
    EXPECT_EQ(byte, p ? 'b' : 'a');
    close(pipes[p][0]), close(pipes[p][1]);
  }
}

TEST(PassDescriptors, AnythingElseIsRefused) {
  Sockets sockets;
  std::array<int, 2> files;
  ASSERT_EQ(write(sockets.one.get(), "x", 1), 1);
  EXPECT_FALSE(DescriptorMessage<2>().receive(sockets.other.get(), files)) << "no files";
  const Descriptor copy(dup(0));
  ASSERT_TRUE(DescriptorMessage<1>().send(sockets.one.get(), {copy.get()}));
  EXPECT_FALSE(DescriptorMessage<2>().receive(sockets.other.get(), files)) << "too few files";
  sockets.one.reset();
  EXPECT_FALSE(DescriptorMessage<2>().receive(sockets.other.get(), files)) << "closed";
}

}  // namespace
}  // namespace autoperfect
