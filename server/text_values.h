#pragma once

#include <string_view>

#include "server/packed.h"

namespace scyper::server {

// Values of these types are sent as PostgreSQL's text and read by its input functions. (In results they are texts
// before they get here.)
constexpr bool is_read_as_text(TypeId id) {
  return id == TypeId::kUuid || id == TypeId::kBytea || id == TypeId::kJsonb || id == TypeId::kInterval ||
         id == TypeId::kEnum || is_ordered_bytes(id);
}
// The text is checked UTF-8. What the value points to lies in the arena.
Status read_text(const SqlType& type, std::string_view text, Datum* out, RowArena* arena);

}  // namespace scyper::server
