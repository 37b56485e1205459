#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/disk.h"
#include "base/partition_set.h"
#include "base/status.h"
#include "replication/digests.h"
#include "replication/log_terms.h"
#include "replication/members.h"
#include "replication/outbox.h"

namespace grpc {
class Service;
}

namespace scyper::replication {

class BulkServer;

// How the primary sends, for those who join.
struct TransportInfo {
  std::string kind = "unicast";  // or "pgm", "rdma"
  std::string multicast_group;   // 239.x.y.z
  uint16_t multicast_port = 0;
  uint32_t channels = 1;  // multicast groups from multicast_group on (replication/channels.h)
  uint32_t datagram_bytes = 0;
  std::string note;     // for people: why not as it was asked for
  bool is_raw = false;  // multicast by IP's protocol 113, not UDP
  bool is_encrypted = false;
  uint64_t key_fingerprint = 0;
  uint64_t datagrams_sent = 0;
  uint64_t registered_bytes = 0;  // with an RDMA device
  uint64_t bulk_bytes = 0;        // of archives and the log for those who have asked, by RDMA
};

struct Ticket {
  uint64_t term = 0;
  uint32_t snapshot = 0;
  uint64_t lsn = 0;
  std::string node;  // empty: the primary itself
  std::string address;
  uint64_t member = 0;  // the node's connection; at the primary only
};

// Files of a node's tier (docs/tiering.md), by name: where they lie.
using TierFilePaths = std::map<std::string, std::string>;
// Of an archive's files, by name: ranges of bytes, rising, each with its end behind it.
using ArchiveParts = std::map<std::string, std::vector<std::pair<uint64_t, uint64_t>>>;

// What a primary offers to its secondaries, as a gRPC service (proto/replication.proto).
// All functions are called by any thread and may wait.
struct PublisherOptions {
  Outbox* outbox = nullptr;
  Members* members = nullptr;
  DigestBook* digests = nullptr;
  Disk* disk = nullptr;
  const Clock* clock = nullptr;
  uint32_t partitions = 0;
  bool takes_partial = false;  // secondaries may subscribe to some of them
  std::function<TransportInfo()> transport;
  // The directory of the newest archive. NotFound: there is none.
  std::function<StatusOr<std::string>()> newest_archive;
  // Of an archive there what some partitions and all shared tables need, its manifest aside: no more is sent.
  std::function<StatusOr<ArchiveParts>(const std::string& path, const PartitionSet& partitions)> archive_parts;
  // Of an archive there the files of the node's tier that it names; empty: nodes with a tier of their own read rows.
  std::function<StatusOr<TierFilePaths>(const std::string& path)> tier_files;
  // Groups of the log's files behind after_lsn, in order, until each() says no. OutOfRange: the log begins later.
  std::function<Status(uint64_t after_lsn, const std::function<bool(Parcel)>& each)> read_log;
  std::function<StatusOr<Ticket>(const std::string& node, const PartitionSet& reads)> ticket;
  // Of the newest commit that anybody may have been told of.
  std::function<StatusOr<uint64_t>()> current_lsn;
  bool awaits_positions = true;  // commits wait for what voters have
  BulkServer* bulk = nullptr;    // null: archives and the log go by gRPC alone
  // Where there are elections: this node's name, and whether its log has a batch of that term up to that LSN, so that
  // whoever says so has a prefix of it. Else empty.
  std::string node;
  std::function<bool(uint64_t lsn, uint64_t term)> has_batch;
  // And whose batches its log has, as far back as that is known, with its own term.
  std::function<std::vector<TermStart>()> terms;
};
// What it refers to must outlive it. Register it with a server.
std::shared_ptr<grpc::Service> make_publisher(const PublisherOptions& options);

}  // namespace scyper::replication
