#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "acknowledgements.h"
#include "base/clock.h"
#include "base/metrics.h"
#include "base/mutex.h"
#include "group_builder.h"
#include "log_buffer.h"
#include "markers.h"
#include "primary/log_options.h"
#include "redo_shadow.h"
#include "replication/members.h"
#include "replication/outbox.h"
#include "sleeper.h"
#include "storage/log_segment.h"

namespace scyper::primary {

// The log writer: makes groups of what the workers have committed, writes them, and answers those who wait, in LSN
// order (HyPer IV.D, group commit with early release; the next batch gathers while this one is flushed).
// Invariants: (1) acknowledged implies durable: durable_lsn() rises only after the write that covers it has returned
//   OK; (2) groups are consecutive LSN ranges: a prefix of the log is a prefix of the history; (3) after a failed write
//   or sync nothing is acknowledged any more; (4) a full disk is no failure: writes are refused with 53100 as soon as
//   the next segment cannot be made, what has committed waits for space.
// Threads: owns two, the writer and the one that makes segments ahead. Workers call acknowledge(), nudge() and
// idle(), each with its own number.
class GroupCommit {
 public:
  struct Start {
    std::unique_ptr<storage::LogAppender> appender;
    replication::ClusterId cluster;
    uint64_t term = 1;
    std::vector<LogBuffer*> streams;
    std::vector<storage::StreamPosition> positions;
    uint64_t durable_lsn = 0;
    std::optional<uint64_t> confirmed_lsn;  // what of it counts already; unset: all
    // Of a primary with secondaries, else null.
    replication::Outbox* outbox = nullptr;
    replication::Members* members = nullptr;
    Markers* markers = nullptr;
    RedoShadow* shadow = nullptr;  // null: groups are not replayed here
    uint32_t copies = 0;           // that secondaries must have before a commit counts (modes quorum, quorum_durable)
    bool is_elected = false;       // nothing counts, in no mode, before the first batch of the term has:
    uint32_t start_copies = 0;     // this many, on secondaries
    std::function<bool()> leads;   // ReplicationOptions::leads
  };
  GroupCommit(const LogOptions& options, Start start, LsnCounter* lsns, uint32_t workers, const Clock* clock);
  ~GroupCommit();  // writes what is left, stops the threads

  void start();

  // --- workers ---
  // Answers when everything up to `lsn` is confirmed; at once when it is, or in mode async.
  void acknowledge(uint32_t worker, Transaction* transaction, uint64_t lsn);
  // There is something new. Cheap; a nudge may be lost while the worker goes on, idle() makes up for it.
  void nudge() {
    if (nudges_) sleeper_.wake();
  }
  void idle();
  // Something has happened that the writer waits for: a marker, a secondary's position. Any thread.
  void wake() {
    signals_.fetch_add(1, std::memory_order_seq_cst);
    sleeper_.wake();
  }

  // --- any thread ---
  uint64_t durable_lsn() const { return durable_lsn_.load(std::memory_order_acquire); }
  // The commit point: on this node's disk, and where the commit mode's copies are. In mode async, too: a crash would
  // lose the rest.
  uint64_t confirmed_lsn() const { return confirmed_lsn_.load(std::memory_order_acquire); }
  bool is_failed() const { return is_failed_.load(std::memory_order_relaxed); }
  bool is_full() const { return is_full_.load(std::memory_order_relaxed); }
  // Why a transaction that writes may neither begin nor commit: 53100, 58030. OK: it may.
  Status refusal() const;
  // Waits until everything up to there is confirmed. 58030 when it never will be; 57P01 after release(); what
  // `interruption` says, asked now and then: why not to wait any longer. Empty: nothing.
  Status wait_confirmed(uint64_t lsn, const std::function<Status()>& interruption = {});
  // The node stops: wait_confirmed() no longer waits.
  void release();
  // It stops and has waited long enough: what the commit point has not reached is answered with 08007, now and later.
  void give_up();
  // The log goes on in another segment soon: an archive begins, and a start with it need not read what lies before.
  void begin_segment() {
    begins_segment_.store(true);
    wake();
  }
  // Segments whose records all lie up to there are dropped by and by.
  void drop_before(uint64_t lsn);
  uint64_t groups() const { return groups_.load(std::memory_order_relaxed); }
  uint64_t bytes_written() const { return bytes_written_.load(std::memory_order_relaxed); }
  CommitMode mode() const { return mode_; }

  // One round of the writer, without waiting; true when there was something to do. For tests, instead of start().
  bool run_once();

 private:
  uint64_t complete_point() const;
  void begin_next_segment();
  void note_segment(uint64_t before);
  bool write_group(uint64_t complete_lsn);
  bool advance_commit_point();
  void note_sent(uint64_t complete_lsn);
  void note_confirmed(uint64_t lsn);
  bool has_start();
  bool owes_answers() const;
  void answer_confirmed();
  void answer(Transaction* transaction) const;
  void answer_failed();
  void answer_unconfirmed(Transaction* transaction) const;
  void set_full(bool is_full);
  void fail(const Status& status);
  void run();
  void make_segments();
  void drop_segments();

  // constant after construction
  const CommitMode mode_;
  const bool nudges_;  // mode local: who waits must not wait longer than needed
  const uint32_t delay_us_;
  const uint32_t batch_bytes_;
  const std::function<void(const Status&)> on_failure_;
  const std::unique_ptr<storage::LogAppender> appender_;
  const std::vector<LogBuffer*> streams_;
  LsnCounter* const lsns_;
  const Clock* const clock_;
  replication::Outbox* const outbox_;
  replication::Members* const members_;
  Markers* const markers_;
  RedoShadow* const shadow_;
  const uint32_t copies_;
  const uint32_t start_copies_;
  Timer* const write_time_;            // may be null
  Timer* const quorum_time_;           // null where no copies are waited for
  const std::function<bool()> leads_;  // empty: it always does
  const uint64_t start_lsn_;           // of the first batch of the term; 0: it needs no copies

  // the writer's
  GroupBuilder builder_;
  bool has_group_ = false;  // built, not yet on the disk
  uint64_t group_complete_ = 0;
  bool has_start_ = false;
  struct Sent {
    uint64_t complete_lsn;
    int64_t made_ns;
  };
  std::deque<Sent> sent_;  // groups that are not confirmed, the oldest first; where there is quorum_time_

  std::vector<std::unique_ptr<Acknowledgements>> waiting_;
  Sleeper sleeper_;
  std::atomic<uint64_t> signals_{0};
  std::atomic<uint64_t> durable_lsn_;
  std::atomic<uint64_t> confirmed_lsn_;
  std::atomic<bool> is_failed_{false};
  std::atomic<bool> is_released_{false};
  std::atomic<bool> gives_up_{false};
  std::atomic<bool> is_full_{false};
  std::atomic<bool> is_stopping_{false};
  std::atomic<uint64_t> droppable_lsn_{0};
  std::atomic<bool> begins_segment_{false};
  std::atomic<uint64_t> groups_{0};
  std::atomic<uint64_t> bytes_written_{0};

  std::mutex wake_mutex_;  // for the two below
  std::condition_variable wake_;
  std::condition_variable confirmed_changed_;
  std::atomic<uint32_t> confirmed_waiters_{0};
  bool wants_segment_ = true;

  std::thread writer_;
  std::thread maker_;
};

}  // namespace scyper::primary
