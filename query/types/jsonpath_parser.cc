#include <algorithm>
#include <charconv>

#include "base/invariant.h"
#include "types/big_number.h"
#include "types/jsonpath.h"
#include "types/jsonpath_scanner.h"
#include "types/number_memory.h"
#include "types/text.h"

// jsonpath_gram.y by recursive descent: an error is found at the token where PostgreSQL's parser finds it.
namespace scyper::query {

namespace {

Status too_deep() { return sql_error("54001", "stack depth limit exceeded"); }

// PostgreSQL parses an expression and a predicate by rules of their own: a predicate is no operand of arithmetic.
struct Parsed {
  PathItem* item = nullptr;
  bool is_predicate = false;
};

class Parser {
 public:
  Parser(std::string_view text, JsonPath* path) : scan_(text), path_(path) {}

  Status run() {
    SCYPER_RETURN_IF_ERROR(scan_.advance());
    if (scan_.is(PathToken::kEnd)) return absl::OkStatus();
    path_->lax = !scan_.is(PathToken::kStrict);
    if (scan_.is(PathToken::kStrict) || scan_.is(PathToken::kLax)) SCYPER_RETURN_IF_ERROR(scan_.advance());
    SCYPER_ASSIGN_OR_RETURN(const Parsed whole, disjunction());
    if (!scan_.is(PathToken::kEnd)) return scan_.syntax_error();
    path_->root = whole.item;
    return absl::OkStatus();
  }

 private:
  PathItem* make(PathOp op, PathItem* left = nullptr, PathItem* right = nullptr) {
    PathItem& item = path_->items.emplace_back();
    item.op = op;
    item.left = left;
    item.right = right;
    return &item;
  }
  PathItem* make_text(PathOp op) {
    PathItem* item = make(op);
    item->text = scan_.value();
    return item;
  }
  Status expect(char character) { return scan_.is(character) ? scan_.advance() : scan_.syntax_error(); }
  Status expect(PathToken token) { return scan_.is(token) ? scan_.advance() : scan_.syntax_error(); }
  StatusOr<PathItem*> advance_over(PathItem* item) {
    SCYPER_RETURN_IF_ERROR(scan_.advance());
    return item;
  }

  StatusOr<Parsed> disjunction() {
    if (is_stack_low()) return too_deep();
    SCYPER_ASSIGN_OR_RETURN(Parsed left, conjunction());
    while (left.is_predicate && scan_.is(PathToken::kOr)) {
      SCYPER_RETURN_IF_ERROR(scan_.advance());
      SCYPER_ASSIGN_OR_RETURN(const Parsed right, conjunction());
      if (!right.is_predicate) return scan_.syntax_error();
      left.item = make(PathOp::kOr, left.item, right.item);
    }
    return left;
  }

  StatusOr<Parsed> conjunction() {
    SCYPER_ASSIGN_OR_RETURN(Parsed left, predicate());
    while (left.is_predicate && scan_.is(PathToken::kAnd)) {
      SCYPER_RETURN_IF_ERROR(scan_.advance());
      SCYPER_ASSIGN_OR_RETURN(const Parsed right, predicate());
      if (!right.is_predicate) return scan_.syntax_error();
      left.item = make(PathOp::kAnd, left.item, right.item);
    }
    return left;
  }

