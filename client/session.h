#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "client/client.h"
#include "client/transaction.h"
#include "primary/engine.h"

namespace scyper::client {

// One COPY ... FROM STDIN: its text, in pieces; finish(): all its rows are there. Without it nothing has happened.
class CopySink {
 public:
  virtual ~CopySink() = default;
  virtual Status write(std::string_view text) = 0;
  virtual Status finish(query::ResultSet* tag_and_notices) = 0;
};

// Where statements of the shell and of loaders go: a node over gRPC, or an engine in this process.
// Threads: load() and cancel() any, the rest one.
class Session {
 public:
  using ResultHandler = Client::ResultHandler;

  virtual ~Session() = default;
  // Statements that only read run on snapshots, as the wish says; all others are transactions. BEGIN opens a
  // transaction of several statements, which ends with COMMIT or ROLLBACK.
  virtual Status execute(std::string_view sql, const ResultHandler& each) = 0;
  // One statement, its rows as they come.
  virtual Status stream(std::string_view sql, QueryHandler* handler) = 0;
  // The session outlives it.
  virtual StatusOr<std::unique_ptr<CopySink>> open_copy(std::string_view sql) = 0;
  // Ends what they run, with 57014.
  virtual void cancel() = 0;
  // Of BEGIN ... COMMIT. kFailed also when the transaction was lost with its connection, until COMMIT or ROLLBACK.
  virtual Transaction::State transaction_state() const { return Transaction::State::kNone; }
  // Pins a snapshot for this session's queries, until unpin().
  virtual StatusOr<query::Receipt> pin(const query::Freshness& freshness) = 0;
  virtual Status unpin() = 0;
  QueryWish& wish() { return wish_; }
  // Of the last query; empty when it ran as a transaction.
  const std::optional<query::Receipt>& receipt() const { return receipt_; }

  virtual StatusOr<Description> describe() = 0;
  virtual StatusOr<NodeStatus> status() = 0;
  // Rows into one table; from several threads, each with a loader of its own.
  using Loader = std::function<Status(std::span<const Datum>)>;
  virtual StatusOr<Loader> open_load(const std::string& table) = 0;
  virtual std::string name() const = 0;

 protected:
  QueryWish wish_;
  std::optional<query::Receipt> receipt_;
};

// Whether the text is BEGIN or START TRANSACTION.
bool begins_block(std::string_view sql);

std::unique_ptr<Session> remote_session(std::unique_ptr<Client> client, std::string target);
// The engine must outlive the session.
std::unique_ptr<Session> local_session(primary::Engine* engine);

// Columns of a table, in order; 42P01 when absent.
StatusOr<std::vector<query::ResultColumn>> columns_of_table(Session* session, const std::string& table);

}  // namespace scyper::client
