#include "bind/merged_column.h"

#include "bind/make.h"

namespace scyper::query {

namespace {

const BoundExpr* first_column(const BoundExpr& e) {
  if (e.kind == BoundKind::kColumn) return &e;
  for (const auto& arg : e.args)
    if (const BoundExpr* found = first_column(*arg); found != nullptr) return found;
  return nullptr;
}

bool begins_with(const BoundExpr& e, uint32_t relation, uint32_t column) {
  const BoundExpr* first = first_column(e);
  return first != nullptr && first->relation == relation && first->index == column;
}

// Rows without a partner come in when the equality below has been written.
void make_nullable(BoundExpr* e) {
  e->nullable = true;
  for (auto& arg : e->args) make_nullable(arg.get());
}

// The equality by which USING has joined the two columns: its sides are the values in their common type.
const BoundExpr* find_equality(const BoundQuery& query, uint32_t left, uint32_t left_column, uint32_t right,
                               uint32_t right_column) {
  for (const FromEntry& entry : query.from)
    for (const BoundPtr& e : entry.on)
      if (e->kind == BoundKind::kBuiltin && e->args.size() == 2 && begins_with(*e->args[0], left, left_column) &&
          begins_with(*e->args[1], right, right_column))
        return e.get();
  return nullptr;
}

}  // namespace

BoundPtr visible_value(const Scope& scope, const Scope::Visible& visible, int32_t location) {
  const Relation& relation = *scope.relations[visible.relation];
  const RelationColumn& column = relation.columns[visible.column];
  BoundPtr value = make_column(relation.id, visible.column, column.type,
                               column.nullable || scope.nullable[visible.relation], location);
  value->domain = column.domain;
  if (!visible.merged) return value;
  const Relation& other = *scope.relations[visible.other_relation];
  const BoundExpr* equality =
      scope.query == nullptr
          ? nullptr
          : find_equality(*scope.query, relation.id, visible.column, other.id, visible.other_column);
  BoundPtr sides[2];
  if (equality != nullptr && equality->args[0]->type == equality->args[1]->type) {
    for (size_t i = 0; i < 2; i++) sides[i] = clone(*equality->args[i]);
  } else {
    sides[0] = std::move(value);
    sides[1] = make_column(other.id, visible.other_column, other.columns[visible.other_column].type, true, location);
  }
  BoundPtr result = make_expr(BoundKind::kCoalesce, sides[0]->type, true, location);
  for (BoundPtr& side : sides) {
    make_nullable(side.get());
    result->args.push_back(std::move(side));
  }
  return result;
}

}  // namespace scyper::query
