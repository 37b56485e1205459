#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "base/mutex.h"
#include "storage/frozen_chunk.h"
#include "storage/frozen_tier.h"
#include "storage/frozen_vector.h"
#include "storage/invalid_ranges.h"
#include "storage/table.h"

// Chunks that are not hot: what TablePartition::frozen refers to, and reading and changing their tuples
// (docs/compaction.md).
namespace scyper::storage {

class ChangeLog;
class HotViewLearner;
struct HotView;
struct HotViews;

// Only a hot chunk has an entry in TablePartition::chunks and is written in place; the others' entries are null, so
// that whoever forgets to look faults.
//
//   hot --- step 1 ---> cold --- step 3 ---> frozen
//    ^ |                ^ |                    |
//    | +--> cooling ----+ |                    +--> frozen without tuples (kEmpty: image released, its positions
//    |         |          |                         unused)
//    +---------+----------+
enum class ChunkState : uint8_t {
  kHot,
  kCooling,  // few tuples are used: whoever uses one moves it away (VLDB 2012, 3.3)
  kCold,     // being frozen
  kFrozen,
  kEmpty
};

// Which tuples of a cooling chunk transactions have read. note(): any thread, for readers of shared tables run beside
// each other; else whoever the partition belongs to.
class TouchedTuples {
 public:
  void note(uint32_t offset) noexcept {
    std::atomic<uint64_t>& word = words_[offset / 64];
    const uint64_t bit = uint64_t{1} << (offset % 64);
    if ((word.load(std::memory_order_relaxed) & bit) == 0) word.fetch_or(bit, std::memory_order_relaxed);
  }
  uint32_t count() const noexcept;
  // Takes the first ones out, at most `max`.
  std::vector<uint32_t> take(uint32_t max);

 private:
  std::array<std::atomic<uint64_t>, kChunkTuples / 64> words_{};
};

struct CoolingChunk {
  TouchedTuples touched;
  // Of the compactor: tuples, and those of them that were touched, when the last window ended; windows in a row in
  // which none was used.
  uint32_t live = 0;
  uint32_t touched_before = 0;
  uint32_t quiet_windows = 0;
  bool is_on_trial = false;  // nobody writes it; whether it is read shows in one window, in which nothing moves
};

// One chunk of a partition, as far as it is not hot.
// Owner: TablePartition::frozen. Threads: as the partition; the compactor's own thread reads the chunk of a cold slot
// (never the slot, which moves when the directory grows) but not its live bytes. Fork: the child may read.
struct FrozenSlot {
  ChunkState state = ChunkState::kHot;
  // Cooling and cold: the chunk, else null. Nobody writes its cells, live bytes are kept as in a hot one.
  char* chunk = nullptr;
  const char* image = nullptr;  // frozen: FrozenChunk's
  InvalidRanges invalid;        // frozen: positions without a tuple
  // Frozen: where the data is that is not in the image; null: all is there.
  std::shared_ptr<const TieredColumns> tiered;
  // Frozen: places of vectors whose data is in the image, too; null: there are none.
  std::shared_ptr<const TieredColumns> copies;
  VectorMark* marks = nullptr;          // FrozenTier::new_marks()
  std::unique_ptr<char[]> live_before;  // cooling and cold: the live bytes when it became so
  std::unique_ptr<CoolingChunk> cooling;
  // Committed changes before it was hot no more, since the marks were taken; those after it, which only take tuples
  // out, are in TablePartition::changed.
  bool was_written = false;
  // Frozen: of which hot data views it may hold tuples, a bit each (hot_views.h): no tuple for which one holds whose
  // bit is clear. Null: nothing is known. Tuples only leave it, and those that an undo puts back were there before the
  // transaction, so this stays true.
  std::shared_ptr<const HotViews> views;
  uint64_t relevant_to = 0;
};

// Lets the compactor's thread read a table as long as it has rows. Threads: any.
class FreezeGate {
 public:
  bool enter();  // false: closed; else leave() follows
  void leave();
  void close();  // once nobody is within
  bool is_closed();

 private:
  Mutex mutex_;
  std::condition_variable_any left_;
  uint32_t within_ ABSL_GUARDED_BY(mutex_) = 0;
  bool is_closed_ ABSL_GUARDED_BY(mutex_) = false;
};

// What the frozen chunks of a table have in common. Owner: Table.
struct FrozenStore {
  FrozenStore(const TableSchema& schema, FrozenMemory* where);
  ~FrozenStore();
  // A chunk becomes frozen, and is it no more.
  void add_image(const char* image) noexcept;
  void remove_image(const char* image) noexcept;
  // The same with less data in memory: of both directions the bytes that are there then.
  void change_resident(int64_t bytes) noexcept;
  // Roughly, while others change the table; hot_chunks: less what is not.
  void add_to(TableMemory* sum) const;
  // By which frozen chunks are placed from now on: those that were made by hand, null: none, then those that were
  // learned, as far as there is room (HotViews::kMax). Threads: any.
  std::shared_ptr<const HotViews> hot_views() const;
  void set_hot_views(std::shared_ptr<const HotViews> views);
  void set_learned_views(std::vector<std::shared_ptr<const HotView>> views);

