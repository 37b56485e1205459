#include "postgres_session.h"

#include <libpq-fe.h>
#include <unistd.h>

#include <cstdlib>

#include "base/check.h"

namespace scyper::bench {
namespace {

struct ClearResult {
  void operator()(PGresult* result) const { PQclear(result); }
};
using Result = std::unique_ptr<PGresult, ClearResult>;

Status result_status(const PGresult* result) {
  switch (PQresultStatus(result)) {
    case PGRES_COMMAND_OK:
    case PGRES_TUPLES_OK:
    case PGRES_COPY_IN:
    case PGRES_COPY_OUT:
    case PGRES_PIPELINE_SYNC:
      return absl::OkStatus();
    default: {
      const char* code = PQresultErrorField(result, PG_DIAG_SQLSTATE);
      const char* message = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
      return sql_error(code != nullptr ? code : "XX000", message != nullptr ? message : PQresultErrorMessage(result));
    }
  }
}

int run_script(const std::string& command, const std::string& directory) {
  // the directory is ours: no characters that a shell would read
  return std::system(("'" SCYPER_POSTGRES_SCRIPT "' " + command + " '" + directory + "'").c_str());
}

}  // namespace

StatusOr<std::unique_ptr<ThrowawayServer>> ThrowawayServer::start() {
  std::string directory = "/tmp/scyper-bench-" + std::to_string(getpid());
  if (run_script("start", directory) != 0) return absl::UnavailableError("PostgreSQL does not start");
  return std::unique_ptr<ThrowawayServer>(new ThrowawayServer(std::move(directory)));
}

ThrowawayServer::~ThrowawayServer() { run_script("stop", directory_); }

StatusOr<std::unique_ptr<PostgresSession>> PostgresSession::open(const std::string& connection) {
  std::unique_ptr<PostgresSession> session(new PostgresSession(PQconnectdb(connection.c_str())));
  if (PQstatus(session->connection_) != CONNECTION_OK) return session->connection_error();
  PQsetNoticeProcessor(session->connection_, [](void*, const char*) {}, nullptr);
  return session;
}

PostgresSession::~PostgresSession() { PQfinish(connection_); }

Status PostgresSession::connection_error() const { return absl::UnavailableError(PQerrorMessage(connection_)); }

Status PostgresSession::run(const std::string& sql) {
  const Result result(PQexec(connection_, sql.c_str()));
  return result_status(result.get());
}

StatusOr<std::string> PostgresSession::value(const std::string& sql) {
  const Result result(PQexec(connection_, sql.c_str()));
  SCYPER_RETURN_IF_ERROR(result_status(result.get()));
  if (PQntuples(result.get()) != 1) return absl::InternalError("not one row: " + sql);
  return std::string(PQgetvalue(result.get(), 0, 0));
}

Status PostgresSession::copy_in(const std::string& sql, const std::function<bool(std::string&)>& next) {
  SCYPER_RETURN_IF_ERROR(run(sql));
  std::string data;
  bool more = true;
  while (more) {
    data.clear();
    more = next(data);
    if (PQputCopyData(connection_, data.data(), static_cast<int>(data.size())) != 1) return connection_error();
  }
  if (PQputCopyEnd(connection_, nullptr) != 1) return connection_error();
  Status status;
  while (const Result result{PQgetResult(connection_)}) status.Update(result_status(result.get()));
  return status;
}

Status PostgresSession::copy_out(const std::string& sql, const std::function<void(std::string_view)>& line) {
  SCYPER_RETURN_IF_ERROR(run(sql));
  char* data = nullptr;
  for (int size = 0; (size = PQgetCopyData(connection_, &data, 0)) > 0;) {
    std::string_view text(data, static_cast<size_t>(size));
    if (text.ends_with('\n')) text.remove_suffix(1);
    line(text);
    PQfreemem(data);
  }
  Status status;
  while (const Result result{PQgetResult(connection_)}) status.Update(result_status(result.get()));
  return status;
}

Status PostgresSession::prepare(const std::string& name, const std::string& sql) {
  const Result result(PQprepare(connection_, name.c_str(), sql.c_str(), 0, nullptr));
  return result_status(result.get());
}

Status PostgresSession::run_prepared(const std::string& name, std::span<const char* const> parameters) {
  const Result result(PQexecPrepared(connection_, name.c_str(), static_cast<int>(parameters.size()), parameters.data(),
                                     nullptr, nullptr, 0));
  return result_status(result.get());
}

Status PostgresSession::begin_pipeline() {
  return PQenterPipelineMode(connection_) == 1 ? absl::OkStatus() : connection_error();
}

Status PostgresSession::end_pipeline() {
  return PQexitPipelineMode(connection_) == 1 ? absl::OkStatus() : connection_error();
}

Status PostgresSession::send(const std::string& name, std::span<const char* const> parameters) {
  if (PQsendQueryPrepared(connection_, name.c_str(), static_cast<int>(parameters.size()), parameters.data(), nullptr,
                          nullptr, 0) != 1 ||
      PQpipelineSync(connection_) != 1) {
    return connection_error();
  }
  return absl::OkStatus();
}

// A statement's answer: its result, a null that ends it, then the result of the synchronisation.
Status PostgresSession::receive(const std::function<void(const pg_result&)>& row) {
  Status status;
  for (;;) {
    const Result result(PQgetResult(connection_));
    if (result == nullptr) {
      if (PQstatus(connection_) != CONNECTION_OK) return connection_error();
      continue;
    }
    if (PQresultStatus(result.get()) == PGRES_PIPELINE_SYNC) return status;
    status.Update(result_status(result.get()));
    if (status.ok()) row(*result);
  }
}

const char* row_value(const pg_result& result, int column) {
  return PQgetisnull(&result, 0, column) ? nullptr : PQgetvalue(&result, 0, column);
}

int row_width(const pg_result& result) { return PQnfields(&result); }

}  // namespace scyper::bench
