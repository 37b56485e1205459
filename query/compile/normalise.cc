#include "query/normalise.h"

#include <algorithm>
#include <array>

#include "absl/strings/str_cat.h"
#include "parse/scanner.h"
#include "query/declared_parameters.h"
#include "query/search_path.h"
#include "types/text.h"

namespace scyper::query {

namespace {

constexpr size_t kTextBytesMax = 64 << 10;  // longer ones are loads or generated once
constexpr size_t kLiteralsMax = 1000;

template <size_t n>
bool is_one_of(std::string_view word, const std::array<std::string_view, n>& words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// Behind these words stands an expression that is no target of its own.
constexpr std::array<std::string_view, 10> kBeforeValue = {"where", "and", "or",   "not",  "when",
                                                           "then",  "on",  "else", "case", "between"};
constexpr std::array<std::string_view, 4> kBeforeTarget = {"select", "all", "distinct", "returning"};
// Where ordinals and counts stand: from here literals stay, until one of kClauseEnds or the closing parenthesis.
constexpr std::array<std::string_view, 4> kOrdinalClauses = {"by", "limit", "offset", "fetch"};
constexpr std::array<std::string_view, 9> kClauseEnds = {"select", "having",    "union", "except", "intersect",
                                                         "from",   "returning", "where", "values"};
// Words before a parenthesis that are no function's name.
constexpr std::array<std::string_view, 22> kBeforeGroup = {
    "where", "and",  "or",  "not",    "when", "then",     "on",    "else",      "case",         "between", "select",
    "all",   "from", "set", "having", "join", "distinct", "union", "intersect", "materialized", "except",  "as"};

bool is_arithmetic_or_comparison(std::string_view text) {
  static constexpr std::array<std::string_view, 13> kOperators = {
      "=", "<>", "!=", "<", "<=", ">", ">=", "+", "-", "*", "/", "%", "||"};
  return is_one_of(text, kOperators);
}

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + ('a' - 'A'));
  return lower;
}

// An open parenthesis or bracket, and the statement itself.
struct Frame {
  bool is_list = false;   // VALUES (..), IN (..), CALL p(..), ARRAY[..]: elements name nothing
  bool is_query = false;  // SELECT was seen
  bool in_rows = false;   // behind VALUES
  bool keeps = false;     // literals stay
};

class Normaliser {
 public:
  Normaliser(const std::vector<Token>& tokens, NormalisedText* out) : tokens_(tokens), out_(out) {}

  bool run() {
    frames_.push_back({});
    size_t count = tokens_.size() - 1;  // without kEnd
    if (count > 0 && tokens_[count - 1].text == ";") --count;
    for (at_ = 0; at_ < count; ++at_) {
      const Token& token = tokens_[at_];
      if (!out_->text.empty()) out_->text += ' ';
      if (!add(token)) return false;
      previous_ = token.kind;
      previous_text_ = token.kind == TokenKind::kWord ? word_ : std::string(token.text);
    }
    return count > 0 && frames_.size() == 1;
  }

 private:
  bool add(const Token& token) {
    switch (token.kind) {
      case TokenKind::kWord:
        return add_word(token);
      case TokenKind::kOperator:
        return add_operator(token);
      case TokenKind::kNumber:
        return add_number(token);
      case TokenKind::kString:
        return add_string(token);
      case TokenKind::kQuotedIdentifier:
      case TokenKind::kDollarString:
        out_->text += token.text;
        in_type_ = false;
        return true;
      default:
        return false;  // parameters of its own
    }
  }

  bool add_word(const Token& token) {
    word_ = lower_case(token.text);
    if (out_->text.empty()) {
      static constexpr std::array<std::string_view, 7> kStatements = {"select", "insert", "update", "delete",
                                                                      "call",   "with",   "values"};
      if (!is_one_of(word_, kStatements)) return false;
      is_call_ = word_ == "call";
    }
    Frame& frame = frames_.back();
    if (word_ == "select") frame.is_query = true;
    frame.in_rows = word_ == "values";
    if (is_one_of(word_, kClauseEnds)) in_ordinals_ = false;
    if (is_one_of(word_, kOrdinalClauses)) in_ordinals_ = true;
    if (is_one_of(word_, kBeforeGroup)) in_type_ = false;
    if (word_ == "as") in_type_ = true;  // CAST (.. AS numeric(8, 2))
    out_->text += word_;
    return true;
  }

  bool add_operator(const Token& token) {
    std::string_view text = token.text;
    if (text == ";") return false;
    if (text == "(" || text == "[") {
      ordinals_.push_back(in_ordinals_);
      frames_.push_back(open(text));
      in_ordinals_ = false;
    } else if (text == ")" || text == "]") {
      if (frames_.size() == 1) return false;
      frames_.pop_back();
      in_ordinals_ = ordinals_.back();
      ordinals_.pop_back();
    }
    in_type_ = text == "::";
    out_->text += text;
    return true;
  }

