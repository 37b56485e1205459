#include "runtime/functions_jsonb.h"

#include <algorithm>
#include <cmath>

#include "runtime/function_body.h"
#include "storage/big_numeric.h"
#include "storage/json_text_type.h"
#include "types/date_style.h"
#include "types/datetime.h"
#include "types/jsonb.h"

// jsonb: each value is a text in normal form, read where it is looked into.
namespace scyper::query {

// ISO 8601 for moments, others as they are shown.
std::string json_scalar_text(const SqlType& type, const Datum& value) {
  std::string text;
  const IsoDateScope iso;
  append_datum(&text, type, value);
  if ((type.id == TypeId::kTimestamp || type.id == TypeId::kTimestamptz) && is_finite_timestamp(value.lo)) {
    const size_t time = text.find(' ');
    text[time] = 'T';
    const size_t zone = text.find_first_of("+-", time), end = std::min(text.find(' ', time), text.size());
    if (zone < end && end - zone <= 4) text.insert(end, ":00");
  }
  return text;
}

namespace {

int32_t give_json(ExecContext* c, const Json& json, Datum* out) {
  Status status = json_check_depth(json);
  return status.ok() ? give_copy(c, out, json_text(json)) : c->fail(status);
}

// ->> and its kin: strings without quotes, null as NULL.
int32_t give_plain(ExecContext* c, const Json* json, Datum* out) {
  if (json == nullptr || json->kind == JsonKind::kNull) return give_null(out);
  return give_copy(c, out, json->kind == JsonKind::kString ? json->text : json_text(*json));
}
int32_t give_found(ExecContext* c, const Json* json, Datum* out) {
  return json == nullptr ? give_null(out) : give_json(c, *json, out);
}

// false: it has a NULL, and nothing lies there.
bool path_of(const Datum& array, std::vector<std::string_view>* path) {
  const ArrayValue* values = array_of(array);
  for (int32_t i = 0; i < values->size; i++) {
    if (values->elements[i].null) return false;
    path->push_back(text_of(values->elements[i]));
  }
  return true;
}

// Those behind the document.
std::vector<std::string_view> steps_of(const Datum* args, int64_t count) {
  std::vector<std::string_view> path;
  for (int64_t i = 1; i < count; i++) path.push_back(text_of(args[i]));
  return path;
}

// What to_jsonb() makes of a value.
void append_value(const SqlType& type, const Datum& value, Json* out) {
  if (value.null) return;
  const std::string text = json_scalar_text(type, value);
  bool number = is_integer(type.id) || (type.id == TypeId::kNumeric && value.scale >= kBigScale) ||
                (is_float(type.id) && std::isfinite(float8(value)));
  if (type.id == TypeId::kJsonb || is_json_text(type)) {
    *out = json_read(text);
  } else if (type.id == TypeId::kBool) {
    *out = json_boolean(value.lo != 0);
  } else if (number) {
    *out = json_read(text);
  } else if (type.id == TypeId::kArray) {
    const ArrayValue* array = array_of(value);
    *out = json_array();
    for (int32_t i = 0; i < array->size; i++)
      append_value(element_of(type), array->elements[i], &out->items.emplace_back());
  } else {
    *out = json_string(text);
  }
}

int32_t give_array(ExecContext* c, const std::vector<std::string>& texts, TypeId element, Datum* out) {
  auto* array = reinterpret_cast<ArrayValue*>(c->scratch->allocate(sizeof(ArrayValue)));
  auto* elements = reinterpret_cast<Datum*>(c->scratch->allocate((texts.size() + 1) * sizeof(Datum)));
  if (array == nullptr || elements == nullptr) return fail_memory(c);
  auto size = static_cast<int32_t>(texts.size());
  *array = ArrayValue{size, size, 1, element, elements};
  for (size_t i = 0; i < texts.size(); i++)
    if (int32_t outcome = give_copy(c, &elements[i], texts[i]); outcome != 0) return outcome;
  *out = Datum{reinterpret_cast<int64_t>(array), 0, 0, 0, {}};
  return 0;
}

int32_t change(ExecContext* c, const Datum* args, JsonChange kind, const Json& value, Datum* out) {
  std::vector<std::string_view> path;
  const ArrayValue* steps = array_of(args[1]);
  for (int32_t i = 0; i < steps->size; i++) {
    if (steps->elements[i].null)
      return c->fail("22004", "path element at position " + std::to_string(i + 1) + " is null");
    path.push_back(text_of(steps->elements[i]));
  }
  Json json = json_read(text_of(args[0]));
  Status status = json_change(&json, path, kind, value);
  return status.ok() ? give_json(c, json, out) : c->fail(status);
}

void strip_nulls(Json* json) {
  if (json->kind == JsonKind::kObject)
    json_keep(json, [&](size_t i) { return json->items[i].kind != JsonKind::kNull; });
  for (Json& item : json->items) strip_nulls(&item);
}

void append_pretty(const Json& json, size_t indent, std::string* out) {
  if (!is_container(json)) return json_append(out, json);
  bool object = json.kind == JsonKind::kObject;
  out->push_back(object ? '{' : '[');
  for (size_t i = 0; i < json.items.size(); i++) {
    out->append(i > 0 ? ",\n" : "\n").append(indent + 4, ' ');
    if (object) json_append(out, json_string(json.keys[i])), out->append(": ");
    append_pretty(json.items[i], indent + 4, out);
  }
  out->append("\n").append(indent, ' ');
  out->push_back(object ? '}' : ']');
}

int32_t exists_keys(const Datum* args, bool all, Datum* out) {
  Json json = json_read(text_of(args[0]));
  const ArrayValue* keys = array_of(args[1]);
  for (int32_t i = 0; i < keys->size; i++) {
    if (keys->elements[i].null) continue;
    if (json_exists(json, text_of(keys->elements[i])) != all) return give_bool(out, !all);
  }
  return give_bool(out, all);
}

// Of -> and ->>: PostgreSQL keeps a scalar as an array of one element, and shows it.
const Json* element_of_root(const Json& json, int64_t index) {
  if (!is_container(json)) return index == 0 || index == -1 ? &json : nullptr;
  return json_element(json, index);
}

// A key and what it stands for, behind what the object has.
int32_t append_pair(ExecContext* c, const SqlType* types, const Datum* args, Json* object) {
  if (types[0].id == TypeId::kArray || types[0].id == TypeId::kJsonb || is_json_text(types[0]))
    return c->fail("22023", "key value must be scalar, not array, composite, or json");
  object->keys.push_back(types[0].id != TypeId::kBool ? json_scalar_text(types[0], args[0])
                         : args[0].lo != 0            ? "true"
                                                      : "false");
  append_value(types[1], args[1], &object->items.emplace_back());
  return 0;
}

int32_t give_keys(ExecContext* c, const Datum& document, const char* function, Datum* out) {
  const Json json = json_read(text_of(document));
  if (json.kind != JsonKind::kObject)
    return c->fail("22023", std::string("cannot call ") + function + " on a non-object");
  return give_array(c, json.keys, TypeId::kText, out);
}

// Strings as they are, NULL for null, documents of all else.
int32_t give_texts(ExecContext* c, const std::vector<Json>& items, Datum* out) {
  const std::vector<std::string> texts(items.size());
  if (int32_t outcome = give_array(c, texts, TypeId::kText, out); outcome != 0) return outcome;
  auto* array = reinterpret_cast<ArrayValue*>(out->lo);
  for (size_t i = 0; i < items.size(); i++)
    if (int32_t outcome = give_plain(c, &items[i], &array->elements[i]); outcome != 0) return outcome;
  return 0;
}

extern "C" {

int32_t rt_compare_jsonb(const char* a, int64_t a_size, const char* b, int64_t b_size) noexcept {
  std::string_view x(a, static_cast<size_t>(a_size)), y(b, static_cast<size_t>(b_size));
  return x == y ? 0 : json_compare(json_read(x), json_read(y));
}

SCYPER_FUNCTION(jsonb_field) {
  Json json = json_read(text_of(args[0]));
  return give_found(c, json_member(json, text_of(args[1])), out);
}
SCYPER_FUNCTION(jsonb_field_text) {
  Json json = json_read(text_of(args[0]));
  return give_plain(c, json_member(json, text_of(args[1])), out);
}
SCYPER_FUNCTION(jsonb_element) {
  Json json = json_read(text_of(args[0]));
  return give_found(c, element_of_root(json, args[1].lo), out);
}
SCYPER_FUNCTION(jsonb_element_text) {
  Json json = json_read(text_of(args[0]));
  return give_plain(c, element_of_root(json, args[1].lo), out);
}
SCYPER_FUNCTION(jsonb_path) {
  std::vector<std::string_view> path;
  if (!path_of(args[1], &path)) return give_null(out);
  Json json = json_read(text_of(args[0]));
  return give_found(c, json_at_path(json, path), out);
}
SCYPER_FUNCTION(jsonb_path_text) {
  std::vector<std::string_view> path;
  if (!path_of(args[1], &path)) return give_null(out);
  Json json = json_read(text_of(args[0]));
  return give_plain(c, json_at_path(json, path), out);
}
SCYPER_FUNCTION(jsonb_extract_path) {
  const Json json = json_read(text_of(args[0]));
  return give_found(c, json_at_path(json, steps_of(args, count)), out);
}
SCYPER_FUNCTION(jsonb_extract_path_text) {
  const Json json = json_read(text_of(args[0]));
  return give_plain(c, json_at_path(json, steps_of(args, count)), out);
}
SCYPER_FUNCTION(jsonb_contains) {
  return give_bool(out, json_contains(json_read(text_of(args[0])), json_read(text_of(args[1]))));
}
SCYPER_FUNCTION(jsonb_contained) {
  return give_bool(out, json_contains(json_read(text_of(args[1])), json_read(text_of(args[0]))));
}
SCYPER_FUNCTION(jsonb_exists) { return give_bool(out, json_exists(json_read(text_of(args[0])), text_of(args[1]))); }
SCYPER_FUNCTION(jsonb_exists_any) { return exists_keys(args, false, out); }
SCYPER_FUNCTION(jsonb_exists_all) { return exists_keys(args, true, out); }
SCYPER_FUNCTION(jsonb_concat) {
  return give_json(c, json_concat(json_read(text_of(args[0])), json_read(text_of(args[1]))), out);
}
SCYPER_FUNCTION(jsonb_delete_key) {
  Json json = json_read(text_of(args[0]));
  Status status = json_delete(&json, text_of(args[1]));
  return status.ok() ? give_json(c, json, out) : c->fail(status);
}
SCYPER_FUNCTION(jsonb_delete_keys) {
  Json json = json_read(text_of(args[0]));
  Status status = is_container(json) ? absl::OkStatus() : sql_error("22023", "cannot delete from scalar");
  const ArrayValue* keys = array_of(args[1]);
  for (int32_t i = 0; i < keys->size && status.ok(); i++)
    if (!keys->elements[i].null) status = json_delete(&json, text_of(keys->elements[i]));
  return status.ok() ? give_json(c, json, out) : c->fail(status);
}
SCYPER_FUNCTION(jsonb_delete_index) {
  Json json = json_read(text_of(args[0]));
  Status status = json_delete(&json, args[1].lo);
  return status.ok() ? give_json(c, json, out) : c->fail(status);
}
SCYPER_FUNCTION(jsonb_delete_path) { return change(c, args, JsonChange::kDelete, {}, out); }
SCYPER_FUNCTION(jsonb_set) {
  bool creates = count < 4 || args[3].lo != 0;
  return change(c, args, creates ? JsonChange::kSetOrAdd : JsonChange::kSet, json_read(text_of(args[2])), out);
}
SCYPER_FUNCTION(jsonb_set_lax) {
  constexpr std::string_view kWrongTreatment =
      "null_value_treatment must be \"delete_key\", \"return_target\", \"use_json_null\", or \"raise_exception\"";
  if (args[0].null || args[1].null || (count > 3 && args[3].null)) return give_null(out);
  if (count > 4 && args[4].null) return c->fail("22023", std::string(kWrongTreatment));
  const std::string_view treatment = count > 4 ? text_of(args[4]) : "use_json_null";
  const JsonChange kind = count < 4 || args[3].lo != 0 ? JsonChange::kSetOrAdd : JsonChange::kSet;
  if (!args[2].null) return change(c, args, kind, json_read(text_of(args[2])), out);
  if (treatment == "use_json_null") return change(c, args, kind, Json{}, out);
  if (treatment == "delete_key") return change(c, args, JsonChange::kDelete, Json{}, out);
  if (treatment == "return_target") return give_copy(c, out, text_of(args[0]));
  if (treatment != "raise_exception") return c->fail("22023", std::string(kWrongTreatment));
  return c->fail(
      with_hint(with_detail(sql_error("22004", "JSON value must not be null"),
                            "Exception was raised because null_value_treatment is \"raise_exception\"."),
                "To avoid, either change the null_value_treatment argument or ensure that an SQL NULL is not passed."));
}
// document[...] = value: the document, the subscripts, whether the first one is a number, the value.
SCYPER_FUNCTION(jsonb_assign) {
  std::vector<std::string_view> path;
  if (!path_of(args[1], &path)) return c->fail("22004", "jsonb subscript in assignment must not be null");
  Json json = !args[0].null ? json_read(text_of(args[0])) : args[2].lo != 0 ? json_array() : json_object();
  const Status status = json_assign(&json, path, args[3].null ? Json{} : json_read(text_of(args[3])));
  return status.ok() ? give_json(c, json, out) : c->fail(status);
}
SCYPER_FUNCTION(jsonb_insert) {
  bool after = count > 3 && args[3].lo != 0;
  return change(c, args, after ? JsonChange::kInsertAfter : JsonChange::kInsertBefore, json_read(text_of(args[2])),
                out);
}
SCYPER_FUNCTION(jsonb_typeof) { return give(out, json_type_name(json_read(text_of(args[0])).kind)); }
SCYPER_FUNCTION(jsonb_array_length) {
  Json json = json_read(text_of(args[0]));
  if (json.kind == JsonKind::kObject) return c->fail("22023", "cannot get array length of a non-array");
  if (json.kind != JsonKind::kArray) return c->fail("22023", "cannot get array length of a scalar");
  return give(out, static_cast<int64_t>(json.items.size()));
}
SCYPER_FUNCTION(jsonb_strip_nulls) {
  Json json = json_read(text_of(args[0]));
  strip_nulls(&json);
  return give_json(c, json, out);
}
SCYPER_FUNCTION(jsonb_pretty) {
  std::string text;
  append_pretty(json_read(text_of(args[0])), 0, &text);
  return give_copy(c, out, text);
}
SCYPER_FUNCTION(to_jsonb) {
  Json json;
  append_value(types[0], args[0], &json);
  return give_json(c, json, out);
}
SCYPER_FUNCTION(jsonb_build_array) {
  Json json = json_array();
  for (int64_t i = 0; i < count; i++) append_value(types[i], args[i], &json.items.emplace_back());
  return give_json(c, json, out);
}
SCYPER_FUNCTION(jsonb_build_object) {
  if (count % 2 != 0)
    return c->fail(with_hint(sql_error("22023", "argument list must have even number of elements"),
                             "The arguments of jsonb_build_object() must consist of alternating keys and values."));
  Json json = json_object();
  for (int64_t i = 0; i < count; i += 2) {
    if (args[i].null) return c->fail("22023", "argument " + std::to_string(i + 1) + ": key must not be null");
    if (int32_t outcome = append_pair(c, types + i, args + i, &json); outcome != 0) return outcome;
  }
  json_normalise(&json);
  return give_json(c, json, out);
}
// jsonb_build_...(VARIADIC array): its elements are the arguments.
SCYPER_FUNCTION(jsonb_build_array_of) {
  const ArrayValue* array = array_of(args[0]);
  const std::vector<SqlType> elements(static_cast<size_t>(array->size), element_of(types[0]));
  return fn_jsonb_build_array(c, array->elements, array->size, out, elements.data());
}
SCYPER_FUNCTION(jsonb_build_object_of) {
  const ArrayValue* array = array_of(args[0]);
  const std::vector<SqlType> elements(static_cast<size_t>(array->size), element_of(types[0]));
  return fn_jsonb_build_object(c, array->elements, array->size, out, elements.data());
}
// jsonb_object_agg() collects objects of one key, and makes one of them: the last of equal keys wins.
SCYPER_FUNCTION(jsonb_pair) {
  if (args[0].null) return c->fail("22023", "field name must not be null");
  Json json = json_object();
  if (int32_t outcome = append_pair(c, types, args, &json); outcome != 0) return outcome;
  return give_json(c, json, out);
}
SCYPER_FUNCTION(jsonb_of_pairs) {
  const auto* pairs = reinterpret_cast<const ArrayValue*>(args[0].lo);
  Json json = json_object();
  for (int32_t i = 0; i < pairs->size; i++) {
    Json pair = json_read(text_of(pairs->elements[i]));
    json.keys.push_back(std::move(pair.keys[0]));
    json.items.push_back(std::move(pair.items[0]));
  }
  json_normalise(&json);
  return give_json(c, json, out);
}
// The functions that return rows, as arrays.
SCYPER_FUNCTION(jsonb_elements) {
  Json json = json_read(text_of(args[0]));
  if (json.kind != JsonKind::kArray)
    return c->fail("22023", json.kind == JsonKind::kObject ? "cannot extract elements from an object"
                                                           : "cannot extract elements from a scalar");
  std::vector<std::string> texts;
  for (const Json& item : json.items) texts.push_back(json_text(item));
  return give_array(c, texts, TypeId::kJsonb, out);
}
SCYPER_FUNCTION(jsonb_elements_text) {
  Json json = json_read(text_of(args[0]));
  if (json.kind != JsonKind::kArray)
    return c->fail("22023", json.kind == JsonKind::kObject ? "cannot extract elements from an object"
                                                           : "cannot extract elements from a scalar");
  return give_texts(c, json.items, out);
}
SCYPER_FUNCTION(jsonb_keys) {
  Json json = json_read(text_of(args[0]));
  if (json.kind != JsonKind::kObject)
    return c->fail("22023", json.kind == JsonKind::kArray ? "cannot call jsonb_object_keys on an array"
                                                          : "cannot call jsonb_object_keys on a scalar");
  return give_array(c, json.keys, TypeId::kText, out);
}
SCYPER_FUNCTION(jsonb_each_keys) { return give_keys(c, args[0], "jsonb_each", out); }
SCYPER_FUNCTION(jsonb_each_text_keys) { return give_keys(c, args[0], "jsonb_each_text", out); }
SCYPER_FUNCTION(jsonb_each_values) {
  std::vector<std::string> texts;
  for (const Json& item : json_read(text_of(args[0])).items) texts.push_back(json_text(item));
  return give_array(c, texts, TypeId::kJsonb, out);
}
SCYPER_FUNCTION(jsonb_each_text_values) { return give_texts(c, json_read(text_of(args[0])).items, out); }

}  // extern "C"

}  // namespace

SCYPER_JSONB_FUNCTIONS(SCYPER_DEFINE_FUNCTION)
const ir::External k_rt_compare_jsonb{"rt_compare_jsonb", reinterpret_cast<void*>(&rt_compare_jsonb), ir::Type::kI32, 4,
                                      true};

}  // namespace scyper::query
