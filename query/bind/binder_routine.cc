#include <algorithm>
#include <climits>

#include "absl/strings/str_cat.h"
#include "base/object_name.h"
#include "bind/binder.h"
#include "bind/make.h"
#include "bind/row_names.h"
#include "parse/sql_parser.h"
#include "parse/type_resolver.h"
#include "query/polymorphic.h"
#include "storage/json_text_type.h"
#include "types/range.h"

// Calls of routines: which one a name and its arguments mean, and the rows that functions give in FROM.
namespace scyper::query {

using ast::node_as;

namespace {

constexpr int kDefaultSlot = -1, kTailSlot = -2;

// The element that a polymorphic parameter stands for by its argument.
SqlType element_behind(const SqlType& parameter, const SqlType& arg, bool is_tail) {
  if (is_any_array(parameter) && !is_tail) return element_of(arg);
  const bool is_of_ranges = is_any_range(parameter) || is_any_multirange(parameter);
  return is_of_ranges ? make_type(innermost_element(arg.id)) : arg;
}

// The type that the element makes of a polymorphic type.
SqlType with_element(const SqlType& polymorphic, const SqlType& element) {
  const SqlType plain = without_modifiers(element);
  if (is_any_array(polymorphic)) return make_array(plain);
  if (is_any_range(polymorphic)) return make_type(range_of_element(plain.id));
  return is_any_multirange(polymorphic) ? make_type(multirange_of(range_of_element(plain.id))) : plain;
}

std::string type_list(const std::vector<BoundPtr>& args, const std::vector<std::string>& names) {
  std::string text;
  for (size_t i = 0; i < args.size(); i++) {
    const SqlType& type = args[i]->type;
    absl::StrAppend(&text, text.empty() ? "" : ", ", i < names.size() && !names[i].empty() ? names[i] + " => " : "",
                    type.id == TypeId::kUnknown ? "unknown" : type_name(plain_type(type)));
  }
  return text;
}

// The parameters that a call names: inputs, of CALL all.
std::vector<const RoutineParameter*> callable(const Routine& routine) {
  std::vector<const RoutineParameter*> out;
  for (const auto& p : routine.parameters)
    if (routine.procedure || p.mode != ParameterMode::kOut) out.push_back(&p);
  return out;
}

int cost_of(const BoundExpr& arg, const RoutineParameter& p, const SqlType& type) {
  constexpr int kPolymorphic = 150;
  if (p.mode == ParameterMode::kOut) return 0;
  if (arg.kind == BoundKind::kRow) return type.id == TypeId::kRecord ? 0 : -1;
  if (is_any_range(type) || is_any_multirange(type)) {
    const bool fits = is_any_range(type) ? is_range(arg.type.id) : is_multirange(arg.type.id);
    return fits || arg.type.id == TypeId::kUnknown ? kPolymorphic : -1;
  }
  if (type.id == TypeId::kUnknown) return kPolymorphic;
  if (is_polymorphic(type)) return arg.type.id == TypeId::kArray || arg.type.id == TypeId::kUnknown ? kPolymorphic : -1;
  if (type.id == TypeId::kRecord) return arg.type.id == TypeId::kUnknown ? 0 : -1;
  return Binder::pass_cost(arg, type);
}

}  // namespace

bool Binder::match_routine(const Routine& routine, const GivenArguments& given, RoutineMatch* match) {
  std::vector<const RoutineParameter*> params = callable(routine);
  bool variadic = !params.empty() && params.back()->variadic && !given.variadic;
  size_t fixed = params.size() - (variadic ? 1 : 0);
  match->slots.assign(params.size(), kDefaultSlot);
  match->cost = 0;
  TypeId element = TypeId::kUnknown;  // what the polymorphic parameters stand for
  for (size_t i = 0; i < given.args.size(); i++) {
    size_t slot = i;
    if (i < given.names.size() && !given.names[i].empty()) {
      slot = 0;
      while (slot < params.size() && params[slot]->name != given.names[i]) slot++;
      if (slot == params.size() || match->slots[slot] != kDefaultSlot) return false;
    } else if (i >= fixed) {
      if (!variadic) return false;
      slot = fixed;
    }
    bool tail = variadic && slot == fixed;
    int cost = cost_of(*given.args[i], *params[slot], tail ? element_of(params[slot]->type) : params[slot]->type);
    if (cost < 0) return false;
    const SqlType& type = given.args[i]->type;
    if (is_polymorphic(params[slot]->type) && type.id != TypeId::kUnknown) {
      const TypeId one = element_behind(params[slot]->type, type, tail).id;
      if (element != TypeId::kUnknown && one != element) return false;
      element = one;
    }
    match->cost += cost + (tail ? 1 : 0);
    match->slots[slot] = tail ? kTailSlot : static_cast<int>(i);
  }
  for (size_t i = 0; i < params.size(); i++)
    if (match->slots[i] == kDefaultSlot && !params[i]->has_default) return false;
  return true;
}

StatusOr<Binder::RoutineMatch> Binder::choose_routine(std::string_view name, bool procedure,
                                                      const GivenArguments& given, int32_t location) {
  RoutineMatch best;
  int best_cost = INT_MAX;
  bool other_kind = false, ambiguous = false;
  auto range = catalog_.routines.equal_range(name);
  for (auto it = range.first; it != range.second; ++it) {
    if (it->second->procedure != procedure) {
      other_kind = true;
      continue;
    }
    RoutineMatch match;
    if (!match_routine(*it->second, given, &match) || match.cost > best_cost) continue;
    ambiguous = match.cost == best_cost;
    best_cost = match.cost;
    best = std::move(match);
    best.routine = it->second;
  }
  std::string call = absl::StrCat(std::string(name), "(", type_list(given.args, given.names), ")");
  const char* kind = procedure ? "procedure" : "function";
  if (ambiguous)
    return with_hint(
        error("42725", absl::StrCat(kind, " ", call, " is not unique"), location),
        absl::StrCat("Could not choose a best candidate ", kind, ". You might need to add explicit type casts."));
  if (best.routine != nullptr) {
    SCYPER_RETURN_IF_ERROR(check_rights(*best.routine));
    return best;
  }
  if (other_kind && procedure)
    return with_hint(error("42809", call + " is not a procedure", location), "To call a function, use SELECT.");
  if (other_kind && std::none_of(range.first, range.second, [](const auto& e) { return !e.second->procedure; }))
    return with_hint(error("42809", call + " is a procedure", location), "To call a procedure, use CALL.");
  return with_hint(
      error("42883", absl::StrCat(kind, " ", call, " does not exist"), location),
      absl::StrCat("No ", kind,
                   " matches the given name and argument types. You might need to add explicit type casts."));
}

// One expression per callable parameter; OUT ones stay null.
StatusOr<std::vector<BoundPtr>> Binder::arrange_arguments(RoutineMatch* match, GivenArguments given) {
  std::vector<const RoutineParameter*> params = callable(*match->routine);
  std::vector<BoundPtr> args(params.size());
  for (size_t i = 0; i < params.size(); i++) {
    int slot = match->slots[i];
    if (params[i]->mode == ParameterMode::kOut) continue;
    if (slot >= 0) {
      args[i] = std::move(given.args[static_cast<size_t>(slot)]);
    } else if (slot == kDefaultSlot) {
      const VariableScope* saved = std::exchange(variables_, nullptr);
      auto expr = parse_expression(params[i]->default_text);
      if (expr.ok()) {
        auto bound = bind(**expr, nullptr);
        variables_ = saved;
        SCYPER_ASSIGN_OR_RETURN(args[i], std::move(bound));
      } else {
        variables_ = saved;
        return expr.status();
      }
    } else {
      std::vector<BoundPtr> tail;
      for (size_t a = i; a < given.args.size(); a++) tail.push_back(std::move(given.args[a]));
      SqlType element = element_of(params[i]->type);
      if (is_polymorphic(element)) {
        SCYPER_ASSIGN_OR_RETURN(element, common_type(tail, "ARRAY"));
      }
      args[i] = make_expr(BoundKind::kArray, make_array(element), false, tail[0]->location);
      for (auto& item : tail) {
        SCYPER_ASSIGN_OR_RETURN(item, coerce(std::move(item), element, Coercion::kExplicit));
        args[i]->args.push_back(std::move(item));
      }
    }
  }
  return args;
}

// A polymorphic routine for the types that it is called with.
Status Binder::specialise(std::shared_ptr<const Routine>* routine, const std::vector<BoundPtr>& args,
                          int32_t location) {
  std::vector<const RoutineParameter*> params = callable(**routine);
  SqlType element;
  bool any = false;
  for (size_t i = 0; i < params.size(); i++) {
    if (!is_polymorphic(params[i]->type)) continue;
    any = true;
    if (args[i] == nullptr || args[i]->type.id == TypeId::kUnknown || element.id != TypeId::kUnknown) continue;
    element = element_behind(params[i]->type, args[i]->type, false);
  }
  if (!any) return absl::OkStatus();
  if (element.id == TypeId::kUnknown)
    return error("42804", "could not determine polymorphic type because input has type unknown", location);
  auto concrete = [&](SqlType type) { return is_polymorphic(type) ? with_element(type, element) : type; };
  auto variant = std::make_shared<Routine>(**routine);
  for (auto& p : variant->parameters) p.type = concrete(p.type);
  variant->return_type = concrete(variant->return_type);
  variant->variant = type_name(element);
  *routine = std::move(variant);
  return absl::OkStatus();
}

// Arguments as the routine's program takes them: a row is its fields.
StatusOr<BoundPtr> Binder::make_routine_call(RoutineMatch match, GivenArguments given, int32_t location) {
  SCYPER_ASSIGN_OR_RETURN(std::vector<BoundPtr> args, arrange_arguments(&match, std::move(given)));
  SCYPER_RETURN_IF_ERROR(specialise(&match.routine, args, location));
  if (match.routine->is_trigger) return error("0A000", "trigger functions can only be called as triggers", -1);
  BoundPtr call = make_expr(BoundKind::kUserCall, match.routine->return_type, true, location);
  call->domain = match.routine->return_domain;
  SCYPER_RETURN_IF_ERROR(pass_arguments(*match.routine, std::move(args), &call->args));
  program_->callees.push_back(match.routine);
  call->index = static_cast<uint32_t>(program_->callees.size() - 1);
  call->routine = std::move(match.routine);
  return call;
}

Status Binder::pass_arguments(const Routine& routine, std::vector<BoundPtr> args, std::vector<BoundPtr>* out) {
  std::vector<const RoutineParameter*> params = callable(routine);
  for (size_t i = 0; i < params.size(); i++) {
    if (args[i] == nullptr) continue;
    if (params[i]->type.id == TypeId::kRecord) {
      SCYPER_ASSIGN_OR_RETURN(auto columns, relation_columns(params[i]->relation, args[i]->location));
      SCYPER_ASSIGN_OR_RETURN(BoundPtr row, cast_row(std::move(args[i]), columns, params[i]->relation));
      for (auto& field : row->args) out->push_back(std::move(field));
      continue;
    }
    // lengths and precisions of parameters are not enforced, as in PostgreSQL
    SCYPER_ASSIGN_OR_RETURN(args[i], coerce(std::move(args[i]), params[i]->type, Coercion::kExplicit));
    out->push_back(std::move(args[i]));
  }
  return absl::OkStatus();
}

// What a function gives: its OUT parameters, the columns of its table, or one value under its name.
StatusOr<std::vector<RelationColumn>> Binder::result_columns(const Routine& routine) {
  std::vector<RelationColumn> columns;
  for (const auto& p : routine.record_columns) columns.push_back({p.name, p.type, true, false});
  if (!columns.empty()) return columns;
  for (const auto& p : routine.parameters)
    if (p.mode != ParameterMode::kIn) {
      columns.push_back({p.name.empty() ? absl::StrCat("column", columns.size() + 1) : p.name, p.type, true, false});
      columns.back().domain = p.domain;
    }
  if (!columns.empty()) return columns;
  if (!routine.return_relation.empty()) return relation_columns(routine.return_relation, -1);
  if (routine.return_type.id != TypeId::kRecord) {
    columns.push_back({routine.name, routine.return_type, true, false});
    columns.back().domain = routine.return_domain;
  }
  return columns;
}

bool Binder::is_composite(const Routine& routine) {
  size_t outs = 0;
  for (const auto& p : routine.parameters) outs += p.mode != ParameterMode::kIn ? 1 : 0;
  return outs > 1 || (outs == 0 && routine.return_type.id == TypeId::kRecord) || !routine.return_relation.empty();
}

StatusOr<BoundPtr> Binder::make_user_call(std::string_view name, GivenArguments given, int32_t location) {
  SCYPER_ASSIGN_OR_RETURN(RoutineMatch match, choose_routine(name, false, given, location));
  if (match.routine->returns_set)
    return error("0A000", "set-valued function called in context that cannot accept a set", location);
  bool composite = is_composite(*match.routine);
  SCYPER_ASSIGN_OR_RETURN(BoundPtr call, make_routine_call(std::move(match), std::move(given), location));
  if (!composite) return call;
  auto relation = new_relation(RelationKind::kFunction, std::string(name));
  SCYPER_ASSIGN_OR_RETURN(relation->columns, result_columns(*call->routine));
  if (relation->columns.empty())
    return error("0A000", "functions returning record without a list of columns are not supported here", location);
  relation->arguments.push_back(std::move(call));
  return make_query_row(query_over(std::move(relation)), location);
}

// SELECT * FROM relation
std::unique_ptr<BoundQuery> Binder::query_over(std::unique_ptr<Relation> relation) {
  auto query = std::make_unique<BoundQuery>();
  query->id = ++query_count_;
  query->correlated = true;  // arguments may refer to anything around
  for (uint32_t c = 0; c < relation->columns.size(); c++) {
    const RelationColumn& column = relation->columns[c];
    query->outputs.push_back({column.name, make_column(relation->id, c, column.type, true, -1), false});
  }
  FromEntry entry;
  entry.relation = std::move(relation);
  query->from.push_back(std::move(entry));
  return query;
}

StatusOr<Binder::GivenArguments> Binder::bind_given(const ast::FunctionCall& call, const Scope* scope) {
  GivenArguments given;
  given.variadic = call.variadic;
  given.names = call.arg_names;
  bool named = false;
  for (size_t i = 0; i < call.args.size() && i < call.arg_names.size(); i++) {
    if (named && call.arg_names[i].empty())
      return error("42601", "positional argument cannot follow named argument", call.args[i]->location);
    named |= !call.arg_names[i].empty();
    for (size_t j = 0; j < i && !call.arg_names[i].empty(); j++)
      if (call.arg_names[j] == call.arg_names[i])
        return error("42601", absl::StrCat("argument name \"", call.arg_names[i], "\" used more than once"),
                     call.args[i]->location);
  }
  for (const auto& arg : call.args) {
    SCYPER_ASSIGN_OR_RETURN(BoundPtr bound, bind(*arg, scope));
    given.args.push_back(std::move(bound));
  }
  return given;
}

// --- functions in FROM ---

namespace {
bool depends_on_rows(const BoundExpr& expr) {
  return expr.kind == BoundKind::kColumn || expr.query != nullptr ||
         std::any_of(expr.args.begin(), expr.args.end(), [](const BoundPtr& arg) { return depends_on_rows(*arg); });
}

const Routine& routine_of(const Relation& relation) {
  const Relation& call = relation.query != nullptr ? *relation.query->from[0].relation : relation;
  return *call.arguments[0]->routine;
}

// WITH ORDINALITY: the numbers of the rows of a query over a function.
void add_ordinality(Relation* relation) {
  const SqlType type = make_type(TypeId::kInt8);
  BoundPtr number = make_expr(BoundKind::kWindow, type, false, -1);
  number->relation = relation->query->id;
  number->index = 0;
  WindowCall& window = relation->query->windows.emplace_back();
  window.kind = WindowKind::kRowNumber;
  window.function.type = type;
  relation->query->outputs.push_back({"ordinality", std::move(number), false});
  relation->columns.push_back({"ordinality", type, false, false});
}
}  // namespace

StatusOr<const ast::FunctionCall*> Binder::routine_in_from(const ast::FromFunction& item, const Scope* scope) {
  const ast::FunctionCall* none = nullptr;
  if (item.functions.size() != 1 || item.rows_from) return none;
  const auto* call = ast::node_if<ast::FunctionCall>(item.functions[0].get());
  if (call == nullptr || catalog_.routines.count(call->name.back()) == 0) return none;
  const Callees callees = callees_of(*call);
  if (callees == Callees::kRoutine || !is_builtin_function(call->name.back())) return call;
  if (callees == Callees::kBuiltin) return none;
  SCYPER_ASSIGN_OR_RETURN(const GivenArguments given, bind_given(*call, scope));
  return preferred_routine(*call, given) == call->name.back() ? call : none;
}

Status Binder::bind_routine_from(const ast::FromFunction& item, const ast::FunctionCall& call, Scope* scope,
                                 BoundQuery* query, JoinType join) {
  if (item.ordinality && !item.columns.empty())
    return with_hint(
        error("42601", "WITH ORDINALITY cannot be used with a column definition list", item.columns[0].location),
        "Put the column definition list inside ROWS FROM().");
  SCYPER_ASSIGN_OR_RETURN(GivenArguments given, bind_given(call, scope));
  std::string alias = item.alias.name.empty() ? std::string(bare_name(call.name.back())) : item.alias.name;
  SCYPER_ASSIGN_OR_RETURN(auto relation,
                          routine_relation(call, std::move(given), std::move(alias), item.columns, item.location));
  const Routine& routine = routine_of(*relation);
  bool named = std::any_of(routine.parameters.begin(), routine.parameters.end(),
                           [](const auto& p) { return p.mode != ParameterMode::kIn && !p.name.empty(); });
  if (relation->columns.size() == 1 && !is_composite(routine) && !named) relation->columns[0].name = relation->alias;
  if (item.ordinality && relation->query == nullptr) {
    auto wrapped = new_relation(RelationKind::kQuery, relation->alias);
    wrapped->columns = relation->columns;
    wrapped->query = query_over(std::move(relation));
    relation = std::move(wrapped);
  }
  if (item.ordinality) add_ordinality(relation.get());
  if (item.alias.columns.size() > relation->columns.size())
    return error("42P10",
                 absl::StrCat("table \"", relation->alias, "\" has ", relation->columns.size(),
                              " columns available but ", item.alias.columns.size(), " columns specified"),
                 -1);
  const std::vector<std::string> names =
      routine.return_relation.empty() ? std::vector<std::string>() : column_names(*relation);
  for (size_t i = 0; i < item.alias.columns.size(); i++) relation->columns[i].name = item.alias.columns[i];
  SCYPER_RETURN_IF_ERROR(add_relation(std::move(relation), scope, query, join, item.location));
  name_outputs(names, query->from.back().relation.get());
  return absl::OkStatus();
}

StatusOr<std::unique_ptr<Relation>> Binder::routine_relation(const ast::FunctionCall& call, GivenArguments given,
                                                             std::string alias,
                                                             const std::vector<ast::ColumnDeclaration>& declared,
                                                             int32_t location) {
  SCYPER_ASSIGN_OR_RETURN(RoutineMatch match, choose_routine(call.name.back(), false, given, call.location));
  bool wants_list = match.routine->return_type.id == TypeId::kRecord && match.routine->return_relation.empty() &&
                    std::none_of(match.routine->parameters.begin(), match.routine->parameters.end(),
                                 [](const auto& p) { return p.mode != ParameterMode::kIn; });
  if (wants_list && declared.empty())
    return error("42601", "a column definition list is required for functions returning \"record\"", call.location);
  if (!wants_list && !declared.empty()) {
    const bool is_record = match.routine->return_type.id == TypeId::kRecord;
    const char* problem = !is_record ? "only allowed for functions returning \"record\""
                          : match.routine->return_relation.empty()
                              ? "redundant for a function with OUT parameters"
                              : "redundant for a function returning a named composite type";
    return error("42601", absl::StrCat("a column definition list is ", problem),
                 declared[0].location >= 0 ? declared[0].location : location);
  }
  if (wants_list) {
    auto variant = std::make_shared<Routine>(*match.routine);
    for (const auto& column : declared) {
      RoutineParameter p;
      p.name = column.name;
      SCYPER_ASSIGN_OR_RETURN(p.type, resolve_type(column.type, source_, catalog_.user_types()));
      if (named_domain(column.type, catalog_.user_types()) != nullptr)
        return error("0A000", "domains in a column definition list are not supported", column.type.location);
      absl::StrAppend(&variant->variant, column.name, " ", type_name(p.type), ",");
      variant->record_columns.push_back(std::move(p));
    }
    match.routine = std::move(variant);
  }
  SCYPER_ASSIGN_OR_RETURN(BoundPtr bound, make_routine_call(std::move(match), std::move(given), call.location));
  auto relation = new_relation(RelationKind::kFunction, std::move(alias));
  SCYPER_ASSIGN_OR_RETURN(relation->columns, result_columns(*bound->routine));
  bool lateral = depends_on_rows(*bound);
  relation->arguments.push_back(std::move(bound));
  if (!lateral) return relation;
  // once per row of what is before it: a subquery
  auto wrapped = new_relation(RelationKind::kQuery, relation->alias);
  wrapped->columns = relation->columns;
  wrapped->query = query_over(std::move(relation));
  return wrapped;
}

// Set-returning routines in the select list: as LATERAL in FROM. With several of them PostgreSQL goes through them side
// by side, which is refused.
Status Binder::lift_select_functions(const std::vector<ast::SelectTarget>& targets, const Scope* scope,
                                     BoundQuery* query) {
  bool lifted = false;
  for (const auto& target : targets) {
    const ast::Expr* expr = target.expr.get();
    if (const auto* field = ast::node_if<ast::FieldSelect>(expr); field != nullptr) expr = field->arg.get();
    const auto* call = ast::node_if<ast::FunctionCall>(expr);
    if (call == nullptr || call->over != nullptr) continue;
    auto range = catalog_.routines.equal_range(call->name.back());
    bool set = std::any_of(range.first, range.second, [](const auto& e) { return e.second->returns_set; });
    if (!set || (callees_of(*call) != Callees::kRoutine && is_builtin_function(call->name.back()))) continue;
    SCYPER_ASSIGN_OR_RETURN(GivenArguments given, bind_given(*call, scope));
    SCYPER_ASSIGN_OR_RETURN(RoutineMatch match, choose_routine(call->name.back(), false, given, call->location));
    if (!match.routine->returns_set) continue;
    if (lifted)
      return error("0A000", "several set-returning functions in a select list are not supported", call->location);
    lifted = true;
    SCYPER_ASSIGN_OR_RETURN(
        auto relation, routine_relation(*call, std::move(given), std::string(bare_name(call->name.back())), {}, -1));
    select_functions_[call] = relation.get();
    FromEntry entry;
    entry.relation = std::move(relation);
    query->from.push_back(std::move(entry));
  }
  return absl::OkStatus();
}

StatusOr<BoundPtr> Binder::select_column(const Relation& relation) {
  std::vector<OutputColumn> fields;
  for (uint32_t c = 0; c < relation.columns.size(); c++)
    fields.push_back(
        {relation.columns[c].name, make_column(relation.id, c, relation.columns[c].type, true, -1), false});
  if (fields.size() == 1 && !is_composite(routine_of(relation))) return std::move(fields[0].expr);
  return make_row(std::move(fields), -1);
}

// (f(x)).*
StatusOr<bool> Binder::expand_call(const ast::Expr& expr, const Scope* scope, std::vector<OutputColumn>* out) {
  const auto* field = ast::node_if<ast::FieldSelect>(&expr);
  if (field == nullptr || !field->star) return false;
  SCYPER_ASSIGN_OR_RETURN(BoundPtr row, bind(*field->arg, scope));
  if (row->kind != BoundKind::kRow)
    return error("42809", absl::StrCat("type ", type_name(row->type), " is not composite"), expr.location);
  if (row->index == kImageRow) return error("42809", "record type has not been registered", expr.location);
  const Relation* relation = relation_of_row(*field->arg, scope);
  const std::vector<std::string> names = relation == nullptr ? row->names : column_names(*relation);
  for (size_t i = 0; i < names.size(); i++) out->push_back({names[i], row_field(*row, i), false});
  return true;
}

// --- CALL ---

StatusOr<std::unique_ptr<Step>> Binder::bind_call_step(const ast::FunctionCall& call) {
  SCYPER_ASSIGN_OR_RETURN(GivenArguments given, bind_given(call, nullptr));
  SCYPER_ASSIGN_OR_RETURN(RoutineMatch match, choose_routine(call.name.back(), true, given, call.location));
  std::vector<int> slots = match.slots;
  SCYPER_ASSIGN_OR_RETURN(std::vector<BoundPtr> args, arrange_arguments(&match, std::move(given)));
  SCYPER_RETURN_IF_ERROR(specialise(&match.routine, args, call.location));
  auto step = std::make_unique<Step>();
  step->kind = StepKind::kCall;
  step->location = call.location;
  for (size_t i = 0; i < match.routine->parameters.size(); i++) {
    const RoutineParameter& p = match.routine->parameters[i];
    if (p.mode == ParameterMode::kIn) continue;
    const ast::Expr* expr = slots[i] >= 0 ? call.args[static_cast<size_t>(slots[i])].get() : nullptr;
    uint32_t variable = output_variable(expr);
    if (expr != nullptr && program_->is_routine && variable == kNoVariable)
      return error("42601",
                   absl::StrCat("procedure parameter \"", p.name,
                                "\" is an output parameter but corresponding argument is not writable"),
                   call.location);
    step->outputs.push_back(variable);
  }
  SCYPER_RETURN_IF_ERROR(pass_arguments(*match.routine, std::move(args), &step->args));
  step->routine = match.routine;
  program_->callees.push_back(match.routine);
  step->variable = static_cast<uint32_t>(program_->callees.size() - 1);
  return step;
}

// In a PL/pgSQL CALL, an argument that is a variable receives the parameter's value.
uint32_t Binder::output_variable(const ast::Expr* given) const {
  const auto* ref = ast::node_if<ast::ColumnRef>(given);
  uint32_t variable = kNoVariable;
  if (ref != nullptr && !ref->star) find_variable(ref->name, &variable);
  if (const auto* parameter = ast::node_if<ast::Parameter>(given); parameter != nullptr)
    find_variable({absl::StrCat("$", parameter->number)}, &variable);
  return variable;
}

Status Binder::bind_call_statement(const ast::CallStatement& call) {
  SCYPER_ASSIGN_OR_RETURN(auto step, bind_call_step(*call.call));
  size_t output = 0;
  for (const auto& p : step->routine->parameters) {
    if (p.mode == ParameterMode::kIn) continue;
    uint32_t variable = new_variable(p.name, p.type);
    step->outputs[output++] = variable;
    program_->result_variables.push_back(variable);
    program_->columns.push_back({p.name, p.type, true, false});
  }
  program_->steps.push_back(std::move(step));
  return absl::OkStatus();
}

}  // namespace scyper::query
