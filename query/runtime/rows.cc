#include <algorithm>
#include <cstring>
#include <new>

#include "runtime/key_table.h"
#include "runtime/memory.h"
#include "runtime/runtime.h"
#include "types/datum_text.h"

namespace scyper::query {

namespace {

uint64_t hash_row(const SqlType* types, const Datum* row, int64_t count) {
  uint64_t hash = 0x9E3779B97F4A7C15ull;
  for (int64_t i = 0; i < count; i++) {
    uint64_t one = row[i].null ? 0x51ED270B : hash_datum(types[i], row[i]);
    hash = (hash ^ one) * 0xff51afd7ed558ccdull;
    hash ^= hash >> 32;
  }
  return hash;
}

bool same_key(const SqlType* types, const Datum* a, const Datum* b, int64_t count) {
  for (int64_t i = 0; i < count; i++) {
    if (a[i].null != b[i].null) return false;
    if (!a[i].null && !equal_datums(types[i], a[i], b[i])) return false;
  }
  return true;
}

bool grow_buckets(ExecContext* c, KeyTable* table) {
  uint64_t count = table->bucket_count == 0 ? 64 : table->bucket_count * 4;
  auto** buckets = reinterpret_cast<KeyTable::Entry**>(c->scratch->allocate(count * sizeof(KeyTable::Entry*)));
  if (buckets == nullptr) return false;
  std::memset(buckets, 0, count * sizeof(KeyTable::Entry*));
  for (auto* entry = table->first; entry != nullptr; entry = entry->next) {
    entry->next_in_bucket = buckets[entry->hash & (count - 1)];
    buckets[entry->hash & (count - 1)] = entry;
  }
  table->buckets = buckets;
  table->bucket_count = count;
  return true;
}

KeyTable::Entry* find_entry(const KeyTable* table, const Datum* key, uint64_t hash) {
  auto* entry = table->buckets[hash & (table->bucket_count - 1)];
  while (entry != nullptr && (entry->hash != hash || !same_key(table->types, entry->row, key, table->key_width)))
    entry = entry->next_in_bucket;
  return entry;
}

KeyTable::Entry* new_entry(ExecContext* c, const KeyTable* table, const Datum* row, int64_t given, uint64_t hash) {
  size_t bytes = offsetof(KeyTable::Entry, row) + static_cast<size_t>(table->width) * sizeof(Datum);
  auto* entry = reinterpret_cast<KeyTable::Entry*>(c->scratch->allocate(bytes));
  if (entry == nullptr) return nullptr;
  std::memset(static_cast<void*>(entry), 0, bytes);
  entry->hash = hash;
  for (int64_t i = 0; i < given; i++) {
    entry->row[i] = row[i];
    if (!copy_datum(c, table->types[i], &entry->row[i])) return nullptr;
  }
  return entry;
}

void link_entry(KeyTable* table, KeyTable::Entry* entry) {
  auto** bucket = &table->buckets[entry->hash & (table->bucket_count - 1)];
  entry->next_in_bucket = *bucket;
  *bucket = entry;
  if (table->last != nullptr)
    table->last->next = entry;
  else
    table->first = entry;
  table->last = entry;
  table->count++;
}

bool make_room(ExecContext* c, KeyTable* table) {
  return static_cast<uint64_t>(table->count) < table->bucket_count || grow_buckets(c, table);
}

}  // namespace

bool open_key_table(ExecContext* c, KeyTable* table, const SqlType* types, int64_t width, int64_t key_width) noexcept {
  *table = KeyTable();
  table->types = types;
  table->width = width;
  table->key_width = key_width;
  return grow_buckets(c, table);
}

KeyTable::Entry* find_key(ExecContext* c, KeyTable* table, const Datum* key, bool adds, bool* is_new) noexcept {
  const uint64_t hash = hash_row(table->types, key, table->key_width);
  auto* entry = find_entry(table, key, hash);
  *is_new = entry == nullptr && adds;
  if (!*is_new) return entry;
  if (!make_room(c, table)) return nullptr;
  entry = new_entry(c, table, key, table->key_width, hash);
  if (entry != nullptr) link_entry(table, entry);
  return entry;
}

extern "C" {

int32_t rt_rows_create(ExecContext* c, const SqlType* types, int64_t width) noexcept {
  char* memory = c->scratch->allocate(sizeof(RowBuffer));
  if (memory == nullptr) return fail_memory(c);
  auto* buffer = new (memory) RowBuffer();
  buffer->width = width;
  buffer->types = types;
  c->value[0] = reinterpret_cast<int64_t>(buffer);
  return 0;
}

int32_t rt_rows_append(ExecContext* c, RowBuffer* buffer, const Datum* row) noexcept {
  size_t row_bytes = static_cast<size_t>(buffer->width) * sizeof(Datum);
  if (buffer->count == buffer->capacity) {
    int64_t capacity = std::max<int64_t>(16, buffer->capacity * 2);
    auto* rows = reinterpret_cast<Datum*>(c->scratch->allocate(static_cast<size_t>(capacity) * row_bytes));
    if (rows == nullptr) return fail_memory(c);
    if (buffer->count > 0)
      std::memcpy(static_cast<void*>(rows), buffer->rows, static_cast<size_t>(buffer->count) * row_bytes);
    buffer->rows = rows;
    buffer->capacity = capacity;
  }
  Datum* to = buffer->rows + buffer->count * buffer->width;
  for (int64_t i = 0; i < buffer->width; i++) {
    to[i] = row[i];
    if (!copy_datum(c, buffer->types[i], &to[i])) return fail_memory(c);
  }
  buffer->count++;
  return 0;
}

// Whether rows that come in the order of the first `items` keys have passed the last one that LIMIT and OFFSET need,
// and all that are equal to it in these keys.
uint8_t rt_rows_pass_limit(const RowBuffer* buffer, const SortKey* keys, int64_t items, int64_t limit,
                           int64_t offset) noexcept {
  const int64_t wanted = limit > INT64_MAX - offset ? INT64_MAX : limit + offset;
  if (buffer->count <= wanted || buffer->count < 2) return 0;
  const Datum* last = buffer->rows + (buffer->count - 1) * buffer->width;
  const Datum* before = last - buffer->width;
  for (int64_t k = 0; k < items; k++) {
    const uint32_t column = keys[k].column;
    if (last[column].null != before[column].null) return 1;
    if (!last[column].null && !equal_datums(buffer->types[column], last[column], before[column])) return 1;
  }
  return 0;
}

// Stable, so that equal rows keep the order in which they were found.
int32_t rt_rows_sort(ExecContext* c, RowBuffer* buffer, const SortKey* keys, int64_t key_count) noexcept {
  int64_t width = buffer->width;
  size_t bytes = static_cast<size_t>(buffer->count) * sizeof(const Datum*);
  auto** order = reinterpret_cast<const Datum**>(c->scratch->allocate(bytes * 2));  // the merge's room follows
  size_t row_bytes = static_cast<size_t>(width) * sizeof(Datum);
  auto* sorted = reinterpret_cast<Datum*>(c->scratch->allocate(static_cast<size_t>(buffer->count) * row_bytes));
  if (order == nullptr || sorted == nullptr) return fail_memory(c);
  for (int64_t i = 0; i < buffer->count; i++) order[i] = buffer->rows + i * width;
  auto before = [&](const Datum* a, const Datum* b) {
    for (int64_t k = 0; k < key_count; k++) {
      const Datum& x = a[keys[k].column];
      const Datum& y = b[keys[k].column];
      if (x.null || y.null) {
        if (x.null == y.null) continue;
        return (x.null != 0) == (keys[k].nulls_first != 0);
      }
      int difference = compare_datums(buffer->types[keys[k].column], x, y);
      if (difference != 0) return (difference < 0) != (keys[k].descending != 0);
    }
    return a < b;  // position decides
  };
  std::sort(order, order + buffer->count, before);
  for (int64_t i = 0; i < buffer->count; i++) std::memcpy(static_cast<void*>(sorted + i * width), order[i], row_bytes);
  buffer->rows = sorted;
  buffer->capacity = buffer->count;
  return 0;
}

int32_t rt_table_create(ExecContext* c, const SqlType* types, int64_t width, int64_t key_width) noexcept {
  char* memory = c->scratch->allocate(sizeof(KeyTable));
  if (memory == nullptr) return fail_memory(c);
  auto* table = new (memory) KeyTable();
  if (!open_key_table(c, table, types, width, key_width)) return fail_memory(c);
  c->value[0] = reinterpret_cast<int64_t>(table);
  return 0;
}

int32_t rt_table_find(ExecContext* c, KeyTable* table, const Datum* key, int64_t insert) noexcept {
  bool is_new = false;
  auto* entry = find_key(c, table, key, insert != 0, &is_new);
  if (is_new && entry == nullptr) return fail_memory(c);
  c->value[1] = is_new ? 1 : 0;
  c->value[0] = reinterpret_cast<int64_t>(entry);
  return 0;
}

int32_t rt_table_add(ExecContext* c, KeyTable* table, const Datum* row) noexcept {
  uint64_t hash = hash_row(table->types, row, table->key_width);
  auto* same = find_entry(table, row, hash);
  if (same == nullptr && !make_room(c, table)) return fail_memory(c);
  auto* entry = new_entry(c, table, row, table->width, hash);
  if (entry == nullptr) return fail_memory(c);
  if (same == nullptr) {
    link_entry(table, entry);
  } else {
    entry->next_equal = same->next_equal;
    same->next_equal = entry;
  }
  return 0;
}

}  // extern "C"

}  // namespace scyper::query
