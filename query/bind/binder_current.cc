#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/object_name.h"
#include "bind/locking.h"
#include "bind/make.h"
#include "bind/pl_binder.h"
#include "bind/relation_walk.h"
#include "plan/expressions.h"
#include "storage/row_values.h"

// WHERE CURRENT OF cursor. A cursor's rows are those of OPEN, so beside what its query gives it keeps what identifies
// the rows of its tables: their primary keys, or the numbers that rows without one have.
namespace scyper::query {

namespace {
// A table that a query reads.
const storage::Table* find_table_of(const BoundQuery& query, std::string_view identity) {
  const storage::Table* found = nullptr;
  RelationWalk walk;
  walk.on_relation = [&](Relation& relation) {
    if (relation.table != nullptr && identity_name(*relation.table) == identity) found = relation.table.get();
  };
  walk.walk(const_cast<BoundQuery*>(&query));  // which changes nothing
  return found;
}

Status state_error(const std::string& cursor, std::string_view what, const storage::Table& table) {
  return sql_error("24000", absl::StrCat("cursor \"", cursor, "\" ", std::string(what), " table \"",
                                         std::string(bare_name(table.schema().name)), "\""));
}
}  // namespace

Status Binder::bind_dml_where(const ast::Expr& where, const Scope* scope, BoundDml* dml) {
  if (where.kind != ast::ExprKind::kCurrentOf) {
    SCYPER_ASSIGN_OR_RETURN(BoundPtr condition, bind_condition(where, scope, "WHERE"));
    dml->source->where.push_back(std::move(condition));
    return absl::OkStatus();
  }
  const std::string& cursor = node_as<ast::CurrentOf>(where).cursor;
  if (dml->view != nullptr || dml->through != nullptr)
    return error("0A000", "WHERE CURRENT OF on a view is not implemented", -1);
  if (variables_ == nullptr) return error("0A000", "WHERE CURRENT OF is supported in PL/pgSQL only", where.location);
  SCYPER_ASSIGN_OR_RETURN(std::vector<uint32_t> key, current_key(cursor, *dml->table, where.location));
  const storage::TableSchema& schema = dml->table->schema();
  const std::vector<uint32_t> columns = storage::identity_columns(schema);
  for (size_t i = 0; i < columns.size(); i++) {
    const SqlType& type = schema.columns[columns[i]].type;
    dml->source->where.push_back(make_equal(make_column(dml->relation, columns[i], type, false, -1),
                                            make_variable(key[i], program_->variables[key[i]].type, true, -1)));
  }
  return absl::OkStatus();
}

// The variables that hold the identity of the row of `table` that the cursor stands on.
StatusOr<std::vector<uint32_t>> Binder::current_key(const std::string& cursor, const storage::Table& table,
                                                    int32_t location) {
  BoundPtr name = make_text_constant(make_type(TypeId::kText), cursor, location);
  for (const VariableScope* s = variables_; s != nullptr; s = s->parent) {
    if (auto loop = s->loops.find(cursor); loop != s->loops.end()) {
      const VariableScope::CursorLoop& rows = loop->second;
      auto is_of_table = [&](const auto& entry) { return entry.first == &table; };
      const auto found = std::count_if(rows.keys.begin(), rows.keys.end(), is_of_table);
      if (found > 1) return state_error(cursor, "has multiple FOR UPDATE/SHARE references to", table);
      if (found == 1) return std::find_if(rows.keys.begin(), rows.keys.end(), is_of_table)->second;
      return state_error(
          cursor, rows.locks ? "does not have a FOR UPDATE/SHARE reference to" : "is not a simply updatable scan of",
          table);
    }
    if (auto variable = s->variables.find(cursor); variable != s->variables.end()) {
      if (!is_string(program_->variables[variable->second].type.id)) break;
      name = make_variable(variable->second, program_->variables[variable->second].type, true, location);
      break;
    }
  }
  CurrentRow current;
  current.name = std::move(name);
  current.cursor = cursor;
  current.identity = identity_name(table);
  current.table = std::string(bare_name(table.schema().name));
  for (uint32_t column : storage::identity_columns(table.schema()))
    current.variables.push_back(new_variable("current row", without_modifiers(table.schema().columns[column].type)));
  std::vector<uint32_t> variables = current.variables;
  current_rows_.push_back(std::move(current));
  return variables;
}

// Appends what identifies the rows of the query's tables to its outputs.
VariableScope::CursorLoop PlBinder::add_identities(const ast::SelectStatement& select, BoundQuery* query) {
  VariableScope::CursorLoop rows;
  rows.locks = !select.locking.empty();
  const std::string text = absl::AsciiStrToLower(std::string(binder_.source_));
  rows.tracked = rows.locks || text.find("current") != std::string::npos;
  if (locks_its_rows(*query)) {
    const Relation& relation = *query->from[0].relation;
    for (uint32_t c = 0; c < relation.columns.size(); c++) {
      const RelationColumn& column = relation.columns[c];
      if (!column.name.starts_with('\001')) continue;
      if (column.name.size() > 1)
        rows.keys.emplace_back(find_table_of(*relation.query, column.name), std::vector<uint32_t>());
      query->outputs.push_back({column.name, make_column(relation.id, c, column.type, true, -1), false});
      rows.keys.back().second.push_back(binder_.new_variable("current row", without_modifiers(column.type)));
    }
    return rows;
  }
  const bool is_simple = query->set == SetOp::kNone && !query->aggregated && query->groups.empty() &&
                         query->having.empty() && !query->distinct && query->distinct_on.empty() &&
                         query->windows.empty() && query->from.size() == 1;
  if (!rows.tracked || rows.locks || !is_simple) return rows;
  const Relation& relation = *query->from[0].relation;
  if (relation.kind != RelationKind::kTable) return rows;
  const storage::TableSchema& schema = relation.table->schema();
  std::vector<uint32_t> variables;
  for (uint32_t column : storage::identity_columns(schema)) {
    const SqlType& type = schema.columns[column].type;
    query->outputs.push_back({variables.empty() ? identity_name(*relation.table) : "\001",
                              make_column(relation.id, column, type, true, -1), false});
    variables.push_back(binder_.new_variable("current row", without_modifiers(type)));
  }
  rows.keys.emplace_back(relation.table.get(), std::move(variables));
  return rows;
}

// The steps that find the rows which cursors stand on go before the statement that changes them.
void PlBinder::add_current_rows(const plpgsql::Statement& statement, size_t at, StepList* out) {
  for (auto& current : binder_.current_rows_) {
    auto step = new_step(StepKind::kFetch, statement);
    step->expr = std::move(current.name);
    step->current_of = {std::move(current.cursor), std::move(current.identity), std::move(current.table)};
    step->into.variables = std::move(current.variables);
    out->insert(out->begin() + static_cast<ptrdiff_t>(at), std::move(step));
  }
  binder_.current_rows_.clear();
}

}  // namespace scyper::query
