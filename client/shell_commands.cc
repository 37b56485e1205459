// The shell's commands that show the catalog, and those that talk to the user.

#include <editline/readline.h>
#include <langinfo.h>
#include <unistd.h>

#include <clocale>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

#include "completion.h"
#include "interrupts.h"
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

// As the catalog has it: no schema, no quotes, small letters where there were no quotes.
std::string folded_name(std::string word) {
  if (word.starts_with("public.")) word.erase(0, 7);
  if (word.size() >= 2 && word.front() == '"' && word.back() == '"') return word.substr(1, word.size() - 2);
  for (char& c : word) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return word;
}

// `*` stands for any letters. An empty pattern fits everything.
bool fits(std::string_view name, std::string_view pattern) {
  if (pattern.empty()) return true;
  if (pattern == "*") return true;
  if (pattern.front() != '*') {
    return !name.empty() && name.front() == pattern.front() &&
           (pattern.size() == 1 ? name.size() == 1 : fits(name.substr(1), pattern.substr(1)));
  }
  for (size_t i = 0; i <= name.size(); ++i) {
    if (fits(name.substr(i), pattern.substr(1))) return true;
  }
  return false;
}

std::string literal_of(std::string_view text) {
  std::string out = "'";
  for (char c : text) out += c == '\'' ? std::string("''") : std::string(1, c);
  return out + "'";
}

std::string name_condition(const char* column, std::string pattern) {
  if (pattern.empty()) return "";
  for (char& c : pattern) c = c == '*' ? '%' : c;
  return std::string(" WHERE ") + column + " LIKE " + literal_of(pattern);
}

}  // namespace

bool Shell::run_listing(const Words& words) {
  const std::string name = words.size() > 1 ? folded_name(words[1]) : "";
  const bool is_pattern = name.find('*') != std::string::npos;
  if ((words[0] == "\\d" || words[0] == "\\d+") && !name.empty() && !is_pattern) {
    describe_table(name, words[0] == "\\d+");
  } else if (words[0] == "\\d" || words[0] == "\\dt" || words[0] == "\\d+" || words[0] == "\\dt+") {
    describe_relations(name);
  } else if (words[0] == "\\df") {
    describe_routines(name);
  } else if (words[0] == "\\dv") {
    run_statement("SELECT viewname AS \"View\" FROM pg_views" + name_condition("viewname", name) + " ORDER BY 1");
  } else if (words[0] == "\\di") {
    run_statement("SELECT indexname AS \"Index\", tablename AS \"Table\", indexdef AS \"Definition\" FROM pg_indexes" +
                  name_condition("indexname", name) + " ORDER BY 2, 1");
  } else if (words[0] == "\\ds") {
    run_statement(
        "SELECT schemaname AS \"Schema\", sequencename AS \"Name\", data_type AS \"Type\", last_value AS \"Last\" "
        "FROM pg_sequences" +
        name_condition("sequencename", name) + " ORDER BY 1, 2");
  } else if (words[0] == "\\dm") {
    run_statement("SELECT schemaname AS \"Schema\", matviewname AS \"Name\" FROM pg_matviews" +
                  name_condition("matviewname", name) + " ORDER BY 1, 2");
  } else if (words[0] == "\\dn") {
    run_statement("SELECT nspname AS \"Name\", pg_get_userbyid(nspowner) AS \"Owner\" FROM pg_namespace" +
                  name_condition("nspname", name) + (name.empty() ? " WHERE" : " AND") +
                  " nspname !~ '^pg_' AND nspname <> 'information_schema' ORDER BY 1");
  } else if (words[0] == "\\du" || words[0] == "\\dg") {
    run_statement(
        "SELECT rolname AS \"Role name\", concat_ws(', ', CASE WHEN rolsuper THEN 'Superuser' END, CASE WHEN "
        "rolcreaterole THEN 'Create role' END, CASE WHEN rolcreatedb THEN 'Create DB' END, CASE WHEN NOT "
        "rolcanlogin THEN 'Cannot login' END) AS \"Attributes\" FROM pg_roles" +
        name_condition("rolname", name) + (name.empty() ? " WHERE" : " AND") + " rolname !~ '^pg_' ORDER BY 1");
  } else if (words[0] == "\\l") {
    run_statement(
        "SELECT datname AS \"Name\", pg_get_userbyid(datdba) AS \"Owner\", pg_encoding_to_char(encoding) AS "
        "\"Encoding\" FROM pg_database" +
        name_condition("datname", name) + " ORDER BY 1");
  } else if (words[0] == "\\sf" && words.size() > 1) {
    show_definition(words[1]);
  } else if (words[0] == "\\conninfo") {
    std::fprintf(out_, "You are connected to a ScyPer node %s.\n", session_->name().c_str());
  } else {
    return false;
  }
  return true;
}

