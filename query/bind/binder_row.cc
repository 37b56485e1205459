#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/object_name.h"
#include "bind/binder.h"
#include "bind/builtin_catalog.h"
#include "bind/make.h"
#include "bind/object_numbers.h"
#include "bind/system_tables.h"
#include "parse/name_path.h"
#include "parse/printer.h"
#include "parse/sql_parser.h"
#include "plan/expressions.h"
#include "query/session_activity.h"

// Comparisons of rows, column by column, and functions over arrays whose element types must agree.
namespace scyper::query {

using ast::ExprKind;
using ast::node_as;
using ast::node_if;

BoundPtr Binder::join_conditions(BoundKind kind, std::vector<BoundPtr> conditions, int32_t location) {
  if (conditions.empty())  // ROW() has no fields: all of them are NULL, and none is
    return make_constant(make_type(TypeId::kBool), int_datum(kind == BoundKind::kAnd ? 1 : 0), location);
  if (conditions.size() == 1) return std::move(conditions[0]);
  BoundPtr result = make_expr(kind, make_type(TypeId::kBool), false, location);
  for (auto& condition : conditions) {
    result->nullable |= condition->nullable;
    result->args.push_back(std::move(condition));
  }
  return result;
}

namespace {

// How many columns a query returns; unknown where it says "*".
std::optional<size_t> columns_of(const ast::SelectStatement& select) {
  const ast::SelectStatement* arm = &select;
  while (arm->left != nullptr) arm = arm->left.get();
  if (!arm->values.empty()) return arm->values[0].size();
  for (const ast::SelectTarget& target : arm->targets)
    if (const auto* ref = node_if<ast::ColumnRef>(target.expr.get()); ref != nullptr && ref->star) return std::nullopt;
  return arm->targets.size();
}

// (a, b) < (SELECT c, d ...): the comparison with the one row that the query returns, NULL without one.
std::string comparison_with_row(const ast::RowConstructor& row, std::string_view op, const ast::Expr& subquery) {
  std::string left, names, columns;
  for (size_t i = 0; i < row.fields.size(); i++) {
    const char* comma = i == 0 ? "" : ", ";
    const std::string name = absl::StrCat("\" column", i, "\"");
    absl::StrAppend(&left, comma, to_sql(*row.fields[i]));
    absl::StrAppend(&names, comma, name);
    absl::StrAppend(&columns, comma, "\" row\".", name);
  }
  return absl::StrCat("(SELECT ROW(", left, ") ", std::string(op), " ROW(", columns, ") FROM ", to_sql(subquery),
                      " AS \" row\"(", names, "))");
}

}  // namespace

StatusOr<BoundPtr> Binder::bind_binary(const ast::BinaryOp& expr, const Scope* scope) {
  if (expr.left->kind == ExprKind::kRowConstructor && expr.right->kind == ExprKind::kRowConstructor)
    return compare_rows(expr.op, *expr.left, *expr.right, scope, expr.location);
  if (const auto* row = node_if<ast::RowConstructor>(expr.left.get()); row != nullptr && !row->fields.empty())
    if (const auto* query = node_if<ast::ScalarSubquery>(expr.right.get()); query != nullptr) {
      const auto count = columns_of(*query->subquery);
      if (count.has_value() && *count != row->fields.size())
        return error("42601",
                     absl::StrCat("subquery has too ", *count < row->fields.size() ? "few" : "many", " columns"),
                     expr.location);
      // aggregates and windows of this query would become those of the one that is written around the comparison
      const auto calls = [this] {
        return aggregate_query_ == nullptr ? 0 : aggregate_query_->aggregates.size() + aggregate_query_->windows.size();
      };
      const size_t before = calls();
      SCYPER_RETURN_IF_ERROR(bind_list(row->fields, scope).status());
      if (calls() != before)
        return error("0A000", "comparing a row of aggregates with a subquery is not supported", expr.location);
      SCYPER_ASSIGN_OR_RETURN(auto compared,
                              parse_expression(comparison_with_row(*row, expr.op, *query), TextOf::kSystem));
      return bind(*compared, scope);
    }
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
  SCYPER_ASSIGN_OR_RETURN(std::vector<BoundPtr> x, bind_list(a->fields, scope));
  SCYPER_ASSIGN_OR_RETURN(std::vector<BoundPtr> y, bind_list(b->fields, scope));
  if (x.size() != y.size()) return error("42601", "unequal number of entries in row expressions", location);
  if (x.empty()) return error("0A000", "cannot compare rows of zero length", location);
  if (op == "=" || op == "<>") {
    std::vector<BoundPtr> conditions;
    for (size_t i = 0; i < x.size(); i++) {
      SCYPER_ASSIGN_OR_RETURN(BoundPtr condition, make_operator(op, std::move(x[i]), std::move(y[i]), location));
      conditions.push_back(std::move(condition));
    }
    return join_conditions(op == "=" ? BoundKind::kAnd : BoundKind::kOr, std::move(conditions), location);
  }
  if (op != "<" && op != "<=" && op != ">" && op != ">=")
    return with_hint(
        error("0A000", absl::StrCat("could not determine interpretation of row comparison operator ", std::string(op)),
              location),
        "Row comparison operators must be associated with btree operator families.");
  // The first fields that differ decide, a NULL before them makes the answer NULL:
  // CASE WHEN a1 = b1 THEN (the rest) ELSE a1 < b1 END would take NULL = for "differ", which gives NULL as well.
  SCYPER_ASSIGN_OR_RETURN(BoundPtr result, make_operator(op, std::move(x.back()), std::move(y.back()), location));
  for (size_t i = x.size() - 1; i-- > 0;) {
    SCYPER_ASSIGN_OR_RETURN(BoundPtr equal, make_operator("=", clone(*x[i]), clone(*y[i]), location));
    SCYPER_ASSIGN_OR_RETURN(BoundPtr decided,
                            make_operator(op[0] == '<' ? "<" : ">", std::move(x[i]), std::move(y[i]), location));
    BoundPtr rest = std::move(result);
    result = make_expr(BoundKind::kCase, make_type(TypeId::kBool), rest->nullable || decided->nullable, location);
    result->args.push_back(std::move(equal));
    result->args.push_back(std::move(rest));
    result->args.push_back(std::move(decided));
  }
  return result;
}

// (a, b) < (x, y) is written as CASE WHEN a = x THEN b < y ELSE a < x END, of which no index knows anything. It implies
// a <= x, and an index of `a` finds the rows of that.
Status Binder::add_row_bounds(std::vector<BoundPtr>* conjuncts) {
  const size_t count = conjuncts->size();
  for (size_t i = 0; i < count; i++) {
    const BoundExpr& e = *(*conjuncts)[i];
    if (e.kind != BoundKind::kCase || e.args.size() != 3 || e.args[0]->kind != BoundKind::kBuiltin ||
        e.args[2]->kind != BoundKind::kBuiltin || e.args[0]->builtin->op != BuiltinOp::kEqual)
      continue;
    const BoundExpr& decided = *e.args[2];
    const bool is_less = decided.builtin->op == BuiltinOp::kLess;
    if (!is_less && decided.builtin->op != BuiltinOp::kGreater) continue;
    const bool is_of_rows = same(*e.args[0]->args[0], *decided.args[0]) && same(*e.args[0]->args[1], *decided.args[1]);
    const bool has_column = std::any_of(decided.args.begin(), decided.args.end(),
                                        [](const BoundPtr& side) { return side->kind == BoundKind::kColumn; });
    if (!is_of_rows || !has_column || is_volatile(decided)) continue;
    SCYPER_ASSIGN_OR_RETURN(BoundPtr bound,
                            make_operator(is_less ? "<=" : ">=", clone(*decided.args[0]), clone(*decided.args[1]), -1));
    conjuncts->push_back(std::move(bound));
  }
  return absl::OkStatus();
}

// A text that equal rows have in common: numbers are written without the zeros and signs in which equal ones differ.
StatusOr<BoundPtr> Binder::row_key(BoundPtr row) {
  if (row->query != nullptr || row->index == kImageRow || row->index == kAbsentRow) return row_text(std::move(row));
  const int32_t location = row->location;
  for (BoundPtr& field : row->args) {
    if (field->kind == BoundKind::kRow) {
      SCYPER_ASSIGN_OR_RETURN(field, row_key(std::move(field)));
      continue;
    }
    std::vector<BoundPtr> args;
    args.push_back(std::move(field));
    if (args[0]->type.id == TypeId::kNumeric) {
      SCYPER_ASSIGN_OR_RETURN(field, make_call("trim_scale", std::move(args), location));
    } else if (is_float(args[0]->type.id)) {
      BoundPtr zero = make_constant(args[0]->type, float_datum(0), location);
      SCYPER_ASSIGN_OR_RETURN(field, make_operator("+", std::move(args[0]), std::move(zero), location));
    } else {
      field = std::move(args[0]);
    }
  }
  return row_text(std::move(row));
}

// IS DISTINCT FROM of two fields.
StatusOr<BoundPtr> Binder::fields_differ(const BoundExpr& left, const BoundExpr& right, int32_t location) {
  if (left.kind == BoundKind::kRow && right.kind == BoundKind::kRow)
    return compare_bound_rows("", left, right, location);
  SCYPER_ASSIGN_OR_RETURN(BoundPtr equal, make_operator("=", clone(left), clone(right), location));
  BoundPtr differ = make_expr(BoundKind::kDistinct, make_type(TypeId::kBool), false, location);
  differ->builtin = equal->builtin;
  differ->args = std::move(equal->args);
  return differ;
}

// a < b and its kin of whole rows, as PostgreSQL orders them: the first fields that differ decide, NULL is the greatest
// value of a field.
StatusOr<BoundPtr> Binder::order_bound_rows(std::string_view op, const BoundExpr& a, const BoundExpr& b,
                                            int32_t location) {
  const SqlType boolean = make_type(TypeId::kBool);
  const bool is_less = op[0] == '<';
  if (op != "<" && op != "<=" && op != ">" && op != ">=")
    return error("42883", absl::StrCat("operator does not exist: record ", std::string(op), " record"), location);
  auto truth = [&](bool value) { return make_constant(boolean, int_datum(value ? 1 : 0), location); };
  auto is_null = [&](const BoundExpr& field) -> StatusOr<BoundPtr> {
    if (field.kind == BoundKind::kRow) return truth(false);
    BoundPtr test = make_expr(BoundKind::kIsNull, boolean, false, location);
    test->args.push_back(clone(field));
    return test;
  };
  BoundPtr result = truth(op.size() == 2);
  for (size_t i = a.names.size(); i-- > 0;) {
    BoundPtr left = row_field(a, i), right = row_field(b, i);
    SCYPER_ASSIGN_OR_RETURN(BoundPtr differ, fields_differ(*left, *right, location));
    BoundPtr same = make_expr(BoundKind::kNot, boolean, false, location);
    same->args.push_back(std::move(differ));
    SCYPER_ASSIGN_OR_RETURN(BoundPtr left_null, is_null(*left));
    SCYPER_ASSIGN_OR_RETURN(BoundPtr right_null, is_null(*right));
    SCYPER_ASSIGN_OR_RETURN(BoundPtr decided,
                            make_operator(is_less ? "<" : ">", std::move(left), std::move(right), location));
    BoundPtr choice = make_expr(BoundKind::kCase, boolean, result->nullable || decided->nullable, location);
    choice->args.push_back(std::move(same));
    choice->args.push_back(std::move(result));
    choice->args.push_back(std::move(left_null));
    choice->args.push_back(truth(!is_less));
    choice->args.push_back(std::move(right_null));
    choice->args.push_back(truth(is_less));
    choice->args.push_back(std::move(decided));
    result = std::move(choice);
  }
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
    SCYPER_ASSIGN_OR_RETURN(auto fields, bind_list(node_as<ast::RowConstructor>(*test.arg).fields, scope));
    for (BoundPtr& arg : fields) {
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
  SCYPER_ASSIGN_OR_RETURN(BoundPtr x, bind_row(*left, scope));
  SCYPER_ASSIGN_OR_RETURN(BoundPtr y, bind_row(*right, scope));
  SCYPER_ASSIGN_OR_RETURN(BoundPtr any, compare_bound_rows("", *x, *y, expr.location));
  return test.negated ? negated(std::move(any)) : std::move(any);
}

// The schemas of the search path that exist. New objects go to the first that is not of temporary tables.
std::vector<std::string> current_schemas(const Catalog& catalog) {
  std::vector<std::string> schemas;
  const auto* path = SessionPathScope::current;
  if (path == nullptr || path->empty()) schemas.emplace_back(kPublicSchema);
  for (size_t i = 0; path != nullptr && i < path->size(); i++)
    if ((*path)[i] == kPublicSchema || (*path)[i] == "pg_catalog" || catalog.namespaces.count((*path)[i]) != 0)
      schemas.push_back((*path)[i]);
  return schemas;
}

namespace {

// As PostgreSQL shows them: a session has one schema of temporary tables. It counts as named where it is not the first.
std::vector<std::string> named_schemas(const std::vector<std::string>& schemas) {
  std::vector<std::string> named;
  for (size_t i = 0; i < schemas.size(); ++i) {
    const bool is_implicit = named.empty() && is_temporary_schema(schemas[i]);
    if (!is_implicit && !schemas[i].ends_with(kDeletesRowsSuffix)) named.push_back(schemas[i]);
  }
  return named;
}

// pg_blocking_pids(pid) of what is known now: a CASE of constants.
std::string blocking_pids(const std::string& pid) {
  std::map<int32_t, std::set<int32_t>> blockers;
  for (const SessionLock& lock : ActivityScope::current()->locks())
    if (lock.pid != 0) blockers[lock.pid].insert(lock.blocked_by.begin(), lock.blocked_by.end());
  std::string text = "CASE WHEN (" + pid + ")::pg_catalog.int4 IS NULL THEN NULL";
  for (const auto& [waiter, sessions] : blockers)
    absl::StrAppend(&text, " WHEN (", pid, ") = ", waiter, " THEN '{", absl::StrJoin(sessions, ","),
                    "}'::pg_catalog.int4[]");
  return text + " ELSE '{}'::pg_catalog.int4[] END";
}

// current_schemas(implicit): whether pg_catalog and the schema of temporary tables count, too.
BoundPtr schemas_array(const std::vector<std::string>& path, BoundPtr implicit, int32_t location) {
  const SqlType type = make_type(TypeId::kText);
  auto array = [&](bool has_catalog) {
    BoundPtr result = make_expr(BoundKind::kArray, make_array(type), false, location);
    const std::vector<std::string> schemas = named_schemas(path);
    const bool is_named = std::find(schemas.begin(), schemas.end(), "pg_catalog") != schemas.end();
    if (has_catalog && is_temporary_schema(path[0])) {
      const size_t suffix = path[0].ends_with(kDeletesRowsSuffix) ? kDeletesRowsSuffix.size() : 0;
      result->args.push_back(make_text_constant(type, path[0].substr(0, path[0].size() - suffix), location));
    }
    if (has_catalog && !is_named) result->args.push_back(make_text_constant(type, "pg_catalog", location));
    for (const std::string& schema : schemas) result->args.push_back(make_text_constant(type, schema, location));
    return result;
  };
  BoundPtr result = make_expr(BoundKind::kCase, make_array(type), false, location);
  result->args.push_back(std::move(implicit));
  result->args.push_back(array(true));
  result->args.push_back(array(false));
  return result;
}

}  // namespace

// What tools ask about where they are; null: none of these.
StatusOr<BoundPtr> Binder::bind_environment_call(const ast::FunctionCall& call, const Scope* scope) {
  const std::string& name = call.name.back();
  auto text = [&](std::string value) {
    return make_text_constant(make_type(TypeId::kText), std::move(value), call.location);
  };
  if (name == " table_sample" && scope != nullptr && scope->relations.size() == 1 && call.args.size() >= 2)
    return bind_table_sample(call, scope);
  if (call.args.empty() && name == "current_schema") {
    const auto schemas = named_schemas(current_schemas(catalog_));
    return schemas.empty() ? make_null(make_type(TypeId::kText), call.location) : text(schemas[0]);
  }
  if (call.args.size() == 1 && name == "current_schemas") {
    SCYPER_ASSIGN_OR_RETURN(BoundPtr implicit, bind(*call.args[0], scope));
    SCYPER_ASSIGN_OR_RETURN(implicit, coerce(std::move(implicit), make_type(TypeId::kBool), Coercion::kImplicit));
    // pg_dump asks with an empty search_path and writes the answer down as the path of its text: names of public stand
    // without their schema in the texts of views and checks that it copies
    std::vector<std::string> schemas = current_schemas(catalog_);
    if (schemas.empty()) schemas.emplace_back(kPublicSchema);
    return schemas_array(schemas, std::move(implicit), call.location);
  }
  if (call.args.size() == 1 && name == "pg_blocking_pids") {
    if (ActivityScope::current() == nullptr)
      return error("0A000", "pg_blocking_pids() can be called by queries only, which write nothing", call.location);
    SCYPER_ASSIGN_OR_RETURN(auto expr, parse_expression(blocking_pids(to_sql(*call.args[0])), TextOf::kSystem));
    program_->volatile_result = true;
    return bind(*expr, scope);
  }
  if (call.args.empty() && (name == "current_database" || name == "current_catalog"))
    return text(catalog_.database.name);
  if (name == "scyper_builtin_lines" && call.args.size() == 1) {
    const auto* wanted = ast::node_if<ast::Literal>(call.args[0].get());
    const auto lines = wanted == nullptr ? std::nullopt : builtin_lines(wanted->text);
    if (lines.has_value()) return text(std::string(*lines));
  }
  if (is_builtin_call_text(name)) {
    std::vector<std::string> arguments;
    for (const auto& argument : call.args) arguments.push_back(to_sql(*argument));
    if (const std::string sql = builtin_call_text(name, arguments); !sql.empty()) {
      SCYPER_ASSIGN_OR_RETURN(auto expr, parse_expression(sql, TextOf::kSystem));
      return bind(*expr, scope);
    }
  }
  if (call.args.size() == 1 && name == "pg_tablespace_location") return text("");
  if (const SystemLookup* lookup = find_system_lookup(name); lookup != nullptr && call.args.size() == 1) {
    // the names in it are no columns that the argument could mean
    std::string query = "(SELECT " + std::string(lookup->column) + " FROM pg_catalog." + std::string(lookup->table) +
                        " WHERE " + std::string(lookup->key) + " = (" + to_sql(*call.args[0]) + "))";
    SCYPER_ASSIGN_OR_RETURN(auto expr, parse_expression(query, TextOf::kSystem));
    return bind(*expr, scope);
  }
  return bind_object_call(call, scope);
}

uint32_t Binder::new_variable(std::string name, const SqlType& type) {
  Variable variable;
  variable.name = std::move(name);
  variable.type = type;
  program_->variables.push_back(std::move(variable));
  return static_cast<uint32_t>(program_->variables.size() - 1);
}

}  // namespace scyper::query
