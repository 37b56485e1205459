#include "types/json_text.h"

namespace scyper::query {

namespace {

constexpr std::string_view kBlanks = " \t\n\r";

std::string_view trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

// The end of the string that begins at `at`.
size_t string_end(std::string_view text, size_t at) {
  for (at++; at < text.size() && text[at] != '"'; at++)
    if (text[at] == '\\') at++;
  return std::min(at + 1, text.size());
}

// The end of the value that begins at `at`.
size_t value_end(std::string_view text, size_t at) {
  if (text[at] == '"') return string_end(text, at);
  if (text[at] != '{' && text[at] != '[') return std::min(text.find_first_of(" \t\n\r,]}:", at), text.size());
  size_t depth = 0;
  while (at < text.size()) {
    const char c = text[at];
    if (c == '"') {
      at = string_end(text, at);
      continue;
    }
    at++;
    if (c == '{' || c == '[') depth++;
    if ((c == '}' || c == ']') && --depth == 0) break;
  }
  return at;
}

Status decode(std::string_view token, std::string* out) {
  Json json;
  SCYPER_RETURN_IF_ERROR(json_parse(token, &json));
  *out = std::move(json.text);
  return absl::OkStatus();
}

Status strip(std::string_view value, std::string* out) {
  const JsonKind kind = json_text_kind(value);
  if (kind == JsonKind::kString) {
    std::string plain;
    SCYPER_RETURN_IF_ERROR(decode(value, &plain));
    json_append(out, json_string(plain));
    return absl::OkStatus();
  }
  if (kind < JsonKind::kArray) return out->append(value), absl::OkStatus();
  std::vector<JsonTextPart> parts;
  SCYPER_RETURN_IF_ERROR(json_text_parts(value, &parts));
  const bool is_object = kind == JsonKind::kObject;
  out->push_back(is_object ? '{' : '[');
  bool is_first = true;
  for (const JsonTextPart& part : parts) {
    if (is_object && json_text_kind(part.value) == JsonKind::kNull) continue;
    if (!std::exchange(is_first, false)) out->push_back(',');
    if (is_object) {
      json_append(out, json_string(part.key));
      out->push_back(':');
    }
    SCYPER_RETURN_IF_ERROR(strip(part.value, out));
  }
  out->push_back(is_object ? '}' : ']');
  return absl::OkStatus();
}

}  // namespace

JsonKind json_text_kind(std::string_view text) {
  text = trimmed(text);
  switch (text.empty() ? 'n' : text[0]) {
    case '{':
      return JsonKind::kObject;
    case '[':
      return JsonKind::kArray;
    case '"':
      return JsonKind::kString;
    case 't':
    case 'f':
      return JsonKind::kBoolean;
    case 'n':
      return JsonKind::kNull;
    default:
      return JsonKind::kNumber;
  }
}

Status json_text_parts(std::string_view container, std::vector<JsonTextPart>* parts) {
  container = trimmed(container);
  const bool is_object = container[0] == '{';
  size_t at = 1;
  for (;;) {
    at = container.find_first_not_of(" \t\n\r,", at);
    if (at == std::string_view::npos || at + 1 >= container.size()) return absl::OkStatus();
    JsonTextPart part;
    if (is_object) {
      const size_t end = string_end(container, at);
      SCYPER_RETURN_IF_ERROR(decode(container.substr(at, end - at), &part.key));
      at = container.find_first_not_of(" \t\n\r:", end);
      if (at == std::string_view::npos) return absl::OkStatus();
    }
    const size_t end = value_end(container, at);
    part.value = container.substr(at, end - at);
    parts->push_back(std::move(part));
    at = end;
  }
}

Status json_text_plain(std::string_view value, std::string* out) {
  value = trimmed(value);
  if (json_text_kind(value) == JsonKind::kString) return decode(value, out);
  *out = std::string(value);
  return absl::OkStatus();
}

Status json_text_strip_nulls(std::string_view text, std::string* out) { return strip(trimmed(text), out); }

}  // namespace scyper::query
