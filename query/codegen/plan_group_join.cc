#include "codegen/hash_table.h"
#include "runtime/direct.h"
#include "runtime/team.h"

// A join whose partners are groups: the states of aggregates lie beside the join's array, one for each of its places,
// so that no row looks for its group. Source: Moerkotte, Neumann: Accelerating Queries with Group-By and Join by
// Groupjoin (VLDB 2011). Each thread has states of its own; in the end each adds up those of its share of the places.
namespace scyper::query {

using ir::Op;
using ir::Type;

void Generator::gen_group_join(const PlanNode& node, const Body& body) {
  GroupJoin group;
  TupleLayout layout(0);
  group.slots = lay_out_aggregates(node, &layout);
  // how many rows a place has met: some aggregate knows it, or a counter of its own
  group.rows = group.slots.size();
  for (size_t i = 0; i < node.aggregates.size(); i++) {
    const Aggregate& a = node.aggregates[i];
    bool all = a.filter == nullptr && (a.args.empty() || !a.args[0]->nullable);
    if (all && group.slots[i].kind == AggregateSlot::Kind::kCount && group.slots[i].counter == static_cast<int>(i))
      group.rows = i;
  }
  bool counts = group.rows == group.slots.size();
  if (counts) {
    AggregateSlot counter;
    counter.kind = AggregateSlot::Kind::kCount;
    counter.type = Type::kI64;
    counter.offset = layout.add_bytes(8, 8);
    counter.counter = static_cast<int>(group.rows);
    group.slots.push_back(counter);
  }
  group.bytes = layout.bytes();
  grouping_ = &group;
  gen_node(*node.inputs[0], [&] {
    Reg state = b_.index(group.states, group.table->place, group.bytes);
    const AggregateSlot& counter = group.slots[group.rows];
    if (counts) store_state(counter, state, b_.binary(Op::kAdd, load_state(counter, state), constant(Type::kI64, 1)));
    step_states(node, group.slots, state, std::vector<Reg>(node.aggregates.size(), ir::kNoReg));
  });
  gen_group_places(node, group, body);
}

// The join's array is there.
void Generator::open_group_join(GroupJoin* group, JoinTable* table) {
  check(b_.call(k_rt_direct_states, {context(), table->direct, constant(Type::kI64, group->bytes)}));
  group->states = b_.load(Type::kPtr, context(), kContextValue);
  table->place = b_.new_variable(Type::kI64);
  group->table = std::make_shared<JoinTable>(*table);
}

// Adds to the state of a place those that the other threads have.
void Generator::gen_other_states(const PlanNode& node, const GroupJoin& group, Reg all, Reg count, Reg place) {
  std::vector<int64_t> offsets;
  for (const auto& slot : group.slots) offsets.push_back(slot.offset);
  Reg i = b_.new_variable(Type::kI64);
  Reg alone = b_.compare(Op::kEq, count, constant(Type::kI64, 1));
  b_.assign(i, b_.select(alone, constant(Type::kI64, 1), constant(Type::kI64, 0)));
  Block head = b_.new_block(), each = b_.new_block(), add = b_.new_block(), next = b_.new_block(),
        done = b_.new_block();
  b_.jump(head);
  b_.set_block(head);
  b_.branch(b_.compare(Op::kLt, i, count), each, done);
  b_.set_block(each);
  Reg other = b_.load(Type::kPtr, b_.index(all, i, 8));
  b_.branch(b_.compare(Op::kEq, other, group.states), next, add);
  b_.set_block(add);
  combine_states(node, group.slots, b_.index(group.states, place, group.bytes), b_.index(other, place, group.bytes),
                 offsets);
  b_.jump(next);
  b_.set_block(next);
  b_.assign(i, b_.binary(Op::kAdd, i, constant(Type::kI64, 1)));
  b_.jump(head);
  b_.set_block(done);
}

// A row for each place that has met one; of several threads each has its share of the places.
void Generator::gen_group_places(const PlanNode& node, const GroupJoin& group, const Body& body) {
  const JoinTable& table = *group.table;
  Reg from = constant(Type::kI64, 0), to = b_.load(Type::kI64, table.direct, offsetof(DirectTable, capacity));
  Reg all = ir::kNoReg, count = ir::kNoReg;
  if (shared_run_) {
    check(b_.call(k_rt_exchange, {context(), group.states}));
    all = b_.load(Type::kPtr, context(), kContextValue);
    count = b_.load(Type::kI64, context(), kContextValue + 8);
    Reg me = b_.convert(Op::kZExt, b_.load_invariant(Type::kI32, context(), offsetof(ExecContext, thread)), Type::kI64);
    Reg share = b_.binary(Op::kSDiv, to, count);
    Reg last = b_.compare(Op::kEq, b_.binary(Op::kAdd, me, constant(Type::kI64, 1)), count);
    from = b_.binary(Op::kMul, share, me);
    to = b_.select(last, to, b_.binary(Op::kAdd, from, share));
  }
  Reg place = b_.new_variable(Type::kI64);
  b_.assign(place, from);
  may_swap();
  Block head = b_.new_block(), each = b_.new_block(), some = b_.new_block(), next = b_.new_block(),
        done = b_.new_block();
  b_.jump(head);
  b_.set_block(head);
  b_.branch(b_.compare(Op::kLt, place, to), each, done, 1);
  b_.set_block(each);
  check_interrupt();
  Reg current = b_.binary(Op::kAdd, place, constant(Type::kI64, 0));
  if (shared_run_) gen_other_states(node, group, all, count, current);
  Reg state = b_.index(group.states, current, group.bytes);
  Reg rows = load_state(group.slots[group.rows], state);
  b_.branch(b_.compare(Op::kNe, rows, constant(Type::kI64, 0)), some, next);
  b_.set_block(some);
  publish(table.columns, b_.index(table.places.memory, current, table.bytes));
  RowSource source;
  source.values.resize(node.exprs.size() + node.aggregates.size());
  for (const auto& column : node.needed) {
    if (column.id.relation != node.relation) continue;
    uint32_t i = column.id.index;
    source.values[i] = i < node.exprs.size() ? cast_stored(gen(*node.exprs[i]), node.exprs[i]->type)
                                             : finish_state(node.aggregates[i - node.exprs.size()], group.slots,
                                                            i - node.exprs.size(), state);
  }
  sources_[node.relation] = std::move(source);
  gen_round(body);
  if (!b_.terminated()) b_.jump(next);
  b_.set_block(next);
  b_.assign(place, b_.binary(Op::kAdd, place, constant(Type::kI64, 1)));
  b_.jump(head);
  b_.set_block(done);
}

}  // namespace scyper::query
