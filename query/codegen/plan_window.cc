#include <algorithm>

#include "base/check.h"
#include "codegen/aggregate_state.h"
#include "codegen/generator.h"
#include "runtime/spill.h"
#include "runtime/tuple_sort.h"
#include "runtime/window.h"

// Window calls: rows are kept, sorted by partition and order, and taken partition by partition; every call writes its
// result into the rows' tuples (runtime/window.h).
namespace scyper::query {

using ir::Op;
using ir::Type;

namespace {
constexpr int64_t kPointerBytes = 8;

int64_t bytes_of(const SqlType& type) {
  TupleLayout layout(0);
  layout.add(type, false);
  Type first = register_type(type);
  if (second_register_type(type) != Type::kVoid) return first == Type::kI128 ? 20 : 16;
  return first == Type::kI8 ? 1 : first == Type::kI16 ? 2 : first == Type::kI32 ? 4 : first == Type::kI128 ? 16 : 8;
}

WindowField window_field(const TupleField& field) {
  WindowField out;
  out.type = field.type;
  out.offset = static_cast<int32_t>(field.offset);
  out.null_offset = static_cast<int32_t>(field.null_offset);
  out.bytes = static_cast<int32_t>(bytes_of(field.type));
  return out;
}

WindowMethod method_of(const Aggregate& aggregate) {
  switch (aggregate.kind) {
    case AggregateKind::kCountStar:
    case AggregateKind::kCount:
      return WindowMethod::kSum;
    case AggregateKind::kSum:
    case AggregateKind::kAvg: {
      const SqlType& type = aggregate.args[0]->type;
      bool exact = is_integer(type.id) || (type.id == TypeId::kNumeric && !is_dynamic_numeric(type));
      return exact ? WindowMethod::kSum : WindowMethod::kStep;
    }
    case AggregateKind::kMin:
    case AggregateKind::kMax:
    case AggregateKind::kBoolAnd:
    case AggregateKind::kBoolOr:
      return WindowMethod::kExtreme;
    default:
      return WindowMethod::kStep;
  }
}
}  // namespace

// Where an expression lies in the tuples: a stored column, an expression that is stored already, or a new field.
TupleField Generator::window_input(const BoundExpr& expr, WindowTuple* tuple) {
  for (const auto& column : tuple->columns)
    if (expr.kind == BoundKind::kColumn && column.id == ColumnId{expr.relation, expr.index} &&
        column.field.type == expr.type)
      return column.field;
  for (const auto& [other, field] : tuple->inputs)
    if (same(*other, expr)) return field;
  TupleField field = tuple->layout.add(expr.type, expr.nullable);
  tuple->inputs.emplace_back(&expr, field);
  return field;
}

Generator::WindowTuple Generator::lay_out_windows(const PlanNode& node, std::vector<TupleSortKey>* keys,
                                                  std::vector<WindowSpec>* specs) {
  WindowTuple tuple;
  tuple.columns = lay_out(node.needed, produced_by(*node.inputs[0]), false, &tuple.layout);
  auto add_key = [&](const BoundExpr& expr, bool descending, bool nulls_first) {
    TupleField field = window_input(expr, &tuple);
    TupleSortKey key{};
    key.type = field.type;
    key.offset = static_cast<int32_t>(field.offset);
    key.null_offset = static_cast<int32_t>(field.null_offset);
    key.descending = descending;
    key.nulls_first = nulls_first;
    keys->push_back(key);
  };
  for (const auto& e : node.exprs) add_key(*e, false, false);
  for (const auto& term : node.order) add_key(*term.expr, term.descending, term.nulls_first);
  for (const auto& call : node.windows) {
    const Aggregate& f = call.function;
    auto input = [&](const BoundPtr& e) {
      return e == nullptr ? WindowField{} : window_field(window_input(*e, &tuple));
    };
    WindowSpec spec{};
    spec.kind = call.kind;
    spec.frame = call.frame;
    tuple.arguments.emplace_back();
    for (const auto& arg : f.args) tuple.arguments.back().push_back(window_input(*arg, &tuple));
    size_t number = call.kind == WindowKind::kNtile ? 0 : 1;
    if (!f.args.empty()) spec.value = input(f.args[0]);
    if (call.kind != WindowKind::kAggregate && f.args.size() > number) spec.number = input(f.args[number]);
    if (call.kind != WindowKind::kAggregate && f.args.size() > 2) spec.otherwise = input(f.args[2]);
    if (f.filter != nullptr) {
      spec.filter = window_field(tuple.layout.add(make_type(TypeId::kBool), false));
      tuple.filters.emplace_back(f.filter.get(), TupleField{make_type(TypeId::kBool), spec.filter.offset, -1});
    }
    spec.counts_only = f.kind == AggregateKind::kCount || f.kind == AggregateKind::kCountStar;
    spec.smallest = f.kind == AggregateKind::kMin || f.kind == AggregateKind::kBoolAnd;
    spec.takes_last = !f.args.empty() && is_dynamic_numeric(f.args[0]->type);
    spec.start_offset = input(call.start_offset);
    spec.end_offset = input(call.end_offset);
    if (!node.order.empty()) {
      spec.key = window_field(window_input(*node.order[0].expr, &tuple));
      spec.range_descending = node.order[0].descending;
      spec.range_nulls_first = node.order[0].nulls_first;
    }
    tuple.results.push_back(tuple.layout.add(f.type, true));
    spec.result = window_field(tuple.results.back());
    specs->push_back(spec);
  }
  return tuple;
}

void Generator::gen_window(const PlanNode& node, const Body& body) {
  std::vector<TupleSortKey> keys;
  std::vector<WindowSpec> specs;
  WindowTuple tuple = lay_out_windows(node, &keys, &specs);
  int64_t bytes = std::max<int64_t>(8, tuple.layout.bytes());
  check(b_.call(k_rt_tuples_create, {context(), constant(Type::kI64, bytes)}));
  Reg store = b_.load(Type::kPtr, context(), kContextValue);
  Reg key_data = data_of(keys), zero = constant(Type::kI64, 0), none = constant(Type::kI64, -1);
  Reg partition_keys = constant(Type::kI64, static_cast<int64_t>(node.exprs.size()));
  Reg key_count = constant(Type::kI64, static_cast<int64_t>(keys.size()));
  bool spills = may_spill(node.inputs[0]->rows, bytes);
  if (spills) b_.call(k_rt_spill_sorted, {context(), store, key_data, key_count, none, partition_keys});
  gen_node(*node.inputs[0], [&] {
    Values values;
    for (const auto& [expr, field] : tuple.inputs) values.push_back(cast_stored(gen(*expr), field.type));
    for (const auto& [expr, field] : tuple.filters) {
      Value value = gen(*expr);
      if (value.null != ir::kNoReg) value.a = b_.select(value.null, constant(Type::kI8, 0), value.a);
      value.null = ir::kNoReg;
      values.push_back(value);
    }
    Reg row = append_tuple(store, bytes);
    store_columns(tuple.columns, row);
    size_t i = 0;
    for (const auto& [expr, field] : tuple.inputs) store_field(row, field, values[i++]);
    for (const auto& [expr, field] : tuple.filters) store_field(row, field, values[i++]);
  });
  Reg sorted_by = node.is_sorted && !spills ? zero : key_count;
  check(b_.call(k_rt_tuples_sort, {context(), store, key_data, sorted_by, zero, none}));
  Reg run = b_.new_variable(Type::kPtr);
  b_.assign(run, b_.null_pointer());
  Reg spec_data = data_of(specs);
  gen_sorted_batches(store, spills, [&](Reg tuples, Reg count) {
    check(b_.call(k_rt_window_create, {context(), run, tuples, count, key_data, partition_keys,
                                       constant(Type::kI64, static_cast<int64_t>(node.order.size()))}));
    b_.assign(run, b_.load(Type::kPtr, context(), kContextValue));
    gen_window_partitions(node, tuple, specs, spec_data, b_.offset(run, 0), body);
  });
}

void Generator::gen_window_partitions(const PlanNode& node, const WindowTuple& tuple,
                                      const std::vector<WindowSpec>& specs, Reg spec_data, Reg run, const Body& body) {
  Block next = b_.new_block(), partition = b_.new_block(), done = b_.new_block();
  b_.jump(next);
  b_.set_block(next);
  check_interrupt();
  check(b_.call(k_rt_window_partition, {context(), run}));
  Reg more = b_.compare(Op::kNe, b_.load(Type::kI64, context(), kContextValue), constant(Type::kI64, 0));
  b_.branch(more, partition, done);
  b_.set_block(partition);
  for (size_t i = 0; i < specs.size(); i++) {
    Reg spec = b_.offset(spec_data, static_cast<int64_t>(i * sizeof(WindowSpec)));
    if (node.windows[i].kind == WindowKind::kAggregate)
      gen_window_aggregate(node.windows[i].function, specs[i], spec, run, tuple.arguments[i], tuple.results[i]);
    else
      check(b_.call(k_rt_window_values, {context(), run, spec}));
  }
  for_each_position(constant(Type::kI64, 0), b_.load(Type::kI64, run, offsetof(WindowRun, count)), [&](Reg i) {
    Reg row = b_.load(Type::kPtr, b_.index(b_.load(Type::kPtr, run, offsetof(WindowRun, partition)), i, kPointerBytes));
    publish(tuple.columns, row);
    RowSource source;
    for (const auto& field : tuple.results) source.values.push_back(load_field(row, field));
    for (size_t w = 0; w < node.windows.size(); w++)
      if (specs[w].kind == WindowKind::kAggregate ? counts_rows(node.windows[w].function.kind)
                                                  : specs[w].kind <= WindowKind::kCumeDist)
        source.values[w].null = ir::kNoReg;
    sources_[node.relation] = std::move(source);
    body();
  });
  b_.jump(next);
  b_.set_block(done);
}

// from .. to - 1
void Generator::for_each_position(Reg from, Reg to, const std::function<void(Reg)>& body) {
  Reg i = b_.new_variable(Type::kI64);
  b_.assign(i, from);
  Block head = b_.new_block(), each = b_.new_block(), next = b_.new_block(), done = b_.new_block();
  b_.jump(head);
  b_.set_block(head);
  b_.branch(b_.compare(Op::kLt, i, to), each, done, 1);
  b_.set_block(each);
  check_interrupt();
  gen_round([&] { body(b_.binary(Op::kAdd, i, constant(Type::kI64, 0))); });
  if (!b_.terminated()) b_.jump(next);
  b_.set_block(next);
  b_.assign(i, b_.binary(Op::kAdd, i, constant(Type::kI64, 1)));
  b_.jump(head);
  b_.set_block(done);
}

// The result of a frame stands until a row has another one.
void Generator::gen_window_aggregate(const Aggregate& aggregate, const WindowSpec& spec, Reg spec_data, Reg run,
                                     const std::vector<TupleField>& arguments, const TupleField& result_field) {
  WindowMethod method = method_of(aggregate);
  check(
      b_.call(k_rt_window_aggregate, {context(), run, spec_data, constant(Type::kI64, static_cast<int64_t>(method))}));
  Reg state = b_.frame_address(b_.reserve_frame(kAggregateStateBytes));
  Value result = new_variable(aggregate.type, true);
  assign(result, null_value(aggregate.type));
  for_each_position(constant(Type::kI64, 0), b_.load(Type::kI64, run, offsetof(WindowRun, count)), [&](Reg i) {
    Reg change = b_.call(k_rt_window_row, {run, i});
    Block update = b_.new_block(), finish = b_.new_block(), put = b_.new_block();
    // the first row of a partition always has a new frame
    b_.branch(b_.compare(Op::kEq, change, constant(Type::kI64, kSameFrame)), put, update);
    b_.set_block(update);
    if (method != WindowMethod::kStep) {
      if (method == WindowMethod::kSum)
        b_.call(k_rt_window_sum, {run, i, state});
      else
        check(b_.call(k_rt_window_extreme, {context(), run, state}));
      b_.jump(finish);
    } else {
      Block clear = b_.new_block(), step = b_.new_block();
      b_.branch(b_.compare(Op::kEq, change, constant(Type::kI64, kNewFrame)), clear, step);
      b_.set_block(clear);
      for (int64_t at = 0; at < kAggregateStateBytes; at += 8) b_.store(state, at, constant(Type::kI64, 0));
      b_.jump(step);
      b_.set_block(step);
      for_each_position(constant(Type::kI64, 0), constant(Type::kI64, WindowRun::kRanges), [&](Reg r) {
        Reg range = b_.index(run, r, kPointerBytes);
        Reg from = b_.load(Type::kI64, range, offsetof(WindowRun, range_begin));
        Reg to = b_.load(Type::kI64, range, offsetof(WindowRun, range_end));
        for_each_position(from, to, [&](Reg at) { gen_window_step(aggregate, spec, run, at, arguments, state); });
      });
      b_.jump(finish);
    }
    b_.set_block(finish);
    Value value = finish_aggregate(aggregate, state);
    if (value.type.id == TypeId::kArray) value.stable = false;  // the state goes on changing
    assign(result, stabilise(value));
    b_.jump(put);
    b_.set_block(put);
    Reg row = b_.load(Type::kPtr, b_.index(b_.load(Type::kPtr, run, offsetof(WindowRun, partition)), i, kPointerBytes));
    Value stored = result;
    store_field(row, result_field, stored);
  });
}

void Generator::gen_window_step(const Aggregate& aggregate, const WindowSpec& spec, Reg run, Reg at,
                                const std::vector<TupleField>& arguments, Reg state) {
  Reg row = b_.load(Type::kPtr, b_.index(b_.load(Type::kPtr, run, offsetof(WindowRun, partition)), at, kPointerBytes));
  Block skip = b_.new_block();
  auto go_on_if = [&](Reg condition) {
    Block go = b_.new_block();
    b_.branch(condition, go, skip);
    b_.set_block(go);
  };
  if (spec.filter.offset >= 0) go_on_if(b_.load(Type::kI8, row, spec.filter.offset));
  Values values;
  for (size_t i = 0; i < arguments.size(); i++) {
    Value value = load_field(row, arguments[i]);
    if (i < strict_arguments(aggregate) && value.null != ir::kNoReg) {
      go_on_if(b_.logical_not(value.null));
      value.null = ir::kNoReg;
    }
    value.stable = true;
    values.push_back(value);
  }
  step_aggregate(aggregate, values, state);
  b_.jump(skip);
  b_.set_block(skip);
}

}  // namespace scyper::query
