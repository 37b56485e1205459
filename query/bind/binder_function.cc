#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/object_name.h"
#include "bind/binder.h"
#include "bind/json_records.h"
#include "bind/make.h"
#include "bind/object_numbers.h"
#include "bind/overload_hints.h"
#include "bind/partition_catalog.h"
#include "bind/target_name.h"
#include "bind/text_search_sets.h"
#include "parse/sql_parser.h"
#include "plan/access_path.h"
#include "query/error_status.h"
#include "storage/json_text_type.h"

// Functions that return rows: in FROM, and in the select list, where they become an item of FROM beside the others.
// All but a single series of integers are arrays that are unnested side by side.
namespace scyper::query {

using ast::node_as;

namespace {
constexpr std::string_view kSetFunctions[] = {"unnest",
                                              "generate_series",
                                              "generate_subscripts",
                                              "regexp_split_to_table",
                                              "string_to_table",
                                              "jsonb_array_elements",
                                              "jsonb_array_elements_text",
                                              "jsonb_object_keys",
                                              "jsonb_each",
                                              "jsonb_each_text",
                                              "jsonb_path_query",
                                              "jsonb_path_query_tz",
                                              "json_array_elements",
                                              "json_array_elements_text",
                                              "json_object_keys",
                                              "json_each",
                                              "json_each_text",
                                              "regexp_matches",
                                              "pg_partition_ancestors",
                                              "ts_debug",
                                              "ts_parse",
                                              "ts_token_type"};

bool gives_pairs(std::string_view name) {
  return name == "jsonb_each" || name == "jsonb_each_text" || name == "json_each" || name == "json_each_text";
}

// PostgreSQL's jsonb_array_elements(from_json, OUT value)
constexpr std::string_view kElementColumn = "value";
bool is_named_element(std::string_view name) {
  return name == "jsonb_array_elements" || name == "jsonb_array_elements_text" || name == "json_array_elements" ||
         name == "json_array_elements_text";
}

// Arrays of arrays are not there: its rows are texts of arrays, and cast where they are read.
bool gives_arrays(std::string_view name) { return name == "regexp_matches"; }
SqlType text_array() { return make_array(make_type(TypeId::kText)); }

// The builtin that gives the rows of the function as an array.
std::string function_of_arrays(const std::string& name) {
  static constexpr std::pair<std::string_view, std::string_view> kFunctions[] = {
      {"regexp_matches", " regexp_matches"},
      {"regexp_split_to_table", "regexp_split_to_array"},
      {"string_to_table", "string_to_array"},
      {"jsonb_array_elements", " jsonb_elements"},
      {"jsonb_array_elements_text", " jsonb_elements_text"},
      {"jsonb_object_keys", " jsonb_keys"},
      {"jsonb_path_query", " jsonb_path_query"},
      {"jsonb_path_query_tz", " jsonb_path_query_tz"},
      {"json_array_elements", " json_elements"},
      {"json_array_elements_text", " json_elements_text"},
      {"json_object_keys", " json_keys"},
  };
  for (const auto& [set, arrays] : kFunctions)
    if (name == set) return std::string(arrays);
  return name;
}

bool refers_to(const BoundExpr& expr, uint32_t relation) {
  if (expr.kind == BoundKind::kColumn && expr.relation == relation) return true;
  return std::any_of(expr.args.begin(), expr.args.end(),
                     [&](const BoundPtr& arg) { return refers_to(*arg, relation); });
}
}  // namespace

bool Binder::is_set_function(std::string_view name) {
  return std::find(std::begin(kSetFunctions), std::end(kSetFunctions), name) != std::end(kSetFunctions);
}

// Start, stop and step in one type: bigint, numeric, or timestamps moved by an interval. PostgreSQL has no others.
StatusOr<SqlType> Binder::match_series(std::vector<BoundPtr>* args, int32_t location) {
  auto wrong = [&](std::string_view sqlstate, std::string_view end) {
    std::string types;
    for (const auto& arg : *args)
      absl::StrAppend(&types, types.empty() ? "" : ", ",
                      arg->type.id == TypeId::kUnknown ? "unknown" : type_name(without_modifiers(arg->type)));
    return with_hint(
        error(sqlstate, absl::StrCat("function generate_series(", types, ") ", std::string(end)), location),
        std::string(sqlstate == "42883" ? kNoFunction : kNoBestFunction));
  };
  if (args->size() < 2 || args->size() > 3) return wrong("42883", "does not exist");
  bool moments = is_moment((*args)[0]->type.id) || is_moment((*args)[1]->type.id);
  bool known = false;
  for (const auto& arg : *args) known |= arg->type.id != TypeId::kUnknown;
  if (!known) return wrong("42725", "is not unique");
  if (moments) {
    if (args->size() != 3) return wrong("42883", "does not exist");
    int matches = 0;  // more exact ones decide; of as many each, timestamptz is preferred
    for (size_t i = 0; i < 2; i++)
      matches += ((*args)[i]->type.id == TypeId::kTimestamp) - ((*args)[i]->type.id == TypeId::kTimestamptz);
    TypeId moment = matches > 0 ? TypeId::kTimestamp : TypeId::kTimestamptz;
    for (size_t i = 0; i < 3; i++) {
      SqlType wanted = make_type(i < 2 ? moment : TypeId::kInterval);
      SCYPER_ASSIGN_OR_RETURN((*args)[i], coerce(std::move((*args)[i]), wanted, Coercion::kImplicit));
    }
    return make_type(moment);
  }
  for (const auto& arg : *args)
    if (arg->type.id != TypeId::kUnknown && !is_integer(arg->type.id) && arg->type.id != TypeId::kNumeric)
      return wrong("42883", "does not exist");
  SCYPER_ASSIGN_OR_RETURN(SqlType type, common_type(*args, "generate_series"));
  if (type.id == TypeId::kNumeric)
    type = make_numeric(0, 0);
  else if (type.id != TypeId::kInt8)
    type = make_type(TypeId::kInt4);
  for (auto& arg : *args) {
    SCYPER_ASSIGN_OR_RETURN(arg, coerce(std::move(arg), type, Coercion::kImplicit));
  }
  return type;
}

StatusOr<std::vector<BoundPtr>> Binder::bind_subscripts(std::vector<BoundPtr> args, int32_t location) {
  if (args.size() != 2) return error("0A000", "generate_subscripts in reverse is not supported", location);
  std::vector<BoundPtr> copies, bounds;
  for (const auto& arg : args) copies.push_back(clone(*arg));
  SCYPER_ASSIGN_OR_RETURN(BoundPtr lower, make_call("array_lower", std::move(args), location));
  SCYPER_ASSIGN_OR_RETURN(BoundPtr upper, make_call("array_upper", std::move(copies), location));
  bounds.push_back(std::move(lower));
  bounds.push_back(std::move(upper));
  return bounds;
}

// The values that a call returns, as arrays: unnest() of several gives as many columns.
StatusOr<std::vector<BoundPtr>> Binder::bind_set_arrays(const ast::FunctionCall& call, const Scope* scope) {
  std::string name = call.name.back();
  SCYPER_ASSIGN_OR_RETURN(auto args, bind_set_arguments(call, scope));
  const auto no_function = [&](const std::string& shown) {
    return with_hint(error("42883", absl::StrCat("function ", shown, " does not exist"), call.location),
                     std::string(kNoFunction));
  };
  const auto columns = text_search_columns(name, args.empty() ? TypeId::kUnknown : args[0]->type.id);
  if (!columns.empty()) {
    std::vector<BoundPtr> arrays;
    for (const SetColumn& column : columns) {
      std::vector<BoundPtr> copies;
      for (const auto& arg : args) copies.push_back(clone(*arg));
      SCYPER_ASSIGN_OR_RETURN(BoundPtr array, make_call(column.builtin, std::move(copies), call.location, name));
      arrays.push_back(std::move(array));
    }
    return arrays;
  }
  if (name == "unnest") {
    for (auto& arg : args) {
      if (!is_multirange(arg->type.id)) continue;
      std::vector<BoundPtr> multirange;
      multirange.push_back(std::move(arg));
      SCYPER_ASSIGN_OR_RETURN(arg, make_call(" unnest", std::move(multirange), call.location));
    }
    for (const auto& arg : args)
      if (arg->type.id != TypeId::kArray)
        return arg->type.id == TypeId::kUnknown
                   ? with_hint(error("42725", "function unnest(unknown) is not unique", call.location),
                               std::string(kNoBestFunction))
                   : no_function(absl::StrCat("unnest(", type_name(without_modifiers(arg->type)), ")"));
    if (args.empty()) return no_function("unnest()");
    return args;
  }
  if (name == "pg_partition_ancestors" && args.size() == 1) {
    SCYPER_ASSIGN_OR_RETURN(BoundPtr text, find_relation_text(partition_ancestor_texts(catalog_), std::move(args[0])));
    args.clear();
    args.push_back(make_cast(std::move(text), make_array(number_type(ObjectKind::kRelation)), true));
    return args;
  }
  if (name == "generate_subscripts") {
    SCYPER_ASSIGN_OR_RETURN(args, bind_subscripts(std::move(args), call.location));
    name = "generate_series";
  }
  if (name == "generate_series") {
    SCYPER_ASSIGN_OR_RETURN(SqlType type, match_series(&args, call.location));
    if (args.size() == 2) {
      BoundPtr one = make_constant(make_type(TypeId::kInt4), int_datum(1), call.location);
      SCYPER_ASSIGN_OR_RETURN(one, coerce(std::move(one), type, Coercion::kImplicit));
      args.push_back(std::move(one));
    }
    name = " series";
  }
  name = function_of_arrays(name);
  std::vector<BoundPtr> arrays;
  if (gives_pairs(name) && args.size() == 1) {
    if (name[4] == 'b' && args[0]->type.id != TypeId::kUnknown && args[0]->type.id != TypeId::kJsonb)
      return no_function(absl::StrCat(name, "(", type_name(plain_type(args[0]->type)), ")"));
    std::vector<BoundPtr> same_args;
    same_args.push_back(clone(*args[0]));
    SCYPER_ASSIGN_OR_RETURN(BoundPtr keys,
                            make_call(absl::StrCat(" ", name, "_keys"), std::move(same_args), call.location));
    arrays.push_back(std::move(keys));
    name = absl::StrCat(" ", name, "_values");
  }
  SCYPER_ASSIGN_OR_RETURN(BoundPtr array, make_call(name, std::move(args), call.location));
  arrays.push_back(std::move(array));
  return arrays;
}

// In the select list: a column of an item of FROM that bind_plain_select() adds.
StatusOr<BoundPtr> Binder::bind_set_call(const ast::FunctionCall& call, const Scope* scope) {
  const char* inside = in_aggregate_ ? "aggregate" : in_window_ ? "window" : nullptr;
  if (inside != nullptr)
    return with_hint(error("0A000", absl::StrCat(inside, " function calls cannot contain set-returning function calls"),
                           call.location),
                     "You might be able to move the set-returning function into a LATERAL FROM item.");
  if (window_query_ == nullptr || in_window_definition_)
    return error("0A000",
                 absl::StrCat("set-returning functions are not allowed in ",
                              in_window_definition_       ? "window definitions"
                              : aggregate_clause_.empty() ? "this context"
                                                          : std::string(aggregate_clause_)),
                 call.location);
  SCYPER_ASSIGN_OR_RETURN(auto arrays, bind_set_arrays(call, scope));
  if (gives_pairs(call.name.back()) || arrays.size() > 1)
    return error("0A000", absl::StrCat("function ", call.name.back(), " is supported in FROM only"), call.location);
  if (arrays.size() != 1)
    return error("42883", "function unnest of several arrays does not exist outside of FROM", call.location);
  if (set_relation_ == nullptr) set_relation_ = new_relation(RelationKind::kUnnest, "*SELECT*");
  Relation& relation = *set_relation_;
  if (refers_to(*arrays[0], relation.id))
    return error("0A000", "set-returning functions of set-returning functions are not supported", call.location);
  uint32_t column = 0;
  while (column < relation.arguments.size() && !same(*relation.arguments[column], *arrays[0])) column++;
  if (column == relation.arguments.size()) {
    relation.columns.push_back({name_of_target(call), element_of(arrays[0]->type), true, false});
    relation.arguments.push_back(std::move(arrays[0]));
  }
  BoundPtr value = make_column(relation.id, column, relation.columns[column].type, true, call.location);
  return gives_arrays(call.name.back()) ? make_cast(std::move(value), text_array(), true) : std::move(value);
}

namespace {
// A column of the set-returning functions inside of what may leave it out; null: none. construct: inside of what.
const BoundExpr* find_conditional(const BoundExpr& expr, uint32_t sets, std::string_view* construct) {
  const bool is_case = expr.kind == BoundKind::kCase;
  if (is_case || expr.kind == BoundKind::kCoalesce) {
    const BoundExpr* inside = nullptr;
    visit(expr, [&](const BoundExpr& e) {
      if (e.kind == BoundKind::kColumn && e.relation == sets && inside == nullptr) inside = &e;
    });
    if (inside != nullptr) *construct = is_case ? "CASE" : "COALESCE";
    return inside;
  }
  for (const auto& arg : expr.args)
    if (const BoundExpr* inside = find_conditional(*arg, sets, construct); inside != nullptr) return inside;
  return nullptr;
}
}  // namespace

namespace {
void add_sets(std::unique_ptr<Relation> sets, BoundQuery* query) {
  if (!query->joins.empty()) {
    JoinTree tree;
    tree.first = static_cast<uint32_t>(query->from.size());
    query->joins.push_back(std::move(tree));
  }
  FromEntry entry;
  entry.relation = std::move(sets);
  query->from.push_back(std::move(entry));
}

// The arguments of the set-returning functions, which were the last outputs while groups were bound.
void take_arguments(BoundQuery* query, Relation* sets) {
  auto first = query->outputs.end() - static_cast<ptrdiff_t>(sets->arguments.size());
  for (size_t i = 0; i < sets->arguments.size(); i++)
    sets->arguments[i] = std::move(first[static_cast<ptrdiff_t>(i)].expr);
  query->outputs.erase(first, query->outputs.end());
}
}  // namespace

Status Binder::add_set_relation(BoundQuery* query) {
  if (set_relation_ == nullptr) return absl::OkStatus();
  for (const OutputColumn& output : query->outputs) {
    std::string_view construct;
    const BoundExpr* inside = find_conditional(*output.expr, set_relation_->id, &construct);
    if (inside == nullptr) continue;
    return with_hint(error("0A000", absl::StrCat("set-returning functions are not allowed in ", std::string(construct)),
                           inside->location),
                     "You might be able to move the set-returning function into a LATERAL FROM item.");
  }
  if (query->aggregated || !query->windows.empty()) {  // spread_sets()
    for (auto& argument : set_relation_->arguments) query->outputs.push_back({"", std::move(argument), true});
    return absl::OkStatus();
  }
  add_sets(std::move(set_relation_), query);
  return absl::OkStatus();
}

// Set-returning functions that GROUP BY names give the rows that are grouped.
void Binder::group_sets(BoundQuery* query) {
  if (set_relation_ == nullptr) return;
  const uint32_t sets = set_relation_->id;
  if (std::none_of(query->groups.begin(), query->groups.end(), [&](const auto& e) { return refers_to(*e, sets); }))
    return;
  take_arguments(query, set_relation_.get());
  add_sets(std::move(set_relation_), query);
}

// Other set-returning functions come after groups and windows: a query around these has their rows.
Status Binder::spread_sets(BoundQuery* query) {
  if (set_relation_ == nullptr) return absl::OkStatus();
  auto inner = std::make_unique<BoundQuery>();
  inner->id = std::exchange(query->id, ++query_count_);
  inner->from = std::exchange(query->from, {});
  inner->joins = std::exchange(query->joins, {});
  inner->where = std::exchange(query->where, {});
  inner->aggregated = std::exchange(query->aggregated, false);
  inner->groups = std::exchange(query->groups, {});
  inner->grouping_sets = std::exchange(query->grouping_sets, {});
  inner->grouping_calls = std::exchange(query->grouping_calls, {});
  inner->aggregates = std::exchange(query->aggregates, {});
  inner->having = std::exchange(query->having, {});
  inner->windows = std::exchange(query->windows, {});
  inner->correlated = query->correlated;
  auto rows = new_relation(RelationKind::kQuery, "");
  const uint32_t sets = set_relation_->id;
  std::function<void(BoundPtr*)> lift = [&](BoundPtr* e) {
    if ((*e)->kind == BoundKind::kConst || ((*e)->kind == BoundKind::kColumn && (*e)->relation == sets)) return;
    if (refers_to(**e, sets)) {
      for (auto& arg : (*e)->args) lift(&arg);
      return;
    }
    const auto index = static_cast<uint32_t>(inner->outputs.size());
    BoundPtr column = make_column(rows->id, index, (*e)->type, (*e)->nullable, (*e)->location);
    column->domain = (*e)->domain;
    rows->columns.push_back({"", (*e)->type, (*e)->nullable, false});
    inner->outputs.push_back({"", std::exchange(*e, std::move(column)), false});
  };
  for (auto& output : query->outputs) lift(&output.expr);
  take_arguments(query, set_relation_.get());
  rows->query = std::move(inner);
  FromEntry entry;
  entry.relation = std::move(rows);
  query->from.push_back(std::move(entry));
  add_sets(std::move(set_relation_), query);
  return absl::OkStatus();
}

namespace {
Status name_columns(const ast::FromFunction& item, Relation* relation) {
  size_t values = relation->columns.size() - (item.ordinality ? 1 : 0);
  const bool is_named = relation->columns[0].name == kElementColumn;
  if (values == 1 && !item.alias.name.empty() && !is_named) relation->columns[0].name = item.alias.name;
  if (item.alias.columns.size() > relation->columns.size())
    return sql_error("42P10", absl::StrCat("table \"", relation->alias, "\" has ", relation->columns.size(),
                                           " columns available but ", item.alias.columns.size(), " columns specified"));
  for (size_t i = 0; i < item.alias.columns.size(); i++) relation->columns[i].name = item.alias.columns[i];
  return absl::OkStatus();
}
}  // namespace

namespace {
// The first column's name tells unnest(tsvector) from unnest(array).
std::span<const SetColumn> columns_of_set(const std::string& name, const BoundExpr& first) {
  const bool is_vector = first.kind == BoundKind::kBuiltin && first.builtin->name == "tsvector_to_array";
  return text_search_columns(name, is_vector ? TypeId::kTsvector : TypeId::kUnknown);
}

using ArrayTypes = std::vector<SqlType>;  // of the columns that are texts of arrays

void name_set_columns(const std::string& name, size_t first, Relation* relation, std::vector<size_t>* array_columns,
                      ArrayTypes* types) {
  if (gives_arrays(name)) {
    array_columns->push_back(first);
    types->push_back(text_array());
  }
  for (const SetColumn& column : columns_of_set(name, *relation->arguments[first])) {
    relation->columns[first].name = column.name;
    if (column.array.id == TypeId::kArray) {
      array_columns->push_back(first);
      types->push_back(column.array);
    }
    ++first;
  }
}

// The relation is one that with_arrays() has made.
void set_array_types(const std::vector<size_t>& array_columns, const ArrayTypes& types, Relation* relation) {
  for (size_t i = 0; i < array_columns.size(); i++) {
    relation->columns[array_columns[i]].type = types[i];
    relation->query->outputs[array_columns[i]].expr->type = types[i];
  }
}
}  // namespace

// A function that returns one value, as a table of one row.
StatusOr<std::unique_ptr<Relation>> Binder::scalar_relation(const ast::Expr& call, const Scope* scope) {
  SCYPER_ASSIGN_OR_RETURN(BoundPtr value, bind(call, scope));
  if (value->type.id == TypeId::kUnknown) {
    SCYPER_ASSIGN_OR_RETURN(value, coerce(std::move(value), make_type(TypeId::kText), Coercion::kImplicit));
  }
  auto relation = new_relation(RelationKind::kValues, "");
  relation->columns.push_back({"", value->type, value->nullable, false});
  relation->rows.emplace_back();
  relation->rows[0].push_back(std::move(value));
  return relation;
}

StatusOr<std::unique_ptr<Relation>> Binder::series_relation(const ast::FunctionCall& call, const Scope* scope) {
  std::vector<BoundPtr> args;
  for (const auto& arg : call.args) {
    SCYPER_ASSIGN_OR_RETURN(BoundPtr bound, bind(*arg, scope));
    args.push_back(std::move(bound));
  }
  if (call.name.back() == "generate_subscripts") {
    SCYPER_ASSIGN_OR_RETURN(args, bind_subscripts(std::move(args), call.location));
  }
  SCYPER_ASSIGN_OR_RETURN(SqlType type, match_series(&args, call.location));
  if (!is_integer(type.id)) return std::unique_ptr<Relation>();
  auto relation = new_relation(RelationKind::kSeries, "");
  for (auto& arg : args) {
    SCYPER_ASSIGN_OR_RETURN(BoundPtr wide, coerce(std::move(arg), make_type(TypeId::kInt8), Coercion::kImplicit));
    relation->arguments.push_back(std::move(wide));
  }
  relation->columns.push_back({"", type, false, false});
  return relation;
}

// The relation with columns that are texts of arrays as arrays.
std::unique_ptr<Relation> Binder::with_arrays(std::unique_ptr<Relation> relation, const std::vector<size_t>& columns) {
  auto outer = new_relation(RelationKind::kQuery, relation->alias);
  outer->columns = relation->columns;
  outer->is_scalar = relation->is_scalar;
  outer->query = query_over(std::move(relation));
  for (size_t c : columns) {
    outer->columns[c].type = text_array();
    BoundPtr& output = outer->query->outputs[c].expr;
    output = make_cast(std::move(output), text_array(), true);
  }
  return outer;
}

Status Binder::bind_any_from_function(const ast::FromFunction& item, Scope* scope, BoundQuery* query, JoinType join) {
  SCYPER_ASSIGN_OR_RETURN(const ast::FunctionCall* call, routine_in_from(item, scope));
  if (call != nullptr) return bind_routine_from(item, *call, scope, query, join);
  return bind_from_function(item, scope, query, join);
}

Status Binder::bind_from_function(const ast::FromFunction& item, Scope* scope, BoundQuery* query, JoinType join) {
  std::unique_ptr<Relation> relation;
  if (gives_json_records(item)) {
    SCYPER_ASSIGN_OR_RETURN(auto columns, json_columns(item, catalog_, source_));
    SCYPER_ASSIGN_OR_RETURN(auto statements, parse_sql(json_records_query(item, columns), TextOf::kSystem));
    const std::string& alias = item.alias.name;
    auto made = query_relation(node_as<ast::SelectStatement>(*statements[0]),
                               alias.empty() ? name_of_target(*item.functions[0]) : alias, scope);
    if (!made.ok()) return without_position(made.status());
    relation = *std::move(made);
    for (size_t c = 0; c < columns.size(); c++) {
      if (!is_string(columns[c].type.id)) continue;
      BoundPtr& value = relation->query->outputs[c].expr;
      SCYPER_ASSIGN_OR_RETURN(value,
                              coerce(std::move(value), columns[c].type,
                                     is_json_text(columns[c].type) ? Coercion::kExplicit : Coercion::kAssignment));
      relation->columns[c].type = columns[c].type;
    }
    for (size_t c = 0; c < item.alias.columns.size() && c < columns.size(); c++)
      relation->columns[c].name = item.alias.columns[c];
    return add_relation(std::move(relation), scope, query, join, item.location);
  }
  if (!item.columns.empty())
    return error("42601", "a column definition list is only allowed for functions returning \"record\"",
                 item.columns[0].location);
  std::vector<size_t> array_columns;
  ArrayTypes array_types;
  std::string first_name;
  bool single = item.functions.size() == 1;
  for (const auto& function : item.functions) {
    const auto* call = ast::node_if<ast::FunctionCall>(function.get());
    std::string name = call == nullptr ? name_of_target(*function) : std::string(bare_name(call->name.back()));
    if (first_name.empty()) first_name = name_of_target(*function);
    bool returns_set = call != nullptr && is_set_function(name);
    if (!returns_set) {
      if (!single || item.ordinality)
        return error("0A000", absl::StrCat("function ", name, " is not supported here"), item.location);
      SCYPER_ASSIGN_OR_RETURN(relation, scalar_relation(*function, scope));
      break;
    }
    if (single && (name == "generate_series" || name == "generate_subscripts")) {
      SCYPER_ASSIGN_OR_RETURN(relation, series_relation(*call, scope));
      if (relation != nullptr) break;
    }
    SCYPER_ASSIGN_OR_RETURN(auto arrays, bind_set_arrays(*call, scope));
    if (relation == nullptr) relation = new_relation(RelationKind::kUnnest, "");
    const size_t first = relation->columns.size();
    for (auto& array : arrays) {
      relation->columns.push_back({name, element_of(array->type), true, false});
      relation->arguments.push_back(std::move(array));
    }
    name_set_columns(name, first, relation.get(), &array_columns, &array_types);
    if (!gives_pairs(name)) continue;
    relation->columns.end()[-2].name = "key";
    relation->columns.end()[-1].name = "value";
  }
  relation->alias = item.alias.name.empty() ? first_name : item.alias.name;
  relation->is_scalar = relation->columns.size() == 1 && !item.ordinality;
  if (relation->columns.size() == 1)
    relation->columns[0].name = is_named_element(first_name)             ? std::string(kElementColumn)
                                : first_name == "pg_partition_ancestors" ? "relid"
                                                                         : first_name;
  if (item.ordinality) relation->columns.push_back({"ordinality", make_type(TypeId::kInt8), false, false});
  if (Status named = name_columns(item, relation.get()); !named.ok()) return named;
  if (!array_columns.empty()) relation = with_arrays(std::move(relation), array_columns);
  set_array_types(array_columns, array_types, relation.get());
  return add_relation(std::move(relation), scope, query, join, item.location);
}

}  // namespace scyper::query
