#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/object_name.h"
#include "bind/binder.h"
#include "compile/definition.h"
#include "parse/printer.h"
#include "parse/sql_parser.h"
#include "parse/text.h"
#include "plan/access_path.h"
#include "query/key_rules.h"
#include "query/rows_elsewhere.h"
#include "storage/json_text_type.h"
#include "storage/temporary.h"

// CREATE TABLE, ALTER TABLE: keys, CHECK, FOREIGN KEY.
namespace scyper::query {

int find_column(const storage::TableSchema& schema, std::string_view name) {
  for (size_t i = 0; i < storage::visible_columns(schema); i++)
    if (schema.columns[i].name == name) return static_cast<int>(i);
  return -1;
}

std::string column_list(const storage::TableSchema& schema) {
  std::string text;
  for (size_t c = 0; c < storage::visible_columns(schema); c++)
    absl::StrAppend(&text, c == 0 ? "" : ", ", quote_identifier(schema.columns[c].name));
  return text;
}

// A unique index of a partitioned table is unique per partition: it must contain the partition column.
Status check_unique(const storage::TableSchema& schema, const storage::IndexDef& index) {
  if (!index.unique || schema.scheme == storage::PartitionScheme::kShared) return absl::OkStatus();
  if (std::find(index.columns.begin(), index.columns.end(), schema.partition_column) != index.columns.end())
    return absl::OkStatus();
  return with_detail(sql_error("0A000", "unique constraint on partitioned table must include all partitioning columns"),
                     absl::StrCat(index.primary ? "PRIMARY KEY" : "UNIQUE", " constraint on table \"", schema.name,
                                  "\" lacks column \"", schema.columns[schema.partition_column].name,
                                  "\" which is part of the partition key."));
}

Status Definer::define_keys(const ast::CreateTableStatement& create, storage::TableSchema* schema) {
  auto is_key = [](const ast::Constraint& constraint) {
    return constraint.kind == ast::ConstraintKind::kPrimaryKey || constraint.kind == ast::ConstraintKind::kUnique;
  };
  for (const auto& column : create.columns)
    for (const auto& constraint : column.constraints)
      if (is_key(constraint)) SCYPER_RETURN_IF_ERROR(add_key(constraint, {column.name}, schema));
  for (const auto& constraint : create.constraints)
    if (is_key(constraint)) SCYPER_RETURN_IF_ERROR(add_key(constraint, constraint.columns, schema));
  return absl::OkStatus();
}

// What needs the table: it is in the next catalog.
Status Definer::define_constraints(const ast::CreateTableStatement& create, const std::string& table) {
  for (const auto& column : create.columns)
    for (const auto& constraint : column.constraints)
      SCYPER_RETURN_IF_ERROR(define_constraint(constraint, {column.name}, table));
  for (const auto& constraint : create.constraints)
    SCYPER_RETURN_IF_ERROR(define_constraint(constraint, constraint.columns, table));
  return absl::OkStatus();
}

Status Definer::define_constraint(const ast::Constraint& constraint, const std::vector<std::string>& columns,
                                  const std::string& table) {
  switch (constraint.kind) {
    case ast::ConstraintKind::kGenerated:
      return define_generated(constraint, columns[0], table);
    case ast::ConstraintKind::kCheck:
      return define_check(constraint, table);
    case ast::ConstraintKind::kForeignKey:
      return define_foreign_key(constraint, columns, table);
    case ast::ConstraintKind::kExclusion:
      return error("0A000", "this table constraint is not supported", constraint.location);
    default:
      return absl::OkStatus();
  }
}

// Generated columns depend on columns that are not generated.
Status Definer::define_generated(const ast::Constraint& constraint, const std::string& column,
                                 const std::string& name) {
  auto table = next().find_table(name);
  const storage::TableSchema& schema = table->schema();
  const TableRules& rules = next().rules[schema.id];
  const auto c = static_cast<uint32_t>(find_column(schema, column));
  if (!rules.columns[c].default_text.empty())
    return error(
        "42601",
        absl::StrCat(rules.columns[c].identity == Identity::kNone ? "both default" : "both identity",
                     " and generation expression specified for column \"", column, "\" of table \"", name, "\""),
        constraint.location);
  Binder binder(next(), text_);
  SCYPER_ASSIGN_OR_RETURN(BoundPtr bound, binder.bind_generated(*constraint.expr, table, c));
  Status status;
  visit(*bound, [&](const BoundExpr& e) {
    if (e.kind != BoundKind::kColumn || rules.columns[e.index].generated_text.empty()) return;
    status = with_detail(error("42P17",
                               absl::StrCat("cannot use generated column \"", schema.columns[e.index].name,
                                            "\" in column generation expression"),
                               e.location),
                         "A generated column cannot reference another generated column.");
  });
  return status;
}

bool Definer::constraint_taken(const storage::TableSchema& schema, std::string_view name) {
  for (const auto& index : schema.indexes)
    if (index.constraint && bare_name(index.name) == name) return true;
  const TableRules& rules = next().rules[schema.id];
  auto is_named = [&](const auto& rule) { return rule.name == name; };
  return std::any_of(rules.checks.begin(), rules.checks.end(), is_named) ||
         std::any_of(rules.foreign_keys.begin(), rules.foreign_keys.end(), is_named);
}

// The name that is given, or one like PostgreSQL's.
StatusOr<std::string> Definer::constraint_name(const ast::Constraint& constraint, const storage::TableSchema& schema,
                                               std::string_view base) {
  if (!constraint.name.empty()) {
    if (constraint_taken(schema, constraint.name) && old_->find_table(schema.name) == nullptr &&
        constraint.kind == ast::ConstraintKind::kCheck)
      return error("42710", absl::StrCat("check constraint \"", constraint.name, "\" already exists"), -1);
    if (constraint_taken(schema, constraint.name))
      return error(
          "42710",
          absl::StrCat("constraint \"", constraint.name, "\" for relation \"", schema.name, "\" already exists"), -1);
    return constraint.name;
  }
  base = bare_name(base);
  std::string name(base);
  for (int i = 1; constraint_taken(schema, name); i++) name = absl::StrCat(std::string(base), i);
  return name;
}

Status Definer::define_check(const ast::Constraint& constraint, const std::string& table_name) {
  auto table = next().find_table(table_name);
  const storage::TableSchema& schema = table->schema();
  Binder binder(next(), text_);
  SCYPER_ASSIGN_OR_RETURN(BoundPtr bound, binder.bind_check(*constraint.expr, table));
  std::set<uint32_t> columns;
  visit(*bound, [&](const BoundExpr& e) {
    if (e.kind == BoundKind::kColumn) columns.insert(e.index);
  });
  std::string base = schema.name;
  if (columns.size() == 1) absl::StrAppend(&base, "_", schema.columns[*columns.begin()].name);
  TableRules::Check check;
  SCYPER_ASSIGN_OR_RETURN(check.name, constraint_name(constraint, schema, base + "_check"));
  check.expression = to_sql(*constraint.expr);
  auto& checks = next().rules[schema.id].checks;
  auto behind = std::find_if(checks.begin(), checks.end(), [&](const auto& other) { return check.name < other.name; });
  checks.insert(behind, std::move(check));  // PostgreSQL checks them by name
  return absl::OkStatus();
}

namespace {
ReferentialAction action_of(ast::ReferentialAction action) {
  switch (action) {
    case ast::ReferentialAction::kRestrict:
      return ReferentialAction::kRestrict;
    case ast::ReferentialAction::kCascade:
      return ReferentialAction::kCascade;
    case ast::ReferentialAction::kSetNull:
      return ReferentialAction::kSetNull;
    case ast::ReferentialAction::kSetDefault:
      return ReferentialAction::kSetDefault;
    default:
      return ReferentialAction::kNoAction;
  }
}

// Whether a foreign key of type `a` can be looked up among keys of type `b`: PostgreSQL needs an operator of their
// index, or an implicit cast to `b`.
bool can_compare(const SqlType& a, const SqlType& b) {
  const auto width = [](TypeId id) { return is_integer(id) ? 0 : id == TypeId::kNumeric ? 1 : 2; };
  if (a.id == TypeId::kEnum && b.id == TypeId::kEnum) return a.length == b.length;
  return a.id == b.id || (is_number(a.id) && is_number(b.id) && width(a.id) <= width(b.id)) ||
         (is_string(a.id) && is_string(b.id)) || (is_moment(a.id) && is_moment(b.id));
}

std::vector<uint32_t> sorted(std::vector<uint32_t> columns) {
  std::sort(columns.begin(), columns.end());
  return columns;
}
}  // namespace

Status Definer::resolve_key_columns(const std::vector<std::string>& names, const storage::TableSchema& schema,
                                    std::vector<uint32_t>* columns) const {
  for (const std::string& name : names) {
    int c = find_column(schema, name);
    if (c < 0)
      return error("42703", absl::StrCat("column \"", name, "\" referenced in foreign key constraint does not exist"),
                   -1);
    columns->push_back(static_cast<uint32_t>(c));
  }
  return absl::OkStatus();
}

// The referenced columns are a key of their table; without names its primary key.
Status Definer::resolve_referenced(const ast::Constraint& constraint, const storage::TableSchema& parent,
                                   ForeignKey* key) const {
  const Catalog& catalog = next_ == nullptr ? *old_ : *next_;
  if (constraint.foreign_columns.empty()) {
    for (const auto& index : parent.indexes)
      if (is_primary(catalog, index)) key->referenced = index.columns;
    if (key->referenced.empty())
      return error("42704", absl::StrCat("there is no primary key for referenced table \"", parent.name, "\""), -1);
  } else {
    SCYPER_RETURN_IF_ERROR(resolve_key_columns(constraint.foreign_columns, parent, &key->referenced));
  }
  if (key->columns.size() != key->referenced.size())
    return error("42830", "number of referencing and referenced columns for foreign key disagree", -1);
  for (const auto& index : parent.indexes)
    if (index.unique && sorted(index.columns) == sorted(key->referenced)) return absl::OkStatus();
  for (const auto& index : parent.indexes)
    if (is_unique(catalog, index) && sorted(index.columns) == sorted(key->referenced))
      return error("55000",
                   absl::StrCat("cannot use a deferrable ",
                                constraint.foreign_columns.empty() ? "primary key" : "unique constraint",
                                " for referenced table \"", parent.name, "\""),
                   -1);
  return error(
      "42830",
      absl::StrCat("there is no unique constraint matching given keys for referenced table \"", parent.name, "\""), -1);
}

// A row and the row it refers to must be in reach of one transaction that stays in its partition.
Status Definer::check_placement(const storage::TableSchema& schema, const storage::TableSchema& parent,
                                const ForeignKey& key, int32_t location) const {
  if (parent.scheme == storage::PartitionScheme::kShared) return absl::OkStatus();
  for (size_t i = 0; i < key.columns.size(); i++)
    if (schema.scheme == parent.scheme && key.columns[i] == schema.partition_column &&
        key.referenced[i] == parent.partition_column)
      return absl::OkStatus();
  return error("0A000",
               absl::StrCat("a foreign key to partitioned table \"", parent.name,
                            "\" whose columns do not pair the partition columns is not supported"),
               location);
}

Status Definer::define_foreign_key(const ast::Constraint& constraint, const std::vector<std::string>& columns,
                                   const std::string& table_name) {
  if (constraint.match == ast::MatchKind::kPartial)
    return error("0A000", "MATCH PARTIAL not yet implemented", constraint.location);
  if (constraint.match == ast::MatchKind::kFull && columns.size() > 1)
    return error("0A000", "MATCH FULL is not supported", constraint.location);
  auto table = next().find_table(table_name);
  const storage::TableSchema& schema = table->schema();
  SCYPER_RETURN_IF_ERROR(check_schema(constraint.foreign_table));
  auto parent = next().find_table(constraint.foreign_table.back());
  if (parent == nullptr) {
    if (next().views.count(constraint.foreign_table.back()) != 0)
      return error("42809",
                   absl::StrCat("referenced relation \"", constraint.foreign_table.back(), "\" is not a table"), -1);
    return error("42P01", absl::StrCat("relation \"", constraint.foreign_table.back(), "\" does not exist"), -1);
  }
  if (storage::is_temporary(schema.id) != storage::is_temporary(parent->schema().id))
    return error("42P16",
                 is_temporary_ ? "constraints on temporary tables may reference only temporary tables"
                               : "constraints on permanent tables may reference only permanent tables",
                 -1);
  ForeignKey key;
  key.table = parent->schema().id;
  key.on_update = action_of(constraint.on_update);
  key.on_delete = action_of(constraint.on_delete);
  key.deferrable = constraint.deferrable || constraint.initially_deferred;
  key.deferred = constraint.initially_deferred;
  SCYPER_RETURN_IF_ERROR(resolve_key_columns(columns, schema, &key.columns));
  SCYPER_RETURN_IF_ERROR(resolve_referenced(constraint, parent->schema(), &key));
  std::string base = schema.name;
  for (const std::string& name : columns) absl::StrAppend(&base, "_", name);
  SCYPER_ASSIGN_OR_RETURN(key.name, constraint_name(constraint, schema, base + "_fkey"));
  for (size_t i = 0; i < key.columns.size(); i++) {
    const auto& mine = schema.columns[key.columns[i]];
    const auto& other = parent->schema().columns[key.referenced[i]];
    if (!can_compare(mine.type, other.type))
      return with_detail(
          error("42804", absl::StrCat("foreign key constraint \"", key.name, "\" cannot be implemented"), -1),
          absl::StrCat("Key columns \"", mine.name, "\" and \"", other.name, "\" are of incompatible types: ",
                       type_name(plain_type(mine.type)), " and ", type_name(plain_type(other.type)), "."));
  }
  SCYPER_RETURN_IF_ERROR(check_placement(schema, parent->schema(), key, constraint.location));
  next().rules[schema.id].foreign_keys.push_back(std::move(key));
  return absl::OkStatus();
}

Status Definer::add_key(const ast::Constraint& constraint, const std::vector<std::string>& columns,
                        storage::TableSchema* schema) {
  bool primary = constraint.kind == ast::ConstraintKind::kPrimaryKey;
  KeyRules rules;
  rules.is_deferrable = constraint.deferrable || constraint.initially_deferred;
  rules.is_deferred = constraint.initially_deferred;
  rules.is_primary = primary && rules.is_deferrable;
  rules.are_nulls_equal = constraint.nulls_not_distinct;
  storage::IndexDef index;
  index.id = IndexId(draw_number(&next().next_index_id));
  index.unique = !rules.is_deferrable;
  index.primary = primary && !rules.is_deferrable;
  index.constraint = true;
  std::string base = schema->name;
  for (const std::string& name : columns) {
    int c = find_column(*schema, name);
    if (c < 0)
      return error("42703", absl::StrCat("column \"", name, "\" named in key does not exist"), constraint.location);
    uint32_t column = static_cast<uint32_t>(c);
    if (std::find(index.columns.begin(), index.columns.end(), column) != index.columns.end())
      return error(
          "42701",
          absl::StrCat("column \"", name, "\" appears twice in ", primary ? "primary key" : "unique", " constraint"),
          constraint.location);
    index.columns.push_back(column);
    if (primary)
      schema->columns[column].not_null = true;
    else
      absl::StrAppend(&base, "_", name);
  }
  for (const std::string& name : constraint.include) {  // rows are at hand anyway
    if (find_column(*schema, name) < 0)
      return error("42703", absl::StrCat("column \"", name, "\" named in key does not exist"), constraint.location);
    if (!primary) absl::StrAppend(&base, "_", name);
  }
  if (primary)
    for (const auto& other : schema->indexes)
      if (is_primary(next(), other))
        return error("42P16", absl::StrCat("multiple primary keys for table \"", schema->name, "\" are not allowed"),
                     constraint.location);
  index.name = constraint.name.empty() ? free_index_name(absl::StrCat(base, primary ? "_pkey" : "_key"))
                                       : sibling_key(schema->name, constraint.name);
  if (name_taken(index.name))
    return error("42P07", absl::StrCat("relation \"", index.name, "\" already exists"), constraint.location);
  storage::IndexDef unique = index;
  unique.unique = true;
  unique.primary = primary;
  SCYPER_RETURN_IF_ERROR(check_unique(*schema, unique));
  if (schema->indexes.size() >= storage::kMaxIndexesPerTable)
    return error("54011", "a table can have at most 16 indexes", constraint.location);
  next().index_tables[index.name] = schema->name;
  note_key_rules(index.id, rules, &next());
  if (primary)
    schema->indexes.insert(schema->indexes.begin(), std::move(index));
  else
    schema->indexes.push_back(std::move(index));
  return absl::OkStatus();
}

// Of one that was added as NOT VALID: the rows that were there.
Status Definer::validate_constraint(const ast::AlterTableCommand& command, const std::string& name) {
  auto table = next().find_table(name);
  const TableRules rules = next().rules[table->schema().id];
  auto is_named = [&](const auto& rule) { return bare_name(rule.name) == command.name; };
  if (auto key = std::find_if(rules.foreign_keys.begin(), rules.foreign_keys.end(), is_named);
      key != rules.foreign_keys.end())
    return check_references(*key, name);
  auto check = std::find_if(rules.checks.begin(), rules.checks.end(), is_named);
  if (check == rules.checks.end()) {
    const auto& indexes = table->schema().indexes;
    const bool exists = std::any_of(indexes.begin(), indexes.end(), [&](const storage::IndexDef& index) {
      return index.constraint && is_named(index);
    });
    return error(exists ? "42809" : "42704",
                 absl::StrCat("constraint \"", command.name, "\" of relation \"", name,
                              exists ? "\" is not a foreign key or check constraint" : "\" does not exist"),
                 -1);
  }
  SCYPER_ASSIGN_OR_RETURN(const bool holds, has_no_rows(absl::StrCat("SELECT 1 FROM ", quote_identifier(name),
                                                                     " WHERE NOT (", check->expression, ") LIMIT 1")));
  if (holds) return absl::OkStatus();
  return error(
      "23514",
      absl::StrCat("check constraint \"", command.name, "\" of relation \"", name, "\" is violated by some row"), -1);
}

// The rows that are there have what they refer to.
Status Definer::check_references(const ForeignKey& key, const std::string& name) {
  if (!asks_rows()) return Status();
  const RoleScope nobody(nullptr);  // REFERENCES is all that it takes
  const storage::TableSchema& schema = next().find_table(name)->schema();
  const storage::TableSchema& parent = next().find_table(key.table)->schema();
  std::string columns, names, present, matches;
  for (size_t i = 0; i < key.columns.size(); i++) {
    const std::string mine = "c." + quote_identifier(schema.columns[key.columns[i]].name);
    absl::StrAppend(&columns, i == 0 ? "" : ", ", mine, "::text");
    absl::StrAppend(&names, i == 0 ? "" : ", ", schema.columns[key.columns[i]].name);
    absl::StrAppend(&present, i == 0 ? "" : " AND ", mine, " IS NOT NULL");
    absl::StrAppend(&matches, i == 0 ? "" : " AND ", "p.", quote_identifier(parent.columns[key.referenced[i]].name),
                    " = ", mine);
  }
  SCYPER_ASSIGN_OR_RETURN(
      ResultSet rows, query(absl::StrCat("SELECT ", columns, " FROM ", quote_identifier(name), " c WHERE ", present,
                                         " AND NOT EXISTS (SELECT 1 FROM ", quote_identifier(parent.name), " p WHERE ",
                                         matches, ") LIMIT 1")));
  if (rows.row_count() == 0) return absl::OkStatus();
  std::string values;
  for (size_t i = 0; i < key.columns.size(); i++) {
    const Datum& value = rows.value(0, i);
    absl::StrAppend(&values, i == 0 ? "" : ", ", std::string(value.data(), value.size()));
  }
  return with_detail(
      error("23503",
            absl::StrCat("insert or update on table \"", name, "\" violates foreign key constraint \"", key.name, "\""),
            -1),
      absl::StrCat("Key (", names, ")=(", values, ") is not present in table \"", parent.name, "\"."));
}

Status Definer::drop_constraint(const ast::AlterTableCommand& command, const std::string& name, ResultSet* result) {
  auto table = next().find_table(name);
  const TableId id = table->schema().id;
  TableRules& rules = next().rules[id];
  auto is_named = [&](const auto& rule) { return bare_name(rule.name) == command.name; };
  if (auto check = std::find_if(rules.checks.begin(), rules.checks.end(), is_named); check != rules.checks.end())
    return rules.checks.erase(check), absl::OkStatus();
  auto key = std::find_if(rules.foreign_keys.begin(), rules.foreign_keys.end(), is_named);
  if (key != rules.foreign_keys.end()) return rules.foreign_keys.erase(key), absl::OkStatus();
  TableChange change = begin_change(table, rules);
  auto& indexes = change.schema.indexes;
  auto index = std::find_if(indexes.begin(), indexes.end(), [&](const auto& i) { return i.constraint && is_named(i); });
  if (index == indexes.end()) {
    if (!command.if_exists)
      return error("42704", absl::StrCat("constraint \"", command.name, "\" of relation \"", name, "\" does not exist"),
                   -1);
    result->notices.push_back(
        absl::StrCat("NOTICE:  constraint \"", command.name, "\" of relation \"", name, "\" does not exist, skipping"));
    return absl::OkStatus();
  }
  SCYPER_RETURN_IF_ERROR(drop_references_to(name, *index, absl::StrCat("constraint ", command.name, " on table ", name),
                                            command.cascade, result));
  change.rules.foreign_keys = next().rules[id].foreign_keys;
  next().index_tables.erase(index->name);
  note_key_rules(index->id, {}, &next());
  indexes.erase(index);
  return apply_change(std::move(change));
}

// ALTER CONSTRAINT: when a foreign key is checked.
Status Definer::alter_constraint(const ast::AlterTableCommand& command, const std::string& name) {
  const storage::TableSchema& schema = next().find_table(name)->schema();
  auto& keys = next().rules[schema.id].foreign_keys;
  const auto key = std::find_if(keys.begin(), keys.end(), [&](const auto& k) { return k.name == command.name; });
  const std::string what = absl::StrCat("constraint \"", command.name, "\" of relation \"", name, "\"");
  if (key == keys.end() && !constraint_taken(schema, command.name))
    return error("42704", absl::StrCat(what, " does not exist"), -1);
  if (key == keys.end()) return error("42809", absl::StrCat(what, " is not a foreign key constraint"), -1);
  key->deferrable = command.constraint->deferrable || command.constraint->initially_deferred;
  key->deferred = command.constraint->initially_deferred;
  return absl::OkStatus();
}

}  // namespace scyper::query
