#include "drill_history.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace scyper::client {
namespace {

using Outcome = ListTransaction::Outcome;
using Ends = std::map<int64_t, std::vector<int64_t>>;

std::string first(const std::vector<ListTransaction>& transactions, const Ends& ends) {
  const std::vector<std::string> found = check_lists(transactions, ends);
  return found.empty() ? "" : found[0].substr(0, found[0].find(':'));
}

TEST(ListCheck, SerialHistoriesAreFine) {
  EXPECT_EQ(first({{Outcome::kDone, {{1, 10, {}}, {2, 20, {}}}},
                   {Outcome::kDone, {{1, 11, {10}}, {2, 0, {20}}}},
                   {Outcome::kOpen, {{1, 12, {}}, {2, 21, {}}}},
                   {Outcome::kRefused, {{1, 13, {}}, {2, 22, {}}}},
                   {Outcome::kDone, {{1, 0, {10, 11}}, {2, 23, {20}}}}},
                  {{1, {10, 11}}, {2, {20, 23}}}),
            "");
}

TEST(ListCheck, FindsWhatIsLostRefusedTwiceOrNoVersion) {
  const std::vector<ListTransaction> appends = {{Outcome::kDone, {{1, 10, {}}}}, {Outcome::kRefused, {{1, 11, {}}}}};
  EXPECT_EQ(first(appends, {{1, {}}}), "element 10 of list 1 is lost");
  EXPECT_EQ(first(appends, {{1, {10, 10}}}), "element 10 of list 1 is there twice");
  EXPECT_EQ(first(appends, {{1, {10, 11}}}), "element 11 of list 1 was refused");
  EXPECT_EQ(first(appends, {{1, {10, 12}}}), "element 12 of list 1 was never appended");
  EXPECT_EQ(first({{Outcome::kDone, {{1, 10, {}}}}, {Outcome::kDone, {{1, 0, {9}}}}}, {{1, {10}}}),
            "a read of list 1 is no version of it");
}

TEST(ListCheck, FindsCyclesByTheirKind) {
  // each wrote before the other
  EXPECT_EQ(first({{Outcome::kDone, {{1, 10, {}}, {2, 20, {21}}}}, {Outcome::kDone, {{1, 11, {10}}, {2, 21, {}}}}},
                  {{1, {10, 11}}, {2, {21, 20}}}),
            "G0");
  // each read what the other wrote
  EXPECT_EQ(first({{Outcome::kDone, {{1, 10, {}}, {2, 0, {20}}}}, {Outcome::kDone, {{1, 0, {10}}, {2, 20, {}}}}},
                  {{1, {10}}, {2, {20}}}),
            "G1c");
  // one read of two that the other wrote
  EXPECT_EQ(first({{Outcome::kDone, {{1, 10, {}}, {2, 20, {}}}}, {Outcome::kDone, {{1, 0, {10}}, {2, 0, {}}}}},
                  {{1, {10}}, {2, {20}}}),
            "G-single");
  // each missed what the other wrote: write skew
  EXPECT_EQ(first({{Outcome::kDone, {{1, 10, {}}, {2, 0, {}}}}, {Outcome::kDone, {{1, 0, {}}, {2, 20, {}}}}},
                  {{1, {10}}, {2, {20}}}),
            "G2");
}

TEST(DrillHistoryTest, IsRead) {
  const std::string path = testing::TempDir() + "/drill_history_" + std::to_string(::getpid());
  std::ofstream(path) << "R 1 5 9 3 cas 1 2 1\nL O 1 10 - 2 0 -\nL D 1 11 10,12 2 0 -\nB host:1 800 8\n";
  auto history = read_drill_history(path);
  ASSERT_TRUE(history.ok()) << history.status();
  EXPECT_EQ(history->operations, 4u);
  ASSERT_EQ(history->lists.size(), 2u);
  EXPECT_EQ(history->lists[0].outcome, Outcome::kOpen);
  EXPECT_EQ(history->lists[1].accesses.at(0).read, (std::vector<int64_t>{10, 12}));
  ASSERT_EQ(history->totals.size(), 1u);
  EXPECT_EQ(history->totals[0].total, 800);
  std::ofstream(path, std::ios::app) << "L D 1\n";
  EXPECT_EQ(sqlstate_of(read_drill_history(path).status()), "XX001");
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace scyper::client
