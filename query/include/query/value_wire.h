#pragma once

#include <cstdint>
#include <string_view>

#include "base/status.h"
#include "query/result.h"
#include "query/value_text.h"
#include "query/wire_fields.h"
#include "storage/type.h"

// Values in PostgreSQL's binary format, as its send and receive functions have it. Threads: any.
namespace scyper::query {

// type: what is wanted. oid: what was sent, 0 = that. What the value points to lies in the arena or in `bytes`.
// Errors: 22P03 malformed, 22P02 and its kin of the type's input function, 22021, 22003 out of range.
Status receive_value(const SqlType& type, int32_t oid, std::string_view bytes, ValueArena* arena, Datum* out);

// One value with the length before it; -1 for NULL.
void append_sent(const SqlType& type, const Datum& value, WireWriter* out);

// How a value of a result is sent: with the type that SQL says, which ResultSets may have as another. What it points to
// lies in the arena or in `value`.
SqlType sent_type(const ResultColumn& column, bool is_binary);
StatusOr<Datum> sent_value(const ResultColumn& column, bool is_binary, const Datum& value, ValueArena* arena);

}  // namespace scyper::query
