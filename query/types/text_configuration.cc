#include "types/text_configuration.h"

#include <libstemmer.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>

#include "types/value_error.h"

namespace scyper::query {

namespace {

constexpr size_t kStemmedBytesMax = 1000;  // longer words stay as they are: PostgreSQL's bound
constexpr std::string_view kSchemaPrefix = "pg_catalog.";

constexpr TextDictionary kDictionaries[] = {
    {"simple", 3765, ""},
    {"arabic_stem", 13151, "arabic"},
    {"armenian_stem", 13153, "armenian"},
    {"basque_stem", 13155, "basque"},
    {"catalan_stem", 13157, "catalan"},
    {"danish_stem", 13159, "danish"},
    {"dutch_stem", 13161, "dutch"},
    {"english_stem", 13163, "english"},
    {"finnish_stem", 13165, "finnish"},
    {"french_stem", 13167, "french"},
    {"german_stem", 13169, "german"},
    {"greek_stem", 13171, "greek"},
    {"hindi_stem", 13173, "hindi"},
    {"hungarian_stem", 13175, "hungarian"},
    {"indonesian_stem", 13177, "indonesian"},
    {"irish_stem", 13179, "irish"},
    {"italian_stem", 13181, "italian"},
    {"lithuanian_stem", 13183, "lithuanian"},
    {"nepali_stem", 13185, "nepali"},
    {"norwegian_stem", 13187, "norwegian"},
    {"portuguese_stem", 13189, "portuguese"},
    {"romanian_stem", 13191, "romanian"},
    {"russian_stem", 13193, "russian"},
    {"serbian_stem", 13195, "serbian"},
    {"spanish_stem", 13197, "spanish"},
    {"swedish_stem", 13199, "swedish"},
    {"tamil_stem", 13201, "tamil"},
    {"turkish_stem", 13203, "turkish"},
    {"yiddish_stem", 13205, "yiddish"},
};

constexpr struct {
  std::string_view language, words;
} kStopWords[] = {
#include "types/stop_words.inc"
};

using WordSet = std::set<std::string_view>;

const WordSet& stop_words_of(std::string_view language) {
  static const auto* all = [] {
    auto* made = new std::map<std::string_view, WordSet>;
    for (const auto& list : kStopWords) {
      WordSet& words = (*made)[list.language];
      for (std::string_view rest = list.words; !rest.empty(); rest.remove_prefix(rest.find(' ') + 1))
        words.insert(rest.substr(0, rest.find(' ')));
    }
    return made;
  }();
  static const WordSet none;
  const auto found = all->find(language);
  return found == all->end() ? none : found->second;
}

struct DeleteStemmer {
  void operator()(sb_stemmer* stemmer) const { sb_stemmer_delete(stemmer); }
};

// A stemmer keeps the word that it works on: each thread has its own.
sb_stemmer* stemmer_of(std::string_view language) {
  thread_local std::map<std::string_view, std::unique_ptr<sb_stemmer, DeleteStemmer>> stemmers;
  auto& stemmer = stemmers[language];
  if (stemmer == nullptr) stemmer.reset(sb_stemmer_new(std::string(language).c_str(), "UTF_8"));
  return stemmer.get();
}

std::string_view without_schema(std::string_view name) {
  return name.starts_with(kSchemaPrefix) ? name.substr(kSchemaPrefix.size()) : name;
}

}  // namespace

std::string_view TextDictionary::stop_words() const { return stop_words_of(language).empty() ? "" : language; }

std::span<const TextDictionary> text_dictionaries() { return kDictionaries; }

std::span<const TextConfiguration> text_configurations() {
  static const auto* all = [] {
    auto* made = new std::vector<TextConfiguration>;
    const TextDictionary* simple = &kDictionaries[0];
    const TextDictionary* english = find_text_dictionary("english_stem");
    made->push_back({"simple", 3748, simple, simple, simple});
    for (const TextDictionary& dictionary : kDictionaries) {
      if (dictionary.language.empty()) continue;
      const bool has_own_letters = dictionary.language == "russian" || dictionary.language == "hindi";
      made->push_back(
          {dictionary.language, dictionary.oid + 1, &dictionary, has_own_letters ? english : &dictionary, simple});
    }
    return made;
  }();
  return *all;
}

const TextConfiguration* find_text_configuration(std::string_view name) {
  const auto all = text_configurations();
  const auto found = std::find_if(
      all.begin(), all.end(), [&](const auto& configuration) { return configuration.name == without_schema(name); });
  return found == all.end() ? nullptr : &*found;
}

const TextDictionary* find_text_dictionary(std::string_view name) {
  const auto* found = std::find_if(std::begin(kDictionaries), std::end(kDictionaries),
                                   [&](const auto& dictionary) { return dictionary.name == without_schema(name); });
  return found == std::end(kDictionaries) ? nullptr : found;
}

Status no_text_configuration(std::string_view name) {
  return sql_error("42704", "text search configuration \"" + std::string(name) + "\" does not exist");
}

const TextDictionary* TextConfiguration::dictionary(TokenType type) const {
  switch (type) {
    case TokenType::kNone:
    case TokenType::kBlank:
    case TokenType::kTag:
    case TokenType::kProtocol:
    case TokenType::kEntity:
      return nullptr;
    case TokenType::kAsciiWord:
    case TokenType::kAsciiPart:
    case TokenType::kAsciiHyphenated:
      return ascii_words;
    case TokenType::kWord:
    case TokenType::kWordPart:
    case TokenType::kHyphenated:
      return words;
    default:
      return numbers;
  }
}

std::string lexeme_of(const TextDictionary& dictionary, std::string_view token) {
  std::string word(token);
  for (char& c : word)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c | 0x20);
  if (dictionary.language.empty()) return word;
  if (word.size() > kStemmedBytesMax) return word;
  if (stop_words_of(dictionary.language).contains(word)) return "";
  sb_stemmer* stemmer = stemmer_of(dictionary.language);
  if (stemmer == nullptr) return word;
  const auto* stem =
      sb_stemmer_stem(stemmer, reinterpret_cast<const sb_symbol*>(word.data()), static_cast<int>(word.size()));
  if (stem == nullptr) return word;
  return {reinterpret_cast<const char*>(stem), static_cast<size_t>(sb_stemmer_length(stemmer))};
}

}  // namespace scyper::query
