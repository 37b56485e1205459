#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"
#include "types/jsonb.h"

namespace scyper::query {

// RFC 8259 with PostgreSQL's errors. Not nlohmann's parser: it refuses numbers that no double can hold, which numeric
// can.
class JsonParser {
 public:
  // kSyntax: only whether the text is right. kStrings: and whether its escapes stand for text.
  enum class Mode : uint8_t { kDocument, kSyntax, kStrings };

  JsonParser(std::string_view text, Mode mode) : text_(text), mode_(mode) {}

  Status document(Json* out);

 private:
  enum class Token : uint8_t { kEnd, kCharacter, kString, kNumber, kTrue, kFalse, kNull };

  bool has() const { return at_ < text_.size(); }
  bool is(char c) const { return token_ == Token::kCharacter && text_[start_] == c; }
  std::string_view shown() const { return text_.substr(start_, at_ - start_); }
  Status expected(const char* what) const;
  Status wrong(const std::string& detail) const;
  Status wrong_token() const;
  Status expect(char c, const char* what);

  Status advance();
  Status number();
  Status string();
  Status escape();
  Status append_code(uint32_t code);
  Status word();

  Status value(Json* out, size_t depth);
  Status object(Json* out, size_t depth);
  Status array(Json* out, size_t depth);
  Status take_number(Json* out);

  const std::string_view text_;
  const Mode mode_;
  size_t at_ = 0;     // behind the token
  size_t start_ = 0;  // of the token
  Token token_ = Token::kEnd;
  std::string string_;
  uint32_t high_surrogate_ = 0;  // 0: none waits for its low one
  size_t written_out_ = 0;       // bytes that exponents have become
};

}  // namespace scyper::query
