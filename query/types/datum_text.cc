#include "types/datum_text.h"

#include <bit>
#include <cmath>
#include <cstring>

#include "base/bounded_work.h"
#include "storage/enum_transaction.h"
#include "storage/json_text_type.h"
#include "storage/name_type.h"
#include "storage/time_modifier.h"
#include "storage/trailer.h"
#include "types/array_text.h"
#include "types/big_number.h"
#include "types/binary.h"
#include "types/datetime.h"
#include "types/decimal.h"
#include "types/interval.h"
#include "types/json_text.h"
#include "types/jsonb.h"
#include "types/jsonpath.h"
#include "types/ordered_bytes.h"
#include "types/scalar.h"
#include "types/text.h"

namespace scyper::query {

namespace {

uint64_t mix(uint64_t value) noexcept {
  value = (value ^ (value >> 32)) * 0xD6E8FEB86659FD93u;
  value = (value ^ (value >> 32)) * 0xD6E8FEB86659FD93u;
  return value ^ (value >> 32);
}

// text: what the message shows.
Status input_status(ValueError error, const SqlType& type, std::string_view text) {
  return error == ValueError::kNone ? absl::OkStatus() : error_status(error, type, text);
}

bool names_word(ValueError error) {
  return error == ValueError::kTimezoneUnknown || error == ValueError::kDatetimeSpecial;
}

template <typename Int>
Status parse_integer(ValueError (*parse)(std::string_view, Int*) noexcept, const SqlType& type, std::string_view text,
                     Datum* out) {
  Int value{};
  ValueError error = parse(text, &value);
  *out = int_datum(value);
  return input_status(error, type, text);
}

Status parse_float(const SqlType& type, std::string_view text, Datum* out) {
  double value = 0;
  std::string_view number;
  ValueError error =
      type.id == TypeId::kFloat4 ? float4_parse(text, &value, &number) : float8_parse(text, &value, &number);
  *out = float_datum(value);
  return input_status(error, type, error == ValueError::kTextOutOfRange ? number : text);
}

Status parse_numeric(const SqlType& type, std::string_view text, const TextArena& arena, Datum* out) {
  const NumberMemory numbers(arena);
  Decimal value;
  ValueError error =
      type.precision == 0 ? decimal_parse(text, &value) : decimal_parse_as(text, type.precision, type.scale, &value);
  if (is_modified_numeric(type) && error == ValueError::kNone)
    error = big_cast(value, numeric_precision(type), numeric_scale(type), &value);
  *out = datum_of(value);
  return input_status(error, type, text);
}

Status parse_date(const SqlType& type, std::string_view text, Datum* out) {
  int32_t value = 0;
  std::string_view word;
  ValueError error = date_parse(text, &value, &word);
  *out = int_datum(value);
  return input_status(error, type, names_word(error) ? word : text);
}

Status parse_timestamp(const SqlType& type, std::string_view text, Datum* out) {
  int64_t value = 0;
  std::string_view word;
  ValueError error = type.id == TypeId::kTimestamp     ? timestamp_parse(text, &value, &word)
                     : type.id == TypeId::kTimestamptz ? timestamptz_parse(text, &value, &word)
                                                       : time_parse(text, &value, &word);
  *out = int_datum(value);
  if (error == ValueError::kNone) apply_time_modifier(type, out);
  return input_status(error, type, names_word(error) ? word : text);
}

Status parse_interval(const SqlType& type, std::string_view text, Datum* out) {
  Interval value;
  ValueError error = interval_parse(text, interval_fields(type), &value);
  *out = datum_of(value);
  if (error == ValueError::kNone) apply_time_modifier(type, out);
  return input_status(error, type, text);
}

Status parse_uuid(const SqlType& type, std::string_view text, Datum* out) {
  return input_status(uuid_parse(text, out), type, text);
}

Status parse_bytea(const SqlType& type, std::string_view text, const TextArena& arena, Datum* out) {
  std::string_view word;
  ValueError error = bytea_parse(text, arena, out, &word);
  return input_status(error, type, word);
}

Status parse_jsonb(std::string_view text, const TextArena& arena, Datum* out) {
  std::string_view wrong;
  if (utf8_check(text, &wrong) != ValueError::kNone) return error_status(ValueError::kInvalidUtf8, {}, wrong);
  Json json;
  SCYPER_RETURN_IF_ERROR(json_parse(text, &json));
  std::string normal = json_text(json);
  std::string_view value = normal;
  ValueError error = concatenate(&value, 1, arena, &value);
  *out = string_datum(value.data(), value.size());
  return error_status(error);
}

Status parse_ordered(const SqlType& type, std::string_view text, const TextArena& arena, Datum* out) {
  std::string bytes;
  SCYPER_RETURN_IF_ERROR(parse_ordered_bytes(type, text, &bytes));
  std::string_view value = bytes;
  const ValueError error = concatenate(&value, 1, arena, &value);
  *out = string_datum(value.data(), value.size());
  return error_status(error);
}

Status parse_string(const SqlType& type, std::string_view text, const TextArena& arena, Datum* out) {
  std::string_view value = text, wrong;
  if (utf8_check(text, &wrong) != ValueError::kNone) return error_status(ValueError::kInvalidUtf8, type, wrong);
  ValueError error = ValueError::kNone;
  if (type.id == TypeId::kChar) error = char_cast(text, type.length, false, arena, &value);
  if (type.id == TypeId::kVarchar) error = varchar_cast(text, type.length, false, &value);
  if (is_name(type)) value = clip_name(text);
  if (is_json_text(type)) SCYPER_RETURN_IF_ERROR(json_check(text));
  std::string normal;
  if (is_json_path(type)) {
    JsonPath path;
    SCYPER_RETURN_IF_ERROR(jsonpath_parse(text, &path));
    SCYPER_RETURN_IF_ERROR(jsonpath_text(path, &normal));
    text = value = normal;
  }
  if (error == ValueError::kNone && value.data() == text.data()) error = concatenate(&value, 1, arena, &value);
  *out = string_datum(value.data(), value.size());
  return input_status(error, type, text);
}

Status parse_enum(const SqlType& type, std::string_view text, Datum* out) {
  const EnumType* known = find_enum(type.length);
  const EnumType::Label* label = known == nullptr ? nullptr : known->find(text);
  if (label == nullptr)
    return sql_error("22P02", "invalid input value for enum " + type_name(type) + ": \"" + std::string(text) + "\"");
  SCYPER_RETURN_IF_ERROR(check_label(*known, *label));
  *out = int_datum(label->code);
  return absl::OkStatus();
}

// Nothing may be thrown here: callers are noexcept.
int compare_documents(std::string_view a, std::string_view b) noexcept {
  const BoundedWork::Pause pause;
  return a == b ? 0 : json_compare(json_read(a), json_read(b));
}

uint64_t hash_document(std::string_view document) noexcept {
  const BoundedWork::Pause pause;
  return json_hash(json_read(document));
}

int compare_arrays(const SqlType& type, const ArrayValue& a, const ArrayValue& b) noexcept {
  SqlType element = element_of(type);
  int32_t common = a.size < b.size ? a.size : b.size;
  for (int32_t i = 0; i < common; ++i) {
    bool a_null = a.elements[i].null != 0, b_null = b.elements[i].null != 0;
    if (a_null && b_null) continue;
    if (a_null || b_null) return a_null ? 1 : -1;  // NULL is the largest
    if (int order = compare_datums(element, a.elements[i], b.elements[i]); order != 0) return order;
  }
  if (a.size != b.size) return a.size < b.size ? -1 : 1;
  if (a.size == 0 || a.lower_bound == b.lower_bound) return 0;
  return a.lower_bound < b.lower_bound ? -1 : 1;
}

uint64_t hash_array(const SqlType& type, const ArrayValue& array) noexcept {
  SqlType element = element_of(type);
  uint64_t hash = 1;
  for (int32_t i = 0; i < array.size; ++i) {
    const Datum& datum = array.elements[i];
    hash = hash * 31 + (datum.null != 0 ? 0 : hash_datum(element, datum));
  }
  return mix(hash);
}

}  // namespace

std::string_view label_of(const SqlType& type, const Datum& value) {
  const EnumType* known = find_enum(type.length);
  const EnumType::Label* label = known == nullptr ? nullptr : known->find(value.lo);
  return label == nullptr ? std::string_view() : label->text;
}

Status parse_datum(const SqlType& type, std::string_view text, const TextArena& arena, Datum* out) {
  if (is_ordered_bytes(type.id)) return parse_ordered(type, text, arena, out);
  switch (type.id) {
    case TypeId::kBool:
      return parse_integer(bool_parse, type, text, out);
    case TypeId::kInt2:
      return parse_integer(int2_parse, type, text, out);
    case TypeId::kInt4:
      return parse_integer(int4_parse, type, text, out);
    case TypeId::kInt8:
      return parse_integer(int8_parse, type, text, out);
    case TypeId::kFloat4:
    case TypeId::kFloat8:
      return parse_float(type, text, out);
    case TypeId::kNumeric:
      return parse_numeric(type, text, arena, out);
    case TypeId::kDate:
      return parse_date(type, text, out);
    case TypeId::kTimestamp:
    case TypeId::kTimestamptz:
    case TypeId::kTime:
      return parse_timestamp(type, text, out);
    case TypeId::kArray:
      return parse_array(type, text, arena, out);
    case TypeId::kUnknown:
    case TypeId::kChar:
    case TypeId::kVarchar:
    case TypeId::kText:
      return parse_string(type, text, arena, out);
    case TypeId::kInterval:
      return parse_interval(type, text, out);
    case TypeId::kUuid:
      return parse_uuid(type, text, out);
    case TypeId::kBytea:
      return parse_bytea(type, text, arena, out);
    case TypeId::kJsonb:
      return parse_jsonb(text, arena, out);
    case TypeId::kEnum:
      return parse_enum(type, text, out);
    case TypeId::kVoid:
      *out = null_datum();
      return absl::OkStatus();
    default:
      break;
  }
  return sql_error("0A000", "input of a composite type not implemented");
}

void append_datum(std::string* out, const SqlType& type, const Datum& datum) {
  if (datum.null != 0) return;
  if (is_ordered_bytes(type.id)) return append_ordered_bytes(out, type, text_of(datum));
  char text[kDecimalTextMax];
  char* end = text;
  switch (type.id) {
    case TypeId::kBool:
      end = bool_format(datum.lo != 0, text);
      break;
    case TypeId::kInt2:
    case TypeId::kInt4:
    case TypeId::kInt8:
      end = int8_format(datum.lo, text);
      break;
    case TypeId::kFloat4:
      end = float4_format(std::bit_cast<double>(datum.lo), text);
      break;
    case TypeId::kFloat8:
      end = float8_format(std::bit_cast<double>(datum.lo), text);
      break;
    case TypeId::kNumeric:
      if (is_special_numeric(datum)) {
        out->append(decimal_text(decimal_of(datum)));
        return;
      }
      end = decimal_format(decimal_of(datum), text);
      break;
    case TypeId::kDate:
      end = date_format(static_cast<int32_t>(datum.lo), text);
      break;
    case TypeId::kTimestamp:
      end = timestamp_format(datum.lo, text);
      break;
    case TypeId::kTimestamptz:
      end = timestamptz_format(datum.lo, text);
      break;
    case TypeId::kTime:
      end = time_format(datum.lo, text);
      break;
    case TypeId::kUuid:
      end = uuid_format(datum, text);
      break;
    case TypeId::kBytea: {
      size_t size = out->size();
      out->resize(size + bytea_text_bytes(datum.size()));
      out->resize(static_cast<size_t>(bytea_format(text_of(datum), out->data() + size) - out->data()));
      return;
    }
    case TypeId::kInterval:
      end = interval_format(interval_of(datum), text);
      break;
    case TypeId::kArray:
      append_array(out, type, *array_of(datum));
      return;
    case TypeId::kEnum:
      out->append(label_of(type, datum));
      return;
    case TypeId::kUnknown:
    case TypeId::kChar:
    case TypeId::kVarchar:
    case TypeId::kText:
    case TypeId::kJsonb:
      out->append(text_of(datum));
      return;
    default:
      return;
  }
  out->append(text, static_cast<size_t>(end - text));
}

int compare_datums(const SqlType& type, const Datum& a, const Datum& b) noexcept {
  switch (kept_as(type.id)) {
    case TypeId::kFloat4:
    case TypeId::kFloat8:
      return float8_compare(std::bit_cast<double>(a.lo), std::bit_cast<double>(b.lo));
    case TypeId::kNumeric:
      return decimal_compare(decimal_of(a), decimal_of(b));
    case TypeId::kChar:
      return char_compare(text_of(a), text_of(b));
    case TypeId::kUnknown:
    case TypeId::kVarchar:
    case TypeId::kText:
    case TypeId::kBytea:
      return text_compare(text_of(a), text_of(b));
    case TypeId::kJsonb:
      if (has_trailer(type.id)) return text_compare(ordered_part(text_of(a)), ordered_part(text_of(b)));
      return compare_documents(text_of(a), text_of(b));
    case TypeId::kUuid:
      return a.int128() < b.int128() ? -1 : a.int128() > b.int128() ? 1 : 0;
    case TypeId::kInterval:
      return interval_compare(interval_of(a), interval_of(b));
    case TypeId::kArray:
      return compare_arrays(type, *array_of(a), *array_of(b));
    default:
      return a.lo < b.lo ? -1 : a.lo > b.lo ? 1 : 0;
  }
}

uint64_t hash_datum(const SqlType& type, const Datum& datum) noexcept {
  switch (kept_as(type.id)) {
    case TypeId::kFloat4:
    case TypeId::kFloat8: {
      double value = std::bit_cast<double>(datum.lo);
      if (value == 0) return mix(0);
      return std::isnan(value) ? mix(1) : mix(static_cast<uint64_t>(datum.lo));
    }
    case TypeId::kNumeric:
      return decimal_hash(decimal_of(datum));
    case TypeId::kChar:
      return text_hash(trim_blanks(text_of(datum)));
    case TypeId::kUnknown:
    case TypeId::kVarchar:
    case TypeId::kText:
    case TypeId::kBytea:
      return text_hash(text_of(datum));
    case TypeId::kJsonb:
      return has_trailer(type.id) ? text_hash(ordered_part(text_of(datum))) : hash_document(text_of(datum));
    case TypeId::kUuid:
      return mix(static_cast<uint64_t>(datum.lo) ^ mix(static_cast<uint64_t>(datum.hi)));
    case TypeId::kInterval:
      return interval_hash(interval_of(datum));
    case TypeId::kArray:
      return hash_array(type, *array_of(datum));
    default:
      return mix(static_cast<uint64_t>(datum.lo));
  }
}

}  // namespace scyper::query
