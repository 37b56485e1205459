// Power losses under the log: everything from commit to acknowledgement on a simulated disk, in one thread from one
// seed. SCYPER_TEST_LOG_IMAGES says how many images are opened; SCYPER_TEST_SEED repeats a run.

#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>

#include "base/clock.h"
#include "base/simulated_disk.h"
#include "base/test_seed.h"
#include "group_commit.h"
#include "primary/engine.h"
#include "redo_stream.h"
#include "replay/log_scan.h"

namespace scyper::primary {
namespace {

constexpr char kLog[] = "/log";
constexpr replication::ClusterId kCluster{{7, 8}};
constexpr uint32_t kStreams = 4;

uint64_t number_from(const char* variable, uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

// What a log holds: bodies by LSN, and where it ends.
struct Content {
  std::map<uint64_t, std::string> records;
  uint64_t complete_lsn = 0;
  std::vector<storage::StreamPosition> positions;
  std::vector<storage::LogAppender::Existing> segments;
  bool was_torn = false;
};

StatusOr<Content> read_log(Disk* disk, bool cuts) {
  SCYPER_ASSIGN_OR_RETURN(auto scan, replay::LogScan::open(disk, kLog, kCluster));
  Content content;
  replay::ScannedSegment segment;
  std::string raw;
  while (true) {
    SCYPER_ASSIGN_OR_RETURN(const bool any, scan->next(&segment));
    if (!any) break;
    for (const auto& group : segment.groups) {
      for (const auto& batch : group.batches) {
        SCYPER_RETURN_IF_ERROR(replication::unpack_batch(batch.header, batch.body, &raw));
        std::string_view rest = raw;
        replay::RecordView record;
        while (replay::take_record(&rest, &record)) content.records[record.header.lsn] = std::string(record.body);
      }
    }
  }
  content.was_torn = scan->is_torn();
  if (cuts) SCYPER_RETURN_IF_ERROR(scan->cut());
  content.complete_lsn = scan->complete_lsn();
  content.positions = scan->positions();
  content.segments = scan->segments();
  return content;
}

// A node's log without the node: streams, log writer, clients that wait.
class LogUnderTest {
 public:
  LogUnderTest(Disk* disk, const Content& found, Random* random) : random_(random) {
    lsns_.last = found.complete_lsn;
    LogOptions options;
    options.segment_bytes = 64 << 10;
    options.batch_bytes = 4 << 10;
    options.on_failure = [](const Status&) {};
    storage::LogAppender::Options appender;
    appender.cluster[0] = kCluster.words[0];
    appender.cluster[1] = kCluster.words[1];
    appender.segment_bytes = options.segment_bytes;
    GroupCommit::Start start;
    auto made = storage::LogAppender::create(disk, kLog, appender, found.segments);
    EXPECT_TRUE(made.ok()) << made.status();
    start.appender = *std::move(made);
    start.cluster = kCluster;
    start.positions = found.positions;
    start.durable_lsn = found.complete_lsn;
    for (uint32_t i = 0; i < kStreams; ++i) {
      buffers_.push_back(std::make_unique<LogBuffer>());
      start.streams.push_back(buffers_.back().get());
      streams_.push_back(std::make_unique<RedoStream>(i, buffers_.back().get(), nullptr, &lsns_));
    }
    log_ = std::make_unique<GroupCommit>(options, std::move(start), &lsns_, 1, &clock_);
  }

  // One transaction commits and waits; `model` gets what it wrote.
  void commit(std::map<uint64_t, std::string>* model) {
    std::string body(1 + random_->below(random_->one_in(20) ? 9000 : 200), '\0');
    for (char& c : body) c = static_cast<char>(random_->below(random_->one_in(2) ? 4 : 256));
    RedoHeader header;
    header.kind = RedoKind::kPhysical;
    const uint64_t lsn = streams_[random_->below(kStreams)]->append(header, body);
    (*model)[lsn] = body;
    waiting_.push_back(std::make_unique<Client>());
    Client* client = waiting_.back().get();
    client->lsn = lsn;
    client->owner = this;
    client->done = [](Transaction* transaction) {
      auto* answered = static_cast<Client*>(transaction);
      if (!answered->status.ok()) return;
      auto* self = static_cast<LogUnderTest*>(answered->owner);
      EXPECT_GT(answered->lsn, self->acknowledged_);  // in LSN order
      self->acknowledged_ = answered->lsn;
    };
    log_->acknowledge(0, client, lsn);
  }
  bool flush() { return log_->run_once(); }
  uint64_t acknowledged() const { return acknowledged_; }
  GroupCommit& log() { return *log_; }

 private:
  struct Client : Transaction {
    uint64_t lsn = 0;
  };
  Random* const random_;
  ManualClock clock_;
  LsnCounter lsns_;
  std::vector<std::unique_ptr<LogBuffer>> buffers_;
  std::vector<std::unique_ptr<RedoStream>> streams_;
  std::vector<std::unique_ptr<Client>> waiting_;
  uint64_t acknowledged_ = 0;
  std::unique_ptr<GroupCommit> log_;
};

std::unique_ptr<SimulatedDisk> new_disk() {
  auto disk = std::make_unique<SimulatedDisk>();
  EXPECT_TRUE(disk->make_directory(kLog).ok());
  EXPECT_TRUE(disk->sync_directory("/").ok());
  return disk;
}

// The three promises: nothing acknowledged is lost, nothing is there that was not committed, no hole.
void check(const Content& content, const std::map<uint64_t, std::string>& model, uint64_t acknowledged) {
  ASSERT_GE(content.complete_lsn, acknowledged);
  ASSERT_EQ(content.records.size(), content.complete_lsn);
  for (const auto& [lsn, body] : content.records) {
    auto found = model.find(lsn);
    ASSERT_TRUE(found != model.end()) << lsn;
    ASSERT_EQ(found->second, body) << lsn;
  }
}

// Opens an image, looks, cuts, goes on writing, looks again.
void open_image(SimulatedDisk* image, std::map<uint64_t, std::string> model, uint64_t acknowledged, uint64_t seed,
                uint64_t* torn) {
  auto content = read_log(image, /*cuts=*/true);
  ASSERT_TRUE(content.ok()) << content.status();
  *torn += content->was_torn ? 1 : 0;
  check(*content, model, acknowledged);
  if (testing::Test::HasFatalFailure() || seed % 8 != 0) return;
  Random random(seed);
  model = content->records;  // what was not acknowledged and is not there never will be
  LogUnderTest log(image, *content, &random);
  for (int i = 0; i < 5; ++i) {
    log.commit(&model);
    log.commit(&model);
    if (i == 2) log.log().begin_segment();
    ASSERT_TRUE(log.flush());
  }
  auto again = read_log(image->after_power_loss(seed).get(), /*cuts=*/false);
  ASSERT_TRUE(again.ok()) << again.status();
  check(*again, model, log.acknowledged());
}

TEST(LogImages, PowerLossAtEveryMoment) {
  const uint64_t seed = test_seed();
  const uint64_t wanted = number_from("SCYPER_TEST_LOG_IMAGES", 5000);
  Random random(seed);
  uint64_t images = 0, torn = 0, runs = 0;
  while (images < wanted && !HasFatalFailure()) {
    auto disk = new_disk();
    std::map<uint64_t, std::string> model;
    LogUnderTest* current = nullptr;
    bool is_busy = false;
    disk->set_observer([&] {
      if (current == nullptr || is_busy || HasFatalFailure()) return;
      is_busy = true;
      for (int i = 0; i < 3; ++i) {
        const uint64_t luck = random.next();
        open_image(disk->after_power_loss(luck).get(), model, current->acknowledged(), luck, &torn);
        ++images;
        if (HasFatalFailure()) break;
      }
      is_busy = false;
    });
    LogUnderTest log(disk.get(), Content(), &random);
    current = &log;
    for (int i = 0; i < 30 && images < wanted; ++i) {
      for (uint64_t n = random.below(12); n > 0; --n) log.commit(&model);
      if (random.one_in(8)) log.log().begin_segment();
      log.flush();
    }
    current = nullptr;
    disk->set_observer(nullptr);
    ++runs;
  }
  printf("%llu images of %llu runs, %llu torn\n", static_cast<unsigned long long>(images),
         static_cast<unsigned long long>(runs), static_cast<unsigned long long>(torn));
  EXPECT_GT(torn, wanted / 50);
}

TEST(LogImages, TheNthWriteOrSyncFails) {
  const uint64_t seed = test_seed();
  for (auto operation :
       {SimulatedDisk::Operation::kWrite, SimulatedDisk::Operation::kSync, SimulatedDisk::Operation::kName}) {
    int failed = 0;
    for (uint64_t n = 0; n < 60; ++n) {
      Random random(seed + n);
      auto disk = new_disk();
      std::map<uint64_t, std::string> model;
      LogUnderTest log(disk.get(), Content(), &random);
      disk->fail(operation, n);
      for (int i = 0; i < 40; ++i) {
        for (int c = 0; c < 5; ++c) log.commit(&model);
        if (random.one_in(8)) log.log().begin_segment();
        if (!log.flush()) break;
      }
      failed += log.log().is_failed() ? 1 : 0;
      for (uint64_t luck = 0; luck < 8; ++luck) {
        auto content = read_log(disk->after_power_loss(seed + luck).get(), /*cuts=*/true);
        ASSERT_TRUE(content.ok()) << content.status() << " n=" << n;
        check(*content, model, log.acknowledged());
        if (HasFatalFailure()) return;
      }
    }
    EXPECT_GT(failed, 0);
  }
}

TEST(LogImages, FullDiskLosesNothing) {
  Random random(test_seed());
  auto disk = new_disk();
  std::map<uint64_t, std::string> model;
  LogUnderTest log(disk.get(), Content(), &random);
  disk->set_capacity(200 << 10);
  uint64_t waits = 0;
  for (int i = 0; i < 400; ++i) {
    log.commit(&model);
    if (random.one_in(16)) log.log().begin_segment();
    if (log.flush()) continue;
    ASSERT_TRUE(log.log().is_full());
    ASSERT_FALSE(log.log().is_failed());
    EXPECT_EQ(sqlstate_of(log.log().refusal()), "53100");
    if (++waits == 3) disk->set_capacity(~uint64_t{0});
  }
  EXPECT_GE(waits, 3u);
  EXPECT_EQ(log.acknowledged(), 400u);
  auto content = read_log(disk->after_power_loss(1).get(), false);
  ASSERT_TRUE(content.ok()) << content.status();
  check(*content, model, log.acknowledged());
}

// Damage, not power loss: whatever byte changes, either the log is refused with its place, or it lies where nothing
// that was acknowledged can be told from what never was: in the last group and behind it.
TEST(LogImages, FlippedBytes) {
  const uint64_t seed = test_seed();
  Random random(seed);
  auto disk = new_disk();
  std::map<uint64_t, std::string> model;
  LogUnderTest log(disk.get(), Content(), &random);
  uint64_t before_last = 0;
  for (int i = 0; i < 60; ++i) {
    before_last = log.acknowledged();
    for (int c = 0; c < 8; ++c) log.commit(&model);
    ASSERT_TRUE(log.flush());
  }
  auto whole = read_log(disk->after_kill().get(), false);
  ASSERT_TRUE(whole.ok());
  const auto segments = whole->segments;
  ASSERT_GT(segments.size(), 2u);
  uint64_t refused = 0, harmless = 0;
  const uint64_t flips = number_from("SCYPER_TEST_LOG_FLIPS", 2000);
  for (uint64_t i = 0; i < flips; ++i) {
    auto image = disk->after_kill();
    const std::string path = storage::segment_path(kLog, segments[random.below(segments.size())].number);
    const uint64_t offset = random.below(image->read_file(path)->size());
    image->flip(path, offset, static_cast<uint8_t>(1u << random.below(8)));
    auto content = read_log(image.get(), false);
    if (!content.ok()) {
      ++refused;
      EXPECT_EQ(sqlstate_of(content.status()), "XX001") << content.status();
      EXPECT_NE(std::string(content.status().message()).find(kLog), std::string::npos) << content.status();
      continue;
    }
    ++harmless;
    ASSERT_GE(content->complete_lsn, before_last) << path << " " << offset;
    for (const auto& [lsn, body] : content->records) ASSERT_EQ(model[lsn], body);
  }
  printf("%llu refused, %llu in the last group or behind it\n", static_cast<unsigned long long>(refused),
         static_cast<unsigned long long>(harmless));
  EXPECT_GT(refused, flips / 4);
}

}  // namespace
}  // namespace scyper::primary
