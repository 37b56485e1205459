#include "bind/row_names.h"

#include <algorithm>

#include "storage/table.h"

namespace scyper::query {

const Relation* relation_of_name(std::string_view name, const Scope* scope, bool* nullable) {
  for (; scope != nullptr; scope = scope->parent) {
    for (size_t r = 0; r < scope->relations.size(); r++)
      if (scope->relations[r]->alias == name) return *nullable = scope->nullable[r], scope->relations[r];
  }
  return nullptr;
}

const Relation* relation_of_row(const ast::Expr& expr, const Scope* scope) {
  const auto* column = ast::node_if<ast::ColumnRef>(&expr);
  bool nullable = false;
  return column == nullptr || column->name.size() != 1 ? nullptr : relation_of_name(column->name[0], scope, &nullable);
}

void name_outputs(const std::vector<std::string>& names, Relation* relation) {
  if (relation->kind != RelationKind::kQuery) return;
  size_t i = 0;
  for (auto& output : relation->query->outputs)
    if (!output.hidden && i < names.size()) output.name = names[i++];
}

std::vector<std::string> column_names(const Relation& relation) {
  std::vector<std::string> names;
  for (const auto& column : relation.columns)
    if (!column.hidden) names.push_back(column.name);
  return names;
}

std::vector<std::string> row_names(const Relation& relation, const Catalog& catalog) {
  std::vector<std::string> names = column_names(relation);
  if (relation.kind == RelationKind::kTable) {
    const auto& columns = relation.table->schema().columns;
    for (size_t c = 0, i = 0; c < relation.columns.size() && c < columns.size(); c++)
      if (!relation.columns[c].hidden) names[i++] = columns[c].name;
  }
  if (relation.kind == RelationKind::kQuery) {
    size_t i = 0;
    for (const auto& output : relation.query->outputs)
      if (!output.hidden && i < names.size()) names[i++] = output.name;
  }
  if (relation.kind == RelationKind::kForeign) {
    const auto table = std::find_if(catalog.views.begin(), catalog.views.end(),
                                    [&](const auto& view) { return view.second->foreign == relation.foreign; });
    if (table != catalog.views.end()) names = table->second->column_names;
  }
  return names;
}

}  // namespace scyper::query
