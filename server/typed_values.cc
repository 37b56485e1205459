#include "typed_values.h"

#include <cmath>
#include <limits>

#include "query/value_binary.h"
#include "query/value_text.h"
#include "scyper.pb.h"
#include "storage/big_numeric.h"
#include "text_values.h"

namespace scyper::server {

namespace {

Status wrong_type(size_t index, const SqlType& type, const char* got) {
  return sql_error("42804", "parameter $" + std::to_string(index + 1) + " is of type " + type_name(type) +
                                " but the value is of kind " + got);
}

const char* kind_name(const v1::Value& value) {
  switch (value.kind_case()) {
    case v1::Value::kBoolean:
      return "boolean";
    case v1::Value::kInteger:
      return "integer";
    case v1::Value::kReal:
      return "real";
    case v1::Value::kText:
      return "text";
    case v1::Value::kDecimal:
      return "decimal";
    case v1::Value::kDate:
      return "date";
    case v1::Value::kTimestamp:
      return "timestamp";
    case v1::Value::kArray:
      return "array";
    case v1::Value::KIND_NOT_SET:
      return "null";
  }
  return "unknown";
}

// A real is kept as the double that it is rounded to.
Status decode_real(double value, const SqlType& type, Datum* out) {
  if (type.id == TypeId::kFloat4) {
    const auto rounded = static_cast<float>(value);
    if (std::isinf(rounded) && !std::isinf(value)) return sql_error("22003", "value out of range: overflow");
    if (rounded == 0 && value != 0) return sql_error("22003", "value out of range: underflow");
    value = static_cast<double>(rounded);
  }
  *out = float_datum(value);
  return Status();
}

Status decode_integer(int64_t value, const SqlType& type, Datum* out) {
  *out = int_datum(value);
  if (type.id == TypeId::kInt2 && value != static_cast<int16_t>(value)) {
    return sql_error("22003", "smallint out of range");
  }
  if (type.id == TypeId::kInt4 && value != static_cast<int32_t>(value)) {
    return sql_error("22003", "integer out of range");
  }
  if (type.id == TypeId::kFloat8) *out = float_datum(static_cast<double>(value));
  if (type.id == TypeId::kFloat4) return decode_real(static_cast<double>(value), type, out);
  return type.id == TypeId::kNumeric ? fit_numeric(type, out) : Status();
}

Status decode_decimal(const v1::Decimal& value, const SqlType& type, Datum* out) {
  if (value.scale() > kMaxPrecision) return sql_error("22003", "value overflows numeric format");
  *out = Datum{static_cast<int64_t>(value.low()), value.high(), static_cast<int32_t>(value.scale()), 0, {}};
  __int128 limit = 1;
  for (int i = 0; i < kMaxPrecision; ++i) limit *= 10;
  if (out->int128() >= limit || out->int128() <= -limit) return sql_error("22003", "value overflows numeric format");
  return fit_numeric(type, out);
}

// Up to 38 characters that a number without an exponent has: the common case, read without memory.
bool is_plain_number(std::string_view text) {
  return text.size() <= kMaxPrecision && text.find_first_not_of("+-.0123456789") == std::string_view::npos;
}

// Digits with an optional sign and point; no exponent.
Status decode_numeric_text(std::string_view text, const SqlType& type, Datum* out) {
  Status invalid = sql_error("22P02", "invalid input syntax for type numeric: \"" + std::string(text) + "\"");
  std::string_view rest = text;
  bool negative = !rest.empty() && rest[0] == '-';
  if (!rest.empty() && (rest[0] == '-' || rest[0] == '+')) rest.remove_prefix(1);
  __int128 number = 0;
  int32_t scale = 0;
  int digits = 0;
  bool is_fraction = false;
  for (char c : rest) {
    if (c == '.' && !is_fraction) {
      is_fraction = true;
      continue;
    }
    if (c < '0' || c > '9') return invalid;
    ++digits;
    number = number * 10 + (c - '0');
    scale += is_fraction ? 1 : 0;
  }
  if (digits == 0) return invalid;
  *out = int128_datum(negative ? -number : number, scale);
  return fit_numeric(type, out);
}

Status decode_value(const v1::Value& value, const SqlType& type, size_t index, Datum* out, RowArena* arena);

Status decode_array(const v1::ValueArray& value, const SqlType& type, size_t index, Datum* out, RowArena* arena) {
  int32_t size = value.values_size();
  int32_t lower_bound = value.lower_bound() == 0 ? 1 : value.lower_bound();
  if (lower_bound > std::numeric_limits<int32_t>::max() - size) {
    return sql_error("54000", "array size exceeds the maximum allowed");
  }
  auto* array = static_cast<ArrayValue*>(arena->allocate(sizeof(ArrayValue)));
  auto* elements = static_cast<Datum*>(arena->allocate(sizeof(Datum) * static_cast<size_t>(size + 1)));
  *array = ArrayValue{size, size, lower_bound, type.element, elements};
  SqlType element = element_of(type);
  for (int32_t i = 0; i < size; ++i) {
    SCYPER_RETURN_IF_ERROR(decode_value(value.values(i), element, index, &elements[i], arena));
  }
  *out = Datum{reinterpret_cast<int64_t>(array), 0, 0, 0, {}};
  return {};
}

Status decode_value(const v1::Value& value, const SqlType& type, size_t index, Datum* out, RowArena* arena) {
  bool is_text = is_string(type.id) || type.id == TypeId::kUnknown;
  switch (value.kind_case()) {
    case v1::Value::KIND_NOT_SET:
      *out = null_datum();
      return {};
    case v1::Value::kBoolean:
      if (type.id != TypeId::kBool) break;
      *out = int_datum(value.boolean() ? 1 : 0);
      return {};
    case v1::Value::kInteger:
      if (!is_number(type.id)) break;
      return decode_integer(value.integer(), type, out);
    case v1::Value::kReal:
      if (type.id != TypeId::kFloat8 && type.id != TypeId::kFloat4) break;
      return decode_real(value.real(), type, out);
    case v1::Value::kText:
      SCYPER_RETURN_IF_ERROR(check_text(value.text()));
      if (type.id == TypeId::kNumeric) {
        if (is_plain_number(value.text())) return decode_numeric_text(value.text(), type, out);
        return read_text(type, value.text(), out, arena);
      }
      if (is_read_as_text(type.id)) return read_text(type, value.text(), out, arena);
      if (!is_text) break;
      *out = string_datum(value.text().data(), value.text().size());
      return {};
    case v1::Value::kDecimal:
      if (type.id != TypeId::kNumeric) break;
      return decode_decimal(value.decimal(), type, out);
    case v1::Value::kDate:
      if (type.id != TypeId::kDate) break;
      *out = int_datum(value.date());
      return query::check_range(type.id, value.date());
    case v1::Value::kTimestamp:
      if (type.id != TypeId::kTimestamp && type.id != TypeId::kTimestamptz && type.id != TypeId::kTime) break;
      *out = int_datum(value.timestamp());
      return query::check_range(type.id, value.timestamp());
    case v1::Value::kArray:
      if (type.id != TypeId::kArray) break;
      return decode_array(value.array(), type, index, out, arena);
  }
  return wrong_type(index, type, kind_name(value));
}

void encode_value(const SqlType& type, const Datum& value, v1::Value* out) {
  if (value.null) return;
  switch (type.id) {
    case TypeId::kBool:
      return out->set_boolean(value.lo != 0);
    case TypeId::kInt2:
    case TypeId::kInt4:
    case TypeId::kInt8:
      return out->set_integer(value.lo);
    case TypeId::kFloat4:
    case TypeId::kFloat8:
      return out->set_real(__builtin_bit_cast(double, value.lo));
    case TypeId::kNumeric:
      if (is_special_numeric(value)) {
        std::string text;
        query::append_value(&text, type, value);
        return out->set_text(std::move(text));
      }
      out->mutable_decimal()->set_high(value.hi);
      out->mutable_decimal()->set_low(static_cast<uint64_t>(value.lo));
      return out->mutable_decimal()->set_scale(static_cast<uint32_t>(value.scale));
    case TypeId::kUnknown:
    case TypeId::kChar:
    case TypeId::kVarchar:
    case TypeId::kText:
      return out->set_text(value.data(), value.size());
    case TypeId::kDate:
      return out->set_date(static_cast<int32_t>(value.lo));
    case TypeId::kTimestamp:
    case TypeId::kTimestamptz:
    case TypeId::kTime:
      return out->set_timestamp(value.lo);
    case TypeId::kArray: {
      auto* array = reinterpret_cast<const ArrayValue*>(value.lo);
      out->mutable_array()->set_lower_bound(array->lower_bound);
      for (int32_t i = 0; i < array->size; ++i) {
        encode_value(element_of(type), array->elements[i], out->mutable_array()->add_values());
      }
      return;
    }
    case TypeId::kRecord:
    case TypeId::kVoid:
      return;
    default: {  // as text
      std::string text;
      query::append_value(&text, type, value);
      return out->set_text(std::move(text));
    }
  }
}

}  // namespace

Status decode_arguments(std::span<const SqlType> types, const google::protobuf::RepeatedPtrField<v1::Value>& values,
                        Datum* row, RowArena* arena) {
  if (static_cast<size_t>(values.size()) != types.size()) {
    return sql_error("08P01", "the call supplies " + std::to_string(values.size()) +
                                  " arguments, but the statement requires " + std::to_string(types.size()));
  }
  for (int i = 0; i < values.size(); ++i) {
    size_t index = static_cast<size_t>(i);
    SCYPER_RETURN_IF_ERROR(decode_value(values[i], types[index], index, &row[index], arena));
  }
  return {};
}

void encode_row(std::span<const query::ResultColumn> columns, const Datum* row, v1::Row* out) {
  for (size_t i = 0; i < columns.size(); ++i) encode_value(columns[i].type, row[i], out->add_values());
}

}  // namespace scyper::server
