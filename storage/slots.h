#pragma once

#include "storage/frozen_slot.h"

// The states of a partition's chunks (ChunkState). To be called by whom the partition belongs to, between transactions.
namespace scyper::storage {

constexpr uint32_t kQuietWindows = 2;  // that nobody uses a chunk: then it is cold

bool grow_slots(TablePartition* partition, uint32_t capacity) noexcept;  // false: no memory
// When the partition's rows are given up; before its chunks' directory.
// frees_texts: what cold chunks refer to in the heap goes, too, not with the heap.
void free_slots(TablePartition* partition, bool frees_texts) noexcept;

// The last chunk counts as full: its unused positions are without tuples. False: it is not the last, or has none.
bool seal(TablePartition* partition, uint64_t chunk) noexcept;
// Only full chunks that are hot, of tables that allow it.
bool can_cool(const TablePartition* partition, uint64_t chunk) noexcept;
// Hot to cooling; false: no memory.
bool make_cooling(TablePartition* partition, uint64_t chunk) noexcept;
// Hot or cooling to cold; false: no memory.
bool make_cold(TablePartition* partition, uint64_t chunk) noexcept;
// Cooling or cold to hot: positions whose tuple has gone are free ones.
void return_to_hot(TablePartition* partition, uint64_t chunk) noexcept;
// Cold to frozen, by the image that was made since make_cold(): the chunk and what it refers to are given back.
void make_frozen(TablePartition* partition, uint64_t chunk, const char* image) noexcept;
// A frozen chunk behind the last one, which is full: as it was in another process, some of its data in the tier. False:
// no memory.
bool append_frozen(TablePartition* partition, const char* image, InvalidRanges invalid,
                   std::shared_ptr<const TieredColumns> tiered) noexcept;
// A frozen chunk gets an image of the same chunk with less or more data, and where the rest is now; null: nowhere else
// (evictor.h).
void replace_image(TablePartition* partition, uint64_t chunk, const char* image,
                   std::shared_ptr<const TieredColumns> tiered, std::shared_ptr<const TieredColumns> copies) noexcept;
// A frozen chunk gets an image of the same chunk that is whole; nothing of it is in the tier any more.
void put_back_image(TablePartition* partition, uint64_t chunk, const char* image) noexcept;
// A frozen chunk without tuples gives its image back.
void make_empty(TablePartition* partition, uint64_t chunk) noexcept;
// A frozen chunk that has lost a quarter of its tuples since it was made.
bool is_to_be_emptied(const TablePartition* partition, uint64_t chunk) noexcept;
// A hot chunk in place of one that has no tuples; all its positions are free ones. False: there is none, or no memory.
bool refill_empty(TablePartition* partition) noexcept;
// How many tuples a cold chunk has lost since make_cold(), a frozen one in its life.
uint32_t lost_tuples(const TablePartition* partition, uint64_t chunk) noexcept;

}  // namespace scyper::storage
