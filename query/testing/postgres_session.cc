#include "testing/postgres_session.h"

#include <libpq-fe.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <iostream>

#include "base/check.h"
#include "tests/postgres_server.h"

namespace scyper::query {

std::string to_string(const StatementOutcome& outcome) {
  std::string text;
  if (!outcome.ok()) {
    text = "ERROR " + outcome.sqlstate + ": " + outcome.message;
    if (!outcome.context.empty()) text += " [" + outcome.context + "]";
    if (outcome.position > 0) text += " (at " + std::to_string(outcome.position) + ")";
  } else {
    for (const auto& name : outcome.names) text += (text.empty() ? "[" : ", ") + name;
    if (!text.empty()) text += "]";
    for (const auto& row : outcome.rows) text += "\n    " + row;
  }
  for (const auto& notice : outcome.notices) text += "\n    " + notice;
  return text;
}

std::string copy_context(const std::string& context, const std::string& sqlstate) {
  size_t from = context.rfind("COPY ");
  if (from == std::string::npos) return "";
  const std::string line = context.substr(from);
  const size_t number = line.find(", line ") + 7;
  const size_t colon = line.find(": \"", number);
  const bool has_column = line.find(", column ", number) < colon;
  const bool is_text = sqlstate == "22P04" || sqlstate == "22021";
  return has_column || is_text ? line : line.substr(0, colon);
}

void append_copy_lines(const std::string& text, StatementOutcome* outcome) {
  for (size_t from = 0; from < text.size();) {
    const size_t end = std::min(text.find('\n', from), text.size());
    outcome->rows.push_back(text.substr(from, end - from));
    from = end + 1;
  }
}

bool is_copy(const std::string& sql) {
  std::string word;
  for (char c : sql.substr(0, 5)) word += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return word == "copy ";
}

struct PostgresSession::Impl {
  tests::PostgresServer server;
  std::string database;
  PGconn* connection = nullptr;
  std::vector<std::string> notices;
};

namespace {
std::string field_of(const PGresult* result, int field) {
  const char* text = PQresultErrorField(result, field);
  return text == nullptr ? "" : text;
}
void take_notice(void* arg, const PGresult* result) {
  static_cast<std::vector<std::string>*>(arg)->push_back(field_of(result, PG_DIAG_SEVERITY) + ":  " +
                                                         field_of(result, PG_DIAG_MESSAGE_PRIMARY));
}
void execute(PGconn* connection, const std::string& sql) {
  PGresult* result = PQexec(connection, sql.c_str());
  if (PQresultStatus(result) != PGRES_COMMAND_OK) std::cerr << PQresultErrorMessage(result);
  CHECK(PQresultStatus(result) == PGRES_COMMAND_OK);
  PQclear(result);
}

// On a connection to no database of ours.
void execute_beside(const tests::PostgresServer& server, const std::vector<std::string>& statements) {
  PGconn* connection = PQconnectdb(server.connection().c_str());
  CHECK(PQstatus(connection) == CONNECTION_OK);
  PQsetNoticeReceiver(connection, [](void*, const PGresult*) {}, nullptr);
  for (const auto& sql : statements) execute(connection, sql);
  PQfinish(connection);
}
}  // namespace

// The same test may run in several trees at once.
PostgresSession::PostgresSession(const std::string& database) : impl_(std::make_unique<Impl>()) {
  impl_->database = database + "_" + std::to_string(getpid());
  execute_beside(impl_->server, {"DROP DATABASE IF EXISTS " + impl_->database, "CREATE DATABASE " + impl_->database});
  reconnect();
}

void PostgresSession::reconnect() {
  if (impl_->connection != nullptr) PQfinish(impl_->connection);
  impl_->connection = PQconnectdb(impl_->server.connection_to(impl_->database).c_str());
  CHECK(PQstatus(impl_->connection) == CONNECTION_OK);
  PQsetNoticeReceiver(impl_->connection, take_notice, &impl_->notices);
  execute(impl_->connection, "SET client_encoding = 'UTF8'");
  execute(impl_->connection, "SET timezone = 'UTC'");
}

PostgresSession::~PostgresSession() {
  PQfinish(impl_->connection);
  execute_beside(impl_->server, {"DROP DATABASE " + impl_->database + " WITH (FORCE)"});
}

namespace {
StatementOutcome outcome_of(PGresult* result) {
  StatementOutcome outcome;
  ExecStatusType status = PQresultStatus(result);
  if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK && status != PGRES_EMPTY_QUERY) {
    outcome.sqlstate = field_of(result, PG_DIAG_SQLSTATE);
    if (outcome.sqlstate.empty()) outcome.sqlstate = "?????";
    outcome.message = field_of(result, PG_DIAG_MESSAGE_PRIMARY);
    outcome.context = copy_context(field_of(result, PG_DIAG_CONTEXT), outcome.sqlstate);
    outcome.position = std::atoi(field_of(result, PG_DIAG_STATEMENT_POSITION).c_str());
  }
  for (int column = 0; column < PQnfields(result); column++) outcome.names.emplace_back(PQfname(result, column));
  for (int row = 0; row < PQntuples(result); row++) {
    std::string text;
    for (int column = 0; column < PQnfields(result); column++) {
      if (column > 0) text += '|';
      text += PQgetisnull(result, row, column) != 0 ? "NULL" : PQgetvalue(result, row, column);
    }
    outcome.rows.push_back(std::move(text));
  }
  PQclear(result);
  return outcome;
}
}  // namespace

