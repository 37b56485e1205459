#include "types/text_parser.h"

#include <algorithm>
#include <string>

#include "types/digits.h"
#include "types/text.h"

namespace scyper::query {

namespace {

constexpr TokenTypeInfo kTokenTypes[] = {
    {TokenType::kAsciiWord, "asciiword", "Word, all ASCII"},
    {TokenType::kWord, "word", "Word, all letters"},
    {TokenType::kNumWord, "numword", "Word, letters and digits"},
    {TokenType::kEmail, "email", "Email address"},
    {TokenType::kUrl, "url", "URL"},
    {TokenType::kHost, "host", "Host"},
    {TokenType::kScientific, "sfloat", "Scientific notation"},
    {TokenType::kVersion, "version", "Version number"},
    {TokenType::kNumPart, "hword_numpart", "Hyphenated word part, letters and digits"},
    {TokenType::kWordPart, "hword_part", "Hyphenated word part, all letters"},
    {TokenType::kAsciiPart, "hword_asciipart", "Hyphenated word part, all ASCII"},
    {TokenType::kBlank, "blank", "Space symbols"},
    {TokenType::kTag, "tag", "XML tag"},
    {TokenType::kProtocol, "protocol", "Protocol head"},
    {TokenType::kNumHyphenated, "numhword", "Hyphenated word, letters and digits"},
    {TokenType::kAsciiHyphenated, "asciihword", "Hyphenated word, all ASCII"},
    {TokenType::kHyphenated, "hword", "Hyphenated word, all letters"},
    {TokenType::kUrlPath, "url_path", "URL path"},
    {TokenType::kFile, "file", "File or path name"},
    {TokenType::kDecimal, "float", "Decimal notation"},
    {TokenType::kInteger, "int", "Signed integer"},
    {TokenType::kUnsigned, "uint", "Unsigned integer"},
    {TokenType::kEntity, "entity", "XML entity"},
};

constexpr bool is_ascii_letter(char c) { return (c | 0x20) >= 'a' && (c | 0x20) <= 'z' && (c & 0x80) == 0; }
constexpr bool is_letter(char c) { return is_ascii_letter(c) || (c & 0x80) != 0; }
constexpr bool is_alnum(char c) { return is_letter(c) || is_digit(c); }
constexpr bool is_ascii_alnum(char c) { return is_ascii_letter(c) || is_digit(c); }
constexpr bool is_hex(char c) { return is_digit(c) || ((c | 0x20) >= 'a' && (c | 0x20) <= 'f'); }
constexpr bool is_name(char c) { return is_ascii_alnum(c) || c == '_'; }  // of files
constexpr bool is_one_of(char c, std::string_view set) { return set.find(c) != std::string_view::npos; }
constexpr bool is_url_character(char c) { return c > ' ' && c <= '~' && !is_one_of(c, "\"<>\\^`{|}"); }

}  // namespace

std::span<const TokenTypeInfo> token_types() { return kTokenTypes; }

size_t TextParser::skip_digits(size_t i) const {
  while (is_digit(at(i))) ++i;
  return i;
}
size_t TextParser::skip_url_path(size_t i) const {
  while (is_url_character(at(i))) ++i;
  return i;
}

bool TextParser::next(TextToken* token) {
  if (at_ >= text_.size()) return false;
  Found found;
  const Mode mode = mode_;
  mode_ = Mode::kAny;
  if (mode == Mode::kUrlPath) {
    found = {skip_url_path(at_ + 1), TokenType::kUrlPath};
  } else if (const Maybe one = mode == Mode::kPart ? part() : std::nullopt) {
    found = *one;
    mode_ = Mode::kPart;
  } else {
    found = any_token();
  }
  *token = {found.type, text_.substr(at_, found.end - at_)};
  switch (found.type) {
    case TokenType::kUrl:
      wants_host_ = true;
      return true;
    case TokenType::kNumHyphenated:
    case TokenType::kAsciiHyphenated:
    case TokenType::kHyphenated:
      mode_ = Mode::kPart;
      return true;
    default:
      at_ = found.end;
      return true;
  }
}

TextParser::Found TextParser::any_token() {
  const size_t i = at_;
  const char c = at(i);
  Maybe found;
  if (c == '<') found = tag(i + 1);
  if (found) return *found;
  if (is_ignoring_) return blank(i);
  if (is_ascii_letter(c)) return ascii_word(i + 1);
  if (is_letter(c)) return word(i + 1);
  if (is_digit(c)) return unsigned_number(i + 1);
  if (c == '-' || c == '+') found = signed_number(i + 1);
  if (c == '&') found = entity(i + 1);
  if (c == '~') found = file_from_home(i + 1);
  if (c == '/') found = file_after_slash(i + 1);
  if (c == '.') found = file_from_dots(i + 1);
  return found ? *found : blank(i);
}

TextParser::Found TextParser::blank(size_t i) const {
  for (++i; !is_end(i) && at(i) != '<'; ++i)
    if (!is_ignoring_ && (is_one_of(at(i), "-+&/") || is_alnum(at(i)))) break;
  return {i, TokenType::kBlank};
}

// --- words ---

TextParser::Found TextParser::ascii_word(size_t i) {
  while (is_ascii_letter(at(i))) ++i;
  if (is_digit(at(i))) {
    const Maybe found = host(i + 1);
    return found ? *found : num_word(i + 1);
  }
  if (is_letter(at(i))) return word(i + 1);
  const Maybe found = word_with_sign(i);
  return found ? *found : Found{i, TokenType::kAsciiWord};
}

// What a word of ASCII letters may turn out to be by the sign behind it.
TextParser::Maybe TextParser::word_with_sign(size_t i) {
  Maybe found;
  switch (at(i)) {
    case '.':
      found = host_after_dot(i + 1);
      return found ? found : file_after_dot(i + 1);
    case '-':
      found = host_after_sign(i + 1);
      return found ? found : hyphenated(i + 1, HyphenState::kAscii);
    case '_':
      return host_after_sign(i + 1);
    case '@':
      return email(i + 1);
    case ':':
      return protocol(i + 1);
    case '/':
      return file_after_slash(i + 1);
    default:
      return found;
  }
}

TextParser::Found TextParser::word(size_t i) {
  while (is_letter(at(i))) ++i;
  if (is_digit(at(i))) return num_word(i + 1);
  const Maybe found = at(i) == '-' ? hyphenated(i + 1, HyphenState::kWord) : std::nullopt;
  return found ? *found : Found{i, TokenType::kWord};
}

TextParser::Found TextParser::num_word(size_t i) {
  while (is_alnum(at(i))) ++i;
  Maybe found;
  if (at(i) == '@') found = email(i + 1);
  if (at(i) == '/') found = file_after_slash(i + 1);
  if (at(i) == '.') found = file_after_dot(i + 1);
  if (at(i) == '-') found = hyphenated(i + 1, HyphenState::kNum);
  return found ? *found : Found{i, TokenType::kNumWord};
}

// Behind a hyphen. The word ends before a hyphen that no word follows.
TextParser::Maybe TextParser::hyphenated(size_t i, HyphenState state) const {
  Maybe found;
  while (true) {
    const bool is_ascii = state == HyphenState::kAscii;
    if (is_digit(at(i))) {  // no number alone
      i = skip_digits(i);
      if (!is_letter(at(i))) return found;
      state = HyphenState::kNum;
    } else if (!is_letter(at(i))) {
      return found;
    } else if (is_ascii && !is_ascii_letter(at(i))) {
      state = HyphenState::kWord;
    }
    for (; is_alnum(at(i)); ++i) {
      if (is_digit(at(i)))
        state = HyphenState::kNum;
      else if (state == HyphenState::kAscii && !is_ascii_letter(at(i)))
        state = HyphenState::kWord;
    }
    found = {i, state == HyphenState::kAscii  ? TokenType::kAsciiHyphenated
                : state == HyphenState::kWord ? TokenType::kHyphenated
                                              : TokenType::kNumHyphenated};
    if (at(i) != '-') return found;
    ++i;
  }
}

// A part of a word with hyphens, or a hyphen between two.
TextParser::Maybe TextParser::part() {
  size_t i = at_;
  if (at(i) == '-') return is_alnum(at(i + 1)) ? Maybe({i + 1, TokenType::kBlank}) : std::nullopt;
  TokenType type = TokenType::kAsciiPart;
  if (is_digit(at(i))) {
    i = skip_digits(i);
    type = TokenType::kNumPart;
  }
  if (!is_letter(at(i))) return std::nullopt;
  for (; is_alnum(at(i)); ++i) {
    if (is_digit(at(i)))
      type = TokenType::kNumPart;
    else if (type == TokenType::kAsciiPart && !is_ascii_letter(at(i)))
      type = TokenType::kWordPart;
  }
  return Maybe({i, type});
}

// --- numbers ---

TextParser::Found TextParser::unsigned_number(size_t i) {
  i = skip_digits(i);
  const char c = at(i);
  Maybe found;
  if (c == '.') {
    found = host_after_dot(i + 1);
    if (!found) found = decimal(i + 1, false);
  } else if (c == 'e' || c == 'E') {
    found = mantissa(i + 1);
  } else if (c == '-' || c == '_') {
    found = host_after_sign(i + 1);
  } else if (c == '@') {
    found = email(i + 1);
  } else if (c == '/') {
    found = file_after_slash(i + 1);
  }
  if (!found && is_ascii_letter(c)) found = host(i + 1);
  if (!found && is_letter(c)) return num_word(i + 1);
  return found ? *found : Found{i, TokenType::kUnsigned};
}

TextParser::Maybe TextParser::signed_number(size_t i) const {
  if (!is_digit(at(i))) return std::nullopt;
  i = skip_digits(i);
  Maybe found;
  if (at(i) == '.') found = decimal(i + 1, true);
  if (at(i) == 'e' || at(i) == 'E') found = mantissa(i + 1);
  return found ? found : Maybe({i, TokenType::kInteger});
}

// Behind the point. A second point makes it a version, unless it has a sign.
TextParser::Maybe TextParser::decimal(size_t i, bool is_signed) const {
  if (!is_digit(at(i))) return std::nullopt;
  i = skip_digits(i);
  TokenType type = TokenType::kDecimal;
  while (!is_signed && at(i) == '.' && is_digit(at(i + 1))) {
    i = skip_digits(i + 1);
    type = TokenType::kVersion;
  }
  Maybe found;
  if (type == TokenType::kDecimal && (at(i) == 'e' || at(i) == 'E')) found = mantissa(i + 1);
  return found ? found : Maybe({i, type});
}

TextParser::Maybe TextParser::mantissa(size_t i) const {
  if (at(i) == '+' || at(i) == '-') ++i;
  if (!is_digit(at(i))) return std::nullopt;
  return Maybe({skip_digits(i), TokenType::kScientific});
}

// --- hosts, addresses, files ---

TextParser::Maybe TextParser::host(size_t i) { return host_from(i, HostState::kName); }
TextParser::Maybe TextParser::host_after_dot(size_t i) { return host_from(i, HostState::kDotted); }
TextParser::Maybe TextParser::host_after_sign(size_t i) { return host_from(i, HostState::kSign); }

// A host ends in a domain of two letters or more. Where what follows the domain is no part of a host, it ends there.
TextParser::Maybe TextParser::host_from(size_t i, HostState state) {
  std::optional<size_t> end;
  const auto ended = [&]() { return end ? Maybe(end_of_host(*end)) : std::nullopt; };
  for (;; ++i) {
    const char c = at(i);
    if (state == HostState::kDotted || state == HostState::kSign) {
      if (!is_ascii_alnum(c)) return ended();
      const bool may_be_domain = state == HostState::kDotted && is_ascii_letter(c);
      state = may_be_domain ? HostState::kDomainStart : HostState::kName;
      continue;
    }
    if (is_ascii_letter(c) && state != HostState::kName) {
      state = HostState::kDomain;
      continue;
    }
    if (state == HostState::kDomain && !is_digit(c)) end = i;
    if (is_ascii_alnum(c))
      state = HostState::kName;
    else if (c == '.')
      state = HostState::kDotted;
    else if (c == '-' || c == '_')
      state = HostState::kSign;
    else {
      const Maybe address = c == '@' ? email(i + 1) : std::nullopt;
      return address ? address : ended();
    }
  }
}

// Behind a domain: a port, and the path of a URL.
TextParser::Found TextParser::end_of_host(size_t i) {
  if (at(i) == ':' && is_digit(at(i + 1))) i = skip_digits(i + 1);
  if (wants_host_) {
    wants_host_ = false;
    mode_ = Mode::kUrlPath;
    return {i, TokenType::kHost};
  }
  if (at(i) == '/' && is_url_character(at(i + 1))) return {skip_url_path(i + 1), TokenType::kUrl};
  return {i, TokenType::kHost};
}

TextParser::Maybe TextParser::email(size_t i) const {
  if (wants_host_ || is_end(i)) return std::nullopt;
  TextParser behind(text_.substr(i));
  behind.wants_host_ = true;
  const Found found = behind.any_token();
  if (found.type != TokenType::kHost) return std::nullopt;
  return Maybe({i + found.end, TokenType::kEmail});
}

TextParser::Maybe TextParser::protocol(size_t i) const {
  if (at(i) != '/' || at(i + 1) != '/') return std::nullopt;
  return Maybe({i + 2, TokenType::kProtocol});
}

TextParser::Maybe TextParser::file_after_slash(size_t i) const { return file(i, FileState::kSlash); }
TextParser::Maybe TextParser::file_after_dot(size_t i) const {
  return is_name(at(i)) ? file(i + 1, FileState::kName) : std::nullopt;
}
TextParser::Maybe TextParser::file_from_home(size_t i) const {
  if (at(i) == '/') return file(i + 1, FileState::kSlash);
  return file_after_dot(i);
}
TextParser::Maybe TextParser::file_from_dots(size_t i) const {
  if (at(i) == '.') return file(i + 1, FileState::kDots);
  return at(i) == '/' ? file(i + 1, FileState::kSlash) : std::nullopt;
}

TextParser::Maybe TextParser::file(size_t i, FileState state) const {
  Maybe found;
  for (;; ++i) {
    const char c = at(i);
    switch (state) {
      case FileState::kSlash:
      case FileState::kDot:
        if (is_name(c))
          state = FileState::kName;
        else if (c == '.')
          state = state == FileState::kSlash ? FileState::kDot : FileState::kDots;
        else if (c == '/' && state == FileState::kDot)
          state = FileState::kSlash;
        else if (c == '~' && state == FileState::kSlash && (is_name(at(i + 1)) || at(i + 1) == '/'))
          state = at(++i) == '/' ? FileState::kSlash : FileState::kName;
        else
          return found;
        break;
      case FileState::kDots:
        if (!is_end(i) && c != '/' && !is_space(c)) return found;
        found = {i, TokenType::kFile};
        if (c != '/') return found;
        state = FileState::kSlash;
        break;
      case FileState::kName:
        if (is_name(c) || c == '-' || (c == '.' && is_name(at(i + 1)))) break;
        found = {i, TokenType::kFile};
        if (c != '/') return found;
        state = FileState::kSlash;
        break;
    }
  }
}

// --- markup ---

TextParser::Maybe TextParser::entity(size_t i) const {
  const auto ended = [&]() { return at(i) == ';' ? Maybe({i + 1, TokenType::kEntity}) : std::nullopt; };
  if (at(i) == '#') {
    ++i;
    const bool is_hexadecimal = (at(i) | 0x20) == 'x';
    if (is_hexadecimal) ++i;
    const size_t first = i;
    while (is_hexadecimal ? is_hex(at(i)) : is_digit(at(i))) ++i;
    return i == first ? std::nullopt : ended();
  }
  if (!is_ascii_letter(at(i)) && at(i) != ':' && at(i) != '_') return std::nullopt;
  while (is_alnum(at(i)) || is_one_of(at(i), ":_.-")) ++i;
  return ended();
}

// Behind <.
TextParser::Maybe TextParser::tag(size_t i) {
  if (at(i) == '!') return comment(i + 1);
  if (at(i) == '?') return (at(i + 1) | 0x20) == 'x' ? tag_rest(i + 2) : std::nullopt;
  const bool closes = at(i) == '/';
  if (closes) ++i;
  if (!is_ascii_letter(at(i)) && (closes || !is_one_of(at(i), ":_") || is_end(i))) return std::nullopt;
  while (!is_end(i) && (is_alnum(at(i)) || is_one_of(at(i), ":_.-"))) ++i;
  if (at(i) == '/') return at(i + 1) == '>' ? Maybe({i + 2, TokenType::kTag}) : std::nullopt;
  if (at(i) != '>' && !is_space(at(i))) return std::nullopt;
  note_tag(i);
  return tag_rest(i);
}

// The text of scripts and styles is no text.
void TextParser::note_tag(size_t end) {
  std::string lower;
  for (const char c : text_.substr(at_, std::min<size_t>(end - at_, 9))) lower += is_ascii_letter(c) ? c | 0x20 : c;
  if (lower == "<script" || lower == "<style") is_ignoring_ = true;
  if (lower == "</script" || lower == "</style") is_ignoring_ = false;
}

TextParser::Maybe TextParser::tag_rest(size_t i) const {
  char quote = '\0';
  for (; !is_end(i); ++i) {
    const char c = at(i);
    if (quote != '\0') {
      if (c == '\\')
        i += character_size(at(i + 1));
      else if (c == quote)
        quote = '\0';
    } else if (c == '>') {
      return Maybe({i + 1, TokenType::kTag});
    } else if (c == '\'' || c == '"') {
      quote = c;
    } else if (!is_ascii_alnum(c) && !is_space(c) && !is_one_of(c, "=-_#/:.&?%~")) {
      return std::nullopt;
    }
  }
  return std::nullopt;
}

// Behind <!.
TextParser::Maybe TextParser::comment(size_t i) const {
  if ((at(i) | 0x20) == 'd') return tag_rest(i + 1);
  if (at(i) != '-' || at(i + 1) != '-') return std::nullopt;
  const size_t end = text_.find("-->", i + 2);
  return end == std::string_view::npos ? std::nullopt : Maybe({end + 3, TokenType::kTag});
}

}  // namespace scyper::query
