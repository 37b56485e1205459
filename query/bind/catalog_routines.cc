#include <algorithm>
#include <bit>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/object_name.h"
#include "bind/builtin_catalog.h"
#include "bind/object_text.h"
#include "bind/system_types.h"
#include "bind/type_functions.h"
#include "parse/printer.h"
#include "parse/sql_parser.h"
#include "query/polymorphic.h"
#include "query/search_path.h"
#include "query/settings.h"

// pg_proc, and what functions say of routines.
namespace scyper::query {

namespace {

using T = TypeId;

constexpr int64_t kVoidOid = 2278, kTriggerOid = 2279, kAnyElementOid = 2283, kAnyArrayOid = 2277, kAnyRangeOid = 3831,
                  kAnyMultirangeOid = 4537, kSqlOid = 14, kInternalOid = 12, kPlpgsqlOid = 13575,
                  kCallHandlerOid = 13560;

int64_t parameter_oid(const SqlType& type, const std::string& relation, uint32_t domain = 0) {
  if (domain != 0) return domain_oid(domain);
  if (is_any_range(type)) return kAnyRangeOid;
  if (is_any_multirange(type)) return kAnyMultirangeOid;
  if (relation.empty() && type.id == T::kUnknown) return kAnyElementOid;
  if (type.id == T::kArray && type.element == T::kUnknown) return kAnyArrayOid;
  return type_oid(type);
}

template <class Items>
std::string array_text(const Items& items) {
  return absl::StrCat("{", absl::StrJoin(items, ","), "}");
}

// Of an oidvector.
std::string vector_text(const std::vector<int64_t>& numbers) {
  if (numbers.empty()) return "{}";
  return absl::StrCat("[0:", static_cast<int64_t>(numbers.size()) - 1, "]=", array_text(numbers));
}

std::string quoted_element(const std::string& text) {
  std::string out = "\"";
  for (char c : text) out += c == '"' || c == '\\' ? std::string("\\") + c : std::string(1, c);
  return out + "\"";
}

// As CREATE FUNCTION had it: what runs for LANGUAGE sql is made of that text.
std::string written_source(const Routine& routine) {
  const std::string body(without_search_path(routine.body));
  if (!routine.is_sql) return body;
  auto statements = parse_sql(routine.definition, TextOf::kSystem);
  if (!statements.ok() || statements->size() != 1) return body;
  const auto* create = ast::node_if<ast::CreateRoutineStatement>((*statements)[0].get());
  if (create == nullptr) return body;
  std::string text = create->body;
  for (const auto& statement : create->sql_body) absl::StrAppend(&text, to_sql(*statement), ";\n");
  return text;
}

// proconfig: what SET of its definition says.
SystemValue settings_of(const Routine& routine) {
  std::vector<std::string> schemas, settings;
  take_search_path(routine.body, &schemas);
  for (std::string& schema : schemas) schema = quote_identifier(schema);
  if (!schemas.empty()) settings.push_back(quoted_element("search_path=" + absl::StrJoin(schemas, ", ")));
  if (const std::string_view zone = time_zone_of(routine.body); !zone.empty())
    settings.push_back(quoted_element("TimeZone=" + std::string(zone)));
  return settings.empty() ? SystemValue() : SystemValue(array_text(settings));
}

SystemRow routine_row(const Catalog& catalog, const std::string& key, const Routine& routine) {
  std::vector<int64_t> inputs, all;
  std::vector<std::string> modes, names;
  std::string default_texts;
  size_t defaults = 0;
  bool has_names = false, has_outputs = false;
  int64_t variadic = 0;
  for (const RoutineParameter& p : routine.parameters) {
    const int64_t oid = parameter_oid(p.type, p.relation, p.domain);
    const bool is_output = p.mode == ParameterMode::kOut;
    if (!is_output) inputs.push_back(oid);
    all.push_back(oid);
    defaults += p.has_default ? 1 : 0;
    if (p.has_default) absl::StrAppend(&default_texts, default_texts.empty() ? "" : ", ", p.default_text);
    has_names |= !p.name.empty();
    has_outputs |= p.mode != ParameterMode::kIn || p.variadic;
    if (p.variadic && p.type.id == T::kArray) variadic = parameter_oid(element_of(p.type), "");
    modes.push_back(p.variadic                         ? "v"
                    : is_output && routine.returns_set ? "t"
                    : is_output                        ? "o"
                    : p.mode == ParameterMode::kInOut  ? "b"
                                                       : "i");
    names.push_back(quoted_element(p.name));
  }
  const int64_t result = routine.procedure ? (has_outputs ? int64_t{2249} : kVoidOid)
                         : routine.is_trigger
                             ? kTriggerOid
                             : parameter_oid(routine.return_type, routine.return_relation, routine.return_domain);
  return {routine_oid(routine),
          std::string(bare_name(key)),
          schema_oid(catalog, key),
          int64_t{routine.access.owner},
          routine.is_sql ? kSqlOid : kPlpgsqlOid,
          std::bit_cast<int64_t>(100.0),
          std::bit_cast<int64_t>(routine.returns_set ? 1000.0 : 0.0),
          variadic,
          int64_t{0},
          routine.procedure ? "p" : "f",
          routine.is_definer,
          false,
          routine.strict,
          routine.returns_set,
          routine.is_immutable  ? "i"
          : routine.is_volatile ? "v"
                                : "s",
          "u",
          routine.input_count(),
          defaults,
          result,
          vector_text(inputs),
          has_outputs ? SystemValue(array_text(all)) : SystemValue(),
          has_outputs ? SystemValue(array_text(modes)) : SystemValue(),
          has_names ? SystemValue(array_text(names)) : SystemValue(),
          defaults > 0 ? SystemValue(default_texts) : SystemValue(),
          SystemValue(),
          written_source(routine),
          SystemValue(),
          SystemValue(),
          settings_of(routine),
          access_value(routine.access, catalog)};
}

SystemRow type_function_row(const TypeFunction& function) {
  return {function.oid,
          function.name,
          kCatalogSchemaOid,
          kOwnerOid,
          kInternalOid,
          std::bit_cast<int64_t>(1.0),
          std::bit_cast<int64_t>(0.0),
          int64_t{0},
          int64_t{0},
          "f",
          false,
          false,
          true,
          false,
          "i",
          "s",
          function.arguments.size(),
          size_t{0},
          function.result,
          vector_text(function.arguments),
          SystemValue(),
          SystemValue(),
          SystemValue(),
          SystemValue(),
          SystemValue(),
          function.name,
          SystemValue(),
          SystemValue(),
          SystemValue(),
          SystemValue()};
}

bool is_builtin(int64_t oid) {
  return std::ranges::any_of(builtin_functions(), [&](const BuiltinFunction& known) { return known.oid == oid; });
}

std::vector<SystemRow> routines(const Catalog& catalog) {
  std::vector<SystemRow> rows;
  for (const TypeFunction& function : all_type_functions())
    if (!is_builtin(function.oid)) rows.push_back(type_function_row(function));
  for (const auto& [name, routine] : catalog.routines) rows.push_back(routine_row(catalog, name, *routine));
  return rows;
}

std::string declared_type(const Catalog& catalog, const SqlType& type, const std::string& relation, uint32_t domain) {
  const Domain* of = catalog.find_domain(domain);
  return of == nullptr ? parameter_type_name(type, relation) : quote_identifier(of->name);
}

std::string parameter_text(const Catalog& catalog, const RoutineParameter& parameter, bool procedure,
                           bool has_default) {
  std::string text = parameter.variadic                        ? "VARIADIC "
                     : parameter.mode == ParameterMode::kOut   ? "OUT "
                     : parameter.mode == ParameterMode::kInOut ? "INOUT "
                     : procedure                               ? "IN "
                                                               : "";
  if (!parameter.name.empty()) text += quote_identifier(parameter.name) + " ";
  text += declared_type(catalog, parameter.type, parameter.relation, parameter.domain);
  return has_default && parameter.has_default ? text + " DEFAULT " + parameter.default_text : text;
}

// What a set of rows with OUT parameters returns: they are its columns, and not among the arguments.
bool returns_table(const Routine& routine) {
  return routine.returns_set && routine.input_count() < routine.parameters.size();
}

std::string arguments_text(const Catalog& catalog, const Routine& routine, bool is_identity) {
  std::string text;
  for (const RoutineParameter& parameter : routine.parameters) {
    if (parameter.mode == ParameterMode::kOut && returns_table(routine)) continue;
    text += (text.empty() ? "" : ", ") + parameter_text(catalog, parameter, routine.procedure, !is_identity);
  }
  return text;
}

SystemValue result_text(const Catalog& catalog, const Routine& routine) {
  if (routine.procedure) return {};
  if (routine.is_trigger) return "trigger";
  const std::string type = declared_type(catalog, routine.return_type, routine.return_relation, routine.return_domain);
  if (!returns_table(routine)) return (routine.returns_set ? "SETOF " : "") + type;
  std::string columns;
  for (const RoutineParameter& parameter : routine.parameters) {
    if (parameter.mode != ParameterMode::kOut) continue;
    columns += (columns.empty() ? "" : ", ") + quote_identifier(parameter.name) + " " +
               declared_type(catalog, parameter.type, parameter.relation, parameter.domain);
  }
  return "TABLE(" + columns + ")";
}

// pg_get_functiondef(). A body that is no text stays as it was written.
std::string definition_text(const Catalog& catalog, const Routine& routine) {
  const std::string source = written_source(routine);
  const bool is_text = routine.definition.find(source) != std::string::npos || !routine.is_sql;
  return is_text ? routine_source(catalog, routine, source) : routine.definition;
}

std::vector<SystemRow> routine_texts(const Catalog& catalog) {
  std::vector<SystemRow> rows;
  for (const auto& [name, routine] : catalog.routines)
    rows.push_back({routine_oid(*routine), result_text(catalog, *routine), arguments_text(catalog, *routine, false),
                    arguments_text(catalog, *routine, true), definition_text(catalog, *routine)});
  return rows;
}

std::vector<SystemRow> languages(const Catalog&) {
  const auto row = [](int64_t oid, const char* name, bool is_procedural, bool is_trusted) -> SystemRow {
    const int64_t call = is_procedural ? kCallHandlerOid : 0;  // inline and validator have the next numbers
    return {oid,
            name,
            kOwnerOid,
            is_procedural,
            is_trusted,
            call,
            is_procedural ? call + 1 : 0,
            is_procedural ? call + 2 : 0,
            SystemValue()};
  };
  return {row(12, "internal", false, false), row(13, "c", false, false), row(kSqlOid, "sql", false, true),
          row(kPlpgsqlOid, "plpgsql", true, true)};
}

}  // namespace

std::string routine_source(const Catalog& catalog, const Routine& routine, std::string_view body) {
  const char* kind = routine.procedure ? "PROCEDURE" : "FUNCTION";
  std::string text = absl::StrCat(
      "CREATE OR REPLACE ", kind, " ", quote_identifier(std::string(schema_of(routine.name))), ".",
      quote_identifier(std::string(bare_name(routine.name))), "(", arguments_text(catalog, routine, false), ")\n");
  if (!routine.procedure) absl::StrAppend(&text, " RETURNS ", result_text(catalog, routine).text, "\n");
  absl::StrAppend(&text, " LANGUAGE ", routine.is_sql ? "sql" : "plpgsql", "\n");
  std::string attributes = routine.is_immutable ? " IMMUTABLE" : routine.is_volatile ? "" : " STABLE";
  attributes += routine.strict ? " STRICT" : "";
  attributes += routine.is_definer ? " SECURITY DEFINER" : "";
  if (!attributes.empty()) absl::StrAppend(&text, attributes, "\n");
  std::vector<std::string> schemas;
  take_search_path(routine.body, &schemas);
  for (std::string& schema : schemas) schema = quote_literal(schema);
  if (!schemas.empty()) absl::StrAppend(&text, " SET search_path TO ", absl::StrJoin(schemas, ", "), "\n");
  for (const auto& [name, value] : time_settings_of(time_zone_of(routine.body)))
    if (!value.empty()) absl::StrAppend(&text, " SET ", quote_identifier(name), " TO ", quote_literal(value), "\n");
  std::string mark = routine.procedure ? "$procedure" : "$function";
  while (body.find(mark) != std::string_view::npos) mark += "x";
  return absl::StrCat(text, "AS ", mark, "$", std::string(body), mark, "$\n");
}

std::string parameter_type_name(const SqlType& type, const std::string& relation) {
  if (!relation.empty()) return quote_identifier(relation);
  return is_polymorphic(type) ? polymorphic_name(type) : type_name(without_modifiers(type));
}

std::vector<SystemTable> catalog_routine_tables() {
  constexpr std::string_view kSchema = "pg_catalog";
  return {
      {kSchema, "scyper_routines",
       columns_of("oid:int8 proname pronamespace:int8 proowner:int8 prolang:int8 procost:float4 prorows:float4 "
                  "provariadic:int8 prosupport:int8 prokind prosecdef:bool proleakproof:bool proisstrict:bool "
                  "proretset:bool "
                  "provolatile proparallel pronargs:int2 pronargdefaults:int2 prorettype:int8 proargtypes:int8[] "
                  "proallargtypes:int8[] proargmodes:text[] proargnames:text[] proargdefaults "
                  "protrftypes:int8[] prosrc probin prosqlbody proconfig:text[] "
                  "proacl:text[]"),
       routines},
      {kSchema, "pg_language",
       columns_of("oid:int8 lanname lanowner:int8 lanispl:bool lanpltrusted:bool lanplcallfoid:int8 laninline:int8 "
                  "lanvalidator:int8 lanacl:text[]"),
       languages},
      {kSchema, "scyper_own_routine_texts",
       columns_of("scyper_oid:int8 scyper_result scyper_arguments scyper_identity_arguments scyper_definition"),
       routine_texts},
  };
}

}  // namespace scyper::query
