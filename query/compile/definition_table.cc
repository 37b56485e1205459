#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/object_name.h"
#include "bind/binder.h"
#include "bind/collation.h"
#include "compile/definition.h"
#include "parse/name_path.h"
#include "parse/printer.h"
#include "parse/text.h"
#include "parse/type_resolver.h"

// CREATE TABLE: columns, their defaults, how the table is cut.
namespace scyper::query {
Status Definer::create_table(const ast::CreateTableStatement& create, ResultSet* result) {
  result->command_tag = create.is_composite ? "CREATE TYPE" : "CREATE TABLE";
  const std::string& name = create.table.name.back();
  SCYPER_RETURN_IF_ERROR(check_schema(create.table.name, create.table.location));
  if (create.is_composite && type_taken(name))
    return error("42710", absl::StrCat("type \"", name, "\" already exists"), -1);
  if (is_taken_for_table(name)) {
    if (!create.if_not_exists) return error("42P07", absl::StrCat("relation \"", name, "\" already exists"), -1);
    result->notices.push_back(absl::StrCat("NOTICE:  relation \"", name, "\" already exists, skipping"));
    return absl::OkStatus();
  }
  if (create.persistence == ast::Persistence::kTemporary && !is_temporary_key(name))
    return error("42P16", "cannot create temporary relation in non-temporary schema", create.table.location);
  if (create.on_commit != ast::OnCommit::kPreserveRows && !is_temporary_key(name))
    return error("42P16", "ON COMMIT can only be used on temporary tables", -1);
  if (create.bound != nullptr) return create_partition(create);
  if (is_temporary_ && create.partition_by.strategy == ast::PartitionStrategy::kHash)
    return error("0A000", "temporary tables PARTITION BY HASH are not supported", create.partition_by.location);
  storage::TableSchema schema;
  TableRules rules;
  rules.access.owner = actor().id;  // of its sequences, too
  schema.id = TableId(draw_number(&next().next_table_id));
  schema.version = 1;
  schema.name = name;
  schema.layout = options_.layout;
  SCYPER_RETURN_IF_ERROR(define_columns(create, &schema, &rules));
  SCYPER_RETURN_IF_ERROR(define_options(create.options, &schema, &rules, result));
  SCYPER_RETURN_IF_ERROR(define_partitioning(create, &schema));
  SCYPER_RETURN_IF_ERROR(define_keys(create, &schema));
  for (const auto& like : create.likes) SCYPER_RETURN_IF_ERROR(copy_indexes(like, &schema, &rules));
  bool primary =
      std::any_of(schema.indexes.begin(), schema.indexes.end(), [](const auto& index) { return index.primary; });
  if (!primary) {
    schema.has_row_id = true;
    schema.columns.push_back({"__row_id", make_type(TypeId::kInt8), true});
    rules.columns.emplace_back();
  }
  TableId id = schema.id;
  SCYPER_ASSIGN_OR_RETURN(auto table, storage::Table::create(std::move(schema), options_.partitions, arena_));
  next().tables[name] = std::move(table);
  next().rules[id] = std::move(rules);
  if (create.is_composite) next().composites.insert(name);
  if (create.partition_by.strategy == ast::PartitionStrategy::kRange ||
      create.partition_by.strategy == ast::PartitionStrategy::kList) {
    SCYPER_ASSIGN_OR_RETURN(next().rules[id].partitioning, partition_key(create.partition_by, name));
  }
  return define_constraints(create, name);
}

Status Definer::define_columns(const ast::CreateTableStatement& create, storage::TableSchema* schema,
                               TableRules* rules) {
  if (create.columns.size() > 1600) return error("54011", "tables can have at most 1600 columns", -1);
  for (size_t i = 0; i <= create.columns.size(); i++) {
    for (const auto& like : create.likes)
      if (like.position == i) SCYPER_RETURN_IF_ERROR(copy_columns(like, schema, rules));
    if (i == create.columns.size()) break;
    const ast::ColumnDefinition& column = create.columns[i];
    for (const auto& other : schema->columns)
      if (other.name == column.name)
        return error("42701", absl::StrCat("column \"", column.name, "\" specified more than once"), -1);
    SCYPER_RETURN_IF_ERROR(define_column(column, schema, rules));
  }
  return absl::OkStatus();
}

namespace {
// serial and its kin: integers with a sequence of their own.
TypeId serial_type(const ast::TypeName& type) {
  if (type.name.size() != 1 || !type.array_bounds.empty()) return TypeId::kUnknown;
  const std::string& name = type.name[0];
  if (name == "smallserial" || name == "serial2") return TypeId::kInt2;
  if (name == "serial" || name == "serial4") return TypeId::kInt4;
  if (name == "bigserial" || name == "serial8") return TypeId::kInt8;
  return TypeId::kUnknown;
}
}  // namespace

Status Definer::check_column_type(const ast::ColumnDefinition& column, const SqlType& type) const {
  if (type.id == TypeId::kRecord || type.id == TypeId::kVoid || type.id == TypeId::kUnknown)
    return error("42P16", absl::StrCat("column \"", column.name, "\" has pseudo-type ", type_name(type)),
                 column.location);
  if (type.element == TypeId::kInterval)
    return error("0A000", "columns of arrays of intervals are not supported", column.location);
  return absl::OkStatus();
}

// Appends a column: its type and what concerns it alone. Keys, CHECK and FOREIGN KEY come when all columns are there.
Status Definer::define_column(const ast::ColumnDefinition& column, storage::TableSchema* schema, TableRules* rules) {
  const TypeId serial = serial_type(column.type);
  SqlType type = make_type(serial);
  if (serial == TypeId::kUnknown) {
    auto resolved = resolve_type(column.type, text_, next().user_types());
    if (!resolved.ok() && next().tables.count(column.type.name.back()) != 0)
      return error("0A000",
                   absl::StrCat("columns of the composite type ", column.type.name.back(), " are not supported"),
                   column.location);
    SCYPER_ASSIGN_OR_RETURN(type, std::move(resolved));
  }
  SCYPER_RETURN_IF_ERROR(check_column_type(column, type));
  if (!column.collation.empty()) SCYPER_RETURN_IF_ERROR(check_collation_name(column.collation.back()));
  schema->columns.push_back({column.name, type, serial != TypeId::kUnknown});
  rules->columns.emplace_back();
  if (const Domain* domain = named_domain(column.type, next().user_types()); domain != nullptr)
    rules->columns.back().domain = domain->id;
  const auto number = static_cast<uint32_t>(schema->columns.size() - 1);
  if (serial != TypeId::kUnknown) SCYPER_RETURN_IF_ERROR(define_serial(*schema, number, {}, Identity::kNone, rules));
  for (const auto& constraint : column.constraints)
    SCYPER_RETURN_IF_ERROR(define_column_rule(column, constraint, number, schema, rules));
  return absl::OkStatus();
}

Status Definer::define_column_rule(const ast::ColumnDefinition& column, const ast::Constraint& constraint,
                                   uint32_t number, storage::TableSchema* schema, TableRules* rules) {
  storage::ColumnDef& def = schema->columns[number];
  TableRules::Column& rule = rules->columns[number];
  auto twice = [&](std::string_view what) {
    return error("42601",
                 absl::StrCat("multiple ", std::string(what), " specified for column \"", column.name, "\" of table \"",
                              schema->name, "\""),
                 constraint.location);
  };
  auto conflicting = [&] {
    return error("42601",
                 absl::StrCat("conflicting NULL/NOT NULL declarations for column \"", column.name, "\" of table \"",
                              schema->name, "\""),
                 constraint.location);
  };
  switch (constraint.kind) {
    case ast::ConstraintKind::kNotNull:
    case ast::ConstraintKind::kNull:
      if (rule.identity != Identity::kNone && constraint.kind == ast::ConstraintKind::kNull) return conflicting();
      if (std::any_of(column.constraints.begin(), column.constraints.end(), [&](const auto& other) {
            return &other < &constraint && other.kind != constraint.kind &&
                   (other.kind == ast::ConstraintKind::kNotNull || other.kind == ast::ConstraintKind::kNull);
          }))
        return conflicting();
      def.not_null = constraint.kind == ast::ConstraintKind::kNotNull;
      return absl::OkStatus();
    case ast::ConstraintKind::kDefault:
      if (!rule.default_text.empty()) return twice("default values");
      return define_default(*constraint.expr, def.type, &rule);
    case ast::ConstraintKind::kIdentity:
      if (rule.identity != Identity::kNone) return twice("identity specifications");
      if (std::any_of(column.constraints.begin(), column.constraints.end(), [&](const auto& other) {
            return &other < &constraint && other.kind == ast::ConstraintKind::kNull;
          }))
        return conflicting();
      if (!rule.default_text.empty())
        return error("42601",
                     absl::StrCat("both default and identity specified for column \"", column.name, "\" of table \"",
                                  schema->name, "\""),
                     constraint.location);
      if (!is_integer(def.type.id))
        return error("22023", "identity column type must be smallint, integer, or bigint", -1);
      def.not_null = true;
      return define_serial(*schema, number, constraint.options,
                           constraint.identity_always ? Identity::kAlways : Identity::kByDefault, rules);
    case ast::ConstraintKind::kGenerated:
      if (!rule.generated_text.empty()) return twice("generation clauses");
      rule.generated_text = to_sql(*constraint.expr);  // checked when the table is there
      return absl::OkStatus();
    case ast::ConstraintKind::kExclusion:
      return error("0A000", "this column constraint is not supported", constraint.location);
    default:
      return absl::OkStatus();  // define_keys(), define_constraints()
  }
}

// nextval('s') by the sequence's id, which its name does not outlive; empty for anything else.
std::string Definer::sequence_default(const ast::Expr& expr) {
  const auto* call = ast::node_if<ast::FunctionCall>(&expr);
  if (call == nullptr || call->name.back() != "nextval" || call->args.size() != 1) return "";
  const ast::Expr* name = call->args[0].get();
  if (const auto* cast = ast::node_if<ast::Cast>(name)) name = cast->arg.get();
  const auto* literal = ast::node_if<ast::Literal>(name);
  if (literal == nullptr) return "";
  const std::string& text = literal->text;
  auto found = next().sequences.find(object_key_of_text(text));
  const auto* path = SessionPathScope::current;
  const bool is_bare = text.find_first_of("\".") == std::string::npos;
  if (is_bare && path != nullptr && !path->empty()) found = next().sequences.end();
  for (size_t i = 0; is_bare && path != nullptr && i < path->size(); i++) {
    const auto one = next().sequences.find(object_key((*path)[i], object_key_of_text(text)));
    if (one == next().sequences.end() || (*path)[i] == "pg_catalog") continue;
    found = one;
    break;
  }
  if (found == next().sequences.end()) return "";
  return sequence_draw(found->second->definition().id);
}

Status Definer::define_default(const ast::Expr& expr, const SqlType& type, TableRules::Column* rule) {
  Binder binder(next(), text_);
  SCYPER_RETURN_IF_ERROR(binder.bind_constant(expr, type).status());
  rule->default_text = sequence_default(expr);
  if (rule->default_text.empty()) rule->default_text = to_sql(expr);
  return absl::OkStatus();
}

namespace {

// PostgreSQL's, about what there is nothing of here.
bool is_needless(const ast::Option& option) {
  return option.name == "fillfactor" || option.name == "parallel_workers" || option.name.starts_with("autovacuum_") ||
         option.name_space == "toast";
}

}  // namespace

Status Definer::unrecognized(const ast::Option& option) const {
  return error("22023", absl::StrCat("unrecognized parameter \"", option.name, "\""), -1);
}

Status Definer::check_options(const std::vector<ast::Option>& options) const {
  for (size_t i = 0; i < options.size(); i++) {
    const ast::Option& option = options[i];
    if (!option.name_space.empty() && option.name_space != "toast")
      return error("22023", absl::StrCat("unrecognized parameter namespace \"", option.name_space, "\""), -1);
    if (option.name.find('=') != std::string::npos)
      return error("22023", absl::StrCat("invalid option name \"", option.name, "\": must not contain \"=\""), -1);
    for (size_t j = 0; j < i; j++)
      if (options[j].name == option.name && options[j].name_space == option.name_space)
        return error("22023", absl::StrCat("parameter \"", option.name, "\" specified more than once"), -1);
  }
  return absl::OkStatus();
}

Status Definer::define_options(const std::vector<ast::Option>& options, storage::TableSchema* schema, TableRules* rules,
                               ResultSet* result) {
  SCYPER_RETURN_IF_ERROR(check_options(options));
  for (const auto& option : options) {
    if (is_needless(option)) continue;
    if (option.name == "tier_cache") {
      SCYPER_RETURN_IF_ERROR(define_tier_cache(option, rules, result));
      continue;
    }
    if (option.name != "layout") return unrecognized(option);
    if (option.value == "row")
      schema->layout = storage::Layout::kRow;
    else if (option.value == "column")
      schema->layout = storage::Layout::kColumn;
    else
      return error("22023", absl::StrCat("invalid value for parameter \"layout\": \"", option.value, "\""),
                   option.location);
  }
  return absl::OkStatus();
}

// The definition is the cluster's, caches are each node's own: a name that is not known here is one all the same.
Status Definer::define_tier_cache(const ast::Option& option, TableRules* rules, ResultSet* result) {
  if (!storage::is_cache_name(option.value))
    return error("22023", absl::StrCat("invalid value for parameter \"tier_cache\": \"", option.value, "\""), -1);
  rules->tier_cache = option.value;
  if (!options_.tier.directory.empty() && !storage::has_cache(options_.tier, option.value))
    result->notices.push_back(
        absl::StrCat("WARNING:  this node has no cache \"", option.value, "\" (tier_caches); it uses the default one"));
  return absl::OkStatus();
}

// ALTER TABLE ... SET (...), RESET (...): of storage parameters.
Status Definer::alter_options(const ast::AlterTableCommand& command, const std::string& name, ResultSet* result) {
  TableRules& rules = next().rules[next().find_table(name)->schema().id];
  const bool resets = command.action == ast::AlterTableAction::kResetOptions;
  if (!resets) SCYPER_RETURN_IF_ERROR(check_options(command.options));
  for (const ast::Option& option : command.options) {
    if (resets && option.has_value) return error("42601", "RESET must not include values for parameters", -1);
    if (is_needless(option)) continue;
    if (option.name == "layout")
      return error("0A000", "changing the layout of a table is not supported", option.location);
    if (resets && option.name == "tier_cache" && option.name_space.empty()) rules.tier_cache.clear();
    if (resets) continue;  // PostgreSQL resets what it does not know, too
    if (option.name != "tier_cache") return unrecognized(option);
    SCYPER_RETURN_IF_ERROR(define_tier_cache(option, &rules, result));
  }
  return absl::OkStatus();
}

Status Definer::define_partitioning(const ast::CreateTableStatement& create, storage::TableSchema* schema) {
  const ast::PartitionBy& partition = create.partition_by;
  if (partition.strategy != ast::PartitionStrategy::kHash) return absl::OkStatus();
  if (partition.keys.size() != 1 || partition.keys[0].column.empty())
    return error("0A000", "only one partitioning column is supported", partition.location);
  for (size_t i = 0; i < schema->columns.size(); i++) {
    if (schema->columns[i].name != partition.keys[0].column) continue;
    TypeId id = schema->columns[i].type.id;
    if (!is_integer(id) && !is_moment(id) && id != TypeId::kTime && id != TypeId::kUuid)
      return error("0A000",
                   absl::StrCat("partitioning by type ", type_name(schema->columns[i].type), " is not supported"),
                   partition.location);
    schema->scheme = storage::PartitionScheme::kHash;
    schema->partition_column = static_cast<uint32_t>(i);
    schema->columns[i].not_null = true;  // a row without it has no place
    return absl::OkStatus();
  }
  return error("42703", absl::StrCat("column \"", partition.keys[0].column, "\" named in partition key does not exist"),
               partition.location);
}

}  // namespace scyper::query
