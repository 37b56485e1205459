// Nodes that are seeded from another one's archive and tier, as processes on loopback.

#include <linux/io_uring.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "cluster_fixture.h"

namespace scyper::tests {
namespace {

class TierSeedingTest : public ClusterFixture {
 protected:
  void SetUp() override {
    io_uring_params parameters{};
    const long ring = syscall(SYS_io_uring_setup, 1, &parameters);
    if (ring < 0) GTEST_SKIP() << "no io_uring";
    close(static_cast<int>(ring));
  }
  std::string tier_of(const std::string& name) const { return nodes_.directory(name) + "_tier"; }
  std::string tiered(const std::string& name) const {
    return absl::StrCat(
        "--compaction forced --compaction-window 50ms --tier-memory 0 --tier-cache 8MB --tier-directory ",
        tier_of(name));
  }
  size_t files_of(const std::string& name) const {
    size_t files = 0;
    for (const auto& file : std::filesystem::directory_iterator(tier_of(name)))
      files += file.path().extension() == ".tier";
    return files;
  }
  // Lines of its log with that.
  int said(const std::string& name, const std::string& what) const {
    const std::string log = nodes_.log_of(name);
    int lines = 0;
    for (size_t at = log.find(what); at != std::string::npos; at = log.find(what, at + 1)) ++lines;
    return lines;
  }
};

constexpr char kCame[] = "files of its tier came with the archive";
constexpr char kStay[] = "of these rows stay in the tier";

TEST_F(TierSeedingTest, ColdFilesAreUsedInPlace) {
  start_primary(tiered("p"));
  load();
  transactions(2000);
  wait_for("files of the tier", [&] { return files_of("p") > 3; });
  ASSERT_EQ(nodes_.scyper("p", "backup").code, 0);
  start_secondary("s1", true, tiered("s1"));  // by the primary
  transactions(500);
  nodes_.wait_until_level("p", {"s1"});
  EXPECT_EQ(said("s1", kCame), 1) << nodes_.log_of("s1");
  EXPECT_EQ(said("s1", kStay), 1) << nodes_.log_of("s1");
  nodes_.check({"p", "s1"}, kWarehouses);
  start_secondary("s2", true, tiered("s2"));  // by either: s1 has what the primary sent
  start_secondary("s3", false);               // has no tier: rows; and no archive that others would ask for
  nodes_.wait_until_level("p", {"s1", "s2", "s3"});
  EXPECT_EQ(said("s2", kStay), 1) << nodes_.log_of("s2");
  EXPECT_EQ(said("s3", kStay) + said("s3", kCame), 0) << nodes_.log_of("s3");
  // one that begins anew has the other's files
  nodes_.kill("s2", SIGKILL);
  std::filesystem::remove_all(nodes_.directory("s2"));
  transactions(500);
  const int came = said("s2", kCame);
  nodes_.start_again("s2");
  nodes_.wait_until_level("p", {"s1", "s2", "s3"});
  EXPECT_EQ(said("s2", kStay), 2) << nodes_.log_of("s2");
  EXPECT_EQ(said("s2", kCame), came) << nodes_.log_of("s2");
  // and its own archive names them from then on
  ASSERT_EQ(nodes_.scyper("s2", "backup").code, 0);
  transactions(100);
  nodes_.wait_until_level("p", {"s2"});
  ASSERT_EQ(nodes_.scyper("s2", "backup").code, 0);  // has what did not change from the one before
  EXPECT_NE(run_command("find " + nodes_.directory("s2") + "/archives -name 't*.dat' -links +1 | wc -l").text, "0\n");
  nodes_.kill("s2", SIGKILL);
  transactions(200);
  nodes_.start_again("s2");
  nodes_.wait_until_level("p", {"s1", "s2", "s3"});
  EXPECT_EQ(said("s2", kStay), 3) << nodes_.log_of("s2");
  nodes_.check({"p", "s1", "s2", "s3"}, kWarehouses);
}

}  // namespace
}  // namespace scyper::tests
