#pragma once

#include <string>
#include <utility>
#include <vector>

namespace scyper::query {

// A piece of SQL that knows its parts: text between children. Types: i number, s text, b boolean, d date, t timestamp,
// v interval, h smallint, g bigint, n numeric, f double precision, z timestamptz, c time, u uuid, y bytea, j jsonb,
// I integer[], T text[]; W a clause that may be left out; P a statement of PL/pgSQL, which may be left out or become
// one of those inside it; Q a query, which may become one of its parts that are queries; anything else stays as it is.
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

// What a part of that type may always be replaced by; null: nothing.
const char* simplest(char type);
// All terms that are one step simpler: a part replaced by one of its own parts of the same type, by a constant, or left
// out. Simplest first.
std::vector<Term> simpler_terms(const Term& term);

}  // namespace scyper::query
