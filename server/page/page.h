#pragma once

#include <string_view>

namespace scyper::server {

// The web page of a node (page.html): it shows /status.json.
extern const std::string_view kPage;

// What the page may load and do: nothing that is not its own.
constexpr char kPagePolicy[] =
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; connect-src 'self'; img-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

}  // namespace scyper::server
