#include "types/text_query.h"

#include <algorithm>
#include <array>

#include "base/bounded_work.h"
#include "types/big_endian.h"
#include "types/digits.h"
#include "types/text.h"
#include "types/text_vector.h"
#include "types/value_error.h"

namespace scyper::query {

namespace {

constexpr uint32_t kDepthMax = 5000;  // a level takes less than 300 bytes of the stack
constexpr std::string_view kWeightLetters = "DCBA";

bool is_leaf(QueryOp op) { return op == QueryOp::kValue || op == QueryOp::kStop; }
bool has_two(QueryOp op) { return op == QueryOp::kAnd || op == QueryOp::kOr || op == QueryOp::kPhrase; }

int priority_of(QueryOp op) {
  switch (op) {
    case QueryOp::kOr:
      return 1;
    case QueryOp::kAnd:
      return 2;
    case QueryOp::kPhrase:
      return 3;
    default:
      return 4;
  }
}

}  // namespace

size_t TextQuery::end_of(size_t i) const {
  for (size_t open = 1; open > 0; ++i) open += has_two(items[i].op) ? 1 : is_leaf(items[i].op) ? -1 : 0;
  return i;
}

Status link_items(TextQuery* query) {
  auto& items = query->items;
  std::vector<uint32_t> sizes(items.size()), depths(items.size());
  for (size_t i = items.size(); i-- > 0;) {
    sizes[i] = depths[i] = 1;
    if (is_leaf(items[i].op)) continue;
    const size_t right = i + 1;
    sizes[i] += sizes[right];
    depths[i] += depths[right];
    if (has_two(items[i].op)) {
      items[i].left = sizes[i];
      const size_t left = i + sizes[i];
      sizes[i] += sizes[left];
      depths[i] = std::max(depths[i], depths[left] + 1);
    }
    if (depths[i] > kDepthMax) return sql_error("54001", "stack depth limit exceeded");
  }
  return absl::OkStatus();
}

Status QueryBuilder::push_value(std::string_view word, uint8_t weights, bool is_prefix) {
  if (word.size() > kLexemeBytesMax)
    return sql_error("54000", "word is too long in tsquery: \"" + std::string(text_) + "\"");
  items_.push_back({QueryOp::kValue, is_prefix, weights, 0, 0, std::string(word)});
  return absl::OkStatus();
}

Status QueryBuilder::finish(TextQuery* out) {
  out->items.assign(std::make_move_iterator(items_.rbegin()), std::make_move_iterator(items_.rend()));
  return link_items(out);
}

// --- input ---

namespace {

// Reads one text. Operators wait on a stack until all that binds more tightly has been read.
class QueryParser {
 public:
  QueryParser(std::string_view text, QuerySyntax syntax, const PushWord& push)
      : text_(text),
        syntax_(syntax),
        push_(push),
        builder_(text),
        words_(text, syntax == QuerySyntax::kWeb ? LexemeScanner::Form::kWebQuery : LexemeScanner::Form::kQuery) {}

  Status run(TextQuery* out) {
    if (syntax_ == QuerySyntax::kPlain) {
      SCYPER_RETURN_IF_ERROR(push_(&builder_, text_, 0, false));
      return builder_.finish(out);
    }
    waiting_.emplace_back();
    while (!is_done_) {
      poll_work();
      if (!at_end() && is_space(now())) {
        ++at_;
      } else if (syntax_ == QuerySyntax::kWeb) {
        SCYPER_RETURN_IF_ERROR(wants_operand_ ? read_web_operand() : read_web_operator());
      } else {
        SCYPER_RETURN_IF_ERROR(wants_operand_ ? read_operand() : read_operator());
      }
    }
    flush(QueryOp::kOr);
    return builder_.finish(out);
  }

 private:
  struct Waiting {
    QueryOp op;
    uint16_t distance;
  };
  static constexpr size_t kWaitingMax = 32;  // PostgreSQL's

  bool at_end() const { return at_ >= text_.size(); }
  char now() const { return at_end() ? '\0' : text_[at_]; }
  Status error(const std::string& what) const { return sql_error("42601", what + ": \"" + std::string(text_) + "\""); }
  Status syntax_error() const { return error("syntax error in tsquery"); }

