#include <algorithm>
#include <string>
#include <tuple>

#include "base/bounded_work.h"
#include "types/regex_tree.h"
#include "types/text.h"

// Reads a pattern, and builds the tree by which matches are taken apart and the programs that find them.
namespace scyper::query {

namespace {

constexpr int32_t kNestingMax = 1000;
constexpr int32_t kCountMax = 255;  // of a quantifier

using Flags = RegexNode::Flags;
using NodePtr = std::unique_ptr<RegexNode>;

Status too_complex() { return invalid_regex("regular expression is too complex"); }
Status bad_escape() { return invalid_regex("invalid escape \\ sequence"); }

// What a part tells the one around it: not its own preference, but whether there are both.
uint8_t upwards(uint8_t flags) {
  const bool both = (flags & Flags::kLonger) != 0 && (flags & Flags::kShorter) != 0;
  return static_cast<uint8_t>((flags & ~(Flags::kLonger | Flags::kShorter)) | (both ? Flags::kMixed : 0));
}
uint8_t preference(uint8_t flags) { return flags & (Flags::kLonger | Flags::kShorter); }
// The first one's preference, if it has one.
uint8_t combine(uint8_t a, uint8_t b) {
  return static_cast<uint8_t>(upwards(a | b) | (preference(a) != 0 ? preference(a) : preference(b)));
}
bool is_messy(uint8_t flags) { return (flags & (Flags::kMixed | Flags::kCaptures | Flags::kRefers)) != 0; }

RegexPartPtr make_part(RegexPart::Kind kind, uint32_t operand) {
  auto part = std::make_shared<RegexPart>();
  part->kind = kind;
  part->operand = operand;
  return part;
}
RegexPartPtr make_group_part(RegexPart::Kind kind, std::vector<RegexPartPtr> parts) {
  auto part = std::make_shared<RegexPart>();
  part->kind = kind;
  part->parts = std::move(parts);
  return part;
}
RegexPartPtr make_repeat(RegexPartPtr what, int32_t min, int32_t max) {
  if (min == 1 && max == 1) return what;
  auto part = std::make_shared<RegexPart>();
  part->kind = RegexPart::Kind::kRepeat;
  part->parts.push_back(std::move(what));
  part->min = min;
  part->max = max;
  return part;
}

// What a back reference may match: the group's part without assertions and lookaround.
RegexPartPtr without_constraints(const RegexPartPtr& part) {
  if (part->kind == RegexPart::Kind::kSet) return part;
  auto copy = std::make_shared<RegexPart>(*part);
  if (part->kind == RegexPart::Kind::kAssertion || part->kind == RegexPart::Kind::kLook) {
    copy->kind = RegexPart::Kind::kSequence;
    copy->parts.clear();
  }
  for (auto& inner : copy->parts) inner = without_constraints(inner);
  return copy;
}

NodePtr make_node(RegexNode::Kind kind, uint8_t flags, RegexPartPtr part) {
  auto node = std::make_unique<RegexNode>();
  node->kind = kind;
  node->flags = flags;
  node->part = std::move(part);
  return node;
}
NodePtr make_pair_node(uint8_t flags, NodePtr left, NodePtr right) {
  NodePtr node = make_node(RegexNode::Kind::kConcatenation, flags,
                           make_group_part(RegexPart::Kind::kSequence, {left->part, right->part}));
  node->children.push_back(std::move(left));
  node->children.push_back(std::move(right));
  return node;
}

struct NamedClass {
  std::string_view name;
  std::vector<std::pair<char32_t, char32_t>> ranges;
};
const NamedClass* find_class(std::string_view name) {
  static const std::vector<NamedClass> kClasses = {{"alnum", {{'0', '9'}, {'A', 'Z'}, {'a', 'z'}}},
                                                   {"alpha", {{'A', 'Z'}, {'a', 'z'}}},
                                                   {"ascii", {{1, 127}}},
                                                   {"blank", {{' ', ' '}, {'\t', '\t'}}},
                                                   {"cntrl", {{1, 31}, {127, 127}}},
                                                   {"digit", {{'0', '9'}}},
                                                   {"graph", {{33, 126}}},
                                                   {"lower", {{'a', 'z'}}},
                                                   {"print", {{32, 126}}},
                                                   {"punct", {{33, 47}, {58, 64}, {91, 96}, {123, 126}}},
                                                   {"space", {{9, 13}, {' ', ' '}}},
                                                   {"upper", {{'A', 'Z'}}},
                                                   {"word", {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}}},
                                                   {"xdigit", {{'0', '9'}, {'A', 'F'}, {'a', 'f'}}}};
  for (const NamedClass& one : kClasses)
    if (one.name == name) return &one;
  return nullptr;
}
const NamedClass& class_of_escape(char32_t letter) {
  return *find_class(letter == 'd' ? "digit" : letter == 's' ? "space" : "word");
}

class Parser {
 public:
  Parser(std::string_view pattern, const RegexFlags& flags, RegexTree* tree)
      : in_(characters_of(pattern, nullptr)), flags_(flags), tree_(*tree) {
    groups_.push_back(nullptr);
  }

