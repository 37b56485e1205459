#include "session/step_answers.h"

#include "errors.h"
#include "server/messages.h"

namespace scyper::server {

bool StepAnswers::send_header(const std::vector<query::ResultColumn>& columns) {
  v1::InteractResponse answer;
  encode_columns(columns, answer.mutable_header()->mutable_columns());
  return send_(answer);
}

bool StepAnswers::send_rows(const query::ResultSet& rows, RowForm form) {
  bool is_there = true;
  encode_rows(rows, form, [&](v1::ExecuteResponse::Rows* some) {
    v1::InteractResponse answer;
    answer.mutable_rows()->Swap(some);
    return is_there = send_(answer);
  });
  return is_there;
}

v1::InteractResponse StepAnswers::complete(const std::string& tag, uint64_t affected_rows,
                                           const std::vector<std::string>& notices) const {
  v1::InteractResponse answer;
  auto* complete = answer.mutable_complete();
  complete->set_command_tag(tag);
  complete->set_affected_rows(affected_rows);
  for (const std::string& notice : notices) complete->add_notices(printable(notice));
  return answer;
}

v1::InteractResponse StepAnswers::error(const Status& status) {
  v1::InteractResponse answer;
  encode_error(status, answer.mutable_error());
  encode_notices(status, answer.mutable_error());
  return answer;
}

v1::InteractResponse StepAnswers::copy_header(const primary::CopyIn& copy) {
  v1::InteractResponse answer;
  answer.mutable_copy_header()->set_column_count(static_cast<uint32_t>(copy.column_count()));
  answer.mutable_copy_header()->set_binary(copy.is_binary());
  return answer;
}

Status StepAnswers::no_copy() { return sql_error("08P01", "there is no COPY whose text could come"); }

v1::InteractResponse StepAnswers::description(const std::vector<SqlType>& parameters,
                                              const std::vector<query::ResultColumn>& columns) {
  v1::InteractResponse answer;
  for (const SqlType& type : parameters) encode_type(type, answer.mutable_description()->add_parameters());
  encode_columns(columns, answer.mutable_description()->mutable_columns());
  return answer;
}

void StepAnswers::send_last(v1::InteractResponse* answer, v1::InteractResponse::State state) {
  answer->set_state(state);
  static_cast<void>(send_(*answer));
}

}  // namespace scyper::server
