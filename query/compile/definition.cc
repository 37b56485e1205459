#include "compile/definition.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/failpoint.h"
#include "base/invariant.h"
#include "base/object_name.h"
#include "bind/binder.h"
#include "compile/search_path.h"
#include "compile/temporary.h"
#include "parse/name_path.h"
#include "parse/printer.h"
#include "parse/sql_parser.h"
#include "parse/text.h"
#include "parse/type_resolver.h"
#include "runtime/memory.h"

namespace scyper::query {

using ast::node_as;

namespace {
Failpoint define_breaks("define.breaks"), define_throws("define.throws");

void pass_failpoints() {
  INVARIANT(!define_breaks.fires());
  if (define_throws.fires()) throw std::out_of_range("failpoint define.throws");
}
}  // namespace

Status Definer::error(std::string_view sqlstate, std::string_view message, int32_t location) const {
  return sql_error(sqlstate, message, position_at(text_, location));
}

Catalog& Definer::next() {
  if (next_ == nullptr) {
    next_ = std::make_shared<Catalog>(*old_);
    next_->version++;
  }
  return *next_;
}

Status Definer::define_other(const ast::Statement& statement, ResultSet* result) {
  switch (statement.kind) {
    case ast::StatementKind::kAlterRoutine:
      return alter_routine(node_as<ast::AlterRoutineStatement>(statement), result);
    case ast::StatementKind::kRefresh:
      return refresh(node_as<ast::RefreshStatement>(statement), result);
    case ast::StatementKind::kAnalyze:
      return analyze(node_as<ast::AnalyzeStatement>(statement), result);
    default:
      return define_foreign(statement, result);
  }
}

namespace {
// Of several objects PostgreSQL does not say which one cannot go.
Status as_of_all(const ast::DropStatement& drop, Status status) {
  const std::string_view message(status.message().data(), status.message().size());
  if (drop.objects.size() < 2 || !message.ends_with(" because other objects depend on it")) return status;
  Status all = sql_error(sqlstate_of(status), "cannot drop desired object(s) because other objects depend on them");
  return with_hint(with_detail(std::move(all), detail_of(status)), hint_of(status));
}

// Definitions whose only change of a table that others see is their last step.
bool ends_in_place(const ast::Statement& statement) {
  const auto* drop = ast::node_if<ast::DropStatement>(&statement);
  return statement.kind == ast::StatementKind::kCreateIndex ||
         (drop != nullptr && drop->object == ast::ObjectKind::kIndex);
}
}  // namespace

void Definer::begin(const ast::Statement& statement) {
  shares_rows_ = !keeps_tables_ && !is_temporary_;
  if (!ends_in_place(statement) || is_temporary_) keeps_tables_ = true;
  if (!keeps_tables_) pass_failpoints();  // its last step is one that nothing takes back
}

StatusOr<std::shared_ptr<Catalog>> Definer::execute(const ast::Statement& statement, ResultSet* result) {
  SCYPER_RETURN_IF_ERROR(authorize(statement));
  begin(statement);
  Status status;
  switch (statement.kind) {
    case ast::StatementKind::kCreateTable:
      status = create_table(node_as<ast::CreateTableStatement>(statement), result);
      break;
    case ast::StatementKind::kCreateSchema:
      status = create_schema(node_as<ast::CreateSchemaStatement>(statement), result);
      break;
    case ast::StatementKind::kCreateTableAs:
      status = create_table_as(node_as<ast::CreateTableAsStatement>(statement), result);
      break;
    case ast::StatementKind::kCreateIndex:
      status = create_index(node_as<ast::CreateIndexStatement>(statement), result);
      break;
    case ast::StatementKind::kCreateRoutine:
      status = create_routine(node_as<ast::CreateRoutineStatement>(statement), result);
      break;
    case ast::StatementKind::kCreateTrigger:
      status = create_trigger(node_as<ast::CreateTriggerStatement>(statement), result);
      break;
    case ast::StatementKind::kCreateView:
      status = create_view(node_as<ast::CreateViewStatement>(statement), result);
      break;
    case ast::StatementKind::kAlterTable:
      status = alter_table(node_as<ast::AlterTableStatement>(statement), result);
      break;
    case ast::StatementKind::kRename:
      status = rename(node_as<ast::RenameStatement>(statement), result);
      break;
    case ast::StatementKind::kComment:
      status = comment(node_as<ast::CommentStatement>(statement), result);
      break;
    case ast::StatementKind::kCreateSequence:
      status = create_sequence(node_as<ast::CreateSequenceStatement>(statement), result);
      break;
    case ast::StatementKind::kCreateEnum:
      status = create_enum(node_as<ast::CreateEnumStatement>(statement), result);
      break;
    case ast::StatementKind::kAlterEnum:
      status = alter_enum(node_as<ast::AlterEnumStatement>(statement), result);
      break;
    case ast::StatementKind::kCreateDomain:
      status = create_domain(node_as<ast::CreateDomainStatement>(statement), result);
      break;
    case ast::StatementKind::kAlterDomain:
      status = alter_domain(node_as<ast::AlterDomainStatement>(statement), result);
      break;
    case ast::StatementKind::kDrop:
      status = drop(node_as<ast::DropStatement>(statement), result);
      status = as_of_all(node_as<ast::DropStatement>(statement), std::move(status));
      break;
    case ast::StatementKind::kTruncate:
      status = truncate(node_as<ast::TruncateStatement>(statement), result);
      result->command_tag = "TRUNCATE TABLE";
      break;
    default:
      status = define_other(statement, result);
  }
  for (std::string& notice : result->notices)
    notice = without_keys(notice, notice.find(" cascades to ") != std::string::npos);
  SCYPER_RETURN_IF_ERROR(status);
  if (next_ != nullptr) SCYPER_RETURN_IF_ERROR(check_partition_rules());
  if (keeps_tables_) pass_failpoints();
  drop_hot_views_without_table();
  if (is_temporary_ && next_ != nullptr) note_temporary_schemas(next_.get());
  return std::move(next_);
}

StatusOr<std::shared_ptr<storage::Table>> Definer::find_table(const ast::Name& name) const {
  auto table = old_->find_table(name.back());
  if (old_->find_partition(name.back()) != nullptr)
    return with_hint(error("0A000",
                           absl::StrCat("this is not supported for \"", std::string(bare_name(name.back())),
                                        "\", which is a partition"),
                           -1),
                     "Use the partitioned table.");
  if (table == nullptr && old_->views.count(name.back()) != 0)
    return error("42809", absl::StrCat("\"", name.back(), "\" is not a table"), -1);
  const std::string_view schema = name.size() > 1 ? std::string_view(name[name.size() - 2]) : std::string_view();
  if (table == nullptr && find_system_table(schema, bare_name(name.back())) != nullptr)
    return error("42501",
                 absl::StrCat("permission denied: \"", std::string(bare_name(name.back())), "\" is a system catalog"),
                 -1);
  if (table == nullptr) return error("42P01", absl::StrCat("relation \"", name.back(), "\" does not exist"), -1);
  if (old_->composites.count(name.back()) != 0)
    return error("42809", absl::StrCat("\"", name.back(), "\" is a composite type"), -1);
  return table;
}

Status Definer::check_schema(const ast::Name& name, int32_t location) const {
  const std::string schema(name.size() > 1 ? name[name.size() - 2] : std::string(schema_of(name.back())));
  if (has_schema(schema) || is_temporary_schema(schema)) return absl::OkStatus();
  if (schema == kNoSchema) return error("3F000", "no schema has been selected to create in", location);
  return error("3F000", absl::StrCat("schema \"", schema, "\" does not exist"), location);
}

bool Definer::name_taken(const std::string& name) const {
  const Catalog& catalog = next_ == nullptr ? *old_ : *next_;
  return catalog.tables.count(name) != 0 || catalog.sequences.count(name) != 0 ||
         catalog.index_tables.count(name) != 0 || catalog.views.count(name) != 0;
}

// A temporary table's name is no other's in all schemas that the session's temporary tables are in.
bool Definer::is_taken_for_table(const std::string& name) const {
  if (!is_temporary_key(name)) return name_taken(name);
  const Catalog& catalog = next_ == nullptr ? *old_ : *next_;
  for (const std::string& schema : with_temporary({}, catalog, session_temporary_schema()))
    if (is_temporary_schema(schema) && name_taken(object_key(schema, bare_name(name)))) return true;
  return false;
}

uint32_t Definer::draw_number(uint32_t* next) { return is_temporary_ ? next_temporary_id() : (*next)++; }

std::string Definer::free_index_name(std::string base) const {
  std::string name = base;
  for (int i = 1; name_taken(name); i++) name = absl::StrCat(base, i);
  return name;
}

}  // namespace scyper::query
