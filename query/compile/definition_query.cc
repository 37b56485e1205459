#include <atomic>
#include <functional>
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
#include "storage/pauses.h"
#include "types/ordered_bytes.h"

// What definitions ask of the data: rows that a new rule would refuse, values for new columns.
namespace scyper::query {

namespace {

constexpr size_t kScratchBytesMax = size_t{4} << 30;

bool can_assign(const SqlType& from, const SqlType& to) {
  if (from.id == TypeId::kEnum && to.id == TypeId::kEnum) return from.length == to.length;
  if (from.id == TypeId::kArray || to.id == TypeId::kArray)
    return from.id == to.id ? can_assign(element_of(from), element_of(to)) : is_string(to.id);
  if (const OrderedCast* cast = find_ordered_cast(from.id, to.id))
    return cast->context != OrderedCastContext::kExplicit;
  return from.id == to.id || from.id == TypeId::kUnknown || is_string(to.id) ||
         (is_number(from.id) && is_number(to.id)) || (is_moment(from.id) && is_moment(to.id));
}

bool any_of(BoundQuery* query, const std::function<bool(const BoundExpr&)>& is_it) {
  bool any = false;
  rewrite(query, [&](BoundPtr* slot) {
    any |= is_it(**slot);
    return false;
  });
  return any;
}

// Each row gets a value of its own.
bool is_drawn_by_row(BoundQuery* query) {
  return any_of(query, [](const BoundExpr& e) {
    return (e.kind == BoundKind::kUserCall && (e.routine == nullptr || e.routine->is_volatile)) ||
           (e.builtin != nullptr && e.builtin->is_volatile);
  });
}

bool calls_routines(BoundQuery* query) {
  return any_of(query, [](const BoundExpr& e) { return e.kind == BoundKind::kUserCall; });
}

// Definitions are logged as texts: whether who replays one gets the same values.
bool is_repeatable(BoundQuery* query, bool program_is_volatile) {
  return !is_drawn_by_row(query) && !any_of(query, [&](const BoundExpr& e) {
    return (e.kind == BoundKind::kUserCall && program_is_volatile) ||
           (e.builtin != nullptr && e.builtin->op == BuiltinOp::kNow);
  });
}

std::vector<std::pair<SequenceId, uint64_t>> states_of_sequences(const Catalog& catalog) {
  std::vector<std::pair<SequenceId, uint64_t>> states;
  for (const auto& [name, sequence] : catalog.sequences)
    states.emplace_back(sequence->definition().id, sequence->state().changes);
  return states;
}

bool has_subquery(BoundQuery* query) {
  return any_of(query, [](const BoundExpr& e) { return e.query != nullptr; });
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

// Whether rules are checked by the rows that are there. A replay does not: the primary has, and what it saw may depend
// on the time.
bool Definer::asks_rows() const { return !is_repeated_ && RowsElsewhereScope::now() != RowsElsewhere::kLacking; }

// Of rows that a rule refuses.
StatusOr<bool> Definer::has_no_rows(const std::string& sql) {
  if (!asks_rows()) return true;
  QueryFacts facts;
  facts.has_time = true;
  SCYPER_ASSIGN_OR_RETURN(ResultSet rows, query(sql, &facts));
  return rows.row_count() == 0;
}

// Whoever replays the definition gets the same values for the rows that it has: by evaluating them again, or, where
// *repeats is false then, from the log. repeats: null where the log does not carry them.
Status Definer::check_repeats(const BoundProgram& bound, const QueryFacts& facts, const storage::ColumnDef& column,
                              bool* repeats) const {
  const bool needs_all = facts.reads_others || has_subquery(bound.query.get());
  // what the log may carry goes there in doubt, as values that depend on the catalog, on time zones or on routines
  const bool is_same = is_repeatable(bound.query.get(), facts.is_volatile) &&
                       (repeats == nullptr || !(facts.is_volatile || calls_routines(bound.query.get())));
  // of a log from before the primary was set up for it: other values would come out here
  if (RowsElsewhereScope::now() == RowsElsewhere::kLacking && (needs_all || !is_same)) {
    return error("55000",
                 absl::StrCat("values of column \"", column.name,
                              "\" depend on rows or sequences that a node with some partitions lacks: it needs an "
                              "archive of later"),
                 -1);
  }
  if (facts.has_changed) {
    return with_hint(
        error("0A000", absl::StrCat("values of column \"", column.name, "\" come from a function that changes tables"),
              -1),
        "Add the column without a default, UPDATE the rows, then ALTER COLUMN ... SET DEFAULT.");
  }
  const bool is_lacked = needs_all && RowsElsewhereScope::now() == RowsElsewhere::kLacked;
  if (repeats != nullptr) {
    *repeats = is_same && !is_lacked;
    return Status();
  }
  if (is_same && !is_lacked) return Status();
  return error("0A000",
               absl::StrCat("values of column \"", column.name,
                            is_same ? "\" that depend on other rows are not supported for tables with rows while "
                                      "partial_secondaries is on"
                                    : "\" that are volatile or depend on the time are not supported for indexes"),
               -1);
}

// Whether each row gets a value of its own. What cannot be bound fails when it is evaluated.
bool Definer::draws_by_row(const std::string& sql) {
  auto statements = parse_sql(sql, TextOf::kSystem);
  if (!statements.ok()) return false;
  Binder binder(next(), sql);
  const auto bound = binder.bind_statement(*(*statements)[0], {});
  return bound.ok() && is_drawn_by_row((*bound)->query.get());
}

// One column of rows, cast to `column` as an assignment. What the values point to lives as long as this. repeats: as
// check_repeats().
Status Definer::evaluate(const std::string& sql, const storage::ColumnDef& column, std::vector<Datum>* values,
                         bool* repeats) {
  QueryFacts facts;
  facts.has_time = repeats != nullptr;
  const auto before = states_of_sequences(next());
  SCYPER_ASSIGN_OR_RETURN(ResultSet rows, query(sql, &facts));
  for (const auto& [id, changes] : before)
    if (next().find_sequence(id)->state().changes != changes) drawn_sequences_.insert(id);
  results_.push_back(std::move(rows));
  const ResultSet& kept = results_.back();
  SCYPER_ASSIGN_OR_RETURN(auto statements, parse_sql(sql, TextOf::kSystem));
  Binder binder(next(), sql);
  SCYPER_ASSIGN_OR_RETURN(auto bound, binder.bind_statement(*statements[0], {}));
  if (kept.row_count() > 0) SCYPER_RETURN_IF_ERROR(check_repeats(*bound, facts, column, repeats));
  return convert(bound->query->outputs[0].expr->type, column, values);
}

// The newest result, of values of a type, to those of the column.
Status Definer::convert(const SqlType& from, const storage::ColumnDef& column, std::vector<Datum>* values) {
  const ResultSet& kept = results_.back();
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
    storage::Pauses::step_if_any();
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

// In parts: a result that grows is copied as a whole, and nobody else would run meanwhile.
Status Definer::draw_values(const std::string& text, const storage::ColumnDef& column, uint64_t rows,
                            std::vector<Datum>* values, bool* repeats) {
  constexpr uint64_t kPart = 65'536;
  const bool are_whole = !holds_bytes(column.type.id) && column.type.id != TypeId::kArray &&
                         column.type.id != TypeId::kNumeric;  // they point to nothing
  values->clear();
  values->reserve(rows);
  std::vector<Datum> part;
  for (uint64_t left = rows; left > 0;) {
    const uint64_t count = std::min(left, kPart);
    bool part_repeats = true;
    SCYPER_RETURN_IF_ERROR(
        evaluate(absl::StrCat("SELECT ", text, " FROM generate_series(1, ", count, ")"), column, &part, &part_repeats));
    *repeats = *repeats && part_repeats;
    values->insert(values->end(), part.begin(), part.end());
    left -= count;
    if (!are_whole) continue;
    results_.pop_back();
    scratch_.pop_back();
  }
  return Status();
}

}  // namespace scyper::query
