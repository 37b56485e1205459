#include "runtime/column_bounds.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <span>
#include <type_traits>

#include "bind/builtins.h"
#include "runtime/scan_conditions.h"
#include "runtime/team.h"
#include "storage/frozen_slot.h"

namespace scyper::query {

using storage::ChunkHeader;
using storage::TablePartition;

namespace {

// Without branches, so that the compiler makes vectors of it where cells lie side by side. `used`: positions that
// count.
template <class T>
void read_cells(const char* chunk, uint32_t used, const storage::TableLayout& layout,
                const storage::ColumnAccess& access, int64_t* least, int64_t* largest) {
  const char* live = chunk + layout.live_offset;
  T low = std::numeric_limits<T>::max(), high = std::numeric_limits<T>::min();
  auto read = [&](auto stride, const char* nulls, uint32_t null_stride) {
    for (uint32_t i = 0; i < used; i++) {
      T value;
      std::memcpy(&value, chunk + access.value_offset + size_t{i} * stride, sizeof value);
      const bool counts = live[i] == 1 && (nulls == nullptr || nulls[size_t{i} * null_stride] == 0);
      low = std::min(low, counts ? value : low);
      high = std::max(high, counts ? value : high);
    }
  };
  const char* nulls = access.null_offset == 0 ? nullptr : chunk + access.null_offset;
  if (access.value_stride != sizeof(T)) {
    read(access.value_stride, nulls, access.null_stride);
  } else if (nulls == nullptr) {
    read(std::integral_constant<uint32_t, sizeof(T)>(), nullptr, 0);
  } else {
    read(std::integral_constant<uint32_t, sizeof(T)>(), nulls, 1);
  }
  *least = low;
  *largest = high;
}

// Has none of the positions a value of the span? Then also the least and largest ones. Returns as soon as there is one.
template <class T>
bool lacks_values(const char* chunk, uint32_t used, const storage::TableLayout& layout,
                  const storage::ColumnAccess& access, ColumnBounds::Span span, ColumnBounds::Span* bounds) {
  constexpr uint32_t kStep = 1024, kSamples = 16;
  using Limits = std::numeric_limits<T>;
  const T low = static_cast<T>(std::clamp<int64_t>(span.low, Limits::min(), Limits::max()));
  const T high = static_cast<T>(std::clamp<int64_t>(span.high, Limits::min(), Limits::max()));
  const bool is_beyond = span.low > Limits::max() || span.high < Limits::min() || span.low > span.high;
  const char* live = chunk + layout.live_offset;
  const char* nulls = access.null_offset == 0 ? nullptr : chunk + access.null_offset;
  T least = Limits::max(), largest = Limits::min();
  auto has = [&](uint32_t begin, uint32_t end, uint32_t step, auto stride) {
    bool found = false;
    for (uint32_t i = begin; i < end; i += step) {
      T value;
      std::memcpy(&value, chunk + access.value_offset + size_t{i} * stride, sizeof value);
      const bool counts = live[i] == 1 && (nulls == nullptr || nulls[size_t{i} * access.null_stride] == 0);
      least = std::min(least, counts ? value : least);
      largest = std::max(largest, counts ? value : largest);
      found |= counts && value >= low && value <= high;
    }
    return found && !is_beyond;
  };
  // most chunks that have one show it at once
  if (has(0, used, std::max(1u, used / kSamples), access.value_stride)) return false;
  const std::integral_constant<uint32_t, sizeof(T)> dense;
  for (uint32_t begin = 0; begin < used; begin += kStep) {
    const uint32_t end = std::min(used, begin + kStep);
    if (access.value_stride == sizeof(T) ? has(begin, end, 1, dense) : has(begin, end, 1, access.value_stride))
      return false;
  }
  *bounds = {least, largest};
  return true;
}

// Are there values of the two ranges, as far as they are known, that pass?
bool may_hold(BuiltinOp op, int64_t left_least, int64_t left_largest, int64_t right_least, int64_t right_largest) {
  switch (op) {
    case BuiltinOp::kLess:
      return left_least < right_largest;
    case BuiltinOp::kLessEqual:
      return left_least <= right_largest;
    case BuiltinOp::kGreater:
      return left_largest > right_least;
    case BuiltinOp::kGreaterEqual:
      return left_largest >= right_least;
    case BuiltinOp::kEqual:
      return left_least <= right_largest && right_least <= left_largest;
    default:
      return true;
  }
}

// Of all that was in the chunk when it was frozen: bounds of what is there today.
std::pair<int64_t, int64_t> bounds_of_frozen(const storage::Table& table, const storage::FrozenSlot& slot,
                                             uint32_t column) {
  const storage::FrozenVector vector =
      storage::FrozenChunk(slot.image, &table.frozen_store()->dictionaries).head(column);
  const Datum least = vector.min(), largest = vector.max();
  if (least.null) return {INT64_MAX, INT64_MIN};  // NULLs only
  return {least.lo, largest.lo};
}

}  // namespace

void ColumnBounds::Range::add(std::pair<int64_t, int64_t> bounds) {
  if (bounds.first > bounds.second) return;  // NULLs only
  is_empty = false;
  least = std::min(least, bounds.first);
  largest = std::max(largest, bounds.second);
}

ColumnBounds::Range* ColumnBounds::open(Partitions partitions, uint32_t column) {
  std::lock_guard<std::mutex> lock(mutex_);
  auto [it, fresh] = ranges_.try_emplace({partitions[0]->table, column});
  if (fresh) it->second.chunks_left = partitions[0]->chunk_count;
  return &it->second;
}

// One chunk, the newest of those that are left of a partition.
void ColumnBounds::read_more(Partitions partitions, uint32_t column, Range* range) {
  const storage::Table& table = *partitions[0]->table;
  while (range->chunks_left == 0) {
    if (++range->partition >= table.partition_count()) {
      range->is_complete = true;
      return;
    }
    range->chunks_left = partitions[range->partition]->chunk_count;
  }
  range->chunks_left--;
  chunks_read_++;
  const TablePartition& partition = *partitions[range->partition];
  const uint64_t first = uint64_t{range->chunks_left} << storage::kChunkShift;
  const char* chunk = partition.chunks[range->chunks_left];
  if (const storage::FrozenSlot* slot = storage::slot_of(&partition, first); slot != nullptr) {
    if (slot->image != nullptr) return range->add(bounds_of_frozen(table, *slot, column));
    chunk = slot->chunk;
  }
  if (chunk == nullptr || reinterpret_cast<const ChunkHeader*>(chunk)->live == 0) return;
  const storage::ColumnAccess& access = table.layout().columns[column];
  const uint64_t behind = partition.tuple_limit > first ? partition.tuple_limit - first : 0;
  const auto used = static_cast<uint32_t>(std::min<uint64_t>(behind, storage::kChunkTuples));
  int64_t least = INT64_MAX, largest = INT64_MIN;
  if (access.kind == storage::CellKind::kInt64)
    read_cells<int64_t>(chunk, used, table.layout(), access, &least, &largest);
  else if (access.kind == storage::CellKind::kInt32)
    read_cells<int32_t>(chunk, used, table.layout(), access, &least, &largest);
  else
    read_cells<int16_t>(chunk, used, table.layout(), access, &least, &largest);
  range->add({least, largest});
}

bool ColumnBounds::exclude(const ExecContext& context, const ColumnComparison& comparison) noexcept {
  const bool is_constant = comparison.right_table < 0;
  const Partitions left_table = context.tables[comparison.left_table];
  const Partitions right_table = is_constant ? nullptr : context.tables[comparison.right_table];
  const auto left_column = static_cast<uint32_t>(comparison.left_column);
  const auto right_column = static_cast<uint32_t>(comparison.right_column);
  Range constant;
  constant.least = constant.largest = comparison.constant;
  constant.is_empty = false;
  constant.is_complete = true;
  Range* left = open(left_table, left_column);
  Range* right = is_constant ? &constant : open(right_table, right_column);
  while (!context.is_interrupted()) {
    std::lock_guard<std::mutex> lock(mutex_);
    const bool has_values = !left->is_empty && !right->is_empty;
    if (has_values &&
        may_hold(static_cast<BuiltinOp>(comparison.op), left->least, left->largest, right->least, right->largest))
      return false;
    if (left->is_complete && right->is_complete) return true;
    // in turns, so that what refutes it is soon found on either side
    if (!left->is_complete) read_more(left_table, left_column, left);
    if (!right->is_complete) read_more(right_table, right_column, right);
  }
  return false;
}

bool ColumnBounds::has_value(ColumnBounds* bounds, const TablePartition& partition, storage::Tid first, uint32_t column,
                             Span span) noexcept {
  const storage::TableLayout& layout = partition.table->layout();
  const storage::ColumnAccess& access = layout.columns[column];
  const uint64_t number = first >> storage::kChunkShift;
  if (bounds != nullptr) {
    std::lock_guard<std::mutex> lock(bounds->mutex_);
    const auto& known = bounds->chunks_[{&partition, column}];
    if (auto it = known.find(number); it != known.end())
      return it->second.low <= span.high && it->second.high >= span.low;
  }
  const char* chunk = partition.chunks[number];
  const uint64_t behind = partition.tuple_limit > first ? partition.tuple_limit - first : 0;
  const auto used = static_cast<uint32_t>(std::min<uint64_t>(behind, storage::kChunkTuples));
  Span whole;
  bool lacks = false;
  if (access.kind == storage::CellKind::kInt64)
    lacks = lacks_values<int64_t>(chunk, used, layout, access, span, &whole);
  else if (access.kind == storage::CellKind::kInt32)
    lacks = lacks_values<int32_t>(chunk, used, layout, access, span, &whole);
  else if (access.kind == storage::CellKind::kInt16)
    lacks = lacks_values<int16_t>(chunk, used, layout, access, span, &whole);
  if (!lacks || bounds == nullptr) return !lacks;
  std::lock_guard<std::mutex> lock(bounds->mutex_);
  bounds->chunks_read_++;
  bounds->chunks_[{&partition, column}][number] = whole;
  return false;
}

void ColumnBounds::count_skipped() {
  std::lock_guard<std::mutex> lock(mutex_);
  chunks_skipped_++;
}

namespace {

// What a range of an integer column lets through.
ColumnBounds::Span span_of(const storage::FrozenPredicate& predicate) {
  __int128 low = INT64_MIN, high = INT64_MAX;
  if (!predicate.low.null) low = predicate.low.int128() + (predicate.low_included ? 0 : 1);
  if (!predicate.high.null) high = predicate.high.int128() - (predicate.high_included ? 0 : 1);
  low = std::max<__int128>(low, INT64_MIN);
  high = std::min<__int128>(high, INT64_MAX);
  if (low > high) return {1, 0};
  return {static_cast<int64_t>(low), static_cast<int64_t>(high)};
}

bool can_hold(const storage::ColumnCondition& condition, const TablePartition& partition, storage::Tid first) {
  const storage::CellKind kind = partition.table->layout().columns[condition.column].kind;
  const bool is_integer =
      kind == storage::CellKind::kInt16 || kind == storage::CellKind::kInt32 || kind == storage::CellKind::kInt64;
  if (!is_integer || condition.predicate.kind != storage::FrozenPredicate::Kind::kRange) return true;
  return ColumnBounds::has_value(ColumnBounds::current, partition, first, condition.column,
                                 span_of(condition.predicate));
}

// All must, of alternatives one.
bool can_all_hold(std::span<const storage::ColumnCondition> conditions, const TablePartition& partition,
                  storage::Tid first) {
  bool one = false;
  for (const storage::ColumnCondition& condition : conditions) {
    one = one || can_hold(condition, partition, first);
    if (condition.has_alternative) continue;
    if (!one) return false;
    one = false;
  }
  return true;
}

extern "C" {

int32_t rt_chunk_excluded(ExecContext* c, const TablePartition* partition, int64_t first,
                          const ChunkCondition* conditions, int64_t count, const Datum* bounds) noexcept {
  static thread_local std::vector<storage::ColumnCondition> read;
  const bool is_possible =
      read_conditions(std::span(conditions, static_cast<size_t>(count)), bounds, partition->table->schema(), &read) &&
      can_all_hold(read, *partition, static_cast<storage::Tid>(first));
  c->value[0] = is_possible ? 0 : 1;
  if (!is_possible && ColumnBounds::current != nullptr) ColumnBounds::current->count_skipped();
  return 0;
}

// Members of a team all go by what the first one found.
int32_t rt_bounds_exclude(ExecContext* c, const ColumnComparison* tests, int64_t count, int64_t together) noexcept {
  bool excluded = false;
  const bool is_team = together != 0 && c->team != nullptr;
  ColumnBounds* const bounds = ColumnBounds::current;  // the team's first member is who began the query
  if (bounds != nullptr && (!is_team || c->thread == 0))
    for (const ColumnComparison& test : std::span(tests, static_cast<size_t>(count)))
      excluded = excluded || bounds->exclude(*c, test);
  if (is_team) {
    void* const* all = c->team->exchange(c, excluded ? c : nullptr);
    if (all == nullptr) return fail_meeting(c);
    excluded = all[0] != nullptr;
  }
  c->value[0] = excluded ? 1 : 0;
  return 0;
}

}  // extern "C"

}  // namespace

#define SCYPER_DEFINE_RUNTIME(name, result, words, pure) \
  const ir::External k_##name{#name, reinterpret_cast<void*>(&name), ir::Type::result, words, pure};
SCYPER_BOUNDS_FUNCTIONS(SCYPER_DEFINE_RUNTIME)
#undef SCYPER_DEFINE_RUNTIME

}  // namespace scyper::query
