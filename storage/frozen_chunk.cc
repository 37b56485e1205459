#include "storage/frozen_chunk.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"

namespace scyper::storage {

InvalidRanges find_dead(const char* live, uint32_t count) {
  InvalidRanges dead;
  for (uint32_t begin = 0; begin < count;) {
    uint32_t end = begin;
    while (end < count && live[end] == 0) ++end;
    if (end > begin) dead.add(begin, end);
    begin = end + 1;
  }
  return dead;
}

RelationDictionaries::RelationDictionaries(const TableSchema& schema) {
  for (const ColumnDef& column : schema.columns) {
    columns_.push_back(holds_bytes(column.type.id) ? std::make_unique<RelationDictionary>() : nullptr);
  }
}

uint64_t RelationDictionaries::memory_bytes() const {
  uint64_t bytes = 0;
  for (const auto& column : columns_) bytes += column == nullptr ? 0 : column->memory_bytes();
  return bytes;
}

bool can_freeze(const TableSchema& schema) {
  return std::all_of(schema.columns.begin(), schema.columns.end(),
                     [](const ColumnDef& column) { return can_freeze(cell_kind_of(column.type)); });
}

FrozenImage freeze_chunk(const Table& table, const char* chunk, const char* live,
                         const RelationDictionaries& dictionaries) {
  const TableSchema& schema = table.schema();
  const TableLayout& layout = table.layout();
  CHECK(can_freeze(schema));
  const uint32_t count = reinterpret_cast<const ChunkHeader*>(chunk)->used;
  CHECK(count > 0 && count <= kChunkTuples);
  const auto columns = static_cast<uint32_t>(schema.columns.size());
  FrozenImage image;
  image.invalid = find_dead(live, count);
  image.bytes.assign((sizeof(FrozenChunkHeader) + columns * sizeof(uint32_t) + 7) / 8 * 8, '\0');
  for (uint32_t i = 0; i < columns; ++i) {
    const auto begin = static_cast<uint32_t>(image.bytes.size());
    std::memcpy(image.bytes.data() + sizeof(FrozenChunkHeader) + i * sizeof(begin), &begin, sizeof(begin));
    FreezeOptions options;
    options.dictionary = dictionaries.column(i);
    freeze_vector({schema.columns[i].type, layout.columns[i], chunk, live, count}, options, &image.bytes);
  }
  const FrozenChunkHeader header{columns, count, count - image.invalid.positions(),
                                 static_cast<uint32_t>(image.bytes.size())};
  std::memcpy(image.bytes.data(), &header, sizeof(header));
  return image;
}

const char* publish_image(std::string_view bytes, FrozenMemory* memory) {
  const char* block = memory->allocate(bytes.size());
  if (block == nullptr) return nullptr;
  std::memcpy(memory->writable(block), bytes.data(), bytes.size());
  return block;
}

uint32_t head_bytes(const FrozenHeader& head) {
  const uint32_t keys = head.has_shared_text != 0 ? head.values : 0;
  return static_cast<uint32_t>(sizeof(FrozenHeader) + (keys * sizeof(uint32_t) + 7) / 8 * 8);
}

namespace {
void append_head(const FrozenHeader& from, std::string* out) {
  FrozenHeader head = from;
  const char* values = reinterpret_cast<const char*>(&from) + from.values_at;
  const size_t end = out->size() + head_bytes(head);
  head.values_at = sizeof(head);
  out->append(reinterpret_cast<const char*>(&head), sizeof(head));
  if (head.has_shared_text != 0) out->append(values, head.values * sizeof(uint32_t));
  out->resize(end);
}

// An image of the same chunk. append(column, image): appends the vector; false: only its head.
template <typename Append>
std::string make_again(const FrozenChunk& chunk, Append append) {
  FrozenChunkHeader header = chunk.header();
  std::string image((sizeof(header) + header.columns * sizeof(uint32_t) + 7) / 8 * 8, '\0');
  for (uint32_t i = 0; i < header.columns; ++i) {
    auto begin = static_cast<uint32_t>(image.size());
    if (!append(i, &image)) {
      append_head(chunk.header_of(i), &image);
      begin += kDataElsewhere;
    }
    std::memcpy(image.data() + sizeof(header) + i * sizeof(begin), &begin, sizeof(begin));
  }
  header.bytes = static_cast<uint32_t>(image.size());
  std::memcpy(image.data(), &header, sizeof(header));
  return image;
}

bool append_vector(const FrozenChunk& chunk, uint32_t column, std::string* image) {
  if (!chunk.has_data(column)) return false;
  const FrozenHeader& head = chunk.header_of(column);
  image->append(reinterpret_cast<const char*>(&head), head.bytes);
  return true;
}

}  // namespace

std::string without_data(const FrozenChunk& chunk, const std::vector<bool>& columns) {
  return make_again(chunk, [&](uint32_t column, std::string* image) {
    return !columns[column] && append_vector(chunk, column, image);
  });
}

std::string with_data(const FrozenChunk& chunk, const std::vector<std::string>& data) {
  return make_again(chunk, [&](uint32_t column, std::string* image) {
    if (data[column].empty()) return append_vector(chunk, column, image);
    image->append(data[column]);
    return true;
  });
}

void release_image(const char* image, const RelationDictionaries& dictionaries) {
  const FrozenChunk chunk(image, &dictionaries);
  for (uint32_t i = 0; i < chunk.header().columns; ++i) {
    if (dictionaries.column(i) != nullptr) release_frozen(chunk.head(i), dictionaries.column(i));
  }
}

}  // namespace scyper::storage
