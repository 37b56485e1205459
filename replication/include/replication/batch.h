#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"

// The unit that is compressed, checksummed, flushed, multicast and acknowledged: docs/log_format.md, "Batch".
namespace scyper::replication {

struct ClusterId {
  uint64_t words[2] = {0, 0};
  friend bool operator==(const ClusterId&, const ClusterId&) = default;
};
std::string to_string(const ClusterId& id);

constexpr uint32_t kBatchMagic = 0x42796353;  // "ScyB"
constexpr uint8_t kBatchVersion = 1;
constexpr uint8_t kBatchLz4 = 1;
// Every node digests its state at the global snapshot that the group ends with (docs/replication.md, "Digests").
constexpr uint16_t kGroupDigest = 1;
constexpr size_t kBatchAlignment = 8;
constexpr uint32_t kBatchRawBytesMax = uint32_t{1} << 30;

// As it lies on disk and wire, little endian.
struct BatchHeader {
  uint32_t magic = kBatchMagic;
  uint8_t version = kBatchVersion;
  uint8_t flags = 0;
  uint16_t group_index = 0;
  uint16_t group_batches = 1;
  uint16_t group_flags = 0;  // the same in all of the group
  uint32_t stream = 0;
  ClusterId cluster;
  uint64_t term = 0;
  uint64_t number = 0;
  uint64_t first_lsn = 0;
  uint64_t last_lsn = 0;
  uint32_t count = 0;
  uint32_t body_bytes = 0;
  uint32_t raw_bytes = 0;
  uint32_t snapshot = 0;  // number of the global snapshot whose cut is complete_lsn; 0 = none
  uint64_t complete_lsn = 0;
  uint64_t commit_lsn = 0;
  uint64_t previous_hash = 0;
  int64_t time_us = 0;
  uint64_t body_hash = 0;
  uint64_t header_hash = 0;

  // With header and padding.
  size_t total_bytes() const {
    return (sizeof(BatchHeader) + body_bytes + kBatchAlignment - 1) / kBatchAlignment * kBatchAlignment;
  }
};
static_assert(sizeof(BatchHeader) == 128);
static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "headers are copied as they lie in memory");

// Most bytes that a batch of that many raw bytes takes.
size_t batch_bytes_max(size_t raw_bytes);
// Writes header (all but flags, body_bytes, raw_bytes and hashes filled in by the caller) and body to `out`, which has
// batch_bytes_max(raw.size()) bytes; compressed where that saves something. Completes *header; returns total_bytes().
size_t write_batch(BatchHeader* header, std::string_view raw, bool compress, char* out);

// The header at the front of `bytes`, when it is one by its own hash: says nothing about the body.
// absl::OutOfRange: too few bytes; DataLoss: it is none, or damaged; Unimplemented: of a version that is not known.
StatusOr<BatchHeader> read_batch_header(std::string_view bytes);
// The body behind a header as stored, checked against its hash. Errors as above.
StatusOr<std::string_view> read_batch_body(const BatchHeader& header, std::string_view bytes);
// What the records were, into *raw.
Status unpack_batch(const BatchHeader& header, std::string_view body, std::string* raw);

}  // namespace scyper::replication
