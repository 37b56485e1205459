#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "bind/bound.h"
#include "query/catalog.h"
#include "storage/hot_views.h"

// Hot data views (docs/tiering.md) as frozen chunks are asked for them, by the conditions that scans have.
namespace scyper::query {

// Adds what a conjunct of a view's predicate says. False: something else than comparisons of one column, or several of
// which one holds, with constants, or what chunks cannot be asked.
bool add_hot_condition(const BoundExpr& conjunct, const storage::TableSchema& schema, storage::HotView* view);

// The definitions of a table's views, in their order; empty: there are none.
std::string hot_views_text(const Catalog& catalog, TableId table);
// Those views, which were checked when they were defined: one that does not fit the table is left out. Null: none.
std::shared_ptr<const storage::HotViews> make_hot_views(const Catalog& catalog,
                                                        const std::shared_ptr<storage::Table>& table,
                                                        std::string made_of);
StatusOr<storage::HotView> make_hot_view(const Catalog& catalog, const std::shared_ptr<storage::Table>& table,
                                         const std::string& name, const HotDataView& definition);

// A view's conditions as SQL.
std::string show_conditions(const storage::TableSchema& schema, std::span<const storage::ColumnCondition> conditions);

// For EXPLAIN: the view whose rows a scan with these conjuncts keeps to, or why there is none; empty: the table has
// none.
std::string show_hot_view(const Relation& relation, const std::vector<const BoundExpr*>& conjuncts);

}  // namespace scyper::query
