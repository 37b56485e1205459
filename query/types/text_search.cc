#include "types/text_search.h"

#include <algorithm>

#include "base/bounded_work.h"

namespace scyper::query {

void DocumentReader::read(std::string_view text) {
  TextParser parser(text);
  TextToken token;
  while (parser.next(&token)) {
    poll_work();
    const TextDictionary* dictionary = configuration_.dictionary(token.type);
    if (dictionary == nullptr) continue;
    if (token.text.size() > kLexemeBytesMax) {
      ++ignored_;
      continue;
    }
    ++position_;
    std::string lexeme = lexeme_of(*dictionary, token.text);
    if (!lexeme.empty()) words_.push_back({std::move(lexeme), position_});
  }
}

Status DocumentReader::finish(TextVector* out) const {
  constexpr size_t kDocumentPositionsMax = kPositionsMax - 1;
  for (const Word& word : words_)
    out->lexemes.push_back({word.lexeme, {LexemePosition::at(static_cast<int64_t>(word.position), 0)}});
  normalise(out);
  for (Lexeme& lexeme : out->lexemes)
    if (lexeme.positions.size() > kDocumentPositionsMax) lexeme.positions.resize(kDocumentPositionsMax);
  return check_size(*out);
}

namespace {

// The lexemes of a word of the query, which may be several. Stop words among them keep their places.
Status push_lexemes(const TextConfiguration& configuration, QueryOp connection, QueryBuilder* builder,
                    std::string_view word, uint8_t weights, bool is_prefix) {
  DocumentReader reader(configuration);
  reader.read(word);
  if (reader.words().empty()) {
    builder->push_stop();
    return absl::OkStatus();
  }
  size_t position = 0, count = 0;
  const auto connect = [&] {
    if (count++ > 0) builder->push_operator(connection, 1);
  };
  for (const DocumentReader::Word& next : reader.words()) {
    for (; position > 0 && position + 1 < next.position; ++position) {
      builder->push_stop();
      connect();
    }
    position = next.position;
    SCYPER_RETURN_IF_ERROR(builder->push_value(next.lexeme, weights, is_prefix));
    connect();
  }
  return absl::OkStatus();
}

}  // namespace

Status read_query(const TextConfiguration& configuration, std::string_view text, QueryReading reading, TextQuery* out) {
  const QueryOp connection = reading == QueryReading::kPlain ? QueryOp::kAnd : QueryOp::kPhrase;
  const PushWord push = [&](QueryBuilder* builder, std::string_view word, uint8_t weights, bool is_prefix) {
    return push_lexemes(configuration, connection, builder, word, weights, is_prefix);
  };
  const QuerySyntax syntax = reading == QueryReading::kExpression ? QuerySyntax::kStandard
                             : reading == QueryReading::kWeb      ? QuerySyntax::kWeb
                                                                  : QuerySyntax::kPlain;
  TextQuery query;
  SCYPER_RETURN_IF_ERROR(text_query_parse(text, syntax, push, &query));
  *out = clean_stop_words(query);
  return absl::OkStatus();
}

}  // namespace scyper::query
