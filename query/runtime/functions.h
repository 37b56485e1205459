#pragma once

#include "ir/ir.h"

// Builtin functions that take and give Datums: int32 f(ExecContext*, const Datum* args, int64 count, Datum* result,
// const SqlType* types). Strict ones see no NULL. Results may point into arguments.
namespace scyper::query {

// clang-format off: it does not come to rest on this list
#define SCYPER_BUILTIN_FUNCTIONS(X) \
  X(date_add) X(date_subtract) X(date_difference) X(concat_text) X(like) X(ilike) X(length) X(char_length) \
  X(octet_length) X(substring) X(left) X(right) X(position) X(upper) X(lower) X(trim) X(trim_left) \
  X(trim_right) X(pad_left) X(pad_right) X(replace) X(repeat) X(reverse) X(ascii) X(chr) X(split_part) \
  X(starts_with) X(concat) X(concat_ws) X(abs_integer) X(abs_numeric) X(abs_float8) X(round) X(truncate) \
  X(round_float8) X(trunc_float8) X(ceil) X(ceil_float8) X(floor) X(floor_float8) X(sign) X(sqrt) \
  X(sqrt_float8) X(div) X(extract_date) X(extract_timestamp) X(date_trunc) X(array_length) X(array_upper) \
  X(array_lower) X(cardinality) X(array_append) X(version)

#define SCYPER_TEXT_FUNCTIONS(X) \
  X(bit_length) X(initcap) X(overlay) X(translate) X(to_hex4) X(to_hex8) X(md5) X(quote_ident) X(quote_literal) \
  X(quote_nullable) X(format) X(record_text) X(num_nulls) X(num_nonnulls) X(type_of)

#define SCYPER_MATH_FUNCTIONS(X) \
  X(exp) X(ln) X(log10) X(cbrt) X(power) X(sign_float8) X(degrees) X(radians) X(pi) X(sin) X(cos) X(tan) X(cot) \
  X(sind) X(cosd) X(tand) X(cotd) X(asin) X(acos) X(asind) X(acosd) X(atan) X(atand) X(atan2) X(atan2d) X(sinh) \
  X(cosh) X(tanh) X(asinh) X(acosh) X(atanh) X(gcd) X(lcm) X(gcd_numeric) X(lcm_numeric) X(factorial) \
  X(scale_numeric) X(min_scale) X(trim_scale) X(exp_numeric) X(ln_numeric) X(log_numeric) X(power_numeric) \
  X(width_bucket) X(width_bucket_numeric) X(bit_and) X(bit_or) X(bit_xor) X(bit_not) X(shift_left) X(shift_right)

#define SCYPER_TIME_FUNCTIONS(X) \
  X(interval_add) X(interval_subtract) X(interval_negate) X(interval_multiply) X(multiply_interval) X(interval_divide) \
  X(date_add_interval) X(date_subtract_interval) X(interval_add_date) X(timestamp_add_interval) \
  X(timestamp_subtract_interval) X(interval_add_timestamp) X(timestamp_difference) X(age) X(age_now) \
  X(extract_interval) X(date_part_date) X(date_part_timestamp) X(date_part_interval) X(trunc_interval) \
  X(justify_days) X(justify_hours) X(justify_interval) X(make_date) X(make_timestamp) \
  X(make_interval) X(isfinite) X(isfinite_date) X(isfinite_timestamp) X(date_bin) X(overlaps) \
  X(extract_date_unit) X(extract_timestamp_unit)

#define SCYPER_FORMAT_FUNCTIONS(X) \
  X(to_char_timestamp) X(to_char_interval) X(to_char_number) X(to_date) X(to_timestamp) X(to_number)

#define SCYPER_REGEX_FUNCTIONS(X) \
  X(regex_matches) X(regex_matches_not) X(regex_imatches) X(regex_imatches_not) X(similar_to) X(regexp_like) \
  X(regexp_replace) X(regexp_match) X(regexp_matches) X(regexp_substr) X(regexp_count) X(regexp_instr) \
  X(regexp_split_to_array) X(substring_regex) X(substring_similar) X(similar_escape) X(match_any)

#define SCYPER_ARRAY_FUNCTIONS(X) \
  X(array_cat) X(array_prepend) X(array_position) X(array_positions) X(array_remove) X(array_replace) \
  X(array_to_string) X(string_to_array) X(array_ndims) X(array_dims) X(array_contains) X(array_contained) \
  X(array_overlaps) X(trim_array) X(array_fill) X(array_slice) X(array_distinct) X(array_set_element) X(array_set_slice) \
  X(series) X(enum_first) X(enum_last) X(enum_range)
#define SCYPER_SEQUENCE_FUNCTIONS(X) X(nextval) X(nextval_of_id) X(permitted_sequence) X(setval) X(currval) X(lastval) X(visible_row)
#define SCYPER_ZONE_FUNCTIONS(X) \
  X(zone_of_timestamptz) X(zone_of_timestamp) X(interval_zone_of_timestamptz) X(interval_zone_of_timestamp) \
  X(timestamptz_add_interval) X(timestamptz_subtract_interval) X(interval_add_timestamptz) X(age_timestamptz) \
  X(age_timestamptz_now) X(extract_timestamptz_unit) \
  X(extract_timestamptz) X(date_part_timestamptz) X(date_trunc_zone) X(to_char_timestamptz) X(to_timestamp_unix) \
  X(make_timestamptz) X(make_timestamptz_zone) X(time_add_interval) X(interval_add_time) X(time_subtract_interval) \
  X(time_difference) X(date_add_time) X(time_add_date) X(extract_time) X(date_part_time) X(make_time) \
  X(zoned_date_add_time)
#define SCYPER_BINARY_FUNCTIONS(X) \
  X(gen_random_uuid) X(encode) X(decode) X(get_byte) X(set_byte) X(get_bit) X(set_bit) X(sha224) X(sha256) X(sha384) \
  X(sha512) X(substring_bytea) X(overlay_bytea) X(position_bytea) X(trim_bytea) X(trim_left_bytea) X(trim_right_bytea) \
  X(bit_count) X(convert_from) X(convert_to)
#define SCYPER_CATALOG_FUNCTIONS(X) \
  X(catalog_text) X(catalog_form) X(object_name) X(object_number) X(format_type) X(size_pretty)
// clang-format on

#define SCYPER_DECLARE_FUNCTION(name) extern const ir::External k_fn_##name;
SCYPER_BUILTIN_FUNCTIONS(SCYPER_DECLARE_FUNCTION)
SCYPER_TEXT_FUNCTIONS(SCYPER_DECLARE_FUNCTION)
SCYPER_MATH_FUNCTIONS(SCYPER_DECLARE_FUNCTION)
SCYPER_TIME_FUNCTIONS(SCYPER_DECLARE_FUNCTION)
SCYPER_FORMAT_FUNCTIONS(SCYPER_DECLARE_FUNCTION)
SCYPER_REGEX_FUNCTIONS(SCYPER_DECLARE_FUNCTION)
SCYPER_ARRAY_FUNCTIONS(SCYPER_DECLARE_FUNCTION)
SCYPER_SEQUENCE_FUNCTIONS(SCYPER_DECLARE_FUNCTION)
SCYPER_ZONE_FUNCTIONS(SCYPER_DECLARE_FUNCTION)
SCYPER_BINARY_FUNCTIONS(SCYPER_DECLARE_FUNCTION)
SCYPER_CATALOG_FUNCTIONS(SCYPER_DECLARE_FUNCTION)
#undef SCYPER_DECLARE_FUNCTION

}  // namespace scyper::query
