#include <algorithm>

#include "base/bounded_work.h"
#include "base/internal_error.h"
#include "base/invariant.h"
#include "bind/shape.h"
#include "bind/statement_reads.h"
#include "codegen/generator.h"
#include "plan/expressions.h"
#include "plan/planner.h"
#include "plan/rounds.h"
#include "runtime/spill.h"
#include "runtime/tuple_sort.h"

namespace scyper::query {

using ir::Op;
using ir::Type;

namespace {
bool reads(const PlanNode& node, const SharedPlan& shared) {
  if (node.kind == PlanKind::kShared) return node.shared.get() == &shared;
  return node.kind != PlanKind::kRecursive &&
         std::any_of(node.inputs.begin(), node.inputs.end(), [&](const PlanPtr& in) { return reads(*in, shared); });
}
// A recursive query that is read once, and not in each round of another: its rows need not be kept.
bool streams(const SharedPlan& shared, long uses, const PlanNode& root) {
  return shared.plan->kind == PlanKind::kRecursive && uses == 2 && reads(root, shared);
}
}  // namespace

namespace {
bool reads_rows(const PlanNode& node) {
  return node.kind == PlanKind::kGet ||
         std::any_of(node.inputs.begin(), node.inputs.end(), [](const PlanPtr& in) { return reads_rows(*in); });
}
// Of a table: their order is not the same everywhere. That of functions and VALUES is.
bool reads_rows(const Plan& plan) {
  return reads_rows(*plan.root) || std::any_of(plan.shared.begin(), plan.shared.end(),
                                               [](const auto& shared) { return reads_rows(*shared->plan); });
}
void check_shapes(const PlanNode& node) {
  check_stack();
  poll_work();
  visit_own(node, check_shape);
  for (const auto& input : node.inputs) {
    INVARIANT(input != nullptr);
    check_shapes(*input);
  }
}

void check_shapes(const Plan& plan) {
  INVARIANT(plan.root != nullptr);
  check_shapes(*plan.root);
  for (const auto& shared : plan.shared)
    if (shared->plan != nullptr) check_shapes(*shared->plan);
}
}  // namespace

void Generator::gen_planned(const BoundQuery& query, const Consumer& consume) {
  if (next_relation_ < program_.relation_count) next_relation_ = program_.relation_count;
  Plan plan = in_phase(Phase::kPlanning, [&] {
    Plan made = make_plan(query, known_relations(), resources_.filter_from_ns, &next_relation_);
    check_shapes(made);
    return made;
  });
  resources_.footprint.is_planned |= reads_rows(plan);
  resources_.work_ns += plan.root->cost;
  for (const auto& shared : plan.shared) resources_.work_ns += shared->plan->cost;
  auto saved = sources_;
  shared_run_ = can_share(query, plan);
  resources_.can_share |= shared_run_;
  const std::vector<uint32_t> once = open_once(plan);
  for (const auto& shared : plan.shared)
    if (shared.use_count() > 1 && !streams(*shared, shared.use_count(), *plan.root) && !reads_round(*shared->plan))
      gen_shared(*shared);
  Block done = b_.new_block();
  gen_root(plan, query, consume);
  shared_run_ = false;
  if (!b_.terminated()) b_.jump(done);
  b_.set_block(done);
  note_plan(plan);
  close_once(once);
  // in place: whoever generates around this query may hold a reference to a source
  for (auto it = sources_.begin(); it != sources_.end();)
    it = saved.count(it->first) != 0 ? std::next(it) : sources_.erase(it);
  for (auto& [id, source] : saved) sources_[id] = std::move(source);
}

// Conditions that call routines come behind the others, as PostgreSQL orders conditions by their costs.
void Generator::gen_conjuncts(const std::vector<BoundPtr>& conjuncts, Block reject) {
  for (const bool calls : {false, true})
    for (const auto& e : conjuncts) {
      if (calls_routine(*e) != calls) continue;
      Block accept = b_.new_block();
      gen_condition(*e, accept, reject);
      b_.set_block(accept);
    }
}

namespace {
// The columns that a reader of a shared plan sees, under its names.
template <class Columns>
Columns own_names(const PlanNode& reader, const Columns& columns) {
  Columns mine;
  for (size_t i = 0; i < reader.columns.size(); i++)
    for (const auto& column : columns)
      if (column.id == reader.columns[i].id) {
        mine.push_back(column);
        if (reader.relation != kNoRelation) mine.back().id = {reader.relation, static_cast<uint32_t>(i)};
      }
  return mine;
}
}  // namespace

void Generator::gen_operator(const PlanNode& node, const Body& body) {
  switch (node.kind) {
    case PlanKind::kOneRow:
      return gen_by_one(body);
    case PlanKind::kGet:
      return gen_get(node, body);
    case PlanKind::kFilter:
      return gen_node(*node.inputs[0], [&] {
        Block next = b_.new_block();
        gen_conjuncts(node.conjuncts, next);
        body();
        if (!b_.terminated()) b_.jump(next);
        b_.set_block(next);
      });
    case PlanKind::kMap:
      return gen_map(node, body);
    case PlanKind::kJoin:
      return gen_join(node, body);
    case PlanKind::kGroup:
      return gen_group(node, body);
    case PlanKind::kSort:
      return node.order.empty() && !shared_run_ ? gen_limit(node, body) : gen_sort(node, body);
    case PlanKind::kSetOp:
      return node.set == SetOp::kUnion && node.set_all ? gen_append(node, body) : gen_set(node, body);
    case PlanKind::kValues:
      return gen_values_node(node, body);
    case PlanKind::kFunction:
      return gen_function(node, body);
    case PlanKind::kShared:
      return gen_shared(node, body);
    case PlanKind::kSubquery:
      return gen_subquery_node(node, body);
    case PlanKind::kUnique:
      return gen_unique(node, body);
    case PlanKind::kWindow:
      return gen_window(node, body);
    case PlanKind::kRecursive:
      return gen_recursive(node, body);
    case PlanKind::kWorking: {
      const WorkingTable table = found_in(working_tables_, node.shared->number);
      StoredColumns columns;
      for (uint32_t i = 0; i < table.fields.size(); i++) columns.push_back({{node.relation, i}, table.fields[i]});
      return for_each_tuple(table.store, table.bytes, [&](Reg tuple) {
        publish(columns, tuple);
        body();
      });
    }
    case PlanKind::kInner:
      INVARIANT(false);
  }
}

void Generator::gen_shared(const PlanNode& node, const Body& body) {
  if (shared_stores_.count(node.shared->number) == 0)  // streams
    return gen_node(*node.shared->plan, [&] {
      RowSource source;
      for (const auto& column : node.columns)
        source.values.push_back(load_column(sources_[column.id.relation], column.id.index));
      if (source.values.empty()) source.values.resize(1);
      if (node.relation != kNoRelation) sources_[node.relation] = std::move(source);
      body();
    });
  const auto& [store, columns] = found_in(shared_stores_, node.shared->number);
  StoredColumns mine = own_names(node, columns);
  TupleLayout layout(0);
  for (const auto& column : columns) layout.add(column.field.type, column.field.null_offset >= 0);
  int64_t bytes = std::max<int64_t>(8, layout.bytes());
  for_each_tuple(
      store, bytes,
      [&](Reg tuple) {
        publish(mine, tuple);
        body();
      },
      true);
}

void Generator::gen_get(const PlanNode& node, const Body& body) {
  sources_[node.relation] = RowSource{};
  sources_[node.relation].relation = node.source;
  const WholeChunks* whole = whole_chunks_ != nullptr && whole_chunks_->scan == &node ? whole_chunks_ : nullptr;
  auto scan = [&] {
    gen_table_scan(*node.source, node.path, {views_of(node.conjuncts), &node.filters, whole}, [&] {
      Block next = b_.new_block();
      gen_conjuncts(node.conjuncts, next);
      gen_join_filters(node, next);
      body();
      if (!b_.terminated()) b_.jump(next);
      b_.set_block(next);
    });
  };
  if (node.path.kind != AccessKind::kFullScan) return gen_by_one(scan);
  dispensed_ = shared_run_;
  scan();
}

namespace {
// Would somebody notice that it does not run, though nobody reads its value?
bool has_side_effects(const BoundExpr& expr) {
  bool found = false;
  visit(expr, [&](const BoundExpr& e) {
    found |= e.kind == BoundKind::kUserCall && e.routine != nullptr && e.routine->is_volatile;
    found |= e.builtin != nullptr && e.builtin->writes;
  });
  return found;
}
}  // namespace

void Generator::gen_map(const PlanNode& node, const Body& body) {
  std::vector<bool> runs;
  for (const auto& e : node.exprs) runs.push_back(has_side_effects(*e));
  for (const auto& column : node.needed)
    if (column.id.relation == node.relation) runs[column.id.index] = true;
  gen_node(*node.inputs[0], [&] {
    RowSource source;
    source.values.resize(node.exprs.size());
    for (size_t i = 0; i < runs.size(); i++)
      if (runs[i]) source.values[i] = gen(*node.exprs[i]);
    if (source.values.empty()) source.values.resize(1);
    sources_[node.relation] = std::move(source);
    body();
  });
}

void Generator::gen_values_node(const PlanNode& node, const Body& body) {
  // rows go through a buffer, so that what follows is generated once
  TupleLayout layout(0);
  StoredColumns columns = lay_out(node.needed, {node.relation}, true, &layout);
  int64_t bytes = std::max<int64_t>(8, layout.bytes());
  check(b_.call(k_rt_tuples_create, {context(), constant(Type::kI64, bytes)}));
  Reg store = b_.load(Type::kPtr, context(), kContextValue);
  gen_node(*node.inputs[0], [&] {
    if (node.outputs.size() == 1) {
      RowSource source;
      for (const auto& value : node.outputs[0]) source.values.push_back(gen(*value));
      sources_[node.relation] = std::move(source);
      return body();
    }
    b_.call(k_rt_tuples_clear, {store});
    for (const auto& row : node.outputs) {
      Reg tuple = append_tuple(store, bytes);
      for (uint32_t i = 0; i < row.size(); i++) {  // in their order: they may draw numbers
        const auto column = std::find_if(columns.begin(), columns.end(),
                                         [&](const StoredColumn& stored) { return stored.id.index == i; });
        if (column == columns.end() && !has_side_effects(*row[i])) continue;
        Value value = gen(*row[i]);
        if (column != columns.end()) store_field(tuple, column->field, cast_stored(value, column->field.type));
      }
    }
    for_each_tuple(store, bytes, [&](Reg tuple) {
      publish(columns, tuple);
      body();
    });
  });
}

void Generator::gen_function(const PlanNode& node, const Body& body) {
  gen_node(*node.inputs[0], [&] {
    Relation call;  // with the arguments as the plan has them
    call.id = node.relation;
    call.kind = node.source->kind;
    call.columns = node.source->columns;
    call.common = node.source->common;
    call.foreign = node.source->foreign;
    for (const auto& e : node.exprs) call.arguments.push_back(clone(*e));
    sources_[node.relation] = RowSource{};
    if (call.kind == RelationKind::kFunction)
      gen_routine_rows(call, body);
    else if (call.kind == RelationKind::kSeries)
      gen_series(call, body);
    else if (call.kind == RelationKind::kFeed)
      gen_feed(call, body);
    else if (call.kind == RelationKind::kForeign)
      gen_foreign(call, body);
    else
      gen_unnest(call, body);
  });
}

// A query that runs anew for each row. Its rows go through a buffer, so that the row of NULLs of a left join needs no
// code of its own.
void Generator::gen_subquery_node(const PlanNode& node, const Body& body) {
  TupleLayout layout(0);
  StoredColumns columns;
  const Relation& relation = *node.owned;
  for (uint32_t i = 0; i < relation.columns.size(); i++)
    columns.push_back({{node.relation, i}, layout.add(relation.columns[i].type, true)});
  int64_t bytes = std::max<int64_t>(8, layout.bytes());
  check(b_.call(k_rt_tuples_create, {context(), constant(Type::kI64, bytes)}));
  Reg store = b_.load(Type::kPtr, context(), kContextValue);
  gen_node(*node.inputs[0], [&] {
    b_.call(k_rt_tuples_clear, {store});
    Reg found = b_.new_variable(Type::kI8);
    b_.assign(found, constant(Type::kI8, 0));
    gen_query(*relation.query, [&](const Values& values) {
      RowSource source;
      source.values = values;
      sources_[node.relation] = std::move(source);
      Block next = b_.new_block();
      gen_conjuncts(node.conjuncts, next);
      b_.assign(found, constant(Type::kI8, 1));
      Reg tuple = append_tuple(store, bytes);
      for (size_t i = 0; i < values.size(); i++) store_field(tuple, columns[i].field, stabilise(values[i]));
      b_.jump(next);
      b_.set_block(next);
    });
    if (node.join == JoinKind::kLeft) {
      Block none = b_.new_block(), some = b_.new_block();
      b_.branch(found, some, none);
      b_.set_block(none);
      Reg tuple = append_tuple(store, bytes);
      for (const auto& column : columns) store_field(tuple, column.field, null_value(column.field.type));
      b_.jump(some);
      b_.set_block(some);
    }
    for_each_tuple(store, bytes, [&](Reg tuple) {
      publish(columns, tuple);
      body();
    });
  });
}

void Generator::gen_shared(const SharedPlan& shared) {
  TupleLayout layout(0);
  StoredColumns columns;
  for (const auto& column : shared.columns) columns.push_back({column.id, layout.add(column.type, column.nullable)});
  int64_t bytes = std::max<int64_t>(8, layout.bytes());
  check(b_.call(k_rt_tuples_create, {context(), constant(Type::kI64, bytes)}));
  Reg store = b_.load(Type::kPtr, context(), kContextValue);
  gen_node(*shared.plan, [&] { store_columns(columns, append_tuple(store, bytes)); });
  store = gen_gather(store, true);
  shared_stores_[shared.number] = {store, columns};
}

Generator::StoredColumns Generator::lay_out(const std::vector<PlanColumn>& columns, const std::set<uint32_t>& relations,
                                            bool nullable, TupleLayout* layout) {
  StoredColumns stored;
  for (const auto& column : columns)
    if (relations.count(column.id.relation) != 0)
      stored.push_back({column.id, layout->add(column.type, nullable || column.nullable)});
  return stored;
}

// A tuple in which all columns are NULL, for outer joins.
ir::Reg Generator::null_tuple(const StoredColumns& columns, int64_t bytes) {
  std::string image(static_cast<size_t>(bytes), '\0');
  for (const auto& column : columns) image[static_cast<size_t>(column.field.null_offset)] = 1;
  return b_.data(image);
}

// --- sorting and limits ---

ir::Reg Generator::gen_bound(const BoundExpr* expr, int64_t otherwise, RuntimeError negative) {
  if (expr == nullptr) return constant(Type::kI64, otherwise);
  Value value = gen(*expr);
  Reg given = value.a;
  if (value.null != ir::kNoReg) given = b_.select(value.null, constant(Type::kI64, otherwise), given);
  Reg result = b_.new_variable(Type::kI64);
  b_.assign(result, given);
  Block next = b_.new_block();
  Reg low = b_.compare(Op::kLt, result, constant(Type::kI64, 0));
  if (otherwise < 0 && value.null != ir::kNoReg) low = b_.binary(Op::kAnd, low, b_.logical_not(value.null));
  b_.branch(low, raise_block(negative), next, 2);
  b_.set_block(next);
  return b_.binary(Op::kAdd, result, constant(Type::kI64, 0));
}

void Generator::gen_limit(const PlanNode& node, const Body& body) {
  Reg skip = b_.new_variable(Type::kI64), left = b_.new_variable(Type::kI64);
  b_.assign(skip, gen_bound(node.offset.get(), 0, RuntimeError::kNegativeOffset));
  b_.assign(left, gen_bound(node.limit.get(), -1, RuntimeError::kNegativeLimit));
  Block done = b_.new_block(), start = b_.new_block();
  Reg zero = constant(Type::kI64, 0), one = constant(Type::kI64, 1);
  b_.branch(b_.compare(Op::kEq, left, zero), done, start, 2);
  b_.set_block(start);
  gen_node(*node.inputs[0], [&] {
    Block next = b_.new_block(), pass = b_.new_block(), skipped = b_.new_block();
    b_.branch(b_.compare(Op::kGt, skip, zero), skipped, pass);
    b_.set_block(skipped);
    b_.assign(skip, b_.binary(Op::kSub, skip, one));
    b_.jump(next);
    b_.set_block(pass);
    body();
    if (!b_.terminated()) {
      b_.assign(left, b_.binary(Op::kSub, left, one));
      b_.branch(b_.compare(Op::kEq, left, zero), done, next);
    }
    b_.set_block(next);
  });
  if (!b_.terminated()) b_.jump(done);
  b_.set_block(done);
}

// Runs on disk need no more than the rows that are asked for.
void Generator::gen_spill_sorted(Reg store, Reg keys, size_t count, Reg offset, Reg limit) {
  Reg zero = constant(Type::kI64, 0), none = constant(Type::kI64, -1);
  Reg sum = b_.binary(Op::kAdd, offset, limit);
  Reg unlimited = b_.binary(Op::kOr, b_.compare(Op::kLt, limit, zero), b_.compare(Op::kLt, sum, zero));
  Reg keep = b_.select(unlimited, none, sum);
  b_.call(k_rt_spill_sorted, {context(), store, keys, constant(Type::kI64, static_cast<int64_t>(count)), keep, none});
}

void Generator::gen_sort(const PlanNode& node, const Body& body) {
  TupleLayout layout(0);
  StoredColumns columns = lay_out(node.needed, produced_by(*node.inputs[0]), false, &layout);
  std::vector<TupleField> fields;
  std::vector<TupleSortKey> keys;
  for (const auto& term : node.order) {
    TupleField field;
    bool stored = false;
    for (const auto& column : columns)
      if (term.expr->kind == BoundKind::kColumn && column.id == ColumnId{term.expr->relation, term.expr->index})
        field = column.field, stored = true;
    if (!stored) field = layout.add(term.expr->type, term.expr->nullable);
    fields.push_back(stored ? TupleField{field.type, -1, -1} : field);
    TupleSortKey key{};
    key.type = field.type;
    key.offset = static_cast<int32_t>(field.offset);
    key.null_offset = static_cast<int32_t>(field.null_offset);
    key.descending = term.descending;
    key.nulls_first = term.nulls_first;
    keys.push_back(key);
  }
  int64_t bytes = std::max<int64_t>(8, layout.bytes());
  Reg offset = gen_bound(node.offset.get(), 0, RuntimeError::kNegativeOffset);
  Reg limit = gen_bound(node.limit.get(), -1, RuntimeError::kNegativeLimit);
  check(b_.call(k_rt_tuples_create, {context(), constant(Type::kI64, bytes)}));
  Reg store = b_.load(Type::kPtr, context(), kContextValue);
  Reg key_data = data_of(keys);
  bool spills = may_spill(node.inputs[0]->rows, bytes);
  if (spills) gen_spill_sorted(store, key_data, keys.size(), offset, limit);
  gen_node(*node.inputs[0], [&] {
    Values terms;
    for (size_t i = 0; i < keys.size(); i++) terms.push_back(fields[i].offset < 0 ? Value{} : gen(*node.order[i].expr));
    Reg tuple = append_tuple(store, bytes);
    store_columns(columns, tuple);
    for (size_t i = 0; i < keys.size(); i++)
      if (fields[i].offset >= 0) store_field(tuple, fields[i], cast_stored(terms[i], fields[i].type));
  });
  store = gen_gather(store, false);
  Reg key_count = constant(Type::kI64, static_cast<int64_t>(keys.size()));
  check(b_.call(k_rt_tuples_sort, {context(), store, key_data, key_count, offset, limit}));
  gen_sorted_batches(store, spills, [&](Reg tuples, Reg count) {
    gen_rounds([&] { return count; },
               [&](Reg i) {
                 check_interrupt();
                 publish(columns, b_.load(Type::kPtr, b_.index(tuples, i, 8)));
                 body();
               });
  });
}

// What sorting has given: all at once, or a batch after the other where runs are merged from disk.
void Generator::gen_sorted_batches(Reg store, bool spills, const std::function<void(Reg, Reg)>& body) {
  Block batch = b_.new_block(), done = b_.new_block();
  b_.jump(batch);
  b_.set_block(batch);
  Reg tuples = b_.load(Type::kPtr, context(), kContextValue);
  Reg count = b_.load(Type::kI64, context(), kContextValue + 8);
  body(tuples, count);
  if (b_.terminated()) return b_.set_block(done);
  if (!spills) {
    b_.jump(done);
    return b_.set_block(done);
  }
  check(b_.call(k_rt_tuples_more, {context(), store}));
  Reg left = b_.load(Type::kI64, context(), kContextValue + 8);
  b_.branch(b_.compare(Op::kNe, left, constant(Type::kI64, 0)), batch, done);
  b_.set_block(done);
}

}  // namespace scyper::query
