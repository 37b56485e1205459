#pragma once

#include <cstdint>
#include <string_view>

namespace scyper::primary {

// Where workers put their redo (docs/transaction_redo.md). Each worker has its own stream: its records come in LSN
// order, several at a time; what the log is made of is the order of LSNs over all streams.
// Threads: a worker calls with its own number, several workers at once. Must be quick: the worker waits.
class RedoSink {
 public:
  virtual ~RedoSink() = default;
  // `bytes`: whole records, valid during the call only.
  virtual void write(uint32_t worker, std::string_view bytes, uint32_t record_count) noexcept = 0;
};

}  // namespace scyper::primary
