#include "runtime/tuples.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <new>
#include <string_view>
#include <utility>

#include "runtime/memory.h"
#include "runtime/spill.h"
#include "runtime/tuple_fields.h"
#include "types/datum_text.h"

namespace scyper::query {

Datum load_tuple_field(const SqlType& type, const char* at) noexcept {
  Datum value;
  value.null = 0;
  switch (kept_as(type.id)) {
    case TypeId::kBool:
      value.lo = *reinterpret_cast<const uint8_t*>(at);
      break;
    case TypeId::kInt2: {
      int16_t v = 0;
      std::memcpy(&v, at, sizeof v);
      value.lo = v;
      break;
    }
    case TypeId::kInt4:
    case TypeId::kDate: {
      int32_t v = 0;
      std::memcpy(&v, at, sizeof v);
      value.lo = v;
      break;
    }
    case TypeId::kNumeric:
      std::memcpy(&value.lo, at, sizeof value.lo);
      if (type.precision != 0 && type.precision <= kMaxPrecision64)
        value.hi = value.lo >> 63;
      else
        std::memcpy(&value.hi, at + 8, sizeof value.hi);
      value.scale = type.scale;
      if (type.precision == 0) std::memcpy(&value.scale, at + 16, sizeof value.scale);
      return value;
    case TypeId::kInterval:
    case TypeId::kUuid:
    case TypeId::kBytea:
    case TypeId::kJsonb:
    case TypeId::kChar:
    case TypeId::kVarchar:
    case TypeId::kText:
    case TypeId::kUnknown:
      std::memcpy(&value.lo, at, sizeof value.lo);
      std::memcpy(&value.hi, at + 8, sizeof value.hi);
      return value;
    default:
      std::memcpy(&value.lo, at, sizeof value.lo);
  }
  value.hi = value.lo < 0 ? -1 : 0;
  return value;
}

namespace {

constexpr int64_t kFirstChunkBytes = 2048;
constexpr int64_t kChunkBytesMax = 1 << 20;
constexpr uint64_t kFirstSlots = 64;

TupleStore::Chunk* make_chunk(ExecContext* c, TupleStore* store) {
  int64_t wanted = std::max<int64_t>(store->chunk_bytes, store->tuple_bytes * 4);
  char* memory = c->scratch->allocate(static_cast<size_t>(wanted) + sizeof(TupleStore::Chunk));
  if (memory == nullptr) return nullptr;
  auto* chunk = new (memory) TupleStore::Chunk{nullptr, nullptr, nullptr};
  chunk->limit = reinterpret_cast<char*>(chunk + 1) + wanted;
  store->chunk_bytes =
      std::min(store->spill == nullptr ? kChunkBytesMax : store->spill->chunk_bytes_max, store->chunk_bytes * 4);
  store->bytes += wanted;
  if (c->spill != nullptr) c->spill->hold(static_cast<uint64_t>(wanted));
  return chunk;
}

bool add_chunk(ExecContext* c, TupleStore* store) {
  TupleStore::Chunk* chunk = store->spare;
  if (chunk != nullptr)
    store->spare = chunk->next;
  else
    chunk = make_chunk(c, store);
  if (chunk == nullptr) return false;
  chunk->next = nullptr;
  if (store->last != nullptr) {
    store->last->end = store->cursor;
    store->last->next = chunk;
  } else {
    store->first = chunk;
  }
  store->last = chunk;
  store->cursor = reinterpret_cast<char*>(chunk + 1);
  store->limit = chunk->limit;
  return true;
}

template <class F>
void for_each_tuple(TupleStore* store, const F& f) {
  if (store->last != nullptr) store->last->end = store->cursor;
  for (auto* chunk = store->first; chunk != nullptr; chunk = chunk->next)
    for (char* tuple = reinterpret_cast<char*>(chunk + 1); tuple < chunk->end; tuple += store->tuple_bytes) f(tuple);
}

bool make_slots(ExecContext* c, TupleStore* store, uint64_t wanted) {
  int bits = 1;
  while ((uint64_t{1} << bits) < wanted) bits++;
  size_t bytes = sizeof(uint64_t) << bits;
  auto* slots = reinterpret_cast<uint64_t*>(c->scratch->allocate(bytes));
  if (slots == nullptr) return false;
  if (c->spill != nullptr) c->spill->hold(bytes);
  std::memset(slots, 0, bytes);
  store->slots = slots;
  store->shift = static_cast<uint64_t>(64 - bits);
  store->count_limit = int64_t{1} << bits;
  return true;
}

void link(TupleStore* store, TupleEntry* entry) {
  uint64_t& slot = store->slots[entry->hash >> store->shift];
  entry->next = reinterpret_cast<TupleEntry*>(slot & kPointerMask);
  slot = reinterpret_cast<uint64_t>(entry) | (slot & ~kPointerMask) | (uint64_t{1} << (kTagShift + (entry->hash & 15)));
}

// Slots of entries to come are fetched while others are linked: the misses overlap.
int32_t link_all(ExecContext* c, TupleStore* store) {
  constexpr int kAhead = 16;
  TupleEntry* waiting[kAhead] = {};
  uint64_t n = 0;
  int32_t outcome = 0;
  for_each_tuple(store, [&](char* tuple) {
    if (n % kTuplesPerPoll == 0 && outcome == 0) outcome = poll_interrupt(c);
    auto* entry = reinterpret_cast<TupleEntry*>(tuple);
    __builtin_prefetch(&store->slots[entry->hash >> store->shift], 1);
    TupleEntry*& place = waiting[n++ % kAhead];
    if (place != nullptr) link(store, place);
    place = entry;
  });
  for (int i = 0; i < kAhead; i++) {
    TupleEntry* entry = waiting[(n + static_cast<uint64_t>(i)) % kAhead];
    if (entry != nullptr) link(store, entry);
  }
  return outcome;
}

// As link(), while others do the same.
void link_atomic(TupleStore* store, TupleEntry* entry) {
  std::atomic_ref<uint64_t> slot(store->slots[entry->hash >> store->shift]);
  uint64_t old = slot.load(std::memory_order_relaxed);
  uint64_t tag = uint64_t{1} << (kTagShift + (entry->hash & 15));
  do {
    entry->next = reinterpret_cast<TupleEntry*>(old & kPointerMask);
  } while (!slot.compare_exchange_weak(old, reinterpret_cast<uint64_t>(entry) | (old & ~kPointerMask) | tag,
                                       std::memory_order_release, std::memory_order_relaxed));
}

extern "C" {

int32_t rt_tuples_create(ExecContext* c, int64_t bytes) noexcept {
  char* memory = c->scratch->allocate(sizeof(TupleStore));
  if (memory == nullptr) return fail_memory(c);
  auto* store = new (memory) TupleStore();
  store->tuple_bytes = bytes;
  store->chunk_bytes = kFirstChunkBytes;
  c->value[0] = reinterpret_cast<int64_t>(store);
  return 0;
}

int32_t rt_groups_create(ExecContext* c, int64_t bytes, int64_t expected) noexcept {
  if (int32_t failed = rt_tuples_create(c, bytes); failed != 0) return failed;
  auto* store = reinterpret_cast<TupleStore*>(c->value[0]);
  uint64_t most = uint64_t{1} << 20;
  if (c->spill != nullptr) most = std::clamp<uint64_t>(c->spill->memory_bytes() / 256, kFirstSlots, most);
  uint64_t slots = std::clamp<uint64_t>(static_cast<uint64_t>(expected), kFirstSlots, most);
  return make_slots(c, store, slots) ? 0 : fail_memory(c);
}

int32_t rt_groups_array(ExecContext* c, int64_t places) noexcept {
  const size_t bytes = sizeof(void*) * static_cast<size_t>(places);
  void* groups = c->scratch->allocate(bytes);
  if (groups == nullptr) return fail_memory(c);
  std::memset(groups, 0, bytes);
  c->value[0] = reinterpret_cast<int64_t>(groups);
  return 0;
}

int32_t rt_tuples_grow(ExecContext* c, TupleStore* store) noexcept {
  if (must_leave_memory(*c, *store))
    if (int32_t outcome = leave_memory(c, store); outcome != 0) return outcome;
  if (add_chunk(c, store)) return 0;
  if (store->spill == nullptr || store->first == nullptr) return fail_memory(c);
  if (int32_t outcome = leave_memory(c, store); outcome != 0) return outcome;
  return add_chunk(c, store) ? 0 : fail_memory(c);
}

int32_t rt_groups_grow(ExecContext* c, TupleStore* store) noexcept {
  if (must_leave_memory(*c, *store)) return leave_memory(c, store);
  if (!make_slots(c, store, static_cast<uint64_t>(store->count_limit) * 4)) return fail_memory(c);
  return link_all(c, store);
}

void rt_tuples_seal(TupleStore* store) noexcept {
  if (store->last != nullptr) store->last->end = store->cursor;
  store->count = 0;
  for (auto* chunk = store->first; chunk != nullptr; chunk = chunk->next)
    store->count += (chunk->end - reinterpret_cast<char*>(chunk + 1)) / store->tuple_bytes;
}

void rt_tuples_clear(TupleStore* store) noexcept {
  if (store->first == nullptr) return;
  // keeps the last chunk, the largest
  store->first = store->last;
  store->cursor = reinterpret_cast<char*>(store->last + 1);
}

int32_t rt_join_build(ExecContext* c, TupleStore* store) noexcept {
  if (c->team != nullptr) return build_together(c, store);
  c->value[0] = reinterpret_cast<int64_t>(store);
  if (store->spilled != 0) return leave_finally(c, store);
  rt_tuples_seal(store);
  if (int32_t outcome = make_join_slots(c, store); outcome != 0) return outcome;
  return link_all(c, store);
}

int64_t rt_hash_text(const char* data, int64_t size) noexcept {
  uint64_t hash = 0x9E3779B97F4A7C15ull ^ static_cast<uint64_t>(size);
  int64_t i = 0;
  for (; i + 8 <= size; i += 8) {
    uint64_t word = 0;
    std::memcpy(&word, data + i, sizeof word);
    hash = (hash ^ word) * 0xff51afd7ed558ccdull;
    hash ^= hash >> 32;
  }
  uint64_t word = 0;
  if (size > i) std::memcpy(&word, data + i, static_cast<size_t>(size - i));
  hash = (hash ^ word) * 0xff51afd7ed558ccdull;
  return static_cast<int64_t>(hash ^ hash >> 32);
}

int64_t rt_hash_char(const char* data, int64_t size) noexcept {
  while (size > 0 && data[size - 1] == ' ') size--;
  return rt_hash_text(data, size);
}

int64_t rt_hash_datum(const SqlType* type, const Datum* value) noexcept {
  return static_cast<int64_t>(hash_datum(*type, *value));
}

}  // extern "C"

}  // namespace

void rt_seal(TupleStore* store) noexcept { rt_tuples_seal(store); }

int32_t make_join_slots(ExecContext* c, TupleStore* store) noexcept {
  auto wanted = static_cast<uint64_t>(store->count) * 2;
  if (store->slots != nullptr && static_cast<uint64_t>(store->count_limit) >= wanted) {
    std::memset(store->slots, 0, sizeof(uint64_t) * static_cast<uint64_t>(store->count_limit));
    return 0;
  }
  return make_slots(c, store, wanted) ? 0 : fail_memory(c);
}

int32_t link_tuples(ExecContext* c, TupleStore* store) noexcept { return link_all(c, store); }

int32_t create_groups(ExecContext* c, int64_t bytes, int64_t expected, TupleStore** store) noexcept {
  int32_t outcome = rt_groups_create(c, bytes, expected);
  *store = reinterpret_cast<TupleStore*>(c->value[0]);
  return outcome;
}

char* append_in_memory(ExecContext* c, TupleStore* store) noexcept {
  if (store->limit - store->cursor < store->tuple_bytes || store->last == nullptr)
    if (!add_chunk(c, store)) return nullptr;
  char* tuple = store->cursor;
  store->cursor += store->tuple_bytes;
  return tuple;
}

void empty_store(TupleStore* store) noexcept {
  if (store->last != nullptr) {
    store->last->next = store->spare;
    store->spare = store->first;
  }
  store->first = store->last = nullptr;
  store->cursor = store->limit = nullptr;
  store->count = 0;
  if (store->slots != nullptr) std::memset(store->slots, 0, sizeof(uint64_t) << (64 - store->shift));
}

// Chunks of one member, in the list of all: up to `last`.
void link_shared(TupleStore* store, TupleStore::Chunk* first, TupleStore::Chunk* last) noexcept {
  constexpr int64_t kAhead = 8;
  for (auto* chunk = first;; chunk = chunk->next) {
    for (char* tuple = reinterpret_cast<char*>(chunk + 1); tuple < chunk->end; tuple += store->tuple_bytes) {
      char* ahead = tuple + kAhead * store->tuple_bytes;
      if (ahead < chunk->end)
        __builtin_prefetch(&store->slots[reinterpret_cast<TupleEntry*>(ahead)->hash >> store->shift], 1);
      link_atomic(store, reinterpret_cast<TupleEntry*>(tuple));
    }
    if (chunk == last) return;
  }
}

#define SCYPER_DEFINE_RUNTIME(name, result, words, pure) \
  const ir::External k_##name{#name, reinterpret_cast<void*>(&name), ir::Type::result, words, pure};
SCYPER_TUPLE_FUNCTIONS(SCYPER_DEFINE_RUNTIME)
#undef SCYPER_DEFINE_RUNTIME

}  // namespace scyper::query
