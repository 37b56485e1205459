#pragma once

#include "bind/binder.h"

namespace scyper::query {

// The value of a column that names without qualifier and * see. What FULL JOIN ... USING leaves is the value of either
// side, each of which may be such a column again.
BoundPtr visible_value(const Scope& scope, const Scope::Visible& visible, int32_t location);

}  // namespace scyper::query
