#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/object_name.h"
#include "bind/binder.h"
#include "bind/make.h"
#include "bind/object_numbers.h"
#include "bind/system_types.h"
#include "query/access.h"
#include "runtime/catalog_map.h"

// has_table_privilege() and its kin: what a role may do with objects of the catalog version, as a constant of the
// program.
namespace scyper::query {

namespace {

constexpr uint16_t kOfColumns = kSelectRight | kInsertRight | kUpdateRight | kReferencesRight;
constexpr std::string_view kGrantOption = " WITH GRANT OPTION";

struct PrivilegeTest {
  std::string_view name;
  Accessed accessed;
  ObjectKind kind;
  bool has_column = false;
  uint16_t privileges = 0;  // that it may be asked for; 0: those of the kind
};
constexpr PrivilegeTest kPrivilegeTests[] = {
    {"has_table_privilege", Accessed::kRelation, ObjectKind::kRelation},
    {"has_any_column_privilege", Accessed::kRelation, ObjectKind::kRelation, false, kOfColumns},
    {"has_column_privilege", Accessed::kRelation, ObjectKind::kRelation, true, kOfColumns},
    {"has_sequence_privilege", Accessed::kSequence, ObjectKind::kRelation},
    {"has_schema_privilege", Accessed::kSchema, ObjectKind::kSchema},
    {"has_function_privilege", Accessed::kRoutine, ObjectKind::kSignature},
};

struct Tested {
  int64_t oid;
  Accessed kind;
  Access access;
};

// Everybody may look at the system's own.
Access open_access(uint16_t privilege) {
  Access access;
  access.is_default = false;
  access.grants = {{kPublicId, kSuperuserId, privilege, 0}};
  return access;
}

std::vector<Tested> tested_objects(const Catalog& catalog, const PrivilegeTest& test) {
  std::vector<Tested> all;
  if (test.accessed == Accessed::kRoutine) {
    for (const auto& [key, routine] : catalog.routines)
      all.push_back({routine_oid(*routine), Accessed::kRoutine, routine->access});
  } else if (test.accessed == Accessed::kSchema) {
    for (const auto& [oid, name] : schema_names(catalog)) {
      const bool is_system = name == "pg_catalog" || name == "information_schema";
      all.push_back({oid, Accessed::kSchema, is_system ? open_access(kUsageRight) : schema_access_of(catalog, name)});
    }
  } else {
    for (const auto& [key, sequence] : catalog.sequences)
      all.push_back(
          {sequence_oid(*sequence), Accessed::kSequence, sequence_access_of(catalog, sequence->definition().id)});
    if (test.accessed == Accessed::kSequence) return all;
    for (const auto& relation : system_relations(catalog))
      all.push_back({relation.oid, Accessed::kRelation, relation_access(catalog, relation.name)});
    for (const SystemTable& table : system_tables())
      all.push_back({system_table_oid(table.name), Accessed::kRelation, open_access(kSelectRight)});
  }
  return all;
}

// One of the rights, or one that may be given on. A right that its kind of object does not have nobody has.
bool may(const Catalog& catalog, const Role* role, const Tested& object, uint16_t rights, uint16_t grantable) {
  if (role == nullptr) return false;
  rights &= rights_on(object.kind);
  grantable &= rights_on(object.kind);
  return rights_of(object.access, object.kind, catalog.roles, *role, rights) != 0 ||
         (grantable != 0 &&
          (best_grantor(object.access, object.kind, catalog.roles, *role, grantable).rights & grantable) != 0);
}

// The right that a word asks for; nullptr: none of these.
const PrivilegeName* privilege_of(std::string_view word, uint16_t known_rights) {
  const auto* known = std::find_if(std::begin(kPrivilegeNames), std::end(kPrivilegeNames), [&](const auto& entry) {
    return (entry.privilege & known_rights) != 0 && entry.name == word;
  });
  return known == std::end(kPrivilegeNames) ? nullptr : known;
}

}  // namespace

// [role,] object [, column], privileges. The role as a literal, privileges as one or as an expression.
StatusOr<BoundPtr> Binder::bind_privilege_test(const ast::FunctionCall& call, const Scope* scope) {
  const auto* test = std::find_if(std::begin(kPrivilegeTests), std::end(kPrivilegeTests),
                                  [&](const PrivilegeTest& t) { return t.name == call.name.back(); });
  if (test == std::end(kPrivilegeTests)) return BoundPtr();
  const size_t fixed = test->has_column ? 3 : 2, count = call.args.size();
  if (count != fixed && count != fixed + 1) return BoundPtr();
  const Role* role = current_role(catalog_.roles);  // in a view, too
  if (count > fixed) {
    const auto* literal = ast::node_if<ast::Literal>(call.args[0].get());
    const std::string name = literal != nullptr ? literal->text : std::string(current_user_name());
    role = catalog_.roles.find(name);
    if (role == nullptr) return error("42704", absl::StrCat("role \"", name, "\" does not exist"), -1);
  }
  SCYPER_ASSIGN_OR_RETURN(BoundPtr object, bind(*call.args[count - fixed], scope));
  SCYPER_ASSIGN_OR_RETURN(object, cast_to_object(test->kind, std::move(object)));
  if (test->has_column) SCYPER_RETURN_IF_ERROR(check_tested_column(*object, *call.args[count - 2], scope));
  SCYPER_ASSIGN_OR_RETURN(BoundPtr key, coerce(make_cast(std::move(object), make_type(TypeId::kInt8), true),
                                               make_type(TypeId::kText), Coercion::kExplicit));
  const uint16_t known = test->privileges != 0 ? test->privileges : rights_on(test->accessed);
  const auto* words = ast::node_if<ast::Literal>(call.args.back().get());
  uint16_t rights = 0, grantable = 0;
  const std::string asked = words == nullptr ? std::string() : words->text;
  for (const std::string& word : std::vector<std::string>(absl::StrSplit(asked, ','))) {
    if (words == nullptr) break;
    std::string upper = absl::AsciiStrToUpper(word);
    absl::StripAsciiWhitespace(&upper);
    const bool is_option = upper.ends_with(kGrantOption);
    if (is_option) upper.resize(upper.size() - kGrantOption.size());
    const PrivilegeName* privilege = privilege_of(upper, known);
    if (privilege == nullptr)
      return error("22023",
                   absl::StrCat("unrecognized privilege type: \"", std::string(absl::StripAsciiWhitespace(word)), "\""),
                   -1);
    (is_option ? grantable : rights) |= privilege->privilege;
  }
  std::string map;
  for (const Tested& tested : tested_objects(catalog_, *test)) {
    if (words != nullptr) {
      add_entry(absl::StrCat(tested.oid), may(catalog_, role, tested, rights, grantable) ? "t" : "f", &map);
      continue;
    }
    for (const PrivilegeName& name : kPrivilegeNames)
      if ((known & name.privilege) != 0)
        add_entry(absl::StrCat(tested.oid, " ", std::string(name.name)),
                  may(catalog_, role, tested, name.privilege, 0) ? "t" : "f", &map);
  }
  if (words == nullptr) {
    SCYPER_ASSIGN_OR_RETURN(BoundPtr privilege, bind(*call.args.back(), scope));
    SCYPER_ASSIGN_OR_RETURN(privilege, coerce(std::move(privilege), make_type(TypeId::kText), Coercion::kImplicit));
    std::vector<BoundPtr> given;
    given.push_back(std::move(privilege));
    SCYPER_ASSIGN_OR_RETURN(privilege, make_call("upper", std::move(given), call.location));
    BoundPtr space = make_text_constant(make_type(TypeId::kText), " ", call.location);
    SCYPER_ASSIGN_OR_RETURN(key, make_operator("||", std::move(key), std::move(space), call.location));
    SCYPER_ASSIGN_OR_RETURN(key, make_operator("||", std::move(key), std::move(privilege), call.location));
  }
  SCYPER_ASSIGN_OR_RETURN(BoundPtr answer, find_text(std::move(map), std::move(key), call.location));
  return coerce(std::move(answer), make_type(TypeId::kBool), Coercion::kExplicit);
}

// Privileges are those of the table; a column that it does not have is an error where both are known.
Status Binder::check_tested_column(const BoundExpr& table, const ast::Expr& column, const Scope* scope) {
  SCYPER_ASSIGN_OR_RETURN(BoundPtr bound, bind(column, scope));
  const bool is_name = bound->kind == BoundKind::kConst && !bound->value.null &&
                       (is_string(bound->type.id) || bound->type.id == TypeId::kUnknown);
  if (!is_name || table.kind != BoundKind::kConst) return Status();
  for (const auto& relation : system_relations(catalog_)) {
    if (relation.oid != table.value.lo) continue;
    const auto names = relation.schema != nullptr ? std::vector<std::string>() : relation.view->column_names;
    const bool is_there = relation.schema != nullptr
                              ? std::any_of(relation.schema->columns.begin(), relation.schema->columns.end(),
                                            [&](const auto& c) { return c.name == bound->text; })
                              : std::find(names.begin(), names.end(), bound->text) != names.end();
    if (is_there) return Status();
    return error("42703",
                 absl::StrCat("column \"", bound->text, "\" of relation \"", std::string(bare_name(relation.name)),
                              "\" does not exist"),
                 -1);
  }
  return Status();
}

}  // namespace scyper::query