  FrozenMemory* const memory;
  FrozenTier* tier = nullptr;               // set before there are rows, as the next; outlives it
  std::atomic<uint32_t> tier_cache{0};      // of TierCaches: that files which are written or opened from now on get
  std::unique_ptr<HotViewLearner> learner;  // null: no view is learned
  RelationDictionaries dictionaries;
  const std::shared_ptr<FreezeGate> gate = std::make_shared<FreezeGate>();
  std::atomic<uint64_t> cold_chunks{0};  // cooling ones, too
  std::atomic<uint64_t> frozen_chunks{0};
  std::atomic<uint64_t> empty_chunks{0};
  std::atomic<uint64_t> image_bytes{0};                            // in memory
  std::atomic<uint64_t> tiered_bytes{0};                           // of vectors whose data is in the tier
  const std::unique_ptr<std::atomic<uint64_t>[]> attribute_bytes;  // of them, by column

 private:
  void put_views_together() ABSL_EXCLUSIVE_LOCKS_REQUIRED(views_mutex_);

  mutable Mutex views_mutex_;
  std::shared_ptr<const HotViews> defined_ ABSL_GUARDED_BY(views_mutex_);
  std::vector<std::shared_ptr<const HotView>> learned_ ABSL_GUARDED_BY(views_mutex_);
  std::shared_ptr<const HotViews> views_ ABSL_GUARDED_BY(views_mutex_);  // both
};

// The chunk's slot, nullptr: the chunk is hot.
inline FrozenSlot* slot_of(const TablePartition* partition, Tid tid) noexcept {
  if (partition->frozen == nullptr) return nullptr;
  FrozenSlot* slot = &partition->frozen[tid >> kChunkShift];
  return slot->state == ChunkState::kHot ? nullptr : slot;
}

// Of a column of a chunk that has marks. cost: VectorMark's. Fork: the child may call it.
inline void mark_use(VectorMark* marks, uint32_t now, uint32_t column, uint32_t cost) noexcept {
  VectorMark& mark = marks[column];
  if (cost == 0 && mark.window.load(std::memory_order_relaxed) == now) return;
  mark.cost.store(std::min(mark.cost_at(now), UINT32_MAX / 2) + cost, std::memory_order_relaxed);
  mark.window.store(now, std::memory_order_relaxed);
}
// What a read of a single tuple adds to the cost of each of its columns: of few tuples, as much as all of them should.
inline uint32_t sampled_cost() noexcept {
  constexpr uint32_t kSampleShift = 4;
  thread_local constinit uint32_t state = 1;
  state = state * 1664525 + 1013904223;
  return state >> (32 - kSampleShift) == 0 ? 1u << kSampleShift : 0;
}

// Memory of the size and layout of one chunk at a time (of any table), into which tuples of frozen chunks are decoded;
// only pages that were touched exist. Cells of texts point into frozen memory, or lie in the window.
// Owner: one thread. Fork: the child may use its own view.
class ChunkWindow {
 public:
  ChunkWindow() = default;
  ~ChunkWindow();
  ChunkWindow(ChunkWindow&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  ChunkWindow& operator=(ChunkWindow&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }

  // Zero where nothing was written since it was made; keeps its place and what is in it, unless it has to grow.
  // nullptr: no address space.
  char* get(size_t chunk_bytes) noexcept;
  // Gives the pages back; the window stays where it is.
  void clear() noexcept;

 private:
  char* data_ = nullptr;
  size_t bytes_ = 0;
};

// Where the cells and the live byte of a tuple can be read as those of a hot chunk.
struct TuplePlace {
  const char* chunk;
  uint32_t offset;
};

// A transaction has read a tuple: of a cooling chunk it will be moved away, once the transaction has ended. Threads: as
// readers. Fork: a child notes it for itself, to no effect.
inline void note_read(const TablePartition* partition, Tid tid) noexcept {
  const FrozenSlot* slot = slot_of(partition, tid);
  if (slot != nullptr && slot->cooling != nullptr) slot->cooling->touched.note(offset_of(tid));
}

// A position of any chunk; to be called where TablePartition::chunks has null (elsewhere it returns the chunk). Cooling
// or cold: the chunk itself, its own offset. Frozen: decodes these columns and the live byte to position `place` of
// `window` (get() of the table's chunk_bytes). Texts stay valid until the running transaction ends, even if the tuple
// is moved. Not where is_tiered() (tiered_chunk.h).
TuplePlace open_tuple(const TablePartition* partition, Tid tid, std::span<const uint32_t> columns, char* window,
                      uint32_t place) noexcept;

// Before a tuple is changed in place: moves it into a hot chunk if it is not in one. Where is_tiered(), bring_tuple()
// came before. The index entries then lead to its
// new place, the old one holds no tuple, and other tuples' places stay; undone with the transaction's changes; no redo.
// Cells read before stay readable. Returns its place; kNoTid: log->last_result(), nothing has changed. Not between
// begin and finish of a change. DELETE does not need it: delete_tuple() takes any live tuple.
Tid make_hot(TablePartition* partition, Tid tid, ChangeLog* log) noexcept;

}  // namespace scyper::storage
