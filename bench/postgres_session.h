#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/status.h"

struct pg_conn;
struct pg_result;

namespace scyper::bench {

// A PostgreSQL server of our own in a temporary directory, by tools/postgres-server; gone with this object.
class ThrowawayServer {
 public:
  static StatusOr<std::unique_ptr<ThrowawayServer>> start();
  ~ThrowawayServer();
  // For PostgresSession::open().
  std::string connection() const { return "host=" + directory_ + " user=postgres dbname=postgres"; }

 private:
  explicit ThrowawayServer(std::string directory) : directory_(std::move(directory)) {}
  const std::string directory_;
};

// A connection to a PostgreSQL server. Errors carry PostgreSQL's SQLSTATE and message. Threads: none.
class PostgresSession {
 public:
  static StatusOr<std::unique_ptr<PostgresSession>> open(const std::string& connection);
  ~PostgresSession();
  PostgresSession(const PostgresSession&) = delete;
  PostgresSession& operator=(const PostgresSession&) = delete;

  // One or several statements; rows are ignored.
  Status run(const std::string& sql);
  // The first column of the only row.
  StatusOr<std::string> value(const std::string& sql);
  // COPY ... FROM STDIN: `next` appends some data and returns false at the end.
  Status copy_in(const std::string& sql, const std::function<bool(std::string&)>& next);
  // COPY ... TO STDOUT, line by line without the newline.
  Status copy_out(const std::string& sql, const std::function<void(std::string_view)>& line);

  Status prepare(const std::string& name, const std::string& sql);
  // One call of it; rows are ignored.
  Status run_prepared(const std::string& name, std::span<const char* const> parameters);

  // Pipeline: several prepared calls under way, each a transaction of its own; answers come in order.
  Status begin_pipeline();
  Status send(const std::string& name, std::span<const char* const> parameters);
  // `row` gets the result, valid during the call: use row_value(). An error of the statement is the returned status.
  Status receive(const std::function<void(const pg_result&)>& row);
  Status end_pipeline();

 private:
  explicit PostgresSession(pg_conn* connection) : connection_(connection) {}
  Status connection_error() const;

  pg_conn* const connection_;
};

// A column of a result's first row: null pointer = NULL.
const char* row_value(const pg_result& result, int column);
int row_width(const pg_result& result);

}  // namespace scyper::bench
