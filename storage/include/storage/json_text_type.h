#pragma once

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
// Without lengths and scales, but json is still json.
inline SqlType plain_type(const SqlType& type) { return is_json_text(type) ? type : without_modifiers(type); }

}  // namespace scyper
