#pragma once

#include <span>
#include <vector>

#include "base/status.h"
#include "query/queries.h"
#include "query/result.h"
#include "storage/type.h"

namespace google::protobuf {
template <typename Element>
class RepeatedPtrField;
}
namespace grpc {
class Status;
}
namespace scyper::v1 {
class CallResult;
class Column;
class Error;
class Receipt;
class Type;
}  // namespace scyper::v1

// What nodes write into messages of proto/scyper.proto, and nodes and clients read out of them. Threads: any.
namespace scyper::server {

void encode_type(const SqlType& type, v1::Type* out);
SqlType type_of(const v1::Type& type);

void encode_columns(std::span<const query::ResultColumn> columns, google::protobuf::RepeatedPtrField<v1::Column>* out);
std::vector<query::ResultColumn> columns_of(const google::protobuf::RepeatedPtrField<v1::Column>& columns);

void encode_receipt(const query::Receipt& receipt, v1::Receipt* out);
query::Receipt receipt_of(const v1::Receipt& receipt);

// What completes the answer of a statement: its tag, the number of its rows, its notices.
template <typename Message>
void read_end(const Message& from, query::ResultSet* result) {
  result->command_tag = from.command_tag();
  result->affected_rows = from.affected_rows();
  result->notices.assign(from.notices().begin(), from.notices().end());
}

// The answer of a call that has not failed, in the typed form. 08P01 when malformed.
Status read_result(const v1::CallResult& from, query::ResultSet* result);

// XX000 where there is no SQLSTATE.
Status status_of(const v1::Error& error);
// The error that a node has put into the details of an RPC's status. False: there is none.
bool find_error(const grpc::Status& status, v1::Error* error);

}  // namespace scyper::server