  void flush(QueryOp before) {
    auto& stack = waiting_.back();
    const int priority = priority_of(before);
    while (!stack.empty()) {
      const int top = priority_of(stack.back().op);
      if (before == QueryOp::kNot ? priority >= top : priority > top) break;  // NOT is right-associative
      builder_.push_operator(stack.back().op, stack.back().distance);
      stack.pop_back();
    }
  }
  Status add_operator(QueryOp op, uint16_t distance = 0) {
    flush(op);
    if (waiting_.back().size() >= kWaitingMax) return sql_error("XX000", "tsquery stack too small");
    waiting_.back().push_back({op, distance});
    wants_operand_ = true;
    is_first_ = false;
    return absl::OkStatus();
  }

  Status read_operand() {
    if (now() == '!') return ++at_, add_operator(QueryOp::kNot);
    if (now() == '(') {
      ++at_;
      is_first_ = false;
      waiting_.emplace_back();
      return absl::OkStatus();
    }
    if (now() == ':' && !at_end()) return syntax_error();
    bool found = false;
    std::string word;
    words_.seek(at_);
    SCYPER_RETURN_IF_ERROR(words_.next(&word, nullptr, &found));
    at_ = words_.offset();
    if (found) return take_word(word);
    if (!is_first_) return error("no operand in tsquery");
    is_done_ = true;
    return absl::OkStatus();
  }

  Status take_word(const std::string& word) {
    uint8_t weights = 0;
    bool is_prefix = false;
    if (syntax_ == QuerySyntax::kStandard && now() == ':') {
      for (++at_; now() == '*' || (!at_end() && weight_of(now()) >= 0); ++at_) {
        if (now() == '*')
          is_prefix = true;
        else
          weights = static_cast<uint8_t>(weights | 1 << weight_of(now()));
      }
    }
    wants_operand_ = is_first_ = false;
    return push_(&builder_, word, weights, is_prefix);
  }

  Status read_operator() {
    if (at_end()) {
      is_done_ = true;
      return waiting_.size() > 1 ? syntax_error() : absl::OkStatus();
    }
    const char c = now();
    if (c == '&' || c == '|') return ++at_, add_operator(c == '&' ? QueryOp::kAnd : QueryOp::kOr);
    if (c == ')') {
      ++at_;
      if (waiting_.size() == 1) return syntax_error();
      flush(QueryOp::kOr);
      waiting_.pop_back();
      return absl::OkStatus();
    }
    return c == '<' ? read_phrase() : syntax_error();
  }

  // <-> or <number>
  Status read_phrase() {
    size_t at = at_ + 1;
    int64_t distance = 1;
    if (at < text_.size() && text_[at] == '-') {
      ++at;
    } else {
      if (at >= text_.size() || !is_digit(text_[at])) return syntax_error();
      for (distance = 0; at < text_.size() && is_digit(text_[at]); ++at)
        distance = std::min<int64_t>(distance * 10 + (text_[at] - '0'), INT32_MAX);
      if (distance > kPhraseDistanceMax)
        return sql_error("22023", "distance in phrase operator must be an integer value between zero and " +
                                      std::to_string(kPhraseDistanceMax) + " inclusive");
    }
    // PostgreSQL asks for something behind it
    if (at + 1 >= text_.size() || text_[at] != '>') return syntax_error();
    at_ = at + 1;
    return add_operator(QueryOp::kPhrase, static_cast<uint16_t>(distance));
  }

  Status read_web_operand() {
    if (at_end()) {
      if (!is_first_) builder_.push_stop();
      is_done_ = true;
      return absl::OkStatus();
    }
    if (now() == '-') return ++at_, add_operator(QueryOp::kNot);
    if (now() == '"') {
      const size_t end = std::min(text_.find('"', at_ + 1), text_.size());
      const std::string_view quoted = text_.substr(at_ + 1, end - at_ - 1);
      at_ = std::min(end + 1, text_.size());
      wants_operand_ = is_first_ = false;
      return push_(&builder_, quoted, 0, false);
    }
    if (std::string_view("!&|()<").find(now()) != std::string_view::npos) {
      ++at_;
      is_first_ = false;
      return absl::OkStatus();
    }
    bool found = false;
    std::string word;
    words_.seek(at_);
    SCYPER_RETURN_IF_ERROR(words_.next(&word, nullptr, &found));
    at_ = words_.offset();
    return take_word(word);
  }

