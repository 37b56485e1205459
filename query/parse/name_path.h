#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "parse/ast.h"

namespace scyper::query {

enum class NameKind : uint8_t {
  kRelation,  // table, view, sequence, index
  kRoutine,
  kCall,  // of a routine, where a builtin may have the name
  kType,
  kCreated  // what a statement makes
};

// Where names without a schema are looked up while SQL is parsed (search_path): keys are made there
// (base/object_name.h). None: they are names of `public`. Threads: the one that parses.
class NamePath {
 public:
  virtual ~NamePath() = default;
  virtual std::string key_of(NameKind kind, const std::string& name) const = 0;
  // Of a table in FROM, when its name has been looked up.
  virtual void change(ast::TableRef* /*ref*/) const {}
  static inline constinit thread_local const NamePath* current = nullptr;
};

class NamePathScope {
 public:
  explicit NamePathScope(const NamePath* path) noexcept : saved_(NamePath::current) { NamePath::current = path; }
  ~NamePathScope() { NamePath::current = saved_; }
  NamePathScope(const NamePathScope&) = delete;
  NamePathScope& operator=(const NamePathScope&) = delete;

 private:
  const NamePath* const saved_;
};

// The schemas themselves while a statement or routine is bound: what current_schema() says, and where names in texts
// (nextval) are looked up.
class SessionPathScope {
 public:
  explicit SessionPathScope(const std::vector<std::string>* schemas) noexcept : saved_(current) { current = schemas; }
  ~SessionPathScope() { current = saved_; }
  SessionPathScope(const SessionPathScope&) = delete;
  SessionPathScope& operator=(const SessionPathScope&) = delete;
  static inline constinit thread_local const std::vector<std::string>* current = nullptr;

 private:
  const std::vector<std::string>* const saved_;
};

// Schemas of temporary tables, which no CREATE SCHEMA makes: pg_temp_0 of the transaction that runs (ON COMMIT DROP,
// and all where there is no session; what makes them runs alone, so one is enough), pg_temp_N of session N, and
// pg_temp_N_delete of those of its tables whose rows go when a transaction commits.
constexpr std::string_view kTransactionSchema = "pg_temp_0";
constexpr std::string_view kDeletesRowsSuffix = "_delete";
bool is_temporary_schema(std::string_view schema);
bool is_temporary_key(std::string_view key);

// The schema of the session that a statement runs for, while it is parsed. Empty or none: there is no session.
class TemporarySchemaScope {
 public:
  explicit TemporarySchemaScope(std::string schema) : schema_(std::move(schema)), saved_(current) {
    current = &schema_;
  }
  ~TemporarySchemaScope() { current = saved_; }
  TemporarySchemaScope(const TemporarySchemaScope&) = delete;
  TemporarySchemaScope& operator=(const TemporarySchemaScope&) = delete;
  static inline constinit thread_local const std::string* current = nullptr;

 private:
  const std::string schema_;
  const std::string* const saved_;
};
// Of a table that a statement makes.
std::string new_temporary_key(std::string_view name, ast::OnCommit on_commit);

// A name as the grammar gives it, with one key for object and schema.
ast::Name name_key(NameKind kind, ast::Name name);
// The same of table.column.
ast::Name column_key(ast::Name name);

}  // namespace scyper::query
