#include "absl/strings/str_cat.h"
#include "runtime/function_body.h"
#include "runtime/text_match.h"
#include "types/digits.h"
#include "types/regular_expression.h"
#include "types/text.h"

namespace scyper::query {

namespace {

using Groups = std::vector<std::string_view>;

// The flags argument; 'g' belongs to some functions only.
bool read_flags(ExecContext* c, std::string_view text, const char* function, bool may_be_global, RegexFlags* flags) {
  Status status = parse_regex_flags(text, flags);
  if (status.ok() && flags->global && !may_be_global)
    status = sql_error("22023", absl::StrCat(function, "() does not support the \"global\" option"));
  if (!status.ok()) c->fail(status);
  return status.ok();
}

const Regex* compile(ExecContext* c, std::string_view pattern, const RegexFlags& flags) {
  auto regex = Regex::compile(pattern, flags);
  if (regex.ok()) return *regex;
  c->fail(regex.status());
  return nullptr;
}
int32_t regex_failed() { return static_cast<int32_t>(Outcome::kError); }

int32_t test(ExecContext* c, const Datum* args, bool ignore_case, bool wanted, Datum* out) {
  RegexFlags flags;
  flags.ignore_case = ignore_case;
  const Regex* regex = compile(c, text_of(args[1]), flags);
  return regex == nullptr ? regex_failed() : give_bool(out, regex->matches(text_of(args[0])) == wanted);
}

// Where the next search starts after a match: an empty one moves on by a character.
size_t behind(std::string_view text, std::string_view match) {
  size_t end = static_cast<size_t>(match.data() - text.data()) + match.size();
  if (!match.empty()) return end;
  return end < text.size() ? end + character_size(text[end]) : end + 1;
}

void append_replacement(std::string* out, std::string_view replacement, const Groups& groups) {
  for (size_t i = 0; i < replacement.size(); i++) {
    if (replacement[i] != '\\' || i + 1 == replacement.size()) {
      out->push_back(replacement[i]);
      continue;
    }
    char c = replacement[++i];
    if (c == '&')
      out->append(groups[0]);
    else if (is_digit(c) && c != '0')
      out->append(static_cast<size_t>(c - '0') < groups.size() ? groups[static_cast<size_t>(c - '0')]
                                                               : std::string_view());
    else if (c == '\\')
      out->push_back('\\');
    else
      out->append({'\\', c});
  }
}

// Replaces the n-th match at or after `start` characters, 0 = all.
int32_t replace_matches(ExecContext* c, std::string_view text, const Regex& regex, std::string_view replacement,
                        size_t start, int32_t n, Datum* out) {
  std::string result(text.substr(0, start));
  size_t done_until = start;
  Groups groups;
  int32_t seen = 0;
  for (size_t at = start; at <= text.size() && regex.find(text, at, &groups);) {
    size_t begin = static_cast<size_t>(groups[0].data() - text.data());
    at = behind(text, groups[0]);
    seen++;
    if (n != 0 && seen < n) continue;
    result.append(text.substr(done_until, begin - done_until));
    append_replacement(&result, replacement, groups);
    done_until = begin + groups[0].size();
    if (n != 0) break;
  }
  if (done_until < text.size()) result.append(text.substr(done_until));
  return give_copy(c, out, result);
}

ArrayValue* new_array(ExecContext* c, int32_t size) {
  auto* array = reinterpret_cast<ArrayValue*>(c->scratch->allocate(sizeof(ArrayValue)));
  auto* elements = reinterpret_cast<Datum*>(c->scratch->allocate(static_cast<size_t>(size) * sizeof(Datum)));
  if (array == nullptr || elements == nullptr) return nullptr;
  *array = ArrayValue{size, size, 1, TypeId::kText, elements};
  return array;
}

// Parts may be absent: data() nullptr.
int32_t give_texts(ExecContext* c, const std::vector<std::string_view>& parts, Datum* out) {
  ArrayValue* array = new_array(c, static_cast<int32_t>(parts.size()));
  if (array == nullptr) return fail_memory(c);
  for (size_t i = 0; i < parts.size(); i++) {
    array->elements[i] = null_datum();
    if (parts[i].data() == nullptr) continue;
    if (int32_t outcome = give_copy(c, &array->elements[i], parts[i]); outcome != 0) return outcome;
  }
  *out = Datum{reinterpret_cast<int64_t>(array), 0, 0, 0, {}};
  return 0;
}

// 1-based positions in characters as byte offsets; 0 and below are errors.
bool check_positive(ExecContext* c, const char* name, int64_t value, int64_t least) {
  if (value >= least) return true;
  c->fail("22023", absl::StrCat("invalid value for parameter \"", name, "\": ", value));
  return false;
}

// The n-th match at or after character `start` (1-based).
bool find_match(std::string_view text, const Regex& regex, int32_t start, int32_t n, Groups* groups) {
  size_t at = prefix_size(text, static_cast<size_t>(start - 1));
  if (static_cast<size_t>(start) > character_count(text) + 1) return false;
  for (int32_t seen = 0; at <= text.size() && regex.find(text, at, groups); at = behind(text, (*groups)[0]))
    if (++seen == n) return true;
  return false;
}

// Whether the operator holds between two texts.
int32_t match_one(ExecContext* c, TextMatch match, std::string_view text, std::string_view pattern, bool* holds) {
  const bool is_not = static_cast<int>(match) % 2 != 0;
  const bool ignores_case = match == TextMatch::kILike || match == TextMatch::kNotILike ||
                            match == TextMatch::kIRegex || match == TextMatch::kNotIRegex;
  bool matches = false;
  if (match < TextMatch::kRegex) {
    const ValueError error = like(text, pattern, "\\", ignores_case, &matches);
    if (error != ValueError::kNone) return done(c, error);
  } else {
    RegexFlags flags;
    flags.ignore_case = ignores_case;
    const Regex* regex = compile(c, pattern, flags);
    if (regex == nullptr) return regex_failed();
    matches = regex->matches(text);
  }
  *holds = matches != is_not;
  return 0;
}

extern "C" {

// text, array, TextMatch, whether it is ALL
SCYPER_FUNCTION(match_any) {
  if (args[1].null != 0) return give_null(out);
  const ArrayValue& array = *array_of(args[1]);
  const auto match = static_cast<TextMatch>(args[2].lo);
  const bool all = args[3].lo != 0;
  bool has_null = args[0].null != 0 && array.size > 0;
  for (int32_t i = 0; args[0].null == 0 && i < array.size; ++i) {
    const Datum& element = array.elements[i];
    bool holds = false;
    if (element.null != 0) {
      has_null = true;
      continue;
    }
    if (const int32_t failed = match_one(c, match, text_of(args[0]), text_of(element), &holds); failed != 0)
      return failed;
    if (holds != all) return give_bool(out, holds);
  }
  return has_null ? give_null(out) : give_bool(out, all);
}

SCYPER_FUNCTION(regex_matches) { return test(c, args, false, true, out); }
SCYPER_FUNCTION(regex_matches_not) { return test(c, args, false, false, out); }
SCYPER_FUNCTION(regex_imatches) { return test(c, args, true, true, out); }
SCYPER_FUNCTION(regex_imatches_not) { return test(c, args, true, false, out); }
SCYPER_FUNCTION(regexp_like) {
  RegexFlags flags;
  if (count > 2 && !read_flags(c, text_of(args[2]), "regexp_like", false, &flags)) return regex_failed();
  const Regex* regex = compile(c, text_of(args[1]), flags);
  return regex == nullptr ? regex_failed() : give_bool(out, regex->matches(text_of(args[0])));
}
// text SIMILAR TO pattern [ESCAPE escape]; a NULL escape gives NULL.
SCYPER_FUNCTION(similar_to) {
  auto pattern = similar_to_regex(text_of(args[1]), count > 2 ? text_of(args[2]) : "\\");
  if (!pattern.ok()) return c->fail(pattern.status());
  const Regex* regex = compile(c, *pattern, {});
  return regex == nullptr ? regex_failed() : give_bool(out, regex->matches(text_of(args[0])));
}
SCYPER_FUNCTION(similar_escape) {
  auto pattern = similar_to_regex(text_of(args[0]), count > 1 ? text_of(args[1]) : "\\");
  return pattern.ok() ? give_copy(c, out, *pattern) : c->fail(pattern.status());
}
// (text, pattern, replacement [, flags]) and (text, pattern, replacement, start [, n [, flags]])
SCYPER_FUNCTION(regexp_replace) {
  RegexFlags flags;
  std::string_view text = text_of(args[0]);
  bool positions = count > 3 && types[3].id == TypeId::kInt4;
  int64_t flags_at = positions ? 5 : 3;
  if (count > flags_at) {
    std::string_view given = text_of(args[flags_at]);
    if (!given.empty() && is_digit(given[0]))
      return c->fail(with_hint(
          sql_error("22023", absl::StrCat("invalid regular expression option: \"", std::string(1, given[0]), "\"")),
          "If you meant to use regexp_replace() with a start parameter, cast the fourth argument to integer "
          "explicitly."));
    if (!read_flags(c, given, "regexp_replace", true, &flags)) return regex_failed();
  }
  int32_t start = 1, n = flags.global ? 0 : 1;
  if (positions) {
    start = int4(args[3]);
    if (!check_positive(c, "start", start, 1)) return regex_failed();
    if (count > 4) {
      n = int4(args[4]);
      if (!check_positive(c, "n", n, 0)) return regex_failed();
    }
  }
  const Regex* regex = compile(c, text_of(args[1]), flags);
  if (regex == nullptr) return regex_failed();
  return replace_matches(c, text, *regex, text_of(args[2]), prefix_size(text, static_cast<size_t>(start - 1)), n, out);
}
SCYPER_FUNCTION(regexp_match) {
  RegexFlags flags;
  if (count > 2) {
    Status status = parse_regex_flags(text_of(args[2]), &flags);
    if (!status.ok()) return c->fail(status);
    if (flags.global)
      return c->fail(with_hint(sql_error("22023", "regexp_match() does not support the \"global\" option"),
                               "Use the regexp_matches function instead."));
  }
  const Regex* regex = compile(c, text_of(args[1]), flags);
  if (regex == nullptr) return regex_failed();
  Groups groups;
  if (!regex->find(text_of(args[0]), 0, &groups)) return give_null(out);
  if (groups.size() > 1) groups.erase(groups.begin());
  return give_texts(c, groups, out);
}
// What regexp_matches() returns, row by row: each match's groups, as the text of an array.
SCYPER_FUNCTION(regexp_matches) {
  RegexFlags flags;
  if (count > 2 && !read_flags(c, text_of(args[2]), "regexp_matches", true, &flags)) return regex_failed();
  const Regex* regex = compile(c, text_of(args[1]), flags);
  if (regex == nullptr) return regex_failed();
  std::string_view text = text_of(args[0]);
  std::vector<std::string> rows;
  Groups groups;
  for (size_t at = 0; at <= text.size() && regex->find(text, at, &groups);) {
    at = behind(text, groups[0]);
    if (groups.size() > 1) groups.erase(groups.begin());
    Datum row;
    if (int32_t outcome = give_texts(c, groups, &row); outcome != 0) return outcome;
    rows.push_back(format_datum(make_array(make_type(TypeId::kText)), row));
    if (!flags.global) break;
  }
  return give_texts(c, {rows.begin(), rows.end()}, out);
}
// (text, pattern [, start [, n [, flags [, group]]]])
SCYPER_FUNCTION(regexp_substr) {
  int32_t start = count > 2 ? int4(args[2]) : 1, n = count > 3 ? int4(args[3]) : 1,
          group = count > 5 ? int4(args[5]) : 0;
  if (!check_positive(c, "start", start, 1) || !check_positive(c, "n", n, 1) || !check_positive(c, "subexpr", group, 0))
    return regex_failed();
  RegexFlags flags;
  if (count > 4 && !read_flags(c, text_of(args[4]), "regexp_substr", false, &flags)) return regex_failed();
  const Regex* regex = compile(c, text_of(args[1]), flags);
  if (regex == nullptr) return regex_failed();
  Groups groups;
  if (group > regex->group_count() || !find_match(text_of(args[0]), *regex, start, n, &groups)) return give_null(out);
  std::string_view part = groups[static_cast<size_t>(group)];
  return part.data() == nullptr ? give_null(out) : give(out, part);
}
SCYPER_FUNCTION(regexp_count) {
  int32_t start = count > 2 ? int4(args[2]) : 1;
  RegexFlags flags;
  if (!check_positive(c, "start", start, 1)) return regex_failed();
  if (count > 3 && !read_flags(c, text_of(args[3]), "regexp_count", false, &flags)) return regex_failed();
  const Regex* regex = compile(c, text_of(args[1]), flags);
  if (regex == nullptr) return regex_failed();
  std::string_view text = text_of(args[0]);
  Groups groups;
  int64_t matches = 0;
  if (static_cast<size_t>(start) > character_count(text) + 1) return give(out, matches);
  for (size_t at = prefix_size(text, static_cast<size_t>(start - 1));
       at <= text.size() && regex->find(text, at, &groups); at = behind(text, groups[0]))
    matches++;
  return give(out, matches);
}
// (text, pattern [, start [, n [, endoption [, flags [, group]]]]])
SCYPER_FUNCTION(regexp_instr) {
  int32_t start = count > 2 ? int4(args[2]) : 1, n = count > 3 ? int4(args[3]) : 1, end = count > 4 ? int4(args[4]) : 0;
  int32_t group = count > 6 ? int4(args[6]) : 0;
  if (!check_positive(c, "start", start, 1) || !check_positive(c, "n", n, 1)) return regex_failed();
  if (end != 0 && end != 1) return check_positive(c, "endoption", end, INT64_MAX), regex_failed();
  if (!check_positive(c, "subexpr", group, 0)) return regex_failed();
  RegexFlags flags;
  if (count > 5 && !read_flags(c, text_of(args[5]), "regexp_instr", false, &flags)) return regex_failed();
  const Regex* regex = compile(c, text_of(args[1]), flags);
  if (regex == nullptr) return regex_failed();
  std::string_view text = text_of(args[0]);
  Groups groups;
  if (group > regex->group_count() || !find_match(text, *regex, start, n, &groups)) return give(out, int64_t{0});
  std::string_view part = groups[static_cast<size_t>(group)];
  if (part.data() == nullptr) return give(out, int64_t{0});
  size_t at = static_cast<size_t>(part.data() - text.data()) + (end != 0 ? part.size() : 0);
  return give(out, static_cast<int64_t>(character_count(text.substr(0, at))) + 1);
}
SCYPER_FUNCTION(regexp_split_to_array) {
  RegexFlags flags;
  if (count > 2 && !read_flags(c, text_of(args[2]), "regexp_split_to_array", false, &flags)) return regex_failed();
  const Regex* regex = compile(c, text_of(args[1]), flags);
  if (regex == nullptr) return regex_failed();
  std::string_view text = text_of(args[0]);
  std::vector<std::string_view> parts;
  Groups groups;
  size_t from = 0;
  for (size_t at = 0; at <= text.size() && regex->find(text, at, &groups);) {
    size_t begin = static_cast<size_t>(groups[0].data() - text.data());
    at = behind(text, groups[0]);
    // empty matches at the ends and right behind another match do not split
    if (groups[0].empty() && (begin == text.size() || begin == from)) continue;
    parts.push_back(text.substr(from, begin - from));
    from = begin + groups[0].size();
  }
  parts.push_back(from < text.size() ? text.substr(from) : std::string_view("", 0));
  return give_texts(c, parts, out);
}
// substring(text FROM pattern)
SCYPER_FUNCTION(substring_regex) {
  const Regex* regex = compile(c, text_of(args[1]), {});
  if (regex == nullptr) return regex_failed();
  Groups groups;
  if (!regex->find(text_of(args[0]), 0, &groups)) return give_null(out);
  std::string_view part = groups.size() > 1 ? groups[1] : groups[0];
  return part.data() == nullptr ? give_null(out) : give(out, part);
}
// substring(text SIMILAR pattern ESCAPE escape)
SCYPER_FUNCTION(substring_similar) {
  auto pattern = similar_to_regex(text_of(args[1]), text_of(args[2]));
  if (!pattern.ok()) return c->fail(pattern.status());
  Datum translated[] = {args[0], string_datum(pattern->data(), pattern->size())};
  return fn_substring_regex(c, translated, 2, out, types);
}

}  // extern "C"

}  // namespace

SCYPER_REGEX_FUNCTIONS(SCYPER_DEFINE_FUNCTION)

}  // namespace scyper::query
