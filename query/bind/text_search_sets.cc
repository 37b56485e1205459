#include "bind/text_search_sets.h"

namespace scyper::query {

namespace {

constexpr SqlType kTexts = make_array(make_type(TypeId::kText));
constexpr SqlType kNumbers = make_array(make_type(TypeId::kInt2));

constexpr SetColumn kUnnest[] = {{"lexeme", "tsvector_to_array", {}},
                                 {"positions", " tsvector_positions", kNumbers},
                                 {"weights", " tsvector_weights", kTexts}};
constexpr SetColumn kTokenTypes[] = {{"tokid", " ts_token_numbers", {}},
                                     {"alias", " ts_token_aliases", {}},
                                     {"description", " ts_token_descriptions", {}}};
constexpr SetColumn kParse[] = {{"tokid", " ts_parse_types", {}}, {"token", " ts_parse_tokens", {}}};
constexpr SetColumn kDebug[] = {{"alias", " ts_debug_aliases", {}},
                                {"description", " ts_debug_descriptions", {}},
                                {"token", " ts_debug_tokens", {}},
                                {"dictionaries", " ts_debug_dictionary_lists", kTexts},
                                {"dictionary", " ts_debug_dictionaries", {}},
                                {"lexemes", " ts_debug_lexemes", kTexts}};

}  // namespace

std::span<const SetColumn> text_search_columns(std::string_view function, TypeId first) {
  if (function == "unnest" && first == TypeId::kTsvector) return kUnnest;
  if (function == "ts_token_type") return kTokenTypes;
  if (function == "ts_parse") return kParse;
  if (function == "ts_debug") return kDebug;
  return {};
}

}  // namespace scyper::query
