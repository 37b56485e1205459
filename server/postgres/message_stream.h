#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "base/status.h"
#include "postgres/message.h"
#include "postgres/transport.h"

namespace scyper::server::postgres {

// The messages of one connection, both ways, buffered. Threads: one.
class MessageStream {
 public:
  enum class Got : uint8_t {
    kMessage,
    kEnd,        // the client has gone, or reading was ended
    kMalformed,  // a length that cannot be, or beyond what is allowed: what follows cannot be understood
  };

  // Output beyond it is sent though nobody asked yet.
  static constexpr size_t kFlushBytes = 64 << 10;

  explicit MessageStream(int descriptor) : transport_(descriptor), writer_(&out_) {}

  // One message; the payload is valid until the next read.
  Got read(size_t payload_bytes_max, char* type, std::string_view* payload);
  // A packet of the start: a length and what it counts, without a type.
  Got read_start(size_t payload_bytes_max, std::string_view* payload);
  // Something has come that was not read yet.
  bool has_input() const { return begin_ < end_; }
  // The next message has come whole, or can be seen to be none.
  bool has_message() const;
  // The type of the next message, waited for; 0: the client has gone. What read() gave is not valid any more.
  char next_type() { return fill(kMessageHeaderBytes) ? in_[begin_] : '\0'; }

  MessageWriter& writer() { return writer_; }
  // False: the client has gone.
  bool flush();
  bool flush_if_large() { return out_.size() < kFlushBytes || flush(); }
  Transport& transport() { return transport_; }

 private:
  bool fill(size_t bytes);

  Transport transport_;
  std::string in_;
  size_t begin_ = 0, end_ = 0;  // what of in_ was received and not yet read
  std::string out_;
  MessageWriter writer_;
  bool is_broken_ = false;
};

// ErrorResponse and NoticeResponse. severity: "ERROR", "FATAL", "WARNING". position_offset: added to a position.
void append_error(std::string_view severity, const Status& status, MessageWriter* writer, int position_offset = 0);
void append_notice(std::string_view severity, const Status& status, MessageWriter* writer);
// A message of the engine, "NOTICE:  text\nDETAIL:  more".
void append_engine_notice(std::string_view notice, MessageWriter* writer);

}  // namespace scyper::server::postgres
