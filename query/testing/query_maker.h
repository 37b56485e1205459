#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace scyper::query {

// A piece of SQL that knows its parts: text between children. Types: i number, s text, b boolean, d date, t timestamp,
// v interval; W a clause that may be left out; Q a query, which may become one of its parts that are
// queries; anything else stays as it is.
struct Term {
  char type = 'Q';
  std::vector<std::string> text = {""};  // one more than children
  std::vector<Term> children;

  std::string sql() const;
};

inline void append(Term* term, const std::string& text) { term->text.back() += text; }
inline void append(Term* term, Term child) {
  term->children.push_back(std::move(child));
  term->text.emplace_back();
}
template <typename... Parts>
Term make(char type, Parts... parts) {
  Term term;
  term.type = type;
  (append(&term, std::move(parts)), ...);
  return term;
}

// All terms that are one step simpler: a part replaced by one of its own parts of the same type, by a constant, or left
// out. Simplest first.
std::vector<Term> simpler_terms(const Term& term);

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
