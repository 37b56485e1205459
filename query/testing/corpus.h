#pragma once

#include <string>
#include <vector>

namespace scyper::query {

// One statement of a corpus file, with the directives that stand before it.
struct CorpusStatement {
  std::string file;
  int line = 0;
  std::string text;
  // "-- differs: reason": executed, not compared. "-- state only: reason": errors are compared by SQLSTATE alone.
  std::string differs;
  std::string state_only;
};

// Statements of a file, separated by lines of ";;" or blank lines (a body in $$ keeps its blank lines). Lines that
// start with "-- " before a statement are comments or directives.
std::vector<CorpusStatement> read_corpus(const std::string& path);

// The same statement for PostgreSQL: without what only ScyPer's CREATE TABLE knows (partitions without a partition
// list, layout options).
std::string for_postgres(const std::string& statement);

}  // namespace scyper::query
