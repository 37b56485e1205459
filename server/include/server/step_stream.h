#pragma once

#include <functional>
#include <memory>

#include "base/status.h"

namespace grpc {
class Channel;
}
namespace scyper::v1 {
class InteractRequest;
class InteractResponse;
}  // namespace scyper::v1

namespace scyper::server {

// One Transactions.Interact as its caller sees it: a client, or a secondary that passes a session's transaction on.
// When it is destroyed the node takes back what is open. Threads: cancel() and break_off() any; all else one at a time.
class StepStream {
 public:
  explicit StepStream(std::shared_ptr<grpc::Channel> channel);
  ~StepStream();
  StepStream(const StepStream&) = delete;

  struct Outcome {
    Status status;
    // The node has answered the step, or has said why it ends the stream. Otherwise the connection has ended, and a
    // step that was sent may have been done.
    bool has_word = true;
    bool is_sent = true;  // else the stream had ended before
  };
  // Sends one step and reads its answers: `each` sees headers and rows, *last is the last one.
  using Each = std::function<Status(const v1::InteractResponse&)>;
  Outcome run(const v1::InteractRequest& step, const Each& each, v1::InteractResponse* last);
  // The statement that runs ends with 57014, and the stream goes on.
  void cancel();
  // The stream ends at once.
  void break_off();
  bool is_over() const;

 private:
  struct Parts;
  Outcome end();

  const std::unique_ptr<Parts> parts_;
};

// What the caller of a COMMIT is told: 40003 where nobody knows whether it is done.
Status outcome_of_commit(const StepStream::Outcome& outcome);

}  // namespace scyper::server
