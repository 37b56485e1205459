#include "query/catalog_image.h"

#include <algorithm>
#include <utility>

#include "compile/domain_check.h"
#include "compile/foreign_options.h"
#include "compile/image_io.h"
#include "compile/partition_image.h"
#include "compile/temporary.h"
#include "query/local_indexes.h"

namespace scyper::query {

namespace {

constexpr uint32_t kVersion = 15;
// Older versions are read, too. Each lacks what the next one added: partitions by range and list; the name and settings
// of the database; the options of views; the caches of tables; hot data views; the access of sequences. The oldest one
// lacks all that encode_more() writes.
constexpr uint32_t kVersionWithoutPartitions = 14, kVersionWithoutDatabase = 13, kVersionWithoutViewOptions = 12,
                   kVersionWithoutCaches = 11, kVersionWithoutHotData = 10, kVersionWithoutSequences = 9,
                   kVersionBefore = 8;

// A field that is added to one of these has to be added below too.
static_assert(sizeof(SqlType) == 8);
static_assert(sizeof(storage::TableSchema) == 112);
static_assert(sizeof(storage::IndexDef) == 112);
static_assert(sizeof(Routine) == 312);
static_assert(sizeof(RoutineParameter) == 120);
static_assert(sizeof(Trigger) == 288);
static_assert(sizeof(ForeignKey) == 96);
static_assert(sizeof(MaterializedView) == 64);
static_assert(sizeof(View) == 208);  // `foreign` and the options come at the end
static_assert(sizeof(Domain) == 136);
static_assert(sizeof(Catalog) == 1144);  // `schemas` follows from the tables

template <typename IO>
void walk_positions(IO& io, std::vector<uint32_t>& positions) {
  positions.resize(io.count(positions.size()));
  for (uint32_t& position : positions) io.number(position);
}

template <typename IO>
void walk_names(IO& io, std::vector<std::string>& names) {
  names.resize(io.count(names.size()));
  for (std::string& name : names) io.text(name);
}

template <typename IO>
void walk(IO& io, EnumType& type) {
  io.text(type.name);
  type.labels.resize(io.count(type.labels.size()));
  for (EnumType::Label& label : type.labels) {
    io.text(label.text);
    io.number(label.code);
  }
}

// check: the number of what it is made of these (0: nothing to check).
template <typename IO>
void walk(IO& io, Domain& domain, RoutineId& check) {
  io.number(domain.id);
  io.text(domain.name);
  walk(io, domain.base);
  io.number(domain.parent);
  io.text(domain.default_text);
  walk_bool(io, domain.not_null);
  domain.checks.resize(io.count(domain.checks.size()));
  for (Domain::Check& rule : domain.checks) {
    io.text(rule.name);
    io.text(rule.expression);
    walk_bool(io, rule.is_validated);
  }
  walk_id(io, check);
}

template <typename IO>
void walk(IO& io, storage::IndexDef& index) {
  walk_id(io, index.id);
  io.text(index.name);
  walk_positions(io, index.columns);
  index.descending.resize(io.count(index.descending.size()));
  for (size_t i = 0; i < index.descending.size(); ++i) {
    bool descending = index.descending[i];
    walk_bool(io, descending);
    index.descending[i] = descending;
  }
  walk_bool(io, index.unique);
  walk_bool(io, index.primary);
  walk_bool(io, index.constraint);
  walk_bool(io, index.partial);
}

template <typename IO>
void walk(IO& io, storage::TableSchema& schema) {
  walk_id(io, schema.id);
  io.number(schema.version);
  io.text(schema.name);
  schema.columns.resize(io.count(schema.columns.size()));
  for (storage::ColumnDef& column : schema.columns) {
    io.text(column.name);
    walk(io, column.type);
    walk_bool(io, column.not_null);
  }
  io.number(schema.hidden_columns);
  walk_bool(io, schema.has_row_id);
  io.number(schema.scheme);
  io.number(schema.partition_column);
  io.number(schema.layout);
  schema.indexes.resize(io.count(schema.indexes.size()));
  for (storage::IndexDef& index : schema.indexes) walk(io, index);
}

template <typename IO>
void walk(IO& io, TableRules& rules) {
  rules.columns.resize(io.count(rules.columns.size()));
  for (TableRules::Column& column : rules.columns) {
    io.text(column.default_text);
    io.text(column.generated_text);
    io.number(column.identity);
    io.number(column.domain);
  }
  walk(io, rules.checks);
  rules.foreign_keys.resize(io.count(rules.foreign_keys.size()));
  for (ForeignKey& key : rules.foreign_keys) {
    io.text(key.name);
    walk_positions(io, key.columns);
    walk_id(io, key.table);
    walk_positions(io, key.referenced);
    io.number(key.on_update);
    io.number(key.on_delete);
  }
}

template <typename IO>
void walk(IO& io, storage::SequenceDefinition& sequence, storage::SequenceState& state) {
  walk_id(io, sequence.id);
  io.text(sequence.name);
  io.number(sequence.type);
  io.number(sequence.start);
  io.number(sequence.increment);
  io.number(sequence.minimum);
  io.number(sequence.maximum);
  walk_bool(io, sequence.cycles);
  walk_id(io, sequence.owner);
  io.number(sequence.owner_column);
  walk_bool(io, sequence.is_identity);
  io.number(state.changes);
  io.number(state.value);
  walk_bool(io, state.is_called);
}

template <typename IO>
void walk(IO& io, Routine& routine) {
  walk_id(io, routine.id);
  io.text(routine.name);
  walk_bool(io, routine.procedure);
  routine.parameters.resize(io.count(routine.parameters.size()));
  for (RoutineParameter& parameter : routine.parameters) {
    io.text(parameter.name);
    io.number(parameter.mode);
    walk(io, parameter.type);
    io.number(parameter.domain);
    walk_bool(io, parameter.has_default);
    walk_bool(io, parameter.variadic);
    io.text(parameter.relation);
    io.text(parameter.default_text);
  }
  walk(io, routine.return_type);
  io.number(routine.return_domain);
  io.text(routine.return_relation);
  walk_bool(io, routine.returns_set);
  walk_bool(io, routine.is_trigger);
  walk_bool(io, routine.is_sql);
  io.text(routine.body);
  walk_bool(io, routine.strict);
  walk_bool(io, routine.is_volatile);
  walk_bool(io, routine.is_immutable);
  io.text(routine.definition);
}

template <typename IO>
void walk(IO& io, Trigger& trigger) {
  io.text(trigger.name);
  io.text(trigger.table);
  io.text(trigger.function);
  walk_bool(io, trigger.before);
  walk_bool(io, trigger.per_row);
  io.number(trigger.events);
  walk_names(io, trigger.columns);
  io.text(trigger.when);
  walk_names(io, trigger.arguments);
  bool fires = trigger.fires();  // walk_more() has more to say
  walk_bool(io, fires);
  trigger.firing = fires ? Firing::kOrigin : Firing::kDisabled;
}

// What version 9 added.
template <typename IO>
void walk_more(IO& io, Trigger& trigger) {
  io.number(trigger.firing);
  walk_bool(io, trigger.instead);
  walk_bool(io, trigger.is_constraint);
  walk_bool(io, trigger.is_deferrable);
  io.text(trigger.old_table);
  io.text(trigger.new_table);
  io.text(trigger.constraint_table);
}

template <typename IO>
void walk_more(IO& io, ForeignKey& key) {
  walk_bool(io, key.checks);
  walk_bool(io, key.acts);
  walk_bool(io, key.deferrable);
  walk_bool(io, key.deferred);
}

template <typename IO>
void walk(IO& io, MaterializedView& view) {
  io.text(view.query);
  walk_names(io, view.relations);
  walk_bool(io, view.is_populated);
}

template <typename IO>
void walk(IO& io, View& view) {
  io.text(view.name);
  walk_names(io, view.column_names);
  view.column_types.resize(io.count(view.column_types.size()));
  for (SqlType& type : view.column_types) walk(io, type);
  io.text(view.query);
  walk_names(io, view.relations);
}

template <typename IO>
void walk(IO& io, HotDataView& view) {
  walk_id(io, view.table);
  walk_positions(io, view.columns);
  io.text(view.predicate);
  io.text(view.time_zone);
}

Status damaged() { return sql_error("XX001", "the catalog of the archive is damaged"); }

bool is_sound(const storage::TableSchema& schema) {
  const size_t width = schema.columns.size();
  if (width < size_t{schema.hidden_columns} + (schema.has_row_id ? 1 : 0) || width == 0 ||
      schema.scheme > storage::PartitionScheme::kList || schema.layout > storage::Layout::kRow)
    return false;
  if (schema.scheme != storage::PartitionScheme::kShared && schema.partition_column >= width) return false;
  for (const storage::ColumnDef& column : schema.columns) {
    if (!is_storable(column.type.id)) return false;
  }
  bool has_primary = false;
  for (const storage::IndexDef& index : schema.indexes) {
    has_primary = has_primary || index.primary;
    if (index.columns.empty() || (!index.descending.empty() && index.descending.size() != index.columns.size())) {
      return false;
    }
    if (index.partial && (index.columns[0] < visible_columns(schema) || index.columns.size() < 2)) return false;
    for (uint32_t column : index.columns) {
      if (column >= width || (index.primary && !schema.columns[column].not_null)) return false;
    }
  }
  const storage::ColumnDef& last = schema.columns.back();
  return schema.has_row_id ? last.not_null && last.type.id == TypeId::kInt8 : has_primary;
}

Status decode_enums(ImageReader* in, Catalog* catalog) {
  const uint32_t enums = in->count(0);
  for (uint32_t i = 0; i < enums && in->ok(); ++i) {
    auto type = std::make_shared<EnumType>();
    walk(*in, *type);
    auto out_of_order = [](const EnumType::Label& a, const EnumType::Label& b) { return a.code >= b.code; };
    const auto& labels = type->labels;
    if (!in->ok() || std::adjacent_find(labels.begin(), labels.end(), out_of_order) != labels.end()) return damaged();
    type->number = new_enum_number();
    if (type->number == 0) return sql_error("54000", "too many enums have been created in this process");
    in->name_enum(type->number);
    publish_enum(type);
    catalog->enums[type->name] = std::move(type);
  }
  return Status();
}

Status decode_domains(ImageReader* in, Catalog* catalog) {
  in->number(catalog->next_domain_id);
  const uint32_t domains = in->count(0);
  std::map<std::string, RoutineId> checks;
  for (uint32_t i = 0; i < domains && in->ok(); ++i) {
    auto domain = std::make_shared<Domain>();
    RoutineId check;
    walk(*in, *domain, check);
    if (!in->ok() || domain->id == 0 || !is_storable(domain->base.id) || domain->parent >= domain->id) return damaged();
    checks[domain->name] = check;
    catalog->domains[domain->name] = std::move(domain);
  }
  DomainsById all = domains_by_id(*catalog);
  for (auto& [name, domain] : catalog->domains) {
    auto checked = std::make_shared<Domain>(*domain);
    checked->check = make_domain_check(*checked, all, checks[name]);
    all[checked->id] = checked.get();
    domain = std::move(checked);
  }
  return Status();
}

void decode_sequences(ImageReader* in, Catalog* catalog) {
  in->number(catalog->next_sequence_id);
  const uint32_t sequences = in->count(0);
  for (uint32_t i = 0; i < sequences && in->ok(); ++i) {
    storage::SequenceDefinition definition;
    storage::SequenceState state;
    walk(*in, definition, state);
    const std::string name = definition.name;
    auto sequence = std::make_shared<storage::Sequence>(std::move(definition));
    sequence->restore(state);
    catalog->sequences[name] = std::move(sequence);
  }
}

// Schemas, composite types, comments.
void decode_names(ImageReader* in, Catalog* catalog) {
  const uint32_t namespaces = in->count(0);
  for (uint32_t i = 0; i < namespaces && in->ok(); ++i) {
    std::string name;
    in->text(name);
    catalog->namespaces.insert(std::move(name));
  }
  const uint32_t composites = in->count(0);
  for (uint32_t i = 0; i < composites && in->ok(); ++i) {
    std::string name;
    in->text(name);
    catalog->composites.insert(std::move(name));
  }
  const uint32_t comments = in->count(0);
  for (uint32_t i = 0; i < comments && in->ok(); ++i) {
    std::string key, text;
    in->text(key);
    in->text(text);
    catalog->comments[key] = text;
  }
}

// Rules name columns that exist.
bool is_sound(const Catalog& catalog) {
  for (const auto& [name, table] : catalog.tables) {
    auto found = catalog.rules.find(table->schema().id);
    if (found == catalog.rules.end()) continue;
    const TableRules& rules = found->second;
    const size_t width = table->schema().columns.size();
    if (rules.columns.size() != width) return false;
    for (const ForeignKey& key : rules.foreign_keys) {
      auto parent = catalog.find_table(key.table);
      if (parent == nullptr || key.columns.empty() || key.columns.size() != key.referenced.size()) return false;
      for (uint32_t column : key.columns)
        if (column >= width) return false;
      for (uint32_t column : key.referenced)
        if (column >= parent->schema().columns.size()) return false;
    }
  }
  return true;
}

// Of triggers and foreign keys in the order of the maps; materialized views; access of sequences; hot data views;
// caches of tables and options of views in the order of the map.
void encode_more(ImageWriter* out, Catalog* catalog) {
  for (const auto& [key, trigger] : catalog->triggers) {
    Trigger written = *trigger;
    walk_more(*out, written);
  }
  for (const auto& [name, table] : catalog->tables)
    for (ForeignKey& key : catalog->rules[table->schema().id].foreign_keys) walk_more(*out, key);
  out->count(catalog->materialized_views.size());
  for (const auto& [name, view] : catalog->materialized_views) {
    std::string key = name;
    MaterializedView written = *view;
    out->text(key);
    walk(*out, written);
  }
  encode_sequence_access(out, *catalog);
  out->count(catalog->hot_data_views.size());
  for (const auto& [name, view] : catalog->hot_data_views) {
    std::string key = name;
    HotDataView written = *view;
    out->text(key);
    walk(*out, written);
  }
  for (const auto& [name, table] : catalog->tables) out->text(catalog->rules[table->schema().id].tier_cache);
  encode_view_options(out, *catalog);
  encode_database(out, catalog->database);
  encode_partitions(out, *catalog);
}

Status decode_hot_data(ImageReader* in, Catalog* catalog) {
  const uint32_t views = in->count(0);
  for (uint32_t i = 0; i < views && in->ok(); ++i) {
    std::string name;
    auto view = std::make_shared<HotDataView>();
    in->text(name);
    walk(*in, *view);
    const auto table = in->ok() ? catalog->find_table(view->table) : nullptr;
    if (table == nullptr || view->columns.empty() ||
        std::any_of(view->columns.begin(), view->columns.end(),
                    [&](uint32_t column) { return column >= storage::visible_columns(table->schema()); })) {
      return damaged();
    }
    catalog->hot_data_views[name] = std::move(view);
  }
  return Status();
}

Status decode_more(ImageReader* in, uint32_t version, Catalog* catalog) {
  for (auto& [key, trigger] : catalog->triggers) {
    auto read = std::make_shared<Trigger>(*trigger);
    walk_more(*in, *read);
    const Firing firing = read->firing;
    const bool is_known = firing == Firing::kOrigin || firing == Firing::kAlways || firing == Firing::kReplica ||
                          firing == Firing::kDisabled;
    if (!in->ok() || !is_known) return damaged();
    trigger = std::move(read);
  }
  for (const auto& [name, table] : catalog->tables)
    for (ForeignKey& key : catalog->rules[table->schema().id].foreign_keys) walk_more(*in, key);
  const uint32_t views = in->count(0);
  for (uint32_t i = 0; i < views && in->ok(); ++i) {
    std::string name;
    auto view = std::make_shared<MaterializedView>();
    in->text(name);
    walk(*in, *view);
    if (!in->ok() || catalog->find_table(name) == nullptr) return damaged();
    catalog->materialized_views[name] = std::move(view);
  }
  if (version == kVersionWithoutSequences) {
    inherit_sequence_owners(catalog);
  } else {
    decode_sequence_access(in, catalog);
  }
  if (version > kVersionWithoutHotData) SCYPER_RETURN_IF_ERROR(decode_hot_data(in, catalog));
  if (version <= kVersionWithoutCaches) return Status();
  for (const auto& [name, table] : catalog->tables) in->text(catalog->rules[table->schema().id].tier_cache);
  if (version <= kVersionWithoutViewOptions) return Status();
  if (!decode_view_options(in, catalog)) return damaged();
  if (version > kVersionWithoutDatabase) decode_database(in, &catalog->database);
  if (version > kVersionWithoutPartitions && !decode_partitions(in, catalog)) return damaged();
  return Status();
}

}  // namespace

std::string encode_catalog(const Catalog& catalog) {
  ImageWriter out;
  uint32_t version = kVersion;
  out.number(version);
  Catalog copy = catalog;
  drop_temporary_tables(&copy);
  out.number(copy.version);
  out.number(copy.next_table_id);
  out.number(copy.next_index_id);
  out.number(copy.next_routine_id);
  out.count(copy.enums.size());
  for (const auto& [name, type] : copy.enums) {
    EnumType written = *type;
    walk(out, written);
    out.name_enum(type->number);
  }
  out.number(copy.next_domain_id);
  out.count(copy.domains.size());
  for (const auto& [name, domain] : copy.domains) {
    Domain written = *domain;
    RoutineId check = domain->check == nullptr ? RoutineId() : domain->check->id;
    walk(out, written, check);
  }
  out.count(copy.tables.size());
  for (const auto& [name, table] : copy.tables) {
    storage::TableSchema schema = table->schema();
    std::erase_if(schema.indexes, is_local);
    walk(out, schema);
    TableRules rules;
    if (auto found = copy.rules.find(schema.id); found != copy.rules.end()) rules = found->second;
    walk(out, rules);
  }
  out.count(copy.routines.size());
  for (const auto& [name, routine] : copy.routines) {
    Routine written = *routine;
    walk(out, written);
  }
  out.count(copy.triggers.size());
  for (const auto& [key, trigger] : copy.triggers) {
    Trigger written = *trigger;
    walk(out, written);
  }
  out.count(copy.views.size());
  for (const auto& [name, view] : copy.views) {
    View written = *view;
    walk(out, written);
  }
  out.number(copy.next_sequence_id);
  out.count(copy.sequences.size());
  for (const auto& [name, sequence] : copy.sequences) {
    storage::SequenceDefinition definition = sequence->definition();
    storage::SequenceState state = sequence->state();
    walk(out, definition, state);
  }
  out.count(copy.namespaces.size());
  for (std::string name : copy.namespaces) out.text(name);
  out.count(copy.composites.size());
  for (std::string name : copy.composites) out.text(name);
  out.count(copy.comments.size());
  for (const auto& entry : copy.comments) {
    std::string key = entry.first, text = entry.second;
    out.text(key);
    out.text(text);
  }
  std::string foreign = encode_foreign(copy);
  out.text(foreign);
  encode_access(&out, &copy);
  encode_more(&out, &copy);
  return out.take();
}

StatusOr<std::shared_ptr<Catalog>> decode_catalog(std::string_view bytes, uint32_t partitions, storage::Arena* arena) {
  ImageReader in(bytes);
  uint32_t version = 0;
  in.number(version);
  if (in.ok() && (version > kVersion || version < kVersionBefore)) {
    return sql_error("0A000",
                     "the catalog has version " + std::to_string(version) + ", known is " + std::to_string(kVersion));
  }
  auto catalog = std::make_shared<Catalog>();
  in.number(catalog->version);
  in.number(catalog->next_table_id);
  in.number(catalog->next_index_id);
  in.number(catalog->next_routine_id);
  SCYPER_RETURN_IF_ERROR(decode_enums(&in, catalog.get()));
  SCYPER_RETURN_IF_ERROR(decode_domains(&in, catalog.get()));
  const uint32_t tables = in.count(0);
  for (uint32_t i = 0; i < tables && in.ok(); ++i) {
    storage::TableSchema schema;
    TableRules rules;
    walk(in, schema);
    walk(in, rules);
    if (!in.ok() || !is_sound(schema)) return damaged();
    const TableId id = schema.id;
    const std::string name = schema.name;
    for (const storage::IndexDef& index : schema.indexes) catalog->index_tables[index.name] = name;
    SCYPER_ASSIGN_OR_RETURN(auto table, storage::Table::create(std::move(schema), partitions, arena));
    catalog->tables[name] = std::move(table);
    catalog->rules[id] = std::move(rules);
  }
  const uint32_t routines = in.count(0);
  for (uint32_t i = 0; i < routines && in.ok(); ++i) {
    auto routine = std::make_shared<Routine>();
    walk(in, *routine);
    const std::string name = routine->name;
    catalog->routines.emplace(name, std::move(routine));
  }
  const uint32_t triggers = in.count(0);
  for (uint32_t i = 0; i < triggers && in.ok(); ++i) {
    auto trigger = std::make_shared<Trigger>();
    walk(in, *trigger);
    const std::pair<std::string, std::string> key{trigger->table, trigger->name};
    catalog->triggers.emplace(key, std::move(trigger));
  }
  const uint32_t views = in.count(0);
  for (uint32_t i = 0; i < views && in.ok(); ++i) {
    auto view = std::make_shared<View>();
    walk(in, *view);
    const std::string name = view->name;
    catalog->views[name] = std::move(view);
  }
  decode_sequences(&in, catalog.get());
  decode_names(&in, catalog.get());
  std::string foreign;
  in.text(foreign);
  SCYPER_RETURN_IF_ERROR(decode_foreign(foreign, catalog.get()));
  decode_access(&in, catalog.get());  // in the order of the maps: foreign tables are in them
  if (version != kVersionBefore) SCYPER_RETURN_IF_ERROR(decode_more(&in, version, catalog.get()));
  if (version == kVersionBefore) inherit_sequence_owners(catalog.get());
  if (!in.ok() || !in.is_at_end() || !is_sound(*catalog)) return damaged();
  return catalog;
}

}  // namespace scyper::query