  Status run();

 private:
  struct Quantifier {
    int32_t min = 1, max = 1;
    uint8_t prefers = 0;
  };
  // An atom: its part, and a node if it is a group, a back reference or has something messy in it.
  struct Atom {
    RegexPartPtr part;
    NodePtr node;
    bool is_constraint = false;
    bool captures = false;
    bool refers = false;  // it is a back reference
  };

  char32_t peek(size_t ahead = 0) const { return at_ + ahead < in_.size() ? in_[at_ + ahead] : 0; }
  bool sees(std::string_view text) const {
    for (size_t i = 0; i < text.size(); i++)
      if (peek(i) != static_cast<unsigned char>(text[i])) return false;
    return true;
  }
  bool eat(std::string_view text) {
    if (!sees(text)) return false;
    at_ += text.size();
    return true;
  }
  bool is_branch_end() {
    skip_blanks();
    return at_ >= in_.size() || peek() == '|' || peek() == ')';
  }
  // Comments, and with flag x blanks.
  void skip_blanks() {
    while (at_ < in_.size()) {
      if (sees("(?#")) {
        while (at_ < in_.size() && peek() != ')') at_++;
        if (at_ < in_.size()) at_++;
      } else if (flags_.expanded && (peek() == ' ' || (peek() >= 9 && peek() <= 13))) {
        at_++;
      } else if (flags_.expanded && peek() == '#') {
        while (at_ < in_.size() && peek() != '\n') at_++;
      } else {
        return;
      }
    }
  }

  RegexPartPtr set_part(CharacterSet set) {
    set.finish(flags_.ignore_case);
    tree_.sets.push_back(std::move(set));
    return make_part(RegexPart::Kind::kSet, static_cast<uint32_t>(tree_.sets.size() - 1));
  }
  RegexPartPtr character_part(char32_t c) {
    CharacterSet set;
    set.add(c, c);
    return set_part(std::move(set));
  }
  static Atom constraint(RegexAssertion what) {
    Atom atom;
    atom.part = make_part(RegexPart::Kind::kAssertion, static_cast<uint32_t>(what));
    atom.is_constraint = true;
    return atom;
  }

  StatusOr<NodePtr> take_choice(bool in_look);
  StatusOr<NodePtr> take_branch(bool in_look);
  StatusOr<NodePtr> take_rest(std::vector<RegexPartPtr> prefix, uint8_t flags, NodePtr node, uint8_t node_flags,
                              bool in_look);
  static NodePtr quantify(Atom atom, const Quantifier& quantifier);
  StatusOr<Atom> take_atom(bool in_look);
  StatusOr<Atom> take_group(bool in_look);
  StatusOr<Atom> take_look(bool ahead, bool negated);
  StatusOr<Atom> take_escape(bool in_look);
  StatusOr<Atom> take_reference(bool in_look);
  StatusOr<char32_t> take_character_escape();
  StatusOr<char32_t> take_code(size_t digits_min, size_t digits_max, uint32_t base);
  StatusOr<Atom> take_bracket();
  Status take_bracket_item(CharacterSet* set);
  StatusOr<char32_t> take_bracket_character();
  StatusOr<Quantifier> take_quantifier();
  StatusOr<int32_t> take_count();

