#pragma once

#include "storage/type.h"

// The type of what to_json() and its kin give: a text that clients know as json.
namespace scyper::query {

constexpr int32_t kJsonTextLength = -114;

inline SqlType json_text_type() {
  SqlType type = make_type(TypeId::kText);
  type.length = kJsonTextLength;
  return type;
}
inline bool is_json_text(const SqlType& type) { return type.id == TypeId::kText && type.length == kJsonTextLength; }

}  // namespace scyper::query
