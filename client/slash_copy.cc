#include "slash_copy.h"

#include <algorithm>
#include <string>

#include "absl/strings/ascii.h"

namespace scyper::client {

namespace {

constexpr std::string_view kBlanks = " \t\r\n";

// Words, quoted texts and parentheses with all within them, front to back.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  // Empty at the end.
  std::string_view next() {
    skip_blanks();
    const size_t from = at_;
    if (at_ == text_.size()) return {};
    while (at_ < text_.size() && kBlanks.find(text_[at_]) == std::string_view::npos) skip_one();
    return text_.substr(from, at_ - from);
  }
  std::string_view before(std::string_view word) const {
    return text_.substr(0, static_cast<size_t>(word.data() - text_.data()));
  }
  std::string_view rest() {
    skip_blanks();
    return text_.substr(at_);
  }

 private:
  void skip_blanks() { at_ = std::min(text_.find_first_not_of(kBlanks, at_), text_.size()); }
  void skip_one() {
    const char c = text_[at_];
    if (c == '\'' || c == '"') {
      at_ = std::min(text_.find(c, at_ + 1), text_.size() - 1) + 1;
      return;
    }
    ++at_;
    if (c != '(') return;
    while (at_ < text_.size() && text_[at_] != ')') skip_one();
    at_ = std::min(at_ + 1, text_.size());
  }

  const std::string_view text_;
  size_t at_ = 0;
};

// 'it''s' to it's; other words as they are.
std::string unquoted(std::string_view word) {
  if (word.size() < 2 || word.front() != '\'' || word.back() != '\'') return std::string(word);
  std::string out;
  for (size_t i = 1; i + 1 < word.size(); ++i) {
    out += word[i];
    if (word[i] == '\'') ++i;
  }
  return out;
}

bool is_word(std::string_view word, std::string_view keyword) {
  return word.size() == keyword.size() && absl::AsciiStrToLower(std::string(word)) == keyword;
}

Status wrong(std::string_view where) {
  return where.empty() ? sql_error("42601", "\\copy: parse error at end of line")
                       : sql_error("42601", "\\copy: parse error at \"" + std::string(where) + "\"");
}

}  // namespace

StatusOr<SlashCopy> parse_slash_copy(std::string_view arguments) {
  arguments = arguments.substr(0, arguments.find_last_not_of(" \t\r\n;") + 1);
  arguments.remove_prefix(std::min(arguments.find_first_not_of(kBlanks), arguments.size()));
  Scanner scanner(arguments);
  SlashCopy out;
  std::string_view word = scanner.next();
  while (!word.empty() && !is_word(word, "from") && !is_word(word, "to")) word = scanner.next();
  if (word.empty() || scanner.before(word).empty()) return wrong(word);
  out.is_from = is_word(word, "from");
  const std::string_view what = scanner.before(word);
  std::string_view place = scanner.next();
  if (place.empty()) return wrong("");
  const std::string standard = out.is_from ? "stdin" : "stdout";
  if (is_word(place, "program")) {
    place = scanner.next();
    if (place.size() < 2 || place.front() != '\'' || place.back() != '\'') return wrong(place);
    out.place = SlashCopy::Place::kProgram;
    out.file = unquoted(place);
  } else if (is_word(place, standard)) {
    out.place = SlashCopy::Place::kScript;
  } else if (is_word(place, "p" + standard)) {
    out.place = SlashCopy::Place::kTerminal;
  } else {
    out.file = unquoted(place);
  }
  out.sql = "COPY " + std::string(what) + (out.is_from ? "FROM STDIN " : "TO STDOUT ") + std::string(scanner.rest());
  return out;
}

}  // namespace scyper::client
