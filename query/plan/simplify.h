#pragma once

#include "plan/plan.h"

namespace scyper::query {

// Pushes predicates down, derives further ones, merges inner joins and inlines projections. Afterwards there is no
// kInner below a kInner and no kFilter that could stand lower.
void simplify(Plan* plan);

}  // namespace scyper::query
