#include "parse/name_path.h"

#include <utility>

#include "base/object_name.h"

namespace scyper::query {

bool is_temporary_schema(std::string_view schema) { return schema.starts_with("pg_temp_"); }

bool is_temporary_key(std::string_view key) { return is_temporary_schema(schema_of(key)); }

std::string new_temporary_key(std::string_view name, ast::OnCommit on_commit) {
  const std::string* session = TemporarySchemaScope::current;
  const bool is_kept = session != nullptr && !session->empty() && on_commit != ast::OnCommit::kDrop;
  std::string schema = is_kept ? *session : std::string(kTransactionSchema);
  if (is_kept && on_commit == ast::OnCommit::kDeleteRows) schema += kDeletesRowsSuffix;
  return object_key(schema, bare_name(name));
}

namespace {
// pg_temp.t
std::string temporary_key(NameKind kind, const std::string& name) {
  if (kind == NameKind::kCreated) return new_temporary_key(name, ast::OnCommit::kPreserveRows);
  std::string key = NamePath::current == nullptr ? name : NamePath::current->key_of(kind, name);
  return is_temporary_key(key) ? key : object_key(kTransactionSchema, name);
}
}  // namespace

ast::Name name_key(NameKind kind, ast::Name name) {
  if (name.size() == 2 && name[0] == "pg_temp" && (kind == NameKind::kRelation || kind == NameKind::kCreated))
    return {temporary_key(kind, name[1])};
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
