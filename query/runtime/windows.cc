#include "runtime/windows.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "query/exec_context.h"
#include "query/program.h"
#include "runtime/memory.h"
#include "runtime/runtime.h"
#include "runtime/scan_conditions.h"
#include "runtime/scan_filters.h"
#include "runtime/scan_samples.h"
#include "storage/change_log.h"
#include "storage/chunk_cursor.h"
#include "storage/frozen_slot.h"
#include "storage/hot_view_learner.h"
#include "storage/hot_views.h"
#include "storage/neighbour_reader.h"
#include "storage/tiered_chunk.h"

namespace scyper::query {

using storage::TablePartition;
using storage::Tid;

Tid present_tid(const ExecContext* c, const TablePartition* partition, Tid tid) noexcept {
  if (storage::is_live(partition, tid) || c->log == nullptr) return tid;
  for (const storage::UndoEntry* entry = c->log->top(); entry != nullptr; entry = entry->previous)
    if (entry->kind == storage::UndoEntry::Kind::kRelocate && entry->partition == partition && entry->from == tid)
      return entry->tid;
  return tid;
}

namespace {

constexpr size_t kKeptChunks = 32;  // of one scan

// How one scan reads chunks that are frozen, piece by piece. In a loop it comes by the same ones again and again: from
// the second round on it keeps what it has decoded of the first of them.
class WindowScan {
 public:
  // Begins with a chunk. False: no address space.
  bool open(const TablePartition* partition, const storage::FrozenSlot& slot, const ChunkOpening& opening,
            std::span<const storage::ColumnCondition> conditions) noexcept;
  // Of the chunk that is opened next.
  ScanFilters& filters() { return filters_; }
  storage::ChunkCursor::Piece next(WindowCounts* counts) noexcept;
  // Why there was no piece, if not because no row is left.
  const Status& status() const { return (kept_now_ == nullptr ? passing_vectors_ : kept_now_->vectors).status(); }
  // A statement begins.
  void begin() noexcept {
    forget();
    noted_ = nullptr;
  }
  // Whether it is the first time in the statement.
  bool note(const ChunkOpening& opening) noexcept { return std::exchange(noted_, &opening) != &opening; }
  // What is decoded may change: images go and others come to their places.
  void forget() noexcept {
    opening_ = nullptr;
    first_ = nullptr;
    is_repeated_ = false;
    kept_now_ = nullptr;
    kept_.clear();
  }

 private:
  // What a window holds of an image, which stays what it is while a statement runs.
  struct Decoded {
    const char* image = nullptr;
    uint32_t pieces = 0;
    storage::ChunkWindow window;
    storage::VectorReader vectors;  // texts of the window may point there
  };
  Decoded* find(const char* image) noexcept;

