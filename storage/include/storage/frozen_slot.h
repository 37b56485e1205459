#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "base/mutex.h"
#include "storage/frozen_chunk.h"
#include "storage/frozen_vector.h"
#include "storage/invalid_ranges.h"
#include "storage/table.h"

// Chunks that are not hot: what TablePartition::frozen refers to, and reading and changing their tuples
// (docs/compaction.md).
namespace scyper::storage {

class ChangeLog;

// Only a hot chunk has an entry in TablePartition::chunks and is written in place; the others' entries are null, so
// that whoever forgets to look faults.
//
//   hot --- step 1 ---> cold --- step 3 ---> frozen
//    ^                   |                     |
//    +---- step 3 -------+                     +--> frozen without tuples (kEmpty: image released, its positions
//    unused)
enum class ChunkState : uint8_t { kHot, kCold, kFrozen, kEmpty };

// One chunk of a partition, as far as it is not hot.
// Owner: TablePartition::frozen. Threads: as the partition; the compactor's own thread reads the chunk of a cold slot
// (never the slot, which moves when the directory grows) but not its live bytes. Fork: the child may read.
struct FrozenSlot {
  ChunkState state = ChunkState::kHot;
  char* chunk = nullptr;                // cold: the chunk. Nobody writes its cells, live bytes are kept as in a hot one
  const char* image = nullptr;          // frozen: FrozenChunk's
  InvalidRanges invalid;                // frozen: positions without a tuple
  std::unique_ptr<char[]> live_before;  // cold: the live bytes when it became cold
  // Committed changes before it became cold, since the marks were taken; those after it, which only take tuples out,
  // are in TablePartition::changed.
  bool was_written = false;
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
  FrozenStore(const TableSchema& schema, FrozenMemory* where)
      : memory(where),
        dictionaries(schema),
        attribute_bytes(std::make_unique<std::atomic<uint64_t>[]>(schema.columns.size())) {}
  // A chunk becomes frozen, and is it no more.
  void add_image(const char* image) noexcept;
  void remove_image(const char* image) noexcept;
  // Roughly, while others change the table; hot_chunks: less what is not.
  void add_to(TableMemory* sum) const;

  FrozenMemory* const memory;
  RelationDictionaries dictionaries;
  const std::shared_ptr<FreezeGate> gate = std::make_shared<FreezeGate>();
  std::atomic<uint64_t> cold_chunks{0};
  std::atomic<uint64_t> frozen_chunks{0};
  std::atomic<uint64_t> empty_chunks{0};
  std::atomic<uint64_t> image_bytes{0};
  const std::unique_ptr<std::atomic<uint64_t>[]> attribute_bytes;  // of them, by column
};

// The chunk's slot, nullptr: the chunk is hot.
inline FrozenSlot* slot_of(const TablePartition* partition, Tid tid) noexcept {
  if (partition->frozen == nullptr) return nullptr;
  FrozenSlot* slot = &partition->frozen[tid >> kChunkShift];
  return slot->state == ChunkState::kHot ? nullptr : slot;
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

// A position of any chunk; to be called where TablePartition::chunks has null (elsewhere it returns the chunk). Cold:
// the chunk itself, its own offset. Frozen: decodes these columns and the live byte to position `place` of `window`
// (get() of the table's chunk_bytes). Texts stay valid until the running transaction ends, even if the tuple is moved.
TuplePlace open_tuple(const TablePartition* partition, Tid tid, std::span<const uint32_t> columns, char* window,
                      uint32_t place) noexcept;

// Before a tuple is changed in place: moves it into a hot chunk if it is not in one. The index entries then lead to its
// new place, the old one holds no tuple, and other tuples' places stay; undone with the transaction's changes; no redo.
// Cells read before stay readable. Returns its place; kNoTid: log->last_result(), nothing has changed. Not between
// begin and finish of a change. DELETE does not need it: delete_tuple() takes any live tuple.
Tid make_hot(TablePartition* partition, Tid tid, ChangeLog* log) noexcept;

}  // namespace scyper::storage
