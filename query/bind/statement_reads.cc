#include "bind/statement_reads.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "bind/make.h"
#include "bind/relation_walk.h"
#include "query/catalog.h"

namespace scyper::query {

namespace {

// Calls of routines count whatever they promise: they may have effects.
bool is_volatile_call(const BoundExpr& e) {
  return e.kind == BoundKind::kUserCall || (e.builtin != nullptr && e.builtin->is_volatile);
}

bool sees_changes(const std::vector<OutputColumn>& outputs) {
  return std::any_of(outputs.begin(), outputs.end(),
                     [](const OutputColumn& output) { return sees_changes(*output.expr); });
}

// Its select list is computed row by row, when the rest of the query is done: no DISTINCT or set operations.
bool gives_rows_in_turn(const BoundQuery& query) {
  return !query.from.empty() && !query.distinct && query.distinct_on.empty() && query.set == SetOp::kNone &&
         query.with == nullptr && !query.correlated;
}

// Rows of FROM and WHERE, each of which gives one row: no groups, windows, DISTINCT or set operations.
bool gives_row_for_row(const BoundQuery& query) {
  return gives_rows_in_turn(query) && !query.aggregated && query.groups.empty() && query.windows.empty();
}

template <class Tree>
bool has_volatile_call(Tree* tree) {
  bool found = false;
  RelationWalk walk;
  walk.on_expr = [&](BoundExpr& e) { found |= is_volatile_call(e); };
  walk.walk(tree);
  return found;
}

// A value of a query that groups, or of its windows.
bool is_of_group(const BoundExpr& e) {
  return e.kind == BoundKind::kGroup || e.kind == BoundKind::kAggregate || e.kind == BoundKind::kGrouping ||
         e.kind == BoundKind::kWindow;
}

void add_queries(const BoundQuery* query, std::set<uint32_t>* ids) {
  if (query == nullptr) return;
  ids->insert(query->id);
  add_queries(query->left.get(), ids);
  add_queries(query->right.get(), ids);
}

// Does it read columns, groups or windows of queries around it? Looks itself: a part runs where these are not there.
bool reads_around(BoundQuery* query) {
  std::set<uint32_t> relations, read_relations, queries, read_queries;
  add_queries(query, &queries);
  RelationWalk walk;
  walk.on_relation = [&](Relation& relation) {
    relations.insert(relation.id);
    add_queries(relation.query.get(), &queries);
    if (relation.common == nullptr) return;
    add_queries(relation.common->query.get(), &queries);
    add_queries(relation.common->recursive.get(), &queries);
  };
  walk.on_expr = [&](BoundExpr& e) {
    add_queries(e.query.get(), &queries);
    if (e.kind == BoundKind::kColumn) read_relations.insert(e.relation);
    if (is_of_group(e)) read_queries.insert(e.relation);
  };
  walk.walk(query);
  auto has_all = [](const std::set<uint32_t>& own, const std::set<uint32_t>& read) {
    return std::includes(own.begin(), own.end(), read.begin(), read.end());
  };
  return query->correlated || !has_all(relations, read_relations) || !has_all(queries, read_queries);
}

// Where an expression of a change runs.
enum class Beside : uint8_t {
  kRows,     // while rows are found
  kChanges,  // when some rows have changed already
};

class ReadKeeper {
 public:
  ReadKeeper(BoundProgram* program, const BoundDml& dml, BoundWith* with)
      : program_(program), table_(dml.table), with_(with) {}

  void keep(BoundDml* dml) {
    bool decides_late = false;
    keep_common(dml);
    // INSERT: the plan of its query knows what runs once
    if (dml->kind == DmlKind::kInsert && dml->source != nullptr) keep_inserted(*dml);
    if (dml->source != nullptr && dml->kind != DmlKind::kInsert) {
      for (auto& entry : dml->source->from)
        for (auto& on : entry.on) keep(on.get(), Beside::kRows);
      // a condition that calls a VOLATILE routine decides when the row's turn has come, and its values come behind it
      for (auto& e : dml->source->where) {
        const bool is_late = dml->source->from.size() == 1 && sees_changes(*e);
        decides_late |= is_late;
        keep(e.get(), is_late ? Beside::kChanges : Beside::kRows);
      }
    }
    for (auto& assignment : dml->assignments)
      if (assignment.value != nullptr)
        keep(assignment.value.get(),
             decides_late || sees_changes(*assignment.value) ? Beside::kChanges : Beside::kRows);
    for (auto& output : dml->returning) keep(output.expr.get(), Beside::kChanges);
    if (dml->conflict != nullptr && dml->conflict->update != nullptr) {
      keep_assigned(dml->conflict->update.get(), Beside::kChanges);
      for (auto& e : dml->conflict->update->source->where) keep(e.get(), Beside::kChanges);
      for (auto& output : dml->conflict->update->returning) keep(output.expr.get(), Beside::kChanges);
    }
    if (dml->merge == nullptr) return;
    for (auto& when : dml->merge->whens) {
      for (auto& e : when.condition) keep(e.get(), Beside::kRows);
      for (auto& value : when.values) keep(value.get(), Beside::kRows);
      if (when.action != nullptr) keep_assigned(when.action.get(), Beside::kRows);
    }
  }

