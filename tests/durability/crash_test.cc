#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <set>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "base/failpoint.h"
#include "base/random.h"
#include "base/test_seed.h"
#include "node_life.h"

namespace scyper::tests {
namespace {

constexpr int kCrashExit = 134;  // base/failpoint.h
// Runs a function in a child process; its exit status. No engine lives in the parent, so fork is safe here.
int in_child(const std::string& failpoint, const std::function<int()>& body) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    if (!failpoint.empty() && !arm_failpoints(failpoint).ok()) _exit(9);
    _exit(body());
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  return status;
}

class CrashTest : public testing::Test {
 protected:
  void SetUp() override {
    char pattern[] = "/tmp/scyper_crash_XXXXXX";
    ASSERT_NE(mkdtemp(pattern), nullptr);
    root_ = pattern;
    seed_ = test_seed();
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  // One life of the node; true when the failpoint ended it.
  bool live(const std::string& failpoint) {
    int ends[2];
    EXPECT_EQ(::pipe(ends), 0);
    const int64_t first = next_id_;
    next_id_ += kIdsPerRun;
    std::thread reader;
    std::set<int64_t> told;
    const pid_t pid = ::fork();
    if (pid == 0) {
      ::close(ends[0]);
      if (!failpoint.empty() && !arm_failpoints(failpoint).ok()) _exit(9);
      _exit(work(directory_, physical_, first, ends[1]));
    }
    ::close(ends[1]);
    int64_t id;
    while (::read(ends[0], &id, sizeof(id)) == sizeof(id)) told.insert(id);
    ::close(ends[0]);
    int status = 0;
    ::waitpid(pid, &status, 0);
    acknowledged_.insert(told.begin(), told.end());
    EXPECT_TRUE(WIFEXITED(status)) << failpoint;
    const int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    EXPECT_TRUE(code == 0 || code == kCrashExit) << failpoint << ": " << code;
    return code == kCrashExit;
  }
  bool reopen(const std::string& failpoint) {
    const int status = in_child(failpoint, [&] { return verify(directory_, physical_, acknowledged_, next_id_); });
    const int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    EXPECT_TRUE(code == 0 || (!failpoint.empty() && code == kCrashExit)) << failpoint << ": " << code;
    return code == kCrashExit;
  }

  std::string root_, directory_;
  uint64_t seed_ = 0;
  bool physical_ = false;
  int64_t next_id_ = kIdsPerRun;
  std::set<int64_t> acknowledged_;
};

TEST_F(CrashTest, AtEveryFailpoint) {
  const char* rounds_text = std::getenv("SCYPER_TEST_CRASH_ROUNDS");
  const int rounds = rounds_text != nullptr ? std::atoi(rounds_text) : 1;
  Random random(seed_);
  int names = 0, deaths = 0;
  for (int round = 0; round < rounds; ++round) {
    for (const std::string& name : failpoint_names()) {
      const bool is_recovery = name.starts_with("recovery.");
      if (!is_recovery && !name.starts_with("log.") && !name.starts_with("archive.")) continue;
      ++names;
      physical_ = random.one_in(2);
      directory_ = absl::StrCat(root_, "/", names);
      acknowledged_.clear();
      const bool is_often = name.find("group") != std::string::npos || name.find("build") != std::string::npos ||
                            name.find("acknowledge") != std::string::npos || name.find("record") != std::string::npos ||
                            name.find("fill") != std::string::npos;
      const std::string point = absl::StrCat(name, "=exit@", is_often ? random.below(40) : random.below(2));
      bool died = false;
      if (name == "recovery.before_identity" || name == "recovery.after_identity") {
        died = live(absl::StrCat(name, "=exit"));
      } else if (is_recovery) {
        live("log.before_acknowledge=exit@120");  // leaves archives and a log
        died = reopen(point);
        died |= reopen(absl::StrCat(name, "=exit"));
      } else {
        died = live(point);
      }
      deaths += died ? 1 : 0;
      reopen("");
      live("");  // and goes on
      reopen("");
      std::filesystem::remove_all(directory_);
      if (HasFailure()) {
        printf("at failpoint %s\n", point.c_str());
        return;
      }
    }
  }
  printf("%d failpoints, %d ended the node\n", names, deaths);
  EXPECT_GE(names / rounds, 25);
  EXPECT_GE(deaths / rounds, 20);
}

}  // namespace
}  // namespace scyper::tests
