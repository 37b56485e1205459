#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "query/text_converter.h"
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
  // A text in the client's encoding, with question marks where that has no such character.
  void put_text(std::string_view text);
  // Of put_text(); null: none. It outlives the writer or is taken back.
  void set_converter(query::TextConverter* converter) { converter_ = converter; }

 private:
  size_t start_ = 0;  // of the message's length
  query::TextConverter* converter_ = nullptr;
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
