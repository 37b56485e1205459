#include "storage/string_heap.h"

#include <algorithm>
#include <bit>

#include "base/check.h"
#include "node_pool.h"
#include "poison.h"

namespace scyper::storage {
namespace {

constexpr uint64_t kSmallestBytes = 16;

// Classes 0..3: 16, 32, 48, 64 bytes; then four per power of two: 80, 96, 112, 128, 160, 192, ...
constexpr uint32_t class_of(uint64_t size) {
  if (size <= 64) return static_cast<uint32_t>((size + 15) / 16) - 1;
  const uint64_t last = size - 1;
  const auto bits = static_cast<uint32_t>(std::bit_width(last)) - 1;
  return (bits - 6) * 4 + static_cast<uint32_t>(last >> (bits - 2));
}

constexpr uint64_t bytes_of(uint32_t size_class) {
  if (size_class < 4) return (size_class + 1) * uint64_t{16};
  return (5 + size_class % 4) * uint64_t{1} << (size_class / 4 + 3);
}

static_assert(class_of(64) == 3 && class_of(65) == 4 && bytes_of(4) == 80 && bytes_of(7) == 128);
static_assert(class_of(129) == 8 && bytes_of(8) == 160);
static_assert(class_of(StringHeap::kMaxClassBytes) == 43 && bytes_of(43) == StringHeap::kMaxClassBytes);

constexpr uint64_t round_to_granule(uint64_t size) {
  return (size + kArenaGranuleBytes - 1) / kArenaGranuleBytes * kArenaGranuleBytes;
}

}  // namespace

StringHeap::StringHeap(Arena* arena) : arena_(arena), blocks_(std::make_unique<BlockList>(arena)) {}
StringHeap::~StringHeap() = default;

uint64_t StringHeap::piece_bytes(uint64_t size) noexcept {
  return size <= kMaxClassBytes ? bytes_of(class_of(size)) : round_to_granule(size);
}

uint64_t StringHeap::memory_bytes() const noexcept { return blocks_->bytes() + large_bytes_; }

char* StringHeap::allocate(uint64_t size) noexcept {
  DCHECK(size > 0);
  char* piece;
  uint64_t bytes;
  if (size <= kMaxClassBytes) {
    const uint32_t size_class = class_of(size);
    bytes = bytes_of(size_class);
    if (FreePiece* free = free_[size_class]; free != nullptr) {
      unpoison(free, bytes);
      free_[size_class] = free->next;
      piece = reinterpret_cast<char*>(free);
    } else {
      if (static_cast<uint64_t>(bump_end_ - bump_) < bytes && !grow(bytes)) return nullptr;
      piece = bump_;
      bump_ += bytes;
      unpoison(piece, bytes);
    }
  } else {
    bytes = round_to_granule(size);
    piece = static_cast<char*>(arena_->allocate(bytes));
    if (piece == nullptr) return nullptr;
    large_bytes_ += bytes;
  }
  in_use_bytes_ += bytes;
  ++in_use_pieces_;
  return piece;
}

void StringHeap::free(char* piece, uint64_t size) noexcept {
  const uint64_t bytes = piece_bytes(size);
  CHECK(piece != nullptr && in_use_pieces_ > 0 && in_use_bytes_ >= bytes);
  in_use_bytes_ -= bytes;
  --in_use_pieces_;
  if (size <= kMaxClassBytes) {
    put(piece, class_of(size));
  } else {
    large_bytes_ -= bytes;
    arena_->free(piece, bytes);
  }
}

void StringHeap::put(char* piece, uint32_t size_class) noexcept {
  auto* free = reinterpret_cast<FreePiece*>(piece);
  free->next = free_[size_class];
  free_[size_class] = free;
  poison(piece, bytes_of(size_class));
}

// What is left of the block in use goes to the free lists, largest pieces first.
bool StringHeap::grow(uint64_t bytes) noexcept {
  size_t block_bytes;
  char* block = blocks_->grow(bytes, &block_bytes);
  if (block == nullptr) return false;
  while (static_cast<uint64_t>(bump_end_ - bump_) >= kSmallestBytes) {
    const auto left = std::min(static_cast<uint64_t>(bump_end_ - bump_), kMaxClassBytes);
    uint32_t size_class = class_of(left);
    if (bytes_of(size_class) > left) --size_class;
    unpoison(bump_, bytes_of(size_class));
    put(bump_, size_class);
    bump_ += bytes_of(size_class);
  }
  bump_ = block;
  bump_end_ = block + block_bytes;
  poison(block, block_bytes);
  return true;
}

}  // namespace scyper::storage
