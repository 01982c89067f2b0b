#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "support/file.h"

namespace autoperfect {
namespace {

class FileTest : public testing::Test {
 protected:
  void SetUp() override {
    auto pattern = (std::filesystem::temp_directory_path() / "autoperfect_file_XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    directory_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }
  std::string path(const std::string& name) const { return directory_ + "/" + name; }

  std::string directory_;
};

TEST_F(FileTest, ReadsWhatWasWritten) {
  std::string bytes("a\0b\n\xff", 5);
  ASSERT_TRUE(write_file_atomically(path("x"), bytes).ok());
  EXPECT_EQ(read_file(path("x")), bytes);
  ASSERT_TRUE(write_file_atomically(path("x"), "").ok());
  EXPECT_EQ(read_file(path("x")), "");
}

TEST_F(FileTest, LeavesNoTemporaryBehind) {
  ASSERT_TRUE(write_file_atomically(path("x"), "1").ok());
  ::mkdir(path("taken").c_str(), 0700);
  EXPECT_FALSE(write_file_atomically(path("taken"), "1").ok());  // a directory cannot be replaced
  int count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(directory_))
    ++count;
  EXPECT_EQ(count, 2);
}

TEST_F(FileTest, ReportsWhatCannotBeWritten) {
  auto status = write_file_atomically(path("absent/x"), "1");
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.errors()[0].code, "file");
}

TEST_F(FileTest, ReadsOnlyRegularFilesWithinTheLimit) {
  EXPECT_FALSE(read_file(path("absent")));
  EXPECT_FALSE(read_file(directory_));
  ASSERT_EQ(::mkfifo(path("fifo").c_str(), 0600), 0);
  EXPECT_FALSE(read_file(path("fifo")));  // and does not wait for a writer
  ASSERT_TRUE(write_file_atomically(path("x"), "12345").ok());
  EXPECT_FALSE(read_file(path("x"), 4));
  EXPECT_TRUE(read_file(path("x"), 5));
}

TEST_F(FileTest, MakesPrivateDirectories) {
  ASSERT_TRUE(make_private_directory(path("a/b/c")).ok());
  struct stat status;
  ASSERT_EQ(::stat(path("a/b/c").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0700u);
  EXPECT_TRUE(make_private_directory(path("a/b/c")).ok());  // again
}

TEST_F(FileTest, RefusesDirectoriesThatOthersControl) {
  ASSERT_TRUE(make_private_directory(path("real")).ok());
  ASSERT_EQ(::symlink(path("real").c_str(), path("link").c_str()), 0);
  EXPECT_FALSE(make_private_directory(path("link")).ok());
  ASSERT_EQ(::chmod(path("real").c_str(), 0777), 0);
  auto status = make_private_directory(path("real"));
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.errors()[0].code, "open-directory");
  ASSERT_TRUE(write_file_atomically(path("file"), "").ok());
  EXPECT_FALSE(make_private_directory(path("file")).ok());
}

}  // namespace
}  // namespace autoperfect
