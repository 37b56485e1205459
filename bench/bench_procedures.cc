// bench_procedures: ten PL/pgSQL functions, compiled and on PostgreSQL 15, in one run. The same text, the same results.

#include <CLI/CLI.hpp>
#include <chrono>
#include <cmath>
#include <iostream>
#include <nlohmann/json.hpp>

#include "postgres_session.h"
#include "testing/session.h"

namespace scyper::bench {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

struct Procedure {
  const char* name;
  const char* body;  // of name(n integer) RETURNS bigint
  int n;
};

constexpr const char* kSchema[] = {
    "CREATE TABLE account (id integer PRIMARY KEY, owner integer NOT NULL, balance bigint NOT NULL)",
    "CREATE TABLE entry (id integer PRIMARY KEY, account integer NOT NULL, amount bigint NOT NULL)",
    "INSERT INTO account SELECT i, i % 100, 1000 FROM generate_series(1, 10000) AS g(i)"};

constexpr Procedure kProcedures[] = {
    {"for_loop", "DECLARE s bigint := 0; BEGIN FOR i IN 1..n LOOP s := s + i * 3 % 7; END LOOP; RETURN s; END", 200000},
    {"while_collatz",
     "DECLARE s bigint := 0; v bigint; BEGIN FOR i IN 1..n LOOP v := i; WHILE v <> 1 LOOP IF v % 2 = 0 THEN v := v / "
     "2; "
     "ELSE v := 3 * v + 1; END IF; s := s + 1; END LOOP; END LOOP; RETURN s; END",
     2000},
    {"labels",
     "DECLARE s bigint := 0; BEGIN <<outer_loop>> FOR i IN 1..n LOOP FOR j IN REVERSE n..1 LOOP CONTINUE outer_loop "
     "WHEN "
     "j < i; EXIT WHEN (i + j) % 11 = 0; s := s + 1; END LOOP; END LOOP; RETURN s; END",
     1000},
    {"case_of",
     "DECLARE s bigint := 0; BEGIN FOR i IN 1..n LOOP CASE i % 5 WHEN 0 THEN s := s + 1; WHEN 1, 2 THEN s := s + 2; "
     "ELSE "
     "s := s - 1; END CASE; END LOOP; RETURN s; END",
     100000},
    {"numerics",
     "DECLARE a numeric := 1.00; BEGIN FOR i IN 1..n LOOP a := round(a * 1.0001 + 0.01, 4); END LOOP; RETURN "
     "round(a)::bigint; END",
     20000},
    {"arrays",
     "DECLARE a integer[]; t integer; s bigint := 0; v integer; BEGIN FOR i IN 1..n LOOP a[i] := (i * 7919) % 1000; "
     "END "
     "LOOP; FOR i IN 1..n LOOP FOR j IN 1..n - i LOOP IF a[j] > a[j + 1] THEN t := a[j]; a[j] := a[j + 1]; a[j + 1] := "
     "t; END IF; END LOOP; END LOOP; FOREACH v IN ARRAY a LOOP s := s * 31 % 1000003 + v; END LOOP; RETURN s; END",
     200},
    {"exceptions",
     "DECLARE s bigint := 0; BEGIN FOR i IN 1..n LOOP BEGIN s := s + 10 / (i % 5); EXCEPTION WHEN division_by_zero "
     "THEN s "
     ":= s - 1; END; END LOOP; RETURN s; END",
     10000},
    {"lookups",
     "DECLARE s bigint := 0; b bigint; BEGIN FOR i IN 1..n LOOP SELECT balance INTO b FROM account WHERE id = i % "
     "10000 + "
     "1; s := s + b; END LOOP; RETURN s; END",
     20000},
    {"transfers",
     "DECLARE r account%ROWTYPE; BEGIN FOR i IN 1..n LOOP UPDATE account SET balance = balance - 1 WHERE id = i % "
     "10000 + "
     "1; UPDATE account SET balance = balance + 1 WHERE id = (i * 7) % 10000 + 1; IF NOT FOUND THEN RAISE EXCEPTION "
     "'no "
     "%', i; END IF; END LOOP; SELECT * INTO r FROM account WHERE id = 1; RETURN (SELECT sum(balance) FROM account); "
     "END",
     5000},
    {"cursor_rows",
     "DECLARE r record; s bigint := 0; BEGIN FOR r IN SELECT id, balance FROM account WHERE owner = n % 100 LOOP s := "
     "s + "
     "r.id; END LOOP; FOR r IN SELECT owner, count(*) AS c FROM account GROUP BY owner LOOP s := s + r.c; END LOOP; "
     "RETURN "
     "s; END",
     7}};

std::string definition(const Procedure& p) {
  return std::string("CREATE FUNCTION ") + p.name + "(n integer) RETURNS bigint LANGUAGE plpgsql AS $body$" + p.body +
         "$body$";
}

std::string call(const Procedure& p) { return std::string("SELECT ") + p.name + "(" + std::to_string(p.n) + ")"; }

// Seconds of one call, the best of several within the time.
template <class Run>
double best_of(double seconds, const Run& run) {
  run();
  double best = 1e9;
  const Clock::time_point start = Clock::now();
  do {
    const Clock::time_point one = Clock::now();
    run();
    best = std::min(best, seconds_since(one));
  } while (seconds_since(start) < seconds);
  return best;
}

int run(double seconds, bool as_json) {
  auto server = ThrowawayServer::start();
  if (!server.ok()) return std::cerr << server.status() << "\n", 1;
  auto postgres = PostgresSession::open((*server)->connection());
  if (!postgres.ok()) return std::cerr << postgres.status() << "\n", 1;
  query::DatabaseOptions options;
  options.memory_bytes = size_t{1} << 30;
  options.execution = query::ExecutionMode::kBetter;
  query::Session session(options);
  for (const char* sql : kSchema)
    if (!session.run(sql).ok() || !(*postgres)->run(sql).ok()) return std::cerr << "cannot run " << sql << "\n", 1;
  if (!(*postgres)->run("ANALYZE").ok()) return 1;
  nlohmann::json out;
  double logs = 0;
  for (const Procedure& p : kProcedures) {
    Status ours = session.run(definition(p));
    if (!ours.ok() || !(*postgres)->run(definition(p)).ok()) return std::cerr << p.name << ": " << ours << "\n", 1;
    auto expected = (*postgres)->value(call(p));
    std::string got = session.text(call(p));
    if (!expected.ok() || *expected != got)
      return std::cerr << p.name << ": " << got << " is not " << expected.value_or("an answer") << "\n", 1;
    double theirs = best_of(seconds, [&] { (void)(*postgres)->value(call(p)); });
    auto prepared = session.database().prepare(call(p));
    auto program = session.database().program_of(**prepared);
    query::ResultSet result;
    double mine = best_of(seconds, [&] {
      result.columns = (*program)->columns();
      (void)session.execute(**program, {}, &result);
      result.clear_rows();
    });
    logs += std::log(theirs / mine);
    out["procedures"][p.name] = {{"scyper_us", mine * 1e6}, {"postgres_us", theirs * 1e6}, {"ratio", theirs / mine}};
    if (!as_json) std::printf("%-14s %10.0f us %12.0f us %8.1f\n", p.name, mine * 1e6, theirs * 1e6, theirs / mine);
  }
  out["ratio_geometric_mean"] = std::exp(logs / std::size(kProcedures));
  if (as_json)
    std::cout << out.dump(2) << "\n";
  else
    std::printf("geometric mean %.1f\n", std::exp(logs / std::size(kProcedures)));
  return 0;
}

}  // namespace
}  // namespace scyper::bench

int main(int argc, char** argv) {
  CLI::App app("ten PL/pgSQL functions, compiled and on PostgreSQL 15");
  double seconds = 0.5;
  std::string format = "text";
  app.add_option("--seconds", seconds, "per function and database");
  app.add_option("-o,--output", format, "text or json");
  CLI11_PARSE(app, argc, argv);
  return scyper::bench::run(seconds, format == "json");
}
