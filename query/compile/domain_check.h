#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>

#include "query/catalog.h"

namespace scyper::query {

// So many domains may lie over each other: a domain's check has those of all domains below it.
constexpr size_t kDomainDepthMax = 100;

// The domains of a catalog by number. A catalog finds one by a look at all of them.
using DomainsById = std::unordered_map<uint32_t, const Domain*>;
DomainsById domains_by_id(const Catalog& catalog);
const Domain* domain_below(const Domain& domain, const DomainsById& all);

// The function that a value of the domain has gone through; nullptr: there is nothing to check.
std::shared_ptr<const Routine> make_domain_check(const Domain& domain, const DomainsById& all, RoutineId id);

// Is it that domain, or made of it?
bool is_made_of(const Domain& domain, uint32_t other, const DomainsById& all);

}  // namespace scyper::query
