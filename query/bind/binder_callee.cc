#include <algorithm>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "base/object_name.h"
#include "bind/binder.h"
#include "bind/make.h"
#include "bind/names_on_path.h"
#include "parse/name_path.h"
#include "parse/type_resolver.h"

// What the name of a call stands for. PostgreSQL looks for functions in pg_catalog before the schemas of search_path,
// unless search_path names pg_catalog itself; of those with the same arguments the first counts.
namespace scyper::query {

namespace {

constexpr std::string_view kCatalogSchema = "pg_catalog";

// Functions of extensions, which PostgreSQL has in the schema of CREATE EXTENSION.
constexpr std::string_view kExtensionFunctions[] = {"digest", "hmac", "gen_random_uuid", "uuid_generate_v4"};

// The schemas that unqualified names are looked up in, pg_catalog where it is named.
std::vector<std::string> path_of_session() {
  const auto* path = SessionPathScope::current;
  if (path == nullptr || path->empty()) return {std::string(kPublicSchema)};
  return *path;
}

// Arguments of exactly the types of the parameters; -1: the arguments do not fit.
int exact_arguments(const Builtin& builtin, const std::vector<BoundPtr>& args) {
  const size_t fixed = builtin.parameters.size();
  if (builtin.variadic ? args.size() + 1 < fixed : args.size() != fixed) return -1;
  int exact = 0;
  for (size_t i = 0; i < args.size(); i++) {
    const TypeId parameter = builtin.parameters[std::min(i, fixed - 1)];
    if (Binder::pass_cost(*args[i], make_type(parameter)) < 0) return -1;
    exact += args[i]->type.id == parameter ? 1 : 0;
  }
  return exact;
}

bool takes_two_arguments(std::string_view aggregate) {
  return aggregate.starts_with("regr_") || aggregate.starts_with("covar_") || aggregate.ends_with("_object_agg") ||
         aggregate == "corr" || aggregate == "string_agg";
}

}  // namespace

bool Binder::is_builtin_function(std::string_view name) {
  return !find_builtins(name).empty() || is_aggregate(name) || is_window_function(name) || is_set_function(name);
}

Binder::Callees Binder::callees_of(const ast::FunctionCall& call) const {
  const std::string& name = call.name.back();
  if (call.name.size() > 1) {
    if (call.name[0] != kPublicSchema)
      return is_callable_name(name) || name.starts_with(' ') ? Callees::kBuiltin : Callees::kRoutine;
    const bool is_extension = std::find(std::begin(kExtensionFunctions), std::end(kExtensionFunctions), name) !=
                              std::end(kExtensionFunctions);
    return is_extension && catalog_.routines.count(name) == 0 ? Callees::kBuiltin : Callees::kRoutine;
  }
  const bool is_key = bare_name(name).size() != name.size();
  if (!call.sql_syntax && !is_key && !name.starts_with(' ') && !is_callable_name(name)) return Callees::kRoutine;
  if (call.sql_syntax || is_key || !is_builtin_function(name)) return Callees::kBuiltin;
  const std::vector<std::string> path = path_of_session();
  const auto has_routine = [&](const std::string& schema) {
    return schema != kCatalogSchema && catalog_.routines.count(object_key(schema, name)) != 0;
  };
  return std::any_of(path.begin(), path.end(), has_routine) ? Callees::kBoth : Callees::kBuiltin;
}

// Whether the arguments of a call have to be looked at before it is taken for one of an aggregate, a window function or
// a function that returns rows: those are not in the table of builtins.
bool Binder::hides_set_or_aggregate(const ast::FunctionCall& call) const {
  const std::string& name = call.name.back();
  if (call.star || call.distinct || call.within_group || !call.order_by.empty() || call.filter != nullptr) return false;
  if (is_set_function(name)) {
    const size_t least = name == "generate_series" || name == "generate_subscripts" ? 2 : 1;
    return call.args.size() < least || call.args.size() > 3;
  }
  if (is_window_function(name) && !is_aggregate(name)) return true;
  if (!is_aggregate(name)) return false;
  const std::vector<std::string> path = path_of_session();
  if (std::find(path.begin(), path.end(), kCatalogSchema) != path.end()) return true;
  return call.args.size() != (takes_two_arguments(name) ? 2 : 1);
}

// The key of the routine that a call means where a builtin has its name as well; empty: the builtin.
std::string Binder::preferred_routine(const ast::FunctionCall& call, const GivenArguments& given) const {
  const std::string& name = call.name.back();
  int most_exact = -1;
  for (const Builtin* builtin : find_builtins(name))
    most_exact = std::max(most_exact, exact_arguments(*builtin, given.args));
  const bool takes_any = is_set_function(name) || is_aggregate(name);
  if (takes_any && !hides_set_or_aggregate(call)) most_exact = static_cast<int>(given.args.size());
  const std::vector<std::string> path = path_of_session();
  const auto catalog = std::find(path.begin(), path.end(), kCatalogSchema);
  std::string best;
  for (auto schema = path.begin(); schema != path.end(); ++schema) {
    if (*schema == kCatalogSchema) continue;
    const bool is_before = catalog != path.end() && schema < catalog;
    const std::string key = object_key(*schema, name);
    const auto range = catalog_.routines.equal_range(key);
    for (auto it = range.first; it != range.second; ++it) {
      const Routine& routine = *it->second;
      RoutineMatch match;
      if (routine.procedure || !match_routine(routine, given, &match)) continue;
      int exact = 0;
      size_t i = 0;
      for (const RoutineParameter& parameter : routine.parameters) {
        if (parameter.mode == ParameterMode::kOut || i == given.args.size()) continue;
        exact += given.args[i++]->type.id == parameter.type.id ? 1 : 0;
      }
      if (exact < most_exact || (exact == most_exact && (!is_before || !best.empty()))) continue;
      most_exact = exact;
      best = key;
    }
  }
  return best;
}

// public.f(...), where a builtin may have that name.
StatusOr<BoundPtr> Binder::bind_routine_call(const ast::FunctionCall& call, const Scope* scope) {
  const std::string& name = call.name.back();
  if (auto found = select_functions_.find(&call); found != select_functions_.end())
    return select_column(*found->second);
  const char* clause = call.star                ? "(*)"
                       : call.distinct          ? "DISTINCT"
                       : call.within_group      ? "WITHIN GROUP"
                       : !call.order_by.empty() ? "ORDER BY"
                       : call.filter != nullptr ? "FILTER"
                                                : nullptr;
  const bool is_there = catalog_.routines.count(name) != 0;  // else 42883
  if (is_there && clause != nullptr)
    return error("42809",
                 absl::StrCat(call.star ? "public." : "", call.star ? name : "", clause, " specified, but ", "public.",
                              name, " is not an aggregate function"),
                 call.location);
  if (is_there && call.over != nullptr)
    return error(
        "42809",
        absl::StrCat("OVER specified, but public.", name, " is not a window function nor an aggregate function"),
        call.location);
  SCYPER_ASSIGN_OR_RETURN(GivenArguments given, bind_given(call, scope));
  return make_user_call(name, std::move(given), call.location);
}

// date(x), int4(x): a type's name as that of a function of one argument is a cast. null: no type has it.
StatusOr<BoundPtr> Binder::bind_type_call(const ast::FunctionCall& call, GivenArguments* given) {
  if (given->args.size() != 1 || given->variadic || !call.arg_names.empty() || given->args[0]->kind == BoundKind::kRow)
    return BoundPtr();
  ast::TypeName name;
  name.name = call.name;
  name.location = call.location;
  SqlType type;
  uint32_t domain_id = 0;
  if (const auto known = catalog_type(name); known.has_value()) {
    type = *known;
  } else {
    const auto resolved = resolve_type(name, source_, catalog_.user_types());
    if (!resolved.ok()) return BoundPtr();
    type = *resolved;
    if (const Domain* domain = named_domain(name, catalog_.user_types()); domain != nullptr) domain_id = domain->id;
  }
  if (type.id == TypeId::kRecord || type.id == TypeId::kVoid || type.id == TypeId::kUnknown) return BoundPtr();
  const std::string shown =
      given->args[0]->type.id == TypeId::kUnknown ? "unknown" : type_name(without_modifiers(given->args[0]->type));
  given->args[0]->domain = 0;
  auto made = coerce(std::move(given->args[0]), type, Coercion::kExplicit);
  if (!made.ok() && sqlstate_of(made.status()) == "42846")
    return with_hint(
        error("42883", absl::StrCat("function ", call.name.back(), "(", shown, ") does not exist"), call.location),
        "No function matches the given name and argument types. You might need to add explicit type casts.");
  if (made.ok() && domain_id != 0) return to_domain(*std::move(made), domain_id);
  return made;
}

// A literal name of a sequence is looked up at once, where PostgreSQL reads it as regclass.
Status Binder::check_sequence(const std::vector<BoundPtr>& args) const {
  if (args.empty() || args[0]->kind != BoundKind::kConst || args[0]->value.null || program_->is_routine)
    return absl::OkStatus();
  const std::string& text = args[0]->text;
  if (text.find('"') != std::string::npos) return absl::OkStatus();
  std::string name = object_key_of_text(text);
  for (char& c : name)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
  if (catalog_.sequences.count(name) != 0 || catalog_.find_table(name) != nullptr || catalog_.views.count(name) != 0 ||
      catalog_.index_tables.count(name) != 0)
    return absl::OkStatus();
  return error("42P01", absl::StrCat("relation \"", std::string(without_no_schema(text)), "\" does not exist"),
               args[0]->location);
}

}  // namespace scyper::query
