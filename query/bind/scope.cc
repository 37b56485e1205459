#include "bind/scope.h"

#include "bind/make.h"

namespace scyper::query {

void Scope::add(const Relation* relation, bool is_nullable) {
  for (uint32_t c = 0; c < relation->columns.size(); c++)
    if (!relation->columns[c].hidden) columns.push_back({relations.size(), c, nullptr});
  relations.push_back(relation);
  nullable.push_back(is_nullable);
}

namespace {
// Outer joins above a merged column may have made what it reads NULL.
void update_nullable(const Scope& scope, BoundExpr* e) {
  for (auto& arg : e->args) {
    update_nullable(scope, arg.get());
    if (e->kind == BoundKind::kCast) e->nullable |= arg->nullable;
  }
  if (e->kind != BoundKind::kColumn) return;
  for (size_t r = 0; r < scope.relations.size(); r++)
    if (scope.relations[r]->id == e->relation) e->nullable |= scope.nullable[r];
}
}  // namespace

BoundPtr Scope::value(const Visible& v, int32_t location) const {
  if (v.merged != nullptr) {
    BoundPtr value = clone(*v.merged);
    update_nullable(*this, value.get());
    return value;
  }
  const RelationColumn& c = column(v);
  BoundPtr value =
      make_column(relations[v.relation]->id, v.column, c.type, c.nullable || nullable[v.relation], location);
  value->domain = c.domain;
  return value;
}

}  // namespace scyper::query
