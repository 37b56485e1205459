#pragma once

#include <string>
#include <vector>

#include "generator/kind.h"
#include "generator/shapes.h"
#include "testing/term.h"

namespace scyper::generator {

using query::Term;

// A query with its columns c0, c1, ...
struct NestedQuery {
  Term term;
  std::vector<Kind> kinds;
};

// Queries in queries, at every place that SQL has for one, correlated over all levels. Few kinds of values (integers,
// numerics of two digits, texts, booleans), each of which looks alike where it is equal; so whatever orders rows by all
// columns is a total order. Threads: one.
class NestedMaker {
 public:
  NestedMaker(Random* random, const Shapes* shapes) : random_(random), shapes_(shapes) {}

  // A whole query. Ordered: by all columns.
  NestedQuery query(bool may_be_ordered);
  // One of these kinds, without an order.
  Term query_of(const std::vector<Kind>& kinds, int depth);
  // For statements: a condition or a value over a table's columns by that name.
  Term condition_over(const std::vector<std::string>& tables, int depth);
  Term value_over(Kind kind, const std::vector<std::string>& tables, int depth);
  std::vector<Kind> some_kinds();

 private:
  struct Column {
    std::string text;
    Kind kind;
    bool is_seen_below;  // by subqueries: not expressions, nor names that these may have too
  };
  using Level = std::vector<Column>;
  struct Part {  // of WITH
    std::string name;
    std::vector<Kind> kinds;
  };
  enum class Place { kSelect, kWhere, kInnerOn, kOuterOn, kHaving, kOrderBy, kLimit, kAggregate, kFilter, kSource };

  bool chance(int percent) { return random_->chance(percent); }
  bool chance(Shape shape, int percent) { return shapes_->chance(random_, shape, percent); }
  std::string name() { return "t" + std::to_string(++names_); }
  Level& local() { return levels_.back(); }

  // nested.cc: queries
  void begin();
  Term body(const std::vector<Kind>& kinds, int depth);
  static void add_item(Term item, size_t i, bool may_go, Term* result);
  Term plain(const std::vector<Kind>& kinds, int depth);
  Term windowed(const std::vector<Kind>& kinds, int depth);
  Term set_operation(const std::vector<Kind>& kinds, int depth);
  Term with(const std::vector<Kind>& kinds, int depth);
  Term recursive_part(const std::string& name, int depth);
  Term where(int depth);
  Term ordered(size_t columns, int depth, bool is_limited);
  Term limit(int depth);
  std::string direction();

  // nested_groups.cc
  Term grouped(const std::vector<Kind>& kinds, int depth);
  std::vector<Column> group_keys();
  std::string grouping(const std::vector<Column>& keys);
  Term grouped_item(Kind kind, const std::vector<Column>& keys, const Level& rows, const Level& groups, int depth);
  std::string anchor();
  Term argument(Kind kind, int depth);
  Term aggregate(Kind kind, int depth);
  Term aggregate_call(Kind kind, int depth);
  std::string window_call(Kind kind, bool may_number);
  std::string window_order(const std::string& partition);

  // nested_sources.cc
  Term sources(int depth);
  Term source(int depth, bool is_lateral, Level* columns);
  Term derived(int depth, bool is_lateral, Level* columns);
  Term values(int depth, Level* columns);
  Term function(int depth, Level* columns);
  Term join(int depth);
  Term join_condition(const Level& left, const Level& right, bool is_full, Place place, int depth);
  Term merged_join();
  std::string table();
  static Level table_columns(const std::string& alias);

  // nested_values.cc
  Term value(Kind kind, int depth);
  Term column(Kind kind);
  Term constant(Kind kind);
  Term expression(Kind kind, int depth);
  Term condition(int depth);
  Term simple_condition(int depth);
  Term subquery_condition(int depth);
  Term scalar(Kind kind, int depth);
  Term scalar_query(Kind kind, int depth);
  bool takes_subquery(int depth, int percent);

  const std::vector<Kind> kinds_ = {Kind::kInteger, Kind::kText, Kind::kBoolean, Kind::kNumeric};
  Random* const random_;
  const Shapes* const shapes_;
  std::vector<Level> levels_;  // what may be named, the innermost query's last
  std::vector<Part> parts_;    // of WITH that may be named
  Place place_ = Place::kSelect;
  int names_ = 0;
  int left_ = 0;  // of the subqueries that this statement may still have
};

}  // namespace scyper::generator
