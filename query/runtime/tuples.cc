#include "runtime/tuples.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <new>
#include <string_view>
#include <utility>

#include "runtime/memory.h"
#include "runtime/runtime.h"
#include "runtime/tuple_fields.h"
#include "types/datum_text.h"

namespace scyper::query {

Datum load_tuple_field(const SqlType& type, const char* at) noexcept {
  Datum value;
  value.null = 0;
  switch (type.id) {
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
constexpr int64_t kTuplesPerPoll = 1 << 15;  // of interrupts: about a millisecond

// For loops of the runtime: the error of an interrupt, or 0.
int32_t poll(ExecContext* c) {
  if (c->interrupt.load(std::memory_order_relaxed) == 0) [[likely]]
    return 0;
  return reinterpret_cast<int32_t (*)(ExecContext*) noexcept>(k_rt_interrupted.address)(c);
}

bool add_chunk(ExecContext* c, TupleStore* store) {
  int64_t wanted = std::max<int64_t>(store->chunk_bytes, store->tuple_bytes * 4);
  char* memory = c->scratch->allocate(static_cast<size_t>(wanted) + sizeof(TupleStore::Chunk));
  if (memory == nullptr) return false;
  auto* chunk = new (memory) TupleStore::Chunk{nullptr, nullptr};
  if (store->last != nullptr) {
    store->last->end = store->cursor;
    store->last->next = chunk;
  } else {
    store->first = chunk;
  }
  store->last = chunk;
  store->cursor = memory + sizeof(TupleStore::Chunk);
  store->limit = store->cursor + wanted;
  store->chunk_bytes = std::min(kChunkBytesMax, store->chunk_bytes * 4);
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
    if (n % kTuplesPerPoll == 0 && outcome == 0) outcome = poll(c);
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

// --- sorting ---

// Order as unsigned integers agrees with the order of the values where these differ in it.
uint64_t prefix_of(const TupleSortKey& key, const char* tuple) {
  bool null = key.null_offset >= 0 && tuple[key.null_offset] != 0;
  if (null) return key.nulls_first ? 0 : ~uint64_t{0};
  const char* at = tuple + key.offset;
  uint64_t prefix = 0;
  switch (key.type.id) {
    case TypeId::kChar:
    case TypeId::kVarchar:
    case TypeId::kText: {
      const char* data = nullptr;
      uint64_t size = 0;
      std::memcpy(&data, at, sizeof data);
      std::memcpy(&size, at + 8, sizeof size);
      std::memcpy(&prefix, data, std::min<uint64_t>(size, sizeof prefix));
      prefix = __builtin_bswap64(prefix);
      if (key.type.id == TypeId::kChar) prefix = 0;  // trailing blanks
      break;
    }
    case TypeId::kFloat8: {
      double v = 0;
      std::memcpy(&v, at, sizeof v);
      if (v == 0) v = 0;  // -0
      if (v != v) return key.descending ? 1 : ~uint64_t{0} - 1;
      auto bits = __builtin_bit_cast(uint64_t, v);
      prefix = bits >> 63 ? ~bits : bits | uint64_t{1} << 63;
      break;
    }
    case TypeId::kNumeric:
      if (key.type.precision == 0) return 0x8000000000000000ull;  // scales differ
      if (key.type.precision > kMaxPrecision64) {
        Datum value = load_tuple_field(key.type, at);
        __int128 v = value.int128() >> 24;  // sums stay within
        prefix = static_cast<uint64_t>(std::clamp<__int128>(v, INT64_MIN, INT64_MAX)) ^ (uint64_t{1} << 63);
        break;
      }
      [[fallthrough]];
    case TypeId::kBool:
    case TypeId::kInt2:
    case TypeId::kInt4:
    case TypeId::kInt8:
    case TypeId::kDate:
    case TypeId::kTimestamp:
      prefix = static_cast<uint64_t>(load_tuple_field(key.type, at).lo) ^ (uint64_t{1} << 63);
      break;
    default:
      return 0x8000000000000000ull;
  }
  if (key.descending) prefix = ~prefix;
  return std::clamp<uint64_t>(prefix, 1, ~uint64_t{0} - 1);  // the ends belong to NULL
}

struct SortItem {
  uint64_t prefix;
  char* tuple;
  uint64_t number;  // in order of arrival
};

bool comes_before(const TupleSortKey* keys, int64_t count, const SortItem& a, const SortItem& b) {
  if (a.prefix != b.prefix) return a.prefix < b.prefix;
  for (int64_t k = 0; k < count; k++) {
    const TupleSortKey& key = keys[k];
    bool null_a = key.null_offset >= 0 && a.tuple[key.null_offset] != 0;
    bool null_b = key.null_offset >= 0 && b.tuple[key.null_offset] != 0;
    if (null_a || null_b) {
      if (null_a == null_b) continue;
      return null_a == (key.nulls_first != 0);
    }
    int order = compare_datums(key.type, load_tuple_field(key.type, a.tuple + key.offset),
                               load_tuple_field(key.type, b.tuple + key.offset));
    if (order != 0) return (order < 0) != (key.descending != 0);
  }
  return a.number < b.number;
}

template <class Before>
int32_t merge_runs(ExecContext* c, const SortItem* a, const SortItem* a_end, const SortItem* b, const SortItem* b_end,
                   SortItem* out, const Before& before) {
  for (int64_t n = 1; a != a_end && b != b_end; n++) {
    *out++ = before(*b, *a) ? *b++ : *a++;
    if (n % kTuplesPerPoll == 0)
      if (int32_t outcome = poll(c); outcome != 0) return outcome;
  }
  std::copy(b, b_end, std::copy(a, a_end, out));
  return 0;
}

// In runs, which are merged, with polls between. *items may point to other memory afterwards.
template <class Before>
int32_t sort_items(ExecContext* c, SortItem** items, int64_t count, const Before& before) {
  SortItem* from = *items;
  for (int64_t at = 0; at < count; at += kTuplesPerPoll) {
    if (int32_t outcome = poll(c); outcome != 0) return outcome;
    std::sort(from + at, from + std::min(count, at + kTuplesPerPoll), before);
  }
  if (count <= kTuplesPerPoll) return 0;
  auto* to = reinterpret_cast<SortItem*>(c->scratch->allocate(static_cast<size_t>(count) * sizeof(SortItem)));
  if (to == nullptr) return fail_memory(c);
  for (int64_t width = kTuplesPerPoll; width < count; width *= 2) {
    for (int64_t at = 0; at < count; at += 2 * width) {
      int64_t middle = std::min(count, at + width), end = std::min(count, at + 2 * width);
      int32_t outcome = merge_runs(c, from + at, from + middle, from + middle, from + end, to + at, before);
      if (outcome != 0) return outcome;
    }
    std::swap(from, to);
  }
  *items = from;
  return 0;
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
  uint64_t slots = std::clamp<uint64_t>(static_cast<uint64_t>(expected), kFirstSlots, uint64_t{1} << 20);
  return make_slots(c, store, slots) ? 0 : fail_memory(c);
}

int32_t rt_tuples_grow(ExecContext* c, TupleStore* store) noexcept { return add_chunk(c, store) ? 0 : fail_memory(c); }

int32_t rt_groups_grow(ExecContext* c, TupleStore* store) noexcept {
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
  rt_tuples_seal(store);
  if (!make_slots(c, store, static_cast<uint64_t>(store->count) * 2)) return fail_memory(c);
  return link_all(c, store);
}

int32_t rt_tuples_sort(ExecContext* c, TupleStore* store, const TupleSortKey* keys, int64_t key_count, int64_t offset,
                       int64_t limit) noexcept {
  rt_tuples_seal(store);
  int64_t count = store->count;
  auto* items = reinterpret_cast<SortItem*>(c->scratch->allocate(static_cast<size_t>(count) * sizeof(SortItem)));
  if (items == nullptr) return fail_memory(c);
  uint64_t n = 0;
  for_each_tuple(store, [&](char* tuple) {
    items[n] = {key_count == 0 ? 0 : prefix_of(keys[0], tuple), tuple, n};
    n++;
  });
  auto before = [&](const SortItem& a, const SortItem& b) { return comes_before(keys, key_count, a, b); };
  int64_t end = count;
  if (limit >= 0 && offset <= count && limit < count - offset) end = offset + limit;
  if (key_count > 0 && end < count / 4) {
    std::partial_sort(items, items + end, items + count, before);
  } else if (key_count > 0) {
    if (int32_t outcome = sort_items(c, &items, count, before); outcome != 0) return outcome;
  }
  int64_t start = std::min(offset, end);
  auto** tuples = reinterpret_cast<char**>(items);  // smaller than the items: written behind what is still read
  for (int64_t i = start; i < end; i++) tuples[i - start] = items[i].tuple;
  c->value[0] = reinterpret_cast<int64_t>(tuples);
  c->value[1] = end - start;
  return 0;
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
  return make_slots(c, store, static_cast<uint64_t>(store->count) * 2) ? 0 : fail_memory(c);
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
