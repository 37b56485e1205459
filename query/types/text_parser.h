#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

// PostgreSQL's default text search parser: cuts a text into tokens. As in a database with the C locale, each character
// beyond ASCII counts as a letter.
namespace scyper::query {

// PostgreSQL's numbers.
enum class TokenType : uint8_t {
  kNone = 0,
  kAsciiWord = 1,
  kWord = 2,
  kNumWord = 3,
  kEmail = 4,
  kUrl = 5,
  kHost = 6,
  kScientific = 7,
  kVersion = 8,
  kNumPart = 9,  // of a word with hyphens, as the next two
  kWordPart = 10,
  kAsciiPart = 11,
  kBlank = 12,
  kTag = 13,
  kProtocol = 14,
  kNumHyphenated = 15,
  kAsciiHyphenated = 16,
  kHyphenated = 17,
  kUrlPath = 18,
  kFile = 19,
  kDecimal = 20,
  kInteger = 21,
  kUnsigned = 22,
  kEntity = 23,
};

struct TokenTypeInfo {
  TokenType type;
  std::string_view alias, description;
};
std::span<const TokenTypeInfo> token_types();

struct TextToken {
  TokenType type = TokenType::kNone;
  std::string_view text;
};

// A word with hyphens comes as a whole and then in parts; so does a URL: whole, host, path.
class TextParser {
 public:
  explicit TextParser(std::string_view text) : text_(text) {}
  bool next(TextToken* token);  // false: the end

 private:
  // A token that would begin where the parser stands.
  struct Found {
    size_t end = 0;
    TokenType type = TokenType::kNone;
  };
  using Maybe = std::optional<Found>;
  enum class Mode : uint8_t { kAny, kPart, kUrlPath };
  enum class HyphenState : uint8_t { kAscii, kWord, kNum };

  char at(size_t i) const { return i < text_.size() ? text_[i] : '\0'; }
  bool is_end(size_t i) const { return i >= text_.size(); }
  size_t skip_digits(size_t i) const;
  size_t skip_url_path(size_t i) const;

  Found any_token();
  Found blank(size_t i) const;
  Maybe part();

  Found ascii_word(size_t i);
  Maybe word_with_sign(size_t i);
  Found word(size_t i);
  Found num_word(size_t i);
  Found unsigned_number(size_t i);
  Maybe signed_number(size_t i) const;
  Maybe mantissa(size_t i) const;
  Maybe decimal(size_t i, bool is_signed) const;

  Maybe host(size_t i);
  Maybe host_after_dot(size_t i);
  Maybe host_after_sign(size_t i);
  Maybe email(size_t i) const;
  Found end_of_host(size_t i);
  Maybe protocol(size_t i) const;
  Maybe file_after_slash(size_t i) const;
  Maybe file_after_dot(size_t i) const;
  Maybe file_from_home(size_t i) const;
  Maybe file_from_dots(size_t i) const;
  enum class FileState : uint8_t { kSlash, kDot, kDots, kName };
  Maybe file(size_t i, FileState state) const;
  Maybe hyphenated(size_t i, HyphenState state) const;
  Maybe entity(size_t i) const;
  Maybe tag(size_t i);
  Maybe comment(size_t i) const;
  Maybe tag_rest(size_t i) const;
  void note_tag(size_t end);

  enum class HostState : uint8_t { kName, kDotted, kDomainStart, kDomain, kSign };
  Maybe host_from(size_t i, HostState state);

  std::string_view text_;
  size_t at_ = 0;
  Mode mode_ = Mode::kAny;
  bool wants_host_ = false;   // of a URL, or behind @: its path and what looks like one do not belong to the token
  bool is_ignoring_ = false;  // within a script or style
};

}  // namespace scyper::query
