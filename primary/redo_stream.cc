#include "redo_stream.h"

#include <cstring>

#include "base/check.h"

namespace scyper::primary {

namespace {

// Handed to the sink beyond this: some dozens of records, still in the L1 cache.
constexpr size_t kFlushBytes = 16 << 10;
// Statements whose text is written once per stream as long as no more than these are in use.
constexpr size_t kDescribedStatements = 1 << 14;
constexpr size_t kScalarBytesMax = 24;  // varint of 128 bits, after its scale

char* put_varint(char* out, unsigned __int128 value) {
  while (value >= 0x80) {
    *out++ = static_cast<char>(static_cast<uint8_t>(value) | 0x80);
    value >>= 7;
  }
  *out++ = static_cast<char>(value);
  return out;
}
char* put_varint64(char* out, uint64_t value) {
  while (value >= 0x80) {
    *out++ = static_cast<char>(static_cast<uint8_t>(value) | 0x80);
    value >>= 7;
  }
  *out++ = static_cast<char>(value);
  return out;
}
char* put_signed(char* out, int64_t value) {
  return put_varint64(out, (static_cast<uint64_t>(value) << 1) ^ static_cast<uint64_t>(value >> 63));
}
char* put_signed128(char* out, __int128 value) {
  return put_varint(out, (static_cast<unsigned __int128>(value) << 1) ^ static_cast<unsigned __int128>(value >> 127));
}

bool is_text(TypeId type) { return is_string(type) || type == TypeId::kUnknown; }

size_t bytes_max(TypeId type, const Datum& value) {
  return kScalarBytesMax + (is_text(type) && !value.null ? value.size() : 0);
}

char* put_scalar(char* out, TypeId type, const Datum& value) {
  if (is_text(type)) {
    out = put_varint64(out, value.size());
    if (value.size() > 0) std::memcpy(out, value.data(), value.size());
    return out + value.size();
  }
  if (type == TypeId::kFloat8) {
    std::memcpy(out, &value.lo, sizeof(value.lo));
    return out + sizeof(value.lo);
  }
  if (type == TypeId::kNumeric) return put_signed128(put_signed(out, value.scale), value.int128());
  return put_signed(out, value.lo);
}

// A bit per value, 1 = NULL, then the values that are not.
char* put_null_bits(char* out, const Datum* values, size_t count) {
  std::memset(out, 0, (count + 7) / 8);
  for (size_t i = 0; i < count; ++i) {
    if (values[i].null) out[i / 8] = static_cast<char>(out[i / 8] | (1 << (i % 8)));
  }
  return out + (count + 7) / 8;
}

const ArrayValue& array_of(const Datum& value) { return *reinterpret_cast<const ArrayValue*>(value.lo); }

size_t argument_bytes_max(const SqlType& type, const Datum& value) {
  if (type.id != TypeId::kArray || value.null) return bytes_max(type.id, value);
  const ArrayValue& array = array_of(value);
  size_t bytes = 2 * kScalarBytesMax + static_cast<size_t>(array.size) / 8;
  for (int32_t i = 0; i < array.size; ++i) bytes += bytes_max(type.element, array.elements[i]);
  return bytes;
}

char* put_argument(char* out, const SqlType& type, const Datum& value) {
  if (type.id != TypeId::kArray) return put_scalar(out, type.id, value);
  const ArrayValue& array = array_of(value);
  out = put_varint64(out, static_cast<uint64_t>(array.size));
  out = put_signed(out, array.lower_bound);
  out = put_null_bits(out, array.elements, static_cast<size_t>(array.size));
  for (int32_t i = 0; i < array.size; ++i) {
    if (!array.elements[i].null) out = put_scalar(out, type.element, array.elements[i]);
  }
  return out;
}

}  // namespace

RedoStream::RedoStream(uint32_t worker, RedoSink* sink, LsnCounter* lsns) : worker_(worker), sink_(sink), lsns_(lsns) {
  described_.resize(kDescribedStatements);
}

char* RedoStream::room_for(size_t bytes) {
  if (capacity_ - used_ < bytes) [[unlikely]] {
    size_t capacity = used_ + bytes + 2 * kFlushBytes;
    std::unique_ptr<char[]> larger(new char[capacity]);
    if (used_ > 0) std::memcpy(larger.get(), buffer_.get(), used_);
    buffer_ = std::move(larger);
    capacity_ = capacity;
  }
  return buffer_.get() + used_;
}

// Closes the record that begins at used_ and ends here.
void RedoStream::finish(char* end) {
  char* begin = buffer_.get() + used_;
  auto size = static_cast<size_t>(end - begin);
  CHECK(size >= sizeof(RedoHeader) && size <= capacity_ - used_);
  auto body_bytes = static_cast<uint32_t>(size - sizeof(RedoHeader));
  std::memcpy(begin, &body_bytes, sizeof(body_bytes));
  used_ += size;
  ++records_;
  bytes_.store(bytes_.load(std::memory_order_relaxed) + size, std::memory_order_relaxed);
  if (used_ >= kFlushBytes) flush();
}

void RedoStream::flush() {
  if (sink_ != nullptr && records_ > 0) sink_->write(worker_, {buffer_.get(), used_}, records_);
  used_ = 0;
  records_ = 0;
}

void RedoStream::describe(uint64_t statement, std::string_view text) {
  RedoHeader header;
  header.kind = RedoKind::kStatement;
  char* out = room_for(sizeof(header) + kScalarBytesMax + text.size());
  std::memcpy(out, &header, sizeof(header));
  out = put_varint64(out + sizeof(header), statement);
  std::memcpy(out, text.data(), text.size());
  finish(out + text.size());
}

void RedoStream::append_logical(RedoHeader header, uint64_t statement, std::string_view text,
                                std::span<const SqlType> types, const Datum* arguments) {
  if (types.empty()) {
    header.kind = RedoKind::kLogicalText;
    return append(header, text);
  }
  uint64_t& described = described_[statement % kDescribedStatements];
  if (described != statement) [[unlikely]] {
    describe(statement, text);
    described = statement;
  }
  size_t bytes = sizeof(header) + kScalarBytesMax + types.size() / 8 + 1;
  for (size_t i = 0; i < types.size(); ++i) bytes += argument_bytes_max(types[i], arguments[i]);
  char* out = room_for(bytes);
  header.kind = RedoKind::kLogical;
  header.lsn = lsns_->draw();
  std::memcpy(out, &header, sizeof(header));
  out = put_varint64(out + sizeof(header), statement);
  out = put_null_bits(out, arguments, types.size());
  for (size_t i = 0; i < types.size(); ++i) {
    if (!arguments[i].null) out = put_argument(out, types[i], arguments[i]);
  }
  finish(out);
}

void RedoStream::append(RedoHeader header, std::string_view body) {
  char* out = room_for(sizeof(header) + body.size());
  header.lsn = lsns_->draw();
  std::memcpy(out, &header, sizeof(header));
  if (!body.empty()) std::memcpy(out + sizeof(header), body.data(), body.size());
  finish(out + sizeof(header) + body.size());
}

}  // namespace scyper::primary
