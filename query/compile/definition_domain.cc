#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/object_name.h"
#include "bind/binder.h"
#include "bind/collation.h"
#include "compile/definition.h"
#include "compile/domain_check.h"
#include "parse/printer.h"
#include "parse/type_resolver.h"
#include "query/error_status.h"

// CREATE, ALTER and DROP DOMAIN.
namespace scyper::query {

DomainsById domains_by_id(const Catalog& catalog) {
  DomainsById all;
  for (const auto& [name, domain] : catalog.domains) all[domain->id] = domain.get();
  return all;
}

const Domain* domain_below(const Domain& domain, const DomainsById& all) {
  const auto found = all.find(domain.parent);
  return found == all.end() ? nullptr : found->second;
}

bool is_made_of(const Domain& domain, uint32_t other, const DomainsById& all) {
  for (const Domain* d = &domain; d != nullptr; d = domain_below(*d, all))
    if (d->id == other) return true;
  return false;
}

// Its body is PL/pgSQL: NOT NULL of any of its domains, then their checks, those of the domain below first.
std::shared_ptr<const Routine> make_domain_check(const Domain& domain, const DomainsById& all, RoutineId id) {
  const std::string shown = quote_identifier(domain.name);
  const std::string where =
      absl::StrCat(", SCHEMA = ", quote_literal(std::string(schema_of(domain.name))),
                   ", DATATYPE = ", quote_literal(std::string(bare_name(domain.name))), "; END IF;\n");
  std::string checks;
  bool not_null = false;
  for (const Domain* d = &domain; d != nullptr; d = domain_below(*d, all)) {
    not_null |= d->not_null;
    std::string own;
    for (const Domain::Check& check : d->checks)
      absl::StrAppend(
          &own, "IF NOT (", check.expression, ") THEN RAISE EXCEPTION USING ERRCODE = '23514', MESSAGE = ",
          quote_literal(absl::StrCat("value for domain ", shown, " violates check constraint \"", check.name, "\"")),
          ", CONSTRAINT = ", quote_literal(check.name), where);
    checks = own + checks;
  }
  if (!not_null && checks.empty()) return nullptr;
  auto routine = std::make_shared<Routine>();
  routine->id = id;
  routine->name = domain.name;
  RoutineParameter value;
  value.name = "value";
  value.type = domain.base;
  routine->parameters.push_back(std::move(value));
  routine->return_type = domain.base;
  routine->is_volatile = false;
  routine->is_immutable = true;
  routine->body = "BEGIN\n";
  if (not_null)
    absl::StrAppend(&routine->body, "IF value IS NULL THEN RAISE EXCEPTION USING ERRCODE = '23502', MESSAGE = ",
                    quote_literal(absl::StrCat("domain ", shown, " does not allow null values")), where);
  absl::StrAppend(&routine->body, checks, "RETURN value;\nEND");
  return routine;
}

// Puts it into the next catalog. What is made of it checks anew.
void Definer::put_domain(std::shared_ptr<Domain> domain) {
  const uint32_t id = domain->id;
  next().domains[domain->name] = std::move(domain);
  DomainsById all = domains_by_id(next());
  for (auto& [name, other] : next().domains) {
    if (!is_made_of(*other, id, all)) continue;
    auto changed = std::make_shared<Domain>(*other);
    changed->check = make_domain_check(*changed, all, RoutineId(next().next_routine_id++));
    all[changed->id] = changed.get();
    other = std::move(changed);
  }
}

Status Definer::create_domain(const ast::CreateDomainStatement& create, ResultSet* result) {
  result->command_tag = "CREATE DOMAIN";
  const std::string& name = create.name.back();
  SCYPER_RETURN_IF_ERROR(check_schema(create.name));
  if (type_taken(name)) return error("42710", absl::StrCat("type \"", name, "\" already exists"), -1);
  auto domain = std::make_shared<Domain>();
  domain->name = name;
  SCYPER_ASSIGN_OR_RETURN(domain->base, resolve_type(create.type, "", next().user_types()));
  SqlType& base = domain->base;
  if (!create.collation.empty()) SCYPER_RETURN_IF_ERROR(check_collation_name(create.collation.back()));
  if (base.id == TypeId::kRecord || base.id == TypeId::kVoid || base.id == TypeId::kUnknown)
    return error("42804", absl::StrCat("\"", type_name(base), "\" is not a valid base type for a domain"), -1);
  if (base.id == TypeId::kInterval && base.length >= 0)
    return error("0A000", "domains of intervals with fields are not supported", create.type.location);
  if (const Domain* parent = named_domain(create.type, next().user_types()); parent != nullptr) {
    const DomainsById all = domains_by_id(next());
    size_t depth = 1;
    for (const Domain* below = parent; below != nullptr; below = domain_below(*below, all)) ++depth;
    if (depth > kDomainDepthMax)
      return error("54001",
                   absl::StrCat("domain \"", std::string(bare_name(name)), "\" has too many domains below it: at most ",
                                kDomainDepthMax, " may lie over each other"),
                   create.type.location);
    domain->parent = parent->id;
    domain->default_text = parent->default_text;
  }
  if (next().next_domain_id >= kDomainsMax) return error("54000", "too many domains have been created", -1);
  domain->id = next().next_domain_id++;
  for (const ast::Constraint& constraint : create.constraints)
    SCYPER_RETURN_IF_ERROR(define_domain_rule(constraint, create.constraints, domain.get()));
  for (const ast::Constraint& constraint : create.constraints)
    if (constraint.kind == ast::ConstraintKind::kCheck)
      SCYPER_RETURN_IF_ERROR(add_domain_check(constraint, domain.get()));
  put_domain(std::move(domain));
  return absl::OkStatus();
}

namespace {
// Those that a domain cannot have.
const char* refused_constraint(ast::ConstraintKind kind) {
  switch (kind) {
    case ast::ConstraintKind::kUnique:
      return "unique constraints";
    case ast::ConstraintKind::kPrimaryKey:
      return "primary key constraints";
    case ast::ConstraintKind::kExclusion:
      return "exclusion constraints";
    case ast::ConstraintKind::kForeignKey:
      return "foreign key constraints";
    default:
      return nullptr;
  }
}
}  // namespace

// All but CHECK. all: those of the definition, in the order written.
Status Definer::define_domain_rule(const ast::Constraint& constraint, const std::vector<ast::Constraint>& all,
                                   Domain* domain) {
  using Kind = ast::ConstraintKind;
  if (const char* refused = refused_constraint(constraint.kind); refused != nullptr)
    return error("42601", absl::StrCat(refused, " not possible for domains"), -1);
  auto any_before = [&](auto is) {
    return std::any_of(all.begin(), all.end(), [&](const auto& c) { return &c < &constraint && is(c.kind); });
  };
  switch (constraint.kind) {
    case Kind::kDefault:
      if (any_before([](Kind kind) { return kind == Kind::kDefault; }))
        return error("42601", "multiple default expressions", -1);
      return domain_default(*constraint.expr, domain);
    case Kind::kNotNull:
    case Kind::kNull: {
      const Kind other = constraint.kind == Kind::kNull ? Kind::kNotNull : Kind::kNull;
      if (any_before([&](Kind kind) { return kind == other; }))
        return error("42601", "conflicting NULL/NOT NULL constraints", -1);
      domain->not_null = constraint.kind == Kind::kNotNull;
      return absl::OkStatus();
    }
    case Kind::kCheck:
      return absl::OkStatus();
    default:
      return error("0A000", "this constraint of a domain is not supported", constraint.location);
  }
}

Status Definer::domain_default(const ast::Expr& expr, Domain* domain) {
  Binder binder(next(), text_);
  SCYPER_RETURN_IF_ERROR(without_position(binder.bind_constant(expr, domain->base).status()));
  domain->default_text = sequence_default(expr);
  if (domain->default_text.empty()) domain->default_text = to_sql(expr);
  return absl::OkStatus();
}

Status Definer::add_domain_check(const ast::Constraint& constraint, Domain* domain) {
  if (const char* refused = refused_constraint(constraint.kind); refused != nullptr)
    return error("42601", absl::StrCat(refused, " not possible for domains"), -1);
  if (constraint.no_inherit) return error("42P16", "check constraints for domains cannot be marked NO INHERIT", -1);
  auto is_taken = [&](const std::string& name) {
    return std::any_of(domain->checks.begin(), domain->checks.end(), [&](const auto& c) { return c.name == name; });
  };
  if (!constraint.name.empty() && is_taken(constraint.name))
    return error("42710",
                 absl::StrCat("constraint \"", constraint.name, "\" for domain \"", domain->name, "\" already exists"),
                 -1);
  Domain::Check check;
  const std::string base = absl::StrCat(std::string(bare_name(domain->name)), "_check");
  check.name = constraint.name.empty() ? base : constraint.name;
  for (int i = 1; is_taken(check.name); i++) check.name = absl::StrCat(base, i);
  Binder binder(next(), text_);
  SCYPER_RETURN_IF_ERROR(without_position(binder.bind_domain_check(*constraint.expr, domain->base).status()));
  check.expression = to_sql(*constraint.expr);
  check.is_validated = !constraint.not_valid;
  if (check.is_validated) SCYPER_RETURN_IF_ERROR(check_domain_columns(*domain, &check));
  auto behind = std::find_if(domain->checks.begin(), domain->checks.end(),
                             [&](const auto& other) { return check.name < other.name; });
  domain->checks.insert(behind, std::move(check));  // in the order in which PostgreSQL looks at them
  return absl::OkStatus();
}

// What columns hold is fit for a new rule: the check, or NOT NULL.
Status Definer::check_domain_columns(const Domain& domain, const Domain::Check* check) {
  const DomainsById all = domains_by_id(next());
  for (const auto& [name, table] : next().tables) {
    const storage::TableSchema& schema = table->schema();
    const auto rules = next().rules.find(schema.id);
    for (size_t c = 0; rules != next().rules.end() && c < visible_columns(schema); c++) {
      const auto of = all.find(rules->second.columns[c].domain);
      if (of == all.end() || !is_made_of(*of->second, domain.id, all)) continue;
      const std::string column = quote_identifier(schema.columns[c].name), from = quote_identifier(name);
      const std::string sql = check == nullptr
                                  ? absl::StrCat("SELECT 1 FROM ", from, " WHERE ", column, " IS NULL LIMIT 1")
                                  : absl::StrCat("SELECT 1 FROM (SELECT ", column, " AS value FROM ", from,
                                                 ") AS \" row\" WHERE NOT (", check->expression, ") LIMIT 1");
      SCYPER_ASSIGN_OR_RETURN(const bool holds, has_no_rows(sql));
      if (!holds)
        return error(check == nullptr ? "23502" : "23514",
                     absl::StrCat("column \"", schema.columns[c].name, "\" of table \"", name, "\" contains ",
                                  check == nullptr ? "null values" : "values that violate the new constraint"),
                     -1);
    }
  }
  return absl::OkStatus();
}

// --- ALTER ---

StatusOr<std::shared_ptr<Domain>> Definer::domain_to_alter(const std::string& name) {
  const auto found = next().domains.find(name);
  if (found != next().domains.end()) return std::make_shared<Domain>(*found->second);
  if (next().enums.count(name) != 0)
    return error("42809", absl::StrCat(quote_identifier(name), " is not a domain"), -1);
  return error("42704", absl::StrCat("type \"", without_keys(name, true), "\" does not exist"), -1);
}

Status Definer::alter_domain(const ast::AlterDomainStatement& alter, ResultSet* result) {
  result->command_tag = "ALTER DOMAIN";
  SCYPER_ASSIGN_OR_RETURN(std::shared_ptr<Domain> domain, domain_to_alter(alter.name.back()));
  switch (alter.action) {
    case ast::AlterDomainAction::kSetDefault:
      domain->default_text.clear();
      if (alter.expr != nullptr) SCYPER_RETURN_IF_ERROR(domain_default(*alter.expr, domain.get()));
      break;
    case ast::AlterDomainAction::kSetNotNull:
      if (!domain->not_null) SCYPER_RETURN_IF_ERROR(check_domain_columns(*domain, nullptr));
      domain->not_null = true;
      break;
    case ast::AlterDomainAction::kDropNotNull:
      domain->not_null = false;
      break;
    case ast::AlterDomainAction::kAddConstraint:
      SCYPER_RETURN_IF_ERROR(add_domain_check(*alter.constraint, domain.get()));
      break;
    case ast::AlterDomainAction::kDropConstraint:
    case ast::AlterDomainAction::kValidateConstraint:
      SCYPER_RETURN_IF_ERROR(alter_domain_check(alter, domain.get(), result));
      break;
  }
  put_domain(std::move(domain));
  return absl::OkStatus();
}

Status Definer::alter_domain_check(const ast::AlterDomainStatement& alter, Domain* domain, ResultSet* result) {
  auto check = std::find_if(domain->checks.begin(), domain->checks.end(),
                            [&](const Domain::Check& c) { return c.name == alter.constraint_name; });
  if (check == domain->checks.end()) {
    const std::string missing =
        absl::StrCat("constraint \"", alter.constraint_name, "\" of domain \"", domain->name, "\" does not exist");
    if (!alter.if_exists) return error("42704", missing, -1);
    result->notices.push_back(absl::StrCat("NOTICE:  ", missing, ", skipping"));
  } else if (alter.action == ast::AlterDomainAction::kDropConstraint) {
    domain->checks.erase(check);
  } else {
    SCYPER_RETURN_IF_ERROR(check_domain_columns(*domain, &*check));
    check->is_validated = true;
  }
  return absl::OkStatus();
}

// What is of it knows it by its number.
Status Definer::rename_domain(const std::string& from, const std::string& to) {
  SCYPER_ASSIGN_OR_RETURN(std::shared_ptr<Domain> domain, domain_to_alter(from));
  if (type_taken(to)) return error("42710", absl::StrCat("type \"", to, "\" already exists"), -1);
  if (rules_name(from))
    return error("0A000", "renaming a type that a default, constraint, index or view names is not supported", -1);
  next().domains.erase(from);
  domain->name = to;
  put_domain(std::move(domain));
  return absl::OkStatus();
}

Status Definer::rename_domain_constraint(const std::string& name, const std::string& from, const std::string& to) {
  SCYPER_ASSIGN_OR_RETURN(std::shared_ptr<Domain> domain, domain_to_alter(name));
  auto find = [&](const std::string& wanted) {
    return std::find_if(domain->checks.begin(), domain->checks.end(),
                        [&](const Domain::Check& c) { return c.name == wanted; });
  };
  auto check = find(from);
  if (check == domain->checks.end())
    return error("42704", absl::StrCat("constraint \"", from, "\" for domain ", name, " does not exist"), -1);
  if (find(to) != domain->checks.end())
    return error("42710", absl::StrCat("constraint \"", to, "\" for domain ", name, " already exists"), -1);
  check->name = to;
  std::sort(domain->checks.begin(), domain->checks.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  put_domain(std::move(domain));
  return absl::OkStatus();
}

// --- DROP ---

// Columns, routines, domains and views of it.
std::vector<Definer::TypeUser> Definer::users_of(const Domain& domain) {
  std::vector<TypeUser> users;
  for (const auto& [name, table] : next().tables) {
    const storage::TableSchema& schema = table->schema();
    const auto rules = next().rules.find(schema.id);
    for (size_t c = 0; rules != next().rules.end() && c < visible_columns(schema); c++)
      if (rules->second.columns[c].domain == domain.id)
        users.push_back(
            {absl::StrCat("column ", schema.columns[c].name, " of table ", name), name, schema.columns[c].name, ""});
  }
  for (const auto& [name, other] : next().domains)
    if (other->parent == domain.id) users.push_back({absl::StrCat("type ", name), "", "", name});
  for (const auto& [name, routine] : next().routines)
    if (routine->return_domain == domain.id || std::any_of(routine->parameters.begin(), routine->parameters.end(),
                                                           [&](const auto& p) { return p.domain == domain.id; }))
      users.push_back({absl::StrCat("function ", signature_of(*routine)), "", "", ""});
  return users;
}

}  // namespace scyper::query
