// COPY ... FROM STDIN over gRPC.

#include <grpcpp/grpcpp.h>

#include <utility>

#include "client/client.h"
#include "client_parts.h"
#include "server/messages.h"
#include "wire.h"

namespace scyper::client {

struct Copying::Parts {
  explicit Parts(Client::Parts* client) : running(client, &context), stream(client->queries->CopyIn(&context)) {}

  // The next answer; the error that has ended the call where there is none.
  Status read() {
    if (stream->Read(&response)) return Status();
    is_over = true;
    Status status = running.status_of_end(stream->Finish());
    return status.ok() ? sql_error("08006", "the node has closed the copy") : status;
  }
  Status write() {
    if (stream->Write(request)) {
      request.Clear();
      return Status();
    }
    Status status = read();
    return status.ok() ? sql_error("08P01", "the node answered what was not asked") : status;
  }

  grpc::ClientContext context;
  const Client::Parts::Running running;
  std::unique_ptr<grpc::ClientReaderWriter<v1::CopyInRequest, v1::CopyInResponse>> stream;
  v1::CopyInRequest request;
  v1::CopyInResponse response;
  std::string pending;  // text that is no full piece yet
  size_t column_count = 0;
  bool is_over = false;
};

Copying::Copying(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

Copying::~Copying() {
  if (parts_->is_over) return;
  parts_->context.TryCancel();
  static_cast<void>(parts_->stream->Finish());
}

size_t Copying::column_count() const { return parts_->column_count; }

Status Copying::write(std::string_view text) {
  return send_pieces(text, &parts_->pending, [&] {
    parts_->request.set_text(std::exchange(parts_->pending, {}));
    return parts_->write();
  });
}

Status Copying::finish(query::ResultSet* result) {
  parts_->request.set_text(std::exchange(parts_->pending, {}));
  parts_->request.set_done(true);
  SCYPER_RETURN_IF_ERROR(parts_->write());
  SCYPER_RETURN_IF_ERROR(parts_->read());
  result->clear();
  server::read_end(parts_->response.complete(), result);
  parts_->is_over = true;
  return parts_->running.status_of_end(parts_->stream->Finish());
}

StatusOr<std::unique_ptr<Copying>> Client::open_copy(std::string_view sql) {
  auto parts = std::make_unique<Copying::Parts>(parts_.get());
  parts->request.set_sql(std::string(sql));
  SCYPER_RETURN_IF_ERROR(parts->write());
  SCYPER_RETURN_IF_ERROR(parts->read());
  parts->column_count = parts->response.header().column_count();
  return std::unique_ptr<Copying>(new Copying(std::move(parts)));
}

}  // namespace scyper::client