  std::vector<char32_t> in_;
  size_t at_ = 0;
  RegexFlags flags_;
  RegexTree& tree_;
  std::vector<RegexPartPtr> groups_;  // by number; null: not closed yet
  std::vector<RegexPartPtr> look_parts_;
  int32_t depth_ = 0;
};

StatusOr<NodePtr> Parser::take_choice(bool in_look) {
  if (++depth_ > kNestingMax) return too_complex();
  std::vector<NodePtr> branches;
  std::vector<RegexPartPtr> parts;
  uint8_t flags = Flags::kLonger;
  do {
    poll_work();
    SCYPER_ASSIGN_OR_RETURN(NodePtr branch, take_branch(in_look));
    flags |= upwards(flags | branch->flags);
    parts.push_back(branch->part);
    branches.push_back(std::move(branch));
  } while (eat("|"));
  depth_--;
  if (branches.size() == 1) return std::move(branches[0]);
  NodePtr node = make_node(is_messy(flags) ? RegexNode::Kind::kChoice : RegexNode::Kind::kPlain, flags,
                           make_group_part(RegexPart::Kind::kChoice, std::move(parts)));
  if (is_messy(flags)) node->children = std::move(branches);
  return node;
}

// Plain parts are one node together. A messy one splits the branch: what is before it, the part, and the rest.
StatusOr<NodePtr> Parser::take_branch(bool in_look) {
  std::vector<RegexPartPtr> prefix;
  uint8_t flags = 0;
  while (!is_branch_end()) {
    SCYPER_ASSIGN_OR_RETURN(Atom atom, take_atom(in_look));
    if (atom.is_constraint) {
      prefix.push_back(std::move(atom.part));
      continue;
    }
    skip_blanks();
    SCYPER_ASSIGN_OR_RETURN(const Quantifier quantifier, take_quantifier());
    if (quantifier.max == 0) continue;
    const uint8_t inner = atom.node == nullptr ? 0 : atom.node->flags;
    const auto all = static_cast<uint8_t>(flags | quantifier.prefers | inner);
    if (!atom.captures && !atom.refers && !is_messy(upwards(all))) {
      prefix.push_back(make_repeat(std::move(atom.part), quantifier.min, quantifier.max));
      flags = all;
      continue;
    }
    if (atom.node == nullptr) atom.node = make_node(RegexNode::Kind::kPlain, 0, atom.part);
    const uint8_t node_flags = combine(quantifier.prefers, atom.node->flags);
    NodePtr node = quantify(std::move(atom), quantifier);
    return take_rest(std::move(prefix), flags, std::move(node), node_flags, in_look);
  }
  return make_node(RegexNode::Kind::kPlain, flags, make_group_part(RegexPart::Kind::kSequence, std::move(prefix)));
}

NodePtr Parser::quantify(Atom atom, const Quantifier& quantifier) {
  NodePtr node = std::move(atom.node);
  const int32_t min = quantifier.min, max = quantifier.max;
  const uint8_t prefers = quantifier.prefers, flags = combine(prefers, node->flags);
  const uint8_t own = node->flags & (Flags::kLonger | Flags::kShorter | Flags::kMixed);
  if (atom.refers) {
    node->min = min;
    node->max = max;
    node->flags |= flags;
    node->part = make_repeat(node->part, min, max);
    return node;
  }
  if (min == 1 && max == 1 && (prefers == 0 || own == 0 || prefers == own)) return node;
  if (!(node->flags & (Flags::kCaptures | Flags::kRefers)))
    return make_node(RegexNode::Kind::kPlain, flags, make_repeat(node->part, min, max));
  if (min > 0 && !(node->flags & Flags::kRefers)) {  // only the last repetition captures
    NodePtr before = make_node(RegexNode::Kind::kPlain, preference(flags),
                               make_repeat(node->part, min - 1, max == kRepeatForever ? max : max - 1));
    return make_pair_node(flags, std::move(before), std::move(node));
  }
  NodePtr iteration = make_node(RegexNode::Kind::kIteration, flags, make_repeat(node->part, min, max));
  iteration->min = min;
  iteration->max = max;
  iteration->children.push_back(std::move(node));
  return iteration;
}

StatusOr<NodePtr> Parser::take_rest(std::vector<RegexPartPtr> prefix, uint8_t flags, NodePtr node, uint8_t node_flags,
                                    bool in_look) {
  const bool is_first = prefix.empty();
  NodePtr before =
      make_node(RegexNode::Kind::kPlain, flags, make_group_part(RegexPart::Kind::kSequence, std::move(prefix)));
  if (is_branch_end()) {
    if (is_first) return node;
    flags |= combine(flags, node->flags);
    return make_pair_node(flags, std::move(before), std::move(node));
  }
  if (++depth_ > kNestingMax) return too_complex();
  SCYPER_ASSIGN_OR_RETURN(NodePtr rest, take_branch(in_look));
  depth_--;
  node_flags |= combine(node_flags, rest->flags);
  flags |= combine(flags, node_flags);
  if (is_first) return make_pair_node(flags, std::move(node), std::move(rest));
  const bool are_plain = node->kind == RegexNode::Kind::kPlain && rest->kind == RegexNode::Kind::kPlain &&
                         node->capture == 0 && rest->capture == 0;
  NodePtr behind;
  if (are_plain && !is_messy(upwards(node->flags | rest->flags)))
    behind = make_node(RegexNode::Kind::kPlain, combine(node->flags, rest->flags),
                       make_group_part(RegexPart::Kind::kSequence, {node->part, rest->part}));
  else
    behind = make_pair_node(node_flags, std::move(node), std::move(rest));
  return make_pair_node(flags, std::move(before), std::move(behind));
}

StatusOr<Parser::Atom> Parser::take_atom(bool in_look) {
  const char32_t c = peek();
  switch (c) {
    case '(':
      return take_group(in_look);
    case '[':
      if (eat("[[:<:]]")) return constraint(RegexAssertion::kWordBegin);
      if (eat("[[:>:]]")) return constraint(RegexAssertion::kWordEnd);
      return take_bracket();
    case '\\':
      return take_escape(in_look);
    case '^':
      at_++;
      return constraint(flags_.line_anchors ? RegexAssertion::kLineBegin : RegexAssertion::kTextBegin);
    case '$':
      at_++;
      return constraint(flags_.line_anchors ? RegexAssertion::kLineEnd : RegexAssertion::kTextEnd);
    case '*':
    case '+':
    case '?':
      return invalid_regex("quantifier operand invalid");
    case '{':
      if (peek(1) >= '0' && peek(1) <= '9') return invalid_regex("quantifier operand invalid");
      break;
    default:
      break;
  }
  at_++;
  Atom atom;
  if (c != '.') {
    atom.part = character_part(c);
    return atom;
  }
  CharacterSet any;
  any.negated = true;
  any.not_newline = !flags_.dot_newline;
  atom.part = set_part(std::move(any));
  return atom;
}

StatusOr<Parser::Atom> Parser::take_look(bool ahead, bool negated) {
  SCYPER_ASSIGN_OR_RETURN(const NodePtr inner, take_choice(true));
  if (!eat(")")) return invalid_regex("parentheses () not balanced");
  RegexLook look;
  look.ahead = ahead;
  look.negated = negated;
  tree_.looks.push_back(std::move(look));
  look_parts_.push_back(inner->part);
  Atom atom;
  atom.part = make_part(RegexPart::Kind::kLook, static_cast<uint32_t>(tree_.looks.size() - 1));
  atom.is_constraint = true;
  return atom;
}

StatusOr<Parser::Atom> Parser::take_group(bool in_look) {
  for (const auto& [mark, ahead, negated] : {std::tuple<std::string_view, bool, bool>{"(?=", true, false},
                                             {"(?!", true, true},
                                             {"(?<=", false, false},
                                             {"(?<!", false, true}})
    if (eat(mark)) return take_look(ahead, negated);
  const bool is_plain = eat("(?:");
  if (!is_plain && sees("(?")) return invalid_regex("quantifier operand invalid");
  if (!is_plain) at_++;
  const bool captures = !is_plain && !in_look;
  const size_t number = groups_.size();
  if (captures) groups_.push_back(nullptr);
  Atom atom;
  SCYPER_ASSIGN_OR_RETURN(atom.node, take_choice(in_look));
  if (!eat(")")) return invalid_regex("parentheses () not balanced");
  atom.part = atom.node->part;
  if (!captures) return atom;
  if (atom.node->capture != 0) {
    NodePtr wrapper = make_node(RegexNode::Kind::kWrapper, atom.node->flags, atom.part);
    wrapper->children.push_back(std::move(atom.node));
    atom.node = std::move(wrapper);
  }
  atom.node->capture = static_cast<int32_t>(number);
  atom.node->flags |= Flags::kCaptures;
  atom.captures = true;
  groups_[number] = atom.part;
  return atom;
}

StatusOr<Parser::Atom> Parser::take_escape(bool in_look) {
  const char32_t c = peek(1);
  if (at_ + 1 >= in_.size()) return bad_escape();
  constexpr std::pair<char, RegexAssertion> kAssertions[] = {
      {'A', RegexAssertion::kTextBegin}, {'Z', RegexAssertion::kTextEnd},      {'m', RegexAssertion::kWordBegin},
      {'M', RegexAssertion::kWordEnd},   {'y', RegexAssertion::kWordBoundary}, {'Y', RegexAssertion::kNoWordBoundary}};
  for (const auto& [letter, what] : kAssertions) {
    if (c != static_cast<unsigned char>(letter)) continue;
    at_ += 2;
    return constraint(what);
  }
  Atom atom;
  const char32_t lower = lower_letter(c);
  if (lower == 'd' || lower == 's' || lower == 'w') {
    CharacterSet set;
    set.ranges = class_of_escape(lower).ranges;
    set.negated = c != lower;
    at_ += 2;
    atom.part = set_part(std::move(set));
    return atom;
  }
  if (c >= '1' && c <= '9') return take_reference(in_look);
  SCYPER_ASSIGN_OR_RETURN(const char32_t character, take_character_escape());
  atom.part = character_part(character);
  return atom;
}

// A number of one digit is a back reference. A longer one is if it has a group, and is an octal code otherwise.
StatusOr<Parser::Atom> Parser::take_reference(bool in_look) {
  size_t end = at_ + 1, number = 0;
  for (; end < in_.size() && in_[end] >= '0' && in_[end] <= '9'; end++)
    number = std::min<size_t>(number * 10 + (in_[end] - '0'), 100'000);
  Atom atom;
  if (end - at_ > 2 && number >= groups_.size()) {
    SCYPER_ASSIGN_OR_RETURN(const char32_t character, take_character_escape());
    atom.part = character_part(character);
    return atom;
  }
  if (in_look || number >= groups_.size() || groups_[number] == nullptr)
    return invalid_regex("invalid backreference number");
  at_ = end;
  tree_.refers = atom.refers = true;
  atom.part = without_constraints(groups_[number]);
  atom.node = make_node(RegexNode::Kind::kBackReference, Flags::kRefers, atom.part);
  atom.node->referred = static_cast<int32_t>(number);
  return atom;
}

// The digits of a character's code.
StatusOr<char32_t> Parser::take_code(size_t digits_min, size_t digits_max, uint32_t base) {
  uint64_t code = 0;
  size_t digits = 0;
  for (; digits < digits_max && at_ < in_.size(); digits++, at_++) {
    const char32_t c = lower_letter(peek());
    const uint32_t digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : base;
    if (digit >= base) break;
    code = code * base + digit;
    if (code > 0x7ffffffe) return bad_escape();
  }
  if (digits < digits_min) return bad_escape();
  return static_cast<char32_t>(code);
}

StatusOr<char32_t> Parser::take_character_escape() {
  if (at_ + 1 >= in_.size()) return bad_escape();
  const char32_t c = peek(1);
  at_ += 2;
  constexpr std::pair<char, char> kLetters[] = {{'a', '\a'}, {'b', '\b'}, {'B', '\\'}, {'e', '\033'}, {'f', '\f'},
                                                {'n', '\n'}, {'r', '\r'}, {'t', '\t'}, {'v', '\v'}};
  for (const auto& [letter, character] : kLetters)
    if (c == static_cast<unsigned char>(letter)) return static_cast<unsigned char>(character);
  if (c == 'c') {
    if (at_ >= in_.size()) return bad_escape();
    return in_[at_++] & 037;
  }
  if (c == 'u') return take_code(4, 4, 16);
  if (c == 'U') return take_code(8, 8, 16);
  if (c == 'x') return take_code(1, 255, 16);
  if (c >= '0' && c <= '9') {
    at_--;
    return take_code(1, 3, 8);
  }
  const char32_t lower = lower_letter(c);
  if (lower >= 'a' && lower <= 'z') return bad_escape();
  return c;
}

StatusOr<Parser::Atom> Parser::take_bracket() {
  CharacterSet set;
  at_++;
  set.negated = eat("^");
  set.not_newline = set.negated && !flags_.dot_newline;
  for (bool first = true; first || peek() != ']'; first = false) {
    if (at_ >= in_.size()) return invalid_regex("brackets [] not balanced");
    SCYPER_RETURN_IF_ERROR(take_bracket_item(&set));
  }
  at_++;
  Atom atom;
  atom.part = set_part(std::move(set));
  return atom;
}

// A class, or a character, or a range of them.
Status Parser::take_bracket_item(CharacterSet* set) {
  if (eat("[:")) {
    std::string name;
    while (at_ < in_.size() && !sees(":]")) name += static_cast<char>(in_[at_++]);
    if (!eat(":]")) return invalid_regex("brackets [] not balanced");
    if (flags_.ignore_case && (name == "lower" || name == "upper")) name = "alpha";
    const NamedClass* named = find_class(name);
    if (named == nullptr) return invalid_regex("invalid character class");
    for (const auto& [first, last] : named->ranges) set->add(first, last);
    return absl::OkStatus();
  }
  const char32_t lower = lower_letter(peek(1));
  if (peek() == '\\' && (lower == 'd' || lower == 's' || lower == 'w')) {
    const auto& ranges = class_of_escape(lower).ranges;
    const bool negated = peek(1) != lower;
    at_ += 2;
    char32_t next = 1;
    for (const auto& [first, last] : ranges) {
      if (!negated) set->add(first, last);
      if (negated && first > next) set->add(next, first - 1);
      next = last + 1;
    }
    if (negated) set->add(next, 0x7fffffff);
    return absl::OkStatus();
  }
  SCYPER_ASSIGN_OR_RETURN(const char32_t first, take_bracket_character());
  char32_t last = first;
  if (peek() == '-' && at_ + 1 < in_.size() && peek(1) != ']') {
    at_++;
    SCYPER_ASSIGN_OR_RETURN(last, take_bracket_character());
  }
  if (first > last) return invalid_regex("invalid character range");
  set->add(first, last);
  return absl::OkStatus();
}

StatusOr<char32_t> Parser::take_bracket_character() {
  if (at_ >= in_.size()) return invalid_regex("brackets [] not balanced");
  if (sees("[:") || (peek() == '\\' && (peek(1) == 'd' || peek(1) == 's' || peek(1) == 'w')))
    return invalid_regex("invalid character range");
  if (peek() == '\\') return take_character_escape();
  if (!sees("[.") && !sees("[=")) return in_[at_++];
  const char32_t kind = peek(1), character = peek(2);
  if (peek(3) != kind || peek(4) != ']')
    return sql_error("0A000", "a collating element of several characters in regular expressions is not supported");
  at_ += 5;
  return character;
}

StatusOr<int32_t> Parser::take_count() {
  int32_t count = 0;
  const size_t begin = at_;
  for (; peek() >= '0' && peek() <= '9' && count <= kCountMax; at_++)
    count = count * 10 + static_cast<int32_t>(peek() - '0');
  if (at_ == begin || count > kCountMax) return invalid_regex("invalid repetition count(s)");
  return count;
}

StatusOr<Parser::Quantifier> Parser::take_quantifier() {
  Quantifier quantifier;
  const char32_t c = peek();
  bool prefers = true;
  if (c == '*' || c == '+' || c == '?') {
    at_++;
    quantifier.min = c == '+' ? 1 : 0;
    quantifier.max = c == '?' ? 1 : kRepeatForever;
  } else if (c == '{' && peek(1) >= '0' && peek(1) <= '9') {
    at_++;
    SCYPER_ASSIGN_OR_RETURN(quantifier.min, take_count());
    quantifier.max = quantifier.min;
    prefers = eat(",");  // {2} passes on what its operand prefers
    if (prefers) quantifier.max = kRepeatForever;
    if (prefers && peek() >= '0' && peek() <= '9') {
      SCYPER_ASSIGN_OR_RETURN(quantifier.max, take_count());
    }
    if (at_ >= in_.size()) return invalid_regex("braces {} not balanced");
    if (quantifier.min > quantifier.max || !eat("}")) return invalid_regex("invalid repetition count(s)");
  } else {
    return quantifier;
  }
  const bool shorter = eat("?");
  if (prefers) quantifier.prefers = shorter ? Flags::kShorter : Flags::kLonger;
  return quantifier;
}

Status Parser::run() {
  SCYPER_ASSIGN_OR_RETURN(tree_.root, take_choice(false));
  if (at_ < in_.size()) return invalid_regex("parentheses () not balanced");
  tree_.groups = static_cast<int32_t>(groups_.size()) - 1;
  tree_.ignore_case = flags_.ignore_case;
  return write_regex_programs(look_parts_, &tree_);
}

}  // namespace

StatusOr<std::unique_ptr<RegexTree>> parse_regex_tree(std::string_view pattern, const RegexFlags& flags) {
  auto tree = std::make_unique<RegexTree>();
  SCYPER_RETURN_IF_ERROR(Parser(pattern, flags, tree.get()).run());
  return tree;
}

}  // namespace scyper::query
