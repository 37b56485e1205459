#pragma once

#include <memory>

#include "base/status.h"
#include "parse/ast.h"
#include "query/catalog.h"
#include "query/database.h"
#include "query/result.h"

namespace scyper::query {

// Executes DDL: changes tables and makes the next catalog version. Runs alone. On error nothing has changed.
class Definer {
 public:
  Definer(const DatabaseOptions& options, storage::Arena* arena, std::shared_ptr<const Catalog> catalog,
          std::string_view text)
      : options_(options), arena_(arena), old_(std::move(catalog)), text_(text) {}

  // The next catalog; null = nothing to change (IF NOT EXISTS).
  StatusOr<std::shared_ptr<Catalog>> execute(const ast::Statement& statement, ResultSet* result);

 private:
  Status create_table(const ast::CreateTableStatement& create, ResultSet* result);
  Status define_columns(const ast::CreateTableStatement& create, storage::TableSchema* schema, TableRules* rules);
  Status define_partitioning(const ast::CreateTableStatement& create, storage::TableSchema* schema);
  Status define_options(const std::vector<ast::Option>& options, storage::TableSchema* schema);
  Status define_constraints(const ast::CreateTableStatement& create, storage::TableSchema* schema);
  Status add_key(const ast::Constraint& constraint, const std::vector<std::string>& columns,
                 storage::TableSchema* schema);
  Status create_index(const ast::CreateIndexStatement& create, ResultSet* result);
  Status create_routine(const ast::CreateRoutineStatement& create, ResultSet* result);
  Status check_routine(const ast::CreateRoutineStatement& create) const;
  Status define_parameters(const ast::CreateRoutineStatement& create, Routine* routine) const;
  Status create_trigger(const ast::CreateTriggerStatement& create, ResultSet* result);
  Status drop_trigger(const ast::DropStatement& drop, const ast::ObjectRef& object, ResultSet* result);
  void drop_triggers_of(const std::string& table);
  Status define_result(const ast::CreateRoutineStatement& create, Routine* routine) const;
  StatusOr<SqlType> routine_type(const ast::TypeName& type, std::string* relation) const;
  Status remove_replaced(const ast::CreateRoutineStatement& create, const Routine& routine);
  Status create_view(const ast::CreateViewStatement& create, ResultSet* result);
  Status check_replaced(const View& old, const View& view) const;
  Status drop(const ast::DropStatement& drop, ResultSet* result);
  Status drop_table(const std::string& name, const ast::DropStatement& drop, ResultSet* result);
  Status drop_view(const std::string& name, const ast::DropStatement& drop, ResultSet* result);
  Status drop_dependents(const std::string& kind, const std::string& name, const ast::DropStatement& drop,
                         ResultSet* result);
  std::vector<std::string> dependents_of(const std::string& name) const;
  Status drop_routine(const ast::DropStatement& drop, const ast::ObjectRef& object, ResultSet* result);
  Status truncate(const ast::TruncateStatement& truncate);
  Status error(std::string_view sqlstate, std::string_view message, int32_t location) const;
  StatusOr<std::shared_ptr<storage::Table>> find_table(const ast::Name& name) const;
  std::string free_index_name(std::string base) const;
  bool name_taken(const std::string& name) const;
  Catalog& next();

  const DatabaseOptions& options_;
  storage::Arena* const arena_;
  const std::shared_ptr<const Catalog> old_;
  const std::string_view text_;
  std::shared_ptr<Catalog> next_;
};

}  // namespace scyper::query
