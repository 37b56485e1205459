#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/object_name.h"
#include "bind/binder.h"
#include "bind/declared_type.h"
#include "bind/make.h"
#include "bind/named_arguments.h"
#include "bind/names_on_path.h"
#include "bind/operator_rules.h"
#include "bind/overload_hints.h"
#include "parse/name_path.h"
#include "parse/printer.h"
#include "parse/sql_parser.h"
#include "parse/text.h"
#include "query/search_path.h"
#include "query/session_activity.h"
#include "storage/json_text_type.h"
#include "types/datetime.h"
#include "types/ordered_bytes.h"

namespace scyper::query {

namespace {

bool is_comparison(std::string_view op) {
  return op == "=" || op == "<>" || op == "<" || op == "<=" || op == ">" || op == ">=";
}

bool is_arithmetic(std::string_view op) { return op == "+" || op == "-" || op == "*" || op == "/" || op == "%"; }

// May another node that replays the statement get another result? It may be of another version, or have another
// database of zones, where the function looks up a zone by its name.
bool differs_by_node(const Builtin& f) {
  return f.name == "version" || (f.name.find("jsonb_path_") != std::string_view::npos && f.name.ends_with("_tz")) ||
         (f.name == "timezone" && f.parameters[0] == TypeId::kText) ||
         (f.name == "date_trunc" && f.parameters.size() == 3) ||
         (f.name == "make_timestamptz" && f.parameters.size() == 7);
}

int number_order(TypeId id) {
  return id == TypeId::kInt2      ? 1
         : id == TypeId::kInt4    ? 2
         : id == TypeId::kInt8    ? 3
         : id == TypeId::kNumeric ? 4
         : id == TypeId::kFloat4  ? 5
                                  : 6;
}

// How well `arg` fits `parameter`: 0 exact, -1 not; else by an implicit cast, a little cheaper to the type that
// PostgreSQL prefers in its category: more exact arguments always win.
int fit(TypeId arg, TypeId parameter) {
  constexpr int kPreferred = 100, kOther = 101;
  if (arg == parameter || parameter == TypeId::kUnknown) return 0;
  if (arg == TypeId::kUnknown)
    return parameter == TypeId::kFloat8 || parameter == TypeId::kInterval || parameter == TypeId::kTimestamptz ||
                   is_preferred_ordered(parameter)
               ? kPreferred
               : kOther;
  if (const OrderedCast* cast = find_ordered_cast(arg, parameter))
    return cast->context != OrderedCastContext::kImplicit ? -1 : is_preferred_ordered(parameter) ? kPreferred : kOther;
  if (is_number(arg) && is_number(parameter) && number_order(arg) < number_order(parameter))
    return parameter == TypeId::kFloat8 ? kPreferred : kOther;
  if (is_string(arg) && is_string(parameter))
    return parameter != TypeId::kText ? kOther : arg == TypeId::kChar ? kPreferred : 0;
  if (arg == TypeId::kDate && parameter == TypeId::kTimestamp) return kOther;
  if ((arg == TypeId::kDate || arg == TypeId::kTimestamp) && parameter == TypeId::kTimestamptz) return kPreferred;
  if (arg == TypeId::kTime && parameter == TypeId::kInterval) return kPreferred;
  return -1;
}

// The enum that the arguments of a call are of.
SqlType enum_of(const std::vector<BoundPtr>& args) {
  for (const auto& arg : args)
    if (arg->type.id == TypeId::kEnum) return arg->type;
  return make_type(TypeId::kEnum);
}

int fit_all(const Builtin& builtin, const std::vector<BoundPtr>& args) {
  size_t fixed = builtin.parameters.size();
  if (builtin.variadic ? args.size() + 1 < fixed : args.size() != fixed) return -1;
  // elements beside ranges are of the range's type: anyelement is found without casts
  const bool is_exact = std::any_of(builtin.parameters.begin(), builtin.parameters.end(),
                                    [](TypeId id) { return is_range(id) || is_multirange(id); });
  int cost = 0;
  for (size_t i = 0; i < args.size(); i++) {
    const TypeId parameter = builtin.parameters[std::min(i, fixed - 1)];
    if (is_exact && args[i]->type.id != TypeId::kUnknown && args[i]->type.id != parameter) return -1;
    int one = fit(args[i]->type.id, builtin.parameters[std::min(i, fixed - 1)]);
    if (one < 0) return -1;
    // a literal beside a range or a multirange is taken for one of its type first
    if (is_exact && args[i]->type.id == TypeId::kUnknown && args.size() == 2 && args[1 - i]->type.id == parameter)
      one = 0;
    // an unknown literal prefers text
    if (args[i]->type.id == TypeId::kUnknown && is_string(builtin.parameters[std::min(i, fixed - 1)])) one = 0;
    cost += one;
  }
  return cost;
}

}  // namespace

// Gives an operand that is a literal without a type the type that the other side decides.
Status Binder::type_unknown_operands(std::string_view op, BoundPtr* left, BoundPtr* right, int32_t location) {
  bool left_known = (*left)->type.id != TypeId::kUnknown;
  bool right_known = (*right)->type.id != TypeId::kUnknown;
  auto is_loose = [&](const BoundExpr& e) {
    return e.kind == BoundKind::kVariable && program_->variables[e.index].name == kLooseField;
  };
  if (!left_known && !right_known && is_arithmetic(op) && (is_loose(**left) || is_loose(**right))) {
    for (BoundPtr* side : {left, right}) {
      SCYPER_ASSIGN_OR_RETURN(*side, coerce(std::move(*side), make_numeric(0, 0), Coercion::kImplicit));
    }
    return absl::OkStatus();
  }
  if (!left_known && !right_known && is_arithmetic(op))
    return with_hint(
        error("42725", absl::StrCat("operator is not unique: unknown ", std::string(op), " unknown"), location),
        "Could not choose a best candidate operator. You might need to add explicit type casts.");
  if (!left_known && !right_known && is_comparison(op)) {
    SCYPER_ASSIGN_OR_RETURN(*left, coerce(std::move(*left), make_type(TypeId::kText), Coercion::kImplicit));
    SCYPER_ASSIGN_OR_RETURN(*right, coerce(std::move(*right), make_type(TypeId::kText), Coercion::kImplicit));
  }
  if ((!is_comparison(op) && !is_arithmetic(op)) || left_known == right_known) return absl::OkStatus();
  BoundPtr* unknown = left_known ? right : left;
  SqlType target = left_known ? (*left)->type : (*right)->type;
  const bool is_moved = is_moment(target.id) || target.id == TypeId::kTime;
  if ((op == "+" && is_moved) || (op == "-" && target.id == TypeId::kTimetz)) target = make_type(TypeId::kInterval);
  if (op == "+" && ordered_operand(target.id) == TypeId::kInet) target = make_type(TypeId::kInt8);
  const bool is_span = target.id == TypeId::kInterval || target.id == TypeId::kTime;
  const bool is_factor = op == "*" && target.id == TypeId::kMoney;
  if (((op == "*" || op == "/") && is_span) || is_factor) target = make_type(TypeId::kFloat8);
  if (op == "-" && target.id == TypeId::kJsonb)
    target = make_type(TypeId::kText);  // a key
  else if (op == "-" && !left_known && is_string(target.id))
    target = make_type(TypeId::kJsonb);  // what has the key
  if (is_ordered_bytes(target.id)) target = make_type(ordered_operand(target.id));
  if (!is_name(target)) target = is_string(target.id) ? make_type(target.id) : plain_type(target);
  SCYPER_ASSIGN_OR_RETURN(*unknown, coerce(std::move(*unknown), target, Coercion::kImplicit));
  return absl::OkStatus();
}

Status Binder::match_numbers(BoundPtr* left, BoundPtr* right) {
  TypeId a = (*left)->type.id;
  TypeId b = (*right)->type.id;
  SqlType target_left = (*left)->type;
  SqlType target_right = (*right)->type;
  if (is_float(a) || is_float(b))  // a real meets anything else in double precision
    target_left = target_right = make_type(a == b ? a : TypeId::kFloat8);
  else if (a == TypeId::kNumeric || b == TypeId::kNumeric)
    target_left = as_numeric((*left)->type), target_right = as_numeric((*right)->type);
  else if (number_order(a) < number_order(b))
    target_left = (*right)->type;
  else
    target_right = (*left)->type;
  SCYPER_ASSIGN_OR_RETURN(*left, coerce(std::move(*left), target_left, Coercion::kImplicit));
  SCYPER_ASSIGN_OR_RETURN(*right, coerce(std::move(*right), target_right, Coercion::kImplicit));
  return absl::OkStatus();
}

// Comparisons of strings, dates and arrays.
Status Binder::match_compared(std::string_view op, BoundPtr* left, BoundPtr* right, int32_t location) {
  TypeId a = (*left)->type.id;
  TypeId b = (*right)->type.id;
  if (is_string(a) && is_string(b) && (a != TypeId::kChar || b != TypeId::kChar)) {
    // varchar has no operators of its own: beside char(n) it is compared as that, without trailing blanks
    const bool as_char = (a == TypeId::kVarchar && b == TypeId::kChar) || (a == TypeId::kChar && b == TypeId::kVarchar);
    if (as_char) {
      BoundPtr* side = a == TypeId::kVarchar ? left : right;
      SCYPER_ASSIGN_OR_RETURN(*side, coerce(std::move(*side), make_string(TypeId::kChar, -1), Coercion::kImplicit));
      return absl::OkStatus();
    }
    for (BoundPtr* side : {left, right}) {
      if ((*side)->type.id != TypeId::kChar) continue;
      SCYPER_ASSIGN_OR_RETURN(*side, coerce(std::move(*side), make_type(TypeId::kText), Coercion::kImplicit));
    }
  } else if (a != b && is_moment(a) && is_moment(b)) {
    bool zoned = a == TypeId::kTimestamptz || b == TypeId::kTimestamptz;
    SqlType timestamp = make_type(zoned ? TypeId::kTimestamptz : TypeId::kTimestamp);
    SCYPER_ASSIGN_OR_RETURN(*left, coerce(std::move(*left), timestamp, Coercion::kImplicit));
    SCYPER_ASSIGN_OR_RETURN(*right, coerce(std::move(*right), timestamp, Coercion::kImplicit));
  } else if ((a == TypeId::kArray && b == TypeId::kArray && (*left)->type.element != (*right)->type.element) ||
             ((a == TypeId::kEnum || (*left)->type.element == TypeId::kEnum) && a == b &&
              (*left)->type.length != (*right)->type.length)) {
    return with_hint(error("42883",
                           absl::StrCat("operator does not exist: ", type_name((*left)->type), " ", std::string(op),
                                        " ", type_name((*right)->type)),
                           location),
                     std::string(kNoOperator));
  }
  return absl::OkStatus();
}

Status Binder::match_concatenated(BoundPtr* left, BoundPtr* right, int32_t location) {
  TypeId a = (*left)->type.id;
  TypeId b = (*right)->type.id;
  const auto no_concatenation = [&] {
    return with_hint(
        error("42883",
              absl::StrCat("operator does not exist: ", type_name(make_type(a)), " || ", type_name(make_type(b))),
              location),
        std::string(kNoOperator));
  };
  auto either = [&](TypeId id) { return (a == id || b == id) && !is_string(a) && !is_string(b); };
  const bool are_bits = either(TypeId::kBit) || either(TypeId::kVarbit);
  TypeId whole = are_bits ? TypeId::kVarbit : TypeId::kUnknown;
  for (const TypeId id : {TypeId::kBytea, TypeId::kJsonb, TypeId::kTsvector, TypeId::kTsquery})
    if (either(id)) whole = id;
  if (whole != TypeId::kUnknown) {
    const SqlType wanted = make_type(whole);
    for (const TypeId id : {a, b})
      if (id != wanted.id && !(are_bits && id == TypeId::kBit) && id != TypeId::kUnknown) return no_concatenation();
    for (BoundPtr* side : {left, right}) {
      SCYPER_ASSIGN_OR_RETURN(*side, coerce(std::move(*side), wanted, Coercion::kImplicit));
    }
    return absl::OkStatus();
  }
  if (!is_string(a) && !is_string(b) && a != TypeId::kUnknown && b != TypeId::kUnknown) return no_concatenation();
  SqlType text = make_type(TypeId::kText);
  SCYPER_ASSIGN_OR_RETURN(*left, coerce(std::move(*left), text, Coercion::kAssignment));
  SCYPER_ASSIGN_OR_RETURN(*right, coerce(std::move(*right), text, Coercion::kAssignment));
  return absl::OkStatus();
}

// Numbers meet in the wider type, strings in text (two char(n) compare as char), unknown literals follow the other
// side.
StatusOr<BoundPtr> Binder::make_operator(std::string_view op, BoundPtr left, BoundPtr right, int32_t location) {
  if (left->kind == BoundKind::kRow && right->kind == BoundKind::kRow)
    return compare_bound_rows(op, *left, *right, location);
  if (left->kind == BoundKind::kRow || right->kind == BoundKind::kRow)
    return error("0A000", "comparing a row with something else is not supported", location);
  if (const OperatorFit fit = operator_fit(op, left->type, right->type); fit != OperatorFit::kOpen) {
    std::vector<BoundPtr> args;
    args.push_back(std::move(left));
    args.push_back(std::move(right));
    if (fit == OperatorFit::kMissing) return no_operator(op, args, location);
    return with_hint(error("42725",
                           absl::StrCat("operator is not unique: ", type_name(plain_type(args[0]->type)), " ",
                                        std::string(op), " ", type_name(plain_type(args[1]->type))),
                           location),
                     "Could not choose a best candidate operator. You might need to add explicit type casts.");
  }
  if ((op == "<<" || op == ">>") && left->type.id == TypeId::kUnknown && right->type.id == TypeId::kInt4) {
    SCYPER_ASSIGN_OR_RETURN(left, coerce(std::move(left), right->type, Coercion::kImplicit));
  }
  SCYPER_ASSIGN_OR_RETURN(BoundPtr like, make_like_operator(op, &left, &right, location));
  if (like != nullptr) return like;
  const bool is_checked = is_checked_text(left->type) || is_checked_text(right->type);
  const bool joins_checked = op == "||" && is_checked_text(left->type) && is_checked_text(right->type);
  if ((is_checked && is_comparison(op)) || joins_checked) {
    std::vector<BoundPtr> args;
    args.push_back(std::move(left));
    args.push_back(std::move(right));
    return no_operator(op, args, location);
  }
  if (op == "@?" || op == "@@") return make_path_operator(op, std::move(left), std::move(right), location);
  const bool is_of_json = is_json_text(left->type) && (op == "->" || op == "->>" || op == "#>" || op == "#>>");
  SCYPER_RETURN_IF_ERROR(type_unknown_operands(op, &left, &right, location));
  TypeId a = left->type.id;
  TypeId b = right->type.id;
  bool arrays = a == TypeId::kArray || b == TypeId::kArray;
  if ((is_arithmetic(op) || is_comparison(op)) && is_number(a) && is_number(b)) {
    SCYPER_RETURN_IF_ERROR(match_numbers(&left, &right));
  } else if (is_comparison(op)) {
    SCYPER_RETURN_IF_ERROR(match_compared(op, &left, &right, location));
  } else if (op == "||" && !arrays) {
    SCYPER_RETURN_IF_ERROR(match_concatenated(&left, &right, location));
  }
  const std::string json_op = absl::StrCat(" json", std::string(op));
  std::string_view function = is_of_json ? json_op : op;
  if (op == "||" && arrays) {
    bool both = (a == TypeId::kArray || a == TypeId::kUnknown) && (b == TypeId::kArray || b == TypeId::kUnknown);
    function = both ? "array_cat" : a == TypeId::kArray ? "array_append" : "array_prepend";
  }
  std::vector<BoundPtr> args;
  args.push_back(std::move(left));
  args.push_back(std::move(right));
  return make_call(function, std::move(args), location, op);
}

// CASE WHEN a = b THEN NULL ELSE a END
StatusOr<BoundPtr> Binder::bind_null_if(const ast::NullIf& nullif, const Scope* scope) {
  SCYPER_ASSIGN_OR_RETURN(BoundPtr value, bind(*nullif.left, scope));
  SCYPER_ASSIGN_OR_RETURN(BoundPtr left, bind(*nullif.left, scope));
  SCYPER_ASSIGN_OR_RETURN(BoundPtr right, bind(*nullif.right, scope));
  SCYPER_ASSIGN_OR_RETURN(BoundPtr equal, make_operator("=", std::move(left), std::move(right), nullif.location));
  // the type that "=" has on its left side: text for varchar, and that of the numbers where PostgreSQL has no "=" of
  // both
  const TypeId compared = equal->args[0]->type.id;
  if (value->type.id == TypeId::kUnknown || (value->type.id == TypeId::kVarchar && is_string(compared)) ||
      (compared != value->type.id && (compared == TypeId::kNumeric || compared == TypeId::kFloat8))) {
    const SqlType type = value->type.id == TypeId::kVarchar ? make_type(TypeId::kText) : equal->args[0]->type;
    SCYPER_ASSIGN_OR_RETURN(value, coerce(std::move(value), type, Coercion::kImplicit));
  }
  BoundPtr result = make_expr(BoundKind::kCase, value->type, true, nullif.location);
  result->index = kNullIfCase;
  result->args.push_back(std::move(equal));
  result->args.push_back(make_null(value->type, nullif.location));
  result->args.push_back(std::move(value));
  return result;
}

namespace {
bool is_finite_moment(TypeId type, const Datum& moment) {
  return type == TypeId::kDate ? is_finite_date(static_cast<int32_t>(moment.lo)) : is_finite_timestamp(moment.lo);
}

// A calendar unit that a date or a timestamp has, as an integer.
bool is_calendar_unit(const BoundExpr& unit, const BoundExpr& moment, DatetimeUnit* out) {
  if (unit.kind != BoundKind::kConst || unit.value.null || unit_parse(unit.text, out) != ValueError::kNone)
    return false;
  if (!is_moment(moment.type.id)) return false;
  if (moment.kind == BoundKind::kConst && !is_finite_moment(moment.type.id, moment.value)) return false;
  if (moment.type.id != TypeId::kDate && (*out == DatetimeUnit::kHour || *out == DatetimeUnit::kMinute)) return true;
  return *out == DatetimeUnit::kDay || *out == DatetimeUnit::kWeek || *out == DatetimeUnit::kMonth ||
         *out == DatetimeUnit::kQuarter || *out == DatetimeUnit::kYear || *out == DatetimeUnit::kDayOfWeek ||
         *out == DatetimeUnit::kIsoDayOfWeek || *out == DatetimeUnit::kDayOfYear || *out == DatetimeUnit::kIsoYear;
}
}  // namespace

// extract() of such a unit is a small integer: the unit is read once, what is done with the result is generated inline.
StatusOr<BoundPtr> Binder::make_extract(DatetimeUnit unit, std::vector<BoundPtr> args, int32_t location) {
  args[0] = make_constant(make_type(TypeId::kInt4), int_datum(static_cast<int64_t>(unit)), location);
  SCYPER_ASSIGN_OR_RETURN(BoundPtr call, make_call(" extract", std::move(args), location));
  call->type = make_numeric(kMaxPrecision64, 0);
  return call;
}

Status Binder::no_like_operator(std::string_view name, const std::vector<BoundPtr>& args, int32_t location) const {
  auto shown = [](const BoundPtr& e) {
    return e->type.id == TypeId::kUnknown ? std::string("unknown") : type_name(plain_type(e->type));
  };
  return with_hint(error("42883",
                         absl::StrCat("operator does not exist: ", shown(args[0]), name == "like" ? " ~~ " : " ~~* ",
                                      shown(args[1])),
                         location),
                   std::string(kNoOperator));
}

Status Binder::no_operator(std::string_view op, const std::vector<BoundPtr>& args, int32_t location) const {
  auto shown = [](const BoundPtr& e) { return type_name(plain_type(e->type)); };
  return with_hint(error("42883",
                         absl::StrCat("operator does not exist: ", args.size() == 2 ? shown(args[0]) + " " : "",
                                      std::string(op), " ", args.empty() ? "" : shown(args.back())),
                         location),
                   std::string(kNoOperator));
}

namespace {
// The domain that all results of COALESCE, CASE, GREATEST and LEAST are of, as PostgreSQL keeps it; else 0.
uint32_t common_domain(const BoundExpr& expr) {
  if (expr.domain != 0) return expr.domain;
  const bool is_case = expr.kind == BoundKind::kCase && expr.index != kNullIfCase;
  if (!is_case && expr.kind != BoundKind::kCoalesce && expr.kind != BoundKind::kMinMax) return 0;
  const uint32_t domain = expr.args.empty() ? 0 : common_domain(*expr.args.back());
  for (size_t i = is_case ? 1 : 0; i < expr.args.size(); i += is_case ? 2 : 1)
    if (common_domain(*expr.args[i]) != domain) return 0;
  return domain;
}

// The type that PostgreSQL gives literals beside known arguments that are all of one type; unknown: not so.
SqlType type_of_known(const std::vector<BoundPtr>& args) {
  SqlType type = make_type(TypeId::kUnknown);
  for (const auto& arg : args) {
    if (arg->type.id == TypeId::kUnknown) continue;
    if (type.id != TypeId::kUnknown && type.id != arg->type.id) return make_type(TypeId::kUnknown);
    type = plain_type(arg->type);
  }
  return type;
}

// For what looks at the rights of current_user when it runs: who that is, is known here only.
std::vector<BoundPtr> with_asker(const Builtin& f, std::vector<BoundPtr> args, int32_t location) {
  if (f.name == "pg_cancel_backend" || f.name == "pg_terminate_backend")
    args.push_back(make_text_constant(make_type(TypeId::kText), std::string(current_user_name()), location));
  return args;
}
}  // namespace

StatusOr<BoundPtr> Binder::make_call(std::string_view name, std::vector<BoundPtr> args, int32_t location,
                                     std::string_view written_as) {
  const SqlType known = name == "overlaps" ? type_of_known(args) : SqlType{};
  for (size_t i = 0; known.id != TypeId::kUnknown && i < args.size(); i++) {
    if (args[i]->type.id != TypeId::kUnknown) continue;
    SCYPER_ASSIGN_OR_RETURN(args[i], coerce(std::move(args[i]), known, Coercion::kImplicit));
  }
  DatetimeUnit unit;
  if (name == "extract" && args.size() == 2 && is_calendar_unit(*args[0], *args[1], &unit))
    return make_extract(unit, std::move(args), location);
  std::vector<const Builtin*> candidates = find_builtins(name);
  const Builtin* best = nullptr;
  int best_cost = INT32_MAX;
  for (const Builtin* candidate : candidates) {
    int cost = fit_all(*candidate, args);
    if (cost >= 0 && cost < best_cost) best = candidate, best_cost = cost;
  }
  if (best == nullptr) {
    bool is_operator = !name.empty() && bare_name(name).size() == name.size() &&
                       !isalpha(static_cast<unsigned char>(name[0])) && name[0] != '_';
    if (!is_operator && (name == "like" || name == "ilike") && args.size() == 2)
      return no_like_operator(name, args, location);
    if (!is_operator) return make_user_call(name, GivenArguments{std::move(args), {}, false}, location);
    return no_operator(written_as.empty() ? name : written_as, args, location);
  }
  if (std::find(best->parameters.begin(), best->parameters.end(), TypeId::kArray) != best->parameters.end() &&
      best->op == BuiltinOp::kRuntime) {
    SqlType element;
    if (!find_element(*best, args, &element)) {
      if (!written_as.empty()) return no_operator(written_as, args, location);
      return make_user_call(name, GivenArguments{std::move(args), {}, false}, location);
    }
    SCYPER_RETURN_IF_ERROR(match_array_elements(*best, element, &args));
  }
  if (best->name == "pg_typeof") {  // known now, of NULLs too
    const auto kind = object_kind(args[0]->type);
    const Domain* domain = catalog_.find_domain(common_domain(*args[0]));
    const std::string shown = domain != nullptr  ? quote_identifier(domain->name)
                              : kind.has_value() ? std::string(name_of_kind(*kind))
                                                 : type_name(plain_type(args[0]->type));
    return make_text_constant(make_type(TypeId::kText), shown, location);
  }
  if (best->name == "pg_backend_pid" && ActivityScope::current() != nullptr) {
    return make_constant(make_type(TypeId::kInt4), int_datum(ActivityScope::current()->pid()), location);
  }
  BoundPtr call = make_expr(BoundKind::kBuiltin, make_type(best->result), !best->strict, location);
  std::vector<SqlType> types;
  for (size_t i = 0; i < args.size(); i++) {
    TypeId wanted = best->parameters[std::min(i, best->parameters.size() - 1)];
    if (const auto kind = object_kind(args[i]->type); kind.has_value() && wanted == TypeId::kUnknown) {
      SCYPER_ASSIGN_OR_RETURN(args[i], object_text(*kind, std::move(args[i])));
    }
    if (wanted == TypeId::kUnknown && args[i]->type.id == TypeId::kUnknown) wanted = TypeId::kText;
    if (wanted != TypeId::kUnknown && wanted != args[i]->type.id) {
      SqlType target = wanted == TypeId::kNumeric ? as_numeric(args[i]->type) : make_type(wanted);
      if (wanted == TypeId::kEnum) target = enum_of(args);
      SCYPER_ASSIGN_OR_RETURN(args[i], coerce(std::move(args[i]), target, Coercion::kExplicit));
    }
    if (best->strict) call->nullable |= args[i]->nullable;
    types.push_back(args[i]->type);
  }
  call->builtin = best;
  if (best->result_type != nullptr) call->type = best->result_type(types);
  if (best->op == BuiltinOp::kRuntime && best->strict && best->may_return_null) call->nullable = true;
  if (best->is_volatile || differs_by_node(*best)) program_->volatile_result = true;
  if (best->writes) program_->writes = true;
  if (best->name.find("_advisory_") != std::string_view::npos) program_->writes_shared = true;  // runs alone
  call->args = with_asker(*best, std::move(args), location);
  return call;
}

int Binder::pass_cost(const BoundExpr& arg, const SqlType& parameter) {
  if (arg.type.id == TypeId::kArray && parameter.id == TypeId::kArray) return fit(arg.type.element, parameter.element);
  if (arg.type.id == TypeId::kUnknown && is_string(parameter.id)) return 0;  // an unknown literal prefers text
  return fit(arg.type.id, parameter.id);
}

namespace {
// The literal name of a sequence of a schema of search_path, with that schema. A name that no schema of the path has is
// none of public either.
void find_sequence_in_path(const Catalog& catalog, BoundPtr* name) {
  if ((*name)->value.null) return;
  std::string found = sequence_on_path(catalog, *SessionPathScope::current, (*name)->text);
  if (found != (*name)->text) *name = make_text_constant(SqlType((*name)->type), std::move(found), (*name)->location);
}

bool follows_path() {
  const auto* path = SessionPathScope::current;
  return path != nullptr && !is_default_path(*path) && !RuleTextScope::is_on;
}

// The arguments of a call that finds the sequence when the statement runs. Empty: the name is a constant.
std::vector<BoundPtr> follow_path(const Catalog& catalog, std::vector<BoundPtr>* given) {
  std::vector<BoundPtr> args;
  if (given->empty() || !follows_path()) return args;
  BoundPtr& name = (*given)[0];
  if (name->kind == BoundKind::kConst) return find_sequence_in_path(catalog, &name), std::move(args);
  if (!is_string(name->type.id)) return args;
  const std::string path = absl::StrJoin(*SessionPathScope::current, "\n");
  args.push_back(make_text_constant(make_type(TypeId::kText), path, name->location));
  args.push_back(std::move(name));
  return args;
}
}  // namespace

namespace {
// What only a call of an aggregate may have.
const char* clause_of_aggregates(const ast::FunctionCall& call) {
  if (call.star) return "(*)";
  if (call.distinct) return "DISTINCT";
  if (call.within_group) return "WITHIN GROUP";
  if (!call.order_by.empty()) return "ORDER BY";
  return call.filter != nullptr ? "FILTER" : nullptr;
}
}  // namespace

namespace {
// f(VARIADIC array), of a builtin function that takes any number of values.
bool is_spread(const ast::FunctionCall& call, const std::vector<BoundPtr>& args) {
  if (!call.variadic || args.empty() || args.back()->type.id != TypeId::kArray) return false;
  const auto& found = find_builtins(" variadic " + call.name.back());
  return std::any_of(found.begin(), found.end(),
                     [&](const Builtin* builtin) { return builtin->parameters.size() == args.size(); });
}

Status not_spread(const ast::FunctionCall& call, const std::vector<BoundPtr>& args, std::string_view source) {
  const SqlType& type = args.back()->type;
  const bool takes_array = !find_builtins(" variadic " + call.name.back()).empty();
  if (takes_array && type.id != TypeId::kUnknown && type.id != TypeId::kArray)
    return sql_error("42804", "VARIADIC argument must be an array", position_at(source, args.back()->location));
  return sql_error("0A000", "VARIADIC arguments are not supported", position_at(source, call.location));
}

// int4range(x) of an int4range and of a literal: casts, where the other functions of the name take two arguments.
bool is_range_cast(std::string_view name, const std::vector<BoundPtr>& args) {
  if (!name.ends_with("range") || args.size() != 1) return false;
  return args[0]->type.id == TypeId::kUnknown || type_name(args[0]->type) == name;
}
}  // namespace

StatusOr<BoundPtr> Binder::bind_call(const ast::FunctionCall& call, const Scope* scope) {
  const std::string& name = call.name.back();
  const Callees callees = callees_of(call);
  if (callees == Callees::kRoutine) return bind_routine_call(call, scope);
  if (call.over != nullptr) return bind_window_call(call, scope);
  if (callees == Callees::kBoth && hides_set_or_aggregate(call)) {
    SCYPER_ASSIGN_OR_RETURN(GivenArguments given, bind_given(call, scope));
    const std::string key = preferred_routine(call, given);
    if (!key.empty()) return make_user_call(key, std::move(given), call.location);
  }
  if (is_aggregate(name) && (call.within_group || !is_window_function(name))) return bind_aggregate(call, scope);
  if (is_set_function(name)) return bind_set_call(call, scope);
  if (is_window_function(name))
    return error("42809", absl::StrCat("window function ", name, " requires an OVER clause"), call.location);
  const char* clause = clause_of_aggregates(call);
  if (clause != nullptr)
    return error("42809",
                 call.star ? absl::StrCat(name, "(*) specified, but ", name, " is not an aggregate function")
                           : absl::StrCat(clause, " specified, but ", name, " is not an aggregate function"),
                 call.location);
  SCYPER_ASSIGN_OR_RETURN(BoundPtr environment, bind_environment_call(call, scope));
  if (environment != nullptr) return environment;
  if (auto found = select_functions_.find(&call); found != select_functions_.end())
    return select_column(*found->second);
  SCYPER_ASSIGN_OR_RETURN(GivenArguments given, bind_given(call, scope));
  bool named = std::any_of(call.arg_names.begin(), call.arg_names.end(), [](const auto& n) { return !n.empty(); });
  if (callees == Callees::kBoth) {
    const std::string key = preferred_routine(call, given);
    if (!key.empty()) return make_user_call(key, std::move(given), call.location);
  }
  bool own = find_builtins(name).empty() && catalog_.routines.count(name) != 0;
  const bool is_literal = given.args.size() == 1 && given.args[0]->type.id == TypeId::kUnknown;
  if (own && (is_literal || preferred_routine(call, given).empty())) {  // a type of that name is closer
    SCYPER_ASSIGN_OR_RETURN(BoundPtr cast, bind_type_call(call, &given));
    if (cast != nullptr) return cast;
  }
  if (own || (named && catalog_.routines.count(name) != 0))
    return make_user_call(name, std::move(given), call.location);
  if (named && !place_arguments(name, call.arg_names, &given.args))
    return make_user_call(name, std::move(given), call.location);  // does not exist
  if (is_spread(call, given.args)) return make_call(" variadic " + name, std::move(given.args), call.location, name);
  if (call.variadic) return not_spread(call, given.args, source_);
  if (!fits_marks(name, given.args)) return make_user_call(name, std::move(given), call.location);
  SCYPER_RETURN_IF_ERROR(coerce_marked(name, &given.args));
  if (find_builtins(name).empty() || is_range_cast(name, given.args)) {
    SCYPER_ASSIGN_OR_RETURN(BoundPtr cast, bind_type_call(call, &given));
    if (cast != nullptr) return cast;
  }
  for (auto& arg : given.args) {
    if (arg->kind != BoundKind::kRow) continue;
    bool json = name == "to_jsonb" || name == "jsonb_build_object" || name == "jsonb_build_array";
    if (name == "row_to_json") return row_to_json(call, std::move(given.args));
    const bool text = name == "to_json" || name == "json_build_object" || name == "json_build_array";
    const char* made = text ? " json_row" : "jsonb_build_object";
    SCYPER_ASSIGN_OR_RETURN(arg, json || text ? row_json(std::move(arg), made) : row_text(std::move(arg)));
  }
  if (name == "nextval" || name == "setval" || name == "currval") {
    if (!given.args.empty() && object_kind(given.args[0]->type).has_value()) {
      SCYPER_ASSIGN_OR_RETURN(given.args[0],
                              coerce(std::move(given.args[0]), make_type(TypeId::kText), Coercion::kImplicit));
    }
    if (std::vector<BoundPtr> late = follow_path(catalog_, &given.args); !late.empty()) {
      SCYPER_ASSIGN_OR_RETURN(given.args[0], make_call(" sequence on path", std::move(late), call.location));
    }
    SCYPER_RETURN_IF_ERROR(check_sequence(given.args));
  }
  SCYPER_RETURN_IF_ERROR(check_sequence_rights(name, &given.args));
  return make_call(name, std::move(given.args), call.location);
}

}  // namespace scyper::query
