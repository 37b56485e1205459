#include "runtime/tuple_sort.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "runtime/memory.h"
#include "runtime/spill.h"
#include "runtime/tuple_fields.h"
#include "types/datum_text.h"

// ORDER BY and the order of windows: tuples sorted in memory, or in runs that are merged from disk.
namespace scyper::query {

struct SortItem {
  uint64_t prefix;
  char* tuple;
  uint64_t number;  // in order of arrival
};

namespace {

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
    case TypeId::kTimestamptz:
    case TypeId::kTime:
    case TypeId::kEnum:
      prefix = static_cast<uint64_t>(load_tuple_field(key.type, at).lo) ^ (uint64_t{1} << 63);
      break;
    default:
      return 0x8000000000000000ull;
  }
  if (key.descending) prefix = ~prefix;
  return std::clamp<uint64_t>(prefix, 1, ~uint64_t{0} - 1);  // the ends belong to NULL
}

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
      if (int32_t outcome = poll_interrupt(c); outcome != 0) return outcome;
  }
  std::copy(b, b_end, std::copy(a, a_end, out));
  return 0;
}

// In runs, which are merged, with polls between. The result is in either of the two.
template <class Before>
int32_t sort_items(ExecContext* c, SortItem** items, SortItem* other, int64_t count, const Before& before) {
  SortItem* from = *items;
  for (int64_t at = 0; at < count; at += kTuplesPerPoll) {
    if (int32_t outcome = poll_interrupt(c); outcome != 0) return outcome;
    std::sort(from + at, from + std::min(count, at + kTuplesPerPoll), before);
  }
  if (count <= kTuplesPerPoll) return 0;
  SortItem* to = other;
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

SortItem* allocate_items(ExecContext* c, int64_t count) {
  size_t bytes = static_cast<size_t>(count) * sizeof(SortItem);
  if (c->spill != nullptr) c->spill->hold(bytes);
  return reinterpret_cast<SortItem*>(c->scratch->allocate(bytes));
}

// The first `end` of a store's tuples in order.
int32_t sort_store(ExecContext* c, TupleStore* store, const TupleSortKey* keys, int64_t key_count, int64_t end,
                   SortItem** items, SortItem** other) {
  uint64_t n = 0;
  for (auto* chunk = store->first; chunk != nullptr; chunk = chunk->next)
    for (char* tuple = reinterpret_cast<char*>(chunk + 1); tuple < chunk->end; tuple += store->tuple_bytes) {
      (*items)[n] = {key_count == 0 ? 0 : prefix_of(keys[0], tuple), tuple, n};
      if (++n % kTuplesPerPoll == 0)
        if (int32_t outcome = poll_interrupt(c); outcome != 0) return outcome;
    }
  auto before = [&](const SortItem& a, const SortItem& b) { return comes_before(keys, key_count, a, b); };
  auto count = static_cast<int64_t>(n);
  if (key_count == 0) return 0;
  if (end < count / 4) {
    for (int64_t at = end, step = std::max(end, kTuplesPerPoll); at < count; at += step) {
      if (int32_t outcome = poll_interrupt(c); outcome != 0) return outcome;
      if (at != end) std::swap_ranges(*items + at, *items + std::min(count, at + step), *items + end);
      std::partial_sort(*items, *items + end, *items + end + std::min(count - at, step), before);
    }
    return 0;
  }
  if (*other == nullptr && count > kTuplesPerPoll) *other = allocate_items(c, count);
  if (*other == nullptr && count > kTuplesPerPoll) return fail_memory(c);
  return sort_items(c, items, *other, count, before);
}

}  // namespace

// Runs that are read side by side; the first in a heap has the next tuple.
struct RunMerge {
  struct Source {
    SortItem item;  // `number`: of the run
    TupleStore::Chunk* chunk;
    SpillReader reader;
  };
  std::vector<Source> sources;
  std::vector<Source*> heap;
  TupleStore batch;
  int64_t skip = 0, left = -1;
  char** tuples = nullptr;
  int64_t tuple_capacity = 0;

  static auto later(const Spill& spill) {
    return [&spill](const Source* a, const Source* b) {
      return comes_before(spill.keys, spill.key_count, b->item, a->item);
    };
  }

