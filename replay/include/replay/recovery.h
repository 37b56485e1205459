#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/disk.h"
#include "base/status.h"
#include "query/database.h"
#include "replay/replayer.h"
#include "replay/request_window.h"
#include "replication/batch.h"
#include "replication/log_terms.h"
#include "storage/archive.h"
#include "storage/log_segment.h"

// What a node does before it works: its data directory's state into memory (HyPer IV.G). docs/log_format.md.
namespace scyper::replay {

// Who a data directory belongs to: drawn when it is made, never changed.
struct NodeIdentity {
  replication::ClusterId cluster;
  uint32_t partitions = 0;
};
std::string log_directory(const std::string& directory);
// A file that keeps a secondary from throwing away what its primary has lost; a primary removes it.
std::string kept_path(const std::string& directory);
std::string archives_directory(const std::string& directory);
// Makes the directory when it is new. partitions: of the configuration; 22023 when the database was made with others.
// 0 = whatever it has; NotFound when there is none.
// cluster: of a secondary's primary; a directory of another cluster is refused with 22023.
StatusOr<NodeIdentity> open_data_directory(Disk* disk, const std::string& directory, uint32_t partitions,
                                           const replication::ClusterId* cluster = nullptr);

// Begins a primaryship: a term above `term` and above all that this directory has begun before, on the disk when it
// returns.
StatusOr<uint64_t> raise_term(Disk* disk, const std::string& directory, uint64_t term);

struct RecoveryOptions {
  uint32_t threads = 1;
  Replayer::Range range;  // to_lsn, to_time_us: where to stop, for restores; the log is not cut then
  bool cuts = true;       // removes a torn tail
  // A torn tail may have been acknowledged while it was whole, and other nodes have it: XX001, and nothing is cut.
  bool refuses_torn = false;
  bool syncs = true;  // segments before they are believed
  bool uses_archive = true;
  // Of a secondary, which need not log what it applies before it archives it: a log that ends before the archive has
  // nothing of use, and goes (cuts). Else it is damage: what was acknowledged may be missing.
  bool log_may_lag = false;
  // Of partitioned tables; not all: Replayer::Options::partitions, and files of an archive without any may be absent.
  PartitionSet partitions = PartitionSet::all();
  std::string archives;  // other places than the data directory's own
  std::string log;
  Replayer::Observer observer;
  RequestWindow* requests = nullptr;                    // gets the requests of clients
  std::function<void(const std::string&)> on_progress;  // lines for people; may be empty
};

struct Recovered {
  uint64_t lsn = 0;
  uint64_t confirmed_lsn = 0;  // of it, what is known to have been confirmed: by the archive and by what batches say
  uint64_t term = 1;
  uint64_t last_term = 0;                     // of the last batch; without any, the archive's. May be below `term`
  std::vector<replication::TermStart> terms;  // of the log that is there, oldest first
  std::vector<storage::StreamPosition> positions;
  bool lacks_positions = false;  // of streams with number 0: archives do not tell where streams stand
  bool may_be_in_group = false;  // an archive's state, without a log that goes on from it, may end within a group
  std::vector<storage::LogAppender::Existing> segments;
  uint64_t archive_lsn = 0;
  uint64_t damaged_archives = 0;
  std::shared_ptr<storage::ArchiveBase> base;  // the archive, when it is one of the directory's own
  uint64_t archive_bytes = 0;                  // uncompressed, read
  uint64_t placed_rows = 0;                    // of the archive's: left in the tier
  uint64_t transactions = 0;
  uint64_t physical = 0;   // of them
  uint64_t log_bytes = 0;  // of groups, from the segment on that the archive lies in
  int64_t last_time_us = 0;
  double archive_s = 0;
  double index_s = 0;
  double read_s = 0;        // of the log: reading and checking, as far as that was waited for
  double replay_s = 0;      // applying
  double replay_cpu_s = 0;  // of it, what the calling thread computed
  bool was_torn = false;
};
// The database is empty. On error it must not be used.
StatusOr<Recovered> recover(Disk* disk, const std::string& directory, const NodeIdentity& identity,
                            query::Database* database, const RecoveryOptions& options);

}  // namespace scyper::replay
