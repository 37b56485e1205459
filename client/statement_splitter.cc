#include "statement_splitter.h"

#include <cctype>

namespace scyper::client {

namespace {

bool is_blank(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }
bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || (c & 0x80) != 0; }

// The length of a whole comment /* ... */, with those inside of it; 0: there is none in front.
size_t comment_length(std::string_view text) {
  if (!text.starts_with("/*")) return 0;
  int depth = 0;
  for (size_t at = 0; at + 1 < text.size(); ++at) {
    const std::string_view two = text.substr(at, 2);
    if (two != "/*" && two != "*/") continue;
    depth += two == "/*" ? 1 : -1;
    ++at;
    if (depth == 0) return at + 1;
  }
  return 0;
}

// Without blanks and whole comments in front, and blanks behind.
std::string_view trim(std::string_view text) {
  while (!text.empty()) {
    if (is_blank(text.front())) {
      text.remove_prefix(1);
    } else if (text.starts_with("--")) {
      size_t end = text.find('\n');
      text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    } else if (const size_t comment = comment_length(text); comment > 0) {
      text.remove_prefix(comment);
    } else {
      break;
    }
  }
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

}  // namespace

void StatementSplitter::clear() { *this = StatementSplitter(); }

std::string StatementSplitter::rest() const { return std::string(trim(text_)); }

bool StatementSplitter::open_dollar_quote() {
  if (scanned_ > 0 && is_word(text_[scanned_ - 1])) return false;
  size_t end = scanned_ + 1;
  while (end < text_.size() && is_word(text_[end])) ++end;
  if (end >= text_.size()) return false;  // cut_short() has seen to it
  bool is_parameter = end > scanned_ + 1 && std::isdigit(static_cast<unsigned char>(text_[scanned_ + 1])) != 0;
  if (is_parameter || text_[end] != '$') return false;
  dollar_tag_ = text_.substr(scanned_, end + 1 - scanned_);
  quote_ = '$';
  scanned_ = end;
  return true;
}

// Whether the token that begins here may go on in text that is still to come.
bool StatementSplitter::is_cut_short(std::string_view here) const {
  if (quote_ == '$') return here.size() < dollar_tag_.size() && std::string_view(dollar_tag_).starts_with(here);
  if (quote_ != 0) return false;
  if (here == "-" || here == "/" || here == "*") return true;
  if (here[0] != '$' || comment_depth_ > 0) return false;
  size_t end = 1;
  while (end < here.size() && is_word(here[end])) ++end;
  return end == here.size();
}

void StatementSplitter::end_word() {
  if (word_.empty()) return;
  const bool is_routine = first_words_ == "create function " || first_words_ == "create procedure " ||
                          first_words_ == "create or replace function " ||
                          first_words_ == "create or replace procedure ";
  if (!is_routine) {
    constexpr size_t kLongestBeginning = sizeof("create or replace procedure ");
    if (first_words_.size() < kLongestBeginning) first_words_ += word_ + " ";
  } else if (parentheses_ == 0) {
    if (word_ == "begin" || (word_ == "case" && block_depth_ > 0)) ++block_depth_;
    if (word_ == "end" && block_depth_ > 0) --block_depth_;
  }
  word_.clear();
}

// Within quotes or comments: moves on by one, leaves them where they end. False when more text is needed to tell.
bool StatementSplitter::skip_quoted() {
  char c = text_[scanned_];
  std::string_view here = std::string_view(text_).substr(scanned_);
  if (comment_depth_ > 0) {
    if (here.starts_with("*/") || here.starts_with("/*")) {
      comment_depth_ += here[0] == '*' ? -1 : 1;
      ++scanned_;
    }
  } else if (quote_ == '-') {
    if (c == '\n') quote_ = 0;
  } else if (quote_ == '$') {
    if (c == '$' && here.starts_with(dollar_tag_)) {
      scanned_ += dollar_tag_.size() - 1;
      quote_ = 0;
    }
  } else if (quote_ == 'E') {
    if (c == '\\') {
      if (here.size() < 2) return false;
      ++scanned_;
    } else if (c == '\'') {
      quote_ = 0;
    }
  } else if (c == quote_) {
    quote_ = 0;  // a doubled quote opens again at once
  }
  ++scanned_;
  return true;
}

bool StatementSplitter::scan() {
  while (scanned_ < text_.size()) {
    if (is_cut_short(std::string_view(text_).substr(scanned_))) return false;
    if (quote_ != 0 || comment_depth_ > 0) {
      if (!skip_quoted()) return false;
      continue;
    }
    char c = text_[scanned_];
    std::string_view here = std::string_view(text_).substr(scanned_);
    if (is_word(c)) {
      word_ += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
      ++scanned_;
      continue;
    }
    end_word();
    if (c == ';' && parentheses_ == 0 && block_depth_ == 0) return true;
    if (c == '\'') {
      bool is_escape = scanned_ > 0 && (text_[scanned_ - 1] == 'E' || text_[scanned_ - 1] == 'e') &&
                       (scanned_ == 1 || !is_word(text_[scanned_ - 2]));
      quote_ = is_escape ? 'E' : '\'';
    } else if (c == '"') {
      quote_ = '"';
    } else if (here.starts_with("--")) {
      quote_ = '-';
    } else if (here.starts_with("/*")) {
      comment_depth_ = 1;
      ++scanned_;
    } else if (c == '$') {
      open_dollar_quote();
    } else if (c == '(') {
      ++parentheses_;
    } else if (c == ')' && parentheses_ > 0) {
      --parentheses_;
    }
    ++scanned_;
  }
  return false;
}

std::optional<std::string> StatementSplitter::next() {
  while (scan()) {
    std::string statement(trim(std::string_view(text_).substr(0, scanned_)));
    text_.erase(0, scanned_ + 1);
    scanned_ = 0;
    parentheses_ = 0;
    block_depth_ = 0;
    first_words_.clear();
    if (!statement.empty()) return statement;
  }
  return std::nullopt;
}

bool StatementSplitter::takes_command() {
  scan();
  return quote_ == 0 && comment_depth_ == 0;
}

char StatementSplitter::state() {
  if (comment_depth_ > 0) return '*';
  if (quote_ == 'E') return '\'';
  if (quote_ != 0 && quote_ != '-') return quote_;
  if (parentheses_ > 0) return '(';
  return is_empty() ? '=' : '-';
}

}  // namespace scyper::client
