#include "group_commit.h"

#include <gtest/gtest.h>

#include <thread>

#include "base/simulated_disk.h"
#include "primary/engine.h"
#include "redo_stream.h"
#include "replay/log_scan.h"

namespace scyper::primary {
namespace {

constexpr replication::ClusterId kCluster{{1, 2}};

// A transaction that remembers when it was answered.
struct Client : Transaction {
  uint64_t lsn = 0;
  GroupCommit* log = nullptr;
  std::atomic<uint64_t>* last_answered = nullptr;
  std::atomic<uint64_t>* answered = nullptr;
};

void on_done(Transaction* transaction) {
  auto* client = static_cast<Client*>(transaction);
  EXPECT_LE(client->lsn, client->log->durable_lsn());
  client->last_answered->store(client->lsn);
  client->answered->fetch_add(1);
}

// Threads commit as workers do, each in a stream of its own, while the log writer and the maker of segments run.
TEST(GroupCommitTest, ThreadsCommitWhileGroupsAreWritten) {
  constexpr uint32_t kWorkers = 3;
  constexpr uint64_t kCommits = 4000;
  SimulatedDisk disk;
  ASSERT_TRUE(disk.make_directory("/log").ok());
  LogOptions options;
  options.segment_bytes = 64 << 10;
  storage::LogAppender::Options appender;
  appender.cluster[0] = kCluster.words[0];
  appender.cluster[1] = kCluster.words[1];
  appender.segment_bytes = options.segment_bytes;
  auto made = storage::LogAppender::create(&disk, "/log", appender, {});
  ASSERT_TRUE(made.ok());
  LsnCounter lsns;
  RealClock clock;
  std::vector<std::unique_ptr<LogBuffer>> buffers;
  std::vector<std::unique_ptr<RedoStream>> streams;
  GroupCommit::Start start;
  start.appender = *std::move(made);
  start.cluster = kCluster;
  for (uint32_t i = 0; i < kWorkers; ++i) {
    buffers.push_back(std::make_unique<LogBuffer>());
    start.streams.push_back(buffers.back().get());
    streams.push_back(std::make_unique<RedoStream>(i, buffers.back().get(), nullptr, &lsns));
  }
  auto log = std::make_unique<GroupCommit>(options, std::move(start), &lsns, kWorkers, &clock);
  log->start();
  std::vector<std::vector<Client>> clients(kWorkers);
  std::atomic<uint64_t> last_answered{0}, answered{0};
  for (auto& own : clients) own = std::vector<Client>(kCommits);
  std::vector<std::thread> workers;
  for (uint32_t w = 0; w < kWorkers; ++w) {
    workers.emplace_back([&, w] {
      std::string body(100, static_cast<char>('a' + w));
      for (uint64_t i = 0; i < kCommits; ++i) {
        RedoHeader header;
        header.kind = RedoKind::kPhysical;
        Client& client = clients[w][i];
        client.lsn = streams[w]->append(header, body);
        client.log = log.get();
        client.last_answered = &last_answered;
        client.answered = &answered;
        client.done = on_done;
        log->acknowledge(w, &client, client.lsn);
        if (i % 64 == 0) log->idle();
      }
      log->idle();
    });
  }
  for (std::thread& worker : workers) worker.join();
  EXPECT_TRUE(log->wait_confirmed(lsns.last.load()).ok());
  for (int i = 0; i < 60'000 && answered < kWorkers * kCommits; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_EQ(answered, kWorkers * kCommits);
  log.reset();
  auto scan = replay::LogScan::open(&disk, "/log", kCluster);
  ASSERT_TRUE(scan.ok());
  uint64_t records = 0;
  replay::ScannedSegment segment;
  while (true) {
    auto any = (*scan)->next(&segment);
    ASSERT_TRUE(any.ok()) << any.status();
    if (!*any) break;
    for (const auto& group : segment.groups) {
      for (const auto& batch : group.batches) records += batch.header.count;
    }
  }
  EXPECT_EQ(records, kWorkers * kCommits);
  EXPECT_EQ((*scan)->complete_lsn(), kWorkers * kCommits);
}

// Copies that nobody makes: a node that stops answers all the same.
TEST(GroupCommitTest, GivesUpWhatIsNotConfirmed) {
  SimulatedDisk disk;
  ASSERT_TRUE(disk.make_directory("/log").ok());
  MetricsRegistry metrics;
  LogOptions options;
  options.metrics = &metrics;
  options.mode = CommitMode::kQuorum;
  options.segment_bytes = 64 << 10;
  storage::LogAppender::Options appender;
  appender.segment_bytes = options.segment_bytes;
  auto made = storage::LogAppender::create(&disk, "/log", appender, {});
  ASSERT_TRUE(made.ok());
  LsnCounter lsns;
  RealClock clock;
  LogBuffer buffer;
  RedoStream stream(0, &buffer, nullptr, &lsns);
  replication::Members members(1, [] {});
  GroupCommit::Start start;
  start.appender = *std::move(made);
  start.streams = {&buffer};
  start.members = &members;
  start.copies = 1;
  GroupCommit log(options, std::move(start), &lsns, 1, &clock);
  log.start();
  std::atomic<int> answered{0};
  struct Waiting : Transaction {
    std::atomic<int>* answered = nullptr;
  };
  std::vector<Waiting> waiting(2);
  const auto commit = [&](Waiting* one) {
    RedoHeader header;
    header.kind = RedoKind::kPhysical;
    one->answered = &answered;
    one->done = [](Transaction* transaction) { static_cast<Waiting*>(transaction)->answered->fetch_add(1); };
    log.acknowledge(0, one, stream.append(header, "x"));
    log.idle();
  };
  const auto is_answered = [&](int count) {
    for (int i = 0; i < 60'000 && answered < count; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return answered == count;
  };
  commit(&waiting[0]);
  std::thread waiter([&] { EXPECT_EQ(sqlstate_of(log.wait_confirmed(1)), "57P01"); });
  while (log.durable_lsn() < 1) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_EQ(answered, 0);
  log.give_up();
  waiter.join();
  ASSERT_TRUE(is_answered(1));
  commit(&waiting[1]);  // it was accepted before
  ASSERT_TRUE(is_answered(2));
  // how long the quorum took is known when it has what was sent
  const auto timed = [&metrics] {
    for (const MetricFamily& family : metrics.collect()) {
      if (family.name == "scyper_log_quorum_duration_seconds") return family.samples.at(0).timer.count;
    }
    return uint64_t{99};
  };
  EXPECT_EQ(timed(), 0u);
  replication::Member voter;
  voter.name = "v";
  voter.is_voter = true;
  const uint64_t number = members.enter(voter);
  replication::Position position;
  position.term = 1;
  position.received_lsn = position.durable_lsn = 2;
  members.report(number, position, 0);
  log.wake();
  for (int i = 0; i < 60'000 && log.confirmed_lsn() < 2; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_EQ(log.confirmed_lsn(), 2u);
  for (int i = 0; i < 60'000 && timed() == 0; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_GT(timed(), 0u);  // as many as there were groups
  for (const Waiting& one : waiting) EXPECT_EQ(sqlstate_of(one.status), "08007");
}

}  // namespace
}  // namespace scyper::primary