  storage::ChunkCursor cursor_;
  ScanFilters filters_;
  const ChunkOpening* opening_ = nullptr;  // programs that run one after the other have other columns
  const ChunkOpening* noted_ = nullptr;    // note_scan()
  Decoded* kept_now_ = nullptr;
  bool is_first_ = false;        // piece of the chunk
  const char* first_ = nullptr;  // image
  bool is_repeated_ = false;
  storage::ChunkWindow passing_;
  storage::VectorReader passing_vectors_;
  std::vector<Decoded> kept_;
};

WindowScan::Decoded* WindowScan::find(const char* image) noexcept {
  for (Decoded& decoded : kept_)
    if (decoded.image == image) return &decoded;
  if (kept_.size() == kKeptChunks) return nullptr;
  kept_.emplace_back().image = image;
  return &kept_.back();
}

bool WindowScan::open(const TablePartition* partition, const storage::FrozenSlot& slot, const ChunkOpening& opening,
                      std::span<const storage::ColumnCondition> conditions) noexcept {
  if (opening_ != &opening) forget();
  opening_ = &opening;
  is_repeated_ |= first_ == slot.image;
  if (first_ == nullptr) first_ = slot.image;
  kept_now_ = is_repeated_ ? find(slot.image) : nullptr;
  char* window = (kept_now_ == nullptr ? passing_ : kept_now_->window).get(partition->table->layout().chunk_bytes);
  if (window == nullptr) return false;
  cursor_.open(partition, slot, {opening.columns, conditions, filters_.is_empty() ? nullptr : &filters_}, window,
               kept_now_ == nullptr ? nullptr : &kept_now_->pieces,
               kept_now_ == nullptr ? &passing_vectors_ : &kept_now_->vectors);
  is_first_ = true;
  return true;
}

storage::ChunkCursor::Piece WindowScan::next(WindowCounts* counts) noexcept {
  const uint32_t had = kept_now_ == nullptr ? 0 : kept_now_->pieces;
  const storage::ChunkCursor::Piece piece = cursor_.next();
  if (piece.chunk != nullptr) {
    const bool was_kept = kept_now_ != nullptr && kept_now_->pieces == had;
    ++(was_kept ? counts->kept : counts->decoded);
  } else if (is_first_) {
    ++counts->skipped;
  }
  is_first_ = false;
  return piece;
}

}  // namespace

// The windows of one thread: routines that a program calls have others than itself. Owner: ExecContext.
class ChunkWindows {
 public:
  // Tuples of one table. nullptr: no address space.
  char* get(uint32_t depth, uint32_t number, const Program* program, size_t chunk_bytes) noexcept {
    Place& own = place(depth, number);
    if (own.program != program) {
      own.program = program;
      own.neighbours.clear();
    }
    return own.tuples.get(chunk_bytes);
  }
  storage::NeighbourReader& neighbours(uint32_t depth, const ChunkOpening& opening) {
    std::vector<storage::NeighbourReader>& all = place(depth, opening.window).neighbours;
    const size_t number = opening.place / storage::NeighbourReader::kAtOnce;
    if (all.size() <= number) all.resize(number + 1);
    return all[number];
  }
  WindowScan& scan(uint32_t depth, uint32_t number) noexcept {
    std::unique_ptr<WindowScan>& scan = place(depth, number).scan;
    if (scan == nullptr) scan = std::make_unique<WindowScan>();
    return *scan;
  }
  storage::TupleTexts* texts(uint32_t depth, uint32_t number, uint32_t tuple) {
    std::vector<storage::TupleTexts>& all = place(depth, number).texts;
    if (all.size() <= tuple) all.resize(tuple + 1);
    return &all[tuple];
  }
  // Of the chunk at hand.
  std::vector<storage::ColumnCondition>& conditions() { return conditions_; }
  WindowCounts& counts() { return counts_; }
  // Scans of a statement that are still to be noted.
  size_t& notes_left() { return notes_left_; }
  void forget_scans() noexcept {
    notes_left_ = ScanSamples::kMax;
    for (std::vector<Place>& own : places_)
      for (Place& place : own) {
        place.neighbours.clear();
        if (place.scan != nullptr) place.scan->begin();
      }
  }

 private:
  struct Place {
    storage::ChunkWindow tuples;
    const Program* program = nullptr;                  // whose tuples there are
    std::vector<storage::NeighbourReader> neighbours;  // by opening of the table
    std::vector<storage::TupleTexts> texts;            // by tuple; of those in the tier
    std::unique_ptr<WindowScan> scan;
  };
  Place& place(uint32_t depth, uint32_t number) noexcept {
    if (places_.size() <= depth) places_.resize(depth + 1);
    std::vector<Place>& own = places_[depth];
    if (own.size() <= number) own.resize(number + 1);
    return own[number];
  }