  int32_t open(ExecContext* c, const Spill& spill, const std::vector<SpillPart*>& runs) {
    sources = std::vector<Source>(runs.size());
    heap.clear();
    for (size_t i = 0; i < runs.size(); i++) {
      Source& source = sources[i];
      source.item.number = i;
      source.reader.open({runs[i]});
      if (int32_t outcome = source.reader.next(c, &source.chunk); outcome != 0) return outcome;
      if (source.chunk == nullptr) continue;
      set(spill, &source, reinterpret_cast<char*>(source.chunk + 1));
      heap.push_back(&source);
    }
    std::make_heap(heap.begin(), heap.end(), later(spill));
    return 0;
  }

  // The next one is heap.front()->item.tuple. It goes.
  int32_t advance(ExecContext* c, const Spill& spill, int64_t width) {
    std::pop_heap(heap.begin(), heap.end(), later(spill));
    Source* source = heap.back();
    char* next = source->item.tuple + width;
    if (next == source->chunk->end) {
      if (int32_t outcome = source->reader.next(c, &source->chunk); outcome != 0) return outcome;
      if (source->chunk == nullptr) return heap.pop_back(), 0;
      next = reinterpret_cast<char*>(source->chunk + 1);
    }
    set(spill, source, next);
    std::push_heap(heap.begin(), heap.end(), later(spill));
    return 0;
  }

  static void set(const Spill& spill, Source* source, char* tuple) {
    source->item.tuple = tuple;
    source->item.prefix = spill.key_count == 0 ? 0 : prefix_of(spill.keys[0], tuple);
  }
};

namespace {

// So many runs that their blocks fit into memory together: neighbours become one.
int32_t merge_early(ExecContext* c, Spill* spill, int64_t width) {
  size_t most = std::max<size_t>(4, c->spill->memory_bytes() / 4 / c->spill->block_bytes());
  while (spill->runs.size() > most) {
    std::vector<SpillPart*> merged;
    for (size_t at = 0; at < spill->runs.size(); at += most) {
      size_t end = std::min(spill->runs.size(), at + most);
      RunMerge merge;
      int32_t outcome = merge.open(
          c, *spill,
          {spill->runs.begin() + static_cast<ptrdiff_t>(at), spill->runs.begin() + static_cast<ptrdiff_t>(end)});
      auto* run = c->spill->make<SpillPart>();
      int64_t left = spill->keep;
      while (outcome == 0 && !merge.heap.empty() && left-- != 0) {
        outcome = run->append(c, merge.heap.front()->item.tuple, static_cast<size_t>(width));
        if (outcome == 0) outcome = merge.advance(c, *spill, width);
      }
      for (auto& source : merge.sources) source.reader.close(c);
      if (outcome == 0) outcome = run->flush(c);
      if (outcome != 0) return outcome;
      merged.push_back(run);
    }
    spill->runs = std::move(merged);
  }
  return 0;
}

int32_t begin_merge(ExecContext* c, TupleStore* store, int64_t offset, int64_t limit) {
  Spill* spill = store->spill;
  if (int32_t outcome = write_run(c, store); outcome != 0) return outcome;
  if (int32_t outcome = merge_early(c, spill, store->tuple_bytes); outcome != 0) return outcome;
  spill->merge = c->spill->make<RunMerge>();
  spill->merge->skip = offset;
  spill->merge->left = limit;
  spill->merge->batch.tuple_bytes = store->tuple_bytes;
  spill->merge->batch.chunk_bytes = store->chunk_bytes;
  spill->merge->batch.spare = std::exchange(store->spare, nullptr);
  return spill->merge->open(c, *spill, spill->runs);
}

bool add_tuple(ExecContext* c, RunMerge* merge, const char* tuple, int64_t number) {
  if (number == merge->tuple_capacity) {
    int64_t capacity = std::max<int64_t>(256, merge->tuple_capacity * 2);
    auto* tuples = reinterpret_cast<char**>(c->scratch->allocate(static_cast<size_t>(capacity) * sizeof(char*)));
    if (tuples == nullptr) return false;
    std::copy(merge->tuples, merge->tuples + number, tuples);
    merge->tuples = tuples;
    merge->tuple_capacity = capacity;
  }
  char* to = append_in_memory(c, &merge->batch);
  if (to == nullptr) return false;
  std::memcpy(to, tuple, static_cast<size_t>(merge->batch.tuple_bytes));
  merge->tuples[number] = to;
  return true;
}

extern "C" {

int32_t rt_tuples_sort(ExecContext* c, TupleStore* store, const TupleSortKey* keys, int64_t key_count, int64_t offset,
                       int64_t limit) noexcept {
  if (store->spilled != 0) {
    if (int32_t outcome = begin_merge(c, store, offset, limit); outcome != 0) return outcome;
    return reinterpret_cast<int32_t (*)(ExecContext*, TupleStore*) noexcept>(k_rt_tuples_more.address)(c, store);
  }
  rt_seal(store);
  int64_t count = store->count;
  SortItem* items = allocate_items(c, count);
  SortItem* other = nullptr;
  if (items == nullptr) return fail_memory(c);
  int64_t end = count;
  if (limit >= 0 && offset <= count && limit < count - offset) end = offset + limit;
  if (int32_t outcome = sort_store(c, store, keys, key_count, end, &items, &other); outcome != 0) return outcome;
  int64_t start = std::min(offset, end);
  auto** tuples = reinterpret_cast<char**>(items);  // smaller than the items: written behind what is still read
  for (int64_t i = start; i < end; i++) tuples[i - start] = items[i].tuple;
  c->value[0] = reinterpret_cast<int64_t>(tuples);
  c->value[1] = end - start;
  return 0;
}

int32_t rt_tuples_more(ExecContext* c, TupleStore* store) noexcept {
  c->value[1] = 0;
  if (store->spilled == 0) return 0;  // all were in memory
  const Spill& spill = *store->spill;
  RunMerge* merge = spill.merge;
  const int64_t rows = std::max<int64_t>(16, static_cast<int64_t>(c->spill->block_bytes()) / store->tuple_bytes);
  empty_store(&merge->batch);
  int64_t count = 0;
  for (; !merge->heap.empty() && merge->left != 0;) {
    const char* tuple = merge->heap.front()->item.tuple;
    if (merge->skip > 0) {
      merge->skip--;
    } else {
      bool joined =
          spill.together >= 0 && count > 0 && same_keys(spill.keys, spill.together, merge->tuples[count - 1], tuple);
      if (count >= rows && !joined) break;
      if (!add_tuple(c, merge, tuple, count)) return fail_memory(c);
      count++;
      if (merge->left > 0) merge->left--;
    }
    if (int32_t outcome = merge->advance(c, spill, store->tuple_bytes); outcome != 0) return outcome;
  }
  c->value[0] = reinterpret_cast<int64_t>(merge->tuples);
  c->value[1] = count;
  return 0;
}

}  // extern "C"

}  // namespace

