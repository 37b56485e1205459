#pragma once

#include <string>

#include "generator/random.h"

namespace scyper::generator {

// Shapes of queries and statements. Each has a weight of its own in shapes.cc, where one that fails is switched off.
enum class Shape {
  kInSelect,        // subqueries in the SELECT list
  kInWhere,         // ... in WHERE
  kInInnerOn,       // ... in ON of inner joins
  kInOuterOn,       // ... in ON of left, right and full joins
  kInHaving,        // ... in HAVING
  kInOrderBy,       // ... in ORDER BY
  kInLimit,         // ... in LIMIT and OFFSET
  kInAggregate,     // ... in arguments of aggregates
  kInFilter,        // ... in FILTER of aggregates
  kInCase,          // ... in branches of CASE
  kInSource,        // ... in VALUES and in arguments of functions in FROM
  kCorrelated,      // subqueries that name columns of the outer ones
  kDepthThree,      // subqueries within subqueries within subqueries
  kExists,          // EXISTS, NOT EXISTS
  kIn,              // IN
  kNotIn,           // NOT IN
  kAny,             // = ANY, < ANY
  kAll,             // <> ALL, >= ALL
  kRowIn,           // (a, b) IN (SELECT c, d)
  kArrayOf,         // = ANY (ARRAY(SELECT ...))
  kLateral,         // LATERAL in inner joins
  kLateralOuter,    // LATERAL on the nullable side
  kDerived,         // derived tables
  kSets,            // UNION, INTERSECT, EXCEPT
  kSetsInside,      // ... below others
  kWindows,         // window functions
  kWindowsInside,   // ... below others
  kDistinct,        // DISTINCT
  kDistinctOn,      // DISTINCT ON
  kGroups,          // GROUP BY
  kGroupsInside,    // ... below others
  kGroupingSets,    // ROLLUP, CUBE, GROUPING SETS
  kEmptyGroup,      // GROUP BY ()
  kLoneHaving,      // HAVING without GROUP BY
  kExpressionKeys,  // GROUP BY a % 2, a
  kLimitsInside,    // LIMIT and OFFSET below others
  kOrderedDerived,  // ORDER BY below an aggregate that keeps the order
  kValues,          // VALUES as a source
  kFunctions,       // generate_series(), unnest() as sources
  kRowsInSelect,    // set-returning functions in the SELECT list
  kWith,            // WITH, its parts used several times
  kWithInside,      // ... below others
  kRecursive,       // WITH RECURSIVE
  kLeftJoin,
  kRightJoin,
  kFullJoin,
  kNestedJoin,  // a JOIN (b JOIN c ON ...) ON ...
  kUsing,
  kNatural,
  kViews,           // a view as a source
  kNumbers,         // nextval()
  kLateralNumbers,  // ... in LATERAL
  kReturning,       // RETURNING with subqueries
  kMerge,           // MERGE
  kTableAs,         // CREATE TABLE AS, SELECT INTO, then changes
  kCascades,        // ON DELETE CASCADE with triggers of statements
  kChanges,         // INSERT, UPDATE, DELETE with subqueries
  kStale,           // ANALYZE, then other rows
  kAsWith,          // the same query again: as a part of WITH
  kAsView,          // ... as a view
  kAsFunction,      // ... as RETURN QUERY
  kAsLoop,          // ... as FOR row IN query
  kPartitioned,     // ... in three parts by a condition: true, false, unknown
  kCount
};

// Which shapes are made. Threads: one.
class Shapes {
 public:
  // Those of the table; with SCYPER_TEST_SHAPES=all, all of them; "all,-name,-name" and "name,name" are lists.
  Shapes();
  // A chance of `percent`, as far as the shape is on.
  bool chance(Random* random, Shape shape, int percent) const { return on(shape) && random->chance(percent); }
  bool on(Shape shape) const { return on_[static_cast<size_t>(shape)]; }

 private:
  void read(const std::string& list);

  bool on_[static_cast<size_t>(Shape::kCount)];
};

}  // namespace scyper::generator
