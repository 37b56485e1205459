#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "bind/bound.h"

namespace scyper::query {

constexpr size_t kNoConjunct = ~size_t{0};

// One comparison of a column with a value that is known before the table is read.
struct KeyPart {
  uint32_t column = 0;
  BuiltinOp op = BuiltinOp::kEqual;  // column op value
  const BoundExpr* value = nullptr;
  size_t conjunct = 0;  // that says it, kNoConjunct = it follows from them
  // Of a LIKE, which says more: `value`, and what texts are between, from what they begin with on.
  std::shared_ptr<const BoundExpr> made;
};

enum class AccessKind : uint8_t { kFullScan, kPoint, kRange };

// How a table is read: chosen when the statement is compiled.
struct AccessPath {
  AccessKind kind = AccessKind::kFullScan;
  size_t index = 0;             // position in TableSchema::indexes
  std::vector<KeyPart> equal;   // leading columns of the index, in order
  std::vector<KeyPart> bounds;  // of the next column: the lower one first
  bool has_from = false;
  bool has_to = false;
  bool backward = false;
  bool ordered = false;              // delivers the order asked for
  const BoundExpr* route = nullptr;  // value of the partition column, nullptr = all partitions
  int score = 0;
};

void visit(const BoundExpr& expr, const std::function<void(const BoundExpr&)>& f);
void visit(const BoundQuery& query, const std::function<void(const BoundExpr&)>& f);
// Relations that an expression or query refers to but does not define itself (those of its subqueries are its own).
void collect_relations(const BoundExpr& expr, std::set<uint32_t>* relations);
void collect_relations(const BoundQuery& query, std::set<uint32_t>* relations);
// Columns of one relation that an expression or query uses.
void collect_columns(const BoundExpr& expr, uint32_t relation, std::set<uint32_t>* columns);
void collect_columns(const BoundQuery& query, uint32_t relation, std::set<uint32_t>* columns);
// The comparison with its sides exchanged: a < b is b > a.
BuiltinOp mirrored(BuiltinOp op);
// A cast of an integer to a larger one: it keeps the value and cannot fail.
bool widens_integer(const BoundExpr& expr);
// The best way into `relation` when the relations in `bound` are known. order: columns of this relation that the result
// should be ordered by (all ascending, NULLs last, or all descending, NULLs first), empty = any order.
struct WantedOrder {
  std::vector<uint32_t> columns;
  bool descending = false;
};
// Do the conjuncts, where they are TRUE, make those of a partial index's predicate so? `which`: one of them that is a
// conjunct of the predicate, or kNoConjunct.
bool implies(const std::vector<const BoundExpr*>& conjuncts, const std::vector<BoundPtr>& predicate, size_t* which);
enum class PrefixUse : uint8_t {
  kNone,    // LIKE is left to scans
  kRanges,  // LIKE 'abc%' is a range of an index: for who compares it with a scan
};
AccessPath choose_access(const Relation& relation, const std::vector<const BoundExpr*>& conjuncts,
                         const std::set<uint32_t>& bound, const WantedOrder& order,
                         PrefixUse prefixes = PrefixUse::kNone);
// Estimated rows of the table that the equalities of the path leave. nullopt: the table has no statistics yet.
std::optional<double> rows_of_equal(const AccessPath& path, const storage::Table& table);

}  // namespace scyper::query
