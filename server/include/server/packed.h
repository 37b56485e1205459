#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "storage/type.h"

// The packed binary form of rows, calls and results: proto/scyper.proto describes the bytes.
namespace scyper::server {

// Memory for the arrays of decoded rows. clear() keeps it for the next ones. Threads: one at a time.
class RowArena {
 public:
  void* allocate(size_t bytes);  // 16-aligned
  void clear();

 private:
  static constexpr size_t kBlockBytes = 16 << 10;  // several hundred array elements

  std::vector<std::unique_ptr<char[]>> blocks_;  // all of kBlockBytes
  std::vector<std::unique_ptr<char[]>> large_;   // single allocations above that, given back by clear()
  size_t block_ = 0;
  size_t used_ = 0;
};

// Reads one row from the front of *bytes and moves it forward. Strings in `row` point into the bytes. Malformed rows:
// 08P01; invalid UTF-8: 22021; a numeric that does not fit its type: 22003.
Status decode_row(std::span<const SqlType> types, std::string_view* bytes, Datum* row, RowArena* arena);
void append_row(std::span<const SqlType> types, const Datum* row, std::string* out);

// Valid UTF-8 without a zero byte; else 22021 with PostgreSQL's message.
Status check_text(std::string_view text);

// A numeric as its type wants it: the declared scale (rounded half away from zero), at most `precision` digits (22003).
Status fit_numeric(const SqlType& type, Datum* value);

struct PackedCallHeader {
  uint64_t request_id;
  uint64_t statement_id;
  uint32_t timeout_ms;
  uint32_t row_bytes;
};
static_assert(sizeof(PackedCallHeader) == 24);

struct PackedResultHeader {
  uint64_t request_id;
  uint32_t flags;
  uint32_t body_bytes;
};
static_assert(sizeof(PackedResultHeader) == 16);
constexpr uint32_t kResultFailed = 1;
constexpr uint32_t kResultRetriedAsCrossing = 2;

// What precedes the rows of a packed result that did not fail.
struct PackedRowsHeader {
  uint64_t affected_rows;
  uint32_t row_count;
} __attribute__((packed));
static_assert(sizeof(PackedRowsHeader) == 12);

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "packed cells are copied as they lie in memory");

// Copies a fixed-size piece from the front of *bytes; false when there are too few.
template <typename T>
bool take(std::string_view* bytes, T* out) {
  if (bytes->size() < sizeof(T)) return false;
  std::memcpy(out, bytes->data(), sizeof(T));
  bytes->remove_prefix(sizeof(T));
  return true;
}
template <typename T>
void put(std::string* out, const T& value) {
  out->append(reinterpret_cast<const char*>(&value), sizeof(T));
}

}  // namespace scyper::server
