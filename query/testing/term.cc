#include "testing/term.h"

#include <functional>

namespace scyper::query {

const char* simplest(char type) {
  switch (type) {
    case 'i':
      return "1";
    case 's':
      return "'a'::text";
    case 'b':
      return "true";
    case 'd':
      return "date '2024-01-03'";
    case 't':
      return "timestamp '2024-01-03 12:00'";
    case 'v':
      return "interval '1 day'";
    case 'h':
      return "1::smallint";
    case 'g':
      return "1::bigint";
    case 'n':
      return "1.5";
    case 'f':
      return "1::double precision";
    case 'z':
      return "timestamptz '2024-01-03 12:00+00'";
    case 'c':
      return "time '12:00'";
    case 'u':
      return "uuid '00000000-0000-0000-0000-000000000001'";
    case 'y':
      return "'\\x61'::bytea";
    case 'j':
      return "'{}'::jsonb";
    case 'I':
      return "ARRAY[1]";
    case 'T':
      return "ARRAY['a']";
    case 'W':
    case 'P':
      return "";
    default:
      return nullptr;
  }
}

namespace {

void collect_inner(const Term& term, char type, std::vector<const Term*>* out) {
  for (const Term& child : term.children) {
    if (child.type == type) out->push_back(&child);
    collect_inner(child, type, out);
  }
}

// Each way to make `term` simpler, inside of whatever `build` puts around it.
void simplify(const Term& term, const std::function<Term(Term)>& build, std::vector<Term>* out) {
  const char* leaf = simplest(term.type);
  if (leaf != nullptr && term.sql() != leaf) out->push_back(build(make(term.type, std::string(leaf))));
  if (term.type != 'W' && term.type != 'A' && term.type != 'F') {
    std::vector<const Term*> inner;
    collect_inner(term, term.type, &inner);
    for (const Term* part : inner) out->push_back(build(*part));
  }
  for (size_t i = 0; i < term.children.size(); i++)
    simplify(
        term.children[i],
        [&](Term part) {
          Term copy = term;
          copy.children[i] = std::move(part);
          return build(std::move(copy));
        },
        out);
}

}  // namespace

std::string Term::sql() const {
  std::string all = text[0];
  for (size_t i = 0; i < children.size(); i++) all += children[i].sql() + text[i + 1];
  return all;
}

std::vector<Term> simpler_terms(const Term& term) {
  std::vector<Term> all;
  simplify(term, [](Term whole) { return whole; }, &all);
  return all;
}

}  // namespace scyper::query
