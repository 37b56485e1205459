#include <algorithm>

#include "base/check.h"
#include "codegen/hash_table.h"

// Set operations of planned queries.
namespace scyper::query {

using ir::Op;
using ir::Type;

namespace {

struct SetColumn {
  SqlType type;
  bool nullable = false;
};
std::vector<SetColumn> set_columns_of(const PlanNode& node) {
  std::vector<SetColumn> columns(node.outputs[0].size());
  for (size_t i = 0; i < columns.size(); i++) {
    columns[i].type = node.outputs[0][i]->type;
    for (const auto& side : node.outputs) {
      columns[i].nullable |= side[i]->nullable;
      if (side[i]->type != columns[i].type && columns[i].type.id == TypeId::kNumeric)
        columns[i].type = make_numeric(0, 0);
    }
    for (const auto& column : node.needed)
      if (column.id == ColumnId{node.relation, static_cast<uint32_t>(i)} && column.type.id == TypeId::kNumeric)
        columns[i].type = column.type;
  }
  return columns;
}
}  // namespace

// UNION ALL: both sides into one buffer, so that what follows is generated once.
void Generator::gen_append(const PlanNode& node, const Body& body) {
  TupleLayout layout(0);
  StoredColumns columns;
  std::vector<SetColumn> all = set_columns_of(node);
  for (uint32_t i = 0; i < all.size(); i++)
    columns.push_back({{node.relation, i}, layout.add(all[i].type, all[i].nullable)});
  int64_t bytes = std::max<int64_t>(8, layout.bytes());
  check(b_.call(k_rt_tuples_create, {context(), constant(Type::kI64, bytes)}));
  Reg store = b_.load(Type::kPtr, context(), kContextValue);
  for (size_t side = 0; side < node.inputs.size(); side++)
    gen_node(*node.inputs[side], [&] {
      Values values;
      for (size_t i = 0; i < columns.size(); i++)
        values.push_back(cast_stored(gen(*node.outputs[side][i]), columns[i].field.type));
      Reg tuple = append_tuple(store, bytes);
      for (size_t i = 0; i < columns.size(); i++) store_field(tuple, columns[i].field, values[i]);
    });
  for_each_tuple(store, bytes, [&](Reg tuple) {
    publish(columns, tuple);
    body();
  });
}

// UNION, INTERSECT, EXCEPT: both sides into one table of distinct rows with two counts. How often each row comes out:
// UNION once; INTERSECT min(l, r); EXCEPT l - r; without ALL at most once.
void Generator::gen_set(const PlanNode& node, const Body& body) {
  bool is_union = node.set == SetOp::kUnion;
  TupleLayout layout(sizeof(TupleEntry));
  GroupTable table;
  StoredColumns columns;
  std::vector<SetColumn> all = set_columns_of(node);
  for (uint32_t i = 0; i < all.size(); i++) {
    table.keys.push_back(layout.add(all[i].type, all[i].nullable));
    table.apart.push_back(true);
    columns.push_back({{node.relation, i}, table.keys.back()});
  }
  int64_t counts[2] = {layout.add_bytes(8, 8), layout.add_bytes(8, 8)};
  table.bytes = layout.bytes();
  gen_group_table(node, node.inputs[0]->rows + node.inputs[1]->rows, true, &table);
  Reg zero = constant(Type::kI64, 0), one = constant(Type::kI64, 1);
  for (size_t side = 0; side < 2; side++)
    gen_node(*node.inputs[side], [&] {
      Values keys;
      for (size_t i = 0; i < columns.size(); i++)
        keys.push_back(cast_stored(gen(*node.outputs[side][i]), columns[i].field.type));
      Reg is_new = b_.new_variable(Type::kI8);
      Reg group = find_group(table, keys, ir::kNoReg, is_new);
      Block fresh = b_.new_block(), count = b_.new_block();
      b_.branch(is_new, fresh, count);
      b_.set_block(fresh);
      for (size_t i = 0; i < keys.size(); i++) store_field(group, columns[i].field, keys[i]);
      b_.store(group, counts[0], zero);
      b_.store(group, counts[1], zero);
      b_.jump(count);
      b_.set_block(count);
      int64_t at = counts[is_union ? 0 : side];
      b_.store(group, at, b_.binary(Op::kAdd, b_.load(Type::kI64, group, at), one));
    });
  auto combine = [&](Reg mine, Reg other) {
    for (int64_t at : counts)
      b_.store(mine, at, b_.binary(Op::kAdd, b_.load(Type::kI64, mine, at), b_.load(Type::kI64, other, at)));
  };
  Reg times = b_.new_variable(Type::kI64);
  auto emit = [&](Reg tuple) {
    Reg l = b_.load(Type::kI64, tuple, counts[0]), r = b_.load(Type::kI64, tuple, counts[1]);
    Reg in_left = b_.convert(Op::kZExt, b_.compare(Op::kGt, l, zero), Type::kI64);
    Reg wanted = in_left;
    if (node.set == SetOp::kIntersect && node.set_all)
      wanted = b_.select(b_.compare(Op::kLt, l, r), l, r);
    else if (node.set == SetOp::kIntersect)
      wanted = b_.select(b_.compare(Op::kGt, r, zero), in_left, zero);
    else if (node.set == SetOp::kExcept && node.set_all)
      wanted = b_.binary(Op::kSub, l, r);
    else if (node.set == SetOp::kExcept)
      wanted = b_.select(b_.compare(Op::kEq, r, zero), in_left, zero);
    b_.assign(times, wanted);
    Block again = b_.new_block(), emit = b_.new_block(), next = b_.new_block();
    b_.jump(again);
    b_.set_block(again);
    b_.branch(b_.compare(Op::kGt, times, zero), emit, next);
    b_.set_block(emit);
    b_.assign(times, b_.binary(Op::kSub, times, one));
    publish(columns, tuple);
    body();
    if (!b_.terminated()) b_.jump(again);
    b_.set_block(next);
  };
  gen_merge(table, node, combine, [&](Reg groups) { for_each_tuple(groups, table.bytes, emit); });
}

}  // namespace scyper::query
