#include <algorithm>
#include <limits>

#include "base/bounded_work.h"
#include "types/regex_tree.h"
#include "types/text.h"

// Finds matches and takes them apart. Without back references, time is polynomial in the text; with them it can be
// exponential, as PostgreSQL's is, and poll_work() ends it.
namespace scyper::query {

namespace {
bool is_word_character(char32_t c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}
}  // namespace

std::vector<char32_t> characters_of(std::string_view text, std::vector<uint32_t>* offsets) {
  std::vector<char32_t> characters;
  for (size_t at = 0; at < text.size();) {
    const size_t size = std::min(character_size(text[at]), text.size() - at);
    char32_t c = static_cast<uint8_t>(text[at]);
    if (size > 1) c &= 0x7fu >> size;
    for (size_t i = 1; i < size; i++) c = c << 6 | (static_cast<uint8_t>(text[at + i]) & 0x3f);
    characters.push_back(c);
    if (offsets != nullptr) offsets->push_back(static_cast<uint32_t>(at));
    at += size;
  }
  if (offsets != nullptr) offsets->push_back(static_cast<uint32_t>(text.size()));
  return characters;
}

// The states that a program is in at one place of the text.
class RegexMatcher::Threads {
 public:
  explicit Threads(size_t states) : marks_(states, 0) {}
  void begin() {
    waiting.clear();
    accepts = false;
    mark_++;
  }
  bool add(uint32_t state) {
    if (marks_[state] == mark_) return false;
    marks_[state] = mark_;
    return true;
  }
  std::vector<uint32_t> waiting;  // states that take a character
  std::vector<uint32_t> open;     // states that follow() still has to see
  bool accepts = false;

