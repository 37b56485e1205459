#include <cstring>
#include <utility>

#include "base/check.h"
#include "server/packed.h"
#include "stream_parts.h"
#include "wire.h"

namespace scyper::client {

Status StreamResult::status() const {
  if (!failed) return {};
  v1::Error error;
  if (!error.ParseFromArray(body.data(), static_cast<int>(body.size()))) {
    return sql_error("08P01", "the node sent a malformed error");
  }
  return status_of(error);
}

Status StreamResult::decode_rows(const Prepared& prepared, query::ResultSet* result) const {
  if (failed) return status();
  if (result->columns.empty()) result->columns = prepared.columns;
  result->affected_rows = affected_rows;
  return append_rows(body, row_count, result);
}

Stream::Stream(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

Stream::~Stream() {
  if (parts_->is_finished) return;
  parts_->context.TryCancel();
  static_cast<void>(finish());
}

void Stream::add(const Prepared& prepared, std::span<const Datum> arguments, uint64_t request_id, uint32_t timeout_ms) {
  CHECK(arguments.size() == prepared.parameters.size());
  std::string* out = parts_->outgoing.mutable_packed_calls();
  size_t start = out->size();
  server::PackedCallHeader header{request_id, prepared.id, timeout_ms, 0};
  out->append(sizeof(header), '\0');
  server::append_row(prepared.parameters, arguments.data(), out);
  header.row_bytes = static_cast<uint32_t>(out->size() - start - sizeof(header));
  std::memcpy(out->data() + start, &header, sizeof(header));
  ++pending_;
}

Status Stream::send() {
  if (pending_ == 0) return {};
  bool sent = parts_->stream->Write(parts_->outgoing);
  parts_->outgoing.Clear();
  pending_ = 0;
  return sent ? Status() : sql_error("08006", "the node has closed the stream");
}

Status Stream::receive(const Handler& handler) {
  if (!parts_->stream->Read(&parts_->incoming)) {
    SCYPER_RETURN_IF_ERROR(finish());
    return absl::OutOfRangeError("end of stream");
  }
  std::string_view bytes = parts_->incoming.packed_results();
  while (!bytes.empty()) {
    server::PackedResultHeader header;
    if (!server::take(&bytes, &header) || bytes.size() < header.body_bytes) {
      return sql_error("08P01", "the node sent malformed results");
    }
    StreamResult result;
    result.request_id = header.request_id;
    result.failed = (header.flags & server::kResultFailed) != 0;
    result.retried_as_crossing = (header.flags & server::kResultRetriedAsCrossing) != 0;
    result.body = bytes.substr(0, header.body_bytes);
    bytes.remove_prefix(header.body_bytes);
    if (!result.failed) {
      server::PackedRowsHeader rows;
      if (!server::take(&result.body, &rows)) return sql_error("08P01", "the node sent malformed results");
      result.affected_rows = rows.affected_rows;
      result.row_count = rows.row_count;
    }
    handler(result);
  }
  return {};
}

void Stream::close_sending() {
  if (!std::exchange(parts_->is_sending_closed, true)) parts_->stream->WritesDone();
}

Status Stream::finish() {
  if (!parts_->is_finished) {
    close_sending();
    // gRPC finishes only what was read to its end.
    v1::ResultBatch unread;
    while (parts_->stream->Read(&unread)) {
    }
    parts_->final_status = status_of(parts_->stream->Finish());
    parts_->is_finished = true;
  }
  return parts_->final_status;
}

Loading::Loading(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

Loading::~Loading() {
  parts_->stream->WritesDone();
  static_cast<void>(parts_->stream->Finish());
}

const std::vector<query::ResultColumn>& Loading::columns() const { return parts_->columns; }

Status Loading::load(std::span<const Datum> values) {
  std::vector<SqlType> types;
  for (const query::ResultColumn& column : parts_->columns) types.push_back(column.type);
  CHECK(!types.empty() && values.size() % types.size() == 0);
  v1::LoadBatch batch;
  batch.set_table(parts_->table);
  batch.set_row_count(static_cast<uint32_t>(values.size() / types.size()));
  for (size_t i = 0; i < values.size(); i += types.size()) {
    server::append_row(types, values.data() + i, batch.mutable_packed_rows());
  }
  v1::LoadResult result;
  if (!parts_->stream->Write(batch) || !parts_->stream->Read(&result)) {
    Status status = status_of(parts_->stream->Finish());
    return status.ok() ? sql_error("08006", "the node has closed the load") : status;
  }
  return result.has_error() ? status_of(result.error()) : Status();
}

}  // namespace scyper::client
