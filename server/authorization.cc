#include "authorization.h"

#include <algorithm>
#include <memory>

#include "audit_log.h"
#include "base/object_name.h"
#include "query/catalog.h"

namespace scyper::server {

namespace {

enum Class : uint8_t { kClient = 1, kAnalyst = 2, kOperator = 4, kMember = 8, kAnyRole = 16, kEverybody = 32 };

// The first one that fits counts; what none fits is for superusers.
constexpr struct {
  std::string_view path;
  uint8_t classes;
} kVerbs[] = {
    {"/grpc.health.v1.Health/", kEverybody},
    {"/grpc.reflection.", kAnyRole},
    {"/scyper.v1.Transactions/", kClient | kMember},        // members forward what their sessions write
    {"/scyper.v1.Queries/CopyIn", kClient | kMember},       // as Transactions
    {"/scyper.v1.Queries/", kClient | kAnalyst | kMember},  // members pass queries on
    {"/scyper.v1.Admin/Status", kAnyRole},
    {"/scyper.v1.Admin/Describe", kClient | kAnalyst | kOperator},
    {"/scyper.v1.Admin/Load", kClient},
    {"/scyper.v1.Admin/", kOperator},
    {"/scyper.replication.v1.Replication/", kMember},
};

uint8_t classes_of(std::string_view path) {
  for (const auto& verb : kVerbs)
    if (path.starts_with(verb.path)) return verb.classes;
  return 0;
}

bool has_class(const query::Roles& roles, const query::Role& role, uint8_t classes) {
  if (role.is_superuser || (classes & kAnyRole) != 0) return true;
  for (uint32_t i = 0; i < 4; ++i)  // the roles of the classes are numbered in their order
    if ((classes & (1u << i)) != 0 && roles.is_member(role.id, query::kClientRoleId + i)) return true;
  return false;
}

Status denied(const std::string& name, std::string_view path) {
  return sql_error("42501", "permission denied: role \"" + name + "\" may not call " + std::string(path));
}

// Null: nobody is checked.
std::shared_ptr<const query::Catalog> closed_catalog(const primary::Engine* engine) {
  auto catalog = engine->catalog();
  return catalog == nullptr || !catalog->roles.is_closed() ? nullptr : catalog;
}

}  // namespace

Status Authorization::check(std::string_view path, const std::string& name, const std::string& peer) {
  const auto catalog = is_on_ ? closed_catalog(engine_) : nullptr;
  const uint8_t classes = classes_of(path);
  if (catalog == nullptr || (classes & kEverybody) != 0) return {};
  const query::Role* role = catalog->roles.find(name);
  if (role != nullptr && role->can_login && has_class(catalog->roles, *role, classes)) return {};
  refused_.add(1);
  Status status =
      role == nullptr || !role->can_login
          ? sql_error("42501", "permission denied: the certificate's name \"" + name + "\" is no role that may log in")
          : denied(name, path);
  write_audit({name, peer, "grpc", std::string(path)}, status);
  return status;
}

Authorization::Caller Authorization::caller(const std::string& name) const {
  const auto catalog = is_on_ ? closed_catalog(engine_) : nullptr;
  if (catalog == nullptr) return {};
  const query::Role* role = catalog->roles.find(name);
  // it says itself whose query it passes on
  if (role != nullptr && !role->is_superuser && has_class(catalog->roles, *role, kMember)) return {};
  Caller caller;
  const uint32_t id = role == nullptr ? 0 : role->id;
  caller.roles = {name, name};
  caller.ids = {id, id};
  caller.is_superuser = role != nullptr && role->is_superuser;
  caller.mark = query::with_roles(caller.roles, caller.ids, "");
  caller.reads_only = role == nullptr || !has_class(catalog->roles, *role, kClient);
  return caller;
}

Status Authorization::check_load(const std::string& name, std::string_view table) const {
  const auto catalog = is_on_ ? closed_catalog(engine_) : nullptr;
  if (catalog == nullptr) return {};
  const query::Role* role = catalog->roles.find(name);
  auto found = catalog->find_table(table);
  if (found == nullptr) found = catalog->find_table(object_key_of_text(table));
  if (found == nullptr) return {};  // the load says so
  const auto rules = catalog->rules.find(found->schema().id);
  const query::Access access = rules == catalog->rules.end() ? query::Access() : rules->second.access;
  if (role != nullptr &&
      query::rights_of(access, query::Accessed::kRelation, catalog->roles, *role, query::kInsertRight) != 0)
    return {};
  return sql_error("42501", "permission denied for table " + std::string(bare_name(found->schema().name)));
}

Status Authorization::read_only_error() {
  return sql_error("42501", "permission denied: only members of scyper_client may change data by gRPC");
}

}  // namespace scyper::server
