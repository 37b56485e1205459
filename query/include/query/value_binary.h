#pragma once

#include <array>
#include <cstdint>

#include "base/status.h"
#include "storage/type.h"

// Values that clients send as bytes and numbers, so that no input function has looked at them. Threads: any.
namespace scyper::query {

using UuidBytes = std::array<uint8_t, 16>;
Datum uuid_of(const UuidBytes& bytes);
UuidBytes bytes_of_uuid(const Datum& uuid);

// 22008 for a date, time or timestamp that is none, as PostgreSQL's receive functions (infinity is none here). Other
// types have no such numbers.
Status check_range(TypeId type, int64_t number);

}  // namespace scyper::query
