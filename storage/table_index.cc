#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "base/check.h"
#include "change_status.h"
#include "row_key.h"
#include "storage/pauses.h"
#include "tuple_place.h"

// Indexes made and dropped while the table is at rest.
namespace scyper::storage {
namespace {

Status build_error(ChangeResult result, const ChangeLog::Conflict& conflict, const IndexDef& index,
                   Table::DatumFormatter format) {
  if (result == ChangeResult::kOutOfMemory) return out_of_memory();
  if (result == ChangeResult::kKeyTooLarge) return key_too_large(index, conflict.key_bytes);
  return with_detail(sql_error("23505", "could not create unique index \"" + index.name + "\""),
                     key_text(conflict.partition, index, conflict.tid, format) + " is duplicated.");
}

Status insert_built(TablePartition* partition, uint32_t number, const IndexDef& index, OrderedIndex* ordered,
                    const char* key, RowKey info, Tid tid, Table::DatumFormatter format) {
  ChangeLog::Conflict conflict{partition, number, kNoTid, info.size};
  if (info.too_large) return build_error(ChangeResult::kKeyTooLarge, conflict, index, format);
  if (info.size == 0) return Status();
  const IndexResult result = ordered->insert(key, info.size, tid);
  if (result == IndexResult::kOk) return Status();
  if (result != IndexResult::kDuplicate) return out_of_memory();
  conflict.tid = ordered->find(key, info.size);
  return build_error(ChangeResult::kDuplicateKey, conflict, index, format);
}

// plan: of the index, which the table does not have yet.
Status fill_ordered(TablePartition* partition, const IndexPlan& plan, uint32_t number, const IndexDef& index,
                    OrderedIndex* ordered, Table::DatumFormatter format) {
  char key[kMaxIndexKeyBytes];
  Status status;
  ChunkReader reader(partition, plan.columns);
  reader.for_each([&](Tid tid, const char* chunk, uint32_t offset) {
    Pauses::step_if_any();
    const RowKey info = encode_row_key(plan, chunk, offset, tid, key);
    status = insert_built(partition, number, index, ordered, key, info, tid, format);
    return status.ok();
  });
  status.Update(reader.status());
  return status;
}

Status fill_hash(const TablePartition* partition, uint32_t number, HashIndex* hash) {
  char key[kMaxIndexKeyBytes];
  const IndexPlan& plan = partition->plan->indexes[number];
  ChunkReader reader(partition, plan.columns);
  const bool is_whole = reader.for_each([&](Tid tid, const char* chunk, uint32_t offset) {
    const RowKey info = encode_row_key(plan, chunk, offset, tid, key);
    if (info.with_tid) return true;
    const IndexResult result = hash->insert(key, info.size, tid);
    CHECK(result != IndexResult::kDuplicate);
    return result == IndexResult::kOk;
  });
  if (is_whole) return Status();
  return reader.status().ok() ? out_of_memory() : reader.status();
}

}  // namespace

Status Table::create_index(IndexDef index, DatumFormatter format) {
  auto next = std::make_unique<TableSchema>(schema());
  const auto number = static_cast<uint32_t>(next->indexes.size());
  next->indexes.push_back(std::move(index));
  ++next->version;
  SCYPER_ASSIGN_OR_RETURN(RowPlan plan, make_row_plan(*next, layout_));
  // aside: others, and forked children, see the table without it until it is whole
  std::vector<std::unique_ptr<OrderedIndex>> made;
  for (TablePartition* partition : partitions_) {
    made.push_back(OrderedIndex::create(arena_, plan.indexes[number].key_bytes));
    if (made.back() == nullptr) return out_of_memory();
    SCYPER_RETURN_IF_ERROR(
        fill_ordered(partition, plan.indexes[number], number, next->indexes[number], made.back().get(), format));
  }
  *plan_ = std::move(plan);
  for (size_t i = 0; i < partitions_.size(); ++i) partitions_[i]->indexes[number].ordered = made[i].release();
  publish(std::move(next));
  return absl::OkStatus();
}

void Table::drop_index(uint32_t index) {
  auto next = std::make_unique<TableSchema>(schema());
  CHECK(index < next->indexes.size() && !next->indexes[index].primary);
  destroy_index(index);
  for (TablePartition* partition : partitions_) {
    std::rotate(partition->indexes + index, partition->indexes + index + 1, partition->indexes + kMaxIndexesPerTable);
  }
  next->indexes.erase(next->indexes.begin() + index);
  ++next->version;
  StatusOr<RowPlan> plan = make_row_plan(*next, layout_);
  CHECK(plan.ok());
  *plan_ = *std::move(plan);
  publish(std::move(next));
}

Status Table::build_hash_companion(uint32_t index) {
  CHECK(index < plan_->indexes.size() && plan_->indexes[index].unique);
  for (TablePartition* partition : partitions_) {
    if (partition->indexes[index].hash != nullptr) continue;
    std::unique_ptr<HashIndex> hash = HashIndex::create(arena_, plan_->indexes[index].hash_key_bytes);
    if (hash == nullptr) return out_of_memory();
    SCYPER_RETURN_IF_ERROR(fill_hash(partition, index, hash.get()));
    partition->indexes[index].hash = hash.release();
  }
  return absl::OkStatus();
}

}  // namespace scyper::storage
