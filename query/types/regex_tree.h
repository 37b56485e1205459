#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "types/regular_expression.h"

// The advanced regular expressions that RE2 does not know: back references, lookaround, word boundaries, and greedy and
// non-greedy quantifiers in one pattern. The rules are PostgreSQL's (src/backend/regex, by Henry Spencer): the overall
// match comes first, then each part takes as much or as little as its preference says, from left to right.
namespace scyper::query {

Status invalid_regex(std::string_view what);  // 2201B
// offsets: the byte of each character, and the size; may be null.
std::vector<char32_t> characters_of(std::string_view text, std::vector<uint32_t>* offsets);

// Letters are those of the C collation.
constexpr char32_t lower_letter(char32_t c) { return c >= 'A' && c <= 'Z' ? c + 32 : c; }

// A set of characters.
struct CharacterSet {
  std::vector<std::pair<char32_t, char32_t>> ranges;
  bool negated = false;
  bool not_newline = false;  // of a negated set
  std::array<bool, 128> ascii{};

  void add(char32_t first, char32_t last) { ranges.emplace_back(first, last); }
  void finish(bool ignore_case);  // once all ranges are there
  bool has(char32_t c) const { return c < 128 ? ascii[c] : has_range(c); }

 private:
  bool has_range(char32_t c) const;
};

enum class RegexAssertion : uint8_t {
  kTextBegin,
  kTextEnd,
  kLineBegin,
  kLineEnd,
  kWordBegin,
  kWordEnd,
  kWordBoundary,
  kNoWordBoundary
};

// A program of a nondeterministic automaton.
struct RegexState {
  enum class Kind : uint8_t { kSet, kSplit, kAssertion, kLook, kAccept };
  Kind kind = Kind::kAccept;
  uint32_t operand = 0;  // number of the set, the assertion or the lookaround; kSplit: the second next state
  uint32_t next = 0;
};
struct RegexProgram {
  std::vector<RegexState> states;
  uint32_t start = 0;
};

// What a part of the pattern matches, captures aside.
struct RegexPart {
  enum class Kind : uint8_t { kSequence, kChoice, kRepeat, kSet, kAssertion, kLook };
  Kind kind = Kind::kSequence;
  std::vector<std::shared_ptr<const RegexPart>> parts;
  uint32_t operand = 0;
  int32_t min = 0, max = 0;  // kRepeat; max: kRepeatForever
};
using RegexPartPtr = std::shared_ptr<const RegexPart>;
constexpr int32_t kRepeatForever = 256;  // one more than the largest count of a pattern

// How a match is taken apart. Of preference there is at most one bit; kMixed: parts of both are below.
struct RegexNode {
  enum class Kind : uint8_t { kPlain, kConcatenation, kChoice, kIteration, kBackReference, kWrapper };
  enum Flags : uint8_t { kLonger = 1, kShorter = 2, kMixed = 4, kCaptures = 8, kRefers = 16 };
  Kind kind = Kind::kPlain;
  uint8_t flags = 0;
  int32_t capture = 0;       // number of the group that it is; 0: none
  int32_t referred = 0;      // kBackReference
  int32_t min = 1, max = 1;  // kIteration, kBackReference
  RegexPartPtr part;
  RegexProgram program;  // of `part`
  std::vector<std::unique_ptr<RegexNode>> children;
  bool is_vacuous() const {
    return kind == Kind::kPlain && part->kind == RegexPart::Kind::kSequence && part->parts.empty();
  }
};

struct RegexLook {
  bool ahead = true;
  bool negated = false;
  RegexProgram program;
};

struct RegexTree {
  std::unique_ptr<RegexNode> root;
  std::vector<CharacterSet> sets;
  std::vector<RegexLook> looks;
  int32_t groups = 0;
  bool refers = false;  // has a back reference
  bool ignore_case = false;

  // Of back references.
  bool same(char32_t a, char32_t b) const;
};

// pattern: behind directors and embedded options. 2201B; 0A000 for collating elements with names.
StatusOr<std::unique_ptr<RegexTree>> parse_regex_tree(std::string_view pattern, const RegexFlags& flags);

// looks: what each lookaround of the tree looks for. 2201B if the programs become too large.
Status write_regex_programs(const std::vector<RegexPartPtr>& looks, RegexTree* tree);

// Matches of one tree in texts. Keeps the characters of a text from call to call until forget_text().
class RegexMatcher {
 public:
  explicit RegexMatcher(std::unique_ptr<RegexTree> tree) : tree_(std::move(tree)) {}
  void forget_text() { known_ = std::string_view(); }
  bool matches(std::string_view text);
  // The first match at or behind the byte `start`, as Regex::find() gives it.
  bool find(std::string_view text, size_t start, std::vector<std::string_view>* groups);
  // The groups of a match that somebody else has found. The pattern has no lookaround.
  void take_apart(std::string_view text, std::string_view match, std::vector<std::string_view>* groups);
  int group_count() const { return tree_->groups; }

 private:
  struct Span {
    int32_t begin = -1, end = -1;
  };
  class Threads;
  struct Iteration;

  void read(std::string_view text);
  void give(std::string_view text, std::vector<std::string_view>* groups) const;
  bool search(size_t start);
  int32_t search_at(int32_t begin);
  bool holds(const RegexState& state, int32_t at);
  bool looks(const RegexLook& look, size_t number, int32_t at);
  bool is_word(int32_t at) const;
  void follow(const RegexProgram& program, uint32_t state, int32_t at, Threads* threads);
  // The longest (shortest) match from `begin` that ends between `least` and `end`; -1: none.
  int32_t run(const RegexProgram& program, int32_t begin, int32_t least, int32_t end, bool shortest);
  // Where the first match ends that begins at or behind `begin`; with `all`, each end is noted there. -1: none.
  int32_t run_anywhere(const RegexProgram& program, int32_t begin, std::vector<bool>* all);
  int32_t run_node(const RegexNode& node, int32_t begin, int32_t least, int32_t end) {
    return run(node.program, begin, least, end, (node.flags & RegexNode::kShorter) != 0);
  }
  bool covers(const RegexNode& node, int32_t begin, int32_t end) {
    return run(node.program, begin, end, end, false) == end;
  }
  bool dissect(const RegexNode& node, int32_t begin, int32_t end);
  bool dissect_kind(const RegexNode& node, int32_t begin, int32_t end);
  bool dissect_concatenation(const RegexNode& node, int32_t begin, int32_t end);
  int32_t choose_end(Iteration* all);
  bool dissect_repetitions(Iteration* all);
  bool dissect_iteration(const RegexNode& node, int32_t begin, int32_t end);
  bool dissect_reference(const RegexNode& node, int32_t begin, int32_t end);
  void forget(const RegexNode& node);

  std::unique_ptr<RegexTree> tree_;
  std::string_view known_;                  // whose characters are in text_
  std::vector<char32_t> text_;              // all, or those of a match with the ones before and behind it
  bool has_begin_ = true, has_end_ = true;  // text_ begins (ends) where the whole text does
  std::vector<uint32_t> offsets_;           // byte of each character, and the size
  std::vector<std::vector<bool>> behind_;   // by lookbehind: where a match of it ends; empty: not known yet
  std::vector<Span> spans_;
  uint32_t steps_ = 0;
};

}  // namespace scyper::query
