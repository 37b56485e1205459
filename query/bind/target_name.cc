#include "bind/target_name.h"
#include "base/object_name.h"

namespace scyper::query {

namespace {

using ast::ExprKind;
using ast::node_as;

// How sure a name is: a cast's type name and "case" give way to better ones.
int figure_name(const ast::Expr& expr, std::string* name) {
  switch (expr.kind) {
    case ExprKind::kColumnRef:
      *name = node_as<ast::ColumnRef>(expr).name.back();
      return 2;
    case ExprKind::kFieldSelect:
      *name = node_as<ast::FieldSelect>(expr).field;
      return 2;
    case ExprKind::kSubscript:
      return figure_name(*node_as<ast::Subscript>(expr).arg, name);
    case ExprKind::kFunctionCall:
      *name = bare_name(node_as<ast::FunctionCall>(expr).name.back());
      if (node_as<ast::FunctionCall>(expr).is_of_json) name->erase(name->find('b'), 1);  // jsonb_...
      return 2;
    case ExprKind::kNullIf:
      return *name = "nullif", 2;
    case ExprKind::kCoalesce:
      return *name = "coalesce", 2;
    case ExprKind::kMinMax:
      return *name = node_as<ast::MinMax>(expr).greatest ? "greatest" : "least", 2;
    case ExprKind::kArrayConstructor:
    case ExprKind::kArraySubquery:
      return *name = "array", 2;
    case ExprKind::kRowConstructor:
      return *name = "row", 2;
    case ExprKind::kExists:
      return *name = "exists", 2;
    case ExprKind::kGroupingCall:
      return *name = "grouping", 2;
    case ExprKind::kCast: {
      const auto& cast = node_as<ast::Cast>(expr);
      int strength = figure_name(*cast.arg, name);
      if (strength > 1) return strength;
      if (!cast.type.name.empty()) *name = bare_name(cast.type.name.back());
      return 1;
    }
    case ExprKind::kCollate:
      return figure_name(*node_as<ast::Collate>(expr).arg, name);
    case ExprKind::kCase: {
      const auto& choice = node_as<ast::Case>(expr);
      int strength = choice.otherwise == nullptr ? 0 : figure_name(*choice.otherwise, name);
      if (strength > 1) return strength;
      *name = "case";
      return 1;
    }
    case ExprKind::kScalarSubquery: {
      const ast::SelectStatement* select = node_as<ast::ScalarSubquery>(expr).subquery.get();
      while (select->set != ast::SetOperation::kNone) select = select->left.get();
      if (!select->values.empty()) return *name = "column1", 2;
      if (select->targets.empty()) return 0;
      if (!select->targets[0].alias.empty()) return *name = select->targets[0].alias, 2;
      return figure_name(*select->targets[0].expr, name);
    }
    case ExprKind::kValueFunction: {
      static constexpr const char* kNames[] = {"current_date",   "current_time",    "current_timestamp", "localtime",
                                               "localtimestamp", "current_role",    "current_user",      "user",
                                               "session_user",   "current_catalog", "current_schema"};
      *name = kNames[static_cast<size_t>(node_as<ast::ValueFunction>(expr).op)];
      return 2;
    }
    default:
      return 0;
  }
}

}  // namespace

std::string name_of_target(const ast::Expr& expr) {
  std::string name;
  return figure_name(expr, &name) == 0 ? "?column?" : name;
}

}  // namespace scyper::query
