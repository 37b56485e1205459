#include "testing/outcome.h"

#include <cctype>

#include "types/datum_text.h"

namespace scyper::query {

StatementOutcome run_statement(Session* session, const std::string& sql, int* normalised) {
  StatementOutcome outcome;
  ResultSet result;
  bool is_normalised = false;
  Status status =
      normalised != nullptr ? session->run_normalised(sql, &result, &is_normalised) : session->run(sql, &result);
  if (is_normalised) ++*normalised;
  outcome.notices = session->notices();
  outcome.notices.insert(outcome.notices.end(), result.notices.begin(), result.notices.end());
  if (!status.ok()) {
    outcome.sqlstate = sqlstate_of(status);
    outcome.message = std::string(status.message());
    outcome.position = position_of(status);
    return outcome;
  }
  for (const auto& column : result.columns) outcome.names.push_back(column.name);
  for (size_t row = 0; row < result.row_count(); row++) {
    std::string text;
    for (size_t column = 0; column < result.columns.size(); column++) {
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
