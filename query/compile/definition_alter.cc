#include "compile/definition_alter.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/object_name.h"
#include "bind/binder.h"
#include "bind/object_text.h"
#include "compile/definition.h"
#include "compile/duplicate_rows.h"
#include "parse/printer.h"
#include "parse/scanner.h"
#include "parse/sql_parser.h"
#include "parse/text.h"
#include "parse/type_resolver.h"
#include "plan/access_path.h"
#include "query/error_status.h"
#include "query/key_rules.h"
#include "query/rows_elsewhere.h"
#include "runtime/memory.h"
#include "storage/pauses.h"

// ALTER TABLE. Every command makes the table anew in the next catalog where its layout changes, so that whatever fails
// leaves nothing behind, and snapshots keep the old one.
namespace scyper::query {

using ast::node_as;

TableChange begin_change(std::shared_ptr<storage::Table> table, const TableRules& rules) {
  TableChange change;
  change.schema = table->schema();
  change.rules = rules;
  if (change.schema.has_row_id) {
    change.schema.columns.pop_back();
    change.rules.columns.pop_back();
    change.schema.has_row_id = false;
  }
  for (size_t c = 0; c < change.schema.columns.size(); c++) {
    change.columns.emplace_back();
    change.columns.back().from = static_cast<int>(c);
  }
  change.old = std::move(table);
  return change;
}

namespace {
void close_gap(uint32_t column, std::vector<uint32_t>* positions) {
  for (uint32_t& position : *positions)
    if (position > column) position--;
}
}  // namespace

void remove_column(TableChange* change, uint32_t column) {
  change->schema.columns.erase(change->schema.columns.begin() + column);
  change->rules.columns.erase(change->rules.columns.begin() + column);
  change->columns.erase(change->columns.begin() + column);
  for (auto& index : change->schema.indexes) close_gap(column, &index.columns);
  for (auto& key : change->rules.foreign_keys) {
    close_gap(column, &key.columns);
    if (key.table == change->schema.id) close_gap(column, &key.referenced);
  }
  if (change->schema.partition_column > column) change->schema.partition_column--;
}

// Puts the changed table in the place of the old one.
Status Definer::apply_change(TableChange change) {
  storage::TableSchema schema = std::move(change.schema);
  schema.version++;
  const bool has_key =
      std::any_of(schema.indexes.begin(), schema.indexes.end(), [](const auto& i) { return i.primary; });
  if (!has_key) {
    schema.has_row_id = true;
    schema.columns.push_back({"__row_id", make_type(TypeId::kInt8), true});
    change.rules.columns.emplace_back();
  }
  const std::string name = schema.name;
  const TableId id = schema.id;
  const bool shares = shares_rows_ && change.old->live_tuples() >= options_.shared_rows_min;
  auto table =
      storage::rebuild_table(change.old.get(), std::move(schema), change.columns, change.by_identity, format_datum,
                             shares ? storage::RebuildMode::kShares : storage::RebuildMode::kCopies);
  for (auto& column : change.columns)
    storage::Pauses::give_back(column.values.data(), column.values.capacity() * sizeof(Datum));
  SCYPER_RETURN_IF_ERROR(table.status());
  next().tables[name] = *std::move(table);
  next().rules[id] = std::move(change.rules);
  return absl::OkStatus();
}

Status Definer::alter_table(const ast::AlterTableStatement& alter, ResultSet* result) {
  result->command_tag = "ALTER TABLE";
  const bool sets_owner = std::all_of(alter.commands.begin(), alter.commands.end(), [](const auto& command) {
    return command.action == ast::AlterTableAction::kSetOwner;
  });
  if (sets_owner && old_->views.count(alter.table.name.back()) != 0) {
    if (alter.object == ast::ObjectKind::kView) result->command_tag = "ALTER VIEW";
    for (const auto& command : alter.commands)
      SCYPER_RETURN_IF_ERROR(set_owner(command.owner, alter.table.name.back()));
    return Status();
  }
  if (old_->has_view(alter.table.name.back())) return alter_view(alter, result);
  if (old_->find_partition(alter.table.name.back()) != nullptr) return alter_partition(alter);
  const bool is_sequence = old_->sequences.count(alter.table.name.back()) != 0;
  if (alter.object == ast::ObjectKind::kSequence && sets_owner && !is_sequence && !alter.if_exists)
    return error("42P01", absl::StrCat("relation \"", alter.table.name.back(), "\" does not exist"), -1);
  if (sets_owner && is_sequence) {
    if (alter.object == ast::ObjectKind::kSequence) result->command_tag = "ALTER SEQUENCE";
    for (const auto& command : alter.commands)
      SCYPER_RETURN_IF_ERROR(set_sequence_owner(command.owner, alter.table.name.back()));
    return Status();
  }
  const bool is_materialized = old_->find_materialized_view(alter.table.name.back()) != nullptr;
  if (is_materialized) return alter_materialized_view(alter, result);
  if (alter.object == ast::ObjectKind::kMaterializedView && name_taken(alter.table.name.back()))
    return error("42809", absl::StrCat("\"", alter.table.name.back(), "\" is not a materialized view"), -1);
  if (attaches_index(alter, result)) return Status();
  if (alter.object != ast::ObjectKind::kTable && alter.object != ast::ObjectKind::kMaterializedView)
    return error("0A000", absl::StrCat("ALTER of this object: ", alter.commands[0].action_name, " is not supported"),
                 -1);
  const std::string& name = alter.table.name.back();
  SCYPER_RETURN_IF_ERROR(check_schema(alter.table.name));
  if (alter.if_exists && old_->find_table(name) == nullptr && old_->views.count(name) == 0) {
    result->notices.push_back(absl::StrCat("NOTICE:  relation \"", name, "\" does not exist, skipping"));
    return absl::OkStatus();
  }
  SCYPER_RETURN_IF_ERROR(find_table(alter.table.name).status());
  for (const auto& command : alter.commands) {
    SCYPER_RETURN_IF_ERROR(alter_one(command, name, result));
    command_++;
  }
  if (next_ != nullptr) remake_partitions(next().find_table(name)->schema().id);
  return check_views(name);
}

Status Definer::alter_one(const ast::AlterTableCommand& command, const std::string& name, ResultSet* result) {
  switch (command.action) {
    case ast::AlterTableAction::kAddColumn:
      return add_column(command, name, result);
    case ast::AlterTableAction::kDropColumn:
      return drop_column(command, name, result);
    case ast::AlterTableAction::kSetType:
      return set_type(command, name);
    case ast::AlterTableAction::kSetDefault:
      return set_default(command, name);
    case ast::AlterTableAction::kSetNotNull:
    case ast::AlterTableAction::kDropNotNull:
      return set_not_null(command, name);
    case ast::AlterTableAction::kAddConstraint:
      return add_constraint(*command.constraint, command.constraint->columns, name);
    case ast::AlterTableAction::kDropConstraint:
      return drop_constraint(command, name, result);
    case ast::AlterTableAction::kValidateConstraint:
      return validate_constraint(command, name);
    case ast::AlterTableAction::kAlterConstraint:
      return alter_constraint(command, name);
    case ast::AlterTableAction::kAddIdentity:
      return add_identity(command, name);
    case ast::AlterTableAction::kSetIdentity:
      return set_identity(command, name);
    case ast::AlterTableAction::kDropIdentity:
      return drop_identity(command, name, result);
    case ast::AlterTableAction::kTrigger:
      return set_firing(command, name);
    case ast::AlterTableAction::kSetOwner:
      return set_owner(command.owner, name);
    case ast::AlterTableAction::kAttachPartition:
      return attach_partition(command, {name});
    case ast::AlterTableAction::kDetachPartition:
      return detach_partition(command, {name});
    case ast::AlterTableAction::kSetOptions:
    case ast::AlterTableAction::kResetOptions:
      return alter_options(command, name, result);
    default:
      return error("0A000", absl::StrCat("ALTER TABLE ... ", command.action_name, " is not supported"),
                   command.location);
  }
}

StatusOr<uint32_t> Definer::column_to_alter(const std::string& column, const std::string& name) {
  int c = find_column(next().find_table(name)->schema(), column);
  if (c < 0)
    return error("42703", absl::StrCat("column \"", column, "\" of relation \"", name, "\" does not exist"), -1);
  return static_cast<uint32_t>(c);
}

// --- columns ---

namespace {

struct HiddenColumns {
  size_t first = 0;
  std::vector<storage::ColumnDef> definitions;
  std::vector<TableRules::Column> rules;
  std::vector<storage::RebuiltColumn> sources;
};

template <class T>
std::vector<T> take_from(size_t first, std::vector<T>* all) {
  std::vector<T> taken(std::make_move_iterator(all->begin() + static_cast<ptrdiff_t>(first)),
                       std::make_move_iterator(all->end()));
  all->resize(first);
  return taken;
}

// Visible columns stand before hidden ones.
HiddenColumns take_hidden_columns(TableChange* change) {
  HiddenColumns hidden;
  hidden.first = change->schema.columns.size() - change->schema.hidden_columns;
  hidden.definitions = take_from(hidden.first, &change->schema.columns);
  hidden.rules = take_from(hidden.first, &change->rules.columns);
  hidden.sources = take_from(hidden.first, &change->columns);
  return hidden;
}

void put_back(HiddenColumns hidden, TableChange* change) {
  const size_t more = change->schema.columns.size() - hidden.first;
  for (storage::IndexDef& index : change->schema.indexes)
    for (uint32_t& column : index.columns)
      if (column >= hidden.first) column += static_cast<uint32_t>(more);
  auto append = [](auto from, auto* to) {
    to->insert(to->end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
  };
  append(std::move(hidden.definitions), &change->schema.columns);
  append(std::move(hidden.rules), &change->rules.columns);
  append(std::move(hidden.sources), &change->columns);
}

}  // namespace

// Values of a new column for `rows` rows: its default, drawn once per row where it is volatile.
Status Definer::default_values(const storage::TableSchema& schema, uint32_t column, const std::string& given,
                               uint64_t rows, TableChange* change) {
  std::vector<Datum>& values = change->columns[column].values;
  values.assign(1, null_datum());
  std::string text = given;
  if (const Domain* domain = next().find_domain(change->rules.columns[column].domain); domain != nullptr) {
    if (text.empty()) text = domain->default_text;
    if (text.empty() && domain->check != nullptr) text = "NULL";
    if (!text.empty()) text = absl::StrCat("CAST(", text, " AS ", quote_identifier(domain->name), ")");
  }
  if (text.empty() || rows == 0) return absl::OkStatus();
  SCYPER_ASSIGN_OR_RETURN(const bool is_given, take_given_values(column, change));
  if (is_given) return absl::OkStatus();
  const bool draws = draws_by_row(absl::StrCat("SELECT ", text));
  change->by_identity = draws;
  const SqlType& type = schema.columns[column].type;  // literals take it
  const std::string value = is_string(type.id) || draws ? text : absl::StrCat("CAST(", text, " AS ", to_sql(type), ")");
  bool repeats = true;
  if (draws) {
    SCYPER_RETURN_IF_ERROR(draw_values(value, schema.columns[column], rows, &values, &repeats));
  } else {
    SCYPER_RETURN_IF_ERROR(evaluate(absl::StrCat("SELECT ", value), schema.columns[column], &values, &repeats));
  }
  if (!repeats) keep_values_of(column, *change);
  return absl::OkStatus();
}

Status Definer::add_column(const ast::AlterTableCommand& command, const std::string& name, ResultSet* result) {
  const ast::ColumnDefinition& column = *command.column;
  auto table = next().find_table(name);
  if (find_column(table->schema(), column.name) >= 0) {
    if (!command.if_exists)
      return error("42701", absl::StrCat("column \"", column.name, "\" of relation \"", name, "\" already exists"), -1);
    result->notices.push_back(
        absl::StrCat("NOTICE:  column \"", column.name, "\" of relation \"", name, "\" already exists, skipping"));
    return absl::OkStatus();
  }
  TableChange change = begin_change(table, next().rules[table->schema().id]);
  if (change.schema.columns.size() >= 1600) return error("54011", "tables can have at most 1600 columns", -1);
  HiddenColumns hidden = take_hidden_columns(&change);
  SCYPER_RETURN_IF_ERROR(define_column(column, &change.schema, &change.rules));
  const auto number = static_cast<uint32_t>(change.schema.columns.size() - 1);
  change.columns.emplace_back();
  put_back(std::move(hidden), &change);
  const TableRules::Column rule = change.rules.columns[number];
  const uint64_t rows = table->live_tuples();
  if (!rule.generated_text.empty() && rows > 0) {
    SCYPER_RETURN_IF_ERROR(evaluate(absl::StrCat("SELECT ", rule.generated_text, " FROM ", quote_identifier(name)),
                                    change.schema.columns[number], &change.columns[number].values, nullptr));
    if (change.columns[number].values.size() != rows) return error("XX000", "the table changed while it was read", -1);
  } else {
    SCYPER_RETURN_IF_ERROR(default_values(change.schema, number, rule.default_text, rows, &change));
  }
  SCYPER_RETURN_IF_ERROR(apply_change(std::move(change)));
  for (const auto& constraint : column.constraints) {
    if (constraint.kind == ast::ConstraintKind::kGenerated)
      SCYPER_RETURN_IF_ERROR(define_generated(constraint, column.name, name));
    else
      SCYPER_RETURN_IF_ERROR(add_constraint(constraint, {column.name}, name));
  }
  return absl::OkStatus();
}

namespace {
bool contains(const std::vector<uint32_t>& columns, uint32_t column) {
  return std::find(columns.begin(), columns.end(), column) != columns.end();
}
}  // namespace

// Does the text of a rule read the column? By its words: nothing else in a rule has names of columns.
bool Definer::reads_column(const storage::TableSchema& schema, const std::string& text, uint32_t column) {
  const std::string& name = schema.columns[column].name;
  auto tokens = scan(text);
  return !tokens.ok() || std::any_of(tokens->begin(), tokens->end(), [&](const Token& token) {
    return (token.kind == TokenKind::kWord || token.kind == TokenKind::kQuotedIdentifier) && value_of(token) == name;
  });
}

// Keys and rules that the column is part of go with it.
Status Definer::drop_rules_of(uint32_t column, const ast::AlterTableCommand& command, TableChange* change,
                              ResultSet* result) {
  const std::string& name = change->schema.name;
  const std::string what = absl::StrCat("column ", change->schema.columns[column].name, " of table ", name);
  const std::vector<std::string> readers = indexes_that_read(change->old->schema(), column);
  for (size_t i = 0; i < change->schema.indexes.size();) {
    const storage::IndexDef index = change->schema.indexes[i];
    if (!contains(index.columns, column) && std::find(readers.begin(), readers.end(), index.name) == readers.end()) {
      i++;
      continue;
    }
    SCYPER_RETURN_IF_ERROR(drop_references_to(name, index, what, command.cascade, result));
    next().index_tables.erase(index.name);
    query::remove_index(change, i);
  }
  auto& keys = change->rules.foreign_keys;
  keys.erase(std::remove_if(keys.begin(), keys.end(), [&](const auto& key) { return contains(key.columns, column); }),
             keys.end());
  auto& checks = change->rules.checks;
  checks.erase(
      std::remove_if(checks.begin(), checks.end(),
                     [&](const auto& check) { return reads_column(change->old->schema(), check.expression, column); }),
      checks.end());
  for (size_t c = 0; c < change->rules.columns.size(); c++) {
    const std::string& text = change->rules.columns[c].generated_text;
    if (c == column || text.empty() || !reads_column(change->old->schema(), text, column)) continue;
    return with_hint(
        with_detail(error("2BP01",
                          absl::StrCat("cannot drop column ", change->schema.columns[column].name, " of table ", name,
                                       " because other objects depend on it"),
                          -1),
                    absl::StrCat("column ", change->schema.columns[c].name, " of table ", name, " depends on column ",
                                 change->schema.columns[column].name, " of table ", name)),
        "Use DROP ... CASCADE to drop the dependent objects too.");
  }
  return absl::OkStatus();
}

Status Definer::drop_column(const ast::AlterTableCommand& command, const std::string& name, ResultSet* result) {
  auto table = next().find_table(name);
  if (command.if_exists && find_column(table->schema(), command.name) < 0) {
    result->notices.push_back(
        absl::StrCat("NOTICE:  column \"", command.name, "\" of relation \"", name, "\" does not exist, skipping"));
    return absl::OkStatus();
  }
  SCYPER_ASSIGN_OR_RETURN(const uint32_t column, column_to_alter(command.name, name));
  const TableId id = table->schema().id;
  SCYPER_RETURN_IF_ERROR(drop_uses_of_sequences(name, static_cast<int>(column), {}, command.cascade, result));
  SCYPER_RETURN_IF_ERROR(check_no_key_part(name, command.name, "drop"));
  TableChange change = begin_change(table, next().rules[id]);
  if (change.schema.scheme != storage::PartitionScheme::kShared && change.schema.partition_column == column)
    return error("42P16",
                 absl::StrCat("cannot drop column \"", command.name,
                              "\" because it is part of the partition key of "
                              "relation \"",
                              name, "\""),
                 -1);
  forget_in_partitions(id, command.name, /*with_checks=*/true);
  SCYPER_RETURN_IF_ERROR(drop_rules_of(column, command, &change, result));
  SCYPER_RETURN_IF_ERROR(drop_readers(name, column, command.cascade, result));
  drop_sequences_of(id, static_cast<int>(column));
  drop_column_of_hot_views(table->schema(), column);
  remove_column(&change, column);
  for (auto& [other_name, other] : next().tables)
    for (auto& key : next().rules[other->schema().id].foreign_keys)
      if (key.table == id && other->schema().id != id)
        for (uint32_t& position : key.referenced) position -= position > column ? 1 : 0;
  move_owned_sequences(id, column);
  SCYPER_RETURN_IF_ERROR(apply_change(std::move(change)));
  return drop_column_below_views(name, column);
}

// Indexes on expressions and partial ones that read the column are made anew.
Status Definer::set_type(const ast::AlterTableCommand& command, const std::string& name) {
  SCYPER_ASSIGN_OR_RETURN(const uint32_t column, column_to_alter(command.name, name));
  SCYPER_RETURN_IF_ERROR(check_no_key_part(name, command.name, "alter"));
  SCYPER_RETURN_IF_ERROR(check_unread(name, column));
  std::vector<std::string> definitions;
  for (const std::string& index : indexes_that_read(next().find_table(name)->schema(), column)) {
    const auto table = next().find_table(name);
    for (const auto& definition : table->schema().indexes)
      if (definition.name == index) definitions.push_back(index_source(next(), table->schema(), definition));
    SCYPER_RETURN_IF_ERROR(remove_index(index));
  }
  SCYPER_RETURN_IF_ERROR(change_type(command, name, column));
  for (const std::string& definition : definitions) {
    SCYPER_ASSIGN_OR_RETURN(auto statements, parse_sql(definition, TextOf::kSystem));
    ResultSet ignored;
    SCYPER_RETURN_IF_ERROR(create_index(node_as<ast::CreateIndexStatement>(*statements[0]), &ignored));
  }
  return absl::OkStatus();
}

namespace {

// A value of the one type is the same value of the other, and its text.
bool is_widened(const SqlType& from, const SqlType& to) {
  if (from == to) return true;
  if (is_integer(from.id) && is_integer(to.id)) return storage::cell_bytes_of(from) <= storage::cell_bytes_of(to);
  const bool is_varchar = from.id == TypeId::kVarchar;
  if ((is_varchar || from.id == TypeId::kText) && to.id == TypeId::kText) return true;
  if ((is_varchar || from.id == TypeId::kText) && to.id == TypeId::kVarchar)
    return to.length < 0 || (from.length >= 0 && from.length <= to.length && is_varchar);
  return from.id == TypeId::kNumeric && to.id == TypeId::kNumeric && from.precision > 0 &&
         from.precision <= to.precision && from.scale == to.scale;
}

}  // namespace

// The values that USING, or the column itself, gives in each row. The domain checks drawn values as they are drawn.
Status Definer::converted_values(const ast::AlterTableCommand& command, const std::string& name, uint32_t column,
                                 const Domain* domain, TableChange* change) {
  const storage::ColumnDef& definition = change->schema.columns[column];
  if (command.expr == nullptr && domain == nullptr &&
      is_widened(change->old->schema().columns[column].type, definition.type))
    return absl::OkStatus();
  std::vector<Datum>& values = change->columns[column].values;
  change->columns[column].from = -1;
  const uint64_t rows = change->old->live_tuples();
  if (rows > 0) {
    SCYPER_ASSIGN_OR_RETURN(const bool is_given, take_given_values(column, change));
    if (is_given) return absl::OkStatus();
  }
  const std::string text = command.expr != nullptr ? to_sql(*command.expr) : quote_identifier(command.name);
  const std::string from = absl::StrCat(" FROM ", quote_identifier(name));
  const std::string of_domain =
      domain == nullptr ? "" : absl::StrCat("CAST(", text, " AS ", quote_identifier(domain->name), ")");
  const bool draws = draws_by_row(absl::StrCat("SELECT ", text, from));
  bool repeats = true;
  Status converted = evaluate(absl::StrCat("SELECT ", draws && domain != nullptr ? of_domain : text, from), definition,
                              &values, &repeats);
  if (sqlstate_of(converted) == "42804" && command.expr == nullptr)
    return with_hint(error("42804",
                           absl::StrCat("column \"", command.name, "\" cannot be cast automatically to type ",
                                        type_name(definition.type)),
                           -1),
                     absl::StrCat("You might need to specify \"USING ", quote_identifier(command.name),
                                  "::", type_name(definition.type), "\"."));
  SCYPER_RETURN_IF_ERROR(converted);
  if (values.size() != rows) return error("XX000", "the table changed while it was read", -1);
  QueryFacts facts;
  facts.has_time = true;
  if (domain != nullptr && !draws && asks_rows())
    SCYPER_RETURN_IF_ERROR(query(absl::StrCat("SELECT ", of_domain, from), &facts).status());
  if (values.empty()) values.push_back(null_datum());
  if (repeats) return absl::OkStatus();
  SCYPER_ASSIGN_OR_RETURN(const std::vector<size_t> places, storage::places_by_identity(*change->old));
  std::vector<Datum> ordered;
  ordered.reserve(values.size());
  for (const size_t place : places) ordered.push_back(values[place]);
  values = std::move(ordered);
  change->by_identity = true;
  keep_values_of(column, *change);
  return absl::OkStatus();
}

Status Definer::change_type(const ast::AlterTableCommand& command, const std::string& name, uint32_t column) {
  auto table = next().find_table(name);
  TableChange change = begin_change(table, next().rules[table->schema().id]);
  SCYPER_ASSIGN_OR_RETURN(SqlType type, resolve_type(command.column->type, text_, next().user_types()));
  SCYPER_RETURN_IF_ERROR(check_column_type(*command.column, type));
  if (change.schema.scheme != storage::PartitionScheme::kShared && change.schema.partition_column == column)
    return error("42P16",
                 absl::StrCat("cannot alter column \"", command.name,
                              "\" because it is part of the partition key of "
                              "relation \"",
                              name, "\""),
                 -1);
  for (const auto& rule : change.rules.columns)
    if (!rule.generated_text.empty() && reads_column(table->schema(), rule.generated_text, column))
      return with_detail(error("0A000", "cannot alter type of a column used by a generated column", -1),
                         absl::StrCat("Column \"", command.name, "\" is used by a generated column."));
  change.schema.columns[column].type = type;
  const Domain* domain = named_domain(command.column->type, next().user_types());
  SCYPER_RETURN_IF_ERROR(converted_values(command, name, column, domain, &change));
  TableRules::Column& rule = change.rules.columns[column];
  rule.domain = domain == nullptr ? 0 : domain->id;
  if (!rule.default_text.empty() && rule.default_text[0] != '"') {
    SCYPER_ASSIGN_OR_RETURN(auto expr, parse_expression(rule.default_text));
    Binder binder(next(), rule.default_text);
    if (!binder.bind_constant(*expr, type).ok())
      return error("42804",
                   absl::StrCat("default for column \"", command.name, "\" cannot be cast automatically to type ",
                                type_name(type)),
                   -1);
  }
  SCYPER_RETURN_IF_ERROR(apply_change(std::move(change)));
  // rules that do not fit the new type any more
  auto changed = next().find_table(name);
  for (const auto& check : next().rules[changed->schema().id].checks) {
    SCYPER_ASSIGN_OR_RETURN(auto expr, parse_expression(check.expression));
    Binder binder(next(), check.expression);
    auto bound = binder.bind_check(*expr, changed);
    if (!bound.ok()) return sql_error(sqlstate_of(bound.status()), std::string(bound.status().message()));
  }
  return check_hot_views(changed->schema().id);
}

Status Definer::set_default(const ast::AlterTableCommand& command, const std::string& name) {
  SCYPER_ASSIGN_OR_RETURN(const uint32_t column, column_to_alter(command.name, name));
  const storage::TableSchema& schema = next().find_table(name)->schema();
  TableRules::Column& rule = next().rules[schema.id].columns[column];
  if (rule.identity != Identity::kNone)
    return with_hint(
        error("42601", absl::StrCat("column \"", command.name, "\" of relation \"", name, "\" is an identity column"),
              -1),
        command.expr == nullptr ? "Use ALTER TABLE ... ALTER COLUMN ... DROP IDENTITY instead." : "");
  if (!rule.generated_text.empty())
    return error("42601",
                 absl::StrCat("column \"", command.name, "\" of relation \"", name, "\" is a generated column"), -1);
  rule.default_text.clear();
  forget_in_partitions(schema.id, command.name, /*with_checks=*/false);
  if (command.expr == nullptr) return absl::OkStatus();
  return without_position(define_default(*command.expr, schema.columns[column].type, &rule));
}

Status Definer::set_not_null(const ast::AlterTableCommand& command, const std::string& name) {
  SCYPER_ASSIGN_OR_RETURN(const uint32_t column, column_to_alter(command.name, name));
  auto table = next().find_table(name);
  TableChange change = begin_change(table, next().rules[table->schema().id]);
  const bool not_null = command.action == ast::AlterTableAction::kSetNotNull;
  if (change.schema.columns[column].not_null == not_null) return absl::OkStatus();
  if (!not_null) {
    if (change.rules.columns[column].identity != Identity::kNone)
      return error("42601",
                   absl::StrCat("column \"", command.name, "\" of relation \"", name, "\" is an identity column"), -1);
    for (const auto& index : change.schema.indexes)
      if (is_primary(next(), index) && contains(index.columns, column))
        return error("42P16", absl::StrCat("column \"", command.name, "\" is in a primary key"), -1);
    if (change.schema.scheme != storage::PartitionScheme::kShared && change.schema.partition_column == column)
      return error("0A000", "the partition column is NOT NULL here", -1);
  }
  change.schema.columns[column].not_null = not_null;
  return apply_change(std::move(change));
}

// --- constraints ---

Status Definer::add_constraint(const ast::Constraint& constraint, const std::vector<std::string>& columns,
                               const std::string& name) {
  auto table = next().find_table(name);
  const TableId id = table->schema().id;
  switch (constraint.kind) {
    case ast::ConstraintKind::kPrimaryKey:
    case ast::ConstraintKind::kUnique: {
      if (!constraint.using_index.empty()) return error("0A000", "USING INDEX is not supported", constraint.location);
      TableChange change = begin_change(table, next().rules[id]);
      for (const auto& index : change.schema.indexes)
        if (is_primary(next(), index) && constraint.kind == ast::ConstraintKind::kPrimaryKey)
          return error("42P16", absl::StrCat("multiple primary keys for table \"", name, "\" are not allowed"), -1);
      if (!constraint.name.empty() && constraint_taken(table->schema(), constraint.name))
        return error("42P07", absl::StrCat("relation \"", constraint.name, "\" already exists"), -1);
      SCYPER_RETURN_IF_ERROR(add_key(constraint, columns, &change.schema));
      const auto& indexes = change.schema.indexes;  // a primary one comes first
      const storage::IndexDef added = indexes.front().primary && constraint.kind == ast::ConstraintKind::kPrimaryKey
                                          ? indexes.front()
                                          : indexes.back();
      const std::string duplicates = duplicates_query(table->schema(), added, key_rules(next(), added.id));
      if (!duplicates.empty() && asks_rows()) {
        SCYPER_ASSIGN_OR_RETURN(const ResultSet found, query(duplicates));
        SCYPER_RETURN_IF_ERROR(check_duplicates(table->schema(), added, found));
      }
      return apply_change(std::move(change));
    }
    case ast::ConstraintKind::kCheck: {
      SCYPER_RETURN_IF_ERROR(define_check(constraint, name));
      const std::string text = to_sql(*constraint.expr);
      SCYPER_ASSIGN_OR_RETURN(const bool holds, has_no_rows(absl::StrCat("SELECT 1 FROM ", quote_identifier(name),
                                                                         " WHERE NOT (", text, ") LIMIT 1")));
      if (holds || constraint.not_valid) return absl::OkStatus();
      std::string shown = constraint.name;
      for (const auto& check : next().rules[id].checks)
        if (shown.empty() && check.expression == text) shown = check.name;
      return error("23514",
                   absl::StrCat("check constraint \"", shown, "\" of relation \"", name, "\" is violated by some row"),
                   -1);
    }
    case ast::ConstraintKind::kForeignKey:
      SCYPER_RETURN_IF_ERROR(define_foreign_key(constraint, columns, name));
      return constraint.not_valid ? absl::OkStatus() : check_references(next().rules[id].foreign_keys.back(), name);
    case ast::ConstraintKind::kExclusion:
      return error("0A000", "EXCLUDE is not supported", constraint.location);
    default:
      return absl::OkStatus();
  }
}

}  // namespace scyper::query
