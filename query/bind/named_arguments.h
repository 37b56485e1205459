#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "bind/bound.h"

namespace scyper::query {

// Puts the arguments of a call of a builtin function where its parameters are, of which some are given by name, and
// fills in defaults. false: it has no such parameters, or one twice.
bool place_arguments(std::string_view function, const std::vector<std::string>& names, std::vector<BoundPtr>* args);

}  // namespace scyper::query
