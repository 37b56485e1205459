#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "query/wire_fields.h"

namespace scyper::server::postgres {

using MessageReader = query::WireReader;
using query::kLengthBytes;

// Appends messages to a buffer. begin() and end() enclose one message. Threads: one.
class MessageWriter : public query::WireWriter {
 public:
  using WireWriter::WireWriter;
  void begin(char type);
  void end();

 private:
  size_t start_ = 0;  // of the message's length
};

// What stands before every message after the start.
constexpr size_t kMessageHeaderBytes = 5;  // type, length with itself

struct MessageHeader {
  char type = 0;
  uint32_t payload_bytes = 0;
};
// nullopt: a length that cannot be.
std::optional<MessageHeader> read_message_header(std::string_view bytes);

}  // namespace scyper::server::postgres
