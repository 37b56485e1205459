#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "authorization.h"
#include "server/packed.h"
#include "session/cursor_session.h"
#include "session/step_answers.h"

namespace scyper::server {

// A client's session by Transactions.Interact: its statements run in transactions only. Threads: as InteractionSteps.
class InteractiveSession final : public CursorSession, public InteractionSteps {
 public:
  struct Client {
    std::string name;     // of its certificate; empty: none
    std::string address;  // of its connection
    Authorization::Caller caller;
  };
  // on_terminate: what pg_terminate_backend() does besides cancelling; any thread, must not wait.
  InteractiveSession(NodeParts* node, const Client& client, StepAnswers::Send send, std::function<void()> on_terminate);
  ~InteractiveSession() override;

  void run(const v1::InteractRequest& step) override;
  void cancel() override { BlockSession::cancel(); }
  void hang_up() override { BlockSession::hang_up(); }
  int64_t idle_ns() const override;

 private:
  void warn(const char* sqlstate, const std::string& message) override;

  Status run_step(const v1::InteractRequest& step, v1::InteractResponse* last);
  Status begin(const v1::InteractRequest::Begin& begin, v1::InteractResponse* last);
  Status execute(const v1::InteractRequest::Statement& request, v1::InteractResponse* last);
  Status copy(const v1::CopyInRequest& request, v1::InteractResponse* last);
  Status end_copy(v1::InteractResponse* last);
  Status describe(std::string_view sql, v1::InteractResponse* last);
  Status end(query::CommandKind kind, const char* tag, v1::InteractResponse* last);
  // One statement, in a transaction.
  StatusOr<Statement> read_statement(std::string_view sql) const;
  Status decode(const v1::InteractRequest::Statement& request, Statement* statement, std::vector<Datum>* arguments);
  Status send_answer(Answer* answer, RowForm form, v1::InteractResponse* last);
  v1::InteractResponse::State state() const;

  StepAnswers answers_;
  RowArena arena_;                     // of the arguments of the statement that runs
  std::vector<std::string> warnings_;  // of the step
  // A COPY FROM STDIN whose text comes; null: none.
  std::unique_ptr<primary::CopyIn> copy_;
  Statement copy_statement_;
  int64_t copy_deadline_ns_ = 0;  // 0: none
  bool is_broken_ = false;        // the client takes no more answers
  bool holds_rows_ = false;       // of cursors, more than its memory takes
};

}  // namespace scyper::server
