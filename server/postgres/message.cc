#include "postgres/message.h"

#include "base/check.h"

namespace scyper::server::postgres {

void MessageWriter::begin(char type) {
  out()->push_back(type);
  start_ = place_length();
}

void MessageWriter::end() {
  CHECK(start_ > 0);
  set_length(start_, out()->size() - start_);  // with itself
  start_ = 0;
}

void MessageWriter::put_text(std::string_view text) {
  if (converter_ == nullptr) return put_string(text);
  std::string converted;
  converter_->append_anyway(text.substr(0, text.find('\0')), &converted);
  put_string(converted);
}

std::optional<MessageHeader> read_message_header(std::string_view bytes) {
  MessageReader reader(bytes);
  MessageHeader header;
  header.type = static_cast<char>(reader.read_byte());
  const int32_t length = reader.read_int32();
  if (!reader.is_whole() || length < static_cast<int32_t>(kLengthBytes)) return std::nullopt;
  header.payload_bytes = static_cast<uint32_t>(length) - static_cast<uint32_t>(kLengthBytes);
  return header;
}

}  // namespace scyper::server::postgres
