#pragma once

#include <string_view>

namespace scyper::query {

// How the INSERT of a COPY FROM names the rows it reads (RelationKind::kFeed): a table of this schema, which no name
// can be, called as the one that is copied to.
inline constexpr std::string_view kFeedSchema =
    "\x01"
    "copy";

}  // namespace scyper::query
