#pragma once

#include <functional>
#include <set>
#include <vector>

#include "plan/plan.h"

// Work on bound expressions that plans share.
namespace scyper::query {

// Visits expressions top down, those of subqueries included; what f replaces (true) is not descended into.
using Rewriter = std::function<bool(BoundPtr*)>;
void rewrite(BoundPtr* expr, const Rewriter& f);
void rewrite(BoundQuery* query, const Rewriter& f);

// The expression within the casts around it.
const BoundExpr& without_casts(const BoundExpr& expr);
bool has_subquery(const BoundExpr& expr);
// Contains a function whose result changes from call to call, or that may do anything. Subqueries that run once for the
// whole statement do not count.
bool is_volatile(const BoundExpr& expr);
std::set<uint32_t> relations_of(const BoundExpr& expr);
bool is_subset(const std::set<uint32_t>& a, const std::set<uint32_t>& b);
bool intersects(const std::set<uint32_t>& a, const std::set<uint32_t>& b);

void split_and(BoundPtr expr, std::vector<BoundPtr>* conjuncts);
BoundPtr make_and(std::vector<BoundPtr> conjuncts);
BoundPtr make_or(std::vector<BoundPtr> terms);
BoundPtr make_not(BoundPtr expr);
BoundPtr make_coalesce_zero(BoundPtr expr);
// a = b, both of one type; nullptr when there is no such operator. null_safe: IS NOT DISTINCT FROM.
BoundPtr make_equal(BoundPtr a, BoundPtr b);
BoundPtr make_same(BoundPtr a, BoundPtr b);
std::vector<const BoundExpr*> views_of(const std::vector<BoundPtr>& exprs);
BoundPtr make_reference(const ColumnId& column, const SqlType& type, bool nullable);
// An equality of two expressions: `=`, or NOT (a IS DISTINCT FROM b).
bool is_equality(const BoundExpr& expr, const BoundExpr** a, const BoundExpr** b, bool* null_safe);
// Makes NULL of strict calls with a constant NULL among their arguments, before what stands beside it is computed.
void fold_nulls(BoundPtr* expr);
// Is the expression NULL whenever a column of `relations` in it is NULL (and has it one)?
bool is_strict(const BoundExpr& expr, const std::set<uint32_t>& relations);
// May the expression be anything but NULL or false when a column of `relations` is NULL?
bool rejects_null(const BoundExpr& expr, const std::set<uint32_t>& relations);

// Adds what follows from conjuncts: common factors out of OR, restrictions of single relations implied by an OR,
// equalities and comparisons with constants by transitivity.
void derive_conjuncts(std::vector<BoundPtr>* conjuncts);

}  // namespace scyper::query
