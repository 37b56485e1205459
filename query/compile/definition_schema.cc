#include <algorithm>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "base/invariant.h"
#include "base/object_name.h"
#include "compile/definition.h"
#include "compile/search_path.h"
#include "parse/name_path.h"

// CREATE SCHEMA, DROP SCHEMA, ALTER ... SET SCHEMA. How objects are named: base/object_name.h.
namespace scyper::query {

namespace {

const char* word_of(ast::ObjectKind kind) {
  switch (kind) {
    case ast::ObjectKind::kView:
      return "view ";
    case ast::ObjectKind::kMaterializedView:
      return "materialized view ";
    case ast::ObjectKind::kSequence:
      return "sequence ";
    case ast::ObjectKind::kFunction:
      return "function ";
    case ast::ObjectKind::kProcedure:
      return "procedure ";
    case ast::ObjectKind::kType:
    case ast::ObjectKind::kDomain:
      return "type ";
    default:
      return "table ";
  }
}

// An element of CREATE SCHEMA is made in that schema.
Status put_into(const std::string& schema, ast::Statement* element) {
  auto move = [&](ast::Name* name) -> Status {
    const std::string written(name->size() > 1 ? (*name)[name->size() - 2] : schema_of(name->back()));
    if (written == schema) return absl::OkStatus();
    return sql_error("42P15", absl::StrCat("CREATE specifies a schema (", written,
                                           ") different from the one being created (", schema, ")"));
  };
  switch (element->kind) {
    case ast::StatementKind::kCreateTable:
      return move(&static_cast<ast::CreateTableStatement*>(element)->table.name);
    case ast::StatementKind::kCreateView:
      return move(&static_cast<ast::CreateViewStatement*>(element)->view.name);
    case ast::StatementKind::kCreateSequence:
      return move(&static_cast<ast::CreateSequenceStatement*>(element)->sequence.name);
    case ast::StatementKind::kCreateIndex: {  // whatever its table's name has been found to be elsewhere
      ast::Name& name = static_cast<ast::CreateIndexStatement*>(element)->table.name;
      if (name.size() == 1) name.back() = object_key(schema, bare_name(name.back()));
      return absl::OkStatus();
    }
    default:
      return absl::OkStatus();
  }
}

// PostgreSQL makes the elements of CREATE SCHEMA in this order, whatever their order in the statement.
int turn_of(const ast::Statement& element) {
  switch (element.kind) {
    case ast::StatementKind::kCreateSequence:
      return 0;
    case ast::StatementKind::kCreateTable:
      return 1;
    case ast::StatementKind::kCreateView:
      return 2;
    case ast::StatementKind::kCreateIndex:
      return 3;
    case ast::StatementKind::kCreateTrigger:
      return 4;
    default:
      return 5;
  }
}

std::vector<size_t> order_of(const std::vector<ast::StatementPtr>& elements) {
  std::vector<size_t> order(elements.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return std::pair(turn_of(*elements[a]), a) < std::pair(turn_of(*elements[b]), b);
  });
  return order;
}

// The element of CREATE SCHEMA with its names looked up in the new schema first, which holds the elements before it.
StatusOr<ast::StatementPtr> read_element(const Catalog& catalog, const std::vector<std::string>& path,
                                         std::string_view text, int32_t location, size_t element) {
  SCYPER_ASSIGN_OR_RETURN(auto statements, parse_in(catalog, path, text));
  for (auto& statement : statements) {
    if (statement->kind != ast::StatementKind::kCreateSchema || statement->location != location) continue;
    auto& elements = static_cast<ast::CreateSchemaStatement&>(*statement).elements;
    INVARIANT(element < elements.size());
    return std::move(elements[element]);
  }
  INVARIANT(false);
  return ast::StatementPtr();
}

}  // namespace

bool Definer::has_schema(std::string_view name) const {
  const Catalog& catalog = next_ == nullptr ? *old_ : *next_;
  return name == kPublicSchema || catalog.namespaces.count(name) != 0;
}

