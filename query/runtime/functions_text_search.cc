#include <algorithm>

#include "runtime/function_body.h"
#include "types/scalar.h"
#include "types/text_match.h"
#include "types/text_query.h"
#include "types/text_rewrite.h"
#include "types/text_vector.h"

// Functions of tsvector and tsquery. Declared where the builtins are listed (bind/builtins_text_search.cc).
namespace scyper::query {

// clang-format off: as in runtime/functions.h
#define SCYPER_TEXT_SEARCH_FUNCTIONS(X) \
  X(ts_match) X(ts_match_reversed) X(tsvector_concat) X(tsvector_strip) X(tsvector_length) X(tsvector_setweight) \
  X(tsvector_setweight_of) X(tsvector_delete) X(tsvector_delete_all) X(tsvector_filter) X(tsvector_to_array) \
  X(tsvector_of_array) X(tsvector_positions) X(tsvector_weights) X(tsquery_and) X(tsquery_or) X(tsquery_not) \
  X(tsquery_phrase) X(tsquery_contains) X(tsquery_contained) X(tsquery_nodes) X(tsquery_tree) X(tsquery_rewrite) \
  X(ts_rank) X(ts_rank_of_weights) X(ts_rank_cd) X(ts_rank_cd_of_weights)
// clang-format on
#define SCYPER_DECLARE_FUNCTION(name) extern const ir::External k_fn_##name;
SCYPER_TEXT_SEARCH_FUNCTIONS(SCYPER_DECLARE_FUNCTION)
#undef SCYPER_DECLARE_FUNCTION

namespace {

TextVector vector_of(const Datum& datum) { return text_vector_of_bytes(text_of(datum)); }
TextQuery query_of(const Datum& datum) { return text_query_of_bytes(text_of(datum)); }

int32_t give_vector(ExecContext* c, Datum* out, const TextVector& vector) {
  const Status status = check_size(vector);
  return status.ok() ? give_copy(c, out, bytes_of_text_vector(vector)) : c->fail(status);
}
int32_t give_query(ExecContext* c, Datum* out, const TextQuery& query) {
  return give_copy(c, out, bytes_of_text_query(query));
}
int32_t give_query(ExecContext* c, Datum* out, const Status& status, const TextQuery& query) {
  return status.ok() ? give_query(c, out, query) : c->fail(status);
}

int32_t give_texts(ExecContext* c, Datum* out, const std::vector<std::string>& texts, bool empty_is_null = false) {
  auto* array = reinterpret_cast<ArrayValue*>(c->scratch->allocate(sizeof(ArrayValue)));
  auto* elements = reinterpret_cast<Datum*>(c->scratch->allocate((texts.size() + 1) * sizeof(Datum)));
  if (array == nullptr || elements == nullptr) return fail_memory(c);
  const auto size = static_cast<int32_t>(texts.size());
  *array = ArrayValue{size, size, 1, TypeId::kText, elements};
  for (size_t i = 0; i < texts.size(); ++i) {
    const bool is_null = empty_is_null && texts[i].empty();
    const int32_t outcome = is_null ? give_null(&elements[i]) : give_copy(c, &elements[i], texts[i]);
    if (outcome != 0) return outcome;
  }
  *out = Datum{reinterpret_cast<int64_t>(array), 0, 0, 0, {}};
  return 0;
}

// The first letter of a "char". -1: the context says why.
int read_weight(ExecContext* c, std::string_view letter) {
  const int weight = letter.empty() ? -1 : weight_of(letter[0]);
  if (weight < 0) c->fail("22023", "unrecognized weight: \"" + std::string(letter.substr(0, 1)) + "\"");
  return weight;
}

void set_weight(Lexeme* lexeme, int weight) {
  for (LexemePosition& position : lexeme->positions) position = LexemePosition::at(position.position(), weight);
}

// Those of `words` that are not NULL, in order.
std::vector<std::string_view> words_of(const Datum& array) {
  std::vector<std::string_view> words;
  const ArrayValue* value = array_of(array);
  for (int32_t i = 0; i < value->size; ++i)
    if (!value->elements[i].null) words.push_back(text_of(value->elements[i]));
  std::sort(words.begin(), words.end());
  return words;
}

int32_t give_without(ExecContext* c, Datum* out, TextVector vector, const std::vector<std::string_view>& words) {
  std::erase_if(vector.lexemes, [&](const Lexeme& lexeme) {
    return std::binary_search(words.begin(), words.end(), std::string_view(lexeme.word));
  });
  return give_vector(c, out, vector);
}

// The positions of b come behind those of a.
TextVector concatenated(TextVector a, const TextVector& b) {
  int64_t last = 0;
  for (const Lexeme& lexeme : a.lexemes)
    if (!lexeme.positions.empty()) last = std::max<int64_t>(last, lexeme.positions.back().position());
  for (const Lexeme& lexeme : b.lexemes) {
    a.lexemes.push_back({lexeme.word, {}});
    for (const LexemePosition position : lexeme.positions)
      a.lexemes.back().positions.push_back(LexemePosition::at(position.position() + last, position.weight()));
  }
  normalise(&a);
  return a;
}

bool contains(const TextQuery& whole, const TextQuery& part) {
  const auto has = [&](const std::string& word) {
    return std::any_of(whole.items.begin(), whole.items.end(),
                       [&](const QueryItem& item) { return item.op == QueryOp::kValue && item.word == word; });
  };
  return std::all_of(part.items.begin(), part.items.end(),
                     [&](const QueryItem& item) { return item.op != QueryOp::kValue || has(item.word); });
}

bool read_float(const Datum& datum, TypeId type, double* out) {
  switch (type) {
    case TypeId::kFloat4:
    case TypeId::kFloat8:
      *out = float8(datum);
      return true;
    case TypeId::kNumeric:
      *out = decimal_to_float8(decimal_of(datum));
      return true;
    case TypeId::kText: {
      std::string_view number;
      return float4_parse(text_of(datum), out, &number) == ValueError::kNone;
    }
    default:
      *out = static_cast<double>(datum.lo);
      return true;
  }
}

// The weights of D, C, B and A; negative ones stand for the usual ones.
int32_t read_weights(ExecContext* c, const Datum& given, RankWeights* weights) {
  const ArrayValue* array = array_of(given);
  if (array->size == 0) return c->fail("2202E", "array of weight must be one-dimensional");
  if (array->size < static_cast<int32_t>(weights->size())) return c->fail("2202E", "array of weight is too short");
  for (int32_t i = 0; i < array->size; ++i)
    if (array->elements[i].null) return c->fail("22004", "array of weight must not contain nulls");
  for (size_t i = 0; i < weights->size(); ++i) {
    double weight = 0;
    if (!read_float(array->elements[i], array->element, &weight))
      return c->fail("22P02",
                     "invalid input syntax for type real: \"" + std::string(text_of(array->elements[i])) + "\"");
    if (weight >= 0) (*weights)[i] = static_cast<float>(weight);
    if ((*weights)[i] > 1) return c->fail("22023", "weight out of range");
  }
  return 0;
}

using Rank = float (*)(const RankWeights&, const TextVector&, const TextQuery&, int32_t);
int32_t give_rank(ExecContext* c, const Datum* args, int64_t count, bool has_weights, Rank rank, Datum* out) {
  RankWeights weights = kRankWeights;
  if (has_weights) {
    if (const int32_t outcome = read_weights(c, args[0], &weights); outcome != 0) return outcome;
    ++args;
    --count;
  }
  const int32_t normalisation = count > 2 ? int4(args[2]) : 0;
  return *out = float_datum(rank(weights, vector_of(args[0]), query_of(args[1]), normalisation)), 0;
}

extern "C" {

SCYPER_FUNCTION(ts_match) { return give_bool(out, matches(vector_of(args[0]), query_of(args[1]))); }
SCYPER_FUNCTION(ts_match_reversed) { return give_bool(out, matches(vector_of(args[1]), query_of(args[0]))); }
SCYPER_FUNCTION(tsvector_concat) { return give_vector(c, out, concatenated(vector_of(args[0]), vector_of(args[1]))); }
SCYPER_FUNCTION(tsvector_strip) {
  TextVector vector = vector_of(args[0]);
  for (Lexeme& lexeme : vector.lexemes) lexeme.positions.clear();
  return give_vector(c, out, vector);
}
SCYPER_FUNCTION(tsvector_length) { return give(out, static_cast<int64_t>(vector_of(args[0]).lexemes.size())); }
SCYPER_FUNCTION(tsvector_setweight) {
  const int weight = read_weight(c, text_of(args[1]));
  if (weight < 0) return static_cast<int32_t>(Outcome::kError);
  TextVector vector = vector_of(args[0]);
  for (Lexeme& lexeme : vector.lexemes) set_weight(&lexeme, weight);
  return give_vector(c, out, vector);
}
SCYPER_FUNCTION(tsvector_setweight_of) {
  const int weight = read_weight(c, text_of(args[1]));
  if (weight < 0) return static_cast<int32_t>(Outcome::kError);
  TextVector vector = vector_of(args[0]);
  const auto words = words_of(args[2]);
  for (Lexeme& lexeme : vector.lexemes)
    if (std::binary_search(words.begin(), words.end(), std::string_view(lexeme.word))) set_weight(&lexeme, weight);
  return give_vector(c, out, vector);
}
SCYPER_FUNCTION(tsvector_delete) { return give_without(c, out, vector_of(args[0]), {text_of(args[1])}); }
SCYPER_FUNCTION(tsvector_delete_all) { return give_without(c, out, vector_of(args[0]), words_of(args[1])); }
SCYPER_FUNCTION(tsvector_filter) {
  const ArrayValue* letters = array_of(args[1]);
  int mask = 0;
  for (int32_t i = 0; i < letters->size; ++i) {
    if (letters->elements[i].null) return c->fail("22004", "weight array may not contain nulls");
    const int weight = read_weight(c, text_of(letters->elements[i]));
    if (weight < 0) return static_cast<int32_t>(Outcome::kError);
    mask |= 1 << weight;
  }
  TextVector vector = vector_of(args[0]);
  for (Lexeme& lexeme : vector.lexemes)
    std::erase_if(lexeme.positions, [&](LexemePosition position) { return (mask >> position.weight() & 1) == 0; });
  std::erase_if(vector.lexemes, [](const Lexeme& lexeme) { return lexeme.positions.empty(); });
  return give_vector(c, out, vector);
}
SCYPER_FUNCTION(tsvector_to_array) {
  std::vector<std::string> words;
  for (Lexeme& lexeme : vector_of(args[0]).lexemes) words.push_back(std::move(lexeme.word));
  return give_texts(c, out, words);
}
// unnest(): for each lexeme the text of the array of its positions, as regexp_matches() does it; then of its weights.
SCYPER_FUNCTION(tsvector_positions) {
  std::vector<std::string> texts;
  for (const Lexeme& lexeme : vector_of(args[0]).lexemes) {
    std::string text = "{";
    for (const LexemePosition position : lexeme.positions)
      text += (text.size() > 1 ? "," : "") + std::to_string(position.position());
    texts.push_back(lexeme.positions.empty() ? "" : text + "}");
  }
  return give_texts(c, out, texts, true);
}
SCYPER_FUNCTION(tsvector_weights) {
  std::vector<std::string> texts;
  for (const Lexeme& lexeme : vector_of(args[0]).lexemes) {
    std::string text = "{";
    for (const LexemePosition position : lexeme.positions)
      text += (text.size() > 1 ? "," : "") + std::string(1, static_cast<char>('D' - position.weight()));
    texts.push_back(lexeme.positions.empty() ? "" : text + "}");
  }
  return give_texts(c, out, texts, true);
}
SCYPER_FUNCTION(tsvector_of_array) {
  const ArrayValue* words = array_of(args[0]);
  TextVector vector;
  for (int32_t i = 0; i < words->size; ++i) {
    if (words->elements[i].null) return c->fail("22004", "lexeme array may not contain nulls");
    if (text_of(words->elements[i]).empty()) return c->fail("2200F", "lexeme array may not contain empty strings");
    vector.lexemes.push_back({std::string(text_of(words->elements[i])), {}});
  }
  normalise(&vector);
  return give_vector(c, out, vector);
}

SCYPER_FUNCTION(tsquery_and) {
  TextQuery both;
  const Status status = join_queries(query_of(args[0]), QueryOp::kAnd, 0, query_of(args[1]), &both);
  return give_query(c, out, status, both);
}
SCYPER_FUNCTION(tsquery_or) {
  TextQuery both;
  const Status status = join_queries(query_of(args[0]), QueryOp::kOr, 0, query_of(args[1]), &both);
  return give_query(c, out, status, both);
}
SCYPER_FUNCTION(tsquery_not) {
  TextQuery negated;
  const Status status = negate_query(query_of(args[0]), &negated);
  return give_query(c, out, status, negated);
}
SCYPER_FUNCTION(tsquery_phrase) {
  const int32_t distance = count > 2 ? int4(args[2]) : 1;
  if (distance < 0 || distance > kPhraseDistanceMax)
    return c->fail("22023", "distance in phrase operator must be an integer value between zero and " +
                                std::to_string(kPhraseDistanceMax) + " inclusive");
  TextQuery both;
  const Status status =
      join_queries(query_of(args[0]), QueryOp::kPhrase, static_cast<uint16_t>(distance), query_of(args[1]), &both);
  return give_query(c, out, status, both);
}
SCYPER_FUNCTION(tsquery_contains) { return give_bool(out, contains(query_of(args[0]), query_of(args[1]))); }
SCYPER_FUNCTION(tsquery_contained) { return give_bool(out, contains(query_of(args[1]), query_of(args[0]))); }
SCYPER_FUNCTION(tsquery_nodes) { return give(out, static_cast<int64_t>(query_of(args[0]).items.size())); }
SCYPER_FUNCTION(tsquery_tree) {
  const TextQuery query = query_of(args[0]);
  if (query.empty()) return give_copy(c, out, "");
  const TextQuery part = indexable_part(query);
  return give_copy(c, out, part.empty() ? "T" : text_query_text(part));
}
SCYPER_FUNCTION(tsquery_rewrite) {
  TextQuery rewritten;
  const Status status = rewrite_query(query_of(args[0]), query_of(args[1]), query_of(args[2]), &rewritten);
  return give_query(c, out, status, rewritten);
}

SCYPER_FUNCTION(ts_rank) { return give_rank(c, args, count, false, text_rank, out); }
SCYPER_FUNCTION(ts_rank_of_weights) { return give_rank(c, args, count, true, text_rank, out); }
SCYPER_FUNCTION(ts_rank_cd) { return give_rank(c, args, count, false, text_rank_covers, out); }
SCYPER_FUNCTION(ts_rank_cd_of_weights) { return give_rank(c, args, count, true, text_rank_covers, out); }

}  // extern "C"

}  // namespace

SCYPER_TEXT_SEARCH_FUNCTIONS(SCYPER_DEFINE_FUNCTION)

}  // namespace scyper::query
