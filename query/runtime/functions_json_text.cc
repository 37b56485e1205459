#include "runtime/functions_json_text.h"

#include <charconv>

#include "runtime/function_body.h"
#include "types/json_text.h"

// What looks into documents of type json: parts of them keep their text.
namespace scyper::query {

namespace {

using Parts = std::vector<JsonTextPart>;

// *out has no data() where nothing lies there.
Status find_step(std::string_view document, std::string_view step, std::string_view* out) {
  const JsonKind kind = json_text_kind(document);
  *out = {};
  if (kind < JsonKind::kArray) return absl::OkStatus();
  int32_t index = 0;
  if (kind == JsonKind::kArray) {
    const auto read = std::from_chars(step.data(), step.data() + step.size(), index);
    if (step.empty() || read.ec != std::errc() || read.ptr != step.data() + step.size()) return absl::OkStatus();
  }
  Parts parts;
  SCYPER_RETURN_IF_ERROR(json_text_parts(document, &parts));
  if (kind == JsonKind::kArray) {
    const auto size = static_cast<int64_t>(parts.size());
    const int64_t at = index < 0 ? index + size : index;
    if (at >= 0 && at < size) *out = parts[static_cast<size_t>(at)].value;
    return absl::OkStatus();
  }
  for (const JsonTextPart& part : parts)  // the last one counts
    if (part.key == step) *out = part.value;
  return absl::OkStatus();
}

int32_t give_part(ExecContext* c, std::string_view part, bool as_text, Datum* out) {
  if (part.data() == nullptr) return give_null(out);
  if (!as_text) return give_copy(c, out, part);
  if (json_text_kind(part) == JsonKind::kNull) return give_null(out);
  std::string plain;
  const Status status = json_text_plain(part, &plain);
  return status.ok() ? give_copy(c, out, plain) : c->fail(status);
}

int32_t walk(ExecContext* c, std::string_view document, const std::vector<std::string_view>& steps, bool as_text,
             Datum* out) {
  Status status = json_check_strings(document);
  for (std::string_view step : steps) {
    if (!status.ok() || document.data() == nullptr) break;
    status = find_step(document, step, &document);
  }
  return status.ok() ? give_part(c, document, as_text, out) : c->fail(status);
}

int32_t field(ExecContext* c, const Datum* args, bool as_text, Datum* out) {
  if (json_text_kind(text_of(args[0])) != JsonKind::kObject) {
    const Status status = json_check_strings(text_of(args[0]));
    return status.ok() ? give_null(out) : c->fail(status);
  }
  return walk(c, text_of(args[0]), {text_of(args[1])}, as_text, out);
}
int32_t element(ExecContext* c, const Datum* args, bool as_text, Datum* out) {
  if (json_text_kind(text_of(args[0])) != JsonKind::kArray) {
    const Status status = json_check_strings(text_of(args[0]));
    return status.ok() ? give_null(out) : c->fail(status);
  }
  return walk(c, text_of(args[0]), {std::to_string(args[1].lo)}, as_text, out);
}
int32_t path(ExecContext* c, const Datum* args, bool as_text, Datum* out) {
  std::vector<std::string_view> steps;
  const ArrayValue* array = array_of(args[1]);
  for (int32_t i = 0; i < array->size; i++) {
    if (array->elements[i].null) return give_null(out);
    steps.push_back(text_of(array->elements[i]));
  }
  return walk(c, text_of(args[0]), steps, as_text, out);
}
int32_t extract(ExecContext* c, const Datum* args, int64_t count, bool as_text, Datum* out) {
  std::vector<std::string_view> steps;
  for (int64_t i = 1; i < count; i++) steps.push_back(text_of(args[i]));
  return walk(c, text_of(args[0]), steps, as_text, out);
}

int32_t give_parts(ExecContext* c, const Parts& parts, bool as_text, bool keys, Datum* out) {
  auto* array = reinterpret_cast<ArrayValue*>(c->scratch->allocate(sizeof(ArrayValue)));
  auto* elements = reinterpret_cast<Datum*>(c->scratch->allocate((parts.size() + 1) * sizeof(Datum)));
  if (array == nullptr || elements == nullptr) return fail_memory(c);
  const auto size = static_cast<int32_t>(parts.size());
  *array = ArrayValue{size, size, 1, TypeId::kText, elements};
  for (size_t i = 0; i < parts.size(); i++) {
    const int32_t outcome =
        keys ? give_copy(c, &elements[i], parts[i].key) : give_part(c, parts[i].value, as_text, &elements[i]);
    if (outcome != 0) return outcome;
  }
  *out = Datum{reinterpret_cast<int64_t>(array), 0, 0, 0, {}};
  return 0;
}

int32_t read_parts(ExecContext* c, const Datum& document, bool reads_strings, Parts* parts) {
  Status status = reads_strings ? json_check_strings(text_of(document)) : absl::OkStatus();
  if (status.ok()) status = json_text_parts(text_of(document), parts);
  return status.ok() ? 0 : c->fail(status);
}

int32_t elements(ExecContext* c, const Datum* args, bool as_text, Datum* out) {
  const JsonKind kind = json_text_kind(text_of(args[0]));
  const std::string name = as_text ? "json_array_elements_text" : "json_array_elements";
  if (kind != JsonKind::kArray)
    return c->fail("22023", "cannot call " + name + (kind == JsonKind::kObject ? " on a non-array" : " on a scalar"));
  Parts parts;
  if (const int32_t outcome = read_parts(c, args[0], as_text, &parts); outcome != 0) return outcome;
  return give_parts(c, parts, as_text, false, out);
}

int32_t each(ExecContext* c, const Datum* args, bool as_text, bool keys, Datum* out) {
  const JsonKind kind = json_text_kind(text_of(args[0]));
  if (kind != JsonKind::kObject)
    return c->fail(
        "22023", kind == JsonKind::kArray ? "cannot deconstruct an array as an object" : "cannot deconstruct a scalar");
  Parts parts;
  if (const int32_t outcome = read_parts(c, args[0], true, &parts); outcome != 0) return outcome;
  return give_parts(c, parts, as_text, keys, out);
}

// json_object() and jsonb_object(): keys and values by turns, or an array of each.
int32_t pairs_of_texts(ExecContext* c, const Datum* args, int64_t count,
                       std::vector<std::pair<std::string_view, const Datum*>>* pairs) {
  const ArrayValue* keys = array_of(args[0]);
  const ArrayValue* values = count > 1 ? array_of(args[1]) : keys;
  if (count > 1 && (keys->size == 0) != (values->size == 0))
    return c->fail("2202E", "wrong number of array subscripts");
  if (count > 1 && keys->size != values->size) return c->fail("2202E", "mismatched array dimensions");
  if (count == 1 && keys->size % 2 != 0) return c->fail("2202E", "array must have even number of elements");
  const int32_t step = count > 1 ? 1 : 2;
  for (int32_t i = 0; i < keys->size; i += step) {
    if (keys->elements[i].null) return c->fail("22004", "null value not allowed for object key");
    pairs->emplace_back(text_of(keys->elements[i]), &values->elements[i + step - 1]);
  }
  return 0;
}

extern "C" {

SCYPER_FUNCTION(json_field) { return field(c, args, false, out); }
SCYPER_FUNCTION(json_field_text) { return field(c, args, true, out); }
SCYPER_FUNCTION(json_element) { return element(c, args, false, out); }
SCYPER_FUNCTION(json_element_text) { return element(c, args, true, out); }
SCYPER_FUNCTION(json_path) { return path(c, args, false, out); }
SCYPER_FUNCTION(json_path_text) { return path(c, args, true, out); }
SCYPER_FUNCTION(json_extract_path) { return extract(c, args, count, false, out); }
SCYPER_FUNCTION(json_extract_path_text) { return extract(c, args, count, true, out); }
SCYPER_FUNCTION(json_array_length) {
  const JsonKind kind = json_text_kind(text_of(args[0]));
  if (kind == JsonKind::kObject) return c->fail("22023", "cannot get array length of a non-array");
  if (kind != JsonKind::kArray) return c->fail("22023", "cannot get array length of a scalar");
  Parts parts;
  if (const int32_t outcome = read_parts(c, args[0], false, &parts); outcome != 0) return outcome;
  return give(out, static_cast<int64_t>(parts.size()));
}
SCYPER_FUNCTION(json_typeof) { return give(out, json_type_name(json_text_kind(text_of(args[0])))); }
SCYPER_FUNCTION(json_strip_nulls) {
  std::string text;
  const Status status = json_text_strip_nulls(text_of(args[0]), &text);
  return status.ok() ? give_copy(c, out, text) : c->fail(status);
}
SCYPER_FUNCTION(json_elements) { return elements(c, args, false, out); }
SCYPER_FUNCTION(json_elements_text) { return elements(c, args, true, out); }
SCYPER_FUNCTION(json_keys) {
  const JsonKind kind = json_text_kind(text_of(args[0]));
  if (kind != JsonKind::kObject)
    return c->fail("22023", kind == JsonKind::kArray ? "cannot call json_object_keys on an array"
                                                     : "cannot call json_object_keys on a scalar");
  Parts parts;
  if (const int32_t outcome = read_parts(c, args[0], true, &parts); outcome != 0) return outcome;
  return give_parts(c, parts, false, true, out);
}
SCYPER_FUNCTION(json_each_keys) { return each(c, args, false, true, out); }
SCYPER_FUNCTION(json_each_text_keys) { return each(c, args, true, true, out); }
SCYPER_FUNCTION(json_each_values) { return each(c, args, false, false, out); }
SCYPER_FUNCTION(json_each_text_values) { return each(c, args, true, false, out); }
SCYPER_FUNCTION(json_object_of_texts) {
  std::vector<std::pair<std::string_view, const Datum*>> pairs;
  if (const int32_t outcome = pairs_of_texts(c, args, count, &pairs); outcome != 0) return outcome;
  std::string text = "{";
  for (const auto& [key, value] : pairs) {
    if (text.size() > 1) text += ", ";
    json_append(&text, json_string(key));
    text += " : ";
    json_append(&text, value->null ? Json{} : json_string(text_of(*value)));
  }
  return give_copy(c, out, text + "}");
}
SCYPER_FUNCTION(jsonb_object_of_texts) {
  std::vector<std::pair<std::string_view, const Datum*>> pairs;
  if (const int32_t outcome = pairs_of_texts(c, args, count, &pairs); outcome != 0) return outcome;
  Json json = json_object();
  for (const auto& [key, value] : pairs) {
    json.keys.emplace_back(key);
    json.items.push_back(value->null ? Json{} : json_string(text_of(*value)));
  }
  json_normalise(&json);
  return give_copy(c, out, json_text(json));
}

}  // extern "C"
}  // namespace

SCYPER_DEFINE_FUNCTION(json_field)
SCYPER_DEFINE_FUNCTION(json_field_text)
SCYPER_DEFINE_FUNCTION(json_element)
SCYPER_DEFINE_FUNCTION(json_element_text)
SCYPER_DEFINE_FUNCTION(json_path)
SCYPER_DEFINE_FUNCTION(json_path_text)
SCYPER_DEFINE_FUNCTION(json_extract_path)
SCYPER_DEFINE_FUNCTION(json_extract_path_text)
SCYPER_DEFINE_FUNCTION(json_array_length)
SCYPER_DEFINE_FUNCTION(json_typeof)
SCYPER_DEFINE_FUNCTION(json_strip_nulls)
SCYPER_DEFINE_FUNCTION(json_elements)
SCYPER_DEFINE_FUNCTION(json_elements_text)
SCYPER_DEFINE_FUNCTION(json_keys)
SCYPER_DEFINE_FUNCTION(json_each_keys)
SCYPER_DEFINE_FUNCTION(json_each_text_keys)
SCYPER_DEFINE_FUNCTION(json_each_values)
SCYPER_DEFINE_FUNCTION(json_each_text_values)
SCYPER_DEFINE_FUNCTION(json_object_of_texts)
SCYPER_DEFINE_FUNCTION(jsonb_object_of_texts)

}  // namespace scyper::query