Status Definer::create_schema(const ast::CreateSchemaStatement& create, ResultSet* result) {
  result->command_tag = "CREATE SCHEMA";
  const Role* owner = &actor();
  if (!create.owner.empty()) {
    ast::RoleRef ref;
    ref.name = create.owner;
    if (create.owner == "current_user") ref.kind = ast::RoleRef::Kind::kCurrent;
    if (create.owner == "session_user") ref.kind = ast::RoleRef::Kind::kSession;
    SCYPER_ASSIGN_OR_RETURN(owner, role_of(ref));
    if (!actor().is_superuser && !old_->roles.is_member(actor().id, owner->id))
      return sql_error("42501", absl::StrCat("must be member of role \"", owner->name, "\""));
  }
  const std::string name = create.name.empty() ? owner->name : create.name;
  if (name.compare(0, 3, "pg_") == 0)
    return with_detail(error("42939", absl::StrCat("unacceptable schema name \"", name, "\""), -1),
                       "The prefix \"pg_\" is reserved for system schemas.");
  if (has_schema(name) || name == "information_schema") {
    if (!create.if_not_exists) return error("42P06", absl::StrCat("schema \"", name, "\" already exists"), -1);
    result->notices.push_back(absl::StrCat("NOTICE:  schema \"", name, "\" already exists, skipping"));
    return absl::OkStatus();
  }
  next().namespaces.insert(name);
  if (owner->id != kSuperuserId) next().schema_access[name].owner = owner->id;
  SessionRoles roles = thread_roles();
  if (owner->id != actor().id) roles.current = owner->name;
  const RoleScope scope(&roles);  // what is in it belongs to the same
  std::vector<std::string> path{name};
  if (const auto* outer = SessionPathScope::current; outer != nullptr && !outer->empty())
    path.insert(path.end(), outer->begin(), outer->end());
  else
    path.emplace_back(kPublicSchema);
  const SessionPathScope session(&path);
  for (const size_t i : order_of(create.elements)) {
    // each sees what those before it have made
    SCYPER_ASSIGN_OR_RETURN(const ast::StatementPtr element, read_element(*next_, path, text_, create.location, i));
    SCYPER_RETURN_IF_ERROR(put_into(name, element.get()));
    Definer inner(options_, arena_, next_, text_);
    inner.set_runner(runner_);
    SCYPER_ASSIGN_OR_RETURN(auto made, inner.execute(*element, result));
    if (made != nullptr) next_ = std::move(made);
  }
  result->command_tag = "CREATE SCHEMA";
  return absl::OkStatus();
}

// What DROP SCHEMA would take with it; indexes and sequences of tables go with these.
std::vector<std::pair<ast::ObjectKind, std::string>> Definer::members_of(const std::string& schema) const {
  const Catalog& catalog = next_ == nullptr ? *old_ : *next_;
  std::vector<std::pair<ast::ObjectKind, std::string>> members;
  for (const auto& [name, table] : catalog.tables)
    if (schema_of(name) == schema)
      members.emplace_back(catalog.composites.count(name) != 0               ? ast::ObjectKind::kType
                           : catalog.find_materialized_view(name) != nullptr ? ast::ObjectKind::kMaterializedView
                                                                             : ast::ObjectKind::kTable,
                           name);
  for (const auto& [name, view] : catalog.views)
    if (schema_of(name) == schema)
      members.emplace_back(view->foreign != nullptr     ? ast::ObjectKind::kForeignTable
                           : view->partition != nullptr ? ast::ObjectKind::kTable
                                                        : ast::ObjectKind::kView,
                           name);
  for (const auto& [name, sequence] : catalog.sequences)
    if (schema_of(name) == schema && sequence->definition().owner == TableId())
      members.emplace_back(ast::ObjectKind::kSequence, name);
  for (const auto& [name, type] : catalog.enums)
    if (schema_of(name) == schema) members.emplace_back(ast::ObjectKind::kType, name);
  for (const auto& [name, domain] : catalog.domains)
    if (schema_of(name) == schema) members.emplace_back(ast::ObjectKind::kDomain, name);
  for (const auto& [name, routine] : catalog.routines)
    if (schema_of(name) == schema)
      members.emplace_back(routine->procedure ? ast::ObjectKind::kProcedure : ast::ObjectKind::kFunction, name);
  return members;
}

// The schema's routines, and what calls them from other schemas.
Status Definer::drop_routines_of(const std::vector<std::pair<ast::ObjectKind, std::string>>& members,
                                 const ast::DropStatement& drop, ResultSet* result) {
  std::vector<std::shared_ptr<const Routine>> dropped;
  for (const auto& [kind, name] : members) {
    if (kind != ast::ObjectKind::kFunction && kind != ast::ObjectKind::kProcedure) continue;
    const auto range = next().routines.equal_range(name);
    for (auto it = range.first; it != range.second; ++it) dropped.push_back(it->second);
    next().routines.erase(name);
  }
  for (const auto& routine : dropped) SCYPER_RETURN_IF_ERROR(drop_users_of(*routine, drop, result));
  return absl::OkStatus();
}

