#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/object_name.h"
#include "bind/binder.h"
#include "bind/make.h"
#include "bind/names_on_path.h"
#include "bind/object_numbers.h"
#include "bind/object_text.h"
#include "bind/partition_catalog.h"
#include "bind/system_types.h"
#include "bind/view_target.h"
#include "parse/printer.h"
#include "parse/sql_parser.h"
#include "parse/type_resolver.h"
#include "runtime/byte_char.h"
#include "runtime/catalog_map.h"
#include "storage/name_type.h"

// Objects of the catalog as values: casts to regclass and its kin, and functions over objects. What the catalog version
// knows is a constant of the program.
namespace scyper::query {

namespace {

constexpr SqlType kText = make_type(TypeId::kText), kInt8 = make_type(TypeId::kInt8), kInt4 = make_type(TypeId::kInt4),
                  kBool = make_type(TypeId::kBool);

// What the catalog says. Numbers of objects are others where the statement is replayed, as after a definition that was
// rolled back: what a statement makes of them is logged as rows.
BoundPtr map_constant(BoundProgram* program, std::string map, int32_t location) {
  program->volatile_result = true;
  return make_text_constant(kText, std::move(map), location);
}

std::string map_of(const std::map<int64_t, std::string>& texts) {
  std::string map;
  for (const auto& [oid, text] : texts) add_entry(absl::StrCat(oid), text, &map);
  return map;
}

bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

std::vector<BoundPtr> list_of(BoundPtr a) {
  std::vector<BoundPtr> list;
  list.push_back(std::move(a));
  return list;
}

std::vector<BoundPtr> list_of(BoundPtr a, BoundPtr b) {
  std::vector<BoundPtr> list;
  list.push_back(std::move(a));
  list.push_back(std::move(b));
  return list;
}

// Functions that say something about objects: of which table of texts, and how many of the arguments count.
struct TextFunction {
  std::string_view name;
  size_t arguments_min, arguments_max;
  std::map<std::string, std::string> (*texts)(const Catalog&);  // by the arguments that count, with spaces between
  size_t keys;
};

std::map<std::string, std::string> visible_objects(const Catalog& catalog) {
  std::map<std::string, std::string> all;
  const std::vector<std::string> path = current_schemas(catalog);
  auto add = [&](int64_t oid, std::string_view key) {
    const bool is_on_path = std::find(path.begin(), path.end(), schema_of(key)) != path.end();
    all[absl::StrCat(oid)] = is_on_path ? "t" : "f";
  };
  for (const ObjectKind kind : {ObjectKind::kRelation, ObjectKind::kRoutine})
    for (const auto& [key, oid] : object_numbers(catalog, kind))
      if (!key.starts_with(kOnPath)) add(oid, key);
  for (const auto& [oid, name] : object_names(catalog, ObjectKind::kType)) all[absl::StrCat(oid)] = "t";
  for (const SystemTable& table : system_tables())
    all[absl::StrCat(system_table_oid(table.name))] = table.schema == "pg_catalog" ? "t" : "f";
  for (const auto& [key, type] : catalog.enums) add(enum_oid(type->number), key);
  for (const auto& [key, domain] : catalog.domains) add(domain_oid(domain->id), key);
  return all;
}

std::map<std::string, std::string> role_names(const Catalog& catalog) {
  std::map<std::string, std::string> all;
  for (const auto& [name, role] : catalog.roles.all()) all[absl::StrCat(role->id)] = name;
  return all;
}

constexpr TextFunction kTextFunctions[] = {
    {"pg_get_indexdef", 1, 3, index_texts, 3},
    {"pg_get_constraintdef", 1, 2, constraint_texts, 2},
    {"pg_get_viewdef", 1, 2, view_texts, 1},
    {"pg_get_partkeydef", 1, 1, partition_key_texts, 1},
    {"pg_get_partition_constraintdef", 1, 1, partition_constraint_texts, 1},
    {"pg_get_userbyid", 1, 1, role_names, 1},
    {"pg_relation_is_updatable", 2, 2, updatable_relation_texts, 2},
    {"pg_column_is_updatable", 3, 3, updatable_column_texts, 2},
    {"pg_get_triggerdef", 1, 2, trigger_texts, 2},
    {"obj_description", 1, 2, object_comments, 1},
    {"col_description", 2, 2, column_comments, 2},
    {"pg_table_is_visible", 1, 1, visible_objects, 1},
    {"pg_type_is_visible", 1, 1, visible_objects, 1},
    {"pg_function_is_visible", 1, 1, visible_objects, 1},
};

// Functions whose answer is the same whatever they are asked: there is nothing of that kind, or it is not told apart.
struct FixedFunction {
  std::string_view name;
  size_t arguments_min, arguments_max;
  TypeId type;
  std::string_view value;  // "": NULL
};
constexpr FixedFunction kFixedFunctions[] = {
    {"shobj_description", 2, 2, TypeId::kText, ""},
    {"pg_get_ruledef", 1, 2, TypeId::kText, ""},
    {"pg_get_function_sqlbody", 1, 1, TypeId::kText, ""},
    {"pg_get_statisticsobjdef_columns", 1, 1, TypeId::kText, ""},
    {"pg_relation_is_publishable", 1, 1, TypeId::kBool, "f"},
    {"pg_is_other_temp_schema", 1, 1, TypeId::kBool, "f"},
    {"pg_my_temp_schema", 0, 0, TypeId::kInt8, "0"},
    {"pg_opclass_is_visible", 1, 1, TypeId::kBool, "t"},
    {"pg_opfamily_is_visible", 1, 1, TypeId::kBool, "t"},
    {"pg_ts_config_is_visible", 1, 1, TypeId::kBool, "t"},
    {"pg_ts_dict_is_visible", 1, 1, TypeId::kBool, "t"},
    {"pg_ts_parser_is_visible", 1, 1, TypeId::kBool, "t"},
    {"pg_ts_template_is_visible", 1, 1, TypeId::kBool, "t"},
    {"pg_collation_is_visible", 1, 1, TypeId::kBool, "t"},
    {"pg_operator_is_visible", 1, 1, TypeId::kBool, "t"},
    {"pg_conversion_is_visible", 1, 1, TypeId::kBool, "t"},
    {"pg_statistics_obj_is_visible", 1, 1, TypeId::kBool, "t"},
    {"pg_is_in_recovery", 0, 0, TypeId::kBool, "f"},  // every node takes what writes
    {"pg_stat_get_numscans", 1, 1, TypeId::kInt8, "0"},
    {"getdatabaseencoding", 0, 0, TypeId::kText, "UTF8"},
    {"pg_table_size", 1, 1, TypeId::kInt8, ""},  // sizes are not known to the binder
    {"pg_relation_size", 1, 2, TypeId::kInt8, ""},
    {"pg_total_relation_size", 1, 1, TypeId::kInt8, ""},
    {"pg_indexes_size", 1, 1, TypeId::kInt8, ""},
    {"pg_database_size", 1, 1, TypeId::kInt8, ""},
    {"pg_tablespace_size", 1, 1, TypeId::kInt8, ""},
    {"has_database_privilege", 2, 3, TypeId::kBool, "t"},
    {"has_type_privilege", 2, 3, TypeId::kBool, "t"},
    {"pg_has_role", 2, 3, TypeId::kBool, "t"},
};

// A "char" is a text here: only the cast below another one tells that the number is the byte's.
bool is_number_of_char(const ast::Cast& expr) {
  const auto* inner = ast::node_if<ast::Cast>(expr.arg.get());
  if (inner == nullptr || inner->type.name.back() != "char" || !inner->type.array_bounds.empty()) return false;
  const std::string& name = expr.type.name.back();
  return expr.type.array_bounds.empty() && (name == "int4" || name == "int2" || name == "int8");
}

std::string no_cast(std::string_view from, std::string_view to) {
  return absl::StrCat("cannot cast type ", std::string(from), " to ", std::string(to));
}

template <class Function, size_t n>
const Function* find_function(const Function (&all)[n], std::string_view name, size_t arguments) {
  for (const Function& function : all)
    if (function.name == name && arguments >= function.arguments_min && arguments <= function.arguments_max)
      return &function;
  return nullptr;
}

// acldefault(kind, owner), by the owner and the kind's letter: the access list of an object of which nothing was
// granted or revoked.
std::string default_access_map(const Catalog& catalog) {
  // '@' stands for the owner
  static constexpr std::pair<char, const char*> kLists[] = {
      {'c', "{}"},           {'r', "{@=arwdDxt/@}"}, {'s', "{@=rwU/@}"}, {'d', "{=Tc/@,@=CTc/@}"},
      {'f', "{=X/@,@=X/@}"}, {'l', "{=U/@,@=U/@}"},  {'L', "{@=rw/@}"},  {'n', "{@=UC/@}"},
      {'p', "{@=sA/@}"},     {'t', "{@=C/@}"},       {'F', "{@=U/@}"},   {'S', "{@=U/@}"},
      {'T', "{=U/@,@=U/@}"}};
  std::string map;
  for (const auto& [kind, list] : kLists)
    for (const auto& [name, role] : catalog.roles.all()) {
      // the name as an element of the array's text
      const bool is_plain = name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == std::string::npos;
      const std::string shown = is_plain ? name : "\\\"" + name + "\\\"";
      std::string text = list;
      if (!is_plain && text != "{}") text = absl::StrReplaceAll(text, {{"{", "{\""}, {",", "\",\""}, {"}", "\"}"}});
      add_entry(absl::StrCat(role->id, " ", int{kind}), absl::StrReplaceAll(text, {{"@", shown}}), &map);
    }
  return map;
}

}  // namespace

// The number of the object that a literal names. Routines fail when they run, as in PostgreSQL.
StatusOr<BoundPtr> Binder::object_constant(ObjectKind kind, const std::string& text, int32_t location) {
  const SqlType type = number_type(kind);
  auto number = [&](int64_t value) { return make_constant(type, int_datum(value), location); };
  program_->volatile_result = true;
  if (is_number(text) && text.size() < 11) return number(std::strtoll(text.c_str(), nullptr, 10));
  if (text == "-") return number(0);
  const auto numbers = object_numbers(catalog_, kind);
  if (const std::string database = database_of_name(text); !database.empty() && database != catalog_.database.name) {
    const Status status = cross_database(text);
    return error(sqlstate_of(status), std::string(status.message()), location);
  }
  const std::string key = lookup_key(kind, text);
  if (kind == ObjectKind::kType) {
    auto parsed = parse_expression("NULL::" + text);
    const auto* cast = parsed.ok() ? ast::node_if<ast::Cast>(parsed->get()) : nullptr;
    int64_t oid = 0;
    if (cast != nullptr) {
      const Domain* domain = named_domain(cast->type, catalog_.user_types());
      const auto resolved = resolve_type(cast->type, "", catalog_.user_types());
      if (domain != nullptr && cast->type.array_bounds.empty())
        oid = domain_oid(domain->id);
      else if (resolved.ok())
        oid = type_oid(*resolved);
    }
    // a bare name is looked up in public here: search_path may find another type, or none
    const auto names = object_names(catalog_, kind);
    const auto shown = names.find(oid);
    const bool is_hidden =
        shown != names.end() && shown->second.find('.') != std::string::npos && text.find('.') == std::string::npos;
    if (oid != 0 && !is_hidden) return number(oid);
  }
  auto found = numbers.equal_range(key);
  if (found.first == found.second && !key.starts_with(kOnPath)) found = numbers.equal_range(text);
  if (found.first == found.second && program_->is_routine)
    return find_object(kind, make_text_constant(kText, text, location), true);
  if (found.first == found.second) {
    const Status unknown = unknown_object(text, static_cast<int64_t>(kind));
    return error(sqlstate_of(unknown), std::string(unknown.message()), location);
  }
  const bool is_one =
      std::all_of(found.first, found.second, [&](const auto& entry) { return entry.second == found.first->second; });
  if (!is_one) return error("42725", absl::StrCat("more than one function named \"", text, "\""), location);
  return number(found.first->second);
}

// Of a text that is known when the program runs. must_exist: else NULL where there is none.
StatusOr<BoundPtr> Binder::find_object(ObjectKind kind, BoundPtr text, bool must_exist) {
  std::string map;
  for (const auto& [name, oid] : object_numbers(catalog_, kind)) add_entry(name, absl::StrCat(oid), &map);
  add_entry("", catalog_.database.name, &map);
  const int32_t location = text->location;
  SCYPER_ASSIGN_OR_RETURN(text, coerce(std::move(text), kText, Coercion::kImplicit));
  std::vector<BoundPtr> args = list_of(map_constant(program_.get(), std::move(map), location), std::move(text));
  args.push_back(make_constant(kInt4, int_datum(static_cast<int64_t>(kind)), location));
  args.push_back(make_constant(kInt4, int_datum(must_exist ? 1 : 0), location));
  SCYPER_ASSIGN_OR_RETURN(BoundPtr number, make_call(" object number", std::move(args), location));
  return make_cast(std::move(number), number_type(kind), true);
}

StatusOr<BoundPtr> Binder::cast_to_object(ObjectKind kind, BoundPtr value) {
  const SqlType type = number_type(kind);
  const int32_t location = value->location;
  if (value->type == type) return value;
  const bool is_text = is_string(value->type.id) || value->type.id == TypeId::kUnknown;
  if (is_text && value->kind == BoundKind::kConst) {
    if (value->value.null) return make_null(type, location);
    return object_constant(kind, value->text, location);
  }
  if (is_text) return find_object(kind, std::move(value), true);
  if (!is_integer(value->type.id))
    return error("42846",
                 absl::StrCat("cannot cast type ", type_name(without_modifiers(value->type)), " to ",
                              std::string(name_of_kind(kind))),
                 location);
  SCYPER_ASSIGN_OR_RETURN(value, coerce(std::move(value), kInt8, Coercion::kExplicit));
  if (value->kind == BoundKind::kConst && !value->value.null) return make_constant(type, value->value, location);
  return make_cast(std::move(value), type, true);
}

// The name of an object whose number this is; "1 2" of an int2vector.
StatusOr<BoundPtr> Binder::object_text(ObjectKind kind, BoundPtr value) {
  const int32_t location = value->location;
  if (is_vector(kind)) {
    const SqlType element = make_type(kind == ObjectKind::kVector ? TypeId::kInt2 : TypeId::kInt8);
    value = make_cast(std::move(value), make_array(element), true);
    return make_call("array_to_string", list_of(std::move(value), make_text_constant(kText, " ", location)), location);
  }
  const auto names = object_names(catalog_, kind);
  if (value->kind == BoundKind::kConst && !value->value.null) {
    const auto found = names.find(value->value.lo);
    program_->volatile_result = true;
    if (found != names.end()) return make_text_constant(kText, found->second, location);
  }
  value = make_cast(std::move(value), kInt8, true);
  return make_call(" object name", list_of(map_constant(program_.get(), map_of(names), location), std::move(value)),
                   location);
}

// oid, name, "char", regclass and their arrays: nullptr = another type, or a cast that is not for these.
StatusOr<BoundPtr> Binder::bind_catalog_cast(const ast::Cast& expr, const Scope* scope) {
  const ast::Name& name = expr.type.name;
  const bool is_system = name.size() == 1 || name[name.size() - 2] == "pg_catalog";
  if (!is_system || expr.type.percent_type || expr.type.percent_rowtype || expr.type.array_bounds.size() > 1)
    return BoundPtr();
  const auto kind = object_kind_of_name(name.back());
  const bool is_oid = name.back() == "oid", is_char = name.back() == "char", is_name = name.back() == "name";
  if (is_number_of_char(expr)) {
    if (name.back() != "int4")
      return error("42846", no_cast("\"char\"", name.back() == "int8" ? "bigint" : "smallint"), expr.location);
    SCYPER_ASSIGN_OR_RETURN(BoundPtr byte, bind(*expr.arg, scope));
    return make_call(" integer of char", list_of(std::move(byte)), expr.location);
  }
  if (!kind.has_value() && !is_oid && !is_char && !is_name) return BoundPtr();
  const bool is_array = !expr.type.array_bounds.empty();
  if (is_array && kind.has_value()) return BoundPtr();
  SqlType type = is_oid ? kInt8 : is_name ? name_type() : kText;
  if (is_array) type = make_array(type);
  const auto* array = ast::node_if<ast::ArrayConstructor>(expr.arg.get());
  if (is_array && array != nullptr && array->elements.empty())
    return coerce(make_text_constant(make_type(TypeId::kUnknown), "{}", expr.location), type, Coercion::kExplicit);
  SCYPER_ASSIGN_OR_RETURN(BoundPtr value, bind(*expr.arg, scope));
  if (kind.has_value()) return cast_to_object(*kind, std::move(value));
  if (is_oid && value->type.id == TypeId::kInt8) return make_cast(std::move(value), type, true);
  const bool is_text = is_string(value->type.id) || value->type.id == TypeId::kUnknown;
  if (is_char && !is_array && !is_text) {
    if (value->type.id != TypeId::kInt4)
      return error("42846", no_cast(type_name(without_modifiers(value->type)), "\"char\""), expr.location);
    return make_call(" char of integer", list_of(std::move(value)), expr.location);
  }
  SCYPER_ASSIGN_OR_RETURN(value, coerce(std::move(value), type, Coercion::kExplicit));
  if (!is_char || is_array) return value;
  if (value->kind == BoundKind::kConst && !value->value.null)
    return make_text_constant(kText, text_of_byte(byte_of_char(value->text)), expr.location);
  return make_call(" char of text", list_of(std::move(value)), expr.location);
}

// The number that an argument is, whatever it is given as.
StatusOr<BoundPtr> Binder::bind_number(const ast::Expr& expr, const SqlType& type, const Scope* scope) {
  SCYPER_ASSIGN_OR_RETURN(BoundPtr value, bind(expr, scope));
  if (value->type == type) return value;
  if (value->type.id == TypeId::kInt8 && type.id == TypeId::kInt8) return make_cast(std::move(value), type, true);
  return coerce(std::move(value), type, Coercion::kExplicit);
}

StatusOr<BoundPtr> Binder::bind_text_function(const ast::FunctionCall& call, const Scope* scope) {
  const auto* function = find_function(kTextFunctions, call.name.back(), call.args.size());
  if (function == nullptr) return BoundPtr();
  std::string map;
  if (!is_describing_)  // a view that says whether it may be changed
    for (const auto& [key, text] : function->texts(catalog_)) add_entry(key, text, &map);
  std::vector<BoundPtr> args;
  args.push_back(map_constant(program_.get(), std::move(map), call.location));
  for (size_t i = 0; i < function->keys; i++) {
    if (i >= call.args.size()) {  // the whole, not made pretty
      args.push_back(make_constant(kInt4, int_datum(0), call.location));
      continue;
    }
    SCYPER_ASSIGN_OR_RETURN(BoundPtr arg, bind(*call.args[i], scope));
    if (i == 0 && is_string(arg->type.id)) {
      SCYPER_ASSIGN_OR_RETURN(arg, cast_to_object(ObjectKind::kRelation, std::move(arg)));
    }
    const SqlType type = i == 0 ? kInt8 : kInt4;
    if (arg->type.id == TypeId::kUnknown && i > 0) {
      SCYPER_ASSIGN_OR_RETURN(arg, coerce(std::move(arg), kBool, Coercion::kExplicit));
    }
    if (arg->type.id == type.id) {
      arg = make_cast(std::move(arg), type, true);
    } else {
      SCYPER_ASSIGN_OR_RETURN(arg, coerce(std::move(arg), type, Coercion::kExplicit));
    }
    args.push_back(std::move(arg));
  }
  SCYPER_ASSIGN_OR_RETURN(BoundPtr text, make_call(" catalog text", std::move(args), call.location));
  if (function->name.ends_with("_is_updatable")) {
    const bool is_column = function->name.starts_with("pg_column");
    SCYPER_ASSIGN_OR_RETURN(text, coerce(std::move(text), is_column ? kBool : kInt4, Coercion::kExplicit));
    BoundPtr known = make_expr(BoundKind::kCoalesce, text->type, false, call.location);
    known->args = list_of(std::move(text), make_constant(is_column ? kBool : kInt4, int_datum(0), call.location));
    return known;
  }
  if (!function->name.ends_with("_is_visible")) return text;
  return coerce(std::move(text), kBool, Coercion::kExplicit);
}

// pg_get_serial_sequence(table, column), and acldefault(kind, owner): texts that two arguments stand for.
StatusOr<BoundPtr> Binder::bind_serial_sequence(const ast::FunctionCall& call, const Scope* scope) {
  if (call.name.back() == "acldefault") {
    SCYPER_ASSIGN_OR_RETURN(BoundPtr kind, bind(*call.args[0], scope));
    SCYPER_ASSIGN_OR_RETURN(kind, coerce(std::move(kind), kText, Coercion::kExplicit));
    std::vector<BoundPtr> letter;
    letter.push_back(std::move(kind));
    SCYPER_ASSIGN_OR_RETURN(kind, make_call("ascii", std::move(letter), call.location));
    SCYPER_ASSIGN_OR_RETURN(BoundPtr owner, bind_number(*call.args[1], kInt8, scope));
    std::vector<BoundPtr> args =
        list_of(map_constant(program_.get(), default_access_map(catalog_), call.location), std::move(owner));
    args.push_back(std::move(kind));
    SCYPER_ASSIGN_OR_RETURN(BoundPtr list, make_call(" catalog text", std::move(args), call.location));
    return coerce(std::move(list), make_array(kText), Coercion::kExplicit);
  }
  std::string map;
  for (const auto& [name, sequence] : catalog_.sequences) {
    const auto& definition = sequence->definition();
    const auto table = definition.owner.value() == 0 ? nullptr : catalog_.find_table(definition.owner);
    if (table == nullptr) continue;
    const bool is_public = schema_of(name) == kPublicSchema;
    add_entry(absl::StrCat(table_oid(table->schema()), " ", table->schema().columns[definition.owner_column].name),
              (is_public ? "public." : "") + quote_identifier(name), &map);
  }
  SCYPER_ASSIGN_OR_RETURN(BoundPtr table, bind(*call.args[0], scope));
  SCYPER_ASSIGN_OR_RETURN(table, cast_to_object(ObjectKind::kRelation, std::move(table)));
  SCYPER_ASSIGN_OR_RETURN(BoundPtr column, bind(*call.args[1], scope));
  SCYPER_ASSIGN_OR_RETURN(column, coerce(std::move(column), kText, Coercion::kImplicit));
  SCYPER_ASSIGN_OR_RETURN(BoundPtr key, coerce(make_cast(std::move(table), kInt8, true), kText, Coercion::kExplicit));
  SCYPER_ASSIGN_OR_RETURN(
      key, make_operator("||", std::move(key), make_text_constant(kText, " ", call.location), call.location));
  SCYPER_ASSIGN_OR_RETURN(key, make_operator("||", std::move(key), std::move(column), call.location));
  return find_text(std::move(map), std::move(key), call.location);
}

// The text of a relation, NULL where it has none.
StatusOr<BoundPtr> Binder::find_relation_text(const std::map<std::string, std::string>& texts, BoundPtr relation) {
  std::string map;
  for (const auto& [number, text] : texts) add_entry(number, text, &map);
  const int32_t location = relation->location;
  SCYPER_ASSIGN_OR_RETURN(relation, cast_to_object(ObjectKind::kRelation, std::move(relation)));
  SCYPER_ASSIGN_OR_RETURN(BoundPtr key,
                          coerce(make_cast(std::move(relation), kInt8, true), kText, Coercion::kExplicit));
  return find_text(std::move(map), std::move(key), location);
}

// The text that a key stands for, NULL where there is none.
StatusOr<BoundPtr> Binder::find_text(std::string map, BoundPtr key, int32_t location) {
  BoundPtr same_key = clone(*key);
  SCYPER_ASSIGN_OR_RETURN(
      BoundPtr text,
      make_call(" catalog form", list_of(map_constant(program_.get(), std::move(map), location), std::move(key)),
                location));
  SCYPER_ASSIGN_OR_RETURN(BoundPtr is_none, make_operator("=", clone(*text), std::move(same_key), location));
  BoundPtr result = make_expr(BoundKind::kCase, kText, true, location);
  result->args.push_back(std::move(is_none));
  result->args.push_back(make_null(kText, location));
  result->args.push_back(std::move(text));
  return result;
}

// What tools ask about objects; null: none of these.
StatusOr<BoundPtr> Binder::bind_object_call(const ast::FunctionCall& call, const Scope* scope) {
  const std::string& name = call.name.back();
  const size_t count = call.args.size();
  if (catalog_.routines.contains(name)) return BoundPtr();
  SCYPER_ASSIGN_OR_RETURN(BoundPtr text, bind_text_function(call, scope));
  if (text != nullptr) return text;
  if (const auto* fixed = find_function(kFixedFunctions, name, count); fixed != nullptr) {
    for (const auto& arg : call.args) SCYPER_RETURN_IF_ERROR(bind(*arg, scope).status());
    const SqlType type = make_type(fixed->type);
    if (fixed->value.empty()) return make_null(type, call.location);
    if (fixed->type == TypeId::kText) return make_text_constant(type, std::string(fixed->value), call.location);
    const int64_t number = fixed->value == "t" ? 1 : std::strtoll(fixed->value.data(), nullptr, 10);
    return make_constant(type, int_datum(number), call.location);
  }
  if (name == "format_type" && count == 2) {
    SCYPER_ASSIGN_OR_RETURN(BoundPtr type, bind_number(*call.args[0], kInt8, scope));
    SCYPER_ASSIGN_OR_RETURN(BoundPtr modifier, bind_number(*call.args[1], kInt4, scope));
    std::vector<BoundPtr> args =
        list_of(map_constant(program_.get(), map_of(object_names(catalog_, ObjectKind::kType)), call.location),
                std::move(type));
    args.push_back(std::move(modifier));
    return make_call(" format type", std::move(args), call.location);
  }
  if (name == "pg_get_expr" && (count == 2 || count == 3)) {
    SCYPER_ASSIGN_OR_RETURN(BoundPtr expr, bind(*call.args[0], scope));
    SCYPER_ASSIGN_OR_RETURN(expr, coerce(std::move(expr), kText, Coercion::kImplicit));
    const auto* pretty = count == 3 ? ast::node_if<ast::Literal>(call.args[2].get()) : nullptr;
    if (pretty == nullptr || !pretty->bool_value) return expr;
    std::string map;
    for (const auto& [from, to] : pretty_expressions(catalog_)) add_entry(from, to, &map);
    return make_call(" catalog form",
                     list_of(map_constant(program_.get(), std::move(map), call.location), std::move(expr)),
                     call.location);
  }
  if (name == "pg_partition_root" && count == 1) {
    SCYPER_ASSIGN_OR_RETURN(BoundPtr relation, bind(*call.args[0], scope));
    SCYPER_ASSIGN_OR_RETURN(BoundPtr text, find_relation_text(partition_root_texts(catalog_), std::move(relation)));
    return make_cast(make_cast(std::move(text), kInt8, true), number_type(ObjectKind::kRelation), true);
  }
  SCYPER_ASSIGN_OR_RETURN(BoundPtr has_privilege, bind_privilege_test(call, scope));
  if (has_privilege != nullptr) return has_privilege;
  if ((name == "pg_get_serial_sequence" || name == "acldefault") && count == 2)
    return bind_serial_sequence(call, scope);
  for (const auto& [prefix, kind] :
       {std::pair("to_regclass", ObjectKind::kRelation), std::pair("to_regtype", ObjectKind::kType),
        std::pair("to_regproc", ObjectKind::kRoutine), std::pair("to_regprocedure", ObjectKind::kSignature),
        std::pair("to_regnamespace", ObjectKind::kSchema)}) {
    if (name != prefix || count != 1) continue;
    SCYPER_ASSIGN_OR_RETURN(BoundPtr arg, bind(*call.args[0], scope));
    return find_object(kind, std::move(arg), false);
  }
  return BoundPtr();
}

// What leaves a statement: names of objects, not numbers.
Status Binder::show_objects(std::unique_ptr<BoundQuery>* query) {
  auto is_object = [](const OutputColumn& output) { return object_kind(output.expr->type).has_value(); };
  const auto& outputs = (*query)->outputs;
  if (std::none_of(outputs.begin(), outputs.end(), is_object)) return absl::OkStatus();
  if ((*query)->set != SetOp::kNone) wrap(query);
  return show_objects(&(*query)->outputs);
}

Status Binder::show_objects(std::vector<OutputColumn>* outputs) {
  for (OutputColumn& output : *outputs) {
    const auto kind = object_kind(output.expr->type);
    if (!kind.has_value() || output.hidden) continue;
    SCYPER_ASSIGN_OR_RETURN(output.expr, object_text(*kind, std::move(output.expr)));
  }
  return absl::OkStatus();
}

}  // namespace scyper::query
