#pragma once

namespace scyper::query {

struct BoundExpr;

// A binder's expression has the arguments that its kind needs, so that nobody reads past them: else INVARIANT fails
// (base/invariant.h). Of the expression itself, not of its arguments.
void check_shape(const BoundExpr& expr);

}  // namespace scyper::query
