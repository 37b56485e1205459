#include "consensus/elector.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace scyper::consensus {
namespace {

using Kind = Action::Kind;

constexpr int64_t kMs = 1000;

// Node "b" of a, b, c; what it wants done, by kind.
class ElectorTest : public testing::Test {
 protected:
  explicit ElectorTest(Position position = {3, 10}) : elector_(options(), {3, "a"}, position, true, 0) {
    view_.voters.names = {"a", "b", "c"};
    view_.config = 1;
    view_.term = 3;
    view_.term_revision = 7;
  }
  static ElectorOptions options() {
    ElectorOptions made;
    made.node = "b";
    return made;
  }
  const Action* find(Kind kind) {
    for (Action& action : elector_.take_actions()) actions_.push_back(std::move(action));
    for (const Action& action : actions_) {
      if (action.kind == kind) return &action;
    }
    return nullptr;
  }
  int count(Kind kind) {
    find(kind);
    return static_cast<int>(std::count_if(actions_.begin(), actions_.end(), [&](auto& a) { return a.kind == kind; }));
  }
  // The view as of now, asked for and answered at once.
  void look(int64_t now_us) {
    view_.asked_us = now_us;
    elector_.on_view(view_, now_us);
  }
  // Until the campaign, or 3 s have gone.
  int64_t run_until_campaign(int64_t from_us) {
    for (int64_t now = from_us; now < from_us + 3000 * kMs; now += 10 * kMs) {
      elector_.on_time(now);
      look(now);
      if (find(Kind::kCampaign) != nullptr) return now;
    }
    return -1;
  }
  void win(int64_t now_us) {
    elector_.on_campaign(Elector::Campaign::kWon, 4, now_us, now_us);
    view_.leader = Promise{4, "b"};
    view_.term = 4;
  }
  void open(int64_t now_us) {
    win(now_us);
    elector_.on_promise_stored({4, "b", 1}, now_us);
    elector_.on_fence_answer("c", {4, true, {4, "b"}, {3, 10}, true}, now_us);
    elector_.on_term_confirmed(4, now_us);
  }

