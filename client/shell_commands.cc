// The shell's commands that show the catalog, and those that talk to the user.

#include <editline/readline.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "progress.h"
#include "shell.h"

namespace scyper::client {

bool Shell::run_listing(const Words& words) {
  if (words[0] == "\\d" && words.size() > 1) {
    describe_table(words[1]);
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

void Shell::describe_table(const std::string& name) {
  auto description = session_->describe();
  if (!description.ok()) return show_error(description.status(), "");
  for (const TableDescription& t : description->tables) {
    if (t.name != name) continue;
    std::vector<std::vector<std::string>> rows = {{"Column", "Type"}};
    for (const query::ResultColumn& column : t.columns) rows.push_back({column.name, type_name(column.type)});
    print("Table \"" + t.name + "\"\n" + format_cells(rows, {false, false}), out_);
    if (!t.indexes.empty()) print("Indexes:\n", out_);
    for (const std::string& index : t.indexes) print("    " + index + "\n", out_);
    print("Partitioning: " + t.partitioning + "\nLayout: " + t.layout + "\nRows: " + grouped(t.rows) + "\n\n", out_);
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
      "  \\d [TABLE]      tables, or one table\n"
      "  \\df             procedures and functions\n"
      "  \\timing [on|off]  show how long statements take\n"
      "  \\x [on|off]     one line per value\n"
      "  \\t [on|off]     rows only\n"
      "  \\pset null TEXT how NULL looks\n"
      "  \\set VERBOSITY verbose|default   SQLSTATE in errors\n"
      "  \\i FILE         run a file\n"
      "  \\e              edit the last statement in $EDITOR and run it\n"
      "  \\g              run the last statement again\n"
      "  \\echo TEXT      print text\n"
      "  \\conninfo       which node this is\n"
      "  \\q              leave\n",
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
  write_history(history_path.c_str());
  std::fprintf(out_, "\n");
}

}  // namespace scyper::client
