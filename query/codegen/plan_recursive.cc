#include <algorithm>

#include "base/check.h"
#include "codegen/hash_table.h"
#include "plan/rounds.h"

// WITH RECURSIVE and DISTINCT ON of planned queries.
namespace scyper::query {

using ir::Op;
using ir::Type;

// The first term's rows, then the second term over the rows of the round before until a round brings none. UNION keeps
// all rows in a table that knows which are new.
void Generator::gen_recursive(const PlanNode& node, const Body& body) {
  TupleLayout row(0), keyed(sizeof(TupleEntry));
  GroupTable table;
  StoredColumns columns;
  WorkingTable working;
  for (uint32_t i = 0; i < node.outputs[0].size(); i++) {
    const SqlType& type = node.outputs[0][i]->type;
    working.fields.push_back(row.add(type, true));
    table.keys.push_back(keyed.add(type, true));
    table.apart.push_back(true);
    columns.push_back({{node.relation, i}, node.set_all ? working.fields[i] : table.keys[i]});
  }
  working.bytes = std::max<int64_t>(8, row.bytes());
  table.bytes = keyed.bytes();
  auto create = [&] {
    check(b_.call(k_rt_tuples_create, {context(), constant(Type::kI64, working.bytes)}));
    return b_.load(Type::kPtr, context(), kContextValue);
  };
  if (!node.set_all) {
    check(b_.call(k_rt_groups_create, {context(), constant(Type::kI64, table.bytes), constant(Type::kI64, 64)}));
    table.store = b_.load(Type::kPtr, context(), kContextValue);
  }
  working.store = b_.new_variable(Type::kPtr);
  Reg next_round = b_.new_variable(Type::kPtr), other = b_.new_variable(Type::kPtr);
  b_.assign(working.store, create());
  b_.assign(next_round, create());
  auto take_row = [&](size_t side) {
    Values values;
    for (size_t i = 0; i < columns.size(); i++)
      values.push_back(cast_stored(gen(*node.outputs[side][i]), columns[i].field.type));
    Block fresh = b_.new_block(), skip = b_.new_block();
    Reg is_new = b_.new_variable(Type::kI8);
    b_.assign(is_new, constant(Type::kI8, 1));
    Reg known = node.set_all ? ir::kNoReg : find_group(table, values, ir::kNoReg, is_new);
    b_.branch(is_new, fresh, skip);
    b_.set_block(fresh);
    Reg tuple = append_tuple(next_round, working.bytes);
    for (size_t i = 0; i < columns.size(); i++) {
      if (known != ir::kNoReg) store_field(known, columns[i].field, values[i]);
      store_field(tuple, working.fields[i], values[i]);
    }
    b_.jump(skip);
    b_.set_block(skip);
  };
  gen_node(*node.inputs[0], [&] { take_row(0); });
  working_tables_[node.shared->number] = working;
  Block round = b_.new_block(), each = b_.new_block(), done = b_.new_block();
  b_.jump(round);
  b_.set_block(round);
  check_interrupt();
  b_.assign(other, working.store);
  b_.assign(working.store, next_round);
  b_.assign(next_round, other);
  b_.call(k_rt_tuples_clear, {next_round});
  b_.call(k_rt_tuples_seal, {working.store});
  Reg count = b_.load(Type::kI64, working.store, offsetof(TupleStore, count));
  b_.branch(b_.compare(Op::kEq, count, constant(Type::kI64, 0)), done, each);
  b_.set_block(each);
  // rows leave round by round: a LIMIT ends a recursion that has no other end
  StoredColumns given = columns;
  for (size_t i = 0; i < given.size(); i++) given[i].field = working.fields[i];
  for_each_tuple(working.store, working.bytes, [&](Reg tuple) {
    publish(given, tuple);
    body();
  });
  for (const SharedPlan* shared : plans_of_round(node)) gen_shared(*shared);
  gen_node(*node.inputs[1], [&] { take_row(1); });
  if (!b_.terminated()) b_.jump(round);
  b_.set_block(done);
}

// Sorted rows: the first of each run of equal expressions.
void Generator::gen_unique(const PlanNode& node, const Body& body) {
  Values before;
  for (const auto& e : node.exprs) before.push_back(new_variable(e->type, true));
  Reg some = b_.new_variable(Type::kI8);
  b_.assign(some, constant(Type::kI8, 0));
  gen_node(*node.inputs[0], [&] {
    Block compare_block = b_.new_block(), fresh = b_.new_block(), skip = b_.new_block();
    Values values;
    for (const auto& e : node.exprs) values.push_back(cast_stored(gen(*e), e->type));
    b_.branch(some, compare_block, fresh);
    b_.set_block(compare_block);
    for (size_t i = 0; i < values.size(); i++) {
      Value a = values[i], b = before[i];
      Block both = b_.new_block(), null = b_.new_block(), next = b_.new_block();
      Reg null_a = is_null(a);
      b_.branch(b_.binary(Op::kOr, null_a, b.null), null, both);
      b_.set_block(null);
      b_.branch(b_.binary(Op::kAnd, null_a, b.null), next, fresh);
      b_.set_block(both);
      a.null = b.null = ir::kNoReg;
      b_.branch(compare(BuiltinOp::kEqual, a, b), next, fresh);
      b_.set_block(next);
    }
    b_.jump(skip);
    b_.set_block(fresh);
    b_.assign(some, constant(Type::kI8, 1));
    for (size_t i = 0; i < values.size(); i++) assign(before[i], values[i]);
    body();
    if (!b_.terminated()) b_.jump(skip);
    b_.set_block(skip);
  });
}

}  // namespace scyper::query
