#include "testing/corpus.h"

#include <fstream>
#include <iostream>
#include <regex>

#include "base/check.h"

namespace scyper::query {

namespace {

// Value of "-- key: value", empty if the line is something else.
std::string directive(const std::string& line, const std::string& key) {
  std::string start = "-- " + key + ":";
  return line.compare(0, start.size(), start) == 0 ? line.substr(start.size() + 1) : "";
}

size_t count_of(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size())) count++;
  return count;
}

}  // namespace

std::vector<CorpusStatement> read_corpus(const std::string& path) {
  std::ifstream in(path);
  if (!in) std::cerr << "no corpus " << path << "\n";
  CHECK(in.good());
  std::vector<CorpusStatement> statements;
  CorpusStatement current;
  current.file = path.substr(path.rfind('/') + 1);
  auto finish = [&] {
    if (!current.text.empty()) statements.push_back(current);
    current.text.clear();
    current.differs.clear();
    current.state_only.clear();
  };
  bool in_body = false;
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    number++;
    if (!in_body && (line.empty() || line == ";;")) {
      finish();
      continue;
    }
    if (current.text.empty() && line.compare(0, 3, "-- ") == 0) {
      if (std::string reason = directive(line, "differs"); !reason.empty()) current.differs = reason;
      if (std::string reason = directive(line, "state only"); !reason.empty()) current.state_only = reason;
      continue;
    }
    if (current.text.empty())
      current.line = number;
    else
      current.text += '\n';
    current.text += line;
    if (count_of(line, "$$") % 2 == 1) in_body = !in_body;
    // one-line statements need no blank line between them
    if (!in_body && !line.empty() && line.back() == ';') finish();
  }
  finish();
  return statements;
}

std::string for_postgres(const std::string& statement) {
  static const std::regex kOnlyOurs(R"(\s+(PARTITION BY HASH \(\w+\)|WITH \(layout = \w+\)))");
  if (statement.compare(0, 12, "CREATE TABLE") != 0) return statement;
  return std::regex_replace(statement, kOnlyOurs, "");
}

}  // namespace scyper::query