  // A predicate, or an expression that is none.
  StatusOr<Parsed> predicate() {
    if (scan_.is(PathToken::kNot)) {
      SCYPER_RETURN_IF_ERROR(scan_.advance());
      SCYPER_ASSIGN_OR_RETURN(PathItem * operand, delimited());
      return Parsed{make(PathOp::kNot, operand), true};
    }
    if (scan_.is(PathToken::kExists)) {
      SCYPER_ASSIGN_OR_RETURN(PathItem * exists, delimited());
      return Parsed{exists, true};
    }
    SCYPER_ASSIGN_OR_RETURN(const Parsed left, sum());
    if (left.is_predicate) {
      if (!scan_.is(PathToken::kIs)) return left;
      SCYPER_RETURN_IF_ERROR(scan_.advance());
      SCYPER_RETURN_IF_ERROR(expect(PathToken::kUnknown));
      return Parsed{make(PathOp::kIsUnknown, left.item), true};
    }
    if (scan_.is(PathToken::kStarts)) return starts_with(left.item);
    if (scan_.is(PathToken::kLikeRegex)) return like_regex(left.item);
    PathOp op;
    if (!comparison(&op)) return left;
    SCYPER_RETURN_IF_ERROR(scan_.advance());
    SCYPER_ASSIGN_OR_RETURN(PathItem * right, expression());
    return Parsed{make(op, left.item, right), true};
  }

  bool comparison(PathOp* op) const {
    static constexpr std::pair<PathToken, PathOp> kComparisons[] = {
        {PathToken::kEqual, PathOp::kEqual},
        {PathToken::kNotEqual, PathOp::kNotEqual},
        {PathToken::kLess, PathOp::kLess},
        {PathToken::kGreater, PathOp::kGreater},
        {PathToken::kLessOrEqual, PathOp::kLessOrEqual},
        {PathToken::kGreaterOrEqual, PathOp::kGreaterOrEqual},
    };
    for (const auto& [token, known] : kComparisons)
      if (scan_.is(token)) return *op = known, true;
    return false;
  }

  // '(' predicate ')', exists '(' expression ')'
  StatusOr<PathItem*> delimited() {
    if (scan_.is(PathToken::kExists)) {
      SCYPER_RETURN_IF_ERROR(scan_.advance());
      SCYPER_RETURN_IF_ERROR(expect('('));
      SCYPER_ASSIGN_OR_RETURN(PathItem * operand, expression());
      SCYPER_RETURN_IF_ERROR(expect(')'));
      return make(PathOp::kExists, operand);
    }
    SCYPER_RETURN_IF_ERROR(expect('('));
    SCYPER_ASSIGN_OR_RETURN(const Parsed inner, disjunction());
    if (!inner.is_predicate) return scan_.syntax_error();
    SCYPER_RETURN_IF_ERROR(expect(')'));
    return inner.item;
  }

  StatusOr<Parsed> starts_with(PathItem* left) {
    SCYPER_RETURN_IF_ERROR(scan_.advance());
    SCYPER_RETURN_IF_ERROR(expect(PathToken::kWith));
    const bool is_string = scan_.is(PathToken::kString);
    if (!is_string && !scan_.is(PathToken::kVariable)) return scan_.syntax_error();
    PathItem* initial = make_text(is_string ? PathOp::kString : PathOp::kVariable);
    SCYPER_RETURN_IF_ERROR(scan_.advance());
    return Parsed{make(PathOp::kStartsWith, left, initial), true};
  }

  StatusOr<Parsed> like_regex(PathItem* left) {
    SCYPER_RETURN_IF_ERROR(scan_.advance());
    if (!scan_.is(PathToken::kString)) return scan_.syntax_error();
    PathItem* regex = make_text(PathOp::kLikeRegex);
    regex->left = left;
    SCYPER_RETURN_IF_ERROR(scan_.advance());
    if (scan_.is(PathToken::kFlag)) {
      SCYPER_RETURN_IF_ERROR(scan_.advance());
      if (!scan_.is(PathToken::kString)) return scan_.syntax_error();
      SCYPER_RETURN_IF_ERROR(set_flags(scan_.value(), regex));
      SCYPER_RETURN_IF_ERROR(scan_.advance());
    }
    if (regex->flags.find('x') != std::string::npos && regex->flags.find('q') == std::string::npos)
      return sql_error("0A000", "XQuery \"x\" flag (expanded regular expressions) is not implemented");
    SCYPER_RETURN_IF_ERROR(Regex::compile(regex->text, path_regex_flags(regex->flags)).status());
    return Parsed{regex, true};
  }

