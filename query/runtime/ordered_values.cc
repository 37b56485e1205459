#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <limits>
#include <utility>
#include <vector>

#include "base/bounded_work.h"
#include "bind/bound.h"
#include "runtime/memory.h"
#include "runtime/ordered_sets.h"
#include "runtime/runtime.h"
#include "types/datum_text.h"
#include "types/decimal.h"

// Ordered sets over values of 64 bits: percentiles and the mode are found without sorting rows. Each value takes eight
// bytes of the statement's memory. A percentile is selected by counting: each pass over the values divides the range
// that holds the wanted one into 4,096 parts, until few values are left.
namespace scyper::query {

extern "C" {
int32_t rt_array_make(ExecContext* c, const SqlType* element, const Datum* items, int64_t count) noexcept;
int32_t rt_rows_create(ExecContext*, const SqlType*, int64_t) noexcept;
int32_t rt_rows_append(ExecContext*, RowBuffer*, const Datum*) noexcept;
}

namespace {

constexpr int64_t kFirstBlock = 16, kLargestBlock = 64 << 10;  // values

struct ValueBlock {
  ValueBlock* next;
  int64_t count;
  int64_t capacity;
  int64_t* values() { return reinterpret_cast<int64_t*>(this + 1); }
  const int64_t* values() const { return reinterpret_cast<const int64_t*>(this + 1); }
};

// What the state of an aggregate points to.
struct OrderedValues {
  ValueBlock* last = nullptr;  // the newest first
  int64_t count = 0;
  int64_t least = std::numeric_limits<int64_t>::max();
  int64_t greatest = std::numeric_limits<int64_t>::min();
  RowBuffer* fraction = nullptr;  // of percentiles: its only row
};

// Integers in the order of the values. NaN is the greatest double; both zeros are one value.
int64_t order_key(const SqlType& type, const Datum& value) {
  if (!is_float(type.id)) return value.lo;
  const double number = __builtin_bit_cast(double, value.lo);
  if (std::isnan(number)) return std::numeric_limits<int64_t>::max();
  const int64_t bits = __builtin_bit_cast(int64_t, number == 0 ? 0.0 : number);
  return bits < 0 ? bits ^ std::numeric_limits<int64_t>::max() : bits;
}

Datum value_of_key(const SqlType& type, int64_t key) {
  if (type.id == TypeId::kNumeric) return datum_of(Decimal{key, type.scale});
  if (!is_float(type.id)) return int_datum(key);
  if (key == std::numeric_limits<int64_t>::max()) return float_datum(std::numeric_limits<double>::quiet_NaN());
  return float_datum(__builtin_bit_cast(double, key < 0 ? key ^ std::numeric_limits<int64_t>::max() : key));
}

template <class F>
void for_each_value(const OrderedValues& all, const F& f) {
  for (const ValueBlock* block = all.last; block != nullptr; block = block->next) {
    poll_work();
    for (int64_t i = 0; i < block->count; ++i) f(block->values()[i]);
  }
}

// The value at `place` of those in order, counted from 0.
int64_t select_value(const OrderedValues& all, int64_t place) {
  constexpr int kPartBits = 12;
  constexpr int64_t kFew = 64 << 10;
  int64_t from = all.least, to = all.greatest, inside = all.count;
  std::vector<int64_t> counts;
  while (from < to && inside > kFew) {
    const uint64_t width = static_cast<uint64_t>(to) - static_cast<uint64_t>(from);
    const int shift = std::max(0, static_cast<int>(std::bit_width(width)) - kPartBits);
    counts.assign(size_t{1} << kPartBits, 0);
    for_each_value(all, [&](int64_t value) {
      if (value >= from && value <= to) ++counts[(static_cast<uint64_t>(value) - static_cast<uint64_t>(from)) >> shift];
    });
    size_t part = 0;
    while (place >= counts[part]) place -= counts[part++];
    inside = counts[part];
    const uint64_t begin = static_cast<uint64_t>(from) + (static_cast<uint64_t>(part) << shift);
    const uint64_t last = begin + ((uint64_t{1} << shift) - 1);
    // the last part may end beyond the range
    if (last - static_cast<uint64_t>(from) < width) to = static_cast<int64_t>(last);
    from = static_cast<int64_t>(begin);
  }
  if (from >= to) return from;
  std::vector<int64_t> few;
  few.reserve(static_cast<size_t>(inside));
  for_each_value(all, [&](int64_t value) {
    if (value >= from && value <= to) few.push_back(value);
  });
  std::nth_element(few.begin(), few.begin() + place, few.end());
  return few[static_cast<size_t>(place)];
}

// The most frequent value; of several the first in order.
int64_t find_most_frequent(const OrderedValues& all, bool is_descending) {
  constexpr uint64_t kCountedMax = uint64_t{1} << 22;
  const uint64_t width = static_cast<uint64_t>(all.greatest) - static_cast<uint64_t>(all.least);
  std::vector<std::pair<int64_t, int64_t>> runs;  // value, how often
  if (width < kCountedMax) {
    std::vector<int64_t> counts(width + 1, 0);
    for_each_value(all,
                   [&](int64_t value) { ++counts[static_cast<uint64_t>(value) - static_cast<uint64_t>(all.least)]; });
    for (uint64_t i = 0; i <= width; ++i)
      if (counts[i] > 0) runs.emplace_back(all.least + static_cast<int64_t>(i), counts[i]);
  } else {
    std::vector<int64_t> values;
    values.reserve(static_cast<size_t>(all.count));
    for_each_value(all, [&](int64_t value) { values.push_back(value); });
    std::sort(values.begin(), values.end());
    for (const int64_t value : values) {
      if (runs.empty() || runs.back().first != value) runs.emplace_back(value, 0);
      ++runs.back().second;
    }
  }
  std::pair<int64_t, int64_t> best = runs.front();
  for (const auto& run : runs)
    if (run.second > best.second || (is_descending && run.second == best.second)) best = run;
  return best.first;
}

// One percentile. is_descending: of the values in descending order.
int32_t find_of_values(ExecContext* c, AggregateKind which, const OrderedValues& all, const SqlType& type,
                       bool is_descending, double fraction, Datum* out) {
  const auto value = [&](double row) {
    const auto place = static_cast<int64_t>(row);
    return value_of_key(type, select_value(all, is_descending ? all.count - 1 - place : place));
  };
  return pick_percentile(c, which, type, static_cast<double>(all.count), fraction, value, out);
}

}  // namespace

extern "C" {

int32_t rt_ordered_begin(ExecContext* c, void* state, const Datum* fraction, const SqlType* type) noexcept {
  char* memory = c->scratch->allocate(sizeof(OrderedValues));
  if (memory == nullptr) return fail_memory(c);
  auto* all = new (memory) OrderedValues();
  *static_cast<OrderedValues**>(state) = all;
  if (fraction == nullptr) return 0;
  if (int32_t failed = rt_rows_create(c, type, 1); failed != 0) return failed;
  all->fraction = reinterpret_cast<RowBuffer*>(c->value[0]);
  return rt_rows_append(c, all->fraction, fraction);
}

int32_t rt_ordered_add(ExecContext* c, void* state, const Datum* value, const SqlType* type) noexcept {
  OrderedValues& all = **static_cast<OrderedValues**>(state);
  if (all.last == nullptr || all.last->count == all.last->capacity) {
    const int64_t capacity = all.last == nullptr ? kFirstBlock : std::min(kLargestBlock, all.last->capacity * 2);
    char* memory = c->scratch->allocate(sizeof(ValueBlock) + static_cast<size_t>(capacity) * sizeof(int64_t));
    if (memory == nullptr) return fail_memory(c);
    all.last = new (memory) ValueBlock{all.last, 0, capacity};
  }
  const int64_t key = order_key(*type, *value);
  all.last->values()[all.last->count++] = key;
  ++all.count;
  all.least = std::min(all.least, key);
  all.greatest = std::max(all.greatest, key);
  return 0;
}

// descending: of the values' order. state: zeros where rt_ordered_begin() was never called.
int32_t rt_ordered_finish(ExecContext* c, const void* state, int64_t kind, const SqlType* type, int64_t descending,
                          Datum* out) noexcept {
  *out = null_datum();
  const auto* all = *static_cast<const OrderedValues* const*>(state);
  if (all == nullptr) return 0;
  const auto which = static_cast<AggregateKind>(kind);
  if (which == AggregateKind::kMode) return *out = value_of_key(*type, find_most_frequent(*all, descending != 0)), 0;
  const auto find = [&](double fraction, Datum* value) {
    return find_of_values(c, which, *all, *type, descending != 0, fraction, value);
  };
  return find_percentiles(c, which, *type, all->fraction->rows[0], all->fraction->types[0], find, out);
}

}  // extern "C"

}  // namespace scyper::query
