#pragma once

#include <string>
#include <utility>

#include "bind/bound.h"

// Small constructors of bound expressions.
namespace scyper::query {

// Name of the variables that are fields of a record whose columns are not known (LooseRecord): texts of unknown type.
constexpr const char* kLooseField = " field";

// BoundExpr::index of a kRow: whole rows that are no list of fields.
constexpr uint32_t kImageRow = 1;   // args[0]: the image of a record that dynamic SQL filled (functions_record.h)
constexpr uint32_t kAbsentRow = 2;  // NULL as a whole: OLD of an INSERT, NEW of a DELETE
// BoundExpr::index of what row_text() made of a row that is shown as such, not cast to text by the statement.
constexpr uint32_t kShownRow = 3;

// BoundExpr::index of a kOr of equalities: written as IN.
constexpr uint32_t kInListOr = 1;

inline BoundPtr make_expr(BoundKind kind, const SqlType& type, bool nullable, int32_t location) {
  auto expr = std::make_unique<BoundExpr>();
  expr->kind = kind;
  expr->type = type;
  expr->nullable = nullable;
  expr->location = location;
  return expr;
}

inline BoundPtr make_null(const SqlType& type, int32_t location) {
  return make_expr(BoundKind::kConst, type, true, location);
}

// Places of the hidden columns in a source of rows: they are computed of the others.
inline void add_hidden_outputs(const storage::TableSchema& schema, BoundQuery* source) {
  for (size_t c = storage::visible_columns(schema); c + (schema.has_row_id ? 1 : 0) < schema.columns.size(); c++)
    source->outputs.push_back({schema.columns[c].name, make_null(schema.columns[c].type, -1), false});
}

inline BoundPtr make_constant(const SqlType& type, const Datum& value, int32_t location) {
  BoundPtr expr = make_expr(BoundKind::kConst, type, false, location);
  expr->value = value;
  return expr;
}

inline BoundPtr make_text_constant(const SqlType& type, std::string text, int32_t location) {
  BoundPtr expr = make_expr(BoundKind::kConst, type, false, location);
  expr->text = std::move(text);
  expr->value = string_datum(expr->text.data(), expr->text.size());
  return expr;
}

inline BoundPtr make_variable(uint32_t variable, const SqlType& type, bool nullable, int32_t location) {
  BoundPtr expr = make_expr(BoundKind::kVariable, type, nullable, location);
  expr->index = variable;
  return expr;
}

inline BoundPtr make_column(uint32_t relation, uint32_t column, const SqlType& type, bool nullable, int32_t location) {
  BoundPtr expr = make_expr(BoundKind::kColumn, type, nullable, location);
  expr->relation = relation;
  expr->index = column;
  return expr;
}

// SELECT * FROM the relation.
inline std::unique_ptr<BoundQuery> select_all(std::unique_ptr<Relation> relation) {
  auto query = std::make_unique<BoundQuery>();
  for (uint32_t c = 0; c < relation->columns.size(); c++) {
    const RelationColumn& column = relation->columns[c];
    query->outputs.push_back({column.name, make_column(relation->id, c, column.type, column.nullable, -1), false});
  }
  FromEntry entry;
  entry.relation = std::move(relation);
  query->from.push_back(std::move(entry));
  return query;
}

inline BoundPtr make_cast(BoundPtr arg, const SqlType& type, bool explicit_cast) {
  BoundPtr expr = make_expr(BoundKind::kCast, type, arg->nullable, arg->location);
  expr->explicit_cast = explicit_cast;
  expr->args.push_back(std::move(arg));
  return expr;
}

}  // namespace scyper::query
