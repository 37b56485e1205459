#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"

// jsonb: a document, and the text in normal form that stands for it everywhere else. Normal form, as PostgreSQL shows
// jsonb: keys by length, then bytes, each once (the last one given); numbers as numeric shows them, all digits kept;
// one blank behind commas and colons.
namespace scyper::query {

enum class JsonKind : uint8_t { kNull, kString, kNumber, kBoolean, kArray, kObject };  // order as PostgreSQL compares

struct Json {
  JsonKind kind = JsonKind::kNull;
  bool boolean = false;
  std::string text;         // strings: as they are; numbers: digits
  std::vector<Json> items;  // of arrays, and of objects beside their keys
  std::vector<std::string> keys;
};

inline bool is_container(const Json& json) { return json.kind >= JsonKind::kArray; }
inline Json json_string(std::string_view text) { return {JsonKind::kString, false, std::string(text), {}, {}}; }
inline Json json_number(std::string_view digits) { return {JsonKind::kNumber, false, std::string(digits), {}, {}}; }
inline Json json_boolean(bool value) { return {JsonKind::kBoolean, value, {}, {}, {}}; }
inline Json json_array() { return {JsonKind::kArray, false, {}, {}, {}}; }
inline Json json_object() { return {JsonKind::kObject, false, {}, {}, {}}; }

// 22P02 (no JSON), 22P05 (\u0000), 22003 (a number beyond numeric), 54001 (too deep). Valid UTF-8 is the caller's.
Status json_parse(std::string_view text, Json* out);
// Of text in normal form, which is known to be right.
Json json_read(std::string_view text);
// 54001 where arrays and objects lie deeper in each other than json_parse() reads: before a document becomes a value.
Status json_check_depth(const Json& json, size_t depth = 0);
void json_append(std::string* out, const Json& json);
std::string json_text(const Json& json);
void json_append_utf8(std::string* out, uint32_t code);

// Sorts the keys and keeps the last of equal ones.
void json_normalise(Json* object);
// nullptr: there is none.
const Json* json_member(const Json& object, std::string_view key);
const Json* json_element(const Json& array, int64_t index);  // negative: from the end
// By keys and, in arrays, numbers.
const Json* json_at_path(const Json& json, const std::vector<std::string_view>& path);

// PostgreSQL's order of btree indexes.
int json_compare(const Json& a, const Json& b, bool top = true);
uint64_t json_hash(const Json& json);
bool json_contains(const Json& whole, const Json& part, bool top = true);
bool json_exists(const Json& json, std::string_view key);

Json json_concat(const Json& a, const Json& b);
// Leaves those of the items, and their keys, for which keeps(position) holds.
template <typename Keeps>
void json_keep(Json* json, Keeps keeps) {
  size_t kept = 0;
  const bool is_object = json->kind == JsonKind::kObject;
  for (size_t i = 0; i < json->items.size(); ++i) {
    if (!keeps(i)) continue;
    if (kept != i) {
      json->items[kept] = std::move(json->items[i]);
      if (is_object) json->keys[kept] = std::move(json->keys[i]);
    }
    ++kept;
  }
  json->items.resize(kept);
  if (is_object) json->keys.resize(kept);
}
Status json_delete(Json* json, std::string_view key);
Status json_delete(Json* json, int64_t index);
enum class JsonChange : uint8_t { kSet, kSetOrAdd, kInsertBefore, kInsertAfter, kDelete };
Status json_change(Json* json, const std::vector<std::string_view>& path, JsonChange change, const Json& value);

// json['a'][1] = value: missing parts of the way are made. 22023, 22P02.
Status json_assign(Json* json, const std::vector<std::string_view>& path, const Json& value);

const char* json_type_name(JsonKind kind);

}  // namespace scyper::query
