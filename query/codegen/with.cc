#include <utility>

#include "base/invariant.h"
#include "bind/make.h"
#include "codegen/generator.h"
#include "codegen/shared_triggers.h"

// Statements of several parts: WITH whose queries change something. Each part runs once and keeps its rows; triggers
// AFTER and foreign keys wait until all parts have run.
namespace scyper::query {

using ir::Op;
using ir::Type;

// A buffer for the rows of a part.
ir::Reg Generator::open_part(const CommonQuery& part) {
  std::vector<SqlType> types;
  for (const auto& column : part.columns) types.push_back(column.type);
  Reg width = constant(Type::kI64, static_cast<int64_t>(types.size()));
  check(b_.call(k_rt_rows_create, {context(), data_of(types), width}));
  Reg rows = b_.load(Type::kPtr, context(), kContextValue);
  part_rows_[&part] = rows;
  return rows;
}

void Generator::gen_part(const CommonQuery& part) {
  const Reg rows = found_in(part_rows_, &part);
  auto keep = [&](const Values& values) { check(b_.call(k_rt_rows_append, {context(), rows, store_row(values)})); };
  if (part.dml != nullptr) {
    begin_dml(*part.dml);
    gen_rows_of_dml(*part.dml, keep);
    return;
  }
  if (part.recursive == nullptr) return gen_query(*part.query, keep);
  BoundQuery all;  // SELECT * FROM it
  FromEntry entry;
  entry.relation = std::make_unique<Relation>();
  entry.relation->id = next_relation();
  entry.relation->kind = RelationKind::kCommon;
  entry.relation->columns = part.columns;
  // owned by the program, which outlives the generator
  entry.relation->common = {std::shared_ptr<CommonQuery>(), const_cast<CommonQuery*>(&part)};
  for (uint32_t i = 0; i < part.columns.size(); i++)
    all.outputs.push_back(
        {part.columns[i].name, make_column(entry.relation->id, i, part.columns[i].type, true, -1), false});
  all.from.push_back(std::move(entry));
  gen_query(all, keep);
}

// The rows of a part, wherever it is read.
void Generator::gen_part_rows(const Relation& relation, const std::function<void()>& body) {
  const Reg rows = found_in(part_rows_, relation.common.get());
  const auto& columns = relation.common->columns;
  sources_[relation.id].relation = &relation;
  gen_buffer_rows(rows, columns.size(), [&](Reg row) {
    Values values;
    for (size_t i = 0; i < columns.size(); i++)
      values.push_back(
          load_datum(row, static_cast<int64_t>(i) * kDatumBytes, columns[i].type, columns[i].nullable, true));
    sources_[relation.id].values = std::move(values);
    body();
  });
}

// Which rows of these tables the statement has changed: some part must leave them alone.
ir::Reg Generator::open_row_table() {
  const std::vector<SqlType> types(2, make_type(TypeId::kInt8));
  Reg two = constant(Type::kI64, 2);
  check(b_.call(k_rt_table_create, {context(), data_of(types), two, two}));
  return b_.load(Type::kPtr, context(), kContextValue);
}

void Generator::note_changed_row(const BoundDml& dml, Reg partition, Reg tid) {
  auto found = changed_rows_.find(dml.table.get());
  if (found != changed_rows_.end()) finds_row(found->second, partition, tid, true);
}

// Goes to `skip` where an earlier part has changed the row that sources_[dml.relation] is on.
void Generator::skip_changed_row(const BoundDml& dml, Block skip) {
  if (!dml.skips_changed) return;
  const RowSource& source = sources_[dml.relation];
  Block untouched = b_.new_block();
  b_.branch(finds_row(found_in(changed_rows_, dml.table.get()), source.partition, source.tid, false), skip, untouched);
  b_.set_block(untouched);
}

// Runs the parts around `main`.
void Generator::gen_with(const BoundWith& with, const BoundDml* main_dml, const std::function<void()>& main) {
  const auto saved = std::exchange(changed_rows_, {});
  for (const auto& table : with.noted) changed_rows_[table.get()] = open_row_table();
  for (const auto* list : {&with.copies, &with.before, &with.after})
    for (const auto& part : *list) open_part(*part);
  auto run = [&](const CommonQuery& part) {
    const BoundDml* change = part.dml.get();
    const BoundDml* first = change == nullptr ? nullptr : &first_change(with, main_dml, *change);
    if (first == change) return gen_part(part);
    begin_dml(*change, false);
    after_rows_[change].old_rows = after_rows_[first].old_rows;
    after_rows_[change].new_rows = after_rows_[first].new_rows;
    gen_rows_of_dml(*change, [&](const Values& values) {
      check(b_.call(k_rt_rows_append, {context(), part_rows_.at(&part), store_row(values)}));
    });
  };
  auto end = [&](const BoundDml& change) { end_dml(change, &last_change(with, main_dml, change) == &change); };
  for (const auto& part : with.copies) gen_part(*part);
  for (const auto& part : with.before) run(*part);
  b_.assign(row_count_, constant(Type::kI64, 0));
  main();
  Reg count = b_.new_variable(Type::kI64);
  b_.assign(count, row_count_);
  for (const auto& part : with.after) run(*part);
  for (const auto& part : with.before)
    if (part->dml != nullptr) end(*part->dml);
  if (main_dml != nullptr) end(*main_dml);
  for (const auto& part : with.after)
    if (part->dml != nullptr) end(*part->dml);
  b_.assign(row_count_, count);
  changed_rows_ = saved;
}

// A query beside changes: its rows are kept until these are done.
void Generator::gen_changing_query(const BoundQuery& query, const Consumer& consume) {
  auto run = [&](const Consumer& keep) {
    Reg count = b_.new_variable(Type::kI64);
    b_.assign(count, row_count_);
    const TriggeredCode::State around =
        triggered_.open(nullptr, query.with.get(), [this](const auto& table) { return table_number(table); });
    gen_with(*query.with, nullptr, [&] { gen_plain_query(query, keep, false); });
    triggered_.close(around);
    b_.assign(row_count_, count);
  };
  gen_collected(query, run, consume);
}

}  // namespace scyper::query
