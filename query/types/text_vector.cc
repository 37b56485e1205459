#include "types/text_vector.h"

#include <algorithm>

#include "base/bounded_work.h"
#include "types/big_endian.h"
#include "types/digits.h"
#include "types/text.h"
#include "types/value_error.h"

namespace scyper::query {

LexemePosition LexemePosition::at(int64_t position, int weight) {
  const auto kept = static_cast<uint16_t>(std::min<int64_t>(position, kPositionMax));
  return {static_cast<uint16_t>(kept | weight << 14)};
}

std::pair<size_t, size_t> TextVector::find(std::string_view word, bool is_prefix) const {
  const auto first = std::lower_bound(lexemes.begin(), lexemes.end(), word,
                                      [](const Lexeme& lexeme, std::string_view w) { return lexeme.word < w; });
  auto end = first;
  while (end != lexemes.end() && (is_prefix ? end->word.starts_with(word) : end->word == word)) ++end;
  return {static_cast<size_t>(first - lexemes.begin()), static_cast<size_t>(end - first)};
}

namespace {

// Ascending, each position once with its greatest weight.
void normalise_positions(std::vector<LexemePosition>* positions) {
  std::sort(positions->begin(), positions->end(),
            [](LexemePosition a, LexemePosition b) { return a.position() < b.position(); });
  std::vector<LexemePosition> kept;
  for (const LexemePosition next : *positions) {
    if (!kept.empty() && kept.back().position() == next.position()) {
      kept.back().bits = std::max(kept.back().bits, next.bits);
      continue;
    }
    if (kept.size() >= kPositionsMax || (!kept.empty() && kept.back().position() == kPositionMax)) break;
    kept.push_back(next);
  }
  *positions = std::move(kept);
}

size_t even(size_t size) { return size + size % 2; }

// Bytes of the lexemes and positions in PostgreSQL's format.
size_t content_size(const TextVector& vector) {
  size_t size = 0;
  for (const Lexeme& lexeme : vector.lexemes) {
    size += lexeme.word.size();
    if (!lexeme.positions.empty()) size = even(size) + (lexeme.positions.size() + 1) * sizeof(uint16_t);
  }
  return size;
}

Status too_long(size_t size, size_t most) {
  return sql_error("54000", "string is too long for tsvector (" + std::to_string(size) + " bytes, max " +
                                std::to_string(most) + " bytes)");
}

}  // namespace

void normalise(TextVector* vector) {
  auto& lexemes = vector->lexemes;
  std::sort(lexemes.begin(), lexemes.end(), [](const Lexeme& a, const Lexeme& b) { return a.word < b.word; });
  size_t count = 0;
  for (size_t i = 0; i < lexemes.size(); ++i) {
    poll_work();
    if (count > 0 && lexemes[count - 1].word == lexemes[i].word) {
      auto& positions = lexemes[count - 1].positions;
      positions.insert(positions.end(), lexemes[i].positions.begin(), lexemes[i].positions.end());
      continue;
    }
    if (count != i) lexemes[count] = std::move(lexemes[i]);
    ++count;
  }
  lexemes.resize(count);
  for (Lexeme& lexeme : lexemes) normalise_positions(&lexeme.positions);
}

Status check_size(const TextVector& vector) {
  const size_t size = content_size(vector);
  return size > kVectorBytesMax ? too_long(size, kVectorBytesMax) : absl::OkStatus();
}

int weight_of(char letter) {
  const char upper = static_cast<char>(letter & ~0x20);
  return upper >= 'A' && upper <= 'D' ? 'D' - upper : -1;
}

void append_quoted_lexeme(std::string* out, std::string_view word) {
  *out += '\'';
  for (const char c : word) {
    if (c == '\'' || c == '\\') *out += c;
    *out += c;
  }
  *out += '\'';
}

// --- input and output ---

bool LexemeScanner::at_delimiter() const {
  if (at_end() || is_space(now())) return true;
  if (form_ == Form::kVector) return false;
  return std::string_view("!&|()<").find(now()) != std::string_view::npos || (form_ == Form::kWebQuery && now() == '"');
}

void LexemeScanner::take(std::string* word) {
  const size_t size = std::min(character_size(now()), text_.size() - at_);
  word->append(text_.substr(at_, size));
  at_ += size;
}

Status LexemeScanner::syntax_error() const {
  return sql_error("42601", std::string("syntax error in ") + (form_ == Form::kVector ? "tsvector" : "tsquery") +
                                ": \"" + std::string(text_) + "\"");
}

Status LexemeScanner::read_escaped(std::string* word) {
  ++at_;
  if (at_end()) return sql_error("42601", "there is no escaped character: \"" + std::string(text_) + "\"");
  take(word);
  return absl::OkStatus();
}

Status LexemeScanner::read_quoted(std::string* word) {
  ++at_;
  while (true) {
    if (at_end()) return syntax_error();
    if (now() == '\\') {
      SCYPER_RETURN_IF_ERROR(read_escaped(word));
    } else if (now() != '\'') {
      take(word);
    } else {
      ++at_;
      if (now() != '\'') break;
      take(word);
    }
  }
  return word->empty() ? syntax_error() : absl::OkStatus();
}

Status LexemeScanner::read_plain(std::string* word) {
  bool is_first = true;  // a colon is no delimiter there
  while (true) {
    if (form_ != Form::kWebQuery && now() == '\\' && !at_end()) {
      SCYPER_RETURN_IF_ERROR(read_escaped(word));
    } else if (at_delimiter() || (now() == ':' && !is_first)) {
      return word->empty() ? syntax_error() : absl::OkStatus();
    } else {
      take(word);
    }
    is_first = false;
  }
}

Status LexemeScanner::read_positions(std::vector<LexemePosition>* positions) {
  do {
    ++at_;  // the colon or comma
    if (!is_digit(now())) return syntax_error();
    int64_t position = 0;
    for (; is_digit(now()); ++at_) position = std::min<int64_t>(position * 10 + (now() - '0'), INT32_MAX);
    if (position == 0) return sql_error("42601", "wrong position info in tsvector: \"" + std::string(text_) + "\"");
    int weight = 0;
    for (; !at_end() && now() != ',' && !is_space(now()); ++at_) {
      const int given = now() == '*' ? 3 : weight_of(now());
      if (is_digit(now())) continue;
      if (given < 0 || weight != 0) return syntax_error();
      weight = given;
    }
    positions->push_back(LexemePosition::at(position, weight));
  } while (now() == ',');
  return absl::OkStatus();
}

Status LexemeScanner::next(std::string* word, std::vector<LexemePosition>* positions, bool* found) {
  word->clear();
  while (!at_end() && is_space(now())) ++at_;
  *found = !at_end();
  if (!*found) return absl::OkStatus();
  if (form_ != Form::kWebQuery && now() == '\'') {
    SCYPER_RETURN_IF_ERROR(read_quoted(word));
  } else {
    if (form_ != Form::kVector && at_delimiter()) return syntax_error();
    SCYPER_RETURN_IF_ERROR(read_plain(word));
  }
  return positions != nullptr && now() == ':' ? read_positions(positions) : absl::OkStatus();
}

Status text_vector_parse(std::string_view text, TextVector* out) {
  LexemeScanner scanner(text, LexemeScanner::Form::kVector);
  size_t size = 0;
  while (true) {
    poll_work();
    Lexeme lexeme;
    bool found = false;
    SCYPER_RETURN_IF_ERROR(scanner.next(&lexeme.word, &lexeme.positions, &found));
    if (!found) break;
    if (lexeme.word.size() > kLexemeBytesMax)
      return sql_error("54000", "word is too long (" + std::to_string(lexeme.word.size()) + " bytes, max " +
                                    std::to_string(kLexemeBytesMax) + " bytes)");
    if (size > kVectorBytesMax) return too_long(size, kVectorBytesMax);
    size += lexeme.word.size();
    out->lexemes.push_back(std::move(lexeme));
  }
  normalise(out);
  return check_size(*out);
}

std::string text_vector_text(const TextVector& vector) {
  std::string text;
  for (const Lexeme& lexeme : vector.lexemes) {
    if (!text.empty()) text += ' ';
    append_quoted_lexeme(&text, lexeme.word);
    char before = ':';
    for (const LexemePosition position : lexeme.positions) {
      text += before;
      text += std::to_string(position.position());
      if (position.weight() > 0) text += static_cast<char>('D' - position.weight());
      before = ',';
    }
  }
  return text;
}

// --- the normal form ---

namespace {
constexpr size_t kHeaderBytes = 8, kEntryBytes = 4;  // of PostgreSQL's format
// Positions come first, more positions before fewer ones, greater before smaller ones: all are kept inverted.
constexpr char kWithPositions = 0, kWithoutPositions = 1;

uint16_t inverted(uint16_t value) { return static_cast<uint16_t>(~value); }
uint16_t in_order(LexemePosition position) {  // the position before the weight
  return inverted(static_cast<uint16_t>(position.position() << 2 | position.weight()));
}
LexemePosition of_order(uint16_t kept) {
  const uint16_t bits = inverted(kept);
  return LexemePosition::at(bits >> 2, bits & 3);
}
}  // namespace

std::string bytes_of_text_vector(const TextVector& vector) {
  std::string bytes;
  const size_t count = vector.lexemes.size();
  append_big_endian(&bytes, kHeaderBytes + kEntryBytes * count + content_size(vector), 4);
  append_big_endian(&bytes, count, 4);
  for (const Lexeme& lexeme : vector.lexemes) {
    bytes += lexeme.positions.empty() ? kWithoutPositions : kWithPositions;
    bytes += lexeme.word;
    bytes += '\0';
    if (lexeme.positions.empty()) continue;
    append_big_endian(&bytes, inverted(static_cast<uint16_t>(lexeme.positions.size())), 2);
    for (const LexemePosition position : lexeme.positions) append_big_endian(&bytes, in_order(position), 2);
  }
  return bytes;
}

TextVector text_vector_of_bytes(std::string_view bytes) {
  TextVector vector;
  if (bytes.size() < kHeaderBytes) return vector;
  bytes.remove_prefix(4);
  vector.lexemes.reserve(std::min<size_t>(big_endian_of(bytes.substr(0, 4)), bytes.size()));
  bytes.remove_prefix(4);
  const auto take = [&] {
    const auto value = static_cast<uint16_t>(big_endian_of(bytes.substr(0, 2)));
    bytes.remove_prefix(2);
    return value;
  };
  while (!bytes.empty()) {
    const bool has_positions = bytes.front() == kWithPositions;
    Lexeme lexeme;
    lexeme.word = bytes.substr(1, bytes.find('\0', 1) - 1);
    bytes.remove_prefix(std::min(bytes.size(), lexeme.word.size() + 2));
    if (has_positions && bytes.size() >= 2) {
      for (size_t count = inverted(take()); count > 0 && bytes.size() >= 2; --count)
        lexeme.positions.push_back(of_order(take()));
    }
    vector.lexemes.push_back(std::move(lexeme));
  }
  return vector;
}

// --- PostgreSQL's binary format ---

Status text_vector_receive(std::string_view sent, TextVector* out) {
  const auto malformed = [](const char* message) { return sql_error("XX000", message); };
  const auto too_short = [] { return sql_error("08P01", "insufficient data left in message"); };
  if (sent.size() < 4) return too_short();
  const uint64_t count = big_endian_of(sent.substr(0, 4));
  if (count > INT32_MAX / kEntryBytes) return malformed("invalid size of tsvector");
  sent.remove_prefix(4);
  for (uint64_t i = 0; i < count; ++i) {
    Lexeme lexeme;
    const size_t size = sent.find('\0');
    if (size == std::string_view::npos) return sql_error("08P01", "invalid string in message");
    if (size > kLexemeBytesMax) return malformed("invalid tsvector: lexeme too long");
    lexeme.word = sent.substr(0, size);
    std::string_view wrong;
    if (utf8_check(lexeme.word, &wrong) != ValueError::kNone) return error_status(ValueError::kInvalidUtf8, {}, wrong);
    sent.remove_prefix(size + 1);
    if (sent.size() < 2) return too_short();
    uint64_t positions = big_endian_of(sent.substr(0, 2));
    if (positions > kPositionsMax) return malformed("unexpected number of tsvector positions");
    sent.remove_prefix(2);
    if (sent.size() < positions * 2) return too_short();
    for (; positions > 0; --positions, sent.remove_prefix(2)) {
      lexeme.positions.push_back({static_cast<uint16_t>(big_endian_of(sent.substr(0, 2)))});
      const auto& all = lexeme.positions;
      if (all.size() > 1 && all.back().position() <= all[all.size() - 2].position())
        return malformed("position information is misordered");
    }
    out->lexemes.push_back(std::move(lexeme));
  }
  if (!sent.empty()) return sql_error("22P03", "incorrect binary data format");
  normalise(out);
  return check_size(*out);
}

void text_vector_send(std::string* out, const TextVector& vector) {
  append_big_endian(out, vector.lexemes.size(), 4);
  for (const Lexeme& lexeme : vector.lexemes) {
    *out += lexeme.word;
    *out += '\0';
    append_big_endian(out, lexeme.positions.size(), 2);
    for (const LexemePosition position : lexeme.positions) append_big_endian(out, position.bits, 2);
  }
}

}  // namespace scyper::query
