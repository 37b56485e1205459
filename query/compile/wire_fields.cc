#include "query/wire_fields.h"

namespace scyper::query {

namespace {

template <typename T>
void append_big_endian(std::string* out, T value) {
  for (int shift = 8 * static_cast<int>(sizeof(T)) - 8; shift >= 0; shift -= 8) {
    out->push_back(static_cast<char>(static_cast<uint64_t>(value) >> shift));
  }
}

}  // namespace

uint64_t WireReader::read_number(size_t bytes) {
  uint64_t value = 0;
  for (char c : read_bytes(bytes)) value = value << 8 | static_cast<unsigned char>(c);
  return value;
}

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

void WireWriter::put_int16(int16_t value) { append_big_endian(out_, value); }
void WireWriter::put_int32(int32_t value) { append_big_endian(out_, value); }
void WireWriter::put_int64(int64_t value) { append_big_endian(out_, value); }

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
