#include <algorithm>

#include "runtime/function_body.h"
#include "runtime/text_documents.h"
#include "types/text_match.h"
#include "types/text_search.h"

// Functions that read texts as documents and queries. The name of a configuration comes first, unless the session's is
// asked for. Declared where the builtins are listed (bind/builtins_text_search.cc).
namespace scyper::query {

// clang-format off: as in runtime/functions.h
#define SCYPER_DOCUMENT_FUNCTIONS(X) \
  X(to_tsquery) X(plainto_tsquery) X(phraseto_tsquery) X(websearch_to_tsquery) X(text_match) \
  X(text_match_query) X(ts_lexize) X(ts_token_numbers) X(ts_token_aliases) X(ts_token_descriptions) \
  X(ts_parse_types) X(ts_parse_tokens) X(current_text_configuration) X(ts_debug_aliases) X(ts_debug_descriptions) \
  X(ts_debug_tokens) X(ts_debug_dictionary_lists) X(ts_debug_dictionaries) X(ts_debug_lexemes)
// clang-format on
#define SCYPER_DECLARE_FUNCTION(name) extern const ir::External k_fn_##name;
SCYPER_DOCUMENT_FUNCTIONS(SCYPER_DECLARE_FUNCTION)
#undef SCYPER_DECLARE_FUNCTION

namespace {

int32_t read_text_query(ExecContext* c, const TextConfiguration& configuration, std::string_view text,
                        QueryReading reading, TextQuery* out) {
  const Status status = read_query(configuration, text, reading, out);
  if (!status.ok()) return c->fail(status);
  if (out->empty()) note(c, "text-search query contains only stop words or doesn't contain lexemes, ignored");
  return 0;
}

int32_t give_text_query(ExecContext* c, const Datum* args, int64_t count, QueryReading reading, Datum* out) {
  const TextConfiguration* configuration = nullptr;
  if (const int32_t outcome = find_configuration(c, count > 1 ? &args[0] : nullptr, &configuration); outcome != 0)
    return outcome;
  TextQuery query;
  const int32_t outcome = read_text_query(c, *configuration, text_of(args[count - 1]), reading, &query);
  return outcome != 0 ? outcome : give_copy(c, out, bytes_of_text_query(query));
}

// An array with one element for each of `count` items.
template <class Give>
int32_t give_list(ExecContext* c, Datum* out, TypeId type, size_t count, Give give_one) {
  auto* array = reinterpret_cast<ArrayValue*>(c->scratch->allocate(sizeof(ArrayValue)));
  auto* elements = reinterpret_cast<Datum*>(c->scratch->allocate((count + 1) * sizeof(Datum)));
  if (array == nullptr || elements == nullptr) return fail_memory(c);
  *array = ArrayValue{static_cast<int32_t>(count), static_cast<int32_t>(count), 1, type, elements};
  for (size_t i = 0; i < count; ++i)
    if (const int32_t outcome = give_one(i, &elements[i]); outcome != 0) return outcome;
  *out = Datum{reinterpret_cast<int64_t>(array), 0, 0, 0, {}};
  return 0;
}

int32_t check_parser(ExecContext* c, const Datum& name) {
  const std::string_view text = text_of(name);
  if (text == "default" || text == "pg_catalog.default" || text == "3722") return 0;
  return c->fail("42704", "text search parser \"" + std::string(text) + "\" does not exist");
}

std::vector<TextToken> tokens_of(std::string_view text) {
  std::vector<TextToken> tokens;
  TextParser parser(text);
  for (TextToken token; parser.next(&token);) tokens.push_back(token);
  return tokens;
}

// A column of ts_debug(): an array with one element for each token.
template <class Give>
int32_t give_debug(ExecContext* c, const Datum* args, int64_t count, Datum* out, Give give_one) {
  const TextConfiguration* configuration = nullptr;
  if (const int32_t outcome = find_configuration(c, count > 1 ? &args[0] : nullptr, &configuration); outcome != 0)
    return outcome;
  const std::vector<TextToken> tokens = tokens_of(text_of(args[count - 1]));
  return give_list(c, out, TypeId::kText, tokens.size(), [&](size_t i, Datum* element) {
    return give_one(tokens[i], configuration->dictionary(tokens[i].type), element);
  });
}

const TokenTypeInfo& info_of(const TextToken& token) { return token_types()[static_cast<size_t>(token.type) - 1]; }

extern "C" {

SCYPER_FUNCTION(to_tsquery) { return give_text_query(c, args, count, QueryReading::kExpression, out); }
SCYPER_FUNCTION(plainto_tsquery) { return give_text_query(c, args, count, QueryReading::kPlain, out); }
SCYPER_FUNCTION(phraseto_tsquery) { return give_text_query(c, args, count, QueryReading::kPhrase, out); }
SCYPER_FUNCTION(websearch_to_tsquery) { return give_text_query(c, args, count, QueryReading::kWeb, out); }

// text @@ text, text @@ tsquery
SCYPER_FUNCTION(text_match) {
  const TextConfiguration* configuration = nullptr;
  if (const int32_t outcome = find_configuration(c, nullptr, &configuration); outcome != 0) return outcome;
  TextVector vector;
  TextQuery query;
  if (const int32_t outcome = read_document(c, *configuration, text_of(args[0]), &vector); outcome != 0) return outcome;
  const int32_t outcome = read_text_query(c, *configuration, text_of(args[1]), QueryReading::kPlain, &query);
  return outcome != 0 ? outcome : give_bool(out, matches(vector, query));
}
SCYPER_FUNCTION(text_match_query) {
  const TextConfiguration* configuration = nullptr;
  if (const int32_t outcome = find_configuration(c, nullptr, &configuration); outcome != 0) return outcome;
  TextVector vector;
  if (const int32_t outcome = read_document(c, *configuration, text_of(args[0]), &vector); outcome != 0) return outcome;
  return give_bool(out, matches(vector, text_query_of_bytes(text_of(args[1]))));
}

SCYPER_FUNCTION(ts_lexize) {
  const TextDictionary* dictionary = find_text_dictionary(text_of(args[0]));
  if (dictionary == nullptr)
    return c->fail("42704", "text search dictionary \"" + std::string(text_of(args[0])) + "\" does not exist");
  const std::string lexeme = lexeme_of(*dictionary, text_of(args[1]));
  return give_list(c, out, TypeId::kText, lexeme.empty() ? 0 : 1,
                   [&](size_t, Datum* element) { return give_copy(c, element, lexeme); });
}

SCYPER_FUNCTION(ts_token_numbers) {
  if (const int32_t outcome = check_parser(c, args[0]); outcome != 0) return outcome;
  const auto known = token_types();
  return give_list(c, out, TypeId::kInt4, known.size(),
                   [&](size_t i, Datum* element) { return give(element, static_cast<int64_t>(known[i].type)); });
}
SCYPER_FUNCTION(ts_token_aliases) {
  const auto known = token_types();
  return give_list(c, out, TypeId::kText, known.size(),
                   [&](size_t i, Datum* element) { return give(element, known[i].alias); });
}
SCYPER_FUNCTION(ts_token_descriptions) {
  const auto known = token_types();
  return give_list(c, out, TypeId::kText, known.size(),
                   [&](size_t i, Datum* element) { return give(element, known[i].description); });
}
SCYPER_FUNCTION(ts_parse_types) {
  if (const int32_t outcome = check_parser(c, args[0]); outcome != 0) return outcome;
  const std::vector<TextToken> tokens = tokens_of(text_of(args[1]));
  return give_list(c, out, TypeId::kInt4, tokens.size(),
                   [&](size_t i, Datum* element) { return give(element, static_cast<int64_t>(tokens[i].type)); });
}
SCYPER_FUNCTION(ts_parse_tokens) {
  const std::vector<TextToken> tokens = tokens_of(text_of(args[1]));
  return give_list(c, out, TypeId::kText, tokens.size(),
                   [&](size_t i, Datum* element) { return give_copy(c, element, tokens[i].text); });
}

SCYPER_FUNCTION(current_text_configuration) {
  const TextConfiguration* configuration = nullptr;
  const int32_t outcome = find_configuration(c, nullptr, &configuration);
  return outcome != 0 ? outcome : give(out, configuration->oid);
}
SCYPER_FUNCTION(ts_debug_aliases) {
  return give_debug(c, args, count, out, [](const TextToken& token, const TextDictionary*, Datum* element) {
    return give(element, info_of(token).alias);
  });
}
SCYPER_FUNCTION(ts_debug_descriptions) {
  return give_debug(c, args, count, out, [](const TextToken& token, const TextDictionary*, Datum* element) {
    return give(element, info_of(token).description);
  });
}
SCYPER_FUNCTION(ts_debug_tokens) {
  return give_debug(c, args, count, out, [c](const TextToken& token, const TextDictionary*, Datum* element) {
    return give_copy(c, element, token.text);
  });
}
SCYPER_FUNCTION(ts_debug_dictionary_lists) {
  return give_debug(c, args, count, out, [c](const TextToken&, const TextDictionary* dictionary, Datum* element) {
    return give_copy(c, element, "{" + std::string(dictionary == nullptr ? "" : dictionary->name) + "}");
  });
}
SCYPER_FUNCTION(ts_debug_dictionaries) {
  return give_debug(c, args, count, out, [](const TextToken&, const TextDictionary* dictionary, Datum* element) {
    return dictionary == nullptr ? give_null(element) : give(element, dictionary->name);
  });
}
// Texts of arrays, as of unnest(tsvector).
SCYPER_FUNCTION(ts_debug_lexemes) {
  return give_debug(c, args, count, out, [c](const TextToken& token, const TextDictionary* dictionary, Datum* element) {
    if (dictionary == nullptr) return give_null(element);
    const std::string lexeme = lexeme_of(*dictionary, token.text);
    std::string quoted;
    for (const char letter : lexeme) quoted += (letter == '"' || letter == '\\' ? "\\" : "") + std::string(1, letter);
    return give_copy(c, element, lexeme.empty() ? "{}" : "{\"" + quoted + "\"}");
  });
}

}  // extern "C"

}  // namespace

SCYPER_DOCUMENT_FUNCTIONS(SCYPER_DEFINE_FUNCTION)

}  // namespace scyper::query
