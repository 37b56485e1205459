#pragma once

#include <string>
#include <vector>

#include "parse/name_path.h"
#include "query/catalog.h"

namespace scyper::query {

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

// The statements of a text; SELECT INTO as the CREATE TABLE AS that it means.
StatusOr<std::vector<ast::StatementPtr>> parse_in(const Catalog& catalog, const std::vector<std::string>& search_path,
                                                  std::string_view sql);

}  // namespace scyper::query
