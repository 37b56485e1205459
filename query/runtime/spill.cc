#include "runtime/spill.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "runtime/memory.h"
#include "runtime/team.h"

namespace scyper::query {

namespace {

constexpr int64_t kSortItemBytes = 48;  // what sorting needs beside a tuple
constexpr int64_t kSlotBytes = 24;      // what a hash table needs

size_t part_of(uint64_t hash, int level) { return hash >> (4 + 4 * level) & (kSpillParts - 1); }

uint64_t hash_at(const char* tuple, size_t offset) {
  uint64_t hash = 0;
  std::memcpy(&hash, tuple + offset, sizeof hash);
  return hash;
}

template <class F>
int32_t for_tuples(TupleStore::Chunk* chunk, size_t width, const F& f) {
  for (auto* tuple = reinterpret_cast<char*>(chunk + 1); tuple < chunk->end; tuple += width)
    if (int32_t outcome = f(tuple); outcome != 0) return outcome;
  return 0;
}

int32_t flush(ExecContext* c, Spill::Parts* parts) {
  for (SpillPart& part : *parts)
    if (int32_t outcome = part.flush(c); outcome != 0) return outcome;
  return 0;
}

uint64_t bytes_of(const std::vector<SpillPart*>& parts) {
  uint64_t bytes = 0;
  for (const SpillPart* part : parts) bytes += part->bytes;
  return bytes;
}

// What a partition may have to be taken back.
uint64_t room_of(const ExecContext& c, const TupleStore& store) {
  uint64_t held = c.spill->held_bytes(), all = c.spill->memory_bytes();
  uint64_t more = held < all ? (all - held) / 3 * 2 : 0;
  return static_cast<uint64_t>(store.bytes) + std::max(more, c.spill->store_bytes_min());
}

int32_t cut(ExecContext* c, std::vector<SpillPart*> from, size_t width, size_t hash_offset, int level,
            Spill::Parts* to) {
  SpillReader reader;
  reader.open(std::move(from));
  TupleStore::Chunk* chunk = nullptr;
  while (true) {
    if (int32_t outcome = reader.next(c, &chunk); outcome != 0) return outcome;
    if (chunk == nullptr) return flush(c, to);
    int32_t outcome = for_tuples(chunk, width, [&](char* tuple) {
      return (*to)[part_of(hash_at(tuple, hash_offset), level)].append(c, tuple, width);
    });
    if (outcome != 0) return outcome;
  }
}

// The task's tuples and rows by further bits of their hashes.
int32_t cut_task(ExecContext* c, Spill* spill, size_t width, const Spill::Task& task) {
  auto* tuples = c->spill->make<Spill::Parts>();
  auto* rows = c->spill->make<Spill::Parts>();
  const uint64_t whole = bytes_of(task.tuples);
  int32_t outcome = cut(c, task.tuples, width, offsetof(TupleEntry, hash), task.level, tuples);
  if (outcome == 0) outcome = cut(c, task.rows, spill->task_row_bytes, 0, task.level, rows);
  if (outcome != 0) return outcome;
  for (size_t i = 0; i < kSpillParts; i++) {
    Spill::Task next{{&(*tuples)[i]}, {&(*rows)[i]}, task.level + 1};
    if ((*tuples)[i].bytes == whole && task.level >= 3) next.level = kSpillLevels;  // one key
    if ((*tuples)[i].bytes + (*rows)[i].bytes > 0) spill->tasks.push_back(std::move(next));
  }
  return 0;
}

// The partitions of this thread. `stores`: of all members.
void make_tasks(const ExecContext& c, TupleStore* const* stores, uint32_t count, Spill* mine) {
  for (size_t p = 0; p < kSpillParts; p++) {
    if (p % count != c.thread) continue;
    Spill::Task task;
    for (uint32_t i = 0; i < count; i++) {
      Spill* spill = stores[i]->spill;
      task.tuples.push_back(&spill->tuples[p]);
      task.rows.push_back(&spill->rows[p]);
      mine->task_row_bytes = std::max(mine->task_row_bytes, spill->row_bytes);
    }
    if (bytes_of(task.tuples) + bytes_of(task.rows) > 0) mine->tasks.push_back(std::move(task));
  }
}

// The next partition that fits; false: there is none.
int32_t next_task(ExecContext* c, Spill* spill, const TupleStore& store, Spill::Task* task, bool* found) {
  *found = false;
  while (!spill->tasks.empty()) {
    *task = std::move(spill->tasks.back());
    spill->tasks.pop_back();
    *found = task->level >= kSpillLevels || bytes_of(task->tuples) <= room_of(*c, store);
    if (*found) return 0;
    if (int32_t outcome = cut_task(c, spill, static_cast<size_t>(store.tuple_bytes), *task); outcome != 0)
      return outcome;
  }
  return 0;
}

int32_t fail_as_others(ExecContext* c) {
  if (int32_t outcome = poll_interrupt(c); outcome != 0) return outcome;
  return c->fail("57014", "canceling statement due to user request", false);
}

int32_t begin_rounds(ExecContext* c, TupleStore* store) {
  Spill* spill = store->spill;
  spill->has_begun = true;
  if (int32_t outcome = flush(c, &spill->rows); outcome != 0) return outcome;
  TupleStore* alone[] = {store};
  if (c->team == nullptr) return make_tasks(*c, alone, 1, spill), 0;
  void* const* stores = c->team->exchange(c, store);
  if (stores == nullptr) return fail_as_others(c);
  make_tasks(*c, reinterpret_cast<TupleStore* const*>(stores), c->team->size(), spill);
  return 0;
}

int32_t load_table(ExecContext* c, TupleStore* store, const Spill::Task& task) {
  empty_store(store);
  SpillReader reader;
  reader.open(task.tuples);
  TupleStore::Chunk* chunk = nullptr;
  while (true) {
    if (int32_t outcome = reader.next(c, &chunk); outcome != 0) return outcome;
    if (chunk == nullptr) break;
    int32_t outcome = for_tuples(chunk, static_cast<size_t>(store->tuple_bytes), [&](const char* tuple) {
      char* to = append_in_memory(c, store);
      if (to == nullptr) return fail_memory(c);
      std::memcpy(to, tuple, static_cast<size_t>(store->tuple_bytes));
      return 0;
    });
    if (outcome != 0) return outcome;
  }
  rt_seal(store);
  if (int32_t outcome = make_join_slots(c, store); outcome != 0) return outcome;
  return link_tuples(c, store);
}

}  // namespace

bool must_leave_memory(const ExecContext& c, const TupleStore& store) noexcept {
  if (store.spill == nullptr || store.first == nullptr || store.spare != nullptr) return false;
  if (store.bytes < static_cast<int64_t>(c.spill->store_bytes_min())) return false;
  int64_t beside = store.spill->is_sorted ? kSortItemBytes : store.slots == nullptr ? kSlotBytes : 0;
  auto extra = static_cast<uint64_t>(store.bytes / store.tuple_bytes * beside + store.chunk_bytes);
  return c.spill->held_bytes() + extra > c.spill->memory_bytes();
}

int32_t leave_memory(ExecContext* c, TupleStore* store) noexcept {
  if (store->spill->is_sorted) return write_run(c, store);
  if (store->last != nullptr) store->last->end = store->cursor;
  store->spilled = 1;
  for (auto* chunk = store->first; chunk != nullptr; chunk = chunk->next) {
    if (int32_t outcome = poll_interrupt(c); outcome != 0) return outcome;
    auto width = static_cast<size_t>(store->tuple_bytes);
    int32_t outcome = for_tuples(chunk, width, [&](char* tuple) {
      uint64_t hash = reinterpret_cast<TupleEntry*>(tuple)->hash;
      return store->spill->tuples[part_of(hash, 0)].append(c, tuple, width);
    });
    if (outcome != 0) return outcome;
  }
  empty_store(store);
  return 0;
}

void announce(TupleStore* store) noexcept {
  if (store->spill != nullptr) store->spill->announced = store->spilled != 0;
}

bool has_announced(TupleStore* const* stores, uint32_t count) noexcept {
  return std::any_of(stores, stores + count, [](auto* s) { return s->spill != nullptr && s->spill->announced; });
}

int32_t leave_finally(ExecContext* c, TupleStore* store) noexcept {
  if (int32_t outcome = leave_memory(c, store); outcome != 0) return outcome;
  return flush(c, &store->spill->tuples);
}

// The end of a hash aggregation: parts of groups become whole ones.
struct GroupMerge {
  TupleStore* store;                   // of this thread
  TupleStore* merged;                  // whole groups; its own unless there is nothing to merge
  TupleStore* const* parts = nullptr;  // everybody's
  uint32_t part_count = 0, next_part = 0;
  TupleStore block;  // tuples from disk
};

namespace {

// Has anybody's table gone to disk? Then all go.
int32_t gather_groups(ExecContext* c, GroupMerge* merge) {
  TupleStore* store = merge->store;
  announce(store);
  if (c->team == nullptr) return store->spilled != 0 ? leave_finally(c, store) : 0;
  void* const* stores = c->team->exchange(c, store);
  if (stores == nullptr) return fail_as_others(c);
  merge->parts = reinterpret_cast<TupleStore* const*>(stores);
  merge->part_count = c->team->size();
  if (!has_announced(merge->parts, merge->part_count)) return 0;
  merge->part_count = 0;
  return leave_finally(c, store);
}

extern "C" {

void rt_spill_hashed(ExecContext* c, TupleStore* store) noexcept {
  if (c->spill == nullptr || static_cast<size_t>(store->tuple_bytes) > c->spill->block_bytes()) return;
  store->spill = c->spill->make<Spill>();
  auto least = store->tuple_bytes * 4, share = static_cast<int64_t>(c->spill->memory_bytes() / 64);
  store->spill->chunk_bytes_max = std::clamp<int64_t>(share, least, std::max<int64_t>(least, 1 << 20));
  store->chunk_bytes = std::min(store->chunk_bytes, store->spill->chunk_bytes_max);
}

void rt_spill_sorted(ExecContext* c, TupleStore* store, const TupleSortKey* keys, int64_t count, int64_t keep,
                     int64_t together) noexcept {
  rt_spill_hashed(c, store);
  if (store->spill == nullptr) return;
  Spill& spill = *store->spill;
  spill.is_sorted = true;
  spill.keys = keys;
  spill.key_count = count;
  spill.keep = keep;
  spill.together = together;
}

int32_t rt_spill_rows(ExecContext* c, TupleStore* store, const char* rows, int64_t count, int64_t bytes) noexcept {
  store->spill->row_bytes = static_cast<size_t>(bytes);
  for (int64_t i = 0; i < count; i++) {
    const char* row = rows + i * bytes;
    int32_t outcome = store->spill->rows[part_of(hash_at(row, 0), 0)].append(c, row, static_cast<size_t>(bytes));
    if (outcome != 0) return outcome;
  }
  return 0;
}

int32_t rt_join_round(ExecContext* c, TupleStore* store) noexcept {
  Spill* spill = store->spill;
  if (!spill->has_begun)
    if (int32_t outcome = begin_rounds(c, store); outcome != 0) return outcome;
  Spill::Task task;
  bool found = false;
  int32_t outcome = next_task(c, spill, *store, &task, &found);
  if (outcome == 0 && found) outcome = load_table(c, store, task);
  if (outcome == 0) spill->reader.open(std::move(task.rows));
  c->value[0] = found ? 1 : 0;
  return outcome;
}

int32_t rt_join_rows(ExecContext* c, TupleStore* store) noexcept {
  TupleStore::Chunk* chunk = nullptr;
  if (int32_t outcome = store->spill->reader.next(c, &chunk); outcome != 0) return outcome;
  c->value[0] = c->value[1] = 0;
  if (chunk == nullptr) return 0;
  c->value[0] = reinterpret_cast<int64_t>(chunk + 1);
  c->value[1] = (chunk->end - reinterpret_cast<char*>(chunk + 1)) / static_cast<int64_t>(store->spill->task_row_bytes);
  return 0;
}

int32_t rt_groups_merge(ExecContext* c, TupleStore* store, int64_t expected) noexcept {
  int64_t count = store->count;  // of groups, which sealing does not change
  rt_seal(store);
  store->count = count;
  char* memory = c->scratch->allocate(sizeof(GroupMerge));
  if (memory == nullptr) return fail_memory(c);
  auto* merge = new (memory) GroupMerge{.store = store, .merged = store, .block = {}};
  merge->block.tuple_bytes = store->tuple_bytes;
  if (int32_t outcome = gather_groups(c, merge); outcome != 0) return outcome;
  bool spilled = store->spilled != 0;
  if (spilled || merge->part_count > 1) {
    if (spilled) expected = 0;
    if (int32_t outcome = create_groups(c, store->tuple_bytes, expected, &merge->merged); outcome != 0) return outcome;
    std::swap(store->spare, merge->merged->spare);  // chunks that went to disk
  }
  if (spilled)
    if (int32_t outcome = begin_rounds(c, store); outcome != 0) return outcome;
  c->value[0] = reinterpret_cast<int64_t>(merge);
  return 0;
}

int32_t rt_groups_round(ExecContext* c, GroupMerge* merge) noexcept {
  TupleStore* store = merge->store;
  c->value[0] = 0;
  if (store->spilled == 0) {  // one round
    c->value[0] = reinterpret_cast<int64_t>(std::exchange(merge->merged, nullptr));
    return 0;
  }
  Spill::Task task;
  bool found = false;
  if (int32_t outcome = next_task(c, store->spill, *store, &task, &found); outcome != 0 || !found) return outcome;
  empty_store(merge->merged);
  store->spill->reader.open(std::move(task.tuples));
  c->value[0] = reinterpret_cast<int64_t>(merge->merged);
  return 0;
}

int32_t rt_groups_source(ExecContext* c, GroupMerge* merge) noexcept {
  c->value[0] = 0;
  if (merge->store->spilled == 0) {
    if (merge->part_count < 2 || merge->next_part == merge->part_count) return 0;
    c->value[0] = reinterpret_cast<int64_t>(merge->parts[merge->next_part++]);
    c->value[1] = merge->part_count;
    c->value[2] = c->thread;
    return 0;
  }
  TupleStore::Chunk* chunk = nullptr;
  if (int32_t outcome = merge->store->spill->reader.next(c, &chunk); outcome != 0) return outcome;
  if (chunk == nullptr) return 0;
  merge->block.first = merge->block.last = chunk;
  c->value[0] = reinterpret_cast<int64_t>(&merge->block);
  c->value[1] = 1;
  c->value[2] = 0;
  return 0;
}

}  // extern "C"

}  // namespace

#define SCYPER_DEFINE_RUNTIME(name, result, words, pure) \
  const ir::External k_##name{#name, reinterpret_cast<void*>(&name), ir::Type::result, words, pure};
SCYPER_SPILL_FUNCTIONS(SCYPER_DEFINE_RUNTIME)
#undef SCYPER_DEFINE_RUNTIME

}  // namespace scyper::query