  Frame open(std::string_view text) const {
    const Frame& outer = frames_.back();
    Frame frame;
    frame.keeps = outer.keeps || in_ordinals_;
    if (text == "[") {
      frame.is_list = true;
      return frame;
    }
    bool is_subquery = at_ + 1 < tokens_.size() && tokens_[at_ + 1].kind == TokenKind::kWord &&
                       is_one_of(lower_case(tokens_[at_ + 1].text), std::array<std::string_view, 2>{"select", "with"});
    if (is_subquery) return frame;
    bool follows_word = previous_ == TokenKind::kWord;
    if (follows_word && (previous_text_ == "values" || previous_text_ == "in")) {
      frame.is_list = true;
    } else if (previous_text_ == "," && outer.in_rows) {
      frame.is_list = true;
    } else if (is_call_ && frames_.size() == 1) {
      frame.is_list = true;
    } else if (previous_ == TokenKind::kQuotedIdentifier ||
               (follows_word && (in_type_ || !is_one_of(previous_text_, kBeforeGroup)))) {
      frame.keeps = true;  // a function's arguments, a type's modifiers, column names
    }
    return frame;
  }

  bool keeps_literal() const { return frames_.back().keeps || in_ordinals_ || out_->literals.size() >= kLiteralsMax; }

  // Whether an expression starts here whose type its place does not take from a word before it (DATE '..').
  bool starts_expression() const {
    if (previous_ == TokenKind::kOperator)
      return is_arithmetic_or_comparison(previous_text_) || previous_text_ == "(" || previous_text_ == "," ||
             previous_text_ == "[";
    return previous_ == TokenKind::kWord &&
           (is_one_of(previous_text_, kBeforeValue) || is_one_of(previous_text_, kBeforeTarget));
  }

  // A cast gives its target a name, so a number is replaced only where it is part of something else.
  bool may_be_target() const {
    if (frames_.back().is_list && !frames_.back().is_query) return false;
    if (previous_ == TokenKind::kOperator && is_arithmetic_or_comparison(previous_text_)) return false;
    if (previous_ == TokenKind::kWord && is_one_of(previous_text_, kBeforeValue)) return false;
    const Token& next = tokens_[at_ + 1];
    return !(next.kind == TokenKind::kOperator && is_arithmetic_or_comparison(next.text));
  }

  bool add_number(const Token& token) {
    std::string_view text = token.text;
    in_type_ = false;
    const Token& next = tokens_[at_ + 1];
    if (next.begin == token.end && next.kind == TokenKind::kWord) return false;  // 5x: junk
    size_t point = text.find('.');
    bool is_plain = text.find_first_not_of("0123456789.") == std::string_view::npos && point != 0 &&
                    (point == std::string_view::npos || point + 1 < text.size());
    std::string type = is_plain ? type_of_number(text, point) : "";
    if (type.empty() || keeps_literal() || !starts_expression() || may_be_target()) {
      out_->text += text;
      return true;
    }
    out_->literals.emplace_back(text);
    absl::StrAppend(&out_->text, "$", out_->literals.size(), "::", type);
    return true;
  }

  // "" where it depends on the sign, or is too large.
  static std::string type_of_number(std::string_view text, size_t point) {
    size_t first = std::min(text.find_first_not_of('0'), text.size());
    if (point == std::string_view::npos) {
      std::string_view digits = text.substr(first);
      if (digits.size() < 10 || (digits.size() == 10 && digits <= "2147483647")) return "int4";
      if (digits.size() < 19 && digits != "2147483648") return "int8";
      return "";
    }
    size_t scale = text.size() - point - 1;
    size_t whole = first < point ? point - first : 0;
    if (whole + scale > 30) return "";
    size_t digits = whole > 0 ? whole + scale : scale;
    return absl::StrCat("numeric(", std::max<size_t>(digits, 1), ",", scale, ")");
  }

  bool add_string(const Token& token) {
    in_type_ = false;
    const Token& next = tokens_[at_ + 1];
    if (previous_ == TokenKind::kString || next.kind == TokenKind::kString) return false;  // goes on in the next line
    if (token.text[0] != '\'' || keeps_literal() || !starts_expression()) {
      out_->text += token.text;
      return true;
    }
    out_->literals.push_back(value_of(token));
    absl::StrAppend(&out_->text, "$", out_->literals.size());
    return true;
  }

  const std::vector<Token>& tokens_;
  NormalisedText* const out_;
  std::vector<Frame> frames_;
  std::vector<bool> ordinals_;  // of the frames around
  bool in_ordinals_ = false;
  bool in_type_ = false;  // behind :: or AS
  bool is_call_ = false;
  size_t at_ = 0;
  std::string word_;
  TokenKind previous_ = TokenKind::kEnd;
  std::string previous_text_;
};

}  // namespace

bool normalise(std::string_view given, NormalisedText* out) {
  if (!declared_parameters_of(given).empty()) return false;
  out->clear();
  std::string_view wrong;
  const std::string_view sql = without_search_path(given), marks = given.substr(0, given.size() - sql.size());
  if (sql.size() > kTextBytesMax || sql.find('\0') != std::string_view::npos) return false;
  if (utf8_check(sql, &wrong) != ValueError::kNone) return false;
  auto tokens = scan(sql);
  if (tokens.ok() && Normaliser(*tokens, out).run()) {
    out->text.insert(0, marks);
    return true;
  }
  out->clear();
  return false;
}

Status literal_values(const NormalisedText& normalised, const std::vector<SqlType>& types, ValueArena* arena,
                      std::vector<Datum>* values) {
  if (types.size() != normalised.literals.size()) return absl::InternalError("not the statement of these literals");
  values->resize(types.size());
  for (size_t i = 0; i < types.size(); ++i)
    SCYPER_RETURN_IF_ERROR(parse_value(types[i], normalised.literals[i], arena, &(*values)[i]));
  return absl::OkStatus();
}

}  // namespace scyper::query
