#pragma once

#include <string>
#include <vector>

#include "parse/ast.h"

namespace scyper::query {

enum class NameKind : uint8_t {
  kRelation,  // table, view, sequence, index
  kRoutine,
  kType,
  kCreated  // what a statement makes
};

// Where names without a schema are looked up while SQL is parsed (search_path): keys are made there
// (base/object_name.h). None: they are names of `public`. Threads: the one that parses.
class NamePath {
 public:
  virtual ~NamePath() = default;
  virtual std::string key_of(NameKind kind, const std::string& name) const = 0;
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

// A name as the grammar gives it, with one key for object and schema.
ast::Name name_key(NameKind kind, ast::Name name);
// The same of table.column.
ast::Name column_key(ast::Name name);

}  // namespace scyper::query
