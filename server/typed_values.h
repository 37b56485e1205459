#pragma once

#include <cstddef>
#include <span>

#include "base/status.h"
#include "query/result.h"
#include "server/packed.h"
#include "storage/type.h"

namespace google::protobuf {
template <typename Element>
class RepeatedPtrField;
}
namespace scyper::v1 {
class Row;
class Value;
}  // namespace scyper::v1

// `Value` messages and Datums.
namespace scyper::server {

// Arguments by a statement's parameters. Strings in `row` point into the messages. A wrong number: 08P01; a value of
// another type: 42804; out of range: 22003; invalid UTF-8: 22021.
Status decode_arguments(std::span<const SqlType> types, const google::protobuf::RepeatedPtrField<v1::Value>& values,
                        Datum* row, RowArena* arena);
void encode_row(std::span<const query::ResultColumn> columns, const Datum* row, v1::Row* out);

}  // namespace scyper::server
