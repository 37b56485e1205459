#include "compile/definition_log.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "compile/definition.h"
#include "query/database.h"
#include "query/repeated_definition.h"
#include "query/rows_elsewhere.h"
#include "storage/pauses.h"

namespace scyper::query {

namespace {

constexpr size_t kLogPieceBytes = 64 << 10;
constexpr char kValuesEntry = 6;  // no kind of row change
struct EntryHeader {
  uint32_t command = 0;
  uint64_t bytes = 0;
};
constexpr size_t kHeaderBytes = 1 + sizeof(uint32_t) + sizeof(uint64_t);

// The first entry's values, of which `rest` is behind then. False: there is none that is whole.
bool take_entry(std::string_view* rest, EntryHeader* header, std::string_view* values) {
  if (rest->size() < kHeaderBytes || rest->front() != kValuesEntry) return false;
  std::memcpy(&header->command, rest->data() + 1, sizeof(header->command));
  std::memcpy(&header->bytes, rest->data() + 1 + sizeof(header->command), sizeof(header->bytes));
  if (header->bytes > rest->size() - kHeaderBytes) return false;
  *values = rest->substr(kHeaderBytes, header->bytes);
  rest->remove_prefix(kHeaderBytes + header->bytes);
  return true;
}

}  // namespace

void append_values_entry(uint32_t command, const std::function<void(std::string*)>& append, std::string* out) {
  out->push_back(kValuesEntry);
  out->append(reinterpret_cast<const char*>(&command), sizeof(command));
  const size_t place = out->size();
  out->append(sizeof(uint64_t), '\0');
  const size_t begin = out->size();
  append(out);
  const uint64_t bytes = out->size() - begin;
  std::memcpy(out->data() + place, &bytes, sizeof(bytes));
}

std::string_view take_values_entries(std::string_view* rest) {
  const std::string_view all = *rest;
  EntryHeader header;
  std::string_view values;
  while (take_entry(rest, &header, &values)) {
  }
  return all.substr(0, all.size() - rest->size());
}

std::string_view values_of_log(std::string_view log) {
  const size_t end = log.find('\0');
  if (end == std::string_view::npos) return {};
  std::string_view rest = log.substr(end + 1);
  return take_values_entries(&rest);
}

std::optional<std::string_view> find_values_entry(std::string_view entries, uint32_t command) {
  EntryHeader header;
  std::string_view values;
  while (take_entry(&entries, &header, &values))
    if (header.command == command) return values;
  return std::nullopt;
}

Status repeat_definition(Database* database, std::string_view log, std::string_view* changes) {
  SCYPER_ASSIGN_OR_RETURN(auto prepared, database->prepare(Database::definition_of_log(log, changes)));
  ResultSet ignored;
  DefinitionRun run;
  run.log = std::string(log);
  return database->define(*prepared, &ignored, &run);
}

// Whether the log has values of the column for the rows that are there: then `change` has them.
StatusOr<bool> Definer::take_given_values(uint32_t column, TableChange* change) {
  const auto given = find_values_entry(given_values_, command_);
  if (!given.has_value()) return false;
  const bool may_lack = RowsElsewhereScope::now() == RowsElsewhere::kLacking;
  SCYPER_ASSIGN_OR_RETURN(
      auto read, storage::read_column_values(*given, *change->old, change->schema.columns[column].type, may_lack));
  read_values_.push_back(std::move(read));
  change->columns[column].values = read_values_.back().values;
  change->by_identity = change->columns[column].values.size() != 1;
  return true;
}

// Values in the order of identity, for who replays the definition.
void Definer::keep_values_of(uint32_t column, const TableChange& change) {
  if (!keeps_values_) return;
  const auto append = [&](std::string* out) {
    storage::append_column_values(*change.old, change.schema.columns[column].type, change.columns[column].values, out);
  };
  append_values_entry(command_, append, &kept_values_);
}

void Definer::forget_values() {
  storage::Pauses::give_back(kept_values_.data(), kept_values_.capacity());
  kept_values_ = {};
}

Status log_values(Definer* definer, const Catalog* next, DefinitionRun* run) {
  if (!run->wants_rows) return Status();
  std::string changes;
  for (const SequenceId id : definer->drawn_sequences())
    if (const storage::Sequence* sequence = next == nullptr ? nullptr : next->find_sequence(id); sequence != nullptr)
      storage::append_sequence_state(id, sequence->state(), &changes);
  const std::string& values = definer->kept_values();
  if (values.empty() && changes.empty()) return Status();
  if (values.size() + changes.size() > run->row_bytes_max)
    return with_hint(sql_error("53400", absl::StrCat("the values that the definition draws take ", values.size(),
                                                     " bytes of the log, ", run->row_bytes_max, " are possible")),
                     "Add the column without a default, UPDATE the rows in parts, then ALTER COLUMN ... SET DEFAULT.");
  run->log.reserve(run->log.size() + 1 + values.size() + changes.size());
  run->log.append(1, '\0');
  for (std::string_view rest = values; !rest.empty(); rest.remove_prefix(std::min(rest.size(), kLogPieceBytes))) {
    run->log.append(rest.substr(0, kLogPieceBytes));
    storage::Pauses::step_if_any();
  }
  run->log.append(changes);
  definer->forget_values();
  return Status();
}

}  // namespace scyper::query