  static Status set_flags(std::string_view given, PathItem* regex) {
    static constexpr std::string_view kFlags = "ismxq";
    const size_t unknown = given.find_first_not_of(kFlags);
    if (unknown != std::string_view::npos) {
      const std::string flag(first_character(given.substr(unknown)));
      return with_detail(sql_error("42601", "invalid input syntax for type jsonpath"),
                         "Unrecognized flag character \"" + flag + "\" in LIKE_REGEX predicate.");
    }
    for (char flag : kFlags)
      if (given.find(flag) != std::string_view::npos) regex->flags.push_back(flag);
    return absl::OkStatus();
  }

  StatusOr<PathItem*> expression() {
    SCYPER_ASSIGN_OR_RETURN(const Parsed parsed, sum());
    if (parsed.is_predicate) return scan_.syntax_error();
    return parsed.item;
  }

  bool binary(std::string_view characters, PathOp* op) const {
    static constexpr std::pair<char, PathOp> kOps[] = {{'+', PathOp::kAdd},
                                                       {'-', PathOp::kSubtract},
                                                       {'*', PathOp::kMultiply},
                                                       {'/', PathOp::kDivide},
                                                       {'%', PathOp::kModulo}};
    for (const auto& [character, known] : kOps)
      if (characters.find(character) != std::string_view::npos && scan_.is(character)) return *op = known, true;
    return false;
  }

  StatusOr<Parsed> sum() {
    SCYPER_ASSIGN_OR_RETURN(Parsed left, product());
    PathOp op;
    while (!left.is_predicate && binary("+-", &op)) {
      SCYPER_RETURN_IF_ERROR(scan_.advance());
      SCYPER_ASSIGN_OR_RETURN(const Parsed right, product());
      if (right.is_predicate) return scan_.syntax_error();
      left.item = make(op, left.item, right.item);
    }
    return left;
  }

  StatusOr<Parsed> product() {
    SCYPER_ASSIGN_OR_RETURN(Parsed left, unary());
    PathOp op;
    while (!left.is_predicate && binary("*/%", &op)) {
      SCYPER_RETURN_IF_ERROR(scan_.advance());
      SCYPER_ASSIGN_OR_RETURN(const Parsed right, unary());
      if (right.is_predicate) return scan_.syntax_error();
      left.item = make(op, left.item, right.item);
    }
    return left;
  }

  StatusOr<Parsed> unary() {
    if (is_stack_low()) return too_deep();
    const bool minus = scan_.is('-');
    if (!minus && !scan_.is('+')) return accessors();
    SCYPER_RETURN_IF_ERROR(scan_.advance());
    SCYPER_ASSIGN_OR_RETURN(const Parsed operand, unary());
    if (operand.is_predicate) return scan_.syntax_error();
    if (operand.item->op != PathOp::kNumber || operand.item->next != nullptr)
      return Parsed{make(minus ? PathOp::kMinus : PathOp::kPlus, operand.item), false};
    if (!minus) return operand;
    PathItem* number = make(PathOp::kNumber);
    const std::string& digits = operand.item->text;
    const bool is_zero = digits.find_first_not_of("0.") == std::string::npos;
    number->text = is_zero ? digits : digits[0] == '-' ? digits.substr(1) : "-" + digits;
    return Parsed{number, false};
  }

  StatusOr<Parsed> accessors() {
    Parsed head;
    if (scan_.is('(')) {
      SCYPER_RETURN_IF_ERROR(scan_.advance());
      SCYPER_ASSIGN_OR_RETURN(head, disjunction());
      SCYPER_RETURN_IF_ERROR(expect(')'));
    } else {
      SCYPER_ASSIGN_OR_RETURN(head.item, primary());
    }
    PathItem* end = head.item;
    while (scan_.is('.') || scan_.is('[') || scan_.is('?')) {
      SCYPER_ASSIGN_OR_RETURN(PathItem * accessor, this->accessor());
      while (end->next != nullptr) end = end->next;
      end = end->next = accessor;
      head.is_predicate = false;
    }
    return head;
  }

