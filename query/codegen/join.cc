#include "base/check.h"
#include "bind/make.h"
#include "bind/relation_walk.h"
#include "codegen/generator.h"

namespace scyper::query {

using ir::Op;
using ir::Type;

namespace {
constexpr int64_t kEntryRow = offsetof(KeyTable::Entry, row);
}  // namespace

void Generator::gen_filters(const std::vector<const BoundExpr*>& filters, Block reject) {
  for (const BoundExpr* filter : filters) {
    Block accept = b_.new_block();
    gen_condition(*filter, accept, reject);
    b_.set_block(accept);
  }
}

void Generator::reject_null(Value* value, Block reject) {
  if (value->null == ir::kNoReg) return;
  Block present = b_.new_block();
  b_.branch(value->null, reject, present, 2);
  b_.set_block(present);
  value->null = ir::kNoReg;
}

void Generator::gen_joins(JoinPlan* plan, const std::function<void()>& body) {
  Block done = b_.new_block();
  gen_filters(plan->constant_filters, done);
  for (auto& step : plan->steps) {
    sources_[step.entry->relation->id].relation = step.entry->relation.get();
    if (step.kind == JoinStep::Kind::kBuffer || step.kind == JoinStep::Kind::kHash) gen_build(&step);
  }
  gen_join_step(plan, 0, body);
  if (!b_.terminated()) b_.jump(done);
  b_.set_block(done);
}

void Generator::gen_join_step(JoinPlan* plan, size_t number, const std::function<void()>& body) {
  if (number == plan->steps.size()) return body();
  JoinStep& step = plan->steps[number];
  if (step.entry->join == JoinType::kLeft) return gen_left_join(plan, number, body);
  if (looks_up_next(*plan, number)) return gen_lookup_batches(plan, number, body);
  gen_step_rows(&step, [&] {
    Block next = b_.new_block();
    gen_filters(step.filters, next);
    gen_join_step(plan, number + 1, body);
    if (!b_.terminated()) b_.jump(next);
    b_.set_block(next);
  });
}

// What follows is generated twice, for partners and for the row without one: code that is reached from two sides would
// need all of the scan's registers as variables.
void Generator::gen_left_join(JoinPlan* plan, size_t number, const std::function<void()>& body) {
  JoinStep& step = plan->steps[number];
  uint32_t relation = step.entry->relation->id;
  Reg matched = b_.new_variable(Type::kI8);
  b_.assign(matched, constant(Type::kI8, 0));
  auto rest = [&] {
    Block next = b_.new_block();
    gen_filters(step.filters, next);
    gen_join_step(plan, number + 1, body);
    if (!b_.terminated()) b_.jump(next);
    b_.set_block(next);
  };
  gen_step_rows(&step, [&] {
    Block next = b_.new_block();
    gen_filters(step.on, next);
    b_.assign(matched, constant(Type::kI8, 1));
    rest();
    b_.jump(next);
    b_.set_block(next);
  });
  Block extend = b_.new_block();
  Block after = b_.new_block();
  b_.branch(matched, after, extend);
  b_.set_block(extend);
  RowSource saved = sources_[relation];
  sources_[relation].absent = true;
  rest();
  sources_[relation] = saved;
  b_.jump(after);
  b_.set_block(after);
}

void Generator::gen_step_rows(JoinStep* step, const std::function<void()>& body) {
  const Relation& relation = *step->entry->relation;
  RowSource& source = sources_[relation.id];
  switch (step->kind) {
    case JoinStep::Kind::kTable:
      return gen_table_scan(relation, step->path, {step->entry->join == JoinType::kLeft ? step->on : step->filters},
                            body);
    case JoinStep::Kind::kStream:
    case JoinStep::Kind::kValues:
      return gen_relation_rows(relation, step->path, {}, body);
    case JoinStep::Kind::kSeries:
      return gen_series(relation, body);
    case JoinStep::Kind::kUnnest:
      return gen_unnest(relation, body);
    case JoinStep::Kind::kFunction:
      return gen_routine_rows(relation, body);
    case JoinStep::Kind::kFeed:
      return gen_feed(relation, body);
    case JoinStep::Kind::kForeign:
      return gen_foreign(relation, body);
    case JoinStep::Kind::kBuffer:
      source.values.clear();
      return gen_materialised(relation, step->store, step->slots, body);
    case JoinStep::Kind::kHash:
      source.values.clear();
      return gen_probe(step, body);
  }
}

void Generator::gen_relation_rows(const Relation& relation, const AccessPath& path, const ScanWish& wish,
                                  const std::function<void()>& body) {
  RowSource& source = sources_[relation.id];
  source.relation = &relation;
  switch (relation.kind) {
    case RelationKind::kTable:
      return gen_table_scan(relation, path, wish, body);
    case RelationKind::kQuery:
      return gen_query(*relation.query, [&](const Values& values) {
        sources_[relation.id].values = values;
        body();
      });
    case RelationKind::kCommon: {
      auto common = clone(relation);
      common->id = next_relation();
      return gen_query(*select_all(std::move(common)), [&](const Values& values) {
        sources_[relation.id].values = values;
        body();
      });
    }
    case RelationKind::kValues: {
      Values values;
      for (size_t i = 0; i < relation.rows.size() && !has_late_rows(relation); i++) {
        values.clear();
        for (const auto& value : relation.rows[i]) values.push_back(gen(*value));
        sources_[relation.id].values = values;
        body();
      }
      if (!has_late_rows(relation)) return;
      for (const RelationColumn& column : relation.columns) values.push_back(new_variable(column.type, true));
      auto compute = [&](const std::vector<BoundPtr>& row) {
        for (size_t c = 0; c < row.size(); c++)
          assign(values[c], stabilise(cast(gen(*row[c]), relation.columns[c].type, false)));
      };
      const auto count = static_cast<int64_t>(relation.rows.size());
      return gen_rounds([&] { return constant(Type::kI64, count); },
                        [&](Reg round) {
                          Block ready = b_.new_block();
                          for (int64_t i = 0; i < count; i++) {
                            Block mine = b_.new_block(), other = b_.new_block();
                            b_.branch(b_.compare(Op::kEq, round, constant(Type::kI64, i)), mine, other);
                            b_.set_block(mine);
                            compute(relation.rows[static_cast<size_t>(i)]);
                            b_.jump(ready);
                            b_.set_block(other);
                          }
                          b_.jump(ready);
                          b_.set_block(ready);
                          sources_[relation.id].values = values;
                          body();
                        });
    }
    case RelationKind::kSeries:
      return gen_series(relation, body);
    case RelationKind::kUnnest:
      return gen_unnest(relation, body);
    case RelationKind::kFunction:
      return gen_routine_rows(relation, body);
    case RelationKind::kFeed:
      return gen_feed(relation, body);
    case RelationKind::kForeign:
      return gen_foreign(relation, body);
  }
}

// Rows from outside. What their values point to may be gone with the next row.
void Generator::gen_feed(const Relation& relation, const std::function<void()>& body) {
  Block head = b_.new_block(), each = b_.new_block(), next = b_.new_block(), done = b_.new_block();
  b_.jump(head);
  b_.set_block(head);
  check_interrupt();
  check(b_.call(k_rt_feed_next, {context()}));
  Reg row = b_.load(Type::kPtr, context(), kContextValue);
  b_.branch(b_.compare(Op::kEq, row, b_.null_pointer()), done, each, 2);
  b_.set_block(each);
  Values values;
  for (size_t i = 0; i < relation.columns.size(); i++)
    values.push_back(load_datum(row, static_cast<int64_t>(i) * kDatumBytes, relation.columns[i].type, true, false));
  sources_[relation.id].values = std::move(values);
  gen_round(body);
  if (!b_.terminated()) b_.jump(next);
  b_.set_block(next);
  b_.jump(head);
  b_.set_block(done);
}

void Generator::gen_series(const Relation& relation, const std::function<void()>& body) {
  Value start = gen(*relation.arguments[0]);
  Value stop = gen(*relation.arguments[1]);
  Value step = relation.arguments.size() > 2 ? gen(*relation.arguments[2]) : Value{};
  if (step.a == ir::kNoReg) step.a = constant(Type::kI64, 1);
  Block done = b_.new_block();
  Block begin = b_.new_block();
  Reg null = or_null(or_null(start.null, stop.null), step.null);
  if (null == ir::kNoReg)
    b_.jump(begin);
  else
    b_.branch(null, done, begin, 2);
  b_.set_block(begin);
  Block valid = b_.new_block();
  Reg zero = constant(Type::kI64, 0);
  b_.branch(b_.compare(Op::kEq, step.a, zero), raise_block(RuntimeError::kSeriesStep), valid, 2);
  b_.set_block(valid);
  Reg i = b_.new_variable(Type::kI64);
  b_.assign(i, start.a);
  Reg ordinality = relation.columns.size() > 1 ? b_.new_variable(Type::kI64) : ir::kNoReg;
  if (ordinality != ir::kNoReg) b_.assign(ordinality, zero);
  Block head = b_.new_block(), each = b_.new_block(), next = b_.new_block();
  b_.jump(head);
  b_.set_block(head);
  check_interrupt();
  Reg up = b_.compare(Op::kGt, step.a, zero);
  Reg inside = b_.select(up, b_.compare(Op::kLe, i, stop.a), b_.compare(Op::kGe, i, stop.a));
  b_.branch(inside, each, done, 1);
  b_.set_block(each);
  Value value;
  value.type = relation.columns[0].type;
  value.a =
      register_type(value.type) == Type::kI64 ? b_.binary(Op::kAdd, i, zero) : b_.convert(Op::kTrunc, i, Type::kI32);
  sources_[relation.id].values = {value};
  if (ordinality != ir::kNoReg) {
    b_.assign(ordinality, b_.binary(Op::kAdd, ordinality, constant(Type::kI64, 1)));
    sources_[relation.id].values.push_back(integer_of(b_.binary(Op::kAdd, ordinality, zero)));
  }
  gen_round(body);
  if (!b_.terminated()) b_.jump(next);
  b_.set_block(next);
  b_.assign(i, b_.binary_checked(Op::kAddChecked, i, step.a, done));
  b_.jump(head);
  b_.set_block(done);
}

// Arrays side by side: where one has no more elements, NULL.
void Generator::gen_unnest(const Relation& relation, const std::function<void()>& body) {
  Values arrays;
  std::vector<Reg> sizes;
  Reg rows = b_.new_variable(Type::kI64), i = b_.new_variable(Type::kI64);
  Reg zero = constant(Type::kI64, 0);
  b_.assign(rows, zero);
  b_.assign(i, zero);
  for (const auto& argument : relation.arguments) {
    arrays.push_back(gen(*argument));
    sizes.push_back(b_.new_variable(Type::kI64));
    b_.assign(sizes.back(), zero);
    Block present = b_.new_block(), known = b_.new_block();
    if (arrays.back().null == ir::kNoReg)
      b_.jump(present);
    else
      b_.branch(arrays.back().null, known, present, 2);
    b_.set_block(present);
    Reg size = b_.convert(Op::kSExt, b_.load(Type::kI32, arrays.back().a, offsetof(ArrayValue, size)), Type::kI64);
    b_.assign(sizes.back(), size);
    b_.assign(rows, b_.select(b_.compare(Op::kGt, size, rows), size, rows));
    b_.jump(known);
    b_.set_block(known);
  }
  Block head = b_.new_block(), each = b_.new_block(), next = b_.new_block(), done = b_.new_block();
  b_.jump(head);
  b_.set_block(head);
  check_interrupt();
  b_.branch(b_.compare(Op::kLt, i, rows), each, done, 1);
  b_.set_block(each);
  Values values;
  for (size_t k = 0; k < arrays.size(); k++) values.push_back(gen_element(arrays[k], sizes, k, i));
  if (relation.columns.size() > arrays.size())
    values.push_back(integer_of(b_.binary(Op::kAdd, i, constant(Type::kI64, 1))));
  sources_[relation.id].values = std::move(values);
  gen_round(body);
  if (!b_.terminated()) b_.jump(next);
  b_.set_block(next);
  b_.assign(i, b_.binary(Op::kAdd, i, constant(Type::kI64, 1)));
  b_.jump(head);
  b_.set_block(done);
}

Value Generator::gen_element(const Value& array, const std::vector<Reg>& sizes, size_t which, Reg i) {
  SqlType type = element_of(array.type);
  auto load = [&] {
    Reg elements = b_.load(Type::kPtr, array.a, offsetof(ArrayValue, elements));
    return load_datum(b_.index(elements, i, kDatumBytes), 0, type, true, array.stable);
  };
  if (sizes.size() == 1) return load();
  Value value = new_variable(type, true);
  assign(value, null_value(type));
  Block inside = b_.new_block(), end = b_.new_block();
  b_.branch(b_.compare(Op::kLt, i, sizes[which]), inside, end, 1);
  b_.set_block(inside);
  assign(value, load());
  b_.jump(end);
  b_.set_block(end);
  value.stable = array.stable;
  return value;
}

Value Generator::integer_of(Reg bigint) {
  Value value;
  value.type = make_type(TypeId::kInt8);
  value.a = bigint;
  return value;
}

namespace {
// Both sides of a hash join's equality in one representation.
SqlType key_type(const SqlType& a, const SqlType& b) {
  if (a.id == TypeId::kNumeric && a != b) return make_numeric(0, 0);
  return a;
}
}  // namespace

// Reads a relation before the pipeline starts: into a buffer, or a hash table on its join key.
void Generator::gen_build(JoinStep* step) {
  const Relation& relation = *step->entry->relation;
  std::vector<SqlType> types;
  for (const auto& [mine, other] : step->keys) types.push_back(key_type(mine->type, other->type));
  for (uint32_t column : step->columns) types.push_back(relation.columns[column].type);
  Reg width = constant(Type::kI64, static_cast<int64_t>(types.size()));
  bool hashed = step->kind == JoinStep::Kind::kHash;
  if (hashed) {
    check(b_.call(k_rt_table_create,
                  {context(), data_of(types), width, constant(Type::kI64, static_cast<int64_t>(step->keys.size()))}));
  } else {
    check(b_.call(k_rt_rows_create, {context(), data_of(types), width}));
  }
  step->store = b_.load(Type::kPtr, context(), kContextValue);
  gen_relation_rows(relation, step->path, {step->local}, [&] {
    Block next = b_.new_block();
    gen_filters(step->local, next);
    Values row;
    for (size_t i = 0; i < step->keys.size(); i++) {
      Value key = cast(gen(*step->keys[i].first), types[i], true);
      reject_null(&key, next);  // NULL equals nothing
      row.push_back(key);
    }
    for (uint32_t column : step->columns) row.push_back(load_column(sources_[relation.id], column));
    Reg datums = store_row(row);
    check(b_.call(hashed ? k_rt_table_add : k_rt_rows_append, {context(), step->store, datums}));
    b_.jump(next);
    b_.set_block(next);
  });
  RowSource fresh;
  fresh.relation = &relation;
  sources_[relation.id] = fresh;
}

void Generator::gen_probe(JoinStep* step, const std::function<void()>& body) {
  const Relation& relation = *step->entry->relation;
  Block done = b_.new_block();
  Values keys;
  for (const auto& [mine, other] : step->keys) {
    Value key = cast(gen(*other), key_type(mine->type, other->type), true);
    reject_null(&key, done);
    keys.push_back(key);
  }
  check(b_.call(k_rt_table_find, {context(), step->store, store_row(keys), constant(Type::kI64, 0)}));
  Reg entry = b_.new_variable(Type::kPtr);
  b_.assign(entry, b_.load(Type::kPtr, context(), kContextValue));
  Block head = b_.new_block(), each = b_.new_block(), next = b_.new_block();
  b_.jump(head);
  b_.set_block(head);
  b_.branch(b_.compare(Op::kEq, entry, b_.null_pointer()), done, each);
  b_.set_block(each);
  RowSource& source = sources_[relation.id];
  source.row = b_.offset(entry, kEntryRow + static_cast<int64_t>(step->keys.size()) * kDatumBytes);
  source.slots = step->slots;
  gen_round(body);
  if (!b_.terminated()) b_.jump(next);
  b_.set_block(next);
  b_.assign(entry, b_.load(Type::kPtr, entry, offsetof(KeyTable::Entry, next_equal)));
  b_.jump(head);
  b_.set_block(done);
}

}  // namespace scyper::query
