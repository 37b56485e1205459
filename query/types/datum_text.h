#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"
#include "storage/type.h"
#include "types/value_error.h"

// Text, equality, order and hashes of datums of any type, by PostgreSQL's rules. Arrays included; records are not.
namespace scyper::query {

// The label of an enum's value.
std::string_view label_of(const SqlType& type, const Datum& value);

// PostgreSQL's input function of the type, with its modifiers (too long strings fail, char(n) is padded). The datum's
// bytes and arrays live in the arena, never in text. Errors have PostgreSQL's SQLSTATE and message.
Status parse_datum(const SqlType& type, std::string_view text, const TextArena& arena, Datum* out);

// PostgreSQL's output function; nothing for NULL.
void append_datum(std::string* out, const SqlType& type, const Datum& datum);

// Of two datums of one type that are not null. The order of btree indexes: -1, 0, 1.
int compare_datums(const SqlType& type, const Datum& a, const Datum& b) noexcept;
inline bool equal_datums(const SqlType& type, const Datum& a, const Datum& b) noexcept {
  return compare_datums(type, a, b) == 0;
}
// Equal datums hash alike, whatever their scale, trailing blanks of char(n), or sign of zero. Not null.
uint64_t hash_datum(const SqlType& type, const Datum& datum) noexcept;

inline const ArrayValue* array_of(const Datum& datum) noexcept { return reinterpret_cast<const ArrayValue*>(datum.lo); }
inline std::string_view text_of(const Datum& datum) noexcept { return {datum.data(), datum.size()}; }

}  // namespace scyper::query
