#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

// PostgreSQL's tsvector: the distinct lexemes of a document in the order of their bytes, each with its positions.
namespace scyper::query {

constexpr size_t kLexemeBytesMax = 2047;          // of one lexeme
constexpr size_t kVectorBytesMax = 1 << 20;       // of all lexemes of a vector
constexpr size_t kPositionsMax = 256;             // of one lexeme
constexpr uint16_t kPositionMax = (1 << 14) - 1;  // greater positions are kept as this one

// Where a lexeme stands in its document: the position in 14 bits, its weight (0 = D to 3 = A) above them.
struct LexemePosition {
  uint16_t bits = 0;

  static LexemePosition at(int64_t position, int weight);
  uint16_t position() const { return bits & kPositionMax; }
  int weight() const { return bits >> 14; }
  friend bool operator==(const LexemePosition&, const LexemePosition&) = default;
};

struct Lexeme {
  std::string word;
  std::vector<LexemePosition> positions;  // ascending; empty: not known
};

struct TextVector {
  std::vector<Lexeme> lexemes;  // ascending by word, each word once

  // The lexemes from `first` on that are the word, or begin with it.
  std::pair<size_t, size_t> find(std::string_view word, bool is_prefix) const;
};

// Sorts the lexemes, unites equal ones and cuts their positions to what a vector keeps.
void normalise(TextVector* vector);
// 54000 where the vector is too large.
Status check_size(const TextVector& vector);

Status text_vector_parse(std::string_view text, TextVector* out);
std::string text_vector_text(const TextVector& vector);
// The normal form (ordered_bytes.h). Its order is PostgreSQL's: by size in PostgreSQL's format, number of lexemes, and
// then lexeme by lexeme.
std::string bytes_of_text_vector(const TextVector& vector);
TextVector text_vector_of_bytes(std::string_view bytes);
Status text_vector_receive(std::string_view sent, TextVector* out);
void text_vector_send(std::string* out, const TextVector& vector);

// Reads words as tsvector's input does, for tsvector and tsquery.
class LexemeScanner {
 public:
  enum class Form : uint8_t { kVector, kQuery, kWebQuery };

  LexemeScanner(std::string_view text, Form form) : text_(text), form_(form) {}
  // *found false: nothing but blanks is left. `positions` is nullptr for queries.
  Status next(std::string* word, std::vector<LexemePosition>* positions, bool* found);
  size_t offset() const { return at_; }
  void seek(size_t offset) { at_ = offset; }

 private:
  bool at_end() const { return at_ >= text_.size(); }
  char now() const { return at_end() ? '\0' : text_[at_]; }
  bool at_delimiter() const;
  void take(std::string* word);
  Status syntax_error() const;
  Status read_escaped(std::string* word);
  Status read_quoted(std::string* word);
  Status read_plain(std::string* word);
  Status read_positions(std::vector<LexemePosition>* positions);

  std::string_view text_;
  Form form_;
  size_t at_ = 0;
};

// 'A' to 'D' in either case: 3 to 0; else -1.
int weight_of(char letter);
// 'word' as both types print it.
void append_quoted_lexeme(std::string* out, std::string_view word);

}  // namespace scyper::query
