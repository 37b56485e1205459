#include "bind/make.h"
#include "codegen/generator.h"

// MERGE: which row takes which WHEN is found first, with the values that it gives; then the actions run.
namespace scyper::query {

using ir::Op;
using ir::Type;

namespace {
const BoundMergeWhen& first_of_its_kind(const BoundMerge& merge, const BoundMergeWhen& when) {
  for (const auto& other : merge.whens)
    if (other.action != nullptr && other.action->kind == when.action->kind) return other;
  return when;
}

bool is_first_of_its_kind(const BoundMerge& merge, const BoundMergeWhen& when) {
  return &first_of_its_kind(merge, when) == &when;
}
}  // namespace

void Generator::begin_merge(const BoundMerge& merge) {
  for (const auto& when : merge.whens) {
    if (when.action == nullptr) continue;
    const BoundMergeWhen& first = first_of_its_kind(merge, when);
    begin_dml(*when.action, &first == &when);
    AfterRows& rows = after_rows_[when.action.get()];  // all of a kind fire the statement's triggers once
    rows.old_rows = after_rows_[first.action.get()].old_rows;
    rows.new_rows = after_rows_[first.action.get()].new_rows;
  }
}

void Generator::end_merge(const BoundMerge& merge) {
  for (auto when = merge.whens.rbegin(); when != merge.whens.rend(); ++when)
    if (when->action != nullptr) end_dml(*when->action, is_first_of_its_kind(merge, *when));
}

// Takes the first WHEN of the row at hand.
void Generator::gen_merge_choice(const BoundMerge& merge, bool matched, const std::vector<Reg>& buffers,
                                 const Values& place) {
  Block done = b_.new_block();
  for (size_t i = 0; i < merge.whens.size(); i++) {
    const BoundMergeWhen& when = merge.whens[i];
    if (when.matched != matched) continue;
    Block next = b_.new_block();
    gen_conjuncts(when.condition, next);
    if (when.action != nullptr) {
      Values row = place;
      for (const auto& assignment : when.action->assignments) row.push_back(gen(*assignment.value));
      for (const auto& value : when.values) row.push_back(gen(*value));
      check(b_.call(k_rt_rows_append, {context(), buffers[i], store_row(row)}));
    }
    b_.jump(done);
    b_.set_block(next);
  }
  b_.jump(done);
  b_.set_block(done);
}

// What the WHENs of matched rows keep: partition, Tid, assigned values; those of others: the new row.
std::vector<ir::Reg> Generator::open_merge_buffers(const BoundMerge& merge) {
  std::vector<Reg> buffers;
  for (const auto& when : merge.whens) {
    buffers.push_back(ir::kNoReg);
    if (when.action == nullptr) continue;
    if (when.rows != nullptr) {
      buffers.back() = open_part(*when.rows);
      continue;
    }
    std::vector<SqlType> types(2, make_type(TypeId::kInt8));
    for (const auto& assignment : when.action->assignments) types.push_back(assignment.value->type);
    Reg width = constant(Type::kI64, static_cast<int64_t>(types.size()));
    check(b_.call(k_rt_rows_create, {context(), data_of(types), width}));
    buffers.back() = b_.load(Type::kPtr, context(), kContextValue);
  }
  return buffers;
}

// Changes the rows that one WHEN was chosen for; each row once.
void Generator::gen_merge_changes(const BoundDml& action, Reg buffer, Reg seen) {
  uint32_t descriptor = 0;
  if (action.kind == DmlKind::kUpdate) {
    std::vector<uint32_t> columns;
    for (const auto& assignment : action.assignments) columns.push_back(assignment.column);
    resources_.updates.push_back(
        std::make_unique<storage::UpdateDescriptor>(storage::make_update_descriptor(*action.table, columns)));
    descriptor = static_cast<uint32_t>(resources_.updates.size() - 1);
  }
  const size_t width = 2 + action.assignments.size();
  const SqlType bigint = make_type(TypeId::kInt8);
  gen_buffer_rows(buffer, width, [&](Reg row) {
    Value partition = load_datum(row, 0, bigint, false, true);
    Value tid = load_datum(row, kDatumBytes, bigint, false, true);
    RowSource& source = sources_[action.relation];
    Reg place = b_.convert(Op::kBitcast, partition.a, Type::kPtr);
    Block first = b_.new_block(), next = b_.new_block();
    b_.branch(finds_row(seen, place, tid.a, true), raise_block(RuntimeError::kMergeTwice), first, 2);
    b_.set_block(first);
    triggered_.check_untouched(action, false, place, tid.a, next);
    open_row(&source, place, tid.a);
    Values values;
    for (size_t i = 0; i < action.assignments.size(); i++)
      values.push_back(
          load_datum(row, static_cast<int64_t>(i + 2) * kDatumBytes, action.assignments[i].value->type, true, true));
    gen_change_row(action, descriptor, values, [](const Values&) {});
    if (!b_.terminated()) b_.jump(next);
    b_.set_block(next);
  });
}

void Generator::gen_merge_rows(const BoundDml& dml) {
  const BoundMerge& merge = *dml.merge;
  const SqlType bigint = make_type(TypeId::kInt8);
  open_part(*merge.rows);
  gen_part(*merge.rows);
  std::vector<Reg> buffers = open_merge_buffers(merge);
  const std::vector<SqlType> one(1, bigint);
  Reg width = constant(Type::kI64, 1);
  check(b_.call(k_rt_table_create, {context(), data_of(one), width, width}));
  Reg matched = b_.load(Type::kPtr, context(), kContextValue);
  Reg seen = open_row_table();
  const uint32_t rows = merge.unmatched->id;
  const auto number_column = static_cast<uint32_t>(merge.unmatched->columns.size() - 1);
  auto number = [&] { return Values{load_column(sources_[rows], number_column)}; };
  JoinPlan plan = plan_joins(*dml.source, known_relations(), dml.relation);
  gen_joins(&plan, [&] {
    check(b_.call(k_rt_table_find, {context(), matched, store_row(number()), constant(Type::kI64, 1)}));
    Block next = b_.new_block();
    skip_changed_row(dml, next);
    Values place(2);
    place[0].type = place[1].type = bigint;
    place[0].a = b_.convert(Op::kBitcast, sources_[dml.relation].partition, Type::kI64);
    place[1].a = sources_[dml.relation].tid;
    gen_merge_choice(merge, true, buffers, place);
    b_.jump(next);
    b_.set_block(next);
  });
  sources_[rows] = RowSource();
  gen_part_rows(*merge.unmatched, [&] {
    check(b_.call(k_rt_table_find, {context(), matched, store_row(number()), constant(Type::kI64, 0)}));
    Block without = b_.new_block(), next = b_.new_block();
    b_.branch(b_.compare(Op::kEq, b_.load(Type::kPtr, context(), kContextValue), b_.null_pointer()), without, next);
    b_.set_block(without);
    gen_merge_choice(merge, false, buffers, {});
    b_.jump(next);
    b_.set_block(next);
  });
  for (size_t i = 0; i < merge.whens.size(); i++) {
    const BoundMergeWhen& when = merge.whens[i];
    if (when.action == nullptr) continue;
    if (when.action->kind == DmlKind::kInsert)
      gen_insert(*when.action, [](const Values&) {});
    else
      gen_merge_changes(*when.action, buffers[i], seen);
  }
  for (const auto& entry : dml.source->from) sources_.erase(entry.relation->id);
}

}  // namespace scyper::query