// What is in memory, in order, as far as anybody will ask for it.
int32_t write_run(ExecContext* c, TupleStore* store) noexcept {
  Spill* spill = store->spill;
  rt_seal(store);
  store->spilled = 1;
  if (store->count == 0) return 0;
  if (store->count > spill->item_capacity) {
    spill->item_capacity = store->count + store->count / 4;
    spill->items = allocate_items(c, spill->item_capacity);
    spill->other_items = allocate_items(c, spill->item_capacity);
    if (spill->items == nullptr || spill->other_items == nullptr) return fail_memory(c);
  }
  SortItem *items = spill->items, *other = spill->other_items;
  int64_t end = spill->keep < 0 ? store->count : std::min(store->count, spill->keep);
  int32_t outcome = sort_store(c, store, spill->keys, spill->key_count, end, &items, &other);
  auto* run = c->spill->make<SpillPart>();
  for (int64_t i = 0; i < end && outcome == 0; i++)
    outcome = run->append(c, items[i].tuple, static_cast<size_t>(store->tuple_bytes));
  if (outcome == 0) outcome = run->flush(c);
  if (outcome != 0) return outcome;
  spill->runs.push_back(run);
  empty_store(store);
  return 0;
}

#define SCYPER_DEFINE_RUNTIME(name, result, words, pure) \
  const ir::External k_##name{#name, reinterpret_cast<void*>(&name), ir::Type::result, words, pure};
SCYPER_SORT_FUNCTIONS(SCYPER_DEFINE_RUNTIME)
#undef SCYPER_DEFINE_RUNTIME

bool same_keys(const TupleSortKey* keys, int64_t count, const char* a, const char* b) {
  for (int64_t k = 0; k < count; k++) {
    const TupleSortKey& key = keys[k];
    bool null_a = key.null_offset >= 0 && a[key.null_offset] != 0;
    bool null_b = key.null_offset >= 0 && b[key.null_offset] != 0;
    if (null_a != null_b) return false;
    if (!null_a && compare_datums(key.type, load_tuple_field(key.type, a + key.offset),
                                  load_tuple_field(key.type, b + key.offset)) != 0)
      return false;
  }
  return true;
}

}  // namespace scyper::query
