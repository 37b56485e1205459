#pragma once

#include <cstdint>
#include <map>

#include "bind/bound.h"

// The types that PostgreSQL gives the columns of a query. Binding finds a precision for many expressions
// (numeric(5,2) * integer is a numeric(15,2)); PostgreSQL gives one to columns, casts and what passes them on unchanged
// (exprTypmod). A column that is made of an expression must take any value later, so definitions and descriptions of
// results ask here.
namespace scyper::query {

// BoundExpr::index of a kCase that is a NULLIF.
constexpr uint32_t kNullIfCase = 1;

class DeclaredTypes {
 public:
  DeclaredTypes() = default;
  // Of a statement's query, which must outlive this.
  explicit DeclaredTypes(const BoundQuery& query) { add(query); }

  // Of an output, hidden ones counted.
  SqlType of_output(const BoundQuery& query, size_t output);
  SqlType of(const BoundExpr& expr);

 private:
  void add(const BoundQuery& query);
  void add(const Relation& relation);
  SqlType of_column(const BoundExpr& column);
  SqlType of_group(const BoundExpr& group);
  SqlType of_subquery(const BoundExpr& subquery);
  SqlType of_case(const BoundExpr& expr);
  SqlType of_all(const std::vector<BoundPtr>& exprs, const SqlType& type);
  SqlType of_visible(const BoundQuery& query, size_t column, const SqlType& type);

  std::map<uint32_t, const Relation*> relations_;
  std::map<uint32_t, const BoundQuery*> queries_;
};

// Notes for clients which columns of a bound statement's results are of another type than the values here.
void note_declared_types(BoundProgram* program);

}  // namespace scyper::query
