#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "types/text_configuration.h"
#include "types/text_query.h"
#include "types/text_vector.h"

// Documents and queries of texts: to_tsvector() and to_tsquery() and their kin.
namespace scyper::query {

// Collects the lexemes of a document, which may consist of several texts.
class DocumentReader {
 public:
  struct Word {
    std::string lexeme;
    size_t position;  // from 1
  };

  explicit DocumentReader(const TextConfiguration& configuration) : configuration_(configuration) {}
  void read(std::string_view text);
  // Words of the next text are no neighbours of those before.
  void begin_text() { position_ += words_.size() > words_before_ ? 1 : 0, words_before_ = words_.size(); }
  const std::vector<Word>& words() const { return words_; }
  size_t ignored() const { return ignored_; }  // words that are too long
  Status finish(TextVector* out) const;

 private:
  const TextConfiguration& configuration_;
  std::vector<Word> words_;
  size_t position_ = 0, words_before_ = 0, ignored_ = 0;
};

enum class QueryReading : uint8_t { kExpression, kPlain, kPhrase, kWeb };
Status read_query(const TextConfiguration& configuration, std::string_view text, QueryReading reading, TextQuery* out);

}  // namespace scyper::query
