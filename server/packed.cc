#include "server/packed.h"

#include <algorithm>
#include <limits>

#include "base/check.h"
#include "query/value_binary.h"
#include "query/value_text.h"
#include "storage/big_numeric.h"
#include "text_values.h"

namespace scyper::server {

void* RowArena::allocate(size_t bytes) {
  bytes = (bytes + 15) & ~size_t{15};
  if (bytes > kBlockBytes) return large_.emplace_back(new char[bytes]).get();
  if (block_ < blocks_.size() && used_ + bytes > kBlockBytes) {
    ++block_;
    used_ = 0;
  }
  if (block_ == blocks_.size()) blocks_.emplace_back(new char[kBlockBytes]);
  char* place = blocks_[block_].get() + used_;
  used_ += bytes;
  return place;
}

void RowArena::clear() {
  large_.clear();
  block_ = 0;
  used_ = 0;
}

namespace {

Status malformed(const char* what) { return sql_error("08P01", std::string("malformed packed row: ") + what); }
Status truncated() { return malformed("it ends too early"); }

// 10^digits; digits <= 38.
__int128 power_of_ten(int digits) {
  __int128 power = 1;
  for (int i = 0; i < digits; ++i) power *= 10;
  return power;
}

struct TypeList {
  std::span<const SqlType> types;
  const SqlType& operator[](size_t i) const { return types[i]; }
};
struct SameType {
  SqlType type;
  const SqlType& operator[](size_t) const { return type; }
};

template <typename Types>
Status decode_values(const Types& types, size_t count, std::string_view* bytes, Datum* values, RowArena* arena);

template <typename T>
Status decode_fixed(std::string_view* bytes, Datum* out) {
  T value;
  if (!take(bytes, &value)) return truncated();
  *out = int_datum(value);
  return {};
}

Status decode_text(std::string_view* bytes, Datum* out);
Status decode_as_text(const SqlType& type, std::string_view* bytes, Datum* out, RowArena* arena);

Status decode_numeric(const SqlType& type, std::string_view* bytes, Datum* out, RowArena* arena) {
  uint8_t scale, width;
  if (!take(bytes, &scale) || !take(bytes, &width)) return truncated();
  if (width == 0) return decode_as_text(type, bytes, out, arena);
  if (scale > kMaxPrecision) return malformed("numeric scale over 38");
  __int128 wide = 0;
  if (width == 8) {
    int64_t narrow;
    if (!take(bytes, &narrow)) return truncated();
    wide = narrow;
  } else if (width == 16) {
    if (!take(bytes, &wide)) return truncated();
  } else {
    return malformed("numeric width is neither 8 nor 16");
  }
  static const __int128 kLimit = power_of_ten(kMaxPrecision);
  if (wide >= kLimit || wide <= -kLimit) return sql_error("22003", "value overflows numeric format");
  *out = int128_datum(wide, scale);
  return fit_numeric(type, out);
}

Status decode_text(std::string_view* bytes, Datum* out) {
  uint32_t size;
  if (!take(bytes, &size) || bytes->size() < size) return truncated();
  SCYPER_RETURN_IF_ERROR(check_text(bytes->substr(0, size)));
  *out = string_datum(bytes->data(), size);
  bytes->remove_prefix(size);
  return {};
}

Status decode_as_text(const SqlType& type, std::string_view* bytes, Datum* out, RowArena* arena) {
  Datum text;
  SCYPER_RETURN_IF_ERROR(decode_text(bytes, &text));
  return read_text(type, {text.data(), text.size()}, out, arena);
}

Status decode_array(const SqlType& type, std::string_view* bytes, Datum* out, RowArena* arena) {
  uint32_t count;
  int32_t lower_bound;
  if (!take(bytes, &count) || !take(bytes, &lower_bound)) return truncated();
  // Every element takes at least its bit of the bitmap: a bound on what a short message can make us allocate.
  if (count > bytes->size() * 8) return truncated();
  if (lower_bound > std::numeric_limits<int32_t>::max() - static_cast<int64_t>(count)) {
    return malformed("array bounds out of range");
  }
  auto* array = static_cast<ArrayValue*>(arena->allocate(sizeof(ArrayValue)));
  auto* elements = static_cast<Datum*>(arena->allocate(sizeof(Datum) * (count + 1)));
  *array = ArrayValue{static_cast<int32_t>(count), static_cast<int32_t>(count), lower_bound, type.element, elements};
  SCYPER_RETURN_IF_ERROR(decode_values(SameType{element_of(type)}, count, bytes, elements, arena));
  *out = Datum{reinterpret_cast<int64_t>(array), 0, 0, 0, {}};
  return {};
}

Status decode_cell(const SqlType& type, std::string_view* bytes, Datum* out, RowArena* arena) {
  switch (type.id) {
    case TypeId::kBool:
      SCYPER_RETURN_IF_ERROR(decode_fixed<uint8_t>(bytes, out));
      return out->lo <= 1 ? Status() : malformed("a boolean is neither 0 nor 1");
    case TypeId::kInt2:
      return decode_fixed<int16_t>(bytes, out);
    case TypeId::kInt4:
      return decode_fixed<int32_t>(bytes, out);
    case TypeId::kInt8:
      return decode_fixed<int64_t>(bytes, out);
    case TypeId::kDate:
      SCYPER_RETURN_IF_ERROR(decode_fixed<int32_t>(bytes, out));
      return query::check_range(type.id, out->lo);
    case TypeId::kTime:
    case TypeId::kTimestamp:
    case TypeId::kTimestamptz:
      SCYPER_RETURN_IF_ERROR(decode_fixed<int64_t>(bytes, out));
      return query::check_range(type.id, out->lo);
    case TypeId::kFloat4:
    case TypeId::kFloat8: {
      double value;
      if (!take(bytes, &value)) return truncated();
      *out = float_datum(value);
      return {};
    }
    case TypeId::kNumeric:
      return decode_numeric(type, bytes, out, arena);
    case TypeId::kUnknown:
    case TypeId::kChar:
    case TypeId::kVarchar:
    case TypeId::kText:
      return decode_text(bytes, out);
    case TypeId::kArray:
      return decode_array(type, bytes, out, arena);
    default:
      if (is_read_as_text(type.id)) return decode_as_text(type, bytes, out, arena);
      break;
  }
  return malformed("a value of this type cannot be sent");
}

template <typename Types>
Status decode_values(const Types& types, size_t count, std::string_view* bytes, Datum* values, RowArena* arena) {
  size_t bitmap_bytes = (count + 7) / 8;
  if (bytes->size() < bitmap_bytes) return truncated();
  const char* bitmap = bytes->data();
  bytes->remove_prefix(bitmap_bytes);
  if (count % 8 != 0 && (static_cast<uint8_t>(bitmap[bitmap_bytes - 1]) >> (count % 8)) != 0) {
    return malformed("unused bits of the null bitmap are set");
  }
  for (size_t i = 0; i < count; ++i) {
    if ((bitmap[i / 8] >> (i % 8)) & 1) {
      values[i] = null_datum();
    } else {
      SCYPER_RETURN_IF_ERROR(decode_cell(types[i], bytes, &values[i], arena));
    }
  }
  return {};
}

bool is_narrow(const Datum& value) { return value.hi == (value.lo < 0 ? -1 : 0); }

template <typename Types>
size_t values_bytes(const Types& types, size_t count, const Datum* values);

std::string text_of(const SqlType& type, const Datum& value) {
  std::string text;
  query::append_value(&text, type, value);
  return text;
}

size_t cell_bytes(const SqlType& type, const Datum& value) {
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
    case TypeId::kFloat4:
    case TypeId::kFloat8:
      return 8;
    case TypeId::kNumeric:
      if (is_special_numeric(value)) return 6 + text_of(type, value).size();
      return is_narrow(value) ? 10 : 18;
    case TypeId::kUnknown:
    case TypeId::kChar:
    case TypeId::kVarchar:
    case TypeId::kText:
      return 4 + value.size();
    case TypeId::kArray: {
      auto* array = reinterpret_cast<const ArrayValue*>(value.lo);
      size_t count = static_cast<size_t>(array->size);
      return 8 + values_bytes(SameType{element_of(type)}, count, array->elements);
    }
    case TypeId::kRecord:
    case TypeId::kVoid:
      return 0;
    default:  // as text
      return 4 + text_of(type, value).size();
  }
  return 0;
}

// Records and void have no wire form: they travel as NULL.
bool is_sent_as_null(const SqlType& type, const Datum& value) {
  return value.null || type.id == TypeId::kRecord || type.id == TypeId::kVoid;
}

template <typename Types>
size_t values_bytes(const Types& types, size_t count, const Datum* values) {
  size_t bytes = (count + 7) / 8;
  for (size_t i = 0; i < count; ++i) {
    if (!is_sent_as_null(types[i], values[i])) bytes += cell_bytes(types[i], values[i]);
  }
  return bytes;
}

template <typename T>
char* write(char* out, T value) {
  std::memcpy(out, &value, sizeof(T));
  return out + sizeof(T);
}

template <typename Types>
char* write_values(const Types& types, size_t count, const Datum* values, char* out);

char* write_cell(const SqlType& type, const Datum& value, char* out) {
  switch (type.id) {
    case TypeId::kBool:
      return write(out, static_cast<uint8_t>(value.lo != 0));
    case TypeId::kInt2:
      return write(out, static_cast<int16_t>(value.lo));
    case TypeId::kInt4:
    case TypeId::kDate:
      return write(out, static_cast<int32_t>(value.lo));
    case TypeId::kInt8:
    case TypeId::kTimestamp:
    case TypeId::kTimestamptz:
    case TypeId::kTime:
    case TypeId::kFloat4:
    case TypeId::kFloat8:
      return write(out, value.lo);
    case TypeId::kNumeric: {
      if (is_special_numeric(value)) {  // no scale, no width: as text
        const std::string text = text_of(type, value);
        out = write(write(out, uint16_t{0}), static_cast<uint32_t>(text.size()));
        return std::copy(text.begin(), text.end(), out);
      }
      bool narrow = is_narrow(value);
      out = write(write(out, static_cast<uint8_t>(value.scale)), static_cast<uint8_t>(narrow ? 8 : 16));
      out = write(out, value.lo);
      return narrow ? out : write(out, value.hi);
    }
    case TypeId::kUnknown:
    case TypeId::kChar:
    case TypeId::kVarchar:
    case TypeId::kText:
      out = write(out, static_cast<uint32_t>(value.size()));
      if (value.size() > 0) std::memcpy(out, value.data(), value.size());
      return out + value.size();
    case TypeId::kArray: {
      auto* array = reinterpret_cast<const ArrayValue*>(value.lo);
      out = write(write(out, static_cast<uint32_t>(array->size)), array->lower_bound);
      return write_values(SameType{element_of(type)}, static_cast<size_t>(array->size), array->elements, out);
    }
    case TypeId::kRecord:
    case TypeId::kVoid:
      return out;
    default: {  // as text
      const std::string text = text_of(type, value);
      out = write(out, static_cast<uint32_t>(text.size()));
      std::memcpy(out, text.data(), text.size());
      return out + text.size();
    }
  }
  return out;
}

template <typename Types>
char* write_values(const Types& types, size_t count, const Datum* values, char* out) {
  char* bitmap = out;
  size_t bitmap_bytes = (count + 7) / 8;
  std::memset(bitmap, 0, bitmap_bytes);
  out += bitmap_bytes;
  for (size_t i = 0; i < count; ++i) {
    if (is_sent_as_null(types[i], values[i])) {
      bitmap[i / 8] = static_cast<char>(bitmap[i / 8] | (1 << (i % 8)));
    } else {
      out = write_cell(types[i], values[i], out);
    }
  }
  return out;
}

}  // namespace

