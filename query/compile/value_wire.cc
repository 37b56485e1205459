#include "query/value_wire.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "parse/text.h"
#include "query/type_numbers.h"
#include "query/value_binary.h"
#include "storage/big_numeric.h"
#include "storage/json_text_type.h"
#include "types/ordered_bytes.h"

namespace scyper::query {

namespace {

constexpr uint8_t kJsonbVersion = 1;
// numeric: digits to the base 10000, most significant first, then weight, sign and display scale (numeric_send).
constexpr int kDigitsPerGroup = 4;
constexpr int kGroupBase = 10'000;
constexpr int kNumericPositive = 0x0000, kNumericNegative = 0x4000, kNumericNan = 0xC000, kNumericInfinity = 0xD000,
              kNumericNegativeInfinity = 0xF000;
constexpr int kNumericScaleMask = 0x3FFF;
constexpr int32_t kSentElementsMax = 1 << 24;

Status bad_binary(const SqlType& type) {
  return sql_error("22P03", "incorrect binary data format for type " + type_name(type));
}

// --- numeric ---

StatusOr<Datum> numeric_of_text(const SqlType& type, std::string_view text, ValueArena* arena) {
  Datum value;
  SCYPER_RETURN_IF_ERROR(parse_value(type, text, arena, &value));
  return value;
}

StatusOr<Datum> decode_numeric(const SqlType& type, WireReader* in, ValueArena* arena) {
  const int groups = in->read_int16(), weight = in->read_int16();
  const int sign = static_cast<uint16_t>(in->read_int16());
  const int scale = in->read_int16();
  if (!in->is_whole() || groups < 0 || scale < 0 || scale > kNumericScaleMask) return bad_binary(type);
  if (static_cast<size_t>(groups) * sizeof(int16_t) > in->rest().size()) return bad_binary(type);
  if (sign == kNumericNan) return numeric_of_text(type, "NaN", arena);
  if (sign == kNumericInfinity) return numeric_of_text(type, "Infinity", arena);
  if (sign == kNumericNegativeInfinity) return numeric_of_text(type, "-Infinity", arena);
  if (sign != kNumericPositive && sign != kNumericNegative) return bad_binary(type);
  std::string text = sign == kNumericNegative ? "-" : "";
  auto append_group = [&text](int group) {
    const std::string digits = std::to_string(group);
    text.append(static_cast<size_t>(kDigitsPerGroup) - digits.size(), '0').append(digits);
  };
  std::vector<int> values;
  for (int i = 0; i < groups; ++i) {
    const int group = in->read_int16();
    if (group < 0 || group >= kGroupBase) return bad_binary(type);
    values.push_back(group);
  }
  if (!in->is_whole()) return bad_binary(type);
  if (groups == 0) return numeric_of_text(type, "0" + (scale > 0 ? "." + std::string(scale, '0') : ""), arena);
  auto group_at = [&](int position) {  // of the power `position` of the base
    const int index = weight - position;
    return index >= 0 && index < groups ? values[static_cast<size_t>(index)] : 0;
  };
  for (int position = std::max(weight, 0); position >= 0; --position) append_group(group_at(position));
  if (scale > 0) {
    text += '.';
    const size_t end = text.size() + static_cast<size_t>(scale);
    for (int position = -1; text.size() < end; --position) append_group(group_at(position));
    text.resize(end);
  }
  return numeric_of_text(type, text, arena);
}

// Digits without sign and point, of a number that is no NaN or infinity.
std::string sent_digits(const Datum& value) {
  std::string digits;
  if (is_special_numeric(value)) {
    append_value(&digits, make_type(TypeId::kNumeric), value);
    std::erase_if(digits, [](char c) { return c < '0' || c > '9'; });
    return digits;
  }
  const __int128 number = value.int128();
  unsigned __int128 rest =
      number < 0 ? -static_cast<unsigned __int128>(number) : static_cast<unsigned __int128>(number);
  for (; rest != 0; rest /= 10) digits.insert(digits.begin(), static_cast<char>('0' + static_cast<int>(rest % 10)));
  return digits;
}

void append_special_numeric(int32_t kind, WireWriter* out) {
  const int sign = kind == kNanScale        ? kNumericNan
                   : kind == kInfinityScale ? kNumericInfinity
                                            : kNumericNegativeInfinity;
  constexpr int kInfinityScaleBits = 0x20;  // a part of how PostgreSQL stores them, and sends them
  for (const int field : {0, 0, sign, kind == kNanScale ? 0 : kInfinityScaleBits})
    out->put_int16(static_cast<int16_t>(field));
}

void append_numeric(const Datum& value, WireWriter* out) {
  if (value.scale < kBigScale) return append_special_numeric(value.scale, out);
  const BigNumeric big = value.scale == kBigScale ? BigNumeric::of(value.hi) : BigNumeric{};
  const int scale = value.scale == kBigScale ? static_cast<int>(big.scale) : value.scale;
  const bool negative = value.scale == kBigScale ? big.negative : value.hi < 0;
  // zeros behind make the fraction whole groups
  const int fraction_groups = (scale + kDigitsPerGroup - 1) / kDigitsPerGroup;
  std::string digits = sent_digits(value);
  digits.append(static_cast<size_t>(fraction_groups * kDigitsPerGroup - scale), '0');
  const size_t missing = (kDigitsPerGroup - digits.size() % kDigitsPerGroup) % kDigitsPerGroup;
  digits.insert(0, missing, '0');
  std::vector<int16_t> groups;
  for (size_t i = 0; i < digits.size(); i += kDigitsPerGroup) {
    int group = 0;
    for (size_t k = 0; k < kDigitsPerGroup; ++k) group = group * 10 + (digits[i + k] - '0');
    groups.push_back(static_cast<int16_t>(group));
  }
  int weight = static_cast<int>(groups.size()) - fraction_groups - 1;
  size_t first = 0;
  for (; first < groups.size() && groups[first] == 0; ++first) --weight;
  while (groups.size() > first && groups.back() == 0) groups.pop_back();
  const size_t count = groups.size() - first;
  out->put_int16(static_cast<int16_t>(count));
  out->put_int16(static_cast<int16_t>(count == 0 ? 0 : weight));
  out->put_int16(static_cast<int16_t>(negative ? kNumericNegative : kNumericPositive));
  out->put_int16(static_cast<int16_t>(scale));
  for (size_t i = first; i < groups.size(); ++i) out->put_int16(groups[i]);
}

// --- parameters ---

int64_t read_int64(WireReader* in) {
  const auto high = static_cast<uint64_t>(static_cast<uint32_t>(in->read_int32()));
  return static_cast<int64_t>(high << 32 | static_cast<uint32_t>(in->read_int32()));
}

Datum keep_bytes(std::string_view bytes, ValueArena* arena) {
  auto* copy = static_cast<char*>(arena->allocate(bytes.size() + 1));
  std::memcpy(copy, bytes.data(), bytes.size());
  return string_datum(copy, bytes.size());
}

Datum decode_uuid(WireReader* in) {
  UuidBytes bytes{};
  const std::string_view sent = in->read_bytes(bytes.size());
  std::copy(sent.begin(), sent.end(), bytes.begin());
  return uuid_of(bytes);
}

Datum decode_interval(WireReader* in) {
  const int64_t micros = read_int64(in);
  const auto days = static_cast<uint32_t>(in->read_int32()), months = static_cast<uint32_t>(in->read_int32());
  return Datum{micros, static_cast<int64_t>(static_cast<uint64_t>(months) << 32 | days), 0, 0, {}};
}

Status decode_binary(const SqlType& type, std::string_view bytes, ValueArena* arena, Datum* out);

Status decode_array(const SqlType& type, WireReader* in, ValueArena* arena, Datum* out) {
  const int32_t dimensions = in->read_int32();
  in->read_int32();  // whether it has NULLs
  const int32_t element_oid = in->read_int32();
  if (!in->is_whole() || dimensions < 0) return bad_binary(type);
  if (dimensions > 1) return sql_error("0A000", "arrays with several dimensions are not supported");
  const int32_t count = dimensions == 0 ? 0 : in->read_int32();
  const int32_t lower_bound = dimensions == 0 ? 1 : in->read_int32();
  if (!in->is_whole() || count < 0 || static_cast<size_t>(count) > in->rest().size() / kLengthBytes)
    return bad_binary(type);
  if (count > kSentElementsMax || lower_bound > std::numeric_limits<int32_t>::max() - count)
    return sql_error("54000", "array size exceeds the maximum allowed");
  auto* array = static_cast<ArrayValue*>(arena->allocate(sizeof(ArrayValue)));
  auto* elements = static_cast<Datum*>(arena->allocate(sizeof(Datum) * (static_cast<size_t>(count) + 1)));
  for (int32_t i = 0; i < count; ++i) {
    const int32_t size = in->read_int32();
    elements[i] = null_datum();
    if (size == -1) continue;
    if (size < -1) return bad_binary(type);
    const std::string_view bytes = in->read_bytes(static_cast<size_t>(size));
    if (!in->is_whole()) return bad_binary(type);
    SCYPER_RETURN_IF_ERROR(receive_value(element_of(type), element_oid, bytes, arena, &elements[i]));
  }
  *array = ArrayValue{count, count, lower_bound, type.element, elements};
  *out = Datum{reinterpret_cast<int64_t>(array), 0, 0, 0, {}};
  return {};
}

// Types of which the value is the bytes.
Status decode_as_bytes(const SqlType& type, std::string_view bytes, ValueArena* arena, Datum* out) {
  if (type.id == TypeId::kBytea) {
    *out = keep_bytes(bytes, arena);
    return {};
  }
  if (is_ordered_bytes(type.id)) {
    std::string normal;
    SCYPER_RETURN_IF_ERROR(receive_ordered_bytes(type, bytes, &normal));
    *out = keep_bytes(normal, arena);
    return {};
  }
  if (type.id == TypeId::kJsonb || is_json_path(type)) {
    if (bytes.empty() || bytes[0] != kJsonbVersion)
      return sql_error("22P03", "unsupported " + type_name(type) + " version number " +
                                    std::to_string(bytes.empty() ? 0 : static_cast<unsigned char>(bytes[0])));
    bytes.remove_prefix(1);
  }
  SCYPER_RETURN_IF_ERROR(check_utf8(bytes));
  return parse_value(type, bytes, arena, out);
}

Status decode_fixed(const SqlType& type, WireReader* in, Datum* out) {
  switch (type.id) {
    case TypeId::kBool:
      *out = int_datum(in->read_byte() != 0 ? 1 : 0);
      return {};
    case TypeId::kInt2:
      *out = int_datum(in->read_int16());
      return {};
    case TypeId::kInt4:
      *out = int_datum(in->read_int32());
      return {};
    case TypeId::kInt8:
      *out = int_datum(read_int64(in));
      return {};
    case TypeId::kDate:
      *out = int_datum(in->read_int32());
      return check_range(type.id, out->lo);
    case TypeId::kTime:
    case TypeId::kTimestamp:
    case TypeId::kTimestamptz:
      *out = int_datum(read_int64(in));
      return check_range(type.id, out->lo);
    case TypeId::kFloat4:
      *out = float_datum(static_cast<double>(__builtin_bit_cast(float, in->read_int32())));
      return {};
    case TypeId::kFloat8:
      *out = float_datum(__builtin_bit_cast(double, read_int64(in)));
      return {};
    case TypeId::kUuid:
      *out = decode_uuid(in);
      return {};
    case TypeId::kInterval:
      *out = decode_interval(in);
      return {};
    default:
      return sql_error("42883", "no binary input function available for type " + type_name(type));
  }
}

Status decode_binary(const SqlType& type, std::string_view bytes, ValueArena* arena, Datum* out) {
  if (holds_bytes(type.id) || type.id == TypeId::kUnknown || type.id == TypeId::kEnum)
    return decode_as_bytes(type, bytes, arena, out);
  WireReader in(bytes);
  if (type.id == TypeId::kArray) {
    SCYPER_RETURN_IF_ERROR(decode_array(type, &in, arena, out));
  } else if (type.id == TypeId::kNumeric) {
    SCYPER_ASSIGN_OR_RETURN(*out, decode_numeric(type, &in, arena));
  } else {
    SCYPER_RETURN_IF_ERROR(decode_fixed(type, &in, out));
  }
  return in.is_at_end() ? Status() : bad_binary(type);
}

// --- results ---

void append_sent_array(const SqlType& type, const ArrayValue& array, WireWriter* out) {
  const SqlType element = element_of(type);
  bool has_nulls = false;
  for (int32_t i = 0; i < array.size; ++i) has_nulls |= array.elements[i].null != 0;
  out->put_int32(array.size == 0 ? 0 : 1);
  out->put_int32(has_nulls ? 1 : 0);
  out->put_int32(static_cast<int32_t>(type_oid(element)));
  if (array.size == 0) return;
  out->put_int32(array.size);
  out->put_int32(array.lower_bound);
  for (int32_t i = 0; i < array.size; ++i) append_sent(element, array.elements[i], out);
}

void append_binary(const SqlType& type, const Datum& value, WireWriter* out) {
  if (is_ordered_bytes(type.id)) return send_ordered_bytes(out->out(), type, {value.data(), value.size()});
  switch (type.id) {
    case TypeId::kBool:
      return out->put_byte(value.lo != 0 ? 1 : 0);
    case TypeId::kInt2:
      return out->put_int16(static_cast<int16_t>(value.lo));
    case TypeId::kInt4:
    case TypeId::kDate:
      return out->put_int32(static_cast<int32_t>(value.lo));
    case TypeId::kInt8:
    case TypeId::kTimestamp:
    case TypeId::kTimestamptz:
    case TypeId::kTime:
    case TypeId::kFloat8:
      return out->put_int64(value.lo);
    case TypeId::kFloat4:
      return out->put_int32(__builtin_bit_cast(int32_t, static_cast<float>(__builtin_bit_cast(double, value.lo))));
    case TypeId::kNumeric:
      return append_numeric(value, out);
    case TypeId::kUuid: {
      const UuidBytes bytes = bytes_of_uuid(value);
      return out->put_bytes({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    }
    case TypeId::kInterval:
      out->put_int64(value.lo);
      out->put_int32(static_cast<int32_t>(value.hi));
      return out->put_int32(static_cast<int32_t>(value.hi >> 32));
    case TypeId::kArray:
      return append_sent_array(type, *reinterpret_cast<const ArrayValue*>(value.lo), out);
    case TypeId::kJsonb:
      out->put_byte(kJsonbVersion);
      return append_value(out->out(), type, value);
    case TypeId::kBytea:
      return out->put_bytes({value.data(), value.size()});
    case TypeId::kText:
      if (is_json_path(type)) out->put_byte(kJsonbVersion);
      return append_value(out->out(), type, value);
    default:
      return append_value(out->out(), type, value);
  }
}

}  // namespace

Status receive_value(const SqlType& type, int32_t oid, std::string_view bytes, ValueArena* arena, Datum* out) {
  SqlType sent = type;
  if (oid != 0 && oid != type_oid(type)) {
    const auto known = type_of_oid(oid);
    if (!known.has_value()) return sql_error("0A000", "type with OID " + std::to_string(oid) + " is not supported");
    sent = *known;
  }
  if (sent.id == type.id) return decode_binary(type, bytes, arena, out);
  Datum value;
  SCYPER_RETURN_IF_ERROR(decode_binary(sent, bytes, arena, &value));
  std::string text;
  append_value(&text, sent, value);
  return parse_value(type, text, arena, out);
}

void append_sent(const SqlType& type, const Datum& value, WireWriter* out) {
  if (value.null) return out->put_int32(-1);
  const size_t place = out->place_length();
  append_binary(type, value, out);
  out->fill_length(place);
}

SqlType sent_type(const ResultColumn& column, bool is_binary) {
  const SqlType& declared = column.declared;
  if (without_modifiers(declared) == without_modifiers(column.type)) return column.type;
  // a real's value is the double that looks alike
  const bool is_declared = declared.id == TypeId::kFloat4 || (declared.id != TypeId::kUnknown && is_binary);
  return is_declared ? declared : column.type;
}

StatusOr<Datum> sent_value(const ResultColumn& column, bool is_binary, const Datum& value, ValueArena* arena) {
  const SqlType type = sent_type(column, is_binary);
  if (value.null != 0 || type == column.type || type.id == TypeId::kFloat4) return value;
  std::string text;
  append_value(&text, column.type, value);
  Datum read;
  SCYPER_RETURN_IF_ERROR(parse_value(type, text, arena, &read));
  return read;
}

}  // namespace scyper::query
