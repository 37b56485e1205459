#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

// The records of transactions: docs/transaction_redo.md.
namespace scyper::replay {

enum class RedoKind : uint8_t {
  kStatement = 1,    // names a statement that logical records behind it refer to
  kLogical = 2,      // statement number and arguments
  kLogicalText = 3,  // a statement without parameters
  kPhysical = 4,     // row changes (storage/change_log.h)
  kDefinition = 5,   // DDL
  kMarker = 6,       // cut of a global snapshot: changes nothing
};
constexpr uint8_t kRedoCrossing = 1;
constexpr uint8_t kRedoHasClient = 2;  // the body begins with what RedoClient says
constexpr uint16_t kNoPartition = 0xffff;

// As it lies in the stream, little endian; `body_bytes` follow.
struct RedoHeader {
  uint32_t body_bytes = 0;
  RedoKind kind = RedoKind::kLogical;
  uint8_t flags = 0;
  uint16_t partition = 0;  // kNoPartition: crossing
  uint64_t lsn = 0;
  int64_t time_us = 0;  // now() of the transaction
  uint64_t request_id = 0;
};
static_assert(sizeof(RedoHeader) == 32);

// Stream 0 has what runs alone, the others one partition each.
constexpr uint32_t kAloneStream = 0;
constexpr uint32_t stream_of_partition(uint32_t partition) { return partition + 1; }

struct RecordView {
  RedoHeader header;
  std::string_view body;
  std::string_view bytes;  // header and body
};

// Takes the record at the front of *bytes. False: cut off.
inline bool take_record(std::string_view* bytes, RecordView* record) {
  if (bytes->size() < sizeof(RedoHeader)) return false;
  std::memcpy(&record->header, bytes->data(), sizeof(RedoHeader));
  const size_t size = sizeof(RedoHeader) + record->header.body_bytes;
  if (bytes->size() < size) return false;
  record->bytes = bytes->substr(0, size);
  record->body = record->bytes.substr(sizeof(RedoHeader));
  bytes->remove_prefix(size);
  return true;
}

// Varints as docs/redo_format.md has them. False: cut off or too long.
inline bool take_varint(std::string_view* bytes, uint64_t* value) {
  *value = 0;
  for (unsigned shift = 0; shift < 64 && !bytes->empty(); shift += 7) {
    const auto byte = static_cast<uint8_t>(bytes->front());
    bytes->remove_prefix(1);
    *value |= uint64_t{byte & 0x7fu} << shift;
    if (byte < 0x80) return true;
  }
  return false;
}

}  // namespace scyper::replay
