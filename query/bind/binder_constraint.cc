#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "base/object_name.h"
#include "bind/binder.h"
#include "bind/locking.h"
#include "bind/make.h"
#include "bind/names_on_path.h"
#include "parse/sql_parser.h"
#include "parse/text.h"
#include "plan/expressions.h"
#include "query/deferred_checks.h"
#include "query/key_rules.h"
#include "query/role.h"
#include "types/range.h"

// What a table's rules add to the statements that change it: generated columns, CHECK, and foreign keys on both sides.
namespace scyper::query {

namespace {

// Names of the rows that actions of foreign keys refer to: no identifier of a user begins with a blank by accident.
constexpr std::string_view kOldRow = " old";
constexpr std::string_view kNewRow = " new";
constexpr size_t kActionDepthMax = 16;

std::string quoted_name(std::string_view name) {
  std::string text = "\"";
  for (char c : name) {
    if (c == '"') text += '"';
    text += c;
  }
  return text + '"';
}

std::string names_of(const storage::TableSchema& schema, const std::vector<uint32_t>& columns) {
  std::string text;
  for (uint32_t column : columns) absl::StrAppend(&text, text.empty() ? "" : ", ", schema.columns[column].name);
  return text;
}

void add_columns(const std::vector<uint32_t>& columns, std::vector<uint32_t>* to) {
  for (uint32_t column : columns)
    if (std::find(to->begin(), to->end(), column) == to->end()) to->push_back(column);
}

// a.x = b.y AND ..., or with another operator and junction
std::string pairs(std::string_view left, const storage::TableSchema& left_schema,
                  const std::vector<uint32_t>& left_columns, std::string_view right,
                  const storage::TableSchema& right_schema, const std::vector<uint32_t>& right_columns,
                  std::string_view op = " = ", std::string_view junction = " AND ") {
  std::string text;
  for (size_t i = 0; i < left_columns.size(); i++)
    absl::StrAppend(&text, i == 0 ? "" : std::string(junction), quoted_name(left), ".",
                    quoted_name(left_schema.columns[left_columns[i]].name), std::string(op), quoted_name(right), ".",
                    quoted_name(right_schema.columns[right_columns[i]].name));
  return text;
}

// See RowCheck::detail_after.
void set_deferral(const ForeignKey& key, TableId table, RowCheck* check) {
  check->detail_after += '\0';
  check->detail_after += DeferredChecks::mark_of(key, table);
}

// Something of the row is NULL.
std::string any_null(std::string_view row, const storage::TableSchema& schema, const std::vector<uint32_t>& columns) {
  std::string text;
  for (uint32_t column : columns)
    if (!schema.columns[column].not_null)
      absl::StrAppend(&text, quoted_name(row), ".", quoted_name(schema.columns[column].name), " IS NULL OR ");
  return text;
}

// Whether a row that has changed is the only one of its key, as far as the key's index does not see to that.
std::string is_only_one(const storage::TableSchema& schema, const storage::IndexDef& index, const KeyRules& rules) {
  std::string matches, present;
  for (const uint32_t column : index.columns) {
    const bool may_be_null = !schema.columns[column].not_null;
    const std::string name = quoted_name(schema.columns[column].name),
                      mine = absl::StrCat(quoted_name(kNewRow), ".", name);
    absl::StrAppend(&matches, matches.empty() ? "" : " AND ", "\" other\".", name,
                    rules.are_nulls_equal && may_be_null ? " IS NOT DISTINCT FROM " : " = ", mine);
    if (may_be_null) absl::StrAppend(&present, present.empty() ? "" : " AND ", mine, " IS NOT NULL");
  }
  const std::string counted =
      absl::StrCat("(SELECT count(*) FROM ", quoted_name(schema.name), " AS \" other\" WHERE ", matches, ") <= 1");
  if (!rules.are_nulls_equal) return absl::StrCat(any_null(kNewRow, schema, index.columns), counted);
  if (rules.is_deferrable) return counted;
  return present.empty() ? "true" : absl::StrCat("(", present, ") OR ", counted);
}

RowCheck duplicate_check(const storage::TableSchema& schema, const storage::IndexDef& index, const KeyRules& rules) {
  ForeignKey key;  // what DeferredChecks has to know
  key.name = bare_name(index.name);
  key.deferrable = rules.is_deferrable;
  key.deferred = rules.is_deferred;
  RowCheck check;
  check.sqlstate = "23505";
  check.message = absl::StrCat("duplicate key value violates unique constraint \"", key.name, "\"");
  check.detail_before = absl::StrCat("Key (", names_of(schema, index.columns), ")=(");
  check.detail_after = ") already exists.";
  check.detail_columns = index.columns;
  set_deferral(key, schema.id, &check);
  return check;
}

}  // namespace

bool assigns_any(const BoundDml& dml, const std::vector<uint32_t>& columns) {
  return std::any_of(dml.assignments.begin(), dml.assignments.end(), [&](const ColumnAssignment& assignment) {
    return std::find(columns.begin(), columns.end(), assignment.column) != columns.end();
  });
}

bool may_change(const BoundDml& dml, const BoundExpr& expr, uint32_t row) {
  if (dml.kind != DmlKind::kUpdate) return true;
  std::set<uint32_t> read;
  collect_columns(expr, row, &read);
  return assigns_any(dml, {read.begin(), read.end()});
}

// While it lives, the binder reads a text of the catalog: no variables, parameters or common tables of the statement.
class Binder::InnerText {
 public:
  InnerText(Binder* binder, std::string_view text)
      : binder_(binder),
        common_tables_(std::exchange(binder->common_tables_, {})),
        transition_tables_(std::exchange(binder->transition_tables_, {})),
        source_(std::exchange(binder->source_, text)),
        variables_(std::exchange(binder->variables_, nullptr)),
        allow_parameters_(std::exchange(binder->allow_parameters_, false)),
        aggregate_query_(std::exchange(binder->aggregate_query_, nullptr)),
        aggregate_clause_(binder->aggregate_clause_) {}
  ~InnerText() {
    binder_->common_tables_ = std::move(common_tables_);
    binder_->transition_tables_ = std::move(transition_tables_);
    binder_->source_ = source_;
    binder_->variables_ = variables_;
    binder_->allow_parameters_ = allow_parameters_;
    binder_->aggregate_query_ = aggregate_query_;
    binder_->aggregate_clause_ = aggregate_clause_;
  }
  InnerText(const InnerText&) = delete;
  InnerText& operator=(const InnerText&) = delete;

