#pragma once

#include "storage/name_type.h"
#include "storage/type.h"

namespace scyper {

// The type json: a text that has been checked, kept as it was written.
constexpr int32_t kJsonTextLength = -114;

inline SqlType json_text_type() {
  SqlType type = make_type(TypeId::kText);
  type.length = kJsonTextLength;
  return type;
}
inline bool is_json_text(const SqlType& type) { return type.id == TypeId::kText && type.length == kJsonTextLength; }

// The type jsonpath: a text in PostgreSQL's form of the path.
constexpr int32_t kJsonPathLength = -4072;

inline SqlType json_path_type() {
  SqlType type = make_type(TypeId::kText);
  type.length = kJsonPathLength;
  return type;
}
inline bool is_json_path(const SqlType& type) { return type.id == TypeId::kText && type.length == kJsonPathLength; }
// A text of another type is parsed when it becomes one.
inline bool is_checked_text(const SqlType& type) { return is_json_text(type) || is_json_path(type); }

// Without lengths and scales. json, jsonpath and name stay what they are: their marks stand in the length.
inline SqlType plain_type(const SqlType& type) {
  const SqlType scalar = type.id == TypeId::kArray ? element_of(type) : type;
  return is_checked_text(scalar) || is_name(scalar) ? type : without_modifiers(type);
}

}  // namespace scyper