namespace {
// Sends or receives what the COPY that has begun wants.
StatementOutcome finish_copy(PGconn* connection, PGresult* begun, const std::string& data) {
  std::string text;
  if (PQresultStatus(begun) == PGRES_COPY_IN) {
    PQputCopyData(connection, data.data(), static_cast<int>(data.size()));
    PQputCopyEnd(connection, nullptr);
  } else {
    char* row = nullptr;
    for (int size = 0; (size = PQgetCopyData(connection, &row, 0)) > 0; PQfreemem(row))
      text.append(row, static_cast<size_t>(size));
  }
  PQclear(begun);
  PGresult* result = PQgetResult(connection);
  const std::string tag = PQcmdStatus(result);
  StatementOutcome outcome = outcome_of(result);
  while ((result = PQgetResult(connection)) != nullptr) PQclear(result);
  append_copy_lines(text, &outcome);
  if (outcome.ok()) outcome.rows.push_back(tag);
  return outcome;
}
}  // namespace

StatementOutcome PostgresSession::run(const std::string& sql, const std::string& data) {
  impl_->notices.clear();
  PGresult* result = PQexec(impl_->connection, sql.c_str());
  const ExecStatusType status = PQresultStatus(result);
  StatementOutcome outcome = status == PGRES_COPY_IN || status == PGRES_COPY_OUT
                                 ? finish_copy(impl_->connection, result, data)
                                 : outcome_of(result);
  outcome.notices = impl_->notices;
  return outcome;
}

std::vector<StatementOutcome> PostgresSession::run_all(const std::vector<std::string>& statements) {
  PGconn* connection = impl_->connection;
  CHECK(PQenterPipelineMode(connection) == 1);
  for (const auto& sql : statements) {
    CHECK(PQsendQueryParams(connection, sql.c_str(), 0, nullptr, nullptr, nullptr, nullptr, 0) == 1);
    CHECK(PQpipelineSync(connection) == 1);
  }
  std::vector<StatementOutcome> outcomes;
  for (size_t i = 0; i < statements.size(); i++) {
    outcomes.push_back(outcome_of(PQgetResult(connection)));
    CHECK(PQgetResult(connection) == nullptr);
    PGresult* sync = PQgetResult(connection);
    CHECK(PQresultStatus(sync) == PGRES_PIPELINE_SYNC);
    PQclear(sync);
  }
  CHECK(PQexitPipelineMode(connection) == 1);
  return outcomes;
}

}  // namespace scyper::query
