#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <vector>

#include "bind/bound.h"
#include "plan/access_path.h"

// The logical and physical algebra of one query: a tree of operators between the binder and the code generator. Columns
// are named as in bound expressions, (relation, index); operators that compute define a relation of their own, so every
// expression above refers to them by kColumn. A relation is defined by one node of a plan.
namespace scyper::query {

constexpr uint32_t kNoRelation = ~0u;

struct ColumnId {
  uint32_t relation = 0;
  uint32_t index = 0;
  friend auto operator<=>(const ColumnId&, const ColumnId&) = default;
};

struct PlanColumn {
  ColumnId id;
  SqlType type;
  bool nullable = true;
};

enum class PlanKind : uint8_t {
  kOneRow,     // one row without columns
  kGet,        // source: a table; conjuncts
  kFilter,     // conjuncts
  kMap,        // (relation, i) = exprs[i]
  kInner,      // inner join of any number of inputs by conjuncts; the optimiser makes kJoin of it
  kJoin,       // inputs[0] join inputs[1] by conjuncts
  kGroup,      // keys: exprs (relation, i); aggregates (relation, keys + i). No aggregates: DISTINCT
  kSort,       // order, then offset and limit (any of them may be missing)
  kSetOp,      // (relation, i) from outputs[input][i]
  kValues,     // rows of expressions, for each row of the input
  kFunction,   // generate_series, unnest: for each row of the input
  kShared,     // rows of a plan that is computed once
  kUnique,     // sorted input: the first row of each run of equal exprs
  kRecursive,  // (relation, i) from outputs[0][i] of inputs[0], then again and again outputs[1][i] of inputs[1]
  kWorking,    // in inputs[1] of a kRecursive: the rows of the round before
  kWindow,     // window calls (relation, i) over one partition (exprs) and order
  kSubquery,   // a query that runs anew for each row of the input (what unnesting leaves)
};

enum class JoinKind : uint8_t {
  kInner,
  kLeft,  // keeps all rows of inputs[0]
  kFull,
  kSemi,    // rows of inputs[0] with a partner
  kAnti,    // without one
  kMark,    // all rows of inputs[0]; (relation, 0) = is there a partner? Three-valued by `doubtful`
  kSingle,  // as kLeft, but a second partner is an error (21000)
};

struct SortTerm {
  BoundPtr expr;
  bool descending = false;
  bool nulls_first = false;
};

struct PlanNode;
using PlanPtr = std::unique_ptr<PlanNode>;

// A plan that several kShared nodes read.
struct SharedPlan {
  uint32_t number = 0;
  bool is_domain = false;  // of unnesting: its readers name the plan's own columns
  PlanPtr plan;
  std::vector<PlanColumn> columns;  // kept, by prune()
  double rows = 0;
};

// How a join runs.
enum class JoinMethod : uint8_t {
  kHash,         // inputs[1] in a hash table, inputs[0] probes
  kHashSwapped,  // inner and semi, anti: inputs[0] in the table, inputs[1] probes
  kLoop,         // inputs[1] in a buffer, visited for each row of inputs[0]
  kLookup,       // inputs[1] is a kGet with an access path that needs inputs[0]
};

struct JoinKey {
  BoundPtr left, right;    // over inputs[0] and inputs[1]
  SqlType type;            // both are cast to it
  bool null_safe = false;  // IS NOT DISTINCT FROM
};

// A scan leaves out rows whose keys are not among those of a join's table (PlanNode::filter).
struct ScanFilter {
  uint32_t number = 0;
  std::vector<BoundPtr> keys;  // over the scan's columns
  std::vector<SqlType> types;  // they are cast to these
  bool integers = false;       // PlanNode::filters_integers
};

// A comparison without which a node gives no row: no row can pass it where the least and largest values say so.
struct BoundsTest {
  BuiltinOp op = BuiltinOp::kEqual;
  BoundPtr left;   // a column of a table
  BoundPtr right;  // another one, or a constant
  const Relation* left_source = nullptr;
  const Relation* right_source = nullptr;  // of a constant: none
};

struct PlanNode {
  PlanKind kind = PlanKind::kOneRow;
  uint32_t relation = kNoRelation;
  std::vector<PlanPtr> inputs;
  const Relation* source = nullptr;  // kGet, kValues, kFunction: owned by the bound query
  std::unique_ptr<Relation> owned;   // kSubquery
  std::vector<BoundPtr> conjuncts;
  std::vector<BoundPtr> doubtful;  // kMark: further conjuncts, whose NULL makes the mark NULL
  std::vector<BoundPtr> exprs;
  std::vector<std::vector<BoundPtr>> outputs;  // kSetOp by input, kValues by row
  std::vector<Aggregate> aggregates;
  std::vector<bool> hashed;  // kGroup, by key: identifies the group; the other keys depend on those
  std::vector<SortTerm> order;
  std::vector<WindowCall> windows;  // kWindow; their partition and order are the node's
  bool is_sorted = false;           // kWindow: its input comes as it needs it
  BoundPtr limit, offset;
  JoinKind join = JoinKind::kInner;
  // Claims that later passes must keep true; check_plan proves them again.
  bool has_one_partner = false;  // kJoin, left: a row of inputs[0] has no second partner
  bool is_distinct = false;      // kMap that was a DISTINCT: no two rows agree in all of exprs
  SetOp set = SetOp::kNone;
  bool set_all = false;
  std::shared_ptr<SharedPlan> shared;
  std::vector<PlanColumn> columns;  // kShared, parallel to what it reads: (relation, i), or the original names when
                                    // there is no relation

