#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/invariant.h"
#include "base/object_name.h"
#include "bind/binder.h"
#include "bind/binder_recursion.h"
#include "bind/builtin_catalog.h"
#include "bind/expanded_sets.h"
#include "bind/join_shape.h"
#include "bind/make.h"
#include "bind/partition_catalog.h"
#include "bind/partitions.h"
#include "bind/row_names.h"
#include "bind/system_types.h"
#include "bind/system_views.h"
#include "parse/printer.h"
#include "parse/sql_parser.h"
#include "parse/text.h"
#include "query/session_activity.h"
#include "runtime/foreign_files.h"

namespace scyper::query {

using ast::node_as;

// --- relations ---

std::unique_ptr<Relation> Binder::new_relation(RelationKind kind, std::string alias) {
  auto relation = std::make_unique<Relation>();
  relation->id = program_->relation_count++;
  relation->kind = kind;
  relation->alias = std::move(alias);
  return relation;
}

StatusOr<std::shared_ptr<storage::Table>> Binder::find_table(const ast::TableRef& ref, uint16_t rights,
                                                             std::string_view change) {
  if (ref.name.size() > 1 && ref.name[ref.name.size() - 2] != "public")
    return error("42P01",
                 absl::StrCat("relation \"", ref.name[ref.name.size() - 2], ".", ref.name.back(), "\" does not exist"),
                 ref.location);
  const bool is_change = rights != kSelectRight;
  if (is_change && ref.name.size() == 1 && transition_tables_.count(ref.name[0]) != 0)
    return error("0A000", absl::StrCat("relation \"", ref.name[0], "\" cannot be the target of a modifying statement"),
                 ref.location);
  auto table = catalog_.find_table(ref.name.back());
  if (is_change && catalog_.find_materialized_view(ref.name.back()) != nullptr && !allows_unpopulated_)
    return error("42809", absl::StrCat("cannot change materialized view \"", ref.name.back(), "\""), -1);
  if (table == nullptr && catalog_.has_foreign_table(ref.name.back()))
    return error("0A000", absl::StrCat("cannot ", std::string(change), " foreign table \"", ref.name.back(), "\""), -1);
  if (table == nullptr && catalog_.views.count(ref.name.back()) != 0)
    return error("42809", absl::StrCat("\"", ref.name.back(), "\" is not a table"), -1);
  if (catalog_.composites.count(ref.name.back()) != 0)
    return error("42809", absl::StrCat("\"", ref.name.back(), "\" is a composite type"), ref.location);
  if (table != nullptr && view_depth_ == 0) used_relations_.insert(ref.name.back());
  if (table == nullptr)
    return error("42P01", absl::StrCat("relation \"", ref.name.back(), "\" does not exist"), ref.location);
  SCYPER_RETURN_IF_ERROR(check_schema_usage(table->schema().name, ref.location));
  SCYPER_RETURN_IF_ERROR(check_rights(table->schema(), rights));
  return table;
}

std::unique_ptr<Relation> Binder::table_relation(std::shared_ptr<storage::Table> table, std::string alias) {
  auto relation = new_relation(RelationKind::kTable, std::string(bare_name(alias)));
  const storage::TableSchema& schema = table->schema();
  if (alias == schema.name) relation->key = schema.name;
  const TableRules* rules = rules_of(schema);
  for (size_t i = 0; i < schema.columns.size(); i++) {
    const auto& column = schema.columns[i];
    const bool hidden = i >= storage::visible_columns(schema);
    relation->columns.push_back({column.name, column.type, !column.not_null, hidden});
    if (rules != nullptr && i < rules->columns.size()) relation->columns.back().domain = rules->columns[i].domain;
  }
  relation->table = std::move(table);
  return relation;
}

Status Binder::add_relation(std::unique_ptr<Relation> relation, Scope* scope, BoundQuery* query, JoinType join,
                            int32_t /*location*/) {
  for (const Relation* other : scope->relations)
    if (other->alias == relation->alias && !relation->alias.empty() &&
        (other->key.empty() || relation->key.empty() || other->key == relation->key))  // tables of two schemas
      return error("42712", absl::StrCat("table name \"", relation->alias, "\" specified more than once"), -1);
  scope->add(relation.get(), join == JoinType::kLeft);
  name_outputs(column_names(*relation), relation.get());
  FromEntry entry;
  entry.join = join;
  entry.relation = std::move(relation);
  query->from.push_back(std::move(entry));
  return absl::OkStatus();
}

namespace {
Status rename_columns(Relation* relation, const std::vector<std::string>& names) {
  size_t visible = 0;
  for (const auto& column : relation->columns) visible += column.hidden ? 0 : 1;
  if (names.size() > visible)
    return sql_error("42P10", absl::StrCat("table \"", relation->alias, "\" has ", visible, " columns available but ",
                                           names.size(), " columns specified"));
  for (size_t i = 0; i < names.size(); i++) relation->columns[i].name = names[i];
  return absl::OkStatus();
}
}  // namespace

StatusOr<std::unique_ptr<Relation>> Binder::query_relation(const ast::SelectStatement& select, std::string alias,
                                                           const Scope* parent) {
  SCYPER_ASSIGN_OR_RETURN(auto query, bind_select(select, parent));
  auto relation = new_relation(RelationKind::kQuery, std::move(alias));
  for (const auto& output : query->outputs)
    if (!output.hidden) relation->columns.push_back({output.name, output.expr->type, output.expr->nullable, false});
  relation->query = std::move(query);
  return relation;
}

namespace {
// What is read as a relation and is a query of our own: views of the system, and a sequence, which is one row. Empty:
// none.
std::string catalog_query(const Catalog& catalog, std::string_view schema, const std::string& name) {
  if (const std::string_view query = system_view_query(schema, name); !query.empty()) return std::string(query);
  const auto sequence = catalog.sequences.find(name);
  if (sequence == catalog.sequences.end()) return "";
  const std::string id = absl::StrCat(sequence->second->definition().id.value());
  return absl::StrCat("SELECT \" sequence value\"(", id, ") AS last_value, 0::int8 AS log_cnt, \" sequence called\"(",
                      id, ") AS is_called");
}
}  // namespace

StatusOr<std::unique_ptr<Relation>> Binder::named_relation(const ast::TableRef& ref, const Scope* scope) {
  std::string alias = ref.alias.name.empty() ? std::string(bare_name(ref.name.back())) : ref.alias.name;
  auto common = ref.name.size() == 1 ? common_tables_.find(ref.name[0]) : common_tables_.end();
  if (common != common_tables_.end()) {
    SCYPER_RETURN_IF_ERROR(check_recursion(*common->second.table, ref.location));
    if (common->second.query->dml != nullptr && common->second.query->columns.empty())
      return error("0A000", absl::StrCat("WITH query \"", ref.name[0], "\" does not have a RETURNING clause"),
                   ref.location);
    const std::vector<std::string>& names = common->second.table->columns;
    std::unique_ptr<Relation> relation;
    if (common->second.is_dependent) {
      SCYPER_ASSIGN_OR_RETURN(relation, dependent_relation(common->second, alias, scope, ref.location));
    } else {
      SCYPER_ASSIGN_OR_RETURN(auto query, referenced_query(common->second));
      relation = common_relation(std::move(query), alias);
    }
    SCYPER_RETURN_IF_ERROR(rename_columns(relation.get(), names));
    return relation;
  }
  if (auto transition = transition_tables_.find(ref.name.back());
      transition != transition_tables_.end() && ref.name.size() == 1)
    return common_relation(transition->second, std::move(alias));
  if (ref.name.size() > 1 && ref.name[0] == kFeedSchema) return feed_relation(ref, std::move(alias));
  std::string_view schema = ref.name.size() > 1 ? std::string_view(ref.name[ref.name.size() - 2]) : std::string_view();
  if (const std::string sql = catalog_query(catalog_, schema, ref.name.back()); !sql.empty()) {
    const VariableScope* saved = std::exchange(variables_, nullptr);
    auto relation = options_relation(sql, alias, nullptr);
    variables_ = saved;
    return relation;
  }
  if (const SystemTable* table = find_system_table(schema, ref.name.back()); table != nullptr)
    return system_relation(*table, alias);
  auto view = catalog_.views.find(ref.name.back());
  if (view != catalog_.views.end()) SCYPER_RETURN_IF_ERROR(check_schema_usage(view->first, ref.location));
  if (view != catalog_.views.end() && (schema.empty() || schema == "public") && view->second->foreign != nullptr) {
    SCYPER_RETURN_IF_ERROR(check_rights(*view->second, kSelectRight));
    return foreign_relation(*view->second, std::move(alias));
  }
  if (ref.only && partitioning_of(catalog_, ref.name.back()))  // the rows are its partitions'
    return options_relation(absl::StrCat("SELECT * FROM ", quote_identifier(ref.name.back()), " WHERE false"),
                            alias.empty() ? std::string(bare_name(ref.name.back())) : alias, nullptr);
  if (view != catalog_.views.end() && (schema.empty() || schema == "public"))
    return view_relation(*view->second, alias);
  SCYPER_ASSIGN_OR_RETURN(auto table, find_table(ref, kSelectRight));
  if (const MaterializedView* rows = catalog_.find_materialized_view(table->schema().name);
      rows != nullptr && !rows->is_populated && !allows_unpopulated_)
    return with_hint(error("55000",
                           absl::StrCat("materialized view \"", std::string(bare_name(table->schema().name)),
                                        "\" has not been populated"),
                           -1),
                     "Use the REFRESH MATERIALIZED VIEW command.");
  auto relation = table_relation(std::move(table), alias);
  bind_hidden_columns(relation.get());
  return relation;
}

// COPY FROM: rows of the columns that the alias names.
StatusOr<std::unique_ptr<Relation>> Binder::feed_relation(const ast::TableRef& ref, std::string alias) {
  auto table = catalog_.find_table(ref.name.back());
  INVARIANT(table != nullptr);
  auto relation = new_relation(RelationKind::kFeed, std::move(alias));
  for (const std::string& name : ref.alias.columns) {
    const int column = find_target_column(table->schema(), name);
    INVARIANT(column >= 0);
    relation->columns.push_back({name, table->schema().columns[static_cast<size_t>(column)].type, true, false});
  }
  return relation;
}

// The constraints of its columns are not checked: they say nothing about NULLs.
std::unique_ptr<Relation> Binder::foreign_relation(const View& table, std::string alias) {
  if (view_depth_ == 0) used_relations_.insert(table.name);
  auto relation = new_relation(RelationKind::kForeign, std::move(alias));
  relation->foreign = table.foreign;
  relation->estimated_rows = estimate_foreign_rows(*table.foreign, foreign_files_directory_);
  for (size_t i = 0; i < table.column_names.size(); i++)
    relation->columns.push_back({table.column_names[i], table.column_types[i], true, false});
  return relation;
}

StatusOr<std::unique_ptr<Relation>> Binder::view_relation(const View& view, std::string alias, uint16_t rights) {
  constexpr int kViewDepthMax = 100;
  if (view_depth_ == 0) used_relations_.insert(view.name);
  SCYPER_RETURN_IF_ERROR(check_rights(view, rights));
  if (view_depth_ >= kViewDepthMax) return error("54001", "views are nested too deeply", -1);
  SCYPER_ASSIGN_OR_RETURN(auto statements, parse_sql(view.query, TextOf::kSystem));
  CommonTables saved_tables = std::exchange(common_tables_, {});
  auto saved_transitions = std::exchange(transition_tables_, {});
  std::string_view saved_source = std::exchange(source_, view.query);
  const VariableScope* saved_variables = std::exchange(variables_, nullptr);
  bool saved_parameters = std::exchange(allow_parameters_, false);
  BoundQuery* saved_aggregates = std::exchange(aggregate_query_, nullptr);
  // what it reads is its owner's
  const Role* owner = view.is_invoker ? current_role(catalog_.roles) : catalog_.roles.find(view.access.owner);
  const Role* saved_actor = std::exchange(actor_, owner);
  view_depth_++;
  auto relation = query_relation(node_as<ast::SelectStatement>(*statements[0]), std::move(alias), nullptr);
  view_depth_--;
  actor_ = saved_actor;
  common_tables_ = std::move(saved_tables);
  transition_tables_ = std::move(saved_transitions);
  source_ = saved_source;
  variables_ = saved_variables;
  allow_parameters_ = saved_parameters;
  aggregate_query_ = saved_aggregates;
  SCYPER_RETURN_IF_ERROR(relation.status());
  SCYPER_RETURN_IF_ERROR(rename_columns(relation->get(), view.column_names));
  name_outputs(view.column_names, relation->get());
  (*relation)->partition = view.partition;
  return relation;
}

// A system table that is a query.
StatusOr<std::unique_ptr<Relation>> Binder::queried_system_relation(const SystemTable& table,
                                                                    const std::string& alias) {
  const VariableScope* saved = std::exchange(variables_, nullptr);
  auto bound = options_relation(absl::StrCat("SELECT q.*, ", system_table_oid(table.name), "::int8 AS tableoid FROM (",
                                             std::string(table.query), ") AS q"),
                                alias, nullptr);
  variables_ = saved;
  SCYPER_RETURN_IF_ERROR(bound.status());
  Relation& relation = **bound;
  INVARIANT(relation.columns.size() == table.columns.size() + 1);
  relation.columns.back().hidden = true;
  for (size_t i = 0; i < table.columns.size(); i++) {
    if (table.columns[i].kind < 0) continue;
    const SqlType type = number_type(static_cast<ObjectKind>(table.columns[i].kind));
    BoundPtr& output = relation.query->outputs[i].expr;
    output = make_cast(std::move(output), type, true);
    relation.columns[i].type = type;
  }
  return bound;
}

// Its rows are constants: a program belongs to one version of the catalog.
StatusOr<std::unique_ptr<Relation>> Binder::system_relation(const SystemTable& table, std::string alias) {
  if (is_live(table) && ActivityScope::current() == nullptr) {
    constexpr char kWhere[] = " can be read by queries only, which write nothing and are in no view or routine";
    return error("0A000", std::string(table.name) + kWhere, -1);
  }
  program_->volatile_result = true;  // see map_constant()
  if (!table.query.empty()) return queried_system_relation(table, alias);
  auto relation = new_relation(RelationKind::kValues, std::move(alias));
  for (const auto& column : table.columns)
    relation->columns.push_back({std::string(column.name),
                                 column.kind >= 0  ? number_type(static_cast<ObjectKind>(column.kind))
                                 : column.is_array ? make_array(make_type(column.type))
                                                   : make_type(column.type),
                                 true, false});
  relation->columns.push_back({"tableoid", make_type(TypeId::kInt8), false, true});
  for (const auto& row : is_describing_ ? std::vector<SystemRow>() : table.rows(catalog_)) {
    relation->rows.emplace_back();
    for (size_t i = 0; i < row.size(); i++) {
      SqlType type = relation->columns[i].type;
      const SystemValue& value = row[i];
      if (!value.present)
        relation->rows.back().push_back(make_null(type, -1));
      else if (type.id == TypeId::kArray)
        relation->rows.back().push_back(
            make_cast(make_text_constant(make_type(TypeId::kText), value.text, -1), type, true));
      else if (is_string(type.id))
        relation->rows.back().push_back(make_text_constant(type, value.text, -1));
      else
        relation->rows.back().push_back(make_constant(type, int_datum(value.number), -1));
    }
    relation->rows.back().push_back(
        make_constant(make_type(TypeId::kInt8), int_datum(system_table_oid(table.name)), -1));
  }
  return relation;
}

namespace {
// pg_options_to_table(options) as what it means; empty: another function.
std::string options_query(const ast::FromFunction& item, const Catalog& catalog) {
  constexpr std::string_view kName = "pg_options_to_table";
  const auto* call = item.functions.size() != 1 ? nullptr : ast::node_if<ast::FunctionCall>(item.functions[0].get());
  if (call != nullptr && !expand_array_query(*call).empty()) return expand_array_query(*call);
  if (call != nullptr && call->args.empty())
    if (const auto query = builtin_function_query(bare_name(call->name.back())); !query.empty())
      return std::string(query);
  if (call != nullptr && bare_name(call->name.back()) == "pg_partition_tree" && call->args.size() == 1)
    return partition_tree_query(catalog, to_sql(*call->args[0]));
  if (call == nullptr || bare_name(call->name.back()) != kName || call->args.size() != 1) return "";
  return absl::StrCat(
      "SELECT split_part(o, '=', 1) AS option_name, substr(o, strpos(o, '=') + 1) AS option_value FROM unnest(",
      to_sql(*call->args[0]), ") AS o");
}
}  // namespace

StatusOr<std::unique_ptr<Relation>> Binder::options_relation(const std::string& sql, const std::string& alias,
                                                             const Scope* scope) {
  SCYPER_ASSIGN_OR_RETURN(auto statements, parse_sql(sql, TextOf::kSystem));
  std::string_view saved = std::exchange(source_, sql);
  auto relation = query_relation(node_as<ast::SelectStatement>(*statements[0]),
                                 alias.empty() ? "pg_options_to_table" : alias, scope);
  source_ = saved;
  return relation;
}

Status Binder::bind_from(const ast::FromItem& item, Scope* scope, BoundQuery* query, JoinType join) {
  switch (item.kind) {
    case ast::FromKind::kTable: {
      const ast::TableRef& ref = node_as<ast::FromTable>(item).table;
      SCYPER_ASSIGN_OR_RETURN(auto relation, named_relation(ref, scope));
      const std::string_view schema = ref.name.size() > 1 ? std::string_view(ref.name[ref.name.size() - 2]) : "";
      const bool is_stored = relation->table != nullptr || catalog_.views.count(ref.name.back()) != 0 ||
                             !catalog_query(catalog_, schema, ref.name.back()).empty() ||
                             find_system_table(schema, ref.name.back()) != nullptr;
      relation->key =
          ref.alias.name.empty() && relation->kind != RelationKind::kCommon && is_stored ? ref.name.back() : "";
      const std::vector<std::string> names = is_stored ? column_names(*relation) : std::vector<std::string>();
      SCYPER_RETURN_IF_ERROR(rename_columns(relation.get(), ref.alias.columns));
      SCYPER_RETURN_IF_ERROR(add_relation(std::move(relation), scope, query, join, ref.location));
      name_outputs(names, query->from.back().relation.get());
      return absl::OkStatus();
    }
    case ast::FromKind::kSubquery: {
      const auto& sub = node_as<ast::FromSubquery>(item);
      if (sub.alias.name.empty()) return error("42601", "subquery in FROM must have an alias", item.location);
      SCYPER_ASSIGN_OR_RETURN(auto relation,
                              query_relation(*sub.subquery, sub.alias.name, sub.lateral ? scope : scope->parent));
      SCYPER_RETURN_IF_ERROR(rename_columns(relation.get(), sub.alias.columns));
      // its scopes begin around this query, which then depends on what is there, too
      if (!sub.lateral && relation->query->correlated) query->correlated = true;
      return add_relation(std::move(relation), scope, query, join, item.location);
    }
    case ast::FromKind::kFunction:
      if (const auto sql = options_query(node_as<ast::FromFunction>(item), catalog_); !sql.empty()) {
        const std::string& alias = node_as<ast::FromFunction>(item).alias.name;
        SCYPER_ASSIGN_OR_RETURN(auto relation, options_relation(sql, alias, scope));
        SCYPER_RETURN_IF_ERROR(rename_columns(relation.get(), node_as<ast::FromFunction>(item).alias.columns));
        return add_relation(std::move(relation), scope, query, join, item.location);
      }
      return bind_any_from_function(node_as<ast::FromFunction>(item), scope, query, join);
    case ast::FromKind::kJoin: {
      if (is_open_join(item)) return bind_join(node_as<ast::FromJoin>(item), scope, query, join);
      SCYPER_ASSIGN_OR_RETURN(auto relation, join_relation(node_as<ast::FromJoin>(item), scope));
      query->correlated |= relation->query->correlated;
      return add_relation(std::move(relation), scope, query, join, item.location);
    }
  }
  return error("XX000", "unknown FROM item", item.location);
}

// The one column of two that USING leaves, of the type that both have in common: that of the side which has no NULLs
// added; of a full join whichever is not NULL.
StatusOr<Scope::Visible> Binder::merge_values(const ast::FromJoin& item, const Scope::Visible& left,
                                              const Scope::Visible& right, const Scope& scope) {
  std::vector<BoundPtr> both;
  both.push_back(scope.value(left, item.location));
  both.push_back(scope.value(right, item.location));
  const SqlType types[] = {both[0]->type, both[1]->type};
  SCYPER_ASSIGN_OR_RETURN(const SqlType type, common_type(both, "JOIN/USING"));
  for (auto& value : both) {
    if (value->type == type) continue;
    SCYPER_ASSIGN_OR_RETURN(value, coerce(std::move(value), type, Coercion::kImplicit));
  }
  Scope::Visible merged = left;
  if (item.join == ast::JoinKind::kFull) {
    BoundPtr value = make_expr(BoundKind::kCoalesce, type, true, item.location);
    for (auto& side : both) value->args.push_back(std::move(side));
    merged.merged = std::move(value);
    return merged;
  }
  const bool prefers_right = item.join == ast::JoinKind::kInner && types[0] != type && types[1] == type;
  const size_t side = item.join == ast::JoinKind::kRight || prefers_right ? 1 : 0;
  if (side == 1) merged = right;
  if (types[side] != type) merged.merged = std::move(both[side]);
  return merged;
}

// USING: each name's two columns become one (merge_values()) and come first in *. The columns of the left side are
// those from `from`, of the right side those from `middle` on.
Status Binder::merge_columns(const ast::FromJoin& item, const std::vector<std::string>& names, size_t from,
                             size_t middle, Scope* scope, std::vector<BoundPtr>* conjuncts) {
  size_t merged = 0;
  for (const std::string& name : names) {
    auto find = [&](size_t begin, size_t end, std::string_view side) -> StatusOr<size_t> {
      size_t found = SIZE_MAX;
      for (size_t i = begin; i < end; i++) {
        if (scope->column(scope->columns[i]).name != name) continue;
        if (found != SIZE_MAX)
          return error(
              "42702",
              absl::StrCat("common column name \"", name, "\" appears more than once in ", std::string(side), " table"),
              -1);
        found = i;
      }
      if (found == SIZE_MAX)
        return error("42703",
                     absl::StrCat("column \"", name, "\" specified in USING clause does not exist in ",
                                  std::string(side), " table"),
                     -1);
      return found;
    };
    SCYPER_ASSIGN_OR_RETURN(size_t l, find(from + merged, middle, "left"));
    SCYPER_ASSIGN_OR_RETURN(size_t r, find(middle, scope->columns.size(), "right"));
    SCYPER_ASSIGN_OR_RETURN(Scope::Visible kept, merge_values(item, scope->columns[l], scope->columns[r], *scope));
    SCYPER_ASSIGN_OR_RETURN(BoundPtr equal,
                            make_operator("=", scope->value(scope->columns[l], item.location),
                                          scope->value(scope->columns[r], item.location), item.location));
    conjuncts->push_back(std::move(equal));
    scope->columns.erase(scope->columns.begin() + static_cast<ptrdiff_t>(r));
    scope->columns.erase(scope->columns.begin() + static_cast<ptrdiff_t>(l));
    scope->columns.insert(scope->columns.begin() + static_cast<ptrdiff_t>(from + merged), kept);
    merged++;
  }
  const std::string& alias = item.using_alias.name;
  if (alias.empty()) return absl::OkStatus();
  for (const Relation* other : scope->relations)
    if (other->alias == alias)
      return error("42712", absl::StrCat("table name \"", alias, "\" specified more than once"), -1);
  const auto first = scope->columns.begin() + static_cast<ptrdiff_t>(from);
  scope->aliases.push_back({alias, {first, first + static_cast<ptrdiff_t>(merged)}});
  return absl::OkStatus();
}

Status Binder::bind_join(const ast::FromJoin& item, Scope* scope, BoundQuery* query, JoinType outer) {
  if (item.join == ast::JoinKind::kFull) return error("0A000", "FULL JOIN is not supported", item.location);
  bool left = item.join == ast::JoinKind::kLeft;
  bool right = item.join == ast::JoinKind::kRight;
  const ast::FromItem& preserved = right ? *item.right : *item.left;
  const ast::FromItem& other = right ? *item.left : *item.right;
  if (outer == JoinType::kLeft || ((left || right) && is_open_join(other)))
    return error("0A000", "an outer join whose inner side is a join is not supported", item.location);
  size_t before = scope->relations.size();
  size_t first_column = scope->columns.size();
  if (right && before != 0) return error("0A000", "RIGHT JOIN after other tables is not supported", item.location);
  SCYPER_RETURN_IF_ERROR(bind_from(preserved, scope, query, JoinType::kInner));
  const size_t middle = scope->relations.size(), middle_column = scope->columns.size();
  {
    const RecursionAt at(this, RecursionPlace::kOuterJoin, left || right);
    SCYPER_RETURN_IF_ERROR(bind_from(other, scope, query, left || right ? JoinType::kLeft : JoinType::kInner));
  }
  // * has the left side first, whatever is bound first
  if (right)
    std::rotate(scope->columns.begin() + static_cast<ptrdiff_t>(first_column),
                scope->columns.begin() + static_cast<ptrdiff_t>(middle_column), scope->columns.end());
  size_t split = right ? first_column + scope->columns.size() - middle_column : middle_column;
  std::vector<BoundPtr> conjuncts;
  std::vector<std::string> names = item.using_columns;
  if (item.natural) {
    auto visible = [&](size_t i) -> const RelationColumn& { return scope->column(scope->columns[i]); };
    for (size_t l = first_column; l < split; l++)
      for (size_t r = split; r < scope->columns.size(); r++)
        if (visible(l).name == visible(r).name) names.push_back(visible(l).name);
  }
  SCYPER_RETURN_IF_ERROR(merge_columns(item, names, first_column, split, scope, &conjuncts));
  // only the join's own relations are visible in ON
  Scope inner = *scope;
  inner.relations.erase(inner.relations.begin(), inner.relations.begin() + static_cast<ptrdiff_t>(before));
  inner.nullable.erase(inner.nullable.begin(), inner.nullable.begin() + static_cast<ptrdiff_t>(before));
  // the join's own NULLs come after ON, those of outer joins below it before
  if (!is_open_join(other))
    std::fill(inner.nullable.begin() + static_cast<ptrdiff_t>(middle - before), inner.nullable.end(), false);
  inner.columns.erase(inner.columns.begin(), inner.columns.begin() + static_cast<ptrdiff_t>(first_column));
  for (auto& column : inner.columns) column.relation -= before;
  for (auto& alias : inner.aliases)
    for (auto& column : alias.columns) column.relation -= before;
  if (item.on != nullptr) {
    aggregate_clause_ = "JOIN conditions";
    SCYPER_ASSIGN_OR_RETURN(BoundPtr on, bind_condition(*item.on, &inner, "JOIN/ON"));
    aggregate_clause_ = "FROM";
    flatten_and(std::move(on), &conjuncts);
  }
  std::vector<BoundPtr>* target = left || right ? &query->from.back().on : &query->where;
  for (auto& conjunct : conjuncts) target->push_back(std::move(conjunct));
  return absl::OkStatus();
}

}  // namespace scyper::query
