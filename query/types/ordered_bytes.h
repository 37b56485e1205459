#pragma once

#include <string>
#include <string_view>

#include "base/status.h"
#include "storage/type.h"

// Types whose values are ordered bytes (storage/type.h). A type of this kind is an entry of the table in
// ordered_bytes.cc: how its texts and its binary format become bytes in the normal form, and back. Tables, keys,
// indexes, sorting, hashing and frozen chunks treat the bytes as bytea and know nothing else of the type.
namespace scyper::query {

// Input and output functions. Parsing enforces SqlType::length as PostgreSQL's input functions enforce a modifier.
Status parse_ordered_bytes(const SqlType& type, std::string_view text, std::string* bytes);
void append_ordered_bytes(std::string* out, const SqlType& type, std::string_view bytes);

// PostgreSQL's binary format.
Status receive_ordered_bytes(const SqlType& type, std::string_view sent, std::string* bytes);
void send_ordered_bytes(std::string* out, const SqlType& type, std::string_view bytes);

// Where PostgreSQL's pg_cast lets a cast from or to such a type happen without being asked for.
enum class OrderedCastContext : uint8_t { kImplicit, kAssignment, kExplicit };

// A cast from or to such a type, but for those from and to strings, which are its input and output. One of `bytes`,
// where `to` is of ordered bytes, and `value` is set.
struct OrderedCast {
  using Function = Status (*)(const Datum& in, const SqlType& from, const SqlType& to, bool is_explicit,
                              std::string* bytes, Datum* value);
  TypeId from, to;
  OrderedCastContext context;
  Function convert;  // nullptr: the same bytes
};
// nullptr: none. Casts of a type to itself enforce SqlType::length.
const OrderedCast* find_ordered_cast(TypeId from, TypeId to);
// Whether the cast keeps the bytes as they are, whatever they are.
bool keeps_ordered_bytes(const SqlType& from, const SqlType& to);
// The category of the type in pg_type: literals without a type prefer its preferred type.
char ordered_category(TypeId id);
bool is_preferred_ordered(TypeId id);
// The type whose operators values of the type are compared with: inet for cidr.
TypeId ordered_operand(TypeId id);

}  // namespace scyper::query
