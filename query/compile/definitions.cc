#include "compile/definitions.h"
#include "compile/statement_kind.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/internal_error.h"
#include "base/object_name.h"
#include "compile/alone.h"
#include "compile/catalog_tables.h"
#include "compile/program_parts.h"
#include "compile/search_path.h"
#include "compile/statement_kind.h"
#include "compile/temporary.h"
#include "parse/text.h"
#include "query/deferred_checks.h"
#include "query/named_text.h"
#include "query/program.h"
#include "query/role_mark.h"
#include "query/search_path.h"
#include "storage/definition_change.h"
#include "storage/enum_transaction.h"
#include "storage/temporary.h"
#include "types/datum_text.h"
#include "types/timezone.h"

namespace scyper::query {

namespace {

// --- what programs that run may not survive ---

// Whether `after` has all that `before` has, as it was.
template <class Map>
bool keeps(const Map& before, const Map& after) {
  return std::all_of(before.begin(), before.end(), [&](const auto& entry) {
    auto range = after.equal_range(entry.first);
    return std::any_of(range.first, range.second, [&](const auto& other) { return other.second == entry.second; });
  });
}

// Those of temporary tables are used with them only.
bool keeps_sequences(const Catalog& before, const Catalog& after) {
  return std::all_of(before.sequences.begin(), before.sequences.end(), [&](const auto& entry) {
    auto now = after.sequences.find(entry.first);
    return storage::is_temporary(entry.second->definition().id) ||
           (now != after.sequences.end() && now->second == entry.second);
  });
}

const TableRules& rules_of(const Catalog& catalog, TableId id) {
  static const TableRules none;
  auto found = catalog.rules.find(id);
  return found == catalog.rules.end() ? none : found->second;
}

bool same(const ForeignKey& a, const ForeignKey& b) {
  return a.name == b.name && a.columns == b.columns && a.table == b.table && a.referenced == b.referenced &&
         a.on_update == b.on_update && a.on_delete == b.on_delete && a.checks == b.checks && a.acts == b.acts &&
         a.deferrable == b.deferrable && a.deferred == b.deferred;
}

bool same(const TableRules& a, const TableRules& b) {
  auto same_column = [](const TableRules::Column& x, const TableRules::Column& y) {
    return x.default_text == y.default_text && x.generated_text == y.generated_text && x.identity == y.identity &&
           x.domain == y.domain;
  };
  auto same_check = [](const TableRules::Check& x, const TableRules::Check& y) {
    return x.name == y.name && x.expression == y.expression;
  };
  auto same_key = [](const ForeignKey& x, const ForeignKey& y) { return same(x, y); };
  return std::equal(a.columns.begin(), a.columns.end(), b.columns.begin(), b.columns.end(), same_column) &&
         std::equal(a.checks.begin(), a.checks.end(), b.checks.begin(), b.checks.end(), same_check) &&
         std::equal(a.foreign_keys.begin(), a.foreign_keys.end(), b.foreign_keys.begin(), b.foreign_keys.end(),
                    same_key);
}

bool refers_to(const Catalog& catalog, TableId id, const ForeignKey& key) {
  for (const auto& [other, rules] : catalog.rules)
    for (const ForeignKey& known : rules.foreign_keys)
      if (known.table == id && same(known, key)) return true;
  return false;
}

// The foreign keys to it are the same.
bool same_references(const Catalog& before, const Catalog& after, TableId id) {
  for (const auto& [from, to] : {std::pair{&before, &after}, std::pair{&after, &before}})
    for (const auto& [other, rules] : from->rules)
      for (const ForeignKey& key : rules.foreign_keys)
        if (key.table == id && !refers_to(*to, id, key)) return false;
  return true;
}

bool same_triggers(const Catalog& before, const Catalog& after, const std::string& table) {
  auto of = [&](const Catalog& catalog) {
    std::vector<std::shared_ptr<const Trigger>> found;
    for (const auto& [key, trigger] : catalog.triggers)
      if (key.first == table) found.push_back(trigger);
    return found;
  };
  return of(before) == of(after);
}

bool is_same_table(const storage::Table& table, const Catalog& before, const Catalog& after) {
  for (const auto& [name, other] : before.tables) {
    if (other.get() != &table) continue;
    auto now = after.tables.find(name);
    const TableId id = table.schema().id;
    return now != after.tables.end() && now->second.get() == &table &&
           same(rules_of(before, id), rules_of(after, id)) && same_references(before, after, id) &&
           same_triggers(before, after, name);
  }
  return true;  // of an earlier version: it was looked at then
}

bool is_harmed(const Program& program, const Catalog& before, const Catalog& after, bool other_objects_stay,
               std::unordered_set<const Program*>* seen) {
  if (!seen->insert(&program).second) return false;
  const ProgramParts& parts = program.parts();
  for (const auto& table : parts.resources.tables)
    if (!is_same_table(*table, before, after)) return true;
  if (!other_objects_stay && !parts.resources.tables.empty()) return true;
  return std::any_of(parts.callees.begin(), parts.callees.end(), [&](const Program* callee) {
    return is_harmed(*callee, before, after, other_objects_stay, seen);
  });
}

}  // namespace

bool is_harmed(const Program& program, const Catalog& before, const Catalog& after) {
  // a new routine may be what a call means now, a view what a table's name means; sequences are replaced as a whole
  const bool others_stay = keeps(before.routines, after.routines) && keeps(before.views, after.views) &&
                           keeps_sequences(before, after) && keeps(before.enums, after.enums) &&
                           keeps(before.domains, after.domains);
  if (!keeps(before.routines, after.routines) && !program.parts().callees.empty()) return true;
  std::unordered_set<const Program*> seen;
  return is_harmed(program, before, after, others_stay, &seen);
}

namespace {

class TransactionDefinitions final : public Definitions, public storage::DefinitionUndo {
 public:
  explicit TransactionDefinitions(DefinitionServices services) : services_(std::move(services)) {}

