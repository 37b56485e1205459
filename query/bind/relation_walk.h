#pragma once

#include <functional>
#include <set>

#include "bind/bound.h"

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

}  // namespace scyper::query
