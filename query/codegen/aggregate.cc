#include "base/check.h"
#include "codegen/aggregate_state.h"
#include "codegen/generator.h"

namespace scyper::query {

using ir::Op;
using ir::Type;

// Aggregates without GROUP BY keep their states in frame memory, groups in the rows of a KeyTable: its key, then the
// states.
void Generator::gen_aggregation(const BoundQuery& query, JoinPlan* plan, const Consumer& consume) {
  bool grouped = !query.groups.empty();
  GroupStore store = gen_group_store(query);
  std::vector<Reg> distinct = gen_distinct_tables(query.aggregates);
  gen_joins(plan, [&] {
    Reg state = store.frame;
    Reg group = ir::kNoReg;
    if (grouped) {
      Values keys;
      for (const auto& expr : query.groups) keys.push_back(gen(*expr));
      check(b_.call(k_rt_table_find, {context(), store.table, store_row(keys), constant(Type::kI64, 1)}));
      group = b_.load(Type::kPtr, context(), kContextValue);
      state = b_.offset(group, offsetof(KeyTable::Entry, row) + store.key_bytes);
    }
    for (size_t i = 0; i < query.aggregates.size(); i++)
      update_aggregate(query.aggregates[i], b_.offset(state, static_cast<int64_t>(i) * kAggregateStateBytes), group,
                       distinct[i]);
  });
  Block done = b_.new_block();
  if (!grouped) {
    gen_group_output(query, ir::kNoReg, store.frame, done, consume);
    if (!b_.terminated()) b_.jump(done);
    b_.set_block(done);
    return;
  }
  Reg entry = b_.new_variable(Type::kPtr);
  b_.assign(entry, b_.load(Type::kPtr, store.table, offsetof(KeyTable, first)));
  Block head = b_.new_block(), each = b_.new_block(), next = b_.new_block();
  b_.jump(head);
  b_.set_block(head);
  b_.branch(b_.compare(Op::kEq, entry, b_.null_pointer()), done, each);
  b_.set_block(each);
  check_interrupt();
  Reg row = b_.offset(entry, offsetof(KeyTable::Entry, row));
  gen_round([&] { gen_group_output(query, row, b_.offset(row, store.key_bytes), next, consume); });
  if (!b_.terminated()) b_.jump(next);
  b_.set_block(next);
  b_.assign(entry, b_.load(Type::kPtr, entry, offsetof(KeyTable::Entry, next)));
  b_.jump(head);
  b_.set_block(done);
}

Generator::GroupStore Generator::gen_group_store(const BoundQuery& query) {
  GroupStore store;
  std::vector<SqlType> types;
  for (const auto& group : query.groups) types.push_back(group->type);
  int64_t key_width = static_cast<int64_t>(types.size());
  store.key_bytes = key_width * kDatumBytes;
  if (!query.groups.empty()) {
    for (size_t i = 0; i < 2 * query.aggregates.size(); i++) types.push_back(make_type(TypeId::kInt8));
    check(
        b_.call(k_rt_table_create, {context(), data_of(types), constant(Type::kI64, static_cast<int64_t>(types.size())),
                                    constant(Type::kI64, key_width)}));
    store.table = b_.load(Type::kPtr, context(), kContextValue);
    return store;
  }
  uint32_t bytes = static_cast<uint32_t>(kAggregateStateBytes) * static_cast<uint32_t>(query.aggregates.size() + 1);
  store.frame = b_.frame_address(b_.reserve_frame(bytes));
  Reg zero = constant(Type::kI64, 0);
  for (int64_t at = 0; at < static_cast<int64_t>(bytes); at += 8) b_.store(store.frame, at, zero);
  return store;
}

// One set per DISTINCT aggregate, of (group, argument).
std::vector<ir::Reg> Generator::gen_distinct_tables(const std::vector<Aggregate>& aggregates) {
  std::vector<Reg> tables(aggregates.size(), ir::kNoReg);
  for (size_t i = 0; i < aggregates.size(); i++) {
    if (!aggregates[i].distinct || aggregates[i].collects()) continue;
    std::vector<SqlType> key = {make_type(TypeId::kInt8), aggregates[i].args[0]->type};
    check(b_.call(k_rt_table_create, {context(), data_of(key), constant(Type::kI64, 2), constant(Type::kI64, 2)}));
    tables[i] = b_.load(Type::kPtr, context(), kContextValue);
  }
  return tables;
}

// HAVING and the outputs of one group.
void Generator::gen_group_output(const BoundQuery& query, Reg row, Reg state, Block reject, const Consumer& consume) {
  Values groups;
  Values aggregates;
  for (size_t i = 0; i < query.groups.size(); i++)
    groups.push_back(
        load_datum(row, static_cast<int64_t>(i) * kDatumBytes, query.groups[i]->type, query.groups[i]->nullable, true));
  for (size_t i = 0; i < query.aggregates.size(); i++)
    aggregates.push_back(
        finish_aggregate(query.aggregates[i], b_.offset(state, static_cast<int64_t>(i) * kAggregateStateBytes)));
  groups_[query.id] = &groups;
  aggregates_[query.id] = &aggregates;
  for (const auto& having : query.having) {
    Block accept = b_.new_block();
    gen_condition(*having, accept, reject);
    b_.set_block(accept);
  }
  Values outputs = gen_outputs(query, true);
  groups_.erase(query.id);
  aggregates_.erase(query.id);
  consume(outputs);
}

void Generator::update_aggregate(const Aggregate& aggregate, Reg state, Reg group, Reg distinct) {
  Block next = b_.new_block();
  if (aggregate.filter != nullptr) {
    Block accept = b_.new_block();
    gen_condition(*aggregate.filter, accept, next);
    b_.set_block(accept);
  }
  Values args;
  // step_aggregate() computes a percentile's fraction once
  const size_t count = keeps_values(aggregate) ? 1 : aggregate.args.size();
  for (size_t i = 0; i < count; i++) args.push_back(gen(*aggregate.args[i]));
  for (size_t i = 0; i < strict_arguments(aggregate); i++) {
    if (args[i].null == ir::kNoReg) continue;
    Block present = b_.new_block();
    b_.branch(args[i].null, next, present);
    b_.set_block(present);
    args[i].null = ir::kNoReg;
  }
  if (distinct != ir::kNoReg) {
    Value id;
    id.type = make_type(TypeId::kInt8);
    id.a = group == ir::kNoReg ? constant(Type::kI64, 0) : b_.convert(Op::kBitcast, group, Type::kI64);
    check(b_.call(k_rt_table_find, {context(), distinct, store_row({id, args[0]}), constant(Type::kI64, 1)}));
    Block fresh = b_.new_block();
    Reg is_new = b_.load(Type::kI64, context(), kContextValue + 8);
    b_.branch(b_.compare(Op::kNe, is_new, constant(Type::kI64, 0)), fresh, next);
    b_.set_block(fresh);
  }
  step_aggregate(aggregate, args, state);
  b_.jump(next);
  b_.set_block(next);
}

}  // namespace scyper::query
