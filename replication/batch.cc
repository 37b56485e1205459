#include "replication/batch.h"

#include <lz4.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#define XXH_INLINE_ALL
#include <xxhash.h>

namespace scyper::replication {

namespace {
// Below this LZ4 finds nothing that pays for a second pass over the bytes.
constexpr size_t kCompressBytesMin = 64;
constexpr size_t kHashedHeaderBytes = offsetof(BatchHeader, header_hash);
}  // namespace

std::string to_string(const ClusterId& id) {
  char text[40];
  std::snprintf(text, sizeof(text), "%016llx%016llx", static_cast<unsigned long long>(id.words[0]),
                static_cast<unsigned long long>(id.words[1]));
  return text;
}

size_t batch_bytes_max(size_t raw_bytes) {
  CHECK(raw_bytes <= kBatchRawBytesMax);
  const size_t body = std::max<size_t>(raw_bytes, static_cast<size_t>(LZ4_compressBound(static_cast<int>(raw_bytes))));
  return sizeof(BatchHeader) + body + kBatchAlignment;
}

size_t write_batch(BatchHeader* header, std::string_view raw, bool compress, char* out) {
  CHECK(raw.size() <= kBatchRawBytesMax);
  CHECK(header->count > 0 && header->first_lsn <= header->last_lsn && header->last_lsn <= header->complete_lsn);
  char* body = out + sizeof(BatchHeader);
  header->flags = 0;
  header->raw_bytes = static_cast<uint32_t>(raw.size());
  header->body_bytes = header->raw_bytes;
  if (compress && raw.size() >= kCompressBytesMin) {
    const int bytes = LZ4_compress_default(raw.data(), body, static_cast<int>(raw.size()),
                                           LZ4_compressBound(static_cast<int>(raw.size())));
    if (bytes > 0 && static_cast<size_t>(bytes) < raw.size()) {
      header->flags = kBatchLz4;
      header->body_bytes = static_cast<uint32_t>(bytes);
    }
  }
  if (header->flags == 0) std::memcpy(body, raw.data(), raw.size());
  header->body_hash = XXH3_64bits(body, header->body_bytes);
  header->header_hash = XXH3_64bits(header, kHashedHeaderBytes);
  std::memcpy(out, header, sizeof(BatchHeader));
  const size_t total = header->total_bytes();
  std::memset(body + header->body_bytes, 0, total - sizeof(BatchHeader) - header->body_bytes);
  return total;
}

StatusOr<BatchHeader> read_batch_header(std::string_view bytes) {
  if (bytes.size() < sizeof(BatchHeader)) return absl::OutOfRangeError("too few bytes for the header of a batch");
  BatchHeader header;
  std::memcpy(&header, bytes.data(), sizeof(header));
  if (header.magic != kBatchMagic) return absl::DataLossError("no batch begins here");
  if (header.header_hash != XXH3_64bits(&header, kHashedHeaderBytes)) {
    return absl::DataLossError("the header of the batch does not match its hash");
  }
  if (header.version != kBatchVersion) {
    return absl::UnimplementedError(absl::StrCat("the batch has version ", header.version, ", known is 1"));
  }
  const bool fits = header.group_index < header.group_batches && header.count > 0 &&
                    header.first_lsn <= header.last_lsn && header.last_lsn <= header.complete_lsn &&
                    header.raw_bytes <= kBatchRawBytesMax && header.body_bytes <= header.raw_bytes &&
                    (header.flags & ~kBatchLz4) == 0 &&
                    ((header.flags & kBatchLz4) != 0 || header.body_bytes == header.raw_bytes);
  if (!fits) return absl::DataLossError("the header of the batch contradicts itself");
  return header;
}

StatusOr<std::string_view> read_batch_body(const BatchHeader& header, std::string_view bytes) {
  if (bytes.size() < header.total_bytes()) return absl::OutOfRangeError("the batch is cut off");
  const std::string_view body = bytes.substr(sizeof(BatchHeader), header.body_bytes);
  if (XXH3_64bits(body.data(), body.size()) != header.body_hash) {
    return absl::DataLossError("the body of the batch does not match its hash");
  }
  for (size_t i = sizeof(BatchHeader) + header.body_bytes; i < header.total_bytes(); ++i) {
    if (bytes[i] != 0) return absl::DataLossError("the padding of the batch is not zero");
  }
  return body;
}

Status unpack_batch(const BatchHeader& header, std::string_view body, std::string* raw) {
  raw->resize(header.raw_bytes);
  if ((header.flags & kBatchLz4) == 0) {
    if (body.size() != raw->size()) return absl::DataLossError("the body of the batch has the wrong size");
    std::memcpy(raw->data(), body.data(), body.size());
    return Status();
  }
  const int bytes =
      LZ4_decompress_safe(body.data(), raw->data(), static_cast<int>(body.size()), static_cast<int>(header.raw_bytes));
  if (bytes < 0 || static_cast<uint32_t>(bytes) != header.raw_bytes) {
    return absl::DataLossError("the body of the batch cannot be decompressed");
  }
  return Status();
}

}  // namespace scyper::replication
