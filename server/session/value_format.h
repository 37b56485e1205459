#pragma once

#include <cstdint>

namespace scyper::server {

// PostgreSQL's format codes of values.
enum class Format : int16_t { kText = 0, kBinary = 1 };

}  // namespace scyper::server
