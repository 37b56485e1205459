#include "testing/outcome.h"

#include <cctype>

#include "query/error_status.h"
#include "query/shown_columns.h"
#include "types/datum_text.h"

namespace scyper::query {

namespace {
void set_error(const Status& status, StatementOutcome* outcome) {
  outcome->sqlstate = sqlstate_of(status);
  outcome->message = std::string(status.message());
  outcome->position = position_of(status);
  for (const std::string& notice : notices_of(status)) outcome->notices.push_back(notice);
  outcome->context = copy_context(context_of(status), outcome->sqlstate);
}

StatementOutcome run_copy(Session* session, const std::string& sql, const std::string& data) {
  StatementOutcome outcome;
  ResultSet result;
  auto command = copy_command_of(sql);
  const bool is_from = command.has_value() && command->is_from;
  Status status = is_from ? session->copy_from(sql, data, &result) : session->run(sql, &result);
  std::string text;
  if (status.ok() && !is_from) {
    auto format = copy_format_of(sql, result.columns);
    status = format.status();
    if (status.ok()) append_copy_begin(*format, result.columns, &text);
    for (size_t row = 0; status.ok() && row < result.row_count(); row++)
      status = append_copy_row(*format, result.columns, &result.value(row, 0), &text);
    if (status.ok()) append_copy_end(*format, &text);
  }
  outcome.notices = session->notices();
  outcome.notices.insert(outcome.notices.end(), result.notices.begin(), result.notices.end());
  if (!status.ok()) {
    set_error(status, &outcome);
    return outcome;
  }
  append_copy_lines(text, &outcome);
  outcome.rows.push_back("COPY " + std::to_string(is_from ? result.affected_rows : result.row_count()));
  return outcome;
}
}  // namespace

StatementOutcome run_statement(Session* session, const std::string& sql, int* normalised, const std::string& data) {
  if (is_copy(sql)) return run_copy(session, sql, data);
  StatementOutcome outcome;
  ResultSet result;
  bool is_normalised = false;
  Status status =
      normalised != nullptr ? session->run_normalised(sql, &result, &is_normalised) : session->run(sql, &result);
  if (is_normalised) ++*normalised;
  outcome.notices = session->notices();
  outcome.notices.insert(outcome.notices.end(), result.notices.begin(), result.notices.end());
  if (!status.ok()) {
    set_error(status, &outcome);
    return outcome;
  }
  const size_t width = shown_columns(result.columns);
  for (size_t i = 0; i < width; i++) outcome.names.push_back(result.columns[i].name);
  for (size_t row = 0; row < result.row_count(); row++) {
    std::string text;
    for (size_t column = 0; column < width; column++) {
      if (column > 0) text += '|';
      const Datum& value = result.value(row, column);
      if (value.null)
        text += "NULL";
      else
        append_datum(&text, result.columns[column].type, value);
    }
    outcome.rows.push_back(std::move(text));
  }
  return outcome;
}

bool is_ordered(std::string sql) {
  for (char& c : sql) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return sql.find("ORDER BY") != std::string::npos;
}

}  // namespace scyper::query
