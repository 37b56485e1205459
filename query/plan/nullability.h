#pragma once

#include "plan/plan.h"

namespace scyper::query {

// Marks references as nullable where the column that they name may be NULL: because of the expression that defines it,
// or because an outer join fills it. Passes that move expressions need not care.
void settle_nullability(Plan* plan);

}  // namespace scyper::query
