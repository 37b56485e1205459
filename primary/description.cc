#include "primary/description.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/object_name.h"
#include "partition_engine.h"
#include "storage/table.h"

namespace scyper::primary {

using query::ResultColumn;
using storage::TableSchema;

namespace {

std::vector<ResultColumn> columns_of(const TableSchema& schema) {
  std::vector<ResultColumn> columns;
  for (size_t i = 0; i < storage::visible_columns(schema); ++i)
    columns.push_back({schema.columns[i].name, schema.columns[i].type});
  return columns;
}

std::string partitioning_of(const TableSchema& schema) {
  const char* scheme = "";
  switch (schema.scheme) {
    case storage::PartitionScheme::kShared:
      return "shared";
    case storage::PartitionScheme::kHash:
      scheme = "hash";
      break;
    case storage::PartitionScheme::kRange:
      scheme = "range";
      break;
    case storage::PartitionScheme::kList:
      scheme = "list";
      break;
  }
  return absl::StrCat(scheme, " (", schema.columns[schema.partition_column].name, ")");
}

std::string text_of(const storage::IndexDef& index, const TableSchema& schema) {
  std::vector<std::string> columns;
  for (size_t i = index.partial ? 1 : 0; i < index.columns.size(); ++i) {
    bool descending = i < index.descending.size() && index.descending[i];
    columns.push_back(schema.columns[index.columns[i]].name + (descending ? " DESC" : ""));
  }
  const char* kind = index.primary ? " primary key (" : index.unique ? " unique (" : " (";
  return absl::StrCat(index.name, kind, absl::StrJoin(columns, ", "), ")",
                      index.partial ? " WHERE " + schema.columns[index.columns[0]].name : "");
}

std::string names_of(const TableSchema& schema, const std::vector<uint32_t>& columns) {
  std::vector<std::string> names;
  for (uint32_t column : columns) names.push_back(schema.columns[column].name);
  return absl::StrJoin(names, ", ");
}

std::string text_of(const query::ForeignKey& key, const TableSchema& schema, const query::Catalog& catalog) {
  static constexpr const char* kActions[] = {"", "RESTRICT", "CASCADE", "SET NULL", "SET DEFAULT"};
  auto parent = catalog.find_table(key.table);
  if (parent == nullptr) return "";
  std::string text =
      absl::StrCat("CONSTRAINT ", key.name, " FOREIGN KEY (", names_of(schema, key.columns), ") REFERENCES ",
                   parent->schema().name, "(", names_of(parent->schema(), key.referenced), ")");
  if (key.on_update != query::ReferentialAction::kNoAction)
    absl::StrAppend(&text, " ON UPDATE ", kActions[static_cast<size_t>(key.on_update)]);
  if (key.on_delete != query::ReferentialAction::kNoAction)
    absl::StrAppend(&text, " ON DELETE ", kActions[static_cast<size_t>(key.on_delete)]);
  return text;
}

std::string text_of(const query::Trigger& trigger) {
  std::vector<std::string> events;
  if ((trigger.events & query::Trigger::kInsert) != 0) events.emplace_back("INSERT");
  if ((trigger.events & query::Trigger::kDelete) != 0) events.emplace_back("DELETE");
  if ((trigger.events & query::Trigger::kUpdate) != 0)
    events.push_back(trigger.columns.empty() ? "UPDATE" : "UPDATE OF " + absl::StrJoin(trigger.columns, ", "));
  std::string transitions;
  if (!trigger.old_table.empty()) absl::StrAppend(&transitions, " OLD TABLE AS ", trigger.old_table);
  if (!trigger.new_table.empty()) absl::StrAppend(&transitions, " NEW TABLE AS ", trigger.new_table);
  return absl::StrCat(trigger.fires() ? "" : "DISABLED ", trigger.is_constraint ? "CONSTRAINT TRIGGER " : "TRIGGER ",
                      trigger.name, trigger.before ? " BEFORE " : " AFTER ", absl::StrJoin(events, " OR "),
                      transitions.empty() ? "" : " REFERENCING", transitions, " FOR EACH ",
                      trigger.per_row ? "ROW" : "STATEMENT",
                      trigger.when.empty() ? "" : absl::StrCat(" WHEN (", trigger.when, ")"), " EXECUTE FUNCTION ",
                      trigger.function, "(", absl::StrJoin(trigger.arguments, ", "), ")");
}

std::vector<std::string> constraints_of(const query::Catalog& catalog, const TableSchema& schema) {
  std::vector<std::string> all;
  if (auto rules = catalog.rules.find(schema.id); rules != catalog.rules.end()) {
    for (const auto& check : rules->second.checks)
      all.push_back(absl::StrCat("CONSTRAINT ", check.name, " CHECK (", check.expression, ")"));
    for (const auto& key : rules->second.foreign_keys) all.push_back(text_of(key, schema, catalog));
  }
  for (const auto& [key, trigger] : catalog.triggers)
    if (key.first == schema.name) all.push_back(text_of(*trigger));
  for (std::string& text : all) text = without_keys(text, true);
  return all;
}

Engine::TableInfo describe_table(const query::Catalog& catalog, const storage::Table& table) {
  const TableSchema& schema = table.schema();
  Engine::TableInfo info;
  info.name = schema.name;
  info.partitioning = partitioning_of(schema);
  info.rows = table.live_tuples();
  storage::TableMemory memory = table.memory();
  info.bytes = memory.chunk_bytes + memory.heap_bytes + memory.index_bytes;
  info.temperature = storage::temperature_of(table);
  info.learned_views = query::learned_views(table);
  info.bytes += info.temperature.frozen_bytes + info.temperature.dictionary_bytes;
  info.layout = schema.layout == storage::Layout::kRow ? "row" : "column";
  info.columns = columns_of(schema);
  for (const storage::IndexDef& index : schema.indexes) info.indexes.push_back(text_of(index, schema));
  info.constraints = constraints_of(catalog, schema);
  return info;
}

}  // namespace

StatusOr<std::vector<ResultColumn>> describe_columns(const query::Catalog& catalog, std::string_view table) {
  auto found = catalog.find_table(table);
  if (found == nullptr) return sql_error("42P01", absl::StrCat("relation \"", std::string(table), "\" does not exist"));
  return columns_of(found->schema());
}

std::vector<Engine::TableInfo> describe_tables(const query::Catalog& catalog) {
  std::vector<Engine::TableInfo> all;
  for (const auto& [name, table] : catalog.tables) all.push_back(describe_table(catalog, *table));
  return all;
}

StatusOr<std::vector<ResultColumn>> PartitionEngine::describe(std::string_view table) {
  return describe_columns(*database_->catalog(), table);
}

std::vector<Engine::TableInfo> PartitionEngine::tables() {
  std::vector<TableInfo> all;
  // rows and bytes change under running transactions
  Status status = run_exclusively([this, &all] {
    all = describe_tables(*database_->catalog());
    return Status();
  });
  return status.ok() ? std::move(all) : std::vector<TableInfo>();
}

// A routine's classification is that of the statement that calls it.
Engine::RoutineInfo PartitionEngine::describe_routine(const query::Routine& routine) {
  RoutineInfo info;
  info.signature = query::signature_of(routine);
  info.kind = routine.procedure ? "procedure" : "function";
  std::vector<std::string> arguments, names;
  for (const query::RoutineParameter& parameter : routine.parameters) {
    if (parameter.mode == query::ParameterMode::kOut) {
      if (routine.procedure) arguments.push_back("NULL");
      continue;
    }
    names.push_back(parameter.name);
    arguments.push_back(absl::StrCat("$", names.size()));
    if (routine.procedure) continue;
    absl::StrAppend(&arguments.back(), "::", type_name(parameter.type));
  }
  std::string call = absl::StrCat(routine.procedure ? "CALL " : "SELECT ", "\"", routine.name, "\"(",
                                  absl::StrJoin(arguments, ", "), ")");
  auto prepared = database_->prepare(call);
  auto program = prepared.ok() ? database_->program_of(**prepared) : prepared.status();
  if (!program.ok()) {
    info.classification = absl::StrCat("does not compile: ", program.status().message());
    return info;
  }
  info.classification = Classification((*program)->footprint(), options_.partitions).describe(names);
  return info;
}

std::vector<Engine::RoutineInfo> PartitionEngine::routines() {
  std::vector<RoutineInfo> all;
  auto catalog = database_->catalog();
  for (const auto& [name, routine] : catalog->routines) all.push_back(describe_routine(*routine));
  return all;
}

}  // namespace scyper::primary
