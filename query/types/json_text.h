#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "types/jsonb.h"

// A document of type json: its text, which json_check() has found right. Parts of it are parts of the text.
namespace scyper::query {

// 22P02, 54001. What escapes in strings mean is not looked at, as in PostgreSQL.
Status json_check(std::string_view text);
// 22P05, 22P02: an escape in one of its strings stands for no text.
Status json_check_strings(std::string_view text);

JsonKind json_text_kind(std::string_view text);

struct JsonTextPart {
  std::string key;  // of objects
  std::string_view value;
};
// Of an array or object, in the order of the text, with all equal keys.
Status json_text_parts(std::string_view container, std::vector<JsonTextPart>* parts);
// What ->> shows: strings without quotes and escapes, other values as they are.
Status json_text_plain(std::string_view value, std::string* out);
// Without members that are null, and without blanks.
Status json_text_strip_nulls(std::string_view text, std::string* out);

}  // namespace scyper::query
