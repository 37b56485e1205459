#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "log_buffer.h"
#include "primary/redo_sink.h"
#include "replay/record.h"
#include "storage/type.h"

namespace scyper::primary {

using replay::kNoPartition;
using replay::kRedoCrossing;
using replay::RedoHeader;
using replay::RedoKind;

// Encodes the redo of one stream into the open batch of the log, or hands it to a sink some records at a time.
// Invariants: (1) records of one stream have growing LSNs; (2) a statement's number is explained in the stream before
//   its first use, and again whenever another one has taken its place in `described_` (the log writer repeats the
//   explanation in every batch that needs it).
// Threads: one at a time, the worker's of that partition or whoever runs alone; bytes() any.
class RedoStream {
 public:
  // buffer: of the log, null = none: then sink, null = encoded, counted and dropped.
  RedoStream(uint32_t stream, LogBuffer* buffer, RedoSink* sink, LsnCounter* lsns);

  // header: kind, flags, partition, time and request id; the rest is filled in here. Return the LSN.
  // prefix: goes before the body.
  uint64_t append_logical(RedoHeader header, uint64_t statement, std::string_view text, std::span<const SqlType> types,
                          const Datum* arguments, std::string_view prefix = {});
  uint64_t append(RedoHeader header, std::string_view body, std::string_view prefix = {});
  // The next append() takes no time: copies its long body beforehand. between: called again and again; others may
  // append meanwhile.
  void prepare(std::string_view body, size_t prefix_bytes, const std::function<void()>& between);
  // Hands records to the sink.
  void flush();
  bool has_unflushed() const { return records_ != 0; }

  // Statements with parameters that it has explained lately: what a restart will need compiled. While nothing runs.
  const std::vector<std::string>& texts() const { return texts_; }

  uint64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }

 private:
  char* room_for(size_t bytes);
  uint64_t draw() { return buffer_ != nullptr ? buffer_->draw(lsns_) : lsns_->draw(); }
  void finish(char* begin, char* end);
  void keep_text(std::string_view text);
  void describe(uint64_t statement, std::string_view text);

  const uint32_t stream_;
  LogBuffer* const buffer_;
  RedoSink* const sink_;
  LsnCounter* const lsns_;
  std::unique_ptr<char[]> own_;  // without a log
  size_t capacity_ = 0;
  size_t used_ = 0;
  uint32_t records_ = 0;
  std::vector<uint64_t> described_;  // statement numbers by number modulo size; empty until first needed
  std::vector<std::string> texts_;   // a few of the last ones explained
  size_t next_text_ = 0;
  bool is_prepared_ = false;
  std::atomic<uint64_t> bytes_{0};  // written by the worker only
};

}  // namespace scyper::primary
