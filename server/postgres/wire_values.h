#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/status.h"
#include "postgres/message.h"
#include "query/result.h"
#include "query/value_wire.h"
#include "session/value_format.h"
#include "storage/type.h"

// Values as PostgreSQL's protocol has them, in its text and its binary format.
namespace scyper::server::postgres {

// One parameter. type: what the statement wants. oid: what the client says that it sends, 0 = nothing. What the value
// points to lies in the arena or in `bytes`.
// Errors: 22P03 malformed binary value, 22P02 and its kin of the type's input function, 22021, 22003 out of range.
Status decode_parameter(const SqlType& type, int32_t oid, Format format, std::string_view bytes,
                        query::ValueArena* arena, Datum* out);

// One value of a row with the length before it; -1 for NULL.
void append_field(const SqlType& type, Format format, const Datum& value, MessageWriter* writer);

// RowDescription. formats: by column.
void append_row_description(std::span<const query::ResultColumn> columns, std::span<const Format> formats,
                            MessageWriter* writer);

}  // namespace scyper::server::postgres
