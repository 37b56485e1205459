#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "types/text_parser.h"

// PostgreSQL's text search configurations and dictionaries: simple, and those of Snowball's stemmers.
namespace scyper::query {

// Makes lexemes of tokens.
struct TextDictionary {
  std::string_view name;  // "english_stem"
  int64_t oid;
  std::string_view language;            // of Snowball; empty: words stay but for their case
  std::string_view stop_words() const;  // the name of the list; empty: none
};

struct TextConfiguration {
  std::string_view name;
  int64_t oid;
  const TextDictionary* words;        // for words with letters beyond ASCII
  const TextDictionary* ascii_words;  // for the others
  const TextDictionary* numbers;      // for all else, the simple dictionary

  // nullptr: tokens of the type are not indexed.
  const TextDictionary* dictionary(TokenType type) const;
};

std::span<const TextDictionary> text_dictionaries();
std::span<const TextConfiguration> text_configurations();
// The name may have a schema. nullptr: there is none.
const TextConfiguration* find_text_configuration(std::string_view name);
const TextDictionary* find_text_dictionary(std::string_view name);
// 42704.
Status no_text_configuration(std::string_view name);

// The lexeme of a token; empty: it is a stop word. `token` is the text as it was written.
std::string lexeme_of(const TextDictionary& dictionary, std::string_view token);

constexpr std::string_view kDefaultTextConfiguration = "pg_catalog.english";  // default_text_search_config

}  // namespace scyper::query
