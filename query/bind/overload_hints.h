#pragma once

#include <string_view>

namespace scyper::query {

// PostgreSQL's hints for calls that fit nothing, or several things equally well.
constexpr std::string_view kNoFunction =
    "No function matches the given name and argument types. You might need to add explicit type casts.";
constexpr std::string_view kNoBestFunction =
    "Could not choose a best candidate function. You might need to add explicit type casts.";
constexpr std::string_view kNoOperator =
    "No operator matches the given name and argument types. You might need to add explicit type casts.";

}  // namespace scyper::query
