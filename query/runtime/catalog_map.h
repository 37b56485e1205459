#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"

// A map of texts in one text: what the binder knows of a catalog version, for functions that look objects up by their
// numbers or names while the program runs. "\nkey\tvalue" for each, with escapes for both separators.
namespace scyper::query {

inline std::string escaped_entry(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (c == '\n')
      out += "\\n";
    else if (c == '\t')
      out += "\\t";
    else if (c == '\\')
      out += "\\\\";
    else
      out += c;
  }
  return out;
}

inline void add_entry(std::string_view key, std::string_view value, std::string* map) {
  *map += '\n';
  *map += escaped_entry(key);
  *map += '\t';
  *map += escaped_entry(value);
}

// The first of that key; false: there is none.
inline bool find_entry(std::string_view map, std::string_view key, std::string* value) {
  const std::string wanted = "\n" + escaped_entry(key) + "\t";
  const size_t at = map.find(wanted);
  if (at == std::string_view::npos) return false;
  map.remove_prefix(at + wanted.size());
  map = map.substr(0, map.find('\n'));
  value->clear();
  for (size_t i = 0; i < map.size(); i++) {
    const bool is_escape = map[i] == '\\' && i + 1 < map.size();
    if (is_escape) i++;
    *value += !is_escape ? map[i] : map[i] == 'n' ? '\n' : map[i] == 't' ? '\t' : map[i];
  }
  return true;
}

// kind: ObjectKind (bind/object_numbers.h) of what has no such name.
Status unknown_object(std::string_view name, int64_t kind);

}  // namespace scyper::query
