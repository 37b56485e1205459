#include "completion.h"

#include <algorithm>
#include <cctype>

namespace scyper::client {

namespace {

constexpr std::string_view kCommands[] = {"\\?",    "\\conninfo", "\\d",   "\\d+",     "\\df", "\\dt",      "\\dt+",
                                          "\\e",    "\\echo",     "\\g",   "\\h",      "\\i",  "\\pset",    "\\q",
                                          "\\quit", "\\r",        "\\set", "\\timing", "\\t",  "\\verbose", "\\x"};

constexpr std::string_view kKeywords[] = {"all",
                                          "and",
                                          "any",
                                          "array",
                                          "as",
                                          "asc",
                                          "assert",
                                          "begin",
                                          "between",
                                          "bigint",
                                          "boolean",
                                          "by",
                                          "call",
                                          "case",
                                          "cast",
                                          "char",
                                          "commit",
                                          "continue",
                                          "create",
                                          "current_date",
                                          "current_timestamp",
                                          "date",
                                          "declare",
                                          "default",
                                          "delete",
                                          "desc",
                                          "distinct",
                                          "do",
                                          "double precision",
                                          "drop",
                                          "else",
                                          "elsif",
                                          "end",
                                          "except",
                                          "exception",
                                          "exists",
                                          "exit",
                                          "explain",
                                          "extract",
                                          "false",
                                          "fetch",
                                          "filter",
                                          "for",
                                          "foreach",
                                          "from",
                                          "function",
                                          "group by",
                                          "having",
                                          "if",
                                          "in",
                                          "index",
                                          "inner join",
                                          "inout",
                                          "insert into",
                                          "integer",
                                          "intersect",
                                          "into",
                                          "is",
                                          "join",
                                          "key",
                                          "language",
                                          "left join",
                                          "like",
                                          "limit",
                                          "loop",
                                          "not",
                                          "not null",
                                          "notice",
                                          "null",
                                          "numeric",
                                          "offset",
                                          "on",
                                          "or",
                                          "order by",
                                          "out",
                                          "partition by hash",
                                          "perform",
                                          "plpgsql",
                                          "primary key",
                                          "procedure",
                                          "raise",
                                          "record",
                                          "replace",
                                          "return",
                                          "returning",
                                          "returns",
                                          "select",
                                          "set",
                                          "show",
                                          "smallint",
                                          "strict",
                                          "table",
                                          "text",
                                          "then",
                                          "timestamp",
                                          "true",
                                          "truncate",
                                          "union",
                                          "unique",
                                          "update",
                                          "using",
                                          "values",
                                          "varchar",
                                          "view",
                                          "when",
                                          "where",
                                          "while",
                                          "with"};

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

// The word before the cursor's, in lower case.
std::string last_word(std::string_view before) {
  size_t end = before.find_last_not_of(" \t\n");
  if (end == std::string_view::npos) return "";
  size_t from = before.find_last_of(" \t\n(,;", end);
  return lower(before.substr(from == std::string_view::npos ? 0 : from + 1, end - (from + 1) + 1));
}

bool wants_table(std::string_view word) {
  static constexpr std::string_view kBefore[] = {"from", "join", "into", "update", "table", "truncate", "\\d", "\\d+"};
  return std::find(std::begin(kBefore), std::end(kBefore), word) != std::end(kBefore);
}

}  // namespace

std::vector<std::string> complete(std::string_view before, std::string_view word, const Description& description) {
  std::vector<std::string> found;
  std::string start = lower(word);
  auto offer = [&](std::string_view candidate) {
    if (lower(candidate.substr(0, start.size())) == start) found.emplace_back(candidate);
  };
  std::string previous = last_word(before);
  if (word.starts_with('\\')) {
    for (std::string_view command : kCommands) offer(command);
  } else if (wants_table(previous)) {
    for (const TableDescription& table : description.tables) offer(table.name);
  } else {
    for (const RoutineDescription& routine : description.routines) {
      if ((routine.kind == "procedure") == (previous == "call" || previous == "procedure"))
        offer(routine.signature.substr(0, routine.signature.find('(')));
    }
    if (previous != "call") {
      bool is_upper = !word.empty() && std::isupper(static_cast<unsigned char>(word[0])) != 0;
      for (std::string_view keyword : kKeywords) {
        std::string shown(keyword);
        if (is_upper)
          for (char& c : shown) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
        offer(shown);
      }
      for (const TableDescription& table : description.tables) {
        offer(table.name);
        for (const query::ResultColumn& column : table.columns) offer(column.name);
      }
    }
  }
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

}  // namespace scyper::client
