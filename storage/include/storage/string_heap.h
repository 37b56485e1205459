#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "storage/arena.h"

namespace scyper::storage {

class BlockList;

// The bytes of one partition's strings and arrays that do not fit in their cells. Pieces have no header: the caller
// knows the size it asked for. 16 bytes to kMaxClassBytes come in size classes (four per power of two, so at most a
// fifth is lost) with free lists; larger ones are blocks of the arena of their own. Pieces are aligned to 16 bytes and
// never move. Threads: the partition's worker. Fork: the child may read the pieces, and free and allocate its own copy.
class StringHeap {
 public:
  static constexpr uint64_t kMaxClassBytes = 65536;

  explicit StringHeap(Arena* arena);
  ~StringHeap();
  StringHeap(const StringHeap&) = delete;
  StringHeap& operator=(const StringHeap&) = delete;

  char* allocate(uint64_t size) noexcept;  // size > 0; nullptr when the budget is used up
  void free(char* piece, uint64_t size) noexcept;

  // What a piece of this size takes of in_use_bytes().
  static uint64_t piece_bytes(uint64_t size) noexcept;
  uint64_t in_use_bytes() const noexcept { return in_use_bytes_; }
  uint64_t in_use_pieces() const noexcept { return in_use_pieces_; }
  uint64_t large_bytes() const noexcept { return large_bytes_; }  // of pieces over kMaxClassBytes
  uint64_t memory_bytes() const noexcept;                         // taken from the arena

 private:
  static constexpr uint32_t kClasses = 44;
  struct FreePiece {
    FreePiece* next;
  };
  bool grow(uint64_t bytes) noexcept;
  void put(char* piece, uint32_t size_class) noexcept;

  Arena* const arena_;
  std::unique_ptr<BlockList> blocks_;
  FreePiece* free_[kClasses] = {};
  char* bump_ = nullptr;  // [bump_, bump_end_): never given out
  char* bump_end_ = nullptr;
  uint64_t in_use_bytes_ = 0;
  uint64_t in_use_pieces_ = 0;
  uint64_t large_bytes_ = 0;
};

}  // namespace scyper::storage
