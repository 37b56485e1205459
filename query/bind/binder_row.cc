#include <algorithm>

#include "absl/strings/str_cat.h"
#include "bind/binder.h"
#include "bind/make.h"

// Comparisons of rows, column by column, and functions over arrays whose element types must agree.
namespace scyper::query {

using ast::ExprKind;
using ast::node_as;
using ast::node_if;

BoundPtr Binder::join_conditions(BoundKind kind, std::vector<BoundPtr> conditions, int32_t location) {
  if (conditions.size() == 1) return std::move(conditions[0]);
  BoundPtr result = make_expr(kind, make_type(TypeId::kBool), false, location);
  for (auto& condition : conditions) {
    result->nullable |= condition->nullable;
    result->args.push_back(std::move(condition));
  }
  return result;
}

StatusOr<BoundPtr> Binder::bind_binary(const ast::BinaryOp& expr, const Scope* scope) {
  if (expr.left->kind == ExprKind::kRowConstructor && expr.right->kind == ExprKind::kRowConstructor)
    return compare_rows(expr.op, *expr.left, *expr.right, scope, expr.location);
  for (const auto& [row, other] : {std::pair(&expr.left, &expr.right), std::pair(&expr.right, &expr.left)})
    if ((*row)->kind == ExprKind::kRowConstructor && (*other)->kind == ExprKind::kScalarSubquery)
      return error("0A000", "comparing a row with something else is not supported", expr.location);
  SCYPER_ASSIGN_OR_RETURN(BoundPtr left, bind(*expr.left, scope));
  SCYPER_ASSIGN_OR_RETURN(BoundPtr right, bind(*expr.right, scope));
  return make_operator(expr.op, std::move(left), std::move(right), expr.location);
}

StatusOr<BoundPtr> Binder::compare_rows(std::string_view op, const ast::Expr& left, const ast::Expr& right,
                                        const Scope* scope, int32_t location) {
  const auto* a = node_if<ast::RowConstructor>(&left);
  const auto* b = node_if<ast::RowConstructor>(&right);
  if (a == nullptr || b == nullptr)
    return error("0A000", "comparing a row with something else is not supported", location);
  if (a->fields.size() != b->fields.size())
    return error("42601", "unequal number of entries in row expressions", location);
  if (a->fields.empty()) return error("0A000", "cannot compare rows of zero length", location);
  if (op == "=" || op == "<>") {
    std::vector<BoundPtr> conditions;
    for (size_t i = 0; i < a->fields.size(); i++) {
      SCYPER_ASSIGN_OR_RETURN(BoundPtr x, bind(*a->fields[i], scope));
      SCYPER_ASSIGN_OR_RETURN(BoundPtr y, bind(*b->fields[i], scope));
      SCYPER_ASSIGN_OR_RETURN(BoundPtr condition, make_operator(op, std::move(x), std::move(y), location));
      conditions.push_back(std::move(condition));
    }
    return join_conditions(op == "=" ? BoundKind::kAnd : BoundKind::kOr, std::move(conditions), location);
  }
  if (op != "<" && op != "<=" && op != ">" && op != ">=")
    return with_hint(
        error("0A000", absl::StrCat("could not determine interpretation of row comparison operator ", std::string(op)),
              location),
        "Row comparison operators must be associated with btree operator families.");
  return compare_row_fields(op, *a, *b, 0, scope, location);
}

// The first fields that differ decide, a NULL before them makes the answer NULL:
// CASE WHEN a1 = b1 THEN (the rest) ELSE a1 < b1 END would take NULL = for "differ", which gives NULL as well.
StatusOr<BoundPtr> Binder::compare_row_fields(std::string_view op, const ast::RowConstructor& left,
                                              const ast::RowConstructor& right, size_t from, const Scope* scope,
                                              int32_t location) {
  auto compare = [&](std::string_view by) -> StatusOr<BoundPtr> {
    SCYPER_ASSIGN_OR_RETURN(BoundPtr x, bind(*left.fields[from], scope));
    SCYPER_ASSIGN_OR_RETURN(BoundPtr y, bind(*right.fields[from], scope));
    return make_operator(by, std::move(x), std::move(y), location);
  };
  if (from + 1 == left.fields.size()) return compare(op);
  SCYPER_ASSIGN_OR_RETURN(BoundPtr equal, compare("="));
  SCYPER_ASSIGN_OR_RETURN(BoundPtr rest, compare_row_fields(op, left, right, from + 1, scope, location));
  SCYPER_ASSIGN_OR_RETURN(BoundPtr decided, compare(op[0] == '<' ? "<" : ">"));
  BoundPtr result =
      make_expr(BoundKind::kCase, make_type(TypeId::kBool), rest->nullable || decided->nullable, location);
  result->args.push_back(std::move(equal));
  result->args.push_back(std::move(rest));
  result->args.push_back(std::move(decided));
  return result;
}

// (a, b) IS [NOT] NULL: all fields are (not). (a, b) IS [NOT] DISTINCT FROM (c, d).
StatusOr<BoundPtr> Binder::bind_row_test(const ast::Expr& expr, const Scope* scope) {
  SqlType boolean = make_type(TypeId::kBool);
  auto negated = [&](BoundPtr arg) {
    BoundPtr result = make_expr(BoundKind::kNot, boolean, arg->nullable, expr.location);
    result->args.push_back(std::move(arg));
    return result;
  };
  std::vector<BoundPtr> conditions;
  if (expr.kind == ExprKind::kNullTest) {
    const auto& test = node_as<ast::NullTest>(expr);
    for (const auto& field : node_as<ast::RowConstructor>(*test.arg).fields) {
      SCYPER_ASSIGN_OR_RETURN(BoundPtr arg, bind(*field, scope));
      if (arg->type.id == TypeId::kUnknown) {
        SCYPER_ASSIGN_OR_RETURN(arg, coerce(std::move(arg), make_type(TypeId::kText), Coercion::kImplicit));
      }
      BoundPtr one = make_expr(BoundKind::kIsNull, boolean, false, expr.location);
      one->args.push_back(std::move(arg));
      conditions.push_back(test.negated ? negated(std::move(one)) : std::move(one));
    }
    return join_conditions(BoundKind::kAnd, std::move(conditions), expr.location);
  }
  const auto& test = node_as<ast::IsDistinct>(expr);
  const auto* left = node_if<ast::RowConstructor>(test.left.get());
  const auto* right = node_if<ast::RowConstructor>(test.right.get());
  if (left == nullptr || right == nullptr)
    return error("0A000", "comparing a row with something else is not supported", expr.location);
  if (left->fields.size() != right->fields.size())
    return error("42601", "unequal number of entries in row expressions", expr.location);
  for (size_t i = 0; i < left->fields.size(); i++) {
    SCYPER_ASSIGN_OR_RETURN(BoundPtr x, bind(*left->fields[i], scope));
    SCYPER_ASSIGN_OR_RETURN(BoundPtr y, bind(*right->fields[i], scope));
    SCYPER_ASSIGN_OR_RETURN(BoundPtr equal, make_operator("=", std::move(x), std::move(y), expr.location));
    BoundPtr one = make_expr(BoundKind::kDistinct, boolean, false, expr.location);
    one->builtin = equal->builtin;
    one->args = std::move(equal->args);
    conditions.push_back(std::move(one));
  }
  BoundPtr any = join_conditions(BoundKind::kOr, std::move(conditions), expr.location);
  return test.negated ? negated(std::move(any)) : std::move(any);
}

// Arrays of a function are of one type, and so are the elements that go with them.
Status Binder::match_array_elements(const Builtin& builtin, std::vector<BoundPtr>* args, int32_t location) {
  SqlType element;
  for (size_t i = 0; i < args->size(); i++)
    if (builtin.parameters[i] == TypeId::kArray && (*args)[i]->type.id == TypeId::kArray)
      element = element_of((*args)[i]->type);
  for (size_t i = 0; i < args->size() && element.id == TypeId::kUnknown; i++)
    if (builtin.parameters[i] == TypeId::kUnknown && (*args)[i]->type.id != TypeId::kArray) element = (*args)[i]->type;
  if (element.id == TypeId::kUnknown) element = make_type(TypeId::kText);
  for (size_t i = 0; i < args->size(); i++) {
    BoundPtr& arg = (*args)[i];
    bool array = builtin.parameters[i] == TypeId::kArray;
    if (!array && builtin.parameters[i] != TypeId::kUnknown) continue;
    if (array && arg->type.id == TypeId::kArray && arg->type.element != element.id)
      return error("42883",
                   absl::StrCat("function ", std::string(builtin.name), "(", type_name((*args)[0]->type), ", ",
                                type_name(arg->type), ") does not exist"),
                   location);
    SCYPER_ASSIGN_OR_RETURN(arg, coerce(std::move(arg), array ? make_array(element) : element, Coercion::kImplicit));
  }
  return absl::OkStatus();
}

// What tools ask about where they are; null: none of these.
StatusOr<BoundPtr> Binder::bind_environment_call(const ast::FunctionCall& call) {
  const std::string& name = call.name.back();
  auto text = [&](const char* value) { return make_text_constant(make_type(TypeId::kText), value, call.location); };
  if (call.args.empty() && name == "current_schema") return text("public");
  if (call.args.empty() && (name == "current_database" || name == "current_catalog")) return text("scyper");
  if (call.args.size() == 1 && name == "pg_get_userbyid") return text("scyper");
  if (call.args.size() == 1 &&
      (name == "pg_table_is_visible" || name == "pg_type_is_visible" || name == "pg_function_is_visible"))
    return make_constant(make_type(TypeId::kBool), int_datum(1), call.location);
  if (call.args.size() == 2 && (name == "obj_description" || name == "col_description"))
    return make_null(make_type(TypeId::kText), call.location);
  return BoundPtr();
}

}  // namespace scyper::query