Status decode_row(std::span<const SqlType> types, std::string_view* bytes, Datum* row, RowArena* arena) {
  return decode_values(TypeList{types}, types.size(), bytes, row, arena);
}

void append_row(std::span<const SqlType> types, const Datum* row, std::string* out) {
  size_t bytes = values_bytes(TypeList{types}, types.size(), row);
  size_t start = out->size();
  out->resize(start + bytes);
  char* end = write_values(TypeList{types}, types.size(), row, out->data() + start);
  CHECK(end == out->data() + start + bytes);
}

Status fit_numeric(const SqlType& type, Datum* value) {
  if (type.id != TypeId::kNumeric || type.precision == 0) return {};
  __int128 number = value->int128();
  for (int scale = value->scale; scale < type.scale; ++scale) {
    if (__builtin_mul_overflow(number, static_cast<__int128>(10), &number)) {
      return sql_error("22003", "numeric field overflow");
    }
  }
  if (value->scale > type.scale) {
    __int128 divisor = power_of_ten(value->scale - type.scale);
    __int128 rest = number % divisor;
    number /= divisor;
    if ((rest < 0 ? -rest : rest) >= divisor - (rest < 0 ? -rest : rest)) number += rest < 0 ? -1 : 1;
  }
  __int128 limit = power_of_ten(type.precision);
  if (number >= limit || number <= -limit) {
    int digits = type.precision - type.scale;
    std::string bound = digits > 0 ? "10^" + std::to_string(digits) : "1";
    return with_detail(sql_error("22003", "numeric field overflow"),
                       "A field with precision " + std::to_string(type.precision) + ", scale " +
                           std::to_string(type.scale) + " must round to an absolute value less than " + bound + ".");
  }
  *value = int128_datum(number, type.scale);
  return {};
}

}  // namespace scyper::server
