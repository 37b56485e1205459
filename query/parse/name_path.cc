#include "parse/name_path.h"

#include <utility>

#include "base/object_name.h"

namespace scyper::query {

ast::Name name_key(NameKind kind, ast::Name name) {
  if (name.size() != 1 || NamePath::current == nullptr) return with_object_key(std::move(name));
  name[0] = NamePath::current->key_of(kind, name[0]);
  return name;
}

ast::Name column_key(ast::Name name) {
  if (name.size() < 2) return name;
  std::string column = std::move(name.back());
  name.pop_back();
  name = name_key(NameKind::kRelation, std::move(name));
  name.push_back(std::move(column));
  return name;
}

}  // namespace scyper::query
