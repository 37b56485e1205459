#include <utility>

#include "absl/strings/str_cat.h"
#include "bind/binder.h"
#include "bind/binder_recursion.h"
#include "bind/make.h"
#include "bind/unordered_types.h"

// VALUES and set operations.
namespace scyper::query {

Status Binder::bind_values(const ast::SelectStatement& select, const Scope* parent, BoundQuery* query) {
  auto relation = new_relation(RelationKind::kValues, "*VALUES*");
  size_t width = select.values[0].size();
  std::vector<std::vector<BoundPtr>> columns(width);
  for (const auto& row : select.values) {
    if (row.size() != width)
      return error("42601", "VALUES lists must all be the same length", row.empty() ? -1 : row[0]->location);
    for (size_t c = 0; c < width; c++) {
      SCYPER_ASSIGN_OR_RETURN(BoundPtr value, bind(*row[c], parent));
      columns[c].push_back(std::move(value));
    }
  }
  relation->rows.resize(select.values.size());
  for (size_t c = 0; c < width; c++) {
    SCYPER_ASSIGN_OR_RETURN(SqlType type, common_type(columns[c], "VALUES"));
    bool nullable = false;
    for (size_t r = 0; r < columns[c].size(); r++) {
      SCYPER_ASSIGN_OR_RETURN(BoundPtr value, coerce(std::move(columns[c][r]), type, Coercion::kImplicit));
      nullable |= value->nullable;
      relation->rows[r].push_back(std::move(value));
    }
    relation->columns.push_back({absl::StrCat("column", c + 1), type, nullable, false});
    query->outputs.push_back(
        {relation->columns[c].name, make_column(relation->id, static_cast<uint32_t>(c), type, nullable, -1), false});
  }
  Scope scope;
  scope.parent = parent;
  scope.query = query;
  SCYPER_RETURN_IF_ERROR(add_relation(std::move(relation), &scope, query, JoinType::kInner, select.location));
  SCYPER_RETURN_IF_ERROR(bind_order_by(select.order_by, &scope, query));
  return bind_limit(select, &scope, query);
}

void Binder::wrap(std::unique_ptr<BoundQuery>* query) {
  auto outer = std::make_unique<BoundQuery>();
  auto relation = new_relation(RelationKind::kQuery, "*SELECT*");
  outer->correlated = (*query)->correlated;
  for (const auto& output : (*query)->outputs) {
    if (output.hidden) continue;
    uint32_t column = static_cast<uint32_t>(relation->columns.size());
    const BoundExpr& expr = *output.expr;
    relation->columns.push_back({output.name, expr.type, expr.nullable, false});
    outer->outputs.push_back(
        {output.name, make_column(relation->id, column, expr.type, expr.nullable, expr.location), false});
  }
  relation->query = std::move(*query);
  FromEntry entry;
  entry.relation = std::move(relation);
  outer->from.push_back(std::move(entry));
  *query = std::move(outer);
}

Status Binder::bind_set_operation(const ast::SelectStatement& select, const Scope* parent, BoundQuery* query) {
  const bool except = select.set == ast::SetOperation::kExcept, intersect = select.set == ast::SetOperation::kIntersect;
  const RecursionPlace place = except ? RecursionPlace::kExcept : RecursionPlace::kIntersect;
  auto bind_side = [&](const ast::SelectStatement& side, bool barred) {
    const RecursionAt at(this, place, barred);
    return bind_select(side, parent, side.order_by.empty());
  };
  SCYPER_ASSIGN_OR_RETURN(query->left, bind_side(*select.left, (except || intersect) && select.set_all));
  SCYPER_ASSIGN_OR_RETURN(query->right, bind_side(*select.right, except || (intersect && select.set_all)));
  query->correlated = query->left->correlated || query->right->correlated;
  query->set = select.set == ast::SetOperation::kUnion       ? SetOp::kUnion
               : select.set == ast::SetOperation::kIntersect ? SetOp::kIntersect
                                                             : SetOp::kExcept;
  query->set_all = select.set_all;
  std::string_view name = query->set == SetOp::kUnion       ? "UNION"
                          : query->set == SetOp::kIntersect ? "INTERSECT"
                                                            : "EXCEPT";
  if (query->left->visible_outputs() != query->right->visible_outputs())
    return error("42601", absl::StrCat("each ", std::string(name), " query must have the same number of columns"),
                 query->right->outputs.empty() ? -1 : query->right->outputs[0].expr->location);
  for (auto* side : {&query->left, &query->right})
    if ((*side)->set != SetOp::kNone || (*side)->distinct || !(*side)->order.empty()) wrap(side);
  for (size_t i = 0; i < query->left->visible_outputs(); i++) {
    std::vector<BoundPtr> both;
    both.push_back(std::move(query->left->outputs[i].expr));
    both.push_back(std::move(query->right->outputs[i].expr));
    SCYPER_ASSIGN_OR_RETURN(SqlType type, common_type(both, name));
    if (!query->set_all && is_checked_text(type)) return error("42883", lacks_equality(type), both[0]->location);
    SCYPER_ASSIGN_OR_RETURN(query->left->outputs[i].expr, coerce(std::move(both[0]), type, Coercion::kImplicit));
    SCYPER_ASSIGN_OR_RETURN(query->right->outputs[i].expr, coerce(std::move(both[1]), type, Coercion::kImplicit));
    bool nullable = query->left->outputs[i].expr->nullable || query->right->outputs[i].expr->nullable;
    BoundPtr column = make_expr(BoundKind::kSubqueryOutput, type, nullable, -1);
    column->index = static_cast<uint32_t>(i);
    query->outputs.push_back({query->left->outputs[i].name, std::move(column), false});
  }
  Scope scope;
  scope.parent = parent;
  SCYPER_RETURN_IF_ERROR(bind_order_by(select.order_by, &scope, query));
  return bind_limit(select, &scope, query);
}

}  // namespace scyper::query