 private:
  std::vector<uint32_t> marks_;
  uint32_t mark_ = 0;
};

void RegexMatcher::read(std::string_view text) {
  if (known_.data() != nullptr && known_.data() == text.data() && known_.size() == text.size()) return;
  forget_text();  // if this is left by an exception, nothing is known of a text
  has_begin_ = has_end_ = true;
  behind_.assign(tree_->looks.size(), {});
  std::vector<uint32_t> offsets;
  text_ = characters_of(text, &offsets);
  offsets_ = std::move(offsets);
  known_ = text;
}

bool RegexMatcher::is_word(int32_t at) const {
  return at >= 0 && at < static_cast<int32_t>(text_.size()) && is_word_character(text_[static_cast<size_t>(at)]);
}

bool RegexMatcher::looks(const RegexLook& look, size_t number, int32_t at) {
  const auto size = static_cast<int32_t>(text_.size());
  if (look.ahead) return (run(look.program, at, at, size, true) >= 0) != look.negated;
  if (behind_[number].empty()) {
    std::vector<bool> ends(text_.size() + 1);
    run_anywhere(look.program, 0, &ends);
    behind_[number] = std::move(ends);
  }
  return behind_[number][static_cast<size_t>(at)] != look.negated;
}

bool RegexMatcher::holds(const RegexState& state, int32_t at) {
  if (state.kind == RegexState::Kind::kLook) return looks(tree_->looks[state.operand], state.operand, at);
  const auto size = static_cast<int32_t>(text_.size());
  switch (static_cast<RegexAssertion>(state.operand)) {
    case RegexAssertion::kTextBegin:
      return at == 0 && has_begin_;
    case RegexAssertion::kTextEnd:
      return at == size && has_end_;
    case RegexAssertion::kLineBegin:
      return at == 0 ? has_begin_ : text_[static_cast<size_t>(at - 1)] == '\n';
    case RegexAssertion::kLineEnd:
      return at == size ? has_end_ : text_[static_cast<size_t>(at)] == '\n';
    case RegexAssertion::kWordBegin:
      return !is_word(at - 1) && is_word(at);
    case RegexAssertion::kWordEnd:
      return is_word(at - 1) && !is_word(at);
    case RegexAssertion::kWordBoundary:
      return is_word(at - 1) != is_word(at);
    case RegexAssertion::kNoWordBoundary:
      return is_word(at - 1) == is_word(at);
  }
  return false;
}

// Adds the state and all that are reached from it without a character.
void RegexMatcher::follow(const RegexProgram& program, uint32_t first, int32_t at, Threads* threads) {
  std::vector<uint32_t>& open = threads->open;
  if (threads->add(first)) open.push_back(first);
  while (!open.empty()) {
    const uint32_t number = open.back();
    open.pop_back();
    if (++steps_ % 4096 == 0) poll_work();
    const RegexState& state = program.states[number];
    switch (state.kind) {
      case RegexState::Kind::kAccept:
        threads->accepts = true;
        break;
      case RegexState::Kind::kSet:
        threads->waiting.push_back(number);
        break;
      case RegexState::Kind::kSplit:
        if (threads->add(state.next)) open.push_back(state.next);
        if (threads->add(state.operand)) open.push_back(state.operand);
        break;
      case RegexState::Kind::kAssertion:
      case RegexState::Kind::kLook:
        if (holds(state, at) && threads->add(state.next)) open.push_back(state.next);
        break;
    }
  }
}

int32_t RegexMatcher::run(const RegexProgram& program, int32_t begin, int32_t least, int32_t end, bool shortest) {
  Threads now(program.states.size()), next(program.states.size());
  now.begin();
  follow(program, program.start, begin, &now);
  int32_t last = -1;
  for (int32_t at = begin;; at++) {
    if (now.accepts && at >= least) {
      last = at;
      if (shortest) return last;
    }
    if (at == end || now.waiting.empty()) return last;
    next.begin();
    const char32_t c = text_[static_cast<size_t>(at)];
    for (const uint32_t state : now.waiting)
      if (tree_->sets[program.states[state].operand].has(c)) follow(program, program.states[state].next, at + 1, &next);
    std::swap(now, next);
  }
}

int32_t RegexMatcher::run_anywhere(const RegexProgram& program, int32_t begin, std::vector<bool>* all) {
  Threads now(program.states.size()), next(program.states.size());
  now.begin();
  const auto size = static_cast<int32_t>(text_.size());
  for (int32_t at = begin;; at++) {
    follow(program, program.start, at, &now);
    if (now.accepts && all == nullptr) return at;
    if (now.accepts) (*all)[static_cast<size_t>(at)] = true;
    if (at == size) return -1;
    next.begin();
    const char32_t c = text_[static_cast<size_t>(at)];
    for (const uint32_t state : now.waiting)
      if (tree_->sets[program.states[state].operand].has(c)) follow(program, program.states[state].next, at + 1, &next);
    std::swap(now, next);
  }
}

bool RegexMatcher::matches(std::string_view text) {
  read(text);
  if (!tree_->refers) return run_anywhere(tree_->root->program, 0, nullptr) >= 0;
  return search(0);
}

bool RegexMatcher::find(std::string_view text, size_t start, std::vector<std::string_view>* groups) {
  read(text);
  const auto from = std::lower_bound(offsets_.begin(), offsets_.end(), start);
  if (from == offsets_.end() || !search(static_cast<size_t>(from - offsets_.begin()))) return false;
  give(text, groups);
  return true;
}

void RegexMatcher::take_apart(std::string_view text, std::string_view match, std::vector<std::string_view>* groups) {
  forget_text();
  size_t first = static_cast<size_t>(match.data() - text.data()), last = first + match.size();
  const size_t begin = first;
  if (first > 0) first--;
  while (first > 0 && is_continuation(text[first])) first--;
  if (last < text.size()) last = std::min(text.size(), last + character_size(text[last]));
  const std::string_view window = text.substr(first, last - first);
  offsets_.clear();
  text_ = characters_of(window, &offsets_);
  has_begin_ = first == 0;
  has_end_ = last == text.size();
  const auto position = [&](size_t byte) {
    return static_cast<int32_t>(std::lower_bound(offsets_.begin(), offsets_.end(), byte - first) - offsets_.begin());
  };
  spans_.assign(static_cast<size_t>(tree_->groups) + 1, {});
  spans_[0] = {position(begin), position(begin + match.size())};
  dissect(*tree_->root, spans_[0].begin, spans_[0].end);
  give(window, groups);
}

// Of a text whose characters are read.
void RegexMatcher::give(std::string_view text, std::vector<std::string_view>* groups) const {
  groups->clear();
  for (const Span& span : spans_) {
    if (span.begin < 0) {
      groups->emplace_back();
      continue;
    }
    const size_t begin = offsets_[static_cast<size_t>(span.begin)], end = offsets_[static_cast<size_t>(span.end)];
    groups->push_back(text.substr(begin, end - begin));
  }
}

bool RegexMatcher::search(size_t start) {
  const auto size = static_cast<int32_t>(text_.size());
  auto from = static_cast<int32_t>(start);
  do {
    // A match that ends first begins at or before its end, and so does the match that begins first.
    const int32_t close = run_anywhere(tree_->root->program, from, nullptr);
    if (close < 0) return false;
    for (; from <= close; from++)
      if (const int32_t end = search_at(from); end >= 0) return spans_[0] = {from, end}, true;
  } while (from < size);  // PostgreSQL does not go on with the empty text at the end
  return false;
}

// The end of the match that begins there, taken apart; -1: none.
int32_t RegexMatcher::search_at(int32_t begin) {
  const RegexNode& root = *tree_->root;
  const bool shorter = (root.flags & RegexNode::kShorter) != 0;
  int32_t least = begin, most = static_cast<int32_t>(text_.size());
  while (least <= most) {
    const int32_t end = run_node(root, begin, least, most);
    if (end < 0) return -1;
    spans_.assign(static_cast<size_t>(tree_->groups) + 1, {});
    if (dissect(root, begin, end)) return end;
    (shorter ? least : most) = shorter ? end + 1 : end - 1;
  }
  return -1;
}

void RegexMatcher::forget(const RegexNode& node) {
  if (node.capture > 0) spans_[static_cast<size_t>(node.capture)] = {};
  for (const auto& child : node.children) forget(*child);
}

// The node's program matches from `begin` to `end`. false: a back reference below has no such text.
bool RegexMatcher::dissect(const RegexNode& node, int32_t begin, int32_t end) {
  poll_work();
  if (!dissect_kind(node, begin, end)) return false;
  if (node.capture > 0) spans_[static_cast<size_t>(node.capture)] = {begin, end};
  return true;
}

bool RegexMatcher::dissect_kind(const RegexNode& node, int32_t begin, int32_t end) {
  switch (node.kind) {
    case RegexNode::Kind::kPlain:
      return true;
    case RegexNode::Kind::kBackReference:
      return dissect_reference(node, begin, end);
    case RegexNode::Kind::kConcatenation:
      return dissect_concatenation(node, begin, end);
    case RegexNode::Kind::kChoice:
      return std::any_of(node.children.begin(), node.children.end(),
                         [&](const auto& child) { return covers(*child, begin, end) && dissect(*child, begin, end); });
    case RegexNode::Kind::kIteration:
      return dissect_iteration(node, begin, end);
    case RegexNode::Kind::kWrapper:
      return dissect(*node.children[0], begin, end);
  }
  return false;
}

// The left part takes as much as it can, or as little if that is its preference.
bool RegexMatcher::dissect_concatenation(const RegexNode& node, int32_t begin, int32_t end) {
  const RegexNode &left = *node.children[0], &right = *node.children[1];
  const bool shorter = (left.flags & RegexNode::kShorter) != 0;
  int32_t least = begin, most = end;
  while (least <= most) {
    const int32_t middle = run_node(left, begin, least, most);
    if (middle < 0) return false;
    if (covers(right, middle, end) && dissect(left, begin, middle) && dissect(right, middle, end)) return true;
    forget(left);
    forget(right);
    (shorter ? least : most) = shorter ? middle + 1 : middle - 1;
  }
  return false;
}

bool RegexMatcher::dissect_reference(const RegexNode& node, int32_t begin, int32_t end) {
  const Span& group = spans_[static_cast<size_t>(node.referred)];
  if (group.begin < 0) return false;
  const int32_t size = group.end - group.begin, length = end - begin;
  if (size == 0) return length == 0;
  if (length == 0) return node.min == 0;
  const int32_t count = length / size;
  if (length % size != 0 || count < node.min || (count > node.max && node.max != kRepeatForever)) return false;
  for (int32_t i = 0; i < length; i++)
    if (!tree_->same(text_[static_cast<size_t>(group.begin + i % size)], text_[static_cast<size_t>(begin + i)]))
      return false;
  return true;
}

// The repetitions of an iteration. ends[0] is where the first one begins, ends[i] where the i-th ends.
struct RegexMatcher::Iteration {
  const RegexNode* child = nullptr;
  bool shorter = false;
  int32_t end = 0;  // of all repetitions
  size_t min = 1, max = 1;
  std::vector<int32_t> ends;
  size_t number = 1;    // of the repetition whose end is chosen next; 0: no ends are left
  size_t verified = 0;  // repetitions that were taken apart with their present ends
  int32_t limit = 0;    // the largest (shorter: the least) end that the next one may have

