#include <algorithm>

#include "absl/strings/str_cat.h"
#include "bind/binder.h"
#include "bind/expanded_sets.h"
#include "bind/make.h"
#include "bind/row_names.h"
#include "parse/type_resolver.h"
#include "runtime/functions_record.h"
#include "storage/json_text_type.h"

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
StatusOr<std::optional<std::vector<OutputColumn>>> Binder::fields_of(std::string_view name, const Scope* scope,
                                                                     int32_t location) {
  std::vector<OutputColumn> fields;
  for (const Scope* level = scope; level != nullptr; level = level->parent) {
    for (size_t r = 0; r < level->relations.size(); r++) {
      const Relation* relation = level->relations[r];
      if (relation->alias != name) continue;
      SCYPER_RETURN_IF_ERROR(reach(*relation, scope, level, location));
      for (uint32_t c = 0; c < relation->columns.size(); c++) {
        const RelationColumn& column = relation->columns[c];
        if (column.hidden) continue;
        bool nullable = column.nullable || level->nullable[r];
        fields.push_back({column.name, make_column(relation->id, c, column.type, nullable, location), false});
        fields.back().expr->domain = column.domain;
      }
      return fields;
    }
  }
  for (const VariableScope* s = variables_; s != nullptr; s = s->parent) {
    auto record = s->records.find(name);
    if (record == s->records.end()) continue;
    if (!record->second->assigned || record->second->loose != nullptr) break;
    for (size_t i = 0; i < record->second->names.size(); i++) {
      uint32_t v = record->second->variables[i];
      fields.push_back(
          {record->second->names[i], make_variable(v, program_->variables[v].type, true, location), false});
    }
    return fields;
  }
  return std::optional<std::vector<OutputColumn>>();
}

// --- records that dynamic SQL fills ---

uint32_t Binder::image_variable(LooseRecord* loose) {
  for (size_t i = 0; i < loose->names.size(); i++)
    if (loose->names[i] == kRecordImage) return loose->variables[i];
  loose->names.emplace_back(kRecordImage);
  loose->variables.push_back(new_variable(std::string(kRecordImage), make_type(TypeId::kText)));
  return loose->variables.back();
}

StatusOr<BoundPtr> Binder::image_call(std::string_view function, const BoundExpr& row, std::vector<BoundPtr> more) {
  std::vector<BoundPtr> args;
  args.push_back(clone(*row.args[0]));
  for (auto& arg : more) args.push_back(std::move(arg));
  return make_call(function, std::move(args), row.location);
}

// The field at a position as what its place wants.
StatusOr<BoundPtr> Binder::image_field(const BoundExpr& row, size_t i, const SqlType& type) {
  std::vector<BoundPtr> more;
  more.push_back(make_constant(make_type(TypeId::kInt4), int_datum(static_cast<int64_t>(i)), row.location));
  more.push_back(make_text_constant(make_type(TypeId::kText),
                                    std::string(reinterpret_cast<const char*>(&type), sizeof(type)), row.location));
  SCYPER_ASSIGN_OR_RETURN(BoundPtr field, image_call(" image field", row, std::move(more)));
  return coerce(std::move(field), type, Coercion::kExplicit);
}

Status Binder::no_image(const BoundExpr& row, std::string_view what) const {
  if (row.index != kImageRow) return absl::OkStatus();
  return error("0A000", absl::StrCat(std::string(what), " a record that EXECUTE filled is not supported"),
               row.location);
}

