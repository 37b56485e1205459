#include "consensus/etcd.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <thread>

#include "base/comes_true.h"
#include "consensus/cluster_keys.h"
#include "testing/etcd_process.h"

namespace scyper::consensus {
namespace {

std::unique_ptr<Etcd> client(std::vector<std::string> endpoints, int64_t call_us = 10'000'000) {  // a busy machine
  EtcdOptions options;
  options.endpoints = std::move(endpoints);
  options.call_us = call_us;
  options.attempt_us = 3'000'000;
  return *Etcd::make(options);
}

// Against a real etcd.
class EtcdTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(EtcdProcess::is_installed()) << "tools/install-packages installs it";
    ASSERT_TRUE(process_.start()) << process_.log();
    etcd_ = client({process_.endpoint()});
  }
  EtcdProcess process_;
  std::unique_ptr<Etcd> etcd_;
};

ClusterConfig three_voters() {
  ClusterConfig config;
  config.version = 1;
  config.voters.names = {"a", "b", "c"};
  config.commit_mode = "quorum";
  return config;
}

TEST_F(EtcdTest, ReadsWhatWasPutByPrefixAtOneRevision) {
  ASSERT_TRUE(etcd_->put({"/x/b", "2"}).ok());
  ASSERT_TRUE(etcd_->put({"/x/a", std::string("1\0\xff", 3)}).ok());
  ASSERT_TRUE(etcd_->put({"/y", "3"}).ok());
  auto range = etcd_->read("/x/");
  ASSERT_TRUE(range.ok()) << range.status();
  ASSERT_EQ(range->values.size(), 2u);
  EXPECT_EQ(range->values[0].key, "/x/a");
  EXPECT_EQ(range->values[0].value, std::string("1\0\xff", 3));
  EXPECT_GT(range->values[0].mod_revision, range->values[1].mod_revision);
  EXPECT_GE(range->revision, range->values[0].mod_revision + 1);
  EXPECT_EQ(*etcd_->remove("/x/"), 2);
  EXPECT_TRUE(etcd_->read("/x/")->values.empty());
  EXPECT_EQ(etcd_->read("")->values.size(), 1u);  // all keys
}

TEST_F(EtcdTest, OnlyOneOfTwoCampaignsIsWon) {
  ClusterKeys a(etcd_.get(), "test", "a"), b(etcd_.get(), "test", "b");
  EXPECT_TRUE(absl::IsNotFound(a.read().status()));
  EXPECT_TRUE(*a.found(three_voters()));
  EXPECT_FALSE(*b.found(three_voters()));
  const auto seen = a.read();
  ASSERT_TRUE(seen.ok()) << seen.status();
  EXPECT_EQ(seen->view.voters.names, three_voters().voters.names);
  EXPECT_EQ(seen->view.term_revision, 0);
  const int64_t lease = etcd_->grant(60)->id;
  const auto won = a.campaign(1, {0, seen->view.config_revision, 0}, lease);
  ASSERT_TRUE(won.ok()) << won.status();
  EXPECT_TRUE(*won);
  EXPECT_FALSE(*b.campaign(1, {0, seen->view.config_revision, 0}, lease));
  const auto after = b.read();
  EXPECT_EQ(after->view.leader, (Promise{1, "a"}));
  EXPECT_EQ(after->view.term, 1u);
  // the floor is the leader's to raise
  EXPECT_TRUE(*a.raise_floor({1, 7}, 1));
  EXPECT_FALSE(*b.raise_floor({1, 9}, 1));
  EXPECT_EQ(b.read()->view.floor, (Position{1, 7}));
  // given back: the next campaign needs the term's new revision
  ASSERT_TRUE(etcd_->revoke(lease).ok());
  EXPECT_FALSE(b.read()->view.leader.has_value());
  const int64_t second = etcd_->grant(60)->id;
  EXPECT_FALSE(*b.campaign(2, {0, after->view.config_revision, 0}, second));
  EXPECT_TRUE(*b.campaign(2, {after->view.term_revision, after->view.config_revision, 0}, second));
}

