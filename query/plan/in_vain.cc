#include "plan/in_vain.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "bind/relation_walk.h"
#include "bind/statement_reads.h"
#include "plan/access_path.h"
#include "plan/expressions.h"
#include "plan/unique.h"
#include "query/catalog.h"

namespace scyper::query {

namespace {

bool changes_or_varies(const BoundExpr& e) {
  return (e.kind == BoundKind::kUserCall && (e.routine == nullptr || e.routine->is_volatile)) ||
         (e.builtin != nullptr && (e.builtin->is_volatile || e.builtin->writes));
}

bool casts_safely(const BoundExpr& e) {
  const SqlType &from = e.args[0]->type, &to = e.type;
  if (from.id == to.id) return from == to || e.explicit_cast;
  return widens_integer(e) || (is_string(to.id) && to.length < 0) ||
         (is_integer(from.id) && (to.id == TypeId::kFloat8 || to.id == TypeId::kNumeric));
}

// May the expression itself fail, whatever its arguments do?
bool may_fail(const BoundExpr& e) {
  constexpr std::array<std::string_view, 6> kSafe = {"like", "lower", "upper", "length", "ascii", "strpos"};
  switch (e.kind) {
    case BoundKind::kUserCall:
    case BoundKind::kSubscript:
      return true;
    case BoundKind::kCast:
      return !casts_safely(e);
    case BoundKind::kBuiltin:
      if (e.builtin->op == BuiltinOp::kRuntime)
        return std::find(kSafe.begin(), kSafe.end(), e.builtin->name) == kSafe.end();
      return e.builtin->op == BuiltinOp::kDivide || e.builtin->op == BuiltinOp::kModulo;
    default:
      return false;
  }
}

// Does WHERE name one value for each column of a unique key of the only table?
bool has_one_key(const BoundQuery& query) {
  if (query.from.size() != 1 || query.from[0].relation->kind != RelationKind::kTable) return false;
  const Relation& table = *query.from[0].relation;
  std::set<uint32_t> columns;
  for (const auto& conjunct : query.where) {
    const BoundExpr* sides[2] = {};
    bool null_safe = false;
    if (!is_equality(*conjunct, &sides[0], &sides[1], &null_safe)) continue;
    for (const int side : {0, 1})
      if (relations_of(*sides[1 - side]).count(table.id) == 0)
        for (const ColumnId& id : columns_of({sides[side]}))
          if (id.relation == table.id) columns.insert(id.index);
  }
  return has_unique_key(table, columns);
}

bool has_one_row_at_most(const BoundQuery& query) {
  if (query.limit != nullptr && query.limit->kind == BoundKind::kConst && !query.limit->value.null &&
      query.limit->value.lo <= 1 && !query.with_ties)
    return true;
  if (query.set != SetOp::kNone) return false;
  if (query.aggregated) return query.groups.empty() && query.grouping_sets.size() <= 1;
  return query.from.empty() || has_one_key(query);
}

}  // namespace

bool calls_volatile(const BoundExpr& expr) {
  bool found = changes_or_varies(expr);
  for (const auto& arg : expr.args) found = found || calls_volatile(*arg);
  if (found || expr.query == nullptr || computes_once(*expr.query)) return found;
  visit(*expr.query, [&](const BoundExpr& e) { found |= changes_or_varies(e); });
  return found;
}

bool reads_drawn_rows(const BoundQuery& query) {
  bool found = false;
  RelationWalk walk, inside;
  inside.on_expr = [&](BoundExpr& e) { found |= changes_or_varies(e); };
  walk.on_relation = [&](Relation& relation) {
    if (relation.kind == RelationKind::kCommon) inside.walk(relation.common.get());
  };
  walk.walk(const_cast<BoundQuery*>(&query));  // which changes nothing
  return found;
}

bool shows_in_vain(const BoundExpr& subquery) {
  const BoundQuery& query = *subquery.query;
  if (subquery.kind == BoundKind::kScalarSubquery && !has_one_row_at_most(query)) return true;
  bool shows = false;
  RelationWalk walk;
  walk.on_relation = [&](Relation& relation) {
    shows |= relation.kind == RelationKind::kForeign || relation.kind == RelationKind::kFunction ||
             (relation.kind == RelationKind::kSeries && relation.arguments.size() > 2);
  };
  walk.on_expr = [&](BoundExpr& e) {
    shows |=
        changes_or_varies(e) || may_fail(e) || (e.kind == BoundKind::kScalarSubquery && !has_one_row_at_most(*e.query));
  };
  walk.walk(const_cast<BoundQuery*>(&query));  // which changes nothing
  return shows;
}

}  // namespace scyper::query
