#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/status.h"
#include "query/result.h"

// Rows as columns: how a snapshot's child sends results to its parent, and the node to its clients (the `columns` form
// of proto/scyper.proto, which documents the bytes).
namespace scyper::query {

// Appends `row_count` rows, row after row in `rows`, with these types.
void encode_columns(std::span<const SqlType> types, const Datum* rows, size_t row_count, std::string* out);
// Appends the rows to `result`, copying what they point to; `result` has columns of these types. 08P01 when malformed.
Status decode_columns(std::span<const SqlType> types, std::string_view bytes, ResultSet* result);
// How many rows an encoded batch has; 0 when malformed.
uint32_t row_count_of_columns(std::string_view bytes);

}  // namespace scyper::query
