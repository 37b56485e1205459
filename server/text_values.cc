#include "text_values.h"

#include <cstring>

#include "query/value_text.h"
#include "storage/big_numeric.h"

namespace scyper::server {

Status read_text(const SqlType& type, std::string_view text, Datum* out, RowArena* arena) {
  query::ValueArena memory;
  SCYPER_RETURN_IF_ERROR(query::parse_value(type, text, &memory, out));
  const bool is_long = type.id == TypeId::kNumeric && out->scale == kBigScale;
  if (!holds_bytes(type.id) && !is_long) return {};
  const uint64_t size = is_long ? big_numeric_bytes(*out) : out->size();
  auto* copy = static_cast<char*>(arena->allocate(size + 1));
  if (size > 0) std::memcpy(copy, out->data(), size);
  out->lo = reinterpret_cast<int64_t>(copy);
  return {};
}

}  // namespace scyper::server
