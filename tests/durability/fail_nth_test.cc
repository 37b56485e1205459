// The n-th call of the C library fails, in turn (SQLite's way): whatever the node does about it, no acknowledged commit
// is lost and none is there by half. The calls fail in a process of its own, by fail_nth.cc.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "node_life.h"

namespace scyper::tests {
namespace {

constexpr int kLogFailureExit = 74;

struct Life {
  int status = 0;  // as wait() gives it
  bool has_failed = false;
  std::set<int64_t> told;

  int code() const { return WIFEXITED(status) ? WEXITSTATUS(status) : -1; }
};

class FailNthTest : public testing::Test {
 protected:
  void SetUp() override {
    char pattern[] = "/tmp/scyper_fail_XXXXXX";
    ASSERT_NE(mkdtemp(pattern), nullptr);
    root_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  // A node's life in the empty directory, in which `count` calls from the n-th on fail.
  Life live(const std::string& call, uint64_t from, uint64_t count, int error, const char* path = nullptr) {
    std::filesystem::remove_all(root_);
    std::filesystem::create_directories(root_);
    int ends[2];
    EXPECT_EQ(::pipe(ends), 0);
    const pid_t pid = ::fork();
    if (pid == 0) {
      ::close(ends[0]);
      ::setenv("LD_PRELOAD", SCYPER_FAIL_NTH, 1);
      ::setenv("SCYPER_TEST_FAIL_CALL", call.c_str(), 1);
      ::setenv("SCYPER_TEST_FAIL_FROM", absl::StrCat(from).c_str(), 1);
      ::setenv("SCYPER_TEST_FAIL_COUNT", absl::StrCat(count).c_str(), 1);
      ::setenv("SCYPER_TEST_FAIL_ERRNO", absl::StrCat(error).c_str(), 1);
      if (path != nullptr) ::setenv("SCYPER_TEST_FAIL_PATH", path, 1);
      ::setenv("SCYPER_TEST_FAIL_MARK", (root_ + "/failed").c_str(), 1);
      const std::string pipe = absl::StrCat(ends[1]);
      ::execl("/proc/self/exe", "fail_nth_test", "--live", (root_ + "/node").c_str(), pipe.c_str(), nullptr);
      _exit(127);
    }
    ::close(ends[1]);
    Life life;
    int64_t id;
    while (::read(ends[0], &id, sizeof(id)) == sizeof(id)) life.told.insert(id);
    ::close(ends[0]);
    ::waitpid(pid, &life.status, 0);
    life.has_failed = std::filesystem::exists(root_ + "/failed");
    return life;
  }
  void expect_kept(const Life& life) {
    const pid_t pid = ::fork();
    if (pid == 0) _exit(verify(root_ + "/node", true, life.told, 2 * kIdsPerRun));
    int status = 0;
    ::waitpid(pid, &status, 0);
    EXPECT_EQ(status, 0);
  }
  // Each n, farther apart the higher, until no call fails any more.
  void sweep(const std::string& call, int error, double growth, bool may_abort = false) {
    int lives = 0, deaths = 0;
    for (uint64_t n = 1; n < 10'000'000; n = std::max(n + 1, static_cast<uint64_t>(static_cast<double>(n) * growth))) {
      const Life life = live(call, n, 1, error);
      if (!life.has_failed) break;
      ++lives;
      deaths += life.status != 0 ? 1 : 0;
      const bool has_aborted = WIFSIGNALED(life.status) && WTERMSIG(life.status) == SIGABRT;
      EXPECT_TRUE(life.code() == 0 || life.code() == kRefusedExit || life.code() == kLogFailureExit ||
                  (may_abort && (has_aborted || life.code() > 0)))
          << call << " " << n << ": status " << life.status;
      expect_kept(life);
      if (HasFailure()) {
        printf("at %s number %llu\n", call.c_str(), static_cast<unsigned long long>(n));
        return;
      }
    }
    printf("%s: %d lives, %d ended early\n", call.c_str(), lives, deaths);
    EXPECT_GT(lives, 0);
  }
  static double growth(double slice) { return std::getenv("SCYPER_TEST_FAIL_NTH_ALL") != nullptr ? 1.02 : slice; }

  std::string root_;
};

TEST_F(FailNthTest, Write) { sweep("pwrite", EIO, growth(1.7)); }
TEST_F(FailNthTest, Fdatasync) { sweep("fdatasync", EIO, growth(1.7)); }
TEST_F(FailNthTest, Fsync) { sweep("fsync", EIO, growth(1.7)); }
TEST_F(FailNthTest, Truncate) { sweep("ftruncate", EIO, growth(2)); }
TEST_F(FailNthTest, Rename) { sweep("rename", EIO, growth(1.7)); }
TEST_F(FailNthTest, Mmap) { sweep("mmap", ENOMEM, growth(1.5), /*may_abort=*/true); }
TEST_F(FailNthTest, Fork) { sweep("fork", ENOMEM, growth(1.5)); }
// Memory beside the tables' has no budget: when the machine has none left, the process ends, as after a crash.
TEST_F(FailNthTest, Malloc) { sweep("malloc", ENOMEM, growth(2.5), /*may_abort=*/true); }

// Without space for the next segment the node is read-only; when there is some again, it goes on by itself and nothing
// is missing.
TEST_F(FailNthTest, FullDiskComesBack) {
  // a segment is filled by one write and begun by another, which takes no space and must not fail
  for (uint64_t from : {3u, 5u, 11u}) {
    const Life life = live("pwrite", from, 5, ENOSPC, ".new");
    EXPECT_TRUE(life.has_failed) << from;
    EXPECT_EQ(life.status, 0) << from;
    EXPECT_GE(life.told.size(), size_t{kTransactionsPerRun}) << from;
    expect_kept(life);
  }
}

}  // namespace
}  // namespace scyper::tests

int main(int argc, char** argv) {
  if (argc == 4 && std::string(argv[1]) == "--live") {
    return scyper::tests::work(argv[2], true, scyper::tests::kIdsPerRun, std::atoi(argv[3]));
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
