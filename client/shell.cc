#include "shell.h"

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <thread>
#include <utility>

#include "error_format.h"
#include "query/copy.h"

namespace scyper::client {

namespace {
constexpr int kIncludeDepthMax = 16;

std::string_view trim(std::string_view text) {
  size_t from = text.find_first_not_of(" \t\r\n");
  if (from == std::string_view::npos) return {};
  return text.substr(from, text.find_last_not_of(" \t\r\n") + 1 - from);
}
}  // namespace

void Shell::print(std::string_view text, std::FILE* to) { std::fwrite(text.data(), 1, text.size(), to); }

void Shell::show_error(const Status& status, std::string_view statement) {
  has_failed_ = true;
  if (sqlstate_of(status).starts_with("08")) is_disconnected_ = true;
  if (options_.format.format == OutputFormat::kJson) {
    print(format_error_json(status), out_);
  } else {
    std::fflush(out_);
    print(format_error(status, statement, options_.is_verbose), err_);
  }
}

void Shell::show_result(const query::ResultSet& result) {
  for (const std::string& notice : result.notices) {
    std::fflush(out_);
    print(notice + "\n", err_);
  }
  if (!result.columns.empty() || !result.command_tag.empty()) print(format_result(result, options_.format), out_);
}

bool Shell::run_statement(const std::string& sql) {
  last_statement_ = sql;
  if (const auto copy = query::copy_command_of(sql); copy.has_value() && copy->file.empty())
    return run_copy(sql, copy->is_from);
  auto start = std::chrono::steady_clock::now();
  Status status = session_->execute(sql, [this](const query::ResultSet& result) { show_result(result); });
  if (!status.ok()) show_error(status, sql);
  if (options_.shows_receipts && session_->receipt().has_value()) show_receipt(*session_->receipt());
  if (options_.is_timing) {
    double ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    std::fprintf(out_, "Time: %.3f ms\n", ms);
  }
  std::fflush(out_);
  return status.ok();
}

bool Shell::feed_line(std::string_view line) {
  if (copy_.has_value()) return feed_copy(line) && (copy_.has_value() || run_pending());
  has_lines_ = true;
  if (is_interactive_ && depth_ == 0 && splitter_.is_empty()) {
    const std::string_view word = trim(line);
    if (word == "quit" || word == "exit") return false;
    if (word == "help") return show_help(), true;
  }
  const size_t at = command_place(line);
  if (at == std::string_view::npos) {
    splitter_.feed(line);
    splitter_.feed("\n");
    return run_pending();
  }
  splitter_.feed(line.substr(0, at));
  return run_pending() && run_backslash(trim(line.substr(at)));
}

// The place of a shell command in the line. A command may stand behind a statement or within one.
size_t Shell::command_place(std::string_view line) const {
  size_t at = line.find('\\');
  if (at == std::string_view::npos) return at;
  StatementSplitter before = splitter_;
  size_t fed = 0;
  for (; at != std::string_view::npos; at = line.find('\\', at + 1)) {
    before.feed(line.substr(fed, at - fed));
    fed = at;
    while (before.next().has_value()) continue;
    if (before.takes_command()) return at;
  }
  return std::string_view::npos;
}

// Takes the statement that waits for its semicolon. Without one it is the last statement.
std::string Shell::take_buffer() {
  std::string text = splitter_.rest();
  splitter_.clear();
  return text.empty() ? last_statement_ : text;
}

// The statement again and again, until Ctrl-C or so often. Options as psql's: \watch 2, \watch i=2 c=3.
bool Shell::watch(const Words& words) {
  const std::string statement = take_buffer();
  double seconds = 2;
  int64_t count = -1;
  for (size_t i = 1; i < words.size(); ++i) {
    const size_t equal = words[i].find('=');
    const std::string name = equal == std::string::npos ? "" : words[i].substr(0, equal);
    const char* const value = words[i].c_str() + (equal == std::string::npos ? 0 : equal + 1);
    if (name == "c" || name == "count") {
      count = std::strtoll(value, nullptr, 10);
    } else {
      seconds = std::strtod(value, nullptr);
    }
  }
  is_interrupted_ = false;
  while (!statement.empty() && count != 0) {
    if (!run_statement(statement)) return goes_on(false);
    if (--count == 0) break;
    const auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
    while (!is_interrupted_ && std::chrono::steady_clock::now() < until)
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    if (is_interrupted_) break;
  }
  return true;
}

// After a statement or a command: whether the next one is to run. A terminal asks for it even after an error.
bool Shell::goes_on(bool was_ok) {
  is_stopped_ = !was_ok && options_.stops_on_error && !(is_interactive_ && depth_ == 0);
  return !is_stopped_;
}

// The statements of the lines so far, up to a COPY that takes the next lines.
bool Shell::run_pending() {
  has_lines_ = true;
  while (!copy_.has_value()) {
    const auto statement = splitter_.next();
    if (!statement.has_value()) break;
    if (!goes_on(run_statement(*statement))) return false;
    if (is_disconnected_) return false;
  }
  return true;
}

void Shell::flush() {
  while (copy_.has_value()) {
    if (!goes_on(finish_copy())) return;
    if (!run_pending()) return;
  }
  std::string rest = splitter_.rest();
  splitter_.clear();
  if (!rest.empty()) run_statement(rest);
  if (copy_.has_value()) finish_copy();
}

void Shell::run_command(std::string_view text) {
  has_lines_ = false;
  if (trim(text).starts_with('\\')) {
    run_backslash(trim(text));
    return;
  }
  splitter_.feed(text);
  while (auto statement = splitter_.next()) {
    if (!run_statement(*statement) || (copy_.has_value() && !finish_copy())) {
      splitter_.clear();
      return;
    }
  }
  flush();
}

bool Shell::run_file(const std::string& path) {
  std::ifstream file;
  if (path != "-") {
    file.open(path);
    if (!file) {
      has_failed_ = true;
      std::fprintf(err_, "%s: No such file or directory\n", path.c_str());
      return false;
    }
  }
  std::istream& in = path == "-" ? std::cin : file;
  std::string line;
  for (bool is_first = true; std::getline(in, line); is_first = false) {
    if (is_first && line.starts_with("\xEF\xBB\xBF")) line.erase(0, 3);  // a byte order mark
    if (!feed_line(line)) return true;
  }
  flush();
  return true;
}

bool Shell::run_backslash(std::string_view line) {
  Words words;
  size_t at = 0;
  while (at < line.size()) {
    size_t from = line.find_first_not_of(" \t", at);
    if (from == std::string_view::npos) break;
    at = std::min(line.find_first_of(" \t", from), line.size());
    words.emplace_back(line.substr(from, at - from));
    if (words.back().ends_with(';') && words.size() > 1) words.back().pop_back();
  }
  if (words[0] == "\\q" || words[0] == "\\quit") return false;
  if (words[0] == "\\copy") {
    return goes_on(run_slash_copy(line.substr(words[0].size())));
  }
  if (run_setting(words) || run_query_setting(words) || run_listing(words)) return true;
  if (words[0] == "\\?" || words[0] == "\\h") {
    show_help();
  } else if (words[0] == "\\i" && words.size() == 2) {
    if (depth_ >= kIncludeDepthMax) {
      show_error(sql_error("54001", "files include each other too deeply"), "");
      return goes_on(false);
    }
    ++depth_;
    const bool was_ok = run_file(words[1]) && !is_stopped_;
    --depth_;
    return goes_on(was_ok);
  } else if (words[0] == "\\e") {
    edit();
  } else if (words[0] == "\\g" || words[0] == "\\gx") {
    const std::string statement = take_buffer();
    const bool is_expanded =
        std::exchange(options_.format.is_expanded, options_.format.is_expanded || words[0] == "\\gx");
    const bool was_ok = statement.empty() || run_statement(statement);
    options_.format.is_expanded = is_expanded;
    return goes_on(was_ok);
  } else if (words[0] == "\\watch") {
    return watch(words);
  } else if (words[0] == "\\p") {
    print(splitter_.is_empty() ? last_statement_ + "\n" : splitter_.rest() + "\n", out_);
  } else if (words[0] == "\\r" || words[0] == "\\reset") {
    splitter_.clear();
  } else {
    has_failed_ = true;
    std::fprintf(err_, "invalid command %s\nTry \\? for help.\n", words[0].c_str());
    return goes_on(false);
  }
  return true;
}

void Shell::toggle(const char* what, bool* setting, const Words& words) {
  *setting = words.size() > 1 ? words[1] == "on" : !*setting;
  if (!options_.is_quiet) std::fprintf(out_, "%s is %s.\n", what, *setting ? "on" : "off");
}

// Commands that change how the shell shows things. True: it was one.
bool Shell::run_setting(const Words& words) {
  if (words[0] == "\\timing") {
    toggle("Timing", &options_.is_timing, words);
  } else if (words[0] == "\\x") {
    toggle("Expanded display", &options_.format.is_expanded, words);
  } else if (words[0] == "\\t") {
    toggle("Tuples only", &options_.format.tuples_only, words);
  } else if (words[0] == "\\verbose") {
    toggle("Verbose errors", &options_.is_verbose, words);
  } else if (words[0] == "\\pset" && words.size() >= 2 && words[1] == "null") {
    options_.format.null_text = words.size() > 2 ? words[2] : "";
    if (options_.format.null_text.size() >= 2 && options_.format.null_text.front() == '\'') {
      options_.format.null_text = options_.format.null_text.substr(1, options_.format.null_text.size() - 2);
    }
  } else if (words[0] == "\\set" && words.size() == 3 && words[1] == "VERBOSITY") {
    options_.is_verbose = words[2] == "verbose";
  } else if (words[0] == "\\set" && words.size() == 3 && words[1] == "ON_ERROR_STOP") {
    options_.stops_on_error = words[2] != "0" && words[2] != "off";
  } else if (words[0] == "\\echo") {
    for (size_t i = 1; i < words.size(); ++i) std::fprintf(out_, "%s%s", i > 1 ? " " : "", words[i].c_str());
    std::fprintf(out_, "\n");
  } else {
    return false;
  }
  return true;
}

}  // namespace scyper::client
