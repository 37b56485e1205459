#include "generator/comparison.h"

#include <algorithm>
#include <cstdlib>
#include <iostream>

#include "base/check.h"
#include "generator/statements.h"

namespace scyper::generator {

namespace {

using query::ExecutionMode;
using query::Session;
using query::StatementOutcome;

constexpr int kTriesMax = 1500;  // of shrinking one script: seconds

query::DatabaseOptions options_for(ExecutionMode mode) {
  query::DatabaseOptions options;
  options.partitions = 2;
  options.memory_bytes = size_t{1} << 30;
  options.execution = mode;
  return options;
}

// Whether a whole query has an order: those of this generator are by ordinals.
bool is_ordered(const std::string& sql) {
  const size_t at = sql.rfind(" ORDER BY 1");
  return at != std::string::npos && (at + 11 == sql.size() || sql[at + 11] != ')');
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

void Comparison::clear() {
  StatementOutcome done = postgres_.run(
      "SET client_min_messages = error; DROP SCHEMA public CASCADE; CREATE SCHEMA public; DISCARD SEQUENCES; "
      "RESET client_min_messages");
  CHECK(done.ok());
}

std::optional<Difference> Comparison::run(const Script& script, Counts* counts) {
  Counts ignored;
  if (counts == nullptr) counts = &ignored;
  const bool trace = std::getenv("SCYPER_TEST_TRACE") != nullptr;  // to find the one that ends the process
  clear();
  Session interpreted(options_for(ExecutionMode::kInterpreted));
  Session compiled(options_for(ExecutionMode::kQuick));
  bool lacks_table = false;
  for (size_t i = 0; i < script.size(); i++) {
    const std::string sql = script[i].sql();
    if (trace) std::cerr << sql << ";" << std::endl;
    counts->statements++;
    StatementOutcome ours = run_statement(&interpreted, sql);
    if (ours.sqlstate == "0A000") {
      counts->refused[ours.message]++;
      continue;
    }
    Difference difference{i, shown(sql, postgres_.run(sql)), shown(sql, ours),
                          shown(sql, run_statement(&compiled, sql))};
    const char type = script[i].type;
    if (sql.starts_with("CREATE TABLE") && !ours.ok()) lacks_table = true;
    // a routine with a variable of its column's type: PostgreSQL looks when it is made, we when it is called
    const bool is_refused = difference.postgres == "ERROR 42601" || difference.postgres == "ERROR 42P01";
    if (lacks_table && is_refused && difference.interpreted.empty()) return std::nullopt;
    if (!is_alike(type, difference.postgres, difference.interpreted, counts) ||
        difference.interpreted != difference.compiled)
      return difference;
    if (!ours.ok()) counts->errors++;
  }
  return std::nullopt;
}

namespace {
std::string error_of(const std::string& text) {
  const size_t at = text.find("ERROR ");
  return at == std::string::npos ? "" : text.substr(at, 11);
}
// A smaller script with another one would be another difference.
std::string kind_of(const Difference& difference) {
  return error_of(difference.postgres) + "/" + error_of(difference.interpreted) + "/" + error_of(difference.compiled);
}
}  // namespace

bool Comparison::differs(const Script& script) {
  const auto found = run(script);
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

// The first simpler form of each statement that still differs, again and again.
bool Comparison::simplify_statements(Script* script) {
  bool simplified = false;
  for (size_t i = script->size(); i > 0 && tries_ < kTriesMax; i--) {
    for (bool smaller = true; smaller && tries_ < kTriesMax;) {
      smaller = false;
      for (query::Term& candidate : simpler_terms((*script)[i - 1])) {
        if (candidate.sql().size() >= (*script)[i - 1].sql().size()) continue;
        if (++tries_ > kTriesMax) break;
        Script changed = *script;
        changed[i - 1] = std::move(candidate);
        if (!differs(changed)) continue;
        *script = std::move(changed);
        smaller = simplified = true;
        break;
      }
    }
  }
  return simplified;
}

Script Comparison::shrink(Script script) {
  tries_ = 0;
  const auto found = run(script);
  if (!found.has_value()) return script;
  wanted_ = kind_of(*found);
  script.resize(found->statement + 1);
  for (bool smaller = true; smaller && tries_ < kTriesMax;) {
    smaller = drop_statements(&script);
    smaller = simplify_statements(&script) || smaller;
  }
  return script;
}

}  // namespace scyper::generator
