#include "compile/load_rows.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/object_name.h"
#include "compile/alone.h"
#include "parse/printer.h"
#include "query/error_status.h"
#include "runtime/memory.h"

namespace scyper::query {

bool has_rules(const TableRules& rules) {
  return !rules.checks.empty() || !rules.foreign_keys.empty() ||
         std::any_of(rules.columns.begin(), rules.columns.end(),
                     [](const auto& column) { return !column.generated_text.empty(); });
}

Status load_by_insert(Database* database, const storage::TableSchema& schema, const TableRules& rules,
                      std::span<const Datum> values, std::string* redo) {
  const size_t width = storage::visible_columns(schema);
  std::string columns, parameters;
  std::vector<size_t> given;
  for (size_t c = 0; c < width; c++) {
    if (!rules.columns[c].generated_text.empty()) continue;
    given.push_back(c);
    absl::StrAppend(&columns, given.size() == 1 ? "" : ", ", quote_identifier(schema.columns[c].name));
    absl::StrAppend(&parameters, given.size() == 1 ? "$" : ", $", given.size());
  }
  SCYPER_ASSIGN_OR_RETURN(auto prepared,
                          database->prepare(absl::StrCat("INSERT INTO ", quote_identifier(schema.name), " (", columns,
                                                         ") OVERRIDING SYSTEM VALUE VALUES (", parameters, ")")));
  SCYPER_ASSIGN_OR_RETURN(auto program, database->program_of(*prepared));
  storage::ChangeLog::Options limits;
  limits.undo_limit_bytes = limits.redo_limit_bytes = SIZE_MAX / 4;
  SCYPER_ASSIGN_OR_RETURN(auto log, storage::ChangeLog::create(database->arena(), limits));
  log->record_redo(redo != nullptr);
  ScratchArena scratch(size_t{1} << 30);
  ResultSet result;
  ExecContext context;
  enter_alone(database->options(), log.get(), &scratch, &result, &context);
  std::vector<Datum> row(given.size());
  for (size_t at = 0; at < values.size(); at += width) {
    for (size_t i = 0; i < given.size(); i++) row[i] = values[at + given[i]];
    const Outcome outcome = program->run(&context, row.data());
    scratch.reset();
    if (outcome == Outcome::kOk) continue;
    log->rollback_all();
    return status_of(context.error);
  }
  if (!log->log_sequences()) {  // of triggers
    Status status = storage::change_status(log->last_result(), *log, nullptr);
    log->rollback_all();
    return status;
  }
  if (redo != nullptr) redo->append(log->redo());
  log->commit();
  return absl::OkStatus();
}

}  // namespace scyper::query
