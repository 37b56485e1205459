// A secondary without its primary: a link that says what the test wants it to.

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <filesystem>
#include <future>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "base/comes_true.h"
#include "base/failpoint.h"
#include "base/simulated_disk.h"
#include "follower.h"
#include "log_keeper.h"
#include "query/catalog_image.h"
#include "query/local_indexes.h"
#include "replay/archive.h"
#include "replay/log_scan.h"
#include "replay/record.h"
#include "seed.h"
#include "storage/frozen_slot.h"
#include "storage/frozen_tier.h"
#include "storage/object_store.h"
#include "testing/group_maker.h"

namespace scyper::secondary {
namespace {

using replication::GroupMaker;
using replication::Inbox;
using replication::Parcel;
using replication::Watermark;

constexpr replication::ClusterId kCluster{{7, 9}};
constexpr uint32_t kPartitions = 3;
constexpr char kDirectory[] = "/data";
constexpr uint64_t kSegmentBytes = 32 << 10;

// A transaction that changes nothing.
std::string nothing(uint64_t lsn) {
  replay::RedoHeader header;
  header.kind = replay::RedoKind::kPhysical;
  header.partition = replay::kNoPartition;
  header.lsn = lsn;
  return std::string(reinterpret_cast<const char*>(&header), sizeof(header));
}

GroupMaker primary_log() { return GroupMaker(kCluster, nothing); }

Inbox::Start start_behind(const replay::Recovered& recovered) {
  Inbox::Start start;
  start.lsn = recovered.lsn;
  start.term = recovered.lsn == 0 ? 0 : recovered.term;
  for (const auto& position : recovered.positions) start.positions.push_back({position.number, position.hash});
  start.joins = recovered.lacks_positions;
  start.may_be_in_group = recovered.may_be_in_group;
  return start;
}

// Logs parcels as a follower does: by way of an inbox.
void keep(Disk* disk, const replay::Recovered& recovered, const std::vector<Parcel>& parcels) {
  const replay::NodeIdentity identity{kCluster, kPartitions};
  auto keeper = LogKeeper::open(disk, kDirectory, identity, recovered, kSegmentBytes, 0);
  ASSERT_TRUE(keeper.ok()) << keeper.status();
  Inbox inbox(kCluster, start_behind(recovered), {size_t{1} << 20, true});
  for (const Parcel& parcel : parcels) {
    ASSERT_EQ(inbox.offer(parcel), Inbox::Verdict::kNew);
    const Inbox::Group* group = inbox.next_to_log();
    ASSERT_NE(group, nullptr);
    Status status = (*keeper)->append(*group, 0);
    ASSERT_TRUE(status.ok()) << status;
    inbox.logged();
  }
}

void make_directory(Disk* disk) {
  ASSERT_TRUE(disk->make_directory(kDirectory).ok());
  auto identity = replay::open_data_directory(disk, kDirectory, kPartitions, &kCluster);
  ASSERT_TRUE(identity.ok()) << identity.status();
}

// An archive of no tables, as one fetched.
void archive_at(Disk* disk, uint64_t lsn) {
  storage::ArchiveManifest manifest;
  manifest.cluster[0] = kCluster.words[0];
  manifest.cluster[1] = kCluster.words[1];
  manifest.term = 1;
  manifest.lsn = lsn;
  manifest.partitions = kPartitions;
  auto written = replay::write_archive(disk, replay::archives_directory(kDirectory), query::Catalog(), manifest, {});
  ASSERT_TRUE(written.ok()) << written.status();
}

StatusOr<replay::Recovered> recover(Disk* disk) {
  query::DatabaseOptions options;
  options.partitions = kPartitions;
  options.memory_bytes = size_t{64} << 20;
  options.page_mode = storage::PageMode::kSmall;
  options.execution = query::ExecutionMode::kInterpreted;
  SCYPER_ASSIGN_OR_RETURN(auto database, query::Database::create(options));
  replay::RequestWindow requests(100);
  replay::RecoveryOptions recovery;
  recovery.log_may_lag = true;
  recovery.requests = &requests;
  return replay::recover(disk, kDirectory, {kCluster, kPartitions}, database.get(), recovery);
}

// Joined from an archive that does not say where the streams stand; some of them are first heard of segments later.
TEST(LogKeeper, ALogBehindAnArchiveIsReadAgain) {
  SimulatedDisk disk;
  make_directory(&disk);
  GroupMaker primary = primary_log();
  for (int i = 0; i < 5; ++i) static_cast<void>(primary.make(1, {0, 1, 2, 3}, 10));
  std::vector<Parcel> parcels = {primary.make(1, {1, 2}, 10)};
  archive_at(&disk, primary.lsn() - 5);  // within a group
  for (int i = 0; i < 20; ++i) parcels.push_back(primary.make(1, {1, 2}, 10, primary.lsn()));
  parcels.push_back(primary.make(1, {0, 1}, 10, primary.lsn()));

  auto recovered = recover(&disk);
  ASSERT_TRUE(recovered.ok()) << recovered.status();
  EXPECT_TRUE(recovered->lacks_positions && recovered->may_be_in_group);
  keep(&disk, *recovered, parcels);
  auto again = disk.after_power_loss(1);
  recovered = recover(again.get());
  ASSERT_TRUE(recovered.ok()) << recovered.status();
  EXPECT_EQ(recovered->lsn, primary.lsn());
  EXPECT_GT(recovered->segments.size(), 1u);
  EXPECT_TRUE(recovered->lacks_positions);
  EXPECT_FALSE(recovered->may_be_in_group || recovered->was_torn);

  // in its second life a stream is heard of that neither the archive nor the log knew
  keep(again.get(), *recovered, {primary.make(1, {3}, 10), primary.make(1, {3, 0}, 10)});
  recovered = recover(again.get());
  ASSERT_TRUE(recovered.ok()) << recovered.status();
  EXPECT_EQ(recovered->lsn, primary.lsn());
  ASSERT_EQ(recovered->positions.size(), primary.positions().size());
  for (size_t i = 0; i < recovered->positions.size(); ++i) {
    EXPECT_EQ(recovered->positions[i].number, primary.positions()[i].number);
    EXPECT_EQ(recovered->positions[i].hash, primary.positions()[i].hash);
  }
}

// Nothing says here that anything was confirmed: in quorum modes that is known a round trip later.
TEST(LogKeeper, ABatchBehindDamageProvesThatItIsNoTornTail) {
  SimulatedDisk disk;
  make_directory(&disk);
  GroupMaker primary = primary_log();
  std::vector<Parcel> parcels;
  for (int i = 0; i < 5; ++i) parcels.push_back(primary.make(1, {0, 1, 2}, 10));
  keep(&disk, {}, parcels);
  const std::string path = storage::segment_path(replay::log_directory(kDirectory), 1);
  for (uint64_t group = 0; group < 5; ++group) {
    for (uint64_t batch = 0; batch < 3; ++batch) {
      for (uint64_t offset : {8, 60, 130}) {  // of the header, and of the body
        SCOPED_TRACE(testing::Message() << group << " " << batch << " " << offset);
        auto image = disk.after_kill();
        const uint64_t batch_bytes = parcels[group].bytes->size() / 3;
        image->flip(path, kDiskBlockBytes * (1 + group) + batch_bytes * batch + offset, 4);
        auto recovered = recover(image.get());
        if (group == 4) {
          ASSERT_TRUE(recovered.ok()) << recovered.status();
          EXPECT_TRUE(recovered->was_torn);
          EXPECT_EQ(recovered->lsn, 120u);
        } else {
          EXPECT_EQ(sqlstate_of(recovered.status()), "XX001");
        }
      }
    }
  }
}

// What is known of a stream has to go on, with or without an archive before.
TEST(LogKeeper, GapsAreDamageAllTheSame) {
  SimulatedDisk disk;
  make_directory(&disk);
  GroupMaker primary = primary_log();
  static_cast<void>(primary.make(1, {1}, 10));
  archive_at(&disk, primary.lsn());
  auto recovered = recover(&disk);
  ASSERT_TRUE(recovered.ok()) << recovered.status();
  GroupMaker other = primary;
  keep(&disk, *recovered, {primary.make(1, {1}, 10, 10)});
  // not what goes on from there: number 3 of another history
  static_cast<void>(other.make(2, {1}, 10, 10));
  recovered = recover(&disk);
  ASSERT_TRUE(recovered.ok()) << recovered.status();
  EXPECT_EQ(recovered->positions[1].number, 2u);
  recovered->positions[1] = {other.positions()[1].number, other.positions()[1].hash};
  keep(&disk, *recovered, {other.make(2, {1}, 10, 20)});
  EXPECT_EQ(sqlstate_of(recover(&disk).status()), "XX001");
}

// Archives do not wait for the log; a crash just after its header leaves a log that has nothing.
TEST(LogKeeper, ALogThatEndsBeforeTheArchiveIsDropped) {
  for (const bool has_groups : {true, false}) {
    SCOPED_TRACE(has_groups);
    SimulatedDisk disk;
    make_directory(&disk);
    GroupMaker primary = primary_log();
    std::vector<Parcel> parcels;
    for (int i = 0; i < 20; ++i) parcels.push_back(primary.make(1, {0, 1}, 10, primary.lsn()));
    const uint64_t logged_lsn = primary.lsn();
    Parcel next;  // what comes behind the archive
    if (has_groups) {
      keep(&disk, {}, parcels);
    } else {
      archive_at(&disk, logged_lsn);
      auto recovered = recover(&disk);
      ASSERT_TRUE(recovered.ok()) << recovered.status();
      ASSERT_TRUE(arm_failpoints("log.group_write_fails=fail").ok());
      auto keeper = LogKeeper::open(&disk, kDirectory, {kCluster, kPartitions}, *recovered, kSegmentBytes, 0);
      Inbox inbox(kCluster, start_behind(*recovered), {size_t{1} << 20, true});
      next = primary.make(1, {0, 1}, 10);
      EXPECT_EQ(inbox.offer(next), Inbox::Verdict::kNew);
      Inbox::Group group = *inbox.next_to_log();
      group.parcel.base_lsn = logged_lsn - 5;
      EXPECT_FALSE((*keeper)->append(group, 0).ok());
      disarm_failpoints();
    }
    const uint64_t archived_lsn = logged_lsn + (has_groups ? 15 : 0);
    if (has_groups) archive_at(&disk, archived_lsn);
    auto again = disk.after_power_loss(2);
    auto recovered = recover(again.get());
    ASSERT_TRUE(recovered.ok()) << recovered.status();
    EXPECT_EQ(recovered->lsn, archived_lsn);
    EXPECT_TRUE(recovered->segments.empty() && recovered->lacks_positions && recovered->may_be_in_group);
    EXPECT_TRUE(again->list(replay::log_directory(kDirectory))->empty());
    // and a log begins that is read again
    if (has_groups) static_cast<void>(primary.make(1, {0, 1}, 5));
    if (has_groups) next = primary.make(1, {0, 1}, 10);
    keep(again.get(), *recovered, {next});
    recovered = recover(again.get());
    ASSERT_TRUE(recovered.ok()) << recovered.status();
    EXPECT_EQ(recovered->lsn, next.complete_lsn);
  }
}

// A node that is behind logs many groups at once: what a power loss leaves has all that was said to be on the disk, and
// a log goes on behind it.
TEST(LogKeeper, PiecesOfManyGroupsAreReadAgainAndTheLogGoesOn) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SimulatedDisk disk;
    make_directory(&disk);
    GroupMaker primary = primary_log();
    auto keeper = LogKeeper::open(&disk, kDirectory, {kCluster, kPartitions}, {}, kSegmentBytes, 0);
    ASSERT_TRUE(keeper.ok()) << keeper.status();
    Inbox inbox(kCluster, start_behind({}), {size_t{1} << 20, true});
    uint64_t term = 1;
    for (const uint64_t groups : {uint64_t{1}, uint64_t{30}, uint64_t{2}, seed, uint64_t{1}}) {
      for (uint64_t i = 0; i < groups; ++i) {
        term += i == 10 ? 1 : 0;
        ASSERT_EQ(inbox.offer(primary.make(term, {0, 1}, 10)), Inbox::Verdict::kNew);
      }
      EXPECT_EQ(inbox.unlogged(), groups);
      std::vector<Inbox::Group> piece;
      while (const Inbox::Group* next = inbox.next_to_log(piece.size())) piece.push_back(*next);
      ASSERT_EQ(piece.size(), groups);
      const Status status = groups == 1 ? (*keeper)->append(piece.front(), 0) : (*keeper)->append_all(piece, 0);
      ASSERT_TRUE(status.ok()) << status;
      inbox.logged();
      EXPECT_EQ(inbox.logged_lsn(), primary.lsn());
      const auto again = disk.after_power_loss(seed);
      const auto recovered = recover(again.get());
      ASSERT_TRUE(recovered.ok()) << recovered.status();
      EXPECT_EQ(recovered->lsn, primary.lsn());
      EXPECT_EQ(recovered->segments.size(), (*keeper)->segments().size());
      ASSERT_TRUE((*keeper)->prepare_next().ok());
    }
    // a restart goes on behind a piece
    auto again = disk.after_power_loss(seed);
    auto recovered = recover(again.get());
    ASSERT_TRUE(recovered.ok()) << recovered.status();
    keep(again.get(), *recovered, {primary.make(term, {0, 1}, 10)});
    recovered = recover(again.get());
    ASSERT_TRUE(recovered.ok()) << recovered.status();
    EXPECT_EQ(recovered->lsn, primary.lsn());
  }
}

