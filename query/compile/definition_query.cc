#include <atomic>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "compile/definition.h"
#include "query/error_status.h"
#include "query/exec_context.h"
#include "runtime/memory.h"

// What definitions ask of the data: rows that a new rule would refuse, values for new columns.
namespace scyper::query {

namespace {

constexpr size_t kScratchBytesMax = size_t{4} << 30;

bool can_assign(const SqlType& from, const SqlType& to) {
  auto is_moment = [](TypeId id) { return id == TypeId::kDate || id == TypeId::kTimestamp; };
  if (from.id == TypeId::kArray || to.id == TypeId::kArray)
    return from.id == to.id ? can_assign(element_of(from), element_of(to)) : is_string(to.id);
  return from.id == to.id || from.id == TypeId::kUnknown || is_string(to.id) ||
         (is_number(from.id) && is_number(to.id)) || (is_moment(from.id) && is_moment(to.id));
}

}  // namespace

StatusOr<ResultSet> Definer::query(const std::string& sql) {
  if (runner_ == nullptr) return error("0A000", "this definition needs to read its table", -1);
  // a version of its own: what is compiled for it is not taken for the one that will be published
  static std::atomic<uint64_t> trials{uint64_t{1} << 62};
  auto catalog = std::make_shared<Catalog>(next());
  catalog->version = trials.fetch_add(1);
  return runner_(sql, std::move(catalog));
}

StatusOr<bool> Definer::has_no_rows(const std::string& sql) {
  SCYPER_ASSIGN_OR_RETURN(ResultSet rows, query(sql));
  return rows.row_count() == 0;
}

// One column of rows, cast to `column` as an assignment. What the values point to lives as long as this.
Status Definer::evaluate(const std::string& sql, const storage::ColumnDef& column, std::vector<Datum>* values) {
  SCYPER_ASSIGN_OR_RETURN(ResultSet rows, query(sql));
  results_.push_back(std::move(rows));
  const ResultSet& kept = results_.back();
  const SqlType from = kept.columns[0].type;
  if (!can_assign(from, column.type))
    return error("42804",
                 absl::StrCat("column \"", column.name, "\" is of type ", type_name(column.type),
                              " but expression is of type ", type_name(from)),
                 -1);
  scratch_.push_back(std::make_unique<ScratchArena>(kScratchBytesMax));
  ExecContext context;
  context.scratch = scratch_.back().get();
  values->clear();
  values->reserve(kept.row_count());
  for (size_t row = 0; row < kept.row_count(); row++) {
    Datum value = kept.value(row, 0);
    if (!value.null && from != column.type && cast_datum(&context, value, from, column.type, false, &value) != 0)
      return status_of(context.error);
    values->push_back(value);
  }
  return absl::OkStatus();
}

}  // namespace scyper::query
