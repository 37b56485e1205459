#pragma once

#include <cstdint>
#include <string>

namespace scyper::server {

// What the files below a directory take of their disk; a file with several names counts once. Files that come and go
// meanwhile may be missed. 0: it is not there.
uint64_t disk_usage_bytes(const std::string& directory);

}  // namespace scyper::server