// A crash while the history is removed must not keep the node from starting.
TEST(RemoveHistory, WhatACrashLeavesCanBeStartedFrom) {
  for (const bool has_archive : {false, true}) {
    SCOPED_TRACE(has_archive);
    SimulatedDisk disk;
    make_directory(&disk);
    GroupMaker primary = primary_log();
    std::vector<Parcel> parcels;
    for (int i = 0; i < 60; ++i) parcels.push_back(primary.make(1, {0, 1}, 10, primary.lsn()));
    keep(&disk, {}, parcels);
    ASSERT_GT(storage::list_segments(&disk, replay::log_directory(kDirectory))->size(), 2u);
    if (has_archive) archive_at(&disk, 100);
    int images = 0;
    bool is_busy = false;
    disk.set_observer([&] {
      if (std::exchange(is_busy, true)) return;
      for (uint64_t seed = 0; seed < 4; ++seed) {
        auto image = seed == 0 ? disk.after_kill() : disk.after_power_loss(seed);
        auto recovered = recover(image.get());
        EXPECT_TRUE(recovered.ok()) << recovered.status();
        ++images;
      }
      is_busy = false;
    });
    ASSERT_TRUE(remove_history(&disk, kDirectory).ok());
    disk.set_observer(nullptr);
    EXPECT_GT(images, 10);
    EXPECT_TRUE(disk.list(replay::log_directory(kDirectory))->empty());
  }
}

