#include <algorithm>

#include "base/object_name.h"
#include "bind/object_text.h"
#include "bind/system_types.h"
#include "bind/view_target.h"
#include "parse/name_path.h"
#include "query/polymorphic.h"
#include "query/search_path.h"
#include "storage/big_numeric.h"
#include "storage/json_text_type.h"
#include "storage/name_type.h"
#include "storage/time_modifier.h"

namespace scyper::query {

namespace {

using T = TypeId;

std::string schema_name(std::string_view key) { return std::string(schema_of(key)); }
std::string name_in_schema(std::string_view key) { return std::string(bare_name(key)); }

std::vector<SystemRow> schemata(const Catalog& catalog) {
  std::vector<SystemRow> rows;
  for (const std::string& name : catalog.namespaces)
    rows.push_back({catalog.database.name, name, owner_name(schema_access_of(catalog, name), catalog), {}, {}, {}, {}});
  for (const char* name : {"information_schema", "pg_catalog", "public"})
    rows.push_back({catalog.database.name, name, "scyper", {}, {}, {}, {}});
  return rows;
}

// The standard knows no materialized views.
bool is_listed(const Catalog& catalog, std::string_view relation) {
  return catalog.composites.count(relation) == 0 && catalog.find_materialized_view(relation) == nullptr;
}

std::vector<SystemRow> tables(const Catalog& catalog) {
  std::vector<SystemRow> rows;
  for (const auto& relation : system_relations(catalog)) {
    const bool table = relation.schema != nullptr || relation.view->partition != nullptr;
    if (!is_listed(catalog, relation.name)) continue;
    rows.push_back({catalog.database.name,
                    schema_name(relation.name),
                    name_in_schema(relation.name),
                    is_temporary_key(relation.name)     ? "LOCAL TEMPORARY"
                    : table                             ? "BASE TABLE"
                    : relation.view->foreign != nullptr ? "FOREIGN"
                                                        : "VIEW",
                    {},
                    {},
                    {},
                    {},
                    {},
                    table || (relation.view->foreign == nullptr &&
                              (updatable_events(catalog, *relation.view, false) & Trigger::kInsert) != 0)
                        ? "YES"
                        : "NO",
                    "NO",
                    {}});
  }
  return rows;
}

// Those that were granted, and the owners' own.
std::vector<SystemRow> table_privileges(const Catalog& catalog) {
  std::vector<SystemRow> rows;
  const auto name_of = [&](uint32_t id) {
    const Role* role = catalog.roles.find(id);
    return role == nullptr ? std::string("PUBLIC") : role->name;
  };
  for (const auto& relation : system_relations(catalog)) {
    const Access access = relation_access(catalog, relation.name);
    for (const Access::Grant& grant : grants_of(access, Accessed::kRelation))
      for (const PrivilegeName& known : kPrivilegeNames) {
        if ((grant.privileges & known.privilege) == 0) continue;
        const bool is_grantable = grant.grantee == access.owner || (grant.grantable & known.privilege) != 0;
        rows.push_back({name_of(grant.grantor), name_of(grant.grantee), catalog.database.name,
                        schema_name(relation.name), name_in_schema(relation.name), std::string(known.name),
                        is_grantable ? "YES" : "NO", known.privilege == kSelectRight ? "YES" : "NO"});
      }
  }
  return rows;
}

// A table's, for each of its columns.
std::vector<SystemRow> column_privileges(const Catalog& catalog) {
  constexpr uint16_t kOfColumns = kSelectRight | kInsertRight | kUpdateRight | kReferencesRight;
  std::vector<SystemRow> rows;
  for (const SystemRow& of_table : table_privileges(catalog)) {
    const bool is_of_columns = std::any_of(
        std::begin(kPrivilegeNames), std::end(kPrivilegeNames),
        [&](const auto& known) { return (known.privilege & kOfColumns) != 0 && known.name == of_table[5].text; });
    if (!is_of_columns) continue;
    for (const auto& relation : system_relations(catalog)) {
      if (schema_name(relation.name) != of_table[3].text || name_in_schema(relation.name) != of_table[4].text) continue;
      const size_t count =
          relation.schema != nullptr ? storage::visible_columns(*relation.schema) : relation.view->column_names.size();
      for (size_t i = 0; i < count; i++)
        rows.push_back({of_table[0], of_table[1], of_table[2], of_table[3], of_table[4],
                        relation.schema != nullptr ? relation.schema->columns[i].name : relation.view->column_names[i],
                        of_table[5], of_table[6]});
    }
  }
  return rows;
}

SystemRow view_row(const Catalog& catalog, const View& view) {
  constexpr uint8_t kChanges = Trigger::kUpdate | Trigger::kDelete;
  const uint8_t events = updatable_events(catalog, view, false);
  const auto says = [](bool yes) { return yes ? "YES" : "NO"; };
  const auto triggered = [&](uint8_t event) { return says(has_trigger_instead(catalog, view.name, event)); };
  return {catalog.database.name,
          schema_name(view.name),
          name_in_schema(view.name),
          view.query,
          view.check_option == CheckOption::kNone    ? "NONE"
          : view.check_option == CheckOption::kLocal ? "LOCAL"
                                                     : "CASCADED",
          says((events & kChanges) == kChanges),
          says((events & Trigger::kInsert) != 0),
          triggered(Trigger::kUpdate),
          triggered(Trigger::kDelete),
          triggered(Trigger::kInsert)};
}

std::vector<SystemRow> views(const Catalog& catalog) {
  std::vector<SystemRow> rows;
  for (const auto& [name, view] : catalog.views)
    if (view->foreign == nullptr && view->partition == nullptr) rows.push_back(view_row(catalog, *view));
  return rows;
}

// Lengths and precisions of a type.
struct Sizes {
  SystemValue characters, bytes, precision, radix, scale, datetime;
};
Sizes sizes_of(const SqlType& type) {
  constexpr int64_t kBytesPerCharacter = 4, kTextBytes = 1073741824;
  Sizes sizes;
  if (is_string(type.id)) {
    if (type.length >= 0) sizes.characters = type.length;
    sizes.bytes = type.length >= 0 ? type.length * kBytesPerCharacter : kTextBytes;
  }
  if ((type.id == T::kBit || type.id == T::kVarbit) && type.length >= 0) sizes.characters = type.length;
  if (is_integer(type.id)) {
    sizes.precision = type.id == T::kInt2 ? 16 : type.id == T::kInt4 ? 32 : 64;
    sizes.radix = 2, sizes.scale = 0;
  } else if (is_float(type.id)) {
    sizes.precision = type.id == T::kFloat4 ? 24 : 53;
    sizes.radix = 2;
  } else if (type.id == T::kNumeric) {
    sizes.radix = 10;
    if (numeric_precision(type) > 0) {
      sizes.precision = numeric_precision(type);
      sizes.scale = numeric_scale(type) & 0x7ff;  // as PostgreSQL 15 shows those below 0
    }
  }
  if (type.id == T::kDate) sizes.datetime = 0;
  if (has_clock(type.id)) sizes.datetime = second_digits(type);
  return sizes;
}

// Of it, or of the elements of the array.
const EnumType* enum_of(const SqlType& type) {
  const bool is_enum = type.id == T::kEnum || (type.id == T::kArray && type.element == T::kEnum);
  return is_enum ? find_enum(type.length) : nullptr;
}
std::string user_type_name(const SqlType& type) {
  if (const EnumType* user_type = enum_of(type); user_type != nullptr)
    return (type.id == T::kArray ? "_" : "") + name_in_schema(user_type->name);
  if (is_checked_text(type) || is_name(type)) return type_name(type);
  if (type.id == T::kArray && is_checked_text(element_of(type))) return "_" + type_name(element_of(type));
  return type.id == T::kArray ? "_" + std::string(system_type(type.element).name)
                              : std::string(system_type(type.id).name);
}
std::string user_type_schema(const SqlType& type) {
  const EnumType* user_type = enum_of(type);
  return user_type == nullptr ? "pg_catalog" : schema_name(user_type->name);
}
std::string data_type(const SqlType& type) {
  if (type.id == T::kArray) return "ARRAY";
  if (is_checked_text(type)) return type_name(type);
  if (is_name(type)) return "name";
  return type.id == T::kEnum ? "USER-DEFINED" : type_name(without_modifiers(type));
}

// The sequence of an identity column.
const storage::SequenceDefinition* identity_of(const Catalog& catalog, TableId table, uint32_t column) {
  for (const auto& [name, sequence] : catalog.sequences) {
    const storage::SequenceDefinition& definition = sequence->definition();
    if (definition.is_identity && definition.owner == table && definition.owner_column == column) return &definition;
  }
  return nullptr;
}

SystemRow column_row(const Catalog& catalog, const SystemRelation& relation, size_t i) {
  const SqlType& type = relation.column_type(i);
  const Sizes sizes = sizes_of(type);
  const TableRules::Column* rule = nullptr;
  if (relation.schema != nullptr)
    if (auto rules = catalog.rules.find(relation.schema->id);
        rules != catalog.rules.end() && i < rules->second.columns.size())
      rule = &rules->second.columns[i];
  const bool is_identity = rule != nullptr && rule->identity != Identity::kNone;
  const bool is_generated = rule != nullptr && !rule->generated_text.empty();
  const storage::SequenceDefinition* sequence =
      is_identity ? identity_of(catalog, relation.schema->id, static_cast<uint32_t>(i)) : nullptr;
  const bool is_partition = relation.view != nullptr && relation.view->partition != nullptr;
  const std::string value = is_partition ? shown_default(catalog, *relation.view, static_cast<uint32_t>(i))
                            : relation.schema == nullptr || is_identity || is_generated
                                ? std::string()
                                : shown_default(catalog, *relation.schema, static_cast<uint32_t>(i), false);
  const Domain* domain = rule == nullptr ? nullptr : catalog.find_domain(rule->domain);
  const bool nullable = !is_not_null(catalog, relation, i) && (domain == nullptr || !domain->not_null);
  return {catalog.database.name,
          schema_name(relation.name),
          name_in_schema(relation.name),
          relation.column_name(i),
          i + 1,
          value.empty() ? SystemValue() : SystemValue(value),
          nullable ? "YES" : "NO",
          data_type(type),
          sizes.characters,
          sizes.bytes,
          sizes.precision,
          sizes.radix,
          sizes.scale,
          sizes.datetime,
          {},
          domain == nullptr ? SystemValue() : SystemValue(catalog.database.name),
          domain == nullptr ? SystemValue() : schema_name(domain->name),
          domain == nullptr ? SystemValue() : name_in_schema(domain->name),
          catalog.database.name,
          user_type_schema(type),
          user_type_name(type),
          std::to_string(i + 1),
          "NO",
          is_identity ? "YES" : "NO",
          !is_identity                          ? SystemValue()
          : rule->identity == Identity::kAlways ? SystemValue("ALWAYS")
                                                : SystemValue("BY DEFAULT"),
          sequence == nullptr ? SystemValue() : SystemValue(std::to_string(sequence->start)),
          sequence == nullptr ? SystemValue() : SystemValue(std::to_string(sequence->increment)),
          sequence == nullptr ? SystemValue() : SystemValue(std::to_string(sequence->maximum)),
          sequence == nullptr ? SystemValue() : SystemValue(std::to_string(sequence->minimum)),
          sequence != nullptr && sequence->cycles ? "YES" : "NO",
          is_generated ? "ALWAYS" : "NEVER",
          is_generated ? SystemValue(shown_default(catalog, *relation.schema, static_cast<uint32_t>(i), false))
                       : SystemValue(),
          relation.schema != nullptr ? "YES" : "NO"};
}

std::vector<SystemRow> columns(const Catalog& catalog) {
  std::vector<SystemRow> rows;
  for (const auto& relation : system_relations(catalog)) {
    if (!is_listed(catalog, relation.name)) continue;
    std::vector<bool> updatable(relation.column_count(), relation.schema != nullptr);
    if (relation.schema == nullptr && relation.view->foreign == nullptr)
      updatable = updatable_columns(catalog, *relation.view);
    for (size_t i = 0; i < relation.column_count(); i++) {
      rows.push_back(column_row(catalog, relation, i));
      rows.back().back() = updatable[i] ? "YES" : "NO";
    }
  }
  return rows;
}

std::vector<SystemRow> domains(const Catalog& catalog) {
  std::vector<SystemRow> rows;
  for (const auto& [name, domain] : catalog.domains) {
    const Sizes sizes = sizes_of(domain->base);
    const std::string value = shown_default(catalog, *domain);
    rows.push_back({catalog.database.name, schema_name(name), name_in_schema(name), data_type(domain->base),
                    sizes.characters, sizes.bytes, sizes.precision, sizes.radix, sizes.scale, sizes.datetime,
                    value.empty() ? SystemValue() : SystemValue(value), catalog.database.name,
                    user_type_schema(domain->base), user_type_name(domain->base), "1"});
  }
  return rows;
}

std::vector<SystemRow> domain_rules(const Catalog& catalog) {
  std::vector<SystemRow> rows;
  for (const DomainConstraint& constraint : domain_constraints(catalog)) {
    const std::string schema = schema_name(constraint.domain->name);
    rows.push_back({catalog.database.name, schema, constraint.check->name, catalog.database.name, schema,
                    name_in_schema(constraint.domain->name), "NO", "NO"});
  }
  return rows;
}

// A routine's own name for tools: routines may share a name.
std::string specific_name(std::string_view key, const Routine& routine) {
  return name_in_schema(key) + "_" + std::to_string(routine_oid(routine));
}

SystemRow parameter_row(const Catalog& catalog, std::string_view key, const Routine& routine, size_t position) {
  const RoutineParameter& parameter = routine.parameters[position];
  const Sizes sizes = sizes_of(parameter.type);
  const bool is_table = routine.returns_set && parameter.mode == ParameterMode::kOut;
  return {catalog.database.name,
          schema_name(key),
          specific_name(key, routine),
          position + 1,
          is_table || parameter.mode == ParameterMode::kOut ? "OUT"
          : parameter.mode == ParameterMode::kInOut         ? "INOUT"
                                                            : "IN",
          is_table ? "YES" : "NO",
          "NO",
          parameter.name.empty() ? SystemValue() : SystemValue(parameter.name),
          is_polymorphic(parameter.type) ? std::string(polymorphic_name(parameter.type)) : data_type(parameter.type),
          sizes.characters,
          sizes.bytes,
          sizes.precision,
          sizes.radix,
          sizes.scale,
          sizes.datetime,
          catalog.database.name,
          user_type_schema(parameter.type),
          user_type_name(parameter.type),
          std::to_string(position + 1),
          parameter.has_default ? SystemValue(parameter.default_text) : SystemValue()};
}

std::vector<SystemRow> parameters(const Catalog& catalog) {
  std::vector<SystemRow> rows;
  for (const auto& [key, routine] : catalog.routines)
    for (size_t i = 0; i < routine->parameters.size(); i++) rows.push_back(parameter_row(catalog, key, *routine, i));
  return rows;
}

// Of views alone: the standard knows no materialized ones.
std::vector<SystemRow> view_tables(const Catalog& catalog) {
  std::vector<SystemRow> rows;
  for (const auto& [name, view] : catalog.views)
    for (const std::string& relation : view->partition == nullptr ? view->relations : std::vector<std::string>())
      rows.push_back({catalog.database.name, schema_name(name), name_in_schema(name), catalog.database.name,
                      schema_name(relation), name_in_schema(relation)});
  return rows;
}

std::vector<SystemRow> routines(const Catalog& catalog) {
  std::vector<SystemRow> rows;
  for (const auto& [name, routine] : catalog.routines)
    rows.push_back({catalog.database.name, schema_name(name), specific_name(name, *routine), catalog.database.name,
                    schema_name(name), name_in_schema(name), routine->procedure ? "PROCEDURE" : "FUNCTION",
                    routine->procedure ? SystemValue() : SystemValue(type_name(routine->return_type)), "EXTERNAL",
                    std::string(without_search_path(routine->body)), "PLPGSQL"});
  return rows;
}

}  // namespace

std::vector<SystemTable> information_schema_tables() {
  constexpr std::string_view kSchema = "information_schema";
  return {
      {kSchema, "schemata",
       columns_of("catalog_name schema_name schema_owner default_character_set_catalog default_character_set_schema "
                  "default_character_set_name sql_path"),
       schemata},
      {kSchema, "tables",
       columns_of("table_catalog table_schema table_name table_type self_referencing_column_name reference_generation "
                  "user_defined_type_catalog user_defined_type_schema user_defined_type_name is_insertable_into "
                  "is_typed commit_action"),
       tables},
      {kSchema, "table_privileges",
       columns_of("grantor grantee table_catalog table_schema table_name privilege_type is_grantable with_hierarchy"),
       table_privileges},
      {kSchema, "column_privileges",
       columns_of("grantor grantee table_catalog table_schema table_name column_name privilege_type is_grantable"),
       column_privileges},
      {kSchema, "views",
       columns_of("table_catalog table_schema table_name view_definition check_option is_updatable is_insertable_into "
                  "is_trigger_updatable is_trigger_deletable is_trigger_insertable_into"),
       views},
      {kSchema, "columns",
       columns_of(
           "table_catalog table_schema table_name column_name ordinal_position:int4 column_default is_nullable "
           "data_type character_maximum_length:int4 character_octet_length:int4 numeric_precision:int4 "
           "numeric_precision_radix:int4 numeric_scale:int4 datetime_precision:int4 interval_type domain_catalog "
           "domain_schema domain_name udt_catalog "
           "udt_schema udt_name dtd_identifier is_self_referencing is_identity "
           "identity_generation identity_start identity_increment identity_maximum identity_minimum identity_cycle "
           "is_generated generation_expression is_updatable"),
       columns},
      {kSchema, "domains",
       columns_of("domain_catalog domain_schema domain_name data_type character_maximum_length:int4 "
                  "character_octet_length:int4 numeric_precision:int4 numeric_precision_radix:int4 numeric_scale:int4 "
                  "datetime_precision:int4 domain_default udt_catalog udt_schema udt_name dtd_identifier"),
       domains},
      {kSchema, "domain_constraints",
       columns_of("constraint_catalog constraint_schema constraint_name domain_catalog domain_schema domain_name "
                  "is_deferrable initially_deferred"),
       domain_rules},
      {kSchema, "parameters",
       columns_of("specific_catalog specific_schema specific_name ordinal_position:int4 parameter_mode is_result "
                  "as_locator parameter_name data_type character_maximum_length:int4 character_octet_length:int4 "
                  "numeric_precision:int4 numeric_precision_radix:int4 numeric_scale:int4 datetime_precision:int4 "
                  "udt_catalog udt_schema udt_name dtd_identifier parameter_default"),
       parameters},
      {kSchema, "view_table_usage",
       columns_of("view_catalog view_schema view_name table_catalog table_schema table_name"), view_tables},
      {kSchema, "routines",
       columns_of("specific_catalog specific_schema specific_name routine_catalog routine_schema routine_name "
                  "routine_type data_type routine_body routine_definition external_language"),
       routines},
  };
}

}  // namespace scyper::query