 private:
  // INSERT ... SELECT whose select list calls a VOLATILE routine: the routine sees the rows that the statement has
  // inserted by then, and the query sees none of them. So what the query reads, in the order that it asks for, becomes
  // a part, and its select list runs beside the changes.
  void keep_inserted(const BoundDml& dml) {
    BoundQuery* query = dml.source.get();
    bool calls = sees_changes(query->outputs);
    while (gives_row_for_row(*query) && query->from.size() == 1 && query->where.empty() && query->order.empty() &&
           query->limit == nullptr && query->offset == nullptr &&
           query->from[0].relation->kind == RelationKind::kQuery) {
      query = query->from[0].relation->query.get();
      calls |= sees_changes(query->outputs);
    }
    if (!calls || !gives_rows_in_turn(*query)) return;
    if (query->order.empty() && !(dml.triggers == nullptr ? reads_table(query) : reads_any_table(*query))) return;
    auto rows = rows_of_insert(query);
    if (rows == nullptr) return;
    query->from.clear();
    FromEntry entry;
    entry.relation = std::move(rows);
    query->from.push_back(std::move(entry));
    for (auto& output : query->outputs) keep(output.expr.get(), Beside::kChanges);
  }

  // Moves all but the select list into a part. nullptr, and nothing has changed: a VOLATILE routine decides which rows
  // these are.
  std::unique_ptr<Relation> rows_of_insert(BoundQuery* query) {
    auto inner = std::make_unique<BoundQuery>();
    auto swap = [&] {
      std::swap(inner->from, query->from);
      std::swap(inner->joins, query->joins);
      std::swap(inner->where, query->where);
      std::swap(inner->limit, query->limit);
      std::swap(inner->offset, query->offset);
      std::swap(inner->id, query->id);
      std::swap(inner->aggregated, query->aggregated);
      std::swap(inner->groups, query->groups);
      std::swap(inner->grouping_sets, query->grouping_sets);
      std::swap(inner->grouping_calls, query->grouping_calls);
      std::swap(inner->aggregates, query->aggregates);
      std::swap(inner->having, query->having);
      std::swap(inner->windows, query->windows);
    };
    for (const OrderItem& item : query->order) {
      inner->order.push_back(item);
      inner->order.back().output = static_cast<uint32_t>(inner->outputs.size());
      inner->outputs.push_back({"", clone(*query->outputs[item.output].expr), true});
    }
    swap();
    if (sees_changes(*inner)) return swap(), nullptr;
    inner->with_ties = std::exchange(query->with_ties, false);
    query->order.clear();
    std::erase_if(query->outputs, [](const OutputColumn& output) { return output.hidden; });
    std::set<uint32_t> relations;
    for (const FromEntry& entry : inner->from) relations.insert(entry.relation->id);
    const uint32_t id = program_->relation_count++;
    std::map<std::tuple<BoundKind, uint32_t, uint32_t>, uint32_t> places;
    std::vector<OutputColumn> columns;
    RelationWalk walk;
    walk.on_expr = [&](BoundExpr& e) {
      const bool is_column = e.kind == BoundKind::kColumn && relations.count(e.relation) != 0;
      if (!is_column && !(is_of_group(e) && e.relation == inner->id)) return;
      const auto [place, is_new] =
          places.emplace(std::tuple{e.kind, e.relation, e.index}, static_cast<uint32_t>(columns.size()));
      if (is_new) columns.push_back({"", clone(e), false});
      e.kind = BoundKind::kColumn;
      e.args.clear();
      e.relation = id;
      e.index = place->second;
      e.nullable = true;
    };
    for (auto& output : query->outputs) walk.walk(output.expr.get());
    if (columns.empty()) columns.push_back({"", make_constant(make_type(TypeId::kInt4), int_datum(0), -1), false});
    // the columns come first: a part's columns are its visible outputs in their order
    for (OrderItem& item : inner->order) item.output += static_cast<uint32_t>(columns.size());
    for (auto& output : inner->outputs) columns.push_back(std::move(output));
    inner->outputs = std::move(columns);
    auto relation = std::make_unique<Relation>();
    relation->id = id;
    relation->kind = RelationKind::kFunction;
    relation->common = make_part(std::move(inner));
    relation->columns = relation->common->columns;
    return relation;
  }

  void keep_assigned(BoundDml* dml, Beside beside) {
    for (auto& assignment : dml->assignments)
      if (assignment.value != nullptr) keep(assignment.value.get(), beside);
  }

  // Reads nothing of the row at hand.
  static bool is_given(const BoundExpr& e) {
    return e.query == nullptr &&
           (e.kind == BoundKind::kConst || e.kind == BoundKind::kVariable || !e.args.empty() ||
            e.kind == BoundKind::kUserCall || e.kind == BoundKind::kBuiltin) &&
           std::all_of(e.args.begin(), e.args.end(), [](const BoundPtr& arg) { return is_given(*arg); });
  }

