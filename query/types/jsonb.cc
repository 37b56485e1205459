#include "types/jsonb.h"

#include <algorithm>
#include <charconv>

#include "base/bounded_work.h"
#include "base/check.h"
#include "types/text.h"

namespace scyper::query {

namespace {

void append_string(std::string* out, std::string_view text) {
  static constexpr char kHex[] = "0123456789abcdef";
  static constexpr std::string_view kPlain = "\"\\\b\f\n\r\t", kLetters = "\"\\bfnrt";
  out->push_back('"');
  for (char c : text) {
    if (size_t which = kPlain.find(c); which != std::string_view::npos) {
      out->push_back('\\');
      out->push_back(kLetters[which]);
    } else if (static_cast<uint8_t>(c) < ' ') {
      out->append("\\u00");
      out->push_back(kHex[static_cast<uint8_t>(c) >> 4]);
      out->push_back(kHex[c & 15]);
    } else {
      out->push_back(c);
    }
  }
  out->push_back('"');
}

bool key_less(std::string_view a, std::string_view b) { return a.size() != b.size() ? a.size() < b.size() : a < b; }

// Of digits as number_text() writes them.
int compare_numbers(std::string_view a, std::string_view b) {
  bool a_negative = a[0] == '-', b_negative = b[0] == '-';
  if (a_negative != b_negative) return a_negative ? -1 : 1;
  if (a_negative) return a.remove_prefix(1), b.remove_prefix(1), compare_numbers(b, a);
  size_t a_point = std::min(a.find('.'), a.size()), b_point = std::min(b.find('.'), b.size());
  if (a_point != b_point) return a_point < b_point ? -1 : 1;
  auto digit = [](std::string_view text, size_t i) { return i < text.size() ? text[i] : '0'; };
  for (size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
    if (i == a_point) continue;
    if (digit(a, i) != digit(b, i)) return digit(a, i) < digit(b, i) ? -1 : 1;
  }
  return 0;
}

int sign(int order) { return (order > 0) - (order < 0); }

}  // namespace

void json_append_utf8(std::string* out, uint32_t code) {
  if (code < 0x80) {
    out->push_back(static_cast<char>(code));
    return;
  }
  if (code < 0x800) {
    out->push_back(static_cast<char>(0xc0 | code >> 6));
  } else {
    if (code < 0x10000) {
      out->push_back(static_cast<char>(0xe0 | code >> 12));
    } else {
      out->push_back(static_cast<char>(0xf0 | code >> 18));
      out->push_back(static_cast<char>(0x80 | (code >> 12 & 63)));
    }
    out->push_back(static_cast<char>(0x80 | (code >> 6 & 63)));
  }
  out->push_back(static_cast<char>(0x80 | (code & 63)));
}

Json json_read(std::string_view text) {
  Json json;
  Status status = json_parse(text, &json);
  CHECK(status.ok());
  return json;
}

void json_append(std::string* out, const Json& json) {
  switch (json.kind) {
    case JsonKind::kNull:
      out->append("null");
      return;
    case JsonKind::kString:
      return append_string(out, json.text);
    case JsonKind::kNumber:
      out->append(json.text);
      return;
    case JsonKind::kBoolean:
      out->append(json.boolean ? "true" : "false");
      return;
    case JsonKind::kArray:
    case JsonKind::kObject:
      break;
  }
  bool object = json.kind == JsonKind::kObject;
  out->push_back(object ? '{' : '[');
  for (size_t i = 0; i < json.items.size(); ++i) {
    if (i > 0) out->append(", ");
    if (object) append_string(out, json.keys[i]), out->append(": ");
    json_append(out, json.items[i]);
  }
  out->push_back(object ? '}' : ']');
}

std::string json_text(const Json& json) {
  std::string text;
  json_append(&text, json);
  return text;
}

void json_normalise(Json* object) {
  std::vector<size_t> order(object->keys.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    if (object->keys[a] == object->keys[b]) return a < b;  // the last one stays
    return key_less(object->keys[a], object->keys[b]);
  });
  Json sorted = json_object();
  for (size_t i = 0; i < order.size(); ++i) {
    if (i + 1 < order.size() && object->keys[order[i]] == object->keys[order[i + 1]]) continue;
    sorted.keys.push_back(std::move(object->keys[order[i]]));
    sorted.items.push_back(std::move(object->items[order[i]]));
  }
  *object = std::move(sorted);
}

const Json* json_member(const Json& object, std::string_view key) {
  if (object.kind != JsonKind::kObject) return nullptr;
  auto found = std::lower_bound(object.keys.begin(), object.keys.end(), key, key_less);
  if (found == object.keys.end() || *found != key) return nullptr;
  return &object.items[static_cast<size_t>(found - object.keys.begin())];
}

