#include "query/wire_fields.h"

#include "types/big_endian.h"

namespace scyper::query {

uint64_t WireReader::read_number(size_t bytes) { return big_endian_of(read_bytes(bytes)); }

uint8_t WireReader::read_byte() { return static_cast<uint8_t>(read_number(1)); }
int16_t WireReader::read_int16() { return static_cast<int16_t>(read_number(2)); }
size_t WireReader::read_count() { return read_number(2) & 0xffff; }
int32_t WireReader::read_int32() { return static_cast<int32_t>(read_number(4)); }

std::string_view WireReader::read_string() {
  const size_t end = rest_.find('\0');
  if (end == std::string_view::npos) {
    is_whole_ = false;
    rest_ = {};
    return {};
  }
  const std::string_view text = rest_.substr(0, end);
  rest_.remove_prefix(end + 1);
  return text;
}

std::string_view WireReader::read_bytes(size_t size) {
  if (rest_.size() < size) {
    is_whole_ = false;
    rest_ = {};
    return {};
  }
  const std::string_view bytes = rest_.substr(0, size);
  rest_.remove_prefix(size);
  return bytes;
}

void WireWriter::put_int16(int16_t value) { append_big_endian(out_, static_cast<uint64_t>(value), sizeof value); }
void WireWriter::put_int32(int32_t value) { append_big_endian(out_, static_cast<uint64_t>(value), sizeof value); }
void WireWriter::put_int64(int64_t value) { append_big_endian(out_, static_cast<uint64_t>(value), sizeof value); }

void WireWriter::put_string(std::string_view text) {
  out_->append(text.substr(0, text.find('\0')));
  out_->push_back('\0');
}

size_t WireWriter::place_length() {
  out_->append(kLengthBytes, '\0');
  return out_->size() - kLengthBytes;
}

void WireWriter::fill_length(size_t place) { set_length(place, out_->size() - place - kLengthBytes); }

void WireWriter::set_length(size_t place, size_t length) {
  for (size_t i = 0; i < kLengthBytes; ++i) (*out_)[place + i] = static_cast<char>(length >> (24 - 8 * i));
}

}  // namespace scyper::query
