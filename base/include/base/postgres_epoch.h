#pragma once

#include <cstdint>

namespace scyper {

// Microseconds from 1970 to 2000-01-01, where PostgreSQL's timestamps count from.
constexpr int64_t kPostgresEpochUs = 946'684'800'000'000;

}  // namespace scyper
