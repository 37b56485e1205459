#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/object_name.h"
#include "compile/definition.h"
#include "query/access.h"

// Who may define what, GRANT and REVOKE on objects, OWNER TO.
namespace scyper::query {

using ast::node_as;

namespace {

Status no_owner(std::string_view kind, std::string_view key) {
  return sql_error("42501", absl::StrCat("must be owner of ", std::string(kind), " ", std::string(bare_name(key))));
}

bool is_routine(ast::ObjectKind kind) {
  return kind == ast::ObjectKind::kFunction || kind == ast::ObjectKind::kProcedure || kind == ast::ObjectKind::kRoutine;
}

}  // namespace

Status Definer::may_create(std::string_view key, int32_t location) const {
  const std::string_view schema = schema_of(key);
  if (has_schema_right(*old_, &actor(), schema, kCreateRight)) return Status();
  return error("42501", absl::StrCat("permission denied for schema ", std::string(schema)), location);
}

// Of the object, or of its schema. What is not there, or has no owner, is for who may create in the schema.
Status Definer::must_own(ast::ObjectKind kind, const std::string& key) const {
  const Catalog& catalog = *old_;
  const auto owned = [&](const Access& access) { return owns(access, catalog.roles, actor()); };
  if (owned(schema_access_of(catalog, schema_of(key))) || actor().is_superuser) return Status();
  if (is_routine(kind)) {
    auto range = catalog.routines.equal_range(key);
    for (auto it = range.first; it != range.second; ++it)
      if (!owned(it->second->access)) return no_owner(it->second->procedure ? "procedure" : "function", key);
    return Status();
  }
  if (auto view = catalog.views.find(key); view != catalog.views.end())
    return owned(view->second->access) ? Status()
                                       : no_owner(view->second->foreign != nullptr ? "foreign table" : "view", key);
  std::string table = key;
  if (auto index = catalog.index_tables.find(key); index != catalog.index_tables.end()) table = index->second;
  if (auto sequence = catalog.sequences.find(key); sequence != catalog.sequences.end())
    return owned(sequence_access_of(catalog, sequence->second->definition().id)) ? Status() : no_owner("sequence", key);
  TableId id;
  if (auto found = catalog.find_table(table); found != nullptr) id = found->schema().id;
  if (auto rules = catalog.rules.find(id); id != TableId() && rules != catalog.rules.end()) {
    const bool is_materialized = table == key && catalog.find_materialized_view(key) != nullptr;
    const char* what = table != key ? "index" : is_materialized ? "materialized view" : "table";
    return owned(rules->second.access) ? Status() : no_owner(what, key);
  }
  if (has_schema_right(catalog, &actor(), schema_of(key), kCreateRight)) return Status();
  return no_owner("type", key);
}

Status Definer::may_use_table(const std::string& key, uint16_t right) const {
  auto table = old_->find_table(key);
  const auto view = old_->views.find(key);
  if (table == nullptr && view == old_->views.end()) return Status();  // who defines it says so
  Access access;
  if (view != old_->views.end()) {
    access = view->second->access;
  } else if (auto rules = old_->rules.find(table->schema().id); rules != old_->rules.end()) {
    access = rules->second.access;
  }
  if (rights_of(access, Accessed::kRelation, old_->roles, actor(), right) == right) return Status();
  return sql_error("42501", absl::StrCat("permission denied for ", table == nullptr ? "view " : "table ",
                                         std::string(bare_name(key))));
}

Status Definer::may_create_table(const ast::CreateTableStatement& create) const {
  SCYPER_RETURN_IF_ERROR(may_create(create.table.name.back(), create.table.location));
  const auto check = [&](const ast::Constraint& constraint) {
    if (constraint.kind != ast::ConstraintKind::kForeignKey) return Status();
    const std::string& parent = constraint.foreign_table.back();
    return parent == create.table.name.back() ? Status() : may_use_table(parent, kReferencesRight);
  };
  for (const auto& column : create.columns)
    for (const auto& constraint : column.constraints) SCYPER_RETURN_IF_ERROR(check(constraint));
  for (const auto& constraint : create.constraints) SCYPER_RETURN_IF_ERROR(check(constraint));
  for (const auto& like : create.likes) SCYPER_RETURN_IF_ERROR(may_use_table(like.table.name.back(), kSelectRight));
  return Status();
}

Status Definer::may_alter_table(const ast::AlterTableStatement& alter) const {
  SCYPER_RETURN_IF_ERROR(must_own(ast::ObjectKind::kTable, alter.table.name.back()));
  for (const auto& command : alter.commands)
    if (command.constraint != nullptr && command.constraint->kind == ast::ConstraintKind::kForeignKey)
      SCYPER_RETURN_IF_ERROR(may_use_table(command.constraint->foreign_table.back(), kReferencesRight));
  return Status();
}

Status Definer::may_drop(const ast::DropStatement& drop) const {
  if (drop.is_hot_data) return Status();  // drop_hot_views() says so
  for (const auto& object : drop.objects) {
    const std::string& name = object.name.back();
    if (drop.object == ast::ObjectKind::kSchema) {
      if (has_schema(name) && !owns(schema_access_of(*old_, name), old_->roles, actor()))
        return no_owner("schema", name);
      continue;
    }
    if (drop.object == ast::ObjectKind::kForeignServer) return no_owner("foreign server", name);
    if (drop.object == ast::ObjectKind::kExtension) return no_owner("extension", name);
    if (drop.object == ast::ObjectKind::kTrigger && object.name.size() > 1) {
      const std::string& relation = object.name[object.name.size() - 2];
      if (!must_own(drop.object, relation).ok()) return no_owner("relation", relation);
      continue;
    }
    SCYPER_RETURN_IF_ERROR(must_own(drop.object, name));
  }
  return Status();
}

Status Definer::may_rename(const ast::RenameStatement& rename) const {
  if (rename.object == ast::ObjectKind::kRole) return Status();
  if (rename.object == ast::ObjectKind::kSchema) {
    const std::string& name = rename.target.name.back();
    return owns(schema_access_of(*old_, name), old_->roles, actor()) ? Status() : no_owner("schema", name);
  }
  SCYPER_RETURN_IF_ERROR(must_own(rename.object, rename.target.name.back()));
  return rename.set_schema ? may_create(object_key(rename.new_name, "")) : Status();
}

// Before anything is looked at; what statements about roles want they check themselves.
Status Definer::authorize(const ast::Statement& statement) const {
  if (actor().is_superuser) return Status();
  switch (statement.kind) {
    case ast::StatementKind::kCreateTable:
      return may_create_table(node_as<ast::CreateTableStatement>(statement));
    case ast::StatementKind::kCreateTableAs:
      return may_create(node_as<ast::CreateTableAsStatement>(statement).table.name.back());
    case ast::StatementKind::kCreateSchema:
      return sql_error("42501", absl::StrCat("permission denied for database ", old_->database.name));
    case ast::StatementKind::kCreateExtension:
      return with_hint(sql_error("42501", absl::StrCat("permission denied to create extension \"",
                                                       node_as<ast::CreateExtensionStatement>(statement).name, "\"")),
                       "Must be superuser to create this extension.");
    case ast::StatementKind::kCreateForeignServer:
      return sql_error("42501", "permission denied for foreign-data wrapper file_fdw");
    case ast::StatementKind::kCreateForeignTable:
      return sql_error("42501",
                       "only superuser or a role with privileges of the pg_read_server_files role may specify the "
                       "filename option of a file_fdw foreign table");
    case ast::StatementKind::kCreateIndex:
      return must_own(ast::ObjectKind::kTable, node_as<ast::CreateIndexStatement>(statement).table.name.back());
    case ast::StatementKind::kCreateTrigger:
      return may_use_table(node_as<ast::CreateTriggerStatement>(statement).table.name.back(), kTriggerRight);
    case ast::StatementKind::kCreateView: {
      if (node_as<ast::CreateViewStatement>(statement).is_hot_data) return Status();  // create_hot_view() says so
      const std::string& key = node_as<ast::CreateViewStatement>(statement).view.name.back();
      if (old_->views.count(key) != 0) return must_own(ast::ObjectKind::kView, key);
      return may_create(key);
    }
    case ast::StatementKind::kCreateRoutine:
      return may_create(node_as<ast::CreateRoutineStatement>(statement).name.back());
    case ast::StatementKind::kAlterRoutine: {
      const auto& alter = node_as<ast::AlterRoutineStatement>(statement);
      return must_own(alter.object, alter.target.name.back());
    }
    case ast::StatementKind::kCreateSequence: {
      const auto& create = node_as<ast::CreateSequenceStatement>(statement);
      if (old_->sequences.count(create.sequence.name.back()) != 0)
        return must_own(ast::ObjectKind::kSequence, create.sequence.name.back());
      return may_create(create.sequence.name.back());
    }
    case ast::StatementKind::kCreateEnum:
      return may_create(node_as<ast::CreateEnumStatement>(statement).name.back());
    case ast::StatementKind::kAlterEnum:
      return must_own(ast::ObjectKind::kType, node_as<ast::AlterEnumStatement>(statement).name.back());
    case ast::StatementKind::kCreateDomain:
      return may_create(node_as<ast::CreateDomainStatement>(statement).name.back());
    case ast::StatementKind::kAlterDomain:
      return must_own(ast::ObjectKind::kDomain, node_as<ast::AlterDomainStatement>(statement).name.back());
    case ast::StatementKind::kAlterTable:
      return may_alter_table(node_as<ast::AlterTableStatement>(statement));
    case ast::StatementKind::kRename:
      return may_rename(node_as<ast::RenameStatement>(statement));
    case ast::StatementKind::kDrop:
      return may_drop(node_as<ast::DropStatement>(statement));
    case ast::StatementKind::kComment:
      return may_comment(node_as<ast::CommentStatement>(statement));
    case ast::StatementKind::kRefresh:
      return must_own(ast::ObjectKind::kMaterializedView, node_as<ast::RefreshStatement>(statement).view.name.back());
    case ast::StatementKind::kTruncate:
      for (const auto& table : node_as<ast::TruncateStatement>(statement).tables)
        SCYPER_RETURN_IF_ERROR(may_use_table(table.name.back(), kTruncateRight));
      return Status();
    default:
      return Status();
  }
}

Status Definer::may_comment(const ast::CommentStatement& comment) const {
  const bool is_member = comment.object == ast::ObjectKind::kColumn || comment.object == ast::ObjectKind::kConstraint ||
                         comment.object == ast::ObjectKind::kTrigger;
  const ast::Name& name = comment.target.name;
  return must_own(comment.object, is_member && name.size() > 1 ? name[name.size() - 2] : name.back());
}

// --- owners ---

Status Definer::check_new_owner(const Role& owner, std::string_view key) const {
  if (actor().is_superuser) return Status();
  if (!old_->roles.is_member(actor().id, owner.id))
    return sql_error("42501", absl::StrCat("must be member of role \"", owner.name, "\""));
  if (has_schema_right(*old_, &owner, schema_of(key), kCreateRight)) return Status();
  return sql_error("42501", absl::StrCat("permission denied for schema ", std::string(schema_of(key))));
}

namespace {
// The rights of the old owner are the new one's.
void change_owner(Access* access, uint32_t owner) {
  for (Access::Grant& grant : access->grants) {
    if (grant.grantee == access->owner) grant.grantee = owner;
    if (grant.grantor == access->owner) grant.grantor = owner;
  }
  access->owner = owner;
  auto& grants = access->grants;
  for (size_t i = 0; i < grants.size(); i++)
    for (size_t j = grants.size() - 1; j > i; j--) {
      if (grants[j].grantee != grants[i].grantee || grants[j].grantor != grants[i].grantor) continue;
      grants[i].privileges |= grants[j].privileges;
      grants[i].grantable |= grants[j].grantable;
      grants.erase(grants.begin() + static_cast<std::ptrdiff_t>(j));
    }
}
}  // namespace

Status Definer::set_owner(const ast::RoleRef& ref, const std::string& name) {
  SCYPER_ASSIGN_OR_RETURN(const Role* owner, role_of(ref));
  SCYPER_RETURN_IF_ERROR(check_new_owner(*owner, name));
  if (auto found = next().views.find(name); found != next().views.end()) {
    auto view = std::make_shared<View>(*found->second);
    change_owner(&view->access, owner->id);
    found->second = std::move(view);
    return Status();
  }
  auto table = next().find_table(name);
  if (table == nullptr) return error("42P01", absl::StrCat("relation \"", name, "\" does not exist"), -1);
  const TableId id = table->schema().id;
  change_owner(&next().rules[id].access, owner->id);
  for (const auto& [key, sequence] : next().sequences)
    if (sequence->definition().owner == id) change_owner(&next().sequence_access[sequence->definition().id], owner->id);
  return Status();
}

Status Definer::set_sequence_owner(const ast::RoleRef& ref, const std::string& name) {
  SCYPER_ASSIGN_OR_RETURN(const Role* owner, role_of(ref));
  const storage::SequenceDefinition& definition = next().sequences.find(name)->second->definition();
  if (const auto table = next().find_table(definition.owner); definition.owner != TableId() && table != nullptr)
    return with_detail(
        sql_error("0A000", absl::StrCat("cannot change owner of sequence \"", std::string(bare_name(name)), "\"")),
        absl::StrCat("Sequence \"", std::string(bare_name(name)), "\" is linked to table \"",
                     std::string(bare_name(table->schema().name)), "\"."));
  SCYPER_RETURN_IF_ERROR(check_new_owner(*owner, name));
  change_owner(&next().sequence_access[definition.id], owner->id);
  return Status();
}

// Of a routine, schema or type. Types belong to the first superuser: whoever may create in their schema may alter them.
Status Definer::set_routine_owner(const ast::OwnerStatement& statement, ResultSet* result) {
  result->command_tag = absl::StrCat("ALTER ", statement.object_name);
  const std::string& name = statement.target.name.back();
  if (statement.object == ast::ObjectKind::kSchema) {
    if (name != kPublicSchema && next().namespaces.count(name) == 0)
      return sql_error("3F000", absl::StrCat("schema \"", name, "\" does not exist"));
    Access access = schema_access_of(next(), name);
    if (!owns(access, old_->roles, actor())) return no_owner("schema", name);
    SCYPER_ASSIGN_OR_RETURN(const Role* owner, role_of(statement.owner));
    if (!actor().is_superuser && !old_->roles.is_member(actor().id, owner->id))
      return sql_error("42501", absl::StrCat("must be member of role \"", owner->name, "\""));
    change_owner(&access, owner->id);
    next().schema_access[name] = std::move(access);
    return Status();
  }
  if (statement.object == ast::ObjectKind::kType || statement.object == ast::ObjectKind::kDomain) {
    const bool exists =
        statement.object == ast::ObjectKind::kDomain ? next().domains.count(name) != 0 : type_taken(name);
    if (!exists) return error("42704", absl::StrCat("type \"", without_keys(name, true), "\" does not exist"), -1);
    SCYPER_RETURN_IF_ERROR(must_own(statement.object, name));
    SCYPER_ASSIGN_OR_RETURN(const Role* owner, role_of(statement.owner));
    if (owner->id == kSuperuserId) return Status();
    return error("0A000", "a type of another owner than the first superuser is not supported", -1);
  }
  SCYPER_RETURN_IF_ERROR(must_own(statement.object, name));
  SCYPER_ASSIGN_OR_RETURN(const Role* owner, role_of(statement.owner));
  SCYPER_RETURN_IF_ERROR(check_new_owner(*owner, name));
  return change_routine(statement.object, statement.target, [&](Access* access) { change_owner(access, owner->id); });
}

// The routine that the reference means, with another access.
Status Definer::change_routine(ast::ObjectKind kind, const ast::ObjectRef& object,
                               const std::function<void(Access*)>& change) {
  SCYPER_ASSIGN_OR_RETURN(auto found, find_routine(kind, object));
  auto routine = std::make_shared<Routine>(*found->second);
  change(&routine->access);
  found->second = std::move(routine);
  return Status();
}

// What hinders DROP ROLE.
Status Definer::check_owns_nothing(const Role& role) {
  std::vector<std::string> uses;
  const auto look = [&](const Access& access, const std::string& what) {
    if (access.owner == role.id) return uses.push_back(absl::StrCat("owner of ", what));
    for (const Access::Grant& grant : access.grants)
      if (grant.grantee == role.id) return uses.push_back(absl::StrCat("privileges for ", what));
  };
  for (const auto& [name, table] : next().tables)
    if (auto rules = next().rules.find(table->schema().id); rules != next().rules.end())
      look(rules->second.access, "table " + name);
  for (const auto& [name, view] : next().views) look(view->access, "view " + name);
  for (const auto& [name, sequence] : next().sequences)
    look(sequence_access_of(next(), sequence->definition().id), "sequence " + name);
  for (const auto& [name, routine] : next().routines)
    look(routine->access, absl::StrCat(routine->procedure ? "procedure " : "function ", signature_of(*routine)));
  for (const auto& [name, access] : next().schema_access) look(access, "schema " + name);
  if (uses.empty()) return Status();
  std::string detail;
  for (const std::string& use : uses) absl::StrAppend(&detail, detail.empty() ? "" : "\n", use);
  return with_detail(
      sql_error("2BP01", absl::StrCat("role \"", role.name, "\" cannot be dropped because some objects depend on it")),
      detail);
}

// --- GRANT ---

namespace {

StatusOr<uint16_t> privileges_of(const ast::GrantStatement& grant, Accessed kind) {
  if (grant.privileges.empty()) return rights_on(kind);
  uint16_t wanted = 0;
  for (const std::string& name : grant.privileges) {
    const auto* known = std::find_if(std::begin(kPrivilegeNames), std::end(kPrivilegeNames), [&](const auto& entry) {
      return name.size() == entry.name.size() &&
             std::equal(name.begin(), name.end(), entry.name.begin(), [](char a, char b) { return (a & ~32) == b; });
    });
    if (known == std::end(kPrivilegeNames))
      return sql_error("42601", absl::StrCat("unrecognized privilege type \"", name, "\""));
    const bool may_be_sequence = kind == Accessed::kRelation && known->privilege == kUsageRight;
    if ((rights_on(kind) & known->privilege) == 0 && !may_be_sequence)
      return sql_error("0LP01", absl::StrCat("invalid privilege type ", std::string(known->name), " for ",
                                             kind == Accessed::kRelation                   ? "relation"
                                             : kind == Accessed::kSchema                   ? "schema"
                                             : kind == Accessed::kSequence                 ? "sequence"
                                             : grant.object == ast::ObjectKind::kProcedure ? "procedure"
                                                                                           : "function"));
    wanted |= known->privilege;
  }
  return wanted;
}

}  // namespace

// One object. The grantor is its owner, where who grants has the owner's rights.
Status Definer::change_access(const ast::GrantStatement& grant, Accessed kind, std::string_view word,
                              std::string_view key, uint16_t wanted, Access* access, ResultSet* result) {
  const Grantor grantor = best_grantor(*access, kind, old_->roles, actor(), wanted);
  const std::string name(bare_name(key)), done = grant.is_grant ? "were granted" : "could be revoked";
  if (grantor.rights == 0 && rights_of(*access, kind, old_->roles, actor(), rights_on(kind)) == 0)
    return sql_error("42501", absl::StrCat("permission denied for ", std::string(word), " ", name));
  const bool is_part = (wanted & ~grantor.rights) != 0 && !grant.privileges.empty();
  wanted &= grantor.rights;
  if (wanted == 0) {
    result->notices.push_back(absl::StrCat("WARNING:  no privileges ", done, " for \"", name, "\""));
    return Status();
  }
  if (is_part) result->notices.push_back(absl::StrCat("WARNING:  not all privileges ", done, " for \"", name, "\""));
  access->grants = grants_of(*access, kind);
  access->is_default = false;
  for (const ast::RoleRef& ref : grant.grantees) {
    uint32_t grantee = kPublicId;
    if (ref.kind != ast::RoleRef::Kind::kPublic) {
      SCYPER_ASSIGN_OR_RETURN(const Role* role, role_of(ref));
      grantee = role->id;
    } else if (grant.is_grant && grant.grant_option) {
      return sql_error("0LP01", "grant options can only be granted to roles");
    }
    auto& grants = access->grants;
    auto found = std::find_if(grants.begin(), grants.end(),
                              [&](const auto& g) { return g.grantee == grantee && g.grantor == grantor.id; });
    if (grant.is_grant) {
      if (found == grants.end()) found = grants.insert(grants.end(), {grantee, grantor.id, 0, 0});
      found->privileges |= wanted;
      if (grant.grant_option) found->grantable |= wanted;
    } else if (found != grants.end()) {
      found->grantable &= static_cast<uint16_t>(~wanted);
      if (!grant.grant_option) found->privileges &= static_cast<uint16_t>(~wanted);
      if (found->privileges == 0) grants.erase(found);
    }
  }
  return Status();
}

Status Definer::grant_on_sequence(const ast::GrantStatement& grant, const std::string& key, uint16_t wanted,
                                  ResultSet* result) {
  const auto found = next().sequences.find(key);
  const std::string name(bare_name(key));
  if (found == next().sequences.end() && name_taken(key))
    return error("42809", absl::StrCat("\"", name, "\" is not a sequence"), -1);
  if (found == next().sequences.end())
    return error("42P01", absl::StrCat("relation \"", name, "\" does not exist"), -1);
  const uint16_t all = rights_on(Accessed::kSequence);
  if (grant.object == ast::ObjectKind::kTable && grant.privileges.empty()) wanted = all;
  if ((wanted & ~all) != 0)  // of a table
    result->notices.push_back(
        absl::StrCat("WARNING:  sequence \"", name, "\" only supports USAGE, SELECT, and UPDATE privileges"));
  if ((wanted & all) == 0) return Status();
  return change_access(grant, Accessed::kSequence, "sequence", key, wanted & all,
                       &next().sequence_access[found->second->definition().id], result);
}

Status Definer::grant_on_relation(const ast::GrantStatement& grant, const std::string& key, uint16_t wanted,
                                  ResultSet* result) {
  if (next().sequences.count(key) != 0) return grant_on_sequence(grant, key, wanted, result);
  if ((wanted & kUsageRight) != 0) return sql_error("0LP01", "invalid privilege type USAGE for table");
  if (auto found = next().views.find(key); found != next().views.end()) {
    auto view = std::make_shared<View>(*found->second);
    SCYPER_RETURN_IF_ERROR(change_access(grant, Accessed::kRelation, "view", key, wanted, &view->access, result));
    found->second = std::move(view);
    return Status();
  }
  auto table = next().find_table(key);
  if (table == nullptr)
    return error("42P01", absl::StrCat("relation \"", std::string(bare_name(key)), "\" does not exist"), -1);
  return change_access(grant, Accessed::kRelation, "table", key, wanted, &next().rules[table->schema().id].access,
                       result);
}

Status Definer::grant_in_schema(const ast::GrantStatement& grant, const std::string& schema, uint16_t wanted,
                                ResultSet* result) {
  if (!has_schema(schema)) return error("3F000", absl::StrCat("schema \"", schema, "\" does not exist"), -1);
  for (const auto& [kind, key] : members_of(schema)) {
    const bool is_relation = kind == ast::ObjectKind::kTable || kind == ast::ObjectKind::kView;
    if (grant.object == ast::ObjectKind::kTable && is_relation)
      SCYPER_RETURN_IF_ERROR(grant_on_relation(grant, key, wanted, result));
  }
  if (grant.object == ast::ObjectKind::kSequence) {
    for (const auto& [key, sequence] : old_->sequences)
      if (schema_of(key) == schema) SCYPER_RETURN_IF_ERROR(grant_on_sequence(grant, key, wanted, result));
  }
  if (!is_routine(grant.object)) return Status();
  for (auto& [key, routine] : next().routines) {
    const bool is_meant = grant.object == ast::ObjectKind::kRoutine ||
                          routine->procedure == (grant.object == ast::ObjectKind::kProcedure);
    if (schema_of(key) != schema || !is_meant) continue;
    auto changed = std::make_shared<Routine>(*routine);
    SCYPER_RETURN_IF_ERROR(change_access(grant, Accessed::kRoutine, routine->procedure ? "procedure" : "function", key,
                                         wanted, &changed->access, result));
    routine = std::move(changed);
  }
  return Status();
}

Status Definer::grant(const ast::GrantStatement& grant, ResultSet* result) {
  result->command_tag = grant.is_grant ? "GRANT" : "REVOKE";
  const bool on_routine = is_routine(grant.object);
  const Accessed kind = on_routine                                   ? Accessed::kRoutine
                        : grant.object == ast::ObjectKind::kSchema   ? Accessed::kSchema
                        : grant.object == ast::ObjectKind::kSequence ? Accessed::kSequence
                                                                     : Accessed::kRelation;
  if (kind == Accessed::kRelation && grant.object != ast::ObjectKind::kTable)
    return sql_error("0A000",
                     absl::StrCat(grant.is_grant ? "GRANT" : "REVOKE", " ON ", grant.object_name, " is not supported"));
  SCYPER_ASSIGN_OR_RETURN(const uint16_t wanted, privileges_of(grant, kind));
  for (const ast::ObjectRef& object : grant.objects) {
    const std::string& name = object.name.back();
    if (grant.all_in_schema) {
      SCYPER_RETURN_IF_ERROR(grant_in_schema(grant, name, wanted, result));
    } else if (kind == Accessed::kRelation) {
      SCYPER_RETURN_IF_ERROR(grant_on_relation(grant, name, wanted, result));
    } else if (kind == Accessed::kSequence) {
      SCYPER_RETURN_IF_ERROR(grant_on_sequence(grant, name, wanted, result));
    } else if (kind == Accessed::kSchema) {
      if (!has_schema(name)) return error("3F000", absl::StrCat("schema \"", name, "\" does not exist"), -1);
      Access access = schema_access_of(*old_, name);
      SCYPER_RETURN_IF_ERROR(change_access(grant, kind, "schema", name, wanted, &access, result));
      next().schema_access[name] = std::move(access);
    } else {
      Status status;
      SCYPER_RETURN_IF_ERROR(change_routine(grant.object, object, [&](Access* access) {
        status = change_access(grant, kind, grant.object == ast::ObjectKind::kProcedure ? "procedure" : "function",
                               name, wanted, access, result);
      }));
      SCYPER_RETURN_IF_ERROR(status);
    }
  }
  return Status();
}

}  // namespace scyper::query
