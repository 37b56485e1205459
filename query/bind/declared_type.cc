#include "bind/declared_type.h"

#include <algorithm>

#include "bind/make.h"
#include "storage/json_text_type.h"

namespace scyper::query {

void DeclaredTypes::add(const BoundQuery& query) {
  if (!queries_.emplace(query.id, &query).second && query.id != 0) return;
  for (const FromEntry& entry : query.from) add(*entry.relation);
  for (const BoundQuery* side : {query.left.get(), query.right.get()})
    if (side != nullptr) add(*side);
}

void DeclaredTypes::add(const Relation& relation) {
  if (!relations_.emplace(relation.id, &relation).second) return;
  if (relation.query != nullptr) add(*relation.query);
  if (relation.common == nullptr) return;
  for (const BoundQuery* term : {relation.common->query.get(), relation.common->recursive.get()})
    if (term != nullptr) add(*term);
}

SqlType DeclaredTypes::of_output(const BoundQuery& query, size_t output) {
  const BoundExpr& expr = *query.outputs[output].expr;
  if (query.set == SetOp::kNone || expr.kind != BoundKind::kSubqueryOutput) return of(expr);
  const SqlType left = of_visible(*query.left, expr.index, expr.type);
  const SqlType right = of_visible(*query.right, expr.index, expr.type);
  return left == right ? left : plain_type(expr.type);
}

// type: where the query has no such column.
SqlType DeclaredTypes::of_visible(const BoundQuery& query, size_t column, const SqlType& type) {
  for (size_t i = 0; i < query.outputs.size(); i++) {
    if (query.outputs[i].hidden) continue;
    if (column == 0) return of_output(query, i);
    column--;
  }
  return plain_type(type);
}

SqlType DeclaredTypes::of_all(const std::vector<BoundPtr>& exprs, const SqlType& type) {
  if (exprs.empty()) return plain_type(type);
  const SqlType first = of(*exprs[0]);
  const auto is_same = [&](const BoundPtr& expr) { return of(*expr) == first; };
  return std::all_of(exprs.begin() + 1, exprs.end(), is_same) ? first : plain_type(type);
}

SqlType DeclaredTypes::of_column(const BoundExpr& column) {
  const auto found = relations_.find(column.relation);
  if (found == relations_.end()) return column.type;
  const Relation& relation = *found->second;
  switch (relation.kind) {
    case RelationKind::kQuery:
      return of_visible(*relation.query, column.index, column.type);
    case RelationKind::kValues: {
      if (relation.rows.empty()) return column.type;  // a table of the system that has no rows now
      const SqlType first = of(*relation.rows[0][column.index]);
      for (const auto& row : relation.rows)
        if (of(*row[column.index]) != first) return plain_type(column.type);
      return first;
    }
    case RelationKind::kCommon:
    case RelationKind::kFunction:
      if (relation.common == nullptr) return column.type;
      if (relation.common->query != nullptr) return of_visible(*relation.common->query, column.index, column.type);
      if (relation.common->dml == nullptr) return column.type;
      return of(*relation.common->dml->returning[column.index].expr);
    case RelationKind::kSeries:
    case RelationKind::kUnnest:
      return plain_type(column.type);
    default:
      return column.type;
  }
}

SqlType DeclaredTypes::of_group(const BoundExpr& group) {
  const auto found = queries_.find(group.relation);
  if (found == queries_.end() || group.index >= found->second->groups.size()) return plain_type(group.type);
  return of(*found->second->groups[group.index]);
}

// ARRAY(SELECT ...) is an aggregate over the query (binder_array.cc); its elements are of the query's type.
SqlType DeclaredTypes::of_subquery(const BoundExpr& subquery) {
  const BoundQuery& query = *subquery.query;
  add(query);
  const bool is_array = query.outputs.size() == 1 && query.outputs[0].expr->kind == BoundKind::kAggregate &&
                        query.from.size() == 1 && query.from[0].relation->alias.empty();
  if (!is_array) return of_visible(query, 0, subquery.type);
  return make_array(of(*query.aggregates[query.outputs[0].expr->index].args[0]));
}

// NULLIF is a CASE as well: its value is the last of the results, the other one NULL.
SqlType DeclaredTypes::of_case(const BoundExpr& expr) {
  const SqlType otherwise = of(*expr.args.back());
  if (expr.index == kNullIfCase) return otherwise;
  for (size_t i = 1; i < expr.args.size(); i += 2)
    if (of(*expr.args[i]) != otherwise) return plain_type(expr.type);
  return otherwise;
}

SqlType DeclaredTypes::of(const BoundExpr& expr) {
  switch (expr.kind) {
    case BoundKind::kConst:
    case BoundKind::kCast:
      return expr.explicit_cast ? expr.type : plain_type(expr.type);
    case BoundKind::kVariable:
      return expr.type;
    case BoundKind::kColumn:
      return of_column(expr);
    case BoundKind::kGroup:
      return of_group(expr);
    case BoundKind::kSubscript: {
      const SqlType array = of(*expr.args[0]);
      return array.id == TypeId::kArray ? element_of(array) : plain_type(expr.type);
    }
    case BoundKind::kArray:
      return expr.args.empty() ? plain_type(expr.type) : make_array(of_all(expr.args, element_of(expr.type)));
    case BoundKind::kCase:
      return of_case(expr);
    case BoundKind::kCoalesce:
      // ARRAY(SELECT ...) of no rows is an empty array
      if (expr.args[0]->kind == BoundKind::kScalarSubquery && expr.args.size() == 2 &&
          expr.args[1]->kind == BoundKind::kArray && expr.args[1]->args.empty())
        return of(*expr.args[0]);
      return of_all(expr.args, expr.type);
    case BoundKind::kMinMax:
      return of_all(expr.args, expr.type);
    case BoundKind::kScalarSubquery:
      return of_subquery(expr);
    case BoundKind::kBuiltin:
      // a slice of an array keeps its elements' type
      if (expr.builtin != nullptr && expr.builtin->name == " slice" && !expr.args.empty()) return of(*expr.args[0]);
      return plain_type(expr.type);
    default:
      return plain_type(expr.type);
  }
}

void note_declared_types(BoundProgram* program) {
  const auto note = [&](size_t column, const SqlType& declared) {
    if (column >= program->columns.size()) return;
    RelationColumn& shown = program->columns[column];
    if (shown.declared.id == TypeId::kUnknown && declared != shown.type) shown.declared = declared;
  };
  size_t column = 0;
  const auto is_plain = [](const BoundExpr& expr) { return expr.type == plain_type(expr.type); };
  if (program->query != nullptr) {
    const BoundQuery& query = *program->query;
    DeclaredTypes types(query);
    for (size_t i = 0; i < query.outputs.size(); i++) {
      if (query.outputs[i].hidden) continue;
      if (!is_plain(*query.outputs[i].expr)) note(column, types.of_output(query, i));
      column++;
    }
  }
  if (program->dml == nullptr) return;
  DeclaredTypes types;
  for (const OutputColumn& output : program->dml->returning) {
    if (!is_plain(*output.expr)) note(column, types.of(*output.expr));
    column++;
  }
}

}  // namespace scyper::query
