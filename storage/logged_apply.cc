#include "storage/logged_apply.h"

#include <optional>
#include <utility>

#include "row_plan.h"
#include "storage/change_log.h"
#include "storage/frozen_slot.h"
#include "storage/tiered_chunk.h"
#include "tuple_place.h"

namespace scyper::storage {

// Worked out once per table.
struct LoggedApplier::Target {
  Table* table = nullptr;
  std::optional<uint32_t> key_index;  // the primary key's; none: rows are named by __row_id
  std::optional<KeyFormat> key_format;
  std::map<std::vector<uint32_t>, UpdateDescriptor> updates;  // by changed columns; undo entries refer to them
};

namespace {

Status damaged(const char* what) { return sql_error("XX001", std::string("damaged row changes: ") + what); }

Status gone() {
  return with_hint(sql_error("40001", "could not serialize access due to concurrent update"),
                   "A row that the transaction has changed is not there any more. The transaction might succeed if "
                   "retried.");
}

uint64_t row_id_at(const TablePartition* partition, Tid tid) {
  return static_cast<uint64_t>(read_column(partition, tid, static_cast<uint32_t>(partition->plan->row_id_column)).lo);
}

StatusOr<bool> is_row(const TablePartition* partition, Tid tid, uint64_t row_id) {
  if (!is_live(partition, tid)) return false;
  const auto column = static_cast<uint32_t>(partition->plan->row_id_column);
  SCYPER_RETURN_IF_ERROR(bring_tuple(partition, tid, {&column, 1}));
  return row_id_at(partition, tid) == row_id;
}

// kNoTid: there is none.
StatusOr<Tid> scan_for(const TablePartition* partition, uint64_t row_id) {
  const auto column = static_cast<uint32_t>(partition->plan->row_id_column);
  const ColumnAccess& access = partition->plan->columns[column].access;
  Tid found = kNoTid;
  ChunkReader reader(partition, {&column, 1});
  reader.for_each([&](Tid tid, const char* chunk, uint32_t offset) {
    if (load_cell<uint64_t>(cell_of(access, chunk, offset)) == row_id) found = tid;
    return found == kNoTid;
  });
  SCYPER_RETURN_IF_ERROR(reader.status());
  return found;
}

}  // namespace

LoggedApplier::LoggedApplier(TableLookup lookup, Table::DatumFormatter format)
    : lookup_(std::move(lookup)), format_(format) {}
LoggedApplier::~LoggedApplier() = default;
void LoggedApplier::forget() { targets_.clear(); }

StatusOr<LoggedApplier::Target*> LoggedApplier::target_of(TableId id) {
  std::unique_ptr<Target>& target = targets_[id.value()];
  if (target != nullptr) return target.get();
  Table* table = lookup_(id);
  if (table == nullptr) {
    targets_.erase(id.value());
    return damaged("unknown table");
  }
  target = std::make_unique<Target>();
  target->table = table;
  const TableSchema& schema = table->schema();
  target->key_index = primary_index(schema);
  if (target->key_index.has_value()) {
    SCYPER_ASSIGN_OR_RETURN(target->key_format, KeyFormat::create(schema.indexes[*target->key_index], schema));
  }
  return target.get();
}

Status LoggedApplier::failure(ChangeResult result, const ChangeLog& log) const {
  return change_status(result, log, format_);
}

Status LoggedApplier::apply(std::string_view changes, ChangeLog* log, RowPlaces* places) {
  moved_.clear();
  return apply_more(changes, log, places);
}

Status LoggedApplier::apply_more(std::string_view changes, ChangeLog* log, RowPlaces* places) {
  RowChangeReader reader(changes, [this](TableId id) {
    const StatusOr<Target*> target = target_of(id);
    return target.ok() ? &(*target)->table->schema() : nullptr;
  });
  RowChange change;
  while (true) {
    SCYPER_ASSIGN_OR_RETURN(const bool has_more, reader.next(&change));
    if (!has_more) return {};
    if (change.kind == RowChangeKind::kSequence) return damaged("a sequence");
    SCYPER_ASSIGN_OR_RETURN(Target * target, target_of(change.table));
    if (change.partition >= target->table->partition_count()) return damaged("partition");
    if (change.kind == RowChangeKind::kInsert) {
      SCYPER_RETURN_IF_ERROR(insert(target, change, log));
      continue;
    }
    TablePartition* partition = target->table->partition(change.partition);
    SCYPER_ASSIGN_OR_RETURN(const Tid tid, find(target, change, places));
    if (tid == kNoTid) return gone();
    SCYPER_RETURN_IF_ERROR(bring_tuple(partition, tid));
    if (change.kind == RowChangeKind::kUpdate) {
      SCYPER_RETURN_IF_ERROR(update(target, change, tid, log));
    } else if (const ChangeResult result = delete_tuple(partition, tid, log); result != ChangeResult::kOk) {
      return failure(result, *log);
    }
  }
}

// The tuple that the change names; kNoTid: there is none.
StatusOr<Tid> LoggedApplier::find(Target* target, const RowChange& change, RowPlaces* places) {
  const TablePartition* partition = target->table->partition(change.partition);
  if (target->key_index.has_value()) {
    char key[kMaxIndexKeyBytes];
    const size_t size = target->key_format->encode(change.key, key);
    if (size == kKeyTooLarge) return damaged("key");
    return find_unique(partition, *target->key_index, key, static_cast<uint32_t>(size));
  }
  const auto row_id = static_cast<uint64_t>(change.key[0].lo);
  const RowIdentity identity{change.table, change.partition, row_id};
  if (const auto moved = moved_.find(identity); moved != moved_.end()) return moved->second;
  if (const auto known = places->find(identity); known != places->end()) {
    SCYPER_ASSIGN_OR_RETURN(const bool is_there, is_row(partition, known->second, row_id));
    if (is_there) return known->second;
  }
  SCYPER_ASSIGN_OR_RETURN(const Tid found, scan_for(partition, row_id));
  if (found != kNoTid) (*places)[identity] = found;
  return found;
}

Status LoggedApplier::insert(Target* target, const RowChange& change, ChangeLog* log) {
  TablePartition* partition = target->table->partition(change.partition);
  const Tid tid = insert_begin(partition, log);
  if (tid == kNoTid) return failure(log->last_result(), *log);
  const int32_t row_id_column = partition->plan->row_id_column;
  for (size_t i = 0; i < change.columns.size(); ++i) {
    if (static_cast<int32_t>(change.columns[i]) == row_id_column) continue;
    const ChangeResult result = store_datum(partition, log, tid, change.columns[i], change.values[i]);
    if (result != ChangeResult::kOk) return failure(result, *log);
  }
  if (const ChangeResult result = insert_finish(partition, tid, log); result != ChangeResult::kOk)
    return failure(result, *log);
  if (row_id_column >= 0) {
    const auto row_id = static_cast<uint64_t>(change.values[static_cast<size_t>(row_id_column)].lo);
    moved_[{change.table, change.partition, row_id}] = tid;
  }
  return {};
}

Status LoggedApplier::update(Target* target, const RowChange& change, Tid tid, ChangeLog* log) {
  TablePartition* partition = target->table->partition(change.partition);
  auto found = target->updates.find(change.columns);
  if (found == target->updates.end()) {
    UpdateDescriptor made = make_update_descriptor(*target->table, change.columns);
    found = target->updates.emplace(change.columns, std::move(made)).first;
  }
  const UpdateDescriptor& descriptor = found->second;
  const Tid hot = make_hot(partition, tid, log);
  if (hot == kNoTid) return failure(log->last_result(), *log);
  if (hot != tid && !target->key_index.has_value())
    moved_[{change.table, change.partition, static_cast<uint64_t>(change.key[0].lo)}] = hot;
  if (const ChangeResult result = update_begin(partition, hot, &descriptor, log); result != ChangeResult::kOk)
    return failure(result, *log);
  for (size_t i = 0; i < change.columns.size(); ++i) {
    const ChangeResult result = store_datum(partition, log, hot, change.columns[i], change.values[i]);
    if (result != ChangeResult::kOk) return failure(result, *log);
  }
  const ChangeResult result = update_finish(partition, hot, &descriptor, log);
  return result == ChangeResult::kOk ? Status() : failure(result, *log);
}

}  // namespace scyper::storage
