#pragma once

#include <map>
#include <memory>
#include <set>
#include <vector>

#include "plan/plan.h"
#include "plan/unnest.h"

namespace scyper::query {

// Turns a bound query into algebra, subqueries into joins. What it cannot unnest stays an expression that runs where it
// stands.
class PlanBuilder {
 public:
  // outer: relations whose current rows are known when the plan runs. Its own have other names.
  PlanBuilder(const std::set<uint32_t>& outer, uint32_t* next_relation)
      : next_relation_(next_relation), built_(outer) {}

  struct Built {
    PlanPtr root;
    std::vector<BoundPtr> outputs;  // over root's columns, hidden ones included
    bool one_row = false;           // exactly one, always
  };
  Built build(const BoundQuery& query);
  // The query, or a copy where the plan has relations of its names already.
  const BoundQuery& own_copy(const BoundQuery& query);
  // The shared plans that a tree reads, each behind those that it reads itself. Attempts at subqueries that could not
  // be unnested leave others behind.
  std::vector<std::shared_ptr<SharedPlan>> take_shared(const PlanNode& root);
  // Copies of subqueries whose relations the plan names.
  std::vector<BoundPtr> take_kept() { return std::move(kept_); }

 private:
  Built build_plain(const BoundQuery& query);
  Built build_set(const BoundQuery& query);
  PlanPtr build_from(const BoundQuery& query);
  PlanPtr build_relation(const Relation& relation);
  PlanPtr build_common(const Relation& relation);
  PlanPtr build_tree(const BoundQuery& query, const JoinTree& tree);
  PlanPtr build_grouping_sets(const BoundQuery& query, PlanPtr group);
  void add_inner(PlanPtr* tree, PlanPtr input);
  void add_lateral(PlanPtr* tree, PlanPtr input, const Relation& relation, JoinKind kind, std::vector<BoundPtr> on);
  void add_dependent(const BoundQuery& query, const JoinTree& item, PlanPtr* tree, PlanPtr input, JoinKind kind,
                     std::vector<BoundPtr> on);
  void add_group(const BoundQuery& query, PlanPtr* tree);
  void add_windows(const BoundQuery& query, PlanPtr* tree);
  void add_ties(const BoundQuery& query, Built* built);
  void deduplicate_first(PlanNode* group);
  void finish(const BoundQuery& query, Built* built);
  void name_outputs(Built* built);
  std::unique_ptr<Relation> as_query(const Relation& relation);
  std::unique_ptr<Relation> as_query(const BoundQuery& query, const JoinTree& item,
                                     std::map<uint32_t, uint32_t>* offsets);
  void add_dependent_join(const BoundQuery& query, const JoinTree& item, PlanPtr* tree, JoinKind kind,
                          std::vector<BoundPtr> on);
  void add_subquery(PlanPtr* tree, std::unique_ptr<Relation> relation, JoinKind kind, std::vector<BoundPtr> on);
  static Aggregate count_rows();

  // A copy with references to groups and aggregates replaced.
  BoundPtr resolve(const BoundExpr& expr) const;
  std::vector<BoundPtr> resolve_all(const std::vector<BoundPtr>& exprs) const;
  // Adds a conjunct of WHERE, HAVING or ON, subqueries in it as joins.
  void add_condition(PlanPtr* tree, BoundPtr conjunct);
  // When an expression is computed: AND and OR may not need their later arguments, CASE and COALESCE choose branches.
  enum class Asked : uint8_t { kAlways, kPerhaps, kInBranch };
  // Replaces subqueries of an expression by columns of joins that it puts on the tree.
  void place_subqueries(BoundPtr* expr, PlanPtr* tree, Asked asked);
  bool join_subquery(PlanPtr* tree, const BoundExpr& subquery, JoinKind kind, BoundPtr* mark);
  bool join_null_aware(PlanPtr* tree, Built* built, const BoundExpr& subquery, BoundPtr* mark);
  std::shared_ptr<SharedPlan> share_values(PlanPtr root, BoundPtr value);
  PlanPtr read_values(const std::shared_ptr<SharedPlan>& shared);
  // Gives the relations of a copied query names of their own where the plan has them already.
  bool rename_copy(BoundQuery* query);
  // A subquery stays where it is: copies of it that come later get other names.
  void note_relations(BoundQuery* query);
  BoundPtr attach_scalar(PlanPtr* tree, Built built);
  BoundPtr attach_static(PlanPtr* tree, Built built);
  bool attach(PlanPtr* tree, PlanPtr node, JoinKind kind, std::vector<BoundPtr> conjuncts, PlanNode** join);
  uint32_t new_relation() { return (*next_relation_)++; }

  uint32_t* next_relation_;
  std::vector<std::shared_ptr<SharedPlan>> shared_;
  std::vector<BoundPtr> kept_;
  struct CommonPlan {
    std::shared_ptr<const CommonQuery> query;  // kept: another one could have the address of an attempt's copy
    std::shared_ptr<SharedPlan> shared;
    uint32_t relation = 0;
    bool is_open = false;  // its recursive term is being built
  };
  std::map<const CommonQuery*, CommonPlan> commons_;
  std::set<uint32_t> built_;  // relations, also of attempts
  struct GroupNames {
    uint32_t relation;
    size_t keys;
    size_t aggregates;
    bool has_sets;
  };
  std::map<uint32_t, GroupNames> groups_;              // by query id
  std::map<uint32_t, std::vector<ColumnId>> windows_;  // by query id: columns of its window calls
};

}  // namespace scyper::query