  // A stable routine sees the tables as they were before the statement.
  static bool sees_earlier(const BoundExpr& e) {
    return e.kind == BoundKind::kUserCall && e.routine != nullptr && !e.routine->is_volatile &&
           !e.routine->is_immutable && !e.routine->returns_set && is_storable(e.type.id) && is_given(e);
  }

  void compute_before(BoundExpr* call) {
    auto query = std::make_unique<BoundQuery>();
    query->outputs.push_back({call->routine->name, clone(*call), false});
    call->kind = BoundKind::kScalarSubquery;
    call->nullable = true;
    call->index = 0;
    call->args.clear();
    call->routine.reset();
    call->query = rows_of(make_part(std::move(query)));
  }

  void keep(BoundExpr* e, Beside beside) {
    if (beside == Beside::kChanges && sees_earlier(*e)) return compute_before(e);
    for (auto& arg : e->args) keep(arg.get(), beside);
    if (e->query == nullptr || reads_part(e->query.get())) return;
    const bool is_changed = beside == Beside::kChanges && reads_table(e->query.get());
    const bool is_kept = is_changed || has_volatile_call(e->query.get());
    if (is_kept && !reads_around(e->query.get())) {
      e->query = rows_of(make_part(std::move(e->query)));
    } else if (is_changed) {
      read_copies(e->query.get());
    }
  }

  // Queries of WITH that would run for each of their readers, and differ.
  void keep_common(BoundDml* dml) {
    std::vector<Relation*> readers;
    RelationWalk walk;
    walk.on_relation = [&](Relation& relation) {
      const CommonQuery* common = relation.common.get();
      if (relation.kind == RelationKind::kCommon && !relation.computes_common && common->references > 1)
        readers.push_back(&relation);
    };
    walk.walk(dml);
    // those that others read are found behind their readers
    for (auto reader = readers.rbegin(); reader != readers.rend(); ++reader) {
      CommonQuery* common = (*reader)->common.get();
      if (!common->is_part && (common->dml != nullptr || !has_volatile_call(common))) continue;
      if (!common->is_part) with_->copies.push_back((*reader)->common);
      common->is_part = true;
      (*reader)->kind = RelationKind::kFunction;
    }
  }

  static bool reads_part(BoundQuery* query) {
    bool found = false;
    RelationWalk walk;
    walk.on_relation = [&](Relation& r) { found |= r.common != nullptr && r.common->is_part; };
    walk.walk(query);
    return found;
  }

  bool reads_table(BoundQuery* query) const {
    bool found = false;
    RelationWalk walk;
    walk.on_relation = [&](Relation& r) { found |= table_ != nullptr && r.table == table_; };
    walk.walk(query);
    return found;
  }

  void read_copies(BoundQuery* query) {
    RelationWalk walk;
    walk.on_relation = [&](Relation& relation) {
      if (relation.kind != RelationKind::kTable || relation.table != table_) return;
      if (copy_ == nullptr) copy_ = copy_of(relation);
      relation.kind = RelationKind::kFunction;
      relation.common = copy_;
    };
    walk.walk(query);
  }

  // The rows of the table, all columns.
  std::shared_ptr<CommonQuery> copy_of(const Relation& reader) {
    auto relation = std::make_unique<Relation>();
    relation->id = program_->relation_count++;
    relation->kind = RelationKind::kTable;
    relation->table = reader.table;
    relation->columns = reader.columns;
    return make_part(select_all(std::move(relation)));
  }

  std::shared_ptr<CommonQuery> make_part(std::unique_ptr<BoundQuery> query) {
    auto part = std::make_shared<CommonQuery>();
    part->is_part = true;
    for (const auto& output : query->outputs)
      if (!output.hidden) part->columns.push_back({output.name, output.expr->type, output.expr->nullable, false});
    part->query = std::move(query);
    with_->copies.push_back(part);
    return part;
  }

  std::unique_ptr<BoundQuery> rows_of(const std::shared_ptr<CommonQuery>& part) {
    auto relation = std::make_unique<Relation>();
    relation->id = program_->relation_count++;
    relation->kind = RelationKind::kFunction;
    relation->common = part;
    relation->columns = part->columns;
    return select_all(std::move(relation));
  }

  BoundProgram* const program_;
  const std::shared_ptr<storage::Table> table_;  // null: a view
  BoundWith* const with_;
  std::shared_ptr<CommonQuery> copy_;
};

}  // namespace

bool is_independent(const BoundQuery& query) {
  return !reads_around(const_cast<BoundQuery*>(&query));  // which changes nothing
}

bool computes_once(const BoundQuery& query) {
  BoundQuery* walked = const_cast<BoundQuery*>(&query);  // which changes nothing
  return has_volatile_call(walked) && !reads_around(walked);
}

void keep_reads(BoundProgram* program, BoundDml* dml, BoundWith* with) { ReadKeeper(program, *dml, with).keep(dml); }

std::shared_ptr<const BoundWith> keep_reads(BoundProgram* program, BoundDml* dml) {
  auto with = std::make_shared<BoundWith>();
  keep_reads(program, dml, with.get());
  return with->copies.empty() ? nullptr : with;
}

}  // namespace scyper::query
