#pragma once

#include <string>
#include <vector>

#include "generator/nested.h"
#include "generator/script.h"

namespace scyper::generator {

// Definitions and changes around NestedMaker's tables: p, q, r, e (of columns k, x, n, s, b) and a view v. Threads:
// one.
class NestedChanges {
 public:
  NestedChanges(Random* random, const Shapes* shapes, NestedMaker* queries)
      : random_(random), shapes_(shapes), queries_(queries) {}

  // Tables, indexes, the view, a sequence, rows. `has_indexes`: the same without them for false.
  Script schema(bool has_indexes);
  // A change, or several statements that belong together.
  Script changes();
  // What all tables hold.
  Script contents();

 private:
  Term rows(const std::string& table, int first, int count);
  std::string cell(Kind kind);
  std::string target() { return random_->one_of({"p", "q", "r", "q"}); }
  Term where(const std::vector<std::string>& tables, int depth);
  Term returning(const std::string& table);
  Term insert();
  Term update();
  Term remove();
  Term merge();
  Script numbers();
  Script table_as();
  Script cascades();
  Script stale();

  Random* const random_;
  const Shapes* const shapes_;
  NestedMaker* const queries_;
  int names_ = 0;
};

}  // namespace scyper::generator
