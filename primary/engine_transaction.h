#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>

#include "primary/open_transaction.h"
#include "rendezvous.h"
#include "reservations.h"
#include "storage/enum_transaction.h"

namespace scyper::primary {

class PartitionEngine;
class Worker;
struct TentativeBlock;

// Exclusive work that waits for what its client asks next. The worker that leads runs it: the statements' changes lie
// in that worker's log, which forks know how to take back, and while it waits it counts as paused. Threads: serve() the
// worker's; the others the client's.
class EngineTransaction final : public OpenTransaction {
 public:
  explicit EngineTransaction(PartitionEngine* engine);
  ~EngineTransaction() override;
  // Returns when it has the engine for itself. 57014: the statement that begins it was cancelled or late before.
  Status begin(const StatementLimits& limits);
  // Goes on with what the block has changed. An error: it is of no use any more.
  Status adopt(TentativeBlock* block);
  // The rows of a COPY that was opened outside. 40001 where a definition has come in between.
  Status copy(query::CopyRows* rows, const StatementLimits& limits, query::ResultSet* result);

  // The block whose reservation the last statement has met, so that it failed; 0: none.
  BlockId holder() const { return holder_; }

  uint64_t lsn() const override { return lsn_; }
  Status execute(std::string_view sql, std::span<const Datum> parameters, query::ResultSet* result,
                 const StatementLimits& limits) override;
  StatusOr<std::unique_ptr<CopyIn>> open_copy(std::string_view sql, const StatementLimits& limits) override;
  Status describe(std::string_view sql, const StatementLimits& limits, std::vector<SqlType>* parameters,
                  std::vector<query::ResultColumn>* columns) override;
  Status set_savepoint() override;
  Status roll_back_to(size_t savepoint) override;
  Status release(size_t savepoint) override;
  Status commit(const StatementLimits& limits) override;
  std::vector<query::OpenCursor> take_cursors() override;

 private:
  // What the worker does next; the last one ends serve().
  struct Request {
    std::function<Status(Executor*)> work;
    bool is_last = false;
    bool is_done = false;
    Status status;
    EnumTrial enum_trial{0};  // of the worker, when it is done
  };
  Status ask(std::function<Status(Executor*)> work, bool is_last = false);
  Status serve(Worker* worker);
  Request* next_request(Worker* worker);
  void leave(const Status& why);
  void wait_for_end();

  PartitionEngine* const engine_;
  const std::shared_ptr<KeptWork> work_ = std::make_shared<KeptWork>();
  bool is_pushed_ = false;
  bool has_ended_ = false;  // the client has waited for its end
  uint64_t lsn_ = 0;
  BlockId holder_ = 0;
  int32_t pid_ = 0;      // of its session, from begin() on
  int64_t idle_ns_ = 0;  // the worker's: how long it has waited for its client
  std::mutex mutex_;
  std::condition_variable changed_;
  // guarded by mutex_
  bool is_served_ = false;
  bool is_over_ = false;
  Status why_over_;
  Request* request_ = nullptr;
};

}  // namespace scyper::primary