TEST_F(EtcdTest, ALeaseEndsWithoutKeepAlivesAndTakesItsKeysAlong) {
  const auto kept = etcd_->grant(6), left = etcd_->grant(6);  // a busy machine
  ASSERT_TRUE(kept.ok() && left.ok());
  EXPECT_GE(kept->ttl_s, 6);
  ClusterKeys keys(etcd_.get(), "test", "a"), other(etcd_.get(), "test", "b");
  ASSERT_TRUE(*keys.found(three_voters()));
  ASSERT_TRUE(keys.publish({{{3, 4}, true, true}, "127.0.0.1:1", "127.0.0.1:2"}, kept->id).ok());
  ASSERT_TRUE(other.publish({{{3, 5}, false, false}, "127.0.0.1:3", "127.0.0.1:4"}, left->id).ok());
  auto seen = keys.read();
  ASSERT_EQ(seen->members.size(), 2u);
  EXPECT_EQ(seen->members["a"].address, "127.0.0.1:1");
  EXPECT_EQ(seen->members["b"].peers, "127.0.0.1:4");
  EXPECT_EQ(seen->view.members["a"].position, (Position{3, 4}));
  std::atomic<bool> is_done{false};
  std::atomic<int> kept_alive{0};
  std::thread keeper([&] {
    while (!is_done) {
      kept_alive += etcd_->keep_alive(kept->id).ok() ? 1 : 0;
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
    }
  });
  EXPECT_TRUE(comes_true([&] { return keys.read()->members.count("b") == 0; }));
  EXPECT_TRUE(keys.read()->members.contains("a"));
  EXPECT_GT(kept_alive, 0);
  is_done = true;
  keeper.join();
  EXPECT_TRUE(absl::IsNotFound(etcd_->keep_alive(left->id).status()));
  ASSERT_TRUE(etcd_->revoke(kept->id).ok());
  EXPECT_TRUE(absl::IsNotFound(etcd_->keep_alive(kept->id).status()));
  EXPECT_TRUE(absl::IsNotFound(etcd_->revoke(kept->id)));
  EXPECT_TRUE(keys.read()->members.empty());
}

TEST_F(EtcdTest, AnEndpointThatIsDownIsPassedOver) {
  EtcdProcess stopped;
  const auto both = client({stopped.endpoint(), process_.endpoint()});  // nobody listens at the first
  ASSERT_TRUE(both->put({"/x", "1"}).ok());
  EXPECT_EQ(both->read("/x")->values.size(), 1u);
}

TEST_F(EtcdTest, AnEndpointThatIsSilentIsPassedOver) {
  EtcdProcess frozen;
  ASSERT_TRUE(frozen.start());
  EtcdOptions options;
  options.endpoints = {frozen.endpoint(), process_.endpoint()};
  options.attempt_us = 30'000'000;
  options.call_us = 60'000'000;
  frozen.signal(SIGSTOP);
  const auto both = *Etcd::make(options);
  const Status put = both->put({"/x", "1"});
  EXPECT_TRUE(put.ok()) << put;  // it is not asked for changes before it has answered anything
  frozen.signal(SIGCONT);
}

TEST_F(EtcdTest, AnswersOfAnotherClusterDoNotCount) {
  EtcdProcess foreign;
  ASSERT_TRUE(foreign.start());
  auto alien = client({foreign.endpoint()});
  const auto both = client({process_.endpoint(), foreign.endpoint()}, 3'000'000);
  ASSERT_TRUE(comes_true([&] { return both->put({"/x", "ours"}).ok(); }));
  process_.kill(SIGKILL);
  EtcdTxn txn;
  txn.puts.push_back({"/x", "theirs"});
  EXPECT_FALSE(both->txn(txn).ok());
  EXPECT_FALSE(both->read("/x").ok());
  EXPECT_TRUE(alien->read("/x")->values.empty());  // nothing was written there
  ASSERT_TRUE(process_.start());
  StatusOr<Etcd::Range> read = absl::UnavailableError("");
  ASSERT_TRUE(comes_true([&] { return (read = both->read("/x")).ok(); }));
  EXPECT_EQ(read->values[0].value, "ours");
}

TEST_F(EtcdTest, KilledAndBackItGoesOnWithTheSameState) {
  ASSERT_TRUE(etcd_->put({"/x", "1"}).ok());
  const auto lease = etcd_->grant(60);
  etcd_ = client({process_.endpoint()}, 1'000'000);
  process_.kill(SIGKILL);
  EXPECT_FALSE(etcd_->read("/x").ok());
  EXPECT_FALSE(etcd_->keep_alive(lease->id).ok());
  EXPECT_TRUE(absl::IsUnavailable(etcd_->put({"/x", "2"})));  // never sent
  ASSERT_TRUE(process_.start());
  EXPECT_TRUE(comes_true([&] { return etcd_->keep_alive(lease->id).ok(); }));
  StatusOr<Etcd::Range> read = absl::UnavailableError("");
  ASSERT_TRUE(comes_true([&] { return (read = etcd_->read("/x")).ok(); }));
  EXPECT_EQ(read->values[0].value, "1");
}

