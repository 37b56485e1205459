#include "query/access.h"

#include <algorithm>
#include <bit>

#include "absl/strings/str_cat.h"
#include "base/object_name.h"
#include "parse/printer.h"
#include "query/catalog.h"

namespace scyper::query {

std::vector<Access::Grant> grants_of(const Access& access, Accessed kind) {
  if (!access.is_default) return access.grants;
  std::vector<Access::Grant> grants;
  if (kind == Accessed::kRoutine) grants.push_back({kPublicId, access.owner, kExecuteRight, 0});
  grants.push_back({access.owner, access.owner, rights_on(kind), 0});
  return grants;
}

bool owns(const Access& access, const Roles& roles, const Role& role) {
  return roles.has_rights_of(role, access.owner);
}

uint16_t rights_of(const Access& access, Accessed kind, const Roles& roles, const Role& role, uint16_t wanted) {
  if (role.is_superuser) return wanted;
  uint16_t rights = 0;
  for (const Access::Grant& grant : grants_of(access, kind))
    if ((grant.privileges & wanted & ~rights) != 0 &&
        (grant.grantee == kPublicId || roles.has_rights_of(role, grant.grantee)))
      rights |= grant.privileges;
  return rights & wanted;
}

Grantor best_grantor(const Access& access, Accessed kind, const Roles& roles, const Role& role, uint16_t wanted) {
  if (owns(access, roles, role)) return {access.owner, rights_on(kind)};
  std::map<uint32_t, uint16_t> grantable;
  for (const Access::Grant& grant : grants_of(access, kind))
    if (grant.grantee != kPublicId && roles.has_rights_of(role, grant.grantee))
      grantable[grant.grantee] |= grant.grantable;
  Grantor best{role.id, grantable[role.id]};
  for (const auto& [id, rights] : grantable)
    if (std::popcount(static_cast<uint16_t>(rights & wanted)) >
        std::popcount(static_cast<uint16_t>(best.rights & wanted)))
      best = {id, rights};
  return best;
}

Access schema_access_of(const Catalog& catalog, std::string_view schema) {
  auto found = catalog.schema_access.find(schema);
  if (found != catalog.schema_access.end()) return found->second;
  Access access;
  if (schema != kPublicSchema) return access;
  access.is_default = false;
  access.grants = {{kSuperuserId, kSuperuserId, rights_on(Accessed::kSchema), 0},
                   {kPublicId, kSuperuserId, kUsageRight, 0}};
  return access;
}

Access sequence_access_of(const Catalog& catalog, SequenceId id) {
  auto found = catalog.sequence_access.find(id);
  return found == catalog.sequence_access.end() ? Access() : found->second;
}

bool has_schema_right(const Catalog& catalog, const Role* role, std::string_view schema, uint16_t right) {
  if (role != nullptr && (role->is_superuser || schema.starts_with("pg_temp_"))) return true;
  return role != nullptr &&
         rights_of(schema_access_of(catalog, schema), Accessed::kSchema, catalog.roles, *role, right) != 0;
}

std::vector<std::string> access_list(const Access& access, const Roles& roles) {
  const auto name_of = [&](uint32_t id) {
    const Role* role = roles.find(id);
    return role == nullptr ? std::string() : quote_identifier(role->name);
  };
  std::vector<std::string> list;
  for (const Access::Grant& grant : access.grants) {
    std::string entry = absl::StrCat(grant.grantee == kPublicId ? "" : name_of(grant.grantee), "=");
    for (const PrivilegeName& known : kPrivilegeNames) {
      if ((grant.privileges & known.privilege) != 0) entry += known.letter;
      if ((grant.grantable & known.privilege) != 0) entry += '*';
    }
    list.push_back(absl::StrCat(entry, "/", name_of(grant.grantor)));
  }
  return list;
}

}  // namespace scyper::query