const Json* json_element(const Json& array, int64_t index) {
  if (array.kind != JsonKind::kArray) return nullptr;
  auto size = static_cast<int64_t>(array.items.size());
  if (index < 0) index += size;
  return index >= 0 && index < size ? &array.items[static_cast<size_t>(index)] : nullptr;
}

const Json* json_at_path(const Json& json, const std::vector<std::string_view>& path) {
  const Json* at = &json;
  for (std::string_view step : path) {
    if (at == nullptr) return nullptr;
    if (at->kind == JsonKind::kArray) {
      int32_t index = 0;
      auto read = std::from_chars(step.data(), step.data() + step.size(), index);
      if (step.empty() || read.ec != std::errc() || read.ptr != step.data() + step.size()) return nullptr;
      at = json_element(*at, index);
    } else {
      at = json_member(*at, step);
    }
  }
  return at;
}

int json_compare(const Json& a, const Json& b, bool top) {
  if (a.kind != b.kind) {
    // an empty array at the top is below everything else, as PostgreSQL has it for ever
    if (top && a.kind == JsonKind::kArray && a.items.empty() && b.kind != JsonKind::kObject) return -1;
    if (top && b.kind == JsonKind::kArray && b.items.empty() && a.kind != JsonKind::kObject) return 1;
    return a.kind < b.kind ? -1 : 1;
  }
  if (a.kind == JsonKind::kString) return sign(a.text.compare(b.text));
  if (a.kind == JsonKind::kNumber) return compare_numbers(a.text, b.text);
  if (a.kind == JsonKind::kBoolean) return static_cast<int>(a.boolean) - static_cast<int>(b.boolean);
  if (a.items.size() != b.items.size()) return a.items.size() < b.items.size() ? -1 : 1;
  for (size_t i = 0; i < a.items.size(); ++i) {
    if (a.kind == JsonKind::kObject)
      if (int order = sign(a.keys[i].compare(b.keys[i])); order != 0) return order;
    if (int order = json_compare(a.items[i], b.items[i], false); order != 0) return order;
  }
  return 0;
}

uint64_t json_hash(const Json& json) {
  uint64_t hash = static_cast<uint64_t>(json.kind) + (json.boolean ? 31 : 0);
  std::string_view text = json.text;
  if (json.kind == JsonKind::kNumber && text.find('.') != std::string_view::npos) {  // 1.0 equals 1
    while (text.back() == '0') text.remove_suffix(1);
    if (text.back() == '.') text.remove_suffix(1);
  }
  hash = hash * 31 + text_hash(text);
  for (const std::string& key : json.keys) hash = hash * 31 + text_hash(key);
  for (const Json& item : json.items) hash = hash * 31 + json_hash(item);
  return hash;
}

bool json_contains(const Json& whole, const Json& part, bool top) {
  if (part.kind == JsonKind::kObject) {
    if (whole.kind != JsonKind::kObject) return false;
    for (size_t i = 0; i < part.items.size(); ++i) {
      const Json* member = json_member(whole, part.keys[i]);
      if (member == nullptr || !json_contains(*member, part.items[i], false)) return false;
    }
    return true;
  }
  auto has = [&](const Json& wanted) {
    poll_work();
    return std::any_of(whole.items.begin(), whole.items.end(), [&](const Json& item) {
      return is_container(wanted) ? item.kind == wanted.kind && json_contains(item, wanted, false)
                                  : json_compare(item, wanted, false) == 0;
    });
  };
  if (part.kind == JsonKind::kArray)
    return whole.kind == JsonKind::kArray && std::all_of(part.items.begin(), part.items.end(), has);
  if (whole.kind == JsonKind::kArray) return top && has(part);
  return json_compare(whole, part, false) == 0;
}

bool json_exists(const Json& json, std::string_view key) {
  poll_work();
  if (json.kind == JsonKind::kObject) return json_member(json, key) != nullptr;
  auto is_key = [&](const Json& item) { return item.kind == JsonKind::kString && item.text == key; };
  if (json.kind == JsonKind::kArray) return std::any_of(json.items.begin(), json.items.end(), is_key);
  return is_key(json);
}

Json json_concat(const Json& a, const Json& b) {
  Json out = a;
  if (a.kind == JsonKind::kObject && b.kind == JsonKind::kObject) {
    out.keys.insert(out.keys.end(), b.keys.begin(), b.keys.end());
    out.items.insert(out.items.end(), b.items.begin(), b.items.end());
    json_normalise(&out);
    return out;
  }
  // anything else joins arrays as an element
  if (a.kind != JsonKind::kArray) {
    out = json_array();
    out.items.push_back(a);
  }
  if (b.kind == JsonKind::kArray)
    out.items.insert(out.items.end(), b.items.begin(), b.items.end());
  else
    out.items.push_back(b);
  return out;
}