TEST_F(EtcdTest, AWatchTellsOfChangesAndEndsWhenCancelled) {
  std::atomic<int> changes{0};
  Status ended;
  std::thread watcher([&] { ended = etcd_->watch("/x/", [&] { ++changes; }); });
  EXPECT_TRUE(comes_true([&] { return changes > 0; }));  // that it has begun
  const auto other = client({process_.endpoint()});
  const int before = changes;
  ASSERT_TRUE(other->put({"/y", "1"}).ok());
  ASSERT_TRUE(other->put({"/x/a", "1"}).ok());
  EXPECT_TRUE(comes_true([&] { return changes > before; }));
  etcd_->cancel();
  watcher.join();
  EXPECT_TRUE(absl::IsCancelled(ended)) << ended;
  EXPECT_TRUE(absl::IsCancelled(etcd_->read("/x").status()));
}

TEST_F(EtcdTest, VotersChangeByOneAndNotBeforeATermWasOpenedUnderTheLastOnes) {
  ClusterKeys keys(etcd_.get(), "test", "a"), other(etcd_.get(), "test", "b");
  ASSERT_TRUE(*keys.found(three_voters()));
  const Voters four{{"a", "b", "c", "d"}};
  const auto change = [&](const Voters& voters) { return keys.change_voters(*keys.read(), voters); };
  EXPECT_TRUE(absl::IsFailedPrecondition(change(four).status()));  // nobody has led yet
  const auto lease = etcd_->grant(60);
  ASSERT_TRUE(lease.ok());
  auto seen = keys.read();
  ASSERT_TRUE(*keys.campaign(1, {seen->view.term_revision, seen->view.config_revision, 0}, lease->id));
  EXPECT_TRUE(absl::IsFailedPrecondition(change(four).status()));  // nor has it been opened
  EXPECT_FALSE(*other.note_opened(1, 1));
  EXPECT_FALSE(*keys.note_opened(2, 1));
  ASSERT_TRUE(*keys.note_opened(1, 1));
  EXPECT_EQ(keys.read()->view.opened, 1u);
  EXPECT_TRUE(absl::IsInvalidArgument(change({{"a", "b", "d"}}).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(change({{"a", "b", "c"}}).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(change({{"a", "b", "c", "a"}}).status()));
  ASSERT_TRUE(keys.pause("now").ok());
  EXPECT_TRUE(absl::IsFailedPrecondition(change(four).status()));
  ASSERT_TRUE(*keys.resume());
  seen = keys.read();
  ASSERT_TRUE(*keys.change_voters(*seen, four));
  EXPECT_FALSE(*keys.change_voters(*seen, four));
  EXPECT_EQ(keys.read()->config.version, 2u);
  EXPECT_EQ(keys.read()->config.commit_mode, "quorum");
  EXPECT_TRUE(absl::IsFailedPrecondition(change({{"a", "b", "d"}}).status()));  // the last one is under way
  ASSERT_TRUE(*keys.note_opened(1, 2));
  EXPECT_TRUE(*change({{"a", "b", "d"}}));
}

TEST(EtcdOptionsTest, AreChecked) {
  EXPECT_FALSE(Etcd::make({}).ok());
  EtcdOptions options;
  options.endpoints = {"127.0.0.1:1"};
  options.tls.certificate = options.tls.key = "x";
  EXPECT_TRUE(absl::IsInvalidArgument(Etcd::make(options).status()));  // no authorities
  options.tls.authorities = "/nowhere/ca.pem";
  EXPECT_TRUE(absl::IsNotFound(Etcd::make(options).status()));
}

TEST(EtcdOptionsTest, WithNobodyThereACallEndsInTime) {
  EtcdOptions options;
  options.endpoints = {"127.0.0.1:1", "127.0.0.1:2"};
  options.call_us = 300'000;
  const auto etcd = *Etcd::make(options);
  EXPECT_TRUE(absl::IsUnavailable(etcd->read("/x").status()));
  EXPECT_TRUE(absl::IsUnavailable(etcd->put({"/x", "1"})));
}

TEST(ClusterKeysTest, NonsenseIsRefused) {
  EXPECT_TRUE(decode_position("lsn=2 term=1").ok());
  EXPECT_TRUE(decode_position("lsn=2 more=x term=1").ok());
  for (const char* value :
       {"", "term=1", "term=1 lsn=", "term=1 lsn=-1", "term=x lsn=1", "term=1 lsn=99999999999999999999"}) {
    EXPECT_FALSE(decode_position(value).ok()) << value;
  }
  EXPECT_FALSE(decode_member("term=1 lsn=2").ok());
  EXPECT_FALSE(decode_config("version=1 voters=").ok());
  EXPECT_FALSE(decode_leader("term=1").ok());
  EXPECT_TRUE(is_key_name("node-1.a_b"));
  for (const char* name : {"", "a b", "a/b", "a=b", "a,b"}) EXPECT_FALSE(is_key_name(name)) << name;
}

}  // namespace
}  // namespace scyper::consensus
