#include "bind/shape.h"

#include <algorithm>

#include "base/invariant.h"
#include "bind/bound.h"
#include "bind/builtins.h"

namespace scyper::query {

namespace {

size_t least_arguments(const Builtin& builtin) {
  switch (builtin.op) {
    case BuiltinOp::kNegate:
      return 1;
    case BuiltinOp::kNow:
    case BuiltinOp::kRuntime:
      return 0;
    default:
      return 2;
  }
}

size_t least_arguments(const BoundExpr& expr) {
  switch (expr.kind) {
    case BoundKind::kBuiltin:
      return least_arguments(*expr.builtin);
    case BoundKind::kAnd:
    case BoundKind::kOr:
    case BoundKind::kNot:
    case BoundKind::kIsNull:
    case BoundKind::kIsTruth:
    case BoundKind::kCase:
    case BoundKind::kCoalesce:
    case BoundKind::kMinMax:
    case BoundKind::kCast:
      return 1;
    case BoundKind::kDistinct:
    case BoundKind::kSubscript:
    case BoundKind::kAnyAll:
      return 2;
    default:
      return 0;
  }
}

}  // namespace

void check_shape(const BoundExpr& expr) {
  using Kind = BoundKind;
  const bool has_builtin = expr.kind == Kind::kBuiltin || expr.kind == Kind::kMinMax || expr.kind == Kind::kAnyAll;
  INVARIANT(!has_builtin || expr.builtin != nullptr);
  INVARIANT(expr.kind != Kind::kUserCall || expr.routine != nullptr);
  INVARIANT(expr.args.size() >= least_arguments(expr));
  INVARIANT(std::all_of(expr.args.begin(), expr.args.end(), [](const auto& arg) { return arg != nullptr; }));
  const bool has_query =
      expr.kind == Kind::kScalarSubquery || expr.kind == Kind::kExists || expr.kind == Kind::kInSubquery;
  INVARIANT(!has_query || expr.query != nullptr);
}

}  // namespace scyper::query
