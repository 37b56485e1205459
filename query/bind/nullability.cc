#include "bind/nullability.h"

#include <algorithm>

namespace scyper::query {

namespace {
bool may_be_null(const BoundPtr& expr) { return expr->nullable; }

// May CASE give NULL? Its conditions do not matter.
bool has_nullable_result(const BoundExpr& expr) {
  for (size_t i = 0; i < expr.args.size(); i++)
    if ((i % 2 == 1 || i + 1 == expr.args.size()) && expr.args[i]->nullable) return true;
  return false;
}
}  // namespace

void raise_nullable_here(BoundExpr* expr) {
  const auto& args = expr->args;
  switch (expr->kind) {
    case BoundKind::kBuiltin:
      expr->nullable |= expr->builtin->strict && std::any_of(args.begin(), args.end(), may_be_null);
      return;
    case BoundKind::kAnd:
    case BoundKind::kOr:
    case BoundKind::kNot:
    case BoundKind::kCast:
    case BoundKind::kSubscript:
    case BoundKind::kAnyAll:
    case BoundKind::kInSubquery:
      expr->nullable |= std::any_of(args.begin(), args.end(), may_be_null);
      return;
    case BoundKind::kCase:
      expr->nullable |= has_nullable_result(*expr);
      return;
    case BoundKind::kCoalesce:
    case BoundKind::kMinMax:
      expr->nullable |= std::all_of(args.begin(), args.end(), may_be_null);
      return;
    default:
      return;
  }
}

void raise_nullable(BoundExpr* expr) {
  for (auto& arg : expr->args) raise_nullable(arg.get());
  raise_nullable_here(expr);
}

}  // namespace scyper::query
