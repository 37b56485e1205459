#include <algorithm>
#include <cmath>
#include <map>

#include "base/bounded_work.h"
#include "types/text_match.h"

// ts_rank() and ts_rank_cd(). The second one is the cover density of Clarke, Cormack and Tudhope, "Relevance Ranking
// for One to Three Term Queries", 1999. Precision and order of the operations are PostgreSQL's, so that ranks are the
// same to the last digit.
namespace scyper::query {

namespace {

constexpr int kByLogLength = 1, kByLength = 2, kByDistance = 4, kByUnique = 8, kByLogUnique = 16, kBySelf = 32;

size_t length_of(const TextVector& vector) {
  size_t length = 0;
  for (const Lexeme& lexeme : vector.lexemes) length += std::max<size_t>(lexeme.positions.size(), 1);
  return length;
}

// The query's lexemes in order, each word once.
std::vector<const QueryItem*> words_of(const TextQuery& query) {
  std::vector<const QueryItem*> words;
  for (const QueryItem& item : query.items)
    if (item.op == QueryOp::kValue) words.push_back(&item);
  std::sort(words.begin(), words.end(), [](const auto* a, const auto* b) { return a->word < b->word; });
  const auto end =
      std::unique(words.begin(), words.end(), [](const auto* a, const auto* b) { return a->word == b->word; });
  words.erase(end, words.end());
  return words;
}

double nearness(int distance) {
  if (distance > 100) return 1e-30f;
  return static_cast<float>(1.0 / (1.005 + 0.05 * std::exp(static_cast<float>(distance) / 1.5 - 2)));
}

float rank_any(const RankWeights& weights, const TextVector& vector, const TextQuery& query) {
  const std::vector<LexemePosition> unknown(1);
  const auto words = words_of(query);
  float rank = 0;
  for (const QueryItem* word : words) {
    const auto [first, count] = vector.find(word->word, word->is_prefix);
    for (size_t i = first; i < first + count; ++i) {
      const auto& known = vector.lexemes[i].positions;
      const auto& positions = known.empty() ? unknown : known;
      float sum = 0, best = -1;
      int best_at = 0;
      for (int j = 0; j < static_cast<int>(positions.size()); ++j) {
        const float weight = weights[static_cast<size_t>(positions[static_cast<size_t>(j)].weight())];
        sum = sum + weight / static_cast<float>((j + 1) * (j + 1));
        if (weight <= best) continue;
        best = weight;
        best_at = j;
      }
      // the squares of 1/i add up to at most pi^2 / 6
      const float rest = best + sum - best / static_cast<float>((best_at + 1) * (best_at + 1));
      rank = static_cast<float>(rank + rest / 1.64493406685);
    }
  }
  return words.empty() ? rank : rank / static_cast<float>(words.size());
}

// How near the words of an AND are to each other.
float rank_all(const RankWeights& weights, const TextVector& vector, const TextQuery& query) {
  const auto words = words_of(query);
  if (words.size() < 2) return rank_any(weights, vector, query);
  const std::vector<LexemePosition> unknown(1, LexemePosition::at(kPositionMax, 0));
  std::vector<const std::vector<LexemePosition>*> seen(words.size(), nullptr);
  float rank = -1;
  const auto add = [&](LexemePosition a, LexemePosition b, bool is_unknown) {
    int distance = std::abs(a.position() - b.position());
    if (distance == 0 && !is_unknown) return;
    if (distance == 0) distance = kPositionMax + 1;
    const float product = weights[static_cast<size_t>(a.weight())] * weights[static_cast<size_t>(b.weight())];
    const auto one = static_cast<float>(std::sqrt(product * nearness(distance)));
    rank = rank < 0 ? one : static_cast<float>(1.0 - (1.0 - rank) * (1.0 - one));
  };
  for (size_t i = 0; i < words.size(); ++i) {
    const auto [first, count] = vector.find(words[i]->word, words[i]->is_prefix);
    for (size_t entry = first; entry < first + count; ++entry) {
      poll_work();
      const auto& known = vector.lexemes[entry].positions;
      seen[i] = known.empty() ? &unknown : &known;
      for (size_t k = 0; k < i; ++k) {
        if (seen[k] == nullptr) continue;
        const bool is_unknown = seen[i] == &unknown || seen[k] == &unknown;
        for (const LexemePosition a : *seen[i])
          for (const LexemePosition b : *seen[k]) add(a, b, is_unknown);
      }
    }
  }
  return rank;
}

}  // namespace

float text_rank(const RankWeights& weights, const TextVector& vector, const TextQuery& query, int32_t normalisation) {
  if (vector.lexemes.empty() || query.empty()) return 0;
  const QueryOp top = query.items[0].op;
  const bool is_all = top == QueryOp::kAnd || top == QueryOp::kPhrase;
  float rank = is_all ? rank_all(weights, vector, query) : rank_any(weights, vector, query);
  if (rank < 0) rank = 1e-20f;
  const auto size = static_cast<double>(vector.lexemes.size());
  const auto length = static_cast<double>(length_of(vector));
  if ((normalisation & kByLogLength) != 0) rank = static_cast<float>(rank / (std::log(length + 1) / std::log(2.0)));
  if ((normalisation & kByLength) != 0 && length > 0) rank /= static_cast<float>(length);
  if ((normalisation & kByUnique) != 0) rank /= static_cast<float>(size);
  if ((normalisation & kByLogUnique) != 0) rank = static_cast<float>(rank / (std::log(size + 1) / std::log(2.0)));
  if ((normalisation & kBySelf) != 0) rank /= (rank + 1);
  return rank;
}

namespace {

// A place of the document where lexemes of the query stand.
struct Place {
  LexemePosition position;
  size_t lexeme;              // of the vector
  std::vector<size_t> items;  // of the query
};

std::vector<Place> places_of(const TextVector& vector, const TextQuery& query) {
  std::vector<Place> places;
  for (size_t i = 0; i < query.items.size(); ++i) {
    const QueryItem& item = query.items[i];
    if (item.op != QueryOp::kValue) continue;
    const auto [first, count] = vector.find(item.word, item.is_prefix);
    for (size_t entry = first; entry < first + count; ++entry)
      for (const LexemePosition position : vector.lexemes[entry].positions)
        if (item.weights == 0 || (item.weights >> position.weight() & 1) != 0) places.push_back({position, entry, {i}});
  }
  std::sort(places.begin(), places.end(), [](const Place& a, const Place& b) {
    if (a.position.position() != b.position.position()) return a.position.position() < b.position.position();
    if (a.position.weight() != b.position.weight()) return a.position.weight() < b.position.weight();
    return a.lexeme != b.lexeme ? a.lexeme < b.lexeme : a.items < b.items;
  });
  std::vector<Place> united;
  for (Place& place : places) {
    if (!united.empty() && united.back().position == place.position && united.back().lexeme == place.lexeme)
      united.back().items.push_back(place.items[0]);
    else
      united.push_back(std::move(place));
  }
  return united;
}

// Finds the shortest parts of the document that match the query, from left to right.
class Covers {
 public:
  Covers(const std::vector<Place>& places, const TextQuery& query) : places_(places), query_(query) {}

