#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/bounded_work.h"
#include "bind/binder.h"
#include "bind/make.h"
#include "parse/type_resolver.h"
#include "storage/json_text_type.h"
#include "storage/name_type.h"
#include "types/datum_text.h"
#include "types/decimal.h"
#include "types/interval.h"
#include "types/ordered_bytes.h"
#include "types/range.h"
#include "types/timezone.h"

namespace scyper::query {

namespace {

// Order of implicit promotion among numbers; 0 = not a number.
int number_rank(TypeId id) {
  switch (id) {
    case TypeId::kInt2:
      return 1;
    case TypeId::kInt4:
      return 2;
    case TypeId::kInt8:
      return 3;
    case TypeId::kNumeric:
      return 4;
    case TypeId::kFloat4:
      return 5;
    case TypeId::kFloat8:
      return 6;
    default:
      return 0;
  }
}

// The weakest context in which PostgreSQL casts `from` to `to` (pg_cast, and I/O conversion for strings); false: never.
bool find_cast(TypeId from, TypeId to, Coercion* context) {
  if (from == to) return *context = Coercion::kImplicit, true;
  int a = number_rank(from);
  int b = number_rank(to);
  if (a != 0 && b != 0) return *context = a < b ? Coercion::kImplicit : Coercion::kAssignment, true;
  if (is_string(from) && is_string(to)) return *context = Coercion::kImplicit, true;
  if (is_moment(from) && is_moment(to)) {  // to what knows more: date, timestamp, timestamptz
    auto rank = [](TypeId id) { return id == TypeId::kDate ? 0 : id == TypeId::kTimestamp ? 1 : 2; };
    return *context = rank(from) < rank(to) ? Coercion::kImplicit : Coercion::kAssignment, true;
  }
  if (from == TypeId::kJsonb && (to == TypeId::kBool || b != 0)) return *context = Coercion::kExplicit, true;
  if (from == TypeId::kTime && to == TypeId::kInterval) return *context = Coercion::kImplicit, true;
  if (to == TypeId::kTime && (from == TypeId::kInterval || from == TypeId::kTimestamp || from == TypeId::kTimestamptz))
    return *context = Coercion::kAssignment, true;
  if ((from == TypeId::kBool && to == TypeId::kInt4) || (from == TypeId::kInt4 && to == TypeId::kBool))
    return *context = Coercion::kExplicit, true;
  if (const OrderedCast* cast = find_ordered_cast(from, to)) {
    *context = cast->context == OrderedCastContext::kImplicit     ? Coercion::kImplicit
               : cast->context == OrderedCastContext::kAssignment ? Coercion::kAssignment
                                                                  : Coercion::kExplicit;
    return true;
  }
  if (is_string(to)) return *context = Coercion::kAssignment, from != TypeId::kRecord && from != TypeId::kVoid;
  if (is_string(from)) return *context = Coercion::kExplicit, to != TypeId::kRecord && to != TypeId::kVoid;
  return false;
}

// Without length and precision, as messages have it.
std::string name_of_type(const SqlType& type) { return type_name(plain_type(type)); }

void* take_from_string(void* arg, size_t size) noexcept {
  const BoundedWork::Pause pause;
  // The binder's constants live as long as the program: one block each, owned by the expression's text.
  auto* blocks = static_cast<std::vector<std::unique_ptr<char[]>>*>(arg);
  blocks->push_back(std::make_unique<char[]>(size + 16));
  return blocks->back().get();
}

TypeId innermost(const SqlType& type) {
  const TypeId id = type.id == TypeId::kArray ? type.element : type.id;
  return innermost_element(id);
}

// May the text have the name of a zone? What it means is up to the system's time zone database, which a node that
// replays the statement need not have: the changes are logged then, not the statement.
bool reads_zones(const SqlType& from, const SqlType& target) {
  const TypeId to = innermost(target);
  return is_string(innermost(from)) && (is_moment(to) || to == TypeId::kTime || to == TypeId::kTimetz);
}
bool names_zone(const SqlType& target, std::string_view text) {
  if (!reads_zones(make_type(TypeId::kText), target)) return false;
  auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  for (size_t i = 1; i < text.size(); i++)  // but for the T of ISO 8601 and Z
    if (is_letter(text[i - 1]) && is_letter(text[i])) return true;
  return false;
}

// A timestamptz's text as the clock of UTC would have it.
Datum clock_of_text(std::string_view text) {
  const ZoneScope utc(nullptr);
  int64_t value = 0;
  std::string_view word;
  static_cast<void>(timestamptz_parse(text, &value, &word));
  return int_datum(value);
}
// Does it mean the same in all zones?
bool has_own_zone(std::string_view text) {
  static const auto& other = *new std::shared_ptr<const SessionZone>(make_session_zone("<+01>-01"));
  const Datum in_utc = clock_of_text(text);
  const ZoneScope scope(other.get());
  int64_t value = 0;
  std::string_view word;
  return timestamptz_parse(text, &value, &word) == ValueError::kNone && value == in_utc.lo;
}

// Whether a time with time zone without a zone of its own takes that of the session and the day.
bool has_own_displacement(std::string_view text) {
  static const auto& other = *new std::shared_ptr<const SessionZone>(make_session_zone("<+01>-01"));
  std::string values[2];
  for (const bool is_other : {false, true}) {
    const ZoneScope scope(is_other ? other.get() : nullptr);
    if (!parse_ordered_bytes(make_type(TypeId::kTimetz), text, &values[is_other ? 1 : 0]).ok()) return true;
  }
  return values[0] == values[1];
}

// Does the text mean the same in all orders of DateStyle?
bool has_own_order(const SqlType& target, std::string_view text) {
  std::vector<std::unique_ptr<char[]>> blocks;
  Datum values[3];
  for (DateOrder order : {DateOrder::kMonthFirst, DateOrder::kDayFirst, DateOrder::kYearFirst}) {
    const DateOrderScope scope(order);
    Datum& value = values[static_cast<size_t>(order)];
    if (!parse_datum(target, text, TextArena{take_from_string, &blocks}, &value).ok()) return false;
  }
  return values[0].lo == values[1].lo && values[1].lo == values[2].lo;
}

// 'now' and the like have no value before the statement runs: is the text one of them? Else *error is as PostgreSQL's.
bool names_now(const SqlType& target, std::string_view text, Status* error) {
  if (error->ok() || (!is_moment(target.id) && target.id != TypeId::kTime && target.id != TypeId::kTimetz))
    return false;
  std::vector<std::unique_ptr<char[]>> blocks;
  Datum value;
  const NowScope now(0);
  *error = parse_datum(target, text, TextArena{take_from_string, &blocks}, &value);
  return error->ok();
}

}  // namespace

namespace {
// A long number's digits go along (storage/big_numeric.h).
BoundPtr make_number(const SqlType& type, const Datum& value, int32_t location) {
  BoundPtr expr = make_constant(type, value, location);
  if (value.scale != kBigScale) return expr;
  expr->text.assign(value.data(), big_numeric_bytes(value));
  expr->value.lo = reinterpret_cast<int64_t>(expr->text.data());
  return expr;
}
}  // namespace

// In a routine what is no json or jsonpath fails when it runs.
StatusOr<BoundPtr> Binder::json_literal(BoundPtr text, const SqlType& type) {
  std::vector<std::unique_ptr<char[]>> blocks;
  Datum value;
  const Status parsed = parse_datum(type, text->text, TextArena{take_from_string, &blocks}, &value);
  if (!parsed.ok() && program_->is_routine) return make_cast(std::move(text), type, true);
  if (!parsed.ok()) {
    const Status located = error(sqlstate_of(parsed), std::string(parsed.message()), text->location);
    const std::string detail = detail_of(parsed);
    return detail.empty() ? located : with_detail(located, detail);
  }
  return make_text_constant(type, std::string(value.data(), value.size()), text->location);
}

StatusOr<BoundPtr> Binder::literal_to(BoundPtr expr, const SqlType& target, bool is_explicit) {
  if (expr->value.null) return make_null(target, expr->location);
  if (names_zone(target, expr->text)) program_->volatile_result = true;
  if (is_string(target.id)) {
    BoundPtr text = make_text_constant(make_string(TypeId::kText, -1), std::move(expr->text), expr->location);
    if (is_checked_text(target)) return json_literal(std::move(text), target);
    if (is_name(target)) text->text = std::string(clip_name(text->text));
    if (target.length < 0) {
      text->type = target;
      return text;
    }
    return make_cast(std::move(text), target, is_explicit);
  }
  if (target.id == TypeId::kArray || (is_ordered_bytes(target.id) && is_moment(innermost_element(target.id)))) {
    // parsed by a cast at run time: arrays live in a transaction's memory, moments depend on settings and the time
    BoundPtr text = make_text_constant(make_type(TypeId::kText), std::move(expr->text), expr->location);
    Datum probe;
    std::vector<std::unique_ptr<char[]>> blocks;
    Status parsed = parse_datum(target, text->text, TextArena{take_from_string, &blocks}, &probe);
    if (!parsed.ok() && !program_->is_routine) {
      const Status located = error(sqlstate_of(parsed), std::string(parsed.message()), expr->location);
      const std::string detail = detail_of(parsed);
      return detail.empty() ? located : with_detail(located, detail);
    }
    return make_cast(std::move(text), target, true);
  }
  if (is_ordered_bytes(target.id) && target.length >= 0) {  // a cast cuts and fills, input does not
    SCYPER_ASSIGN_OR_RETURN(expr, literal_to(std::move(expr), make_type(target.id), is_explicit));
    return make_cast(std::move(expr), target, is_explicit);
  }
  Datum value;
  std::vector<std::unique_ptr<char[]>> blocks;
  Status parsed;
  parsed = parse_datum(target, expr->text, TextArena{take_from_string, &blocks}, &value);
  const bool depends =
      names_now(target, expr->text, &parsed) ||
      (program_->is_routine && parsed.ok() && is_moment(target.id) && !has_own_order(target, expr->text));
  const bool takes_zone = target.id == TypeId::kTimetz && parsed.ok() && !has_own_displacement(expr->text);
  if (takes_zone) program_->volatile_result = true;
  if (depends || takes_zone)
    return make_cast(make_text_constant(make_type(TypeId::kText), expr->text, expr->location), target, true);
  // in a routine the statement fails when it runs, where a handler can catch it
  if (!parsed.ok() && program_->is_routine)
    return make_cast(make_text_constant(make_type(TypeId::kText), expr->text, expr->location), target, true);
  // precision and scale are another function's in PostgreSQL, which knows no place
  if (!parsed.ok() && target.id == TypeId::kNumeric && parsed.message() == "numeric field overflow") return parsed;
  if (!parsed.ok()) {
    Status located = error(sqlstate_of(parsed), std::string(parsed.message()), expr->location);
    const std::string detail = detail_of(parsed), hint = hint_of(parsed);
    if (!detail.empty()) located = with_detail(std::move(located), detail);
    return hint.empty() ? located : with_hint(std::move(located), hint);
  }
  if (target.id == TypeId::kTimestamptz && program_->is_routine && !has_own_zone(expr->text)) {
    // a routine runs in its caller's zone
    BoundPtr clock = make_constant(make_type(TypeId::kTimestamp), clock_of_text(expr->text), expr->location);
    return make_cast(std::move(clock), target, true);
  }
  if (holds_bytes(target.id))
    return make_text_constant(target, std::string(value.data(), value.size()), expr->location);
  if (target.id == TypeId::kNumeric) return make_number(target, value, expr->location);
  return make_constant(target, value, expr->location);
}

namespace {
// json and jsonb become each other by assignment, and json and jsonpath nothing else but texts; other texts become json
// and jsonpath by a cast.
bool has_json_cast(const SqlType& from, const SqlType& target, Coercion* needed) {
  if (is_json_text(from) && target.id == TypeId::kJsonb) *needed = Coercion::kAssignment;
  if (is_checked_text(from) && !is_string(target.id)) return is_json_text(from) && target.id == TypeId::kJsonb;
  if (is_checked_text(target))
    *needed = is_json_text(target) && from.id == TypeId::kJsonb ? Coercion::kAssignment : Coercion::kExplicit;
  return true;
}

// The time of infinity is NULL.
BoundPtr cast_of_moment(BoundPtr cast) {
  cast->nullable |=
      is_moment(cast->args[0]->type.id) && (cast->type.id == TypeId::kTime || cast->type.id == TypeId::kTimetz);
  return cast;
}
}  // namespace

namespace {
// An integer constant as another number is still a constant: indexes and overflow checks profit. nullptr: it is none.
BoundPtr integer_as(const BoundExpr& expr, const SqlType& target) {
  if (expr.kind != BoundKind::kConst || !is_integer(expr.type.id)) return nullptr;
  const int64_t v = expr.value.lo;
  const bool fits = target.id == TypeId::kInt8 || (target.id == TypeId::kInt4 && v >= INT32_MIN && v <= INT32_MAX) ||
                    (target.id == TypeId::kInt2 && v >= INT16_MIN && v <= INT16_MAX);
  if (fits) return make_constant(target, expr.value, expr.location);
  if (target.id != TypeId::kNumeric || target.precision != 0 || is_modified_numeric(target)) return nullptr;
  return make_constant(target, int128_datum(v, 0), expr.location);
}

// The cast of an address to a text shows all lengths of networks, where the output function leaves out whole ones.
BoundPtr network_text(BoundPtr address) {
  BoundPtr call = make_expr(BoundKind::kBuiltin, make_type(TypeId::kText), address->nullable, address->location);
  call->builtin = find_builtins(" inet_text").front();
  call->args.push_back(std::move(address));
  return call;
}
}  // namespace

StatusOr<BoundPtr> Binder::coerce(BoundPtr expr, const SqlType& target, Coercion context) {
  const SqlType from = expr->type;
  if (from == target) return expr;
  if (const auto kind = object_kind(from); kind.has_value() && is_string(target.id)) {
    SCYPER_ASSIGN_OR_RETURN(expr, object_text(*kind, std::move(expr)));
    return coerce(std::move(expr), target, context);
  }
  if (const auto kind = object_kind(target); kind.has_value() && !is_vector(*kind))
    return cast_to_object(*kind, std::move(expr));
  if (reads_zones(from, target)) program_->volatile_result = true;
  if (ordered_operand(from.id) == TypeId::kInet && is_string(target.id))
    return coerce(network_text(std::move(expr)), target, context);
  if (expr->kind == BoundKind::kRow) {
    if (!is_string(target.id))
      return error("42846", absl::StrCat("cannot cast type record to ", name_of_type(target)), expr->location);
    SCYPER_ASSIGN_OR_RETURN(expr, row_text(std::move(expr)));
    return coerce(std::move(expr), target, context);
  }
  if (from.id == TypeId::kUnknown) {
    if (target.id == TypeId::kUnknown) return expr;
    if (expr->kind == BoundKind::kVariable) {  // an untyped $n takes the type its place wants
      Variable& variable = program_->variables[expr->index];
      if (variable.name == kLooseField) {
        expr->type = make_type(TypeId::kText);
        return coerce(std::move(expr), target, Coercion::kExplicit);
      }
      if (variable.type.id == TypeId::kUnknown) {
        variable.type = target.id == TypeId::kChar ? make_type(TypeId::kText) : plain_type(target);
      }
      const TypeId wanted = target.id == TypeId::kChar ? TypeId::kText : target.id;
      if (allow_parameters_ && expr->index < program_->parameters && variable.type.id != wanted)
        return with_detail(
            error("42P08", absl::StrCat("inconsistent types deduced for parameter $", expr->index + 1), expr->location),
            absl::StrCat(name_of_type(variable.type), " versus ", name_of_type(target)));
      expr->type = variable.type;
      return coerce(std::move(expr), target, context);
    }
    if (expr->kind == BoundKind::kConst) return literal_to(std::move(expr), target, context == Coercion::kExplicit);
  }
  if (from.id == TypeId::kArray && target.id == TypeId::kArray) {
    Coercion needed = Coercion::kImplicit;
    const bool are_enums = from.element == TypeId::kEnum && target.element == TypeId::kEnum;
    if (are_enums || !find_cast(from.element, target.element, &needed) || needed > context)
      return error("42846", absl::StrCat("cannot cast type ", name_of_type(from), " to ", name_of_type(target)),
                   expr->location);
    return make_cast(std::move(expr), target, context == Coercion::kExplicit);
  }
  Coercion needed = Coercion::kImplicit;
  bool exists = from.id != TypeId::kArray && target.id != TypeId::kArray ? find_cast(from.id, target.id, &needed)
                                                                         : is_string(from.id) || is_string(target.id);
  if (from.id == TypeId::kArray || target.id == TypeId::kArray)
    needed = is_string(target.id) ? Coercion::kAssignment : Coercion::kExplicit;
  if (from.id == TypeId::kEnum && target.id == TypeId::kEnum) exists = from.length == target.length;
  exists = exists && has_json_cast(from, target, &needed);
  if (!exists || needed > context)
    return error(context == Coercion::kExplicit ? "42846" : "42804",
                 absl::StrCat("cannot cast type ", name_of_type(from), " to ", name_of_type(target)), expr->location);
  if (expr->kind == BoundKind::kConst && expr->value.null) return make_null(target, expr->location);
  if (BoundPtr constant = integer_as(*expr, target)) return constant;
  // strings without a length to enforce differ in name only; char(n) loses its padding on the way to text
  return cast_of_moment(make_cast(std::move(expr), target, context == Coercion::kExplicit));
}

namespace {
// Where the text of an expression begins, as PostgreSQL points to it.
int32_t leftmost(const BoundExpr& expr) {
  int32_t location = expr.location;
  for (const auto& arg : expr.args) {
    const int32_t other = leftmost(*arg);
    if (other >= 0 && (location < 0 || other < location)) location = other;
  }
  return location;
}
}  // namespace

StatusOr<BoundPtr> Binder::coerce_boolean(BoundPtr expr, std::string_view clause) {
  if (expr->type.id == TypeId::kBool) return expr;
  if (expr->type.id == TypeId::kUnknown) return coerce(std::move(expr), make_type(TypeId::kBool), Coercion::kImplicit);
  return error(
      "42804",
      absl::StrCat("argument of ", std::string(clause), " must be type boolean, not type ", type_name(expr->type)),
      leftmost(*expr));
}

namespace {
// The type that holds both numerics without changing what either prints as.
SqlType merge_numeric(const SqlType& a, const SqlType& b) {
  SqlType x = as_numeric(a);
  SqlType y = as_numeric(b);
  if (x.precision == 0 || y.precision == 0 || x.scale != y.scale) return make_numeric(0, 0);
  return make_numeric(std::max(x.precision, y.precision), x.scale);
}
}  // namespace

namespace {
// PostgreSQL's categories of types: what is of two of them is never matched.
char category_of(const SqlType& type) {
  if (is_number(type.id)) return 'N';
  if (is_string(type.id)) return 'S';
  if (is_moment(type.id) || type.id == TypeId::kTime) return 'D';
  if (type.id == TypeId::kInterval) return 'T';
  if (type.id == TypeId::kBool) return 'B';
  if (type.id == TypeId::kArray) return 'A';
  if (is_ordered_bytes(type.id)) return ordered_category(type.id);
  return type.id == TypeId::kEnum ? 'E' : 'U';
}
}  // namespace

// PostgreSQL, "UNION, CASE, and Related Constructs": the type that values of both have there.
bool Binder::merge_types(const SqlType& next, SqlType* type) {
  if (next.id == TypeId::kUnknown || next == *type) return true;
  if (type->id == TypeId::kUnknown) return *type = next, true;
  if (is_number(type->id) && is_number(next.id)) {
    if (is_float(type->id) || is_float(next.id))
      *type = make_type(type->id == TypeId::kFloat8 || next.id == TypeId::kFloat8 ? TypeId::kFloat8 : TypeId::kFloat4);
    else if (type->id == TypeId::kNumeric || next.id == TypeId::kNumeric)
      *type = merge_numeric(*type, next);
    else if (number_rank(next.id) > number_rank(type->id))
      *type = next;
    return true;
  }
  if (is_string(type->id) && is_string(next.id))  // the first one's: all strings cast to each other implicitly
    return *type = make_type(type->id), true;
  if (type->id == TypeId::kArray && next.id == TypeId::kArray) {
    SqlType element = element_of(*type);
    if (!merge_types(element_of(next), &element)) return false;
    return *type = make_array(element), true;
  }
  if (category_of(*type) != category_of(next)) return false;
  if (type->id == TypeId::kEnum && next.id == TypeId::kEnum) return type->length == next.length;
  Coercion context = Coercion::kExplicit;
  const bool comes_back = find_cast(next.id, type->id, &context) && context == Coercion::kImplicit;
  const bool goes_there = find_cast(type->id, next.id, &context) && context == Coercion::kImplicit;
  if (goes_there && !comes_back) return *type = plain_type(next), true;
  if (!comes_back) return false;
  return *type = plain_type(*type), true;
}

// A literal without a type is of the whole type beside it, not of its length or scale.
SqlType Binder::type_beside_unknown(const std::vector<BoundPtr>& exprs, const SqlType& type) {
  const bool has_literal = std::any_of(exprs.begin(), exprs.end(), [](const BoundPtr& e) {
    return e->type.id == TypeId::kUnknown && !(e->kind == BoundKind::kConst && e->value.null);
  });
  return has_literal ? plain_type(type) : type;
}

StatusOr<SqlType> Binder::common_type(const std::vector<BoundPtr>& exprs, std::string_view construct) {
  SqlType type;
  for (const auto& expr : exprs) {
    if (expr->kind == BoundKind::kRow)
      return error("0A000", absl::StrCat("whole rows in ", std::string(construct), " are not supported"),
                   expr->location);
    if (merge_types(expr->type, &type)) continue;
    const std::string ours = name_of_type(type), other = name_of_type(expr->type), what(construct);
    const char* place = what == "CASE" ? "/WHEN" : "";
    if (category_of(type) == category_of(expr->type))
      return error("42846", absl::StrCat(what, place, " could not convert type ", other, " to ", ours), expr->location);
    return error("42804", absl::StrCat(what, " types ", ours, " and ", other, " cannot be matched"), expr->location);
  }
  if (type.id == TypeId::kUnknown) return make_type(TypeId::kText);
  return type_beside_unknown(exprs, type);
}

namespace {
// A cast to a type with a length or a precision, also one that has nothing to do: DeclaredTypes looks for it.
BoundPtr as_declared(BoundPtr value) {
  if (value->type == plain_type(value->type)) return value;
  if (value->kind == BoundKind::kColumn || value->kind == BoundKind::kVariable) return value;
  if (value->kind == BoundKind::kConst) {
    value->explicit_cast = true;
    return value;
  }
  if (value->kind == BoundKind::kCast && value->explicit_cast) return value;
  const SqlType type = value->type;
  return make_cast(std::move(value), type, true);
}
}  // namespace

StatusOr<BoundPtr> Binder::bind_cast(const ast::Cast& expr, const Scope* scope) {
  SCYPER_ASSIGN_OR_RETURN(BoundPtr object, bind_catalog_cast(expr, scope));
  if (object != nullptr) return object;
  const std::string& type_word = expr.type.name.back();
  if (expr.type.array_bounds.empty() && named_domain(expr.type, catalog_.user_types()) == nullptr &&
      (catalog_.find_table(type_word) != nullptr || catalog_.views.count(type_word) != 0)) {
    SCYPER_ASSIGN_OR_RETURN(BoundPtr row, bind(*expr.arg, scope));
    SCYPER_ASSIGN_OR_RETURN(auto columns, relation_columns(type_word, expr.location));
    return cast_row(std::move(row), columns, type_word);
  }
  SCYPER_ASSIGN_OR_RETURN(SqlType type, resolve_type(expr.type, source_, catalog_.user_types()));
  const auto* array = ast::node_if<ast::ArrayConstructor>(expr.arg.get());
  if (array != nullptr && array->elements.empty() && type.id == TypeId::kArray)  // typed by the cast around it
    return coerce(make_text_constant(make_type(TypeId::kUnknown), "{}", expr.location), type, Coercion::kExplicit);
  SCYPER_ASSIGN_OR_RETURN(BoundPtr arg, bind(*expr.arg, scope));
  const Domain* domain = named_domain(expr.type, catalog_.user_types());
  if (domain != nullptr && arg->domain == domain->id) return arg;
  arg->domain = 0;
  StatusOr<BoundPtr> result = coerce(std::move(arg), type, Coercion::kExplicit);
  if (result.ok() && domain != nullptr) return to_domain(*std::move(result), domain->id);
  if (!result.ok() && sqlstate_of(result.status()) == "42846")
    return error("42846", std::string(result.status().message()), expr.location);
  if (!result.ok()) return result;
  return as_declared(*std::move(result));
}

}  // namespace scyper::query