  // Repetitions of no characters only count where the least number needs them.
  bool may_be_empty(int32_t at) const { return number < min && min - number >= static_cast<size_t>(end - at); }
  void go_on() {
    number++;
    limit = shorter ? ends[number - 1] : end;
  }
  // Another end for the present repetition, or if it has none, for one before it.
  void go_back() {
    for (; number > 0; number--) {
      const int32_t before = ends[number - 1], at = ends[number];
      if (shorter && at < end) {
        limit = at + 1;
        return;
      }
      if (!shorter && at > before && (at - 1 > before || may_be_empty(before))) {
        limit = at - 1;
        return;
      }
    }
  }
  void give_up() {
    if (--number > 0) go_back();
  }
};

int32_t RegexMatcher::choose_end(Iteration* all) {
  const int32_t before = all->ends[all->number - 1];
  if (!all->shorter) return run(all->child->program, before, before, all->limit, false);
  int32_t least = all->limit;
  if (least == before && least != all->end && !all->may_be_empty(least)) least++;
  if (all->number >= all->max) least = all->end;
  return run(all->child->program, before, least, all->end, true);
}

// Takes the repetitions apart. Otherwise all->number is the first one that does not match.
bool RegexMatcher::dissect_repetitions(Iteration* all) {
  for (size_t i = all->verified + 1; i <= all->number; i++) {
    forget(*all->child);
    if (!dissect(*all->child, all->ends[i - 1], all->ends[i])) return all->number = i, false;
    all->verified = i;
  }
  return true;
}

// Chooses the end of one repetition after the other, then takes each repetition apart. An end that does not lead to a
// match is moved: back, or on if the part prefers few characters.
bool RegexMatcher::dissect_iteration(const RegexNode& node, int32_t begin, int32_t end) {
  const bool may_be_absent = node.min <= 0 && begin == end;
  Iteration all;
  all.child = node.children[0].get();
  all.shorter = (all.child->flags & RegexNode::kShorter) != 0;
  // A greedy part rather matches once, so that groups in it capture the empty text.
  if (all.shorter && may_be_absent) return true;
  all.end = end;
  all.min = static_cast<size_t>(std::max(1, node.min));
  all.max = static_cast<size_t>(end - begin);
  if (node.max != kRepeatForever) all.max = std::min(all.max, static_cast<size_t>(node.max));
  all.max = std::max(all.max, all.min);
  all.ends = {begin};
  all.limit = all.shorter ? begin : end;
  while (all.number > 0) {
    const int32_t at = choose_end(&all);
    if (at < 0) {
      all.give_up();
      continue;
    }
    all.ends.resize(all.number);
    all.ends.push_back(at);
    all.verified = std::min(all.verified, all.number - 1);
    if (at != end && all.number >= all.max) {
      all.give_up();
    } else if (at != end) {
      const bool is_needless = !all.shorter && at == all.ends[all.number - 1] && !all.may_be_empty(at);
      is_needless ? all.go_back() : all.go_on();
    } else if (all.number < all.min || !dissect_repetitions(&all)) {
      all.go_back();
    } else {
      return true;
    }
  }
  return may_be_absent;
}

}  // namespace scyper::query
