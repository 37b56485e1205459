#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "parse/name_path.h"
#include "parse/sql_parser.h"
#include "query/catalog.h"

namespace scyper::query {

// Stands in a search_path that names no schema of users ('', "$user"; pg_catalog stays where it is named), and is the
// schema of names that no schema of a path has. CREATE SCHEMA cannot make it, messages do not show it
// (base/object_name.cc).
constexpr std::string_view kNoSchema = "pg_none";

// Looks names up in schemas, the first that has them. Lives as long as its catalog.
class SearchPath final : public NamePath {
 public:
  SearchPath(const Catalog& catalog, const std::vector<std::string>& schemas) : catalog_(catalog), schemas_(schemas) {}
  std::string key_of(NameKind kind, const std::string& name) const override;
  // For NamePathScope: none where there are no schemas.
  const NamePath* get() const { return schemas_.empty() ? nullptr : this; }

 private:
  bool has(NameKind kind, const std::string& key) const;

  const Catalog& catalog_;
  const std::vector<std::string>& schemas_;
};

// Where a routine's body is looked up that is made in a session with that path and has no SET search_path. A path
// without schemas stands for the usual one: pg_dump's texts make routines with such a path, whose bodies PostgreSQL
// looks up by the path of their callers.
std::vector<std::string> path_of_routines(std::vector<std::string> session_path);

// The statements of a text; SELECT INTO as the CREATE TABLE AS that it means.
StatusOr<std::vector<ast::StatementPtr>> parse_in(const Catalog& catalog, const std::vector<std::string>& search_path,
                                                  std::string_view sql, TextOf whose = TextOf::kUser);

}  // namespace scyper::query
