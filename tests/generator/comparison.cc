#include "generator/comparison.h"

#include <algorithm>
#include <cstdlib>
#include <iostream>

#include "base/check.h"
#include "generator/statements.h"

namespace scyper::generator {

namespace {

using query::ExecutionMode;
using query::IsolatedSession;
using query::StatementOutcome;

constexpr int kTriesMax = 1500;  // of shrinking one script: seconds

query::DatabaseOptions options_for(ExecutionMode mode) {
  query::DatabaseOptions options;
  options.partitions = 2;
  options.memory_bytes = size_t{1} << 30;
  options.execution = mode;
  return options;
}

// A statement that changes nothing.
bool is_query(const std::string& sql) {
  return (sql.starts_with("SELECT") || sql.starts_with("WITH") || sql.starts_with("(")) &&
         sql.find("nextval") == std::string::npos && sql.find("DELETE") == std::string::npos &&
         sql.find("INSERT") == std::string::npos && sql.find("UPDATE") == std::string::npos;
}

// Whether a whole query has an order: those of these generators are by all columns.
bool is_ordered(const std::string& sql) {
  if (!is_query(sql)) return false;
  int depth = 0;
  bool is_quoted = false;
  for (size_t i = 0; i < sql.size(); i++) {
    if (sql[i] == '\'') is_quoted = !is_quoted;
    if (is_quoted) continue;
    depth += sql[i] == '(' ? 1 : sql[i] == ')' ? -1 : 0;
    if (depth == 0 && sql.compare(i, 10, " ORDER BY ") == 0) return true;
  }
  return false;
}

// Rows in any order but where the statement has one; of errors the SQLSTATE; notices in their order.
std::string shown(const std::string& sql, StatementOutcome outcome) {
  if (!is_ordered(sql)) std::sort(outcome.rows.begin(), outcome.rows.end());
  std::string text;
  for (const auto& notice : outcome.notices) text += notice + "\n";
  if (!outcome.ok()) return text + "ERROR " + outcome.sqlstate;
  for (const auto& row : outcome.rows) text += row + "\n";
  return text;
}

// A row's values do not fit: who goes through the rows in another order may find another such row first.
bool is_error_of_row(const std::string& text) {
  return text.starts_with("ERROR 21") || text.starts_with("ERROR 22") || text.starts_with("ERROR 23");
}

// Whether PostgreSQL's answer and ours say the same. (Ours interpreted and compiled are equal, or that is a
// difference.)
bool is_alike(char type, const std::string& truth, const std::string& ours, Counts* counts) {
  if (truth == ours) return true;
  // PostgreSQL computes constants when it plans. A statement of ours that went through rows shows in the tables later.
  if (ours.empty() && (truth.starts_with("ERROR 22") || truth == "ERROR 54000")) return true;
  // A table whose definition failed on both sides is a second error of all that name it.
  const bool is_missing = truth == "ERROR 42P01" || ours == "ERROR 42P01";
  if (is_missing && truth.starts_with("ERROR ") && ours.starts_with("ERROR ")) return true;
  if (type == kStatement || !is_error_of_row(truth) || !is_error_of_row(ours)) return false;
  counts->either_error++;
  return true;
}

}  // namespace

Comparison::Comparison()
    : postgres_("scyper_generator"),
      interpreted_(options_for(ExecutionMode::kInterpreted)),
      compiled_(options_for(ExecutionMode::kQuick)) {
  CHECK(postgres_.run("SET jit = off").ok());
  CHECK(postgres_.run("SET enable_memoize = off").ok());  // it keeps rows that were drawn for equal outer values
}

void Comparison::clear() {
  StatementOutcome done = postgres_.run(
      "SET client_min_messages = error; SET statement_timeout = 0; DROP SCHEMA public CASCADE; CREATE SCHEMA public; "
      "DISCARD SEQUENCES; RESET client_min_messages; SET statement_timeout = '10s'");
  CHECK(done.ok());
  interpreted_.clear();
  if (is_compiled_) compiled_.clear();
}

// After a crash: what the first statements changed.
void Comparison::restore(IsolatedSession* session, const Script& script, size_t count) {
  session->clear();
  for (size_t i = 0; i < count; i++)
    if (const std::string sql = script[i].sql(); !is_query(sql)) session->run(sql);
}

std::optional<Difference> Comparison::compare(const Script& script, size_t statement, bool* lacks_table,
                                              Counts* counts) {
  static const bool kTraces = std::getenv("SCYPER_TEST_TRACE") != nullptr;
  const std::string sql = script[statement].sql();
  if (kTraces) std::cerr << sql << ";" << std::endl;
  counts->statements++;
  const StatementOutcome ours = interpreted_.run(sql);
  // 53200: a limit of memory, which says nothing of the answer; the counts show how often it is met
  if (ours.sqlstate == "0A000" || ours.sqlstate == "53200") {
    counts->refused[ours.message]++;
    return std::nullopt;
  }
  if (is_compiled_) compiled_.begin(sql);
  const StatementOutcome truth = postgres_.run(sql);
  const StatementOutcome other = is_compiled_ ? compiled_.finish() : ours;
  Difference difference{statement, shown(sql, truth), shown(sql, ours), shown(sql, other), ""};
  const auto& crashed = IsolatedSession::is_crash(ours) ? ours : other;
  if (IsolatedSession::is_crash(crashed)) difference.crash = crashed.message;
  if (truth.sqlstate == "57014") return std::nullopt;  // took too long there
  const bool is_crash = IsolatedSession::is_crash(crashed);
  if (truth.sqlstate == "0A000" && !is_crash && (!ours.ok() || is_query(sql))) return std::nullopt;  // not there
  // PostgreSQL's own fault, as "variable not found in subplan target lists" above grouping sets
  if (truth.sqlstate == "XX000" && ours.ok() && is_query(sql)) difference.postgres = difference.interpreted;
  if (sql.starts_with("CREATE TABLE") && !ours.ok()) *lacks_table = true;
  // a routine with a variable of its column's type: PostgreSQL looks when it is made, we when it is called
  const bool is_refused = difference.postgres == "ERROR 42601" || difference.postgres == "ERROR 42P01";
  if (*lacks_table && is_refused && difference.interpreted.empty()) return std::nullopt;
  if (!is_alike(script[statement].type, difference.postgres, difference.interpreted, counts) ||
      difference.interpreted != difference.compiled)
    return difference;
  if (!ours.ok()) counts->errors++;
  return std::nullopt;
}

std::optional<Difference> Comparison::run(const Script& script, Counts* counts) {
  Counts ignored;
  clear();
  bool lacks_table = false;
  for (size_t i = 0; i < script.size(); i++)
    if (auto found = compare(script, i, &lacks_table, counts == nullptr ? &ignored : counts); found.has_value())
      return found;
  return std::nullopt;
}

std::vector<Difference> Comparison::run_all(const Script& script, Counts* counts) {
  clear();
  bool lacks_table = false;
  std::vector<Difference> all;
  for (size_t i = 0; i < script.size(); i++) {
    auto found = compare(script, i, &lacks_table, counts);
    if (!found.has_value()) continue;
    all.push_back(*std::move(found));
    if (!is_query(script[i].sql())) break;
    for (IsolatedSession* session : {&interpreted_, &compiled_})
      if (!session->is_running() && (is_compiled_ || session == &interpreted_)) restore(session, script, i);
  }
  return all;
}

namespace {
std::string error_of(const std::string& text) {
  const size_t at = text.find("ERROR ");
  return at == std::string::npos ? "" : text.substr(at, 11);
}
}  // namespace

std::string kind_of(const Difference& difference) {
  return error_of(difference.postgres) + "/" + error_of(difference.interpreted) + "/" + error_of(difference.compiled) +
         "/" + difference.crash.substr(0, std::min(difference.crash.find("\n", 12), size_t{80}));
}

bool Comparison::differs(const Script& script) {
  const auto found = run(script);
  return found.has_value() && kind_of(*found) == wanted_;
}

// The last statement is a query, and those before have run.
bool Comparison::differs_at_end(const Script& script) {
  Counts ignored;
  bool lacks_table = false;
  for (IsolatedSession* session : {&interpreted_, &compiled_})
    if (!session->is_running() && (is_compiled_ || session == &interpreted_))
      restore(session, script, script.size() - 1);
  const auto found = compare(script, script.size() - 1, &lacks_table, &ignored);
  return found.has_value() && kind_of(*found) == wanted_;
}

// Halves, quarters, ..., single ones.
bool Comparison::drop_statements(Script* script) {
  bool dropped = false;
  for (size_t size = std::max<size_t>(script->size() / 2, 1); size > 0; size /= 2) {
    for (size_t end = script->size(); end > 0 && tries_<kTriesMax; end = end> size ? end - size : 0) {
      const size_t begin = end > size ? end - size : 0;
      if (end > script->size()) continue;
      Script smaller(script->begin(), script->begin() + static_cast<std::ptrdiff_t>(begin));
      smaller.insert(smaller.end(), script->begin() + static_cast<std::ptrdiff_t>(end), script->end());
      tries_++;
      if (!differs(smaller)) continue;
      *script = std::move(smaller);
      dropped = true;
    }
  }
  return dropped;
}

// The first simpler form of a statement that still differs, again and again.
bool Comparison::simplify_statement(Script* script, size_t statement) {
  bool simplified = false;
  const bool is_last = statement + 1 == script->size() && is_query(script->back().sql());
  if (is_last) run(*script);
  for (bool smaller = true; smaller && tries_ < kTriesMax;) {
    smaller = false;
    for (query::Term& candidate : simpler_terms((*script)[statement])) {
      if (candidate.sql().size() >= (*script)[statement].sql().size()) continue;
      if (++tries_ > kTriesMax) break;
      Script changed = *script;
      changed[statement] = std::move(candidate);
      if (!(is_last ? differs_at_end(changed) : differs(changed))) continue;
      *script = std::move(changed);
      smaller = simplified = true;
      break;
    }
  }
  return simplified;
}

Script Comparison::shrink(Script script, const Difference& found) {
  tries_ = 0;
  wanted_ = kind_of(found);
  const query::Term failing = script[found.statement];
  script.resize(found.statement);
  std::erase_if(script, [](const query::Term& term) { return is_query(term.sql()); });
  script.push_back(failing);
  if (!differs(script)) return script;
  for (bool smaller = true; smaller && tries_ < kTriesMax;) {
    smaller = simplify_statement(&script, script.size() - 1);
    smaller = drop_statements(&script) || smaller;
    for (size_t i = script.size() - 1; i > 0; i--) smaller = simplify_statement(&script, i - 1) || smaller;
  }
  return script;
}

}  // namespace scyper::generator
