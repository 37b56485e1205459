#include "replication/inbox.h"

#include <gtest/gtest.h>

#include "testing/group_maker.h"

namespace scyper::replication {
namespace {

using Verdict = Inbox::Verdict;
using Range = Inbox::Range;

constexpr ClusterId kCluster{{7, 9}};
const Inbox::Options kLogs{size_t{1} << 20, true};
const Inbox::Options kLogsNot{size_t{1} << 20, false};

// A node that restarts from its own log.
Inbox::Start from_log(uint64_t term, const GroupMaker& log) {
  Inbox::Start start;
  start.term = term;
  start.lsn = log.lsn();
  start.positions = log.positions();
  start.joins = start.may_be_in_group = false;
  return start;
}

// A node that keeps no log, and the first group that it gets.
struct Joined {
  GroupMaker primary{kCluster};
  Inbox inbox{kCluster, {}, kLogsNot};
  Parcel first;

  explicit Joined(uint32_t count) : first(primary.make(1, {0}, count)) { EXPECT_EQ(inbox.offer(first), Verdict::kNew); }
};

// Of an earlier term only what lies before the new one's first group counts.
TEST(Inbox, OldTermsEndWhereTheNewOneBegins) {
  Joined joined(240);
  auto& [primary, inbox, first] = joined;
  EXPECT_EQ(first.complete_lsn, 240u);
  EXPECT_TRUE(inbox.note({2, 240, 240, 240, 0}));
  EXPECT_EQ(inbox.offer(primary.make(1, {0}, 10)), Verdict::kOldTerm);
  EXPECT_EQ(inbox.received_lsn(), 240u);
  // nor does what a primary says that does not know yet that it is none
  EXPECT_FALSE(inbox.note({1, 0, 250, 250, 0}));
  EXPECT_EQ(inbox.known_lsn(), 240u);
  EXPECT_EQ(inbox.commit_lsn(), 240u);
}

// Without elections no later term lacks what was confirmed; with them the commit mode may allow it.
TEST(Inbox, ATermThatLacksWhatWasConfirmedIsALoss) {
  for (const bool holds : {true, false}) {
    for (const bool is_heard : {true, false}) {
      GroupMaker primary(kCluster);
      const Parcel first = primary.make(1, {0}, 240);
      Inbox::Start start;
      if (!is_heard) {
        start = from_log(1, primary);
        start.confirmed_lsn = 230;
      }
      Inbox inbox(kCluster, start, {size_t{1} << 20, false, holds});
      if (is_heard) EXPECT_EQ(inbox.offer(first), Verdict::kNew);
      if (is_heard) EXPECT_TRUE(inbox.note({1, 0, 240, 230, 0}));
      Inbox other = inbox;
      EXPECT_TRUE(inbox.note({2, 229, 229, 229, 0}));
      EXPECT_EQ(inbox.lost_lsn(), holds ? 230u : 0u);
      EXPECT_TRUE(!holds || inbox.has_diverged());
      // what was never confirmed may go
      EXPECT_TRUE(other.note({2, 230, 230, 230, 0}));
      EXPECT_EQ(other.lost_lsn(), 0u);
    }
  }
}

// What was logged and never confirmed two terms ago lies below the newest term's beginning.
TEST(Inbox, ATailOfTwoTermsAgoIsNoticed) {
  GroupMaker old(kCluster);
  static_cast<void>(old.make(1, {0, 1, 2}, 80));
  const std::vector<std::vector<uint32_t>> others = {{1}, {2}, {1, 2}};  // streams that the second term wrote to
  for (const auto& streams : others) {
    for (uint32_t count : {5u, 10u, 20u}) {
      GroupMaker next = old, mine = old;
      static_cast<void>(mine.make(1, {1}, 10));  // 250
      Inbox inbox(kCluster, from_log(1, mine), kLogs);
      std::vector<Parcel> log;
      while (next.lsn() < 300) log.push_back(next.make(2, streams, count));
      EXPECT_TRUE(inbox.note({3, next.lsn(), next.lsn(), next.lsn(), 0}));
      EXPECT_FALSE(inbox.is_matched());
      EXPECT_EQ(inbox.next_to_apply(), nullptr);
      const auto missing = inbox.missing();
      ASSERT_TRUE(missing.has_value());
      EXPECT_EQ(missing->after_lsn, 249u);
      for (const Parcel& parcel : log) {
        if (parcel.complete_lsn > missing->after_lsn) static_cast<void>(inbox.offer(GroupMaker::fetched(parcel)));
      }
      EXPECT_TRUE(inbox.has_diverged()) << streams.size() << " streams, " << count;
    }
  }
}

// Nor does what came ahead of a gap, however low.
TEST(Inbox, WhatCameAheadOfANewTermIsFetchedAgain) {
  Joined joined(200);
  auto& [primary, inbox, first] = joined;
  GroupMaker next = primary;
  const Parcel gap = primary.make(1, {0}, 40), lost = primary.make(1, {1}, 10);
  EXPECT_EQ(inbox.offer(lost), Verdict::kNew);
  const Parcel second = next.make(2, {0}, 40), third = next.make(2, {2}, 60);  // 300
  EXPECT_TRUE(inbox.note({3, 300, 300, 300, 0}));
  EXPECT_EQ(inbox.offer(gap), Verdict::kOldTerm);
  for (const Parcel& parcel : {first, second}) static_cast<void>(inbox.offer(GroupMaker::fetched(parcel)));
  EXPECT_EQ(inbox.received_lsn(), 240u);
  EXPECT_EQ(inbox.missing(), (Range{240, 300}));
  EXPECT_EQ(inbox.offer(GroupMaker::fetched(third)), Verdict::kNew);
  EXPECT_EQ(inbox.received_lsn(), 300u);
}

// Where a commit mode may lose what it confirmed, the new term's groups at the same LSNs are others.
TEST(Inbox, TheCommitPointOfAnOldTermEndsWhereTheNewOneBegins) {
  for (const bool comes_by_parcel : {false, true}) {
    SCOPED_TRACE(comes_by_parcel);
    Joined joined(200);
    auto& [primary, inbox, first] = joined;
    GroupMaker next = primary;
    EXPECT_TRUE(inbox.note({1, 0, 240, 240, 0}));  // up to 240 it has not come
    const Parcel second = next.make(2, {0}, 40);
    if (!comes_by_parcel) {
      EXPECT_TRUE(inbox.note({2, 200, 240, 200, 0}));
      EXPECT_EQ(inbox.offer(GroupMaker::fetched(first)), Verdict::kKnown);
    }
    EXPECT_EQ(inbox.offer(second), Verdict::kNew);
    if (comes_by_parcel) EXPECT_EQ(inbox.offer(GroupMaker::fetched(second)), Verdict::kKnown);
    EXPECT_TRUE(inbox.is_matched());
    EXPECT_EQ(inbox.commit_lsn(), 200u);
    EXPECT_NE(inbox.next_to_apply(0), nullptr);
    EXPECT_EQ(inbox.next_to_apply(1), nullptr);
    EXPECT_TRUE(inbox.note({2, 200, 240, 240, 0}));
    EXPECT_NE(inbox.next_to_apply(1), nullptr);
  }
}

TEST(Inbox, AnEndThatThePrimaryHasIsGoneOnFrom) {
  GroupMaker primary(kCluster);
  static_cast<void>(primary.make(1, {0, 1}, 120));
  const Parcel last = primary.make(1, {1}, 10);
  Inbox inbox(kCluster, from_log(1, primary), kLogs);
  const Parcel next = primary.make(2, {0, 2}, 10);
  EXPECT_TRUE(inbox.note({3, 270, 270, 270, 0}));
  EXPECT_EQ(inbox.missing(), (Range{249, 270}));
  EXPECT_EQ(inbox.offer(GroupMaker::fetched(last)), Verdict::kKnown);
  EXPECT_TRUE(inbox.is_matched());
  EXPECT_EQ(inbox.missing(), (Range{250, 270}));
  EXPECT_EQ(inbox.offer(GroupMaker::fetched(next)), Verdict::kNew);
  EXPECT_FALSE(inbox.missing().has_value());
  EXPECT_NE(inbox.next_to_apply(), nullptr);
}

// What is in memory only is given up group by group, until it fits.
TEST(Inbox, WhatIsNotLoggedYetIsReplaced) {
  Joined joined(240);
  auto& [primary, inbox, first] = joined;
  GroupMaker next = primary;
  EXPECT_EQ(inbox.offer(primary.make(1, {1}, 10)), Verdict::kNew);
  EXPECT_EQ(inbox.offer(primary.make(1, {1}, 10)), Verdict::kNew);  // 260
  const Parcel second = next.make(2, {2}, 30), third = next.make(2, {2}, 30);
  EXPECT_TRUE(inbox.note({3, 300, 300, 300, 0}));
  for (int i = 0; i < 10 && inbox.received_lsn() < 300; ++i) {
    const auto missing = inbox.missing();
    ASSERT_TRUE(missing.has_value());
    for (const Parcel& parcel : {first, second, third}) {
      if (parcel.complete_lsn > missing->after_lsn) static_cast<void>(inbox.offer(GroupMaker::fetched(parcel)));
      if (const Inbox::Group* group = inbox.next_to_apply(1)) EXPECT_EQ(group->parcel.bytes, second.bytes);
    }
  }
  EXPECT_FALSE(inbox.has_diverged());
  EXPECT_EQ(inbox.received_lsn(), 300u);
  EXPECT_TRUE(inbox.is_matched());
}

// A peer's groups fill gaps while both follow the same primary; nothing else does, and no doubt falls on what is here.
TEST(Inbox, OtherSecondariesGiveTheHistoryOfOnePrimary) {
  Joined joined(100);
  auto& [primary, inbox, first] = joined;
  GroupMaker other = primary;  // went on with what was never confirmed
  const Parcel second = primary.make(1, {0, 1}, 10), third = primary.make(1, {0}, 10);
  const Parcel never = other.make(1, {0, 1}, 10, 50), nor_this = other.make(1, {0}, 10);
  EXPECT_TRUE(inbox.is_shared(1));
  EXPECT_FALSE(inbox.is_shared(2));
  // asked for in another term than this node is in by now
  EXPECT_EQ(inbox.offer_of_peer(second, 2), Verdict::kOldTerm);
  EXPECT_EQ(inbox.offer_of_peer(second, 0), Verdict::kOldTerm);
  // a term begins by its primary's own word
  GroupMaker later = primary;
  EXPECT_EQ(inbox.offer_of_peer(later.make(2, {0}, 5), 1), Verdict::kDamaged);
  EXPECT_EQ(inbox.term(), 1u);
  // of another history, which the next group of the primary tells
  EXPECT_EQ(inbox.offer(third), Verdict::kNew);
  EXPECT_EQ(inbox.received_lsn(), 100u);
  ASSERT_NE(*never.bytes, *second.bytes);
  EXPECT_EQ(inbox.offer_of_peer(never, 1), Verdict::kDamaged);
  EXPECT_EQ(inbox.offer_of_peer(nor_this, 1), Verdict::kDamaged);  // a gap is not left to peers
  EXPECT_EQ(inbox.damaged(), 3u);
  EXPECT_FALSE(inbox.has_diverged());
  EXPECT_EQ(inbox.received_lsn(), 100u);
  EXPECT_EQ(inbox.offer_of_peer(second, 1), Verdict::kNew);
  EXPECT_EQ(inbox.received_lsn(), primary.lsn());
  EXPECT_EQ(inbox.offer_of_peer(second, 1), Verdict::kKnown);
  // neither a peer nor its groups say what is confirmed
  EXPECT_EQ(inbox.commit_lsn(), 0u);
}

// The end of its own log may be nobody's: it neither takes from others nor gives before the primary has been asked.
TEST(Inbox, WhoDoesNotKnowItsEndTakesAndGivesNothing) {
  GroupMaker primary(kCluster);
  static_cast<void>(primary.make(1, {0}, 10));
  const Parcel last = primary.make(1, {0}, 10);
  Inbox inbox(kCluster, from_log(1, primary), kLogs);
  const Parcel next = primary.make(1, {0}, 10);
  EXPECT_TRUE(inbox.note({1, 0, next.complete_lsn, 0, 0}));
  EXPECT_FALSE(inbox.is_shared(1));
  EXPECT_EQ(inbox.offer_of_peer(next, 1), Verdict::kOldTerm);
  EXPECT_EQ(inbox.offer(GroupMaker::fetched(last)), Verdict::kKnown);  // the primary's, compared
  EXPECT_TRUE(inbox.is_shared(1));
  EXPECT_EQ(inbox.offer_of_peer(next, 1), Verdict::kNew);
  // and a new term asks again
  EXPECT_TRUE(inbox.note({2, next.complete_lsn, next.complete_lsn, 0, 0}));
  EXPECT_FALSE(inbox.is_shared(1));
  EXPECT_FALSE(inbox.is_shared(2));
}

// The headers decide on order and chains, as they do for whole groups; what is not as the subscription says is damage.
TEST(Inbox, SomeOfThePartitionsFollowAsAllDo) {
  PartitionSet set;
  set.add(1);
  Inbox::Options options = kLogsNot;
  options.partitions = set;
  GroupMaker primary(kCluster);
  Inbox inbox(kCluster, {}, options);
  const auto partial = [&set](const Parcel& whole) { return *partial_parcel(whole, set); };
  const Parcel first = primary.make(1, {0, 1, 2}, 2), second = primary.make(1, {1, 3}, 2);
  const Parcel third = primary.make(1, {2}, 2);
  EXPECT_EQ(inbox.offer(first), Verdict::kDamaged);
  EXPECT_EQ(inbox.offer(GroupMaker::fetched(partial(first))), Verdict::kNew);
  EXPECT_EQ(inbox.offer(partial(third)), Verdict::kNew);  // ahead
  EXPECT_TRUE(inbox.note({1, 0, 12, 12, 0}));
  EXPECT_EQ(inbox.missing(), (Range{6, 10}));
  PartitionSet other = set;
  other.add(2);
  EXPECT_EQ(inbox.offer(GroupMaker::fetched(*partial_parcel(second, other))), Verdict::kDamaged);
  EXPECT_EQ(inbox.offer(GroupMaker::fetched(partial(second))), Verdict::kNew);  // nothing of it but headers
  EXPECT_EQ(inbox.received_lsn(), 12u);
  EXPECT_EQ(inbox.bytes(), partial(first).bytes->size() + 2 * sizeof(BatchHeader) + partial(third).bytes->size());
  const std::vector<std::vector<bool>> has_bodies = {{true, false, true}, {false, false}, {true}};
  for (size_t i = 0; i < has_bodies.size(); ++i) {
    const Inbox::Group* group = inbox.next_to_apply(i);
    ASSERT_NE(group, nullptr);
    std::vector<bool> found;
    for (const BatchView& batch : group->batches) found.push_back(batch.has_body);
    EXPECT_EQ(found, has_bodies[i]) << i;
  }
  EXPECT_EQ(inbox.damaged(), 2u);
}

}  // namespace
}  // namespace scyper::replication