  StatusOr<PathItem*> primary() {
    switch (scan_.token()) {
      case PathToken::kString:
        return advance_over(make_text(PathOp::kString));
      case PathToken::kVariable:
        return advance_over(make_text(PathOp::kVariable));
      case PathToken::kNull:
        return advance_over(make(PathOp::kNull));
      case PathToken::kTrue:
      case PathToken::kFalse: {
        PathItem* item = make(PathOp::kBoolean);
        item->boolean = scan_.is(PathToken::kTrue);
        return advance_over(item);
      }
      case PathToken::kNumeric:
      case PathToken::kInteger: {
        PathItem* item = make(PathOp::kNumber);
        const LocalNumbers numbers;
        Decimal value;
        if (const ValueError error = decimal_parse(scan_.value(), &value); error != ValueError::kNone)
          return error_status(error, make_type(TypeId::kNumeric), scan_.value());
        item->text = decimal_text(value);
        return advance_over(item);
      }
      case PathToken::kLast:
        return advance_over(make(PathOp::kLast));
      default:
        break;
    }
    if (scan_.is('$')) return advance_over(make(PathOp::kRoot));
    if (scan_.is('@')) return advance_over(make(PathOp::kCurrent));
    return scan_.syntax_error();
  }

  StatusOr<PathItem*> accessor() {
    if (scan_.is('[')) return subscripts();
    const bool is_filter = scan_.is('?');
    SCYPER_RETURN_IF_ERROR(scan_.advance());
    if (is_filter) {
      SCYPER_RETURN_IF_ERROR(expect('('));
      SCYPER_ASSIGN_OR_RETURN(const Parsed inner, disjunction());
      if (!inner.is_predicate) return scan_.syntax_error();
      SCYPER_RETURN_IF_ERROR(expect(')'));
      return make(PathOp::kFilter, inner.item);
    }
    if (scan_.is('*')) return advance_over(make(PathOp::kAnyKey));
    if (scan_.is(PathToken::kAnyPath)) return any_path();
    if (!scan_.is(PathToken::kString) && scan_.token() < PathToken::kIdentifier) return scan_.syntax_error();
    const PathToken token = scan_.token();
    PathItem* key = make_text(PathOp::kKey);
    SCYPER_RETURN_IF_ERROR(scan_.advance());
    if (scan_.is('(')) return method(token, key);
    return key;
  }

  StatusOr<PathItem*> method(PathToken token, PathItem* item) {
    static constexpr std::pair<PathToken, PathOp> kMethods[] = {
        {PathToken::kAbs, PathOp::kAbs},           {PathToken::kSize, PathOp::kSize},
        {PathToken::kType, PathOp::kType},         {PathToken::kFloor, PathOp::kFloor},
        {PathToken::kDouble, PathOp::kDouble},     {PathToken::kCeiling, PathOp::kCeiling},
        {PathToken::kKeyValue, PathOp::kKeyValue}, {PathToken::kDatetime, PathOp::kDatetime}};
    const auto* found =
        std::find_if(std::begin(kMethods), std::end(kMethods), [&](const auto& m) { return m.first == token; });
    if (found == std::end(kMethods)) return scan_.syntax_error();
    item->op = found->second;
    item->text.clear();
    SCYPER_RETURN_IF_ERROR(scan_.advance());
    if (item->op == PathOp::kDatetime && scan_.is(PathToken::kString)) {
      SCYPER_ASSIGN_OR_RETURN(item->left, advance_over(make_text(PathOp::kString)));
    }
    SCYPER_RETURN_IF_ERROR(expect(')'));
    return item;
  }

