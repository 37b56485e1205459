#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/bounded_work.h"
#include "base/invariant.h"
#include "base/object_name.h"
#include "bind/binder.h"
#include "bind/expanded_sets.h"
#include "bind/extreme_lookups.h"
#include "bind/grouping_sets.h"
#include "bind/join_shape.h"
#include "bind/list_lookups.h"
#include "bind/locking.h"
#include "bind/make.h"
#include "bind/target_name.h"
#include "bind/unordered_types.h"
#include "parse/printer.h"
#include "parse/sql_parser.h"
#include "parse/text.h"
#include "plan/access_path.h"

namespace scyper::query {

using ast::node_as;

// --- names ---

namespace {

constexpr size_t kTargetsMax = 1664;  // PostgreSQL's MaxTupleAttributeNumber

struct Found {
  const Scope::Visible* merged = nullptr;  // of USING, where it is more than a column
  const Relation* relation = nullptr;
  uint32_t column = 0;
  bool nullable = false;
  int matches = 0;
  int relations = 0;  // that the name before the column means
  const Scope* level = nullptr;
};

// Whether {table} or {schema, table} in front of a column means the relation.
bool is_called(const Relation& relation, const ast::Name& name, size_t parts) {
  if (parts == 0 || relation.alias != name[parts - 1]) return false;
  return parts == 1 || relation.key == object_key(name[parts - 2], name[parts - 1]);
}

Found find_column(const Scope* scope, const ast::Name& parts) {
  const size_t qualifiers = parts.size() - 1;
  const std::string& name = parts.back();
  Found found;
  for (const Scope* level = scope; level != nullptr; level = level->parent) {
    auto match = [&](size_t r, uint32_t c) {
      const RelationColumn& column = level->relations[r]->columns[c];
      if (column.name != name || column.hidden || found.matches++ > 0) return;
      found.relation = level->relations[r];
      found.column = c;
      found.nullable = column.nullable || level->nullable[r];
      found.level = level;
    };
    auto match_visible = [&](const Scope::Visible& visible) {
      const int before = found.matches;
      match(visible.relation, visible.column);
      if (found.matches > before && before == 0 && visible.merged != nullptr) found.merged = &visible;
    };
    for (size_t i = 0; qualifiers == 0 && i < level->columns.size(); i++) match_visible(level->columns[i]);
    if (qualifiers > 0) {
      for (const auto& alias : level->aliases) {
        if (qualifiers != 1 || alias.name != parts[0]) continue;
        found.relations++;
        for (const auto& visible : alias.columns) match_visible(visible);
      }
      for (size_t r = 0; r < level->relations.size(); r++)
        if (is_called(*level->relations[r], parts, qualifiers)) {
          found.relations++;
          for (uint32_t c = 0; c < level->relations[r]->columns.size(); c++) match(r, c);
        }
    }
    if (found.matches > 0 || found.relations > 0) return found;
  }
  return found;
}

BoundPtr of_domain(BoundPtr value, uint32_t domain) {
  value->domain = domain;
  return value;
}

}  // namespace

StatusOr<BoundPtr> Binder::bind_column(const ast::ColumnRef& ref, const Scope* scope) {
  if (ref.star) {
    if (!ref.name.empty()) {
      SCYPER_ASSIGN_OR_RETURN(BoundPtr row, whole_row(ref.name.back(), true, scope, ref.location));
      if (row != nullptr) return row;
    }
    return error("42601", "row expansion via \"*\" is not supported here", ref.location);
  }
  const std::string& column = ref.name.back();
  if (ref.name.size() > 4)
    return error("42601",
                 absl::StrCat("improper qualified name (too many dotted names): ", absl::StrJoin(ref.name, ".")),
                 ref.location);
  std::string qualifier = ref.name.size() > 1 ? ref.name[ref.name.size() - 2] : "";
  Found found = find_column(scope, ref.name);
  if (found.relations > 1)
    return error("42P09", absl::StrCat("table reference \"", qualifier, "\" is ambiguous"), ref.location);
  uint32_t variable = 0;
  bool is_variable = find_variable(ref.name, &variable);
  if (found.matches == 1 && is_variable && variable_conflict_ != plpgsql::VariableConflict::kError) {
    is_variable = variable_conflict_ == plpgsql::VariableConflict::kUseVariable;
    if (is_variable) found.matches = 0;
  }
  if (found.matches > 1 || (found.matches == 1 && is_variable)) {
    Status ambiguous = error("42702", absl::StrCat("column reference \"", column, "\" is ambiguous"), ref.location);
    return is_variable && found.matches == 1
               ? with_detail(ambiguous, "It could refer to either a PL/pgSQL variable or a table column.")
               : ambiguous;
  }
  if (is_variable) {
    const Variable& v = program_->variables[variable];
    SqlType type = v.name == kLooseField ? make_type(TypeId::kUnknown) : v.type;
    return of_domain(make_variable(variable, type, !v.not_null, ref.location), v.domain);
  }
  if (found.matches == 0) {
    if (qualifier.empty()) {
      SCYPER_ASSIGN_OR_RETURN(BoundPtr row, whole_row(column, false, scope, ref.location));
      if (row != nullptr) return row;
    }
    if (auto system = system_column(ref, scope); !system.ok() || *system != nullptr) return system;
    if (qualifier.empty()) return error("42703", absl::StrCat("column \"", column, "\" does not exist"), ref.location);
    for (const VariableScope* s = variables_; s != nullptr; s = s->parent) {
      auto record = s->records.find(qualifier);
      if (record == s->records.end()) continue;
      if (!record->second->assigned)
        return with_detail(error("55000", absl::StrCat("record \"", qualifier, "\" is not assigned yet"), ref.location),
                           "The tuple structure of a not-yet-assigned record is indeterminate.");
      return error("42703", absl::StrCat("record \"", qualifier, "\" has no field \"", column, "\""), ref.location);
    }
    for (const Scope* s = scope; s != nullptr; s = s->parent)
      for (const Relation* r : s->relations)
        if (is_called(*r, ref.name, ref.name.size() - 1))
          return error("42703", absl::StrCat("column ", qualifier, ".", column, " does not exist"), ref.location);
    const bool is_qualified = ref.name.size() > 2;
    const std::string key = is_qualified ? object_key(ref.name[ref.name.size() - 3], qualifier) : qualifier;
    for (const Scope* s = scope; s != nullptr; s = s->parent)
      for (const Relation* r : s->relations)
        if (r->table != nullptr && (r->table->schema().name == key || (is_qualified && r->alias == qualifier)))
          return with_hint(
              error("42P01", absl::StrCat("invalid reference to FROM-clause entry for table \"", qualifier, "\""),
                    ref.location),
              absl::StrCat("Perhaps you meant to reference the table alias \"", r->alias, "\"."));
    return error("42P01", absl::StrCat("missing FROM-clause entry for table \"", qualifier, "\""), ref.location);
  }
  SCYPER_RETURN_IF_ERROR(reach(*found.relation, scope, found.level, ref.location));
  BoundPtr value = make_column(found.relation->id, found.column, found.relation->columns[found.column].type,
                               found.nullable, ref.location);
  value->domain = found.relation->columns[found.column].domain;
  return found.merged == nullptr ? std::move(value) : found.level->value(*found.merged, ref.location);
}

// --- SELECT ---

StatusOr<std::unique_ptr<BoundQuery>> Binder::bind_select(const ast::SelectStatement& select, const Scope* parent,
                                                          bool keep_unknown) {
  check_stack();
  poll_work();
  if (select.into) return error("0A000", "SELECT INTO table is not supported", select.location);
  if (has_expanded_sets(select, catalog_, is_set_function)) return bind_expanded_sets(select, parent, keep_unknown);
  const Nested nested(this);
  if (select.with_ties && !select.distinct_on.empty())
    return error("0A000", "WITH TIES with DISTINCT ON is not supported", select.location);
  auto saved_tables = common_tables_;
  if (Status with = check_common_tables(select.with, parent); !with.ok())
    return common_tables_ = std::move(saved_tables), with;
  auto query = std::make_unique<BoundQuery>();
  query->id = ++query_count_;
  query->with_ties = select.with_ties;
  BoundQuery* saved = aggregate_query_;
  bool saved_in = std::exchange(in_aggregate_, false);
  BoundQuery* saved_window = std::exchange(window_query_, nullptr);
  const auto* saved_windows = std::exchange(named_windows_, &select.windows);
  bool saved_in_window = std::exchange(in_window_, false);
  auto saved_set = std::exchange(set_relation_, nullptr);
  bool saved_in_definition = std::exchange(in_window_definition_, false);
  std::string_view saved_clause = aggregate_clause_;
  Status status;
  if (!select.values.empty())
    status = bind_values(select, parent, query.get());
  else if (select.set != ast::SetOperation::kNone)
    status = bind_set_operation(select, parent, query.get());
  else
    status = bind_plain_select(select, parent, keep_unknown, query.get());
  aggregate_query_ = saved;
  in_aggregate_ = saved_in;
  window_query_ = saved_window;
  named_windows_ = saved_windows;
  in_window_ = saved_in_window;
  set_relation_ = std::move(saved_set);
  in_window_definition_ = saved_in_definition;
  aggregate_clause_ = saved_clause;
  common_tables_ = std::move(saved_tables);
  SCYPER_RETURN_IF_ERROR(status);
  SCYPER_RETURN_IF_ERROR(check_locking(select, *query));
  for (const ast::TableRef* ref : locked_refs(select)) {
    const std::string& key = ref->name.back();
    const auto view = catalog_.views.find(key);
    const auto table = catalog_.find_table(key);
    if (common_tables_.count(key) != 0) continue;
    if (view != catalog_.views.end()) SCYPER_RETURN_IF_ERROR(check_rights(*view->second, kUpdateRight));
    if (view == catalog_.views.end() && table != nullptr)
      SCYPER_RETURN_IF_ERROR(check_rights(table->schema(), kUpdateRight));
  }
  if (!select.locking.empty()) lock_rows(codes_of(select), &query);
  if (statement_depth_ == 1 && !parts_.empty()) query->with = finish_parts(query.get(), nullptr);
  return query;
}

// Names of WITH: each sees those before it only.
Status Binder::check_common_tables(const ast::WithClause& with, const Scope* scope) {
  const bool is_changing = changes_data(with);
  for (size_t i = 0; i < with.tables.size(); i++) {
    const ast::CommonTable& table = with.tables[i];
    for (size_t j = 0; j < i; j++)
      if (with.tables[j].name == table.name)
        return error("42712", absl::StrCat("WITH query name \"", table.name, "\" specified more than once"),
                     table.location);
    if (table.statement->kind != ast::StatementKind::kSelect && statement_depth_ > 1)
      return error("0A000", "WITH clause containing a data-modifying statement must be at the top level",
                   table.location);
    BoundQuery* saved = aggregate_query_;
    aggregate_query_ = nullptr;
    std::set<const CommonQuery*> reads;
    if (is_changing) reads_ = &reads;
    auto bound = bind_common_query(table, with.recursive, scope);
    if (is_changing) reads_ = &main_reads_;
    aggregate_query_ = saved;
    SCYPER_RETURN_IF_ERROR(bound.status());
    if (table.columns.size() > (*bound)->columns.size())
      return error("42P10",
                   absl::StrCat("WITH query \"", table.name, "\" has ", (*bound)->columns.size(),
                                " columns available but ", table.columns.size(), " columns specified"),
                   table.location);
    (*bound)->always_materialised = table.materialize == ast::CommonTable::Materialize::kAlways;
    CommonTable common{&table, *bound};
    common.scope = scope;
    common.is_dependent = scope != nullptr && reads_around(bound->get());
    if (!is_changing && (common.is_dependent || is_bound_for_each(table, bound->get())))
      common.visible = std::make_shared<const CommonTables>(common_tables_);
    common_tables_[table.name] = std::move(common);
    if (is_changing) add_statement_part(*std::move(bound), std::move(reads));
  }
  return absl::OkStatus();
}

Status Binder::bind_plain_select(const ast::SelectStatement& select, const Scope* parent, bool keep_unknown,
                                 BoundQuery* query) {
  Scope scope;
  scope.parent = parent;
  scope.query = query;
  aggregate_query_ = nullptr;
  aggregate_clause_ = "FROM";
  bool has_tree =
      std::any_of(select.from.begin(), select.from.end(), [](const auto& item) { return needs_tree(*item); });
  for (const auto& item : select.from) {
    if (!has_tree) {
      SCYPER_RETURN_IF_ERROR(bind_from(*item, &scope, query, JoinType::kInner));
      continue;
    }
    SCYPER_ASSIGN_OR_RETURN(JoinTree tree, bind_join_tree(*item, &scope, query));
    query->joins.push_back(std::move(tree));
  }
  SCYPER_RETURN_IF_ERROR(check_locked_names(select, scope, [this](auto... what) { return error(what...); }));
  if (select.where != nullptr) {
    aggregate_clause_ = "WHERE";
    SCYPER_ASSIGN_OR_RETURN(BoundPtr where, bind_condition(*select.where, &scope, "WHERE"));
    flatten_and(std::move(where), &query->where);
    SCYPER_RETURN_IF_ERROR(add_row_bounds(&query->where));
  }
  if (!binds_target_)
    use_list_lookups(query, ListUse::kQuery, [this](RelationKind kind) { return new_relation(kind, ""); });
  push_into_locking(query);
  const size_t from_count = query->from.size();
  SCYPER_RETURN_IF_ERROR(lift_select_functions(select.targets, &scope, query));
  if (query->from.size() > from_count) SCYPER_RETURN_IF_ERROR(refuse_sets(select));
  // a set that leaves a column out shows it as NULL, to subqueries as well
  if (has_grouping_sets(select)) std::fill(scope.nullable.begin(), scope.nullable.end(), true);
  aggregate_query_ = window_query_ = query;
  keep_unknown = keep_unknown && !select.distinct && select.group_by.empty();
  SCYPER_RETURN_IF_ERROR(bind_targets(select.targets, &scope, &query->outputs, keep_unknown));
  if (select.having != nullptr) {
    window_query_ = nullptr;
    aggregate_clause_ = "HAVING";
    SCYPER_ASSIGN_OR_RETURN(BoundPtr having, bind_condition(*select.having, &scope, "HAVING"));
    flatten_and(std::move(having), &query->having);
    query->aggregated = true;
    window_query_ = query;
  }
  query->distinct = select.distinct && select.distinct_on.empty();
  for (const OutputColumn& output : query->outputs)
    if (query->distinct && is_checked_text(output.expr->type))
      return error("42883", lacks_equality(output.expr->type), output.expr->location);
  SCYPER_RETURN_IF_ERROR(bind_order_by(select.order_by, &scope, query));
  SCYPER_RETURN_IF_ERROR(bind_distinct_on(select, &scope, query));
  for (const OrderItem& item : query->order) {
    BoundPtr& expr = query->outputs[item.output].expr;
    if (expr->type.id != TypeId::kUnknown) continue;
    SCYPER_ASSIGN_OR_RETURN(expr, coerce(std::move(expr), make_type(TypeId::kText), Coercion::kImplicit));
  }
  SCYPER_RETURN_IF_ERROR(check_named_windows(&scope));
  query->aggregated |= !select.group_by.empty();
  SCYPER_RETURN_IF_ERROR(add_set_relation(query));
  aggregate_query_ = window_query_ = nullptr;
  aggregate_clause_ = "GROUP BY";
  SCYPER_RETURN_IF_ERROR(check_recursive_aggregates(*query));
  SCYPER_RETURN_IF_ERROR(bind_group_by(select, &scope, query));
  use_extreme_lookups(query, &query_count_, &program_->relation_count);
  aggregate_clause_ = "LIMIT";
  return bind_limit(select, &scope, query);
}

Status Binder::bind_targets(const std::vector<ast::SelectTarget>& targets, const Scope* scope,
                            std::vector<OutputColumn>* out, bool keep_unknown) {
  for (const auto& target : targets) {
    const auto* ref = ast::node_if<ast::ColumnRef>(target.expr.get());
    if (ref != nullptr && ref->star) {
      bool any = scope != nullptr && ref->name.empty() && !scope->relations.empty();
      auto expand = [&](size_t r, uint32_t c) {
        const Relation* relation = scope->relations[r];
        const RelationColumn& column = relation->columns[c];
        if (column.hidden) return;
        out->push_back(
            {column.name,
             make_column(relation->id, c, column.type, column.nullable || scope->nullable[r], target.location), false});
        out->back().expr->domain = column.domain;
      };
      if (any)
        for (const auto& visible : scope->columns)
          out->push_back({scope->column(visible).name, scope->value(visible, target.location), false});
      for (size_t a = 0; scope != nullptr && ref->name.size() == 1 && a < scope->aliases.size(); a++) {
        if (scope->aliases[a].name != ref->name[0]) continue;
        any = true;
        for (const auto& visible : scope->aliases[a].columns)
          out->push_back({scope->column(visible).name, scope->value(visible, target.location), false});
      }
      for (size_t r = 0; scope != nullptr && !ref->name.empty() && r < scope->relations.size(); r++) {
        if (!is_called(*scope->relations[r], ref->name, ref->name.size())) continue;
        if (any)
          return error("42P09", absl::StrCat("table reference \"", ref->name.back(), "\" is ambiguous"),
                       target.location);
        any = true;
        for (uint32_t c = 0; c < scope->relations[r]->columns.size(); c++) expand(r, c);
      }
      if (any) continue;
      if (ref->name.empty()) return error("42601", "SELECT * with no tables specified is not valid", target.location);
      SCYPER_RETURN_IF_ERROR(expand_record(*ref, out));
      continue;
    }
    SCYPER_ASSIGN_OR_RETURN(bool expanded, expand_call(*target.expr, scope, out));
    if (expanded) continue;
    SCYPER_ASSIGN_OR_RETURN(BoundPtr expr, bind(*target.expr, scope));
    if (expr->kind == BoundKind::kRow && !keep_rows_) {
      SCYPER_ASSIGN_OR_RETURN(expr, row_text(std::move(expr)));
      expr->index = kShownRow;
    }
    if (expr->type.id == TypeId::kUnknown && !keep_unknown) {
      SCYPER_ASSIGN_OR_RETURN(expr, coerce(std::move(expr), make_type(TypeId::kText), Coercion::kImplicit));
    }
    out->push_back({target.alias.empty() ? name_of_target(*target.expr) : target.alias, std::move(expr), false});
  }
  if (out->size() > kTargetsMax)
    return error("54011", absl::StrCat("target lists can have at most ", kTargetsMax, " entries"), -1);
  return absl::OkStatus();
}

// r.* of a record variable
Status Binder::expand_record(const ast::ColumnRef& ref, std::vector<OutputColumn>* out) {
  for (const VariableScope* s = variables_; s != nullptr; s = s->parent) {
    auto record = s->records.find(ref.name.back());
    if (record == s->records.end()) continue;
    if (record->second->loose != nullptr) return error("42809", "record type has not been registered", ref.location);
    for (size_t i = 0; i < record->second->names.size(); i++) {
      uint32_t v = record->second->variables[i];
      out->push_back(
          {record->second->names[i], make_variable(v, program_->variables[v].type, true, ref.location), false});
    }
    return absl::OkStatus();
  }
  return error("42P01", absl::StrCat("missing FROM-clause entry for table \"", ref.name.back(), "\""), ref.location);
}

namespace {
constexpr int kAmbiguous = -2;

// Output position that an ORDER BY or GROUP BY item names by number or alias; -1 = an expression.
int named_output(const ast::Expr& expr, const std::vector<OutputColumn>& outputs, bool* out_of_range) {
  *out_of_range = false;
  if (const auto* literal = ast::node_if<ast::Literal>(&expr);
      literal != nullptr && literal->type == ast::LiteralType::kInteger) {
    if (literal->int_value < 1 || literal->int_value > static_cast<int64_t>(outputs.size()))
      return *out_of_range = true, -1;
    return static_cast<int>(literal->int_value - 1);
  }
  const auto* ref = ast::node_if<ast::ColumnRef>(&expr);
  int found = -1;
  if (ref != nullptr && !ref->star && ref->name.size() == 1)
    for (size_t i = 0; i < outputs.size(); i++) {
      if (outputs[i].hidden || outputs[i].name != ref->name[0]) continue;
      if (found >= 0 && !same(*outputs[static_cast<size_t>(found)].expr, *outputs[i].expr)) return kAmbiguous;
      if (found < 0) found = static_cast<int>(i);
    }
  return found;
}
}  // namespace

namespace {
const BoundExpr* find_kind(const BoundExpr& expr, BoundKind kind) {
  if (expr.kind == kind) return &expr;
  for (const auto& arg : expr.args)
    if (const BoundExpr* found = find_kind(*arg, kind)) return found;
  return nullptr;
}
bool has_query(const BoundExpr& expr) {
  return expr.query != nullptr ||
         std::any_of(expr.args.begin(), expr.args.end(), [](const BoundPtr& arg) { return has_query(*arg); });
}
}  // namespace

namespace {
// Of this query, in subqueries, too.
const BoundExpr* find_aggregate(const BoundExpr& expr, const BoundQuery& query) {
  const BoundExpr* found = nullptr;
  visit(expr, [&](const BoundExpr& e) {
    if (found == nullptr && e.kind == BoundKind::kAggregate && e.relation == query.id) found = &e;
  });
  return found;
}

// The place of the target that is written as this expression; -1: there is none.
int find_target(const ast::Expr& expr, const ast::SelectStatement& select, const BoundQuery& query) {
  if (query.visible_outputs() != select.targets.size()) return -1;  // some stand for several columns
  const std::string text = to_sql(expr);
  for (size_t i = 0; i < select.targets.size(); i++)
    if (to_sql(*select.targets[i].expr) == text) return static_cast<int>(i);
  return -1;
}

}  // namespace

// One expression of GROUP BY. position: in query->groups, where an equal one may stand already.
Status Binder::bind_group_item(const ast::Expr& group, const ast::SelectStatement& select, const Scope* scope,
                               BoundQuery* query, uint32_t* position) {
  const ast::Expr* item = &group;
  bool out_of_range = false;
  const auto* ref = ast::node_if<ast::ColumnRef>(item);
  Scope own = *scope;  // GROUP BY prefers input columns to output names, and these to columns of the queries around
  own.parent = nullptr;
  bool input = ref != nullptr && find_column(&own, ast::Name{ref->name.back()}).matches > 0;
  int output = input ? -1 : named_output(*item, query->outputs, &out_of_range);
  if (output == kAmbiguous)
    return error("42702", absl::StrCat("GROUP BY \"", ref->name[0], "\" is ambiguous"), item->location);
  if (out_of_range)
    return error("42P10",
                 absl::StrCat("GROUP BY position ", node_as<ast::Literal>(*item).int_value, " is not in select list"),
                 item->location);
  BoundPtr expr;
  if (output < 0) {
    if (const auto* literal = ast::node_if<ast::Literal>(item);
        literal != nullptr && literal->type != ast::LiteralType::kNull)
      return error("42601", "non-integer constant in GROUP BY", literal->location);
    SCYPER_ASSIGN_OR_RETURN(expr, bind(*item, scope));
    if (!has_query(*expr)) return add_group(std::move(expr), query, position), absl::OkStatus();
    output = find_target(*item, select, *query);
  }
  if (output < 0) return add_group(std::move(expr), query, position), absl::OkStatus();
  BoundPtr& source = query->outputs[static_cast<size_t>(output)].expr;
  if (source->kind == BoundKind::kGroup && source->relation == query->id)
    return *position = source->index, absl::OkStatus();
  if (const BoundExpr* inside = find_aggregate(*source, *query))
    return error("42803", "aggregate functions are not allowed in GROUP BY", inside->location);
  if (const BoundExpr* inside = find_kind(*source, BoundKind::kWindow))
    return error("42P20", "window functions are not allowed in GROUP BY", inside->location);
  if (!has_query(*source)) return add_group(clone(*source), query, position), absl::OkStatus();
  // no other expression is known to be the same: the target itself becomes the group
  BoundPtr reference =
      make_expr(BoundKind::kGroup, source->type, source->nullable || !query->grouping_sets.empty(), source->location);
  reference->relation = query->id;
  add_group(std::exchange(source, nullptr), query, position);
  reference->index = *position;
  source = std::move(reference);
  return absl::OkStatus();
}

// A row is grouped by its fields; position: of one of them. In grouping sets, which name one, by the text it shows as.
void Binder::add_group(BoundPtr expr, BoundQuery* query, uint32_t* position) {
  if (const std::vector<BoundPtr>* fields = shown_fields(*expr); fields != nullptr && query->grouping_sets.empty()) {
    for (const auto& field : *fields) add_group(clone(*field), query, position);
    return;
  }
  for (uint32_t i = 0; i < query->groups.size(); i++)
    if (same(*query->groups[i], *expr)) return void(*position = i);
  *position = static_cast<uint32_t>(query->groups.size());
  query->groups.push_back(std::move(expr));
}

Status Binder::bind_order_by(const std::vector<ast::SortItem>& items, const Scope* scope, BoundQuery* query) {
  for (const auto& item : items) {
    if (item.direction == ast::SortDirection::kUsing)
      return error("0A000", "ORDER BY USING is not supported", item.location);
    bool out_of_range = false;
    if (const auto* literal = ast::node_if<ast::Literal>(item.expr.get());
        literal != nullptr && literal->type != ast::LiteralType::kInteger && literal->type != ast::LiteralType::kNull)
      return error("42601", "non-integer constant in ORDER BY", literal->location);
    int output = named_output(*item.expr, query->outputs, &out_of_range);
    if (out_of_range) {
      const auto& literal = node_as<ast::Literal>(*item.expr);
      return error("42P10", absl::StrCat("ORDER BY position ", literal.int_value, " is not in select list"),
                   literal.location);
    }
    if (output == kAmbiguous)
      return error("42702", absl::StrCat("ORDER BY \"", node_as<ast::ColumnRef>(*item.expr).name[0], "\" is ambiguous"),
                   item.expr->location);
    if (output < 0) {
      if (query->set != SetOp::kNone)
        return with_detail(
            with_hint(error("0A000", "invalid UNION/INTERSECT/EXCEPT ORDER BY clause", item.expr->location),
                      "Add the expression/function to every SELECT, or move the UNION into a FROM clause."),
            "Only result column names can be used, not expressions or functions.");
      SCYPER_ASSIGN_OR_RETURN(BoundPtr expr, bind(*item.expr, scope));
      if (expr->kind == BoundKind::kRow) {
        SCYPER_ASSIGN_OR_RETURN(expr, row_text(std::move(expr)));
        expr->index = kShownRow;
      }
      if (expr->type.id == TypeId::kUnknown) {
        SCYPER_ASSIGN_OR_RETURN(expr, coerce(std::move(expr), make_type(TypeId::kText), Coercion::kImplicit));
      }
      for (size_t i = 0; i < query->outputs.size() && output < 0; i++)
        if (same(*query->outputs[i].expr, *expr)) output = static_cast<int>(i);
      if (output < 0) {
        if (query->distinct)
          return error("42P10", "for SELECT DISTINCT, ORDER BY expressions must appear in select list",
                       item.expr->location);
        output = static_cast<int>(query->outputs.size());
        query->outputs.push_back({"", std::move(expr), true});
      }
    }
    OrderItem order;
    order.output = static_cast<uint32_t>(output);
    order.descending = item.direction == ast::SortDirection::kDescending;
    order.nulls_first =
        item.nulls == ast::NullsOrder::kDefault ? order.descending : item.nulls == ast::NullsOrder::kFirst;
    SCYPER_RETURN_IF_ERROR(add_order(order, query, item.expr->location));
  }
  return absl::OkStatus();
}

Status Binder::bind_limit(const ast::SelectStatement& select, const Scope* scope, BoundQuery* query) {
  SqlType bigint = make_type(TypeId::kInt8);
  const Scope* outer = scope == nullptr ? nullptr : scope->parent;
  auto check = [&](const ast::Expr& expr, std::string_view clause) -> Status {
    StatusOr<BoundPtr> bound = bind(expr, outer);
    if (bound.ok() || sqlstate_of(bound.status()) != "42703" || !bind(expr, scope).ok()) return bound.status();
    return error("42P10", absl::StrCat("argument of ", std::string(clause), " must not contain variables"),
                 expr.location);
  };
  if (select.with_ties && select.limit == nullptr)  // NULL, which the tree does not keep
    return error("2201W", "row count cannot be null in FETCH FIRST ... WITH TIES clause", -1);
  if (select.limit != nullptr) SCYPER_RETURN_IF_ERROR(check(*select.limit, "LIMIT"));
  if (select.offset != nullptr) SCYPER_RETURN_IF_ERROR(check(*select.offset, "OFFSET"));
  if (select.limit != nullptr) {
    SCYPER_ASSIGN_OR_RETURN(BoundPtr limit, bind(*select.limit, outer));
    SCYPER_ASSIGN_OR_RETURN(query->limit, coerce(std::move(limit), bigint, Coercion::kAssignment));
  }
  if (select.offset != nullptr) {
    SCYPER_ASSIGN_OR_RETURN(BoundPtr offset, bind(*select.offset, outer));
    SCYPER_ASSIGN_OR_RETURN(query->offset, coerce(std::move(offset), bigint, Coercion::kAssignment));
  }
  // their columns are looked up around the query, so that nobody has marked it on the way
  for (const BoundExpr* bound : {query->limit.get(), query->offset.get()}) {
    if (bound == nullptr) continue;
    visit(*bound, [&](const BoundExpr& e) {
      query->correlated |= e.kind == BoundKind::kColumn || (e.query != nullptr && e.query->correlated);
    });
  }
  return absl::OkStatus();
}

}  // namespace scyper::query
