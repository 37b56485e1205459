#include <algorithm>

#include "base/bounded_work.h"
#include "types/regex_tree.h"

// The programs by which parts of a pattern are found, and the sets of characters in them.
namespace scyper::query {

namespace {

constexpr size_t kStatesMax = 200'000;  // of all programs of a pattern

// Programs of parts. Each state is made before those that lead to it.
class ProgramWriter {
 public:
  ProgramWriter(size_t* states, RegexProgram* out) : all_states_(*states), out_(*out) {}

  Status run(const RegexPart& part) {
    SCYPER_ASSIGN_OR_RETURN(const uint32_t accept, add(RegexState::Kind::kAccept, 0, 0));
    SCYPER_ASSIGN_OR_RETURN(out_.start, write(part, accept));
    return absl::OkStatus();
  }

 private:
  StatusOr<uint32_t> add(RegexState::Kind kind, uint32_t operand, uint32_t next) {
    if (++all_states_ > kStatesMax) return invalid_regex("regular expression is too complex");
    if (all_states_ % 1024 == 0) poll_work();
    out_.states.push_back({kind, operand, next});
    return static_cast<uint32_t>(out_.states.size() - 1);
  }

  // The state from which the part leads to `next`.
  StatusOr<uint32_t> write(const RegexPart& part, uint32_t next) {
    switch (part.kind) {
      case RegexPart::Kind::kSet:
        return add(RegexState::Kind::kSet, part.operand, next);
      case RegexPart::Kind::kAssertion:
        return add(RegexState::Kind::kAssertion, part.operand, next);
      case RegexPart::Kind::kLook:
        return add(RegexState::Kind::kLook, part.operand, next);
      case RegexPart::Kind::kRepeat:
        return write_repeat(part, next);
      case RegexPart::Kind::kChoice: {
        SCYPER_ASSIGN_OR_RETURN(uint32_t state, write(*part.parts[0], next));
        for (size_t i = 1; i < part.parts.size(); i++) {
          SCYPER_ASSIGN_OR_RETURN(const uint32_t other, write(*part.parts[i], next));
          SCYPER_ASSIGN_OR_RETURN(state, add(RegexState::Kind::kSplit, other, state));
        }
        return state;
      }
      case RegexPart::Kind::kSequence:
        for (size_t i = part.parts.size(); i-- > 0;) {
          SCYPER_ASSIGN_OR_RETURN(next, write(*part.parts[i], next));
        }
        return next;
    }
    return next;
  }

  StatusOr<uint32_t> write_repeat(const RegexPart& part, uint32_t next) {
    const RegexPart& inner = *part.parts[0];
    uint32_t state = next;
    if (part.max == kRepeatForever) {
      SCYPER_ASSIGN_OR_RETURN(state, add(RegexState::Kind::kSplit, next, next));
      SCYPER_ASSIGN_OR_RETURN(const uint32_t again, write(inner, state));
      out_.states[state].next = again;
    }
    for (int32_t i = part.min; i < part.max && part.max != kRepeatForever; i++) {
      SCYPER_ASSIGN_OR_RETURN(const uint32_t once, write(inner, state));
      SCYPER_ASSIGN_OR_RETURN(state, add(RegexState::Kind::kSplit, next, once));
    }
    for (int32_t i = 0; i < part.min; i++) {
      SCYPER_ASSIGN_OR_RETURN(state, write(inner, state));
    }
    return state;
  }

  size_t& all_states_;
  RegexProgram& out_;
};

Status write_programs(size_t* states, RegexNode* node) {
  SCYPER_RETURN_IF_ERROR(ProgramWriter(states, &node->program).run(*node->part));
  for (auto& child : node->children) SCYPER_RETURN_IF_ERROR(write_programs(states, child.get()));
  return absl::OkStatus();
}

}  // namespace

Status write_regex_programs(const std::vector<RegexPartPtr>& looks, RegexTree* tree) {
  size_t states = 0;
  for (size_t i = 0; i < looks.size(); i++)
    SCYPER_RETURN_IF_ERROR(ProgramWriter(&states, &tree->looks[i].program).run(*looks[i]));
  return write_programs(&states, tree->root.get());
}

bool CharacterSet::has_range(char32_t c) const {
  const bool found = std::any_of(ranges.begin(), ranges.end(),
                                 [&](const auto& range) { return c >= range.first && c <= range.second; });
  return found != negated && !(c == '\n' && negated && not_newline);
}

// Letters are those of the C collation.
void CharacterSet::finish(bool ignore_case) {
  const size_t given = ranges.size();
  for (size_t i = 0; i < given && ignore_case; i++) {
    const auto [first, last] = ranges[i];
    const char32_t a = std::max<char32_t>(first, 'A'), z = std::min<char32_t>(last, 'Z');
    if (a <= z) ranges.emplace_back(a + 32, z + 32);
    const char32_t lower_a = std::max<char32_t>(first, 'a'), lower_z = std::min<char32_t>(last, 'z');
    if (lower_a <= lower_z) ranges.emplace_back(lower_a - 32, lower_z - 32);
  }
  for (char32_t c = 0; c < ascii.size(); c++) ascii[c] = has_range(c);
}

bool RegexTree::same(char32_t a, char32_t b) const {
  return a == b || (ignore_case && lower_letter(a) == lower_letter(b));
}

}  // namespace scyper::query
