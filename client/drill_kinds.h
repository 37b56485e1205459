#pragma once

#include <string>
#include <vector>

#include "drill.h"

namespace scyper::client {

bool needs_spaces(const std::string& kind);  // network namespaces: root
bool needs_disks(const std::string& kind);   // likewise
bool has_any(const std::vector<std::string>& kinds, bool (*needs)(const std::string&));
// The kinds of faults that come in turn.
std::vector<std::string> turns_of(const DrillOptions& options);

}  // namespace scyper::client
