#include <algorithm>

#include "absl/strings/str_cat.h"
#include "bind/binder.h"
#include "bind/make.h"
#include "parse/type_resolver.h"

// Composite values: whole rows of tables, record variables, ROW(...) and what functions with several OUT parameters
// give. They exist in the binder only: a kRow is its fields, or the query that gives them, until its place says what it
// wants.
namespace scyper::query {

using ast::node_as;

BoundPtr Binder::make_row(std::vector<OutputColumn> fields, int32_t location) {
  BoundPtr row = make_expr(BoundKind::kRow, make_type(TypeId::kRecord), false, location);
  for (auto& field : fields) {
    row->names.push_back(std::move(field.name));
    row->args.push_back(std::move(field.expr));
  }
  return row;
}

BoundPtr Binder::make_query_row(std::unique_ptr<BoundQuery> query, int32_t location) {
  BoundPtr row = make_expr(BoundKind::kRow, make_type(TypeId::kRecord), true, location);
  for (const auto& output : query->outputs)
    if (!output.hidden) row->names.push_back(output.name);
  row->query = std::move(query);
  return row;
}

// The fields of the record variable or the relation of that name.
std::optional<std::vector<OutputColumn>> Binder::fields_of(std::string_view name, const Scope* scope,
                                                           int32_t location) {
  std::vector<OutputColumn> fields;
  for (const Scope* level = scope; level != nullptr; level = level->parent) {
    for (size_t r = 0; r < level->relations.size(); r++) {
      const Relation* relation = level->relations[r];
      if (relation->alias != name) continue;
      for (const Scope* s = scope; s != level; s = s->parent)
        if (s->query != nullptr) s->query->correlated = true;
      for (uint32_t c = 0; c < relation->columns.size(); c++) {
        const RelationColumn& column = relation->columns[c];
        if (column.hidden) continue;
        bool nullable = column.nullable || level->nullable[r];
        fields.push_back({column.name, make_column(relation->id, c, column.type, nullable, location), false});
      }
      return fields;
    }
  }
  for (const VariableScope* s = variables_; s != nullptr; s = s->parent) {
    auto record = s->records.find(name);
    if (record == s->records.end()) continue;
    if (!record->second->assigned) return std::nullopt;
    for (size_t i = 0; i < record->second->names.size(); i++) {
      uint32_t v = record->second->variables[i];
      fields.push_back(
          {record->second->names[i], make_variable(v, program_->variables[v].type, true, location), false});
    }
    return fields;
  }
  return std::nullopt;
}

StatusOr<BoundPtr> Binder::bind_row(const ast::RowConstructor& row, const Scope* scope) {
  std::vector<OutputColumn> fields;
  SCYPER_ASSIGN_OR_RETURN(std::vector<BoundPtr> values, bind_list(row.fields, scope));
  for (auto& value : values) fields.push_back({absl::StrCat("f", fields.size() + 1), std::move(value), false});
  return make_row(std::move(fields), row.location);
}

// Expressions where r.* stands for all its fields.
StatusOr<std::vector<BoundPtr>> Binder::bind_list(const std::vector<ast::ExprPtr>& list, const Scope* scope) {
  std::vector<BoundPtr> values;
  for (const auto& item : list) {
    const auto* ref = ast::node_if<ast::ColumnRef>(item.get());
    if (ref != nullptr && ref->star && !ref->name.empty()) {
      if (auto fields = fields_of(ref->name.back(), scope, item->location); fields.has_value()) {
        for (auto& field : *fields) values.push_back(std::move(field.expr));
        continue;
      }
    }
    SCYPER_ASSIGN_OR_RETURN(BoundPtr value, bind(*item, scope));
    values.push_back(std::move(value));
  }
  return values;
}

// A function's value of one row: (SELECT expr FROM f(...)), over its columns.
BoundPtr Binder::row_subquery(const BoundQuery& query, const std::function<BoundPtr(std::vector<BoundPtr>)>& make) {
  auto relation = clone(*query.from[0].relation);
  relation->id = program_->relation_count++;
  std::vector<BoundPtr> columns;
  for (uint32_t c = 0; c < relation->columns.size(); c++)
    columns.push_back(make_column(relation->id, c, relation->columns[c].type, true, -1));
  auto outer = std::make_unique<BoundQuery>();
  outer->id = ++query_count_;
  outer->correlated = query.correlated;
  BoundPtr value = make(std::move(columns));
  SqlType type = value->type;
  outer->outputs.push_back({"", std::move(value), false});
  FromEntry entry;
  entry.relation = std::move(relation);
  outer->from.push_back(std::move(entry));
  BoundPtr result = make_expr(BoundKind::kScalarSubquery, type, true, -1);
  result->query = std::move(outer);
  return result;
}

BoundPtr Binder::row_field(const BoundExpr& row, size_t i) {
  if (row.query == nullptr) return clone(*row.args[i]);
  return row_subquery(*row.query, [&](std::vector<BoundPtr> columns) { return std::move(columns[i]); });
}

StatusOr<BoundPtr> Binder::row_text(BoundPtr row) {
  int32_t location = row->location;
  if (row->query == nullptr) return make_call(" record", std::move(row->args), location);
  Status status;
  BoundPtr text = row_subquery(*row->query, [&](std::vector<BoundPtr> columns) -> BoundPtr {
    auto made = make_call(" record", std::move(columns), location);
    if (made.ok()) return *std::move(made);
    status = made.status();
    return make_null(make_type(TypeId::kText), location);
  });
  SCYPER_RETURN_IF_ERROR(status);
  return text;
}

StatusOr<BoundPtr> Binder::bind_field(const ast::FieldSelect& select, const Scope* scope) {
  SCYPER_ASSIGN_OR_RETURN(BoundPtr row, bind(*select.arg, scope));
  if (row->kind != BoundKind::kRow)
    return error("42809",
                 absl::StrCat("column notation .", select.field, " applied to type ", type_name(row->type),
                              ", which is not a composite type"),
                 select.location);
  for (size_t i = 0; i < row->names.size(); i++)
    if (row->names[i] == select.field) return row_field(*row, i);
  return error("42703", absl::StrCat("could not identify column \"", select.field, "\" in record data type"),
               select.location);
}

// r IS [NOT] NULL: all fields are (not).
BoundPtr Binder::row_is_null(const BoundExpr& row, bool negated, int32_t location) {
  std::vector<BoundPtr> conditions;
  for (size_t i = 0; i < row.names.size(); i++) {
    BoundPtr one = make_expr(BoundKind::kIsNull, make_type(TypeId::kBool), false, location);
    one->args.push_back(row_field(row, i));
    if (negated) {
      BoundPtr inverse = make_expr(BoundKind::kNot, make_type(TypeId::kBool), false, location);
      inverse->args.push_back(std::move(one));
      one = std::move(inverse);
    }
    conditions.push_back(std::move(one));
  }
  return join_conditions(BoundKind::kAnd, std::move(conditions), location);
}

// a = b, a <> b, a IS DISTINCT FROM b of whole rows. "" is IS DISTINCT FROM.
StatusOr<BoundPtr> Binder::compare_bound_rows(std::string_view op, const BoundExpr& a, const BoundExpr& b,
                                              int32_t location) {
  if (a.names.size() != b.names.size()) return error("42601", "unequal number of entries in row expressions", location);
  if (!op.empty() && op != "=" && op != "<>")
    return error("0A000", "ordering of whole rows is not supported", location);
  std::vector<BoundPtr> conditions;
  for (size_t i = 0; i < a.names.size(); i++) {
    SCYPER_ASSIGN_OR_RETURN(BoundPtr equal,
                            make_operator(op.empty() ? "=" : op, row_field(a, i), row_field(b, i), location));
    if (op.empty()) {
      BoundPtr one = make_expr(BoundKind::kDistinct, make_type(TypeId::kBool), false, location);
      one->builtin = equal->builtin;
      one->args = std::move(equal->args);
      equal = std::move(one);
    }
    conditions.push_back(std::move(equal));
  }
  return join_conditions(op == "=" ? BoundKind::kAnd : BoundKind::kOr, std::move(conditions), location);
}

// The columns of a table's or a view's rows.
StatusOr<std::vector<RelationColumn>> Binder::relation_columns(const std::string& relation, int32_t location) {
  std::vector<RelationColumn> columns;
  if (auto view = catalog_.views.find(relation); view != catalog_.views.end()) {
    for (size_t i = 0; i < view->second->column_names.size(); i++)
      columns.push_back({view->second->column_names[i], view->second->column_types[i], true, false});
    return columns;
  }
  auto table = catalog_.find_table(relation);
  if (table == nullptr) return error("42P01", absl::StrCat("relation \"", relation, "\" does not exist"), location);
  const storage::TableSchema& schema = table->schema();
  for (size_t i = 0; i + (schema.has_row_id ? 1 : 0) < schema.columns.size(); i++)
    columns.push_back({schema.columns[i].name, schema.columns[i].type, true, false});
  return columns;
}

// ROW(...)::table, record::table: the fields take the types and names of its columns.
StatusOr<BoundPtr> Binder::cast_row(BoundPtr row, const std::vector<RelationColumn>& columns,
                                    const std::string& relation) {
  int32_t location = row->location;
  std::vector<OutputColumn> fields;
  bool is_null = row->kind == BoundKind::kConst && row->value.null;
  if (!is_null && row->kind != BoundKind::kRow)
    return error("42846", absl::StrCat("cannot cast type ", type_name(row->type), " to ", relation), location);
  if (!is_null && row->names.size() != columns.size())
    return with_detail(
        error("42846", absl::StrCat("cannot cast type record to ", relation), location),
        row->names.size() < columns.size() ? "Input has too few columns." : "Input has too many columns.");
  for (size_t i = 0; i < columns.size(); i++) {
    BoundPtr value = is_null ? make_null(columns[i].type, location) : row_field(*row, i);
    SCYPER_ASSIGN_OR_RETURN(value, coerce_assign(std::move(value), columns[i].type));
    fields.push_back({columns[i].name, std::move(value), false});
  }
  return make_row(std::move(fields), location);
}

}  // namespace scyper::query
