#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "base/partition_set.h"
#include "storage/archive.h"

// Bytes of archives: docs/log_format.md.
namespace scyper::storage {

constexpr uint32_t kBlockMagic = 0x41796353;  // "ScyA"
constexpr uint8_t kBlockVersion = 1;
constexpr uint8_t kBlockLz4 = 1;
constexpr uint32_t kBlockBytesMax = uint32_t{1} << 30;

struct BlockHeader {
  uint32_t magic;
  uint8_t version;
  uint8_t flags;
  uint16_t columns;
  uint32_t table;
  uint32_t partition;
  uint32_t rows;
  uint32_t body_bytes;
  uint32_t raw_bytes;
  uint32_t zero;
  uint64_t number;
  uint64_t lsn;
  uint64_t body_hash;
  uint64_t header_hash;
};
static_assert(sizeof(BlockHeader) == 64);

template <typename T>
void put_number(std::string* out, T value) {
  out->append(reinterpret_cast<const char*>(&value), sizeof(value));
}
inline void put_text(std::string* out, std::string_view text) {
  put_number(out, static_cast<uint32_t>(text.size()));
  out->append(text);
}

// Takes numbers from the front; after the first failure everything is zero.
struct NumberReader {
  std::string_view bytes;
  bool ok = true;

  template <typename T>
  T number() {
    T value{};
    if (bytes.size() < sizeof(T)) {
      ok = false;
      return value;
    }
    std::memcpy(&value, bytes.data(), sizeof(T));
    bytes.remove_prefix(sizeof(T));
    return value;
  }
  std::string_view text(uint64_t size) {
    if (size > bytes.size()) {
      ok = false;
      return {};
    }
    const std::string_view text = bytes.substr(0, size);
    bytes.remove_prefix(size);
    return text;
  }
  // A count of things that take at least `least` bytes each.
  uint32_t count(size_t least) {
    const auto n = number<uint32_t>();
    if (uint64_t{n} * least > bytes.size()) ok = false;
    return ok ? n : 0;
  }
};

// Whether a node with those partitions has the chunk. What is shared is in partition 0 of its table, which has no
// other.
inline bool is_held(const ArchiveTable& table, const ArchiveChunk& chunk, const PartitionSet& held) {
  return table.row_ids.size() == 1 || held.has(chunk.partition);
}

}  // namespace scyper::storage