  bool next() {
    for (;; ++from_) {
      poll_work();
      if (!find_end()) return false;
      find_begin();
      if (first <= last) return true;
    }
  }
  size_t begin = 0, end = 0;  // places
  int first = 0, last = 0;    // their positions

 private:
  bool matches_with(const Place& place, bool is_backwards) {
    for (const size_t item : place.items) {
      auto& positions = found_[item];
      const uint16_t position = place.position.position();
      if (!positions.empty() && (is_backwards ? positions.front() : positions.back()) == position) continue;
      positions.insert(is_backwards ? positions.begin() : positions.end(), position);
    }
    return matches(query_, [&](const TextQuery&, size_t item, MatchPositions* out) {
      const auto known = found_.find(item);
      if (known == found_.end()) return Match::kNo;
      if (out != nullptr) out->positions = known->second;
      return Match::kYes;
    });
  }

  bool find_end() {
    found_.clear();
    first = INT32_MAX;
    last = 0;
    for (size_t i = from_; i < places_.size(); ++i) {
      if (!matches_with(places_[i], false)) continue;
      if (places_[i].position.position() <= last) return false;
      last = places_[i].position.position();
      end = i;
      return true;
    }
    return false;
  }

  void find_begin() {
    found_.clear();
    for (size_t i = end + 1; i-- > from_;) {
      if (!matches_with(places_[i], true)) continue;
      begin = i;
      first = places_[i].position.position();
      if (first <= last) from_ = i + 1;
      return;
    }
  }

  const std::vector<Place>& places_;
  const TextQuery& query_;
  size_t from_ = 0;
  std::map<size_t, std::vector<uint16_t>> found_;  // by item of the query
};

}  // namespace

float text_rank_covers(const RankWeights& weights, const TextVector& vector, const TextQuery& query,
                       int32_t normalisation) {
  const std::vector<Place> places = places_of(vector, query);
  if (places.empty()) return 0;
  Covers covers(places, query);
  double rank = 0, distances = 0, last_middle = 0;
  int count = 0;
  while (covers.next()) {
    double inverse = 0;
    for (size_t i = covers.begin; i <= covers.end; ++i)
      inverse += 1.0 / weights[static_cast<size_t>(places[i].position.weight())];
    const auto span = static_cast<int>(covers.end - covers.begin);
    // words beyond the last position have no position of their own: about half of the cover is noise then
    int noise = covers.last - covers.first - span;
    if (noise < 0) noise = span / 2;
    rank += (span + 1) / inverse / (1 + noise);
    const double middle = (covers.last + covers.first) / 2.0;
    if (count > 0 && middle > last_middle) distances += 1.0 / (middle - last_middle);
    last_middle = middle;
    ++count;
  }
  const auto size = static_cast<double>(vector.lexemes.size());
  const auto length = static_cast<double>(length_of(vector));
  if ((normalisation & kByLogLength) != 0) rank /= std::log(length + 1);
  if ((normalisation & kByLength) != 0 && length > 0) rank /= length;
  if ((normalisation & kByDistance) != 0 && count > 0 && distances > 0) rank /= count / distances;
  if ((normalisation & kByUnique) != 0) rank /= size;
  if ((normalisation & kByLogUnique) != 0) rank /= std::log(size + 1) / std::log(2.0);
  if ((normalisation & kBySelf) != 0) rank /= rank + 1;
  return static_cast<float>(rank);
}

}  // namespace scyper::query
