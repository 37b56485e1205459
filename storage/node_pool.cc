#include "node_pool.h"

#include "base/check.h"
#include "poison.h"

namespace scyper::storage {
namespace {
// From this size on a list grows by huge pages: at most 1/8 of it is then unused.
constexpr size_t kLargeListBytes = size_t{16} << 20;
}  // namespace

BlockList::~BlockList() {
  for (const Block& block : blocks_) arena_->free(block.start, block.bytes);
}

char* BlockList::grow(size_t min_bytes, size_t* bytes) noexcept {
  CHECK(min_bytes <= kArenaGranuleBytes);
  size_t wanted = kArenaGranuleBytes;
  while (wanted < kHugePageBytes && wanted * 8 <= bytes_) wanted *= 2;
  if (bytes_ >= kLargeListBytes) wanted = kHugePageBytes;
  void* start = arena_->allocate(wanted);
  if (start == nullptr && wanted > kArenaGranuleBytes) start = arena_->allocate(wanted = kArenaGranuleBytes);
  if (start == nullptr) return nullptr;
  blocks_.push_back({static_cast<char*>(start), wanted});
  bytes_ += wanted;
  *bytes = wanted;
  return static_cast<char*>(start);
}

NodePool::NodePool(Arena* arena, uint32_t node_bytes) : blocks_(arena), node_bytes_(node_bytes) {
  CHECK(node_bytes >= 64 && node_bytes % 64 == 0 && node_bytes <= kArenaGranuleBytes);
}

NodePool::~NodePool() {
  while (free_ != nullptr) {  // the arena marks whole blocks again
    FreeNode* node = free_;
    unpoison(node, node_bytes_);
    free_ = node->next;
  }
}

bool NodePool::grow() noexcept {
  size_t bytes;
  char* start = blocks_.grow(node_bytes_, &bytes);
  if (start == nullptr) return false;
  bump_ = start;
  bump_end_ = start + bytes / node_bytes_ * node_bytes_;
  return true;
}

void* NodePool::take() noexcept {
  if (free_ != nullptr) {
    FreeNode* node = free_;
    unpoison(node, node_bytes_);
    free_ = node->next;
    --free_count_;
    ++in_use_;
    return node;
  }
  if (bump_ == bump_end_ && !grow()) return nullptr;
  void* node = bump_;
  bump_ += node_bytes_;
  ++in_use_;
  return node;
}

void NodePool::give(void* node) noexcept {
  CHECK(in_use_ > 0);
  --in_use_;
  FreeNode* free_node = static_cast<FreeNode*>(node);
  free_node->next = free_;
  free_ = free_node;
  ++free_count_;
  poison(node, node_bytes_);
}

bool NodePool::reserve(uint32_t count) noexcept {
  while (free_count_ + static_cast<uint64_t>(bump_end_ - bump_) / node_bytes_ < count) {
    for (; bump_ < bump_end_; bump_ += node_bytes_) {
      ++in_use_;
      give(bump_);
    }
    if (!grow()) return false;
  }
  return true;
}

PiecePool::~PiecePool() {
  for (uint32_t i = 0; i < kClasses; ++i) {
    while (free_[i] != nullptr) {
      FreePiece* piece = free_[i];
      unpoison(piece, bytes_of(i));
      free_[i] = piece->next;
    }
  }
}

void* PiecePool::take(uint32_t bytes) noexcept {
  CHECK(bytes > 0 && bytes <= kMaxPieceBytes);
  const uint32_t piece_class = class_of(bytes);
  const uint32_t rounded = bytes_of(piece_class);
  if (FreePiece* piece = free_[piece_class]) {
    unpoison(piece, rounded);
    free_[piece_class] = piece->next;
    ++in_use_;
    return piece;
  }
  if (static_cast<size_t>(bump_end_ - bump_) < rounded) {
    size_t grown;
    char* start = blocks_.grow(rounded, &grown);
    if (start == nullptr) return nullptr;
    recycle_tail();
    bump_ = start;
    bump_end_ = start + grown;
  }
  void* piece = bump_;
  bump_ += rounded;
  ++in_use_;
  return piece;
}

void PiecePool::give(void* piece, uint32_t bytes) noexcept {
  CHECK(in_use_ > 0);
  --in_use_;
  const uint32_t piece_class = class_of(bytes);
  FreePiece* free_piece = static_cast<FreePiece*>(piece);
  free_piece->next = free_[piece_class];
  free_[piece_class] = free_piece;
  poison(piece, bytes_of(piece_class));
}

// What is left of a block too short for the next piece serves smaller ones.
void PiecePool::recycle_tail() noexcept {
  while (bump_end_ - bump_ >= 16) {
    uint32_t piece_class = 0;
    while (piece_class + 1 < kClasses && bytes_of(piece_class + 1) <= static_cast<size_t>(bump_end_ - bump_))
      ++piece_class;
    char* piece = bump_;
    bump_ += bytes_of(piece_class);
    ++in_use_;
    give(piece, bytes_of(piece_class));
  }
}

}  // namespace scyper::storage
