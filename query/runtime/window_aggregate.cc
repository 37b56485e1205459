#include <algorithm>
#include <cstring>

#include "codegen/aggregate_state.h"
#include "runtime/memory.h"
#include "runtime/window_frame.h"
#include "types/datum_text.h"
#include "types/decimal.h"

// Aggregates over frames: what generated code asks for each row.
namespace scyper::query {

namespace {

template <class T>
bool reserve(ExecContext* c, T** items, int64_t* capacity, int64_t wanted) {
  if (wanted <= *capacity) return true;
  int64_t room = std::max(wanted, *capacity * 2);
  char* memory = c->scratch->allocate(static_cast<size_t>(room) * sizeof(T));
  if (memory == nullptr) return false;
  *items = reinterpret_cast<T*>(memory);
  *capacity = room;
  return true;
}

bool counts_in(const WindowSpec& spec, const char* tuple) {
  if (spec.filter.offset >= 0 && tuple[spec.filter.offset] == 0) return false;
  return spec.value.offset < 0 || !is_null(spec.value, tuple);
}

// Sums of whole prefixes that do not fit mean that a frame's sum may not: an error, never a wrong sum.
int32_t make_sums(ExecContext* c, WindowRun* run, const WindowSpec& spec) {
  int64_t capacity = run->sum_capacity;
  if (!reserve(c, &run->sums, &capacity, run->count + 1)) return fail_memory(c);
  if (!reserve(c, &run->counts, &run->sum_capacity, run->count + 1)) return fail_memory(c);
  __int128 sum = 0;
  int64_t count = 0;
  run->sums[0] = 0;
  run->counts[0] = 0;
  for (int64_t row = 0; row < run->count; row++) {
    if (int32_t outcome = poll_at(c, row); outcome != 0) return outcome;
    const char* tuple = run->partition[row];
    if (counts_in(spec, tuple)) {
      count++;
      if (spec.counts_only == 0 && __builtin_add_overflow(sum, load_window_field(spec.value, tuple).int128(), &sum))
        return c->fail(error_status(ValueError::kNumericOverflow));
    }
    run->sums[row + 1] = sum;
    run->counts[row + 1] = count;
  }
  return 0;
}

int64_t better(const WindowRun& run, const WindowSpec& spec, int64_t a, int64_t b) {
  if (a < 0 || b < 0) return std::max(a, b);
  int order = compare_datums(spec.value.type, load_window_field(spec.value, run.partition[a]),
                             load_window_field(spec.value, run.partition[b]));
  if (order == 0) return spec.takes_last != 0 ? std::max(a, b) : std::min(a, b);
  return (order < 0) == (spec.smallest != 0) ? a : b;
}

int64_t leaf(const WindowRun& run, const WindowSpec& spec, int64_t row) {
  return counts_in(spec, run.partition[row]) ? row : -1;
}

int32_t make_tree(ExecContext* c, WindowRun* run, const WindowSpec& spec) {
  int64_t leaves = 1;
  while (leaves < run->count) leaves *= 2;
  if (!reserve(c, &run->tree, &run->tree_capacity, leaves * 2)) return fail_memory(c);
  run->tree_leaves = leaves;
  for (int64_t i = 0; i < leaves; i++) {
    if (int32_t outcome = poll_at(c, i); outcome != 0) return outcome;
    run->tree[leaves + i] = i < run->count ? leaf(*run, spec, i) : -1;
  }
  for (int64_t i = leaves - 1; i > 0; i--) {
    if (int32_t outcome = poll_at(c, i); outcome != 0) return outcome;
    run->tree[i] = better(*run, spec, run->tree[2 * i], run->tree[2 * i + 1]);
  }
  return 0;
}

int64_t find_winner(const WindowRun& run, const WindowSpec& spec, int64_t begin, int64_t end) {
  int64_t winner = -1;
  for (int64_t l = begin + run.tree_leaves, r = end + run.tree_leaves; l < r; l /= 2, r /= 2) {
    if (l % 2 != 0) winner = better(run, spec, winner, run.tree[l++]);
    if (r % 2 != 0) winner = better(run, spec, winner, run.tree[--r]);
  }
  return winner;
}

// Frames that only grow need no tree.
bool only_grows(const FrameShape& frame) {
  return frame.start == FrameBound::kUnboundedPreceding && frame.exclusion == FrameExclusion::kNone;
}

extern "C" {

int32_t rt_window_aggregate(ExecContext* c, WindowRun* run, const WindowSpec* spec, int64_t method) noexcept {
  run->spec = spec;
  run->has_last = false;
  run->winner = -1;
  if (int32_t failed = find_frames(c, run, *spec); failed != 0) return failed;
  switch (static_cast<WindowMethod>(method)) {
    case WindowMethod::kStep:
      return 0;
    case WindowMethod::kSum:
      return make_sums(c, run, *spec);
    case WindowMethod::kExtreme:
      return only_grows(spec->frame) ? 0 : make_tree(c, run, *spec);
  }
  return 0;
}

int64_t rt_window_row(WindowRun* run, int64_t row) noexcept {
  WindowRun::Ranges ranges = frame_ranges(*run, *run->spec, row);
  bool had_last = std::exchange(run->has_last, true);
  WindowRun::Ranges last = std::exchange(run->last, ranges);
  bool same = had_last && last.count == ranges.count;
  for (int64_t i = 0; same && i < ranges.count; i++)
    same = last.begin[i] == ranges.begin[i] && last.end[i] == ranges.end[i];
  if (same) return kSameFrame;
  bool grew = had_last && last.count == 1 && ranges.count == 1 && last.begin[0] == ranges.begin[0] &&
              last.end[0] < ranges.end[0];
  if (grew) ranges.begin[0] = last.end[0];
  for (int64_t i = 0; i < WindowRun::kRanges; i++) {
    run->range_begin[i] = i < ranges.count ? ranges.begin[i] : 0;
    run->range_end[i] = i < ranges.count ? ranges.end[i] : 0;
  }
  return grew ? kFrameGrew : kNewFrame;
}

void rt_window_sum(const WindowRun* run, int64_t /*row*/, char* state) noexcept {
  unsigned __int128 sum = 0;
  int64_t count = 0;
  for (int64_t i = 0; i < run->last.count; i++) {
    sum += static_cast<unsigned __int128>(run->sums[run->last.end[i]]) -
           static_cast<unsigned __int128>(run->sums[run->last.begin[i]]);
    count += run->counts[run->last.end[i]] - run->counts[run->last.begin[i]];
  }
  std::memcpy(state, &sum, sizeof sum);
  std::memcpy(state + kAggregateCount, &count, sizeof count);
}

int32_t rt_window_extreme(ExecContext* c, WindowRun* run, char* state) noexcept {
  const WindowSpec& spec = *run->spec;
  if (only_grows(spec.frame)) {  // range 0 is what was added
    for (int64_t i = run->range_begin[0]; i < run->range_end[0]; i++) {
      if (int32_t outcome = poll_at(c, i); outcome != 0) return outcome;
      run->winner = better(*run, spec, run->winner, leaf(*run, spec, i));
    }
  } else {
    run->winner = -1;
    for (int64_t i = 0; i < run->last.count; i++)
      run->winner = better(*run, spec, run->winner, find_winner(*run, spec, run->last.begin[i], run->last.end[i]));
  }
  int64_t count = run->winner >= 0 ? 1 : 0;
  Datum value = count != 0 ? load_window_field(spec.value, run->partition[run->winner]) : null_datum();
  value.null = 0;
  std::memcpy(state, &value, sizeof value);
  std::memcpy(state + kAggregateCount, &count, sizeof count);
  return 0;
}

}  // extern "C"

}  // namespace

#define SCYPER_DEFINE_RUNTIME(name, result, words, pure) \
  const ir::External k_##name{#name, reinterpret_cast<void*>(&name), ir::Type::result, words, pure};
SCYPER_WINDOW_AGGREGATES(SCYPER_DEFINE_RUNTIME)
#undef SCYPER_DEFINE_RUNTIME

}  // namespace scyper::query
