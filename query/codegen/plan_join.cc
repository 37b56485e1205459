#include <algorithm>
#include <utility>

#include "base/check.h"
#include "codegen/hash_table.h"
#include "plan/expressions.h"
#include "runtime/spill.h"
#include "runtime/team.h"

namespace scyper::query {

using ir::Op;
using ir::Type;

namespace {
constexpr int64_t kHeaderBytes = sizeof(TupleEntry);
}  // namespace

void Generator::gen_join(const PlanNode& node, const Body& body) {
  if (node.method == JoinMethod::kLookup) return gen_lookup_join(node, body);
  if (node.method == JoinMethod::kHashSwapped) return gen_swapped_join(node, body);
  if (node.join == JoinKind::kFull) return gen_full_join(node, body);
  GroupJoin* group = std::exchange(grouping_, nullptr);
  JoinTable table = gen_join_build(node, *node.inputs[1], false);
  if (group != nullptr) open_group_join(group, &table);
  auto probe = [&](Reg hash) {
    if (node.join == JoinKind::kMark) return gen_mark(node, table, hash, body);
    gen_join_probe(node, table, hash, body);
  };
  gen_probes(node, *node.inputs[0], table, probe, {});
}

// Runs probe() for each row of `input`, the side that is not in the table; those whose NULL meets nobody are left out
// where they are not wanted. Then what `rounds` says. Nothing of it where the table is empty and no row can come out,
// unless somebody could notice; errors of that side may not be raised then, as in PostgreSQL.
void Generator::gen_probes(const PlanNode& node, const PlanNode& input, const JoinTable& table,
                           const std::function<void(Reg hash)>& probe, const Rounds& rounds) {
  bool left = &input == node.inputs[0].get();
  const PlanNode& other = *node.inputs[left ? 1 : 0];
  bool needs_partner = node.join == JoinKind::kInner || node.join == JoinKind::kSemi;
  Block some = b_.new_block(), done = b_.new_block();
  if ((!left || needs_partner) && !has_effects(input)) {
    Reg kept = b_.load(Type::kI64, table.store, offsetof(TupleStore, count));
    if (table.spills) kept = b_.binary(Op::kOr, kept, b_.load(Type::kI64, table.store, offsetof(TupleStore, spilled)));
    b_.branch(b_.compare(Op::kNe, kept, constant(Type::kI64, 0)), some, done, 1);
  } else {
    b_.jump(some);
  }
  b_.set_block(some);
  bool staged = !node.keys.empty() && !table.is_direct && node.join != JoinKind::kFull &&
                is_worth_staging(input, other.rows, table.bytes);
  auto finish = [&] {
    if (rounds.meets && shared_run_) check(b_.call(k_rt_meet, {context()}));
    if (rounds.after) rounds.after();
  };
  if (!staged && !table.spills) {
    gen_node(input, [&] { probe(ir::kNoReg); });
    finish();
  } else {
    bool dropped = node.join == JoinKind::kFull ? false : !left || needs_partner;
    gen_staged(
        input, table.store,
        [&](Block skip) { return hash_of(gen_join_keys(node, left, dropped ? skip : ir::kNoBlock), table.apart); },
        probe, table.spills ? &rounds : nullptr);
    if (!table.spills) finish();
  }
  if (!b_.terminated()) b_.jump(done);
  b_.set_block(done);
}

// The table's rows through an index, for each row of the other side.
void Generator::gen_lookup_join(const PlanNode& node, const Body& body) {
  const PlanNode& get = *node.inputs[1];
  std::vector<bool> covered(node.conjuncts.size(), false);
  for (const auto& part : get.path.equal)
    if (part.conjunct != kNoConjunct) covered[part.conjunct] = true;
  gen_node(*node.inputs[0], [&] {
    sources_[get.relation] = RowSource{};
    sources_[get.relation].relation = get.source;
    gen_table_scan(*get.source, get.path, {}, [&] {
      Block next = b_.new_block();
      for (size_t i = 0; i < node.conjuncts.size(); i++) {
        if (covered[i]) continue;
        Block accept = b_.new_block();
        gen_condition(*node.conjuncts[i], accept, next);
        b_.set_block(accept);
      }
      body();
      if (!b_.terminated()) b_.jump(next);
      b_.set_block(next);
    });
  });
}

// The keys' values; NULL where that equals nothing goes to `null`.
Generator::Values Generator::gen_join_keys(const PlanNode& node, bool left, Block null) {
  Values keys;
  for (const auto& key : node.keys) {
    Value value = cast(gen(left ? *key.left : *key.right), key.type, true);
    if (!key.null_safe && null != ir::kNoBlock) reject_null(&value, null);
    keys.push_back(value);
  }
  return keys;
}

// keeps_null: rows whose key is NULL stay in the table, though they meet no partner.
Generator::JoinTable Generator::gen_join_build(const PlanNode& node, const PlanNode& input, bool keeps_null) {
  bool right = &input == node.inputs[1].get();
  bool outer = right ? node.join == JoinKind::kLeft || node.join == JoinKind::kSingle || node.join == JoinKind::kFull
                     : node.join == JoinKind::kFull;
  JoinTable table;
  table.is_direct = node.is_direct && !keeps_null;
  TupleLayout layout(table.is_direct ? 0 : kHeaderBytes);
  // what is read of this side: above the join, and in its residual conditions
  std::vector<PlanColumn> wanted = node.needed;
  for (const auto* list : {&node.conjuncts, &node.doubtful})
    for (const auto& e : *list)
      visit(*e, [&](const BoundExpr& x) {
        if (x.kind != BoundKind::kColumn) return;
        ColumnId id{x.relation, x.index};
        bool known = std::any_of(wanted.begin(), wanted.end(), [&](const PlanColumn& c) { return c.id == id; });
        if (known) return;
        for (const auto& column : input.needed)
          if (column.id == id) wanted.push_back(column);
      });
  table.columns = lay_out(wanted, produced_by(input), outer, &layout);
  for (const auto& key : node.keys) table.apart.push_back(key.null_safe);
  std::vector<bool> shared(node.keys.size(), false);
  for (size_t i = 0; i < node.keys.size(); i++) {
    const JoinKey& key = node.keys[i];
    const BoundExpr& expr = right ? *key.right : *key.left;
    for (const auto& column : table.columns) {
      if (expr.kind != BoundKind::kColumn || column.id != ColumnId{expr.relation, expr.index}) continue;
      bool texts = is_string(key.type.id) &&
                   (key.type.id == TypeId::kChar) == (column.field.type.id == TypeId::kChar) &&
                   is_string(column.field.type.id);
      if ((column.field.type != key.type && !texts) || shared[i]) continue;
      shared[i] = true;
      table.keys.push_back(column.field);
    }
    if (!shared[i]) table.keys.push_back(layout.add(key.type, expr.nullable && (key.null_safe || keeps_null)));
  }
  if (keeps_null) table.flag = layout.add_bytes(1, 1);
  if (table.is_direct) table.present = layout.add_bytes(1, 1);
  table.bytes = layout.bytes();
  check(b_.call(k_rt_tuples_create, {context(), constant(Type::kI64, table.bytes)}));
  table.store = b_.load(Type::kPtr, context(), kContextValue);
  table.spills = !node.keys.empty() && !table.is_direct && may_spill(input.rows, table.bytes);
  if (table.spills) b_.call(k_rt_spill_hashed, {context(), table.store});
  gen_node(input, [&] {
    Block next = b_.new_block();
    Values keys = gen_join_keys(node, !right, keeps_null ? ir::kNoBlock : next);
    Reg hash = table.is_direct ? ir::kNoReg : hash_of(keys, table.apart);
    Reg tuple = append_tuple(table.store, table.bytes);
    if (!table.is_direct) b_.store(tuple, offsetof(TupleEntry, hash), hash);
    if (table.is_direct) b_.store(tuple, table.present, constant(Type::kI8, 1));
    store_columns(table.columns, tuple);
    for (size_t i = 0; i < keys.size(); i++)
      if (!shared[i]) store_field(tuple, table.keys[i], keys[i]);
    if (table.flag >= 0) b_.store(tuple, table.flag, constant(Type::kI8, 0));
    b_.jump(next);
    b_.set_block(next);
  });
  if (table.is_direct) {
    gen_direct_build(node.keys.size(), &table);
  } else {
    check(b_.call(k_rt_join_build, {context(), table.store}));
    table.store = b_.load(Type::kPtr, context(), kContextValue);
  }
  gen_filter_build(node, table);
  return table;
}

// Visits the entries whose keys are equal: match(next) is generated once and goes on to `next` for more. `entry` (a
// variable) is the current one. Leaves to `end`.
void Generator::gen_chain(const JoinTable& table, const Values& keys, Reg hash, Reg entry,
                          const std::function<void(Block)>& match, Block end) {
  if (table.is_direct) return gen_direct_run(table, keys, entry, match, end);
  Block walk = b_.new_block(), head = b_.new_block(), each = b_.new_block(), equal = b_.new_block(),
        next = b_.new_block();
  if (hash == ir::kNoReg) hash = hash_of(keys, table.apart);
  Reg slot = b_.load(Type::kI64, find_slot(table.store, hash));
  Reg tag = b_.binary(Op::kAdd, b_.binary(Op::kAnd, hash, constant(Type::kI64, 15)), constant(Type::kI64, kTagShift));
  Reg hit = b_.binary(Op::kAnd, b_.binary(Op::kLShr, slot, tag), constant(Type::kI64, 1));
  b_.branch(b_.compare(Op::kNe, hit, constant(Type::kI64, 0)), walk, end);
  b_.set_block(walk);
  Reg first = b_.binary(Op::kAnd, slot, constant(Type::kI64, static_cast<int64_t>(kPointerMask)));
  b_.assign(entry, b_.convert(Op::kBitcast, first, Type::kPtr));
  b_.jump(each);
  b_.set_block(head);
  Block further = b_.new_block();
  b_.branch(b_.compare(Op::kEq, entry, b_.null_pointer()), end, further);
  b_.set_block(further);
  check_interrupt();  // many rows may have one key
  b_.jump(each);
  b_.set_block(each);
  compare_keys(keys, table.keys, entry, equal, next);
  b_.set_block(equal);
  match(next);
  if (!b_.terminated()) b_.jump(next);
  b_.set_block(next);
  b_.assign(entry, b_.load(Type::kPtr, entry, offsetof(TupleEntry, next)));
  b_.jump(head);
}

// One row of the probing side is at hand.
void Generator::gen_join_probe(const PlanNode& node, const JoinTable& table, Reg hash, const Body& body) {
  JoinKind kind = node.join;
  bool outer = kind == JoinKind::kLeft || kind == JoinKind::kSingle;
  Block done = b_.new_block(), end = b_.new_block();
  Reg entry = b_.new_variable(Type::kPtr);
  Reg matched = outer ? b_.new_variable(Type::kI8) : ir::kNoReg;
  Reg shown = outer ? b_.new_variable(Type::kPtr) : ir::kNoReg;  // the entry, or the tuple of NULLs
  if (outer) {
    b_.assign(matched, constant(Type::kI8, 0));
    b_.assign(entry, b_.null_pointer());
  }
  Block emit = outer ? b_.new_block() : ir::kNoBlock;
  Block more = ir::kNoBlock;
  Values keys = gen_join_keys(node, true, end);
  if (outer) {  // in variables: a way leads from `end`, where a NULL key may have come from, by `emit` back to the
                // chain
    for (Value& key : keys) {
      Value held = new_variable(key.type, key.null != ir::kNoReg);
      held.stable = key.stable;
      assign(held, key);
      key = held;
    }
  }
  gen_chain(
      table, keys, hash, entry,
      [&](Block next) {
        publish(table.columns, b_.offset(entry, 0));
        gen_conjuncts(node.conjuncts, next);
        if (kind == JoinKind::kAnti) return b_.jump(done);
        if (kind == JoinKind::kSingle) {
          Block first = b_.new_block();
          b_.branch(matched, raise_block(RuntimeError::kSubqueryRows), first, 2);
          b_.set_block(first);
        }
        if (outer) {
          b_.assign(matched, constant(Type::kI8, 1));
          b_.assign(shown, entry);
          more = next;
          return b_.jump(emit);
        }
        body();
        if (kind == JoinKind::kSemi && !b_.terminated()) b_.jump(done);
      },
      end);
  if (outer) {
    b_.set_block(emit);
    publish(table.columns, b_.offset(shown, 0));
    body();
    if (!b_.terminated()) {
      Block again = more;
      b_.branch(b_.compare(Op::kEq, entry, b_.null_pointer()), done, again);
    }
  }
  b_.set_block(end);
  if (kind == JoinKind::kAnti) {
    body();
  } else if (outer) {
    Block none = b_.new_block();
    b_.branch(matched, done, none);
    b_.set_block(none);
    b_.assign(entry, b_.null_pointer());
    b_.assign(shown, null_tuple(table.columns, table.bytes));
    b_.jump(emit);
  }
  if (!b_.terminated()) b_.jump(done);
  b_.set_block(done);
}

// The mark: true, or NULL where a conjunct that decides was NULL, or false.
void Generator::gen_mark(const PlanNode& node, const JoinTable& table, Reg hash, const Body& body) {
  Block decided = b_.new_block();
  Reg entry = b_.new_variable(Type::kPtr);
  Value mark;
  mark.type = make_type(TypeId::kBool);
  mark.a = b_.new_variable(Type::kI8);
  b_.assign(mark.a, constant(Type::kI8, 0));
  if (!node.doubtful.empty()) {
    mark.null = b_.new_variable(Type::kI8);
    b_.assign(mark.null, constant(Type::kI8, 0));
  }
  Values keys = gen_join_keys(node, true, decided);
  gen_chain(
      table, keys, hash, entry,
      [&](Block next) {
        publish(table.columns, b_.offset(entry, 0));
        gen_conjuncts(node.conjuncts, next);
        Block sure = b_.new_block();
        if (!node.doubtful.empty()) {
          Reg seen = b_.new_variable(Type::kI8);
          b_.assign(seen, constant(Type::kI8, 0));
          for (const auto& e : node.doubtful) {
            Block accept = b_.new_block(), unknown = b_.new_block();
            gen_logic(*e, accept, next, unknown);
            b_.set_block(unknown);
            b_.assign(seen, constant(Type::kI8, 1));
            b_.jump(accept);
            b_.set_block(accept);
          }
          Block doubt = b_.new_block();
          b_.branch(seen, doubt, sure);
          b_.set_block(doubt);
          b_.assign(mark.null, constant(Type::kI8, 1));
          b_.jump(next);
        } else {
          b_.jump(sure);
        }
        b_.set_block(sure);
        b_.assign(mark.a, constant(Type::kI8, 1));
        if (mark.null != ir::kNoReg) b_.assign(mark.null, constant(Type::kI8, 0));
        b_.jump(decided);
      },
      decided);
  b_.set_block(decided);
  RowSource source;
  source.values = {mark};
  sources_[node.relation] = std::move(source);
  body();
}

// Semi and anti joins whose left side is in the table: partners set a flag, then the table is read.
void Generator::gen_swapped_join(const PlanNode& node, const Body& body) {
  JoinTable table = gen_join_build(node, *node.inputs[0], true);
  auto probe = [&](Reg hash) {
    Block end = b_.new_block();
    Reg entry = b_.new_variable(Type::kPtr);
    Values keys = gen_join_keys(node, false, end);
    gen_chain(
        table, keys, hash, entry,
        [&](Block next) {
          publish(table.columns, b_.offset(entry, 0));
          gen_conjuncts(node.conjuncts, next);
          b_.store(entry, table.flag, constant(Type::kI8, 1));
        },
        end);
    b_.set_block(end);
  };
  bool wanted = node.join == JoinKind::kSemi;
  auto each = [&](Reg tuple) {
    Block accept = b_.new_block(), next = b_.new_block();
    Reg flag = b_.load(Type::kI8, tuple, table.flag);
    b_.branch(flag, wanted ? accept : next, wanted ? next : accept);
    b_.set_block(accept);
    publish(table.columns, tuple);
    body();
    if (!b_.terminated()) b_.jump(next);
    b_.set_block(next);
  };
  Rounds rounds{true, [&] { for_each_tuple(table.store, table.bytes, each, true); }};
  gen_probes(node, *node.inputs[1], table, probe, rounds);
}

// Both sides' rows go through a buffer: pairs and rows of the left first, then rows of the right without partner.
void Generator::gen_full_join(const PlanNode& node, const Body& body) {
  JoinTable table = gen_join_build(node, *node.inputs[1], true);
  TupleLayout layout(0);
  StoredColumns left = lay_out(node.needed, produced_by(*node.inputs[0]), true, &layout);
  StoredColumns right = lay_out(node.needed, produced_by(*node.inputs[1]), true, &layout);
  int64_t bytes = std::max<int64_t>(8, layout.bytes());
  check(b_.call(k_rt_tuples_create, {context(), constant(Type::kI64, bytes)}));
  Reg buffer = b_.load(Type::kPtr, context(), kContextValue);
  auto fill_null = [&](const StoredColumns& columns, Reg tuple) {
    for (const auto& column : columns) store_field(tuple, column.field, null_value(column.field.type));
  };
  auto probe = [&](Reg hash) {
    Block end = b_.new_block(), done = b_.new_block(), none = b_.new_block();
    Reg entry = b_.new_variable(Type::kPtr), matched = b_.new_variable(Type::kI8);
    b_.assign(matched, constant(Type::kI8, 0));
    Values keys = gen_join_keys(node, true, end);
    gen_chain(
        table, keys, hash, entry,
        [&](Block next) {
          publish(table.columns, b_.offset(entry, 0));
          gen_conjuncts(node.conjuncts, next);
          b_.assign(matched, constant(Type::kI8, 1));
          b_.store(entry, table.flag, constant(Type::kI8, 1));
          Reg tuple = append_tuple(buffer, bytes);
          store_columns(left, tuple);
          store_columns(right, tuple);
        },
        end);
    b_.set_block(end);
    b_.branch(matched, done, none);
    b_.set_block(none);
    Reg tuple = append_tuple(buffer, bytes);
    store_columns(left, tuple);
    fill_null(right, tuple);
    b_.jump(done);
    b_.set_block(done);
  };
  auto without_partner = [&](Reg entry) {
    Block accept = b_.new_block(), next = b_.new_block();
    b_.branch(b_.load(Type::kI8, entry, table.flag), next, accept);
    b_.set_block(accept);
    publish(table.columns, entry);
    Reg tuple = append_tuple(buffer, bytes);
    fill_null(left, tuple);
    store_columns(right, tuple);
    b_.jump(next);
    b_.set_block(next);
  };
  auto emit = [&] {
    for_each_tuple(table.store, table.bytes, without_partner);
    for_each_tuple(buffer, bytes, [&](Reg tuple) {
      publish(left, tuple);
      publish(right, tuple);
      body();
    });
    if (table.spills && !b_.terminated()) b_.call(k_rt_tuples_clear, {buffer});
  };
  gen_probes(node, *node.inputs[0], table, probe, {false, emit});
}

}  // namespace scyper::query
