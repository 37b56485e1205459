#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "storage/arena.h"

namespace scyper::storage {

// The arena blocks of one owner, growing from 64 KB to 2 MB apiece so that small indexes stay small and large ones lie
// on huge pages. Blocks go back to the arena when the owner dies. Threads: the owner's.
class BlockList {
 public:
  explicit BlockList(Arena* arena) : arena_(arena) {}
  ~BlockList();
  BlockList(const BlockList&) = delete;
  BlockList& operator=(const BlockList&) = delete;

  // A new zeroed block of at least min_bytes (<= 64 KB); nullptr when the budget is used up.
  char* grow(size_t min_bytes, size_t* bytes) noexcept;
  size_t bytes() const { return bytes_; }
  Arena* arena() const { return arena_; }

 private:
  struct Block {
    char* start;
    size_t bytes;
  };
  Arena* arena_;
  std::vector<Block> blocks_;
  size_t bytes_ = 0;
};

// Nodes of one size, aligned to 64 bytes, recycled in LIFO order (the last one given back is likely cached).
// Invariant: a node's bytes are undefined when taken.
// Threads: the owner's. Fork: the child neither takes nor gives.
class NodePool {
 public:
  NodePool(Arena* arena, uint32_t node_bytes);
  ~NodePool();

  void* take() noexcept;  // nullptr when the budget is used up
  void give(void* node) noexcept;
  // Makes sure that the next `count` takes succeed: structure changes of several nodes happen wholly or not at all.
  bool reserve(uint32_t count) noexcept;
  uint64_t in_use() const { return in_use_; }
  size_t bytes() const { return blocks_.bytes(); }

 private:
  struct FreeNode {
    FreeNode* next;
  };
  bool grow() noexcept;

  BlockList blocks_;
  const uint32_t node_bytes_;
  FreeNode* free_ = nullptr;
  uint64_t free_count_ = 0;
  char* bump_ = nullptr;  // [bump_, bump_end_): never taken yet
  char* bump_end_ = nullptr;
  uint64_t in_use_ = 0;
};

// Pieces of 16 to kMaxPieceBytes bytes in size classes, aligned to 16: keys of varying length and the nodes of a radix
// tree. The caller remembers the size. Threads and fork as NodePool.
class PiecePool {
 public:
  static constexpr uint32_t kMaxPieceBytes = 2560;
  explicit PiecePool(Arena* arena) : blocks_(arena) {}
  ~PiecePool();

  void* take(uint32_t bytes) noexcept;  // undefined contents; nullptr when the budget is used up
  void give(void* piece, uint32_t bytes) noexcept;
  uint64_t in_use() const { return in_use_; }  // pieces
  size_t bytes() const { return blocks_.bytes(); }

 private:
  struct FreePiece {
    FreePiece* next;
  };
  // Steps of 16 bytes up to 256, then of 64.
  static constexpr uint32_t kSmallClasses = 16;
  static constexpr uint32_t kClasses = kSmallClasses + (kMaxPieceBytes - 256) / 64;
  static uint32_t class_of(uint32_t bytes) {
    return bytes <= 256 ? (bytes - 1) / 16 : kSmallClasses + (bytes - 257) / 64;
  }
  static uint32_t bytes_of(uint32_t piece_class) {
    return piece_class < kSmallClasses ? (piece_class + 1) * 16 : 256 + (piece_class - kSmallClasses + 1) * 64;
  }
  void recycle_tail() noexcept;

  BlockList blocks_;
  FreePiece* free_[kClasses] = {};
  char* bump_ = nullptr;
  char* bump_end_ = nullptr;
  uint64_t in_use_ = 0;
};

}  // namespace scyper::storage
