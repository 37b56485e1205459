#include "redo_stream.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "storage/big_numeric.h"

namespace scyper::primary {

namespace {

// Handed to the sink beyond this: some dozens of records, still in the L1 cache.
constexpr size_t kFlushBytes = 16 << 10;
// Statements whose text is written once per stream as long as no more than these are in use.
constexpr size_t kDescribedStatements = 1 << 14;
// Texts for a restart: what runs all the time is a handful of statements.
constexpr size_t kTextsKept = 64;
constexpr size_t kTextBytesMax = 16 << 10;
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

bool is_text(TypeId type) { return holds_bytes(type) || type == TypeId::kUnknown; }

size_t bytes_max(TypeId type, const Datum& value) {
  if (value.null) return kScalarBytesMax;
  return kScalarBytesMax + (is_text(type) ? value.size() : type == TypeId::kNumeric ? big_numeric_bytes(value) : 0);
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
  if (type == TypeId::kNumeric) {
    const uint64_t bytes = big_numeric_bytes(value);
    if (bytes == 0) return put_signed128(put_signed(out, value.scale), value.int128());
    out = put_signed128(put_signed(out, value.scale), static_cast<__int128>(value.hi) << 64);
    std::memcpy(out, value.data(), bytes);
    return out + bytes;
  }
  if (type == TypeId::kInterval || type == TypeId::kUuid) return put_signed(put_signed(out, value.lo), value.hi);
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

RedoStream::RedoStream(uint32_t stream, LogBuffer* buffer, RedoSink* sink, LsnCounter* lsns)
    : stream_(stream), buffer_(buffer), sink_(sink), lsns_(lsns) {}

char* RedoStream::room_for(size_t bytes) {
  if (buffer_ != nullptr) return buffer_->reserve(bytes);
  if (capacity_ - used_ < bytes) [[unlikely]] {
    size_t capacity = used_ + bytes + 2 * kFlushBytes;
    std::unique_ptr<char[]> larger(new char[capacity]);
    if (used_ > 0) std::memcpy(larger.get(), own_.get(), used_);
    own_ = std::move(larger);
    capacity_ = capacity;
  }
  return own_.get() + used_;
}

// Closes the record between them, which room_for() has begun.
void RedoStream::finish(char* begin, char* end) {
  auto size = static_cast<size_t>(end - begin);
  CHECK(size >= sizeof(RedoHeader));
  auto body_bytes = static_cast<uint32_t>(size - sizeof(RedoHeader));
  std::memcpy(begin, &body_bytes, sizeof(body_bytes));
  bytes_.store(bytes_.load(std::memory_order_relaxed) + size, std::memory_order_relaxed);
  if (buffer_ != nullptr) return buffer_->publish(end);
  used_ += size;
  ++records_;
  if (used_ >= kFlushBytes) flush();
}

void RedoStream::flush() {
  if (sink_ != nullptr && records_ > 0) sink_->write(stream_, {own_.get(), used_}, records_);
  used_ = 0;
  records_ = 0;
}

void RedoStream::keep_text(std::string_view text) {
  if (text.size() > kTextBytesMax || std::find(texts_.begin(), texts_.end(), text) != texts_.end()) return;
  if (texts_.size() < kTextsKept) texts_.resize(texts_.size() + 1);
  texts_[next_text_++ % kTextsKept] = std::string(text);
}

void RedoStream::describe(uint64_t statement, std::string_view text) {
  keep_text(text);
  RedoHeader header;
  header.kind = RedoKind::kStatement;
  char* begin = room_for(sizeof(header) + kScalarBytesMax + text.size());
  std::memcpy(begin, &header, sizeof(header));
  char* out = put_varint64(begin + sizeof(header), statement);
  std::memcpy(out, text.data(), text.size());
  finish(begin, out + text.size());
}

uint64_t RedoStream::append_logical(RedoHeader header, uint64_t statement, std::string_view text,
                                    std::span<const SqlType> types, const Datum* arguments, std::string_view prefix) {
  if (types.empty()) {
    header.kind = RedoKind::kLogicalText;
    return append(header, text, prefix);
  }
  if (described_.empty()) [[unlikely]]
    described_.resize(kDescribedStatements);
  uint64_t& described = described_[statement % kDescribedStatements];
  if (described != statement) [[unlikely]] {
    describe(statement, text);
    described = statement;
  }
  size_t bytes = sizeof(header) + prefix.size() + kScalarBytesMax + types.size() / 8 + 1;
  for (size_t i = 0; i < types.size(); ++i) bytes += argument_bytes_max(types[i], arguments[i]);
  char* begin = room_for(bytes);
  header.kind = RedoKind::kLogical;
  header.lsn = draw();
  std::memcpy(begin, &header, sizeof(header));
  char* out = begin + sizeof(header);
  if (!prefix.empty()) out = std::copy(prefix.begin(), prefix.end(), out);
  out = put_varint64(out, statement);
  out = put_null_bits(out, arguments, types.size());
  for (size_t i = 0; i < types.size(); ++i) {
    if (!arguments[i].null) out = put_argument(out, types[i], arguments[i]);
  }
  finish(begin, out);
  return header.lsn;
}

void RedoStream::prepare(std::string_view body, size_t prefix_bytes, const std::function<void()>& between) {
  constexpr size_t kPieceBytes = size_t{256} << 10;
  if (buffer_ == nullptr || body.size() < kPieceBytes) return;
  char* out = buffer_->make_aside(sizeof(RedoHeader) + prefix_bytes + body.size()) + sizeof(RedoHeader) + prefix_bytes;
  for (size_t at = 0; at < body.size(); at += kPieceBytes) {
    const std::string_view piece = body.substr(at, kPieceBytes);
    std::memcpy(out + at, piece.data(), piece.size());
    between();
  }
  is_prepared_ = true;
}

uint64_t RedoStream::append(RedoHeader header, std::string_view body, std::string_view prefix) {
  const size_t bytes = sizeof(header) + prefix.size() + body.size();
  if (buffer_ == nullptr && sink_ == nullptr && bytes > kFlushBytes) {  // nobody takes it
    bytes_.store(bytes_.load(std::memory_order_relaxed) + bytes, std::memory_order_relaxed);
    return draw();
  }
  const bool has_body = std::exchange(is_prepared_, false);
  char* begin = has_body ? buffer_->reserve_aside() : room_for(bytes);
  header.lsn = draw();
  std::memcpy(begin, &header, sizeof(header));
  char* out = begin + sizeof(header);
  if (!prefix.empty()) out = std::copy(prefix.begin(), prefix.end(), out);
  if (!body.empty() && !has_body) std::memcpy(out, body.data(), body.size());
  finish(begin, out + body.size());
  return header.lsn;
}

}  // namespace scyper::primary
