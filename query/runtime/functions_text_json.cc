#include "runtime/function_body.h"
#include "runtime/text_documents.h"
#include "storage/json_text_type.h"
#include "types/json_text.h"
#include "types/jsonb.h"
#include "types/text_headline.h"
#include "types/text_search.h"

// Text search in documents of json and jsonb, and headlines. Declared where the builtins are listed
// (bind/builtins_text_search.cc).
namespace scyper::query {

extern const ir::External k_fn_to_tsvector;
extern const ir::External k_fn_json_tsvector_of;
extern const ir::External k_fn_ts_headline;

namespace {

// A document of type json with all its members in the order of its text.
Status read_json_text(std::string_view text, Json* out) {
  out->kind = json_text_kind(text);
  out->boolean = out->kind == JsonKind::kBoolean && text.find("true") != std::string_view::npos;
  if (!is_container(*out)) return json_text_plain(text, &out->text);
  std::vector<JsonTextPart> parts;
  SCYPER_RETURN_IF_ERROR(json_text_parts(text, &parts));
  for (JsonTextPart& part : parts) {
    if (out->kind == JsonKind::kObject) out->keys.push_back(std::move(part.key));
    SCYPER_RETURN_IF_ERROR(read_json_text(part.value, &out->items.emplace_back()));
  }
  return absl::OkStatus();
}

Status read_json(const Datum& datum, const SqlType& type, Json* out) {
  if (type.id != TypeId::kJsonb) {
    SCYPER_RETURN_IF_ERROR(json_check_strings(text_of(datum)));
    return read_json_text(text_of(datum), out);
  }
  *out = json_read(text_of(datum));
  return absl::OkStatus();
}

// Which parts of a document are indexed.
struct Parts {
  bool keys = false, strings = false, numbers = false, booleans = false;
};

void read_parts_of(const Json& json, const Parts& parts, DocumentReader* reader) {
  const auto read = [&](std::string_view text) {
    reader->begin_text();
    reader->read(text);
  };
  if (json.kind == JsonKind::kString && parts.strings) read(json.text);
  if (json.kind == JsonKind::kNumber && parts.numbers) read(json.text);
  if (json.kind == JsonKind::kBoolean && parts.booleans) read(json.boolean ? "true" : "false");
  for (size_t i = 0; i < json.items.size(); ++i) {
    if (json.kind == JsonKind::kObject && parts.keys) read(json.keys[i]);
    read_parts_of(json.items[i], parts, reader);
  }
}

constexpr const char* kPartsHint = "Possible values are: \"string\", \"numeric\", \"boolean\", \"key\", and \"all\".";

Status read_part(const Json& flag, Parts* parts) {
  if (flag.kind != JsonKind::kString)
    return with_hint(sql_error("22023", "flag array element is not a string"), kPartsHint);
  const std::string& name = flag.text;
  if (name == "all")
    *parts = {true, true, true, true};
  else if (name == "key")
    parts->keys = true;
  else if (name == "string")
    parts->strings = true;
  else if (name == "numeric")
    parts->numbers = true;
  else if (name == "boolean")
    parts->booleans = true;
  else
    return with_hint(sql_error("22023", "wrong flag in flag array: \"" + name + "\""), kPartsHint);
  return absl::OkStatus();
}

Status read_parts(const Datum& given, Parts* parts) {
  const Json flags = json_read(text_of(given));
  if (flags.kind == JsonKind::kObject)
    return sql_error("22023", "wrong flag type, only arrays and scalars are allowed");
  if (flags.kind != JsonKind::kArray) return read_part(flags, parts);
  for (const Json& flag : flags.items) SCYPER_RETURN_IF_ERROR(read_part(flag, parts));
  return absl::OkStatus();
}

// configuration: nullptr for that of the session.
int32_t give_vector_of(ExecContext* c, const Datum* configuration, const Datum& document, const SqlType& type,
                       const Parts& parts, Datum* out) {
  const TextConfiguration* found = nullptr;
  if (const int32_t outcome = find_configuration(c, configuration, &found); outcome != 0) return outcome;
  Json json;
  const Status status = read_json(document, type, &json);
  if (!status.ok()) return c->fail(status);
  DocumentReader reader(*found);
  read_parts_of(json, parts, &reader);
  TextVector vector;
  const int32_t outcome = finish_document(c, reader, &vector);
  return outcome != 0 ? outcome : give_copy(c, out, bytes_of_text_vector(vector));
}

bool is_json(const SqlType& type) { return type.id == TypeId::kJsonb || is_json_text(type); }

// A document without blanks, as PostgreSQL writes a json that it has changed.
void append_compact(std::string* out, const Json& json) {
  if (!is_container(json)) return json_append(out, json);
  const bool is_object = json.kind == JsonKind::kObject;
  *out += is_object ? '{' : '[';
  for (size_t i = 0; i < json.items.size(); ++i) {
    if (i > 0) *out += ',';
    if (is_object) {
      json_append(out, json_string(json.keys[i]));
      *out += ':';
    }
    append_compact(out, json.items[i]);
  }
  *out += is_object ? '}' : ']';
}

template <class Change>
void change_strings(Json* json, const Change& change) {
  if (json->kind == JsonKind::kString) json->text = change(json->text);
  for (Json& item : json->items) change_strings(&item, change);
}

extern "C" {

// to_tsvector() of texts, and of the strings of json and jsonb.
SCYPER_FUNCTION(to_tsvector) {
  const Datum* configuration = count > 1 ? &args[0] : nullptr;
  if (!is_json(types[count - 1])) {
    const TextConfiguration* found = nullptr;
    if (const int32_t outcome = find_configuration(c, configuration, &found); outcome != 0) return outcome;
    TextVector vector;
    const int32_t outcome = read_document(c, *found, text_of(args[count - 1]), &vector);
    return outcome != 0 ? outcome : give_copy(c, out, bytes_of_text_vector(vector));
  }
  return give_vector_of(c, configuration, args[count - 1], types[count - 1], {false, true, false, false}, out);
}

// json_to_tsvector([configuration,] document, parts)
SCYPER_FUNCTION(json_tsvector_of) {
  Parts parts;
  const Status status = read_parts(args[count - 1], &parts);
  if (!status.ok()) return c->fail(status);
  const Datum* configuration = count > 2 ? &args[0] : nullptr;
  return give_vector_of(c, configuration, args[count - 2], types[count - 2], parts, out);
}

// ts_headline([configuration,] document, query [, options])
SCYPER_FUNCTION(ts_headline) {
  const bool has_configuration = types[1].id != TypeId::kTsquery;
  const TextConfiguration* configuration = nullptr;
  if (const int32_t outcome = find_configuration(c, has_configuration ? &args[0] : nullptr, &configuration);
      outcome != 0)
    return outcome;
  const int64_t at = has_configuration ? 1 : 0;
  HeadlineOptions options;
  if (count > at + 2) {
    const Status status = read_headline_options(text_of(args[at + 2]), &options);
    if (!status.ok()) return c->fail(status);
  }
  const TextQuery query = text_query_of_bytes(text_of(args[at + 1]));
  const auto shown = [&](std::string_view text) { return headline(*configuration, text, query, options); };
  if (!is_json(types[at])) return give_copy(c, out, shown(text_of(args[at])));
  Json json;
  const Status status = read_json(args[at], types[at], &json);
  if (!status.ok()) return c->fail(status);
  change_strings(&json, shown);
  std::string text;
  if (types[at].id == TypeId::kJsonb)
    json_append(&text, json);
  else
    append_compact(&text, json);
  return give_copy(c, out, text);
}

}  // extern "C"

}  // namespace

SCYPER_DEFINE_FUNCTION(to_tsvector)
SCYPER_DEFINE_FUNCTION(json_tsvector_of)
SCYPER_DEFINE_FUNCTION(ts_headline)

}  // namespace scyper::query
