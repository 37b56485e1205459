#include <algorithm>

#include "absl/strings/str_cat.h"
#include "query/error_status.h"
#include "runtime/function_body.h"
#include "storage/enum_transaction.h"
#include "types/big_number.h"
#include "types/interval.h"
#include "types/text.h"
#include "types/timezone.h"

namespace scyper::query {

namespace {

constexpr size_t kSeriesMax = 100'000'000;  // values of a series that is kept whole

ArrayValue* new_array(ExecContext* c, int32_t size, TypeId element) {
  auto* array = reinterpret_cast<ArrayValue*>(c->scratch->allocate(sizeof(ArrayValue)));
  auto* elements = reinterpret_cast<Datum*>(c->scratch->allocate(static_cast<size_t>(size) * sizeof(Datum)));
  if (array == nullptr || elements == nullptr) return nullptr;
  *array = ArrayValue{size, size, 1, element, elements};
  return array;
}
// The array shares what its elements point to with the arguments: both live until the statement's row is done, so the
// result is copied where it is kept.
int32_t give_array(Datum* out, ArrayValue* array) {
  *out = Datum{reinterpret_cast<int64_t>(array), 0, 0, 0, {}};
  return 0;
}
int32_t give_label(ExecContext* c, Datum* out, const EnumType& type, const EnumType::Label& label) {
  const Status status = check_label(type, label);
  return status.ok() ? give(out, label.code) : c->fail(status);
}
int32_t failed() { return static_cast<int32_t>(Outcome::kError); }
int32_t no_subscript(ExecContext* c) { return c->fail("22004", "array subscript in assignment must not be null"); }

// A copy with room for elements `from` to `to`, those that the array has not being NULL. nullptr: the context says why.
ArrayValue* widened(ExecContext* c, const ArrayValue* array, int64_t from, int64_t to, TypeId element) {
  constexpr int64_t kElementsMax = 134217727;  // PostgreSQL's MaxArraySize
  const bool is_empty = array == nullptr || array->size == 0;
  const int64_t lower = is_empty ? from : std::min<int64_t>(array->lower_bound, from);
  const int64_t upper = is_empty ? to : std::max(int64_t{array->lower_bound} + array->size - 1, to);
  if (upper - lower + 1 > kElementsMax) {
    c->fail("54000", absl::StrCat("array size exceeds the maximum allowed (", kElementsMax, ")"));
    return nullptr;
  }
  ArrayValue* result = new_array(c, static_cast<int32_t>(upper - lower + 1), element);
  if (result == nullptr) return fail_memory(c), nullptr;
  result->lower_bound = static_cast<int32_t>(lower);
  std::fill(result->elements, result->elements + result->size, null_datum());
  if (!is_empty)
    std::copy(array->elements, array->elements + array->size, result->elements + (array->lower_bound - lower));
  return result;
}
bool same_value(const SqlType& type, const Datum& a, const Datum& b) {
  if (a.null || b.null) return a.null == b.null;
  return equal_datums(type, a, b);
}
bool contains(const SqlType& element, const ArrayValue& array, const Datum& value) {
  poll_work();
  return !value.null && std::any_of(array.elements, array.elements + array.size, [&](const Datum& other) {
    return !other.null && equal_datums(element, value, other);
  });
}

extern "C" {

SCYPER_FUNCTION(array_cat) {
  if (args[0].null || args[1].null) return *out = args[args[0].null ? 1 : 0], 0;
  const ArrayValue* a = array_of(args[0]);
  const ArrayValue* b = array_of(args[1]);
  if (a->size == 0 || b->size == 0) return *out = args[a->size == 0 ? 1 : 0], 0;
  ArrayValue* result = new_array(c, a->size + b->size, a->element);
  if (result == nullptr) return fail_memory(c);
  result->lower_bound = a->lower_bound;
  std::copy(a->elements, a->elements + a->size, result->elements);
  std::copy(b->elements, b->elements + b->size, result->elements + a->size);
  return give_array(out, result);
}
SCYPER_FUNCTION(array_prepend) {
  int32_t size = args[1].null ? 0 : array_of(args[1])->size;
  ArrayValue* result = new_array(c, size + 1, types[1].element);
  if (result == nullptr) return fail_memory(c);
  result->elements[0] = args[0];
  if (size > 0) std::copy(array_of(args[1])->elements, array_of(args[1])->elements + size, result->elements + 1);
  return give_array(out, result);
}
SCYPER_FUNCTION(array_position) {
  if (args[0].null) return give_null(out);
  const ArrayValue* array = array_of(args[0]);
  if (count > 2 && args[2].null) return c->fail("22004", "initial position must not be null");
  int32_t from = count > 2 ? int4(args[2]) : array->lower_bound;
  for (int32_t i = std::max(from - array->lower_bound, 0); i < array->size; i++)
    if (same_value(element_of(types[0]), array->elements[i], args[1]))
      return give(out, int64_t{array->lower_bound} + i);
  return give_null(out);
}
SCYPER_FUNCTION(array_positions) {
  if (args[0].null) return give_null(out);
  const ArrayValue* array = array_of(args[0]);
  ArrayValue* result = new_array(c, array->size, TypeId::kInt4);
  if (result == nullptr) return fail_memory(c);
  result->size = 0;
  for (int32_t i = 0; i < array->size; i++)
    if (same_value(element_of(types[0]), array->elements[i], args[1]))
      result->elements[result->size++] = int_datum(int64_t{array->lower_bound} + i);
  return give_array(out, result);
}
// Of one dimension: what has more is refused.
SCYPER_FUNCTION(array_fill) {
  for (int64_t i = 1; i < count; i++) {
    if (args[i].null) return c->fail("22004", "dimension array or low bound array cannot be null");
    for (int32_t j = 0; j < array_of(args[i])->size; j++)
      if (array_of(args[i])->elements[j].null) return c->fail("22004", "dimension values cannot be null");
  }
  const ArrayValue* dimensions = array_of(args[1]);
  if (count > 2 && array_of(args[2])->size != dimensions->size)
    return c->fail(with_detail(sql_error("2202E", "wrong number of array subscripts"),
                               "Low bound array has different size than dimensions array."));
  if (dimensions->size > 1) return c->fail("0A000", "multidimensional arrays are not supported");
  const int64_t size = dimensions->size == 0 ? 0 : int4(dimensions->elements[0]);
  constexpr int64_t kSizeMax = 134217727;  // PostgreSQL's
  if (size < 0 || size > kSizeMax)
    return c->fail("54000", "array size exceeds the maximum allowed (" + std::to_string(kSizeMax) + ")");
  ArrayValue* result = new_array(c, static_cast<int32_t>(size), types[0].id);
  if (result == nullptr) return fail_memory(c);
  if (count > 2 && size > 0) result->lower_bound = int4(array_of(args[2])->elements[0]);
  std::fill(result->elements, result->elements + size, args[0]);
  return give_array(out, result);
}
SCYPER_FUNCTION(array_remove) {
  if (args[0].null) return give_null(out);
  const ArrayValue* array = array_of(args[0]);
  ArrayValue* result = new_array(c, array->size, array->element);
  if (result == nullptr) return fail_memory(c);
  result->lower_bound = array->lower_bound;
  result->size = 0;
  for (int32_t i = 0; i < array->size; i++)
    if (!same_value(element_of(types[0]), array->elements[i], args[1]))
      result->elements[result->size++] = array->elements[i];
  if (result->size == 0) result->lower_bound = 1;
  return give_array(out, result);
}
// Those that are not NULL, each once, in ascending order.
SCYPER_FUNCTION(array_distinct) {
  if (args[0].null) return give_null(out);
  const ArrayValue* array = array_of(args[0]);
  ArrayValue* result = new_array(c, array->size, array->element);
  if (result == nullptr) return fail_memory(c);
  const SqlType type = element_of(types[0]);
  Datum* end = std::copy_if(array->elements, array->elements + array->size, result->elements,
                            [](const Datum& value) { return value.null == 0; });
  std::sort(result->elements, end, [&](const Datum& a, const Datum& b) { return compare_datums(type, a, b) < 0; });
  end = std::unique(result->elements, end, [&](const Datum& a, const Datum& b) { return equal_datums(type, a, b); });
  result->size = static_cast<int32_t>(end - result->elements);
  return give_array(out, result);
}
SCYPER_FUNCTION(array_replace) {
  if (args[0].null) return give_null(out);
  const ArrayValue* array = array_of(args[0]);
  ArrayValue* result = new_array(c, array->size, array->element);
  if (result == nullptr) return fail_memory(c);
  result->lower_bound = array->lower_bound;
  for (int32_t i = 0; i < array->size; i++)
    result->elements[i] = same_value(element_of(types[0]), array->elements[i], args[1]) ? args[2] : array->elements[i];
  return give_array(out, result);
}
// (array, separator [, text for NULLs])
SCYPER_FUNCTION(array_to_string) {
  if (args[0].null || args[1].null) return give_null(out);
  const ArrayValue* array = array_of(args[0]);
  std::string text;
  bool first = true;
  for (int32_t i = 0; i < array->size; i++) {
    const Datum& value = array->elements[i];
    if (value.null && (count < 3 || args[2].null)) continue;
    if (!first) text += text_of(args[1]);
    first = false;
    if (value.null)
      text += text_of(args[2]);
    else
      append_datum(&text, element_of(types[0]), value);
  }
  return give_copy(c, out, text);
}
// (text, separator [, text that means NULL]); a NULL separator cuts into characters, an empty one not at all
SCYPER_FUNCTION(string_to_array) {
  if (args[0].null) return give_null(out);
  std::string_view text = text_of(args[0]);
  std::vector<std::string_view> parts;
  if (!text.empty() && args[1].null) {
    for (size_t i = 0; i < text.size();) {
      parts.push_back(first_character(text.substr(i)));
      i += parts.back().size();
    }
  } else if (!text.empty()) {
    std::string_view separator = text_of(args[1]);
    size_t from = 0;
    for (size_t at; !separator.empty() && (at = find_text(text, separator, from)) != std::string_view::npos;) {
      parts.push_back(text.substr(from, at - from));
      from = at + separator.size();
    }
    parts.push_back(text.substr(from));
  }
  ArrayValue* result = new_array(c, static_cast<int32_t>(parts.size()), TypeId::kText);
  if (result == nullptr) return fail_memory(c);
  for (size_t i = 0; i < parts.size(); i++) {
    bool null = count > 2 && !args[2].null && parts[i] == text_of(args[2]);
    result->elements[i] = null ? null_datum() : string_datum(parts[i].data(), parts[i].size());
  }
  return give_array(out, result);
}
SCYPER_FUNCTION(array_ndims) { return array_of(args[0])->size == 0 ? give_null(out) : give(out, int64_t{1}); }
SCYPER_FUNCTION(array_dims) {
  const ArrayValue* array = array_of(args[0]);
  if (array->size == 0) return give_null(out);
  return give_copy(c, out,
                   "[" + std::to_string(array->lower_bound) + ":" +
                       std::to_string(int64_t{array->lower_bound} + array->size - 1) + "]");
}
SCYPER_FUNCTION(array_contains) {
  const ArrayValue* a = array_of(args[0]);
  const ArrayValue* b = array_of(args[1]);
  return give_bool(out, std::all_of(b->elements, b->elements + b->size,
                                    [&](const Datum& value) { return contains(element_of(types[0]), *a, value); }));
}
SCYPER_FUNCTION(array_contained) {
  Datum swapped[] = {args[1], args[0]};
  return fn_array_contains(c, swapped, 2, out, types);
}
SCYPER_FUNCTION(array_overlaps) {
  const ArrayValue* a = array_of(args[0]);
  const ArrayValue* b = array_of(args[1]);
  return give_bool(out, std::any_of(b->elements, b->elements + b->size,
                                    [&](const Datum& value) { return contains(element_of(types[0]), *a, value); }));
}
// generate_series() of a type as an array
SCYPER_FUNCTION(series) {
  TypeId type = types[0].id;
  int sign = 0;
  static constexpr const char* kParts[] = {"start value", "stop value", "step size"};
  for (int i = 0; type == TypeId::kNumeric && i < 3; i++) {
    const Decimal given = decimal_of(args[i]);
    if (is_nan(given)) return c->fail("22023", std::string(kParts[i]) + " cannot be NaN");
    if (is_infinite(given)) return c->fail("22023", std::string(kParts[i]) + " cannot be infinity");
  }
  if (type == TypeId::kNumeric)
    sign = decimal_compare(decimal_of(args[2]), Decimal{});
  else if (is_moment(type))
    sign = interval_compare(interval_of(args[2]), Interval{});
  else
    sign = args[2].lo < 0 ? -1 : args[2].lo > 0 ? 1 : 0;
  if (sign == 0) return c->fail("22023", "step size cannot equal zero");
  std::vector<Datum> values;
  Datum at = args[0];
  while (true) {
    int order = type == TypeId::kNumeric ? decimal_compare(decimal_of(at), decimal_of(args[1]))
                                         : (at.lo > args[1].lo) - (at.lo < args[1].lo);
    if (order * sign > 0) break;
    values.push_back(at);
    if (values.size() % 65536 == 0) poll_work();
    if (values.size() > kSeriesMax) return c->fail("54000", "array size exceeds the maximum allowed");
    ValueError error = ValueError::kNone;
    if (type == TypeId::kNumeric) {
      Decimal next;
      error = decimal_add(decimal_of(at), decimal_of(args[2]), &next);
      at = datum_of(next);
    } else if (is_moment(type)) {
      error = type == TypeId::kTimestamptz ? timestamptz_add(at.lo, interval_of(args[2]), &at.lo)
                                           : timestamp_add(at.lo, interval_of(args[2]), &at.lo);
    } else if (__builtin_add_overflow(at.lo, args[2].lo, &at.lo)) {
      break;
    }
    if (error != ValueError::kNone) return c->fail(error_status(error));
  }
  ArrayValue* result = new_array(c, static_cast<int32_t>(values.size()), types[0].id);
  if (result == nullptr) return fail_memory(c);
  std::copy(values.begin(), values.end(), result->elements);
  return give_array(out, result);
}
// array[from:to]
SCYPER_FUNCTION(array_slice) {
  const ArrayValue* array = array_of(args[0]);
  const int64_t first = array->lower_bound;
  const int64_t from = std::max<int64_t>(args[1].lo, first),
                to = std::min<int64_t>(args[2].lo, first + array->size - 1);
  const int64_t size = std::max<int64_t>(to - from + 1, 0);
  ArrayValue* result = new_array(c, static_cast<int32_t>(size), array->element);
  if (result == nullptr) return fail_memory(c);
  if (size > 0) std::copy_n(array->elements + (from - first), size, result->elements);
  return give_array(out, result);
}
// A copy with elements set: beyond its ends it grows, NULLs in between.
SCYPER_FUNCTION(array_set_element) {
  if (args[1].null) return no_subscript(c);
  ArrayValue* result = widened(c, args[0].null ? nullptr : array_of(args[0]), args[1].lo, args[1].lo, types[0].element);
  if (result == nullptr) return failed();
  result->elements[args[1].lo - result->lower_bound] = args[2];
  return give_array(out, result);
}
SCYPER_FUNCTION(array_set_slice) {
  const bool has_lower = (args[3].lo & 1) != 0, has_upper = (args[3].lo & 2) != 0;
  if ((has_lower && args[1].null) || (has_upper && args[2].null)) return no_subscript(c);
  const ArrayValue* array = args[0].null ? nullptr : array_of(args[0]);
  if (args[4].null) {  // nothing to assign
    ArrayValue* empty = array == nullptr ? new_array(c, 0, types[0].element) : nullptr;
    if (array == nullptr && empty == nullptr) return fail_memory(c);
    return array == nullptr ? give_array(out, empty) : (*out = args[0], 0);
  }
  const bool is_empty = array == nullptr || array->size == 0;
  if (is_empty && (!has_lower || !has_upper))
    return c->fail(with_detail(sql_error("2202E", "array slice subscript must provide both boundaries"),
                               "When assigning to a slice of an empty array value, slice boundaries must be fully "
                               "specified."));
  const int64_t from = has_lower ? args[1].lo : array->lower_bound;
  const int64_t to = has_upper ? args[2].lo : array->lower_bound + int64_t{array->size} - 1;
  if (from > to) return c->fail("2202E", "upper bound cannot be less than lower bound");
  const ArrayValue* source = array_of(args[4]);
  if (source->size < to - from + 1) return c->fail("2202E", "source array too small");
  ArrayValue* result = widened(c, array, from, to, types[0].element);
  if (result == nullptr) return failed();
  std::copy(source->elements, source->elements + (to - from + 1), result->elements + (from - result->lower_bound));
  return give_array(out, result);
}
SCYPER_FUNCTION(trim_array) {
  const ArrayValue* array = array_of(args[0]);
  int64_t cut = args[1].lo;
  if (cut < 0 || cut > array->size)
    return c->fail("2202E", "number of elements to trim must be between 0 and " + std::to_string(array->size));
  ArrayValue* result = new_array(c, array->size - static_cast<int32_t>(cut), array->element);
  if (result == nullptr) return fail_memory(c);
  std::copy(array->elements, array->elements + result->size, result->elements);
  return give_array(out, result);
}

// Of the type of their arguments, which may be NULL.
SCYPER_FUNCTION(enum_first) {
  const EnumType* type = find_enum(types[0].length);
  return type == nullptr || type->labels.empty() ? give_null(out) : give_label(c, out, *type, type->labels.front());
}
SCYPER_FUNCTION(enum_last) {
  const EnumType* type = find_enum(types[0].length);
  return type == nullptr || type->labels.empty() ? give_null(out) : give_label(c, out, *type, type->labels.back());
}
SCYPER_FUNCTION(enum_range) {
  const EnumType* type = find_enum(types[0].length);
  ArrayValue* range = new_array(c, type == nullptr ? 0 : static_cast<int32_t>(type->labels.size()), TypeId::kEnum);
  if (range == nullptr) return fail_memory(c);
  range->size = 0;
  for (size_t i = 0; type != nullptr && i < type->labels.size(); i++) {
    const int64_t code = type->labels[i].code;
    const bool is_before = count > 1 && !args[0].null && code < args[0].lo;
    const bool is_behind = count > 1 && !args[1].null && code > args[1].lo;
    if (is_before || is_behind) continue;
    if (const Status status = check_label(*type, type->labels[i]); !status.ok()) return c->fail(status);
    range->elements[range->size++] = int_datum(code);
  }
  return give_array(out, range);
}

}  // extern "C"

}  // namespace

SCYPER_ARRAY_FUNCTIONS(SCYPER_DEFINE_FUNCTION)

}  // namespace scyper::query