Status json_delete(Json* json, std::string_view key) {
  poll_work();
  if (!is_container(*json)) return sql_error("22023", "cannot delete from scalar");
  const bool is_object = json->kind == JsonKind::kObject;
  json_keep(json, [&](size_t i) {
    const Json& item = json->items[i];
    return is_object ? json->keys[i] != key : item.kind != JsonKind::kString || item.text != key;
  });
  return absl::OkStatus();
}

Status json_delete(Json* json, int64_t index) {
  if (!is_container(*json)) return sql_error("22023", "cannot delete from scalar");
  if (json->kind == JsonKind::kObject) return sql_error("22023", "cannot delete from object using integer index");
  const Json* found = json_element(*json, index);
  if (found != nullptr) json->items.erase(json->items.begin() + (found - json->items.data()));
  return absl::OkStatus();
}

namespace {

Status change_object(Json* json, std::string_view step, bool last, const std::vector<std::string_view>& path,
                     size_t depth, JsonChange change, const Json& value);

Status change_at(Json* json, const std::vector<std::string_view>& path, size_t depth, JsonChange change,
                 const Json& value);

Status change_array(Json* json, std::string_view step, const std::vector<std::string_view>& path, size_t depth,
                    JsonChange change, const Json& value) {
  int32_t index = 0;
  auto read = std::from_chars(step.data(), step.data() + step.size(), index);
  if (step.empty() || read.ec != std::errc() || read.ptr != step.data() + step.size())
    return sql_error("22P02", "path element at position " + std::to_string(depth + 1) + " is not an integer: \"" +
                                  std::string(step) + "\"");
  auto size = static_cast<int64_t>(json->items.size());
  int64_t at = index < 0 ? index + size : index;
  bool exists = at >= 0 && at < size;
  if (depth + 1 < path.size())
    return exists ? change_at(&json->items[static_cast<size_t>(at)], path, depth + 1, change, value) : absl::OkStatus();
  if (exists && (change == JsonChange::kSet || change == JsonChange::kSetOrAdd)) {
    json->items[static_cast<size_t>(at)] = value;
  } else if (exists && change == JsonChange::kDelete) {
    json->items.erase(json->items.begin() + at);
  } else if (change >= JsonChange::kSetOrAdd && change != JsonChange::kDelete) {
    int64_t place = std::clamp<int64_t>(at + (exists && change == JsonChange::kInsertAfter ? 1 : 0), 0, size);
    json->items.insert(json->items.begin() + place, value);
  }
  return absl::OkStatus();
}

Status change_object(Json* json, std::string_view step, bool last, const std::vector<std::string_view>& path,
                     size_t depth, JsonChange change, const Json& value) {
  const Json* found = json_member(*json, step);
  if (!last)
    return found == nullptr ? absl::OkStatus() : change_at(const_cast<Json*>(found), path, depth + 1, change, value);
  if (found != nullptr && change == JsonChange::kDelete) return json_delete(json, step);
  if (found != nullptr && change >= JsonChange::kInsertBefore)
    return with_hint(sql_error("22023", "cannot replace existing key"),
                     "Try using the function jsonb_set to replace key value.");
  if (found != nullptr) return json->items[static_cast<size_t>(found - json->items.data())] = value, absl::OkStatus();
  if (change == JsonChange::kSet || change == JsonChange::kDelete) return absl::OkStatus();
  json->keys.emplace_back(step);
  json->items.push_back(value);
  json_normalise(json);
  return absl::OkStatus();
}

Status change_at(Json* json, const std::vector<std::string_view>& path, size_t depth, JsonChange change,
                 const Json& value) {
  if (json->kind == JsonKind::kArray) return change_array(json, path[depth], path, depth, change, value);
  if (json->kind != JsonKind::kObject) return absl::OkStatus();
  return change_object(json, path[depth], depth + 1 == path.size(), path, depth, change, value);
}

}  // namespace

Status json_change(Json* json, const std::vector<std::string_view>& path, JsonChange change, const Json& value) {
  if (!is_container(*json))
    return sql_error("22023",
                     change == JsonChange::kDelete ? "cannot delete path in scalar" : "cannot set path in scalar");
  const bool has_nothing = json->items.empty() && (change == JsonChange::kSet || change == JsonChange::kDelete);
  return path.empty() || has_nothing ? absl::OkStatus() : change_at(json, path, 0, change, value);
}

const char* json_type_name(JsonKind kind) {
  static constexpr const char* kNames[] = {"null", "string", "number", "boolean", "array", "object"};
  return kNames[static_cast<size_t>(kind)];
}

}  // namespace scyper::query
