#pragma once

#include <string>
#include <vector>

#include "generator/random.h"

namespace scyper::generator {

// Families of types that expressions are made for; the letters are those of query::Term.
enum class Kind : char {
  kSmallint = 'h',
  kInteger = 'i',
  kBigint = 'g',
  kNumeric = 'n',
  kDouble = 'f',
  kText = 's',  // text, varchar(n), char(n)
  kBoolean = 'b',
  kDate = 'd',
  kTimestamp = 't',
  kTimestamptz = 'z',
  kTime = 'c',
  kInterval = 'v',
  kUuid = 'u',
  kBytea = 'y',
  kJsonb = 'j',
  kEnum = 'e',  // mood, which every script makes
  kIntegers = 'I',
  kTexts = 'T',
};

// Name of the type that a cast or a variable has.
const char* type_name(Kind kind);
// A type that a column of that kind may be declared with.
std::string column_type(Kind kind, Random* random);
// Some kind, common ones more often. Columns: no intervals in arrays, keys or indexes.
Kind random_kind(Random* random);
// Equal values of these look alike, and they may be in keys, groups and DISTINCT.
bool is_key_kind(Kind kind);
// Columns of these may be in indexes.
bool is_index_kind(Kind kind);
// Literals of these need no type to be of their kind.
bool is_plain_typed(Kind kind);
// A literal that is of that kind wherever it stands.
std::string typed_constant(Kind kind, Random* random);
// A literal as a client would write it, without a type where the context gives one.
std::string plain_constant(Kind kind, Random* random, bool may_be_null = true);

}  // namespace scyper::generator
