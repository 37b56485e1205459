#include "sqllogictest/dialects.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "types/datum_text.h"

namespace scyper::tests {

namespace {

constexpr std::array<std::string_view, 21> kIgnored = {"load",          "restart",     "reconnect", "subtest",
                                                       "user",          "sleep",       "set",       "reset",
                                                       "traceon",       "traceoff",    "tags",      "unzip",
                                                       "kv-batch-size", "cluster-opt", "retry",     "test-env",
                                                       "template",      "upgrade",     "endmode",   "concurrentforeach",
                                                       "query_timeout"};
constexpr std::array<std::string_view, 8> kHarmless = {
    "skip_reload", "noforcestorage",        "notwindows",       "longdouble", "vector_size",
    "64bit",       "no_alternative_verify", "exact_vector_size"};

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (true) {
    size_t end = text.find(separator);
    parts.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::vector<std::string> words_of(const std::string& line) {
  std::istringstream in(line);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

void replace_all(std::string* text, const std::string& from, const std::string& to) {
  for (size_t at = 0; (at = text->find(from, at)) != std::string::npos; at += to.size())
    text->replace(at, from.size(), to);
}

class Unroller {
 public:
  explicit Unroller(std::string_view text) : lines_(split(text, '\n')) {}
  std::string run() {
    std::vector<std::string> out;
    block(0, lines_.size(), lines_, &out);
    std::string text;
    for (const auto& line : out) absl::StrAppend(&text, line, "\n");
    return text;
  }

 private:
  // Position of the endloop that belongs to the loop at `from`.
  static size_t end_of(const std::vector<std::string>& lines, size_t from) {
    int depth = 0;
    for (size_t i = from; i < lines.size(); i++) {
      std::vector<std::string> words = words_of(lines[i]);
      if (words.empty()) continue;
      if (words[0] == "loop" || words[0] == "foreach" || words[0] == "concurrentloop") depth++;
      if (words[0] == "endloop" && --depth == 0) return i;
    }
    return lines.size();
  }

  void block(size_t from, size_t to, const std::vector<std::string>& lines, std::vector<std::string>* out) {
    for (size_t i = from; i < to && !halted_; i++) {
      std::vector<std::string> words = words_of(lines[i]);
      if (words.size() > 1 && words[0] == "mode") {
        skips_ = words[1] == "skip" || (skips_ && words[1] != "unskip");
        continue;
      }
      bool loop = !words.empty() && (words[0] == "loop" || words[0] == "foreach" || words[0] == "concurrentloop");
      if (loop && words.size() > 2) {
        size_t end = end_of(lines, i);
        repeat(words,
               std::vector<std::string>(lines.begin() + static_cast<ptrdiff_t>(i) + 1,
                                        lines.begin() + static_cast<ptrdiff_t>(end)),
               out);
        i = end;
        continue;
      }
      if (words.size() > 1 && words[0] == "require" &&
          std::find(kHarmless.begin(), kHarmless.end(), words[1]) == kHarmless.end()) {
        out->push_back("halt");
        halted_ = true;
        return;
      }
      if (words.empty() || (words[0] != "require" && !skips_)) out->push_back(lines[i]);
    }
  }

  void repeat(const std::vector<std::string>& words, const std::vector<std::string>& body,
              std::vector<std::string>* out) {
    std::vector<std::string> values(words.begin() + 2, words.end());
    if (words[0] != "foreach") {
      constexpr long kRoundsMax = 10000;
      long from = std::strtol(words[2].c_str(), nullptr, 10);
      long to = words.size() > 3 ? std::strtol(words[3].c_str(), nullptr, 10) : from;
      values.clear();
      for (long i = from; i < std::min(to, from + kRoundsMax); i++) values.push_back(std::to_string(i));
    }
    for (const auto& value : values) {
      std::vector<std::string> lines = body;
      for (auto& line : lines) replace_all(&line, "${" + words[1] + "}", value);
      block(0, lines.size(), lines, out);
    }
  }

  const std::vector<std::string> lines_;
  bool skips_ = false, halted_ = false;
};

// One way to write a value, whoever writes it.
std::string canonical(const SqlType& type, const std::string& text) {
  if (text == "NULL") return text;
  if (type.id == TypeId::kBool)
    return text == "t" || text == "1" || text == "true" || text == "True" ? "true" : "false";
  char* end = nullptr;
  double number = std::strtod(text.c_str(), &end);
  if (is_number(type.id) && end != text.c_str() && *end == '\0') {
    char shown[64];
    std::snprintf(shown, sizeof shown, "%.7g", number == 0 ? 0 : number);
    return shown;
  }
  if (text == "(empty)" || text == "·") return "";
  return text;
}

using Rows = std::vector<std::vector<std::string>>;

Rows rows_of(const query::ResultSet& result) {
  Rows rows(result.row_count());
  for (size_t r = 0; r < rows.size(); r++)
    for (size_t c = 0; c < result.columns.size(); c++) {
      std::string text = "NULL";
      if (!result.value(r, c).null) {
        text.clear();
        query::append_datum(&text, result.columns[c].type, result.value(r, c));
      }
      rows[r].push_back(canonical(result.columns[c].type, text));
    }
  return rows;
}

bool same_rows(Rows ours, const query::ResultSet& result, Rows theirs, SortMode sort) {
  for (auto& row : theirs) {
    if (row.size() != result.columns.size()) return false;
    for (size_t c = 0; c < row.size(); c++) row[c] = canonical(result.columns[c].type, row[c]);
  }
  if (sort != SortMode::kNoSort) {
    std::sort(ours.begin(), ours.end());
    std::sort(theirs.begin(), theirs.end());
  }
  return ours == theirs;
}

}  // namespace

std::string unroll(std::string_view text) { return Unroller(text).run(); }

bool is_ignored(const std::string& word) { return std::find(kIgnored.begin(), kIgnored.end(), word) != kIgnored.end(); }

bool are_rows(const query::ResultSet& result, const std::vector<std::string>& expected, SortMode sort) {
  if (expected.size() != result.row_count()) return false;
  Rows ours = rows_of(result), by_tab, by_blank;
  for (const auto& line : expected) {
    by_tab.push_back(split(line, '\t'));
    by_blank.push_back(words_of(line));
  }
  if (same_rows(ours, result, by_tab, sort) || same_rows(ours, result, by_blank, sort)) return true;
  // texts with blanks in them: rows as words
  Rows words;
  for (const auto& row : ours) {
    std::string line;
    for (const auto& value : row) absl::StrAppend(&line, value, " ");
    words.push_back(words_of(line));
  }
  if (sort != SortMode::kNoSort) {
    std::sort(words.begin(), words.end());
    std::sort(by_blank.begin(), by_blank.end());
  }
  return words == by_blank;
}

}  // namespace scyper::tests
