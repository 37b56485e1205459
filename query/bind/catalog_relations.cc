#include <bit>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/object_name.h"
#include "bind/catalog_dependencies.h"
#include "bind/index_nulls.h"
#include "bind/object_text.h"
#include "bind/partitions.h"
#include "bind/system_types.h"
#include "parse/name_path.h"
#include "parse/printer.h"
#include "query/key_rules.h"
#include "storage/temporary.h"

// pg_class and what belongs to relations: columns, defaults, indexes, constraints, sequences, triggers, comments.
namespace scyper::query {

namespace {

using T = TypeId;

constexpr int64_t kHeapOid = 2, kBtreeOid = 403;
constexpr int64_t kFirstTransaction = 3, kFirstMultiTransaction = 1;  // rows here know no transactions
constexpr size_t kSequenceColumns = 3;                                // last_value, log_cnt, is_called

std::string schema_name(std::string_view key) { return std::string(schema_of(key)); }
std::string name_in_schema(std::string_view key) { return std::string(bare_name(key)); }
SystemValue real(double value) { return std::bit_cast<int64_t>(value); }
SystemValue text_or_null(const std::string& text) { return text.empty() ? SystemValue() : SystemValue(text); }

// "{1,2}" and, with blanks between, what the text of int2vector and oidvector is made of.
template <class Numbers>
std::string array_text(const Numbers& numbers, int first = 1) {
  const std::string elements = absl::StrCat("{", absl::StrJoin(numbers, ","), "}");
  return first == 1 ? elements : absl::StrCat("[0:", static_cast<int64_t>(numbers.size()) - 1, "]=", elements);
}
template <class Numbers>
std::string vector_text(const Numbers& numbers) {
  return numbers.empty() ? "{}" : array_text(numbers, 0);
}

bool has_triggers(const Catalog& catalog, const std::string& table) {
  auto first = catalog.triggers.lower_bound({table, ""});
  return first != catalog.triggers.end() && first->first.first == table;
}

// Of the constraints' own, too: PostgreSQL has triggers for foreign keys.
bool has_any_triggers(const Catalog& catalog, const std::string& key) {
  if (has_triggers(catalog, key)) return true;
  const auto table = catalog.find_table(key);
  if (table == nullptr) return false;
  const TableId id = table->schema().id;
  for (const auto& [other, rules] : catalog.rules)
    for (const ForeignKey& foreign : rules.foreign_keys)
      if (other == id || foreign.table == id) return true;
  return false;
}

size_t key_count(const storage::IndexDef& index) { return index.columns.size() - (index.partial ? 1 : 0); }

struct ClassRow {
  int64_t oid;
  std::string key;
  const char* kind;
  size_t columns;
  bool has_index = false;
  size_t checks = 0;
  std::string options = {};
  bool is_temporary = false;
  std::string bound = {};  // of a partition
  bool has_partitions = false;
};

SystemRow class_row(const Catalog& catalog, const ClassRow& row) {
  const Access access = relation_access(catalog, row.key);
  const MaterializedView* materialized = catalog.find_materialized_view(row.key);
  const bool is_view = *row.kind == 'v' || *row.kind == 'p', is_table = *row.kind == 'r' || materialized != nullptr;
  const int64_t access_method = is_table ? kHeapOid : *row.kind == 'i' ? kBtreeOid : 0;
  return {row.oid,
          name_in_schema(row.key),
          schema_oid(catalog, row.key),
          int64_t{0},  // reltype
          int64_t{0},  // reloftype
          int64_t{access.owner},
          access_method,
          is_view ? int64_t{0} : row.oid,  // relfilenode
          int64_t{0},                      // reltablespace
          0,                               // relpages
          real(*row.kind == 'S' ? 1 : -1),
          0,           // relallvisible
          int64_t{0},  // reltoastrelid
          row.has_index,
          false,
          row.is_temporary ? "t" : "p",
          row.kind,
          row.columns,
          row.checks,
          *row.kind == 'v' || materialized != nullptr,  // relhasrules
          has_any_triggers(catalog, row.key),
          row.has_partitions,  // relhassubclass
          false,
          false,
          materialized == nullptr || materialized->is_populated,
          is_table || *row.kind == 'p' ? "d" : "n",
          !row.bound.empty(),                              // relispartition
          int64_t{0},                                      // relrewrite
          is_table ? kFirstTransaction : int64_t{0},       // relfrozenxid
          is_table ? kFirstMultiTransaction : int64_t{0},  // relminmxid
          access_value(access, catalog),
          row.options.empty() ? SystemValue() : SystemValue(absl::StrCat("{", row.options, "}")),
          row.bound.empty() ? SystemValue() : SystemValue(row.bound)};
}

std::string table_options(const TableRules& rules) {
  return rules.tier_cache.empty() ? std::string() : absl::StrCat("tier_cache=", rules.tier_cache);
}

std::string view_options(const View& view) {
  std::string text = view.is_invoker ? "security_invoker=true" : "";
  if (view.check_option != CheckOption::kNone)
    absl::StrAppend(&text, text.empty() ? "" : ",",
                    "check_option=", view.check_option == CheckOption::kLocal ? "local" : "cascaded");
  return text;
}

std::vector<SystemRow> classes(const Catalog& catalog) {
  std::vector<SystemRow> rows;
  auto add = [&](ClassRow row, bool is_temporary = false) {
    row.is_temporary = is_temporary;
    rows.push_back(class_row(catalog, row));
  };
  for (const auto& [name, table] : catalog.tables) {
    const auto& schema = table->schema();
    const auto rules = catalog.rules.find(schema.id);
    const char* kind = catalog.composites.count(name) != 0               ? "c"
                       : catalog.find_materialized_view(name) != nullptr ? "m"
                       : partitioning_of(catalog, schema.id)             ? "p"
                                                                         : "r";
    const bool has_rules = rules != catalog.rules.end();
    add({table_oid(schema), name, kind, storage::visible_columns(schema), !schema.indexes.empty(),
         has_rules ? rules->second.checks.size() : 0, has_rules ? table_options(rules->second) : std::string(), false,
         "", partitioning_of(catalog, schema.id) && !partitions_of(catalog, schema.id).empty()},
        storage::is_temporary(schema.id));
    for (const auto& index : schema.indexes)
      add({index_oid(index), index.name, "i", key_count(index)}, storage::is_temporary(index.id));
  }
  for (const auto& [name, view] : catalog.views) {
    const DeclaredPartition* partition = view->partition.get();
    const char* kind = view->foreign != nullptr  ? "f"
                       : partition == nullptr    ? "v"
                       : partition->partitioning ? "p"
                                                 : "r";
    add({view_oid(catalog, name), name, kind, view->column_names.size(), false,
         partition == nullptr ? 0 : partition->checks.size(), view_options(*view), false,
         partition == nullptr ? std::string()
                              : shown_bound(partitioning_of(catalog, partition->parent), partition->bound),
         partition != nullptr && partition->partitioning && !partitions_of(catalog, partition->id).empty()},
        is_temporary_key(name));
  }
  for (const auto& [name, sequence] : catalog.sequences)
    add({sequence_oid(*sequence), name, "S", kSequenceColumns}, storage::is_temporary(sequence->definition().id));
  return rows;
}

const char* storage_of(const SqlType& type) {
  if (type.id == T::kNumeric) return "m";
  if (type.id == T::kInet || type.id == T::kCidr) return "m";
  if (is_ordered_bytes(type.id) && system_type(type.id).length > 0) return "p";
  return type.id == T::kArray || holds_bytes(type.id) ? "x" : "p";
}

struct AttributeRow {
  int64_t relation;
  std::string name;
  SqlType type;
  size_t number;
  int64_t modifier;
  bool is_not_null = false;
  bool has_default = false;
  const char* identity = "";
  const char* generated = "";
  uint32_t domain = 0;
};

SystemRow attribute_row(const AttributeRow& row) {
  const SqlType& type = row.type;
  const bool is_text = is_string(type.id) || (type.id == T::kArray && is_string(type.element));
  return {row.relation,
          row.name,
          row.domain != 0 ? domain_oid(row.domain) : type_oid(type),
          -1,  // attstattarget
          type.id == T::kEnum ? 4 : int{type_length(type)},
          row.number,
          type.id == T::kArray ? 1 : 0,
          -1,  // attcacheoff
          row.modifier,
          type.id == T::kMoney ||
              (type.id != T::kArray && !holds_bytes(type.id) && type.id != T::kNumeric && type.id != T::kUuid),
          "i",
          storage_of(type),
          "",
          row.is_not_null,
          row.has_default,
          false,
          row.identity,
          row.generated,
          false,
          true,
          0,
          is_text ? kDefaultCollationOid : int64_t{0},
          SystemValue(),
          SystemValue(),
          SystemValue(),
          SystemValue()};
}

void add_index_attributes(const storage::TableSchema& schema, std::vector<SystemRow>* rows) {
  for (const auto& index : schema.indexes) {
    const size_t first = index.partial ? 1 : 0;
    for (size_t i = first; i < index.columns.size(); i++) {
      const auto& column = schema.columns[index.columns[i]];
      const bool is_plain = index.columns[i] < storage::visible_columns(schema);
      // PostgreSQL calls an expression by its function, or "expr"
      const size_t bracket = column.name.find('(');
      const std::string name = is_plain                                      ? column.name
                               : bracket != std::string::npos && bracket > 0 ? column.name.substr(0, bracket)
                                                                             : "expr";
      rows->push_back(attribute_row({index_oid(index), name, column.type, i - first + 1, type_modifier(column.type)}));
    }
  }
}

std::vector<SystemRow> attributes(const Catalog& catalog) {
  std::vector<SystemRow> rows;
  for (const auto& relation : system_relations(catalog)) {
    const bool is_partition = relation.view != nullptr && relation.view->partition != nullptr;
    const TableRules* rules = rules_of(catalog, relation);
    for (size_t i = 0; i < relation.column_count(); i++) {
      const SqlType& type = relation.column_type(i);
      const auto* rule = rules != nullptr && i < rules->columns.size() ? &rules->columns[i] : nullptr;
      const Identity identity = rule == nullptr || is_partition ? Identity::kNone : rule->identity;
      const bool is_generated = rule != nullptr && !rule->generated_text.empty();
      const bool has_default =
          identity == Identity::kNone && (is_generated || !default_of_column(catalog, relation, i).empty());
      rows.push_back(attribute_row({relation.oid, relation.column_name(i), type, i + 1,
                                    rule != nullptr && rule->domain != 0 ? int64_t{-1} : type_modifier(type),
                                    is_not_null(catalog, relation, i), has_default,
                                    identity == Identity::kAlways      ? "a"
                                    : identity == Identity::kByDefault ? "d"
                                                                       : "",
                                    is_generated ? "s" : "", rule == nullptr ? 0 : rule->domain}));
    }
    if (relation.schema != nullptr) add_index_attributes(*relation.schema, &rows);
  }
  for (const auto& [name, sequence] : catalog.sequences) {
    const int64_t oid = sequence_oid(*sequence);
    rows.push_back(attribute_row({oid, "last_value", make_type(T::kInt8), 1, -1, true}));
    rows.push_back(attribute_row({oid, "log_cnt", make_type(T::kInt8), 2, -1, true}));
    rows.push_back(attribute_row({oid, "is_called", make_type(T::kBool), 3, -1, true}));
  }
  return rows;
}

std::vector<SystemRow> defaults(const Catalog& catalog) {
  std::vector<SystemRow> rows;
  for (const ColumnDefault& of : column_defaults(catalog))
    rows.push_back({of.oid, of.relation, size_t{of.column} + 1, of.text});
  return rows;
}

SystemRow index_row(const Catalog& catalog, const storage::TableSchema& schema, const storage::IndexDef& index) {
  std::vector<size_t> keys, options;
  std::vector<int64_t> classes, collations;
  std::vector<std::string> expressions;
  for (size_t i = index.partial ? 1 : 0; i < index.columns.size(); i++) {
    const uint32_t column = index.columns[i];
    const bool is_plain = column < storage::visible_columns(schema);
    const SqlType& type = schema.columns[column].type;
    keys.push_back(is_plain ? column + 1 : 0);
    options.push_back(key_options(catalog, index, i));
    classes.push_back(operator_class_oid(type));
    collations.push_back(is_string(type.id) ? kDefaultCollationOid : 0);
    if (!is_plain) expressions.push_back(index_part_text(catalog, schema, column, false, false));
  }
  const KeyRules rules = key_rules(catalog, index.id);
  return {index_oid(index),
          table_oid(schema),
          keys.size(),
          keys.size(),
          is_unique(catalog, index),
          rules.are_nulls_equal,
          is_primary(catalog, index),
          false,
          !rules.is_deferrable,
          false,
          true,
          false,
          true,
          true,
          false,
          vector_text(keys),
          vector_text(collations),
          vector_text(classes),
          vector_text(options),
          text_or_null(absl::StrJoin(expressions, ", ")),
          index.partial ? SystemValue(index_part_text(catalog, schema, index.columns[0], true, false)) : SystemValue()};
}

std::vector<SystemRow> indexes(const Catalog& catalog) {
  std::vector<SystemRow> rows;
  for (const auto& [name, table] : catalog.tables)
    for (const auto& index : table->schema().indexes) rows.push_back(index_row(catalog, table->schema(), index));
  return rows;
}

std::vector<SystemRow> index_list(const Catalog& catalog) {
  std::vector<SystemRow> rows;
  for (const auto& [name, table] : catalog.tables)
    for (const auto& index : table->schema().indexes)
      rows.push_back({schema_name(name),
                      name_in_schema(name),
                      name_in_schema(index.name),
                      {},
                      index_definition(catalog, table->schema(), index, false)});
  return rows;
}

const char* action_code(ReferentialAction action) {
  switch (action) {
    case ReferentialAction::kNoAction:
      return "a";
    case ReferentialAction::kRestrict:
      return "r";
    case ReferentialAction::kCascade:
      return "c";
    case ReferentialAction::kSetNull:
      return "n";
    case ReferentialAction::kSetDefault:
      return "d";
  }
  return "a";
}

SystemValue column_numbers(const std::vector<uint32_t>& columns) {
  std::vector<uint32_t> numbers;
  for (uint32_t column : columns) numbers.push_back(column + 1);
  return numbers.empty() ? SystemValue() : SystemValue(array_text(numbers));
}

std::vector<SystemRow> constraints(const Catalog& catalog) {
  std::vector<SystemRow> rows;
  for (const TableConstraint& constraint : table_constraints(catalog)) {
    const ForeignKey* key = constraint.foreign;
    const auto parent = key == nullptr ? nullptr : catalog.find_table(key->table);
    const bool is_key = key == nullptr && constraint.index != nullptr;
    const KeyRules rules = is_key ? key_rules(catalog, constraint.index->id) : KeyRules();
    rows.push_back({constraint.oid,
                    constraint.name,
                    schema_oid(catalog, constraint.table),
                    std::string(1, constraint.type),
                    key != nullptr ? key->deferrable : rules.is_deferrable,
                    key != nullptr ? key->deferred : rules.is_deferred,
                    true,
                    constraint.partition != 0 ? constraint.partition : table_oid(*constraint.schema),
                    int64_t{0},
                    constraint.index == nullptr ? int64_t{0} : index_oid(*constraint.index),
                    int64_t{0},
                    parent == nullptr ? int64_t{0} : table_oid(parent->schema()),
                    key == nullptr ? " " : action_code(key->on_update),
                    key == nullptr ? " " : action_code(key->on_delete),
                    key == nullptr ? " " : "s",
                    true,
                    0,
                    constraint.type != 'c',
                    column_numbers(constraint.columns),
                    key == nullptr ? SystemValue() : column_numbers(key->referenced),
                    SystemValue(),
                    constraint.check == nullptr ? SystemValue() : SystemValue(constraint.check->expression)});
  }
  return rows;
}

std::vector<SystemRow> all_constraints(const Catalog& catalog) {
  std::vector<SystemRow> rows = constraints(catalog);
  for (const DomainConstraint& constraint : domain_constraints(catalog))
    rows.push_back({constraint.oid,
                    constraint.check->name,
                    schema_oid(catalog, constraint.domain->name),
                    "c",
                    false,
                    false,
                    constraint.check->is_validated,
                    int64_t{0},
                    domain_oid(constraint.domain->id),
                    int64_t{0},
                    int64_t{0},
                    int64_t{0},
                    " ",
                    " ",
                    " ",
                    true,
                    0,
                    false,
                    SystemValue(),
                    SystemValue(),
                    SystemValue(),
                    constraint.check->expression});
  return rows;
}

std::vector<SystemRow> sequences(const Catalog& catalog) {
  std::vector<SystemRow> rows;
  for (const auto& [name, sequence] : catalog.sequences) {
    const auto& d = sequence->definition();
    rows.push_back({sequence_oid(*sequence), type_oid(make_type(d.type)), d.start, d.increment, d.maximum, d.minimum,
                    int64_t{1}, d.cycles});
  }
  return rows;
}

std::vector<SystemRow> sequence_list(const Catalog& catalog) {
  std::vector<SystemRow> rows;
  for (const auto& [name, sequence] : catalog.sequences) {
    const auto& d = sequence->definition();
    rows.push_back({sequence_oid(*sequence), schema_name(name), name_in_schema(name),
                    owner_name(sequence_access_of(catalog, d.id), catalog), type_name(make_type(d.type)), d.start,
                    d.minimum, d.maximum, d.increment, d.cycles, int64_t{1}});
  }
  return rows;
}

std::vector<SystemRow> comments(const Catalog& catalog) {
  const int64_t schemas = system_table_oid("pg_namespace");
  std::vector<SystemRow> rows = {
      {kPlpgsqlExtensionOid, system_table_oid("pg_extension"), 0, "PL/pgSQL procedural language"},
      {kCatalogSchemaOid, schemas, 0, "system catalog schema"}};
  bool is_public_described = false;
  for (const ObjectComment& comment : all_comments(catalog)) {
    rows.push_back({comment.oid, comment.class_oid, comment.column, comment.text});
    is_public_described |= comment.oid == kPublicSchemaOid && comment.class_oid == schemas;
  }
  if (!is_public_described) rows.push_back({kPublicSchemaOid, schemas, 0, "standard public schema"});
  return rows;
}

std::vector<SystemRow> table_list(const Catalog& catalog) {
  std::vector<SystemRow> rows;
  for (const auto& [name, table] : catalog.tables)
    if (catalog.composites.count(name) == 0 && catalog.find_materialized_view(name) == nullptr)
      rows.push_back({schema_name(name),
                      name_in_schema(name),
                      owner_name(relation_access(catalog, name), catalog),
                      {},
                      !table->schema().indexes.empty(),
                      false,
                      has_triggers(catalog, name),
                      false});
  for (const auto& [view, root] : all_partitions(catalog))
    rows.push_back({schema_name(view->name),
                    name_in_schema(view->name),
                    owner_name(view->access, catalog),
                    {},
                    false,
                    false,
                    false,
                    false});
  return rows;
}

std::vector<SystemRow> view_list(const Catalog& catalog) {
  std::vector<SystemRow> rows;
  for (const auto& [name, view] : catalog.views)
    if (view->foreign == nullptr && view->partition == nullptr)
      rows.push_back({schema_name(name), name_in_schema(name), owner_name(view->access, catalog), view->query});
  return rows;
}

std::vector<SystemRow> materialized_view_list(const Catalog& catalog) {
  std::vector<SystemRow> rows;
  for (const auto& [name, view] : catalog.materialized_views)
    rows.push_back({schema_name(name),
                    name_in_schema(name),
                    owner_name(relation_access(catalog, name), catalog),
                    {},
                    !catalog.find_table(name)->schema().indexes.empty(),
                    view->is_populated,
                    absl::StrCat(" ", without_keys(view->query, true), ";")});
  return rows;
}

std::vector<SystemRow> triggers(const Catalog& catalog) {
  constexpr int kRow = 1, kBefore = 2, kInsert = 4, kDelete = 8, kUpdate = 16, kInstead = 64;  // of tgtype
  std::vector<SystemRow> rows;
  for (const auto& [key, trigger] : catalog.triggers) {
    const int64_t relation = relation_with_triggers(catalog, key.first);
    if (relation == 0) continue;
    int64_t function = 0;
    for (const auto& [name, routine] : catalog.routines)
      if (name == trigger->function && routine->is_trigger) function = routine_oid(*routine);
    const int type = (trigger->per_row ? kRow : 0) | (trigger->before ? kBefore : 0) |
                     (trigger->instead ? kInstead : 0) | ((trigger->events & Trigger::kInsert) != 0 ? kInsert : 0) |
                     ((trigger->events & Trigger::kDelete) != 0 ? kDelete : 0) |
                     ((trigger->events & Trigger::kUpdate) != 0 ? kUpdate : 0);
    const int64_t constraint_table =
        trigger->constraint_table.empty() ? 0 : relation_with_triggers(catalog, trigger->constraint_table);
    rows.push_back({kFirstTriggerOid + static_cast<int64_t>(rows.size()), relation, int64_t{0}, trigger->name, function,
                    type, std::string(1, static_cast<char>(trigger->firing)), false, constraint_table, int64_t{0},
                    int64_t{0}, trigger->is_deferrable, false, trigger->arguments.size(), text_or_null(trigger->when),
                    text_or_null(trigger->old_table), text_or_null(trigger->new_table)});
  }
  return rows;
}

// CREATE HOT DATA VIEW (docs/tiering.md): of ScyPer alone.
std::vector<SystemRow> hot_data_views(const Catalog& catalog) {
  std::vector<SystemRow> rows;
  for (const auto& [name, view] : catalog.hot_data_views) {
    const storage::TableSchema& schema = catalog.find_table(view->table)->schema();
    std::vector<std::string> columns;
    for (const uint32_t column : view->columns) columns.push_back(quote_identifier(schema.columns[column].name));
    const std::string all = absl::StrJoin(columns, ", ");
    const std::string table = name_in_schema(schema.name);
    rows.push_back({name, schema_name(schema.name), table, all, view->predicate});
  }
  return rows;
}

}  // namespace

std::vector<SystemTable> catalog_relation_tables() {
  constexpr std::string_view kSchema = "pg_catalog";
  return {
      {kSchema, "pg_class",
       columns_of("oid:int8 relname relnamespace:int8 reltype:int8 reloftype:int8 relowner:int8 relam:int8 "
                  "relfilenode:int8 reltablespace:int8 relpages:int4 reltuples:float4 relallvisible:int4 "
                  "reltoastrelid:int8 relhasindex:bool relisshared:bool relpersistence relkind relnatts:int2 "
                  "relchecks:int2 relhasrules:bool relhastriggers:bool relhassubclass:bool relrowsecurity:bool "
                  "relforcerowsecurity:bool relispopulated:bool relreplident relispartition:bool relrewrite:int8 "
                  "relfrozenxid:int8 relminmxid:int8 "
                  "relacl:text[] reloptions:text[] relpartbound"),
       classes},
      {kSchema, "pg_attribute",
       columns_of("attrelid:int8 attname atttypid:int8 attstattarget:int4 attlen:int2 attnum:int2 attndims:int4 "
                  "attcacheoff:int4 atttypmod:int4 attbyval:bool attalign attstorage attcompression attnotnull:bool "
                  "atthasdef:bool atthasmissing:bool attidentity attgenerated attisdropped:bool attislocal:bool "
                  "attinhcount:int4 attcollation:int8 attacl:text[] attoptions:text[] attfdwoptions:text[] "
                  "attmissingval:text[]"),
       attributes},
      {kSchema, "pg_attrdef", columns_of("oid:int8 adrelid:int8 adnum:int2 adbin"), defaults},
      {kSchema, "pg_index",
       columns_of("indexrelid:int8 indrelid:int8 indnatts:int2 indnkeyatts:int2 indisunique:bool "
                  "indnullsnotdistinct:bool indisprimary:bool indisexclusion:bool indimmediate:bool "
                  "indisclustered:bool indisvalid:bool indcheckxmin:bool indisready:bool indislive:bool "
                  "indisreplident:bool indkey:vector indcollation:int8[] indclass:int8[] indoption:vector indexprs "
                  "indpred"),
       indexes},
      {kSchema, "scyper_hot_data_views", columns_of("viewname schemaname tablename columns predicate"), hot_data_views},
      {kSchema, "pg_indexes", columns_of("schemaname tablename indexname tablespace indexdef"), index_list},
      {kSchema, "pg_constraint",
       columns_of("oid:int8 conname connamespace:int8 contype condeferrable:bool condeferred:bool convalidated:bool "
                  "conrelid:int8 contypid:int8 conindid:int8 conparentid:int8 confrelid:int8 confupdtype confdeltype "
                  "confmatchtype conislocal:bool coninhcount:int4 connoinherit:bool conkey:int2[] confkey:int2[] "
                  "confdelsetcols:int2[] conbin"),
       all_constraints},
      {kSchema, "pg_sequence",
       columns_of("seqrelid:int8 seqtypid:int8 seqstart:int8 seqincrement:int8 seqmax:int8 seqmin:int8 seqcache:int8 "
                  "seqcycle:bool"),
       sequences},
      {kSchema, "scyper_sequences",
       columns_of("scyper_oid:int8 schemaname sequencename sequenceowner data_type start_value:int8 min_value:int8 "
                  "max_value:int8 increment_by:int8 cycle:bool cache_size:int8"),
       sequence_list},
      {kSchema, "pg_depend",
       columns_of("classid:int8 objid:int8 objsubid:int4 refclassid:int8 refobjid:int8 refobjsubid:int4 deptype"),
       dependencies},
      {kSchema, "pg_rewrite",
       columns_of("oid:int8 rulename ev_class:int8 ev_type ev_enabled is_instead:bool ev_qual ev_action"), rewrites},
      {kSchema, "pg_description", columns_of("objoid:int8 classoid:int8 objsubid:int4 description"), comments},
      {kSchema, "pg_tables",
       columns_of("schemaname tablename tableowner tablespace hasindexes:bool hasrules:bool hastriggers:bool "
                  "rowsecurity:bool"),
       table_list},
      {kSchema, "pg_matviews",
       columns_of("schemaname matviewname matviewowner tablespace hasindexes:bool ispopulated:bool definition"),
       materialized_view_list},
      {kSchema, "pg_views", columns_of("schemaname viewname viewowner definition"), view_list},
      {kSchema, "pg_trigger",
       columns_of("oid:int8 tgrelid:int8 tgparentid:int8 tgname tgfoid:int8 tgtype:int2 tgenabled tgisinternal:bool "
                  "tgconstrrelid:int8 tgconstrindid:int8 tgconstraint:int8 tgdeferrable:bool tginitdeferred:bool "
                  "tgnargs:int2 tgqual tgoldtable tgnewtable"),
       triggers},
  };
}

}  // namespace scyper::query