  std::shared_ptr<const Catalog> catalog() const override {
    if (current_ != 0) return versions_[current_ - 1].catalog;
    return base_ != nullptr ? base_ : services_.published();
  }
  Status define(ExecContext* context, std::string_view text, const Datum* arguments,
                const std::vector<SqlType>& types) override {
    return contained(Phase::kDefining, without_search_path(text),
                     [&] { return define_next(context, text, arguments, types); });
  }
  std::string with_temporary(std::string_view text) const override {
    std::vector<std::string> search_path;
    const std::string_view sql = take_search_path(text, &search_path);
    const auto path = query::with_temporary(search_path, *catalog(), session_temporary_schema());
    return with_roles(roles_of(text), with_time_zone(time_zone_of(text), with_search_path(path, sql)));
  }
  bool empty() const override { return versions_.empty() && !has_temporary_rows_; }
  void note_temporary_rows() override {
    has_temporary_rows_ = true;
    session_schema_ = session_temporary_schema();
  }
  void publish() override;
  void forget() override;
  // Frees nothing and takes no lock: the child of a fork calls it, too.
  void take_back() noexcept override {
    const auto& undone = *versions_[current_ - 1].catalog;
    current_ = versions_[current_ - 1].before;
    const auto now = catalog();
    for (const auto& [name, type] : now->enums) publish_enum_again(*type);
    for (const auto& [name, sequence] : undone.sequences)
      if (const SequenceId id = sequence->definition().id; now->find_sequence(id) == nullptr)
        storage::forget_sequence(log_, id);
  }

 private:
  struct Version {
    std::shared_ptr<const Catalog> catalog;
    size_t before = 0;               // the version that it was made of
    bool is_of_transaction = false;  // it differs in tables only that the transaction will not leave
  };
  Status define_next(ExecContext* context, std::string_view text, const Datum* arguments,
                     const std::vector<SqlType>& types);
  Status fill(const Definer& definer, const std::vector<std::string>& names, const std::vector<SqlType>& types,
              const Datum* arguments, const std::shared_ptr<const Catalog>& next, ExecContext* context,
              std::string* redo);
  void release_all_but(const Catalog& kept);
  bool leaves_nothing() const;
  void reset();

