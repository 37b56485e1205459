#include <algorithm>

#include "base/check.h"
#include "codegen/aggregate_state.h"
#include "codegen/hash_table.h"
#include "plan/aggregate_kind.h"
#include "plan/expressions.h"
#include "plan/scan_condition.h"
#include "runtime/spill.h"

namespace scyper::query {

using ir::Op;
using ir::Type;

namespace {
constexpr int64_t kHeaderBytes = sizeof(TupleEntry);
}  // namespace

void Generator::gen_group(const PlanNode& node, const Body& body) {
  if (node.exprs.empty() && !node.aggregates.empty()) return gen_plain_aggregation(node, body);
  if (node.aggregates.empty()) return gen_distinct(node, body);
  if (node.is_group_join) return gen_group_join(node, body);
  TupleLayout layout(kHeaderBytes);
  GroupTable table;
  for (size_t i = 0; i < node.exprs.size(); i++) {
    table.fields.push_back(layout.add(node.exprs[i]->type, node.exprs[i]->nullable));
    if (!node.hashed[i]) continue;
    table.keys.push_back(table.fields.back());
    table.apart.push_back(node.exprs[i]->nullable);
  }
  std::vector<AggregateSlot> slots = lay_out_aggregates(node, &layout);
  table.bytes = layout.bytes();
  gen_group_table(node, node.inputs[0]->rows,
                  std::all_of(node.aggregates.begin(), node.aggregates.end(), has_small_state), &table);
  std::vector<Reg> distinct = gen_distinct_tables(node.aggregates);
  auto gen_keys = [&] {
    Values keys;
    for (size_t i = 0; i < node.exprs.size(); i++)
      if (node.hashed[i]) keys.push_back(cast_stored(gen(*node.exprs[i]), node.exprs[i]->type));
    return keys;
  };
  gen_grouped(node, table, gen_keys, [&](Reg hash) {
    Values keys = gen_keys();
    Reg is_new = b_.new_variable(Type::kI8);
    Reg group = find_group(table, keys, hash, is_new);
    Block fresh = b_.new_block(), step = b_.new_block();
    b_.branch(is_new, fresh, step, 2);
    b_.set_block(fresh);
    size_t k = 0;
    for (size_t i = 0; i < node.exprs.size(); i++) {
      Value value = node.hashed[i] ? keys[k++] : cast_stored(gen(*node.exprs[i]), node.exprs[i]->type);
      store_field(group, table.fields[i], value);
    }
    clear_states(slots, group);
    b_.jump(step);
    b_.set_block(step);
    step_states(node, slots, group, distinct);
  });
  std::vector<int64_t> offsets;
  for (const auto& slot : slots) offsets.push_back(slot.offset);
  auto combine = [&](Reg mine, Reg other) { combine_states(node, slots, mine, other, offsets); };
  auto emit = [&](Reg tuple) {
    RowSource source;
    source.tuple = tuple;
    source.values.resize(node.exprs.size() + node.aggregates.size());
    for (size_t i = 0; i < node.exprs.size(); i++) source.values[i] = load_field(tuple, table.fields[i]);
    for (const auto& column : node.needed)
      if (column.id.relation == node.relation && column.id.index >= node.exprs.size()) {
        size_t a = column.id.index - node.exprs.size();
        source.values[column.id.index] = finish_state(node.aggregates[a], slots, a, tuple);
      }
    source.tuple = ir::kNoReg;
    sources_[node.relation] = std::move(source);
    body();
  };
  gen_merge(table, node, combine, [&](Reg groups) { for_each_tuple(groups, table.bytes, emit); });
}

// rows: of the input, each of which may be a group.
void Generator::gen_group_table(const PlanNode& node, double rows, bool can_spill, GroupTable* table) {
  check(b_.call(k_rt_groups_create, {context(), constant(Type::kI64, table->bytes),
                                     constant(Type::kI64, static_cast<int64_t>(std::min(node.rows, 1e6)))}));
  table->store = b_.load(Type::kPtr, context(), kContextValue);
  constexpr double kMoreThanEstimated = 32;
  table->spills = can_spill && may_spill(std::min(rows, node.rows * kMoreThanEstimated), table->bytes);
  if (table->spills) b_.call(k_rt_spill_hashed, {context(), table->store});
  if (table->spills || node.places == 0) return;
  table->places_from = node.places_from;
  table->places = node.places;
  check(b_.call(k_rt_groups_array, {context(), constant(Type::kI64, node.places + 1)}));
  table->near = b_.load(Type::kPtr, context(), kContextValue);
}

// Runs body(hash) for each input row; no hash where the groups are few.
void Generator::gen_grouped(const PlanNode& node, const GroupTable& table, const std::function<Values()>& gen_keys,
                            const std::function<void(Reg)>& body) {
  const PlanNode& input = *node.inputs[0];
  // staged rows compute their keys twice
  bool computes = std::any_of(node.exprs.begin(), node.exprs.end(),
                              [](const BoundPtr& e) { return has_subquery(*e) || is_volatile(*e); });
  if (computes || !is_worth_staging(input, node.rows, table.bytes)) return gen_node(input, [&] { body(ir::kNoReg); });
  gen_staged(input, table.store, [&](Block) { return hash_of(gen_keys(), table.apart); }, body);
}

// The group of these keys, with their fields and states not yet filled where it is new (is_new: a variable).
ir::Reg Generator::find_group(const GroupTable& table, const Values& keys, Reg hash, Reg is_new) {
  Reg group = b_.new_variable(Type::kPtr);
  b_.assign(is_new, constant(Type::kI8, 0));
  if (hash != ir::kNoReg || table.places == 0) {
    search_group(table, keys, hash, is_new, group);
    return b_.offset(group, 0);
  }
  Block search = b_.new_block(), inside = b_.new_block(), found = b_.new_block();
  Reg place = b_.new_variable(Type::kPtr);
  b_.assign(place, b_.offset(table.near, table.places * static_cast<int64_t>(sizeof(void*))));
  Value key = keys[0];
  reject_null(&key, search);
  Reg word = b_.type_of(key.a) == Type::kI64 ? key.a : b_.convert(Op::kSExt, key.a, Type::kI64);
  Reg number = b_.binary(Op::kSub, word, constant(Type::kI64, table.places_from));
  b_.branch(b_.compare(Op::kULt, number, constant(Type::kI64, table.places)), inside, search, 1);
  b_.set_block(inside);
  b_.assign(place, b_.index(table.near, number, sizeof(void*)));
  b_.assign(group, b_.load(Type::kPtr, place));
  b_.branch(b_.compare(Op::kEq, group, b_.null_pointer()), search, found, 2);
  b_.set_block(search);
  search_group(table, keys, hash_of(keys, table.apart), is_new, group);
  b_.store(place, 0, group);
  b_.jump(found);
  b_.set_block(found);
  return b_.offset(group, 0);
}

// Sets `group` and, where it was made, is_new. hash: kNoReg where it is not computed yet.
void Generator::search_group(const GroupTable& table, const Values& keys, Reg hash, Reg is_new, Reg group) {
  if (hash == ir::kNoReg) hash = hash_of(keys, table.apart);
  Block head = b_.new_block(), each = b_.new_block(), equal = b_.new_block(), next = b_.new_block(),
        create = b_.new_block(), grow = b_.new_block(), insert = b_.new_block(), done = b_.new_block();
  Reg slot = b_.load(Type::kI64, find_slot(table.store, hash));
  Reg mask = constant(Type::kI64, static_cast<int64_t>(kPointerMask));
  b_.assign(group, b_.convert(Op::kBitcast, b_.binary(Op::kAnd, slot, mask), Type::kPtr));
  b_.jump(head);
  b_.set_block(head);
  b_.branch(b_.compare(Op::kEq, group, b_.null_pointer()), create, each, 2);
  b_.set_block(each);
  Reg same_hash = b_.compare(Op::kEq, b_.load(Type::kI64, group, offsetof(TupleEntry, hash)), hash);
  Block check_keys = b_.new_block();
  b_.branch(same_hash, check_keys, next, 1);
  b_.set_block(check_keys);
  compare_keys(keys, table.keys, group, equal, next);
  b_.set_block(next);
  b_.assign(group, b_.load(Type::kPtr, group, offsetof(TupleEntry, next)));
  b_.jump(head);
  b_.set_block(create);
  Reg count = b_.load(Type::kI64, table.store, offsetof(TupleStore, count));
  Reg limit = b_.load(Type::kI64, table.store, offsetof(TupleStore, count_limit));
  b_.branch(b_.compare(Op::kLt, count, limit), insert, grow, 1);
  b_.set_block(grow);
  check(b_.call(k_rt_groups_grow, {context(), table.store}));
  b_.jump(insert);
  b_.set_block(insert);
  Reg tuple = append_tuple(table.store, table.bytes);
  Reg place = find_slot(table.store, hash);
  Reg old = b_.load(Type::kI64, place);
  b_.store(tuple, offsetof(TupleEntry, next), b_.binary(Op::kAnd, old, mask));
  b_.store(tuple, offsetof(TupleEntry, hash), hash);
  b_.store(place, 0, b_.convert(Op::kBitcast, tuple, Type::kI64));
  Reg before = b_.load(Type::kI64, table.store, offsetof(TupleStore, count));  // 0 where all went to disk meanwhile
  b_.store(table.store, offsetof(TupleStore, count), b_.binary(Op::kAdd, before, constant(Type::kI64, 1)));
  b_.assign(group, tuple);
  b_.assign(is_new, constant(Type::kI8, 1));
  b_.jump(done);
  b_.set_block(equal);
  b_.jump(done);
  b_.set_block(done);
}

// DISTINCT: a row passes when it is new. Only the hashed keys are compared: the array of groups goes by the one of
// them.
void Generator::gen_distinct(const PlanNode& node, const Body& body) {
  TupleLayout layout(kHeaderBytes);
  GroupTable table;
  for (size_t i = 0; i < node.exprs.size(); i++) {
    table.fields.push_back(layout.add(node.exprs[i]->type, node.exprs[i]->nullable));
    if (!node.hashed[i]) continue;
    table.keys.push_back(table.fields.back());
    table.apart.push_back(node.exprs[i]->nullable);
  }
  table.bytes = layout.bytes();
  gen_group_table(node, node.inputs[0]->rows, true, &table);
  bool streams = !shared_run_ && !table.spills;  // a row leaves as soon as it is known to be new
  auto gen_values = [&](bool hashed_only) {
    Values values;
    for (size_t i = 0; i < node.exprs.size(); i++)
      if (node.hashed[i] || !hashed_only) values.push_back(cast_stored(gen(*node.exprs[i]), node.exprs[i]->type));
    return values;
  };
  auto emit = [&](const Values& values) {
    RowSource source;
    source.values = values;
    if (source.values.empty()) source.values.resize(1);
    sources_[node.relation] = std::move(source);
    body();
  };
  gen_grouped(
      node, table, [&] { return gen_values(true); },
      [&](Reg hash) {
        const Values values = gen_values(false);
        Values keys;
        for (size_t i = 0; i < values.size(); i++)
          if (node.hashed[i]) keys.push_back(values[i]);
        Reg is_new = b_.new_variable(Type::kI8);
        Reg group = find_group(table, keys, hash, is_new);
        Block fresh = b_.new_block(), next = b_.new_block();
        b_.branch(is_new, fresh, next);
        b_.set_block(fresh);
        for (size_t i = 0; i < values.size(); i++) store_field(group, table.fields[i], values[i]);
        if (streams) emit(values);
        if (!b_.terminated()) b_.jump(next);
        b_.set_block(next);
      });
  if (streams) return;
  auto emit_tuple = [&](Reg tuple) {
    Values row;
    for (const auto& field : table.fields) row.push_back(load_field(tuple, field));
    emit(row);
  };
  gen_merge(table, node, [](Reg, Reg) {}, [&](Reg groups) { for_each_tuple(groups, table.bytes, emit_tuple); });
}

// --- states ---

namespace {
// Sums of that many digits never overflow 64 bits in 10^10 rows, or 128 in 10^20.
constexpr int kSumDigits64 = 8;

bool sums_small(const SqlType& type) {
  return type.id == TypeId::kInt2 || type.id == TypeId::kInt4 ||
         (type.id == TypeId::kNumeric && type.precision != 0 && type.precision <= kSumDigits64);
}

// The slot that counts the inputs of an aggregate; -1: none does. Slots: AggregateSlots of the node.
template <typename Slots>
int counting_slot(const PlanNode& node, const Slots& slots, const Aggregate& aggregate) {
  auto nullable_argument = [](const Aggregate& a) {
    return a.args.empty() || !a.args[0]->nullable ? nullptr : a.args[0].get();
  };
  const BoundExpr* arg = nullable_argument(aggregate);
  for (size_t i = 0; i < slots.size(); i++) {
    if (slots[i].kind != Slots::value_type::Kind::kCount || slots[i].counter != static_cast<int>(i)) continue;
    const Aggregate& other = node.aggregates[i];
    const BoundExpr* its = nullable_argument(other);
    bool equal = (arg == nullptr && its == nullptr) || (arg != nullptr && its != nullptr && same(*arg, *its));
    if (equal && aggregate.filter == nullptr && other.filter == nullptr) return static_cast<int>(i);
  }
  return -1;
}

// The slot before this one that sums up the same; -1: none does.
template <typename Slots>
int keeping_slot(const PlanNode& node, const Slots& slots, size_t number) {
  const Aggregate& a = node.aggregates[number];
  if (a.filter != nullptr || is_volatile(*a.args[0])) return -1;
  for (size_t i = 0; i < number; i++) {
    if (slots[i].kind != Slots::value_type::Kind::kSum || slots[i].keeper >= 0) continue;
    const Aggregate& other = node.aggregates[i];
    if (other.filter == nullptr && same(*a.args[0], *other.args[0])) return static_cast<int>(i);
  }
  return -1;
}

// Does an aggregate whose state this slot keeps need to know of how many inputs it is?
template <typename Slots>
bool needs_count(const PlanNode& node, const Slots& slots, size_t keeper) {
  for (size_t i = 0; i < node.aggregates.size(); i++) {
    const bool is_kept = i == keeper || slots[i].keeper == static_cast<int>(keeper);
    if (is_kept && node.aggregates[i].kind != AggregateKind::kSum) return true;
  }
  return false;
}
}  // namespace

std::vector<Generator::AggregateSlot> Generator::lay_out_aggregates(const PlanNode& node, TupleLayout* layout) {
  std::vector<AggregateSlot> slots(node.aggregates.size());
  auto place = [&](AggregateSlot* slot, int64_t bytes) {
    if (layout != nullptr)
      slot->offset = layout->add_bytes(bytes, std::min<int64_t>(bytes, 8));
    else
      slot->variable = b_.new_variable(slot->type);
  };
  for (size_t i = 0; i < slots.size(); i++) {
    const Aggregate& a = node.aggregates[i];
    if (!is_plain(a) || (a.kind != AggregateKind::kCount && a.kind != AggregateKind::kCountStar)) continue;
    slots[i].kind = AggregateSlot::Kind::kCount;
    slots[i].type = Type::kI64;
    slots[i].counter = counting_slot(node, slots, a);
    if (slots[i].counter >= 0) continue;
    slots[i].counter = static_cast<int>(i);
    place(&slots[i], 8);
  }
  for (size_t i = 0; i < slots.size(); i++) {
    const Aggregate& a = node.aggregates[i];
    AggregateSlot& slot = slots[i];
    if (slot.kind == AggregateSlot::Kind::kCount) continue;
    bool sum = is_plain_sum(a);
    SqlType type = a.args.empty() ? SqlType{} : a.args[0]->type;
    if (sum || is_plain_extreme(a)) {
      slot.kind = sum ? AggregateSlot::Kind::kSum : AggregateSlot::Kind::kExtreme;
      slot.type = register_type(type);
      if (sum && type.id != TypeId::kFloat8) slot.type = sums_small(type) ? Type::kI64 : Type::kI128;
      slot.checked = sum && type.id == TypeId::kNumeric && type.precision > kMaxPrecision64;
      if (sum) slot.keeper = keeping_slot(node, slots, i);
      if (slot.keeper >= 0) continue;
      place(&slot, slot.type == Type::kI128 ? 16 : slot.type == Type::kI16 ? 2 : slot.type == Type::kI32 ? 4 : 8);
      if (sum) slot.counter = counting_slot(node, slots, a);  // an extreme asks its count before it is raised
      continue;
    }
    if (layout != nullptr)
      slot.offset = layout->add_bytes(kAggregateStateBytes, 8);
    else
      slot.frame = b_.reserve_frame(kAggregateStateBytes);
  }
  for (size_t i = 0; i < slots.size(); i++) {
    AggregateSlot& slot = slots[i];
    if (slot.kind != AggregateSlot::Kind::kSum && slot.kind != AggregateSlot::Kind::kExtreme) continue;
    const Aggregate& a = node.aggregates[i];
    if (slot.keeper >= 0) continue;
    bool certain = layout != nullptr && !a.args[0]->nullable && a.filter == nullptr;
    if (slot.counter >= 0 || (certain && !needs_count(node, slots, i))) continue;
    AggregateSlot counter;
    counter.kind = AggregateSlot::Kind::kCount;
    counter.type = Type::kI64;
    place(&counter, 8);
    slots.push_back(counter);
    slots.back().counter = static_cast<int>(slots.size()) - 1;
    slots[i].counter = -2 - static_cast<int>(slots.size() - 1);  // its own: counted with it
  }
  for (AggregateSlot& slot : slots)
    if (slot.keeper >= 0) slot.counter = slots[static_cast<size_t>(slot.keeper)].counter;
  return slots;
}

ir::Reg Generator::load_state(const AggregateSlot& slot, Reg tuple) {
  if (slot.variable == ir::kNoReg) return b_.load(slot.type, tuple, slot.offset);
  if (slot.type == Type::kF64) return slot.variable;
  return b_.binary(Op::kAdd, slot.variable, constant(slot.type, 0));
}

void Generator::store_state(const AggregateSlot& slot, Reg tuple, Reg value) {
  if (slot.variable == ir::kNoReg)
    b_.store(tuple, slot.offset, value);
  else
    b_.assign(slot.variable, value);
}

void Generator::clear_states(const std::vector<AggregateSlot>& slots, Reg tuple) {
  for (const auto& slot : slots) {
    if (slot.kind == AggregateSlot::Kind::kGeneric) {
      Reg base = slot.frame >= 0 ? b_.frame_address(slot.frame) : b_.offset(tuple, slot.offset);
      for (int64_t at = 0; at < kAggregateStateBytes; at += 8) b_.store(base, at, constant(Type::kI64, 0));
    } else if (slot.offset >= 0 || slot.variable != ir::kNoReg) {
      store_state(slot, tuple, slot.type == Type::kF64 ? b_.constant_f64(0) : constant(slot.type, 0));
    }
  }
}

void Generator::step_states(const PlanNode& node, const std::vector<AggregateSlot>& slots, Reg tuple,
                            const std::vector<Reg>& distinct) {
  for (size_t i = 0; i < node.aggregates.size(); i++) {
    const Aggregate& aggregate = node.aggregates[i];
    const AggregateSlot& slot = slots[i];
    if (slot.kind == AggregateSlot::Kind::kGeneric) {
      Reg state = slot.frame >= 0 ? b_.frame_address(slot.frame) : b_.offset(tuple, slot.offset);
      update_aggregate(aggregate, state, tuple, distinct[i]);
      continue;
    }
    const bool is_elsewhere = slot.kind == AggregateSlot::Kind::kCount && slot.counter != static_cast<int>(i);
    if (is_elsewhere || slot.keeper >= 0) continue;
    step_state(aggregate, slots, i, tuple);
  }
}

void Generator::step_state(const Aggregate& aggregate, const std::vector<AggregateSlot>& slots, size_t number,
                           Reg tuple) {
  const AggregateSlot& slot = slots[number];
  Block next = b_.new_block();
  if (aggregate.filter != nullptr) {
    Block accept = b_.new_block();
    gen_condition(*aggregate.filter, accept, next);
    b_.set_block(accept);
  }
  auto count = [&](const AggregateSlot& counter) {
    store_state(counter, tuple, b_.binary(Op::kAdd, load_state(counter, tuple), constant(Type::kI64, 1)));
  };
  if (slot.kind == AggregateSlot::Kind::kCount && (aggregate.args.empty() || !aggregate.args[0]->nullable)) {
    count(slot);
    b_.jump(next);
    return b_.set_block(next);
  }
  Value value = gen(*aggregate.args[0]);
  if (value.null != ir::kNoReg) {
    Block present = b_.new_block();
    b_.branch(value.null, next, present);
    b_.set_block(present);
    value.null = ir::kNoReg;
  }
  if (slot.kind == AggregateSlot::Kind::kCount) {
    count(slot);
  } else if (slot.kind == AggregateSlot::Kind::kSum) {
    Reg old = load_state(slot, tuple);
    Reg sum = ir::kNoReg;
    if (slot.type == Type::kF64) {
      sum = b_.binary(Op::kFAdd, old, value.a);
    } else {
      Reg wide = b_.type_of(value.a) == slot.type ? value.a : b_.convert(Op::kSExt, value.a, slot.type);
      sum = slot.checked ? b_.binary_checked(Op::kAddChecked, old, wide, raise_block(RuntimeError::kNumericOverflow))
                         : b_.binary(Op::kAdd, old, wide);
    }
    store_state(slot, tuple, sum);
  } else {
    // the first input wins against nothing: its count is raised below
    const AggregateSlot& counter = slots[static_cast<size_t>(slot.counter <= -2 ? -2 - slot.counter : slot.counter)];
    Value current;
    current.type = value.type;
    current.a = load_state(slot, tuple);
    Block compare_block = b_.new_block(), take = b_.new_block(), taken = b_.new_block();
    Reg none = b_.compare(Op::kEq, load_state(counter, tuple), constant(Type::kI64, 0));
    b_.branch(none, take, compare_block);
    b_.set_block(compare_block);
    bool smallest = aggregate.kind == AggregateKind::kMin;
    b_.branch(compare(smallest ? BuiltinOp::kLess : BuiltinOp::kGreater, value, current), take, taken);
    b_.set_block(take);
    store_state(slot, tuple, value.a);
    b_.jump(taken);
    b_.set_block(taken);
  }
  if (slot.counter <= -2) count(slots[static_cast<size_t>(-2 - slot.counter)]);
  b_.jump(next);
  b_.set_block(next);
}

Value Generator::finish_state(const Aggregate& aggregate, const std::vector<AggregateSlot>& slots, size_t number,
                              Reg tuple) {
  const AggregateSlot& slot = slots[number];
  if (slot.kind == AggregateSlot::Kind::kGeneric)
    return finish_aggregate(aggregate, slot.frame >= 0 ? b_.frame_address(slot.frame) : b_.offset(tuple, slot.offset));
  Value result;
  result.type = aggregate.type;
  Reg count = ir::kNoReg;
  if (slot.counter != -1)
    count = load_state(slots[static_cast<size_t>(slot.counter <= -2 ? -2 - slot.counter : slot.counter)], tuple);
  if (slot.kind == AggregateSlot::Kind::kCount) {
    result.a = count;
    return result;
  }
  Reg none = count == ir::kNoReg ? ir::kNoReg : b_.compare(Op::kEq, count, constant(Type::kI64, 0));
  const AggregateSlot& keeper = slot.keeper >= 0 ? slots[static_cast<size_t>(slot.keeper)] : slot;
  Reg state = load_state(keeper, tuple);
  if (keeper.variable != ir::kNoReg && slot.type == Type::kF64) {
    Reg zero = b_.constant_f64(-0.0);
    state = b_.binary(Op::kFAdd, state, zero);  // a temporary of the same value
  }
  const SqlType& arg = aggregate.args[0]->type;
  if (slot.kind == AggregateSlot::Kind::kExtreme) {
    result.a = state;
    result.null = none;
    return result;
  }
  if (aggregate.kind == AggregateKind::kSum) {
    Type wanted = register_type(aggregate.type);
    result.a = b_.type_of(state) == wanted ? state : b_.convert(Op::kSExt, state, wanted);
    if (is_dynamic_numeric(aggregate.type)) result.b = constant(Type::kI32, arg.id == TypeId::kNumeric ? arg.scale : 0);
    result.null = none;
    return result;
  }
  Value sum, number_of;
  sum.type = arg.id == TypeId::kFloat8 ? arg : make_numeric(kMaxPrecision, arg.id == TypeId::kNumeric ? arg.scale : 0);
  sum.a = b_.type_of(state) == Type::kI64 ? b_.convert(Op::kSExt, state, Type::kI128) : state;
  number_of.type = make_type(TypeId::kInt8);
  number_of.a = count;
  number_of.null = none;
  return strict({sum, number_of}, aggregate.type, [&](const Values& values) {
    if (arg.id != TypeId::kFloat8) return decimal_call(BuiltinOp::kDivide, values[0], values[1], aggregate.type);
    Value average;
    average.type = aggregate.type;
    average.a = b_.binary(Op::kFDiv, values[0].a, b_.convert(Op::kIntToF, values[1].a, Type::kF64));
    return average;
  });
}

// What frozen chunks can give instead of rows, if the input is a scan that lets them: the results are rows first, then
// the slots' states.
WholeChunks Generator::make_whole_chunks(const PlanNode& node, const AggregateSlots& slots) {
  const PlanNode& input = *node.inputs[0];
  if (input.kind != PlanKind::kGet || input.path.kind != AccessKind::kFullScan || !input.filters.empty() ||
      input.source->table == nullptr || !compacts(*input.source->table) || slots.size() >= kChunkAggregatesMax ||
      !are_scan_conditions_exact(*input.source, views_of(input.conjuncts)))
    return {};
  using Kind = storage::ChunkAggregate::Kind;
  WholeChunks whole{&input, {{Kind::kRows, 0}}, {}};
  whole.wanted.resize(slots.size() + 1);
  for (size_t i = 0; i < node.aggregates.size(); i++) {
    const Aggregate& a = node.aggregates[i];
    const AggregateSlot& slot = slots[i];
    if (slot.kind == AggregateSlot::Kind::kGeneric || a.filter != nullptr) return {};
    if (a.args.empty()) continue;
    const BoundExpr* given = a.args[0].get();
    while (widens_integer(*given)) given = given->args[0].get();
    const BoundExpr& arg = *given;
    if (slot.kind == AggregateSlot::Kind::kCount && arg.kind == BoundKind::kConst && !arg.nullable) continue;
    if (arg.kind != BoundKind::kColumn || arg.relation != input.source->id) return {};
    if (slot.type == Type::kF64) return {};  // sums depend on the order
    storage::ChunkAggregate& wanted = whole.wanted[i + 1];
    wanted = {Kind::kValues, arg.index};
    if (slot.kind == AggregateSlot::Kind::kSum) wanted.kind = Kind::kSum;
    if (slot.kind == AggregateSlot::Kind::kExtreme)
      wanted.kind = a.kind == AggregateKind::kMin ? Kind::kMin : Kind::kMax;
    if (slot.counter <= -2) whole.wanted[static_cast<size_t>(-2 - slot.counter) + 1] = {Kind::kValues, arg.index};
  }
  whole.add = [this, &node, &slots, &input](Reg results) {
    std::vector<int64_t> offsets;
    for (size_t i = 0; i < slots.size(); i++) offsets.push_back(static_cast<int64_t>(i + 1) * 16);
    combine_states(node, slots, ir::kNoReg, results, offsets);
    if (auto found = counters_.find(&input); found != counters_.end())
      raise_counter(found->second.rows, b_.load(Type::kI64, results));
  };
  return whole;
}

void Generator::gen_plain_aggregation(const PlanNode& node, const Body& body) {
  std::vector<AggregateSlot> slots = lay_out_aggregates(node, nullptr);
  std::vector<Reg> distinct = gen_distinct_tables(node.aggregates);
  clear_states(slots, ir::kNoReg);
  const WholeChunks whole = make_whole_chunks(node, slots);
  whole_chunks_ = whole.scan == nullptr ? nullptr : &whole;
  gen_node(*node.inputs[0], [&] { step_states(node, slots, ir::kNoReg, distinct); });
  whole_chunks_ = nullptr;
  gen_sum_up(node, slots);
  gen_by_one([&] {
    RowSource source;
    source.values.resize(node.aggregates.size());
    for (size_t i = 0; i < node.aggregates.size(); i++)
      source.values[i] = finish_state(node.aggregates[i], slots, i, ir::kNoReg);
    sources_[node.relation] = std::move(source);
    body();
  });
}

}  // namespace scyper::query
