// The shell's commands that show the catalog, and those that talk to the user.

#include <editline/readline.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

#include "completion.h"
#include "progress.h"
#include "shell.h"

namespace scyper::client {

namespace {

// The line editor calls plain functions; there is one terminal. Set by run_interactive(), while it runs.
Session* completing_session = nullptr;
std::vector<std::string> completions;

char* next_completion(const char*, int state) {
  size_t i = static_cast<size_t>(state);
  return i < completions.size() ? strdup(completions[i].c_str()) : nullptr;
}

char** complete_word(const char* text, int start, int) {
  rl_attempted_completion_over = 1;  // no file names
  std::string line(rl_line_buffer);
  std::string word(text);
  size_t begin = std::min(static_cast<size_t>(start), line.size());
  if (begin > 0 && line[begin - 1] == '\\') word.insert(0, 1, line[--begin]);
  auto description = completing_session->describe();
  completions =
      complete(std::string_view(line).substr(0, begin), word, description.ok() ? *description : Description{});
  if (word.size() > std::string_view(text).size())  // the editor's word begins behind the backslash
    for (std::string& candidate : completions) candidate.erase(0, 1);
  return completions.empty() ? nullptr : rl_completion_matches(text, next_completion);
}

}  // namespace

bool Shell::run_listing(const Words& words) {
  if ((words[0] == "\\d" || words[0] == "\\d+") && words.size() > 1) {
    describe_table(words[1], words[0] == "\\d+");
  } else if (words[0] == "\\d" || words[0] == "\\dt" || words[0] == "\\d+" || words[0] == "\\dt+") {
    describe_relations();
  } else if (words[0] == "\\df") {
    describe_routines();
  } else if (words[0] == "\\conninfo") {
    std::fprintf(out_, "You are connected to a ScyPer node %s.\n", session_->name().c_str());
  } else {
    return false;
  }
  return true;
}

// Commands about the snapshots that queries run on. True: it was one.
bool Shell::run_query_setting(const Words& words) {
  if (words[0] == "\\receipts") {
    toggle("Receipts", &options_.shows_receipts, words);
  } else if (words[0] == "\\pin") {
    auto receipt = session_->pin({});
    if (receipt.ok()) {
      show_receipt(*receipt);
    } else {
      show_error(receipt.status(), "");
    }
  } else if (words[0] == "\\unpin") {
    Status status = session_->unpin();
    if (!status.ok()) show_error(status, "");
  } else if (words[0] == "\\staleness" && words.size() == 2) {
    query::Freshness& freshness = session_->wish().freshness;
    freshness.staleness_us = std::strtoll(words[1].c_str(), nullptr, 10) * 1000;
    freshness.kind = freshness.staleness_us > 0 ? query::Freshness::Kind::kStaleness : query::Freshness::Kind::kFresh;
  } else if (words[0] == "\\timeout" && words.size() == 2) {
    session_->wish().timeout_ms = static_cast<uint32_t>(std::strtoul(words[1].c_str(), nullptr, 10));
  } else {
    return false;
  }
  return true;
}

void Shell::show_receipt(const query::Receipt& receipt) {
  std::fprintf(out_, "Receipt: LSN %llu, %.3f ms old, node %s, snapshot %llu\n",
               static_cast<unsigned long long>(receipt.lsn), receipt.age_ms, receipt.node.c_str(),
               static_cast<unsigned long long>(receipt.snapshot));
}

void Shell::describe_relations() {
  auto description = session_->describe();
  if (!description.ok()) return show_error(description.status(), "");
  if (description->tables.empty()) return print("Did not find any relations.\n", out_);
  std::vector<std::vector<std::string>> rows = {{"Name", "Rows", "Size", "Layout", "Partitioning"}};
  for (const TableDescription& t : description->tables) {
    rows.push_back({t.name, grouped(t.rows), grouped((t.bytes + 1023) / 1024) + " kB", t.layout, t.partitioning});
  }
  size_t count = rows.size() - 1;
  print(format_cells(rows, {false, true, true, false, false}), out_);
  print("(" + std::to_string(count) + (count == 1 ? " row)\n\n" : " rows)\n\n"), out_);
}

void Shell::describe_table(const std::string& name, bool with_size) {
  auto description = session_->describe();
  if (!description.ok()) return show_error(description.status(), "");
  for (const TableDescription& t : description->tables) {
    if (t.name != name) continue;
    std::vector<std::vector<std::string>> rows = {{"Column", "Type"}};
    for (const query::ResultColumn& column : t.columns) rows.push_back({column.name, type_name(column.type)});
    print("Table \"" + t.name + "\"\n" + format_cells(rows, {false, false}), out_);
    if (!t.indexes.empty()) print("Indexes:\n", out_);
    for (const std::string& index : t.indexes) print("    " + index + "\n", out_);
    print("Partitioning: " + t.partitioning + "\nLayout: " + t.layout + "\nRows: " + grouped(t.rows) + "\n", out_);
    if (with_size) print("Size: " + grouped((t.bytes + 1023) / 1024) + " kB\n", out_);
    print("\n", out_);
    return;
  }
  has_failed_ = true;
  std::fprintf(err_, "Did not find any relation named \"%s\".\n", name.c_str());
}

void Shell::describe_routines() {
  auto description = session_->describe();
  if (!description.ok()) return show_error(description.status(), "");
  std::vector<std::vector<std::string>> rows = {{"Routine", "Type", "Classification"}};
  for (const RoutineDescription& r : description->routines) rows.push_back({r.signature, r.kind, r.classification});
  size_t count = rows.size() - 1;
  print(format_cells(rows, {false, false, false}), out_);
  print("(" + std::to_string(count) + (count == 1 ? " row)\n\n" : " rows)\n\n"), out_);
}

void Shell::show_help() {
  print(
      "Statements end with a semicolon and may take several lines.\n"
      "  TAB             completes keywords, tables, columns, functions; procedures behind CALL\n"
      "  \\d [TABLE]      tables, or one table; \\dt: tables\n"
      "  \\d+ [TABLE]     the same with its size\n"
      "  \\df             procedures and functions\n"
      "  \\timing [on|off]  show how long statements take\n"
      "  \\receipts [on|off]  show what queries' answers were computed from\n"
      "  \\pin, \\unpin   all queries on one snapshot\n"
      "  \\staleness MS   queries may be so much behind; 0 = fresh\n"
      "  \\timeout MS     of queries; 0 = none\n"
      "  \\x [on|off]     one line per value\n"
      "  \\t [on|off]     rows only\n"
      "  \\pset null TEXT how NULL looks\n"
      "  \\verbose [on|off]   SQLSTATE in errors, like \\set VERBOSITY verbose|default\n"
      "  \\set ON_ERROR_STOP on|off   leave a file at its first error\n"
      "  \\i FILE         run a file\n"
      "  \\e              edit the last statement in $EDITOR and run it\n"
      "  \\g              run the last statement again\n"
      "  \\echo TEXT      print text\n"
      "  \\conninfo       which node this is\n"
      "  \\? or \\h        this list\n"
      "  \\q or \\quit     leave\n",
      out_);
}

void Shell::edit() {
  char path[] = "/tmp/scyper_edit_XXXXXX.sql";
  int descriptor = mkstemps(path, 4);
  if (descriptor < 0) return show_error(absl::UnavailableError("cannot make a temporary file"), "");
  close(descriptor);
  std::ofstream(path) << last_statement_ << "\n";
  const char* editor = std::getenv("EDITOR");
  std::string command = std::string(editor == nullptr ? "vi" : editor) + " " + path;
  if (std::system(command.c_str()) == 0) {
    std::ifstream file(path);
    std::ostringstream text;
    text << file.rdbuf();
    print(text.str(), out_);
    splitter_.feed(text.str());
    while (auto statement = splitter_.next()) run_statement(*statement);
    flush();
  }
  unlink(path);
}

void Shell::run_interactive(const std::string& history_path) {
  using_history();
  stifle_history(10'000);
  read_history(history_path.c_str());
  completing_session = session_;
  rl_attempted_completion_function = complete_word;
  while (true) {
    char state = splitter_.state();
    std::string prompt = std::string("scyper") + state + "> ";
    char* line = readline(prompt.c_str());
    if (line == nullptr) break;
    if (*line != '\0') add_history(line);
    bool goes_on = feed_line(line);
    free(line);
    if (!goes_on) break;
  }
  rl_attempted_completion_function = nullptr;
  completing_session = nullptr;
  write_history(history_path.c_str());
  std::fprintf(out_, "\n");
}

}  // namespace scyper::client
