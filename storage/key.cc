#include "storage/key.h"

#include <algorithm>

#include "base/check.h"
#include "storage/big_numeric.h"
#include "storage/trailer.h"

namespace scyper::storage {
namespace {

constexpr uint32_t kMaxKeyColumns = 32;                  // PostgreSQL's INDEX_MAX_KEYS
static_assert(kMaxKeyColumns * 17 + 8 <= kMaxKeyBytes);  // so fixed-width keys always fit

uint32_t numeric_key_bytes(uint8_t precision) {
  if (precision == 0) return 0;
  if (precision <= 4) return 2;
  if (precision <= 9) return 4;
  return precision <= kMaxPrecision64 ? 8 : 16;
}

// Writes what fits below kMaxKeyBytes and counts everything.
struct KeyWriter {
  char* out;
  size_t size = 0;

  void append(const char* bytes, size_t count) {
    if (size + count <= kMaxKeyBytes) std::memcpy(out + size, bytes, count);
    size += count;
  }
  void append_byte(char byte) { append(&byte, 1); }
  void append_zeros(size_t count) {
    const char zeros[16] = {};
    append(zeros, count);
  }
  void invert_from(size_t start) {
    for (size_t i = start; i < std::min<size_t>(size, kMaxKeyBytes); ++i) out[i] = static_cast<char>(~out[i]);
  }
};

void append_integer(KeyWriter* writer, uint32_t bytes, const Datum& value) {
  char buffer[16];
  const char* end = nullptr;
  switch (bytes) {
    case 1:
      end = put_key_integer(buffer, static_cast<uint8_t>(value.lo));
      break;
    case 2:
      end = put_key_integer(buffer, static_cast<uint16_t>(value.lo));
      break;
    case 4:
      end = put_key_integer(buffer, static_cast<uint32_t>(value.lo));
      break;
    case 8:
      end = put_key_integer(buffer, static_cast<uint64_t>(value.lo));
      break;
    default:
      end = put_key_integer(buffer, static_cast<unsigned __int128>(value.int128()));
  }
  writer->append(buffer, static_cast<size_t>(end - buffer));
}

void append_value(KeyWriter* writer, const KeyColumn& column, const Datum& value) {
  const TypeId type = column.type.id;
  if (is_string(type)) {
    writer->append(value.data(), key_string_bytes(value.data(), value.size(), type == TypeId::kChar));
    writer->append_byte(0);
  } else if (is_ordered_bytes(type) || type == TypeId::kBytea) {
    const std::string_view whole(value.data(), value.size());
    for (const char byte : has_trailer(type) ? ordered_part(whole) : whole) {
      writer->append_byte(byte);
      if (byte == 0) writer->append_byte(static_cast<char>(0xff));
    }
    writer->append_zeros(2);
  } else if (is_float(type)) {
    char buffer[8];
    put_key_float8(buffer, std::bit_cast<double>(value.lo));
    writer->append(buffer, sizeof(buffer));
  } else if (type == TypeId::kNumeric && column.type.precision == 0) {
    char buffer[kMaxDecimalKeyBytes];
    const char* end = put_key_decimal(buffer, value.int128(), value.scale);
    writer->append(buffer, static_cast<size_t>(end - buffer));
  } else {
    CHECK(type != TypeId::kNumeric || value.scale == column.type.scale);
    append_integer(writer, column.value_bytes, value);
  }
}

}  // namespace

uint32_t key_bytes_of(const SqlType& type) {
  switch (type.id) {
    case TypeId::kBool:
      return 1;
    case TypeId::kInt2:
      return 2;
    case TypeId::kInt4:
    case TypeId::kDate:
      return 4;
    case TypeId::kInt8:
    case TypeId::kTimestamp:
    case TypeId::kTimestamptz:
    case TypeId::kTime:
    case TypeId::kEnum:
    case TypeId::kFloat4:
    case TypeId::kFloat8:
      return 8;
    case TypeId::kUuid:
      return 16;
    case TypeId::kNumeric:
      return numeric_key_bytes(type.precision);
    default:
      return 0;
  }
}

bool can_be_key(const SqlType& type) {
  return is_string(type.id) || is_ordered_bytes(type.id) || type.id == TypeId::kBytea || type.id == TypeId::kNumeric ||
         key_bytes_of(type) > 0;
}

char* put_key_decimal(char* out, __int128 value, int32_t scale) {
  if (scale <= kNanScale && scale >= kNegativeInfinityScale) {  // the first byte of a number is 0x7f, 0x80 or 0x81
    *out++ = static_cast<char>(scale == kNanScale ? 0xff : scale == kInfinityScale ? 0xfe : 0x01);
    return out;
  }
  if (value == 0) {
    *out++ = static_cast<char>(0x80);
    return out;
  }
  auto rest = static_cast<unsigned __int128>(value);
  if (value < 0) rest = -rest;
  uint8_t digits[40];  // last digit first
  int32_t count = 0;
  for (; rest != 0; rest /= 10) digits[count++] = static_cast<uint8_t>(rest % 10);
  const int32_t exponent = count - scale;
  CHECK(exponent >= -0x8000 && exponent < 0x8000);
  int32_t last = 0;
  while (digits[last] == 0) ++last;
  *out++ = static_cast<char>(value < 0 ? 0x7f : 0x81);
  char* const start = out;
  out = put_key_bits(out, static_cast<uint16_t>(exponent + 0x8000));
  for (int32_t i = count - 1; i >= last; i -= 2) {
    *out++ = static_cast<char>(digits[i] * 10 + (i > last ? digits[i - 1] : 0) + 1);
  }
  *out++ = 0;
  if (value < 0) {
    for (char* byte = start; byte < out; ++byte) *byte = static_cast<char>(~*byte);
  }
  return out;
}

StatusOr<KeyFormat> KeyFormat::create(const IndexDef& index, const TableSchema& schema) {
  if (index.columns.size() > kMaxKeyColumns) return sql_error("54011", "cannot use more than 32 columns in an index");
  CHECK(!index.columns.empty() && (index.descending.empty() || index.descending.size() == index.columns.size()));
  KeyFormat format;
  format.name_ = index.name;
  format.unique_ = index.unique;
  bool fixed = true;
  bool nullable = false;
  for (size_t i = 0; i < index.columns.size(); ++i) {
    const ColumnDef& def = schema.columns[index.columns[i]];
    if (!can_be_key(def.type)) {
      return sql_error("0A000",
                       "index on column \"" + def.name + "\" of type " + type_name(def.type) + " is not supported");
    }
    const bool descending = !index.descending.empty() && index.descending[i];
    format.columns_.push_back({def.type, index.columns[i], key_bytes_of(def.type), !def.not_null, descending});
    format.key_bytes_ += format.columns_.back().fixed_bytes();
    fixed = fixed && format.columns_.back().value_bytes > 0;
    nullable = nullable || !def.not_null;
  }
  if (!fixed || (index.unique && nullable)) {
    format.key_bytes_ = 0;
  } else if (!index.unique) {
    format.key_bytes_ += sizeof(Tid);
  }
  return format;
}

// Counts on beyond kMaxKeyBytes.
size_t KeyFormat::encode_counting(std::span<const Datum> values, char* out) const noexcept {
  CHECK(values.size() <= columns_.size());
  KeyWriter writer{out};
  for (size_t i = 0; i < values.size(); ++i) {
    const KeyColumn& column = columns_[i];
    const bool null = values[i].null != 0;
    const size_t start = writer.size;
    CHECK(column.nullable || !null);
    if (column.nullable) writer.append_byte(null ? 1 : 0);
    if (null) {
      writer.append_zeros(column.value_bytes);
    } else {
      append_value(&writer, column, values[i]);
    }
    if (column.descending) writer.invert_from(start);
  }
  return writer.size;
}

size_t KeyFormat::encode(std::span<const Datum> values, char* out) const noexcept {
  const size_t size = encode_counting(values, out);
  return size <= kMaxKeyBytes ? size : kKeyTooLarge;
}

bool KeyFormat::needs_tid(std::span<const Datum> values) const noexcept {
  return !unique_ || std::any_of(values.begin(), values.end(), [](const Datum& value) { return value.null != 0; });
}

size_t KeyFormat::encode_entry(std::span<const Datum> values, Tid tid, char* out) const noexcept {
  CHECK(values.size() == columns_.size());
  const size_t size = encode(values, out);
  if (size == kKeyTooLarge || !needs_tid(values)) return size;
  return static_cast<size_t>(put_key_tid(out + size, tid) - out);
}

Status KeyFormat::key_too_large(std::span<const Datum> values) const {
  char scratch[kMaxKeyBytes];
  return sql_error("54000", "index row size " + std::to_string(encode_counting(values, scratch)) + " exceeds maximum " +
                                std::to_string(kMaxKeyBytes) + " for index \"" + name_ + "\"");
}

}  // namespace scyper::storage
