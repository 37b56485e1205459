#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

// PostgreSQL's tsquery: lexemes connected by operators.
namespace scyper::query {

enum class QueryOp : uint8_t { kValue = 0, kNot = 1, kAnd = 2, kOr = 3, kPhrase = 4, kStop = 5 };

// An operator or a lexeme. kStop stands for a stop word until clean_stop_words() takes it away.
struct QueryItem {
  QueryOp op = QueryOp::kValue;
  bool is_prefix = false;
  uint8_t weights = 0;    // bit w: weight w is asked for; 0: any
  uint16_t distance = 0;  // of kPhrase
  uint32_t left = 0;      // of operators with two operands: where the left one begins, counted from the item
  std::string word;
};

// The items in PostgreSQL's order: an operator, its right operand, its left one.
struct TextQuery {
  std::vector<QueryItem> items;

  bool empty() const { return items.empty(); }
  size_t right_of(size_t i) const { return i + 1; }
  size_t left_of(size_t i) const { return i + items[i].left; }
  // Where the part that begins at i ends.
  size_t end_of(size_t i) const;
};

constexpr int kPhraseDistanceMax = 1 << 14;

// Fills `left` of all items. 54001 where the query is nested too deeply: its readers recurse.
Status link_items(TextQuery* query);

// Puts a query together from operands and operators in postfix order.
class QueryBuilder {
 public:
  explicit QueryBuilder(std::string_view text) : text_(text) {}
  Status push_value(std::string_view word, uint8_t weights, bool is_prefix);
  void push_stop() { items_.push_back({QueryOp::kStop, false, 0, 0, 0, {}}); }
  void push_operator(QueryOp op, uint16_t distance) { items_.push_back({op, false, 0, distance, 0, {}}); }
  Status finish(TextQuery* out);

 private:
  std::string_view text_;
  std::vector<QueryItem> items_;
};

// What becomes of a word of the text: operands of the builder.
using PushWord = std::function<Status(QueryBuilder* builder, std::string_view word, uint8_t weights, bool is_prefix)>;
enum class QuerySyntax : uint8_t { kStandard, kPlain, kWeb };
Status text_query_parse(std::string_view text, QuerySyntax syntax, const PushWord& push, TextQuery* out);
// The input function of tsquery.
Status text_query_parse(std::string_view text, TextQuery* out);
std::string text_query_text(const TextQuery& query);
std::string text_query_text(const TextQuery& query, size_t from);

// The normal form (ordered_bytes.h). PostgreSQL's order does not look at weights and prefixes; here they decide last.
std::string bytes_of_text_query(const TextQuery& query);
TextQuery text_query_of_bytes(std::string_view bytes);
Status text_query_receive(std::string_view sent, TextQuery* out);
void text_query_send(std::string* out, const TextQuery& query);

// a op b. An empty operand gives the other one.
Status join_queries(const TextQuery& a, QueryOp op, uint16_t distance, const TextQuery& b, TextQuery* out);
Status negate_query(const TextQuery& query, TextQuery* out);
// Without stop words. Distances grow by the places that they held.
TextQuery clean_stop_words(const TextQuery& query);
// querytree(): the part that an index can look for; empty = nothing.
TextQuery indexable_part(const TextQuery& query);
// PostgreSQL's checksum of a word, which decides its place among others.
int32_t word_checksum(std::string_view word);
// How two parts compare, without weights and prefixes: negative, 0 or positive.
int compare_parts(const TextQuery& a, size_t at_a, const TextQuery& b, size_t at_b);

}  // namespace scyper::query