  Status read_web_operator() {
    while (std::string_view("!&|()<").find(now()) != std::string_view::npos && !at_end()) ++at_;
    if (at_end()) return is_done_ = true, absl::OkStatus();
    if (is_space(now())) return absl::OkStatus();
    if (!at_or()) return add_operator(QueryOp::kAnd);
    at_ += 2;
    return add_operator(QueryOp::kOr);
  }

  // OR, a word of its own, with something behind it.
  bool at_or() const {
    const std::string_view rest = text_.substr(at_);
    if (rest.size() < 3 || (rest[0] | 0x20) != 'o' || (rest[1] | 0x20) != 'r') return false;
    const char next = rest[2];
    const bool goes_on = next == '-' || next == '_' || is_digit(next) || ((next | 0x20) >= 'a' && (next | 0x20) <= 'z');
    if (goes_on) return false;
    const std::string_view more = rest.substr(3);
    return std::any_of(more.begin(), more.end(), [](char c) { return !is_space(c); });
  }

  std::string_view text_;
  QuerySyntax syntax_;
  const PushWord& push_;
  QueryBuilder builder_;
  LexemeScanner words_;
  std::vector<std::vector<Waiting>> waiting_;  // a stack for each open parenthesis
  size_t at_ = 0;
  bool wants_operand_ = true, is_first_ = true, is_done_ = false;
};

}  // namespace

Status text_query_parse(std::string_view text, QuerySyntax syntax, const PushWord& push, TextQuery* out) {
  return QueryParser(text, syntax, push).run(out);
}

Status text_query_parse(std::string_view text, TextQuery* out) {
  const PushWord as_it_is = [](QueryBuilder* builder, std::string_view word, uint8_t weights, bool is_prefix) {
    return builder->push_value(word, weights, is_prefix);
  };
  return text_query_parse(text, QuerySyntax::kStandard, as_it_is, out);
}

// --- output ---

namespace {

void append_part(std::string* out, const TextQuery& query, size_t i, int outer, bool is_right_of_phrase) {
  const QueryItem& item = query.items[i];
  if (is_leaf(item.op)) {
    append_quoted_lexeme(out, item.word);
    if (item.weights != 0 || item.is_prefix) *out += ':';
    if (item.is_prefix) *out += '*';
    for (int weight = 3; weight >= 0; --weight)
      if ((item.weights >> weight & 1) != 0) *out += kWeightLetters[static_cast<size_t>(weight)];
    return;
  }
  const int priority = priority_of(item.op);
  const bool is_phrase = item.op == QueryOp::kPhrase;
  const bool in_parentheses = priority < outer || (is_phrase && is_right_of_phrase);
  if (in_parentheses) *out += "( ";
  if (item.op == QueryOp::kNot) {
    *out += '!';
    append_part(out, query, i + 1, priority, false);
  } else {
    append_part(out, query, query.left_of(i), priority, false);
    if (is_phrase)
      *out += item.distance == 1 ? std::string(" <-> ") : " <" + std::to_string(item.distance) + "> ";
    else
      *out += item.op == QueryOp::kAnd ? " & " : " | ";
    append_part(out, query, query.right_of(i), priority, is_phrase);
  }
  if (in_parentheses) *out += " )";
}

}  // namespace

std::string text_query_text(const TextQuery& query, size_t from) {
  std::string text;
  if (!query.empty()) append_part(&text, query, from, -1, false);
  return text;
}
std::string text_query_text(const TextQuery& query) { return text_query_text(query, 0); }

// --- the normal form ---

int32_t word_checksum(std::string_view word) {
  static const auto* table = [] {
    auto* made = new std::array<uint32_t, 256>;
    for (uint32_t i = 0; i < 256; ++i) {
      uint32_t value = i;
      for (int bit = 0; bit < 8; ++bit) value = (value & 1) != 0 ? value >> 1 ^ 0xedb88320u : value >> 1;
      (*made)[i] = value;
    }
    return made;
  }();
  // a table for the low bit first, used from the high bit: what PostgreSQL's first releases did
  uint32_t sum = 0xffffffffu;
  for (const char c : word) sum = (*table)[(sum >> 24 ^ static_cast<unsigned char>(c)) & 0xff] ^ sum << 8;
  return static_cast<int32_t>(~sum);
}

namespace {

constexpr size_t kHeaderBytes = 8, kItemBytes = 12;  // of PostgreSQL's format
// Operators come before lexemes, and the greater comes first in most comparisons: kept inverted.
constexpr char kOperatorMark = 0, kValueMark = 1;

void append_ordered(std::string* out, const TextQuery& query, size_t i) {
  const QueryItem& item = query.items[i];
  if (is_leaf(item.op)) {
    *out += kValueMark;
    append_big_endian(out, ~(static_cast<uint32_t>(word_checksum(item.word)) ^ 0x80000000u), 4);
    *out += item.word;
    *out += '\0';
    return;
  }
  *out += kOperatorMark;
  *out += static_cast<char>(~static_cast<uint8_t>(item.op));
  append_ordered(out, query, query.right_of(i));
  if (has_two(item.op)) append_ordered(out, query, query.left_of(i));
  if (item.op == QueryOp::kPhrase) append_big_endian(out, static_cast<uint16_t>(~item.distance), 2);
}

// What append_ordered() wrote.
class OrderedReader {
 public:
  OrderedReader(std::string_view bytes, TextQuery* out) : bytes_(bytes), out_(out) {}

