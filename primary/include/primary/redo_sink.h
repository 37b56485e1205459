#pragma once

#include <cstdint>
#include <string_view>

namespace scyper::primary {

// Where redo goes when there is no log, for tests and measurements (docs/transaction_redo.md). Each partition has its
// own stream: its records come in LSN order, several at a time.
// Threads: several at once, for one stream one. Must be quick: the worker waits.
class RedoSink {
 public:
  virtual ~RedoSink() = default;
  // `bytes`: whole records, valid during the call only.
  virtual void write(uint32_t stream, std::string_view bytes, uint32_t record_count) noexcept = 0;
};

}  // namespace scyper::primary
