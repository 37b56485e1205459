#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/status.h"
#include "client/client.h"
#include "query/result.h"

namespace scyper::v1 {
class InteractRequest;
}

namespace scyper::client {

enum class Isolation : uint8_t { kDefault, kReadCommitted, kRepeatableRead, kSerializable };

struct TransactionOptions {
  Isolation isolation = Isolation::kDefault;  // default_transaction_isolation
  bool is_read_only = false;
  bool is_deferrable = false;
  std::map<std::string, std::string> settings = {};  // by name, as by SET: statement_timeout = "5s"
};

class Transaction;

// One COPY ... FROM STDIN in a transaction. The transaction outlives it, and runs nothing else until finish(). Without
// finish() nothing is copied.
// Threads: as Transaction.
class TransactionCopying {
 public:
  ~TransactionCopying();
  // Columns of the text that the node expects.
  size_t column_count() const { return column_count_; }
  // A piece of the text, cut anywhere. An error is the last word: the transaction has failed. It may be about what an
  // earlier call wrote.
  Status write(std::string_view text);
  Status finish(query::ResultSet* tag_and_notices);

 private:
  friend class Transaction;
  TransactionCopying(Transaction* transaction, size_t column_count)
      : transaction_(transaction), column_count_(column_count) {}
  Status send(bool is_done, query::ResultSet* result);

  Transaction* const transaction_;
  const size_t column_count_;
  std::string pending_;
};

// A transaction of several statements on a node, which is open while its client thinks: BEGIN ... COMMIT
// (docs/postgres_protocol.md says what blocks do). Other transactions run meanwhile. The node takes back all that was
// not committed when this object is destroyed, or when the connection ends.
// Errors: an error of SQL has its SQLSTATE. The transaction has failed then: it answers 25P02 until its end or
// ROLLBACK TO. 08006: the connection has ended, and the node has taken the transaction back. 40003: the answer to a
// COMMIT was lost, and nobody knows whether it is done.
// Threads: cancel() any; all else one at a time.
class Transaction {
 public:
  enum class State : uint8_t { kNone, kOpen, kFailed };

  ~Transaction();
  Transaction(const Transaction&) = delete;

  // Runs a statement, also SAVEPOINT, SET, COMMIT or ROLLBACK. timeout_ms: 57014 beyond it; 0 = none.
  Status execute(std::string_view sql, QueryHandler* handler, uint32_t timeout_ms = 0);
  Status execute(std::string_view sql, query::ResultSet* result, uint32_t timeout_ms = 0);
  // With arguments by the types of its parameters, as describe() says them.
  Status execute(const Prepared& statement, std::span<const Datum> arguments, query::ResultSet* result,
                 uint32_t timeout_ms = 0);
  // Parameters and columns of a statement, for the catalog as the transaction sees it.
  StatusOr<std::shared_ptr<const Prepared>> describe(std::string_view sql);
  // COPY ... FROM STDIN. Errors of the statement.
  StatusOr<std::unique_ptr<TransactionCopying>> open_copy(std::string_view sql);
  // A transaction that has failed is taken back: 40000 then.
  Status commit();
  Status rollback();
  // Begins the next transaction on the same connection, once the last one is over.
  Status begin(const TransactionOptions& options);
  State state() const { return state_; }
  // The statement that runs ends with 57014. Not from a signal handler.
  void cancel();

 private:
  friend class Client;
  friend class TransactionCopying;
  struct Parts;
  explicit Transaction(std::unique_ptr<Parts> parts);
  Status run(const v1::InteractRequest& step, QueryHandler* handler);

  const std::unique_ptr<Parts> parts_;
  State state_ = State::kNone;
};

}  // namespace scyper::client
