#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "bind/bound.h"

namespace scyper::query {

// A query level that names are looked up in, innermost first.
struct Scope {
  // What a name without qualifier and * see: USING and NATURAL leave one column of two.
  struct Visible {
    size_t relation = 0;  // position in relations
    uint32_t column = 0;
    std::shared_ptr<const BoundExpr> merged;  // of USING: the value, where it is not the column's
  };
  // JOIN ... USING (...) AS name: what USING leaves.
  struct UsingAlias {
    std::string name;
    std::vector<Visible> columns;
  };
  const Scope* parent = nullptr;
  BoundQuery* query = nullptr;             // marked correlated when an outer column is found through it
  std::vector<const Relation*> relations;  // visible by alias.column
  std::vector<bool> nullable;              // the null-supplying side of an outer join
  std::vector<Visible> columns;            // in the order of *
  std::vector<UsingAlias> aliases;

  void add(const Relation* relation, bool is_nullable);
  const RelationColumn& column(const Visible& v) const { return relations[v.relation]->columns[v.column]; }
  BoundPtr value(const Visible& v, int32_t location) const;
};

}  // namespace scyper::query
