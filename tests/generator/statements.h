#pragma once

#include <string>
#include <vector>

#include "generator/queries.h"

namespace scyper::generator {

// Term::type of a whole statement.
constexpr char kStatement = 'Z';
// One that goes through many rows: of several that fail, either may be the one that the error tells of.
constexpr char kSetStatement = 'Y';

// Queries and changes over a schema. Where several rows of one table meet one row that they change, that is an error or
// does not happen: nothing depends on the order of rows.
class StatementMaker {
 public:
  StatementMaker(Random* random, ExpressionMaker* expressions, const Schema* schema)
      : random_(random), expressions_(expressions), schema_(schema), queries_(random, expressions, schema) {}

  Term statement();
  // Rows for a table, with keys that count up from `first`.
  Term fill(const Table& table) { return fill(table, 1, 4 + random_->pick(6)); }
  Term fill(const Table& table, int first, int rows);
  Term insert();
  Term update();
  Term remove();
  QueryMaker& queries() { return queries_; }

 private:
  struct Joined {  // of a target with another table, each row of it with at most one
    const Table* source = nullptr;
    std::string condition;
  };
  const Table& target(bool drawn) { return *random_->element(schema_->targets(drawn)); }
  Joined partner(const Table& target);
  std::vector<const Column*> insert_columns(const Table& table);
  Term insert_value(const Column& column, int depth, bool may_fail);
  Term conflict(const Table& table);
  Term assignments(const Table& table, const Scope& scope, bool one_row, bool may_fail);
  std::string one_row(const Table& table, const std::string& prefix);
  Term returning(const Table& table, const std::string& prefix);
  Term insert_select();
  Term merge();
  Term merge_insert(const Table& table, const Table& source);
  Term with_changes();
  Term definition();

  Random* const random_;
  ExpressionMaker* const expressions_;
  const Schema* const schema_;
  QueryMaker queries_;
};

}  // namespace scyper::generator
