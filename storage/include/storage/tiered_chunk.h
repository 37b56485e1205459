#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "storage/frozen_slot.h"

// Reading frozen chunks of which data is in the tier (docs/tiering.md). Errors of all: XX001, 53200 as
// FrozenTier::read(), 53200: no memory.
namespace scyper::storage {

inline bool is_tiered(const TablePartition* partition, Tid tid) noexcept {
  const FrozenSlot* slot = slot_of(partition, tid);
  return slot != nullptr && slot->tiered != nullptr;
}

// The vectors of one frozen chunk at a time, wherever their data is: what is in the tier is brought whole into memory
// of the reader's own, and kept until another chunk is opened. Texts point there, into the image, or the dictionary.
// Owner: one thread. Fork: the child may use its own.
class VectorReader {
 public:
  // What it has of the same chunk stays.
  void open(const TablePartition* partition, const FrozenSlot& slot) noexcept;
  // False: status(). Marks them as used.
  bool bring(std::span<const uint32_t> columns) noexcept;
  bool bring(uint32_t column) noexcept { return bring({&column, 1}); }
  // One that has been brought.
  FrozenVector column(uint32_t column) const {
    if (chunk_.has_data(column)) return chunk_.column(column);
    return FrozenVector(brought_[column].bytes.get(), chunk_.dictionaries()->column(column));
  }
  // No position qualifies; may bring the column. False also on errors.
  bool can_skip(uint32_t column, const FrozenPredicate& predicate) noexcept;
  const FrozenChunk& chunk() const { return chunk_; }
  const Status& status() const { return status_; }

 private:
  struct Brought {
    std::unique_ptr<char[]> bytes;
    size_t capacity = 0;
    bool is_there = false;
    bool is_next = false;  // follows the one before
    // Where the last vector ended, and up to where pages have been asked for. Columns lie one after the other in a
    // file, chunks within, so that each column of a scan is a way of its own through it.
    const TierFile* file = nullptr;
    uint64_t end = 0;
    uint64_t asked_end = 0;
    uint64_t ahead_bytes = 0;
  };
  Status read(uint32_t column) noexcept;
  uint32_t cost_of_bringing(uint32_t column) noexcept;
  void ask(std::span<const uint32_t> columns) noexcept;

  FrozenChunk chunk_{nullptr, nullptr};
  FrozenTier* tier_ = nullptr;
  const TieredColumns* tiered_ = nullptr;  // until the statement ends
  VectorMark* marks_ = nullptr;
  uint64_t counted_ = 0;  // columns, modulo 64, of which the cost has been counted
  uint64_t id_ = 0;       // of what was brought
  std::vector<Brought> brought_;
  Status status_;
};

// Texts of a tuple that was opened, as they are not in memory otherwise.
class TupleTexts {
 public:
  void begin(size_t columns) {
    if (texts_.size() < columns) texts_.resize(columns);
  }
  // A copy that stays until the column's next one.
  const char* keep(uint32_t column, StringRef text) { return texts_[column].assign(text.data, text.size).data(); }

 private:
  std::vector<std::string> texts_;
};

// open_tuple() where is_tiered(): reads the pages that these values need, no more. Texts are valid until `texts` is
// used again.
Status open_tiered_tuple(const TablePartition* partition, Tid tid, std::span<const uint32_t> columns, char* window,
                         uint32_t place, TupleTexts* texts) noexcept;

// Before something reads a tuple and cannot fail (make_hot(), read_column()): brings the columns, without any: all, to
// where this thread finds them, until it opens another tuple so. Nothing where it is not tiered.
Status bring_tuple(const TablePartition* partition, Tid tid, std::span<const uint32_t> columns = {}) noexcept;

}  // namespace scyper::storage
