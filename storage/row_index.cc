#include "row_index.h"

#include "base/check.h"
#include "tuple_place.h"

namespace scyper::storage {
namespace {

RowKey encode(const TablePartition* partition, uint32_t index, Tid tid, char* out) {
  const IndexPlan& plan = partition->plan->indexes[index];
  const TuplePlace place = place_of(partition, tid, plan.columns);
  return encode_row_key(plan, place.chunk, place.offset, tid, out);
}

ChangeResult insert_once(const PartitionIndex& index, const char* key, RowKey info, Tid tid) noexcept {
  const IndexResult ordered = index.ordered->insert(key, info.size, tid);
  if (ordered == IndexResult::kDuplicate) return ChangeResult::kDuplicateKey;
  if (ordered != IndexResult::kOk) return ChangeResult::kOutOfMemory;
  if (index.hash == nullptr || info.with_tid) return ChangeResult::kOk;
  const IndexResult hashed = index.hash->insert(key, info.size, tid);
  if (hashed == IndexResult::kOk) return ChangeResult::kOk;
  CHECK(hashed == IndexResult::kOutOfMemory);
  CHECK(index.ordered->erase(key, info.size) == IndexResult::kOk);
  return ChangeResult::kOutOfMemory;
}

ChangeResult duplicate(const TablePartition* partition, uint32_t index, const char* key, uint64_t size,
                       ChangeLog::Conflict* conflict) noexcept {
  CHECK(partition->plan->indexes[index].unique);
  const auto bytes = static_cast<uint32_t>(size);
  *conflict = {const_cast<TablePartition*>(partition), index, partition->indexes[index].ordered->find(key, bytes),
               size};
  return ChangeResult::kDuplicateKey;
}

}  // namespace

ChangeResult insert_key(TablePartition* partition, uint32_t index, const char* key, RowKey info, Tid tid,
                        ChangeLog::Conflict* conflict) noexcept {
  if (info.too_large) {
    *conflict = {partition, index, kNoTid, info.size};
    return ChangeResult::kKeyTooLarge;
  }
  if (info.size == 0) return ChangeResult::kOk;
  const ChangeResult result = insert_once(partition->indexes[index], key, info, tid);
  if (result == ChangeResult::kDuplicateKey) [[unlikely]]
    return duplicate(partition, index, key, info.size, conflict);
  return result;
}

void erase_key(TablePartition* partition, uint32_t index, const char* key, RowKey info) noexcept {
  if (info.size == 0) return;
  const PartitionIndex& entry = partition->indexes[index];
  CHECK(entry.ordered->erase(key, info.size) == IndexResult::kOk);
  if (entry.hash != nullptr && !info.with_tid) CHECK(entry.hash->erase(key, info.size) == IndexResult::kOk);
}

void replace_key(TablePartition* partition, uint32_t index, const char* key, RowKey info, Tid tid) noexcept {
  CHECK(info.size > 0 && !info.with_tid);
  const PartitionIndex& entry = partition->indexes[index];
  CHECK(entry.ordered->replace(key, info.size, tid) == IndexResult::kOk);
  if (entry.hash != nullptr) CHECK(entry.hash->replace(key, info.size, tid) == IndexResult::kOk);
}

void restore_key(TablePartition* partition, uint32_t index, const char* key, RowKey info, Tid tid,
                 ChangeLog* log) noexcept {
  if (info.size == 0) return;
  ChangeResult result = insert_once(partition->indexes[index], key, info, tid);
  while (result == ChangeResult::kOutOfMemory && log->release_reserve()) {
    result = insert_once(partition->indexes[index], key, info, tid);
  }
  CHECK(result == ChangeResult::kOk);
}

namespace {
// The first `count` keys of a tuple go, because the next one could not be inserted.
void erase_first_keys(TablePartition* partition, uint32_t count, Tid tid) noexcept {
  char key[kMaxIndexKeyBytes];
  while (count-- > 0) erase_key(partition, count, key, encode(partition, count, tid, key));
}
}  // namespace

ChangeResult insert_index_key(TablePartition* partition, uint32_t index, Tid tid,
                              ChangeLog::Conflict* conflict) noexcept {
  char key[kMaxIndexKeyBytes];
  const ChangeResult result = insert_key(partition, index, key, encode(partition, index, tid, key), tid, conflict);
  if (result != ChangeResult::kOk) [[unlikely]]
    erase_first_keys(partition, index, tid);
  return result;
}

ChangeResult insert_index_words(TablePartition* partition, uint32_t index, uint64_t first, uint64_t second, Tid tid,
                                ChangeLog::Conflict* conflict) noexcept {
  const PartitionIndex& entry = partition->indexes[index];
  IndexResult inserted = entry.ordered->insert_words(first, second, tid);
  if (inserted == IndexResult::kOk) [[likely]] {
    if (entry.hash == nullptr) return ChangeResult::kOk;
    inserted = entry.hash->insert_words(first, second, tid);
    if (inserted == IndexResult::kOk) [[likely]]
      return ChangeResult::kOk;
    CHECK(inserted == IndexResult::kOutOfMemory);
  }
  char key[kMaxIndexKeyBytes];
  const RowKey info = encode(partition, index, tid, key);
  ChangeResult result = ChangeResult::kOutOfMemory;
  if (inserted == IndexResult::kDuplicate) {
    result = duplicate(partition, index, key, info.size, conflict);
  } else if (entry.ordered->find(key, info.size) == tid) {  // only the companion had no memory
    CHECK(entry.ordered->erase(key, info.size) == IndexResult::kOk);
  }
  erase_first_keys(partition, index, tid);
  return result;
}

ChangeResult insert_keys(TablePartition* partition, Tid tid, ChangeLog::Conflict* conflict) noexcept {
  const auto count = static_cast<uint32_t>(partition->plan->indexes.size());
  for (uint32_t i = 0; i < count; ++i) {
    const ChangeResult result = insert_index_key(partition, i, tid, conflict);
    if (result != ChangeResult::kOk) [[unlikely]]
      return result;
  }
  return ChangeResult::kOk;
}

void erase_keys(TablePartition* partition, Tid tid) noexcept {
  char key[kMaxIndexKeyBytes];
  for (uint32_t i = 0; i < partition->plan->indexes.size(); ++i) {
    erase_key(partition, i, key, encode(partition, i, tid, key));
  }
}

void restore_keys(TablePartition* partition, Tid tid, ChangeLog* log) noexcept {
  char key[kMaxIndexKeyBytes];
  for (uint32_t i = 0; i < partition->plan->indexes.size(); ++i) {
    restore_key(partition, i, key, encode(partition, i, tid, key), tid, log);
  }
}

}  // namespace scyper::storage
