#pragma once

#include <map>
#include <string>

#include "http.h"
#include "node_parts.h"
#include "readiness.h"

namespace scyper::server {

// What a node shows over HTTP, by path. Both outlive the pages.
std::map<std::string, HttpEndpoint::Page> make_pages(NodeParts* node, Readiness* readiness);

}  // namespace scyper::server
