#pragma once

#include <functional>
#include <string>
#include <vector>

#include "primary/copy_in.h"
#include "query/queries.h"
#include "query/result.h"
#include "row_messages.h"
#include "scyper.pb.h"

namespace scyper::server {

// The answers of one Transactions.Interact, in the forms that all its steps share. Threads: one.
class StepAnswers {
 public:
  // Waits until the client's side has taken the message; false: the client has gone.
  using Send = std::function<bool(const v1::InteractResponse&)>;
  explicit StepAnswers(Send send) : send_(std::move(send)) {}

  bool send_header(const std::vector<query::ResultColumn>& columns);
  bool send_rows(const query::ResultSet& rows, RowForm form);
  // The last answers of a step.
  v1::InteractResponse complete(const std::string& tag, uint64_t affected_rows,
                                const std::vector<std::string>& notices) const;
  static v1::InteractResponse error(const Status& status);
  static v1::InteractResponse copy_header(const primary::CopyIn& copy);
  static Status no_copy();  // the error of text without its COPY
  static v1::InteractResponse description(const std::vector<SqlType>& parameters,
                                          const std::vector<query::ResultColumn>& columns);
  void send_last(v1::InteractResponse* answer, v1::InteractResponse::State state);

 private:
  const Send send_;
};

// The transactions of one stream, step by step. Owner: the stream's thread.
// Threads: cancel() and hang_up() any; all else the stream's.
class InteractionSteps {
 public:
  virtual ~InteractionSteps() = default;
  // Answers the step.
  virtual void run(const v1::InteractRequest& step) = 0;
  // The statement that runs ends with 57014.
  virtual void cancel() = 0;
  // The client has gone, or the session is to end: so does what runs.
  virtual void hang_up() = 0;
  // How long the client may think now, in nanoseconds; 0 = as long as it likes.
  virtual int64_t idle_ns() const = 0;
};

}  // namespace scyper::server
