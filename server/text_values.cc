#include "text_values.h"

#include <cstring>

#include "query/value_text.h"

namespace scyper::server {

Status read_text(const SqlType& type, std::string_view text, Datum* out, RowArena* arena) {
  query::ValueArena memory;
  SCYPER_RETURN_IF_ERROR(query::parse_value(type, text, &memory, out));
  if (!holds_bytes(type.id)) return {};
  auto* copy = static_cast<char*>(arena->allocate(out->size() + 1));
  if (out->size() > 0) std::memcpy(copy, out->data(), out->size());
  *out = string_datum(copy, out->size());
  return {};
}

}  // namespace scyper::server
