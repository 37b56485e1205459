#pragma once

#include <cstdint>

#include "types/jsonb.h"

namespace scyper::query {

// Where PostgreSQL's binary form of `document` has the container `inner`, in bytes from the beginning; 0: nowhere.
// jsonpath's keyvalue() shows it as a part of the object's number.
int64_t json_binary_offset(const Json& document, const Json* inner);

}  // namespace scyper::query
