#pragma once

#include <cstdint>
#include <span>

#include "storage/frozen_slot.h"

namespace scyper::storage {

// open_tuple() for who comes by the tuples of one table one by one. Often they are neighbours (the lines of an order
// that an index leads to): as many as were so last time are decoded together, and four where a row comes that is the
// next one, which takes a fraction of the time of each alone. All with the same columns, window and place, of which it
// takes the kAtOnce from there on; a new one where images may have changed, forget() where others write to these
// places. Owner: one thread. Fork: the child may use its own.
class NeighbourReader {
 public:
  static constexpr uint32_t kAtOnce = 16;

  // As open_tuple(), at one of its places.
  TuplePlace open(const TablePartition* partition, Tid tid, std::span<const uint32_t> columns, char* window,
                  uint32_t place) noexcept;
  void forget() noexcept { image_ = nullptr; }

 private:
  uint32_t expect(uint32_t offset) noexcept;

  const char* image_ = nullptr;
  uint32_t first_ = 0;  // positions [first_, first_ + count_) are in the window
  uint32_t count_ = 0;
  uint32_t last_ = 0;    // position that was opened
  uint32_t opened_ = 0;  // neighbours until it
};

}  // namespace scyper::storage
