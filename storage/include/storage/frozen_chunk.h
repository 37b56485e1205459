#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "storage/frozen_memory.h"
#include "storage/frozen_vector.h"
#include "storage/invalid_ranges.h"
#include "storage/relation_dictionary.h"
#include "storage/table.h"

namespace scyper::storage {

// The dictionaries of a relation: by column, null where the type has none.
class RelationDictionaries {
 public:
  explicit RelationDictionaries(const TableSchema& schema);
  RelationDictionary* column(uint32_t column) const { return columns_[column].get(); }
  uint64_t memory_bytes() const;

 private:
  std::vector<std::unique_ptr<RelationDictionary>> columns_;
};

// Added to where a vector's image begins: only its head is there (head_bytes()).
constexpr uint32_t kDataElsewhere = 1;

// At the start of a chunk's image; uint32[columns] follow: where each vector's image begins, counted from here, a
// multiple of 8.
struct FrozenChunkHeader {
  uint32_t columns;
  uint32_t count;  // positions; TIDs stay what they were
  uint32_t live;   // tuples when it was frozen
  uint32_t bytes;  // of all images and this, a multiple of 8
};
static_assert(sizeof(FrozenChunkHeader) == 16);

// A frozen chunk: reads an image, owns nothing. dictionaries: null where only headers are read. Threads, fork: as
// FrozenVector.
class FrozenChunk {
 public:
  FrozenChunk(const char* image, const RelationDictionaries* dictionaries)
      : image_(image), dictionaries_(dictionaries) {}
  const FrozenChunkHeader& header() const { return *reinterpret_cast<const FrozenChunkHeader*>(image_); }
  // Whether the vector's data is here; else it is in the tier (docs/tiering.md).
  bool has_data(uint32_t column) const { return (begins()[column] & kDataElsewhere) == 0; }
  FrozenVector column(uint32_t column) const {
    CHECK(has_data(column));
    return head(column);
  }
  // Of which only what needs no data may be asked: the header; bounds, sum and can_skip() of numbers; values, bounds
  // and can_skip() of shared texts.
  FrozenVector head(uint32_t column) const {
    return FrozenVector(image_ + (begins()[column] & ~kDataElsewhere), dictionaries_->column(column));
  }
  const FrozenHeader& header_of(uint32_t column) const {
    return *reinterpret_cast<const FrozenHeader*>(image_ + (begins()[column] & ~kDataElsewhere));
  }
  const RelationDictionaries* dictionaries() const { return dictionaries_; }

 private:
  const uint32_t* begins() const { return reinterpret_cast<const uint32_t*>(image_ + sizeof(FrozenChunkHeader)); }

  const char* image_;
  const RelationDictionaries* dictionaries_;
};

// Tables with arrays are not frozen.
bool can_freeze(const TableSchema& schema);

struct FrozenImage {
  std::string bytes;
  InvalidRanges invalid;  // positions without a tuple
};

// Positions without a tuple.
InvalidRanges find_dead(const char* live, uint32_t count);

// The image of one chunk of a table, in whichever layout; live: its live bytes, or a copy of them. Nobody changes the
// cells meanwhile, nor frees what its texts point to. Threads: any.
FrozenImage freeze_chunk(const Table& table, const char* chunk, const char* live,
                         const RelationDictionaries& dictionaries);
inline FrozenImage freeze_chunk(const Table& table, const char* chunk, const RelationDictionaries& dictionaries) {
  return freeze_chunk(table, chunk, chunk + table.layout().live_offset, dictionaries);
}

// Into frozen memory, from where it is never moved; nullptr: exhausted, the image is as it was.
const char* publish_image(std::string_view bytes, FrozenMemory* memory);
inline const char* publish_image(const FrozenImage& image, FrozenMemory* memory) {
  return publish_image(image.bytes, memory);
}

// What stays of a vector whose data is elsewhere: its header, and the keys of shared texts behind it.
uint32_t head_bytes(const FrozenHeader& head);
// The image of the same chunk without the data of these columns.
std::string without_data(const FrozenChunk& chunk, const std::vector<bool>& columns);
// The same with the data of some columns: their vectors' images, of others nothing.
std::string with_data(const FrozenChunk& chunk, const std::vector<std::string>& data);

// Gives back what the dictionaries hold for it; of a published one: before its memory is retired.
void release_image(const char* image, const RelationDictionaries& dictionaries);

}  // namespace scyper::storage
