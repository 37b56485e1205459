#include <algorithm>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "bind/binder.h"
#include "bind/collation.h"
#include "bind/make.h"
#include "parse/printer.h"
#include "parse/sql_parser.h"
#include "plan/expressions.h"
#include "runtime/text_match.h"
#include "storage/json_text_type.h"

// LIKE and its operators; what compares with ANY or ALL elements of an array; collations.
namespace scyper::query {

namespace {

// PostgreSQL's operators of patterns. Those that are functions here by another name have `function`.
struct MatchOperator {
  std::string_view op;
  TextMatch match;
  std::string_view function;
  bool negated;
};
constexpr MatchOperator kMatchOperators[] = {
    {"~~", TextMatch::kLike, "like", false},    {"!~~", TextMatch::kNotLike, "like", true},
    {"~~*", TextMatch::kILike, "ilike", false}, {"!~~*", TextMatch::kNotILike, "ilike", true},
    {"~", TextMatch::kRegex, "", false},        {"!~", TextMatch::kNotRegex, "", true},
    {"~*", TextMatch::kIRegex, "", false},      {"!~*", TextMatch::kNotIRegex, "", true},
};

const MatchOperator* find_text_match(std::string_view op) {
  const auto* found = std::find_if(std::begin(kMatchOperators), std::end(kMatchOperators),
                                   [&](const MatchOperator& known) { return known.op == op; });
  return found == std::end(kMatchOperators) ? nullptr : found;
}

bool is_comparison_name(std::string_view op) {
  return op == "=" || op == "<>" || op == "<" || op == "<=" || op == ">" || op == ">=";
}

bool is_text_or_unknown(TypeId id) { return is_string(id) || id == TypeId::kUnknown; }

}  // namespace

StatusOr<BoundPtr> Binder::bind_collate(const ast::Collate& expr, const Scope* scope) {
  if (const Status unknown = check_collation_name(expr.collation.back()); !unknown.ok())
    return error(sqlstate_of(unknown), std::string(unknown.message()), expr.location);
  SCYPER_ASSIGN_OR_RETURN(BoundPtr arg, bind(*expr.arg, scope));
  if (!is_string(arg->type.id) && arg->type.id != TypeId::kUnknown)
    return error("42804",
                 absl::StrCat("collations are not supported by type ", type_name(without_modifiers(arg->type))),
                 expr.location);
  return arg;
}

StatusOr<BoundPtr> Binder::bind_like(const ast::Like& expr, const Scope* scope) {
  std::vector<BoundPtr> args;
  SCYPER_ASSIGN_OR_RETURN(BoundPtr arg, bind(*expr.arg, scope));
  SCYPER_ASSIGN_OR_RETURN(BoundPtr pattern, bind(*expr.pattern, scope));
  const bool has_json = is_json_text(arg->type) || is_json_text(pattern->type);
  args.push_back(std::move(arg));
  args.push_back(std::move(pattern));
  if (has_json && expr.like != ast::LikeKind::kSimilar)
    return no_like_operator(expr.like == ast::LikeKind::kLike ? "like" : "ilike", args, expr.location);
  if (expr.escape != nullptr) {
    SCYPER_ASSIGN_OR_RETURN(BoundPtr escape, bind(*expr.escape, scope));
    args.push_back(std::move(escape));
  }
  SCYPER_ASSIGN_OR_RETURN(BoundPtr result, make_call(expr.like == ast::LikeKind::kLike    ? "like"
                                                     : expr.like == ast::LikeKind::kILike ? "ilike"
                                                                                          : "similar to",
                                                     std::move(args), expr.location));
  if (!expr.negated) return result;
  BoundPtr negated = make_expr(BoundKind::kNot, make_type(TypeId::kBool), result->nullable, expr.location);
  negated->args.push_back(std::move(result));
  return negated;
}

// x ~~ y and its kin; null: another operator.
StatusOr<BoundPtr> Binder::make_like_operator(std::string_view op, BoundPtr* left, BoundPtr* right, int32_t location) {
  const MatchOperator* known = find_text_match(op);
  if (known == nullptr || known->function.empty()) return BoundPtr();
  std::vector<BoundPtr> args;
  args.push_back(std::move(*left));
  args.push_back(std::move(*right));
  SCYPER_ASSIGN_OR_RETURN(BoundPtr result, make_call(known->function, std::move(args), location));
  if (!known->negated) return result;
  BoundPtr negated = make_expr(BoundKind::kNot, make_type(TypeId::kBool), result->nullable, location);
  negated->args.push_back(std::move(result));
  return negated;
}

namespace {
// ARRAY[(1, 2), (3, 4)]
bool is_array_of_rows(const ast::Expr& expr) {
  const auto* array = ast::node_if<ast::ArrayConstructor>(&expr);
  return array != nullptr && !array->elements.empty() &&
         std::all_of(array->elements.begin(), array->elements.end(),
                     [](const ast::ExprPtr& element) { return element->kind == ast::ExprKind::kRowConstructor; });
}
}  // namespace

StatusOr<BoundPtr> Binder::bind_quantified_array(const ast::QuantifiedArray& expr, const Scope* scope) {
  if (expr.left->kind == ast::ExprKind::kRowConstructor && is_array_of_rows(*expr.array)) {
    BoundPtr result =
        make_expr(expr.all ? BoundKind::kAnd : BoundKind::kOr, make_type(TypeId::kBool), false, expr.location);
    for (const auto& element : ast::node_as<ast::ArrayConstructor>(*expr.array).elements) {
      SCYPER_ASSIGN_OR_RETURN(BoundPtr left, bind(*expr.left, scope));
      SCYPER_ASSIGN_OR_RETURN(BoundPtr right, bind(*element, scope));
      SCYPER_ASSIGN_OR_RETURN(BoundPtr one, make_operator(expr.op, std::move(left), std::move(right), expr.location));
      result->nullable |= one->nullable;
      result->args.push_back(std::move(one));
    }
    if (result->args.size() > 1) return result;
    return std::move(result->args[0]);
  }
  if (!is_comparison_name(expr.op) && !find_text_match(expr.op)) return bind_any_by_rows(expr, scope);
  SCYPER_ASSIGN_OR_RETURN(BoundPtr left, bind(*expr.left, scope));
  SCYPER_ASSIGN_OR_RETURN(BoundPtr array, bind(*expr.array, scope));
  return make_any_all(expr.op, expr.all, std::move(left), std::move(array), expr.location);
}

// Any operator, row by row of the array: true where one is, else NULL where one is. ALL: that none is false.
StatusOr<BoundPtr> Binder::bind_any_by_rows(const ast::QuantifiedArray& expr, const Scope* scope) {
  const std::string array = to_sql(*expr.array);
  const std::string one =
      absl::StrCat("(", to_sql(*expr.left), " OPERATOR(", expr.op_schema.empty() ? "" : expr.op_schema,
                   expr.op_schema.empty() ? "" : ".", expr.op, ") \" element\")");
  const std::string_view aggregate = expr.all ? "bool_and" : "bool_or";
  const std::string_view decided = expr.all ? "NOT" : "";
  const std::string query = absl::StrCat(
      "(SELECT CASE WHEN (", array, ") IS NULL THEN NULL WHEN ", std::string(decided), " ", std::string(aggregate), "(",
      one, ") THEN ", expr.all ? "false" : "true", " WHEN bool_or(", one, " IS NULL) THEN NULL ELSE ",
      expr.all ? "true" : "false", " END FROM unnest(", array, ") AS \" elements\"(\" element\"))");
  SCYPER_ASSIGN_OR_RETURN(auto parsed, parse_expression(query, TextOf::kSystem));
  auto bound = bind(*parsed, scope);
  if (bound.ok()) return bound;
  const Status plain = sql_error(sqlstate_of(bound.status()), std::string(bound.status().message()));
  const std::string hint = hint_of(bound.status());
  return hint.empty() ? plain : with_hint(plain, hint);
}

StatusOr<BoundPtr> Binder::make_match_any(std::string_view op, bool all, BoundPtr left, BoundPtr array,
                                          int32_t location) {
  const MatchOperator& known = *find_text_match(op);
  if (!is_text_or_unknown(left->type.id) || !is_text_or_unknown(array->type.element)) {
    std::vector<BoundPtr> args;
    args.push_back(std::move(left));
    args.push_back(make_null(element_of(array->type), location));
    return no_operator(op, args, location);
  }
  const SqlType text = make_type(TypeId::kText);
  SCYPER_ASSIGN_OR_RETURN(left, coerce(std::move(left), text, Coercion::kImplicit));
  SCYPER_ASSIGN_OR_RETURN(array, coerce(std::move(array), make_array(text), Coercion::kExplicit));
  BoundPtr result = make_expr(BoundKind::kBuiltin, make_type(TypeId::kBool), true, location);
  result->builtin = find_builtins(" match any").front();
  result->args.push_back(std::move(left));
  result->args.push_back(std::move(array));
  result->args.push_back(
      make_constant(make_type(TypeId::kInt4), int_datum(static_cast<int64_t>(known.match)), location));
  result->args.push_back(make_constant(make_type(TypeId::kBool), int_datum(all ? 1 : 0), location));
  return result;
}

// = ANY and <> ALL of an array of constants and variables are IN and NOT IN. nullptr: it is another one.
BoundPtr Binder::list_of_array(std::string_view op, bool all, const BoundExpr& left, const BoundExpr& array,
                               int32_t location) {
  const BoundExpr& list = without_casts(array);
  const bool is_membership = all ? op == "<>" : op == "=";
  if (!is_membership || list.kind != BoundKind::kArray || list.args.empty()) return nullptr;
  if (is_volatile(left) || has_subquery(left)) return nullptr;
  BoundPtr any = make_expr(BoundKind::kOr, make_type(TypeId::kBool), false, location);
  any->index = kInListOr;
  for (const BoundPtr& element : list.args) {
    const BoundKind kind = without_casts(*element).kind;
    if (kind != BoundKind::kConst && kind != BoundKind::kVariable) return nullptr;
    auto given = coerce(clone(*element), element_of(array.type), Coercion::kExplicit);
    if (!given.ok()) return nullptr;
    auto equal = make_operator("=", clone(left), *std::move(given), location);
    if (!equal.ok() || (*equal)->type.id != TypeId::kBool) return nullptr;
    any->nullable |= (*equal)->nullable;
    any->args.push_back(*std::move(equal));
  }
  if (any->args.size() == 1) any = std::move(any->args[0]);
  if (!all) return any;
  BoundPtr negated = make_expr(BoundKind::kNot, make_type(TypeId::kBool), any->nullable, location);
  negated->args.push_back(std::move(any));
  return negated;
}

StatusOr<BoundPtr> Binder::make_any_all(std::string_view op, bool all, BoundPtr left, BoundPtr array,
                                        int32_t location) {
  if (array->type.id == TypeId::kUnknown) {
    const bool is_text = left->type.id == TypeId::kUnknown || find_text_match(op);
    const SqlType element = is_text ? make_type(TypeId::kText) : plain_type(left->type);
    SCYPER_ASSIGN_OR_RETURN(array, coerce(std::move(array), make_array(element), Coercion::kImplicit));
  }
  if (array->type.id != TypeId::kArray)
    return error("42809", "op ANY/ALL (array) requires array on right side", location);
  if (find_text_match(op)) return make_match_any(op, all, std::move(left), std::move(array), location);
  if (!is_comparison_name(op))
    return error("0A000", absl::StrCat("operator ", std::string(op), " with ANY or ALL is not supported"), location);
  if (BoundPtr list = list_of_array(op, all, *left, *array, location); list != nullptr) return list;
  // The comparison is resolved on stand-ins, so that its casts of the left side are known.
  SqlType element = element_of(array->type);
  SCYPER_ASSIGN_OR_RETURN(BoundPtr compare, make_operator(op, std::move(left), make_null(element, location), location));
  if (compare->type.id != TypeId::kBool)
    return error("42809", "op ANY/ALL (array) requires operator to yield boolean", location);
  if (compare->args[1]->type.id != element.id) {
    SCYPER_ASSIGN_OR_RETURN(array, coerce(std::move(array), make_array(compare->args[1]->type), Coercion::kExplicit));
  }
  BoundPtr result = make_expr(BoundKind::kAnyAll, make_type(TypeId::kBool), true, location);
  result->builtin = compare->builtin;
  result->index = all ? 1 : 0;
  result->args.push_back(std::move(compare->args[0]));
  result->args.push_back(std::move(array));
  return result;
}

}  // namespace scyper::query