// A copy counts when it is whole, and stays when it counts.
TEST(CopiedArchive, PowerLossLeavesAllOrNothing) {
  SimulatedDisk from;
  make_directory(&from);
  archive_at(&from, 10);
  auto to = std::make_unique<SimulatedDisk>();
  ASSERT_TRUE(to->make_directory("/to").ok());
  ASSERT_TRUE(to->sync_directory("/").ok());
  auto look = [&](bool has_returned) {
    for (uint64_t luck = 0; luck < 20; ++luck) {
      auto image = to->after_power_loss(luck);
      auto entries = storage::list_archives(image.get(), "/to");
      ASSERT_TRUE(entries.ok()) << entries.status();
      const bool is_there = !entries->empty() && entries->front().is_complete;
      if (has_returned) EXPECT_TRUE(is_there);
      if (is_there) {
        auto verified = replay::verify_archive(image.get(), entries->front().path);
        EXPECT_TRUE(verified.ok()) << verified.status();
      }
    }
  };
  to->set_observer([&] { look(/*has_returned=*/false); });
  auto copied = storage::copy_archive(&from, storage::archive_path(replay::archives_directory(kDirectory), 10),
                                      to.get(), "/to", 0, {});
  ASSERT_TRUE(copied.ok()) << copied.status();
  to->set_observer(nullptr);
  look(/*has_returned=*/true);
}

// Says the same again and again, until something else is to be said.
class FakeLink : public replication::Link {
 public:
  explicit FakeLink(uint64_t complete_lsn) : complete_lsn_(complete_lsn) {}

  // What a stream that begins behind parcels.front().base_lsn brings.
  void say(const Watermark& watermark, std::vector<Parcel> parcels) {
    std::lock_guard<std::mutex> lock(mutex_);
    watermark_ = watermark;
    parcels_ = std::move(parcels);
    ++said_;
  }
  StatusOr<replication::JoinInfo> join(const replication::ClusterId*) override {
    replication::JoinInfo info;
    info.cluster = kCluster;
    info.term = term_;
    info.terms = terms_;
    info.partitions = kPartitions;
    info.transport.kind = "unicast";
    info.complete_lsn = complete_lsn_;
    info.watermark = joined_;
    info.peers = peers_;
    return info;
  }
  StatusOr<std::string> fetch_archive(const replication::ClusterId&, Disk* disk, const std::string& archives,
                                      const OnBytes&, const replication::TierSink*) override {
    return archive_ ? archive_(disk, archives) : absl::NotFoundError("there is no archive");
  }
  // Before the node starts: what joining tells, and how archives come.
  void tell(const Watermark& joined, std::vector<replication::Peer> peers) {
    joined_ = joined;
    peers_ = std::move(peers);
  }
  void set_terms(uint64_t term, std::vector<replication::TermStart> terms) {
    term_ = term;
    terms_ = std::move(terms);
  }
  using Archive = std::function<StatusOr<std::string>(Disk*, const std::string& archives)>;
  void give(Archive archive) { archive_ = std::move(archive); }
  Status follow(const replication::ClusterId&, uint64_t after_lsn, uint64_t, const Each& each, uint64_t) override {
    uint64_t said = 0;
    while (!is_cancelled_) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      std::vector<Parcel> fetched;
      Watermark watermark;
      {
        std::lock_guard<std::mutex> lock(mutex_);
        watermark = watermark_;
        if (said_ == 0) continue;
        if (std::exchange(said, said_) != said_) {
          for (const Parcel& parcel : parcels_) {
            if (parcel.complete_lsn > after_lsn) fetched.push_back(GroupMaker::fetched(parcel));
          }
        }
      }
      if (!each(std::move(fetched), watermark)) return Status();
    }
    return absl::CancelledError("");
  }
  Status attend(const std::function<std::optional<replication::Position>()>& next) override {
    while (!is_cancelled_) {
      const std::optional<replication::Position> position = next();
      if (!position.has_value()) break;
      std::lock_guard<std::mutex> lock(mutex_);
      position_ = *position;
    }
    return Status();
  }
  bool awaits_positions() const override { return true; }
  StatusOr<replication::Ticket> ticket(const PartitionSet&) override { return absl::UnavailableError("no tickets"); }
  // 0: it is of a version that does not say.
  void set_current(StatusOr<uint64_t> lsn) {
    std::lock_guard<std::mutex> lock(mutex_);
    current_ = std::move(lsn);
  }
  StatusOr<uint64_t> current_lsn() override {
    std::lock_guard<std::mutex> lock(mutex_);
    if (current_.ok() && *current_ == 0) return absl::UnimplementedError("");
    has_told_ |= current_.ok();
    return current_;
  }
  // The node has been told a current LSN.
  bool has_told() const {
    std::lock_guard<std::mutex> lock(mutex_);
    return has_told_;
  }
  replication::BulkInfo bulk() const override { return {}; }
  void cancel() override { is_cancelled_ = true; }
  void redirect(const std::string&) override {}
  replication::Position position() const {
    std::lock_guard<std::mutex> lock(mutex_);
    return position_;
  }

 private:
  const uint64_t complete_lsn_;
  uint64_t term_ = 1;
  std::vector<replication::TermStart> terms_;
  Watermark joined_;
  std::vector<replication::Peer> peers_;
  Archive archive_;
  std::atomic<bool> is_cancelled_{false};
  mutable std::mutex mutex_;
  Watermark watermark_;
  std::vector<Parcel> parcels_;
  uint64_t said_ = 0;
  StatusOr<uint64_t> current_ = 0;
  bool has_told_ = false;
  replication::Position position_;
};

struct Running {
  FakeLink* link = nullptr;
  std::unique_ptr<Follower> node;
};

NodeOptions follower_options(Disk* disk, const std::string& directory) {
  NodeOptions options;
  options.link.node = "s";
  options.data_directory = directory;
  options.database.memory_bytes = size_t{64} << 20;
  options.database.page_mode = storage::PageMode::kSmall;
  options.database.execution = query::ExecutionMode::kInterpreted;
  options.segment_bytes = kSegmentBytes;
  options.archive_log_bytes = 0;
  options.disk = disk;
  return options;
}

Running start(const NodeOptions& options, std::unique_ptr<Disk> own, std::unique_ptr<FakeLink> link) {
  Disk* disk = options.disk;
  Running running;
  running.link = link.get();
  auto seed = make_seed(options, disk, link.get());
  EXPECT_TRUE(seed.ok()) << seed.status();
  if (!seed.ok()) return running;
  running.node = std::make_unique<Follower>(options, std::move(own), disk, std::move(link), *std::move(seed));
  Status begun = running.node->begin();
  EXPECT_TRUE(begun.ok()) << begun;
  return running;
}

// own: the disk's owner, when the node may write archives.
Running start(Disk* disk, std::unique_ptr<Disk> own, const std::string& directory, uint64_t complete_lsn) {
  return start(follower_options(disk, directory), std::move(own), std::make_unique<FakeLink>(complete_lsn));
}