Status Definer::drop_members(const std::string& schema, ResultSet* result) {
  const size_t before = result->notices.size();
  const auto members = members_of(schema);
  ast::DropStatement all;
  all.object = ast::ObjectKind::kSchema;
  all.cascade = true;
  for (const auto& [kind, name] : members) {
    ast::ObjectRef object;
    object.name = {name};
    all.objects.push_back(std::move(object));
  }
  for (const auto& [kind, name] : members) {
    if (kind == ast::ObjectKind::kTable && (next().tables.count(name) != 0 || next().find_partition(name) != nullptr))
      SCYPER_RETURN_IF_ERROR(drop_table(name, all, result));
    if (kind == ast::ObjectKind::kMaterializedView && next().tables.count(name) != 0)
      SCYPER_RETURN_IF_ERROR(drop_materialized_view(name, all, result));
    if (kind == ast::ObjectKind::kView && next().views.count(name) != 0)
      SCYPER_RETURN_IF_ERROR(drop_view(name, all, result));
    if (kind == ast::ObjectKind::kForeignTable && next().views.count(name) != 0)
      SCYPER_RETURN_IF_ERROR(drop_foreign_table(name, all, result));
    if (kind == ast::ObjectKind::kSequence && next().sequences.count(name) != 0)
      SCYPER_RETURN_IF_ERROR(drop_sequence(name, all, result));
  }
  SCYPER_RETURN_IF_ERROR(drop_routines_of(members, all, result));
  for (const auto& [kind, name] : members) {  // when what is of them has gone
    const bool is_type =
        next().domains.count(name) != 0 || next().enums.count(name) != 0 || next().composites.count(name) != 0;
    if ((kind == ast::ObjectKind::kDomain || kind == ast::ObjectKind::kType) && is_type)
      SCYPER_RETURN_IF_ERROR(drop_type(name, all, result));
  }
  const size_t others = members.size() + count_cascaded({result->notices.begin() + static_cast<ptrdiff_t>(before),
                                                         result->notices.end()});
  if (others > 1) {
    result->notices.resize(before);
    result->notices.push_back(absl::StrCat("NOTICE:  drop cascades to ", others, " other objects"));
  } else if (others == 1) {
    const bool is_routine =
        members[0].first == ast::ObjectKind::kFunction || members[0].first == ast::ObjectKind::kProcedure;
    std::string signature;
    if (is_routine) signature = signature_of(*old_->routines.find(members[0].second)->second);
    result->notices.push_back(absl::StrCat("NOTICE:  drop cascades to ", word_of(members[0].first),
                                           is_routine ? signature : members[0].second));
  }
  return absl::OkStatus();
}

Status Definer::drop_schema(const std::string& name, const ast::DropStatement& drop, ResultSet* result) {
  if (next().namespaces.count(name) == 0) {
    if (name == kPublicSchema) return error("0A000", "dropping the schema public is not supported", -1);
    if (!drop.if_exists) return error("3F000", absl::StrCat("schema \"", name, "\" does not exist"), -1);
    result->notices.push_back(absl::StrCat("NOTICE:  schema \"", name, "\" does not exist, skipping"));
    return absl::OkStatus();
  }
  const auto members = members_of(name);
  if (!members.empty() && !drop.cascade)
    return with_hint(
        with_detail(
            error("2BP01", absl::StrCat("cannot drop schema ", name, " because other objects depend on it"), -1),
            absl::StrCat(word_of(members[0].first), members[0].second, " depends on schema ", name)),
        "Use DROP ... CASCADE to drop the dependent objects too.");
  SCYPER_RETURN_IF_ERROR(drop_members(name, result));
  next().comments.erase("schema " + name);
  next().namespaces.erase(name);
  next().schema_access.erase(name);
  return absl::OkStatus();
}

// --- ALTER ---

