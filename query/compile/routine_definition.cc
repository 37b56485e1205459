#include <algorithm>

#include "absl/strings/str_cat.h"
#include "bind/binder.h"
#include "bind/object_numbers.h"
#include "compile/definition.h"
#include "compile/routine_settings.h"
#include "compile/search_path.h"
#include "compile/sql_routine.h"
#include "parse/plpgsql_parser.h"
#include "parse/printer.h"
#include "parse/text.h"
#include "parse/type_resolver.h"
#include "query/access.h"
#include "query/polymorphic.h"
#include "query/search_path.h"
#include "query/settings.h"
#include "storage/json_text_type.h"

// CREATE and DROP of procedures and functions.
namespace scyper::query {

namespace {
// "integer,text": as regprocedure shows them.
std::string input_types_of(const Routine& routine) {
  std::string types;
  for (const auto& p : routine.parameters)
    if (p.mode != ParameterMode::kOut) absl::StrAppend(&types, types.empty() ? "" : ",", type_name(p.type));
  return types;
}

// Lengths and precisions of parameters and results are not kept, as in PostgreSQL.
void drop_modifiers(SqlType* type) { *type = plain_type(*type); }
}  // namespace

Status Definer::check_routine(const ast::CreateRoutineStatement& create) const {
  if (create.language != "plpgsql" && create.language != "sql" && create.sql_body.empty()) {
    if (create.language.empty()) return error("42P13", "no language specified", -1);
    if (create.language != "c" && create.language != "internal")
      return error("42704", absl::StrCat("language \"", create.language, "\" does not exist"), -1);
    return error("0A000", absl::StrCat("language \"", create.language, "\" is not supported"), -1);
  }
  if (!create.has_body && create.sql_body.empty()) return error("42P13", "no function body specified", -1);
  return absl::OkStatus();
}

namespace {
// What a polymorphic type name stands for (catalog.h); false: none.
bool find_polymorphic(const ast::TypeName& type, SqlType* out) {
  const std::string& name = type.name.back();
  if (name == "anyelement" || name == "anynonarray" || name == "anycompatible" || name == "anycompatiblenonarray")
    *out = any_element();
  else if (name == "anyarray" || name == "anycompatiblearray")
    *out = any_array();
  else if (name == "anyrange" || name == "anycompatiblerange")
    *out = any_range();
  else if (name == "anymultirange" || name == "anycompatiblemultirange")
    *out = any_multirange();
  else
    return false;
  return type.name.size() == 1;
}
}  // namespace

// Types of parameters and results. A table's name stands for its rows: kRecord, the name goes to *relation.
StatusOr<SqlType> Definer::routine_type(const ast::TypeName& type, std::string* relation, uint32_t* domain) const {
  const Catalog& catalog = next_ == nullptr ? *old_ : *next_;
  SqlType resolved;
  if (find_polymorphic(type, &resolved)) return resolved;
  if (const auto known = catalog_type(type); known.has_value()) return *known;
  if (type.percent_type && type.name.size() >= 2) {
    const std::string& name = type.name[type.name.size() - 2];
    auto table = catalog.find_table(name);
    if (table == nullptr) return error("42P01", absl::StrCat("relation \"", name, "\" does not exist"), -1);
    const auto rules = catalog.rules.find(table->schema().id);
    for (const auto& column : table->schema().columns) {
      if (column.name != type.name.back()) continue;
      const auto number = static_cast<size_t>(&column - table->schema().columns.data());
      if (rules != catalog.rules.end()) *domain = rules->second.columns[number].domain;
      resolved = column.type;
      drop_modifiers(&resolved);
      return resolved;
    }
    return error("42703", absl::StrCat("column \"", type.name.back(), "\" of relation \"", name, "\" does not exist"),
                 -1);
  }
  auto found = resolve_type(type, text_, catalog.user_types());
  bool is_relation = catalog.find_table(type.name.back()) != nullptr || catalog.views.count(type.name.back()) != 0;
  if (!found.ok() && is_relation && sqlstate_of(found.status()) == "42704" && type.array_bounds.empty()) {
    *relation = type.name.back();
    return make_type(TypeId::kRecord);
  }
  if (!found.ok()) return found;
  if (const Domain* named = named_domain(type, catalog.user_types()); named != nullptr) {
    *domain = named->id;
    return found;
  }
  drop_modifiers(&*found);
  return *found;
}

Status Definer::define_parameters(const ast::CreateRoutineStatement& create, Routine* routine) const {
  bool defaults = false;
  for (const auto& p : create.parameters) {
    RoutineParameter parameter;
    parameter.name = p.name;
    bool is_output = p.mode == ast::ParameterMode::kOut || p.mode == ast::ParameterMode::kTable;
    parameter.variadic = p.mode == ast::ParameterMode::kVariadic;
    parameter.mode = is_output                              ? ParameterMode::kOut
                     : p.mode == ast::ParameterMode::kInOut ? ParameterMode::kInOut
                                                            : ParameterMode::kIn;
    SCYPER_ASSIGN_OR_RETURN(parameter.type, routine_type(p.type, &parameter.relation, &parameter.domain));
    if (parameter.variadic && parameter.type.id != TypeId::kArray)
      return error("42P13", "VARIADIC parameter must be an array", -1);
    if (parameter.type.id == TypeId::kRecord && parameter.relation.empty())
      return error("0A000", "parameters of type record are not supported", p.location);
    if (p.default_value != nullptr) {
      parameter.default_text = to_sql(*p.default_value);
      parameter.has_default = defaults = true;
    } else if (defaults && parameter.mode != ParameterMode::kOut) {
      return error("42P13",
                   create.procedure
                       ? "procedure parameters after one with a default value must also have default values"
                       : "input parameters after one with a default value must also have defaults",
                   -1);
    }
    for (const auto& other : routine->parameters)
      if (!p.name.empty() && other.name == p.name)
        return error("42P13", absl::StrCat("parameter name \"", p.name, "\" used more than once"), -1);
    routine->parameters.push_back(std::move(parameter));
  }
  return absl::OkStatus();
}

namespace {
struct PolymorphicFamily {
  std::initializer_list<std::string_view> results, inputs;
  std::string_view shown;
};

// A polymorphic result needs a parameter that says what it stands for.
Status check_polymorphic_result(const ast::CreateRoutineStatement& create, const ast::TypeName& result) {
  static constexpr PolymorphicFamily kFamilies[] = {
      {{"anyrange", "anymultirange"}, {"anyrange", "anymultirange"}, "anyrange or anymultirange"},
      {{"anycompatiblerange", "anycompatiblemultirange"},
       {"anycompatiblerange", "anycompatiblemultirange"},
       "anycompatiblerange or anycompatiblemultirange"},
      {{"anyelement", "anyarray", "anynonarray", "anyenum"},
       {"anyelement", "anyarray", "anynonarray", "anyenum", "anyrange", "anymultirange"},
       "anyelement, anyarray, anynonarray, anyenum, anyrange, or anymultirange"},
      {{"anycompatible", "anycompatiblearray", "anycompatiblenonarray"},
       {"anycompatible", "anycompatiblearray", "anycompatiblenonarray", "anycompatiblerange",
        "anycompatiblemultirange"},
       "anycompatible, anycompatiblearray, anycompatiblenonarray, anycompatiblerange, or anycompatiblemultirange"},
  };
  const auto is_one_of = [](const ast::TypeName& type, std::initializer_list<std::string_view> names) {
    return type.name.size() == 1 && std::find(names.begin(), names.end(), type.name.back()) != names.end();
  };
  for (const PolymorphicFamily& family : kFamilies) {
    if (!is_one_of(result, family.results)) continue;
    const bool is_known = std::any_of(create.parameters.begin(), create.parameters.end(), [&](const auto& p) {
      return p.mode != ast::ParameterMode::kOut && p.mode != ast::ParameterMode::kTable &&
             is_one_of(p.type, family.inputs);
    });
    if (!is_known)
      return with_detail(sql_error("42P13", "cannot determine result data type"),
                         absl::StrCat("A result of type ", result.name.back(), " requires at least one input of type ",
                                      std::string(family.shown), "."));
  }
  return absl::OkStatus();
}
}  // namespace

Status Definer::define_result(const ast::CreateRoutineStatement& create, Routine* routine) const {
  for (const auto& p : create.parameters)
    if (p.mode == ast::ParameterMode::kOut || p.mode == ast::ParameterMode::kTable)
      SCYPER_RETURN_IF_ERROR(check_polymorphic_result(create, p.type));
  if (create.return_type != nullptr) SCYPER_RETURN_IF_ERROR(check_polymorphic_result(create, *create.return_type));
  routine->return_type = make_type(TypeId::kVoid);
  if (create.procedure) return absl::OkStatus();
  routine->returns_set = create.returns_table || (create.return_type != nullptr && create.return_type->setof);
  const RoutineParameter* output = nullptr;
  size_t outs = 0;
  for (const auto& p : routine->parameters)
    if (p.mode != ParameterMode::kIn) outs++, output = &p;
  SqlType implied = outs == 1 ? output->type : make_type(TypeId::kRecord);
  if (create.return_type == nullptr) {
    if (outs == 0) return error("42P13", "function result type must be specified", -1);
    if (outs == 1) routine->return_relation = output->relation;
    if (outs == 1) routine->return_domain = output->domain;
    routine->return_type = implied;
    return absl::OkStatus();
  }
  if (create.return_type->name.back() == "trigger" && create.return_type->name.size() == 1) {
    if (!routine->parameters.empty())
      return with_hint(error("42P13", "trigger functions cannot have declared arguments", -1),
                       "The arguments of the trigger can be accessed through TG_NARGS and TG_ARGV instead.");
    routine->is_trigger = true;
    return absl::OkStatus();
  }
  SCYPER_ASSIGN_OR_RETURN(routine->return_type,
                          routine_type(*create.return_type, &routine->return_relation, &routine->return_domain));
  if (outs > 0 && routine->return_type != implied)
    return error("42P13",
                 absl::StrCat("function result type must be ", outs == 1 ? type_name(implied) : "record",
                              " because of OUT parameters"),
                 -1);
  return absl::OkStatus();
}

namespace {
// What callers may have written stays: the names of input parameters, and that some can be left out.
Status check_parameters_kept(const Routine& old, const Routine& routine) {
  const auto inputs = [](const Routine& r) {
    std::vector<const RoutineParameter*> out;
    for (const auto& p : r.parameters)
      if (p.mode != ParameterMode::kOut) out.push_back(&p);
    return out;
  };
  const std::string hint = absl::StrCat("Use DROP ", routine.procedure ? "PROCEDURE " : "FUNCTION ", old.name, "(",
                                        input_types_of(old), ") first.");
  const auto before = inputs(old), after = inputs(routine);
  for (size_t i = 0; i < before.size(); i++) {
    if (before[i]->name.empty() || (i < after.size() && after[i]->name == before[i]->name)) continue;
    return with_hint(
        sql_error("42P13", absl::StrCat("cannot change name of input parameter \"", before[i]->name, "\"")), hint);
  }
  for (size_t i = 0; i < before.size(); i++) {
    if (!before[i]->has_default || after[i]->has_default) continue;
    return with_hint(sql_error("42P13", "cannot remove parameter defaults from existing function"), hint);
  }
  return absl::OkStatus();
}
}  // namespace

// Takes the routine that OR REPLACE replaces out of the next catalog.
// The routine has the access of the one that it replaces.
Status Definer::remove_replaced(const ast::CreateRoutineStatement& create, Routine* routine) {
  auto inputs = [](const Routine& r) {
    std::vector<SqlType> types;
    for (const auto& p : r.parameters)
      if (p.mode != ParameterMode::kOut) types.push_back(p.type);
    return types;
  };
  auto range = next().routines.equal_range(routine->name);
  auto it = std::find_if(range.first, range.second,
                         [&](const auto& entry) { return inputs(*entry.second) == inputs(*routine); });
  if (it == range.second) return absl::OkStatus();
  if (!create.or_replace)
    return error("42723",
                 absl::StrCat(create.procedure ? "procedure" : "function", " \"", routine->name,
                              "\" already exists with same argument types"),
                 -1);
  if (it->second->procedure != routine->procedure) return error("42809", "cannot change routine kind", -1);
  auto result = [](const Routine& r) {
    std::string text = r.return_relation + (r.returns_set ? " set " : " ") + type_name(r.return_type);
    for (const auto& p : r.parameters)
      if (p.mode != ParameterMode::kIn) absl::StrAppend(&text, ",", p.name, " ", type_name(p.type));
    return text;
  };
  if (!routine->procedure && result(*it->second) != result(*routine))
    return with_hint(error("42P13", "cannot change return type of existing function", -1),
                     absl::StrCat("Use DROP FUNCTION ", signature_of(*it->second), " first."));
  SCYPER_RETURN_IF_ERROR(check_parameters_kept(*it->second, *routine));
  if (!owns(it->second->access, old_->roles, actor()))
    return error("42501",
                 absl::StrCat("must be owner of ", create.procedure ? "procedure " : "function ", routine->name), -1);
  routine->access = it->second->access;
  next().routines.erase(it);
  return absl::OkStatus();
}

namespace {
// A trial of the binding, as PostgreSQL's validator: finds what is wrong whatever the tables are. Not of trigger and
// polymorphic functions, whose types nobody knows yet.
Status check_body(const Catalog& catalog, const plpgsql::Body& body, const Routine& routine) {
  const bool polymorphic =
      is_polymorphic(routine.return_type) || std::any_of(routine.parameters.begin(), routine.parameters.end(),
                                                         [](const auto& p) { return is_polymorphic(p.type); });
  if (routine.is_trigger || routine.is_sql || polymorphic) return absl::OkStatus();
  const RoleScope nobody(nullptr);  // rights count when it is called
  Binder binder(catalog, routine.body);
  Status status = binder.bind_routine(routine, body).status();
  if (status.ok() || sqlstate_of(status) == "0A000") return absl::OkStatus();  // refused when it is called
  Status plain = sql_error(sqlstate_of(status), std::string(status.message()));
  if (std::string detail = detail_of(status); !detail.empty()) plain = with_detail(plain, detail);
  if (std::string hint = hint_of(status); !hint.empty()) plain = with_hint(plain, hint);
  return plain;
}
}  // namespace

std::string mark_of(const std::vector<std::pair<std::string, std::string>>& time_settings) {
  return time_mark([&](std::string_view name) {
    const auto found = std::find_if(time_settings.begin(), time_settings.end(),
                                    [&](const auto& setting) { return setting.first == name; });
    return found == time_settings.end() ? std::string() : found->second;
  });
}

Status read_routine_settings(const std::vector<ast::Option>& options, std::vector<std::string>* schemas,
                             std::string* zone) {
  constexpr std::string_view kSet = "set ";
  auto time = time_settings_of(*zone);
  for (const ast::Option& option : options) {
    if (!std::string_view(option.name).starts_with(kSet)) continue;
    const std::string name = option.name.substr(kSet.size());
    const Setting* setting = find_setting(name);
    if (setting == nullptr) {
      SCYPER_RETURN_IF_ERROR(check_custom_setting(name));
      return sql_error("0A000", absl::StrCat("SET ", name, " in a routine's definition is not supported"));
    }
    if (setting->kind == SettingKind::kRole || setting->kind == SettingKind::kSessionRole)
      return sql_error("0A000", "SET role in a routine's definition is not supported");
    SCYPER_ASSIGN_OR_RETURN(std::string value, read_setting(*setting, option.value));
    for (auto& [known, given] : time)
      if (setting->name == known) given = value;
    if (setting->kind != SettingKind::kPath) continue;
    SCYPER_ASSIGN_OR_RETURN(*schemas, schemas_of_path(option.value));
  }
  if (std::all_of(time.begin(), time.end(), [](const auto& one) { return one.second.empty(); }))
    return absl::OkStatus();
  *zone = mark_of(time);
  if (zone->empty()) *zone = kDefaultTimeZone;  // not empty: a mark of its own, whatever the caller has
  return absl::OkStatus();
}

Status Definer::create_routine(const ast::CreateRoutineStatement& create, ResultSet* result) {
  result->command_tag = create.procedure ? "CREATE PROCEDURE" : "CREATE FUNCTION";
  SCYPER_RETURN_IF_ERROR(check_routine(create));
  Routine routine;
  SCYPER_RETURN_IF_ERROR(check_schema({create.name.back()}));
  routine.name = create.name.back();
  routine.procedure = create.procedure;
  routine.strict = create.strict;
  routine.is_volatile = create.volatility == ast::Volatility::kVolatile;
  routine.is_immutable = create.volatility == ast::Volatility::kImmutable;
  routine.body = create.body;
  routine.definition =
      std::string(text_.substr(static_cast<size_t>(std::max(0, create.location)), static_cast<size_t>(create.length)));
  std::string zone;
  std::vector<std::string> search_path;  // of the definition, unless it sets one
  if (SessionPathScope::current != nullptr) search_path = path_of_routines(*SessionPathScope::current);
  SCYPER_RETURN_IF_ERROR(read_routine_settings(create.options, &search_path, &zone));
  SCYPER_RETURN_IF_ERROR(define_parameters(create, &routine));
  SCYPER_RETURN_IF_ERROR(define_result(create, &routine));
  auto note_type = [&](const ast::TypeName& written, const SqlType& type) {
    if (written.percent_type)
      result->notices.push_back(
          absl::StrCat("NOTICE:  type reference ", to_string(written), " converted to ", type_name(type)));
  };
  for (size_t i = 0; i < create.parameters.size(); i++)
    note_type(create.parameters[i].type, routine.parameters[i].type);
  if (create.return_type != nullptr) note_type(*create.return_type, routine.return_type);
  if (create.language == "sql" || !create.sql_body.empty()) {
    routine.is_sql = true;
    std::string text = create.body;
    for (const auto& statement : create.sql_body) absl::StrAppend(&text, to_sql(*statement), ";\n");
    SCYPER_ASSIGN_OR_RETURN(routine.body, plpgsql_of_sql(text, routine));
  }
  if (create.strict && create.procedure) return error("42P13", "invalid attribute in procedure definition", -1);
  // syntax is checked now, names when it is first called, as PostgreSQL does
  const SearchPath path(*old_, search_path);
  const SessionPathScope session(&search_path);
  auto parse = [&] {
    const NamePathScope names(path.get());
    return parse_plpgsql(routine.body);
  };
  auto parsed = parse();
  if (!parsed.ok()) {
    int position = position_of(parsed.status());
    int32_t base = create.body_location;
    return sql_error(sqlstate_of(parsed.status()), std::string(parsed.status().message()),
                     base >= 0 && position > 0 ? position_at(text_, base) + position - 1 : 0);
  }
  SCYPER_RETURN_IF_ERROR(check_body(*old_, **parsed, routine));
  routine.body = with_time_zone(zone, with_search_path(search_path, routine.body));
  routine.access.owner = actor().id;
  routine.is_definer = create.security_definer;
  SCYPER_RETURN_IF_ERROR(remove_replaced(create, &routine));
  routine.id = RoutineId(next().next_routine_id++);
  std::string name = routine.name;
  next().routines.emplace(name, std::make_shared<const Routine>(std::move(routine)));
  return absl::OkStatus();
}

std::string signature_of(const Routine& routine) {
  std::string text = routine.name + "(";
  for (size_t i = 0; i < routine.parameters.size(); i++) {
    const auto& p = routine.parameters[i];
    absl::StrAppend(&text, i == 0 ? "" : ", ",
                    p.mode == ParameterMode::kOut     ? "OUT "
                    : p.mode == ParameterMode::kInOut ? "INOUT "
                                                      : "",
                    p.name, p.name.empty() ? "" : " ", type_name(p.type));
  }
  return text + ")";
}

// The types that a reference to a routine gives.
StatusOr<std::vector<SqlType>> Definer::argument_types(const ast::ObjectRef& object) {
  std::vector<SqlType> wanted;
  for (const auto& argument : object.arguments) {
    SqlType polymorphic;
    if (find_polymorphic(argument.type, &polymorphic)) {
      wanted.push_back(polymorphic);
      continue;
    }
    SCYPER_ASSIGN_OR_RETURN(SqlType type, resolve_type(argument.type, text_, next().user_types()));
    wanted.push_back(type);
  }
  return wanted;
}

namespace {
// What tells routines of one name apart.
SqlType key_of_argument(const SqlType& type) { return is_polymorphic(type) ? type : without_modifiers(type); }
std::string name_of_argument(const SqlType& type) {
  return is_polymorphic(type) ? polymorphic_name(type) : type_name(make_type(type.id));
}
}  // namespace

// The only one that it means; the end of those of its name: there is none.
StatusOr<Definer::RoutinePlace> Definer::match_routine(ast::ObjectKind kind, const ast::ObjectRef& object,
                                                       const std::vector<SqlType>& wanted) {
  const std::string& name = object.name.back();
  auto range = next().routines.equal_range(name);
  auto found = range.second;
  for (auto it = range.first; it != range.second; ++it) {
    if (kind != ast::ObjectKind::kRoutine && it->second->procedure != (kind == ast::ObjectKind::kProcedure)) continue;
    std::vector<SqlType> all, inputs;
    for (const auto& p : it->second->parameters) {
      all.push_back(key_of_argument(p.type));
      if (p.mode != ParameterMode::kOut) inputs.push_back(key_of_argument(p.type));
    }
    std::vector<SqlType> given;
    for (const auto& type : wanted) given.push_back(key_of_argument(type));
    if (object.has_arguments && given != all && given != inputs) continue;
    if (found != range.second) return error("42725", absl::StrCat("function name \"", name, "\" is not unique"), -1);
    found = it;
  }
  return found;
}

// 42883: there is none.
StatusOr<Definer::RoutinePlace> Definer::find_routine(ast::ObjectKind kind, const ast::ObjectRef& object) {
  const std::string& name = object.name.back();
  SCYPER_ASSIGN_OR_RETURN(const std::vector<SqlType> wanted, argument_types(object));
  SCYPER_ASSIGN_OR_RETURN(const RoutinePlace found, match_routine(kind, object, wanted));
  if (found != next().routines.upper_bound(name)) return found;
  const char* word = kind == ast::ObjectKind::kProcedure ? "procedure" : "function";
  if (!object.has_arguments)
    return error("42883", absl::StrCat("could not find a ", word, " named \"", name, "\""), -1);
  std::string types;
  for (const SqlType& type : wanted) absl::StrAppend(&types, types.empty() ? "" : ", ", name_of_argument(type));
  return error("42883", absl::StrCat(word, " ", name, "(", types, ") does not exist"), -1);
}

Status Definer::drop_routine(const ast::DropStatement& drop, const ast::ObjectRef& object, ResultSet* result) {
  const std::string& name = object.name.back();
  SCYPER_ASSIGN_OR_RETURN(const std::vector<SqlType> wanted, argument_types(object));
  SCYPER_ASSIGN_OR_RETURN(const RoutinePlace found, match_routine(drop.object, object, wanted));
  auto range = next().routines.equal_range(name);
  if (found == range.second) {
    const char* kind = drop.object == ast::ObjectKind::kProcedure ? "procedure" : "function";
    std::string shown = name;
    if (object.has_arguments) {
      std::string types;
      for (const auto& argument : object.arguments)
        absl::StrAppend(&types, types.empty() ? "" : ", ", drop.if_exists ? to_string(argument.type) : "");
      if (!drop.if_exists) types.clear();
      for (size_t i = 0; !drop.if_exists && i < wanted.size(); i++)
        absl::StrAppend(&types, types.empty() ? "" : ", ", name_of_argument(wanted[i]));
      shown = absl::StrCat(name, "(", types, ")");
    }
    if (drop.if_exists) {
      result->notices.push_back(
          absl::StrCat("NOTICE:  ", kind, " ", shown, object.has_arguments ? "" : "()", " does not exist, skipping"));
      return absl::OkStatus();
    }
    // of these arguments, but of the other kind
    const bool is_other_kind = object.has_arguments && drop.object != ast::ObjectKind::kRoutine &&
                               std::any_of(range.first, range.second, [&](const auto& entry) {
                                 std::vector<SqlType> types, asked;
                                 for (const auto& parameter : entry.second->parameters)
                                   if (parameter.mode != ParameterMode::kOut)
                                     types.push_back(key_of_argument(parameter.type));
                                 for (const SqlType& type : wanted) asked.push_back(key_of_argument(type));
                                 return types == asked;
                               });
    if (is_other_kind) return error("42809", absl::StrCat(shown, " is not a ", kind), -1);
    if (!object.has_arguments)
      return error("42883", absl::StrCat("could not find a ", kind, " named \"", name, "\""), -1);
    return error("42883", absl::StrCat(kind, " ", shown, " does not exist"), -1);
  }
  const auto dropped = found->second;
  next().routines.erase(found);
  return drop_users_of(*dropped, drop, result);
}

}  // namespace scyper::query
