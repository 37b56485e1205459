#pragma once

#include <string>
#include <vector>

#include "generator/schema.h"

namespace scyper::generator {

// Queries over a schema. Where their rows have an order it is total, but for rows that look alike.
class QueryMaker {
 public:
  QueryMaker(Random* random, ExpressionMaker* expressions, const Schema* schema)
      : random_(random), expressions_(expressions), schema_(schema) {}

  Term query();
  // One that gives values of these kinds, for INSERT ... SELECT, views of WITH and the like.
  Term of_kinds(const std::vector<Kind>& kinds, const std::string& alias);
  // A condition that may hold subqueries, too.
  Term condition(const Scope& scope, int depth);

 private:
  struct From {
    Term term;
    Scope scope;
  };
  From from(const std::string& alias, int sources_max);
  const Table& source() { return random_->element(schema_->tables); }
  Term join_condition(const Scope& left, const Scope& right, bool equality_only);
  Term plain();
  Term grouped();
  Term windowed();
  Term set_operation();
  Term with();
  Term aggregate(const Scope& scope);
  Term limit();

  Random* const random_;
  ExpressionMaker* const expressions_;
  const Schema* const schema_;
};

}  // namespace scyper::generator
