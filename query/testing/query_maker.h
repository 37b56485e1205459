#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "testing/term.h"

namespace scyper::query {

// Random tables and queries over them: joins, subqueries, aggregates, set operations, NULLs, all types.
class QueryMaker {
 public:
  explicit QueryMaker(uint64_t seed) : random_(seed) {}
  std::vector<std::string> tables();
  Term query();

 private:
  struct Column {
    std::string name;
    char type;
  };
  struct Source {
    std::string alias;
    const std::vector<Column>* columns;
  };

  int pick(int n) { return static_cast<int>(random_() % static_cast<uint64_t>(n)); }
  bool chance(int percent) { return pick(100) < percent; }
  std::string one_of(std::initializer_list<const char*> items);
  std::string cell(char kind, int row);
  std::string rows(int count, const std::string& pattern);
  Term source();
  Term from();
  Term select_query(int columns, const std::string& types);
  Term plain_query();
  Term grouped_query();
  Term set_query();
  Term window_query();
  std::string window_call(char key, bool by_position);
  std::string frame(char key, bool one_key, bool by_position);
  Term column(char type);
  Term constant(char type);
  Term value(char type, int depth);
  Term number(int depth);
  Term text(int depth);
  Term date(int depth);
  Term timestamp(int depth);
  Term interval(int depth);
  Term condition(int depth);
  Term subquery_condition(int depth);
  Term equality();
  Term output(int depth);  // comparable as text
  Term aggregate();
  std::string direction();

  std::mt19937_64 random_;
  std::vector<Source> sources_;
};

}  // namespace scyper::query
