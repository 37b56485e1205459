#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/disk.h"
#include "base/partition_set.h"
#include "base/status.h"
#include "base/tls_files.h"
#include "replication/bulk.h"
#include "replication/log_terms.h"
#include "replication/members.h"
#include "replication/publisher.h"

namespace scyper::replication {

struct LinkOptions {
  std::string target;   // host:port of the primary's gRPC
  std::string node;     // this node's name
  std::string address;  // host:port of this node's gRPC, for queries that the primary sends here
  bool is_voter = false;
  PartitionSet partitions = PartitionSet::all();  // that it subscribes to
  int64_t call_us = 5'000'000;                    // until joining or asking for a ticket has failed
  std::shared_ptr<TlsFiles> tls;                  // null: none
  // Where there are elections: whether redo of that node's term may be taken; term 0: whether this one's copies count.
  std::function<bool(uint64_t term, const std::string& node)> admits;
  // A channel for bulk data to where the primary waits. Empty: archives and the log come by gRPC alone.
  std::function<StatusOr<std::unique_ptr<BulkChannel>>(const ClusterId&, const BulkAddress&)> connect_bulk;
  // Not 0: the target is another secondary (peer_publisher.h), asked for archives and ranges of the log of that term's
  // primary. A call that brings nothing for call_us has failed.
  uint64_t peer_term = 0;
};

// Where files of the other node's tier go that an archive from there names. Called by the thread that fetches.
struct TierSink {
  Disk* disk = nullptr;              // that they go to
  std::vector<std::string> present;  // that need not come
  // Where to write one until it is whole; empty: it is not wanted.
  std::function<std::string(const std::string& name)> path_of;
  std::function<Status(const std::string& name)> finish;  // it is whole, and synced
  // For people: why those that are not there yet do not come. The archive does without.
  std::function<void(const Status& why)> give_up;
};

// Another secondary of the same primary, as it said last.
struct Peer {
  std::string node;
  std::string address;  // host:port of its gRPC
  uint64_t received_lsn = 0;
  uint64_t archive_lsn = 0;  // 0: it has no archive
};

struct JoinInfo {
  ClusterId cluster;
  uint64_t term = 0;
  uint32_t partitions = 0;
  TransportInfo transport;
  uint64_t complete_lsn = 0;
  std::vector<TermStart> terms;  // of its log, where there are elections; see log_terms.h
  bool has_bulk = false;         // a channel for bulk data can be asked for
  Watermark watermark;           // of term 0 where the primary does not say it
  uint64_t archive_lsn = 0;      // of the primary's newest; 0: it has none, or does not say so
  std::vector<Peer> peers;
  bool takes_partial = false;  // secondaries may subscribe to some partitions
};

// How archives and the log come.
struct BulkInfo {
  std::string note;               // why the channel that there could be is not there; empty: it is, or there is none
  uint64_t bytes = 0;             // that came by channels
  uint64_t registered_bytes = 0;  // of the one that is open; 0: none is
};

// A secondary's way to its primary over gRPC. Calls that wait end with Cancelled after cancel().
// Threads: any; each function several at once.
class Link {
 public:
  static std::unique_ptr<Link> make(const LinkOptions& options);
  virtual ~Link() = default;

  // cluster: null = any.
  virtual StatusOr<JoinInfo> join(const ClusterId* cluster) = 0;
  // Who else follows the primary now. Does not wait for a primary that is not there.
  virtual StatusOr<std::vector<Peer>> peers(const ClusterId&) { return std::vector<Peer>(); }
  using OnBytes = std::function<void(uint64_t bytes, uint64_t total)>;
  // The newest archive to a directory below `archives`; its path. NotFound: the primary has none. Goes on at the byte
  // where it was when the connection breaks; 08006: there has been none for call_us.
  // tier: of a node that has one and wants all partitions; null: none.
  virtual StatusOr<std::string> fetch_archive(const ClusterId& cluster, Disk* disk, const std::string& archives,
                                              const OnBytes& on_progress, const TierSink* tier = nullptr) = 0;
  // Groups behind after_lsn, up to one LSN or (0) for ever; each() says whether to go on. OutOfRange: the log of the
  // primary begins later.
  // after_term: of the last batch up to after_lsn, 0 = not said. DataLoss: the primary has another one there.
  using Each = std::function<bool(std::vector<Parcel> parcels, const Watermark& watermark)>;
  virtual Status follow(const ClusterId& cluster, uint64_t after_lsn, uint64_t upto_lsn, const Each& each,
                        uint64_t after_term = 0) = 0;
  // Tells positions: whenever next() has one, until it has none.
  virtual Status attend(const std::function<std::optional<Position>()>& next) = 0;
  // Whether the primary's commits wait for positions of voters, as far as follow() has been told. True until then.
  virtual bool awaits_positions() const = 0;
  virtual StatusOr<Ticket> ticket(const PartitionSet& reads) = 0;
  // Of the newest commit at the primary, not older than this call. Unimplemented: it is of a version that does not say.
  // Fails at once where the primary is not there.
  virtual StatusOr<uint64_t> current_lsn() { return absl::UnimplementedError("the primary does not say"); }
  // How far the primary is now. Errors as of current_lsn().
  virtual StatusOr<Watermark> watermark() { return absl::UnimplementedError("the primary does not say"); }
  virtual BulkInfo bulk() const = 0;
  virtual void cancel() = 0;
  // Another primary from now on. Calls that run end.
  virtual void redirect(const std::string& target) = 0;
};

}  // namespace scyper::replication
