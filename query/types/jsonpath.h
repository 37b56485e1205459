#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "types/jsonb.h"
#include "types/regular_expression.h"

// The type jsonpath: SQL/JSON's path language as PostgreSQL 15 has it (jsonpath_gram.y, jsonpath_exec.c).
namespace scyper::query {

enum class PathOp : uint8_t {
  kNull,
  kString,
  kNumber,
  kBoolean,
  kVariable,
  kRoot,
  kCurrent,
  kLast,
  kAnd,
  kOr,
  kNot,
  kIsUnknown,
  kEqual,
  kNotEqual,
  kLess,
  kGreater,
  kLessOrEqual,
  kGreaterOrEqual,
  kAdd,
  kSubtract,
  kMultiply,
  kDivide,
  kModulo,
  kPlus,
  kMinus,
  kStartsWith,
  kLikeRegex,
  kExists,
  kAnyArray,
  kAnyKey,
  kIndexArray,
  kAny,
  kKey,
  kFilter,
  kType,
  kSize,
  kAbs,
  kFloor,
  kCeiling,
  kDouble,
  kDatetime,
  kKeyValue,
};

// As PostgreSQL's messages and texts show it: "==", "keyvalue".
const char* path_op_name(PathOp op);

struct PathItem {
  using Subscript = std::pair<PathItem*, PathItem*>;  // second: null without "to"

  PathOp op = PathOp::kNull;
  bool boolean = false;
  std::string text;              // string, key, name of a variable, pattern; the digits of a number
  std::string flags;             // of like_regex, in PostgreSQL's order
  uint32_t first = 0, last = 0;  // levels of ".**"; kLastLevel: "last"
  PathItem* left = nullptr;      // the only operand, too
  PathItem* right = nullptr;
  std::vector<Subscript> subscripts;
  PathItem* next = nullptr;  // what is applied to the result
};

constexpr uint32_t kLastLevel = UINT32_MAX;

struct JsonPath {
  bool lax = true;
  PathItem* root = nullptr;
  std::deque<PathItem> items;  // all of them: the tree may be deeper than a destructor may recurse
};

// 22P02, 42601, 22P05, 2201B, 54001. Valid UTF-8 is the caller's.
Status jsonpath_parse(std::string_view text, JsonPath* out);
// PostgreSQL's text of the path. 54001.
Status jsonpath_text(const JsonPath& path, std::string* out);
RegexFlags path_regex_flags(std::string_view flags);

struct PathOptions {
  const Json* variables = nullptr;  // null: there are none
  bool silent = false;              // errors that depend on the document give an empty result
  bool with_zone = false;           // the *_tz functions: comparisons may use the session's zone
};
enum class PathOutcome : uint8_t { kFound, kNotFound, kError };  // kError: only with silent

// All items that the path finds. found null: only whether there is one.
StatusOr<PathOutcome> jsonpath_run(const JsonPath& path, const Json& document, const PathOptions& options,
                                   std::vector<Json>* found);

}  // namespace scyper::query
