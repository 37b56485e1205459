#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace scyper::query {

// PREPARE says of what types the parameters are, also of those that the statement does not use. The types stand in a
// comment at the end of the statement's text, so they go wherever the text goes: into caches, the log, to other nodes.
// types: as SQL writes them; empty: the statement tells.
std::string with_declared_parameters(std::string_view sql, const std::vector<std::string>& types);
// Of such a text; empty: of another one.
std::vector<std::string> declared_parameters_of(std::string_view sql);

}  // namespace scyper::query
