#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "primary/copy_in.h"
#include "primary/snapshot_read.h"
#include "query/open_cursor.h"
#include "query/result.h"
#include "storage/type.h"

namespace scyper::primary {

// 40001: a statement of a block that serialises would give another result now.
Status unlike_before();

struct StatementLimits;
enum class ShortRead : uint8_t;

// A transaction whose statements come one after the other while it is open: a block of BEGIN ... COMMIT that writes.
// It runs alone from its first statement to its end, so nothing else does meanwhile, whatever its client is thinking
// about: when it has waited for its client for as long as one transaction may run (transaction_time_max), it is taken
// back. Invariants: (1) an error in a statement leaves no trace of that statement; (2) what was not committed is taken
// back
//   when it is destroyed; (3) when the engine has ended it, each call gives the reason.
// Threads: one at a time, none of the engine's.
class OpenTransaction {
 public:
  virtual ~OpenTransaction() = default;
  // Of the last change before it.
  virtual uint64_t lsn() const = 0;
  virtual Status execute(std::string_view sql, std::span<const Datum> parameters, query::ResultSet* result,
                         const StatementLimits& limits) = 0;
  // Runs a query as execute() does if it is estimated to take no longer than a worker spends on a read. A transaction
  // that runs alone runs all of them: others wait anyway.
  virtual StatusOr<ShortRead> execute_short(std::string_view sql, std::span<const Datum> parameters,
                                            query::ResultSet* result, const StatementLimits& limits);
  // Before its first statement, of a block that serialises: a snapshot comes now, on which the block's first queries
  // run. add_read() names each of them. The first statement fails with 40001 unless they give the same rows then.
  virtual void begin_snapshot() {}
  virtual void add_read(std::shared_ptr<const SnapshotRead>) {}
  // Its statements so far, for a block that goes on with a snapshot instead. False: they are not only queries.
  virtual bool give_reads(std::vector<std::shared_ptr<SnapshotRead>>*) const { return false; }
  // COPY ... FROM STDIN, for the catalog as the transaction sees it; its finish() is one of the statements.
  virtual StatusOr<std::unique_ptr<CopyIn>> open_copy(std::string_view sql, const StatementLimits& limits) = 0;
  StatusOr<std::unique_ptr<CopyIn>> open_copy(std::string_view sql);
  // What the statement takes and gives, for the catalog as the transaction sees it.
  virtual Status describe(std::string_view sql, const StatementLimits& limits, std::vector<SqlType>* parameters,
                          std::vector<query::ResultColumn>* columns) = 0;
  // Savepoints, counted from 0. set_savepoint() makes the next one; roll_back_to() takes back what came after one, and
  // forgets those behind it.
  virtual Status set_savepoint() = 0;
  virtual Status roll_back_to(size_t savepoint) = 0;
  // Forgets it and those behind it.
  virtual Status release(size_t savepoint) = 0;
  // It is over then, also with an error. 57014: it was cancelled or late before its COMMIT had its turn.
  virtual Status commit(const StatementLimits& limits) = 0;
  Status commit();
  // Cursors that its statements have left open since the last call, oldest first.
  virtual std::vector<query::OpenCursor> take_cursors() = 0;
};

}  // namespace scyper::primary
