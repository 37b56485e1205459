#pragma once

#include <cstdint>
#include <optional>

#include "storage/type.h"

// PostgreSQL's numbers of types: what pg_type has and its clients know.
namespace scyper::query {

// 705 (unknown) for what has none.
int64_t type_oid(const SqlType& type);
// The type of a number; nullopt for numbers of types that do not exist here.
std::optional<SqlType> type_of_oid(int64_t oid);
// pg_attribute.atttypmod: length or precision and scale, -1 = none.
int64_t type_modifier(const SqlType& type);
// pg_type.typlen: bytes, -1 = varies, -2 = a C string.
int16_t type_length(const SqlType& type);

}  // namespace scyper::query