TEST(CurrencyTest, AStateIsAsOldAsTheQuestionThatItAnswers) {
  Currency currency;
  EXPECT_EQ(currency.state_ns(), 0);
  currency.add(10, 1'000, 10);
  EXPECT_EQ(currency.state_ns(), 1'000);
  currency.add(12, 2'000, 10);
  currency.add(15, 3'000, 10);
  EXPECT_EQ(currency.state_ns(), 1'000);
  EXPECT_TRUE(currency.awaits(3'000));
  EXPECT_FALSE(currency.awaits(3'001));
  currency.apply(14);
  EXPECT_EQ(currency.state_ns(), 2'000);
  currency.add(13, 4'000, 14);  // of another primary, whose log ends earlier
  EXPECT_EQ(currency.state_ns(), 4'000);
  currency.apply(20);  // what the first one said is of no use any more
  EXPECT_EQ(currency.state_ns(), 4'000);
  EXPECT_FALSE(currency.awaits(0));
}

// Without a key anybody may send a datagram. A forged one changes neither the term nor the commit point of a node, and
// its group is dropped where it does not fit.
TEST(Follower, AForgedDatagramWithoutAKeyChangesNothing) {
  SimulatedDisk disk;
  make_directory(&disk);
  GroupMaker primary = primary_log();
  const Parcel first = primary.make(1, {0}, 240);
  GroupMaker forger = primary, stranger(kCluster);
  const Parcel second = primary.make(1, {0}, 10, 240);
  Running running = start(&disk, nullptr, kDirectory, 240);
  ASSERT_NE(running.node, nullptr);
  running.link->say({1, 0, 240, 240, 0}, {first});
  ASSERT_TRUE(comes_true([&] { return running.node->readiness().ok(); })) << running.node->readiness();
  const uint64_t far = uint64_t{1} << 60;
  // a term that begins before what the node has, and one that begins far behind
  EXPECT_TRUE(running.node->hear_unproven({std::nullopt, Watermark{9, 100, far, far, 0}, 0}));
  EXPECT_TRUE(running.node->hear_unproven({forger.make(9, {0}, 10), Watermark{9, far, far, far, 0}, 0}));
  // of the term that is: a commit point, a group that follows nothing, and one ahead
  EXPECT_TRUE(running.node->hear_unproven({std::nullopt, Watermark{1, 0, far, far, 0}, 0}));
  while (stranger.lsn() < 240) stranger.make(1, {0}, 40);
  EXPECT_TRUE(running.node->hear_unproven({stranger.make(1, {0}, 10), Watermark{1, 0, 250, 250, 0}, 0}));
  EXPECT_TRUE(running.node->hear_unproven({stranger.make(1, {0}, 10), Watermark{1, 0, 260, 260, 0}, 0}));
  // the primary's own comes by multicast, and is applied when the primary confirms it
  EXPECT_TRUE(running.node->hear_unproven({second, Watermark{1, 0, 250, 250, 0}, 0}));
  NodeInfo info = running.node->info();
  EXPECT_EQ(info.term, 1u);
  EXPECT_EQ(info.received_lsn, 250u);
  EXPECT_EQ(info.known_lsn, 250u);
  EXPECT_EQ(info.commit_lsn, 240u);
  running.link->say({1, 0, 250, 250, 0}, {second});
  ASSERT_TRUE(comes_true([&] { return running.node->info().applied_lsn == 250; }));
  bool starts_empty = false;
  EXPECT_TRUE(running.node->failure(&starts_empty).ok()) << running.node->failure(&starts_empty);
  EXPECT_TRUE(running.node->readiness().ok()) << running.node->readiness();
}

// The stream of the log goes on, but what comes has waited on its way: the primary has more.
TEST(Follower, ADelayedOneKnowsHowOldItsStateIs) {
  SimulatedDisk disk;
  make_directory(&disk);
  GroupMaker primary = primary_log();
  const Parcel first = primary.make(1, {0}, 240), second = primary.make(1, {0}, 10, 240);
  Running running = start(&disk, nullptr, kDirectory, 240);
  ASSERT_NE(running.node, nullptr);
  running.link->set_current(240);
  running.link->say({1, 0, 240, 240, 0}, {first});
  ASSERT_TRUE(comes_true([&] { return running.node->readiness().ok() && running.node->info().applied_lsn == 240; }))
      << running.node->readiness();
  // it may have asked before the primary knew: then it asks again
  ASSERT_TRUE(comes_true([&] { return running.link->has_told(); }));
  int64_t timeout_us = 200'000;  // it waits so long for a newer state
  const auto ask = [&](int64_t staleness_us, query::Receipt* receipt) {
    query::QueryOptions options;
    options.freshness.kind = query::Freshness::Kind::kStaleness;
    options.freshness.staleness_us = staleness_us;
    if (staleness_us == 1'000) options.timeout_us = timeout_us;
    query::ResultSet rows;
    return running.node->queries()->execute("SELECT count(*) FROM pg_class", {}, options, &rows, receipt);
  };
  query::Receipt receipt;
  Status status = ask(0, &receipt);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(receipt.lsn, 240u);
  // beats of the old state go on
  running.link->set_current(250);
  std::this_thread::sleep_for(std::chrono::milliseconds(150));
  EXPECT_EQ(sqlstate_of(ask(1'000, &receipt)), "57P03");
  status = ask(3'600'000'000, &receipt);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(receipt.lsn, 240u);
  EXPECT_GT(receipt.age_ms, 140);  // since before the primary had more
  // a primary that does not answer leaves the age as it was
  running.link->set_current(absl::UnavailableError("gone"));
  EXPECT_EQ(sqlstate_of(ask(1'000, &receipt)), "57P03");
  EXPECT_TRUE(ask(3'600'000'000, &receipt).ok());
  timeout_us = 0;
  running.link->set_current(250);
  running.link->say({1, 0, 250, 250, 0}, {second});
  ASSERT_TRUE(comes_true([&] { return ask(1'000, &receipt).ok(); }));
  EXPECT_EQ(receipt.lsn, 250u);
}

// Its own log has what was never confirmed when it came.
TEST(Follower, ARestartedOneServesWhenItsOwnLogIsConfirmed) {
  SimulatedDisk disk;
  make_directory(&disk);
  GroupMaker primary = primary_log();
  const Parcel first = primary.make(1, {0}, 240), second = primary.make(1, {0}, 10, 240);
  keep(&disk, {}, {first, second});
  Running running = start(&disk, nullptr, kDirectory, 240);
  ASSERT_NE(running.node, nullptr);
  EXPECT_EQ(running.node->info().applied_lsn, 250u);
  // on the primary it is on its way to the disk
  running.link->say({1, 0, 250, 240, 0}, {second});
  ASSERT_TRUE(comes_true([&] {
    const NodeInfo info = running.node->info();
    return info.is_connected && info.commit_lsn == 240 && running.link->position().term == 1;
  }));
  EXPECT_EQ(sqlstate_of(running.node->readiness()), "57P03");
  EXPECT_FALSE(running.link->position().serves);
  running.link->say({1, 0, 250, 250, 0}, {second});
  EXPECT_TRUE(comes_true([&] { return running.node->readiness().ok(); })) << running.node->readiness();
}

// The commit point of a later term covers its LSNs, but not what this node has at them.
TEST(Follower, ATailThatWasNeverConfirmedIsNotServed) {
  SimulatedDisk disk;
  make_directory(&disk);
  GroupMaker primary = primary_log();
  const Parcel first = primary.make(1, {0}, 240);
  GroupMaker mine = primary;
  keep(&disk, {}, {first, mine.make(1, {0}, 10, 240)});
  const Parcel second = primary.make(2, {1}, 10), third = primary.make(2, {2}, 50);
  Running running = start(&disk, nullptr, kDirectory, 300);
  ASSERT_NE(running.node, nullptr);
  running.link->say({3, 300, 300, 300, 0}, {first, second, third});
  bool starts_empty = false;
  ASSERT_TRUE(comes_true([&] { return !running.node->failure(&starts_empty).ok(); }));
  EXPECT_TRUE(starts_empty);
  EXPECT_EQ(running.link->position().term, 0u);  // no copy of anything, at no time
}

// What a node that becomes primary takes over is what it would have recovered from its log, with all that was never
// confirmed.
TEST(Follower, HandsOverWhatRecoveryWouldFind) {
  SimulatedDisk disk;
  make_directory(&disk);
  GroupMaker primary = primary_log();
  const Parcel first = primary.make(1, {0, 1}, 240);
  keep(&disk, {}, {first});
  std::vector<Parcel> parcels = {first};
  parcels.push_back(primary.make(1, {1}, 10, primary.lsn()));
  parcels.push_back(primary.make(2, {2, 0}, 10, primary.lsn()));
  for (int i = 0; i < 20; ++i) parcels.push_back(primary.make(2, {0, 1, 2, 3}, 40, primary.lsn()));  // some segments
  const uint64_t lsn = primary.lsn();
  Running running = start(&disk, nullptr, kDirectory, lsn);
  ASSERT_NE(running.node, nullptr);
  running.link->say({2, first.complete_lsn + 10, lsn, first.complete_lsn + 20, 0}, parcels);
  ASSERT_TRUE(comes_true([&] { return running.node->info().durable_lsn == lsn; }));
  EXPECT_LT(running.node->info().applied_lsn, lsn);
  auto warm = hand_over(running.node.get());
  ASSERT_TRUE(warm.ok()) << warm.status();
  EXPECT_TRUE((*warm)->database != nullptr && (*warm)->requests != nullptr);
  const replay::Recovered& state = (*warm)->recovered;
  auto recovered = recover(&disk);
  ASSERT_TRUE(recovered.ok()) << recovered.status();
  EXPECT_EQ(state.lsn, lsn);
  ASSERT_FALSE((*warm)->newest.empty());
  EXPECT_EQ((*warm)->newest.back().complete_lsn, lsn);
  EXPECT_EQ(state.lsn, recovered->lsn);
  EXPECT_EQ(state.term, recovered->term);
  EXPECT_EQ(state.last_term, recovered->last_term);
  ASSERT_EQ(state.terms.size(), recovered->terms.size());
  for (size_t i = 0; i < state.terms.size(); ++i) {
    EXPECT_EQ(state.terms[i].term, recovered->terms[i].term);
    EXPECT_EQ(state.terms[i].base_lsn, recovered->terms[i].base_lsn);
  }
  ASSERT_EQ(state.positions.size(), recovered->positions.size());
  for (size_t i = 0; i < state.positions.size(); ++i) {
    EXPECT_EQ(state.positions[i].number, recovered->positions[i].number);
    EXPECT_EQ(state.positions[i].hash, recovered->positions[i].hash);
  }
  ASSERT_EQ(state.segments.size(), recovered->segments.size());
  EXPECT_GT(state.segments.size(), 2u);
  for (size_t i = 0; i < state.segments.size(); ++i) {
    EXPECT_EQ(state.segments[i].number, recovered->segments[i].number);
    EXPECT_EQ(state.segments[i].start_lsn, recovered->segments[i].start_lsn);
  }
}

// What a log says, all of it in the stream of what runs alone.
std::string said(uint64_t lsn, std::string_view text) {
  replay::RedoHeader header;
  const bool changes_rows = text.starts_with("INSERT") || text.starts_with("UPDATE") || text.starts_with("DELETE");
  header.kind = changes_rows ? replay::RedoKind::kLogicalText : replay::RedoKind::kDefinition;
  header.partition = replay::kNoPartition;
  header.lsn = lsn;
  header.body_bytes = static_cast<uint32_t>(text.size());
  return std::string(reinterpret_cast<const char*>(&header), sizeof(header)).append(text);
}

int local_indexes_of(const query::Catalog& catalog, std::string_view table) {
  const auto& indexes = catalog.find_table(table)->schema().indexes;
  return static_cast<int>(std::count_if(indexes.begin(), indexes.end(), query::is_local));
}

std::string text_of(const query::ResultSet& result) {
  std::string text;
  for (size_t r = 0; r < result.row_count(); ++r)
    text.append(result.value(r, 0).data(), result.value(r, 0).size()).append("\n");
  return text;
}

std::string plan_of(query::Database* database, const std::string& sql) {
  auto prepared = database->prepare("EXPLAIN (COSTS OFF) " + sql);
  query::ResultSet result;
  const Status status = prepared.ok() ? database->define(**prepared, &result) : prepared.status();
  return status.ok() ? text_of(result) : std::string(status.message());
}

// Replay keeps them, queries use them, and nothing else knows of them: neither what replay compiles, nor archives, nor
// numbers and names that later definitions draw, nor a primary that the node becomes.
TEST(Follower, KeepsIndexesOfItsOwn) {
  std::vector<std::string> texts = {"CREATE TABLE t (a int PRIMARY KEY, b int, c int)",
                                    "INSERT INTO t SELECT i, i % 50, i FROM generate_series(1, 2000) i",
                                    "CREATE INDEX named ON t (c)",
                                    "UPDATE t SET b = b + 1 WHERE a <= 100",
                                    "DELETE FROM t WHERE a > 1900",
                                    "CREATE TABLE u (LIKE t INCLUDING INDEXES)",
                                    "CREATE TABLE late (x int PRIMARY KEY, y int)",
                                    "INSERT INTO late SELECT i, i % 7 FROM generate_series(1, 100) i"};
  for (int i = 0; i < 14; ++i) texts.push_back("CREATE INDEX ON u (b, c)");  // as many as there may be
  for (int i = 0; i < 14; ++i) texts.push_back("CREATE INDEX ON t (c, b)");
  texts.push_back("UPDATE t SET c = 5 WHERE a = 5");
  SimulatedDisk disk;
  make_directory(&disk);
  GroupMaker primary(kCluster, [&](uint64_t lsn) { return said(lsn, texts[lsn - 1]); });
  const Parcel first = primary.make(1, {0}, 2), second = primary.make(1, {0}, 6, 2);
  const Parcel third = primary.make(1, {0}, static_cast<uint32_t>(texts.size()) - 8, 8);
  NodeOptions options = follower_options(&disk, kDirectory);
  options.local_indexes = "t (b, a DESC); late (y) ; nowhere (z); u (b)";
  auto own_link = std::make_unique<FakeLink>(0);
  FakeLink* link = own_link.get();
  auto started = Follower::start(options, nullptr, &disk, std::move(own_link));
  ASSERT_TRUE(started.ok()) << started.status();
  Node& node = **started;
  const auto follow = [&](const Parcel& parcel) {
    link->say({1, 0, parcel.complete_lsn, parcel.complete_lsn, 0}, {parcel});
    return comes_true([&] { return node.info().applied_lsn == parcel.complete_lsn && node.readiness().ok(); });
  };
  ASSERT_TRUE(follow(first)) << node.readiness();
  EXPECT_EQ(local_indexes_of(*node.database()->catalog(), "t"), 1);
  ASSERT_TRUE(follow(second)) << node.readiness();
  auto catalog = node.database()->catalog();
  EXPECT_EQ(local_indexes_of(*catalog, "t"), 1);
  EXPECT_EQ(local_indexes_of(*catalog, "late"), 1);
  EXPECT_EQ(local_indexes_of(*catalog, "u"), 1);  // its own, not t's
  EXPECT_EQ(catalog->next_index_id, 6u);          // three keys, named and its copy
  for (const char* name : {"t", "late", "u"}) storage::check_table(*catalog->find_table(name));

  const std::string query = "SELECT a, rank() OVER (ORDER BY a) FROM t WHERE b = 11";
  query::ResultSet rows;
  Status status = node.queries()->execute("EXPLAIN (COSTS OFF) " + query, {}, {}, &rows, nullptr);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_NE(text_of(rows).find("Index Scan on t"), std::string::npos) << text_of(rows);
  EXPECT_NE(plan_of(node.database(), query).find("Seq Scan on t"), std::string::npos);
  status = node.queries()->execute(query, {}, {}, &rows, nullptr);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(rows.row_count(), 38u);  // 36 as they were made, two as they were changed

  auto other = query::Database::create(options.database);
  ASSERT_TRUE(other.ok()) << other.status();
  auto archived = query::decode_catalog(query::encode_catalog(*catalog), kPartitions, (*other)->arena());
  ASSERT_TRUE(archived.ok()) << archived.status();
  EXPECT_EQ(local_indexes_of(**archived, "t") + local_indexes_of(**archived, "u"), 0);

  ASSERT_TRUE(follow(third)) << node.readiness();  // theirs give way
  catalog = node.database()->catalog();
  EXPECT_EQ(local_indexes_of(*catalog, "t") + local_indexes_of(*catalog, "u"), 0);
  EXPECT_EQ(local_indexes_of(*catalog, "late"), 1);
  ASSERT_TRUE(comes_true([&] { return node.info().durable_lsn == third.complete_lsn; }));
  catalog.reset();  // its tables are the database's
  auto warm = hand_over(&node);
  ASSERT_TRUE(warm.ok()) << warm.status();
  EXPECT_EQ(local_indexes_of(*(*warm)->database->catalog(), "late"), 0);
}

// The definition is the cluster's, caches are the node's own.
TEST(Follower, ChoosesPageCachesOfItsOwn) {
  const std::vector<std::string> texts = {"CREATE TABLE t (a int PRIMARY KEY) WITH (tier_cache = near)",
                                          "CREATE TABLE u (a int PRIMARY KEY)", "ALTER TABLE u SET (tier_cache = far)"};
  char name[] = "/tmp/follower_tier_XXXXXX";
  ASSERT_NE(::mkdtemp(name), nullptr);
  SimulatedDisk disk;
  make_directory(&disk);
  GroupMaker primary(kCluster, [&](uint64_t lsn) { return said(lsn, texts[lsn - 1]); });
  const Parcel all = primary.make(1, {0}, static_cast<uint32_t>(texts.size()));
  NodeOptions options = follower_options(&disk, kDirectory);
  options.database.frozen_bytes = size_t{64} << 20;
  options.database.tier.directory = name;
  options.database.tier.cache_bytes = 16 * storage::FrozenTier::kPageBytes;
  options.database.tier.caches = {{"far", 16 * storage::FrozenTier::kPageBytes}};
  {
    auto own_link = std::make_unique<FakeLink>(0);
    FakeLink* link = own_link.get();
    auto started = Follower::start(options, nullptr, &disk, std::move(own_link));
    if (sqlstate_of(started.status()) == "0A000") GTEST_SKIP() << "no io_uring";
    ASSERT_TRUE(started.ok()) << started.status();
    Node& node = **started;
    link->say({1, 0, all.complete_lsn, all.complete_lsn, 0}, {all});
    ASSERT_TRUE(comes_true([&] { return node.info().applied_lsn == all.complete_lsn && node.readiness().ok(); }));
    const auto catalog = node.database()->catalog();
    const auto t = catalog->find_table("t"), u = catalog->find_table("u");
    EXPECT_EQ(catalog->rules.at(t->schema().id).tier_cache, "near");
    EXPECT_EQ(t->frozen_store()->tier_cache.load(), 0u);
    EXPECT_EQ(u->frozen_store()->tier_cache.load(), 1u);
  }
  std::filesystem::remove_all(name);
}

TEST(Follower, RefusesWrongIndexesOfItsOwn) {
  for (const char* list : {"t", "t (a); t (", "t (a + 1)", "t (a) WHERE a > 0", "t (a) INCLUDE (b)"})
    EXPECT_EQ(sqlstate_of(query::LocalIndexes::parse(list).status()), "22023") << list;
  EXPECT_TRUE(query::LocalIndexes::parse(" ; ")->empty());
}

// Who is told of a node keeps it: a node that cannot begin is gone at once.
TEST(Follower, ANodeThatCannotBeginIsToldToNobody) {
  for (const bool begins : {true, false}) {
    SCOPED_TRACE(begins);
    SimulatedDisk disk;
    make_directory(&disk);
    NodeOptions options = follower_options(&disk, kDirectory);
    if (!begins) options.multicast_key_file = "/nowhere/key";
    Node* told = nullptr;
    options.on_begun = [&](Node* node) { told = node; };
    auto node = Follower::start(options, nullptr, &disk, std::make_unique<FakeLink>(0));
    EXPECT_EQ(node.ok(), begins) << node.status();
    EXPECT_EQ(told, node.ok() ? node->get() : nullptr);
  }
}

// Replay is within the forks of a marker: the digest's, and the snapshot's, for which it needs the queries.
TEST(Follower, HandsOverWhileReplayForks) {
  for (const char* plan : {"secondary.before_fork=sleep(500)*1", "secondary.before_fork=sleep(500)@1*1"}) {
    SCOPED_TRACE(plan);
    SimulatedDisk disk;
    make_directory(&disk);
    GroupMaker primary = primary_log();
    const Parcel first = primary.make(1, {0}, 10), marked = primary.make(1, {0}, 1, 10, /*snapshot=*/1);
    Running running = start(&disk, nullptr, kDirectory, 10);
    ASSERT_NE(running.node, nullptr);
    running.link->say({1, 0, 10, 10, 0}, {first});
    ASSERT_TRUE(comes_true([&] { return running.node->readiness().ok(); })) << running.node->readiness();
    ASSERT_TRUE(arm_failpoints(plan).ok());
    running.link->say({1, 0, 11, 11, 0}, {marked});
    ASSERT_TRUE(comes_true([&] {
      const NodeInfo info = running.node->info();
      return info.applied_lsn == 11 && info.durable_lsn == 11;
    }));
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    auto warm = hand_over(running.node.get());
    disarm_failpoints();
    ASSERT_TRUE(warm.ok()) << warm.status();
    EXPECT_EQ((*warm)->recovered.lsn, 11u);
  }
}

// What was confirmed and the primary lacks is not thrown away, by no start.
TEST(Follower, WhatThePrimaryHasLostIsKept) {
  for (const bool is_heard : {true, false}) {  // or read in the own log
    SCOPED_TRACE(is_heard);
    SimulatedDisk disk;
    make_directory(&disk);
    GroupMaker primary = primary_log();
    const Parcel first = primary.make(1, {0}, 240), second = primary.make(1, {0}, 10, 240);
    const Parcel third = primary.make(1, {0}, 10, 250);
    keep(&disk, {}, {first, second, third});
    bool starts_empty = true;
    {
      Running running = start(&disk, nullptr, kDirectory, 260);
      ASSERT_NE(running.node, nullptr);
      if (is_heard) {
        running.link->say({1, 0, 260, 260, 0}, {third});
        ASSERT_TRUE(comes_true([&] { return running.node->info().commit_lsn == 260; }));
      }
      running.link->say({2, is_heard ? 250u : 240u, 260, 240, 0}, {});
      ASSERT_TRUE(comes_true([&] { return !running.node->failure(&starts_empty).ok(); }));
      const Status failure = running.node->failure(&starts_empty);
      EXPECT_NE(std::string(failure.message()).find(is_heard ? "up to LSN 260" : "up to LSN 250"), std::string::npos)
          << failure;
    }
    EXPECT_FALSE(starts_empty);
    NodeOptions options;
    options.data_directory = kDirectory;
    options.database.memory_bytes = size_t{64} << 20;
    options.database.page_mode = storage::PageMode::kSmall;
    options.disk = &disk;
    FakeLink link(260);
    EXPECT_EQ(sqlstate_of(make_seed(options, &disk, &link).status()), "55000");
    EXPECT_FALSE(storage::list_segments(&disk, replay::log_directory(kDirectory))->empty());
  }
}

// The archive is not named before the node's own log has what is in it.
TEST(Follower, AnArchiveWaitsForTheLog) {
  char name[] = "/tmp/scyper-secondary-XXXXXX";
  ASSERT_NE(::mkdtemp(name), nullptr);
  const std::string directory = std::string(name) + "/data";
  {
    auto disk = make_real_disk();
    Disk* of = disk.get();
    GroupMaker primary = primary_log();
    const Parcel first = primary.make(1, {0}, 10), second = primary.make(1, {0}, 10, 10);
    Running running = start(of, std::move(disk), directory, 0);
    ASSERT_NE(running.node, nullptr);
    running.link->say({1, 0, 10, 10, 0}, {first});
    ASSERT_TRUE(comes_true([&] { return running.node->info().durable_lsn == 10; }));
    ASSERT_TRUE(arm_failpoints("log.before_group_write=sleep(1000)").ok());
    running.link->say({1, 0, 20, 20, 0}, {second});
    ASSERT_TRUE(comes_true([&] { return running.node->info().applied_lsn == 20; }));
    auto written = running.node->write_archive("");
    ASSERT_TRUE(written.ok()) << written.status();
    EXPECT_EQ(written->first.lsn, 20u);
    EXPECT_EQ(running.node->info().durable_lsn, 20u);
    disarm_failpoints();
  }
  std::filesystem::remove_all(name);
}

// Other secondaries, by address: what each has of the log, and where its archive comes from.
class FakePeers {
 public:
  struct One {
    std::vector<Parcel> log;
    size_t dies_after = ~size_t{0};  // groups, of each call
    FakeLink::Archive archive;
  };
  std::map<std::string, One> peers;

  auto connect() {
    return [this](const replication::Peer& peer, uint64_t term, int64_t) -> std::unique_ptr<replication::Link> {
      return std::make_unique<PeerLink>(this, &peers.at(peer.address), term);
    };
  }
  std::vector<replication::Peer> list(uint64_t archive_lsn) const {
    std::vector<replication::Peer> all;
    for (const auto& [address, one] : peers) all.push_back({address, address, 0, one.archive ? archive_lsn : 0});
    return all;
  }
  std::atomic<int> asked{0};

 private:
  class PeerLink final : public FakeLink {
   public:
    PeerLink(FakePeers* owner, One* one, uint64_t term) : FakeLink(0), owner_(owner), one_(one), term_(term) {
      give(one->archive);
    }
    Status follow(const replication::ClusterId&, uint64_t after_lsn, uint64_t upto_lsn, const Each& each,
                  uint64_t) override {
      ++owner_->asked;
      size_t given = 0;
      for (const Parcel& parcel : one_->log) {
        if (parcel.complete_lsn <= after_lsn) continue;
        if (given++ == one_->dies_after) return absl::UnavailableError("it has died");
        if (!each({GroupMaker::fetched(parcel)}, {term_, 0, 0, 0, 0}) || parcel.complete_lsn >= upto_lsn) break;
      }
      return given > 0 ? Status() : absl::OutOfRangeError("it has none");
    }

   private:
    FakePeers* const owner_;
    One* const one_;
    const uint64_t term_;
  };
};

constexpr uint32_t kMany = 1000;  // records of a group

// What was there when it joined comes from others, as far as they have it; the rest, and whatever is wrong, from the
// primary, and no other history gets in.
TEST(Follower, CatchesUpFromOtherSecondaries) {
  enum class Peer : uint8_t { kGood, kDies, kForged, kOfALaterTerm, kHasNothing };
  for (const Peer kind : {Peer::kGood, Peer::kDies, Peer::kForged, Peer::kOfALaterTerm, Peer::kHasNothing}) {
    SCOPED_TRACE(static_cast<int>(kind));
    SimulatedDisk disk;
    make_directory(&disk);
    GroupMaker primary = primary_log();
    std::vector<Parcel> parcels;
    for (int i = 0; i < 10; ++i) parcels.push_back(primary.make(1, {0}, kMany));
    GroupMaker later = primary;
    for (int i = 0; i < 10; ++i) parcels.push_back(primary.make(1, {0}, kMany));
    FakePeers others;
    FakePeers::One& other = others.peers["other:1"];
    other.log = parcels;
    if (kind == Peer::kDies) other.dies_after = 10;
    if (kind == Peer::kHasNothing) other.log.clear();
    if (kind == Peer::kForged) {  // a byte of a batch
      std::string bytes = *parcels[10].bytes;
      bytes[bytes.size() / 2] ^= 4;
      other.log[10].bytes = std::make_shared<const std::string>(bytes);
    }
    if (kind == Peer::kOfALaterTerm) {  // by its own primary
      other.log.resize(10);
      for (int i = 0; i < 10; ++i) other.log.push_back(later.make(2, {0}, kMany));
    }
    NodeOptions options = follower_options(&disk, kDirectory);
    options.connect_peer = others.connect();
    auto link = std::make_unique<FakeLink>(primary.lsn());
    link->tell({1, 0, primary.lsn(), primary.lsn(), 0}, others.list(0));
    Running running = start(options, nullptr, std::move(link));
    ASSERT_NE(running.node, nullptr);
    EXPECT_EQ(running.node->info().seeded_from, "log of the primary");
    const uint64_t given = kind == Peer::kGood ? 20 : kind == Peer::kHasNothing ? 0 : 10;
    ASSERT_TRUE(comes_true([&] { return running.node->info().durable_lsn == given * kMany; }));
    ASSERT_TRUE(comes_true([&] { return others.asked > 0 && running.node->info().peer_groups == given; }));
    if (given > 0) {
      ASSERT_TRUE(comes_true([&] { return running.node->info().peer == "other:1"; }));
    }
    running.link->say({1, 0, primary.lsn(), primary.lsn(), 0}, parcels);
    ASSERT_TRUE(comes_true([&] { return running.node->info().applied_lsn == primary.lsn(); }));
    ASSERT_TRUE(comes_true([&] { return running.node->readiness().ok(); })) << running.node->readiness();
    const NodeInfo info = running.node->info();
    EXPECT_EQ(info.peer_groups, given);
    EXPECT_EQ(info.peer_failures, kind == Peer::kGood || kind == Peer::kHasNothing ? 0u : 1u);
    EXPECT_EQ(info.term, 1u);
    // what it has it gives to others, of this term only
    uint64_t shared_lsn = 0;
    const auto& offer = running.node->peer_publisher();
    const auto each = [&](const Parcel& parcel) {
      shared_lsn = parcel.complete_lsn;
      return true;
    };
    EXPECT_TRUE(offer.read_log(1, 3 * kMany, 17 * kMany, each).ok());
    EXPECT_EQ(shared_lsn, 17u * kMany);
    EXPECT_TRUE(absl::IsOutOfRange(offer.read_log(1, primary.lsn(), primary.lsn() + 1, each)));
    EXPECT_TRUE(absl::IsFailedPrecondition(offer.read_log(2, 0, kMany, each)));
    EXPECT_TRUE(absl::IsFailedPrecondition(offer.newest_archive(2).status()));
    EXPECT_TRUE(absl::IsNotFound(offer.newest_archive(1).status()));
    running.link->say({2, primary.lsn(), primary.lsn(), primary.lsn(), 0}, {});  // and it has not been compared yet
    ASSERT_TRUE(comes_true([&] { return running.node->info().term == 2; }));
    EXPECT_TRUE(absl::IsFailedPrecondition(offer.read_log(1, 0, kMany, each)));
    EXPECT_TRUE(absl::IsFailedPrecondition(offer.read_log(2, 0, kMany, each)));
  }
}

PartitionSet one_partition() {
  PartitionSet set;
  set.add(1);
  return set;
}

// The records of its streams are applied, of the others nothing; it gives nothing and asks nobody but the primary.
TEST(Follower, OneWithASubscriptionAppliesItsStreams) {
  const auto disk = make_real_disk();
  GroupMaker primary = primary_log();
  std::vector<Parcel> parcels;
  const std::vector<std::vector<uint32_t>> streams = {{0, 1, 2, 3}, {1, 3}, {2}, {0, 3}};  // 40 of 0 and 2
  for (const auto& each : streams) {
    parcels.push_back(*replication::partial_parcel(primary.make(1, each, 10), one_partition()));
  }
  FakePeers others;
  others.peers["other:1"].log = parcels;
  NodeOptions options = follower_options(disk.get(), "");
  options.link.partitions = one_partition();
  options.connect_peer = others.connect();
  auto link = std::make_unique<FakeLink>(primary.lsn());
  link->tell({1, 0, primary.lsn(), primary.lsn(), 0}, others.list(0));
  Running running = start(options, nullptr, std::move(link));
  ASSERT_NE(running.node, nullptr);
  running.link->say({1, 0, primary.lsn(), primary.lsn(), 0}, parcels);
  ASSERT_TRUE(comes_true([&] { return running.node->info().applied_lsn == primary.lsn(); }));
  const NodeInfo info = running.node->info();
  EXPECT_EQ(info.transactions, 40u);
  EXPECT_EQ(info.subscribed, "1");
  EXPECT_EQ(others.asked, 0);
  const auto& offer = running.node->peer_publisher();
  EXPECT_TRUE(absl::IsFailedPrecondition(offer.read_log(1, 0, 10, [](const Parcel&) { return true; })));
  EXPECT_TRUE(absl::IsFailedPrecondition(offer.newest_archive(1).status()));
  EXPECT_EQ(sqlstate_of(running.node->write_archive("/tmp/nowhere").status()), "0A000");
}

// Before anybody is asked.
TEST(Follower, OneWithASubscriptionIsNobodysCopy) {
  const auto refused = [](const std::function<void(NodeOptions*)>& change) {
    NodeOptions options = follower_options(nullptr, "");
    options.link.target = "127.0.0.1:1";
    options.join_us_max = 1000;
    options.link.call_us = 100'000;
    options.link.partitions = one_partition();
    change(&options);
    return sqlstate_of(Node::start(options).status());
  };
  EXPECT_EQ(refused([](NodeOptions*) {}), "08001");  // that nobody is there is all
  EXPECT_EQ(refused([](NodeOptions* options) { options->link.is_voter = true; }), "22023");
  EXPECT_EQ(refused([](NodeOptions* options) { options->data_directory = "/nowhere"; }), "22023");
  EXPECT_EQ(refused([](NodeOptions* options) { options->archive_directory = "/nowhere"; }), "22023");
  EXPECT_EQ(
      refused([](NodeOptions* options) { options->link.admits = [](uint64_t, const std::string&) { return true; }; }),
      "22023");
}

FakeLink::Archive archive_of(uint64_t lsn, uint64_t term, const replication::ClusterId& cluster = kCluster,
                             uint32_t partitions = kPartitions) {
  return [=](Disk* disk, const std::string& archives) -> StatusOr<std::string> {
    storage::ArchiveManifest manifest;
    manifest.cluster[0] = cluster.words[0];
    manifest.cluster[1] = cluster.words[1];
    manifest.term = term;
    manifest.lsn = lsn;
    manifest.partitions = partitions;
    SCYPER_RETURN_IF_ERROR(replay::write_archive(disk, archives, query::Catalog(), manifest, {}).status());
    return storage::archive_path(archives, lsn);
  };
}

// Whatever is wrong with what another secondary gives, the primary is asked, and nothing is left of it.
TEST(Seed, ArchivesComeFromOtherSecondaries) {
  const auto dies = [](Disk* disk, const std::string& archives) -> StatusOr<std::string> {
    const std::string path = storage::archive_path(archives, 20);
    SCYPER_RETURN_IF_ERROR(disk->make_directory(archives));
    SCYPER_RETURN_IF_ERROR(disk->make_directory(path));
    SCYPER_RETURN_IF_ERROR(disk->open(path + "/MANIFEST.tmp", OpenMode::kCreate).status());
    return absl::UnavailableError("it has died");
  };
  const struct {
    const char* what;
    FakeLink::Archive archive;
    bool is_taken;
  } kCases[] = {
      {"good", archive_of(20, 3), true},
      {"older, of the term that its LSN is of", archive_of(20, 2), true},
      {"dies in the middle", dies, false},
      {"a history that the primary's term has cut", archive_of(20, 1), false},
      {"of a primary that is to come", archive_of(20, 4), false},
      {"another cluster's", archive_of(20, 3, {{7, 8}}), false},
      {"of other partitions", archive_of(20, 3, kCluster, kPartitions + 1), false},
  };
  for (const auto& [what, archive, is_taken] : kCases) {
    SCOPED_TRACE(what);
    SimulatedDisk disk;
    FakePeers others;
    others.peers["other:1"].archive = archive;
    NodeOptions options = follower_options(&disk, kDirectory);
    options.connect_peer = others.connect();
    FakeLink link(40);
    link.set_terms(3, {{1, 0}, {2, 15}, {3, 30}});
    link.tell({3, 30, 40, 40, 0}, others.list(20));
    link.give(archive_of(10, 1));
    auto seed = make_seed(options, &disk, &link);
    ASSERT_TRUE(seed.ok()) << seed.status();
    EXPECT_EQ(seed->source, is_taken ? "other:1" : "primary");
    EXPECT_EQ(seed->recovered.archive_lsn, is_taken ? 20u : 10u);
    EXPECT_EQ(seed->peer_failures, is_taken ? 0u : 1u);
    const auto archives = storage::list_archives(&disk, replay::archives_directory(kDirectory));
    ASSERT_TRUE(archives.ok());
    EXPECT_EQ(archives->size(), 1u);
  }
}

}  // namespace
}  // namespace scyper::secondary
