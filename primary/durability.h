#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/disk.h"
#include "digest_rounds.h"
#include "executor.h"
#include "group_commit.h"
#include "primary/engine.h"
#include "publication.h"
#include "query/fork.h"
#include "redo_shadow.h"
#include "replay/archive.h"
#include "replay/archive_child.h"
#include "replay/data_lock.h"
#include "replay/own_archive.h"
#include "replay/recovery.h"
#include "replay/warm_state.h"

namespace scyper::primary {

// What makes an engine outlive its process: its data directory, the state from there at the start, the log from then
// on. Owner: the engine. Threads: as said at each function.
class Durability {
 public:
  // Recovers into the (empty) database and makes the streams and the log of *environment. Without a directory: streams
  // only. Before any worker runs. Messages for people on failure.
  // warm: null, or what is taken instead of recovering the directory.
  static StatusOr<std::unique_ptr<Durability>> start(const EngineOptions& options, ExecutorEnvironment* environment,
                                                     replay::WarmState* warm = nullptr);
  ~Durability();  // writes what is left; after the workers have ended

  bool is_on() const { return log_ != nullptr; }
  GroupCommit* log() { return log_.get(); }                  // nullptr: none. Any thread
  Publication* publication() { return publication_.get(); }  // nullptr: no secondaries
  const replay::Recovered& recovered() const { return recovered_; }
  Engine::LogInfo log_info() const;  // where there is a log. Any thread

  // Writes an archive of the state at some LSN from now on, beside the transactions: in a forked child, or, on a
  // disk that a child cannot see, while nothing runs. One at a time; any thread but a worker's.
  struct Runner {
    query::Forker fork;
    std::function<Status(std::function<Status()>)> run_exclusively;
  };
  // Writes archives by itself from now on, after so much log (LogOptions), and digests. stop_watching(): before the
  // workers end.
  void watch(Runner runner);
  void stop_watching();
  // archives: where to, empty = the data directory's own; "s3://bucket/prefix": one of those is copied there.
  // 57P03 after stop_archives().
  StatusOr<replay::ArchiveResult> write_archive(const Runner& runner, const std::string& archives,
                                                const std::function<void(uint64_t)>& on_progress);
  // The node stops: no archive is written any more; what one under way has written goes. Any thread.
  void stop_archives() { archive_child_.stop(); }

 private:
  Durability(const EngineOptions& options, ExecutorEnvironment* environment);
  Status open(replay::WarmState* warm);
  Status recover();
  Status take_over(replay::WarmState* warm);
  bool is_quorum() const;
  Status begin_elected_term();
  Status start_shadow();
  void compare_shadow() const;
  Status start_publication(GroupCommit::Start* start);
  void make_streams();
  void remember_requests();
  StatusOr<replay::ArchiveResult> archive_in_child(const Runner& runner, const std::string& archives, bool is_own,
                                                   const std::function<void(uint64_t)>& on_progress);
  StatusOr<replay::ArchiveResult> archive_at_rest(const Runner& runner, const std::string& archives, bool is_own);
  storage::ArchiveManifest manifest_of(uint64_t lsn, int64_t time_us) const;
  void attach_state(uint64_t lsn, storage::ArchiveManifest* manifest) const;
  StatusOr<replay::ArchiveResult> archive(const Runner& runner, const std::string& to, bool is_own,
                                          const std::function<void(uint64_t)>& on_progress);
  StatusOr<replay::ArchiveResult> archive_here(const Runner& runner, const std::function<void(uint64_t)>& on_progress);
  StatusOr<replay::ArchiveResult> archive_to_store(const Runner& runner, const std::string& place,
                                                   const std::function<void(uint64_t)>& on_progress);
  void note_archive(const storage::ArchiveManifest& manifest);

  const EngineOptions& options_;
  ExecutorEnvironment* const environment_;
  std::unique_ptr<Disk> own_disk_;
  Disk* disk_ = nullptr;
  replay::DataLock lock_;
  replay::NodeIdentity identity_;
  replay::Recovered recovered_;
  // of what is taken over instead of recovering
  std::vector<replication::Parcel> newest_;  // the end of the log; the publication's from its start on
  uint64_t made_segment_ = 0;
  std::unique_ptr<replay::RequestWindow> requests_;
  std::vector<std::unique_ptr<LogBuffer>> buffers_;
  std::unique_ptr<Publication> publication_;
  std::unique_ptr<RedoShadow> shadow_;
  std::unique_ptr<GroupCommit> log_;
  std::unique_ptr<DigestRounds> digest_rounds_;
  std::atomic<uint64_t> archive_bytes_{0};
  std::atomic<uint64_t> damaged_archives_{0};
  std::atomic<uint64_t> archive_lsn_{0};
  std::atomic<int64_t> archive_time_us_{0};
  replay::ArchiveChild archive_child_;
  std::mutex archiving_;  // held while an archive is written
  std::unique_ptr<replay::OwnArchive> own_archive_;
  std::mutex watch_mutex_;  // for the two below
  std::condition_variable watch_changed_;
  bool is_watched_ = false;
  std::thread watcher_;
};

}  // namespace scyper::primary
