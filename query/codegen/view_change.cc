#include "bind/make.h"
#include "codegen/generator.h"

// INSERT, UPDATE and DELETE of views: INSTEAD OF triggers do what they find right for each row.
namespace scyper::query {

void Generator::gen_view_change(const BoundDml& dml, const Consumer& returning) {
  const auto& columns = dml.view->columns;
  gen_buffered(*dml.source, [&](const Values& given) {
    auto part = [&](size_t from) {
      Values row;
      for (size_t c = 0; c < columns.size(); c++)
        row.push_back(stabilise(cast(given[from + c], columns[c].type, false)));
      return row;
    };
    Values old_row, new_row = part(0);
    size_t next = columns.size();
    if (dml.kind != DmlKind::kInsert) old_row = new_row;
    for (const auto& assignment : dml.assignments) new_row[assignment.column] = given[next++];
    const Block skip = b_.new_block();
    const Values changed = gen_before_row(dml, dml.kind == DmlKind::kInsert ? nullptr : &old_row,
                                          dml.kind == DmlKind::kDelete ? nullptr : &new_row, skip);
    count_row();
    if (!dml.returning.empty()) {
      sources_[dml.relation] = RowSource();
      sources_[dml.relation].values = dml.kind == DmlKind::kDelete ? old_row : changed;
      for (const auto& [relation, column] : dml.others) {
        Values& values = sources_[relation].values;
        if (values.size() <= column) values.resize(column + 1);
        values[column] = given[next++];
      }
      Values outputs;
      for (const auto& output : dml.returning) outputs.push_back(gen(*output.expr));
      returning(outputs);
    }
    if (!b_.terminated()) b_.jump(skip);
    b_.set_block(skip);
  });
  sources_.erase(dml.relation);
  for (const auto& [relation, column] : dml.others) sources_.erase(relation);
}

}  // namespace scyper::query
