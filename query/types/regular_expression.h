#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

// PostgreSQL's regular expressions ("advanced" ones). RE2 takes most patterns, and matches in linear time. What RE2
// does not have, or chooses in another way, goes to types/regex_tree.h: back references, lookaround, \m, \M, non-greedy
// quantifiers. Differences: see docs/sql.md.
namespace scyper::query {

struct RegexFlags {
  bool ignore_case = false;
  bool literal = false;       // flag q
  bool expanded = false;      // flag x
  bool dot_newline = true;    // . and [^a] match newlines
  bool line_anchors = false;  // ^ and $ match at lines
  bool global = false;        // flag g: the functions' own
};
// The flags argument of regexp functions: 22023 for unknown letters.
Status parse_regex_flags(std::string_view text, RegexFlags* flags);

class Regex {
 public:
  // Cached per thread; lives until that thread compiles many others. Errors: 2201B, 0A000.
  static StatusOr<const Regex*> compile(std::string_view pattern, const RegexFlags& flags);
  ~Regex();

  bool matches(std::string_view text) const;  // anywhere in the text
  // The first match at or after `start`: groups[0] the whole, then the groups (data() nullptr: did not take part).
  bool find(std::string_view text, size_t start, std::vector<std::string_view>* groups) const;
  int group_count() const;

 private:
  struct Impl;
  Regex(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// SIMILAR TO's pattern as a regular expression; escape empty: none. 22025 for escapes of several characters, 22021 for
// too many separators.
StatusOr<std::string> similar_to_regex(std::string_view pattern, std::string_view escape);

}  // namespace scyper::query
