#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/simulated_disk.h"
#include "base/test_seed.h"
#include "replication/bulk_server.h"
#include "replication/link.h"
#include "replication/publisher.h"
#include "testing/loopback_server.h"
#include "testing/memory_bulk.h"

namespace scyper::replication {

inline constexpr ClusterId kCluster{{7, 9}};
inline constexpr uint64_t kRecords = 3;  // of a group

// A primary of two partitions with its service, for links over real gRPC.
class LinkTest : public testing::Test {
 protected:
  LinkTest();
  ~LinkTest() override;
  // The same again, of another commit mode.
  void awaits_positions(bool awaits);
  void serve(bool awaits_positions);

  std::unique_ptr<Link> link(const std::string& node, const PartitionSet& partitions = PartitionSet::all()) {
    LinkOptions options;
    options.partitions = partitions;
    options.target = absl::StrCat("127.0.0.1:", port_);
    options.node = node;
    options.is_voter = true;
    options.call_us = call_us_;
    options.connect_bulk = [this](const ClusterId&, const BulkAddress&) { return connect_bulk(); };
    return Link::make(options);
  }
  // A channel in memory: the source's end is offered, the sink's end awaits who connects.
  StatusOr<std::unique_ptr<BulkChannel>> offer_bulk() {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!has_bulk_) return absl::UnavailableError("no device in this test");
    pair_ = std::make_shared<MemoryBulkPair>(4, test_seed());
    return std::make_unique<MemoryBulkPair::End>(pair_, /*is_source=*/true, kCluster, nullptr);
  }
  StatusOr<std::unique_ptr<BulkChannel>> connect_bulk() {
    std::lock_guard<std::mutex> lock(mutex_);
    return std::make_unique<MemoryBulkPair::End>(pair_, /*is_source=*/false, kCluster, nullptr);
  }
  void make_archive(const std::map<std::string, std::string>& files) {
    std::lock_guard<std::mutex> lock(mutex_);
    archive_ = "/00000000000000000010";
    ASSERT_TRUE(disk_.make_directory(archive_).ok());
    for (const auto& [name, bytes] : files) {
      auto file = disk_.open(archive_ + "/" + name, OpenMode::kCreate);
      ASSERT_TRUE(file.ok() && (*file)->write(0, bytes).ok());
    }
  }
  void expect_archive(Disk* at, const std::map<std::string, std::string>& files) {
    for (const auto& [name, bytes] : files) {
      auto found = at->read_file("/to" + archive_ + "/" + name);
      EXPECT_TRUE(found.ok() && *found == bytes) << name;
    }
  }
  void send_group() {
    const uint64_t base = outbox_.watermark().complete_lsn;
    BatchHeader header;
    header.cluster = kCluster;
    header.term = 1;
    header.number = ++position_.number;
    header.previous_hash = position_.hash;
    header.first_lsn = base + 1;
    header.last_lsn = header.complete_lsn = base + kRecords;
    header.count = kRecords;
    const std::string raw(100, 'r');
    std::string out(batch_bytes_max(raw.size()), '\0');
    out.resize(write_batch(&header, raw, false, out.data()));
    position_.hash = header.header_hash;
    outbox_.send(out, header.complete_lsn, 0, 0);
  }

  RealClock clock_;
  SimulatedDisk disk_;  // the primary's
  std::mutex mutex_;
  std::string archive_;         // its newest, empty = none
  ArchiveParts archive_parts_;  // of it, that partition 1 needs
  TierFilePaths tier_files_;    // that it names
  bool takes_partial_ = false;
  bool says_current_ = false;  // from the next serve() on
  std::vector<Parcel> files_;  // of the log, that the outbox does not hold
  bool has_bulk_ = false;
  std::shared_ptr<MemoryBulkPair> pair_;  // of the channel that was opened last
  BulkServer bulk_{[this](BulkAddress*) { return offer_bulk(); }};
  int64_t call_us_ = 5'000'000;
  Outbox outbox_;
  Members members_;
  DigestBook digests_;
  std::shared_ptr<grpc::Service> publisher_;
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
  ChainPosition position_;  // of the one stream
};

// Where a byte lies tells its file and its place: what comes twice, or not, is seen.
inline std::map<std::string, std::string> archive_files() {
  std::map<std::string, std::string> files = {{"MANIFEST", std::string(3000, 'm')}, {"empty", ""}};
  for (const char* name : {"t1.10.dat", "t2.10.dat"}) {
    std::string& bytes = files[name];
    bytes.resize(size_t{6} << 20);
    for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(name[1] + i * 31 + i / 1013);
  }
  return files;
}

}  // namespace scyper::replication
