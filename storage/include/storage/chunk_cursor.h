#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "storage/frozen_slot.h"
#include "storage/frozen_vector.h"
#include "storage/tiered_chunk.h"

// How scans read chunks that are not hot (docs/compaction.md).
namespace scyper::storage {

// Leaves out further rows, by columns that are decoded before the others. Threads, owner: of the scan.
class RowFilter {
 public:
  virtual ~RowFilter() = default;
  virtual std::span<const uint32_t> columns() const = 0;
  // Clears bits of the selection of places [begin, end), the first of which is `begin`, a multiple of 64.
  virtual void apply(const char* window, uint32_t begin, uint32_t end, uint64_t* selection) noexcept = 0;
};

// What a scan wants of each chunk.
struct ColumnCondition {
  uint32_t column;
  FrozenPredicate predicate;
  bool has_alternative = false;  // it or the next one
};
struct ChunkScan {
  std::span<const uint32_t> columns;  // that the scan reads, those of the conditions included
  // All must hold, of alternatives one: the scan checks them again for each row it gets, and gets rows for which they
  // do not hold.
  std::span<const ColumnCondition> conditions;
  RowFilter* filter = nullptr;  // asked piece by piece, where it saves decoding
};

// What is wanted of a whole chunk instead of its rows.
struct ChunkAggregate {
  enum class Kind : uint32_t { kRows, kValues, kSum, kMin, kMax };  // kValues: how many are not NULL
  Kind kind = Kind::kRows;
  uint32_t column = 0;
};
// The aggregates of a frozen chunk's tuples for which all conditions hold: of all by what its vectors know (VLDB 2012,
// section 6), if none has been taken out since it was frozen; else of those that codes select, if these decide, of
// integers, without a tier. results: as wanted; kMin and kMax are 0 where there is no value. False: that cannot be
// told.
bool aggregate_chunk(const TablePartition* partition, const FrozenSlot& slot,
                     std::span<const ColumnCondition> conditions, std::span<const ChunkAggregate> wanted,
                     __int128* results) noexcept;

using ChunkSelection = std::array<uint64_t, selection_words(kChunkTuples)>;

// What may be a row of the chunk that is open: positions with a tuple for which no condition is known not to hold.
// *selection: zeros. False: none, or an error (vectors->status()).
bool select_rows(VectorReader* vectors, const InvalidRanges& invalid, std::span<const ColumnCondition> conditions,
                 ChunkSelection* selection) noexcept;

// A whole chunk, at the places of its own positions; to be called where TablePartition::chunks has null (elsewhere it
// returns the chunk). Cooling, cold: the chunk itself. Frozen: skips by aggregates, selects on codes, leaves out
// positions without a tuple, writes what is selected as the window's live bytes (of all positions of the chunk),
// decodes the columns at least where they are selected, and returns the window; nullptr: no row. Nothing that it
// decoded before stays. `vectors`: what reads the chunk, whose status() is to be looked at where null is returned.
const char* open_chunk(const TablePartition* partition, uint64_t chunk, const ChunkScan& scan, char* window,
                       VectorReader* vectors) noexcept;

// The same piece by piece, so that what is decoded is read while it is in a cache.
// Owner: one thread. Fork: the child may use its own.
class ChunkCursor {
 public:
  static constexpr uint32_t kPieceTuples = 2048;
  // Places [begin, end) of the window hold the chunk's positions from `first` + begin on. Null: no row is left.
  struct Piece {
    const char* chunk = nullptr;
    uint32_t first = 0;
    uint32_t begin = 0;
    uint32_t end = 0;
  };

  // A frozen chunk. `decoded`: null, or a bit per piece of what this window holds of this image, all at its own place
  // and not decoded again; else all pieces lie at the same place. What `scan` refers to lives until the last piece, and
  // `vectors`, what texts in the window point to, as long as these: one that it keeps for this window only.
  void open(const TablePartition* partition, const FrozenSlot& slot, const ChunkScan& scan, char* window,
            uint32_t* decoded, VectorReader* vectors) noexcept;
  // Null, too, where vectors->status() is not OK.
  Piece next() noexcept;

 private:
  bool decode(std::span<const uint32_t> columns, uint32_t begin, uint32_t end, uint32_t first) noexcept;
  bool filter_rows(uint32_t begin, uint32_t end, uint32_t first) noexcept;

  const TablePartition* partition_ = nullptr;
  VectorReader* vectors_ = nullptr;
  std::span<const uint32_t> columns_;
  RowFilter* filter_ = nullptr;
  char* window_ = nullptr;
  uint32_t* decoded_ = nullptr;
  uint32_t position_ = 0;
  ChunkSelection selection_{};
};

}  // namespace scyper::storage
