#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/status.h"
#include "query/encodings.h"

namespace scyper::query {

// Texts from another encoding to UTF-8, or back, by the system's iconv. Threads: one at a time.
class TextConverter {
 public:
  enum class Direction : uint8_t { kToUtf8, kFromUtf8 };
  // Null: the system cannot do it.
  static std::unique_ptr<TextConverter> make(const Encoding& encoding, Direction direction);
  ~TextConverter();
  TextConverter(const TextConverter&) = delete;
  TextConverter& operator=(const TextConverter&) = delete;

  // A whole text. 22021: no text of its encoding. 22P05: the other encoding has no such character.
  Status append(std::string_view text, std::string* out);
  // A piece of a text, which may end within a character: the rest of that comes with the next piece.
  Status append_piece(std::string_view piece, std::string* out);
  // After the last piece. 22021: it ended within a character.
  Status finish();
  // With a question mark for each character that the other encoding does not have.
  void append_anyway(std::string_view text, std::string* out);

 private:
  TextConverter(const Encoding* encoding, Direction direction, void* descriptor)
      : encoding_(encoding), direction_(direction), descriptor_(descriptor) {}
  Status convert(std::string_view text, bool is_whole, bool is_forgiving, std::string* out);
  Status wrong_at(std::string_view rest, bool is_cut) const;

  const Encoding* const encoding_;
  const Direction direction_;
  void* const descriptor_;  // iconv_t
  std::string begun_;       // of a character, from the piece before
};

}  // namespace scyper::query
