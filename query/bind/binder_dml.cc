#include <algorithm>
#include <functional>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "bind/binder.h"
#include "bind/declared_type.h"
#include "bind/list_lookups.h"
#include "bind/make.h"
#include "bind/statement_reads.h"
#include "bind/view_target.h"
#include "parse/sql_parser.h"
#include "parse/text.h"
#include "storage/json_text_type.h"

namespace scyper::query {

using ast::node_as;

// What an INSERT names: columns, or parts of them.
StatusOr<std::vector<InsertTarget>> Binder::target_columns(const std::vector<ast::InsertColumn>& given,
                                                           const BoundDml& dml) const {
  std::vector<InsertTarget> targets;
  for (const auto& column : given) {
    SCYPER_ASSIGN_OR_RETURN(const uint32_t c, target_column(dml, column.name, column.location));
    if (column.subscripts.size() > 1 || !column.fields.empty())
      return error("0A000", "INSERT into fields and into arrays of several dimensions is not supported",
                   column.location);
    const ast::SubscriptIndex* part = column.subscripts.empty() ? nullptr : column.subscripts.data();
    for (const InsertTarget& other : targets)
      if (other.column == c && (part == nullptr || other.part == nullptr))
        return error("42701", absl::StrCat("column \"", column.name, "\" specified more than once"), column.location);
    targets.push_back({c, part, column.location});
  }
  return targets;
}

StatusOr<BoundPtr> Binder::coerce_to_target(BoundPtr value, const InsertTarget& target,
                                            const storage::TableSchema& schema) {
  const storage::ColumnDef& column = schema.columns[target.column];
  if (target.part == nullptr) return coerce_to_column(std::move(value), schema, target.column);
  return coerce_to_part(std::move(value), column.type, *target.part, column.name, target.location);
}

StatusOr<BoundPtr> Binder::coerce_to_column(BoundPtr value, const storage::TableSchema& schema, uint32_t number) {
  const storage::ColumnDef& column = schema.columns[number];
  const TableRules* rules = rules_of(schema);
  const uint32_t domain = rules == nullptr ? 0 : rules->columns[number].domain;
  const bool is_of_it = domain != 0 && value->domain == domain;
  SqlType from = value->type;
  int32_t location = value->location;
  StatusOr<BoundPtr> coerced = coerce(std::move(value), column.type, Coercion::kAssignment);
  if (coerced.ok()) return is_of_it ? std::move(coerced) : to_domain(*std::move(coerced), domain);
  if (sqlstate_of(coerced.status()) != "42804") return coerced;
  return with_hint(error("42804",
                         absl::StrCat("column \"", column.name, "\" is of type ", type_name(plain_type(column.type)),
                                      " but expression is of type ", type_name(plain_type(from))),
                         location),
                   "You will need to rewrite or cast the expression.");
}

StatusOr<BoundPtr> Binder::default_of(const storage::TableSchema& schema, uint32_t column) {
  const TableRules* rules = rules_of(schema);
  if (rules == nullptr) return make_null(schema.columns[column].type, -1);
  const TableRules::Column& rule = rules->columns[column];
  const Domain* domain = catalog_.find_domain(rule.domain);
  if (inserted_into_ != nullptr)
    if (const auto own = inserted_into_->defaults.find(schema.columns[column].name);
        own != inserted_into_->defaults.end()) {
      SCYPER_ASSIGN_OR_RETURN(BoundPtr bound, bind_rule(own->second, nullptr, "DEFAULT expressions"));
      return coerce_to_column(std::move(bound), schema, column);
    }
  const std::string& text = rule.default_text.empty() && domain != nullptr ? domain->default_text : rule.default_text;
  if (text.empty()) return to_domain(make_null(schema.columns[column].type, -1), rule.domain);
  SCYPER_ASSIGN_OR_RETURN(BoundPtr bound, bind_rule(text, nullptr, "DEFAULT expressions"));
  return coerce_to_column(std::move(bound), schema, column);
}

Status Binder::bind_returning(const std::vector<ast::SelectTarget>& targets, const Scope* scope, BoundDml* dml) {
  aggregate_clause_ = "RETURNING";
  return bind_targets(targets, scope, &dml->returning);
}

StatusOr<std::unique_ptr<BoundDml>> Binder::bind_insert(const ast::InsertStatement& insert) {
  auto dml = std::make_unique<BoundDml>();
  dml->kind = DmlKind::kInsert;
  SCYPER_RETURN_IF_ERROR(bind_target(insert.table, kInsertRight, "insert into", dml.get()));
  const auto outer = inserted_into_;
  if (dml->view == nullptr) inserted_into_ = dml->through == nullptr ? nullptr : dml->through->view->partition;
  const absl::Cleanup restore = [&] { inserted_into_ = outer; };
  const storage::TableSchema& schema = dml->schema();
  std::unique_ptr<Relation> target;
  if (dml->through != nullptr) {
    target = std::move(dml->through->base);
  } else {
    SCYPER_ASSIGN_OR_RETURN(target, target_relation(insert.table, *dml));
  }
  dml->relation = target->id;
  size_t visible = storage::visible_columns(schema);
  SCYPER_ASSIGN_OR_RETURN(std::vector<InsertTarget> targets, target_columns(insert.columns, *dml));
  SCYPER_RETURN_IF_ERROR(bind_insert_source(insert, std::move(targets), visible, dml.get()));
  Scope scope;
  scope.add(dml->through != nullptr ? dml->through->shown.get() : target.get(), false);
  SCYPER_RETURN_IF_ERROR(bind_conflict(insert, target.get(), dml.get()));
  SCYPER_RETURN_IF_ERROR(bind_returning(insert.returning, &scope, dml.get()));
  SCYPER_RETURN_IF_ERROR(check_reads(*dml));
  SCYPER_RETURN_IF_ERROR(show_base(dml.get()));
  return dml;
}

// May the statement give `value` (null: a row of a query) to an identity or generated column?
Status Binder::check_overriding(const ast::InsertStatement& insert, const storage::TableSchema& schema, uint32_t column,
                                const ast::Expr* value) {
  const TableRules* rules = rules_of(schema);
  if (rules == nullptr || (value != nullptr && value->kind == ast::ExprKind::kDefaultMarker)) return absl::OkStatus();
  const TableRules::Column& rule = rules->columns[column];
  const std::string& name = schema.columns[column].name;
  if (!rule.generated_text.empty())
    return with_detail(error("428C9", absl::StrCat("cannot insert a non-DEFAULT value into column \"", name, "\""), -1),
                       absl::StrCat("Column \"", name, "\" is a generated column."));
  if (rule.identity != Identity::kAlways || insert.overriding != ast::Overriding::kNone) return absl::OkStatus();
  return with_hint(
      with_detail(error("428C9", absl::StrCat("cannot insert a non-DEFAULT value into column \"", name, "\""), -1),
                  absl::StrCat("Column \"", name, "\" is an identity column defined as GENERATED ALWAYS.")),
      "Use OVERRIDING SYSTEM VALUE to override.");
}

StatusOr<std::vector<BoundPtr>> Binder::bind_insert_row(const std::vector<ast::ExprPtr>& row,
                                                        const std::vector<InsertTarget>& targets,
                                                        const storage::TableSchema& schema) {
  auto default_for = [&](const InsertTarget& target) -> StatusOr<BoundPtr> {
    if (target.part != nullptr) return error("0A000", "cannot set an array element to DEFAULT", target.location);
    return default_of(schema, target.column);
  };
  bool has_star = std::any_of(row.begin(), row.end(), [](const auto& e) {
    const auto* ref = ast::node_if<ast::ColumnRef>(e.get());
    return ref != nullptr && ref->star;
  });
  if (has_star) {  // VALUES (r.*)
    SCYPER_ASSIGN_OR_RETURN(std::vector<BoundPtr> values, bind_list(row, nullptr));
    if (values.size() > targets.size())
      return error("42601", "INSERT has more expressions than target columns", row[0]->location);
    for (size_t i = 0; i < targets.size(); i++) {
      if (i == values.size()) {
        SCYPER_ASSIGN_OR_RETURN(BoundPtr value, default_for(targets[i]));
        values.push_back(std::move(value));
      } else {
        SCYPER_ASSIGN_OR_RETURN(values[i], coerce_to_target(std::move(values[i]), targets[i], schema));
      }
    }
    return values;
  }
  if (row.size() != targets.size())
    return error("42601", "VALUES lists must all be the same length", row.empty() ? -1 : row[0]->location);
  std::vector<BoundPtr> values;
  for (size_t i = 0; i < row.size(); i++) {
    BoundPtr value;
    if (row[i]->kind == ast::ExprKind::kDefaultMarker) {
      SCYPER_ASSIGN_OR_RETURN(value, default_for(targets[i]));
    } else {
      SCYPER_ASSIGN_OR_RETURN(value, bind(*row[i], nullptr));
      SCYPER_ASSIGN_OR_RETURN(value, coerce_to_target(std::move(value), targets[i], schema));
    }
    values.push_back(std::move(value));
  }
  return values;
}

// One row stands for itself; several become a relation of `query`.
StatusOr<std::vector<BoundPtr>> Binder::bind_insert_values(const ast::SelectStatement& source,
                                                           const std::vector<InsertTarget>& targets,
                                                           const storage::TableSchema& schema, BoundQuery* query) {
  aggregate_clause_ = "VALUES";
  if (source.values.size() == 1) return bind_insert_row(source.values[0], targets, schema);
  std::unique_ptr<Relation> rows = new_relation(RelationKind::kValues, "*VALUES*");
  for (const auto& row : source.values) {
    SCYPER_ASSIGN_OR_RETURN(std::vector<BoundPtr> values, bind_insert_row(row, targets, schema));
    rows->rows.push_back(std::move(values));
  }
  std::vector<BoundPtr> given;
  for (size_t i = 0; i < targets.size(); i++) {
    const storage::ColumnDef& column = schema.columns[targets[i].column];
    const bool is_element = targets[i].part != nullptr && !targets[i].part->slice && column.type.id == TypeId::kArray;
    rows->columns.push_back({column.name, is_element ? element_of(column.type) : column.type, true, false});
    given.push_back(make_column(rows->id, static_cast<uint32_t>(i), rows->columns[i].type, true, -1));
  }
  FromEntry entry;
  entry.relation = std::move(rows);
  query->from.push_back(std::move(entry));
  return given;
}

// Puts a query of its own around *query, so that its outputs can be cast and reordered.
StatusOr<std::vector<BoundPtr>> Binder::wrap_insert_query(std::unique_ptr<BoundQuery>* query,
                                                          const std::vector<InsertTarget>& targets,
                                                          const storage::TableSchema& schema) {
  std::vector<BoundPtr> given;
  auto relation = new_relation(RelationKind::kQuery, "*SELECT*");
  size_t i = 0;
  for (auto& output : (*query)->outputs) {
    if (output.hidden) continue;
    if (output.expr->type.id == TypeId::kUnknown) {  // a literal that takes the column's type
      SCYPER_ASSIGN_OR_RETURN(output.expr, coerce_to_target(std::move(output.expr), targets[i], schema));
    }
    relation->columns.push_back({output.name, output.expr->type, output.expr->nullable, false});
    BoundPtr value = make_column(relation->id, static_cast<uint32_t>(i), output.expr->type, output.expr->nullable,
                                 output.expr->location);
    value->domain = output.expr->domain;
    SCYPER_ASSIGN_OR_RETURN(value, coerce_to_target(std::move(value), targets[i], schema));
    given.push_back(std::move(value));
    i++;
  }
  relation->query = std::move(*query);
  *query = std::make_unique<BoundQuery>();
  FromEntry entry;
  entry.relation = std::move(relation);
  (*query)->from.push_back(std::move(entry));
  return given;
}

// What the targets give to a column; null: nothing. Parts are assigned to a NULL in their order.
StatusOr<BoundPtr> Binder::given_value(const std::vector<InsertTarget>& targets, std::vector<BoundPtr>* given,
                                       uint32_t column, const storage::TableSchema& schema) {
  BoundPtr value;
  for (size_t i = 0; i < targets.size() && i < given->size(); i++) {
    if (targets[i].column != column) continue;
    if (targets[i].part == nullptr) return std::move((*given)[i]);
    if (value == nullptr) value = make_null(schema.columns[column].type, targets[i].location);
    SCYPER_ASSIGN_OR_RETURN(value, replace_part(std::move(value), *targets[i].part, std::move((*given)[i]),
                                                schema.columns[column].name, nullptr, targets[i].location));
  }
  const TableRules* rules = rules_of(schema);
  return value == nullptr || rules == nullptr ? std::move(value)
                                              : to_domain(std::move(value), rules->columns[column].domain);
}

namespace {
// DEFAULT of a column whose own value is drawn once.
void clear_drawn(const std::vector<std::vector<ast::ExprPtr>>& given, const std::vector<InsertTarget>& targets,
                 const std::function<bool(uint32_t)>& is_drawn, std::vector<std::vector<BoundPtr>>* rows) {
  for (size_t r = 0; r < given.size(); r++)
    for (size_t i = 0; i < given[r].size() && given[r].size() == targets.size(); i++) {
      BoundPtr& value = (*rows)[r][i];
      if (given[r][i]->kind == ast::ExprKind::kDefaultMarker && is_drawn(targets[i].column))
        value = make_null(value->type, -1);
    }
}
}  // namespace

// Leaves dml->source with one output per table column, in table order and of the columns' types.
Status Binder::bind_insert_source(const ast::InsertStatement& insert, std::vector<InsertTarget> targets, size_t visible,
                                  BoundDml* dml) {
  const storage::TableSchema& schema = dml->schema();
  bool is_values = insert.source != nullptr && !insert.source->values.empty() && insert.source->order_by.empty() &&
                   insert.source->limit == nullptr && insert.source->offset == nullptr;
  std::unique_ptr<BoundQuery> query = std::make_unique<BoundQuery>();
  size_t width = 0;
  if (is_values)
    for (const auto& item : insert.source->values[0]) {  // r.* is several
      const auto* ref = ast::node_if<ast::ColumnRef>(item.get());
      const bool is_row = ref != nullptr && ref->star && !ref->name.empty();
      std::optional<std::vector<OutputColumn>> fields;
      if (is_row) {
        SCYPER_ASSIGN_OR_RETURN(fields, fields_of(ref->name.back(), nullptr, -1));
      }
      width += fields.has_value() ? fields->size() : 1;
    }
  if (insert.source != nullptr && !is_values) {
    SCYPER_ASSIGN_OR_RETURN(query, bind_select(*insert.source, nullptr, true));
    width = query->visible_outputs();
  }
  if (targets.empty() && insert.source != nullptr)
    for (size_t c = 0; c < std::min(width, dml->through == nullptr ? visible : dml->through->columns.size()); c++) {
      SCYPER_ASSIGN_OR_RETURN(const uint32_t column, shown_column(*dml, c));
      if (std::any_of(targets.begin(), targets.end(), [&](const auto& other) { return other.column == column; }))
        return error("42601", absl::StrCat("multiple assignments to same column \"", schema.columns[column].name, "\""),
                     -1);
      targets.push_back({column});
    }
  if (width > targets.size())
    return error("42601", "INSERT has more expressions than target columns",
                 is_values
                     ? insert.source->values[0][std::min(targets.size(), insert.source->values[0].size() - 1)]->location
                     : query->outputs[targets.size()].expr->location);
  if (width < targets.size() && insert.source != nullptr)
    return error("42601", "INSERT has more target columns than expressions", insert.columns[width].location);
  for (size_t i = 0; i < targets.size(); i++) {
    const std::vector<std::vector<ast::ExprPtr>> none(1);
    for (const auto& row : is_values ? insert.source->values : none)
      SCYPER_RETURN_IF_ERROR(
          check_overriding(insert, schema, targets[i].column, i < row.size() ? row[i].get() : nullptr));
  }
  std::vector<BoundPtr> given;
  if (is_values) {
    SCYPER_ASSIGN_OR_RETURN(given, bind_insert_values(*insert.source, targets, schema, query.get()));
  } else if (insert.source != nullptr) {
    SCYPER_ASSIGN_OR_RETURN(given, wrap_insert_query(&query, targets, schema));
  }
  const auto is_drawn = [&](uint32_t column) {
    return insert.overriding == ast::Overriding::kUser && rules_of(schema) != nullptr &&
           rules_of(schema)->columns[column].identity != Identity::kNone;
  };
  if (is_values && !query->from.empty())
    clear_drawn(insert.source->values, targets, is_drawn, &query->from[0].relation->rows);
  for (uint32_t c = 0; c < visible; c++) {
    BoundPtr value;
    if (!is_drawn(c)) {
      SCYPER_ASSIGN_OR_RETURN(value, given_value(targets, &given, c, schema));
    }
    if (value == nullptr) {
      SCYPER_ASSIGN_OR_RETURN(value, default_of(schema, c));
    }
    query->outputs.push_back({schema.columns[c].name, std::move(value), false});
  }
  add_hidden_outputs(schema, query.get());
  for (const InsertTarget& target : targets) dml->named_columns.push_back(target.column);
  dml->source = std::move(query);
  return absl::OkStatus();
}

namespace {

// What SET and RETURNING use of the query over target and FROM, as outputs of it: the planner keeps the columns that
// its query mentions.
void keep_columns(const BoundExpr& expr, BoundQuery* source);

void keep_columns(const BoundQuery& query, BoundQuery* source) {
  for (const auto& entry : query.from) {
    for (const auto& on : entry.on) keep_columns(*on, source);
    if (entry.relation->query != nullptr) keep_columns(*entry.relation->query, source);
    if (entry.relation->computes_common)
      for (const auto* term : {&entry.relation->common->query, &entry.relation->common->recursive})
        keep_columns(**term, source);
    for (const auto& row : entry.relation->rows)
      for (const auto& value : row) keep_columns(*value, source);
    for (const auto& argument : entry.relation->arguments) keep_columns(*argument, source);
  }
  for (const auto& e : query.where) keep_columns(*e, source);
  for (const auto& e : query.groups) keep_columns(*e, source);
  for (const auto& e : query.having) keep_columns(*e, source);
  for (const auto& aggregate : query.aggregates) {
    for (const auto& arg : aggregate.args) keep_columns(*arg, source);
    if (aggregate.filter != nullptr) keep_columns(*aggregate.filter, source);
  }
  for (const auto& call : query.windows) for_each_expr(call, [&](const BoundExpr& e) { keep_columns(e, source); });
  for (const auto& output : query.outputs) keep_columns(*output.expr, source);
  for (const BoundExpr* e : {query.limit.get(), query.offset.get()})
    if (e != nullptr) keep_columns(*e, source);
  for (const BoundQuery* side : {query.left.get(), query.right.get()})
    if (side != nullptr) keep_columns(*side, source);
}

void keep_columns(const BoundExpr& expr, BoundQuery* source) {
  if (expr.kind == BoundKind::kColumn)
    for (const auto& entry : source->from)
      if (entry.relation->id == expr.relation)
        source->outputs.push_back({"", make_column(expr.relation, expr.index, expr.type, expr.nullable, -1), false});
  for (const auto& arg : expr.args) keep_columns(*arg, source);
  if (expr.query != nullptr) keep_columns(*expr.query, source);
}

void keep_used_columns(BoundDml* dml) {
  for (const auto& assignment : dml->assignments) keep_columns(*assignment.value, dml->source.get());
  for (const auto& output : dml->returning) keep_columns(*output.expr, dml->source.get());
}

}  // namespace

StatusOr<std::unique_ptr<BoundDml>> Binder::bind_update(const ast::UpdateStatement& update) {
  auto dml = std::make_unique<BoundDml>();
  dml->kind = DmlKind::kUpdate;
  SCYPER_RETURN_IF_ERROR(bind_target(update.table, kUpdateRight, "update", dml.get()));
  dml->source = std::make_unique<BoundQuery>();
  Scope scope;
  scope.parent = action_scope_;
  scope.query = dml->source.get();
  SCYPER_RETURN_IF_ERROR(add_target(update.table, update.location, &scope, dml.get()));
  aggregate_clause_ = "FROM";
  for (const auto& item : update.from)
    SCYPER_RETURN_IF_ERROR(bind_from(*item, &scope, dml->source.get(), JoinType::kInner));
  aggregate_clause_ = "UPDATE";
  SCYPER_RETURN_IF_ERROR(bind_set(update.set, &scope, dml.get()));
  aggregate_clause_ = "WHERE";
  if (update.where != nullptr) SCYPER_RETURN_IF_ERROR(bind_dml_where(*update.where, &scope, dml.get()));
  SCYPER_RETURN_IF_ERROR(bind_returning(update.returning, &scope, dml.get()));
  SCYPER_RETURN_IF_ERROR(check_reads(*dml));
  SCYPER_RETURN_IF_ERROR(show_base(dml.get()));
  dml->view != nullptr ? keep_view_rows(dml.get()) : keep_used_columns(dml.get());
  return dml;
}

Status Binder::bind_set_items(const std::vector<ast::SetItem>& items, const Scope* scope, BoundDml* dml) {
  for (const auto& item : items) {
    if (!item.multi) {
      SCYPER_RETURN_IF_ERROR(bind_assignment(item.targets[0], *item.targets[0].value, scope, dml));
      continue;
    }
    if (item.source->kind == ast::ExprKind::kScalarSubquery) {
      SCYPER_RETURN_IF_ERROR(bind_set_query(item, scope, dml));
      continue;
    }
    if (item.source->kind != ast::ExprKind::kRowConstructor)
      return error("0A000", "source for a multiple-column UPDATE item must be a sub-SELECT or ROW() expression",
                   item.source->location);
    const auto& row = node_as<ast::RowConstructor>(*item.source);
    if (row.fields.size() != item.targets.size())
      return error("42601", "number of columns does not match number of values", item.source->location);
    for (size_t i = 0; i < item.targets.size(); i++)
      SCYPER_RETURN_IF_ERROR(bind_assignment(item.targets[i], *row.fields[i], scope, dml));
  }
  return absl::OkStatus();
}

Status Binder::bind_assignment(const ast::Assignment& assignment, const ast::Expr& source, const Scope* scope,
                               BoundDml* dml) {
  if (source.kind == ast::ExprKind::kDefaultMarker) return add_assignment(assignment, nullptr, scope, dml);
  SCYPER_RETURN_IF_ERROR(check_assignment(assignment, false, dml).status());
  SCYPER_ASSIGN_OR_RETURN(BoundPtr value, bind(source, scope));
  return add_assignment(assignment, std::move(value), scope, dml);
}

// The column that may be assigned.
StatusOr<uint32_t> Binder::check_assignment(const ast::Assignment& assignment, bool is_default, BoundDml* dml) {
  const storage::TableSchema& schema = dml->schema();
  SCYPER_ASSIGN_OR_RETURN(const uint32_t column, target_column(*dml, assignment.column, assignment.location));
  const bool is_deep = assignment.subscripts.size() > 1 && schema.columns[column].type.id != TypeId::kJsonb;
  if (!assignment.fields.empty() || is_deep)
    return error("0A000", "assignment to parts of a column but elements of arrays is not supported",
                 assignment.location);
  for (const auto& other : dml->assignments)
    if (other.column == column && !(other.is_part && !assignment.subscripts.empty()))
      return error("42601", absl::StrCat("multiple assignments to same column \"", assignment.column, "\""), -1);
  if (schema.scheme != storage::PartitionScheme::kShared && schema.partition_column == column)
    return error("0A000", absl::StrCat("update of the partition column \"", assignment.column, "\" is not supported"),
                 assignment.location);
  if (const TableRules* rules = rules_of(schema); rules != nullptr) {
    const TableRules::Column& rule = rules->columns[column];
    bool is_generated = !rule.generated_text.empty();
    if (!is_default && (is_generated || rule.identity == Identity::kAlways))
      return with_detail(
          error("428C9", absl::StrCat("column \"", assignment.column, "\" can only be updated to DEFAULT"), -1),
          absl::StrCat(
              "Column \"", assignment.column,
              is_generated ? "\" is a generated column." : "\" is an identity column defined as GENERATED ALWAYS."));
  }
  return column;
}

// value: null = DEFAULT.
Status Binder::add_assignment(const ast::Assignment& assignment, BoundPtr value, const Scope* scope, BoundDml* dml) {
  const storage::TableSchema& schema = dml->schema();
  ColumnAssignment bound;
  if (value == nullptr && dml->through != nullptr)
    value = make_null(make_type(TypeId::kUnknown), -1);  // a view has none
  SCYPER_ASSIGN_OR_RETURN(bound.column, check_assignment(assignment, value == nullptr, dml));
  const TableRules* rules = rules_of(schema);
  if (rules != nullptr && !rules->columns[bound.column].generated_text.empty())
    return absl::OkStatus();  // bind_constraints()
  if (!assignment.subscripts.empty()) return assign_part(assignment, bound.column, std::move(value), scope, dml);
  if (value == nullptr) {
    SCYPER_ASSIGN_OR_RETURN(bound.value, default_of(schema, bound.column));
  } else {
    SCYPER_ASSIGN_OR_RETURN(bound.value, coerce_to_column(std::move(value), schema, bound.column));
  }
  dml->assignments.push_back(std::move(bound));
  return absl::OkStatus();
}

StatusOr<std::unique_ptr<BoundDml>> Binder::bind_delete(const ast::DeleteStatement& statement) {
  auto dml = std::make_unique<BoundDml>();
  dml->kind = DmlKind::kDelete;
  SCYPER_RETURN_IF_ERROR(bind_target(statement.table, kDeleteRight, "delete from", dml.get()));
  dml->source = std::make_unique<BoundQuery>();
  Scope scope;
  scope.parent = action_scope_;
  scope.query = dml->source.get();
  SCYPER_RETURN_IF_ERROR(add_target(statement.table, statement.location, &scope, dml.get()));
  aggregate_clause_ = "FROM";
  for (const auto& item : statement.from)
    SCYPER_RETURN_IF_ERROR(bind_from(*item, &scope, dml->source.get(), JoinType::kInner));
  aggregate_clause_ = "WHERE";
  if (statement.where != nullptr) SCYPER_RETURN_IF_ERROR(bind_dml_where(*statement.where, &scope, dml.get()));
  SCYPER_RETURN_IF_ERROR(bind_returning(statement.returning, &scope, dml.get()));
  SCYPER_RETURN_IF_ERROR(check_reads(*dml));
  SCYPER_RETURN_IF_ERROR(show_base(dml.get()));
  dml->view != nullptr ? keep_view_rows(dml.get()) : keep_used_columns(dml.get());
  return dml;
}

StatusOr<std::unique_ptr<BoundDml>> Binder::bind_dml(const ast::Statement& statement) {
  const Nested nested(this);
  StatusOr<std::unique_ptr<BoundDml>> dml = absl::InternalError("not a DML statement");
  const ast::WithClause* with =
      statement.kind == ast::StatementKind::kInsert   ? &node_as<ast::InsertStatement>(statement).with
      : statement.kind == ast::StatementKind::kUpdate ? &node_as<ast::UpdateStatement>(statement).with
      : statement.kind == ast::StatementKind::kDelete ? &node_as<ast::DeleteStatement>(statement).with
      : statement.kind == ast::StatementKind::kMerge  ? &node_as<ast::MergeStatement>(statement).with
                                                      : nullptr;
  CommonTables saved = common_tables_;
  if (with != nullptr) {
    Status status = check_common_tables(*with, nullptr);
    if (!status.ok()) return common_tables_ = std::move(saved), status;
  }
  switch (statement.kind) {
    case ast::StatementKind::kInsert:
      dml = bind_insert(node_as<ast::InsertStatement>(statement));
      break;
    case ast::StatementKind::kUpdate:
      dml = bind_update(node_as<ast::UpdateStatement>(statement));
      break;
    case ast::StatementKind::kDelete:
      dml = bind_delete(node_as<ast::DeleteStatement>(statement));
      break;
    case ast::StatementKind::kMerge:
      dml = bind_merge(node_as<ast::MergeStatement>(statement));
      break;
    default:
      common_tables_ = std::move(saved);
      return error("0A000", "this statement is not supported", statement.location);
  }
  common_tables_ = std::move(saved);
  SCYPER_RETURN_IF_ERROR(dml.status());
  program_->writes = true;
  if ((*dml)->schema().scheme == storage::PartitionScheme::kShared) program_->writes_shared = true;
  if ((*dml)->kind != DmlKind::kMerge) {  // whose actions have their own
    SCYPER_RETURN_IF_ERROR(bind_triggers(dml->get()));
    auto& conjuncts = (*dml)->source->where;
    std::vector<BoundPtr> flat;
    for (auto& conjunct : conjuncts) flatten_and(std::move(conjunct), &flat);
    conjuncts = std::move(flat);
    if ((*dml)->kind != DmlKind::kInsert)
      use_list_lookups((*dml)->source.get(), ListUse::kChange,
                       [this](RelationKind kind) { return new_relation(kind, ""); });
    if ((*dml)->view == nullptr) SCYPER_RETURN_IF_ERROR(bind_constraints(dml->get()));
  }
  if ((*dml)->view != nullptr && (statement_depth_ > 1 || !parts_.empty()))
    return error("0A000", "changes of views beside other changes of WITH are not supported", statement.location);
  if (statement_depth_ == 1)
    (*dml)->with = parts_.empty() ? keep_reads(program_.get(), dml->get()) : finish_parts(nullptr, dml->get());
  return dml;
}

void Binder::flatten_and(BoundPtr expr, std::vector<BoundPtr>* out) {
  if (expr->kind != BoundKind::kAnd) {
    out->push_back(std::move(expr));
    return;
  }
  for (auto& arg : expr->args) flatten_and(std::move(arg), out);
}

StatusOr<std::unique_ptr<BoundProgram>> Binder::bind_statement(const ast::Statement& statement,
                                                               const std::vector<SqlType>& parameter_types) {
  declared_parameters_ = parameter_types;
  allow_parameters_ = true;
  // the parameters are numbered before anything else makes a variable
  for (size_t i = 0; i < parameter_count_; i++)
    new_variable(absl::StrCat("$", i + 1), i < parameter_types.size() ? parameter_types[i] : SqlType{});
  program_->parameters = static_cast<uint32_t>(parameter_count_);
  switch (statement.kind) {
    case ast::StatementKind::kSelect: {
      SCYPER_ASSIGN_OR_RETURN(program_->query, bind_select(node_as<ast::SelectStatement>(statement), nullptr));
      SCYPER_RETURN_IF_ERROR(show_objects(&program_->query));
      for (const auto& output : program_->query->outputs)
        if (!output.hidden) program_->columns.push_back({output.name, output.expr->type, output.expr->nullable, false});
      if (program_->columns
              .empty()) {  // SELECT FROM t: rows are counted by a column without a name (query/shown_columns.h)
        const SqlType type = make_type(TypeId::kBool);
        program_->query->outputs.push_back({"", make_null(type, -1), false});
        program_->columns.push_back({"", type, true, false});
      }
      break;
    }
    case ast::StatementKind::kCall:
      SCYPER_RETURN_IF_ERROR(bind_call_statement(node_as<ast::CallStatement>(statement)));
      break;
    default: {
      SCYPER_ASSIGN_OR_RETURN(program_->dml, bind_dml(statement));
      SCYPER_RETURN_IF_ERROR(show_objects(&program_->dml->returning));
      for (const auto& output : program_->dml->returning)
        program_->columns.push_back({output.name, output.expr->type, output.expr->nullable, false});
      break;
    }
  }
  for (auto& column : program_->columns) {
    const SqlType declared = std::exchange(column.type, shown_type(column.type));
    const bool is_enum = (declared.id == TypeId::kArray ? declared.element : declared.id) == TypeId::kEnum;
    if (declared != column.type && !is_enum) column.declared = declared;
  }
  note_declared_types(program_.get());
  for (uint32_t i = 0; i < program_->parameters; i++)
    if (program_->variables[i].type.id == TypeId::kUnknown)
      return error("42P18", absl::StrCat("could not determine data type of parameter $", i + 1), -1);
  for (const auto& [parameter, location] : untyped_parameters_)
    return error("42P08", absl::StrCat("could not determine data type of parameter $", parameter + 1), location);
  return std::move(program_);
}

}  // namespace scyper::query
