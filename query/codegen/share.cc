#include <algorithm>

#include "codegen/hash_table.h"
#include "plan/aggregate_kind.h"
#include "plan/expressions.h"
#include "runtime/spill.h"
#include "runtime/team.h"

// Plans that several threads run together (runtime/team.h): what each of them has gathered at the end of a pipeline is
// put together. One thread alone runs the same code.
namespace scyper::query {

using ir::Op;
using ir::Type;

namespace {

bool is_shareable(const BoundExpr& e) {
  if (e.query != nullptr || e.kind == BoundKind::kUserCall || (e.builtin != nullptr && e.builtin->is_volatile))
    return false;
  return std::all_of(e.args.begin(), e.args.end(), [](const BoundPtr& arg) { return is_shareable(*arg); });
}

bool is_shareable(const PlanNode& node) {
  switch (node.kind) {
    case PlanKind::kOneRow:
    case PlanKind::kGet:
    case PlanKind::kFilter:
    case PlanKind::kMap:
    case PlanKind::kSort:
    case PlanKind::kShared:
      break;
    case PlanKind::kJoin:
      if (node.join == JoinKind::kFull) return false;
      break;
    case PlanKind::kGroup:
      for (const auto& aggregate : node.aggregates)
        if (!has_small_state(aggregate)) return false;
      break;
    case PlanKind::kFunction:
      if (node.source->kind != RelationKind::kForeign) return false;
      break;
    default:
      return false;
  }
  bool fits = true;
  for_each_own(const_cast<PlanNode*>(&node), [&](BoundPtr& e) { fits &= is_shareable(*e); });
  return fits &&
         std::all_of(node.inputs.begin(), node.inputs.end(), [](const PlanPtr& input) { return is_shareable(*input); });
}

// Do its rows come from one thread only?
bool comes_from_one(const PlanNode& node) {
  switch (node.kind) {
    case PlanKind::kOneRow:
    case PlanKind::kSort:
    case PlanKind::kFunction:
      return true;
    case PlanKind::kGet:
      return node.path.kind != AccessKind::kFullScan;
    case PlanKind::kGroup:
      return node.exprs.empty() && !node.aggregates.empty();
    case PlanKind::kFilter:
    case PlanKind::kMap:
      return comes_from_one(*node.inputs[0]);
    case PlanKind::kJoin:
      if (node.method != JoinMethod::kHashSwapped) return comes_from_one(*node.inputs[0]);
      return node.join == JoinKind::kInner && comes_from_one(*node.inputs[1]);
    default:
      return false;
  }
}
}  // namespace

bool Generator::can_share(const BoundQuery& query, const Plan& plan) const {
  if (is_analysed() || &query != program_.query.get() || program_.writes ||
      resources_.work_ns < resources_.shared_from_ns)
    return false;
  for (const auto& shared : plan.shared)
    if (!is_shareable(*shared->plan)) return false;
  return is_shareable(*plan.root) &&
         std::all_of(plan.outputs.begin(), plan.outputs.end(), [](const BoundPtr& e) { return is_shareable(*e); });
}

// What one thread does for all.
void Generator::gen_by_one(const Body& body) {
  if (!shared_run_) return body();
  Block mine = b_.new_block(), next = b_.new_block();
  Reg thread = b_.load_invariant(Type::kI32, context(), offsetof(ExecContext, thread));
  b_.branch(b_.compare(Op::kEq, thread, constant(Type::kI32, 0)), mine, next);
  b_.set_block(mine);
  body();
  if (!b_.terminated()) b_.jump(next);
  b_.set_block(next);
}

// Rows of the plan, from one thread.
void Generator::gen_root(const Plan& plan, const BoundQuery& query, const Consumer& consume) {
  auto outputs = [&] {
    Values values;
    for (size_t i = 0; i < plan.outputs.size(); i++)
      if (!query.outputs[i].hidden) values.push_back(gen(*plan.outputs[i]));
    return values;
  };
  if (!shared_run_ || comes_from_one(*plan.root)) return gen_node(*plan.root, [&] { consume(outputs()); });
  TupleLayout layout(0);
  std::vector<TupleField> fields;
  for (size_t i = 0; i < plan.outputs.size(); i++)
    if (!query.outputs[i].hidden) fields.push_back(layout.add(plan.outputs[i]->type, true));
  int64_t bytes = std::max<int64_t>(8, layout.bytes());
  check(b_.call(k_rt_tuples_create, {context(), constant(Type::kI64, bytes)}));
  Reg store = b_.load(Type::kPtr, context(), kContextValue);
  gen_node(*plan.root, [&] {
    Values values = outputs();
    Reg tuple = append_tuple(store, bytes);
    for (size_t i = 0; i < fields.size(); i++) store_field(tuple, fields[i], cast_stored(values[i], fields[i].type));
  });
  for_each_tuple(gen_gather(store, false), bytes, [&](Reg tuple) {
    Values values;
    for (const auto& field : fields) values.push_back(load_field(tuple, field));
    consume(values);
  });
}

// Everybody's tuples, for all threads or for one (the others have none).
ir::Reg Generator::gen_gather(Reg store, bool for_all) {
  if (!shared_run_) return store;
  check(b_.call(k_rt_tuples_gather, {context(), store, constant(Type::kI64, for_all ? 1 : 0)}));
  return b_.load(Type::kPtr, context(), kContextValue);
}

// Everybody's groups, and those on disk, put together: each thread has those whose hash says so. combine(mine, other)
// adds the states of a group to those of the same group. emit(store) is generated once; it runs for each partition that
// went to disk.
void Generator::gen_merge(const GroupTable& table, const PlanNode& node,
                          const std::function<void(Reg mine, Reg other)>& combine,
                          const std::function<void(Reg store)>& emit) {
  if (!shared_run_ && !table.spills) return emit(table.store);
  Reg result = b_.new_variable(Type::kPtr);
  check(b_.call(k_rt_groups_merge,
                {context(), table.store, constant(Type::kI64, static_cast<int64_t>(std::min(node.rows, 1e6)))}));
  Reg merge = b_.load(Type::kPtr, context(), kContextValue);
  Block round = b_.new_block(), sources = b_.new_block(), source = b_.new_block(), whole = b_.new_block(),
        done = b_.new_block();
  b_.jump(round);
  b_.set_block(round);
  check(b_.call(k_rt_groups_round, {context(), merge}));
  b_.assign(result, b_.load(Type::kPtr, context(), kContextValue));
  b_.branch(b_.compare(Op::kEq, result, b_.null_pointer()), done, sources);
  b_.set_block(sources);
  check(b_.call(k_rt_groups_source, {context(), merge}));
  Reg some = b_.load(Type::kI64, context(), kContextValue);
  b_.branch(b_.compare(Op::kEq, some, constant(Type::kI64, 0)), whole, source);
  b_.set_block(source);
  gen_merge_source(table, b_.offset(result, 0), combine);
  b_.jump(sources);
  b_.set_block(whole);
  emit(b_.offset(result, 0));
  if (!b_.terminated()) b_.jump(round);
  b_.set_block(done);
}

// Parts of groups, in the store that the context has, into `result`.
void Generator::gen_merge_source(const GroupTable& table, Reg result, const std::function<void(Reg, Reg)>& combine) {
  Reg store = b_.load(Type::kPtr, context(), kContextValue);
  Reg count = b_.load(Type::kI64, context(), kContextValue + 8),
      me = b_.load(Type::kI64, context(), kContextValue + 16);
  GroupTable merged = table;
  merged.store = result;
  sealed_ = true;
  for_each_tuple(store, table.bytes, [&](Reg tuple) {
    Block mine = b_.new_block(), next = b_.new_block(), fresh = b_.new_block(), known = b_.new_block();
    Reg hash = b_.load(Type::kI64, tuple, offsetof(TupleEntry, hash));
    Reg bits = b_.binary(Op::kAnd, b_.binary(Op::kLShr, hash, constant(Type::kI64, 8)), constant(Type::kI64, 0xffff));
    Reg owner = b_.binary(Op::kLShr, b_.binary(Op::kMul, bits, count), constant(Type::kI64, 16));
    b_.branch(b_.compare(Op::kEq, owner, me), mine, next);
    b_.set_block(mine);
    Values keys;
    for (const auto& field : table.keys) keys.push_back(load_field(tuple, field));
    Reg is_new = b_.new_variable(Type::kI8);
    Reg group = find_group(merged, keys, hash, is_new);
    b_.branch(is_new, fresh, known);
    b_.set_block(fresh);
    b_.call(k_rt_copy_tuple, {group, tuple, constant(Type::kI64, table.bytes)});
    b_.jump(next);
    b_.set_block(known);
    combine(group, tuple);
    b_.jump(next);
    b_.set_block(next);
  });
}

// The states at `other` (a tuple, or memory at `offsets`) into mine.
void Generator::combine_states(const PlanNode& node, const AggregateSlots& slots, Reg mine, Reg other,
                               const std::vector<int64_t>& offsets) {
  auto theirs = [&](size_t i) { return b_.load(slots[i].type, other, offsets[i]); };
  auto has_own = [&](size_t i) { return slots[i].offset >= 0 || slots[i].variable != ir::kNoReg; };
  for (size_t i = 0; i < slots.size(); i++) {  // before the counts that they ask
    if (slots[i].kind != AggregateSlot::Kind::kExtreme) continue;
    auto counter = static_cast<size_t>(slots[i].counter <= -2 ? -2 - slots[i].counter : slots[i].counter);
    Block some = b_.new_block(), both = b_.new_block(), take = b_.new_block(), next = b_.new_block();
    Reg zero = constant(Type::kI64, 0);
    b_.branch(b_.compare(Op::kEq, theirs(counter), zero), next, some);
    b_.set_block(some);
    b_.branch(b_.compare(Op::kEq, load_state(slots[counter], mine), zero), take, both);
    b_.set_block(both);
    Value a, b;
    a.type = b.type = node.aggregates[i].args[0]->type;
    a.a = theirs(i);
    b.a = load_state(slots[i], mine);
    bool smallest = node.aggregates[i].kind == AggregateKind::kMin;
    b_.branch(compare(smallest ? BuiltinOp::kLess : BuiltinOp::kGreater, a, b), take, next);
    b_.set_block(take);
    store_state(slots[i], mine, theirs(i));
    b_.jump(next);
    b_.set_block(next);
  }
  for (size_t i = 0; i < slots.size(); i++) {
    if (slots[i].kind == AggregateSlot::Kind::kExtreme || !has_own(i)) continue;
    Reg a = load_state(slots[i], mine), b = theirs(i);
    Reg sum = slots[i].type == Type::kF64 ? b_.binary(Op::kFAdd, a, b)
              : slots[i].checked ? b_.binary_checked(Op::kAddChecked, a, b, raise_block(RuntimeError::kNumericOverflow))
                                 : b_.binary(Op::kAdd, a, b);
    store_state(slots[i], mine, sum);
  }
}

// States in registers: everybody writes them down, one adds them up.
void Generator::gen_sum_up(const PlanNode& node, const AggregateSlots& slots) {
  if (!shared_run_) return;
  std::vector<int64_t> offsets;
  for (size_t i = 0; i < slots.size(); i++) offsets.push_back(static_cast<int64_t>(i) * 16);
  Reg memory = b_.frame_address(b_.reserve_frame(static_cast<uint32_t>(slots.size() * 16)));
  for (size_t i = 0; i < slots.size(); i++)
    if (slots[i].variable != ir::kNoReg) b_.store(memory, offsets[i], load_state(slots[i], ir::kNoReg));
  check(b_.call(k_rt_exchange, {context(), memory}));
  Reg all = b_.load(Type::kPtr, context(), kContextValue), count = b_.load(Type::kI64, context(), kContextValue + 8);
  Reg i = b_.new_variable(Type::kI64);
  gen_by_one([&] {
    b_.assign(i, constant(Type::kI64, 1));
    Block head = b_.new_block(), each = b_.new_block(), done = b_.new_block();
    b_.jump(head);
    b_.set_block(head);
    b_.branch(b_.compare(Op::kLt, i, count), each, done);
    b_.set_block(each);
    combine_states(node, slots, ir::kNoReg, b_.load(Type::kPtr, b_.index(all, i, 8)), offsets);
    b_.assign(i, b_.binary(Op::kAdd, i, constant(Type::kI64, 1)));
    b_.jump(head);
    b_.set_block(done);
  });
  check(b_.call(k_rt_meet, {context()}));  // the memory of the others lies in their frames
}

}  // namespace scyper::query