  // physical, by physical.cc
  double rows = -1;  // estimate
  double cost = 0;
  AccessPath path;  // kGet
  JoinMethod method = JoinMethod::kHash;
  std::vector<JoinKey> keys;
  bool is_direct = false;           // kHash: no two rows of inputs[1] have one key, few integers: an array
  uint32_t filter = 0;              // kJoin: number of the filter that its table gives to scans; 0: none
  bool filters_integers = false;    // by the keys themselves, not by their hash
  std::vector<ScanFilter> filters;  // kGet: rows pass all
  std::vector<BoundsTest> tests;    // does not run where one of them says that nothing can come
  bool is_group_join = false;       // kGroup: each row of its join's array is a group
  int64_t places_from = 0;          // kGroup: most keys, integers, lie in the `places` from here on (0: not known)
  int64_t places = 0;
  std::vector<PlanColumn> needed;  // what is read above this node
};

// A planned query. Its outputs are expressions over the root's columns, hidden ones included.
struct Plan {
  PlanPtr root;
  std::vector<BoundPtr> outputs;
  std::vector<std::shared_ptr<SharedPlan>> shared;  // in the order in which they must be computed
  std::vector<BoundPtr> kept;                       // own relations that the plan names
};

PlanPtr make_node(PlanKind kind);
PlanPtr make_join(JoinKind kind, PlanPtr left, PlanPtr right);
PlanPtr make_filter(PlanPtr input, std::vector<BoundPtr> conjuncts);

// Relations whose columns a node offers to those above it.
void collect_produced(const PlanNode& node, std::set<uint32_t>* relations);
std::set<uint32_t> produced_by(const PlanNode& node);
// Columns that the node's own expressions use (not those of its inputs).
void visit_own(const PlanNode& node, const std::function<void(const BoundExpr&)>& f);
void for_each_own(PlanNode* node, const std::function<void(BoundPtr&)>& f);  // whole expressions
// Relations that a subtree refers to and does not define.
std::set<uint32_t> free_relations(const PlanNode& node);
// Could somebody notice that the subtree does not run?
bool has_effects(const PlanNode& node);

}  // namespace scyper::query
