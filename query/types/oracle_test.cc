#include "types/oracle.h"

#include <gtest/gtest.h>
#include <libpq-fe.h>

#include <algorithm>
#include <iostream>

#include "base/check.h"
#include "base/test_seed.h"
#include "tests/postgres_server.h"

namespace scyper::query {

namespace {

constexpr char kEvaluate[] = R"sql(
CREATE OR REPLACE FUNCTION pg_temp.evaluate(expression text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  result text; state text; message text; detail text; hint text;
BEGIN
  EXECUTE 'SELECT CASE WHEN x IS NULL THEN ''null'' ELSE ''='' || format(''%s'', x) END FROM (SELECT '
    || expression || ' AS x) s' INTO result;
  RETURN result;
EXCEPTION WHEN others THEN
  GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, message = MESSAGE_TEXT,
    detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
  RETURN '!' || state || ' ' || message || '|' || detail || '|' || hint;
END $$)sql";

}  // namespace

struct Oracle::Impl {
  tests::PostgresServer server;
  PGconn* connection = nullptr;
};

Oracle::Oracle() : impl_(std::make_unique<Impl>()) {
  impl_->connection = PQconnectdb(impl_->server.connection().c_str());
  if (PQstatus(impl_->connection) != CONNECTION_OK) std::cerr << PQerrorMessage(impl_->connection);
  CHECK(PQstatus(impl_->connection) == CONNECTION_OK);
  PQclear(PQexec(impl_->connection, "SET client_encoding = 'UTF8'"));
  PQclear(PQexec(impl_->connection, "SET lc_messages = 'C'"));
  PQclear(PQexec(impl_->connection, "SET timezone = 'UTC'"));
  PQclear(PQexec(impl_->connection, kEvaluate));
}

Oracle::~Oracle() { PQfinish(impl_->connection); }

std::vector<std::string> Oracle::evaluate(const std::vector<std::string>& expressions) {
  constexpr size_t kBatch = 2000;
  std::vector<std::string> results;
  for (size_t start = 0; start < expressions.size(); start += kBatch) {
    std::string joined;
    size_t end = std::min(start + kBatch, expressions.size());
    for (size_t i = start; i < end; ++i) joined += (i > start ? "\x01" : "") + expressions[i];
    const char* values[] = {joined.c_str()};
    PGresult* result = PQexecParams(impl_->connection,
                                    "SELECT pg_temp.evaluate(e) FROM unnest(string_to_array($1, chr(1))) "
                                    "WITH ORDINALITY t(e, i) ORDER BY i",
                                    1, nullptr, values, nullptr, nullptr, 0);
    if (PQresultStatus(result) != PGRES_TUPLES_OK) std::cerr << PQresultErrorMessage(result);
    CHECK(PQresultStatus(result) == PGRES_TUPLES_OK);
    CHECK(PQntuples(result) == static_cast<int>(end - start));
    for (int row = 0; row < PQntuples(result); ++row) results.emplace_back(PQgetvalue(result, row, 0));
    PQclear(result);
  }
  return results;
}

void Oracle::execute(const std::string& sql) {
  PGresult* result = PQexec(impl_->connection, sql.c_str());
  if (PQresultStatus(result) != PGRES_COMMAND_OK) std::cerr << PQresultErrorMessage(result);
  CHECK(PQresultStatus(result) == PGRES_COMMAND_OK);
  PQclear(result);
}

Oracle& oracle() {
  static Oracle instance;
  return instance;
}

std::string value_outcome(std::string_view text) { return "=" + std::string(text); }

std::string error_outcome(ValueError error, const SqlType& type, std::string_view text) {
  Status status = error_status(error, type, text);
  return "!" + sqlstate_of(status) + " " + std::string(status.message()) + "|" + detail_of(status) + "|" +
         hint_of(status);
}

void Comparison::expect(std::string expression, std::string outcome) {
  expressions_.push_back(std::move(expression));
  outcomes_.push_back(std::move(outcome));
}

void Comparison::check() {
  constexpr int kShown = 25;
  std::vector<std::string> truth = oracle().evaluate(expressions_);
  int wrong = 0;
  for (size_t i = 0; i < truth.size(); ++i) {
    if (truth[i] == outcomes_[i]) continue;
    if (wrong++ < kShown)
      ADD_FAILURE() << expressions_[i] << "\n  PostgreSQL " << truth[i] << "\n  ours       " << outcomes_[i];
  }
  std::cout << "[   oracle ] " << truth.size() << " expressions, " << wrong << " differ\n";
}

std::mt19937_64& random_source() {
  static std::mt19937_64 source(test_seed());
  return source;
}

std::string sql_quote(std::string_view text) {
  bool escapes = text.find('\\') != std::string_view::npos;
  std::string out = escapes ? " E'" : "'";
  for (char c : text) {
    if (c == '\'' || c == '\\') out += c;
    out += c;
  }
  return out + "'";
}

}  // namespace scyper::query