  void read_part() {
    if (bytes_.size() < 2) return;
    const char mark = take(1)[0];
    const size_t at = out_->items.size();
    out_->items.emplace_back();
    if (mark == kValueMark) {
      take(4);
      const std::string_view word = bytes_.substr(0, bytes_.find('\0'));
      out_->items[at].word = word;
      take(word.size() + 1);
      return;
    }
    const auto op = static_cast<QueryOp>(static_cast<uint8_t>(~take(1)[0]));
    out_->items[at].op = op;
    read_part();
    if (has_two(op)) {
      out_->items[at].left = static_cast<uint32_t>(out_->items.size() - at);
      read_part();
    }
    if (op == QueryOp::kPhrase) out_->items[at].distance = static_cast<uint16_t>(~big_endian_of(take(2)));
  }
  std::string_view rest() const { return bytes_; }

 private:
  std::string_view take(size_t size) {
    const std::string_view taken = bytes_.substr(0, size);
    bytes_.remove_prefix(taken.size());
    return taken;
  }

  std::string_view bytes_;
  TextQuery* out_;
};

}  // namespace

std::string bytes_of_text_query(const TextQuery& query) {
  size_t size = kHeaderBytes + kItemBytes * query.items.size();
  std::string tail;
  for (const QueryItem& item : query.items) {
    if (!is_leaf(item.op)) continue;
    size += item.word.size() + 1;
    tail += static_cast<char>(item.weights | (item.is_prefix ? 0x10 : 0));
  }
  std::string bytes;
  append_big_endian(&bytes, query.items.size(), 4);
  append_big_endian(&bytes, size, 4);
  if (!query.empty()) append_ordered(&bytes, query, 0);
  return bytes + tail;
}

TextQuery text_query_of_bytes(std::string_view bytes) {
  TextQuery query;
  if (bytes.size() <= kHeaderBytes) return query;
  OrderedReader reader(bytes.substr(kHeaderBytes), &query);
  reader.read_part();
  std::string_view tail = reader.rest();
  for (QueryItem& item : query.items) {
    if (!is_leaf(item.op) || tail.empty()) continue;
    item.weights = tail.front() & 0xf;
    item.is_prefix = (tail.front() & 0x10) != 0;
    tail.remove_prefix(1);
  }
  return query;
}

int compare_parts(const TextQuery& a, size_t at_a, const TextQuery& b, size_t at_b) {
  std::string left, right;
  append_ordered(&left, a, at_a);
  append_ordered(&right, b, at_b);
  return left.compare(right);
}

}  // namespace scyper::query
