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
// Without lengths and scales. json stays json and name stays name: their marks stand in the length.
inline SqlType plain_type(const SqlType& type) {
  return is_json_text(type) || is_name(type) ? type : without_modifiers(type);
}

}  // namespace scyper