  Elector elector_;
  View view_;
  std::vector<Action> actions_;
};

// Whoever reaches a voter may say any term: one that no election can have come to must leave terms for others.
TEST_F(ElectorTest, PromisesNoTermThatElectionsCannotHaveReached) {
  look(0);
  for (const uint64_t term : {UINT64_MAX, uint64_t{1} << 40, 3 + Elector::kTermJumpMax + 1}) {
    EXPECT_FALSE(elector_.is_plausible(term)) << term;
    elector_.on_fence({term, "c", 1}, 0);
    EXPECT_FALSE(elector_.takes_redo({term, "c", 1}, 0)) << term;
    elector_.on_refused({term, "c", 1}, 0);
    elector_.on_fence_answer("c", {4, false, {term, "c"}, {3, 10}, true}, 0);
  }
  EXPECT_EQ(count(Kind::kStorePromise), 0);
  EXPECT_EQ(count(Kind::kAnswerFence), 3);
  for (const Action& action : actions_) EXPECT_FALSE(action.answer.granted);
  ASSERT_GE(run_until_campaign(0), 0);
  EXPECT_EQ(find(Kind::kCampaign)->term, 4u);
  elector_.on_fence({4 + Elector::kTermJumpMax, "c", 1}, 3000 * kMs);  // many failed campaigns are possible
  EXPECT_EQ(count(Kind::kStorePromise), 1);
}

TEST_F(ElectorTest, CampaignsForAHigherTermWhenTheLeaderIsMissing) {
  view_.leader = Promise{3, "a"};
  EXPECT_EQ(run_until_campaign(0), -1);
  view_.leader.reset();
  const int64_t at = run_until_campaign(3000 * kMs);
  ASSERT_GE(at, 3000 * kMs + options().settle_us);
  EXPECT_EQ(find(Kind::kCampaign)->term, 4u);
  EXPECT_EQ(find(Kind::kCampaign)->term_revision, 7);
  EXPECT_NE(find(Kind::kPublish), nullptr);
}

// Their logs' ends are known then: nothing is waited for.
TEST_F(ElectorTest, CampaignsAtOnceWhenTheOthersHavePublishedSinceTheLeaderWasThere) {
  view_.members["a"] = {{3, 9}, true, false, 1};  // who led need not
  view_.members["c"] = {{3, 9}, true, false, 20};
  view_.leader = Promise{3, "a"};
  view_.revision = 20;
  look(0);
  view_.leader.reset();
  view_.revision = 21;
  look(10 * kMs);
  elector_.on_time(20 * kMs);
  EXPECT_EQ(find(Kind::kCampaign), nullptr);  // c's is of before
  view_.members["c"].revision = view_.revision = 22;
  look(30 * kMs);
  EXPECT_NE(find(Kind::kCampaign), nullptr);
}

TEST_F(ElectorTest, OthersGoFirstThoughAllHavePublished) {
  view_.members["c"] = {{3, 11}, true, false, 20};
  view_.leader = Promise{3, "a"};
  view_.revision = 19;
  look(0);
  view_.leader.reset();
  EXPECT_GE(run_until_campaign(10 * kMs), 10 * kMs + options().settle_us + options().step_us);
}

TEST_F(ElectorTest, AnotherWhoIsAppointedIsWaitedForThoughAllHavePublished) {
  view_.members["c"] = {{3, 9}, true, false, 20};
  view_.leader = Promise{3, "a"};
  view_.revision = 19;
  look(0);
  view_.leader.reset();
  view_.appointment = Appointment{3, "c"};
  EXPECT_GE(run_until_campaign(10 * kMs), 10 * kMs + options().lease_us);
}

TEST_F(ElectorTest, TermIsAboveItsPromiseWhateverEtcdHasForgotten) {
  view_.term = 0;
  view_.term_revision = 0;
  ASSERT_GE(run_until_campaign(0), 0);
  EXPECT_EQ(find(Kind::kCampaign)->term, 4u);
}

TEST_F(ElectorTest, WhoHasMoreGoesFirst) {
  const int64_t alone = options().settle_us;
  view_.members["a"] = {{3, 11}, true, false};
  view_.members["c"] = {{3, 10}, true, true};  // a tie: row layout
  view_.members["d"] = {{3, 99}, true, true};  // no voter
  const int64_t third = run_until_campaign(0);
  EXPECT_GE(third, alone + 2 * options().step_us);
  EXPECT_LT(third, alone + 3 * options().step_us);
}

TEST_F(ElectorTest, WhileElectionsArePausedOnlyWhoIsAppointedCampaigns) {
  view_.paused_revision = 9;
  EXPECT_EQ(run_until_campaign(0), -1);
  view_.appointment = Appointment{2, "b"};  // of a term that is over
  EXPECT_EQ(run_until_campaign(4000 * kMs), -1);
  view_.appointment = Appointment{3, "c"};
  EXPECT_EQ(run_until_campaign(8000 * kMs), -1);
  view_.appointment = Appointment{3, "b"};
  EXPECT_EQ(run_until_campaign(12'000 * kMs), 12'000 * kMs);
  EXPECT_EQ(find(Kind::kCampaign)->paused_revision, 9);
}

TEST_F(ElectorTest, WhoIsAppointedGoesAtOnceAndTheOthersGiveItTime) {
  view_.members["c"] = {{3, 11}, true, true};
  view_.appointment = Appointment{3, "b"};
  EXPECT_EQ(run_until_campaign(0), 0);
}

TEST_F(ElectorTest, AnAppointmentOfAnotherIsWaitedForNotForever) {
  view_.appointment = Appointment{3, "c"};
  const int64_t at = run_until_campaign(0);
  EXPECT_GE(at, options().lease_us + options().settle_us);
}

TEST_F(ElectorTest, AppointedButBehindTheFloorOrIncompleteItGoesOnlyWhereALossIsAccepted) {
  view_.floor = {3, 11};
  elector_.on_cut({3, 10}, false);
  view_.appointment = Appointment{3, "b", false};
  EXPECT_EQ(run_until_campaign(0), -1);
  view_.appointment->accepts_loss = true;
  ASSERT_EQ(run_until_campaign(4000 * kMs), 4000 * kMs);
  win(4000 * kMs);
  elector_.on_promise_stored({4, "b", 1}, 4000 * kMs);
  EXPECT_EQ(find(Kind::kStartTerm), nullptr);
  elector_.on_fence_answer("c", {4, true, {4, "b"}, {3, 9}, false}, 4000 * kMs);
  EXPECT_NE(find(Kind::kStartTerm), nullptr);
}

TEST_F(ElectorTest, DrainsHandsOverAndStepsDown) {
  const int64_t now = run_until_campaign(0);
  open(now);
  EXPECT_FALSE(elector_.begin_drain("b", now + 100 * kMs, now));
  elector_.on_drained(now);
  EXPECT_EQ(find(Kind::kHandOver), nullptr);
  ASSERT_TRUE(elector_.begin_drain("c", now + 100 * kMs, now));
  EXPECT_FALSE(elector_.is_open(now));
  EXPECT_FALSE(elector_.may_read(now));
  EXPECT_EQ(elector_.open_until_us(), 0);
  EXPECT_GT(elector_.leads_until_us(), now);  // what was accepted is answered
  elector_.on_keep_alive(4, now, now);
  EXPECT_FALSE(elector_.is_open(now));
  elector_.on_drained(now);
  ASSERT_NE(find(Kind::kHandOver), nullptr);
  EXPECT_EQ(find(Kind::kHandOver)->node, "c");
  EXPECT_EQ(elector_.leads_until_us(), 0);
  elector_.on_time(now + 200 * kMs);  // the Txn is under way: it does not open again
  EXPECT_FALSE(elector_.is_open(now + 200 * kMs));
  EXPECT_EQ(find(Kind::kStepDown), nullptr);
  elector_.on_handed_over(Elector::HandOver::kDone, 4, now + 200 * kMs);
  EXPECT_NE(find(Kind::kStepDown), nullptr);
  EXPECT_FALSE(elector_.leads());
}

TEST_F(ElectorTest, OpensAgainWhenNotDrainedInTimeOrNotHandedOver) {
  const int64_t now = run_until_campaign(0);
  open(now);
  ASSERT_TRUE(elector_.begin_drain("c", now + 100 * kMs, now));
  elector_.on_time(now + 100 * kMs);
  EXPECT_TRUE(elector_.is_open(now + 100 * kMs));
  ASSERT_TRUE(elector_.begin_drain("c", now + 200 * kMs, now + 100 * kMs));
  elector_.on_drained(now + 110 * kMs);
  elector_.on_handed_over(Elector::HandOver::kNotDone, 4, now + 120 * kMs);
  EXPECT_TRUE(elector_.is_open(now + 120 * kMs));
  ASSERT_TRUE(elector_.begin_drain("c", now + 200 * kMs, now + 120 * kMs));
  elector_.on_drained(now + 130 * kMs);
  elector_.on_handed_over(Elector::HandOver::kUnknown, 4, now + 140 * kMs);  // the key may have gone
  EXPECT_FALSE(elector_.leads());
}

TEST_F(ElectorTest, NoCandidateWhoIsBehindTheFloor) {
  view_.floor = {3, 11};
  EXPECT_EQ(run_until_campaign(0), -1);
}

TEST_F(ElectorTest, NoCandidateWhoIsNoVoterOrHasForgotten) {
  view_.voters.names = {"a", "c", "d"};
  EXPECT_EQ(run_until_campaign(0), -1);
  view_.voters.names = {"a", "b", "c"};
  elector_.on_cut({3, 10}, false);
  EXPECT_EQ(run_until_campaign(4000 * kMs), -1);
}

// Node "b", whose disk is "b1".
class DiskTest : public testing::Test {
 protected:
  explicit DiskTest(bool was_registered = false) : elector_(options(was_registered), {}, {}, true, 0) {
    view_.voters.names = {"a", "b", "c"};
    view_.config = 1;
    view_.term = 3;
    view_.term_revision = 7;
    view_.leader = Promise{3, "a"};
    view_.disks = {{"a", {"a0", 1}}, {"b", {"b0", 2}}, {"c", {"c0", 3}}};
  }
  static ElectorOptions options(bool was_registered) {
    ElectorOptions made;
    made.node = "b";
    made.disk = "b1";
    made.was_registered = was_registered;
    return made;
  }
  std::optional<Action> next(Kind kind) {
    for (const Action& action : elector_.take_actions()) {
      if (action.kind == kind) return action;
    }
    return std::nullopt;
  }
  void look(int64_t now_us) {
    view_.asked_us = now_us;
    elector_.on_view(view_, now_us);
  }
  void follow(uint64_t term) {
    EXPECT_FALSE(elector_.takes_redo({term, "a"}, 0));
    elector_.on_promise_stored({term, "a"}, 0);
  }
  // Its answer to a fence of that term, of which it has promised nothing yet.
  FenceAnswer fenced(uint64_t term) {
    elector_.on_fence({term, "c", 1}, 0);
    elector_.on_promise_stored({term, "c", 1}, 0);
    const auto answer = next(Kind::kAnswerFence);
    EXPECT_TRUE(answer.has_value());
    return answer.has_value() ? answer->answer : FenceAnswer();
  }

  Elector elector_;
  View view_;
};

TEST_F(DiskTest, AnotherDiskThanEtcdsIsNotComplete) {
  look(0);
  EXPECT_FALSE(elector_.has_known_disk());
  const FenceAnswer answer = fenced(4);
  EXPECT_TRUE(answer.granted);
  EXPECT_FALSE(answer.is_complete);
  view_.leader.reset();
  view_.term = 4;
  for (int64_t now = 0; now < 10'000 * kMs; now += 10 * kMs) {
    elector_.on_time(now);
    look(now);
    EXPECT_FALSE(next(Kind::kCampaign).has_value());
  }
}

TEST_F(DiskTest, IsNotKnownBeforeEtcdHasSaidSo) {
  view_.disks["b"].id = "b1";
  EXPECT_FALSE(elector_.is_complete());
  look(0);
  EXPECT_TRUE(elector_.is_complete());
  view_.disks["b"].id = "b2";  // another process has taken its name
  look(1);
  EXPECT_FALSE(elector_.is_complete());
}

TEST_F(DiskTest, IsRegisteredOnceItHasPromisedAndHasAllThatTheLeaderHad) {
  look(0);
  EXPECT_FALSE(next(Kind::kRegisterDisk).has_value());
  elector_.on_caught_up(2);  // with who led before
  follow(3);
  look(1);
  EXPECT_FALSE(next(Kind::kRegisterDisk).has_value());
  elector_.on_caught_up(3);
  EXPECT_TRUE(next(Kind::kReadView).has_value());
  look(2);
  const auto action = next(Kind::kRegisterDisk);
  ASSERT_TRUE(action.has_value());
  EXPECT_EQ(action->promise, (Promise{3, "a"}));
  EXPECT_EQ(action->disk_revision, 2);
  EXPECT_FALSE(elector_.is_complete());
  elector_.on_registered();
  EXPECT_TRUE(elector_.is_complete());
}

TEST_F(DiskTest, WithoutThePromiseItIsNotRegistered) {
  elector_.on_caught_up(3);
  look(0);
  EXPECT_FALSE(next(Kind::kRegisterDisk).has_value());
}

TEST_F(DiskTest, TheFirstElectionWaitsForAMajorityOfKnownDisks) {
  view_.term = view_.term_revision = 0;
  view_.leader.reset();
  view_.disks.clear();
  look(0);
  const auto action = next(Kind::kRegisterDisk);
  ASSERT_TRUE(action.has_value());
  EXPECT_EQ(action->promise.term, 0u);
  EXPECT_FALSE(action->is_known_again);
  elector_.on_registered();
  view_.disks["b"] = {"b1", 4};
  const auto campaigns = [&](int64_t from_us) {
    bool has_campaigned = false;
    for (int64_t now = from_us; now < from_us + 3000 * kMs; now += 10 * kMs) {
      elector_.on_time(now);
      look(now);
      has_campaigned |= next(Kind::kCampaign).has_value();
    }
    return has_campaigned;
  };
  EXPECT_FALSE(campaigns(0));
  view_.disks["c"] = {"c1", 5};
  EXPECT_TRUE(campaigns(3000 * kMs));
}

TEST_F(ElectorTest, WhoseVotersAreIncompleteDoesNotCampaignButWhereALossIsAccepted) {
  view_.members["a"] = {{3, 10}, false, false, 1};
  view_.members["c"] = {{0, 0}, false, false, 1};
  EXPECT_LT(run_until_campaign(0), 0);
  view_.appointment = Appointment{3, "b", true};
  EXPECT_GE(run_until_campaign(3000 * kMs), 0);
}

TEST_F(ElectorTest, AMajorityOfCompleteVotersIsEnoughToCampaign) {
  view_.members["a"] = {{0, 0}, false, false, 1};
  view_.members["c"] = {{3, 9}, true, false, 1};
  EXPECT_GE(run_until_campaign(0), 0);
}

class KnownDiskTest : public DiskTest {
 protected:
  KnownDiskTest() : DiskTest(true) {}
};

TEST_F(KnownDiskTest, IsRegisteredAgainWhereEtcdHasForgottenItNotWhereItHasAnother) {
  look(0);
  EXPECT_FALSE(next(Kind::kRegisterDisk).has_value());
  view_.disks.erase("b");
  look(1);
  const auto action = next(Kind::kRegisterDisk);
  ASSERT_TRUE(action.has_value());
  EXPECT_TRUE(action->is_known_again);
}

TEST_F(ElectorTest, OpensAfterItsOwnPromiseAFenceQuorumAndTheStart) {
  const int64_t now = run_until_campaign(0);
  win(now);
  EXPECT_EQ(count(Kind::kSendFence), 2);
  elector_.on_fence_answer("c", {4, true, {4, "b"}, {3, 9}, true}, now);
  EXPECT_EQ(find(Kind::kStartTerm), nullptr);  // its own disk has not answered
  elector_.on_promise_stored({4, "b", 1}, now);
  ASSERT_NE(find(Kind::kStartTerm), nullptr);
  EXPECT_FALSE(elector_.is_open(now));
  elector_.on_term_confirmed(4, now);
  EXPECT_NE(find(Kind::kOpen), nullptr);
  EXPECT_TRUE(elector_.is_open(now));
}

TEST_F(ElectorTest, AnswersOfOthersThanCompleteVotersDoNotCount) {
  const int64_t now = run_until_campaign(0);
  win(now);
  elector_.on_promise_stored({4, "b", 1}, now);
  elector_.on_fence_answer("d", {4, true, {4, "b"}, {3, 9}, true}, now);
  elector_.on_fence_answer("c", {4, true, {4, "b"}, {3, 9}, false}, now);
  EXPECT_EQ(find(Kind::kStartTerm), nullptr);
  elector_.on_fence_answer("c", {4, true, {4, "b"}, {3, 9}, true}, now);
  EXPECT_NE(find(Kind::kStartTerm), nullptr);
}

TEST_F(ElectorTest, AdoptsWhatIsHigher) {
  const int64_t now = run_until_campaign(0);
  win(now);
  elector_.on_promise_stored({4, "b", 1}, now);
  elector_.on_fence_answer("c", {4, true, {4, "b"}, {3, 12}, true}, now);
  ASSERT_NE(find(Kind::kAdopt), nullptr);
  EXPECT_EQ(find(Kind::kAdopt)->node, "c");
  EXPECT_EQ(find(Kind::kAdopt)->position, (Position{3, 12}));
  EXPECT_EQ(find(Kind::kStartTerm), nullptr);
  elector_.on_adopted(3, true, now);  // of an earlier campaign
  EXPECT_EQ(find(Kind::kStartTerm), nullptr);
  elector_.on_adopted(4, true, now);
  EXPECT_NE(find(Kind::kStartTerm), nullptr);
}

TEST_F(ElectorTest, ClosesBeforeItsLeaseEndsAndEndsWithIt) {
  const int64_t won = run_until_campaign(0);
  open(won);
  ASSERT_TRUE(elector_.is_open(won));
  const int64_t closing = won + options().lease_us - options().margin_us;
  EXPECT_TRUE(elector_.may_read(closing - 1));
  EXPECT_FALSE(elector_.is_open(closing));  // by the clock alone: nothing has to run for it
  EXPECT_FALSE(elector_.may_read(closing));
  elector_.on_time(closing);
  EXPECT_NE(find(Kind::kClose), nullptr);
  elector_.on_keep_alive(4, closing - 100 * kMs, closing + 1);
  EXPECT_TRUE(elector_.is_open(closing + 1));
  elector_.on_time(closing - 100 * kMs + options().lease_us);
  EXPECT_NE(find(Kind::kEnd), nullptr);
  EXPECT_TRUE(elector_.has_ended());
}

TEST_F(ElectorTest, APromiseIsAnsweredWhenItIsOnDisk) {
  elector_.on_fence({5, "c", 1}, 0);
  ASSERT_NE(find(Kind::kStorePromise), nullptr);
  EXPECT_EQ(find(Kind::kAnswerFence), nullptr);
  EXPECT_TRUE(elector_.takes_redo({3, "a"}, 0));  // until then
  elector_.on_promise_stored({5, "c", 1}, 0);
  ASSERT_NE(find(Kind::kAnswerFence), nullptr);
  EXPECT_TRUE(find(Kind::kAnswerFence)->answer.granted);
  EXPECT_FALSE(elector_.takes_redo({3, "a"}, 0));
  EXPECT_FALSE(elector_.takes_redo({5, "a"}, 0));  // the term is c's
  EXPECT_TRUE(elector_.takes_redo({5, "c"}, 0));
  actions_.clear();
  elector_.on_fence({5, "a", 1}, 0);
  ASSERT_NE(find(Kind::kAnswerFence), nullptr);
  EXPECT_FALSE(find(Kind::kAnswerFence)->answer.granted);
}

// Two threads read the log: what was read first may be said last.
TEST_F(ElectorTest, AFenceIsAnsweredWithTheHighestEndOfTheLog) {
  elector_.on_fence({5, "c", 1}, 0);
  elector_.on_log({5, 120}, true);
  elector_.on_promise_stored({5, "c", 1}, 0);
  elector_.on_log({5, 100}, false);
  actions_.clear();
  find(Kind::kAnswerFence);
  actions_.clear();
  elector_.on_fence({5, "c", 1}, 0);
  ASSERT_NE(find(Kind::kAnswerFence), nullptr);
  EXPECT_EQ(find(Kind::kAnswerFence)->answer.position, (Position{5, 120}));
  EXPECT_TRUE(find(Kind::kAnswerFence)->answer.is_complete);
  // on purpose it falls
  elector_.on_cut({5, 90}, true);
  actions_.clear();
  elector_.on_fence({5, "c", 1}, 0);
  ASSERT_NE(find(Kind::kAnswerFence), nullptr);
  EXPECT_EQ(find(Kind::kAnswerFence)->answer.position, (Position{5, 90}));
}

TEST_F(ElectorTest, AHigherTermEndsAPrimaryship) {
  const int64_t now = run_until_campaign(0);
  open(now);
  elector_.on_fence({5, "c", 1}, now);
  EXPECT_FALSE(elector_.is_open(now));
  EXPECT_NE(find(Kind::kStepDown), nullptr);
  EXPECT_NE(find(Kind::kGiveUpLease), nullptr);
}

// etcd was restored: c has drawn the same term, and its fence came first.
TEST_F(ElectorTest, APromiseOnItsWayToTheDiskBindsWhoWinsTheSameTerm) {
  const int64_t now = run_until_campaign(0);
  elector_.on_fence({4, "c", 1}, now);
  win(now);
  EXPECT_FALSE(elector_.leads());
  EXPECT_NE(find(Kind::kGiveUpLease), nullptr);
  EXPECT_FALSE(elector_.takes_redo({4, "a"}, now));
  elector_.on_promise_stored({4, "c", 1}, now);
  elector_.on_promise_stored({4, "b", 1}, now);  // nobody asked for it
  elector_.on_fence_answer("a", {4, true, {4, "b"}, {3, 10}, true}, now);
  EXPECT_EQ(find(Kind::kStartTerm), nullptr);
  EXPECT_EQ(count(Kind::kStorePromise), 1);
  EXPECT_EQ(elector_.promised(), (Promise{4, "c"}));
}

TEST_F(ElectorTest, TheTermOfAPrimaryIsPromisedToNobodyElse) {
  const int64_t now = run_until_campaign(0);
  win(now);
  for (int i = 0; i < 2; ++i) {
    find(Kind::kEnd);
    actions_.clear();
    elector_.on_fence({4, "c", 1}, now);
    ASSERT_NE(find(Kind::kAnswerFence), nullptr);
    EXPECT_FALSE(find(Kind::kAnswerFence)->answer.granted);
    EXPECT_FALSE(elector_.takes_redo({4, "c"}, now));
    EXPECT_EQ(find(Kind::kStorePromise), nullptr);
    elector_.on_promise_stored({4, "b", 1}, now);
  }
  EXPECT_TRUE(elector_.leads());
  elector_.on_promise_stored({5, "c", 1}, now);
  EXPECT_FALSE(elector_.leads());
}

TEST_F(ElectorTest, ARefusalThatNamesItsOwnPromiseEndsNoCandidacy) {
  const int64_t now = run_until_campaign(0);
  win(now);
  elector_.on_fence_answer("c", {4, false, {4, "b"}, {3, 10}, true}, now);
  EXPECT_TRUE(elector_.leads());
  elector_.on_fence_answer("c", {4, false, {4, "c"}, {3, 10}, true}, now);
  EXPECT_FALSE(elector_.leads());
}

// Its keep-alives go on: etcd hears it, its peers do not.
TEST_F(ElectorTest, WhoGetsNowhereForALeaseGivesItBack) {
  const int64_t won = run_until_campaign(0);
  win(won);
  elector_.on_promise_stored({4, "b", 1}, won);
  const int64_t last = won + options().lease_us;
  elector_.on_keep_alive(4, last - 1, last - 1);
  elector_.on_time(last - 1);
  EXPECT_EQ(find(Kind::kGiveUpLease), nullptr);
  elector_.on_time(last);
  EXPECT_NE(find(Kind::kGiveUpLease), nullptr);
  EXPECT_FALSE(elector_.leads());
}

TEST(ElectorOpenTest, WhoRecoversForLongerThanALeaseKeepsIt) {
  ElectorOptions options;
  options.node = "a";
  options.open_us = 5 * options.lease_us;
  Elector elector(options, {}, {}, true, 0);
  View view;
  view.voters.names = {"a"};
  view.config = 1;
  for (int64_t now = 0; now < 1000 * kMs; now += 10 * kMs) {
    elector.on_time(now);
    view.asked_us = now;
    elector.on_view(view, now);
  }
  elector.on_campaign(Elector::Campaign::kWon, 1, 1000 * kMs, 1000 * kMs);
  elector.on_promise_stored({1, "a", 1}, 1000 * kMs);
  const int64_t last = 1000 * kMs + options.open_us;
  for (int64_t now = 1000 * kMs; now < last; now += 100 * kMs) {
    elector.on_keep_alive(1, now, now);
    elector.on_time(now);
    ASSERT_TRUE(elector.leads()) << now;
  }
  elector.on_time(last);
  EXPECT_FALSE(elector.leads());
}

TEST_F(ElectorTest, APrimaryWhoseCommitsGetNoCopiesGivesUp) {
  const int64_t won = run_until_campaign(0), last = won + 2 * options().lease_us;
  open(won);
  elector_.on_keep_alive(4, last - 1, last - 1);
  elector_.on_unconfirmed(last - options().lease_us);
  elector_.on_time(last - 1);
  EXPECT_TRUE(elector_.is_open(last - 1));
  elector_.on_unconfirmed(-1);
  elector_.on_time(last);
  EXPECT_TRUE(elector_.is_open(last));
  elector_.on_unconfirmed(last - options().lease_us);
  elector_.on_time(last);
  EXPECT_NE(find(Kind::kStepDown), nullptr);
  EXPECT_NE(find(Kind::kGiveUpLease), nullptr);
}

TEST_F(ElectorTest, ALeaseThatEndedEarlierEndsNoLaterTerm) {
  const int64_t now = run_until_campaign(0);
  open(now);
  elector_.on_lease_lost(3, now);
  EXPECT_TRUE(elector_.is_open(now));
  elector_.on_lease_lost(4, now);
  EXPECT_FALSE(elector_.is_open(now));
}

// --- without etcd ---

// Node b has been primary since 100 ms; etcd has answered last then.
class FailsafeTest : public ElectorTest {
 protected:
  static constexpr int64_t kFrom = 100 * kMs;
  FailsafeTest() {
    EXPECT_GE(run_until_campaign(0), 0);
    open(kFrom);
    elector_.on_keep_alive(4, kFrom, kFrom);
  }
  // Asked at asked_us: who grants answers at once.
  void ask(int64_t asked_us, const std::vector<std::string>& granting) {
    elector_.on_time(asked_us);
    for (const std::string& node : granting) elector_.on_grant(node, {4, asked_us, true}, asked_us);
  }
};

TEST_F(FailsafeTest, GoesOnAsLongAsAllVotersGrantIt) {
  int64_t now = kFrom;
  for (; now < kFrom + 10'000 * kMs; now += 200 * kMs) ask(now, {"a", "c"});
  EXPECT_TRUE(elector_.is_open(now) && elector_.is_failsafe(now) && elector_.may_read(now));
  EXPECT_EQ(find(Kind::kClose), nullptr);
  const int64_t last = now - 200 * kMs;
  for (; now < last + 3000 * kMs; now += 50 * kMs) ask(now, {"a"});
  EXPECT_FALSE(elector_.is_open(last + 1600 * kMs));
  EXPECT_NE(find(Kind::kClose), nullptr);
  EXPECT_NE(find(Kind::kEnd), nullptr);
}

TEST_F(FailsafeTest, OneVoterWhoDoesNotAnswerOrRefusesIsTooFew) {
  for (int64_t now = kFrom; now < kFrom + 1400 * kMs; now += 50 * kMs) {
    ask(now, {"a"});
    elector_.on_grant("c", {4, now, false}, now);
    elector_.on_grant("c", {3, now, true}, now);  // another term's
    elector_.on_grant("d", {4, now, true}, now);  // no voter
  }
  EXPECT_GT(count(Kind::kAskGrant), 4);
  EXPECT_FALSE(elector_.is_failsafe(kFrom + 1400 * kMs));
  EXPECT_FALSE(elector_.is_open(kFrom + 1600 * kMs));
}

TEST_F(FailsafeTest, NobodyIsAskedWhileEtcdAnswers) {
  for (int64_t now = kFrom; now < kFrom + 5000 * kMs; now += 50 * kMs) {
    elector_.on_time(now);
    elector_.on_keep_alive(4, now, now);
  }
  EXPECT_EQ(find(Kind::kAskGrant), nullptr);
}

TEST_F(FailsafeTest, ALeaseThatHasEndedMeanwhileIsAskedForAgain) {
  int64_t now = kFrom;
  for (; now < kFrom + 4000 * kMs; now += 100 * kMs) ask(now, {"a", "c"});
  elector_.on_lease_lost(4, now);
  EXPECT_EQ(count(Kind::kReclaim), 1);
  elector_.on_lease_lost(4, now);
  EXPECT_EQ(count(Kind::kReclaim), 1);
  elector_.on_reclaimed(Elector::Campaign::kUnknown, 4, now, now);
  view_.leader.reset();
  look(now);
  EXPECT_EQ(count(Kind::kReclaim), 2);
  elector_.on_reclaimed(Elector::Campaign::kWon, 4, now, now + kMs);
  look(now);  // was asked for before
  EXPECT_TRUE(elector_.is_open(now + 1400 * kMs));
  EXPECT_FALSE(elector_.is_failsafe(now + 2 * kMs));
  EXPECT_EQ(find(Kind::kStepDown), nullptr);
}

TEST_F(FailsafeTest, SomebodyElseWhoLeadsWhenEtcdIsBackEndsIt) {
  int64_t now = kFrom;
  for (; now < kFrom + 4000 * kMs; now += 100 * kMs) ask(now, {"a", "c"});
  view_.leader = Promise{5, "c"};
  view_.term = 5;
  look(now);
  EXPECT_NE(find(Kind::kStepDown), nullptr);
  EXPECT_FALSE(elector_.is_open(now));
}

// Node b has promised term 3 to a.
TEST_F(ElectorTest, WhoHasGrantedElectsNobodyElseForALease) {
  elector_.on_grant_asked("a", 3, 7, 100 * kMs);
  EXPECT_EQ(find(Kind::kAnswerGrant), nullptr);  // not before it is kept
  ASSERT_NE(find(Kind::kKeepGrant), nullptr);
  elector_.on_grant_kept(200 * kMs);
  ASSERT_NE(find(Kind::kAnswerGrant), nullptr);
  EXPECT_TRUE(find(Kind::kAnswerGrant)->grant.granted);
  EXPECT_EQ(find(Kind::kAnswerGrant)->grant.asked_us, 7);
  elector_.on_fence({5, "c", 1}, 300 * kMs);
  ASSERT_NE(find(Kind::kAnswerFence), nullptr);
  EXPECT_FALSE(find(Kind::kAnswerFence)->answer.granted);
  EXPECT_EQ(find(Kind::kStorePromise), nullptr);
  const int64_t campaigned = run_until_campaign(300 * kMs);
  EXPECT_GE(campaigned, 200 * kMs + options().lease_us);
  elector_.on_fence({9, "c", 1}, campaigned);
  EXPECT_NE(find(Kind::kStorePromise), nullptr);
}

TEST_F(ElectorTest, NothingIsGrantedToAnotherThanWasPromisedNorByWhoReachesEtcd) {
  elector_.on_grant_kept(0);
  elector_.on_grant_asked("c", 3, 0, 0);
  elector_.on_grant_asked("a", 2, 0, 0);
  elector_.on_grant_asked("a", 4, 0, 0);
  look(100 * kMs);
  elector_.on_grant_asked("a", 3, 0, 200 * kMs);
  EXPECT_EQ(count(Kind::kAnswerGrant), 4);
  for (const Action& action : actions_) EXPECT_FALSE(action.kind == Kind::kAnswerGrant && action.grant.granted);
  elector_.on_fence({4, "c", 1}, 200 * kMs);  // a promise on its way binds
  elector_.on_grant_asked("a", 3, 0, 5000 * kMs);
  for (const Action& action : actions_) EXPECT_FALSE(action.kind == Kind::kAnswerGrant && action.grant.granted);
  EXPECT_EQ(count(Kind::kAnswerGrant), 5);
}

TEST_F(ElectorTest, WhatWasGrantedBindsAfterARestart) {
  Elector again(options(), {3, "a"}, {3, 10}, true, 100 * kMs, /*may_have_granted=*/true);
  again.on_fence({5, "c", 1}, 200 * kMs);
  again.on_fence({6, "c", 1}, 100 * kMs + options().lease_us);
  std::vector<Action> actions = again.take_actions();
  EXPECT_EQ(std::count_if(actions.begin(), actions.end(), [](auto& a) { return a.kind == Kind::kAnswerFence; }), 1);
  EXPECT_EQ(std::count_if(actions.begin(), actions.end(), [](auto& a) { return a.kind == Kind::kStorePromise; }), 1);
  // and is forgotten when there is a leader and nothing is bound any more
  view_.leader = Promise{3, "a"};
  view_.asked_us = 5000 * kMs;
  again.on_view(view_, 5000 * kMs);
  actions = again.take_actions();
  EXPECT_TRUE(std::any_of(actions.begin(), actions.end(), [](auto& a) { return a.kind == Kind::kDropGrant; }));
}

// What config says later counts from the next term on.
TEST_F(ElectorTest, VotersAreThoseThatTheCampaignFound) {
  view_.config_revision = 9;
  const int64_t now = run_until_campaign(0);
  EXPECT_EQ(find(Kind::kCampaign)->config_revision, 9);
  win(now);
  view_.voters.names = {"b", "d"};
  look(now + 1);
  elector_.on_promise_stored({4, "b", 1}, now + 1);
  elector_.on_fence_answer("d", {4, true, {4, "b"}, {3, 10}, true}, now + 1);
  EXPECT_EQ(find(Kind::kStartTerm), nullptr);
  elector_.on_fence_answer("c", {4, true, {4, "b"}, {3, 10}, true}, now + 1);
  EXPECT_NE(find(Kind::kStartTerm), nullptr);
}

// Any two sets meet, also when a voter has come or gone between them.
TEST(VotersTest, NumbersOverlapAcrossAChangeByOne) {
  Voters voters;
  uint32_t write_before = 0;
  for (uint32_t n = 1; n <= 9; ++n) {
    voters.names.push_back(std::string(1, static_cast<char>('a' + n)));
    EXPECT_GT(voters.write_copies() + voters.fence_answers(), n);
    if (n > 1) {
      EXPECT_GT(write_before + voters.fence_answers(), n) << "after one has come";
    }
    write_before = voters.write_copies();
  }
}

TEST(CopiesTest, CountVotersOfTheTermFromItsStartOn) {
  Copies copies({{"a", "b", "c"}}, 4, 11, {});
  copies.note("a", 4, 12);
  EXPECT_EQ(copies.confirmed_lsn(), 0u);
  copies.note("d", 4, 12);  // no voter
  copies.note("b", 3, 12);  // another term
  copies.note("b", 4, 10);  // before the start
  EXPECT_EQ(copies.confirmed_lsn(), 0u);
  copies.note("b", 4, 11);
  EXPECT_EQ(copies.confirmed_lsn(), 11u);
  copies.note("c", 4, 12);
  EXPECT_EQ(copies.confirmed_lsn(), 12u);
}

// Acknowledgements that come late, after the same node has been elected again with another log.
TEST(CopiesTest, AMissingTermInAcknowledgementsWouldConfirmWhatNobodyHas) {
  Copies copies({{"a", "b", "c"}}, 5, 11, {}), flawed({{"a", "b", "c"}}, 5, 11, Flaws(Guard::kTermInAcks));
  for (Copies* each : {&copies, &flawed}) {
    each->note("a", 5, 12);
    each->note("b", 3, 12);  // of the log that was cut
  }
  EXPECT_EQ(copies.confirmed_lsn(), 0u);
  EXPECT_EQ(flawed.confirmed_lsn(), 12u);
}

// --- voters change ---

TEST_F(ElectorTest, NotesUnderWhichVotersATermIsOpenUntilEtcdSaysSo) {
  view_.config = 7;
  view_.opened = 6;
  const int64_t now = run_until_campaign(0);
  ASSERT_GE(now, 0);
  win(now);
  EXPECT_EQ(find(Kind::kNoteOpened), nullptr);  // somebody else may still be primary under other voters
  EXPECT_EQ(find(Kind::kSendFence)->config, 7u);
  elector_.on_promise_stored({4, "b", 7}, now);
  elector_.on_fence_answer("c", {4, true, {4, "b", 7}, {3, 10}, true}, now);
  EXPECT_EQ(find(Kind::kNoteOpened), nullptr);
  elector_.on_term_confirmed(4, now);
  ASSERT_NE(find(Kind::kNoteOpened), nullptr);
  EXPECT_EQ(find(Kind::kNoteOpened)->config, 7u);
  look(now + 10 * kMs);
  EXPECT_EQ(count(Kind::kNoteOpened), 2);  // etcd may not have got it
  view_.opened = 7;
  look(now + 20 * kMs);
  EXPECT_EQ(count(Kind::kNoteOpened), 2);
}

TEST_F(ElectorTest, APrimaryCountsTheVotersOfItsCampaignToItsEnd) {
  const int64_t now = run_until_campaign(0);
  ASSERT_GE(now, 0);
  open(now);
  look(now);
  EXPECT_FALSE(elector_.has_old_voters());
  view_.voters.names.push_back("d");
  view_.config = 2;
  look(now + 10 * kMs);
  EXPECT_TRUE(elector_.has_old_voters());
  EXPECT_EQ(elector_.voters().names.size(), 3u);
  EXPECT_TRUE(elector_.is_open(now + 10 * kMs));
}

TEST_F(ElectorTest, NoFenceIsAnsweredUnderOlderVotersThanBefore) {
  elector_.on_fence({5, "c", 3}, 0);
  elector_.on_fence({6, "a", 2}, 0);  // the promise on its way binds
  ASSERT_NE(find(Kind::kAnswerFence), nullptr);
  EXPECT_EQ(find(Kind::kAnswerFence)->answer.granted, false);
  elector_.on_promise_stored(find(Kind::kStorePromise)->promise, 0);
  elector_.take_actions();
  actions_.clear();
  elector_.on_fence({6, "a", 2}, 0);
  ASSERT_NE(find(Kind::kAnswerFence), nullptr);
  EXPECT_FALSE(find(Kind::kAnswerFence)->answer.granted);
  EXPECT_EQ(find(Kind::kAnswerFence)->answer.promised.config, 3u);
  actions_.clear();
  EXPECT_FALSE(elector_.takes_redo({6, "a"}, 0));  // redo does not say, and forgets nothing
  ASSERT_NE(find(Kind::kStorePromise), nullptr);
  EXPECT_EQ(find(Kind::kStorePromise)->promise.config, 3u);
  // nor does it campaign under them
  view_.leader.reset();
  view_.config = 2;
  EXPECT_EQ(run_until_campaign(0), -1);
  view_.config = 3;
  EXPECT_GE(run_until_campaign(4000 * kMs), 0);
}

TEST_F(ElectorTest, ACandidateWhoseVotersAreOldGivesUp) {
  const int64_t now = run_until_campaign(0);
  ASSERT_GE(now, 0);
  win(now);
  elector_.on_promise_stored({4, "b", 1}, now);
  elector_.on_fence_answer("c", {4, false, {3, "a", 2}, {3, 10}, true}, now);
  EXPECT_NE(find(Kind::kGiveUpLease), nullptr);
  EXPECT_FALSE(elector_.leads());
}

}  // namespace
}  // namespace scyper::consensus
