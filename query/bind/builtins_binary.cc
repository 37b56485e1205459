#include "bind/builtin_table.h"

namespace scyper::query {

using T = TypeId;

// runtime/functions_digest.cc
extern const ir::External k_fn_digest;
extern const ir::External k_fn_hmac;
// runtime/functions_names.cc
extern const ir::External k_fn_send;

void add_binary_functions(BuiltinTable* t) {
  t->runtime("gen_random_uuid", {}, T::kUuid, k_fn_gen_random_uuid).is_volatile = true;
  t->runtime("uuid_generate_v4", {}, T::kUuid, k_fn_gen_random_uuid).is_volatile = true;  // of uuid-ossp
  for (T type : {T::kText, T::kBytea}) {                                                  // of pgcrypto
    t->runtime("digest", {type, T::kText}, T::kBytea, k_fn_digest);
    t->runtime("hmac", {type, type, T::kText}, T::kBytea, k_fn_hmac);
  }
  constexpr std::pair<std::string_view, T> kSenders[] = {{"boolsend", T::kBool},
                                                         {"int2send", T::kInt2},
                                                         {"int4send", T::kInt4},
                                                         {"int8send", T::kInt8},
                                                         {"float4send", T::kFloat4},
                                                         {"float8send", T::kFloat8},
                                                         {"textsend", T::kText},
                                                         {"byteasend", T::kBytea},
                                                         {"date_send", T::kDate},
                                                         {"time_send", T::kTime},
                                                         {"timestamp_send", T::kTimestamp},
                                                         {"timestamptz_send", T::kTimestamptz},
                                                         {"uuid_send", T::kUuid},
                                                         {"numeric_send", T::kNumeric},
                                                         {"interval_send", T::kInterval},
                                                         {"jsonb_send", T::kJsonb}};
  for (const auto& [name, type] : kSenders) t->runtime(name, {type}, T::kBytea, k_fn_send).takes_types = true;
  t->runtime("||", {T::kBytea, T::kBytea}, T::kBytea, k_fn_concat_text).op = BuiltinOp::kConcat;
  t->runtime("length", {T::kBytea}, T::kInt4, k_fn_octet_length);
  t->runtime("octet_length", {T::kBytea}, T::kInt4, k_fn_octet_length);
  t->runtime("bit_length", {T::kBytea}, T::kInt4, k_fn_bit_length);
  t->runtime("bit_count", {T::kBytea}, T::kInt8, k_fn_bit_count);
  t->runtime("encode", {T::kBytea, T::kText}, T::kText, k_fn_encode);
  t->runtime("decode", {T::kText, T::kText}, T::kBytea, k_fn_decode);
  t->runtime("convert_from", {T::kBytea, T::kText}, T::kText, k_fn_convert_from);
  t->runtime("convert_to", {T::kText, T::kText}, T::kBytea, k_fn_convert_to);
  t->runtime("get_byte", {T::kBytea, T::kInt4}, T::kInt4, k_fn_get_byte);
  t->runtime("set_byte", {T::kBytea, T::kInt4, T::kInt4}, T::kBytea, k_fn_set_byte);
  t->runtime("get_bit", {T::kBytea, T::kInt8}, T::kInt4, k_fn_get_bit);
  t->runtime("set_bit", {T::kBytea, T::kInt8, T::kInt4}, T::kBytea, k_fn_set_bit);
  t->runtime("md5", {T::kBytea}, T::kText, k_fn_md5);
  t->runtime("sha224", {T::kBytea}, T::kBytea, k_fn_sha224);
  t->runtime("sha256", {T::kBytea}, T::kBytea, k_fn_sha256);
  t->runtime("sha384", {T::kBytea}, T::kBytea, k_fn_sha384);
  t->runtime("sha512", {T::kBytea}, T::kBytea, k_fn_sha512);
  for (std::string_view name : {"substr", "substring"}) {
    t->runtime(name, {T::kBytea, T::kInt4}, T::kBytea, k_fn_substring_bytea);
    t->runtime(name, {T::kBytea, T::kInt4, T::kInt4}, T::kBytea, k_fn_substring_bytea);
  }
  t->runtime("overlay", {T::kBytea, T::kBytea, T::kInt4}, T::kBytea, k_fn_overlay_bytea);
  t->runtime("overlay", {T::kBytea, T::kBytea, T::kInt4, T::kInt4}, T::kBytea, k_fn_overlay_bytea);
  t->runtime("position", {T::kBytea, T::kBytea}, T::kInt4, k_fn_position_bytea);
  t->runtime("btrim", {T::kBytea, T::kBytea}, T::kBytea, k_fn_trim_bytea);
  t->runtime("ltrim", {T::kBytea, T::kBytea}, T::kBytea, k_fn_trim_left_bytea);
  t->runtime("rtrim", {T::kBytea, T::kBytea}, T::kBytea, k_fn_trim_right_bytea);
}

}  // namespace scyper::query
