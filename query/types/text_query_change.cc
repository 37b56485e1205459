#include <algorithm>

#include "types/big_endian.h"
#include "types/text.h"
#include "types/text_query.h"
#include "types/text_vector.h"
#include "types/value_error.h"

// Queries made of others: combined, without stop words, from PostgreSQL's binary format.
namespace scyper::query {

namespace {

void append_items(const TextQuery& from, size_t at, std::vector<QueryItem>* to) {
  const auto begin = from.items.begin() + static_cast<ptrdiff_t>(at);
  to->insert(to->end(), begin, from.items.begin() + static_cast<ptrdiff_t>(from.end_of(at)));
}

QueryItem operator_item(QueryOp op, uint16_t distance = 0) { return {op, false, 0, distance, 0, {}}; }

bool is_leaf(QueryOp op) { return op == QueryOp::kValue || op == QueryOp::kStop; }

}  // namespace

Status join_queries(const TextQuery& a, QueryOp op, uint16_t distance, const TextQuery& b, TextQuery* out) {
  if (a.empty() || b.empty()) return *out = a.empty() ? b : a, absl::OkStatus();
  out->items = {operator_item(op, distance)};
  append_items(b, 0, &out->items);
  append_items(a, 0, &out->items);
  return link_items(out);
}

Status negate_query(const TextQuery& query, TextQuery* out) {
  if (query.empty()) return *out = query, absl::OkStatus();
  out->items = {operator_item(QueryOp::kNot)};
  append_items(query, 0, &out->items);
  return link_items(out);
}

namespace {

// A part without its stop words, and by how much the distances to its left and to its right grow.
struct Cleaned {
  std::vector<QueryItem> items;  // empty: nothing is left
  int left = 0, right = 0;
};

Cleaned clean(const TextQuery& query, size_t i) {
  const QueryItem& item = query.items[i];
  if (item.op == QueryOp::kStop) return {};
  if (item.op == QueryOp::kValue) return {{item}, 0, 0};
  if (item.op == QueryOp::kNot) {
    Cleaned inner = clean(query, i + 1);
    if (!inner.items.empty()) inner.items.insert(inner.items.begin(), item);
    return inner;
  }
  const bool is_phrase = item.op == QueryOp::kPhrase;
  const int distance = item.distance;
  Cleaned right = clean(query, query.right_of(i)), left = clean(query, query.left_of(i));
  if (left.items.empty() && right.items.empty()) {
    const int gap = is_phrase ? left.left + distance + right.left : std::max(left.left, right.left);
    return {{}, gap, gap};
  }
  if (left.items.empty()) {
    if (is_phrase) right.left += left.left + distance;
    return right;
  }
  if (right.items.empty()) {
    if (is_phrase) left.right += distance + right.right;
    return left;
  }
  Cleaned both{{item}, 0, 0};
  if (is_phrase) {
    both.items[0].distance = static_cast<uint16_t>(std::min(distance + left.right + right.left, INT32_C(0xffff)));
    both.left = left.left;
    both.right = right.right;
  }
  for (const auto* part : {&right, &left}) both.items.insert(both.items.end(), part->items.begin(), part->items.end());
  return both;
}

// The part that an index could look for; empty: everything may match.
std::vector<QueryItem> positive_part(const TextQuery& query, size_t i) {
  const QueryItem& item = query.items[i];
  if (is_leaf(item.op)) return {item};
  if (item.op == QueryOp::kNot) return {};
  std::vector<QueryItem> right = positive_part(query, query.right_of(i)), left = positive_part(query, query.left_of(i));
  if (left.empty() || right.empty()) {
    if (item.op == QueryOp::kOr) return {};
    return left.empty() ? right : left;
  }
  std::vector<QueryItem> both = {item};
  both.insert(both.end(), right.begin(), right.end());
  both.insert(both.end(), left.begin(), left.end());
  return both;
}

TextQuery of_items(std::vector<QueryItem> items) {
  TextQuery query{std::move(items)};
  link_items(&query).IgnoreError();  // no deeper than the query that the items are from
  return query;
}

}  // namespace

TextQuery clean_stop_words(const TextQuery& query) {
  const bool has_any =
      std::any_of(query.items.begin(), query.items.end(), [](const auto& item) { return item.op == QueryOp::kStop; });
  return has_any ? of_items(clean(query, 0).items) : query;
}

TextQuery indexable_part(const TextQuery& query) { return query.empty() ? query : of_items(positive_part(query, 0)); }

// --- PostgreSQL's binary format ---

namespace {
constexpr char kSentValue = 1, kSentOperator = 2;

Status receive_item(std::string_view* sent, QueryItem* item) {
  const auto take = [&](size_t size) {
    const std::string_view taken = sent->substr(0, size);
    sent->remove_prefix(taken.size());
    return taken;
  };
  const auto too_short = [] { return sql_error("08P01", "insufficient data left in message"); };
  if (sent->size() < 2) return too_short();
  const char kind = take(1)[0];
  if (kind == kSentOperator) {
    const auto op = static_cast<uint8_t>(take(1)[0]);
    if (op < static_cast<uint8_t>(QueryOp::kNot) || op > static_cast<uint8_t>(QueryOp::kPhrase))
      return sql_error("XX000", "invalid tsquery: unrecognized operator type " + std::to_string(op));
    item->op = static_cast<QueryOp>(op);
    if (item->op != QueryOp::kPhrase) return absl::OkStatus();
    if (sent->size() < 2) return too_short();
    item->distance = static_cast<uint16_t>(big_endian_of(take(2)));
    return absl::OkStatus();
  }
  if (kind != kSentValue) return sql_error("XX000", "unrecognized tsquery node type: " + std::to_string(kind));
  const auto weights = static_cast<uint8_t>(take(1)[0]);
  if (sent->empty()) return too_short();
  item->is_prefix = take(1)[0] != 0;
  const size_t size = sent->find('\0');
  if (size == std::string_view::npos) return sql_error("08P01", "invalid string in message");
  if (weights > 0xf) return sql_error("XX000", "invalid tsquery: invalid weight bitmap");
  if (size > kLexemeBytesMax) return sql_error("XX000", "invalid tsquery: operand too long");
  item->weights = weights;
  item->word = take(size);
  take(1);
  std::string_view wrong;
  if (utf8_check(item->word, &wrong) != ValueError::kNone) return error_status(ValueError::kInvalidUtf8, {}, wrong);
  return absl::OkStatus();
}
}  // namespace

Status text_query_receive(std::string_view sent, TextQuery* out) {
  if (sent.size() < 4) return sql_error("08P01", "insufficient data left in message");
  const uint64_t count = big_endian_of(sent.substr(0, 4));
  sent.remove_prefix(4);
  if (count > sent.size()) return sql_error("XX000", "invalid size of tsquery");
  size_t open = count > 0 ? 1 : 0;  // operands that are still to come
  for (uint64_t i = 0; i < count; ++i) {
    QueryItem item;
    SCYPER_RETURN_IF_ERROR(receive_item(&sent, &item));
    if (open == 0) return sql_error("XX000", "malformed tsquery: extra nodes");
    if (item.op == QueryOp::kValue)
      --open;
    else if (item.op != QueryOp::kNot)
      ++open;
    out->items.push_back(std::move(item));
  }
  if (open != 0) return sql_error("XX000", "malformed tsquery: operand not found");
  if (!sent.empty()) return sql_error("22P03", "incorrect binary data format");
  return link_items(out);
}

void text_query_send(std::string* out, const TextQuery& query) {
  append_big_endian(out, query.items.size(), 4);
  for (const QueryItem& item : query.items) {
    if (is_leaf(item.op)) {
      *out += kSentValue;
      *out += static_cast<char>(item.weights);
      *out += static_cast<char>(item.is_prefix ? 1 : 0);
      *out += item.word;
      *out += '\0';
      continue;
    }
    *out += kSentOperator;
    *out += static_cast<char>(item.op);
    if (item.op == QueryOp::kPhrase) append_big_endian(out, item.distance, 2);
  }
}

}  // namespace scyper::query
