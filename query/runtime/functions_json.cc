#include <cmath>

#include "runtime/function_body.h"
#include "runtime/functions_jsonb.h"
#include "storage/json_text_type.h"
#include "types/jsonb.h"

// What makes texts of type json: to_json(), json_build_object() and their kin, with PostgreSQL's blanks and in the
// order of what they are made of.
namespace scyper::query {

// Declared where the builtins are listed (bind/builtins_jsonb.cc).
extern const ir::External k_fn_to_json;
extern const ir::External k_fn_array_to_json;
extern const ir::External k_fn_json_row;
extern const ir::External k_fn_json_row_pretty;
extern const ir::External k_fn_json_build_object;
extern const ir::External k_fn_json_build_array;
extern const ir::External k_fn_json_build_array_of;
extern const ir::External k_fn_json_build_object_of;
extern const ir::External k_fn_json_agg;
extern const ir::External k_fn_json_pair;
extern const ir::External k_fn_json_of_pairs;

namespace {

void append_string(std::string* out, std::string_view text) { json_append(out, json_string(text)); }

void append_value(std::string* out, const SqlType& type, const Datum& value) {
  if (value.null) {
    out->append("null");
  } else if (is_json_text(type) || type.id == TypeId::kJsonb) {
    out->append(text_of(value));
  } else if (type.id == TypeId::kBool) {
    out->append(value.lo != 0 ? "true" : "false");
  } else if (is_integer(type.id) || (type.id == TypeId::kNumeric && value.scale >= kBigScale) ||
             (is_float(type.id) && std::isfinite(float8(value)))) {
    append_datum(out, type, value);
  } else if (type.id == TypeId::kArray) {
    const ArrayValue* array = array_of(value);
    out->push_back('[');
    for (int32_t i = 0; i < array->size; i++) {
      if (i > 0) out->push_back(',');
      append_value(out, element_of(type), array->elements[i]);
    }
    out->push_back(']');
  } else {
    append_string(out, json_scalar_text(type, value));
  }
}

int32_t append_key(ExecContext* c, std::string* out, const SqlType& type, const Datum& key) {
  if (type.id == TypeId::kArray || type.id == TypeId::kJsonb || is_json_text(type))
    return c->fail("22023", "key value must be scalar, not array, composite, or json");
  append_string(out, type.id != TypeId::kBool ? json_scalar_text(type, key) : key.lo != 0 ? "true" : "false");
  return 0;
}

int32_t give_row(ExecContext* c, const Datum* args, int64_t count, const SqlType* types, std::string_view between,
                 Datum* out) {
  std::string text = "{";
  for (int64_t i = 0; i < count; i += 2) {
    if (i > 0) text += between;
    append_string(&text, text_of(args[i]));
    text += ':';
    append_value(&text, types[i + 1], args[i + 1]);
  }
  return give_copy(c, out, text + "}");
}

extern "C" {

SCYPER_FUNCTION(to_json) {
  std::string text;
  append_value(&text, types[0], args[0]);
  return give_copy(c, out, text);
}
// The array, whether each element begins a line.
SCYPER_FUNCTION(array_to_json) {
  const ArrayValue* array = array_of(args[0]);
  std::string text = "[";
  for (int32_t i = 0; i < array->size; i++) {
    if (i > 0) text += args[1].lo != 0 ? ",\n " : ",";
    append_value(&text, element_of(types[0]), array->elements[i]);
  }
  return give_copy(c, out, text + "]");
}
// A row: names of columns and their values.
SCYPER_FUNCTION(json_row) { return give_row(c, args, count, types, ",", out); }
SCYPER_FUNCTION(json_row_pretty) { return give_row(c, args, count, types, ",\n ", out); }
SCYPER_FUNCTION(json_build_object) {
  if (count % 2 != 0)
    return c->fail(with_hint(sql_error("22023", "argument list must have even number of elements"),
                             "The arguments of json_build_object() must consist of alternating keys and values."));
  std::string text = "{";
  for (int64_t i = 0; i < count; i += 2) {
    if (args[i].null)
      return c->fail(with_hint(sql_error("22023", "argument " + std::to_string(i + 1) + " cannot be null"),
                               "Object keys should be text."));
    if (i > 0) text += ", ";
    if (int32_t outcome = append_key(c, &text, types[i], args[i]); outcome != 0) return outcome;
    text += " : ";
    append_value(&text, types[i + 1], args[i + 1]);
  }
  return give_copy(c, out, text + "}");
}
SCYPER_FUNCTION(json_build_array) {
  std::string text = "[";
  for (int64_t i = 0; i < count; i++) {
    if (i > 0) text += ", ";
    append_value(&text, types[i], args[i]);
  }
  return give_copy(c, out, text + "]");
}
// json_build_...(VARIADIC array): its elements are the arguments.
SCYPER_FUNCTION(json_build_array_of) {
  const ArrayValue* array = array_of(args[0]);
  const std::vector<SqlType> elements(static_cast<size_t>(array->size), element_of(types[0]));
  return fn_json_build_array(c, array->elements, array->size, out, elements.data());
}
SCYPER_FUNCTION(json_build_object_of) {
  const ArrayValue* array = array_of(args[0]);
  const std::vector<SqlType> elements(static_cast<size_t>(array->size), element_of(types[0]));
  return fn_json_build_object(c, array->elements, array->size, out, elements.data());
}
// What json_agg() has collected, whether its texts are documents, whether each begins a line.
SCYPER_FUNCTION(json_agg) {
  const ArrayValue* array = array_of(args[0]);
  SqlType element = element_of(types[0]);
  if (args[1].lo != 0) element.length = kJsonTextLength;
  std::string text = "[";
  for (int32_t i = 0; i < array->size; i++) {
    if (i > 0) text += args[2].lo != 0 && !array->elements[i].null ? ", \n " : ", ";
    append_value(&text, element, array->elements[i]);
  }
  return give_copy(c, out, text + "]");
}
SCYPER_FUNCTION(json_pair) {
  if (args[0].null) return c->fail("22023", "field name must not be null");
  std::string text;
  if (int32_t outcome = append_key(c, &text, types[0], args[0]); outcome != 0) return outcome;
  text += " : ";
  append_value(&text, types[1], args[1]);
  return give_copy(c, out, text);
}
SCYPER_FUNCTION(json_of_pairs) {
  const ArrayValue* pairs = array_of(args[0]);
  std::string text = "{ ";
  for (int32_t i = 0; i < pairs->size; i++) {
    if (i > 0) text += ", ";
    text += text_of(pairs->elements[i]);
  }
  return give_copy(c, out, text + " }");
}

}  // extern "C"
}  // namespace

SCYPER_DEFINE_FUNCTION(to_json)
SCYPER_DEFINE_FUNCTION(array_to_json)
SCYPER_DEFINE_FUNCTION(json_row)
SCYPER_DEFINE_FUNCTION(json_row_pretty)
SCYPER_DEFINE_FUNCTION(json_build_object)
SCYPER_DEFINE_FUNCTION(json_build_array)
SCYPER_DEFINE_FUNCTION(json_build_array_of)
SCYPER_DEFINE_FUNCTION(json_build_object_of)
SCYPER_DEFINE_FUNCTION(json_agg)
SCYPER_DEFINE_FUNCTION(json_pair)
SCYPER_DEFINE_FUNCTION(json_of_pairs)

}  // namespace scyper::query
