#include <algorithm>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "base/object_name.h"
#include "bind/binder.h"
#include "bind/make.h"
#include "bind/view_target.h"
#include "plan/access_path.h"
#include "query/access.h"
#include "runtime/catalog_map.h"

// Whether whom a statement is bound for may do what it says. A program belongs to one version of the catalog and to one
// role (query/role.h), so this holds whenever it runs.
namespace scyper::query {

namespace {

Status denied(std::string_view kind, std::string_view name) {
  return sql_error("42501", absl::StrCat("permission denied for ", std::string(kind), " ", std::string(name)));
}

const Access& access_of(const Catalog& catalog, const storage::TableSchema& schema) {
  static const Access none;
  auto rules = catalog.rules.find(schema.id);
  return rules == catalog.rules.end() ? none : rules->second.access;
}

}  // namespace

// A superuser needs no look at anything.
bool Binder::is_checked(const Role* role) const { return !is_describing_ && (role == nullptr || !role->is_superuser); }

Status Binder::check_schema_usage(std::string_view key, int32_t location) const {
  if (!is_checked()) return Status();
  const std::string_view schema = schema_of(key);
  if (has_schema_right(catalog_, actor_, schema, kUsageRight)) return Status();
  return error("42501", absl::StrCat("permission denied for schema ", std::string(schema)), location);
}

Status Binder::check_rights(const storage::TableSchema& schema, uint16_t rights) const {
  if (!is_checked()) return Status();
  if (actor_ != nullptr &&
      rights_of(access_of(catalog_, schema), Accessed::kRelation, catalog_.roles, *actor_, rights) == rights)
    return Status();
  const bool is_materialized = catalog_.find_materialized_view(schema.name) != nullptr;
  return denied(is_materialized ? "materialized view" : "table", bare_name(schema.name));
}

Status Binder::check_rights(const View& view, uint16_t rights) const {
  if (!is_checked()) return Status();
  if (actor_ != nullptr && rights_of(view.access, Accessed::kRelation, catalog_.roles, *actor_, rights) == rights)
    return Status();
  return denied(view.foreign != nullptr ? "foreign table" : "view", bare_name(view.name));
}

// In a view, too, functions are called by whoever asks: the owner's rights count for relations alone, as in PostgreSQL.
Status Binder::check_rights(const Routine& routine) const {
  const Role* caller = current_role(catalog_.roles);
  if (!is_checked(caller)) return Status();
  SCYPER_RETURN_IF_ERROR(check_schema_usage(routine.name, -1));
  if (caller != nullptr && rights_of(routine.access, Accessed::kRoutine, catalog_.roles, *caller, kExecuteRight) != 0)
    return Status();
  return denied(routine.procedure ? "procedure" : "function", bare_name(routine.name));
}

// nextval(), setval(), currval(), and the default of a serial column. A name that is known only when it runs is looked
// up then.
Status Binder::check_sequence_rights(std::string_view function, std::vector<BoundPtr>* args) {
  const uint16_t wanted = function == "nextval" || function == " nextval" ? kUsageRight | kUpdateRight
                          : function == "currval"                         ? kUsageRight | kSelectRight
                          : function == "setval"                          ? kUpdateRight
                                                                          : 0;
  const Role* caller = current_role(catalog_.roles);
  if (wanted == 0 || args->empty() || !is_checked(caller)) return Status();
  const BoundExpr& given = *(*args)[0];
  std::string rights;  // by name
  for (const auto& [key, sequence] : catalog_.sequences) {
    const storage::SequenceDefinition& definition = sequence->definition();
    const bool may = definition.is_identity ||  // its column is all that can be asked for
                     (caller != nullptr && rights_of(sequence_access_of(catalog_, definition.id), Accessed::kSequence,
                                                     catalog_.roles, *caller, wanted) != 0);
    const bool is_meant = given.kind == BoundKind::kConst && !given.value.null &&
                          (function == " nextval" ? given.value.lo == int64_t{definition.id.value()}
                                                  : object_key_of_text(given.text) == key);
    if (is_meant) return may ? Status() : denied("sequence", bare_name(key));
    add_entry(key, may ? "t" : "f", &rights);
  }
  if (given.kind == BoundKind::kConst) return Status();
  std::vector<BoundPtr> checked;
  checked.push_back(make_text_constant(make_type(TypeId::kText), std::move(rights), given.location));
  const int32_t location = given.location;
  SCYPER_ASSIGN_OR_RETURN(BoundPtr name, coerce(std::move((*args)[0]), make_type(TypeId::kText), Coercion::kImplicit));
  checked.push_back(std::move(name));
  SCYPER_ASSIGN_OR_RETURN((*args)[0], make_call(" permitted sequence", std::move(checked), location));
  return Status();
}

// What a change reads of its own table, in WHERE, SET and RETURNING, wants SELECT.
Status Binder::check_reads(const BoundDml& dml) const {
  if (!is_checked()) return Status();
  bool reads = false;
  const uint32_t shown = dml.through != nullptr ? dml.through->shown->id : dml.relation;
  const auto look = [&](const BoundExpr& e) { reads |= e.kind == BoundKind::kColumn && e.relation == shown; };
  for (const auto& assignment : dml.assignments) visit(*assignment.value, look);
  for (const auto& output : dml.returning) visit(*output.expr, look);
  if (dml.source != nullptr)
    for (const auto& condition : dml.source->where) visit(*condition, look);
  if (!reads) return Status();
  if (dml.through != nullptr) return check_rights(*dml.through->view, kSelectRight);
  return dml.view != nullptr ? check_rights(*catalog_.find_view(dml.view->name, false), kSelectRight)
                             : check_rights(dml.table->schema(), kSelectRight);
}

// Errors tell no more of a row than the role may read. It knows what the statement itself gives.
void Binder::note_failing_row(BoundDml* dml) const {
  const storage::TableSchema& schema = dml->table->schema();
  FailingRow& row = dml->failing_row;
  row.before = "Failing row contains (";
  if (check_rights(schema, kSelectRight).ok()) {
    row.columns.resize(storage::visible_columns(schema));
    std::iota(row.columns.begin(), row.columns.end(), 0);
    return;
  }
  row.columns = dml->named_columns;
  std::sort(row.columns.begin(), row.columns.end());
  row.columns.erase(std::unique(row.columns.begin(), row.columns.end()), row.columns.end());
  for (size_t i = 0; i < row.columns.size(); i++)
    absl::StrAppend(&row.before, i == 0 ? "" : ", ", schema.columns[row.columns[i]].name);
  row.before += ") = (";
}

void show_failing_row(const BoundDml& dml, RowCheck* check) {
  check->detail_before = dml.failing_row.before;
  check->detail_after = ").";
  check->detail_columns = dml.failing_row.columns;
}

}  // namespace scyper::query
