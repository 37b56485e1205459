#include "drill_audit.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace scyper::client {
namespace {

// Two acknowledged, one whose outcome is open, one refused.
class DrillAuditTest : public testing::Test {
 protected:
  DrillAuditTest() : path_(testing::TempDir() + "/drill_audit_" + std::to_string(::getpid())), journal_(path_) {
    std::ofstream(path_) << "S 1 40\nA 1 50 host:1\nS 2 40\nA 2 60 host:1\nS 3 40\nS 4 40\nN 4\n";
    EXPECT_TRUE(journal_.read().ok());
  }
  ~DrillAuditTest() override { std::filesystem::remove(path_); }
  DrillReport audit(const DrillContents& contents) {
    DrillReport report;
    audit_contents("n1", contents, journal_, &report);
    return report;
  }
  static DrillContents contents(std::vector<std::tuple<int64_t, int64_t, int64_t>> seen,
                                std::map<int64_t, int64_t> numbers) {
    DrillContents made;
    made.seen = std::move(seen);
    made.numbers = std::move(numbers);
    return made;
  }
  const std::string path_;
  DrillJournalReader journal_;
};

TEST_F(DrillAuditTest, WhatIsOpenMayBeThereOrNot) {
  EXPECT_TRUE(audit(contents({{1, 1, 1}, {1, 2, 2}}, {{1, 2}})).is_clean());
  EXPECT_TRUE(audit(contents({{1, 1, 1}, {1, 2, 2}, {1, 3, 3}}, {{1, 3}})).is_clean());
}

TEST_F(DrillAuditTest, FindsWhatIsWrong) {
  DrillReport report = audit(contents({{1, 1, 1}}, {{1, 1}}));
  EXPECT_EQ(report.lost, 1u);
  EXPECT_NE(report.findings.at(0).find("2 is lost, acknowledged by host:1"), std::string::npos) << report.findings[0];
  report = audit(contents({{1, 1, 1}, {1, 2, 2}, {1, 3, 2}}, {{1, 3}}));
  EXPECT_EQ(report.duplicated, 1u);
  EXPECT_EQ(report.violations, 0u);
  EXPECT_EQ(audit(contents({{1, 1, 1}, {1, 2, 2}, {1, 3, 4}}, {{1, 3}})).violations, 1u);  // refused
  EXPECT_EQ(audit(contents({{1, 1, 1}, {1, 2, 2}, {1, 3, 5}}, {{1, 3}})).violations, 1u);  // never sent
  EXPECT_EQ(audit(contents({{1, 1, 1}, {1, 2, 2}}, {{1, 3}})).violations, 1u);             // miscounted
  EXPECT_GE(audit(contents({{1, 1, 1}, {1, 3, 2}}, {{1, 3}})).violations, 1u);             // a gap
}

TEST(DrillHistoryAudit, MoneyIsConserved) {
  DrillContents contents;
  for (int64_t account = 0; account < 8; ++account) contents.accounts[account] = 100;
  DrillHistory history;
  history.totals = {{"host:1", 800, 8}};
  DrillReport report;
  check_history(history, contents, &report);
  EXPECT_TRUE(report.is_clean());
  history.totals.push_back({"host:2", 790, 8});  // half a transfer
  check_history(history, contents, &report);
  EXPECT_EQ(report.violations, 1u);
  --contents.accounts[3];
  check_history({}, contents, &report);
  EXPECT_EQ(report.violations, 2u);
}

}  // namespace
}  // namespace scyper::client
