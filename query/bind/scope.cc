#include "bind/scope.h"

#include "bind/binder.h"
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

bool Binder::find_variable(const ast::Name& name, uint32_t* variable) const {
  for (const VariableScope* scope = variables_; scope != nullptr; scope = scope->parent) {
    if (name.size() == 1) {
      auto it = scope->variables.find(name[0]);
      if (it != scope->variables.end()) return *variable = it->second, true;
      continue;
    }
    if (name.size() != 2) return false;
    auto record = scope->records.find(name[0]);
    if (record != scope->records.end()) {
      const auto& fields = *record->second;
      for (size_t i = 0; i < fields.names.size(); i++)
        if (fields.names[i] == name[1]) return *variable = fields.variables[i], true;
      if (fields.loose != nullptr) {
        LooseRecord& loose = *fields.loose;
        for (size_t i = 0; i < loose.names.size(); i++)
          if (loose.names[i] == name[1]) return *variable = loose.variables[i], true;
        Variable field;
        field.name = kLooseField;
        field.type = make_type(TypeId::kText);
        *variable = static_cast<uint32_t>(program_->variables.size());
        program_->variables.push_back(std::move(field));
        loose.names.push_back(name[1]);
        loose.variables.push_back(*variable);
        return true;
      }
      return false;
    }
    if (scope->label == name[0]) {
      auto it = scope->variables.find(name[1]);
      if (it != scope->variables.end()) return *variable = it->second, true;
    }
  }
  return false;
}

}  // namespace scyper::query
