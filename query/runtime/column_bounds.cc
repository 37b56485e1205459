#include "runtime/column_bounds.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <span>
#include <type_traits>

#include "bind/builtins.h"
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
      storage::FrozenChunk(slot.image, &table.frozen_store()->dictionaries).column(column);
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

namespace {

extern "C" {

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
