#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "base/object_name.h"
#include "bind/binder.h"
#include "bind/collation.h"
#include "bind/index_nulls.h"
#include "bind/target_name.h"
#include "compile/definition.h"
#include "compile/duplicate_rows.h"
#include "parse/printer.h"
#include "parse/sql_parser.h"
#include "parse/text.h"
#include "query/key_rules.h"
#include "query/local_indexes.h"
#include "query/rows_elsewhere.h"
#include "runtime/memory.h"
#include "storage/json_text_type.h"

// CREATE INDEX. The key of an index on an expression is a hidden column that is generated of the others, and so is a
// partial index's predicate: whatever changes rows, undoes or repeats it, keeps such an index as any other. The hidden
// column is called as the expression, its rule says how it is computed.
namespace scyper::query {

namespace {
// (a) is the column a.
std::string plain_column(const ast::IndexElement& element) {
  if (!element.column.empty()) return element.column;
  const auto* ref = ast::node_if<ast::ColumnRef>(element.expr.get());
  return ref != nullptr && !ref->star && ref->name.size() == 1 ? ref->name[0] : "";
}
}  // namespace

Status Definer::check_index(const ast::CreateIndexStatement& create) const {
  if (!create.include.empty() && create.method == "hash")
    return error("0A000", "access method \"hash\" does not support included columns", -1);
  const bool is_plain = create.where == nullptr && std::none_of(create.elements.begin(), create.elements.end(),
                                                                [](const auto& e) { return plain_column(e).empty(); });
  if (create.nulls_not_distinct && create.unique && !is_plain)
    return error("0A000", "NULLS NOT DISTINCT of an index on expressions or with a predicate is not supported",
                 create.location);
  for (const auto& element : create.elements) {
    if (!element.collation.empty()) SCYPER_RETURN_IF_ERROR(check_collation_name(element.collation.back()));
  }
  return absl::OkStatus();
}

// A hidden column with the expression's value; with `expr` being the predicate: TRUE or NULL. An expression is computed
// of rows only that belong to the index.
StatusOr<uint32_t> Definer::add_hidden_column(const std::shared_ptr<storage::Table>& table, const ast::Expr& expr,
                                              const ast::Expr* predicate, TableChange* change) {
  Binder binder(next(), text_);
  SCYPER_ASSIGN_OR_RETURN(BoundPtr bound, binder.bind_index_part(expr, table, &expr == predicate));
  ast::ColumnDefinition column;
  column.name = to_sql(expr);
  column.location = expr.location;
  SCYPER_RETURN_IF_ERROR(check_column_type(column, bound->type));
  TableRules::Column rule;
  rule.generated_text = predicate == nullptr ? column.name
                                             : absl::StrCat("CASE WHEN ", to_sql(*predicate), " THEN ",
                                                            &expr == predicate ? "true" : column.name, " END");
  change->schema.columns.push_back({column.name, bound->type, false});
  change->schema.hidden_columns++;
  change->rules.columns.push_back(std::move(rule));
  change->columns.emplace_back();
  return static_cast<uint32_t>(change->schema.columns.size() - 1);
}

namespace {

// What PostgreSQL calls the key in the names of indexes.
std::string name_of_key(const ast::Expr& expr, std::set<std::string>* taken) {
  std::string name = name_of_target(expr);
  if (name == "?column?") name = "expr";
  std::string free = name;
  for (int i = 1; !taken->insert(free).second; i++) free = absl::StrCat(name, i);
  return free;
}

}  // namespace

namespace {
// Whether PostgreSQL has an operator class of the type for the access method.
bool has_operator_class(std::string_view method, const SqlType& type) {
  using T = TypeId;
  if (type.id == T::kTsvector) return method == "btree" || method == "gin" || method == "gist";
  if (type.id == T::kTsquery) return method == "btree" || method == "gist";
  if (method == "gin") return type.id == T::kArray || type.id == T::kJsonb;
  if (method == "spgist" && (type.id == T::kInet || type.id == T::kCidr)) return true;
  if (method == "spgist") return (is_string(type.id) && type.id != T::kChar) || is_range(type.id);
  if (method == "gist") return is_range(type.id);
  if (type.id == T::kMoney) return method == "btree";
  if (type.id == T::kBit || type.id == T::kVarbit) return method == "btree" || method == "brin";
  if (method == "btree" || method == "hash") return !is_checked_text(type);
  return type.id != T::kBool && type.id != T::kJsonb && type.id != T::kArray && !is_checked_text(type);
}

// Methods that are PostgreSQL's and not ours are refused as PostgreSQL refuses a wrong type, else by name.
Status check_method(const ast::CreateIndexStatement& create, const storage::TableSchema& schema) {
  const bool is_ours = create.method == "btree" || create.method == "hash";
  static constexpr std::string_view kMethods[] = {"gin", "gist", "spgist", "brin"};
  if (!is_ours && std::find(std::begin(kMethods), std::end(kMethods), create.method) == std::end(kMethods))
    return sql_error("42704", absl::StrCat("access method \"", create.method, "\" does not exist"));
  for (const auto& element : create.elements) {
    const std::string name = plain_column(element);
    if (name.empty()) continue;
    const int column = find_column(schema, name);
    if (column < 0 && is_ours) continue;  // define_index_columns() says so
    if (column < 0) return sql_error("42703", absl::StrCat("column \"", name, "\" does not exist"));
    const SqlType& type = schema.columns[static_cast<size_t>(column)].type;
    if (!has_operator_class(create.method, type))
      return with_hint(
          sql_error("42704", absl::StrCat("data type ", type_name(plain_type(type)),
                                          " has no default operator class for access method \"", create.method, "\"")),
          "You must specify an operator class for the index or define a default operator class for the data type.");
  }
  if (is_ours) return absl::OkStatus();
  return sql_error("0A000", absl::StrCat("access method \"", create.method, "\" is not supported"));
}
}  // namespace

namespace {
// Where each key has NULLs, as bind/index_nulls.h writes it.
std::string nulls_of(const ast::CreateIndexStatement& create) {
  std::string nulls;
  for (const auto& element : create.elements) {
    const bool descending = element.direction == ast::SortDirection::kDescending;
    const bool first = element.nulls == ast::NullsOrder::kFirst;
    const bool is_usual = element.nulls == ast::NullsOrder::kDefault || first == descending;
    nulls.push_back(is_usual ? 'd' : first ? 'f' : 'l');
  }
  return nulls;
}

// Nobody else knows the table: the statement has made it.
bool is_made_here(const storage::Table& table, const Catalog& before) {
  const auto known = before.find_table(table.schema().id);
  return known == nullptr || known.get() != &table;
}
}  // namespace

std::vector<std::string> key_names(const storage::TableSchema& schema, const storage::IndexDef& index) {
  std::vector<std::string> names;
  std::set<std::string> taken;
  for (size_t i = index.partial ? 1 : 0; i < index.columns.size(); i++) {
    const std::string& name = schema.columns[index.columns[i]].name;
    auto expr = parse_expression(name);
    const bool is_hidden = index.columns[i] >= visible_columns(schema);
    names.push_back(is_hidden && expr.ok() ? name_of_key(**expr, &taken) : name);
    taken.insert(names.back());
  }
  return names;
}

Status Definer::define_index_columns(const ast::CreateIndexStatement& create, TableChange* change,
                                     storage::IndexDef* index, std::string* base) {
  const auto table = change->old;
  std::set<std::string> taken;
  if (create.where != nullptr) {
    index->partial = true;
    SCYPER_ASSIGN_OR_RETURN(const uint32_t predicate,
                            add_hidden_column(table, *create.where, create.where.get(), change));
    index->columns.push_back(predicate);
    index->descending.push_back(false);
  }
  bool any_descending = false;
  for (const auto& element : create.elements) {
    const std::string name = plain_column(element);
    const int c = name.empty() ? -1 : find_column(table->schema(), name);
    if (!name.empty() && c < 0)
      return error("42703", absl::StrCat("column \"", name, "\" does not exist"),
                   element.column.empty() ? element.expr->location : element.location);
    auto column = static_cast<uint32_t>(c);
    if (name.empty()) {
      SCYPER_ASSIGN_OR_RETURN(column, add_hidden_column(table, *element.expr, create.where.get(), change));
    }
    index->columns.push_back(column);
    const bool descending = element.direction == ast::SortDirection::kDescending;
    index->descending.push_back(descending);
    any_descending |= descending;
    absl::StrAppend(base, "_", name.empty() ? name_of_key(*element.expr, &taken) : name);
    if (!name.empty()) taken.insert(name);
  }
  if (!any_descending) index->descending.clear();
  // INCLUDE: rows are at hand anyway
  for (const auto& element : create.include) {
    const std::string name = plain_column(element);
    if (name.empty()) return error("0A000", "expressions are not supported in included columns", -1);
    if (find_column(table->schema(), name) < 0)
      return error("42703", absl::StrCat("column \"", name, "\" does not exist"), -1);
    absl::StrAppend(base, "_", name);
  }
  return absl::OkStatus();
}

// The values of new hidden columns, of the rows that are there. Their expressions run as the table's owner, whoever
// makes the index: he may call what they call.
Status Definer::fill_hidden_columns(TableChange* change) {
  const SessionRoles owner = roles_of_owner(change->rules.access);
  const RoleScope roles(&owner);
  const uint64_t rows = change->old->live_tuples();
  for (size_t c = 0; c < change->columns.size(); c++) {
    storage::RebuiltColumn& column = change->columns[c];
    if (column.from >= 0) continue;
    column.values.assign(1, null_datum());
    if (rows == 0) continue;
    SCYPER_RETURN_IF_ERROR(evaluate(absl::StrCat("SELECT ", change->rules.columns[c].generated_text, " FROM ",
                                                 quote_identifier(change->schema.name)),
                                    change->schema.columns[c], &column.values, nullptr));
    if (column.values.size() != rows) return error("XX000", "the table changed while it was read", -1);
  }
  return absl::OkStatus();
}

// A secondary's own index gives way to one of the log, which has to find the room that it has elsewhere.
Status Definer::make_room_for_index(const storage::TableSchema& schema) {
  if (LocalIndexes::is_defining() || schema.indexes.size() < storage::kMaxIndexesPerTable) return absl::OkStatus();
  const auto local = std::find_if(schema.indexes.begin(), schema.indexes.end(), is_local);
  if (local == schema.indexes.end()) return absl::OkStatus();
  keeps_tables_ = true;  // what follows may fail
  return remove_index(std::string(local->name));
}

Status Definer::create_index(const ast::CreateIndexStatement& create, ResultSet* result) {
  result->command_tag = "CREATE INDEX";
  if (old_->has_foreign_table(create.table.name.back()))
    return with_detail(
        error("42809", absl::StrCat("cannot create index on relation \"", create.table.name.back(), "\""), -1),
        "This operation is not supported for foreign tables.");
  if (const DeclaredPartition* partition = old_->find_partition(create.table.name.back()); partition != nullptr)
    return create_partition_index(create, *partition, result);
  if (old_->views.count(create.table.name.back()) != 0)
    return with_detail(error("42809",
                             absl::StrCat("cannot create index on relation \"",
                                          std::string(bare_name(create.table.name.back())), "\""),
                             -1),
                       "This operation is not supported for views.");
  SCYPER_ASSIGN_OR_RETURN(auto table, find_table(create.table.name));
  SCYPER_RETURN_IF_ERROR(make_room_for_index(table->schema()));
  if (next_ != nullptr) table = next().find_table(table->schema().name);
  const storage::TableSchema& schema = table->schema();
  SCYPER_RETURN_IF_ERROR(check_index(create));
  SCYPER_RETURN_IF_ERROR(check_method(create, schema));
  storage::IndexDef index;
  index.unique = create.unique;
  std::string base = schema.name;
  TableChange change = begin_change(table, next().rules[schema.id]);
  SCYPER_RETURN_IF_ERROR(define_index_columns(create, &change, &index, &base));
  index.name = create.name.empty() ? free_index_name(base + "_idx") : sibling_key(schema.name, create.name);
  if (name_taken(index.name)) {
    if (!create.if_not_exists) return error("42P07", absl::StrCat("relation \"", index.name, "\" already exists"), -1);
    result->notices.push_back(absl::StrCat("NOTICE:  relation \"", index.name, "\" already exists, skipping"));
    return absl::OkStatus();
  }
  SCYPER_RETURN_IF_ERROR(check_unique(schema, index));
  if (schema.indexes.size() >= storage::kMaxIndexesPerTable)
    return error("54011", "a table can have at most 16 indexes", -1);
  index.id = IndexId(LocalIndexes::is_defining() ? next_local_index(next()) : draw_number(&next().next_index_id));
  next().index_tables[index.name] = schema.name;
  note_index_nulls(index.id, nulls_of(create), &next());
  KeyRules rules;
  rules.are_nulls_equal = create.unique && create.nulls_not_distinct;
  note_key_rules(index.id, rules, &next());
  if (rules.any() && asks_rows()) {
    SCYPER_ASSIGN_OR_RETURN(const ResultSet found, query(duplicates_query(schema, index, rules)));
    SCYPER_RETURN_IF_ERROR(check_duplicates(schema, index, found));
  }
  const bool is_in_place = !keeps_tables_ || is_made_here(*table, *old_);
  if (is_in_place && change.columns.size() == visible_columns(schema) + schema.hidden_columns)
    return table->create_index(std::move(index), format_datum);
  SCYPER_RETURN_IF_ERROR(fill_hidden_columns(&change));
  change.schema.indexes.push_back(std::move(index));
  return apply_change(std::move(change));
}

void remove_index(TableChange* change, size_t position) {
  const storage::IndexDef index = change->schema.indexes[position];
  change->schema.indexes.erase(change->schema.indexes.begin() + static_cast<ptrdiff_t>(position));
  std::vector<uint32_t> columns = index.columns;
  std::sort(columns.rbegin(), columns.rend());
  for (uint32_t column : columns) {
    if (column < change->schema.columns.size() - change->schema.hidden_columns) continue;
    remove_column(change, column);
    change->schema.hidden_columns--;
  }
}

Status Definer::remove_index(const std::string& name) {
  auto table = next().find_table(next().index_tables[name]);
  const storage::TableSchema& schema = table->schema();
  const auto index =
      std::find_if(schema.indexes.begin(), schema.indexes.end(), [&](auto& i) { return i.name == name; });
  const auto position = static_cast<size_t>(index - schema.indexes.begin());
  next().index_tables.erase(name);
  forget_index_nulls(index->id, &next());
  note_key_rules(index->id, {}, &next());
  const size_t visible = visible_columns(schema);
  if ((!keeps_tables_ || is_made_here(*table, *old_)) &&
      std::none_of(index->columns.begin(), index->columns.end(), [&](uint32_t c) { return c >= visible; }))
    return table->drop_index(static_cast<uint32_t>(position)), absl::OkStatus();
  TableChange change = begin_change(table, next().rules[schema.id]);
  query::remove_index(&change, position);
  return apply_change(std::move(change));
}

// Names of the indexes whose expressions or predicates read the column.
std::vector<std::string> Definer::indexes_that_read(const storage::TableSchema& schema, uint32_t column) const {
  std::vector<std::string> names;
  const size_t visible = visible_columns(schema);
  for (const storage::IndexDef& index : schema.indexes)
    if (std::any_of(index.columns.begin(), index.columns.end(),
                    [&](uint32_t c) { return c >= visible && reads_column(schema, schema.columns[c].name, column); }))
      names.push_back(index.name);
  return names;
}

}  // namespace scyper::query