 private:
  Binder* const binder_;
  CommonTables common_tables_;
  TransitionTables transition_tables_;
  std::string_view source_;
  const VariableScope* variables_;
  bool allow_parameters_;
  BoundQuery* aggregate_query_;
  std::string_view aggregate_clause_;
};

const TableRules* Binder::rules_of(const storage::TableSchema& schema) const {
  auto rules = catalog_.rules.find(schema.id);
  return rules == catalog_.rules.end() ? nullptr : &rules->second;
}

namespace {
// The role whose rights count for what a foreign key reads and changes in the table.
const Role* owner_of(const Catalog& catalog, const storage::TableSchema& schema) {
  const auto rules = catalog.rules.find(schema.id);
  return catalog.roles.find(rules == catalog.rules.end() ? kSuperuserId : rules->second.access.owner);
}
}  // namespace

StatusOr<BoundPtr> Binder::bind_rule(std::string_view text, const Relation* row, std::string_view clause) {
  InnerText inner(this, text);
  const RuleTextScope rule;
  aggregate_clause_ = clause;
  SCYPER_ASSIGN_OR_RETURN(auto expr, parse_expression(text, TextOf::kSystem));
  Scope scope;
  if (row != nullptr) scope.add(row, false);
  return bind(*expr, row != nullptr ? &scope : nullptr);
}

namespace {

const BoundExpr* subquery_of(const BoundExpr& expr) {
  const BoundExpr* query = nullptr;
  visit(expr, [&](const BoundExpr& e) { query = query == nullptr && e.query != nullptr ? &e : query; });
  return query;
}

}  // namespace

StatusOr<BoundPtr> Binder::bind_check(const ast::Expr& expr, std::shared_ptr<storage::Table> table) {
  const std::string name = table->schema().name;
  auto relation = table_relation(std::move(table), name);
  Scope scope;
  scope.add(relation.get(), false);
  aggregate_clause_ = "check constraints";
  SCYPER_ASSIGN_OR_RETURN(BoundPtr bound, bind(expr, &scope));
  if (const BoundExpr* query = subquery_of(*bound); query != nullptr)
    return error("0A000", "cannot use subquery in check constraint", query->location);
  return coerce_boolean(std::move(bound), "CHECK");
}

namespace {

// Does the value depend on settings, in PostgreSQL at least: on the session's time zone, on DateStyle?
bool is_stable(const BoundExpr& e) {
  auto is_time = [](TypeId id) {
    if (innermost_element(id) != id) return is_moment(innermost_element(id));
    return is_moment(id) || id == TypeId::kTime || id == TypeId::kTimetz || id == TypeId::kInterval;
  };
  if (e.kind == BoundKind::kCast) {
    const TypeId from = e.args[0]->type.id, to = e.type.id;
    if (is_string(from)) return is_time(to) || to == TypeId::kEnum;
    if (is_string(to))
      return is_moment(from) || innermost_element(from) != from || from == TypeId::kInterval || from == TypeId::kEnum ||
             from == TypeId::kArray;
    return from != to && is_time(from) && is_time(to) &&
           (from == TypeId::kTimestamptz || to == TypeId::kTimestamptz || to == TypeId::kTimetz);
  }
  if (e.kind != BoundKind::kBuiltin) return false;
  const Builtin& f = *e.builtin;
  if (f.name == "concat" || f.name == "concat_ws" || f.name == "format" || f.name == "array_to_string" ||
      f.name == "to_number")
    return true;
  const bool is_search = f.name.ends_with("to_tsvector") || f.name.ends_with("to_tsquery");
  if (is_search && f.parameters.size() == 1 && f.parameters[0] != TypeId::kArray)
    return true;  // of the session's configuration
  if (f.name == "to_char" || f.name == "to_jsonb" || f.name == "jsonb_build_object" || f.name == "jsonb_build_array" ||
      f.name == "make_timestamptz" || f.name == "to_date" || (f.name == "to_timestamp" && f.parameters.size() == 2))
    return true;
  if (f.result != TypeId::kInterval && f.name != "timezone" && f.name != "date_bin" && f.parameters.size() > 1) {
    const bool of_zoned =
        std::find(f.parameters.begin(), f.parameters.end(), TypeId::kTimestamptz) != f.parameters.end();
    return of_zoned && (f.name == "+" || f.name == "-" || f.name == "extract" || f.name == " extract" ||
                        f.name == "date_part" || f.name == "date_trunc");
  }
  return false;
}

// NULL whatever its other arguments are: a constant, or a strict call of one.
bool is_null_constant(const BoundExpr& e) {
  if (e.kind == BoundKind::kConst) return e.value.null != 0;
  const bool is_strict = e.kind == BoundKind::kCast || (e.kind == BoundKind::kBuiltin && e.builtin->strict);
  return is_strict &&
         std::any_of(e.args.begin(), e.args.end(), [](const BoundPtr& arg) { return is_null_constant(*arg); });
}

// Of what is left when constants are folded, as PostgreSQL asks.
bool is_immutable(const BoundExpr& e) {
  if (is_null_constant(e)) return true;
  const bool is_changing = (e.builtin != nullptr && (e.builtin->op == BuiltinOp::kNow || e.builtin->is_volatile)) ||
                           is_stable(e) || (e.kind == BoundKind::kUserCall && !e.routine->is_immutable);
  return !is_changing &&
         std::all_of(e.args.begin(), e.args.end(), [](const BoundPtr& arg) { return is_immutable(*arg); });
}

}  // namespace

StatusOr<BoundPtr> Binder::bind_generated(const ast::Expr& expr, std::shared_ptr<storage::Table> table,
                                          uint32_t column) {
  const std::string name = table->schema().name;
  auto relation = table_relation(table, name);
  Scope scope;
  scope.add(relation.get(), false);
  aggregate_clause_ = "column generation expressions";
  SCYPER_ASSIGN_OR_RETURN(BoundPtr bound, bind(expr, &scope));
  if (subquery_of(*bound) != nullptr)
    return error("0A000", "cannot use subquery in column generation expression", expr.location);
  if (!is_immutable(*bound)) return error("42P17", "generation expression is not immutable", -1);
  return coerce_to_column(std::move(bound), table->schema(), column);
}

StatusOr<BoundPtr> Binder::bind_index_part(const ast::Expr& expr, std::shared_ptr<storage::Table> table,
                                           bool is_predicate) {
  const std::string name = table->schema().name;
  auto relation = table_relation(std::move(table), name);
  Scope scope;
  scope.add(relation.get(), false);
  aggregate_clause_ = is_predicate ? "index predicates" : "index expressions";
  SCYPER_ASSIGN_OR_RETURN(BoundPtr bound, bind(expr, &scope));
  if (is_predicate) {
    SCYPER_ASSIGN_OR_RETURN(bound, coerce_boolean(std::move(bound), "WHERE"));
  } else if (bound->type.id == TypeId::kUnknown) {
    SCYPER_ASSIGN_OR_RETURN(bound, coerce(std::move(bound), make_type(TypeId::kText), Coercion::kImplicit));
  }
  const std::string what = is_predicate ? "index predicate" : "index expression";
  if (const BoundExpr* query = subquery_of(*bound); query != nullptr)
    return error("0A000", absl::StrCat("cannot use subquery in ", what), query->location);
  if (!is_immutable(*bound))
    return error("42P17", absl::StrCat("functions in ", what, " must be marked IMMUTABLE"), -1);
  return bound;
}

// What the table's hidden columns hold, for who looks for ways into it. The names of hidden columns are the expressions
// and predicates that indexes were made with.
void Binder::bind_hidden_columns(Relation* relation) {
  const storage::TableSchema& schema = relation->table->schema();
  const size_t first = storage::visible_columns(schema);
  const size_t callees = program_->callees.size();
  for (size_t c = first; c < first + schema.hidden_columns; c++) {
    auto bound = bind_rule(schema.columns[c].name, relation, "");
    if (!bound.ok()) continue;  // the index is maintained and not used
    HiddenColumn hidden;
    hidden.column = static_cast<uint32_t>(c);
    hidden.is_predicate =
        std::any_of(schema.indexes.begin(), schema.indexes.end(),
                    [&](const storage::IndexDef& index) { return index.partial && index.columns[0] == c; });
    if (hidden.is_predicate) {
      flatten_and(*std::move(bound), &hidden.exprs);
      hidden.is_true = make_constant(make_type(TypeId::kBool), int_datum(1), -1);
    } else {
      hidden.exprs.push_back(*std::move(bound));
    }
    relation->hidden.push_back(std::move(hidden));
  }
  program_->callees.resize(callees);  // these are compared, never run
}

const Relation* Binder::row_relation(std::unique_ptr<Relation>* row, const BoundDml& dml, std::string alias) {
  if (*row == nullptr) *row = table_relation(dml.table, std::move(alias));
  return row->get();
}

Status Binder::bind_constraints(BoundDml* dml) {
  const TableRules* rules = rules_of(dml->table->schema());
  if (dml->kind != DmlKind::kDelete) note_failing_row(dml);
  SCYPER_RETURN_IF_ERROR(bind_view_checks(dml));
  const bool has_view_query = std::any_of(dml->references.begin(), dml->references.end(), [](const RowCheck& check) {
    return subquery_of(*check.condition) != nullptr;
  });
  if (rules != nullptr && dml->kind != DmlKind::kDelete) {
    SCYPER_RETURN_IF_ERROR(bind_generated_columns(*rules, dml));
    if (rules->partitioning) SCYPER_RETURN_IF_ERROR(bind_partition_checks(dml));
    SCYPER_RETURN_IF_ERROR(bind_checks(*rules, dml));
    for (const ForeignKey& key : rules->foreign_keys)
      if (key.checks && (dml->kind == DmlKind::kInsert || assigns_any(*dml, key.columns)))
        SCYPER_RETURN_IF_ERROR(bind_reference(key, dml));
  }
  // A key that its index does not keep unique, or not as far as it should.
  const auto bind_key = [&](const storage::IndexDef& index, const KeyRules& key) -> Status {
    const storage::TableSchema& schema = dml->table->schema();
    const std::string text = is_only_one(schema, index, key);
    auto named = clone(*row_relation(&dml->new_row, *dml, schema.name));
    named->alias = kNewRow;
    RowCheck check = duplicate_check(schema, index, key);
    SCYPER_ASSIGN_OR_RETURN(check.condition, bind_rule(text, named.get(), ""));
    add_columns(index.columns, &dml->new_columns);
    dml->references.push_back(std::move(check));
    return absl::OkStatus();
  };
  bool has_deferrable_key = false;
  for (const storage::IndexDef& index : dml->table->schema().indexes) {
    const KeyRules key = key_rules(catalog_, index.id);
    const bool changes = dml->kind == DmlKind::kInsert || assigns_any(*dml, index.columns);
    if (!key.any() || !changes || dml->kind == DmlKind::kDelete) continue;
    has_deferrable_key |= key.is_deferrable;
    SCYPER_RETURN_IF_ERROR(bind_key(index, key));
  }
  if (dml->kind != DmlKind::kInsert) SCYPER_RETURN_IF_ERROR(bind_reactions(dml));
  bool refers_to_itself =
      rules != nullptr && std::any_of(rules->foreign_keys.begin(), rules->foreign_keys.end(),
                                      [&](const ForeignKey& key) { return key.table == dml->table->schema().id; });
  // a trigger of a row may mend the reference of the next one
  const BoundTriggers* triggers = dml->triggers.get();
  const bool fires_for_rows = triggers != nullptr && !(triggers->before_row.empty() && triggers->after_row.empty());
  dml->checks_at_once = dml->reactions.empty() && !refers_to_itself && !has_deferrable_key && !fires_for_rows &&
                        !has_view_query && reacting_.empty();
  return absl::OkStatus();
}

Status Binder::bind_generated_columns(const TableRules& rules, BoundDml* dml) {
  const storage::TableSchema& schema = dml->table->schema();
  for (uint32_t c = 0; c < rules.columns.size(); c++) {
    const std::string& text = rules.columns[c].generated_text;
    if (text.empty()) continue;
    const Relation* row = row_relation(&dml->new_row, *dml, schema.name);
    SCYPER_ASSIGN_OR_RETURN(BoundPtr value, bind_rule(text, row, "column generation expressions"));
    SCYPER_ASSIGN_OR_RETURN(value, coerce_to_column(std::move(value), schema, c));
    if (dml->kind == DmlKind::kUpdate) {
      std::set<uint32_t> read;
      collect_columns(*value, row->id, &read);
      read.insert(c);
      if (!assigns_any(*dml, {read.begin(), read.end()})) continue;  // as it is
    }
    ColumnAssignment assignment;
    assignment.column = c;
    assignment.generated = std::move(value);
    if (dml->kind == DmlKind::kUpdate) {
      assignment.value = make_null(schema.columns[c].type, -1);
      dml->assignments.push_back(std::move(assignment));
    } else {
      dml->generated.push_back(std::move(assignment));
    }
  }
  return absl::OkStatus();
}

Status Binder::bind_checks(const TableRules& rules, BoundDml* dml) {
  const storage::TableSchema& schema = dml->table->schema();
  for (const TableRules::Check& check : rules.checks) {
    const Relation* row = row_relation(&dml->new_row, *dml, schema.name);
    SCYPER_ASSIGN_OR_RETURN(BoundPtr condition, bind_rule(check.expression, row, "check constraints"));
    SCYPER_ASSIGN_OR_RETURN(condition, coerce_boolean(std::move(condition), "CHECK"));
    RowCheck bound;
    if (!may_change(*dml, *condition, row->id)) continue;  // held before, holds now
    bound.condition = std::move(condition);
    bound.sqlstate = "23514";
    bound.message =
        absl::StrCat("new row for relation \"", schema.name, "\" violates check constraint \"", check.name, "\"");
    show_failing_row(*dml, &bound);
    dml->checks.push_back(std::move(bound));
  }
  return absl::OkStatus();
}

// The referencing side: a key of the other table, unless something is NULL (MATCH SIMPLE).
Status Binder::bind_reference(const ForeignKey& key, BoundDml* dml) {
  const storage::TableSchema& schema = dml->table->schema();
  auto parent = catalog_.find_table(key.table);
  if (parent == nullptr) return error("XX000", "the table of a foreign key is missing", -1);
  const storage::TableSchema& other = parent->schema();
  const Relation* row = row_relation(&dml->new_row, *dml, schema.name);
  const std::string text = absl::StrCat(any_null(kNewRow, schema, key.columns), "EXISTS (SELECT 1 FROM ",
                                        quoted_name(other.name), " AS \" parent\" WHERE ",
                                        pairs(" parent", other, key.referenced, kNewRow, schema, key.columns), ")");
  auto named = clone(*row);
  named->alias = kNewRow;
  RowCheck check;
  const Role* saved = std::exchange(actor_, owner_of(catalog_, other));  // who inserts need not read it
  const Status usage = check_schema_usage(other.name, -1);
  auto condition = usage.ok() ? bind_rule(text, named.get(), "") : usage;
  actor_ = saved;
  SCYPER_ASSIGN_OR_RETURN(check.condition, std::move(condition));
  check.sqlstate = "23503";
  check.message = absl::StrCat("insert or update on table \"", schema.name, "\" violates foreign key constraint \"",
                               key.name, "\"");
  check.detail_before = absl::StrCat("Key (", names_of(schema, key.columns), ")=(");
  check.detail_after = absl::StrCat(") is not present in table \"", other.name, "\".");
  check.detail_columns = key.columns;
  set_deferral(key, schema.id, &check);
  add_columns(key.columns, &dml->new_columns);
  dml->references.push_back(std::move(check));
  return absl::OkStatus();
}

// The referenced side: what happens to rows that refer to those which are deleted or get another key.
Status Binder::bind_reactions(BoundDml* dml) {
  const storage::TableSchema& schema = dml->table->schema();
  for (const BoundDml* other : reacting_) {
    if (other->kind != DmlKind::kDelete || dml->kind != DmlKind::kDelete || other->table != dml->table) continue;
    // a cycle of foreign keys: the statement around goes on with these rows too
    dml->events_of = other;
    dml->old_columns = other->old_columns;
    row_relation(&dml->old_row, *dml, std::string(kOldRow));
    return absl::OkStatus();
  }
  std::vector<std::pair<const ForeignKey*, std::shared_ptr<storage::Table>>> keys;
  std::map<TableId, std::shared_ptr<storage::Table>> children;  // the older table first, as PostgreSQL
  for (const auto& [name, child] : catalog_.tables) children[child->schema().id] = child;
  for (const auto& [id, child] : children) {
    const TableRules* rules = rules_of(child->schema());
    if (rules == nullptr) continue;
    for (const ForeignKey& key : rules->foreign_keys) {
      if (key.table != schema.id || !key.acts || (dml->kind == DmlKind::kUpdate && !assigns_any(*dml, key.referenced)))
        continue;
      add_columns(key.referenced, &dml->old_columns);
      if (dml->kind == DmlKind::kUpdate) add_columns(key.referenced, &dml->new_columns);
      keys.emplace_back(&key, child);
    }
  }
  if (keys.empty()) return absl::OkStatus();
  if (reacting_.size() >= kActionDepthMax)
    return error("0A000", "foreign keys whose actions follow each other in this way are not supported", -1);
  row_relation(&dml->old_row, *dml, std::string(kOldRow));
  if (dml->kind == DmlKind::kUpdate) row_relation(&dml->new_row, *dml, schema.name);
  reacting_.push_back(dml);
  Status status;
  for (const auto& [key, child] : keys) {
    status = bind_reaction(*key, child, dml);
    if (!status.ok()) break;
  }
  reacting_.pop_back();
  return status;
}

// The action, its checks and the BEFORE triggers that it fires run as the owner of the referencing table.
Status Binder::bind_reaction(const ForeignKey& key, const std::shared_ptr<storage::Table>& child, BoundDml* dml) {
  const storage::TableSchema& schema = dml->table->schema();
  const storage::TableSchema& other = child->schema();
  const Role* owner = owner_of(catalog_, other);
  const SessionRoles roles{std::string(session_user_name()), owner == nullptr ? std::string() : owner->name};
  const RoleScope acting(&roles);
  const Role* caller = std::exchange(actor_, owner);
  const absl::Cleanup restore = [this, caller] { actor_ = caller; };
  SCYPER_RETURN_IF_ERROR(check_schema_usage(other.name, -1));
  const bool is_update = dml->kind == DmlKind::kUpdate;
  const ReferentialAction action = is_update ? key.on_update : key.on_delete;
  RowReaction reaction;
  Scope scope;
  std::unique_ptr<Relation> new_row;
  scope.add(dml->old_row.get(), false);
  std::string changes;
  if (is_update) {
    new_row = clone(*dml->new_row);
    new_row->alias = kNewRow;
    scope.add(new_row.get(), false);
    changes = absl::StrCat(
        "(", pairs(kOldRow, schema, key.referenced, kNewRow, schema, key.referenced, " IS DISTINCT FROM ", " OR "),
        ")");
  }
  for (const uint32_t column : key.referenced)  // nobody refers to a key with NULL in it
    if (!schema.columns[column].not_null)
      absl::StrAppend(&changes, changes.empty() ? "" : " AND ", quoted_name(kOldRow), ".",
                      quoted_name(schema.columns[column].name), " IS NOT NULL");
  if (!changes.empty()) {
    InnerText inner(this, changes);
    SCYPER_ASSIGN_OR_RETURN(auto expr, parse_expression(changes));
    SCYPER_ASSIGN_OR_RETURN(reaction.condition, bind(*expr, &scope));
  }
  const Scope* saved = std::exchange(action_scope_, &scope);
  Status status;
  if (action != ReferentialAction::kNoAction && action != ReferentialAction::kRestrict) {
    const std::string where =
        absl::StrCat(" WHERE ", pairs(" child", other, key.columns, kOldRow, schema, key.referenced));
    std::string text;
    if (action == ReferentialAction::kCascade && !is_update) {
      text = absl::StrCat("DELETE FROM ", quoted_name(other.name), " AS \" child\"", where);
    } else {
      text = absl::StrCat("UPDATE ", quoted_name(other.name), " AS \" child\" SET ");
      for (size_t i = 0; i < key.columns.size(); i++) {
        absl::StrAppend(&text, i == 0 ? "" : ", ", quoted_name(other.columns[key.columns[i]].name), " = ");
        if (action == ReferentialAction::kCascade)
          absl::StrAppend(&text, quoted_name(kNewRow), ".", quoted_name(schema.columns[key.referenced[i]].name));
        else
          text += action == ReferentialAction::kSetNull ? "NULL" : "DEFAULT";
      }
      text += where;
    }
    auto bound = bind_action(std::move(text), dml);
    status = bound.status();
    if (bound.ok()) reaction.action = *std::move(bound);
  }
  if (status.ok() && action != ReferentialAction::kCascade && action != ReferentialAction::kSetNull)
    status = bind_reaction_check(key, other, action, dml, &reaction);
  action_scope_ = saved;
  SCYPER_RETURN_IF_ERROR(status);
  dml->reactions.push_back(std::move(reaction));
  return absl::OkStatus();
}

// Rows that refer to a key which the statement gave to another row are fine, but for RESTRICT.
Status Binder::bind_reaction_check(const ForeignKey& key, const storage::TableSchema& child, ReferentialAction action,
                                   BoundDml* dml, RowReaction* reaction) {
  const storage::TableSchema& schema = dml->table->schema();
  const std::string text = absl::StrCat("NOT EXISTS (SELECT 1 FROM ", quoted_name(child.name), " AS \" child\" WHERE ",
                                        pairs(" child", child, key.columns, kOldRow, schema, key.referenced), ")");
  const auto bind_text = [this](const std::string& condition) -> StatusOr<BoundPtr> {
    InnerText inner(this, condition);
    SCYPER_ASSIGN_OR_RETURN(auto expr, parse_expression(condition));
    return bind(*expr, action_scope_);
  };
  std::vector<BoundPtr> conditions(1);
  SCYPER_ASSIGN_OR_RETURN(conditions[0], bind_text(text));
  wait_for_referencing(child, conditions[0].get());
  if (action != ReferentialAction::kRestrict) {  // looked up as the owner of the referenced table
    const Role* saved = std::exchange(actor_, owner_of(catalog_, schema));
    auto replaced =
        bind_text(absl::StrCat("EXISTS (SELECT 1 FROM ", quoted_name(schema.name), " AS \" other\" WHERE ",
                               pairs(" other", schema, key.referenced, kOldRow, schema, key.referenced), ")"));
    actor_ = saved;
    SCYPER_RETURN_IF_ERROR(replaced.status());
    conditions.push_back(*std::move(replaced));
  }
  reaction->check.condition = join_conditions(BoundKind::kOr, std::move(conditions), -1);
  reaction->check.sqlstate = "23503";
  reaction->check.message =
      absl::StrCat("update or delete on table \"", schema.name, "\" violates foreign key constraint \"", key.name,
                   "\" on table \"", child.name, "\"");
  reaction->check.detail_before = absl::StrCat("Key (", names_of(schema, key.referenced), ")=(");
  reaction->check.detail_after = absl::StrCat(") is still referenced from table \"", child.name, "\".");
  reaction->check.detail_columns = key.referenced;
  if (action == ReferentialAction::kNoAction) set_deferral(key, child.id, &reaction->check);  // the others never wait
  return absl::OkStatus();
}

StatusOr<std::unique_ptr<BoundDml>> Binder::bind_action(std::string text, BoundDml*) {
  InnerText inner(this, text);
  SCYPER_ASSIGN_OR_RETURN(auto statements, parse_sql(text, TextOf::kSystem));
  return bind_dml(*statements[0]);
}

}  // namespace scyper::query
