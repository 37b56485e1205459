#pragma once

#include <memory>

#include "query/catalog.h"

namespace scyper::query {

// The function that a value of the domain has gone through; nullptr: there is nothing to check.
std::shared_ptr<const Routine> make_domain_check(const Domain& domain, const Catalog& catalog, RoutineId id);

// Is it that domain, or made of it?
bool is_made_of(const Domain& domain, uint32_t other, const Catalog& catalog);

}  // namespace scyper::query
