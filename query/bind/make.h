#pragma once

#include <string>
#include <utility>

#include "bind/bound.h"

// Small constructors of bound expressions.
namespace scyper::query {

// Name of the variables that are fields of a record whose columns are not known (LooseRecord): texts of unknown type.
constexpr const char* kLooseField = " field";

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

inline BoundPtr make_cast(BoundPtr arg, const SqlType& type, bool explicit_cast) {
  BoundPtr expr = make_expr(BoundKind::kCast, type, arg->nullable, arg->location);
  expr->explicit_cast = explicit_cast;
  expr->args.push_back(std::move(arg));
  return expr;
}

}  // namespace scyper::query
