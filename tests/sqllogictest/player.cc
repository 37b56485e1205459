#include "sqllogictest/player.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "sqllogictest/dialects.h"
#include "types/datum_text.h"
#include "types/md5.h"

namespace scyper::tests {

using query::ResultSet;

namespace {

std::string shown_value(const SqlType& type, const Datum& value, char as) {
  if (value.null) return "NULL";
  std::string text;
  query::append_datum(&text, type, value);
  char number[400];
  if (as == 'I') {  // as SQLite: what is no integer loses its fraction
    if (is_integer(type.id)) return text;
    if (type.id == TypeId::kBool) return value.lo != 0 ? "1" : "0";
    std::snprintf(number, sizeof(number), "%lld", std::strtoll(text.c_str(), nullptr, 10));
    return number;
  }
  if (as == 'R') {
    std::snprintf(number, sizeof(number), "%.3f", std::strtod(text.c_str(), nullptr));
    return number;
  }
  if (text.empty()) return "(empty)";
  for (char& c : text)
    if (c < ' ' || c > '~') c = '@';
  return text;
}

}  // namespace

std::vector<std::string> shown_values(const ResultSet& result, const std::string& types, SortMode sort) {
  std::vector<std::vector<std::string>> rows;
  for (size_t r = 0; r < result.row_count(); r++) {
    std::vector<std::string> row;
    for (size_t c = 0; c < result.columns.size(); c++)
      row.push_back(shown_value(result.columns[c].type, result.value(r, c), types[c]));
    rows.push_back(std::move(row));
  }
  if (sort == SortMode::kRowSort) std::sort(rows.begin(), rows.end());
  std::vector<std::string> values;
  for (auto& row : rows)
    for (auto& value : row) values.push_back(std::move(value));
  if (sort == SortMode::kValueSort) std::sort(values.begin(), values.end());
  return values;
}

std::string hash_of(const std::vector<std::string>& values) {
  std::string all;
  for (const auto& value : values) absl::StrAppend(&all, value, "\n");
  return absl::StrCat(values.size(), " values hashing to ", query::md5_hex(all));
}

// Unless PostgreSQL does as we do, or fails where we refuse what we do not have.
void Player::wrong(const Record& record, std::string what, std::string detail, Outcomes* outcomes) {
  if (judge_ != nullptr) {
    if (record.kind == RecordKind::kQuery) statements_.push_back(record.sql);
    for (const auto& sql : statements_) verdict_ = judge_->run(sql);  // what it has not seen yet
    statements_.clear();
    std::vector<std::string> theirs = verdict_.rows;
    std::sort(theirs.begin(), theirs.end());
    bool same = ours_.empty() ? verdict_.ok() && rows_ == theirs : ours_ == verdict_.sqlstate;
    same |= ours_ == "0A000" && !verdict_.ok();
    if (same) {
      outcomes->as_postgres++;
      return;
    }
  }
  outcomes->mismatches.push_back({record.line, record.sql, std::move(what), std::move(detail)});
}

Status Player::run_here(const std::string& sql, ResultSet* result) {
  Status status = session_->run(sql, result);
  ours_ = status.ok() ? "" : sqlstate_of(status);
  rows_.clear();
  for (size_t r = 0; r < result->row_count(); r++) {
    std::string row;
    for (size_t c = 0; c < result->columns.size(); c++) {
      if (c > 0) row += '|';
      if (result->value(r, c).null)
        row += "NULL";
      else
        query::append_datum(&row, result->columns[c].type, result->value(r, c));
    }
    rows_.push_back(std::move(row));
  }
  std::sort(rows_.begin(), rows_.end());
  return status;
}

void Player::run_statement(const Record& record, Outcomes* outcomes) {
  outcomes->statements++;
  if (judge_ != nullptr) statements_.push_back(record.sql);
  ResultSet result;
  Status status = run_here(record.sql, &result);
  bool must_fail = record.kind == RecordKind::kStatementError;
  if (record.kind == RecordKind::kStatementMaybe) return;
  if (must_fail && status.ok()) wrong(record, "succeeds, must fail", "", outcomes);
  if (!must_fail && !status.ok()) wrong(record, sqlstate_of(status), std::string(status.message()), outcomes);
}

void Player::run_query(const Record& record, Outcomes* outcomes) {
  if (seen_++ % every_ != 0) return;
  outcomes->queries++;
  auto mismatch = [&](std::string what, std::string detail) {
    wrong(record, std::move(what), std::move(detail), outcomes);
  };
  ResultSet result;
  Status status = run_here(record.sql, &result);
  if (!status.ok()) return mismatch(sqlstate_of(status), std::string(status.message()));
  std::vector<std::string> expected = record.expected;
  if (record.has_names && !expected.empty()) expected.erase(expected.begin());
  if (record.types.empty() && result.row_count() == 0) return;
  if (result.columns.size() != record.types.size())
    return mismatch("wrong number of columns", absl::StrCat(result.columns.size()));
  std::vector<std::string> values = shown_values(result, record.types, record.sort);
  std::string hash = hash_of(values);
  bool hashed = expected.size() == 1 && expected[0].find(" values hashing to ") != std::string::npos;
  bool right = hashed ? expected[0] == hash : expected == values || are_rows(result, expected, record.sort);
  if (!right)
    mismatch("wrong result", absl::StrCat("expected\n", absl::StrJoin(expected, "\n"), "\nfound ", hash, "\n",
                                          values.size() < 100 ? absl::StrJoin(values, "\n") : ""));
  if (record.label.empty()) return;
  auto [known, is_new] = labels_.emplace(record.label, hash);
  if (!is_new && known->second != hash) mismatch("the result of this label was another", known->second);
}

Outcomes Player::run(const std::vector<Record>& records) {
  Outcomes outcomes;
  for (const auto& record : records) {
    if (record.kind == RecordKind::kQuery)
      run_query(record, &outcomes);
    else
      run_statement(record, &outcomes);
  }
  return outcomes;
}

}  // namespace scyper::tests
