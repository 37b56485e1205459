#include "runtime/window.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "runtime/memory.h"
#include "runtime/spill_space.h"
#include "runtime/tuple_fields.h"
#include "runtime/tuple_sort.h"
#include "runtime/window_frame.h"
#include "types/datum_text.h"

// Partitions, peers, ranks, and values of other rows.
namespace scyper::query {

namespace {

bool reserve_rows(ExecContext* c, WindowRun* run) {
  if (run->count <= run->capacity) return true;
  int64_t room = std::max(run->count, run->capacity * 2);
  for (int64_t** items :
       {&run->peer_begin, &run->peer_end, &run->group, &run->group_begin, &run->frame_begin, &run->frame_end}) {
    char* memory = c->scratch->allocate(static_cast<size_t>(room) * sizeof(int64_t));
    if (memory == nullptr) return false;
    *items = reinterpret_cast<int64_t*>(memory);
  }
  run->capacity = room;
  return true;
}

int32_t find_peers(ExecContext* c, WindowRun* run) {
  const TupleSortKey* keys = run->keys + run->partition_keys;
  run->groups = 0;
  for (int64_t row = 0; row < run->count; row++) {
    if (int32_t outcome = poll_at(c, row); outcome != 0) return outcome;
    bool fresh = row == 0 || !same_keys(keys, run->order_keys, run->partition[row - 1], run->partition[row]);
    if (fresh) run->group_begin[run->groups++] = row;
    run->group[row] = run->groups - 1;
    run->peer_begin[row] = run->group_begin[run->groups - 1];
  }
  for (int64_t row = run->count; row-- > 0;) {
    int64_t next = run->group[row] + 1;
    run->peer_end[row] = next < run->groups ? run->group_begin[next] : run->count;
  }
  return 0;
}

void put(const WindowSpec& spec, char* tuple, int64_t value) {
  tuple[spec.result.null_offset] = 0;
  if (spec.result.bytes == 4) {
    auto narrow = static_cast<int32_t>(value);
    std::memcpy(tuple + spec.result.offset, &narrow, sizeof narrow);
  } else {
    std::memcpy(tuple + spec.result.offset, &value, sizeof value);
  }
}
void put(const WindowSpec& spec, char* tuple, double value) { put(spec, tuple, __builtin_bit_cast(int64_t, value)); }
void put_null(const WindowSpec& spec, char* tuple) {
  std::memset(tuple + spec.result.offset, 0, static_cast<size_t>(spec.result.bytes));
  tuple[spec.result.null_offset] = 1;
}
void copy(const WindowSpec& spec, char* to, const WindowField& field, const char* from) {
  if (is_null(field, from)) return put_null(spec, to);
  std::memcpy(to + spec.result.offset, from + field.offset, static_cast<size_t>(field.bytes));
  to[spec.result.null_offset] = 0;
}

int32_t put_ranks(ExecContext* c, const WindowRun& run, const WindowSpec& spec) {
  double rows = static_cast<double>(run.count);
  for (int64_t row = 0; row < run.count; row++) {
    if (int32_t outcome = poll_at(c, row); outcome != 0) return outcome;
    char* tuple = run.partition[row];
    switch (spec.kind) {
      case WindowKind::kRowNumber:
        put(spec, tuple, row + 1);
        break;
      case WindowKind::kRank:
        put(spec, tuple, run.peer_begin[row] + 1);
        break;
      case WindowKind::kDenseRank:
        put(spec, tuple, run.group[row] + 1);
        break;
      case WindowKind::kPercentRank:
        put(spec, tuple, run.count == 1 ? 0.0 : static_cast<double>(run.peer_begin[row]) / (rows - 1));
        break;
      default:
        put(spec, tuple, static_cast<double>(run.peer_end[row]) / rows);
        break;
    }
  }
  return 0;
}

// The number of buckets is that of the partition's first row.
int32_t put_tiles(ExecContext* c, const WindowRun& run, const WindowSpec& spec) {
  if (is_null(spec.number, run.partition[0])) {
    for (int64_t row = 0; row < run.count; row++) put_null(spec, run.partition[row]);
    return 0;
  }
  int64_t tiles = load_window_field(spec.number, run.partition[0]).lo;
  if (tiles <= 0) return c->fail("22014", "argument of ntile must be greater than zero");
  int64_t size = run.count / tiles, larger = run.count % tiles;
  for (int64_t row = 0; row < run.count; row++) {
    int64_t in_larger = larger * (size + 1);
    int64_t tile = row < in_larger ? row / (size + 1) : larger + (row - in_larger) / std::max<int64_t>(1, size);
    put(spec, run.partition[row], tile + 1);
  }
  return 0;
}

int32_t put_neighbours(ExecContext* c, const WindowRun& run, const WindowSpec& spec) {
  for (int64_t row = 0; row < run.count; row++) {
    if (int32_t outcome = poll_at(c, row); outcome != 0) return outcome;
    char* tuple = run.partition[row];
    int64_t distance = 1;
    if (spec.number.offset >= 0) {
      if (is_null(spec.number, tuple)) {
        put_null(spec, tuple);
        continue;
      }
      distance = load_window_field(spec.number, tuple).lo;
    }
    int64_t other = spec.kind == WindowKind::kLag ? row - distance : row + distance;
    if (other >= 0 && other < run.count)
      copy(spec, tuple, spec.value, run.partition[other]);
    else if (spec.otherwise.offset >= 0)
      copy(spec, tuple, spec.otherwise, tuple);
    else
      put_null(spec, tuple);
  }
  return 0;
}

// The n-th row of a frame, -1: it has fewer.
int64_t find_nth(const WindowRun::Ranges& ranges, int64_t n) {
  for (int64_t i = 0; i < ranges.count; i++) {
    int64_t rows = ranges.end[i] - ranges.begin[i];
    if (n <= rows) return ranges.begin[i] + n - 1;
    n -= rows;
  }
  return -1;
}

int32_t put_frame_values(ExecContext* c, WindowRun* run, const WindowSpec& spec) {
  if (int32_t failed = find_frames(c, run, spec); failed != 0) return failed;
  for (int64_t row = 0; row < run->count; row++) {
    if (int32_t outcome = poll_at(c, row); outcome != 0) return outcome;
    char* tuple = run->partition[row];
    WindowRun::Ranges ranges = frame_ranges(*run, spec, row);
    int64_t n = 1;
    if (spec.kind == WindowKind::kNthValue) {
      if (is_null(spec.number, tuple)) {
        put_null(spec, tuple);
        continue;
      }
      n = load_window_field(spec.number, tuple).lo;
      if (n <= 0) return c->fail("22016", "argument of nth_value must be greater than zero");
    }
    int64_t other = spec.kind == WindowKind::kLastValue ? (ranges.count == 0 ? -1 : ranges.end[ranges.count - 1] - 1)
                                                        : find_nth(ranges, n);
    if (other < 0)
      put_null(spec, tuple);
    else
      copy(spec, tuple, spec.value, run->partition[other]);
  }
  return 0;
}

extern "C" {

int32_t rt_window_create(ExecContext* c, WindowRun* run, char** tuples, int64_t count, const TupleSortKey* keys,
                         int64_t partition_keys, int64_t order_keys) noexcept {
  if (run == nullptr) {
    char* memory = c->scratch->allocate(sizeof(WindowRun) + alignof(WindowRun));
    if (memory == nullptr) return fail_memory(c);
    run = new (memory) WindowRun();
  }
  run->next = 0;
  run->tuples = tuples;
  run->tuple_count = count;
  run->keys = keys;
  run->partition_keys = partition_keys;
  run->order_keys = order_keys;
  c->value[0] = reinterpret_cast<int64_t>(run);
  return 0;
}

int32_t rt_window_partition(ExecContext* c, WindowRun* run) noexcept {
  c->value[0] = run->next < run->tuple_count ? 1 : 0;
  if (run->next == run->tuple_count) return 0;
  int64_t begin = run->next, end = begin + 1;
  if (run->partition_keys == 0) {
    end = run->tuple_count;
  } else {
    while (end < run->tuple_count &&
           same_keys(run->keys, run->partition_keys, run->tuples[end - 1], run->tuples[end])) {
      if (int32_t outcome = poll_at(c, end); outcome != 0) return outcome;
      end++;
    }
  }
  run->partition = run->tuples + begin;
  run->count = end - begin;
  run->next = end;
  if (!reserve_rows(c, run)) return fail_memory(c);
  return find_peers(c, run);
}

int32_t rt_window_values(ExecContext* c, WindowRun* run, const WindowSpec* spec) noexcept {
  switch (spec->kind) {
    case WindowKind::kNtile:
      return put_tiles(c, *run, *spec);
    case WindowKind::kLag:
    case WindowKind::kLead:
      return put_neighbours(c, *run, *spec);
    case WindowKind::kFirstValue:
    case WindowKind::kLastValue:
    case WindowKind::kNthValue:
      return put_frame_values(c, run, *spec);
    default:
      return put_ranks(c, *run, *spec);
  }
}

}  // extern "C"

}  // namespace

#define SCYPER_DEFINE_RUNTIME(name, result, words, pure) \
  const ir::External k_##name{#name, reinterpret_cast<void*>(&name), ir::Type::result, words, pure};
SCYPER_WINDOW_VALUES(SCYPER_DEFINE_RUNTIME)
#undef SCYPER_DEFINE_RUNTIME

}  // namespace scyper::query