// The row of a relation or a record variable of that name; nullptr: there is none.
StatusOr<BoundPtr> Binder::whole_row(std::string_view name, bool star, const Scope* scope, int32_t location) {
  SCYPER_ASSIGN_OR_RETURN(auto fields, fields_of(name, scope, location));
  if (fields.has_value()) {
    bool nullable = false;
    const Relation* relation = relation_of_name(name, scope, &nullable);
    if (!star && relation != nullptr && relation->is_scalar) return std::move(fields->front().expr);
    BoundPtr row = make_row(std::move(*fields), location);
    const VariableScope::Record* record = nullptr;
    for (const VariableScope* s = variables_; s != nullptr && record == nullptr; s = s->parent)
      if (auto it = s->records.find(name); it != s->records.end()) record = it->second;
    if (relation != nullptr) {
      row->nullable = nullable;
      row->names = row_names(*relation, catalog_);
      const bool is_call = relation->kind == RelationKind::kFunction && !relation->arguments.empty();
      const Routine* routine = is_call ? relation->arguments[0]->routine.get() : nullptr;
      if (routine != nullptr && !routine->return_relation.empty()) {
        SCYPER_ASSIGN_OR_RETURN(const auto columns, result_columns(*routine));
        for (size_t i = 0; i < columns.size(); i++) row->names[i] = columns[i].name;
      }
    }
    if (relation != nullptr || record == nullptr) return row;
    row->nullable = !record->present;
    if (record->absent) row->index = kAbsentRow;
    return row;
  }
  for (const VariableScope* s = variables_; s != nullptr; s = s->parent) {
    auto record = s->records.find(name);
    if (record == s->records.end()) continue;
    if (record->second->loose == nullptr) break;
    if (star) return error("42809", "record type has not been registered", location);
    uint32_t image = image_variable(record->second->loose.get());
    BoundPtr row = make_row({}, location);
    row->nullable = true;
    row->index = kImageRow;
    row->args.push_back(make_variable(image, make_type(TypeId::kText), true, location));
    return row;
  }
  return BoundPtr();
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
      SCYPER_ASSIGN_OR_RETURN(auto fields, fields_of(ref->name.back(), scope, item->location));
      if (fields.has_value()) {
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

namespace {
BoundPtr null_where(BoundPtr condition, BoundPtr value) {
  BoundPtr result = make_expr(BoundKind::kCase, value->type, true, value->location);
  BoundPtr null = make_null(value->type, value->location);
  for (BoundPtr* arg : {&condition, &null, &value}) result->args.push_back(std::move(*arg));
  return result;
}
}  // namespace

// Of a row, or of one that is shown as a text.
const std::vector<BoundPtr>* Binder::shown_fields(const BoundExpr& expr) {
  if (expr.kind == BoundKind::kRow) return expr.query == nullptr && expr.index != kImageRow ? &expr.args : nullptr;
  if (expr.index != kShownRow) return nullptr;
  const BoundExpr& text = expr.kind == BoundKind::kCase ? *expr.args[2] : expr;
  const bool is_text = text.builtin != nullptr && text.builtin->name == " record" && !text.args.empty();
  return is_text ? &text.args : nullptr;
}

StatusOr<BoundPtr> Binder::row_text(BoundPtr row) {
  int32_t location = row->location;
  if (row->index == kAbsentRow) return make_null(make_type(TypeId::kText), location);
  if (row->index == kImageRow) return image_call(" image text", *row, {});
  if (row->query == nullptr) {
    BoundPtr missing;
    const bool is_of_relation = !row->args.empty() && row->args[0]->kind == BoundKind::kColumn;
    if (row->nullable && is_of_relation) {  // of an outer join's missing side
      SCYPER_ASSIGN_OR_RETURN(missing, row_is_null(*row, false, location));
    }
    SCYPER_ASSIGN_OR_RETURN(BoundPtr value, make_call(" record", std::move(row->args), location));
    return missing == nullptr ? std::move(value) : null_where(std::move(missing), std::move(value));
  }
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

// The row as an object of jsonb. A row of an outer join's missing side, or a variable that was not assigned, is NULL.
// row_to_json(row [, whether each field has its line])
StatusOr<BoundPtr> Binder::row_to_json(const ast::FunctionCall& call, std::vector<BoundPtr> args) {
  const auto* pretty = args.size() == 2 ? ast::node_if<ast::Literal>(call.args[1].get()) : nullptr;
  if (args.size() > 2 || (args.size() == 2 && (pretty == nullptr || args[1]->type.id != TypeId::kBool)))
    return error("0A000", "row_to_json() of other arguments than a row and a constant is not supported", call.location);
  return row_json(std::move(args[0]), pretty != nullptr && pretty->bool_value ? " json_row_pretty" : " json_row");
}

StatusOr<BoundPtr> Binder::row_json(BoundPtr row, std::string_view build) {
  int32_t location = row->location;
  const bool is_text = build != "jsonb_build_object";
  const SqlType type = is_text ? json_text_type() : make_type(TypeId::kJsonb);
  if (row->index == kAbsentRow) return make_null(type, location);
  if (row->index == kImageRow) return image_call(is_text ? " image json text" : " image json", *row, {});
  auto object = [&](std::vector<BoundPtr> fields) -> StatusOr<BoundPtr> {
    std::vector<BoundPtr> args;
    for (size_t i = 0; i < fields.size(); i++) {
      args.push_back(make_text_constant(make_type(TypeId::kText), row->names[i], location));
      BoundPtr& field = fields[i];
      if (field->kind == BoundKind::kRow) {
        SCYPER_ASSIGN_OR_RETURN(field, row_json(std::move(field), is_text ? " json_row" : build));
      } else if (field->type.id == TypeId::kUnknown) {
        SCYPER_ASSIGN_OR_RETURN(field, coerce(std::move(field), make_type(TypeId::kText), Coercion::kImplicit));
      }
      args.push_back(std::move(field));
    }
    return make_call(build, std::move(args), location);
  };
  if (row->query != nullptr) {
    Status status;
    BoundPtr value = row_subquery(*row->query, [&](std::vector<BoundPtr> columns) -> BoundPtr {
      auto made = object(std::move(columns));
      if (made.ok()) return *std::move(made);
      status = made.status();
      return make_null(type, location);
    });
    SCYPER_RETURN_IF_ERROR(status);
    return value;
  }
  bool may_be_null = row->nullable && !row->args.empty();
  BoundPtr missing;
  if (may_be_null) {
    SCYPER_ASSIGN_OR_RETURN(missing, row_is_null(*row, false, location));
  }
  SCYPER_ASSIGN_OR_RETURN(BoundPtr value, object(std::move(row->args)));
  return may_be_null ? null_where(std::move(missing), std::move(value)) : std::move(value);
}

// COALESCE of whole rows, field by field: the first that is not NULL as a whole.
StatusOr<BoundPtr> Binder::coalesce_rows(std::vector<BoundPtr> rows, int32_t location) {
  BoundPtr last;
  for (auto& row : rows) {
    if (row->kind == BoundKind::kConst && row->value.null) continue;
    if (row->kind != BoundKind::kRow || row->query != nullptr || row->index == kImageRow)
      return error("0A000", "such whole rows in COALESCE are not supported", row->location);
    if (last != nullptr && row->names.size() != last->names.size())
      return error("42804", "COALESCE could not convert a row to the type of another", row->location);
  }
  std::erase_if(rows, [](const BoundPtr& row) { return row->kind == BoundKind::kConst; });
  BoundPtr absent = clone(*rows[0]);
  std::erase_if(rows, [](const BoundPtr& row) { return row->index == kAbsentRow; });
  if (rows.empty()) return absent;
  BoundPtr result = std::move(rows.back());
  for (size_t r = rows.size() - 1; r-- > 0;) {
    BoundPtr row = std::move(rows[r]);
    if (row->names.size() != result->names.size())
      return error("42804", "COALESCE could not convert a row to the type of another", location);
    if (!row->nullable) {
      result = std::move(row);
      continue;
    }
    SCYPER_ASSIGN_OR_RETURN(BoundPtr missing, row_is_null(*row, false, location));
    for (size_t i = 0; i < row->args.size(); i++) {
      std::vector<BoundPtr> both;
      both.push_back(std::move(row->args[i]));
      both.push_back(std::move(result->args[i]));
      SCYPER_ASSIGN_OR_RETURN(SqlType type, common_type(both, "COALESCE"));
      BoundPtr value = make_expr(BoundKind::kCase, type, true, location);
      value->args.push_back(clone(*missing));
      SCYPER_ASSIGN_OR_RETURN(both[1], coerce(std::move(both[1]), type, Coercion::kImplicit));
      SCYPER_ASSIGN_OR_RETURN(both[0], coerce(std::move(both[0]), type, Coercion::kImplicit));
      value->args.push_back(std::move(both[1]));
      value->args.push_back(std::move(both[0]));
      row->args[i] = std::move(value);
    }
    row->nullable = result->nullable;
    result = std::move(row);
  }
  return result;
}

StatusOr<BoundPtr> Binder::bind_field(const ast::FieldSelect& select, const Scope* scope) {
  if (const auto* column = ast::node_if<ast::ColumnRef>(select.arg.get());
      column != nullptr && !column->star && !select.star) {
    ast::ColumnRef expanded;
    expanded.name = column->name;
    expanded.name.back() = expanded_column(column->name.back(), select.field);
    expanded.location = select.location;
    if (auto bound = bind_column(expanded, scope); bound.ok()) return bound;
  }
  SCYPER_ASSIGN_OR_RETURN(BoundPtr row, bind(*select.arg, scope));
  if (row->kind != BoundKind::kRow)
    return error("42809",
                 absl::StrCat("column notation .", select.field, " applied to type ", type_name(row->type),
                              ", which is not a composite type"),
                 select.location);
  const Relation* relation = relation_of_row(*select.arg, scope);
  const std::vector<std::string> names = relation == nullptr ? row->names : column_names(*relation);
  for (size_t i = 0; i < names.size(); i++)
    if (names[i] == select.field) return row_field(*row, i);
  if (relation != nullptr)
    return error("42703", absl::StrCat("column ", relation->alias, ".", select.field, " does not exist"),
                 select.arg->location);
  return error("42703", absl::StrCat("could not identify column \"", select.field, "\" in record data type"),
               select.location);
}

// r IS [NOT] NULL: all fields are (not).
StatusOr<BoundPtr> Binder::row_is_null(const BoundExpr& row, bool negated, int32_t location) {
  if (row.index == kImageRow) {
    std::vector<BoundPtr> more;
    more.push_back(make_constant(make_type(TypeId::kInt4), int_datum(negated ? 1 : 0), location));
    return image_call(" image null", row, std::move(more));
  }
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

// a = b, a <> b, a IS DISTINCT FROM b of whole rows: fields that are NULL are equal, unlike those of ROW() = ROW(). ""
// is IS DISTINCT FROM.
StatusOr<BoundPtr> Binder::compare_bound_rows(std::string_view op, const BoundExpr& a, const BoundExpr& b,
                                              int32_t location) {
  SCYPER_RETURN_IF_ERROR(no_image(a, "comparing"));
  SCYPER_RETURN_IF_ERROR(no_image(b, "comparing"));
  if (a.names.size() != b.names.size()) return error("42601", "unequal number of entries in row expressions", location);
  const SqlType boolean = make_type(TypeId::kBool);
  const bool is_order = !op.empty() && op != "=" && op != "<>";
  std::vector<BoundPtr> conditions;
  for (size_t i = 0; i < a.names.size() && !is_order; i++) {
    const BoundPtr left = row_field(a, i), right = row_field(b, i);
    SCYPER_ASSIGN_OR_RETURN(BoundPtr one, fields_differ(*left, *right, location));
    conditions.push_back(std::move(one));
  }
  BoundPtr result;
  if (is_order) {
    SCYPER_ASSIGN_OR_RETURN(result, order_bound_rows(op, a, b, location));
  } else {
    result = join_conditions(BoundKind::kOr, std::move(conditions), location);
  }
  if (op == "=") {
    BoundPtr inverse = make_expr(BoundKind::kNot, boolean, false, location);
    inverse->args.push_back(std::move(result));
    result = std::move(inverse);
  }
  for (const BoundExpr* row : {&a, &b}) {
    if (op.empty() || !row->nullable || row->names.empty()) continue;
    BoundPtr known = make_expr(BoundKind::kCase, boolean, true, location);
    SCYPER_ASSIGN_OR_RETURN(BoundPtr missing, row_is_null(*row, false, location));
    known->args.push_back(std::move(missing));
    known->args.push_back(make_null(boolean, location));
    known->args.push_back(std::move(result));
    result = std::move(known);
  }
  return result;
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
  const TableRules* rules = rules_of(schema);
  for (size_t i = 0; i < storage::visible_columns(schema); i++) {
    columns.push_back({schema.columns[i].name, schema.columns[i].type, true, false});
    if (rules != nullptr) columns.back().domain = rules->columns[i].domain;
  }
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
  if (!is_null && row->index == kImageRow)
    return error("42846", absl::StrCat("cannot cast type record to ", relation), location);
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
