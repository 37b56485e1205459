#include "runtime/memory.h"

#include <cmath>
#include <cstring>
#include <exception>

#include "base/copy.h"
#include "query/program.h"
#include "runtime/team.h"
#include "storage/json_text_type.h"
#include "storage/name_type.h"
#include "types/big_number.h"
#include "types/date_style.h"
#include "types/datetime.h"
#include "types/datum_text.h"
#include "types/decimal.h"
#include "types/interval.h"
#include "types/jsonb.h"
#include "types/network.h"
#include "types/ordered_bytes.h"
#include "types/scalar.h"
#include "types/text.h"
#include "types/timezone.h"

namespace scyper::query {

int32_t fail_memory(ExecContext* c) noexcept {
  int32_t outcome = c->fail("53200", "out of memory", false);
  c->error.detail = "The statement's intermediate results need more memory than its limit.";
  c->error.hint = "Raise the setting transaction_memory for transactions, query_memory for queries.";
  return outcome;
}

int32_t fail_interrupted(ExecContext* c) noexcept {
  switch (static_cast<Interrupt>(c->interrupt.load(std::memory_order_relaxed) & ~kSafepointBit)) {
    case Interrupt::kNone:
      return 0;
    case Interrupt::kTimeout:
      return c->fail("57014", "canceling statement due to statement timeout", false);
    case Interrupt::kCancel:
      return c->fail("57014", "canceling statement due to user request", false);
    case Interrupt::kShutdown:
      return c->fail("57P01", "terminating because the node stops", false);
  }
  return 0;
}

namespace {
size_t scratch_room(const void* context) noexcept {
  return static_cast<const ExecContext*>(context)->scratch->room_bytes();
}

// Threads of a team look at the interrupt of the first one.
WorkEnd must_end(const void* owner) noexcept {
  auto* context = const_cast<ExecContext*>(static_cast<const ExecContext*>(owner));
  if (context->team != nullptr) context->team->pass_interrupt(context);
  return context->is_interrupted() ? WorkEnd::kCancel : WorkEnd::kNone;
}
}  // namespace

BoundedWork::Bounds work_bounds(ExecContext* c) noexcept { return {c, scratch_room, must_end}; }

namespace {
void* scratch_allocate(void* arg, size_t size) noexcept {
  return static_cast<ExecContext*>(arg)->scratch->allocate(size);
}

bool copy_long_number(ExecContext* c, Datum* datum) {
  const uint64_t bytes = big_numeric_bytes(*datum);
  if (bytes == 0) return true;
  char* copy = c->scratch->allocate(bytes);
  if (copy == nullptr) return false;
  copy_bytes(copy, datum->data(), bytes);
  datum->lo = reinterpret_cast<int64_t>(copy);
  return true;
}

bool copy_array(ExecContext* c, TypeId element, Datum* datum) {
  const ArrayValue* from = array_of(*datum);
  auto* to = reinterpret_cast<ArrayValue*>(c->scratch->allocate(sizeof(ArrayValue)));
  int32_t capacity = from->size < 8 ? 8 : from->size;
  auto* elements = reinterpret_cast<Datum*>(c->scratch->allocate(static_cast<size_t>(capacity) * sizeof(Datum)));
  if (to == nullptr || elements == nullptr) return false;
  *to = *from;
  to->capacity = capacity;
  to->elements = elements;
  if (from->size > 0)
    std::memcpy(static_cast<void*>(elements), from->elements, static_cast<size_t>(from->size) * sizeof(Datum));
  datum->lo = reinterpret_cast<int64_t>(to);
  if (!holds_bytes(element) && element != TypeId::kNumeric) return true;
  const SqlType copied = make_type(element == TypeId::kNumeric ? element : TypeId::kText);
  for (int32_t i = 0; i < from->size; i++) {
    if (!copy_datum(c, copied, &elements[i])) return false;
  }
  return true;
}
}  // namespace

TextArena scratch_arena(ExecContext* context) noexcept { return TextArena{scratch_allocate, context}; }

bool copy_datum(ExecContext* c, const SqlType& type, Datum* datum) noexcept {
  if (datum->null) return true;
  if (type.id == TypeId::kArray) return copy_array(c, type.element, datum);
  if (type.id == TypeId::kNumeric) return copy_long_number(c, datum);
  if (!holds_bytes(type.id) && type.id != TypeId::kUnknown) return true;
  char* copy = c->scratch->allocate(datum->size() == 0 ? 1 : datum->size());
  if (copy == nullptr) return false;
  copy_bytes(copy, datum->data(), datum->size());
  datum->lo = reinterpret_cast<int64_t>(copy);
  return true;
}

std::string format_datum(const SqlType& type, const Datum& value) {
  std::string text;
  if (value.null) return "null";
  append_datum(&text, type, value);
  return text;
}

namespace {

Decimal to_decimal(const SqlType& type, const Datum& in) {
  return type.id == TypeId::kNumeric ? decimal_of(in) : decimal_of_int(in.lo);
}

ValueError number_to_integer(const SqlType& from, const Datum& in, TypeId to, Datum* out) {
  int16_t i2 = 0;
  int32_t i4 = 0;
  int64_t i8 = 0;
  ValueError error = ValueError::kNone;
  if (is_float(from.id)) {
    double value = __builtin_bit_cast(double, in.lo);
    if (to == TypeId::kInt2)
      error = float8_to_int2(value, &i2), i8 = i2;
    else if (to == TypeId::kInt4)
      error = float8_to_int4(value, &i4), i8 = i4;
    else
      error = float8_to_int8(value, &i8);
  } else {
    Decimal value = to_decimal(from, in);
    if (to == TypeId::kInt2)
      error = decimal_to_int2(value, &i2), i8 = i2;
    else if (to == TypeId::kInt4)
      error = decimal_to_int4(value, &i4), i8 = i4;
    else
      error = decimal_to_int8(value, &i8);
  }
  *out = int_datum(i8);
  return error;
}

ValueError number_to_numeric(const SqlType& from, const Datum& in, const SqlType& to, Datum* out) {
  Decimal value;
  if (is_float(from.id)) {
    double number = __builtin_bit_cast(double, in.lo);
    ValueError error =
        from.id == TypeId::kFloat8 ? decimal_of_float8(number, &value) : decimal_of_float4(number, &value);
    if (error != ValueError::kNone) return error;
  } else {
    value = to_decimal(from, in);
  }
  if (is_modified_numeric(to)) {
    ValueError error = big_cast(value, numeric_precision(to), numeric_scale(to), &value);
    if (error != ValueError::kNone) return error;
  } else if (to.precision != 0) {
    ValueError error = decimal_cast(value, to.precision, to.scale, &value);
    if (error != ValueError::kNone) return error;
  }
  *out = datum_of(value);
  return ValueError::kNone;
}

int32_t number_to_float(ExecContext* c, const SqlType& from, const Datum& in, const SqlType& to, Datum* out) {
  double value = 0;
  ValueError error = ValueError::kNone;
  if (is_float(from.id)) {
    value = __builtin_bit_cast(double, in.lo);
  } else {
    const Decimal number = to_decimal(from, in);
    value = decimal_to_float8(number);
    // beyond what the type has: as PostgreSQL, which reads the number's text
    bool is_beyond = number.scale == kBigScale && (std::isinf(value) || (value == 0 && sign_of(number) != 0));
    if (to.id == TypeId::kFloat4 && float8_to_float4(value, &value) != ValueError::kNone) is_beyond = true;
    *out = float_datum(value);
    return is_beyond ? c->fail(error_status(ValueError::kTextOutOfRange, to, decimal_text(number))) : 0;
  }
  if (to.id == TypeId::kFloat4) error = float8_to_float4(value, &value);
  *out = float_datum(value);
  return error == ValueError::kNone ? 0 : c->fail(error_status(error, to));
}

ValueError cast_string(ExecContext* c, std::string_view text, const SqlType& to, bool is_explicit, Datum* out) {
  std::string_view result = text;
  ValueError error = ValueError::kNone;
  if (to.length >= 0 && to.id == TypeId::kVarchar)
    error = varchar_cast(text, to.length, is_explicit, &result);
  else if (to.length >= 0 && to.id == TypeId::kChar)
    error = char_cast(text, to.length, is_explicit, scratch_arena(c), &result);
  if (is_name(to)) result = clip_name(text);
  *out = string_datum(result.data(), result.size());
  return error;
}

int32_t any_to_string(ExecContext* c, const Datum& in, const SqlType& from, const SqlType& to, bool is_explicit,
                      Datum* out) {
  std::string text;
  if (from.id == TypeId::kBool)
    text = bool_text(in.lo != 0);
  else if (!is_explicit && ordered_operand(from.id) == TypeId::kInet)  // assigned by PostgreSQL's text(inet)
    text = network_text(network_of_bytes(text_of(in)), true);
  else
    append_datum(&text, from, in);
  char* copy = c->scratch->allocate(text.size());
  if (copy == nullptr) return fail_memory(c);
  if (!text.empty()) std::memcpy(copy, text.data(), text.size());
  ValueError error = cast_string(c, {copy, text.size()}, to, is_explicit, out);
  return error == ValueError::kNone ? 0 : c->fail(error_status(error, to));
}

int32_t cast_array(ExecContext* c, const Datum& in, const SqlType& from, const SqlType& to, bool is_explicit,
                   Datum* out) {
  *out = in;
  if (!copy_datum(c, from, out)) return fail_memory(c);
  auto* array = reinterpret_cast<ArrayValue*>(out->lo);
  array->element = to.element;
  for (int32_t i = 0; i < array->size; i++) {
    if (array->elements[i].null) continue;
    int32_t outcome =
        cast_datum(c, array->elements[i], element_of(from), element_of(to), is_explicit, &array->elements[i]);
    if (outcome != 0) return outcome;
  }
  return 0;
}

// To a boolean or a number.
int32_t cast_jsonb(ExecContext* c, const Datum& in, const SqlType& to, Datum* out) {
  Json json = json_read(text_of(in));
  if (json.kind == JsonKind::kBoolean && to.id == TypeId::kBool) return *out = int_datum(json.boolean ? 1 : 0), 0;
  if (json.kind != JsonKind::kNumber || !is_number(to.id)) {
    std::string kind = json.kind == JsonKind::kNumber ? "numeric" : json_type_name(json.kind);
    return c->fail("22023", "cannot cast jsonb " + kind + " to type " + type_name(make_type(to.id)));
  }
  SqlType numeric = make_numeric(0, 0);
  Datum number;
  Status status = parse_datum(numeric, json.text, scratch_arena(c), &number);
  return status.ok() ? cast_datum(c, number, numeric, to, true, out) : c->fail(status);
}

// What clocks show then.
int64_t clock_of(const SqlType& type, const Datum& moment) {
  return type.id == TypeId::kTimestamptz ? session_clock(moment.lo) : moment.lo;
}

// Between timestamps with and without time zone.
ValueError cast_zone(const SqlType& from, const SqlType& to, int64_t at, Datum* out) {
  int64_t value = at;
  ValueError error = ValueError::kNone;
  if (from.id != to.id && to.id == TypeId::kTimestamptz) {
    error = session_clock_to_utc(at, &value);
  } else if (from.id != to.id) {
    value = session_clock(at);
    if (is_finite_timestamp(at) && (value < kTimestampMin || value > kTimestampMax))
      error = ValueError::kTimestampRange;
  }
  *out = int_datum(value);
  return error;
}

}  // namespace

namespace {

// From or to a type of ordered bytes.
int32_t cast_ordered(ExecContext* c, const Datum& in, const SqlType& from, const SqlType& to, bool is_explicit,
                     Datum* out) {
  if (keeps_ordered_bytes(from, to)) return *out = in, 0;
  const OrderedCast* cast = find_ordered_cast(from.id, to.id);
  if (cast == nullptr) return c->fail("42846", "cannot cast type " + type_name(from) + " to " + type_name(to));
  const NowScope now(c->transaction_time_us);
  std::string bytes;
  const Status status = cast->convert(in, from, to, is_explicit, &bytes, out);
  if (!status.ok()) return c->fail(status);
  if (to.id == TypeId::kNumeric && (to.precision != 0 || is_modified_numeric(to))) {
    const ValueError error = number_to_numeric(make_numeric(0, 0), Datum(*out), to, out);
    return error == ValueError::kNone ? 0 : c->fail(error_status(error, to));
  }
  if (!is_ordered_bytes(to.id)) return 0;
  if (bytes.empty()) return *out = null_datum(), 0;  // the time of infinity
  char* copy = c->scratch->allocate(bytes.size());
  if (copy == nullptr) return fail_memory(c);
  std::memcpy(copy, bytes.data(), bytes.size());
  *out = string_datum(copy, bytes.size());
  return 0;
}

int32_t cast_value(ExecContext* c, const Datum& in, const SqlType& from, const SqlType& to, bool is_explicit,
                   Datum* out) {
  ValueError error = ValueError::kNone;
  bool from_number = is_number(from.id);
  if (from.id == TypeId::kArray && to.id == TypeId::kArray) return cast_array(c, in, from, to, is_explicit, out);
  const bool is_checked =
      is_json_text(to) ? !is_json_text(from) && from.id != TypeId::kJsonb : is_json_path(to) && !is_json_path(from);
  if (is_checked) {
    std::string text;
    append_datum(&text, from, in);
    const Status status = parse_datum(to, text, scratch_arena(c), out);
    return status.ok() ? 0 : c->fail(status);
  }
  if (is_string(to.id) && (is_string(from.id) || from.id == TypeId::kUnknown)) {
    std::string_view text = text_of(in);
    if (from.id == TypeId::kChar && to.id != TypeId::kChar) text = trim_blanks(text);
    error = cast_string(c, text, to, is_explicit, out);
  } else if (is_string(to.id)) {
    return any_to_string(c, in, from, to, is_explicit, out);
  } else if (is_string(from.id) || from.id == TypeId::kUnknown) {
    const NowScope now(c->transaction_time_us);
    const bool fits_later = is_ordered_bytes(to.id) && to.length >= 0;  // a cast cuts and fills, input does not
    Status status = parse_datum(fits_later ? make_type(to.id) : to, text_of(in), scratch_arena(c), out);
    if (!status.ok()) return c->fail(status);
    return fits_later ? cast_ordered(c, Datum(*out), make_type(to.id), to, is_explicit, out) : 0;
  } else if (is_ordered_bytes(from.id) || is_ordered_bytes(to.id)) {
    return cast_ordered(c, in, from, to, is_explicit, out);
  } else if (from_number && is_integer(to.id)) {
    error = number_to_integer(from, in, to.id, out);
  } else if (from_number && to.id == TypeId::kNumeric) {
    error = number_to_numeric(from, in, to, out);
  } else if (from_number && is_float(to.id)) {
    return number_to_float(c, from, in, to, out);
  } else if (from.id == TypeId::kJsonb) {
    return cast_jsonb(c, in, to, out);
  } else if (from.id == TypeId::kDate && is_moment(to.id)) {
    int64_t value = 0;
    error = date_to_timestamp(static_cast<int32_t>(in.lo), &value);
    if (error == ValueError::kNone && to.id == TypeId::kTimestamptz) error = session_clock_to_utc(value, &value);
    *out = int_datum(value);
  } else if (is_moment(from.id) && to.id == TypeId::kDate) {
    *out = int_datum(timestamp_to_date(clock_of(from, in)));
  } else if (is_moment(from.id) && is_moment(to.id)) {
    error = cast_zone(from, to, in.lo, out);
  } else if (is_moment(from.id) && to.id == TypeId::kTime) {
    if (!is_finite_timestamp(in.lo)) return *out = null_datum(), 0;
    split_timestamp(clock_of(from, in), &out->lo);
    *out = int_datum(out->lo);
  } else if (from.id == TypeId::kInterval && to.id == TypeId::kTime) {
    *out = int_datum(time_of_interval(interval_of(in)));
  } else if (from.id == TypeId::kTime && to.id == TypeId::kInterval) {
    *out = datum_of(Interval{in.lo, 0, 0});
  } else if (from.id == TypeId::kBool || to.id == TypeId::kBool) {
    *out = int_datum(in.lo != 0 ? 1 : 0);
  } else if (from.id == to.id) {
    *out = in;
  } else {
    return c->fail("42846", "cannot cast type " + type_name(from) + " to " + type_name(to));
  }
  if (error == ValueError::kNone) apply_time_modifier(to, out);
  if (error == ValueError::kOutOfMemory) return fail_memory(c);
  return error == ValueError::kNone ? 0 : c->fail(error_status(error, to));
}

}  // namespace

// Long texts and arrays are cast within the statement's bounds; a document as a tree takes many times its text.
int32_t cast_datum(ExecContext* c, const Datum& in, const SqlType& from, const SqlType& to, bool is_explicit,
                   Datum* out) noexcept {
  constexpr size_t kShortBytes = 4096;
  if (in.null) return *out = null_datum(), 0;
  const bool fills = is_ordered_bytes(to.id) && to.length > static_cast<int32_t>(kShortBytes);  // bit(1000000)
  const bool is_long = fills || (holds_bytes(from.id) || from.id == TypeId::kUnknown ? in.size() > kShortBytes
                                                                                     : from.id == TypeId::kArray);
  if (!is_long) return cast_value(c, in, from, to, is_explicit, out);
  try {
    const BoundedWork work(work_bounds(c));
    return cast_value(c, in, from, to, is_explicit, out);
  } catch (const WorkInterrupted&) {
    return fail_interrupted(c);
  } catch (const std::exception&) {
    return fail_memory(c);
  }
}

int32_t emit_row(ExecContext* c, const Datum* row) noexcept {
  if (c->result == nullptr) return 0;
  const auto& columns = c->program->columns();
  for (size_t i = 0; i < columns.size(); i++) c->result->append(columns[i].type, row[i]);
  if (c->result->bytes() <= c->result_bytes_max) return 0;
  if (c->sink != nullptr) return c->sink->take_rows(c);
  return c->fail("54000", "result exceeds the limit of bytes that a transaction may return", false);
}

}  // namespace scyper::query
