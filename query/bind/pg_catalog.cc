#include <algorithm>
#include <bit>
#include <numeric>
#include <set>

#include "absl/strings/str_split.h"
#include "base/object_name.h"
#include "bind/builtin_catalog.h"
#include "bind/object_text.h"
#include "bind/partition_catalog.h"
#include "bind/system_types.h"
#include "bind/type_functions.h"
#include "parse/printer.h"
#include "query/foreign_table.h"
#include "query/search_path.h"
#include "query/setting_values.h"
#include "query/settings.h"
#include "storage/enum_transaction.h"
#include "types/all_zones.h"
#include "types/range.h"
#include "types/timezone.h"

namespace scyper::query {

namespace {

using T = TypeId;

constexpr int64_t kHeapOid = 2, kBtreeOid = 403;
constexpr int64_t kDefaultCollationOid = 100;

std::string name_in_schema(std::string_view key) { return std::string(bare_name(key)); }

std::vector<SystemRow> namespaces(const Catalog& catalog) {
  std::vector<SystemRow> rows;
  for (const auto& [oid, name] : schema_names(catalog)) {
    const Access access = schema_access_of(catalog, name);
    rows.push_back({oid, name, int64_t{access.owner}, access_value(access, catalog)});
  }
  return rows;
}

struct TypeRow {
  int64_t oid;
  std::string name;
  int64_t schema = kCatalogSchemaOid;
  int length = -1;
  const char* kind = "b";
  char category = 'A';
  int64_t element = 0;
  int64_t array = 0;
  int64_t collation = 0;
  bool not_null = false;
  int64_t base = 0;  // of a domain
  int64_t modifier = -1;
  std::string default_text = "";
};

// The functions of a domain that write are those of its base.
TypeFunctions functions_of(const TypeRow& row) {
  const bool is_array = row.category == 'A' && row.element != 0;
  const TypeFunctions* found = find_type_functions(is_array           ? std::string_view("array")
                                                   : *row.kind == 'e' ? std::string_view("enum")
                                                   : *row.kind == 'r' ? std::string_view("range")
                                                   : *row.kind == 'm' ? std::string_view("multirange")
                                                                      : std::string_view(row.name));
  if (*row.kind != 'd') return found == nullptr ? TypeFunctions{} : *found;
  TypeFunctions functions = *find_type_functions("domain");
  for (const SystemType& base : kSystemTypes)
    if (const TypeFunctions* of = find_type_functions(base.name); base.oid == row.base && of != nullptr)
      functions.out = of->out, functions.send = of->send;
  return functions;
}

const char* alignment_of(const TypeRow& row) {
  if (row.name == "uuid" || row.name == "name" || row.length == 1) return "c";
  if (row.name == "interval" || row.name == "timetz" || (row.length == 8 && row.name != "macaddr8")) return "d";
  return row.length == 2 ? "s" : "i";
}

SystemRow type_row(const TypeRow& row) {
  constexpr int kByValueBytesMax = 8;
  const TypeFunctions functions = functions_of(row);
  const bool is_array = row.category == 'A' && row.element != 0;
  return {row.oid,
          row.name,
          row.schema,
          kOwnerOid,
          row.length,
          row.length > 0 && row.length <= kByValueBytesMax && !row.name.starts_with("macaddr"),
          row.kind,
          std::string(1, row.category),
          false,
          true,
          ",",
          int64_t{0},
          is_array ? kArraySubscriptOid : int64_t{0},
          row.element,
          row.array,
          functions.in,
          functions.out,
          functions.receive,
          functions.send,
          int64_t{0},
          int64_t{0},
          int64_t{0},
          alignment_of(row),
          row.length != -1                                                    ? "p"
          : row.name == "numeric" || row.name == "inet" || row.name == "cidr" ? "m"
                                                                              : "x",
          row.not_null,
          row.base,
          row.modifier,
          0,
          row.collation,
          row.default_text.empty() ? SystemValue() : SystemValue(row.default_text),  // pg_get_expr() shows it as it is
          row.default_text.empty() ? SystemValue() : SystemValue(row.default_text),
          SystemValue()};
}

std::vector<SystemRow> ranges(const Catalog&) {
  std::vector<SystemRow> rows;
  for (const SystemType& type : kSystemTypes)
    if (is_range(type.id))
      rows.push_back(
          {type.oid, system_type(range_element(type.id)).oid, system_type(multirange_of(type.id)).oid, int64_t{0}});
  return rows;
}

std::vector<SystemRow> types(const Catalog& catalog) {
  std::vector<SystemRow> rows = builtin_type_rows();
  std::set<int64_t> listed;
  for (const SystemRow& row : rows) listed.insert(row[0].number);
  for (const SystemType& type : kSystemTypes) {
    if (listed.count(type.oid) != 0) continue;
    const std::string name(type.name);
    const int64_t collation = is_string(type.id) ? kDefaultCollationOid : 0;
    rows.push_back(type_row({type.oid, name, kCatalogSchemaOid, type.length,
                             name.ends_with("multirange") ? "m"
                             : type.category == 'R'       ? "r"
                                                          : "b",
                             type.category, 0, type.array_oid, collation}));
    rows.push_back(type_row({type.array_oid, "_" + name, kCatalogSchemaOid, -1, "b", 'A', type.oid, 0, collation}));
  }
  for (const auto& [name, type] : catalog.enums) {
    const int64_t schema = schema_oid(catalog, name), array = enum_array_oid(type->number);
    rows.push_back(type_row({enum_oid(type->number), name_in_schema(name), schema, 4, "e", 'E', 0, array, 0}));
    rows.push_back(type_row({array, "_" + name_in_schema(name), schema, -1, "b", 'A', enum_oid(type->number), 0, 0}));
  }
  for (const auto& [name, domain] : catalog.domains) {
    const int64_t schema = schema_oid(catalog, name), oid = domain_oid(domain->id);
    const int64_t array = domain_array_oid(domain->id);
    const SqlType& base = domain->base;
    const char category = base.id == T::kArray ? 'A' : base.id == T::kEnum ? 'E' : system_type(base.id).category;
    rows.push_back(type_row({oid, name_in_schema(name), schema, base.id == T::kEnum ? 4 : int{type_length(base)}, "d",
                             category, 0, array, is_string(base.id) ? kDefaultCollationOid : 0, domain->not_null,
                             domain->parent != 0 ? domain_oid(domain->parent) : type_oid(base),
                             domain->parent != 0 ? -1 : type_modifier(base), shown_default(catalog, *domain)}));
    rows.push_back(type_row({array, "_" + name_in_schema(name), schema, -1, "b", 'A', oid, 0, 0}));
  }
  return rows;
}

std::vector<SystemRow> collations(const Catalog&) {
  return {{kDefaultCollationOid, "default", kCatalogSchemaOid, kOwnerOid, "d", true, -1, SystemValue(), SystemValue(),
           SystemValue(), SystemValue()},
          {int64_t{950}, "C", kCatalogSchemaOid, kOwnerOid, "c", true, -1, "C", "C", SystemValue(), SystemValue()},
          {int64_t{951}, "POSIX", kCatalogSchemaOid, kOwnerOid, "c", true, -1, "POSIX", "POSIX", SystemValue(),
           SystemValue()}};
}

// PostgreSQL numbers all labels of a type anew once two of them would have the same place as a real.
std::vector<double> sort_orders(const EnumType& type) {
  std::vector<double> orders;
  for (const EnumType::Label& label : type.labels) orders.push_back(enum_sort_order(label.code));
  const auto is_same = [](double a, double b) { return static_cast<float>(a) == static_cast<float>(b); };
  if (std::adjacent_find(orders.begin(), orders.end(), is_same) != orders.end())
    std::iota(orders.begin(), orders.end(), 1.0);
  return orders;
}

std::vector<SystemRow> enum_labels(const Catalog& catalog) {
  constexpr int64_t kFirst = 7000000;
  std::vector<SystemRow> rows;
  for (const auto& [name, type] : catalog.enums) {
    const std::vector<double> orders = sort_orders(*type);
    for (size_t i = 0; i < orders.size(); i++)
      rows.push_back({kFirst + static_cast<int64_t>(rows.size()), enum_oid(type->number),
                      std::bit_cast<int64_t>(orders[i]), type->labels[i].text});
  }
  return rows;
}

std::vector<SystemRow> databases(const Catalog& catalog) {
  return {{kDatabaseOid, catalog.database.name, kOwnerOid, int64_t{6}, "c", false, true, -1, int64_t{1663}, "C", "C",
           SystemValue(), SystemValue(), SystemValue()}};
}
SystemValue valid_until(const Role& role) {
  return role.valid_until.has_value() ? SystemValue(*role.valid_until) : SystemValue();
}
// What ALTER ROLE and ALTER DATABASE ... SET have given.
SystemValue settings_value(const Catalog& catalog, DatabaseDefinition::Key key) {
  const auto found = catalog.database.settings.find(key);
  if (found == catalog.database.settings.end()) return {};
  std::vector<std::string> all;
  for (const auto& [name, value] : found->second) all.push_back(name + "=" + value);
  return array_text(all);
}
std::vector<SystemRow> initial_settings(const Catalog& catalog) {
  std::vector<SystemRow> rows;
  for (const auto& [key, settings] : catalog.database.settings)
    rows.push_back({key.second ? kDatabaseOid : int64_t{0}, int64_t{key.first}, settings_value(catalog, key)});
  return rows;
}
// Verifiers are shown to nobody.
std::vector<SystemRow> roles(const Catalog& catalog) {
  std::vector<SystemRow> rows;
  for (const auto& [name, role] : catalog.roles.all())
    rows.push_back({int64_t{role->id}, name, role->is_superuser, role->can_login, role->inherits, role->creates_roles,
                    role->creates_databases, role->is_replication, int64_t{role->connections_max}, "********",
                    valid_until(*role), role->bypasses_rls, settings_value(catalog, {role->id, false})});
  return rows;
}
std::vector<SystemRow> users(const Catalog& catalog) {
  std::vector<SystemRow> rows;
  for (const auto& [name, role] : catalog.roles.all())
    if (role->can_login)
      rows.push_back({name, int64_t{role->id}, role->creates_databases, role->is_superuser, role->is_replication,
                      role->bypasses_rls, "********", valid_until(*role), settings_value(catalog, {role->id, false})});
  return rows;
}
std::vector<SystemRow> members(const Catalog& catalog) {
  std::vector<SystemRow> rows;
  for (const auto& [key, membership] : catalog.roles.members())
    rows.push_back({int64_t{key.first}, int64_t{key.second}, int64_t{membership.grantor}, membership.has_admin_option});
  return rows;
}
std::vector<SystemRow> access_methods(const Catalog&) {
  constexpr int64_t kHeapHandlerOid = 3, kBtreeHandlerOid = 330;
  return {{kHeapOid, "heap", kHeapHandlerOid, "t"}, {kBtreeOid, "btree", kBtreeHandlerOid, "i"}};
}
std::vector<SystemRow> tablespaces(const Catalog&) {
  return {{int64_t{1663}, "pg_default", kOwnerOid, SystemValue(), SystemValue()},
          {int64_t{1664}, "pg_global", kOwnerOid, SystemValue(), SystemValue()}};
}
struct KnownExtension {
  const char *name, *version;
  int64_t oid, schema;
  bool is_relocatable, is_trusted;
  const char* comment;
};
constexpr KnownExtension kKnownExtensions[] = {
    {"file_fdw", "1.0", kFileExtensionOid, kPublicSchemaOid, true, false, "foreign-data wrapper for flat file access"},
    {"pgcrypto", "1.3", kFileExtensionOid - 1, kPublicSchemaOid, true, true, "cryptographic functions"},
    {"plpgsql", "1.0", kPlpgsqlExtensionOid, kCatalogSchemaOid, false, true, "PL/pgSQL procedural language"},
    {"uuid-ossp", "1.1", kFileExtensionOid - 2, kPublicSchemaOid, true, true,
     "generate universally unique identifiers (UUIDs)"},
};
bool is_installed(const Catalog& catalog, const KnownExtension& known) {
  return catalog.extensions.contains(known.name) || known.oid == kPlpgsqlExtensionOid;
}
std::vector<SystemRow> extensions(const Catalog& catalog) {
  std::vector<SystemRow> rows;
  for (const KnownExtension& known : kKnownExtensions)
    if (is_installed(catalog, known))
      rows.push_back({known.oid, known.name, kOwnerOid, known.schema, known.is_relocatable, known.version,
                      SystemValue(), SystemValue()});
  return rows;
}
std::vector<SystemRow> available_extensions(const Catalog& catalog) {
  std::vector<SystemRow> rows;
  for (const KnownExtension& known : kKnownExtensions)
    rows.push_back({known.name, known.version,
                    is_installed(catalog, known) ? SystemValue(known.version) : SystemValue(), known.comment});
  return rows;
}
std::vector<SystemRow> extension_versions(const Catalog& catalog) {
  std::vector<SystemRow> rows;
  for (const KnownExtension& known : kKnownExtensions)
    rows.push_back({known.name, known.version, is_installed(catalog, known), true, known.is_trusted,
                    known.is_relocatable, known.schema == kCatalogSchemaOid ? SystemValue("pg_catalog") : SystemValue(),
                    SystemValue(), known.comment});
  return rows;
}
std::vector<SystemRow> foreign_wrappers(const Catalog& catalog) {
  if (catalog.extensions.count(kFileWrapper) == 0) return {};
  return {
      {kFileWrapperOid, std::string(kFileWrapper), kOwnerOid, int64_t{0}, int64_t{0}, SystemValue(), SystemValue()}};
}
std::vector<SystemRow> foreign_servers(const Catalog& catalog) {
  std::vector<SystemRow> rows;
  for (const std::string& name : catalog.foreign_servers)
    rows.push_back({foreign_server_oid(catalog, name), name, kOwnerOid, kFileWrapperOid, SystemValue(), SystemValue(),
                    SystemValue(), SystemValue()});
  return rows;
}
std::vector<SystemRow> foreign_tables(const Catalog& catalog) {
  std::vector<SystemRow> rows;
  for (const auto& [name, view] : catalog.views) {
    if (view->foreign == nullptr) continue;
    std::string options;  // an array's text
    for (const auto& [option, value] : view->foreign->options) {
      options += options.empty() ? "\"" : ",\"";
      for (const char c : option + "=" + value) {
        if (c == '"' || c == '\\') options += '\\';
        options += c;
      }
      options += '"';
    }
    rows.push_back({view_oid(catalog, name), foreign_server_oid(catalog, view->foreign->server), "{" + options + "}"});
  }
  return rows;
}
// As each session begins: what it sets is not in the catalog, SHOW tells it. Numbers are in the unit of their column.
SystemRow row_of_setting(const Setting& setting) {
  const NumberSetting* number = find_number_setting(setting.name);
  const SettingNote* note = find_setting_note(setting.name);
  const auto known = [&](const std::string& text) { return text.empty() ? SystemValue() : SystemValue(text); };
  const bool is_own = note == nullptr;
  const bool is_constant = setting.kind == SettingKind::kConstant,
             is_note_value = is_constant && !is_own && !note->unit.empty();
  std::string value(setting.value);
  if (number != nullptr) value = plain_number(*number, shown_number(setting.name, value));
  if (is_note_value) value = note->boot_value;
  std::string type = !is_own ? note->type : setting.kind == SettingKind::kSwitch ? "bool" : "string";
  SystemValue unit, least, most, choices;
  if (!is_own) {
    unit = known(note->unit);
    least = known(note->least);
    most = known(note->most);
    if (!note->words.empty()) {
      const std::vector<std::string> words = absl::StrSplit(note->words, ',');
      choices = array_text(words);
    }
  } else if (number != nullptr) {
    type = number->is_real ? "real" : "integer";
    least = plain_number(*number, number->least);
    most = plain_number(*number, number->most);
  }
  return {std::string(setting.name),
          value,
          unit,
          is_own ? SystemValue(is_constant ? "Preset Options" : "Customized Options") : SystemValue(note->category),
          is_own ? SystemValue() : SystemValue(note->description),
          SystemValue(),
          !is_own       ? SystemValue(note->context)
          : is_constant ? "internal"
                        : "user",
          type,
          "default",
          least,
          most,
          choices,
          value,
          value,
          SystemValue(),
          SystemValue(),
          false};
}

std::vector<SystemRow> setting_list(const Catalog&) {
  std::vector<SystemRow> rows;
  for (const Setting& setting : settings()) rows.push_back(row_of_setting(setting));
  return rows;
}
std::vector<SystemRow> nothing(const Catalog&) { return {}; }

// As they are when the statement is compiled.
std::vector<SystemRow> time_zones(const Catalog&) {
  std::vector<SystemRow> rows;
  for (const KnownZone& zone : known_zones())
    rows.push_back({zone.name, zone.abbreviation, zone.east_seconds, zone.is_summer});
  return rows;
}

std::vector<SystemRow> time_zone_abbreviations(const Catalog&) {
  std::vector<SystemRow> rows;
  for (const KnownAbbreviation& one : known_abbreviations())
    rows.push_back({one.name, one.east_seconds, one.is_summer});
  return rows;
}

struct EmptyTable {
  std::string_view name;
  std::string_view columns;
};
// Of what there is nothing here: tools look whether there is.
constexpr EmptyTable kEmptyTables[] = {
    {"pg_conversion",
     "oid:int8 conname connamespace:int8 conowner:int8 conforencoding:int4 contoencoding:int4 "
     "conproc:int8 condefault:bool"},
    {"pg_default_acl", "oid:int8 defaclrole:int8 defaclnamespace:int8 defaclobjtype defaclacl:text[]"},
    {"pg_event_trigger", "oid:int8 evtname evtevent evtowner:int8 evtfoid:int8 evtenabled evttags:text[]"},
    {"pg_prepared_xacts", "transaction gid prepared:timestamptz owner database"},
    {"pg_rules", "schemaname tablename rulename definition"},
    {"pg_seclabels", "objoid:int8 classoid:int8 objsubid:int4 objtype objnamespace:int8 objname provider label"},
    {"pg_stat_user_functions", "funcid:int8 schemaname funcname calls:int8 total_time:float8 self_time:float8"},
    {"pg_largeobject_metadata", "oid:int8 lomowner:int8 lomacl:text[]"},
    {"pg_parameter_acl", "oid:int8 parname paracl:text[]"},
    {"pg_policy", "oid:int8 polname polrelid:int8 polcmd polpermissive:bool polroles:int8[] polqual polwithcheck"},
    {"pg_policies", "schemaname tablename policyname permissive roles:text[] cmd qual with_check"},
    {"pg_publication",
     "oid:int8 pubname pubowner:int8 puballtables:bool pubinsert:bool pubupdate:bool pubdelete:bool "
     "pubtruncate:bool pubviaroot:bool"},
    {"pg_publication_namespace", "oid:int8 pnpubid:int8 pnnspid:int8"},
    {"pg_publication_rel", "oid:int8 prpubid:int8 prrelid:int8 prqual prattrs:vector"},
    {"pg_shdescription", "objoid:int8 classoid:int8 description"},
    {"pg_statistic_ext",
     "oid:int8 stxrelid:int8 stxname stxnamespace:int8 stxowner:int8 stxstattarget:int4 "
     "stxkeys:vector stxkind:text[] stxexprs"},
    {"pg_subscription",
     "oid:int8 subdbid:int8 subname subowner:int8 subenabled:bool subbinary:bool substream:bool "
     "subconninfo subslotname subsynccommit subpublications:text[] subtwophasestate subdisableonerr:bool"},
    {"pg_init_privs", "objoid:int8 classoid:int8 objsubid:int4 privtype initprivs:text[]"},
    {"pg_transform", "oid:int8 trftype:int8 trflang:int8 trffromsql:regproc trftosql:regproc"},
    {"pg_user_mappings", "umid:int8 srvid:int8 srvname umuser:int8 usename umoptions:text[]"},
};

}  // namespace

std::vector<SystemTable> pg_catalog_tables() {
  constexpr std::string_view kSchema = "pg_catalog";
  std::vector<SystemTable> tables = {
      {kSchema, "pg_namespace", columns_of("oid:int8 nspname nspowner:int8 nspacl:text[]"), namespaces},
      {kSchema, "pg_type",
       columns_of("oid:int8 typname typnamespace:int8 typowner:int8 typlen:int2 typbyval:bool typtype typcategory "
                  "typispreferred:bool typisdefined:bool typdelim typrelid:int8 typsubscript:regproc typelem:int8 "
                  "typarray:int8 typinput:regproc typoutput:regproc typreceive:regproc typsend:regproc "
                  "typmodin:regproc typmodout:regproc typanalyze:regproc typalign typstorage typnotnull:bool "
                  "typbasetype:int8 typtypmod:int4 typndims:int4 typcollation:int8 typdefaultbin typdefault "
                  "typacl:text[]"),
       types},
      {kSchema, "pg_enum", columns_of("oid:int8 enumtypid:int8 enumsortorder:float4 enumlabel"), enum_labels},
      {kSchema, "pg_collation",
       columns_of("oid:int8 collname collnamespace:int8 collowner:int8 collprovider collisdeterministic:bool "
                  "collencoding:int4 collcollate collctype colliculocale collversion"),
       collations},
      {kSchema, "pg_database",
       columns_of("oid:int8 datname datdba:int8 encoding:int4 datlocprovider datistemplate:bool datallowconn:bool "
                  "datconnlimit:int4 dattablespace:int8 datcollate datctype daticulocale datcollversion datacl:text[]"),
       databases},
      {kSchema, "pg_roles",
       columns_of("oid:int8 rolname rolsuper:bool rolcanlogin:bool rolinherit:bool rolcreaterole:bool rolcreatedb:bool "
                  "rolreplication:bool rolconnlimit:int4 rolpassword rolvaliduntil:timestamptz rolbypassrls:bool "
                  "rolconfig:text[]"),
       roles},
      {kSchema, "pg_user",
       columns_of("usename usesysid:int8 usecreatedb:bool usesuper:bool userepl:bool usebypassrls:bool passwd "
                  "valuntil:timestamptz useconfig:text[]"),
       users},
      {kSchema, "pg_db_role_setting", columns_of("setdatabase:int8 setrole:int8 setconfig:text[]"), initial_settings},
      {kSchema, "pg_auth_members", columns_of("roleid:int8 member:int8 grantor:int8 admin_option:bool"), members},
      {kSchema, "pg_range", columns_of("rngtypid:int8 rngsubtype:int8 rngmultitypid:int8 rngcollation:int8"), ranges},
      {kSchema, "pg_am", columns_of("oid:int8 amname amhandler:regproc amtype"), access_methods},
      {kSchema, "pg_tablespace", columns_of("oid:int8 spcname spcowner:int8 spcacl:text[] spcoptions:text[]"),
       tablespaces},
      {kSchema, "pg_extension",
       columns_of("oid:int8 extname extowner:int8 extnamespace:int8 extrelocatable:bool extversion extconfig:int8[] "
                  "extcondition:text[]"),
       extensions},
      {kSchema, "pg_available_extensions", columns_of("name default_version installed_version comment"),
       available_extensions},
      {kSchema, "pg_available_extension_versions",
       columns_of("name version installed:bool superuser:bool trusted:bool relocatable:bool schema requires:text[] "
                  "comment"),
       extension_versions},
      {kSchema, "pg_foreign_data_wrapper",
       columns_of("oid:int8 fdwname fdwowner:int8 fdwhandler:int8 fdwvalidator:int8 fdwacl:text[] fdwoptions:text[]"),
       foreign_wrappers},
      {kSchema, "pg_foreign_server",
       columns_of("oid:int8 srvname srvowner:int8 srvfdw:int8 srvtype srvversion srvacl:text[] srvoptions:text[]"),
       foreign_servers},
      {kSchema, "pg_settings",
       columns_of("name setting unit category short_desc extra_desc context vartype source min_val max_val "
                  "enumvals:text[] boot_val reset_val sourcefile sourceline:int4 pending_restart:bool"),
       setting_list},
      {kSchema, "scyper_time_zones", columns_of("name abbrev seconds:int4 is_dst:bool"), time_zones},
      {kSchema, "scyper_time_zone_abbrevs", columns_of("abbrev seconds:int4 is_dst:bool"), time_zone_abbreviations},
      {kSchema, "pg_foreign_table", columns_of("ftrelid:int8 ftserver:int8 ftoptions:text[]"), foreign_tables},
  };
  for (SystemTable& table : partition_tables()) tables.push_back(std::move(table));
  for (const EmptyTable& table : kEmptyTables)
    tables.push_back({kSchema, table.name, columns_of(table.columns), nothing});
  return tables;
}

}  // namespace scyper::query
