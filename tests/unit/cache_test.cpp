#include "cache/cache.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "cache/entry_file.h"
#include "support/hash.h"

namespace autoperfect {
namespace {

namespace fs = std::filesystem;

CacheEntry sample(const std::string& key = "version 1 kernel abc cpu.avx512 g++ 12") {
  CacheEntry entry;
  entry.key = key;
  entry.kernel = "autoperfect.kernel 1\nkernel @layer_norm {\n}\n";
  entry.candidate.signature = "0123456789abcdef";
  entry.candidate.target = "cpu.avx512";
  entry.candidate.source = "void autoperfect_kernel() {}\n";
  entry.candidate.launch = {{0, 2}, 16, 4, 4096, 128};
  entry.candidate.provenance = "schedule: rows passes=3";
  entry.binary = std::string(
      "\x7f"
      "ELF\0binary",
      11);
  entry.log = "ptxas info    : Used 12 registers\n";
  entry.evidence = "{\"gate\":[]}";
  return entry;
}

void expect_equal(const CacheEntry& a, const CacheEntry& b) {
  EXPECT_EQ(a.key, b.key);
  EXPECT_EQ(a.kernel, b.kernel);
  EXPECT_EQ(a.use_mlx, b.use_mlx);
  EXPECT_EQ(a.binary, b.binary);
  EXPECT_EQ(a.log, b.log);
  EXPECT_EQ(a.evidence, b.evidence);
  EXPECT_EQ(a.candidate.signature, b.candidate.signature);
  EXPECT_EQ(a.candidate.target, b.candidate.target);
  EXPECT_EQ(a.candidate.language, b.candidate.language);
  EXPECT_EQ(a.candidate.source, b.candidate.source);
  EXPECT_EQ(a.candidate.provenance, b.candidate.provenance);
  EXPECT_EQ(a.candidate.launch, b.candidate.launch);
}

std::string read_all(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write_all_of(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

class CacheTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "cache_test-XXXXXX";
    root_ = mkdtemp(pattern.data());
    place_ = root_ + "/cache";
  }
  void TearDown() override { fs::remove_all(root_); }

  std::string entry_path(const std::string& key) { return place_ + "/" + hash_hex(key) + ".entry"; }
  // Without what a process remembers.
  std::optional<CacheEntry> find_cold(const std::string& key) {
    return Cache(place_, CacheMode::on).find(key);
  }

  std::string root_, place_;
};

TEST_F(CacheTest, LaunchesOfAGpuAreKept) {
  auto entry = sample();
  entry.candidate.language = "cuda";
  entry.candidate.launch.grid = {"ceil_div(d0, 256)", "4"};
  entry.candidate.launch.block = {"256"};
  entry.candidate.second = {{"2"}, {"128"}, "d0 * 16", {0}, {1, 2}};
  auto read = decode_entry(encode_entry(entry));
  ASSERT_TRUE(read);
  expect_equal(entry, *read);
  EXPECT_EQ(entry.candidate.second, read->candidate.second);
  entry.candidate.launch.grid.clear();  // no launch: nothing that could run
  EXPECT_FALSE(decode_entry(encode_entry(entry)));
}

TEST_F(CacheTest, StoresAndFindsAcrossProcessesSoToSpeak) {
  auto entry = sample();
  Cache(place_, CacheMode::on).store(entry);
  auto found = find_cold(entry.key);
  ASSERT_TRUE(found);
  expect_equal(*found, entry);
  EXPECT_FALSE(find_cold(entry.key + "!"));
}

TEST_F(CacheTest, RemembersThatMlxStays) {
  auto entry = sample();
  entry.use_mlx = true;
  entry.binary.clear();
  Cache(place_, CacheMode::on).store(entry);
  auto found = find_cold(entry.key);
  ASSERT_TRUE(found);
  expect_equal(*found, entry);
}

TEST_F(CacheTest, TheDirectoryIsPrivate) {
  Cache cache(place_, CacheMode::on);
  ASSERT_TRUE(cache.persistent());
  struct stat status;
  ASSERT_EQ(stat(place_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0700u);
}

TEST_F(CacheTest, TruncatedAtEveryLengthIsAMiss) {
  auto bytes = encode_entry(sample());
  for (size_t length = 0; length < bytes.size(); ++length) {
    ASSERT_FALSE(decode_entry(bytes.substr(0, length))) << length;
  }
  EXPECT_TRUE(decode_entry(bytes));
  EXPECT_FALSE(decode_entry(bytes + "x"));
}

TEST_F(CacheTest, EveryFlippedBitIsAMiss) {
  auto bytes = encode_entry(sample());
  for (size_t i = 0; i < bytes.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      auto damaged = bytes;
      damaged[i] = static_cast<char>(damaged[i] ^ (1 << bit));
      ASSERT_FALSE(decode_entry(damaged)) << i << " bit " << bit;
    }
  }
}

TEST_F(CacheTest, DamageOnDiskIsAMissAndAStoreRepairsIt) {
  auto entry = sample();
  Cache(place_, CacheMode::on).store(entry);
  auto bytes = read_all(entry_path(entry.key));
  for (auto& damaged : {std::string(), bytes.substr(0, bytes.size() / 2), bytes + bytes}) {
    write_all_of(entry_path(entry.key), damaged);
    EXPECT_FALSE(find_cold(entry.key));
  }
  Cache(place_, CacheMode::on).store(entry);
  EXPECT_TRUE(find_cold(entry.key));
}

// A forger can make the checksum right; lengths and description must hold all the same.
TEST_F(CacheTest, AForgedChecksumDoesNotHelp) {
  auto reseal = [](std::string bytes) {
    bytes.resize(bytes.size() - 32);
    return bytes + hash_hex(bytes);
  };
  auto bytes = encode_entry(sample());
  ASSERT_TRUE(decode_entry(reseal(bytes)));
  auto huge_length = bytes;
  for (int i = 8; i < 16; ++i)
    huge_length[i] = '\xff';
  EXPECT_FALSE(decode_entry(reseal(huge_length)));
  for (auto [from, to] :
       {std::pair{"\"grain\":16", "\"grain\":-1"},
        {"\"use_mlx\":false", "\"use_mlx\":0    "},
        {"\"parallel\":[0,2]", "\"parallel\":[0,-]"},
        {"\"align\":4", "\"align\":0"}}) {
    auto damaged = bytes;
    auto at = damaged.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    std::string text = to;
    ASSERT_LE(text.size(), std::string(from).size());
    damaged.replace(
        at, std::string(from).size(), text + std::string(std::string(from).size() - text.size(), ' '));
    EXPECT_FALSE(decode_entry(reseal(damaged))) << from;
  }
}

TEST_F(CacheTest, AForcedCollisionIsAMiss) {
  auto entry = sample("one key");
  Cache(place_, CacheMode::on).store(entry);
  fs::rename(entry_path("one key"), entry_path("another key"));
  EXPECT_FALSE(find_cold("another key"));
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

TEST_F(CacheTest, OddThingsInPlaceOfAnEntryAreAMissAtOnce) {
  Cache cache(place_, CacheMode::on);
  auto start = std::chrono::steady_clock::now();
  ASSERT_EQ(mkfifo(entry_path("fifo").c_str(), 0600), 0);
  EXPECT_FALSE(cache.find("fifo"));
  fs::create_directory(entry_path("directory"));
  EXPECT_FALSE(cache.find("directory"));
  write_all_of(entry_path("sparse"), "APCACHE2");
  ASSERT_EQ(truncate(entry_path("sparse").c_str(), off_t{1} << 40), 0);
  EXPECT_FALSE(cache.find("sparse"));
  fs::create_symlink("/dev/zero", entry_path("device"));
  EXPECT_FALSE(cache.find("device"));
  // Even a link to a good entry is not followed.
  cache.store(sample("target"));
  fs::create_symlink(entry_path("target"), entry_path("link"));
  EXPECT_FALSE(read_entry_file(entry_path("link")));
  EXPECT_TRUE(read_entry_file(entry_path("target")));
  EXPECT_LT(seconds_since(start), 2);
  EXPECT_FALSE(cache.list().empty());
}

TEST_F(CacheTest, AWorldWritableDirectoryIsNotUsed) {
  fs::create_directory(place_);
  chmod(place_.c_str(), 0777);
  testing::internal::CaptureStderr();
  Cache cache(place_, CacheMode::on);
  Cache again(place_, CacheMode::on);
  std::string warnings = testing::internal::GetCapturedStderr();
  EXPECT_FALSE(cache.persistent());
  EXPECT_NE(warnings.find(place_), std::string::npos);
  EXPECT_EQ(warnings.find("warning:"), warnings.rfind("warning:")) << "warned twice: " << warnings;
  cache.store(sample());
  EXPECT_TRUE(cache.find(sample().key));  // memory still works
  EXPECT_TRUE(fs::is_empty(place_));
  cache.store_rejected("key", sample().candidate, "wrong");
  EXPECT_TRUE(fs::is_empty(place_));
}

TEST_F(CacheTest, ALinkedDirectoryIsNotUsed) {
  fs::create_directory(root_ + "/elsewhere");
  fs::create_symlink(root_ + "/elsewhere", place_);
  EXPECT_FALSE(Cache(place_, CacheMode::on).persistent());
}

TEST_F(CacheTest, OffTouchesNoDisk) {
  Cache(place_, CacheMode::on).store(sample());
  Cache off(place_, CacheMode::off);
  EXPECT_FALSE(off.persistent());
  EXPECT_FALSE(off.find(sample().key));
  auto other = sample("other");
  off.store(other);
  EXPECT_TRUE(off.find("other"));
  EXPECT_FALSE(fs::exists(entry_path("other")));
}

TEST_F(CacheTest, ReadWritesNothing) {
  EXPECT_FALSE(Cache(place_, CacheMode::read).persistent());
  EXPECT_FALSE(fs::exists(place_));
  Cache(place_, CacheMode::on).store(sample());
  Cache reader(place_, CacheMode::read);
  EXPECT_TRUE(reader.find(sample().key));
  reader.store(sample("other"));
  reader.store_rejected("key", sample().candidate, "wrong");
  EXPECT_EQ(reader.clear(), 0);
  EXPECT_EQ(std::distance(fs::directory_iterator(place_), fs::directory_iterator()), 1);
}

TEST_F(CacheTest, ListsAndClears) {
  Cache cache(place_, CacheMode::on);
  cache.store(sample("one"));
  auto mlx = sample("two");
  mlx.use_mlx = true;
  cache.store(mlx);
  write_all_of(entry_path("broken"), "junk");
  cache.store_rejected("one", sample().candidate, "wrong at [3]");
  auto rows = cache.list();
  ASSERT_EQ(rows.size(), 3u);
  int valid = 0, use_mlx = 0;
  for (auto& row : rows) {
    valid += row.valid;
    use_mlx += row.use_mlx;
    EXPECT_EQ(row.name, row.valid ? "layer_norm" : "");
    EXPECT_EQ(row.provenance, row.valid ? "schedule: rows passes=3" : "");
    EXPECT_GT(row.bytes, 0);
  }
  EXPECT_EQ(valid, 2);
  EXPECT_EQ(use_mlx, 1);
  EXPECT_EQ(cache.clear(), 3);
  EXPECT_TRUE(cache.list().empty());
  EXPECT_FALSE(cache.find("one"));
}

TEST_F(CacheTest, RejectedCandidatesAreKeptWithTheirReason) {
  Cache cache(place_, CacheMode::on);
  auto candidate = sample().candidate;
  candidate.source = "not \xff utf-8";
  cache.store_rejected("key", candidate, "wrong at [3]");
  std::string text;
  for (auto& file : fs::directory_iterator(place_ + "/rejected"))
    text += read_all(file.path());
  EXPECT_NE(text.find("wrong at [3]"), std::string::npos);
  EXPECT_NE(text.find("schedule: rows passes=3"), std::string::npos);
}

TEST_F(CacheTest, AReadOnlyPlaceCostsOneWarningAndNothingElse) {
  if (geteuid() == 0) GTEST_SKIP() << "root writes anywhere";
  Cache cache(place_, CacheMode::on);
  chmod(place_.c_str(), 0500);
  cache.store(sample());
  EXPECT_TRUE(cache.find(sample().key));
  chmod(place_.c_str(), 0700);
}

TEST_F(CacheTest, EightProcessesOnOneKey) {
  std::vector<pid_t> children;
  for (int child = 0; child < 8; ++child) {
    pid_t pid = fork();
    if (pid == 0) {
      alarm(60);
      bool good = true;
      for (int i = 0; i < 20; ++i) {
        auto entry = sample();
        entry.binary = std::string(10'000 + child, static_cast<char>('a' + child));
        Cache(place_, CacheMode::on).store(entry);
        auto found = find_cold(entry.key);
        // Somebody's entry, and a whole one.
        good = good && found && found->binary.size() == 10'000u + (found->binary[0] - 'a') &&
               found->binary == std::string(found->binary.size(), found->binary[0]);
      }
      _exit(good ? 0 : 1);
    }
    children.push_back(pid);
  }
  for (pid_t pid : children) {
    int status = 0;
    waitpid(pid, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  }
  // No temporary file stays behind.
  EXPECT_EQ(std::distance(fs::directory_iterator(place_), fs::directory_iterator()), 1);
}

TEST_F(CacheTest, IsUsableFromManyThreads) {
  Cache cache(place_, CacheMode::on);
  std::vector<std::thread> threads;
  std::atomic<int> right = 0;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 10; ++i) {
        std::string key = "key " + std::to_string((t + i) % 5);
        cache.store(sample(key));
        if (cache.find(key)) ++right;
      }
    });
  }
  for (auto& thread : threads)
    thread.join();
  EXPECT_EQ(right, 40);
}

}  // namespace
}  // namespace autoperfect
