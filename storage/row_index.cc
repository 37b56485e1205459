#include "row_index.h"

#include "base/check.h"

namespace scyper::storage {
namespace {

RowKey encode(const TablePartition* partition, uint32_t index, Tid tid, char* out) {
  return encode_row_key(partition->plan->indexes[index], chunk_of(partition, tid), offset_of(tid), tid, out);
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

}  // namespace

ChangeResult insert_key(TablePartition* partition, uint32_t index, const char* key, RowKey info, Tid tid,
                        ChangeLog::Conflict* conflict) noexcept {
  if (info.too_large) {
    *conflict = {partition, index, kNoTid, info.size};
    return ChangeResult::kKeyTooLarge;
  }
  const ChangeResult result = insert_once(partition->indexes[index], key, info, tid);
  if (result == ChangeResult::kDuplicateKey) [[unlikely]] {
    CHECK(partition->plan->indexes[index].unique);
    *conflict = {partition, index, partition->indexes[index].ordered->find(key, info.size), info.size};
  }
  return result;
}

void erase_key(TablePartition* partition, uint32_t index, const char* key, RowKey info) noexcept {
  const PartitionIndex& entry = partition->indexes[index];
  CHECK(entry.ordered->erase(key, info.size) == IndexResult::kOk);
  if (entry.hash != nullptr && !info.with_tid) CHECK(entry.hash->erase(key, info.size) == IndexResult::kOk);
}

void restore_key(TablePartition* partition, uint32_t index, const char* key, RowKey info, Tid tid,
                 ChangeLog* log) noexcept {
  ChangeResult result = insert_once(partition->indexes[index], key, info, tid);
  while (result == ChangeResult::kOutOfMemory && log->release_reserve()) {
    result = insert_once(partition->indexes[index], key, info, tid);
  }
  CHECK(result == ChangeResult::kOk);
}

ChangeResult insert_keys(TablePartition* partition, Tid tid, ChangeLog::Conflict* conflict) noexcept {
  const auto count = static_cast<uint32_t>(partition->plan->indexes.size());
  char key[kMaxIndexKeyBytes];
  for (uint32_t i = 0; i < count; ++i) {
    const RowKey info = encode(partition, i, tid, key);
    const ChangeResult result = insert_key(partition, i, key, info, tid, conflict);
    if (result == ChangeResult::kOk) [[likely]]
      continue;
    while (i-- > 0) erase_key(partition, i, key, encode(partition, i, tid, key));
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
