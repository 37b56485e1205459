#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "claim.h"
#include "executor.h"
#include "query/copy.h"
#include "query/touched_tables.h"
#include "rendezvous.h"

namespace scyper::primary {

// Statements that change many rows, without a long stop for others. Such a statement runs on a thread and with an
// executor of its own, in slices: one slice is one piece of work that runs alone, and between two slices the workers
// have a turn (rendezvous.h). Its changes lie in the tables meanwhile, so it holds the tables that it may touch: who
// touches one of them waits until it has ended. Everything else goes on. It holds all of them from its first slice on
// and others hold no table between two of their jobs, so nobody waits in a circle.
// One at a time; the others wait for their turn. While one is open nothing is defined, nobody has the engine for
// itself for longer than a transaction, and no chunk is compacted.
// Invariants: (1) its thread runs only while a leader waits in serve(); (2) its slices end between two changes of a
// row, where a forked child can take back what it has changed.
// Threads: as said at each function.
class LargeTransactions {
 public:
  // What the engine does for it.
  struct Host {
    std::function<void(Transaction*, const Status&)> refuse;
    std::function<void()> ended;  // what it has held up may go on
    std::function<BlockId()> next_id;
  };
  LargeTransactions(ExecutorEnvironment* environment, Rendezvous* rendezvous, Host host);
  // When the workers have ended.
  ~LargeTransactions();
  Status start();

  // --- any thread ---
  // Takes over a transaction that has left no trace.
  void submit(Transaction* transaction);
  // Takes over a definition that makes a table or an index anew from many rows; false: it is none.
  bool takes_definition(Transaction* transaction);
  // The rows of a COPY into their table. Waits for the end.
  Status copy(query::CopyRows* rows, const StatementLimits& limits, query::ResultSet* result);
  // Answers those that have waited until their time was over, or were cancelled. By the watchdog.
  void refuse_over(int64_t now_ns);
  bool is_open() const { return open_id_.load(std::memory_order_relaxed) != 0; }
  uint64_t count() const { return count_.load(std::memory_order_relaxed); }  // that have begun
  Executor& executor() { return *executor_; }

  // --- workers, and who leads ---
  BlockId open_id() const { return open_id_.load(std::memory_order_relaxed); }
  bool holds_any_of(const query::TouchedTables& tables) const { return held_.meets(tables); }
  bool holds(TableId table) const { return held_.may_be_any || held_.contains(table); }
  // Runs one slice. The work is the one that this has pushed.
  Status serve(Worker* leader);
  // Keeps work that cannot run beside it until it has ended.
  void hold_back(Transaction* work) { held_back_.push_back(work); }

  // --- its own thread, while it has its turn ---
  // A definition runs: other threads may have the mutex of definitions while it pauses.
  class DefinitionScope {
   public:
    explicit DefinitionScope(LargeTransactions* large) noexcept : large_(large) {
      if (large_ != nullptr) large_->is_defining_ = true;
    }
    ~DefinitionScope() {
      if (large_ != nullptr) large_->is_defining_ = false;
    }
    DefinitionScope(const DefinitionScope&) = delete;
    DefinitionScope& operator=(const DefinitionScope&) = delete;

   private:
    LargeTransactions* const large_;
  };
  // The transaction that runs touches these tables from now on.
  void open(query::TouchedTables tables);

 private:
  static constexpr int64_t kSliceNs = 2'000'000;

  struct Task {
    Transaction* transaction = nullptr;  // null: a COPY
    bool is_definition = false;
    std::function<void()> run;  // of it
    Status* refused = nullptr;  // likewise: why it did not run
    ExclusiveWork answered;     // likewise: when the log holds it
    Claim claim;                // likewise
    int32_t pid = 0;            // of the session; 0: not known
  };
  void add(Task* task);
  void run();
  void run_task(Task* task);
  bool begin();
  void answer(Task* task, Status why);
  void close();
  void end_turn(Transaction* answered);
  void wait_for_turn();
  void pass() noexcept;  // between two changes: gives the turn back where it is over
  void note_turn();
  void give_turn_back() noexcept;
  static void pass_now(void* owner) noexcept { static_cast<LargeTransactions*>(owner)->pass(); }

  ExecutorEnvironment* const environment_;
  Rendezvous* const rendezvous_;
  const Host host_;
  std::unique_ptr<Executor> executor_;
  ExclusiveWork slice_;
  std::thread thread_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Task*> waiting_;
  bool is_stopping_ = false;
  bool has_turn_ = false;
  bool is_over_ = false;             // the last slice has run
  Transaction* answered_ = nullptr;  // of it; null: nobody

  // its own thread's
  int64_t turn_ends_ns_ = 0;
  bool is_defining_ = false;
  int32_t pid_ = 0;  // of the session whose task it runs

  // Changed only by its own thread while it has its turn, when no worker runs.
  std::atomic<BlockId> open_id_{0};
  std::atomic<uint64_t> count_{0};
  query::TouchedTables held_;
  std::vector<Transaction*> held_back_;  // likewise, or by who leads
};

}  // namespace scyper::primary