  std::vector<std::vector<Place>> places_;  // by depth of calls, by number in the program
  std::vector<storage::ColumnCondition> conditions_;
  WindowCounts counts_;
  size_t notes_left_ = ScanSamples::kMax;
};

WindowCounts window_counts(const ExecContext& c) noexcept {
  return c.windows == nullptr ? WindowCounts() : c.windows->counts();
}

void forget_scans(ExecContext* c) noexcept {
  if (c->windows != nullptr) c->windows->forget_scans();
}

namespace {

ChunkWindows& windows_of(ExecContext* c) noexcept {
  if (c->windows == nullptr) c->windows = std::make_shared<ChunkWindows>();
  return *c->windows;
}

// A bound as the column holds its values.
struct Bound {
  bool is_known = true;
  bool is_above = false;  // the value is above, by less than 1
  Datum value;
};

Bound scaled(__int128 number, int32_t scale, int32_t wanted) noexcept {
  for (; scale < wanted; ++scale)
    if (__builtin_mul_overflow(number, __int128{10}, &number)) return {false, false, {}};
  __int128 divisor = 1;
  for (; scale > wanted; --scale)
    if (__builtin_mul_overflow(divisor, __int128{10}, &divisor)) return {false, false, {}};
  __int128 whole = number / divisor;
  const bool has_rest = whole * divisor != number;
  if (has_rest && number < 0) --whole;
  return {true, has_rest, int128_datum(whole, wanted)};
}

Bound read_bound(ChunkBound form, const Datum& bound, int32_t scale) noexcept {
  switch (form) {
    case ChunkBound::kInteger:
      return scaled(bound.lo, 0, scale);
    case ChunkBound::kNumeric:  // below 0: no number of 128 bits
      return bound.scale < 0 ? Bound{false, false, {}} : scaled(bound.int128(), bound.scale, scale);
    default:
      return {true, false, bound};
  }
}

enum class Truth : uint8_t { kNever, kOfSome, kUnknown };

// NULL as a bound: no row passes.
Truth read_condition(const ChunkCondition& condition, const Datum* bounds, int32_t scale,
                     storage::FrozenPredicate* predicate) noexcept {
  predicate->kind = condition.kind;
  predicate->low_included = condition.low_included != 0;
  predicate->high_included = condition.high_included != 0;
  if (condition.low >= 0) {
    if (bounds[condition.low].null != 0) return Truth::kNever;
    const Bound low = read_bound(condition.bound, bounds[condition.low], scale);
    if (!low.is_known) return Truth::kUnknown;
    predicate->low = low.value;
    if (low.is_above) predicate->low_included = false;
  }
  if (condition.high >= 0) {
    if (bounds[condition.high].null != 0) return Truth::kNever;
    const Bound high = read_bound(condition.bound, bounds[condition.high], scale);
    if (!high.is_known) return Truth::kUnknown;
    predicate->high = high.value;
    if (high.is_above) predicate->high_included = true;
  }
  return Truth::kOfSome;
}

}  // namespace

bool read_conditions(std::span<const ChunkCondition> conditions, const Datum* bounds,
                     const storage::TableSchema& schema, std::vector<storage::ColumnCondition>* read) noexcept {
  read->clear();
  size_t term = 0;  // where it begins
  bool is_unknown = false;
  for (const ChunkCondition& condition : conditions) {
    storage::ColumnCondition one{condition.column, {}, true};
    const Truth truth = read_condition(condition, bounds, schema.columns[condition.column].type.scale, &one.predicate);
    is_unknown |= truth == Truth::kUnknown;
    if (truth == Truth::kOfSome) read->push_back(one);
    if (condition.has_alternative != 0) continue;
    if (is_unknown) {
      read->resize(term);
    } else if (read->size() == term) {
      return false;
    } else {
      read->back().has_alternative = false;
    }
    term = read->size();
    is_unknown = false;
  }
  return true;
}

namespace {

// What a scan asks, once a statement, for the views that are learned of it.
void note_scan(ChunkWindows* windows, WindowScan* scan, const storage::Table& table, const ChunkOpening& opening) {
  storage::HotViewLearner* learner = table.frozen_store()->learner.get();
  if (learner == nullptr || !scan->note(opening) || windows->notes_left() == 0) return;
  --windows->notes_left();
  ScanSamples* samples = ScanSamples::current;
  const auto transactions = storage::Workload::kTransactions;
  if (samples != nullptr ? !samples->wants(&opening) : !learner->wants(transactions)) return;
  storage::HotView asked = storage::make_sample(table.schema(), opening.columns, windows->conditions());
  if (samples != nullptr) {
    samples->add(&table, std::move(asked));
  } else {
    learner->note(transactions, std::move(asked));
  }
}

int32_t open_tiered(ExecContext* c, TablePartition* partition, Tid tid, const ChunkOpening& opening,
                    char* window) noexcept {
  const Status opened = storage::open_tiered_tuple(partition, tid, opening.columns, window, opening.place,
                                                   c->windows->texts(c->depth, opening.window, opening.place));
  if (!opened.ok()) return c->fail(opened);
  c->value[0] = reinterpret_cast<int64_t>(window);
  c->value[1] = opening.place;
  c->value[2] = static_cast<int64_t>(tid);
  return 0;
}

extern "C" {

int32_t rt_open_tuple(ExecContext* c, TablePartition* partition, int64_t tid, int64_t number) noexcept {
  const ChunkOpening& opening = c->program->opening(number);
  char* window = windows_of(c).get(c->depth, opening.window, c->program, partition->table->layout().chunk_bytes);
  if (window == nullptr) return fail_memory(c);
  const Tid present = present_tid(c, partition, static_cast<Tid>(tid));
  storage::note_read(partition, present);
  storage::NeighbourReader& neighbours = c->windows->neighbours(c->depth, opening);
  if (storage::is_tiered(partition, present)) [[unlikely]] {
    neighbours.forget();  // it writes to its first place
    return open_tiered(c, partition, present, opening, window);
  }
  const storage::TuplePlace place = neighbours.open(partition, present, opening.columns, window, opening.place);
  c->value[0] = reinterpret_cast<int64_t>(place.chunk);
  c->value[1] = place.offset;
  c->value[2] = static_cast<int64_t>(present);
  return 0;
}

int32_t rt_open_chunk(ExecContext* c, TablePartition* partition, int64_t tid, int64_t is_open, int64_t number,
                      const ChunkCondition* conditions, int64_t count, const Datum* bounds, const ChunkFilter* filters,
                      int64_t filter_count, const JoinFilter* const* made) noexcept {
  const ChunkOpening& opening = c->program->opening(number);
  WindowScan& scan = windows_of(c).scan(c->depth, opening.window);
  const storage::FrozenSlot* slot = storage::slot_of(partition, static_cast<Tid>(tid));
  c->value[0] = 0;
  c->value[1] = tid;
  if (slot->state == storage::ChunkState::kEmpty) return 0;
  if (slot->chunk != nullptr) {
    c->value[0] = is_open != 0 ? 0 : reinterpret_cast<int64_t>(slot->chunk);
    c->value[2] = 0;
    c->value[3] = std::min<int64_t>(storage::kChunkTuples, static_cast<int64_t>(partition->tuple_limit) - tid);
    return 0;
  }
  if (is_open == 0) {
    std::vector<storage::ColumnCondition>& asked = c->windows->conditions();
    const storage::TableSchema& schema = partition->table->schema();
    ++c->windows->counts().chunks;
    if (!read_conditions(std::span(conditions, static_cast<size_t>(count)), bounds, schema, &asked)) {
      ++c->windows->counts().skipped;
      return 0;
    }
    note_scan(c->windows.get(), &scan, *partition->table, opening);
    if (storage::find_pruning_view(*slot, schema, asked) != nullptr) {
      ++c->windows->counts().skipped;
      ++c->windows->counts().irrelevant;
      return 0;
    }
    scan.filters().reset(std::span(filters, static_cast<size_t>(filter_count)), made, partition->table->layout());
    if (scan.filters().can_skip({slot->image, &partition->table->frozen_store()->dictionaries})) {
      ++c->windows->counts().skipped;
      return 0;
    }
    if (!scan.open(partition, *slot, opening, asked)) return fail_memory(c);
  }
  const storage::ChunkCursor::Piece piece = scan.next(&c->windows->counts());
  if (piece.chunk == nullptr && !scan.status().ok()) return c->fail(scan.status());
  c->value[0] = reinterpret_cast<int64_t>(piece.chunk);
  c->value[1] = tid + piece.first;
  c->value[2] = piece.begin;
  c->value[3] = piece.end;
  return 0;
}

int32_t rt_aggregate_chunk(ExecContext* c, TablePartition* partition, int64_t tid, const ChunkCondition* conditions,
                           int64_t count, const Datum* bounds, const storage::ChunkAggregate* wanted,
                           int64_t wanted_count, char* results) noexcept {
  c->value[0] = 0;
  const storage::FrozenSlot* slot = storage::slot_of(partition, static_cast<Tid>(tid));
  if (slot->state != storage::ChunkState::kFrozen) return 0;
  ChunkWindows& windows = windows_of(c);
  std::vector<storage::ColumnCondition>& asked = windows.conditions();
  const auto given = static_cast<size_t>(count);
  __int128 found[kChunkAggregatesMax];
  if (!read_conditions(std::span(conditions, given), bounds, partition->table->schema(), &asked)) return 0;
  const std::span aggregates(wanted, static_cast<size_t>(wanted_count));
  if (asked.size() != given || !storage::aggregate_chunk(partition, *slot, asked, aggregates, found)) return 0;
  std::memcpy(results, found, aggregates.size() * sizeof(found[0]));
  ++windows.counts().chunks;
  ++windows.counts().answered;
  c->value[0] = 1;
  return 0;
}

int32_t rt_make_hot(ExecContext* c, TablePartition* partition, int64_t tid) noexcept {
  const Tid present = present_tid(c, partition, static_cast<Tid>(tid));
  c->value[0] = -1;
  if (!storage::is_live(partition, present)) return 0;
  const Status brought = storage::bring_tuple(partition, present);
  if (!brought.ok()) return c->fail(brought);
  const Tid hot = storage::make_hot(partition, present, c->log);
  if (hot == storage::kNoTid) return fail_change(c, c->log->last_result());
  c->value[0] = static_cast<int64_t>(hot);
  return 0;
}

int32_t rt_delete_anywhere(ExecContext* c, TablePartition* partition, int64_t tid) noexcept {
  Tid present = present_tid(c, partition, static_cast<Tid>(tid));
  // to take it back reads the keys again: from memory, which cannot fail
  if (storage::is_tiered(partition, present)) {
    const Status brought = storage::bring_tuple(partition, present);
    if (!brought.ok()) return c->fail(brought);
    present = storage::make_hot(partition, present, c->log);
    if (present == storage::kNoTid) return fail_change(c, c->log->last_result());
  }
  return fail_change(c, storage::delete_tuple(partition, present, c->log));
}

}  // extern "C"

}  // namespace

#define SCYPER_DEFINE_RUNTIME(name, result, words, pure) \
  const ir::External k_##name{#name, reinterpret_cast<void*>(&name), ir::Type::result, words, pure};
SCYPER_WINDOW_FUNCTIONS(SCYPER_DEFINE_RUNTIME)
#undef SCYPER_DEFINE_RUNTIME

}  // namespace scyper::query
