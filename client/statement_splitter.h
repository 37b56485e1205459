#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace scyper::client {

// Cuts typed or read text into statements at semicolons, as psql does: not within quotes, dollar quotes, comments,
// parentheses or the BEGIN ATOMIC ... END of a routine.
class StatementSplitter {
 public:
  void feed(std::string_view text) { text_ += text; }
  // The next complete statement without its semicolon; nothing when more text is needed. Empty statements are skipped.
  std::optional<std::string> next();
  // What is left: an incomplete statement, without blanks and comments around it.
  std::string rest() const;
  // Whether nothing but blanks and comments is waiting.
  bool is_empty() const { return rest().empty(); }
  void clear();
  // What the text is in the middle of, for the prompt: '=' nothing, '-' a statement, '\'' '"' '$' quotes, '*' a
  // comment, '('.
  char state();
  // Whether a backslash at this place begins a command of the shell: not within quotes and comments.
  bool takes_command();

 private:
  // Looks at text_ from scanned_ on; true when it stands on a semicolon that ends a statement.
  bool scan();
  bool is_cut_short(std::string_view here) const;
  bool skip_quoted();
  bool open_dollar_quote();
  void end_word();

  std::string text_;
  size_t scanned_ = 0;
  int parentheses_ = 0;
  int comment_depth_ = 0;
  int block_depth_ = 0;      // of BEGIN and CASE, in CREATE FUNCTION and CREATE PROCEDURE
  std::string word_;         // in front of scanned_, in small letters
  std::string first_words_;  // of the statement, each with a blank behind
  char quote_ = 0;           // ' or " or E (an E'' string, with backslashes) or $ or - (a comment up to the line's end)
  std::string dollar_tag_;   // "$tag$"
};

}  // namespace scyper::client