  Status level(uint32_t* out) {
    if (!scan_.is(PathToken::kInteger) && !scan_.is(PathToken::kLast)) return scan_.syntax_error();
    *out = kLastLevel;
    if (scan_.is(PathToken::kInteger)) {
      const std::string& text = scan_.value();
      int32_t value = 0;
      if (std::from_chars(text.data(), text.data() + text.size(), value).ec != std::errc())
        return sql_error("22003", "value \"" + text + "\" is out of range for type integer");
      *out = static_cast<uint32_t>(value);
    }
    return scan_.advance();
  }

  StatusOr<PathItem*> any_path() {
    PathItem* item = make(PathOp::kAny);
    item->last = kLastLevel;
    SCYPER_RETURN_IF_ERROR(scan_.advance());
    if (!scan_.is('{')) return item;
    SCYPER_RETURN_IF_ERROR(scan_.advance());
    SCYPER_RETURN_IF_ERROR(level(&item->first));
    item->last = item->first;
    if (scan_.is(PathToken::kTo)) {
      SCYPER_RETURN_IF_ERROR(scan_.advance());
      SCYPER_RETURN_IF_ERROR(level(&item->last));
    }
    SCYPER_RETURN_IF_ERROR(expect('}'));
    return item;
  }

  StatusOr<PathItem*> subscripts() {
    SCYPER_RETURN_IF_ERROR(scan_.advance());
    if (scan_.is('*')) {
      SCYPER_RETURN_IF_ERROR(scan_.advance());
      SCYPER_RETURN_IF_ERROR(expect(']'));
      return make(PathOp::kAnyArray);
    }
    PathItem* item = make(PathOp::kIndexArray);
    for (;;) {
      PathItem::Subscript subscript{nullptr, nullptr};
      SCYPER_ASSIGN_OR_RETURN(subscript.first, expression());
      if (scan_.is(PathToken::kTo)) {
        SCYPER_RETURN_IF_ERROR(scan_.advance());
        SCYPER_ASSIGN_OR_RETURN(subscript.second, expression());
      }
      item->subscripts.push_back(subscript);
      if (!scan_.is(',')) break;
      SCYPER_RETURN_IF_ERROR(scan_.advance());
    }
    SCYPER_RETURN_IF_ERROR(expect(']'));
    return item;
  }

  PathScanner scan_;
  JsonPath* const path_;
};

// What the grammar lets pass and PostgreSQL refuses behind it.
Status check_item(const PathItem* item, int filters, bool in_subscript) {
  if (is_stack_low()) return too_deep();
  for (; item != nullptr; item = item->next) {
    if (item->op == PathOp::kCurrent && filters == 0) return sql_error("42601", "@ is not allowed in root expressions");
    if (item->op == PathOp::kLast && !in_subscript)
      return sql_error("42601", "LAST is allowed only in array subscripts");
    const int inner = filters + (item->op == PathOp::kFilter ? 1 : 0);
    SCYPER_RETURN_IF_ERROR(check_item(item->left, inner, in_subscript));
    SCYPER_RETURN_IF_ERROR(check_item(item->right, inner, in_subscript));
    for (const auto& [from, to] : item->subscripts) {
      SCYPER_RETURN_IF_ERROR(check_item(from, filters, true));
      SCYPER_RETURN_IF_ERROR(check_item(to, filters, true));
    }
  }
  return absl::OkStatus();
}

}  // namespace

RegexFlags path_regex_flags(std::string_view flags) {
  const auto has = [&](char flag) { return flags.find(flag) != std::string_view::npos; };
  RegexFlags regex;
  regex.ignore_case = has('i');
  regex.literal = has('q');
  if (regex.literal) return regex;
  regex.dot_newline = has('s');
  regex.line_anchors = has('m');
  return regex;
}

Status jsonpath_parse(std::string_view text, JsonPath* out) {
  SCYPER_RETURN_IF_ERROR(Parser(text, out).run());
  if (out->root == nullptr)
    return sql_error("22P02", "invalid input syntax for type jsonpath: \"" + std::string(text) + "\"");
  return check_item(out->root, 0, false);
}

}  // namespace scyper::query
