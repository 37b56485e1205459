#include "runtime/direct.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <new>
#include <vector>

#include "runtime/memory.h"
#include "runtime/spill_space.h"
#include "runtime/team.h"

namespace scyper::query {

namespace {

// Odd, and without a pattern: products of small numbers with them spread over the top bits.
constexpr uint64_t kFactors[kDirectKeysMax] = {0x9E3779B97F4A7C15ull, 0xC2B2AE3D27D4EB4Full, 0xff51afd7ed558ccdull,
                                               0xD6E8FEB86659FD93ull};
constexpr uint64_t kSparseMax = 16;         // places of an array for each tuple
constexpr uint64_t kSmallPlaces = 1 << 14;  // that is always worth it
constexpr uint64_t kSparseBitsMax = 64;     // exact bits for each key
constexpr uint64_t kSmallBits = uint64_t{1} << 20;
constexpr uint64_t kHashedBits = 16;  // for each key: one row in sixteen without a partner passes
constexpr uint64_t kFilterBitsMax = uint64_t{1} << 24;

int64_t load_key(const char* tuple, int64_t offset, int64_t bytes) {
  switch (bytes) {
    case 1:
      return static_cast<uint8_t>(tuple[offset]);
    case 2: {
      int16_t v = 0;
      std::memcpy(&v, tuple + offset, sizeof v);
      return v;
    }
    case 4: {
      int32_t v = 0;
      std::memcpy(&v, tuple + offset, sizeof v);
      return v;
    }
    default: {
      int64_t v = 0;
      std::memcpy(&v, tuple + offset, sizeof v);
      return v;
    }
  }
}

// Calls f for the tuples of the chunks from `first` to `last`; polls for interrupts.
template <class F>
int32_t visit_tuples(ExecContext* c, const TupleStore& store, TupleStore::Chunk* first, const TupleStore::Chunk* last,
                     const F& f) {
  int64_t n = 0;
  for (auto* chunk = first; chunk != nullptr; chunk = chunk == last ? nullptr : chunk->next)
    for (char* tuple = reinterpret_cast<char*>(chunk + 1); tuple < chunk->end; tuple += store.tuple_bytes) {
      if (++n % kTuplesPerPoll == 0)
        if (int32_t outcome = poll_interrupt(c); outcome != 0) return outcome;
      f(tuple);
    }
  return 0;
}

struct Ranges {
  std::array<int64_t, kDirectKeysMax> low, high;
  uint64_t count = 0;
};

int32_t find_ranges(ExecContext* c, const TupleStore& store, const DirectLayout& layout, Ranges* ranges) {
  ranges->low.fill(INT64_MAX);
  ranges->high.fill(INT64_MIN);
  return visit_tuples(c, store, store.first, store.last, [&](const char* tuple) {
    ranges->count++;
    for (int64_t i = 0; i < layout.count; i++) {
      auto k = static_cast<size_t>(i);
      int64_t key = load_key(tuple, layout.offset[k], layout.bytes[k]);
      ranges->low[k] = std::min(ranges->low[k], key);
      ranges->high[k] = std::max(ranges->high[k], key);
    }
  });
}

// Exact places, at most `most` of them. The last key varies fastest. false: they are too many.
bool place_exactly(const DirectLayout& layout, const Ranges& ranges, uint64_t most, KeyPlaces* places) {
  uint64_t size = 1;
  *places = KeyPlaces{};
  for (int64_t i = layout.count; i-- > 0;) {
    auto k = static_cast<size_t>(i);
    uint64_t span = static_cast<uint64_t>(ranges.high[k]) - static_cast<uint64_t>(ranges.low[k]);
    if (span >= most) return false;
    places->factor[k] = size;
    places->offset -= static_cast<uint64_t>(ranges.low[k]) * size;
    size *= span + 1;  // both below 2^32 here
    if (size > most) return false;
  }
  places->size = size;
  return true;
}

void place_by_hash(int64_t keys, uint64_t wanted, KeyPlaces* places) {
  int bits = std::max(4, static_cast<int>(std::bit_width(wanted - 1)));
  *places = KeyPlaces{};
  places->size = uint64_t{1} << bits;
  places->shift = static_cast<uint64_t>(64 - bits);
  for (int64_t i = 0; i < std::max<int64_t>(1, keys); i++)
    places->factor[static_cast<size_t>(i)] = kFactors[static_cast<size_t>(i)];
}

uint64_t place_of(const KeyPlaces& places, const DirectLayout& layout, const char* tuple) {
  uint64_t sum = places.offset;
  for (int64_t i = 0; i < layout.count; i++) {
    auto k = static_cast<size_t>(i);
    sum += static_cast<uint64_t>(load_key(tuple, layout.offset[k], layout.bytes[k])) * places.factor[k];
  }
  return sum >> places.shift;
}

DirectTable* make_table(ExecContext* c, const TupleStore& store, const DirectLayout& layout, const Ranges& ranges) {
  char* memory = c->scratch->allocate(sizeof(DirectTable));
  if (memory == nullptr) return nullptr;
  auto* table = new (memory) DirectTable();
  if (ranges.count == 0) {  // nobody is asked where it is
    table->capacity = 1;
  } else if (place_exactly(layout, ranges, std::max(kSmallPlaces, ranges.count * kSparseMax), &table->places)) {
    table->capacity = static_cast<int64_t>(table->places.size);
  } else {
    place_by_hash(layout.count, ranges.count * 2, &table->places);
    table->capacity = static_cast<int64_t>(table->places.size + ranges.count + 1);
    table->step = store.tuple_bytes;
  }
  auto bytes = static_cast<size_t>(table->capacity * store.tuple_bytes);
  table->tuples = c->scratch->allocate(bytes);
  if (table->tuples == nullptr) return nullptr;
  if (c->spill != nullptr) c->spill->hold(bytes);
  std::memset(table->tuples, 0, bytes);
  return table;
}

int32_t fill_table(ExecContext* c, const TupleStore& store, TupleStore::Chunk* first, const TupleStore::Chunk* last,
                   const DirectLayout& layout, DirectTable* table) {
  const auto bytes = static_cast<size_t>(store.tuple_bytes);
  return visit_tuples(c, store, first, last, [&](const char* tuple) {
    char* place = table->tuples + place_of(table->places, layout, tuple) * bytes;
    while (table->step != 0 && place[layout.present_offset] != 0) place += bytes;
    std::memcpy(place, tuple, bytes);
  });
}

struct Offer {
  TupleStore* store;
  Ranges ranges;
  DirectTable* table = nullptr;
};

// As rt_direct_build(): each member finds its ranges and places its tuples; the first one makes the table.
int32_t build_direct_together(ExecContext* c, TupleStore* store, const DirectLayout& layout) {
  Offer mine{store, {}, nullptr};
  TupleStore::Chunk* const first = store->first;
  TupleStore::Chunk* const last = store->last;
  rt_seal(store);
  if (int32_t outcome = find_ranges(c, *store, layout, &mine.ranges); outcome != 0) return outcome;
  void* const* offers = c->team->exchange(c, &mine);
  if (offers == nullptr) return fail_meeting(c);
  auto* leader = static_cast<Offer*>(offers[0]);
  if (c->thread == 0) {
    Ranges all = mine.ranges;
    std::vector<TupleStore*> stores = {store};
    for (uint32_t i = 1; i < c->team->size(); i++) {
      const auto& other = *static_cast<const Offer*>(offers[i]);
      stores.push_back(other.store);
      all.count += other.ranges.count;
      for (size_t k = 0; k < kDirectKeysMax; k++) {
        all.low[k] = std::min(all.low[k], other.ranges.low[k]);
        all.high[k] = std::max(all.high[k], other.ranges.high[k]);
      }
    }
    concatenate_stores(stores.data(), c->team->size());
    mine.table = make_table(c, *store, layout, all);
    if (mine.table == nullptr) return fail_memory(c);
    if (mine.table->step != 0)  // runs are for one thread
      if (int32_t outcome = fill_table(c, *store, store->first, store->last, layout, mine.table); outcome != 0)
        return outcome;
  }
  if (!c->team->meet(c)) return fail_meeting(c);
  DirectTable* table = leader->table;
  TupleStore* whole = leader->store;
  if (table->step == 0 && first != nullptr)
    if (int32_t outcome = fill_table(c, *whole, first, last, layout, table); outcome != 0) return outcome;
  c->value[0] = reinterpret_cast<int64_t>(table);
  c->value[1] = reinterpret_cast<int64_t>(whole);
  return c->team->meet(c) ? 0 : fail_meeting(c);  // `mine` is read until here
}

int32_t make_filter(ExecContext* c, const TupleStore& store, const DirectLayout& layout, JoinFilter** filter) {
  Ranges ranges;
  if (int32_t outcome = find_ranges(c, store, layout, &ranges); outcome != 0) return outcome;
  char* memory = c->scratch->allocate(sizeof(JoinFilter));
  if (memory == nullptr) return fail_memory(c);
  *filter = new (memory) JoinFilter();
  KeyPlaces& places = (*filter)->places;
  uint64_t most = std::clamp(ranges.count * kSparseBitsMax, kSmallBits, kFilterBitsMax);
  if (ranges.count > 0 && (layout.count == 0 || !place_exactly(layout, ranges, most, &places)))
    place_by_hash(layout.count, std::min(ranges.count * kHashedBits, kFilterBitsMax), &places);
  size_t bytes = (places.size / 64 + 1) * sizeof(uint64_t);
  auto* bits = reinterpret_cast<uint64_t*>(c->scratch->allocate(bytes));
  if (bits == nullptr) return fail_memory(c);
  std::memset(bits, 0, bytes);
  (*filter)->bits = bits;
  return visit_tuples(c, store, store.first, store.last, [&](const char* tuple) {
    uint64_t place = layout.count > 0
                         ? place_of(places, layout, tuple)
                         : reinterpret_cast<const TupleEntry*>(tuple)->hash * places.factor[0] >> places.shift;
    bits[place / 64] |= uint64_t{1} << place % 64;
  });
}

extern "C" {

int32_t rt_direct_build(ExecContext* c, TupleStore* store, const DirectLayout* layout) noexcept {
  if (c->team != nullptr) return build_direct_together(c, store, *layout);
  rt_seal(store);
  Ranges ranges;
  if (int32_t outcome = find_ranges(c, *store, *layout, &ranges); outcome != 0) return outcome;
  DirectTable* table = make_table(c, *store, *layout, ranges);
  if (table == nullptr) return fail_memory(c);
  c->value[0] = reinterpret_cast<int64_t>(table);
  c->value[1] = reinterpret_cast<int64_t>(store);
  return fill_table(c, *store, store->first, store->last, *layout, table);
}

int32_t rt_filter_build(ExecContext* c, TupleStore* store, const DirectLayout* layout) noexcept {
  JoinFilter* filter = nullptr;
  if (c->team == nullptr || c->thread == 0)
    if (int32_t outcome = make_filter(c, *store, *layout, &filter); outcome != 0) return outcome;
  if (c->team != nullptr) {
    void* const* offers = c->team->exchange(c, filter);
    if (offers == nullptr) return fail_meeting(c);
    filter = static_cast<JoinFilter*>(offers[0]);
  }
  c->value[0] = reinterpret_cast<int64_t>(filter);
  return 0;
}

int32_t rt_direct_states(ExecContext* c, const DirectTable* table, int64_t bytes) noexcept {
  auto all = static_cast<size_t>(table->capacity * bytes);
  char* memory = c->scratch->allocate(std::max<size_t>(16, all));
  if (memory == nullptr) return fail_memory(c);
  std::memset(memory, 0, all);
  c->value[0] = reinterpret_cast<int64_t>(memory);
  return 0;
}

}  // extern "C"

}  // namespace

#define SCYPER_DEFINE_RUNTIME(name, result, words, pure) \
  const ir::External k_##name{#name, reinterpret_cast<void*>(&name), ir::Type::result, words, pure};
SCYPER_DIRECT_FUNCTIONS(SCYPER_DEFINE_RUNTIME)
#undef SCYPER_DEFINE_RUNTIME

}  // namespace scyper::query
