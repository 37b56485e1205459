#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/bounded_work.h"
#include "base/invariant.h"
#include "bind/binder.h"
#include "bind/binder_recursion.h"
#include "bind/make.h"
#include "bind/unordered_types.h"
#include "parse/sql_parser.h"
#include "parse/text.h"
#include "parse/type_resolver.h"
#include "storage/name_type.h"
#include "storage/time_modifier.h"
#include "types/decimal.h"

namespace scyper::query {

using ast::ExprKind;
using ast::node_as;

Binder::Binder(const Catalog& catalog, std::string_view source, size_t parameter_count)
    : catalog_(catalog),
      actor_(current_role(catalog.roles)),
      source_(source),
      program_(std::make_unique<BoundProgram>()),
      parameter_count_(parameter_count) {}
Binder::~Binder() = default;

Status Binder::error(std::string_view sqlstate, std::string_view message, int32_t location) const {
  return sql_error(sqlstate, message, position_at(source_, location));
}

namespace {
// Some forms bind an operand several times, so that nesting them multiplies.
bool is_too_complex(uint64_t bound_expressions, size_t source_bytes) {
  return bound_expressions > 1000000 + 16 * source_bytes;
}

void check_bounds() {
  check_stack();
  poll_work();
}
}  // namespace

StatusOr<BoundPtr> Binder::bind(const ast::Expr& expr, const Scope* scope) {
  check_bounds();
  if (is_too_complex(++bound_expressions_, source_.size()))
    return with_detail(error("54001", "statement is too complex", expr.location),
                       "BETWEEN, IN, NULLIF and CASE are nested too deeply in each other.");
  switch (expr.kind) {
    case ExprKind::kLiteral:
      return bind_literal(node_as<ast::Literal>(expr));
    case ExprKind::kParameter:
      return bind_parameter(node_as<ast::Parameter>(expr));
    case ExprKind::kRowConstructor:
      return bind_row(node_as<ast::RowConstructor>(expr), scope);
    case ExprKind::kFieldSelect:
      return bind_field(node_as<ast::FieldSelect>(expr), scope);
    case ExprKind::kColumnRef:
      return bind_column(node_as<ast::ColumnRef>(expr), scope);
    case ExprKind::kGroupingCall:
      return bind_grouping_call(node_as<ast::GroupingCall>(expr), scope);
    case ExprKind::kSubscript:
      return bind_subscript(node_as<ast::Subscript>(expr), scope);
    case ExprKind::kArrayConstructor:
      return bind_array(node_as<ast::ArrayConstructor>(expr), scope);
    case ExprKind::kFunctionCall:
      return bind_call(node_as<ast::FunctionCall>(expr), scope);
    case ExprKind::kUnaryOp:
      return bind_unary(node_as<ast::UnaryOp>(expr), scope);
    case ExprKind::kBinaryOp:
      return bind_binary(node_as<ast::BinaryOp>(expr), scope);
    case ExprKind::kLogical:
      return bind_logical(node_as<ast::Logical>(expr), scope);
    case ExprKind::kNot: {
      SCYPER_ASSIGN_OR_RETURN(BoundPtr arg, bind_condition(*node_as<ast::Not>(expr).arg, scope, "NOT"));
      BoundPtr result = make_expr(BoundKind::kNot, make_type(TypeId::kBool), arg->nullable, expr.location);
      result->args.push_back(std::move(arg));
      return result;
    }
    case ExprKind::kNullTest:
    case ExprKind::kIsDistinct:
    case ExprKind::kBooleanTest:
    case ExprKind::kCoalesce:
    case ExprKind::kNullIf:
    case ExprKind::kMinMax:
      return bind_special(expr, scope);
    case ExprKind::kBetween:
      return bind_between(node_as<ast::Between>(expr), scope);
    case ExprKind::kInList:
      return bind_in_list(node_as<ast::InList>(expr), scope);
    case ExprKind::kQuantifiedArray:
    case ExprKind::kQuantifiedSubquery:
    case ExprKind::kArraySubquery:
    case ExprKind::kInSubquery:
    case ExprKind::kExists:
    case ExprKind::kScalarSubquery:
      return bind_subquery(expr, scope);
    case ExprKind::kLike:
      return bind_like(node_as<ast::Like>(expr), scope);
    case ExprKind::kCase:
      return bind_case(node_as<ast::Case>(expr), scope);
    case ExprKind::kCast:
      return bind_cast(node_as<ast::Cast>(expr), scope);
    case ExprKind::kValueFunction:
      return bind_value_function(node_as<ast::ValueFunction>(expr));
    case ExprKind::kCollate:
      return bind_collate(node_as<ast::Collate>(expr), scope);
    case ExprKind::kDefaultMarker:
      return error("42601", "DEFAULT is not allowed in this context", expr.location);
    default:
      return error("0A000", "this kind of expression is not supported", expr.location);
  }
}

StatusOr<BoundPtr> Binder::bind_literal(const ast::Literal& literal) {
  switch (literal.type) {
    case ast::LiteralType::kNull:
      return make_null(make_type(TypeId::kUnknown), literal.location);
    case ast::LiteralType::kBool:
      return make_constant(make_type(TypeId::kBool), int_datum(literal.bool_value ? 1 : 0), literal.location);
    case ast::LiteralType::kInteger: {
      bool small = literal.int_value >= INT32_MIN && literal.int_value <= INT32_MAX;
      return make_constant(make_type(small ? TypeId::kInt4 : TypeId::kInt8), int_datum(literal.int_value),
                           literal.location);
    }
    case ast::LiteralType::kDecimal: {
      Decimal value;
      ValueError failure = decimal_parse(literal.text, &value);
      if (failure == ValueError::kNumericOverflow || !is_short(value))
        return literal_to(make_text_constant(make_type(TypeId::kUnknown), literal.text, literal.location),
                          make_numeric(0, 0), false);
      if (failure != ValueError::kNone) return error_status(failure, make_numeric(0, 0), literal.text);
      int digits = 1;
      while (digits < kMaxPrecision && magnitude(value.value) >= kPowersOfTen[digits]) digits++;
      digits = std::max(digits, value.scale);
      bool fixed = digits <= kMaxPrecision;
      SqlType type =
          fixed ? make_numeric(static_cast<uint8_t>(digits), static_cast<uint8_t>(value.scale)) : make_numeric(0, 0);
      return make_constant(type, datum_of(value), literal.location);
    }
    case ast::LiteralType::kString:
      return make_text_constant(make_type(TypeId::kUnknown), literal.text, literal.location);
    case ast::LiteralType::kBits:
      return literal_to(make_text_constant(make_type(TypeId::kUnknown), literal.text, literal.location),
                        make_type(TypeId::kBit), false);
  }
  return error("XX000", "unknown literal", literal.location);
}

StatusOr<BoundPtr> Binder::bind_parameter(const ast::Parameter& parameter) {
  uint32_t index = static_cast<uint32_t>(parameter.number - 1);
  uint32_t variable = 0;  // a routine's parameter
  if ((!allow_parameters_ || variables_ != nullptr) &&
      find_variable({absl::StrCat("$", parameter.number)}, &variable)) {
    const Variable& v = program_->variables[variable];
    return make_variable(variable, v.type, !v.not_null, parameter.location);
  }
  if (!allow_parameters_ || parameter.number < 1 || index >= parameter_count_)
    return error("42P02", absl::StrCat("there is no parameter $", parameter.number), parameter.location);
  return make_variable(index, program_->variables[index].type, true, parameter.location);
}

StatusOr<BoundPtr> Binder::bind_logical(const ast::Logical& expr, const Scope* scope) {
  bool is_and = expr.op == ast::LogicalOp::kAnd;
  BoundPtr result =
      make_expr(is_and ? BoundKind::kAnd : BoundKind::kOr, make_type(TypeId::kBool), false, expr.location);
  for (const auto& arg : expr.args) {
    SCYPER_ASSIGN_OR_RETURN(BoundPtr bound, bind_condition(*arg, scope, is_and ? "AND" : "OR"));
    result->nullable |= bound->nullable;
    result->args.push_back(std::move(bound));
  }
  return result;
}

StatusOr<BoundPtr> Binder::bind_unary(const ast::UnaryOp& expr, const Scope* scope) {
  SCYPER_ASSIGN_OR_RETURN(BoundPtr arg, bind(*expr.arg, scope));
  if (expr.op == "-" && arg->kind == BoundKind::kConst && is_number(arg->type.id) && !arg->value.null) {
    // "- 2147483648": the literal and its sign are one constant where that fits
    if (is_integer(arg->type.id) && arg->value.lo != INT64_MIN &&
        (arg->type.id == TypeId::kInt8 || -arg->value.lo <= (arg->type.id == TypeId::kInt2 ? INT16_MAX : INT32_MAX))) {
      int64_t value = -arg->value.lo;
      return make_constant(arg->type, int_datum(value), expr.location);
    }
    if (arg->type.id == TypeId::kNumeric && !is_special_numeric(arg->value))
      return make_constant(arg->type, datum_of(decimal_negate(decimal_of(arg->value))), expr.location);
  }
  if (expr.op == "+" && is_number(arg->type.id)) {
    const SqlType type = arg->type;
    return type.id == TypeId::kNumeric ? make_cast(std::move(arg), type, false) : std::move(arg);
  }
  if (arg->type.id == TypeId::kUnknown && expr.op == "+")
    return coerce(std::move(arg), make_type(TypeId::kFloat8), Coercion::kImplicit);
  if (arg->type.id == TypeId::kUnknown && (expr.op == "-" || expr.op == "~"))
    return with_hint(error("42725", absl::StrCat("operator is not unique: ", expr.op, " unknown"), expr.location),
                     "Could not choose a best candidate operator. You might need to add explicit type casts.");
  std::vector<BoundPtr> args;
  args.push_back(std::move(arg));
  return make_call(expr.op, std::move(args), expr.location);
}

StatusOr<BoundPtr> Binder::bind_between(const ast::Between& expr, const Scope* scope) {
  auto compared = [&](const char* op, const ast::Expr& bound) -> StatusOr<BoundPtr> {
    if (expr.arg->kind == ExprKind::kRowConstructor && bound.kind == ExprKind::kRowConstructor)
      return compare_rows(op, *expr.arg, bound, scope, expr.location);
    SCYPER_ASSIGN_OR_RETURN(BoundPtr a, bind(*expr.arg, scope));
    SCYPER_ASSIGN_OR_RETURN(BoundPtr b, bind(bound, scope));
    return make_operator(op, std::move(a), std::move(b), expr.location);
  };
  auto half = [&](const ast::Expr& low, const ast::Expr& high) -> StatusOr<BoundPtr> {
    BoundPtr both = make_expr(BoundKind::kAnd, make_type(TypeId::kBool), false, expr.location);
    SCYPER_ASSIGN_OR_RETURN(BoundPtr from, compared(">=", low));
    SCYPER_ASSIGN_OR_RETURN(BoundPtr to, compared("<=", high));
    both->nullable = from->nullable || to->nullable;
    both->args.push_back(std::move(from));
    both->args.push_back(std::move(to));
    return both;
  };
  SCYPER_ASSIGN_OR_RETURN(BoundPtr result, half(*expr.low, *expr.high));
  if (expr.symmetric) {
    SCYPER_ASSIGN_OR_RETURN(BoundPtr other, half(*expr.high, *expr.low));
    BoundPtr either = make_expr(BoundKind::kOr, make_type(TypeId::kBool), result->nullable, expr.location);
    either->args.push_back(std::move(result));
    either->args.push_back(std::move(other));
    result = std::move(either);
  }
  if (!expr.negated) return result;
  BoundPtr negated = make_expr(BoundKind::kNot, make_type(TypeId::kBool), result->nullable, expr.location);
  negated->args.push_back(std::move(result));
  return negated;
}

StatusOr<BoundPtr> Binder::bind_in_list(const ast::InList& expr, const Scope* scope) {
  BoundPtr any = make_expr(BoundKind::kOr, make_type(TypeId::kBool), false, expr.location);
  any->index = kInListOr;
  for (const auto& item : expr.list) {
    if (expr.arg->kind == ExprKind::kRowConstructor) {
      SCYPER_ASSIGN_OR_RETURN(BoundPtr equal, compare_rows("=", *expr.arg, *item, scope, expr.location));
      any->nullable |= equal->nullable;
      any->args.push_back(std::move(equal));
      continue;
    }
    SCYPER_ASSIGN_OR_RETURN(BoundPtr arg, bind(*expr.arg, scope));
    SCYPER_ASSIGN_OR_RETURN(BoundPtr value, bind(*item, scope));
    SCYPER_ASSIGN_OR_RETURN(BoundPtr equal, make_operator("=", std::move(arg), std::move(value), expr.location));
    any->nullable |= equal->nullable;
    any->args.push_back(std::move(equal));
  }
  if (any->args.size() == 1) any = std::move(any->args[0]);
  if (!expr.negated) return any;
  BoundPtr negated = make_expr(BoundKind::kNot, make_type(TypeId::kBool), any->nullable, expr.location);
  negated->args.push_back(std::move(any));
  return negated;
}

StatusOr<BoundPtr> Binder::bind_case(const ast::Case& expr, const Scope* scope) {
  std::vector<BoundPtr> conditions;
  std::vector<BoundPtr> results;
  for (const auto& when : expr.whens) {
    if (expr.arg != nullptr) {
      SCYPER_ASSIGN_OR_RETURN(BoundPtr arg, bind(*expr.arg, scope));
      SCYPER_ASSIGN_OR_RETURN(BoundPtr value, bind(*when.condition, scope));
      SCYPER_ASSIGN_OR_RETURN(BoundPtr equal, make_operator("=", std::move(arg), std::move(value), when.location));
      conditions.push_back(std::move(equal));
    } else {
      SCYPER_ASSIGN_OR_RETURN(BoundPtr condition, bind_condition(*when.condition, scope, "CASE/WHEN"));
      conditions.push_back(std::move(condition));
    }
    SCYPER_ASSIGN_OR_RETURN(BoundPtr result, bind(*when.result, scope));
    results.push_back(std::move(result));
  }
  if (expr.otherwise != nullptr) {
    SCYPER_ASSIGN_OR_RETURN(BoundPtr otherwise, bind(*expr.otherwise, scope));
    results.push_back(std::move(otherwise));
  } else {
    results.push_back(make_null(make_type(TypeId::kUnknown), expr.location));
  }
  std::rotate(results.begin(), results.end() - 1, results.end());  // ELSE counts first
  SCYPER_ASSIGN_OR_RETURN(SqlType type, common_type(results, "CASE"));
  std::rotate(results.begin(), results.begin() + 1, results.end());
  BoundPtr result = make_expr(BoundKind::kCase, type, false, expr.location);
  for (size_t i = 0; i < results.size(); i++) {
    SCYPER_ASSIGN_OR_RETURN(BoundPtr value, coerce(std::move(results[i]), type, Coercion::kImplicit));
    result->nullable |= value->nullable;
    if (i < conditions.size()) result->args.push_back(std::move(conditions[i]));
    result->args.push_back(std::move(value));
  }
  return result;
}

namespace {
BoundPtr negate_if(bool negated, BoundPtr arg, int32_t location) {
  if (!negated) return arg;
  BoundPtr result = make_expr(BoundKind::kNot, make_type(TypeId::kBool), arg->nullable, location);
  result->args.push_back(std::move(arg));
  return result;
}
}  // namespace

StatusOr<BoundPtr> Binder::bind_special(const ast::Expr& expr, const Scope* scope) {
  SqlType boolean = make_type(TypeId::kBool);
  switch (expr.kind) {
    case ExprKind::kNullTest: {
      if (node_as<ast::NullTest>(expr).arg->kind == ExprKind::kRowConstructor) return bind_row_test(expr, scope);
      const auto& test = node_as<ast::NullTest>(expr);
      SCYPER_ASSIGN_OR_RETURN(BoundPtr arg, bind(*test.arg, scope));
      if (arg->kind == BoundKind::kRow) return row_is_null(*arg, test.negated, expr.location);
      const bool is_unknown = arg->type.id == TypeId::kUnknown;
      if (is_unknown && allow_parameters_ && arg->kind == BoundKind::kVariable && arg->index < program_->parameters) {
        untyped_parameters_.emplace_back(arg->index, arg->location);
      } else if (is_unknown) {
        SCYPER_ASSIGN_OR_RETURN(arg, coerce(std::move(arg), make_type(TypeId::kText), Coercion::kImplicit));
      }
      BoundPtr result = make_expr(BoundKind::kIsNull, boolean, false, expr.location);
      result->args.push_back(std::move(arg));
      return negate_if(test.negated, std::move(result), expr.location);
    }
    case ExprKind::kBooleanTest: {
      const auto& test = node_as<ast::BooleanTest>(expr);
      SCYPER_ASSIGN_OR_RETURN(BoundPtr arg, bind_condition(*test.arg, scope, "IS"));
      bool unknown = test.value == ast::TruthValue::kUnknown;
      BoundPtr result = make_expr(unknown ? BoundKind::kIsNull : BoundKind::kIsTruth, boolean, false, expr.location);
      result->index = test.value == ast::TruthValue::kTrue ? 1 : 0;
      result->args.push_back(std::move(arg));
      return negate_if(test.negated, std::move(result), expr.location);
    }
    case ExprKind::kIsDistinct:
      if (node_as<ast::IsDistinct>(expr).left->kind == ExprKind::kRowConstructor) return bind_row_test(expr, scope);
      return bind_distinct(node_as<ast::IsDistinct>(expr), scope);
    case ExprKind::kNullIf:
      return bind_null_if(node_as<ast::NullIf>(expr), scope);
    default:
      return bind_coalesce(expr, scope);
  }
}

StatusOr<BoundPtr> Binder::bind_distinct(const ast::IsDistinct& test, const Scope* scope) {
  SCYPER_ASSIGN_OR_RETURN(BoundPtr left, bind(*test.left, scope));
  SCYPER_ASSIGN_OR_RETURN(BoundPtr right, bind(*test.right, scope));
  if (left->kind == BoundKind::kRow && right->kind == BoundKind::kRow) {
    SCYPER_ASSIGN_OR_RETURN(BoundPtr differ, compare_bound_rows("", *left, *right, test.location));
    return negate_if(test.negated, std::move(differ), test.location);
  }
  SCYPER_ASSIGN_OR_RETURN(BoundPtr equal, make_operator("=", std::move(left), std::move(right), test.location));
  BoundPtr result = make_expr(BoundKind::kDistinct, make_type(TypeId::kBool), false, test.location);
  result->builtin = equal->builtin;
  result->args = std::move(equal->args);
  return negate_if(test.negated, std::move(result), test.location);
}

// COALESCE, GREATEST, LEAST
StatusOr<BoundPtr> Binder::bind_coalesce(const ast::Expr& expr, const Scope* scope) {
  bool coalesce = expr.kind == ExprKind::kCoalesce;
  const auto& list = coalesce ? node_as<ast::Coalesce>(expr).args : node_as<ast::MinMax>(expr).args;
  std::vector<BoundPtr> args;
  bool all_nullable = true;
  for (const auto& arg : list) {
    SCYPER_ASSIGN_OR_RETURN(BoundPtr bound, bind(*arg, scope));
    all_nullable &= bound->nullable;
    args.push_back(std::move(bound));
  }
  if (coalesce && std::any_of(args.begin(), args.end(), [](const auto& a) { return a->kind == BoundKind::kRow; }))
    return coalesce_rows(std::move(args), expr.location);
  std::string_view name = coalesce ? "COALESCE" : node_as<ast::MinMax>(expr).greatest ? "GREATEST" : "LEAST";
  SCYPER_ASSIGN_OR_RETURN(SqlType type, common_type(args, name));
  for (auto& arg : args) {
    SCYPER_ASSIGN_OR_RETURN(arg, coerce(std::move(arg), type, Coercion::kImplicit));
  }
  if (coalesce) {
    BoundPtr result = make_expr(BoundKind::kCoalesce, type, all_nullable, expr.location);
    result->args = std::move(args);
    return result;
  }
  return make_min_max(std::move(args), node_as<ast::MinMax>(expr).greatest, expr.location);
}

// GREATEST and LEAST skip NULLs; the comparison comes along as builtin.
StatusOr<BoundPtr> Binder::make_min_max(std::vector<BoundPtr> args, bool greatest, int32_t location) {
  SqlType type = args[0]->type;
  if (is_checked_text(type))
    return error("42883", absl::StrCat("could not identify a comparison function for type ", type_name(type)), -1);
  SCYPER_ASSIGN_OR_RETURN(BoundPtr compare, make_operator(greatest ? ">" : "<", make_null(type, location),
                                                          make_null(type, location), location));
  BoundPtr result = make_expr(BoundKind::kMinMax, type, true, location);
  result->builtin = compare->builtin;
  result->nullable = std::all_of(args.begin(), args.end(), [](const BoundPtr& arg) { return arg->nullable; });
  result->args = std::move(args);
  return result;
}

StatusOr<BoundPtr> Binder::bind_value_function(const ast::ValueFunction& expr) {
  auto now_as = [&](TypeId id) -> StatusOr<BoundPtr> {
    SCYPER_ASSIGN_OR_RETURN(BoundPtr time, make_call("now", {}, expr.location));
    return coerce(std::move(time), make_string(id, std::min(expr.precision, kMicrosecondDigits)), Coercion::kExplicit);
  };
  switch (expr.op) {
    case ast::ValueFunctionOp::kCurrentTimestamp:
      return now_as(TypeId::kTimestamptz);
    case ast::ValueFunctionOp::kLocalTimestamp:
      return now_as(TypeId::kTimestamp);
    case ast::ValueFunctionOp::kLocalTime:
      return now_as(TypeId::kTime);
    case ast::ValueFunctionOp::kCurrentTime:
      return now_as(TypeId::kTimetz);
    case ast::ValueFunctionOp::kCurrentDate:
      return now_as(TypeId::kDate);
    case ast::ValueFunctionOp::kCurrentUser:
    case ast::ValueFunctionOp::kUser:
    case ast::ValueFunctionOp::kCurrentRole:
      return make_text_constant(make_type(TypeId::kText), std::string(current_user_name()), expr.location);
    case ast::ValueFunctionOp::kSessionUser:
      return make_text_constant(make_type(TypeId::kText), std::string(session_user_name()), expr.location);
    case ast::ValueFunctionOp::kCurrentCatalog:
      return make_text_constant(make_type(TypeId::kText), catalog_.database.name, expr.location);
    case ast::ValueFunctionOp::kCurrentSchema: {
      ast::FunctionCall call;
      call.name = {"current_schema"};
      call.location = expr.location;
      return bind_environment_call(call, nullptr);
    }
    default:
      return error("0A000", "type \"timetz\" is not supported", expr.location);
  }
}

namespace {
// PostgreSQL's type name: those of system tables are texts here.
bool is_system_name(const BoundExpr& expr, const Scope* scope) {
  if (is_name(expr.type)) return true;
  if (expr.kind != BoundKind::kColumn || expr.type.id != TypeId::kText) return false;
  for (const Scope* level = scope; level != nullptr; level = level->parent)
    for (const Relation* relation : level->relations)
      if (relation->id == expr.relation)
        return relation->table == nullptr &&
               std::any_of(relation->columns.begin(), relation->columns.end(),
                           [](const RelationColumn& column) { return column.hidden && column.name == "tableoid"; });
  return false;
}
}  // namespace

StatusOr<BoundPtr> Binder::bind_subscript(const ast::Subscript& expr, const Scope* scope) {
  SCYPER_ASSIGN_OR_RETURN(BoundPtr array, bind(*expr.arg, scope));
  if (array->type.id == TypeId::kJsonb) {  // document['a'][1]: the part at a path
    SCYPER_ASSIGN_OR_RETURN(BoundPtr path, bind_document_path(expr.indexes, scope, expr.location));
    return make_operator("#>", std::move(array), std::move(path), expr.location);
  }
  if (expr.indexes.size() == 1 && !expr.indexes[0].slice && is_system_name(*array, scope)) {  // its bytes, from 0
    constexpr SqlType kInt4 = make_type(TypeId::kInt4);
    SCYPER_ASSIGN_OR_RETURN(BoundPtr index, bind(*expr.indexes[0].upper, scope));
    SCYPER_ASSIGN_OR_RETURN(index, coerce(std::move(index), kInt4, Coercion::kAssignment));
    const auto one = [&] { return make_constant(kInt4, int_datum(1), expr.location); };
    std::vector<BoundPtr> args;
    SCYPER_ASSIGN_OR_RETURN(index, make_operator("+", std::move(index), one(), expr.location));
    SCYPER_ASSIGN_OR_RETURN(array, coerce(std::move(array), make_type(TypeId::kText), Coercion::kExplicit));
    args.push_back(std::move(array));
    args.push_back(std::move(index));
    args.push_back(one());
    return make_call("substr", std::move(args), expr.location);
  }
  if (expr.indexes.size() != 1) return error("0A000", "multidimensional arrays are not supported", expr.location);
  if (array->type.id != TypeId::kArray)
    return error(
        "42804",
        absl::StrCat("cannot subscript type ", type_name(array->type), " because it does not support subscripting"),
        expr.location);
  if (expr.indexes[0].slice) return bind_slice(expr.indexes[0], std::move(array), scope, expr.location);
  SCYPER_ASSIGN_OR_RETURN(BoundPtr index, bind(*expr.indexes[0].upper, scope));
  SCYPER_ASSIGN_OR_RETURN(index, coerce(std::move(index), make_type(TypeId::kInt4), Coercion::kAssignment));
  BoundPtr result = make_expr(BoundKind::kSubscript, element_of(array->type), true, expr.location);
  result->args.push_back(std::move(array));
  result->args.push_back(std::move(index));
  return result;
}

StatusOr<BoundPtr> Binder::bind_array(const ast::ArrayConstructor& expr, const Scope* scope) {
  std::vector<BoundPtr> elements;
  for (const auto& element : expr.elements) {
    SCYPER_ASSIGN_OR_RETURN(BoundPtr bound, bind(*element, scope));
    if (bound->type.id == TypeId::kArray)
      return error("0A000", "multidimensional arrays are not supported", expr.location);
    if (bound->kind == BoundKind::kRow) {  // as it is shown
      SCYPER_ASSIGN_OR_RETURN(bound, row_text(std::move(bound)));
    }
    elements.push_back(std::move(bound));
  }
  if (elements.empty())
    return with_hint(error("42P18", "cannot determine type of empty array", expr.location),
                     "Explicitly cast to the desired type, for example ARRAY[]::integer[].");
  SCYPER_ASSIGN_OR_RETURN(SqlType type, common_type(elements, "ARRAY"));
  BoundPtr result = make_expr(BoundKind::kArray, make_array(type), false, expr.location);
  for (auto& element : elements) {
    SCYPER_ASSIGN_OR_RETURN(BoundPtr coerced, coerce(std::move(element), type, Coercion::kImplicit));
    result->args.push_back(std::move(coerced));
  }
  return result;
}

StatusOr<BoundPtr> Binder::bind_condition(const ast::Expr& expr, const Scope* scope, std::string_view clause) {
  SCYPER_ASSIGN_OR_RETURN(BoundPtr bound, bind(expr, scope));
  return coerce_boolean(std::move(bound), clause);
}

namespace {

bool is_without_subqueries(std::string_view clause) {
  return clause == "check constraints" || clause == "column generation expressions" ||
         clause == "DEFAULT expressions" || clause == "index expressions" || clause == "index predicates" ||
         clause == "trigger WHEN conditions";
}

// EXISTS asks for rows alone: as on PostgreSQL what it selects is not computed.
void forget_outputs(BoundQuery* query) {
  const bool is_limited = query->limit != nullptr && (query->limit->kind != BoundKind::kConst ||
                                                      query->limit->value.null || query->limit->value.lo <= 0);
  const bool has_sets = std::any_of(query->from.begin(), query->from.end(),
                                    [](const FromEntry& entry) { return entry.relation->alias == "*SELECT*"; });
  if (query->set != SetOp::kNone || (query->aggregated && query->groups.empty()) || !query->aggregates.empty() ||
      !query->grouping_sets.empty() || !query->having.empty() || !query->windows.empty() || query->offset != nullptr ||
      is_limited || has_sets)
    return;
  query->aggregated = false;
  query->groups.clear();
  query->distinct = false;
  query->distinct_on.clear();
  query->order.clear();
  query->limit.reset();
  query->with_ties = false;
  query->outputs.clear();
  query->outputs.push_back({"", make_null(make_type(TypeId::kBool), -1), false});
}
}  // namespace

StatusOr<BoundPtr> Binder::bind_subquery(const ast::Expr& expr, const Scope* scope) {
  if (expr.kind == ExprKind::kQuantifiedArray) return bind_quantified_array(node_as<ast::QuantifiedArray>(expr), scope);
  if (is_without_subqueries(aggregate_clause_)) {  // before anything is said of what stands in it
    const std::string place(aggregate_clause_.substr(0, aggregate_clause_.size() - 1));
    return error("0A000", absl::StrCat("cannot use subquery in ", place), expr.location);
  }
  if (expr.kind == ExprKind::kArraySubquery) return bind_array_subquery(node_as<ast::ArraySubquery>(expr), scope);
  if (expr.kind == ExprKind::kQuantifiedSubquery)
    return bind_quantified_subquery(node_as<ast::QuantifiedSubquery>(expr), scope);
  SqlType boolean = make_type(TypeId::kBool);
  SubqueryAt place(this, scope);
  const Nested nested(this);
  const RecursionAt at(this, RecursionPlace::kSubquery);
  auto sub = [&](const ast::SelectStatement& select) { return bind_select(select, scope); };
  if (expr.kind == ExprKind::kExists) {
    SCYPER_ASSIGN_OR_RETURN(auto query, sub(*node_as<ast::Exists>(expr).subquery));
    forget_outputs(query.get());
    BoundPtr result = make_expr(BoundKind::kExists, boolean, false, expr.location);
    result->query = std::move(query);
    return result;
  }
  if (expr.kind == ExprKind::kScalarSubquery) {
    SCYPER_ASSIGN_OR_RETURN(auto query, sub(*node_as<ast::ScalarSubquery>(expr).subquery));
    if (query->visible_outputs() != 1) return error("42601", "subquery must return only one column", expr.location);
    BoundPtr result = make_expr(BoundKind::kScalarSubquery, query->outputs[0].expr->type, true, expr.location);
    result->query = std::move(query);
    return result;
  }
  const auto& in = node_as<ast::InSubquery>(expr);
  SCYPER_ASSIGN_OR_RETURN(auto query, sub(*in.subquery));
  BoundPtr result = make_expr(BoundKind::kInSubquery, boolean, true, expr.location);
  place.leave();
  std::vector<BoundPtr> left;
  if (in.arg->kind == ExprKind::kRowConstructor) {
    SCYPER_ASSIGN_OR_RETURN(left, bind_list(node_as<ast::RowConstructor>(*in.arg).fields, scope));
  } else {
    SCYPER_ASSIGN_OR_RETURN(BoundPtr value, bind(*in.arg, scope));
    left.push_back(std::move(value));
  }
  if (query->visible_outputs() != left.size())
    return error(
        "42601",
        query->visible_outputs() > left.size() ? "subquery has too many columns" : "subquery has too few columns",
        expr.location);
  // args: one comparison per column between the left side and kGroup references to the subquery's outputs
  for (size_t i = 0; i < left.size(); i++) {
    const BoundExpr& output = *query->outputs[i].expr;
    BoundPtr reference = make_expr(BoundKind::kSubqueryOutput, output.type, output.nullable, expr.location);
    reference->index = static_cast<uint32_t>(i);
    SCYPER_ASSIGN_OR_RETURN(BoundPtr equal,
                            make_operator("=", std::move(left[i]), std::move(reference), expr.location));
    result->args.push_back(std::move(equal));
  }
  result->query = std::move(query);
  return negate_if(in.negated, std::move(result), expr.location);
}

StatusOr<BoundPtr> Binder::bind_constant(const ast::Expr& expr, const SqlType& type) {
  aggregate_clause_ = "DEFAULT expressions";
  if (expr.kind == ExprKind::kColumnRef)
    return error("0A000", "cannot use column reference in DEFAULT expression", expr.location);
  SCYPER_ASSIGN_OR_RETURN(BoundPtr bound, bind(expr, nullptr));
  return coerce(std::move(bound), type, Coercion::kAssignment);
}

}  // namespace scyper::query
