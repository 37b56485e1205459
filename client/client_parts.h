#pragma once

#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "call_stream.h"
#include "client/client.h"
#include "scyper.grpc.pb.h"
#include "wire.h"

namespace scyper::client {

struct Client::Parts {
  explicit Parts(std::shared_ptr<grpc::Channel> c)
      : channel(std::move(c)),
        transactions(v1::Transactions::NewStub(channel)),
        queries(v1::Queries::NewStub(channel)),
        admin(v1::Admin::NewStub(channel)) {}

  std::shared_ptr<grpc::Channel> channel;
  std::unique_ptr<v1::Transactions::Stub> transactions;
  std::unique_ptr<v1::Queries::Stub> queries;
  std::unique_ptr<v1::Admin::Stub> admin;
  int call_timeout_ms = 60'000;
  CallStreams call_streams;  // before its channel and stubs are gone

  // The call of a batch of one, by a stream that is kept where there is one.
  Status call(const v1::CallBatch& batch, v1::CallResult* result);
  // By an RPC of its own.
  Status call_alone(const v1::Call& call, v1::CallResult* result);

  // What cancel() ends.
  absl::Mutex mutex;
  grpc::ClientContext* running ABSL_GUARDED_BY(mutex) = nullptr;

  bool is_cancelled ABSL_GUARDED_BY(mutex) = false;  // what runs, by cancel()

  // A query is under way with this context.
  class Running {
   public:
    Running(Parts* parts, grpc::ClientContext* context) : parts_(parts) {
      absl::MutexLock lock(&parts_->mutex);
      parts_->running = context;
      parts_->is_cancelled = false;
    }
    ~Running() {
      absl::MutexLock lock(&parts_->mutex);
      parts_->running = nullptr;
    }
    // How the query ended. A node that stops cancels its calls as well: then the connection is lost.
    Status status_of_end(const grpc::Status& end) const {
      absl::MutexLock lock(&parts_->mutex);
      if (end.error_code() != grpc::StatusCode::CANCELLED || !parts_->is_cancelled) return status_of(end);
      return sql_error("57014", "canceling statement due to user request");
    }

   private:
    Parts* const parts_;
  };
};

// Appends text of COPY to *pending, and calls `send` whenever that makes a full piece. `send` empties *pending.
template <typename Send>
Status send_pieces(std::string_view text, std::string* pending, const Send& send) {
  constexpr size_t kPieceBytes = 64 << 10;
  while (!text.empty()) {
    const std::string_view piece = text.substr(0, kPieceBytes - pending->size());
    pending->append(piece);
    text.remove_prefix(piece.size());
    if (pending->size() < kPieceBytes) break;
    SCYPER_RETURN_IF_ERROR(send());
  }
  return {};
}

// 08P01: `what`, a statement or query, is given too few arguments or too many.
inline Status check_argument_count(const char* what, const Prepared& prepared, size_t count) {
  if (count == prepared.parameters.size()) return {};
  return sql_error("08P01", std::string("the ") + what + " is given " + std::to_string(count) +
                                " arguments, but requires " + std::to_string(prepared.parameters.size()));
}

}  // namespace scyper::client
