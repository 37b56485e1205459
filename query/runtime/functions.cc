#include "runtime/functions.h"

#include <cmath>
#include <cstring>

#include "base/copy.h"
#include "base/version.h"
#include "runtime/function_body.h"
#include "types/binary.h"
#include "types/datetime.h"
#include "types/interval.h"
#include "types/scalar.h"
#include "types/text.h"

namespace scyper::query {

namespace {

extern "C" {

// --- dates ---

SCYPER_FUNCTION(date_add) {
  // types are given where the date is the second argument
  const int date_at = types != nullptr && types[0].id != TypeId::kDate ? 1 : 0;
  int32_t date = 0;
  ValueError error = date_add_days(int4(args[date_at]), int4(args[1 - date_at]), &date);
  *out = int_datum(date);
  return done(c, error);
}
SCYPER_FUNCTION(date_subtract) {
  int32_t date = 0;
  ValueError error = date_subtract_days(int4(args[0]), int4(args[1]), &date);
  *out = int_datum(date);
  return done(c, error);
}
SCYPER_FUNCTION(date_difference) {
  int32_t days = 0;
  ValueError error = date_difference(int4(args[0]), int4(args[1]), &days);
  *out = int_datum(days);
  return done(c, error);
}
SCYPER_FUNCTION(extract_date) {
  DatetimeUnit unit;
  Decimal value;
  bool is_null = false;
  ValueError error = unit_parse(text_of(args[0]), &unit);
  if (error == ValueError::kNone) error = date_extract(unit, int4(args[1]), &value, &is_null);
  *out = is_null ? null_datum() : datum_of(value);
  return done(c, error, text_of(args[0]), make_type(TypeId::kDate));
}
SCYPER_FUNCTION(extract_timestamp) {
  DatetimeUnit unit;
  Decimal value;
  bool is_null = false;
  ValueError error = unit_parse(text_of(args[0]), &unit);
  if (error == ValueError::kNone) error = timestamp_extract(unit, args[1].lo, &value, &is_null);
  *out = is_null ? null_datum() : datum_of(value);
  return done(c, error, text_of(args[0]), make_type(TypeId::kTimestamp));
}
SCYPER_FUNCTION(date_trunc) {
  DatetimeUnit unit;
  int64_t value = args[1].lo;
  ValueError error = is_finite_timestamp(value) ? unit_parse(text_of(args[0]), &unit) : ValueError::kNone;
  if (error == ValueError::kNone && is_finite_timestamp(value)) error = timestamp_truncate(unit, args[1].lo, &value);
  *out = int_datum(value);
  return done(c, error, text_of(args[0]), make_type(TypeId::kTimestamp));
}

// --- strings ---

SCYPER_FUNCTION(concat_text) {
  std::string_view parts[] = {text_of(args[0]), text_of(args[1])};
  std::string_view text;
  ValueError error = concatenate(parts, 2, scratch_arena(c), &text);
  give(out, text);
  return done(c, error);
}
SCYPER_FUNCTION(like) {
  bool matches = false;
  ValueError error = like(text_of(args[0]), text_of(args[1]), count > 2 ? text_of(args[2]) : "\\", false, &matches);
  *out = int_datum(matches ? 1 : 0);
  return done(c, error);
}
SCYPER_FUNCTION(ilike) {
  bool matches = false;
  ValueError error = like(text_of(args[0]), text_of(args[1]), count > 2 ? text_of(args[2]) : "\\", true, &matches);
  *out = int_datum(matches ? 1 : 0);
  return done(c, error);
}
SCYPER_FUNCTION(length) {
  *out = int_datum(text_length(text_of(args[0])));
  return 0;
}
SCYPER_FUNCTION(char_length) {
  *out = int_datum(text_length(trim_blanks(text_of(args[0]))));
  return 0;
}
SCYPER_FUNCTION(octet_length) {
  *out = int_datum(static_cast<int64_t>(args[0].size()));
  return 0;
}
SCYPER_FUNCTION(substring) {
  if (count == 2) {
    give(out, substring_from(text_of(args[0]), int4(args[1])));
    return 0;
  }
  std::string_view text;
  ValueError error = substring(text_of(args[0]), int4(args[1]), int4(args[2]), &text);
  give(out, text);
  return done(c, error);
}
SCYPER_FUNCTION(left) {
  give(out, left(text_of(args[0]), int4(args[1])));
  return 0;
}
SCYPER_FUNCTION(right) {
  give(out, right(text_of(args[0]), int4(args[1])));
  return 0;
}
SCYPER_FUNCTION(position) {
  *out = int_datum(position(text_of(args[0]), text_of(args[1])));
  return 0;
}
SCYPER_FUNCTION(upper) {
  std::string_view text;
  ValueError error = upper(text_of(args[0]), scratch_arena(c), &text);
  give(out, text);
  return done(c, error);
}
SCYPER_FUNCTION(lower) {
  std::string_view text;
  ValueError error = lower(text_of(args[0]), scratch_arena(c), &text);
  give(out, text);
  return done(c, error);
}
SCYPER_FUNCTION(trim) {
  give(out, trim_both(text_of(args[0]), count > 1 ? text_of(args[1]) : " "));
  return 0;
}
SCYPER_FUNCTION(trim_left) {
  give(out, trim_left(text_of(args[0]), count > 1 ? text_of(args[1]) : " "));
  return 0;
}
SCYPER_FUNCTION(trim_right) {
  give(out, trim_right(text_of(args[0]), count > 1 ? text_of(args[1]) : " "));
  return 0;
}
SCYPER_FUNCTION(pad_left) {
  std::string_view text;
  ValueError error =
      pad_left(text_of(args[0]), int4(args[1]), count > 2 ? text_of(args[2]) : " ", scratch_arena(c), &text);
  give(out, text);
  return done(c, error);
}
SCYPER_FUNCTION(pad_right) {
  std::string_view text;
  ValueError error =
      pad_right(text_of(args[0]), int4(args[1]), count > 2 ? text_of(args[2]) : " ", scratch_arena(c), &text);
  give(out, text);
  return done(c, error);
}
SCYPER_FUNCTION(replace) {
  std::string_view text;
  ValueError error = replace(text_of(args[0]), text_of(args[1]), text_of(args[2]), scratch_arena(c), &text);
  give(out, text);
  return done(c, error);
}
SCYPER_FUNCTION(repeat) {
  std::string_view text;
  ValueError error = repeat(text_of(args[0]), int4(args[1]), scratch_arena(c), &text);
  give(out, text);
  return done(c, error);
}
SCYPER_FUNCTION(reverse) {
  std::string_view text;
  ValueError error = reverse(text_of(args[0]), scratch_arena(c), &text);
  give(out, text);
  return done(c, error);
}
SCYPER_FUNCTION(ascii) {
  *out = int_datum(first_code_point(text_of(args[0])));
  return 0;
}
SCYPER_FUNCTION(chr) {
  char* text = c->scratch->allocate(4);
  if (text == nullptr) return fail_memory(c);
  size_t size = 0;
  ValueError error = character_of(int4(args[0]), text, &size);
  give(out, {text, size});
  return done(c, error, std::to_string(int4(args[0])));
}
SCYPER_FUNCTION(split_part) {
  std::string_view text;
  ValueError error = split_part(text_of(args[0]), text_of(args[1]), int4(args[2]), &text);
  give(out, text);
  return done(c, error);
}
SCYPER_FUNCTION(starts_with) {
  *out = int_datum(starts_with(text_of(args[0]), text_of(args[1])) ? 1 : 0);
  return 0;
}

}  // extern "C"

constexpr size_t kNumberTextMax = 320;

// Upper bound of the text of a value, for one allocation.
size_t text_bound(const SqlType& type, const Datum& value) {
  if (value.null) return 0;
  if (is_ordered_bytes(type.id)) {
    std::string text;
    append_datum(&text, type, value);
    return text.size();
  }
  if (type.id == TypeId::kBytea) return bytea_text_bytes(value.size());
  if (holds_bytes(type.id) || type.id == TypeId::kUnknown) return value.size();
  if (type.id == TypeId::kEnum) return label_of(type, value).size();
  if (type.id == TypeId::kNumeric) return decimal_text_bound(decimal_of(value));
  return kNumberTextMax;
}

char* put_bytes(char* to, std::string_view bytes) {
  copy_bytes(to, bytes.data(), bytes.size());
  return to + bytes.size();
}

char* write_text(const SqlType& type, const Datum& value, char* to) {
  switch (type.id) {
    case TypeId::kInt2:
    case TypeId::kInt4:
    case TypeId::kInt8:
      return int8_format(value.lo, to);
    case TypeId::kNumeric:
      return decimal_format(decimal_of(value), to);
    case TypeId::kBool:
      return bool_format(value.lo != 0, to);
    case TypeId::kFloat4:
      return float4_format(float8(value), to);
    case TypeId::kFloat8:
      return float8_format(float8(value), to);
    case TypeId::kInterval:
      return interval_format(interval_of(value), to);
    case TypeId::kDate:
      return date_format(int4(value), to);
    case TypeId::kTimestamp:
      return timestamp_format(value.lo, to);
    case TypeId::kTimestamptz:
      return timestamptz_format(value.lo, to);
    case TypeId::kTime:
      return time_format(value.lo, to);
    case TypeId::kUuid:
      return uuid_format(value, to);
    case TypeId::kBytea:
      return bytea_format(text_of(value), to);
    case TypeId::kEnum:
      return put_bytes(to, label_of(type, value));
    default:
      break;
  }
  if (!is_ordered_bytes(type.id)) return put_bytes(to, text_of(value));
  std::string text;
  append_datum(&text, type, value);
  return put_bytes(to, text);
}

// concat() and concat_ws(): NULLs are left out. separator: nullptr = none.
int32_t join_values(ExecContext* c, const Datum* args, int64_t first, int64_t count, const SqlType* types,
                    const Datum* separator, Datum* out) {
  size_t bound = 0;
  for (int64_t i = first; i < count; i++) {
    if (types[i].id == TypeId::kArray) return c->fail("0A000", "arrays as arguments of concat are not supported");
    bound += text_bound(types[i], args[i]) + (separator == nullptr ? 0 : separator->size());
  }
  char* begin = c->scratch->allocate(bound);
  if (begin == nullptr) return fail_memory(c);
  char* end = begin;
  bool any = false;
  for (int64_t i = first; i < count; i++) {
    if (args[i].null) continue;
    if (any && separator != nullptr) {
      end = put_bytes(end, text_of(*separator));
    }
    any = true;
    end = write_text(types[i], args[i], end);
  }
  *out = string_datum(begin, static_cast<size_t>(end - begin));
  return 0;
}

ArrayValue* copied(ExecContext* c, const Datum& array) {
  Datum copy = array;
  return copy_datum(c, make_array(make_type(array_of(array)->element)), &copy) ? reinterpret_cast<ArrayValue*>(copy.lo)
                                                                               : nullptr;
}

bool push_back(ExecContext* c, ArrayValue* array, const Datum& item) {
  if (array->size == array->capacity) {
    int32_t capacity = array->capacity * 2 + 8;
    auto* elements = reinterpret_cast<Datum*>(c->scratch->allocate(static_cast<size_t>(capacity) * sizeof(Datum)));
    if (elements == nullptr) return false;
    if (array->size > 0)
      std::memcpy(static_cast<void*>(elements), array->elements, static_cast<size_t>(array->size) * sizeof(Datum));
    array->elements = elements;
    array->capacity = capacity;
  }
  array->elements[array->size++] = item;
  return true;
}

extern "C" {

SCYPER_FUNCTION(concat) { return join_values(c, args, 0, count, types, nullptr, out); }
SCYPER_FUNCTION(concat_ws) {
  if (args[0].null) return *out = null_datum(), 0;
  if (!is_string(types[0].id) && types[0].id != TypeId::kUnknown)
    return c->fail("42883", "concat_ws needs a text as separator");
  return join_values(c, args, 1, count, types, &args[0], out);
}

// --- numbers ---

SCYPER_FUNCTION(abs_integer) {
  int64_t value = args[0].lo;
  int64_t smallest = types[0].id == TypeId::kInt2 ? INT16_MIN : types[0].id == TypeId::kInt4 ? INT32_MIN : INT64_MIN;
  if (value == smallest)
    return done(c, types[0].id == TypeId::kInt2   ? ValueError::kInt2Range
                   : types[0].id == TypeId::kInt4 ? ValueError::kInt4Range
                                                  : ValueError::kInt8Range);
  *out = int_datum(value < 0 ? -value : value);
  return 0;
}
SCYPER_FUNCTION(abs_numeric) {
  *out = datum_of(decimal_abs(decimal_of(args[0])));
  return 0;
}
SCYPER_FUNCTION(abs_float8) {
  *out = float_datum(std::fabs(float8(args[0])));
  return 0;
}
SCYPER_FUNCTION(round) {
  Decimal value;
  ValueError error = decimal_round(decimal_of(args[0]), count > 1 ? int4(args[1]) : 0, &value);
  *out = datum_of(value);
  return done(c, error);
}
SCYPER_FUNCTION(truncate) {
  Decimal value;
  ValueError error = decimal_truncate(decimal_of(args[0]), count > 1 ? int4(args[1]) : 0, &value);
  *out = datum_of(value);
  return done(c, error);
}
SCYPER_FUNCTION(round_float8) {
  *out = float_datum(std::rint(float8(args[0])));
  return 0;
}
SCYPER_FUNCTION(trunc_float8) {
  *out = float_datum(std::trunc(float8(args[0])));
  return 0;
}
SCYPER_FUNCTION(ceil) {
  Decimal value;
  ValueError error = decimal_ceil(decimal_of(args[0]), &value);
  *out = datum_of(value);
  return done(c, error);
}
SCYPER_FUNCTION(ceil_float8) {
  *out = float_datum(std::ceil(float8(args[0])));
  return 0;
}
SCYPER_FUNCTION(floor) {
  Decimal value;
  ValueError error = decimal_floor(decimal_of(args[0]), &value);
  *out = datum_of(value);
  return done(c, error);
}
SCYPER_FUNCTION(floor_float8) {
  *out = float_datum(std::floor(float8(args[0])));
  return 0;
}
SCYPER_FUNCTION(sign) {
  *out = datum_of(decimal_sign(decimal_of(args[0])));
  return 0;
}
SCYPER_FUNCTION(sqrt) {
  Decimal value;
  ValueError error = decimal_sqrt(decimal_of(args[0]), &value);
  *out = datum_of(value);
  return done(c, error);
}
SCYPER_FUNCTION(sqrt_float8) {
  if (float8(args[0]) < 0) return done(c, ValueError::kSquareRootOfNegative);
  *out = float_datum(std::sqrt(float8(args[0])));
  return 0;
}
SCYPER_FUNCTION(div) {
  Decimal value;
  ValueError error = decimal_divide_truncated(decimal_of(args[0]), decimal_of(args[1]), &value);
  *out = datum_of(value);
  return done(c, error);
}

// --- arrays ---

SCYPER_FUNCTION(array_length) {
  const ArrayValue* array = array_of(args[0]);
  *out = int4(args[1]) == 1 && array->size > 0 ? int_datum(array->size) : null_datum();
  return 0;
}
SCYPER_FUNCTION(array_upper) {
  const ArrayValue* array = array_of(args[0]);
  *out =
      int4(args[1]) == 1 && array->size > 0 ? int_datum(int64_t{array->lower_bound} + array->size - 1) : null_datum();
  return 0;
}
SCYPER_FUNCTION(array_lower) {
  const ArrayValue* array = array_of(args[0]);
  *out = int4(args[1]) == 1 && array->size > 0 ? int_datum(array->lower_bound) : null_datum();
  return 0;
}
SCYPER_FUNCTION(cardinality) {
  *out = int_datum(array_of(args[0])->size);
  return 0;
}
SCYPER_FUNCTION(array_append) {
  ArrayValue* array = nullptr;
  if (!args[0].null) array = copied(c, args[0]);
  if (array == nullptr) {
    if (!args[0].null) return fail_memory(c);
    array = reinterpret_cast<ArrayValue*>(c->scratch->allocate(sizeof(ArrayValue)));
    if (array == nullptr) return fail_memory(c);
    *array = ArrayValue{};
    array->element = types[0].element;
  }
  if (!push_back(c, array, args[1])) return fail_memory(c);
  *out = Datum{reinterpret_cast<int64_t>(array), 0, 0, 0, {}};
  return 0;
}

SCYPER_FUNCTION(version) {
  give(out, kVersionText);
  return 0;
}

}  // extern "C"

}  // namespace

SCYPER_BUILTIN_FUNCTIONS(SCYPER_DEFINE_FUNCTION)

}  // namespace scyper::query
