#pragma once

#include <algorithm>
#include <functional>
#include <set>

#include "bind/bound.h"
#include "query/catalog.h"

namespace scyper::query {

// All relations and expressions below a query or a change, queries of WITH included, each once.
class RelationWalk {
 public:
  std::function<void(Relation&)> on_relation = [](Relation&) {};
  std::function<void(BoundExpr&)> on_expr = [](BoundExpr&) {};

  void walk(BoundQuery* query);
  void walk(BoundExpr* expr);
  // What a change reads by its own text; not what constraints and triggers read.
  void walk(BoundDml* dml);
  void walk(CommonQuery* common);

 private:
  std::set<const CommonQuery*> seen_;
};

// Does an expression of a statement call a VOLATILE routine, which sees what the statement has changed so far? The
// check of a domain, which has no definition of its own, reads its value alone.
template <class Tree>
bool sees_changes(const Tree& tree) {
  bool found = false;
  RelationWalk walk;
  walk.on_expr = [&](BoundExpr& e) {
    found |= e.kind == BoundKind::kUserCall && e.routine != nullptr && e.routine->is_volatile &&
             !e.routine->definition.empty();
  };
  walk.walk(const_cast<Tree*>(&tree));  // which changes nothing
  return found;
}

// Does it read any table?
inline bool reads_any_table(const BoundQuery& query) {
  bool reads = false;
  RelationWalk walk;
  walk.on_relation = [&](Relation& relation) { reads |= relation.table != nullptr; };
  walk.walk(const_cast<BoundQuery*>(&query));  // which changes nothing
  return reads;
}

// VALUES whose rows are to be computed when those before them have been consumed.
inline bool has_late_rows(const Relation& values) {
  return values.rows.size() > 1 && std::any_of(values.rows.begin(), values.rows.end(), [](const auto& row) {
           return std::any_of(row.begin(), row.end(), [](const BoundPtr& value) { return sees_changes(*value); });
         });
}

}  // namespace scyper::query
