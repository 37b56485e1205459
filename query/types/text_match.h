#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "types/text_query.h"
#include "types/text_vector.h"

// Whether a document matches a query, and how well.
namespace scyper::query {

enum class Match : uint8_t { kNo, kYes, kMaybe };  // kMaybe: positions are not known

// Positions where a part of a query matches: those of its last lexeme; `width` positions before them its first one is.
struct MatchPositions {
  std::vector<uint16_t> positions;  // ascending
  bool is_negated = false;          // everywhere but there
  int width = 0;
};
// Whether the lexeme `item` of the query is there. positions nullptr: they are not asked for.
using FindLexeme = std::function<Match(const TextQuery& query, size_t item, MatchPositions* positions)>;

bool matches(const TextQuery& query, const FindLexeme& find);
bool matches(const TextVector& vector, const TextQuery& query);

using RankWeights = std::array<float, 4>;  // D, C, B, A
constexpr RankWeights kRankWeights = {0.1f, 0.2f, 0.4f, 1.0f};
// ts_rank() and ts_rank_cd(). normalisation: PostgreSQL's bits.
float text_rank(const RankWeights& weights, const TextVector& vector, const TextQuery& query, int32_t normalisation);
float text_rank_covers(const RankWeights& weights, const TextVector& vector, const TextQuery& query,
                       int32_t normalisation);

}  // namespace scyper::query
