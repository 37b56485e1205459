#include "server/step_stream.h"

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "scyper.grpc.pb.h"
#include "server/call_outcome.h"
#include "server/messages.h"

namespace scyper::server {

struct StepStream::Parts {
  explicit Parts(std::shared_ptr<grpc::Channel> c)
      : channel(std::move(c)), stub(v1::Transactions::NewStub(channel)), stream(stub->Interact(&context)) {}

  const std::shared_ptr<grpc::Channel> channel;
  const std::unique_ptr<v1::Transactions::Stub> stub;
  grpc::ClientContext context;
  absl::Mutex writing;  // one message at a time; none once the stream is over
  const std::unique_ptr<grpc::ClientReaderWriter<v1::InteractRequest, v1::InteractResponse>> stream;
  bool is_over ABSL_GUARDED_BY(writing) = false;
  Outcome final_outcome;  // of the stream, once it is over
};

StepStream::StepStream(std::shared_ptr<grpc::Channel> channel) : parts_(std::make_unique<Parts>(std::move(channel))) {}

StepStream::~StepStream() {
  if (is_over()) return;
  parts_->context.TryCancel();
  static_cast<void>(end());
}

bool StepStream::is_over() const {
  absl::MutexLock lock(&parts_->writing);
  return parts_->is_over;
}

StepStream::Outcome StepStream::run(const v1::InteractRequest& step, const Each& each, v1::InteractResponse* last) {
  {
    absl::MutexLock lock(&parts_->writing);
    if (parts_->is_over) return {parts_->final_outcome.status, parts_->final_outcome.has_word, /*is_sent=*/false};
    static_cast<void>(parts_->stream->Write(step));  // where it fails there is nothing to read either
  }
  Status malformed;
  while (parts_->stream->Read(last)) {
    if (last->has_error()) return {status_of(last->error())};
    if (last->has_complete() || last->has_description() || last->has_copy_header()) return {malformed};
    if (malformed.ok()) malformed = each(*last);
  }
  return end();
}

// Why the stream has ended.
StepStream::Outcome StepStream::end() {
  absl::MutexLock lock(&parts_->writing);
  parts_->is_over = true;
  const grpc::Status ended = parts_->stream->Finish();
  v1::Error error;
  Outcome& outcome = parts_->final_outcome;
  outcome.has_word = !ended.ok() && find_error(ended, &error);
  outcome.status = outcome.has_word
                       ? status_of(error)
                       : sql_error("08006", "the connection with the open transaction has ended: " +
                                                (ended.ok() ? "the node has closed it" : ended.error_message()));
  return outcome;
}

void StepStream::cancel() {
  absl::MutexLock lock(&parts_->writing);
  if (parts_->is_over) return;
  v1::InteractRequest step;
  step.mutable_cancel();
  static_cast<void>(parts_->stream->Write(step));
}

void StepStream::break_off() { parts_->context.TryCancel(); }

Status outcome_of_commit(const StepStream::Outcome& outcome) {
  if (outcome.status.ok()) return {};
  // 08007: the node no longer leads, and does not know whether others have the commit
  const bool is_known = !outcome.is_sent || (outcome.has_word && sqlstate_of(outcome.status) != "08007");
  return is_known ? outcome.status : unknown_outcome(outcome.status);
}

}  // namespace scyper::server
