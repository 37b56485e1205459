#include <atomic>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "bind/binder.h"
#include "compile/definition.h"
#include "parse/sql_parser.h"
#include "plan/expressions.h"
#include "query/error_status.h"
#include "query/exec_context.h"
#include "query/rows_elsewhere.h"
#include "runtime/memory.h"

// What definitions ask of the data: rows that a new rule would refuse, values for new columns.
namespace scyper::query {

namespace {

constexpr size_t kScratchBytesMax = size_t{4} << 30;

bool can_assign(const SqlType& from, const SqlType& to) {
  if (from.id == TypeId::kEnum && to.id == TypeId::kEnum) return from.length == to.length;
  if (from.id == TypeId::kArray || to.id == TypeId::kArray)
    return from.id == to.id ? can_assign(element_of(from), element_of(to)) : is_string(to.id);
  return from.id == to.id || from.id == TypeId::kUnknown || is_string(to.id) ||
         (is_number(from.id) && is_number(to.id)) || (is_moment(from.id) && is_moment(to.id));
}

// Definitions are logged as texts: what they read has to be the same when they are replayed. Sequences are, where rows
// take their numbers in an order that is kept (`may_draw`).
bool is_repeatable(BoundQuery* query, bool program_is_volatile, bool may_draw) {
  bool repeats = true;
  rewrite(query, [&](BoundPtr* slot) {
    const BoundExpr& e = **slot;
    if (e.kind == BoundKind::kUserCall) repeats &= !e.routine->is_volatile && !program_is_volatile;
    if (e.builtin == nullptr) return false;
    repeats &= e.builtin->op != BuiltinOp::kNow;
    repeats &= !e.builtin->is_volatile || (may_draw && (e.builtin->name == "nextval" || e.builtin->name == " nextval"));
    return false;
  });
  return repeats;
}

bool has_subquery(BoundQuery* query) {
  bool any = false;
  rewrite(query, [&](BoundPtr* slot) {
    any |= (*slot)->query != nullptr;
    return false;
  });
  return any;
}

}  // namespace

StatusOr<ResultSet> Definer::query(const std::string& sql, QueryFacts* facts) {
  if (runner_ == nullptr) return error("0A000", "this definition needs to read its table", -1);
  // a version of its own: what is compiled for it is not taken for the one that will be published
  static std::atomic<uint64_t> trials{uint64_t{1} << 62};
  auto catalog = std::make_shared<Catalog>(next());
  catalog->version = trials.fetch_add(1);
  QueryFacts ignored;
  return runner_(sql, std::move(catalog), facts != nullptr ? facts : &ignored);
}

// Of rows that a rule refuses. Where some are not here, the primary has looked.
StatusOr<bool> Definer::has_no_rows(const std::string& sql) {
  if (RowsElsewhereScope::now() == RowsElsewhere::kLacking) return true;
  SCYPER_ASSIGN_OR_RETURN(ResultSet rows, query(sql));
  return rows.row_count() == 0;
}

// Whoever replays the definition gets the same values for the rows that it has.
Status Definer::check_repeats(const BoundProgram& bound, const QueryFacts& facts, const storage::ColumnDef& column,
                              bool may_draw) const {
  const bool is_partial_somewhere = RowsElsewhereScope::now() == RowsElsewhere::kLacked;
  const bool needs_all = facts.reads_others || may_draw || has_subquery(bound.query.get());
  const char* why = nullptr;
  // of a log from before the primary was set up for it: other values would come out here
  if (RowsElsewhereScope::now() == RowsElsewhere::kLacking && needs_all) {
    return error("55000",
                 absl::StrCat("values of column \"", column.name,
                              "\" depend on rows or sequences that a node with some partitions lacks: it needs an "
                              "archive of later"),
                 -1);
  }
  if (!is_repeatable(bound.query.get(), facts.is_volatile, may_draw)) {
    why = "that are volatile or depend on the time are not supported for tables with rows";
  } else if (is_partial_somewhere && needs_all) {
    why =
        "that depend on other rows or on a sequence are not supported for tables with rows while "
        "partial_secondaries is on";
  } else {
    return Status();
  }
  return with_hint(error("0A000", absl::StrCat("values of column \"", column.name, "\" ", why), -1),
                   "Add the column without a default, UPDATE the rows, then ALTER COLUMN ... SET DEFAULT.");
}

// One column of rows, cast to `column` as an assignment. What the values point to lives as long as this.
Status Definer::evaluate(const std::string& sql, const storage::ColumnDef& column, std::vector<Datum>* values,
                         bool may_draw) {
  QueryFacts facts;
  SCYPER_ASSIGN_OR_RETURN(ResultSet rows, query(sql, &facts));
  results_.push_back(std::move(rows));
  const ResultSet& kept = results_.back();
  SCYPER_ASSIGN_OR_RETURN(auto statements, parse_sql(sql, TextOf::kSystem));
  Binder binder(next(), sql);
  SCYPER_ASSIGN_OR_RETURN(auto bound, binder.bind_statement(*statements[0], {}));
  if (kept.row_count() > 0) SCYPER_RETURN_IF_ERROR(check_repeats(*bound, facts, column, may_draw));
  const SqlType from = bound->query->outputs[0].expr->type;
  const SqlType shown = kept.columns[0].type;  // results have some types as texts
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
    if (!value.null && shown != from && !is_float(from.id) &&
        cast_datum(&context, value, shown, from, true, &value) != 0)
      return status_of(context.error);
    if (!value.null && from != column.type && cast_datum(&context, value, from, column.type, false, &value) != 0)
      return status_of(context.error);
    values->push_back(value);
  }
  return absl::OkStatus();
}

}  // namespace scyper::query
