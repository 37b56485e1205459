#pragma once

#include <atomic>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "result_format.h"
#include "session.h"
#include "statement_splitter.h"

namespace scyper::client {

struct ShellOptions {
  FormatOptions format;
  bool is_verbose = false;  // SQLSTATE in errors
  bool is_timing = false;
  bool shows_receipts = false;  // what each query's answer was computed from
  bool stops_on_error = false;  // for files, what they include, and standard input
  bool is_quiet = false;        // no banner
};

// `scyper sql`: statements and backslash commands, from a terminal, a file or the command line.
// Threads: one.
class Shell {
 public:
  Shell(Session* session, const ShellOptions& options, std::FILE* out, std::FILE* err)
      : session_(session), options_(options), out_(out), err_(err) {}

  // A line without its line break: SQL is collected until a semicolon, a backslash command runs at once. False: leave
  // (\q).
  bool feed_line(std::string_view line);
  // -c: all statements of a text, up to the first error, the last one also without a semicolon; or one backslash
  // command.
  void run_command(std::string_view text);
  // -f and \i: false when it cannot be read. "-" = standard input.
  bool run_file(const std::string& path);
  // Lines from the terminal, with history in `history_path`.
  void run_interactive(const std::string& history_path);
  // At the end of input: what lacks its semicolon runs too.
  void flush();

  // Before the next line: scyper=> , with psql's * in an open transaction and ! in one that has failed.
  std::string prompt();
  bool has_failed() const { return has_failed_; }
  bool is_disconnected() const { return is_disconnected_; }

 private:
  using Words = std::vector<std::string>;
  bool run_statement(const std::string& sql);
  bool run_pending();
  bool goes_on(bool was_ok);
  void show_result(const query::ResultSet& result);
  bool run_backslash(std::string_view line);
  size_t command_place(std::string_view line) const;
  std::string take_buffer();
  bool watch(const Words& words);
  bool run_setting(const Words& words);
  bool run_listing(const Words& words);
  bool run_query_setting(const Words& words);
  // --- COPY (shell_copy.cc) ---
  // FROM STDIN whose text comes.
  struct CopyInput {
    std::string sql;
    std::unique_ptr<CopySink> sink;
    Status status;
  };
  bool run_copy(const std::string& sql, bool is_from);
  bool run_slash_copy(std::string_view arguments);
  bool begin_copy(const std::string& sql);
  bool feed_copy(std::string_view line);
  void copy_from(std::FILE* file);
  bool finish_copy();
  void give_up_copy();
  bool copy_out(const std::string& sql, std::FILE* file, bool shows_tag);

  void show_receipt(const query::Receipt& receipt);
  void toggle(const char* what, bool* setting, const Words& words);
  void show_error(const Status& status, std::string_view statement);
  void describe_relations(const std::string& pattern);
  void describe_table(const std::string& name, bool with_size);
  using ColumnRules = std::map<std::string, std::pair<std::string, std::string>>;
  ColumnRules rules_of(const std::string& table);
  bool describe_view(const std::string& name);
  void describe_routines(const std::string& pattern);
  void show_definition(const std::string& name);
  void edit();
  void show_help();
  void print(std::string_view text, std::FILE* to);

  Session* const session_;
  ShellOptions options_;
  std::FILE* const out_;
  std::FILE* const err_;
  StatementSplitter splitter_;
  std::string last_statement_;
  std::optional<CopyInput> copy_;
  bool has_lines_ = true;  // what a COPY FROM STDIN reads; else standard input
  int depth_ = 0;          // of \i within \i
  bool has_failed_ = false;
  bool is_stopped_ = false;  // the last statement or command failed, and ON_ERROR_STOP is set
  bool is_interactive_ = false;
  std::atomic<bool> is_interrupted_{false};  // Ctrl-C, since \watch began
  bool is_disconnected_ = false;
};

}  // namespace scyper::client
