#include "postgres/message_stream.h"

#include <algorithm>
#include <cstring>

#include "errors.h"
#include "query/error_status.h"

namespace scyper::server::postgres {

namespace {

constexpr size_t kInputBytes = 16 << 10;  // kept between messages

void put_field(char code, std::string_view text, MessageWriter* writer) {
  if (text.empty()) return;
  writer->put_byte(static_cast<uint8_t>(code));
  writer->put_text(printable(text));
}

void append_fields(char type, std::string_view severity, const Status& status, int position_offset,
                   MessageWriter* writer) {
  writer->begin(type);
  put_field('S', severity, writer);
  put_field('V', severity, writer);
  put_field('C', sqlstate_of(status), writer);
  put_field('M', std::string_view(status.message().data(), status.message().size()), writer);
  put_field('D', detail_of(status), writer);
  put_field('H', hint_of(status), writer);
  if (const int position = position_of(status); position > 0)
    put_field('P', std::to_string(position + position_offset), writer);
  put_field('W', query::context_of(status), writer);
  const query::ErrorObject object = query::object_of(status);
  put_field('s', object.schema, writer);
  put_field('t', object.table, writer);
  put_field('c', object.column, writer);
  put_field('d', object.datatype, writer);
  put_field('n', object.constraint, writer);
  writer->put_byte(0);
  writer->end();
}

// The text behind "name:  " of one line of an engine's notice, up to the next part.
std::string take_part(std::string* text, const std::string& mark) {
  const size_t at = text->find(mark);
  if (at == std::string::npos) return "";
  std::string part = text->substr(at + mark.size());
  text->resize(at);
  return part;
}

}  // namespace

bool MessageStream::fill(size_t bytes) {
  if (end_ - begin_ >= bytes) return true;
  if (begin_ > 0) {
    std::memmove(in_.data(), in_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  if (in_.size() > kInputBytes && std::max(bytes, end_) <= kInputBytes) {
    in_.resize(kInputBytes);
    in_.shrink_to_fit();
  }
  // memory grows with what has come, not with what a length promises
  while (end_ < bytes) {
    if (in_.size() == end_) in_.resize(std::max(kInputBytes, std::min(2 * in_.size(), std::max(bytes, kInputBytes))));
    const size_t count = transport_.read(in_.data() + end_, in_.size() - end_);
    if (count == 0) return false;
    end_ += count;
  }
  return true;
}

bool MessageStream::has_message() const {
  if (end_ - begin_ < kMessageHeaderBytes) return false;
  const auto header = read_message_header(std::string_view(in_).substr(begin_, kMessageHeaderBytes));
  return !header.has_value() || end_ - begin_ >= kMessageHeaderBytes + header->payload_bytes;
}

MessageStream::Got MessageStream::read(size_t payload_bytes_max, char* type, std::string_view* payload) {
  if (!fill(kMessageHeaderBytes)) return Got::kEnd;
  const auto header = read_message_header(std::string_view(in_).substr(begin_, kMessageHeaderBytes));
  if (!header.has_value() || header->payload_bytes > payload_bytes_max) return Got::kMalformed;
  if (!fill(kMessageHeaderBytes + header->payload_bytes)) return Got::kEnd;
  *type = header->type;
  *payload = std::string_view(in_).substr(begin_ + kMessageHeaderBytes, header->payload_bytes);
  begin_ += kMessageHeaderBytes + header->payload_bytes;
  return Got::kMessage;
}

MessageStream::Got MessageStream::read_start(size_t payload_bytes_max, std::string_view* payload) {
  if (!fill(kLengthBytes)) return Got::kEnd;
  const int32_t length = MessageReader(std::string_view(in_).substr(begin_, kLengthBytes)).read_int32();
  if (length < static_cast<int32_t>(kLengthBytes) || static_cast<size_t>(length) > payload_bytes_max + kLengthBytes) {
    return Got::kMalformed;
  }
  if (!fill(static_cast<size_t>(length))) return Got::kEnd;
  *payload = std::string_view(in_).substr(begin_ + kLengthBytes, static_cast<size_t>(length) - kLengthBytes);
  begin_ += static_cast<size_t>(length);
  return Got::kMessage;
}

bool MessageStream::flush() {
  if (!is_broken_ && !out_.empty()) is_broken_ = !transport_.write(out_);
  out_.clear();
  if (out_.capacity() > 4 * kFlushBytes) out_.shrink_to_fit();
  return !is_broken_;
}

void append_error(std::string_view severity, const Status& status, MessageWriter* writer, int position_offset) {
  append_fields('E', severity, status, position_offset, writer);
}

void append_notice(std::string_view severity, const Status& status, MessageWriter* writer) {
  append_fields('N', severity, status, 0, writer);
}

void append_engine_notice(std::string_view notice, MessageWriter* writer) {
  const size_t colon = notice.find(":  ");
  std::string severity(colon == std::string_view::npos ? "NOTICE" : notice.substr(0, colon));
  std::string text(colon == std::string_view::npos ? notice : notice.substr(colon + 3));
  const std::string hint = take_part(&text, "\nHINT:  "), detail = take_part(&text, "\nDETAIL:  ");
  Status status = sql_error(severity == "WARNING" ? "01000" : "00000", text);
  if (!detail.empty()) status = with_detail(std::move(status), detail);
  if (!hint.empty()) status = with_hint(std::move(status), hint);
  append_notice(severity, status, writer);
}

}  // namespace scyper::server::postgres
