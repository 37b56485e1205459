#include "features/script.h"

#include <algorithm>
#include <cctype>
#include <cstddef>

namespace scyper::features {

namespace {

bool is_word_char(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$'; }

bool equals_word(std::string_view word, std::string_view lower) {
  return std::equal(word.begin(), word.end(), lower.begin(), lower.end(),
                    [](char a, char b) { return std::tolower(static_cast<unsigned char>(a)) == b; });
}

class Splitter {
 public:
  explicit Splitter(std::string_view text) : text_(text) {}

  std::vector<ScriptStatement> split() {
    while (at_ < text_.size()) step();
    finish(text_.size());
    return std::move(out_);
  }

 private:
  char ahead(size_t n) const { return at_ + n < text_.size() ? text_[at_ + n] : '\0'; }

  void step() {
    char c = text_[at_];
    if (c == '-' && ahead(1) == '-') return comment();
    if (c == '/' && ahead(1) == '*') return block_comment();
    if (std::isspace(static_cast<unsigned char>(c)) != 0) {
      at_++;
      return;
    }
    if (begin_ == std::string_view::npos) begin_ = at_;
    if (c == '\'') return quoted('\'', at_ > 0 && (text_[at_ - 1] == 'E' || text_[at_ - 1] == 'e'));
    if (c == '"') return quoted('"', false);
    if (c == '$' && dollar()) return;
    if (is_word_char(c)) return word();
    if (c == '(') brackets_++;
    if (c == ')') brackets_--;
    at_++;
    if (c == ';' && brackets_ <= 0 && atomic_ == 0) finish(at_);
  }

  void comment() {
    size_t end = std::min(text_.find('\n', at_), text_.size());
    if (begin_ == std::string_view::npos) {
      directive(text_.substr(at_, end - at_), "-- differs:", &next_.differs);
      directive(text_.substr(at_, end - at_), "-- state only:", &next_.state_only);
    }
    at_ = end;
  }

  static void directive(std::string_view line, std::string_view key, std::string* out) {
    if (line.substr(0, key.size()) == key) *out = line.substr(key.size());
  }

  void block_comment() {
    int depth = 0;
    do {
      if (text_.substr(at_, 2) == "/*")
        depth++, at_ += 2;
      else if (text_.substr(at_, 2) == "*/")
        depth--, at_ += 2;
      else
        at_++;
    } while (depth > 0 && at_ < text_.size());
  }

  void quoted(char quote, bool escapes) {
    for (at_++; at_ < text_.size(); at_++) {
      if (escapes && text_[at_] == '\\')
        at_++;
      else if (text_[at_] == quote)
        break;
    }
    at_ = std::min(at_ + 1, text_.size());
  }

  bool dollar() {
    size_t end = at_ + 1;
    while (end < text_.size() && is_word_char(text_[end]) && text_[end] != '$') end++;
    if (end >= text_.size() || text_[end] != '$' || std::isdigit(static_cast<unsigned char>(text_[at_ + 1])) != 0)
      return false;
    std::string_view tag = text_.substr(at_, end + 1 - at_);
    size_t close = text_.find(tag, end + 1);
    at_ = close == std::string_view::npos ? text_.size() : close + tag.size();
    return true;
  }

  void word() {
    size_t end = at_;
    while (end < text_.size() && is_word_char(text_[end])) end++;
    std::string_view word = text_.substr(at_, end - at_);
    // BEGIN ATOMIC ... END, with CASE ... END inside
    if (equals_word(word, "atomic") && equals_word(last_, "begin")) atomic_ = 1;
    if (atomic_ > 0 && equals_word(word, "case")) atomic_++;
    if (atomic_ > 0 && equals_word(word, "end")) atomic_--;
    last_ = word;
    at_ = end;
  }

  // The lines behind a COPY FROM STDIN, as in psql.
  void take_data(size_t end) {
    std::string lower;
    for (char c : next_.text) lower += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    if (lower.rfind("copy", 0) != 0 || lower.find("from stdin") == std::string::npos) return;
    size_t from = text_.find('\n', end);
    from = from == std::string_view::npos ? text_.size() : from + 1;
    size_t stop = from;
    while (stop < text_.size() && text_.substr(stop, 3) != "\\.\n")
      stop = std::min(text_.find('\n', stop), text_.size() - 1) + 1;
    next_.data = text_.substr(from, stop - from);
    at_ = std::min(stop + 3, text_.size());
  }

  void finish(size_t end) {
    if (begin_ != std::string_view::npos) {
      next_.text = text_.substr(begin_, end - begin_);
      take_data(end);
      next_.line =
          1 + static_cast<int>(std::count(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(begin_), '\n'));
      out_.push_back(std::move(next_));
    }
    next_ = {};
    begin_ = std::string_view::npos;
    brackets_ = atomic_ = 0;
    last_ = {};
  }

  std::string_view text_;
  size_t at_ = 0;
  size_t begin_ = std::string_view::npos;
  int brackets_ = 0;
  int atomic_ = 0;
  std::string_view last_;
  ScriptStatement next_;
  std::vector<ScriptStatement> out_;
};

}  // namespace

std::vector<ScriptStatement> split_script(std::string_view text) { return Splitter(text).split(); }

}  // namespace scyper::features