Status Definer::move_object(ast::ObjectKind kind, const std::string& from, const std::string& to) {
  switch (kind) {
    case ast::ObjectKind::kView:
      return rename_view(from, to);
    case ast::ObjectKind::kSequence:
      return rename_sequence(from, to);
    case ast::ObjectKind::kDomain:
      return rename_domain(from, to);
    case ast::ObjectKind::kType:
      return rename_type(from, to);
    case ast::ObjectKind::kFunction:
    case ast::ObjectKind::kProcedure:
    case ast::ObjectKind::kRoutine: {
      std::vector<RoutinePlace> all;
      const auto range = next().routines.equal_range(from);
      for (auto it = range.first; it != range.second; ++it) all.push_back(it);
      for (const RoutinePlace& place : all) SCYPER_RETURN_IF_ERROR(move_routine(place, to));
      return absl::OkStatus();
    }
    default:
      break;
  }
  SCYPER_RETURN_IF_ERROR(rename_table(from, to));
  const TableId id = next().find_table(to)->schema().id;
  std::vector<std::string> indexes, sequences;
  for (const auto& index : next().find_table(to)->schema().indexes) indexes.push_back(index.name);
  for (const auto& [name, sequence] : next().sequences)
    if (sequence->definition().owner == id) sequences.push_back(name);
  for (const std::string& name : indexes) SCYPER_RETURN_IF_ERROR(rename_index(name, sibling_key(to, bare_name(name))));
  for (const std::string& name : sequences)
    SCYPER_RETURN_IF_ERROR(rename_sequence(name, sibling_key(to, bare_name(name))));
  return absl::OkStatus();
}

Status Definer::set_schema(const ast::RenameStatement& rename, ResultSet* result) {
  result->command_tag = absl::StrCat("ALTER ", rename.object_name);
  const std::string& name = rename.target.name.back();
  ast::ObjectKind kind = rename.object;
  if (kind == ast::ObjectKind::kTable && next().views.count(name) != 0) kind = ast::ObjectKind::kView;
  if (kind == ast::ObjectKind::kTable && next().sequences.count(name) != 0) kind = ast::ObjectKind::kSequence;
  if (kind == ast::ObjectKind::kTable && next().tables.count(name) == 0) {
    if (!rename.if_exists) return error("42P01", absl::StrCat("relation \"", name, "\" does not exist"), -1);
    result->notices.push_back(absl::StrCat("NOTICE:  relation \"", name, "\" does not exist, skipping"));
    return absl::OkStatus();
  }
  if (kind == ast::ObjectKind::kType && next().domains.count(name) != 0) kind = ast::ObjectKind::kDomain;
  if (kind == ast::ObjectKind::kIndex || kind == ast::ObjectKind::kConstraint || kind == ast::ObjectKind::kTrigger)
    return error("0A000", absl::StrCat("ALTER ", rename.object_name, " ... SET SCHEMA is not supported"), -1);
  if (!has_schema(rename.new_name))
    return error("3F000", absl::StrCat("schema \"", rename.new_name, "\" does not exist"), -1);
  const std::string to = object_key(rename.new_name, bare_name(name));
  if (kind == ast::ObjectKind::kFunction || kind == ast::ObjectKind::kProcedure || kind == ast::ObjectKind::kRoutine) {
    SCYPER_ASSIGN_OR_RETURN(const RoutinePlace found, find_routine(kind, rename.target));
    return schema_of(name) == rename.new_name ? absl::OkStatus() : move_routine(found, to);
  }
  if (schema_of(name) == rename.new_name) return absl::OkStatus();
  return move_object(kind, name, to);
}

Status Definer::rename_schema(const std::string& from, const std::string& to) {
  if (next().namespaces.count(from) == 0)
    return error("3F000", absl::StrCat("schema \"", from, "\" does not exist"), -1);
  if (has_schema(to)) return error("42P06", absl::StrCat("schema \"", to, "\" already exists"), -1);
  next().namespaces.insert(to);
  for (const auto& [kind, name] : members_of(from)) {
    const bool is_moved = kind == ast::ObjectKind::kFunction && next().routines.count(name) == 0;  // with its namesake
    if (!is_moved) SCYPER_RETURN_IF_ERROR(move_object(kind, name, object_key(to, bare_name(name))));
  }
  next().namespaces.erase(from);
  if (auto access = next().schema_access.extract(from); !access.empty()) {
    access.key() = to;
    next().schema_access.insert(std::move(access));
  }
  return absl::OkStatus();
}

}  // namespace scyper::query
