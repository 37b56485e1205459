#pragma once

#include <atomic>
#include <functional>
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
  // address: of the other node. on_terminate: as InteractiveSession's.
  PassedBlock(NodeParts* node, std::string address, StepAnswers::Send send, std::function<void()> on_terminate);
  ~PassedBlock() override;

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

  // The settings of the other node's session, with the number that the transaction has here.
  query::SettingValues settings_of_session(const v1::Settings& settings) const;
  void show_running(const v1::InteractRequest& step);
  Status run_step(const v1::InteractRequest& step, v1::InteractResponse* last);
  Status begin(const v1::InteractRequest::Begin& begin);
  Status add_read(const v1::InteractRequest::SnapshotRead& request);
  template <typename Request>
  Status decode(const Request& request, const primary::StatementLimits& limits, Arguments* arguments);
  Status execute(const v1::InteractRequest::Statement& request, v1::InteractResponse* last);
  Status copy(const v1::CopyInRequest& request, v1::InteractResponse* last);
  Status describe(const v1::InteractRequest::Describe& request, v1::InteractResponse* last);
  Status change_savepoint(const v1::InteractRequest::Savepoint& savepoint);
  Status commit();

  NodeParts* const node_;
  const std::string address_;
  const std::function<void()> on_terminate_;
  const int32_t pid_;
  StepAnswers answers_;
  std::unique_ptr<ActivityList::Session> activity_;  // from its first statement on
  std::unique_ptr<primary::OpenTransaction> open_;   // null: none
  size_t savepoints_ = 0;                            // of it
  query::SettingValues copy_settings_;               // of copy_
  std::unique_ptr<primary::CopyIn> copy_;            // whose text comes; null: none
  std::atomic<bool> is_cancelled_{false};
  std::atomic<bool> is_gone_{false};
};

}  // namespace scyper::server
