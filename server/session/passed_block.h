#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "node_parts.h"
#include "primary/open_transaction.h"
#include "server/packed.h"
#include "session/step_answers.h"

namespace scyper::server {

// The transaction of another node's session (forwarded_block.h) on this one, the primary. That session keeps all that
// is about sessions: settings, names of savepoints, whether the block has failed. Threads: as InteractionSteps.
class PassedBlock final : public InteractionSteps {
 public:
  PassedBlock(NodeParts* node, StepAnswers::Send send) : node_(node), answers_(std::move(send)) {}

  void run(const v1::InteractRequest& step) override;
  void cancel() override { is_cancelled_ = true; }
  void hang_up() override;
  int64_t idle_ns() const override { return 0; }  // the session's, which ends the stream

 private:
  struct Arguments {
    std::vector<SqlType> types;
    std::vector<Datum> values;
    RowArena arena;
  };

  Status run_step(const v1::InteractRequest& step, v1::InteractResponse* last);
  Status begin(const v1::InteractRequest::Begin& begin);
  Status add_read(const v1::InteractRequest::SnapshotRead& request);
  template <typename Request>
  Status decode(const Request& request, const primary::StatementLimits& limits, Arguments* arguments);
  Status execute(const v1::InteractRequest::Statement& request, v1::InteractResponse* last);
  Status describe(const v1::InteractRequest::Describe& request, v1::InteractResponse* last);
  Status change_savepoint(const v1::InteractRequest::Savepoint& savepoint);
  Status commit();

  NodeParts* const node_;
  StepAnswers answers_;
  std::unique_ptr<primary::OpenTransaction> open_;  // null: none
  size_t savepoints_ = 0;                           // of it
  std::atomic<bool> is_cancelled_{false};
  std::atomic<bool> is_gone_{false};
};

}  // namespace scyper::server