  const DefinitionServices services_;
  std::shared_ptr<const Catalog> base_;  // as published, once something was defined
  std::vector<Version> versions_;        // of the transaction, also those that were taken back
  size_t current_ = 0;                   // 0: as published; else the version before it
  bool has_temporary_rows_ = false;      // that go when the transaction commits
  std::string session_schema_;           // of its session's temporary tables
  storage::ChangeLog* log_ = nullptr;
};

Status check_kind(const ast::Statement& statement) {
  if (statement.kind == ast::StatementKind::kUnsupported)
    return unsupported_command(ast::node_as<ast::UnsupportedStatement>(statement).command, 0);
  return Status();
}

// Checks that wait for a constraint under its old name.
void follow_rename(const ast::Statement& statement, const Catalog& before, DeferredChecks* deferred) {
  const auto* rename = ast::node_if<ast::RenameStatement>(&statement);
  if (deferred == nullptr || rename == nullptr || rename->object != ast::ObjectKind::kConstraint) return;
  if (const auto table = before.find_table(rename->target.name.back()); table != nullptr)
    deferred->rename(table->schema().id, rename->old_name, rename->new_name);
}

// No program that runs may have been compiled for what is not there any more.
Status check_running(const Catalog& before, const Catalog& after) {
  for (const RunningProgram* running = RunningProgram::innermost(); running != nullptr; running = running->caller())
    if (is_harmed(running->program(), before, after))
      return sql_error("0A000",
                       "a definition of what a statement that runs uses is not supported: a routine that contains the "
                       "definition as a statement, not in EXECUTE, may use it");
  return Status();
}

}  // namespace

Status TransactionDefinitions::define_next(ExecContext* context, std::string_view text, const Datum* arguments,
                                           const std::vector<SqlType>& types) {
  std::vector<std::string> search_path, names;
  const std::string_view sql = take_names(take_search_path(text, &search_path), &names);
  const auto now = catalog();
  const Definitions::Hidden hidden;  // what runs for it is no part of the transaction
  SCYPER_ASSIGN_OR_RETURN(const auto parsed, parse_definition(*now, std::move(search_path), sql));
  SCYPER_RETURN_IF_ERROR(check_kind(*parsed.statement));
  Definer definer(*services_.options, services_.arena, now, sql);
  definer.keep_tables();
  if (parsed.is_temporary) definer.set_temporary();
  std::vector<SqlType> given = types;
  for (SqlType& type : given)
    if (type.id == TypeId::kUnknown) type = make_type(TypeId::kText);
  definer.name_parameters(names, given);
  definer.set_runner(
      [this, context](const std::string& query, std::shared_ptr<const Catalog> catalog, Definer::QueryFacts* facts) {
        return services_.run_query(query, std::move(catalog), context->transaction_time_us, facts);
      });
  if (context->log->records_redo() && !parsed.is_temporary) definer.keep_values();
  ResultSet result;
  const SessionPathScope session(&parsed.search_path);
  const auto zone = make_session_zone(time_zone_of(text));
  const ZoneScope zone_scope(zone.get());
  SCYPER_ASSIGN_OR_RETURN(const SessionRoles session_roles, roles_in(now->roles, text));
  const RoleScope roles(&session_roles);
  SCYPER_ASSIGN_OR_RETURN(auto next, definer.execute(*parsed.statement, &result));
  command_tag_ = result.command_tag;
  if (context->notices != nullptr)
    for (std::string& notice : result.notices) context->notices->push_back(std::move(notice));
  context->affected_rows = 0;
  if (next == nullptr) return Status();
  next->version = trial_version();
  note_tables(next.get(), services_.frozen, services_.tier);
  SCYPER_RETURN_IF_ERROR(check_running(*now, *next));
  if (versions_.empty()) begin_enum_trial();
  for (const auto& [name, type] : next->enums) publish_enum_on_trial(type);
  std::string redo;
  std::vector<SequenceId> dropped;
  if (!definer.rows_text().empty()) {
    SCYPER_RETURN_IF_ERROR(fill(definer, names, given, arguments, next, context, &redo));
    if (definer.tells_rows()) command_tag_ = absl::StrCat("SELECT ", context->affected_rows);
  }
  std::string logged = definer.definition_text();
  if (logged.empty()) logged = with_time_zone(time_zone_of(text), with_search_path(parsed.search_path, sql));
  logged = with_roles(session_roles, std::move(logged));
  if (!definer.kept_values().empty()) logged.append(1, '\0').append(definer.kept_values());
  if (parsed.is_temporary) logged.clear();
  log_ = context->log;
  if (base_ == nullptr) base_ = now;
  for (const auto& [name, sequence] : now->sequences)  // dropped: what was drawn is known to redo before
    if (const SequenceId id = sequence->definition().id; next->find_sequence(id) == nullptr) dropped.push_back(id);
  versions_.push_back({std::move(next), current_, parsed.is_of_transaction});
  session_schema_ = session_temporary_schema();
  if (!storage::note_definition(log_, this, logged, redo))
    return storage::change_status(log_->last_result(), *log_, nullptr);
  current_ = versions_.size();
  has_changed_ = true;
  follow_rename(*parsed.statement, *now, context->deferred);
  for (const SequenceId id : dropped) storage::forget_sequence(log_, id);
  for (const SequenceId id : definer.drawn_sequences())
    if (const storage::Sequence* sequence = catalog()->find_sequence(id); sequence != nullptr)
      log_->note_sequence(id, sequence->state(), /*is_drawn=*/true);
  return Status();
}

// The rows of CREATE TABLE AS.
Status TransactionDefinitions::fill(const Definer& definer, const std::vector<std::string>& names,
                                    const std::vector<SqlType>& types, const Datum* arguments,
                                    const std::shared_ptr<const Catalog>& next, ExecContext* context,
                                    std::string* redo) {
  SCYPER_ASSIGN_OR_RETURN(auto program,
                          services_.compiler->dynamic_program(
                              with_roles(definer.roles_for_rows(),
                                         with_time_zone(session_zone_mark(), with_names(names, definer.rows_text()))),
                              types, definer.catalog_for_rows(next)));
  AloneRun alone;
  alone.time_us = context->transaction_time_us;
  alone.arguments = arguments;
  if (context->log->records_redo()) alone.redo = redo;
  alone.redo_bytes_max = context->log->options().redo_limit_bytes;
  ResultSet result;
  SCYPER_RETURN_IF_ERROR(change_alone(*services_.options, services_.arena, *program, alone, &result));
  context->affected_rows = result.affected_rows;
  return Status();
}

// Programs in caches keep the catalogs that they were compiled for: the memory of rows goes at once.
void TransactionDefinitions::release_all_but(const Catalog& kept) {
  std::unordered_set<const storage::Table*> stays;
  for (const auto& [name, table] : kept.tables) stays.insert(table.get());
  auto release = [&](const Catalog& catalog) {
    for (const auto& [name, table] : catalog.tables)
      if (stays.insert(table.get()).second) table->release();
  };
  for (const Version& version : versions_) release(*version.catalog);
  release(*services_.published());
}

// Whatever it has defined was temporary, and goes now.
bool TransactionDefinitions::leaves_nothing() const {
  for (size_t at = current_; at != 0; at = versions_[at - 1].before)
    if (!versions_[at - 1].is_of_transaction) return false;
  return !has_temporary_rows_;
}

void TransactionDefinitions::publish() {
  if (leaves_nothing() || (current_ == 0 && !has_rows_to_delete(*catalog(), session_schema_))) return forget();
  const auto published = services_.published();
  auto next = std::make_shared<Catalog>(*catalog());
  next->version = published->version + 1;
  // Without memory for empty tables the rows stay where they are: the transaction has committed.
  if (Status status = end_temporary_tables(session_schema_, services_.options->partitions, services_.arena, next.get());
      !status.ok())
    note_temporary_schemas(next.get());
  note_tables(next.get(), services_.frozen, services_.tier);
  release_all_but(*next);
  for (const auto& [name, type] : next->enums) publish_enum(type);
  services_.publish(std::move(next));
  reset();
}

void TransactionDefinitions::forget() {
  if (!versions_.empty()) {
    release_all_but(*services_.published());
    for (const auto& [name, type] : services_.published()->enums) publish_enum(type);  // as they were called
    note_placement(*services_.published());
  }
  reset();
}

void TransactionDefinitions::reset() {
  versions_.clear();
  base_ = nullptr;
  current_ = 0;
  has_temporary_rows_ = false;
}

std::unique_ptr<Definitions> make_definitions(DefinitionServices services) {
  return std::make_unique<TransactionDefinitions>(std::move(services));
}

}  // namespace scyper::query
