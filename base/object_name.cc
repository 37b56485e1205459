#include "base/object_name.h"

#include <algorithm>

namespace scyper {

namespace {

constexpr char kBegin = '\x01', kEnd = '\x02';
// The schema of keys that nothing has (query/compile/search_path.h). It is not shown.
constexpr std::string_view kNoSchema = "pg_none";
constexpr std::string_view kFixedSchemas[] = {"public", "pg_catalog", "information_schema", "pg_temp", "pg_toast"};

std::string take_word(std::string_view* text) {
  std::string word;
  if (!text->empty() && text->front() == '"') {
    size_t i = 1;
    for (; i < text->size() && ((*text)[i] != '"' || (i + 1 < text->size() && (*text)[i + 1] == '"')); i++) {
      if ((*text)[i] == '"') i++;
      word += (*text)[i];
    }
    text->remove_prefix(std::min(i + 1, text->size()));
    return word;
  }
  const size_t size = std::min(text->find('.'), text->size());
  for (char c : text->substr(0, size)) word += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  text->remove_prefix(size);
  return word;
}

}  // namespace

std::string object_key(std::string_view schema, std::string_view name) {
  if (std::find(std::begin(kFixedSchemas), std::end(kFixedSchemas), schema) != std::end(kFixedSchemas) ||
      schema.empty())
    return std::string(name);
  std::string key(1, kBegin);
  key += schema;
  key += kEnd;
  key += name;
  return key;
}

std::vector<std::string> with_object_key(std::vector<std::string> name) {
  if (name.size() < 2) return name;
  const std::string& schema = name[name.size() - 2];
  if (std::find(std::begin(kFixedSchemas), std::end(kFixedSchemas), schema) != std::end(kFixedSchemas)) return name;
  return {object_key(schema, name.back())};
}

std::string object_key_of_text(std::string_view text) {
  std::string first = take_word(&text);
  if (text.empty()) return first;
  text.remove_prefix(1);
  std::string second = take_word(&text);
  if (text.empty()) return object_key(first, second);
  text.remove_prefix(1);  // the database comes first
  return object_key(second, take_word(&text));
}

std::string_view bare_name(std::string_view key) {
  return key.empty() || key.front() != kBegin ? key : key.substr(key.find(kEnd) + 1);
}

std::string_view schema_of(std::string_view key) {
  return key.empty() || key.front() != kBegin ? kPublicSchema : key.substr(1, key.find(kEnd) - 1);
}

std::string sibling_key(std::string_view key, std::string_view name) { return object_key(schema_of(key), name); }

std::string without_keys(std::string_view text, bool qualified) {
  std::string out;
  while (true) {
    const size_t begin = text.find(kBegin);
    const size_t end = begin == std::string_view::npos ? begin : text.find(kEnd, begin);
    if (end == std::string_view::npos) break;
    out += text.substr(0, begin);
    if (qualified && text.substr(begin + 1, end - begin - 1) != kNoSchema)
      (out += text.substr(begin + 1, end - begin - 1)) += '.';
    text.remove_prefix(end + 1);
  }
  return out += text;
}

}  // namespace scyper
