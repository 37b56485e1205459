#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "primary/redo_sink.h"
#include "storage/type.h"

namespace scyper::primary {

// The records of docs/transaction_redo.md.
enum class RedoKind : uint8_t {
  kStatement = 1,    // names a statement that logical records of this stream refer to
  kLogical = 2,      // statement number and arguments
  kLogicalText = 3,  // a statement without parameters
  kPhysical = 4,     // row changes (storage/change_log.h)
  kDefinition = 5,   // DDL
};
constexpr uint8_t kRedoCrossing = 1;

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
constexpr uint16_t kNoPartition = 0xffff;

// The one counter of a node that LSNs are drawn from.
struct alignas(64) LsnCounter {
  std::atomic<uint64_t> last{0};
  uint64_t draw() { return last.fetch_add(1, std::memory_order_relaxed) + 1; }
};

// Encodes the redo of one worker and hands it to the sink some records at a time.
// Invariants: (1) records of one stream have growing LSNs; (2) a statement's number is explained in the stream before
//   its first use, and again whenever another one has taken its place in `described_`.
// Threads: one at a time, the worker's; bytes() any.
class RedoStream {
 public:
  // sink: null = encoded, counted and dropped.
  RedoStream(uint32_t worker, RedoSink* sink, LsnCounter* lsns);

  // header: kind, flags, partition, time and request id; the rest is filled in here.
  void append_logical(RedoHeader header, uint64_t statement, std::string_view text, std::span<const SqlType> types,
                      const Datum* arguments);
  void append(RedoHeader header, std::string_view body);
  void flush();
  bool has_unflushed() const { return records_ != 0; }

  uint64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }

 private:
  char* room_for(size_t bytes);
  void finish(char* end);
  void describe(uint64_t statement, std::string_view text);

  const uint32_t worker_;
  RedoSink* const sink_;
  LsnCounter* const lsns_;
  std::unique_ptr<char[]> buffer_;
  size_t capacity_ = 0;
  size_t used_ = 0;
  uint32_t records_ = 0;
  std::vector<uint64_t> described_;  // statement numbers by number modulo size
  std::atomic<uint64_t> bytes_{0};   // written by the worker only
};

}  // namespace scyper::primary