// The CREATE of a function or procedure: by its name, or with the types of its arguments.
void Shell::show_definition(const std::string& name) {
  const char* const type = name.ends_with(')') ? "regprocedure" : "regproc";
  const Status status = session_->execute(
      "SELECT pg_get_functiondef(" + literal_of(name) + "::" + type + "::oid)", [&](const query::ResultSet& result) {
        for (size_t row = 0; row < result.row_count(); ++row)
          print(value_text(result.columns[0].type, result.value(row, 0)) + "\n", out_);
      });
  if (!status.ok()) show_error(status, "");
}

// Commands about the snapshots that queries run on. True: it was one.
bool Shell::run_query_setting(const Words& words) {
  if (words[0] == "\\receipts") {
    toggle("Receipts", &options_.shows_receipts, words);
  } else if (words[0] == "\\pin") {
    query::Freshness wish;
    if (words.size() == 3) {  // as the receipt of another node's session says
      wish.kind = query::Freshness::Kind::kGlobal;
      wish.term = std::strtoull(words[1].c_str(), nullptr, 10);
      wish.snapshot = static_cast<uint32_t>(std::strtoul(words[2].c_str(), nullptr, 10));
      wish.is_exact = true;
    }
    auto receipt = session_->pin(wish);
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
  const std::string term = receipt.term == 0 ? "" : " of term " + std::to_string(receipt.term);
  std::fprintf(out_, "Receipt: LSN %llu, %.3f ms old, node %s, snapshot %llu%s\n",
               static_cast<unsigned long long>(receipt.lsn), receipt.age_ms, receipt.node.c_str(),
               static_cast<unsigned long long>(receipt.snapshot), term.c_str());
}

void Shell::describe_relations(const std::string& pattern) {
  auto description = session_->describe();
  if (!description.ok()) return show_error(description.status(), "");
  if (description->tables.empty()) return print("Did not find any relations.\n", out_);
  std::vector<std::vector<std::string>> rows = {{"Name", "Rows", "Size", "Layout", "Partitioning"}};
  for (const TableDescription& t : description->tables) {
    if (!fits(t.name, pattern)) continue;
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
    std::vector<std::vector<std::string>> rows = {{"Column", "Type", "Nullable", "Default"}};
    const ColumnRules rules = rules_of(t.name);
    for (const query::ResultColumn& column : t.columns) {
      auto rule = rules.find(column.name);
      rows.push_back({column.name, type_name(column.type), "", ""});
      if (rule == rules.end()) continue;
      rows.back()[2] = rule->second.first;
      rows.back()[3] = rule->second.second;
    }
    print("Table \"" + t.name + "\"\n" + format_cells(rows, {false, false, false, false}), out_);
    if (!t.indexes.empty()) print("Indexes:\n", out_);
    for (const std::string& index : t.indexes) print("    " + index + "\n", out_);
    if (!t.constraints.empty()) print("Constraints and triggers:\n", out_);
    for (const std::string& constraint : t.constraints) print("    " + constraint + "\n", out_);
    print("Partitioning: " + t.partitioning + "\nLayout: " + t.layout + "\nRows: " + grouped(t.rows) + "\n", out_);
    if (with_size) print("Size: " + grouped((t.bytes + 1023) / 1024) + " kB\n", out_);
    print("\n", out_);
    return;
  }
  if (describe_view(name)) return;
  has_failed_ = true;
  std::fprintf(err_, "Did not find any relation named \"%s\".\n", name.c_str());
}

// Column -> "not null" or nothing, and its default.
Shell::ColumnRules Shell::rules_of(const std::string& table) {
  ColumnRules rules;
  Status status = session_->execute(
      "SELECT column_name, CASE is_nullable WHEN 'NO' THEN 'not null' ELSE '' END, CASE WHEN is_generated = 'ALWAYS' "
      "THEN 'generated always' WHEN is_identity = 'YES' THEN 'generated as identity' ELSE coalesce(column_default, '') "
      "END FROM information_schema.columns WHERE table_name = " +
          literal_of(table),
      [&](const query::ResultSet& result) {
        auto text = [&](size_t row, size_t column) {
          return value_text(result.columns[column].type, result.value(row, column));
        };
        for (size_t row = 0; row < result.row_count(); ++row) rules[text(row, 0)] = {text(row, 1), text(row, 2)};
      });
  return status.ok() ? rules : ColumnRules();
}

bool Shell::describe_view(const std::string& name) {
  std::vector<std::vector<std::string>> rows = {{"Column", "Type"}};
  Status status = session_->execute(
      "SELECT column_name, data_type FROM information_schema.columns WHERE table_name = " + literal_of(name) +
          " ORDER BY ordinal_position",
      [&](const query::ResultSet& result) {
        for (size_t row = 0; row < result.row_count(); ++row) {
          rows.push_back({value_text(result.columns[0].type, result.value(row, 0)),
                          value_text(result.columns[1].type, result.value(row, 1))});
        }
      });
  if (!status.ok() || rows.size() == 1) return false;
  print("View \"" + name + "\"\n" + format_cells(rows, {false, false}) + "\n", out_);
  return true;
}

void Shell::describe_routines(const std::string& pattern) {
  auto description = session_->describe();
  if (!description.ok()) return show_error(description.status(), "");
  std::vector<std::vector<std::string>> rows = {{"Routine", "Type", "Classification"}};
  for (const RoutineDescription& r : description->routines) {
    if (fits(r.signature.substr(0, r.signature.find('(')), pattern))
      rows.push_back({r.signature, r.kind, r.classification});
  }
  size_t count = rows.size() - 1;
  print(format_cells(rows, {false, false, false}), out_);
  print("(" + std::to_string(count) + (count == 1 ? " row)\n\n" : " rows)\n\n"), out_);
}

void Shell::show_help() {
  print(
      "Statements end with a semicolon and may take several lines.\n"
      "  Ctrl-C          ends the statement that runs, or gives up the line; Ctrl-D leaves\n"
      "  BEGIN ... COMMIT  several statements as one transaction; the prompt has * while it is open, ! once it has "
      "failed\n"
      "  TAB             completes keywords, tables, columns, functions; procedures behind CALL\n"
      "  \\d [NAME]       tables, or one table or view; \\dt: tables, \\dv: views, \\di: indexes\n"
      "  \\d+ [TABLE]     the same with its size\n"
      "  \\df             procedures and functions; \\ds: sequences, \\dm: materialized views, \\dn: schemas, \\du: "
      "roles\n"
      "                  all of these take a pattern: \\dt ord*\n"
      "  \\sf NAME        the text of a function or procedure\n"
      "  \\l              databases\n"
      "  \\timing [on|off]  show how long statements take\n"
      "  \\receipts [on|off]  show what queries' answers were computed from\n"
      "  \\pin, \\unpin   all queries on one snapshot; \\pin TERM SNAPSHOT: on that of another secondary's session\n"
      "  \\staleness MS   queries may be so much behind; 0 = fresh\n"
      "  \\timeout MS     of queries; 0 = none\n"
      "  \\x [on|off]     one line per value\n"
      "  \\t [on|off]     rows only\n"
      "  \\pset null TEXT how NULL looks\n"
      "  \\verbose [on|off]   SQLSTATE in errors, like \\set VERBOSITY verbose|default\n"
      "  \\set ON_ERROR_STOP on|off   leave a file at its first error\n"
      "  \\copy TABLE [(COLUMNS)] | (QUERY) FROM | TO 'FILE' | PROGRAM 'COMMAND' | STDIN | STDOUT [OPTIONS]\n"
      "                  COPY with a file of this machine\n"
      "  \\i FILE         run a file\n"
      "  \\e              edit the last statement in $EDITOR and run it\n"
      "  \\g              run what has no semicolon yet, or the last statement again; \\gx: one line per value\n"
      "  \\watch [SECONDS] [c=TIMES]  the same again and again, every 2 seconds, until Ctrl-C\n"
      "  \\p, \\r          show or forget what has no semicolon yet\n"
      "  \\echo TEXT      print text\n"
      "  \\conninfo       which node this is\n"
      "  \\? or \\h        this list\n"
      "  \\q, quit, exit  leave\n",
      out_);
}

void Shell::edit() {
  char path[] = "/tmp/scyper_edit_XXXXXX.sql";
  int descriptor = mkstemps(path, 4);
  if (descriptor < 0) return show_error(absl::UnavailableError("cannot make a temporary file"), "");
  close(descriptor);
  std::ofstream(path) << take_buffer() << "\n";
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

std::string Shell::prompt() {
  if (copy_.has_value()) return ">> ";
  const Transaction::State state = session_->transaction_state();
  const char* const mark = state == Transaction::State::kNone ? "" : state == Transaction::State::kOpen ? "*" : "!";
  return std::string("scyper") + splitter_.state() + mark + "> ";
}

namespace {

// The line editor takes letters beyond ASCII only in a locale that has them. Text is always UTF-8 here.
void read_letters() {
  const bool is_set = std::setlocale(LC_CTYPE, "") != nullptr;
  if (!is_set || std::string_view(nl_langinfo(CODESET)) != "UTF-8") std::setlocale(LC_CTYPE, "C.UTF-8");
}

}  // namespace

void Shell::run_interactive(const std::string& history_path) {
  is_interactive_ = true;
  read_letters();
  using_history();
  stifle_history(10'000);
  read_history(history_path.c_str());
  completing_session = session_;
  rl_attempted_completion_function = complete_word;
  Interrupts interrupts([this] {
    is_interrupted_ = true;
    session_->cancel();
  });
  std::string line, statement;
  while (true) {
    auto input = interrupts.read_line(prompt(), &line);
    if (input == Interrupts::Input::kEnd && copy_.has_value()) {
      flush();
      continue;
    }
    if (input == Interrupts::Input::kEnd) break;
    if (input == Interrupts::Input::kInterrupted) {
      if (copy_.has_value()) give_up_copy();
      splitter_.clear();
      statement.clear();
      std::fprintf(out_, "\n");
      continue;
    }
    if (!line.empty() && !copy_.has_value()) {
      // lines of one statement come back together; a comment ends with its line
      if (!statement.empty()) statement += statement.find("--") == std::string::npos ? ' ' : '\n';
      statement += line;
    }
    const bool goes_on = feed_line(line);
    if (!statement.empty() && (splitter_.is_empty() || !goes_on)) {
      add_history(statement.c_str());
      write_history(history_path.c_str());  // at once: the shell may be killed
      statement.clear();
    }
    if (goes_on) continue;
    if (!is_disconnected_) break;
    is_disconnected_ = false;  // the next statement tries again
  }
  rl_attempted_completion_function = nullptr;
  completing_session = nullptr;
  std::fprintf(out_, "\n");
}

}  // namespace scyper::client
