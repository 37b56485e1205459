#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/strong.h"
#include "query/role.h"

namespace scyper::query {

struct Catalog;

// What may be done with an object, as bits; PostgreSQL's letters of them in access lists.
enum Privilege : uint16_t {
  kInsertRight = 1 << 0,
  kSelectRight = 1 << 1,
  kUpdateRight = 1 << 2,
  kDeleteRight = 1 << 3,
  kTruncateRight = 1 << 4,
  kReferencesRight = 1 << 5,
  kTriggerRight = 1 << 6,
  kExecuteRight = 1 << 7,
  kUsageRight = 1 << 8,
  kCreateRight = 1 << 9,
};
struct PrivilegeName {
  Privilege privilege;
  char letter;
  std::string_view name;
};
constexpr PrivilegeName kPrivilegeNames[] = {
    // in the order of PostgreSQL's access lists
    {kInsertRight, 'a', "INSERT"},   {kSelectRight, 'r', "SELECT"},     {kUpdateRight, 'w', "UPDATE"},
    {kDeleteRight, 'd', "DELETE"},   {kTruncateRight, 'D', "TRUNCATE"}, {kReferencesRight, 'x', "REFERENCES"},
    {kTriggerRight, 't', "TRIGGER"}, {kExecuteRight, 'X', "EXECUTE"},   {kUsageRight, 'U', "USAGE"},
    {kCreateRight, 'C', "CREATE"},
};

enum class Accessed : uint8_t { kRelation, kRoutine, kSchema, kSequence };
constexpr uint16_t rights_on(Accessed kind) {
  constexpr uint16_t kOfRelations =
      kInsertRight | kSelectRight | kUpdateRight | kDeleteRight | kTruncateRight | kReferencesRight | kTriggerRight;
  return kind == Accessed::kRelation   ? kOfRelations
         : kind == Accessed::kRoutine  ? uint16_t{kExecuteRight}
         : kind == Accessed::kSequence ? uint16_t{kUsageRight | kSelectRight | kUpdateRight}
                                       : uint16_t{kUsageRight | kCreateRight};
}

constexpr uint32_t kPublicId = 0;  // everybody, as a grantee

// Who owns an object and who may do what with it.
struct Access {
  struct Grant {
    uint32_t grantee = kPublicId;
    uint32_t grantor = kSuperuserId;
    uint16_t privileges = 0;
    uint16_t grantable = 0;  // of them: WITH GRANT OPTION
  };
  uint32_t owner = kSuperuserId;
  bool is_default = true;  // nothing was ever granted or revoked: `grants` is empty and default_grants() count
  std::vector<Grant> grants;
};

// The owner may do all; everybody may execute routines.
std::vector<Access::Grant> grants_of(const Access& access, Accessed kind);
// The privileges that the role has, of those wanted.
uint16_t rights_of(const Access& access, Accessed kind, const Roles& roles, const Role& role, uint16_t wanted);
// In whose name a role gives and takes rights: the owner's, where it has his, else its own or that of a role that it is
// a member of, whichever may give most of what is wanted. rights: that this one may give.
struct Grantor {
  uint32_t id;
  uint16_t rights;
};
Grantor best_grantor(const Access& access, Accessed kind, const Roles& roles, const Role& role, uint16_t wanted);
bool owns(const Access& access, const Roles& roles, const Role& role);
// Of a schema; everybody may use public, as in PostgreSQL 15.
Access schema_access_of(const Catalog& catalog, std::string_view schema);
Access sequence_access_of(const Catalog& catalog, SequenceId id);
bool has_schema_right(const Catalog& catalog, const Role* role, std::string_view schema, uint16_t right);
// As pg_class.relacl has it: {scyper=arwdDxt/scyper,=r/scyper}; empty: by default.
std::vector<std::string> access_list(const Access& access, const Roles& roles);

}  // namespace scyper::query
