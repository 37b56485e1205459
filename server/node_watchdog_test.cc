#include "node_watchdog.h"

#include <gtest/gtest.h>

namespace scyper::server {
namespace {

// A second in which nothing was done though there was something to do.
class NodeWatchdogTest : public testing::Test {
 protected:
  NodeWatchdogTest() {
    before_ = {.waiting = 3, .finished = 100, .last_lsn = 50, .durable_lsn = 50, .confirmed_lsn = 50};
    before_.time_ns = 1'000'000'000;
    now_ = before_;
    now_.time_ns += 1'000'000'000;
  }
  CommitSample before_, now_;
};

TEST_F(NodeWatchdogTest, TransactionsThatWaitAndNoneEnds) {
  EXPECT_TRUE(is_stuck(before_, now_));
  now_.finished = 101;
  EXPECT_FALSE(is_stuck(before_, now_));
}

TEST_F(NodeWatchdogTest, NothingWaits) {
  now_.waiting = 0;
  EXPECT_FALSE(is_stuck(before_, now_));
  std::swap(before_.waiting, now_.waiting);  // what has just come may be taken in a moment
  EXPECT_FALSE(is_stuck(before_, now_));
}

TEST_F(NodeWatchdogTest, ALongTransactionComputes) {
  now_.processor_ns = 900'000'000;
  EXPECT_FALSE(is_stuck(before_, now_));
}

TEST_F(NodeWatchdogTest, CommitsWaitForOtherNodes) {
  before_.last_lsn = before_.durable_lsn = now_.last_lsn = now_.durable_lsn = 60;
  EXPECT_FALSE(is_stuck(before_, now_));
}

TEST_F(NodeWatchdogTest, TheLogDoesNotBecomeDurable) {
  before_.waiting = now_.waiting = 0;
  before_.last_lsn = now_.last_lsn = 60;
  now_.processor_ns = 900'000'000;
  EXPECT_TRUE(is_stuck(before_, now_));
  now_.waits_for_room = true;
  EXPECT_FALSE(is_stuck(before_, now_));
  now_.waits_for_room = false;
  now_.durable_lsn = 51;
  EXPECT_FALSE(is_stuck(before_, now_));
}

TEST_F(NodeWatchdogTest, RecordsOfAMomentAgoMayTakeTheirTime) {
  before_.waiting = now_.waiting = 0;
  now_.last_lsn = 60;
  EXPECT_FALSE(is_stuck(before_, now_));
}

}  // namespace
}  // namespace scyper::server
