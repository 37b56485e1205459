#include "types/text_match.h"

#include <algorithm>

#include "base/bounded_work.h"

namespace scyper::query {

namespace {

// Which positions of two parts count: those of both, of one of them only.
struct Kept {
  bool both, left_only, right_only;
};

// Walks over both lists; the positions of each are moved by what the other part's width asks.
Match unite(const MatchPositions& left, int left_offset, const MatchPositions& right, int right_offset, Kept kept,
            MatchPositions* out) {
  size_t l = 0, r = 0;
  const auto emit = [&](int position) { out->positions.push_back(static_cast<uint16_t>(position)); };
  while (l < left.positions.size() || r < right.positions.size()) {
    const int at_left = l < left.positions.size() ? left.positions[l] + left_offset : INT32_MAX;
    const int at_right = r < right.positions.size() ? right.positions[r] + right_offset : INT32_MAX;
    if (at_left < at_right) {
      if (kept.left_only) emit(at_left);
      ++l;
    } else if (at_left == at_right) {
      if (kept.both) emit(at_left);
      ++l;
      ++r;
    } else {
      if (kept.right_only) emit(at_right);
      ++r;
    }
  }
  return out->positions.empty() ? Match::kNo : Match::kYes;
}

class Matcher {
 public:
  Matcher(const TextQuery& query, const FindLexeme& find) : query_(query), find_(find) {}

  Match part(size_t i) const {
    const QueryItem& item = query_.items[i];
    switch (item.op) {
      case QueryOp::kNot: {
        const Match inner = part(i + 1);
        return inner == Match::kMaybe ? inner : inner == Match::kNo ? Match::kYes : Match::kNo;
      }
      case QueryOp::kAnd:
      case QueryOp::kOr: {
        const Match decides = item.op == QueryOp::kAnd ? Match::kNo : Match::kYes;
        const Match left = part(query_.left_of(i));
        if (left == decides) return left;
        const Match right = part(query_.right_of(i));
        return right == decides || left != Match::kMaybe ? right : left;
      }
      case QueryOp::kPhrase: {
        MatchPositions ignored;
        return phrase(i, &ignored) == Match::kYes ? Match::kYes : Match::kNo;
      }
      default:
        return find_(query_, i, nullptr);
    }
  }

 private:
  // What lies within a phrase: with positions.
  Match phrase(size_t i, MatchPositions* out) const {
    poll_work();
    const QueryItem& item = query_.items[i];
    if (item.op == QueryOp::kValue || item.op == QueryOp::kStop) return find_(query_, i, out);
    if (item.op == QueryOp::kNot) return negated(i, out);
    MatchPositions left, right;
    const Match at_left = phrase(query_.left_of(i), &left);
    if (item.op == QueryOp::kOr) return either(i, at_left, &left, out);
    if (at_left == Match::kNo) return at_left;
    const Match at_right = phrase(query_.right_of(i), &right);
    if (at_right == Match::kNo) return at_right;
    if (at_left == Match::kMaybe || at_right == Match::kMaybe) return Match::kMaybe;
    int left_offset = item.distance + right.width, right_offset = 0;
    out->width = item.distance + left.width + right.width;
    if (item.op == QueryOp::kAnd) {
      out->width = std::max(left.width, right.width);
      left_offset = out->width - left.width;
      right_offset = out->width - right.width;
    }
    if (left.is_negated && right.is_negated) {  // neither: not (left or right)
      unite(left, left_offset, right, right_offset, {true, true, true}, out);
      out->is_negated = true;
      return Match::kYes;
    }
    const Kept kept = {!left.is_negated && !right.is_negated, right.is_negated, left.is_negated};
    return unite(left, left_offset, right, right_offset, kept, out);
  }

  Match negated(size_t i, MatchPositions* out) const {
    switch (phrase(i + 1, out)) {
      case Match::kNo:
        *out = {{}, true, out->width};
        return Match::kYes;
      case Match::kYes:
        out->is_negated = !out->is_negated;
        return out->positions.empty() && !out->is_negated ? Match::kNo : Match::kYes;
      default:
        return Match::kMaybe;
    }
  }

  Match either(size_t i, Match at_left, MatchPositions* left, MatchPositions* out) const {
    MatchPositions right;
    const Match at_right = phrase(query_.right_of(i), &right);
    if (at_left == Match::kNo && at_right == Match::kNo) return Match::kNo;
    if (at_left == Match::kMaybe || at_right == Match::kMaybe) return Match::kMaybe;
    if (at_left == Match::kNo) *left = {};
    if (at_right == Match::kNo) right = {};
    out->width = std::max(left->width, right.width);
    out->is_negated = left->is_negated || right.is_negated;
    const Kept all_or_one = {!out->is_negated, !right.is_negated, !left->is_negated}, both = {true, false, false};
    const Match found = unite(*left, out->width - left->width, right, out->width - right.width,
                              left->is_negated && right.is_negated ? both : all_or_one, out);
    return out->is_negated ? Match::kYes : found;
  }

  const TextQuery& query_;
  const FindLexeme& find_;
};

// The positions of the lexeme that have a weight which the item asks for.
Match look_at(const Lexeme& lexeme, const QueryItem& item, MatchPositions* out) {
  if (lexeme.positions.empty() || (item.weights == 0 && out == nullptr))
    return out != nullptr ? Match::kMaybe : Match::kYes;
  bool found = false;
  for (const LexemePosition position : lexeme.positions) {
    if (item.weights != 0 && (item.weights >> position.weight() & 1) == 0) continue;
    found = true;
    if (out == nullptr) break;
    out->positions.push_back(position.position());
  }
  return found ? Match::kYes : Match::kNo;
}

Match find_in(const TextVector& vector, const QueryItem& item, MatchPositions* out) {
  const auto [first, count] = vector.find(item.word, item.is_prefix);
  Match result = Match::kNo;
  for (size_t i = first; i < first + count; ++i) {
    const Match found = look_at(vector.lexemes[i], item, out);
    if (found == Match::kMaybe) {
      out->positions.clear();
      return found;
    }
    if (found == Match::kYes) result = found;
    if (found == Match::kYes && out == nullptr) return result;
  }
  if (out != nullptr && count > 1) {
    std::sort(out->positions.begin(), out->positions.end());
    out->positions.erase(std::unique(out->positions.begin(), out->positions.end()), out->positions.end());
  }
  return result;
}

}  // namespace

bool matches(const TextQuery& query, const FindLexeme& find) {
  return !query.empty() && Matcher(query, find).part(0) != Match::kNo;
}

bool matches(const TextVector& vector, const TextQuery& query) {
  return matches(query,
                 [&](const TextQuery& q, size_t i, MatchPositions* out) { return find_in(vector, q.items[i], out); });
}

}  // namespace scyper::query
