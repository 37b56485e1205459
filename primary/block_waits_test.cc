#include "block_waits.h"

#include <gtest/gtest.h>

#include <atomic>

namespace scyper::primary {
namespace {

using Parked = BlockWaits::Parked;

class BlockWaitsTest : public testing::Test {
 protected:
  std::vector<Transaction*> requeued_;
  BlockWaits waits_{[this](Transaction* transaction) { requeued_.push_back(transaction); }};
};

TEST_F(BlockWaitsTest, WhoWaitsGoesOnWhenTheBlockEndsOrGivesBack) {
  Transaction first, second, third;
  waits_.open(1);
  EXPECT_EQ(waits_.park(&first, 0, 1, 0), Parked::kYes);
  EXPECT_EQ(waits_.park(&second, 0, 1, 0), Parked::kYes);
  EXPECT_EQ(waits_.count(), 2u);
  waits_.wake(1);
  EXPECT_EQ(requeued_, (std::vector<Transaction*>{&first, &second}));  // in the order in which they came
  EXPECT_FALSE(waits_.any());
  EXPECT_EQ(waits_.park(&third, 0, 1, 0), Parked::kYes);
  waits_.end(1);
  EXPECT_EQ(requeued_.back(), &third);
  EXPECT_EQ(waits_.park(&third, 0, 1, 0), Parked::kHasEnded);
  waits_.end(1);
}

TEST_F(BlockWaitsTest, ACircleIsRefused) {
  Transaction transactions[3];
  for (BlockId block : {1, 2, 3}) waits_.open(block);
  EXPECT_EQ(waits_.park(&transactions[0], 1, 2, 0), Parked::kYes);
  EXPECT_EQ(waits_.park(&transactions[1], 2, 3, 0), Parked::kYes);
  EXPECT_EQ(waits_.park(&transactions[2], 3, 1, 0), Parked::kCycle);
  EXPECT_EQ(waits_.park(&transactions[2], 3, 3, 0), Parked::kCycle);
  waits_.end(2);  // the first goes on
  EXPECT_EQ(waits_.park(&transactions[2], 3, 1, 0), Parked::kYes);
}

TEST_F(BlockWaitsTest, WaitsEndByTimeAndCancellation) {
  std::atomic<bool> cancelled{false};
  const query::SettingValues settings{{"lock_timeout", "5ms"}};
  Transaction timed, cancels, locks;
  timed.deadline_ns = 1'000'000;
  cancels.cancelled = &cancelled;
  locks.settings = &settings;
  waits_.open(1);
  for (Transaction* each : {&timed, &cancels, &locks}) EXPECT_EQ(waits_.park(each, 0, 1, 0), Parked::kYes);
  EXPECT_TRUE(waits_.take_over(999'999).empty());
  auto over = waits_.take_over(1'000'000);
  ASSERT_EQ(over.size(), 1u);
  EXPECT_EQ(over[0].first, &timed);
  EXPECT_EQ(sqlstate_of(over[0].second), "57014");
  cancelled = true;
  over = waits_.take_over(2'000'000);
  ASSERT_EQ(over.size(), 1u);
  EXPECT_EQ(over[0].first, &cancels);
  EXPECT_TRUE(waits_.take_over(5'000'000).empty());  // it runs again
  ASSERT_EQ(locks.ended_waits.size(), 1u);
  EXPECT_EQ(locks.ended_waits[0].block, 1u);
  EXPECT_EQ(sqlstate_of(ended_wait_error(locks.ended_waits[0])), "55P03");
  EXPECT_FALSE(waits_.any());
}

TEST_F(BlockWaitsTest, HoldersAreBlocksThatHaveReserved) {
  for (BlockId block : {1, 2, 3}) waits_.open(block);
  waits_.note_holder(1);
  waits_.note_holder(3);
  EXPECT_EQ(waits_.holders(3), std::vector<BlockId>{1});
  waits_.end(1);
  EXPECT_EQ(waits_.holders(2), std::vector<BlockId>{3});
}

TEST_F(BlockWaitsTest, NobodyWaitsInANodeThatStops) {
  Transaction transaction;
  waits_.open(1);
  EXPECT_EQ(waits_.park(&transaction, 0, 1, 0), Parked::kYes);
  EXPECT_EQ(waits_.close(), std::vector<Transaction*>{&transaction});
  EXPECT_EQ(waits_.park(&transaction, 0, 1, 0), Parked::kClosed);
  EXPECT_TRUE(requeued_.empty());
}

}  // namespace
}  // namespace scyper::primary
