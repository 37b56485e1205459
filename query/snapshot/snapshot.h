#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "query/fork.h"
#include "query/program_image.h"
#include "snapshot/channel.h"

namespace scyper::query {

class Snapshot;

// A query on its way through a child. Threads: next() one, cancel() any.
class SnapshotQuery {
 public:
  ~SnapshotQuery();  // cancels

  // The next rows as columns; false at the end. Errors: the query's own; 57014 after cancel(); 57P02 when the snapshot
  // has been lost. A child that says nothing for silence_us_max after the deadline is taken for stuck, and killed.
  StatusOr<bool> next(std::string* columns);
  // The query ends at its next poll; next() fails at once.
  void cancel();

  // Valid after the end.
  struct Costs {
    uint64_t rows = 0;
    uint64_t scratch_bytes = 0;
    uint64_t spilled_bytes = 0;
    int64_t run_ns = 0;
    uint32_t swaps = 0;  // how often it went on in better code
  };
  const Costs& costs() const { return costs_; }
  int64_t code_ns() const { return code_ns_; }  // of native code that was wanted only when it ran
  const std::vector<std::string>& notices() const { return notices_; }

 private:
  friend class Snapshot;
  using MakeCode = std::function<Status(const Program&)>;
  SnapshotQuery(std::shared_ptr<Snapshot> snapshot, uint64_t id, std::shared_ptr<const Program> program,
                int64_t patience_ns, MakeCode make_code)
      : snapshot_(std::move(snapshot)),
        id_(id),
        program_(std::move(program)),
        patience_ns_(patience_ns),
        make_code_(std::move(make_code)) {}
  bool wait(std::unique_lock<std::mutex>* lock);
  void take_rows(std::string columns);
  void ask_for_code();
  void send_code();
  void finish(Status status);
  void listen();

  const std::shared_ptr<Snapshot> snapshot_;
  const uint64_t id_;
  const std::shared_ptr<const Program> program_;
  const int64_t patience_ns_;  // monotonic: until then the child is waited for; 0 = for ever
  const MakeCode make_code_;
  int64_t code_ns_ = 0;  // the reader's
  std::mutex mutex_;     // all that follows
  std::condition_variable came_;
  std::deque<std::string> batches_;
  Status status_;
  bool is_done_ = false;
  bool is_cancelled_ = false;
  bool has_better_ = false;  // code for a program of the query
  bool wants_code_ = false;
  Costs costs_;
  std::vector<std::string> notices_;
  // Tells the query of better code, as long as there is a query.
  struct Listener {
    std::mutex mutex;
    SnapshotQuery* query;
  };
  std::shared_ptr<Listener> listener_;
  std::vector<std::shared_ptr<const void>> listening_;
};

// The parent's side of one forked child: a snapshot of the database. Ships programs (each once), runs queries, notices
// the child's end.
// Invariants: (1) code that the child may run is kept alive (pins) until it has dropped the program or ended; (2) a
//   query always ends: by the child's answer, by cancel(), or when the child is gone.
// Threads: all calls any; owns one that receives. Owner: shared by its queries and whoever holds it; the last one kills
// the child.
class Snapshot : public std::enable_shared_from_this<Snapshot> {
 public:
  static std::shared_ptr<Snapshot> start(Forked forked);
  ~Snapshot();

  const ForkPoint& point() const { return point_; }
  bool is_alive() const { return !is_lost_.load(std::memory_order_acquire); }
  // Its queries fail with 57P02 and this reason. Does not wait.
  void kill(std::string_view reason);

  struct RunOptions {
    int64_t time_us = 0;
    int64_t deadline_ns = 0;  // 0 = none
    int64_t silence_us_max = 30'000'000;
    uint64_t memory_bytes = uint64_t{1} << 30;
    uint32_t threads = 1;
    // Makes native code of a program that began without; called by who reads the rows.
    std::function<Status(const Program&)> make_code;
    std::vector<int> files;  // of foreign_tables_of(program); they stay the caller's
  };
  // `program` reads only and belongs to this snapshot's catalog.
  StatusOr<std::shared_ptr<SnapshotQuery>> run(std::shared_ptr<const Program> program, std::span<const Datum> arguments,
                                               const RunOptions& options);

  uint32_t running() const { return running_.load(std::memory_order_relaxed); }
  // Of the child. Walks page tables: about once a second is often.
  StatusOr<storage::ProcessMemory> memory() const { return child_->memory(); }
  pid_t pid() const { return child_->pid(); }

 private:
  friend class SnapshotQuery;
  struct Shipped {
    uint64_t number = 0;
    std::shared_ptr<const Program> program;  // keeps the key's address
    ProgramImage image;                      // what the child has; without bytes
    uint64_t last_use = 0;
    uint32_t running = 0;
  };

  explicit Snapshot(Forked forked);
  void receive();
  void ask_for_statistics();
  void publish_statistics(std::string_view body) const;
  bool has_schema_of_cut(const storage::Table& table) const;
  void take(Frame frame);
  void finish_query(SnapshotQuery* query, std::string_view body) const;
  void learn_from(std::string_view samples) const;
  void lose();
  bool ship(const std::shared_ptr<const Program>& program, uint64_t* number);
  bool send_better(Shipped* shipped);
  void improve(const Program& program);
  void drop_oldest();
  void forget(const SnapshotQuery& query);

  const ForkPoint point_;
  const std::unique_ptr<storage::ChildProcess> child_;
  Channel channel_;
  std::atomic<bool> is_lost_{false};
  std::atomic<uint32_t> running_{0};

  std::mutex shipping_;  // the order of kProgram, kBetter, kDrop and kRun on the socket; before mutex_
  std::map<const Program*, Shipped> programs_;  // under shipping_, as are the next
  uint64_t last_program_ = 0;
  uint64_t uses_ = 0;

  // The receiver takes this one only, so that it never waits for a send.
  std::mutex mutex_;
  std::map<uint64_t, SnapshotQuery*> queries_;  // under mutex_, as are the next; they take themselves out
  std::map<uint64_t, std::vector<std::shared_ptr<const void>>> dropping_;  // pins of programs being dropped
  uint64_t last_query_ = 0;
  std::string loss_;
  std::thread receiver_;
};

}  // namespace scyper::query
