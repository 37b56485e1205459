#pragma once

#include <string_view>

// The encodings that PostgreSQL 15 knows by name, with its numbers. Texts are UTF-8 here; a client of PostgreSQL's
// protocol may have them in another one.
namespace scyper::query {

struct Encoding {
  int number;
  std::string_view name;   // "LATIN1", as SHOW and pg_encoding_to_char() have it
  std::string_view iconv;  // the name that iconv knows; empty: nothing converts it to UTF-8
  int bytes_max;           // of a character
};
constexpr int kSqlAsciiEncoding = 0, kUtf8Encoding = 6;

// By any of its names. Only letters and digits count, in any case. Null: there is none.
const Encoding* find_encoding(std::string_view name);
const Encoding* find_encoding(int number);

}  // namespace scyper::query
