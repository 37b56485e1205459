#include "compile/definition.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "bind/binder.h"
#include "parse/printer.h"
#include "parse/sql_parser.h"
#include "parse/text.h"
#include "parse/type_resolver.h"
#include "runtime/memory.h"

namespace scyper::query {

using ast::node_as;

Status Definer::error(std::string_view sqlstate, std::string_view message, int32_t location) const {
  return sql_error(sqlstate, message, position_at(text_, location));
}

Catalog& Definer::next() {
  if (next_ == nullptr) {
    next_ = std::make_shared<Catalog>(*old_);
    next_->version++;
  }
  return *next_;
}

StatusOr<std::shared_ptr<Catalog>> Definer::execute(const ast::Statement& statement, ResultSet* result) {
  Status status;
  switch (statement.kind) {
    case ast::StatementKind::kCreateTable:
      status = create_table(node_as<ast::CreateTableStatement>(statement), result);
      break;
    case ast::StatementKind::kCreateIndex:
      status = create_index(node_as<ast::CreateIndexStatement>(statement), result);
      break;
    case ast::StatementKind::kCreateRoutine:
      status = create_routine(node_as<ast::CreateRoutineStatement>(statement), result);
      break;
    case ast::StatementKind::kCreateTrigger:
      status = create_trigger(node_as<ast::CreateTriggerStatement>(statement), result);
      break;
    case ast::StatementKind::kCreateView:
      status = create_view(node_as<ast::CreateViewStatement>(statement), result);
      break;
    case ast::StatementKind::kDrop:
      status = drop(node_as<ast::DropStatement>(statement), result);
      break;
    case ast::StatementKind::kTruncate:
      status = truncate(node_as<ast::TruncateStatement>(statement));
      result->command_tag = "TRUNCATE TABLE";
      break;
    default:
      status = error("0A000", "this statement is not supported", statement.location);
  }
  SCYPER_RETURN_IF_ERROR(status);
  return std::move(next_);
}

StatusOr<std::shared_ptr<storage::Table>> Definer::find_table(const ast::Name& name) const {
  auto table = old_->find_table(name.back());
  if (table == nullptr && old_->views.count(name.back()) != 0)
    return error("42809", absl::StrCat("\"", name.back(), "\" is not a table"), -1);
  if (table == nullptr) return error("42P01", absl::StrCat("relation \"", name.back(), "\" does not exist"), -1);
  return table;
}

bool Definer::name_taken(const std::string& name) const {
  const Catalog& catalog = next_ == nullptr ? *old_ : *next_;
  return catalog.tables.count(name) != 0 || catalog.index_tables.count(name) != 0 || catalog.views.count(name) != 0;
}

std::string Definer::free_index_name(std::string base) const {
  std::string name = base;
  for (int i = 1; name_taken(name); i++) name = absl::StrCat(base, i);
  return name;
}

// --- CREATE TABLE ---

Status Definer::create_table(const ast::CreateTableStatement& create, ResultSet* result) {
  result->command_tag = "CREATE TABLE";
  const std::string& name = create.table.name.back();
  if (create.table.name.size() > 1 && create.table.name[create.table.name.size() - 2] != "public")
    return error("3F000",
                 absl::StrCat("schema \"", create.table.name[create.table.name.size() - 2], "\" does not exist"),
                 create.table.location);
  if (name_taken(name)) {
    if (!create.if_not_exists) return error("42P07", absl::StrCat("relation \"", name, "\" already exists"), -1);
    result->notices.push_back(absl::StrCat("NOTICE:  relation \"", name, "\" already exists, skipping"));
    return absl::OkStatus();
  }
  if (create.persistence == ast::Persistence::kTemporary)
    return error("0A000", "temporary tables are not supported", create.table.location);
  storage::TableSchema schema;
  TableRules rules;
  schema.id = TableId(old_->next_table_id);
  schema.version = 1;
  schema.name = name;
  schema.layout = options_.layout;
  next().next_table_id++;
  SCYPER_RETURN_IF_ERROR(define_columns(create, &schema, &rules));
  SCYPER_RETURN_IF_ERROR(define_options(create.options, &schema));
  SCYPER_RETURN_IF_ERROR(define_partitioning(create, &schema));
  SCYPER_RETURN_IF_ERROR(define_constraints(create, &schema));
  bool primary =
      std::any_of(schema.indexes.begin(), schema.indexes.end(), [](const auto& index) { return index.primary; });
  if (!primary) {
    schema.has_row_id = true;
    schema.columns.push_back({"__row_id", make_type(TypeId::kInt8), true});
    rules.defaults.emplace_back();
  }
  TableId id = schema.id;
  SCYPER_ASSIGN_OR_RETURN(auto table, storage::Table::create(std::move(schema), options_.partitions, arena_));
  next().tables[name] = std::move(table);
  next().rules[id] = std::move(rules);
  return absl::OkStatus();
}

Status Definer::define_columns(const ast::CreateTableStatement& create, storage::TableSchema* schema,
                               TableRules* rules) {
  if (create.columns.size() > 1600) return error("54011", "tables can have at most 1600 columns", -1);
  for (const auto& column : create.columns) {
    for (const auto& other : schema->columns)
      if (other.name == column.name)
        return error("42701", absl::StrCat("column \"", column.name, "\" specified more than once"), -1);
    SCYPER_ASSIGN_OR_RETURN(SqlType type, resolve_type(column.type, text_));
    if (type.id == TypeId::kChar && type.length < 0) type.length = 1;
    if (type.id == TypeId::kRecord || type.id == TypeId::kVoid || type.id == TypeId::kUnknown)
      return error("42P16", absl::StrCat("column \"", column.name, "\" has pseudo-type ", type_name(type)),
                   column.location);
    if (type.id == TypeId::kInterval || type.element == TypeId::kInterval)
      return error("0A000", "columns of type interval are not supported", column.location);
    storage::ColumnDef def{column.name, type, false};
    std::string default_text;
    for (const auto& constraint : column.constraints) {
      switch (constraint.kind) {
        case ast::ConstraintKind::kNotNull:
        case ast::ConstraintKind::kNull:
          if (std::any_of(column.constraints.begin(), column.constraints.end(), [&](const auto& other) {
                return &other < &constraint && other.kind != constraint.kind &&
                       (other.kind == ast::ConstraintKind::kNotNull || other.kind == ast::ConstraintKind::kNull);
              }))
            return error("42601",
                         absl::StrCat("conflicting NULL/NOT NULL declarations for column \"", column.name,
                                      "\" of table \"", schema->name, "\""),
                         constraint.location);
          def.not_null = constraint.kind == ast::ConstraintKind::kNotNull;
          break;
        case ast::ConstraintKind::kPrimaryKey:
        case ast::ConstraintKind::kUnique:
          break;  // define_constraints()
        case ast::ConstraintKind::kDefault: {
          if (!default_text.empty())
            return error("42601",
                         absl::StrCat("multiple default values specified for column \"", column.name, "\" of table \"",
                                      schema->name, "\""),
                         constraint.location);
          Binder binder(*old_, text_);
          SCYPER_ASSIGN_OR_RETURN(BoundPtr bound, binder.bind_constant(*constraint.expr, type));
          default_text = to_sql(*constraint.expr);
          break;
        }
        case ast::ConstraintKind::kCheck:
          return error("0A000", "CHECK constraints are not supported", constraint.location);
        case ast::ConstraintKind::kForeignKey:
          return error("0A000", "FOREIGN KEY constraints are not supported", constraint.location);
        default:
          return error("0A000", "this column constraint is not supported", constraint.location);
      }
    }
    schema->columns.push_back(std::move(def));
    rules->defaults.push_back(std::move(default_text));
  }
  return absl::OkStatus();
}

Status Definer::define_options(const std::vector<ast::Option>& options, storage::TableSchema* schema) {
  for (const auto& option : options) {
    if (option.name != "layout")
      return error("22023", absl::StrCat("unrecognized parameter \"", option.name, "\""), option.location);
    if (option.value == "row")
      schema->layout = storage::Layout::kRow;
    else if (option.value == "column")
      schema->layout = storage::Layout::kColumn;
    else
      return error("22023", absl::StrCat("invalid value for parameter \"layout\": \"", option.value, "\""),
                   option.location);
  }
  return absl::OkStatus();
}

Status Definer::define_partitioning(const ast::CreateTableStatement& create, storage::TableSchema* schema) {
  const ast::PartitionBy& partition = create.partition_by;
  if (partition.strategy == ast::PartitionStrategy::kNone) return absl::OkStatus();
  if (partition.strategy != ast::PartitionStrategy::kHash)
    return error("0A000", "only PARTITION BY HASH is supported", partition.location);
  if (partition.keys.size() != 1 || partition.keys[0].column.empty())
    return error("0A000", "only one partitioning column is supported", partition.location);
  for (size_t i = 0; i < schema->columns.size(); i++) {
    if (schema->columns[i].name != partition.keys[0].column) continue;
    TypeId id = schema->columns[i].type.id;
    if (!is_integer(id) && id != TypeId::kDate && id != TypeId::kTimestamp)
      return error("0A000",
                   absl::StrCat("partitioning by type ", type_name(schema->columns[i].type), " is not supported"),
                   partition.location);
    schema->scheme = storage::PartitionScheme::kHash;
    schema->partition_column = static_cast<uint32_t>(i);
    schema->columns[i].not_null = true;  // a row without it has no place
    return absl::OkStatus();
  }
  return error("42703", absl::StrCat("column \"", partition.keys[0].column, "\" named in partition key does not exist"),
               partition.location);
}

Status Definer::define_constraints(const ast::CreateTableStatement& create, storage::TableSchema* schema) {
  for (const auto& column : create.columns)
    for (const auto& constraint : column.constraints)
      if (constraint.kind == ast::ConstraintKind::kPrimaryKey || constraint.kind == ast::ConstraintKind::kUnique)
        SCYPER_RETURN_IF_ERROR(add_key(constraint, {column.name}, schema));
  for (const auto& constraint : create.constraints) {
    if (constraint.kind == ast::ConstraintKind::kPrimaryKey || constraint.kind == ast::ConstraintKind::kUnique) {
      SCYPER_RETURN_IF_ERROR(add_key(constraint, constraint.columns, schema));
      continue;
    }
    if (constraint.kind == ast::ConstraintKind::kCheck)
      return error("0A000", "CHECK constraints are not supported", constraint.location);
    if (constraint.kind == ast::ConstraintKind::kForeignKey)
      return error("0A000", "FOREIGN KEY constraints are not supported", constraint.location);
    return error("0A000", "this table constraint is not supported", constraint.location);
  }
  return absl::OkStatus();
}

namespace {
int find_column(const storage::TableSchema& schema, std::string_view name) {
  for (size_t i = 0; i < schema.columns.size(); i++)
    if (schema.columns[i].name == name) return static_cast<int>(i);
  return -1;
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
}  // namespace

Status Definer::add_key(const ast::Constraint& constraint, const std::vector<std::string>& columns,
                        storage::TableSchema* schema) {
  bool primary = constraint.kind == ast::ConstraintKind::kPrimaryKey;
  if (constraint.deferrable) return error("0A000", "deferrable constraints are not supported", constraint.location);
  if (constraint.nulls_not_distinct) return error("0A000", "NULLS NOT DISTINCT is not supported", constraint.location);
  if (!constraint.include.empty()) return error("0A000", "INCLUDE is not supported", constraint.location);
  storage::IndexDef index;
  index.id = IndexId(next().next_index_id++);
  index.unique = true;
  index.primary = primary;
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
  if (primary)
    for (const auto& other : schema->indexes)
      if (other.primary)
        return error("42P16", absl::StrCat("multiple primary keys for table \"", schema->name, "\" are not allowed"),
                     constraint.location);
  index.name =
      constraint.name.empty() ? free_index_name(absl::StrCat(base, primary ? "_pkey" : "_key")) : constraint.name;
  if (name_taken(index.name))
    return error("42P07", absl::StrCat("relation \"", index.name, "\" already exists"), constraint.location);
  SCYPER_RETURN_IF_ERROR(check_unique(*schema, index));
  if (schema->indexes.size() >= storage::kMaxIndexesPerTable)
    return error("54011", "a table can have at most 16 indexes", constraint.location);
  next().index_tables[index.name] = schema->name;
  if (primary)
    schema->indexes.insert(schema->indexes.begin(), std::move(index));
  else
    schema->indexes.push_back(std::move(index));
  return absl::OkStatus();
}

// --- CREATE INDEX ---

Status Definer::create_index(const ast::CreateIndexStatement& create, ResultSet* result) {
  result->command_tag = "CREATE INDEX";
  SCYPER_ASSIGN_OR_RETURN(auto table, find_table(create.table.name));
  const storage::TableSchema& schema = table->schema();
  if (create.method != "btree" && create.method != "hash")
    return error("42704", absl::StrCat("access method \"", create.method, "\" does not exist"), -1);
  if (create.where != nullptr) return error("0A000", "partial indexes are not supported", create.location);
  if (!create.include.empty()) return error("0A000", "INCLUDE is not supported", create.location);
  if (create.nulls_not_distinct) return error("0A000", "NULLS NOT DISTINCT is not supported", create.location);
  storage::IndexDef index;
  index.unique = create.unique;
  std::string base = schema.name;
  bool any_descending = false;
  for (const auto& element : create.elements) {
    if (element.column.empty()) return error("0A000", "indexes on expressions are not supported", element.location);
    int c = find_column(schema, element.column);
    if (c < 0) return error("42703", absl::StrCat("column \"", element.column, "\" does not exist"), element.location);
    bool descending = element.direction == ast::SortDirection::kDescending;
    if (element.nulls != ast::NullsOrder::kDefault && (element.nulls == ast::NullsOrder::kFirst) != descending)
      return error("0A000", "this NULLS order in an index is not supported", element.location);
    any_descending |= descending;
    index.columns.push_back(static_cast<uint32_t>(c));
    index.descending.push_back(descending);
    absl::StrAppend(&base, "_", element.column);
  }
  if (!any_descending) index.descending.clear();
  index.name = create.name.empty() ? free_index_name(base + "_idx") : create.name;
  if (name_taken(index.name)) {
    if (!create.if_not_exists) return error("42P07", absl::StrCat("relation \"", index.name, "\" already exists"), -1);
    result->notices.push_back(absl::StrCat("NOTICE:  relation \"", index.name, "\" already exists, skipping"));
    return absl::OkStatus();
  }
  SCYPER_RETURN_IF_ERROR(check_unique(schema, index));
  if (schema.indexes.size() >= storage::kMaxIndexesPerTable)
    return error("54011", "a table can have at most 16 indexes", -1);
  index.id = IndexId(next().next_index_id++);
  next().index_tables[index.name] = schema.name;
  return table->create_index(std::move(index), format_datum);
}

// --- DROP, TRUNCATE ---

Status Definer::drop(const ast::DropStatement& drop, ResultSet* result) {
  result->command_tag = absl::StrCat("DROP ", drop.object_name);
  for (const auto& object : drop.objects) {
    const std::string& name = object.name.back();
    switch (drop.object) {
      case ast::ObjectKind::kTable:
        SCYPER_RETURN_IF_ERROR(drop_table(name, drop, result));
        break;
      case ast::ObjectKind::kView:
        SCYPER_RETURN_IF_ERROR(drop_view(name, drop, result));
        break;
      case ast::ObjectKind::kIndex: {
        auto it = next().index_tables.find(name);
        if (it == next().index_tables.end()) {
          if (!drop.if_exists) return error("42704", absl::StrCat("index \"", name, "\" does not exist"), -1);
          result->notices.push_back(absl::StrCat("NOTICE:  index \"", name, "\" does not exist, skipping"));
          break;
        }
        auto table = next().tables.find(it->second)->second;
        const auto& indexes = table->schema().indexes;
        for (size_t i = 0; i < indexes.size(); i++) {
          if (indexes[i].name != name) continue;
          if (indexes[i].primary)
            return error("2BP01",
                         absl::StrCat("cannot drop index ", name, " because constraint ", name, " on table ",
                                      it->second, " requires it"),
                         -1);
          table->drop_index(static_cast<uint32_t>(i));
          break;
        }
        next().index_tables.erase(name);
        break;
      }
      case ast::ObjectKind::kTrigger:
        SCYPER_RETURN_IF_ERROR(drop_trigger(drop, object, result));
        break;
      case ast::ObjectKind::kProcedure:
      case ast::ObjectKind::kFunction:
      case ast::ObjectKind::kRoutine:
        SCYPER_RETURN_IF_ERROR(drop_routine(drop, object, result));
        break;
      default:
        return error("0A000", absl::StrCat("DROP ", drop.object_name, " is not supported"), -1);
    }
  }
  return absl::OkStatus();
}

// A truncated table is a new empty one under the same definition.
Status Definer::truncate(const ast::TruncateStatement& truncate) {
  for (const auto& ref : truncate.tables) {
    SCYPER_ASSIGN_OR_RETURN(auto table, find_table(ref.name));
    storage::TableSchema schema = table->schema();
    SCYPER_ASSIGN_OR_RETURN(auto empty, storage::Table::create(std::move(schema), options_.partitions, arena_));
    next().tables[ref.name.back()] = std::move(empty);
  }
  return absl::OkStatus();
}

}  // namespace scyper::query
