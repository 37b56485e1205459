#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"

namespace scyper::query {

enum class PathToken : uint8_t {
  kEnd,
  kCharacter,  // one that has a meaning of its own: PathScanner::character
  kOr,
  kAnd,
  kNot,
  kAnyPath,  // **
  kLess,
  kLessOrEqual,
  kEqual,
  kNotEqual,
  kGreaterOrEqual,
  kGreater,
  kString,
  kVariable,
  kNumeric,
  kInteger,
  kIdentifier,
  // keywords
  kIs,
  kTo,
  kAbs,
  kLax,
  kFlag,
  kLast,
  kNull,
  kSize,
  kTrue,
  kType,
  kWith,
  kFalse,
  kFloor,
  kDouble,
  kExists,
  kStarts,
  kStrict,
  kCeiling,
  kUnknown,
  kDatetime,
  kKeyValue,
  kLikeRegex,
};

// Cuts a jsonpath into tokens, as jsonpath_scan.l does.
class PathScanner {
 public:
  explicit PathScanner(std::string_view text) : text_(text) {}

  Status advance();
  // 42601 at the token.
  Status error(std::string_view message) const;
  Status syntax_error() const { return error("syntax error"); }

  PathToken token() const { return token_; }
  bool is(PathToken token) const { return token_ == token; }
  bool is(char character) const { return token_ == PathToken::kCharacter && character_ == character; }
  // Of strings, names and numbers.
  const std::string& value() const { return value_; }

 private:
  bool has(size_t offset = 0) const { return at_ + offset < text_.size(); }
  char peek(size_t offset = 0) const { return has(offset) ? text_[at_ + offset] : '\0'; }
  std::string_view rest() const { return text_.substr(at_); }
  void take(PathToken token, size_t size);
  Status skip_comment();
  Status take_quoted(PathToken token);
  Status take_number();
  size_t word_size() const;
  Status take_word();
  bool take_operator();
  Status take_escape();
  Status take_unicode();
  Status append_character(uint32_t code);
  PathToken keyword() const;

  std::string_view text_;
  size_t at_ = 0;
  PathToken token_ = PathToken::kEnd;
  char character_ = 0;
  std::string value_;
  std::string_view shown_;  // what messages show of the token
};

}  // namespace scyper::query
