#pragma once

#include <cstring>

#include "storage/type.h"

namespace scyper::query {

// A field of a tuple (codegen/tuple.h) that is not NULL, as a Datum.
Datum load_tuple_field(const SqlType& type, const char* at) noexcept;

}  // namespace scyper::query
