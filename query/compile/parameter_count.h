#pragma once

#include <cstddef>
#include <string_view>

namespace scyper::query {

// The highest n of any $n in a valid SQL text, outside of strings, quoted names and comments.
size_t parameter_count(std::string_view sql);

}  // namespace scyper::query
