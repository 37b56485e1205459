#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace scyper::query {

// The text of a statement of a routine that is planned when it runs: its parameters in order are the variables of these
// names ("v"; "record" and "field" with a line's end between). Stands behind the search_path (query/search_path.h).
std::string with_names(const std::vector<std::string>& names, std::string_view sql);
std::string_view take_names(std::string_view text, std::vector<std::string>* names);

}  // namespace scyper::query
