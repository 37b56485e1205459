#include <algorithm>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "base/object_name.h"
#include "bind/binder.h"
#include "bind/partitions.h"
#include "compile/definition.h"
#include "parse/name_path.h"
#include "parse/printer.h"
#include "parse/sql_parser.h"
#include "parse/text.h"
#include "parse/type_resolver.h"
#include "plan/expressions.h"
#include "types/datum_text.h"

// PARTITION BY RANGE and LIST, PARTITION OF (query/partitioning.h): keys, bounds, the rules of one partition.
namespace scyper::query {

using ast::node_as;

namespace {

constexpr size_t kPartitionKeysMax = 32;  // PostgreSQL's

std::string query_of_partition(const Catalog& catalog, const DeclaredPartition& partition,
                               const storage::TableSchema& root) {
  return absl::StrCat("SELECT ", column_list(root), " FROM ", quote_identifier(root.name), " WHERE ",
                      partition_condition(catalog, partition));
}

// MINVALUE and MAXVALUE.
bool is_word(const ast::Expr& expr, std::string_view word) {
  const auto* ref = ast::node_if<ast::ColumnRef>(&expr);
  return ref != nullptr && ref->name.size() == 1 && ref->name[0] == word;
}

// The position of errors about the values of a bound.
int32_t place_of(const ast::PartitionBound& bound) {
  return bound.from.empty() ? bound.location : bound.from[0]->location;
}

}  // namespace

// --- the key of a partitioned table ---

StatusOr<Partitioning::Key> Definer::partition_key_part(const ast::IndexElement& element, const std::string& root) {
  const auto table = next().find_table(root);
  Partitioning::Key key;
  if (element.expr == nullptr) {
    const int column = find_column(table->schema(), element.column);
    if (column < 0)
      return error("42703", absl::StrCat("column \"", element.column, "\" named in partition key does not exist"),
                   element.location);
    const TableRules& rules = next().rules[table->schema().id];
    if (!rules.columns[static_cast<size_t>(column)].generated_text.empty())
      return with_detail(error("42P17", "cannot use generated column in partition key", element.location),
                         absl::StrCat("Column \"", element.column, "\" is a generated column."));
    key.column = element.column;
    key.expression = quote_identifier(element.column);
    key.type = table->schema().columns[static_cast<size_t>(column)].type;
  } else {
    Binder binder(next(), text_);
    auto bound = binder.bind_index_part(*element.expr, table, false);
    if (!bound.ok() && sqlstate_of(bound.status()) == "42P17")
      return error("42P17", "functions in partition key expression must be marked IMMUTABLE", -1);
    SCYPER_RETURN_IF_ERROR(bound.status());
    if ((*bound)->kind == BoundKind::kConst)
      return error("42P17", "cannot use constant expression as partition key", -1);
    key.expression = absl::StrCat("(", to_sql(*element.expr), ")");
    key.type = (*bound)->type;
  }
  return key;
}

// root: the table that has the rows.
StatusOr<Partitioning> Definer::partition_key(const ast::PartitionBy& by, const std::string& root) {
  Partitioning key;
  key.by = by.strategy == ast::PartitionStrategy::kRange ? PartitionedBy::kRange : PartitionedBy::kList;
  if (key.by == PartitionedBy::kList && by.keys.size() > 1)
    return error("42P17", "cannot use \"list\" partition strategy with more than one column", -1);
  if (by.keys.size() > kPartitionKeysMax)
    return error("54011", absl::StrCat("cannot partition using more than ", kPartitionKeysMax, " columns"), -1);
  for (const auto& element : by.keys) {
    SCYPER_ASSIGN_OR_RETURN(auto part, partition_key_part(element, root));
    key.keys.push_back(std::move(part));
  }
  return key;
}

// --- bounds ---

StatusOr<PartitionBound::Value> Definer::bound_value(const ast::Expr& expr, const Partitioning& key, size_t position) {
  PartitionBound::Value value;
  const bool is_range = key.by == PartitionedBy::kRange;
  if (is_range && is_word(expr, "minvalue")) value.limit = PartitionBound::Limit::kMinimum;
  if (is_range && is_word(expr, "maxvalue")) value.limit = PartitionBound::Limit::kMaximum;
  if (value.limit != PartitionBound::Limit::kValue) return value;
  if (expr.kind == ast::ExprKind::kColumnRef)
    return error("0A000", "cannot use column reference in partition bound expression", expr.location);
  const Partitioning::Key& part = key.keys[position];
  storage::ColumnDef column;
  column.name = part.column;
  column.type = part.type;
  Binder binder(next(), text_);
  const auto bound = binder.bind_constant(expr, part.type);
  if (!bound.ok() && sqlstate_of(bound.status()) == "42804")
    return error("42804",
                 absl::StrCat("specified value cannot be cast to type ", type_name(part.type), " for column \"",
                              part.column, "\""),
                 expr.location);
  SCYPER_RETURN_IF_ERROR(bound.status());
  std::vector<Datum> values;
  SCYPER_RETURN_IF_ERROR(
      evaluate(absl::StrCat("SELECT CAST(", to_sql(expr), " AS ", to_sql(part.type), ")"), column, &values, nullptr));
  value.is_null = values[0].null != 0;
  if (!value.is_null) append_datum(&value.text, part.type, values[0]);
  if (value.is_null && is_range) return error("42P17", "cannot specify NULL in range bound", -1);
  return value;
}

StatusOr<std::vector<PartitionBound::Value>> Definer::range_limit(const std::vector<ast::ExprPtr>& exprs,
                                                                  const Partitioning& key, std::string_view word) {
  if (exprs.size() != key.keys.size())
    return error("42P16", absl::StrCat(std::string(word), " must specify exactly one value per partitioning column"),
                 -1);
  std::vector<PartitionBound::Value> values;
  for (size_t i = 0; i < exprs.size(); i++) {
    SCYPER_ASSIGN_OR_RETURN(auto value, bound_value(*exprs[i], key, i));
    if (!values.empty() && values.back().limit != PartitionBound::Limit::kValue && value.limit != values.back().limit) {
      const char* limit = values.back().limit == PartitionBound::Limit::kMinimum ? "MINVALUE" : "MAXVALUE";
      return error("42804", absl::StrCat("every bound following ", limit, " must also be ", limit), exprs[i]->location);
    }
    values.push_back(std::move(value));
  }
  return values;
}

StatusOr<PartitionBound> Definer::partition_bound(const ast::PartitionBound& bound, const Partitioning& key,
                                                  const std::string& name) {
  PartitionBound out;
  out.is_default = bound.is_default;
  if (bound.is_default) return out;
  const bool is_range = key.by == PartitionedBy::kRange;
  const auto wanted = is_range ? ast::PartitionStrategy::kRange : ast::PartitionStrategy::kList;
  if (bound.strategy != wanted)
    return error("42P16", absl::StrCat("invalid bound specification for a ", is_range ? "range" : "list", " partition"),
                 bound.location);
  for (const auto& expr : bound.values) {
    SCYPER_ASSIGN_OR_RETURN(auto value, bound_value(*expr, key, 0));
    const bool is_known = std::any_of(out.values.begin(), out.values.end(), [&](const auto& other) {
      return other.is_null == value.is_null && other.text == value.text;
    });
    if (!is_known) out.values.push_back(std::move(value));
  }
  if (!is_range) return out;
  SCYPER_ASSIGN_OR_RETURN(out.from, range_limit(bound.from, key, "FROM"));
  SCYPER_ASSIGN_OR_RETURN(out.to, range_limit(bound.to, key, "TO"));
  if (compare_limits(key, out.from, out.to) < 0) return out;
  const Status status =
      error("42P17", absl::StrCat("empty range bound specified for partition \"", std::string(bare_name(name)), "\""),
            place_of(bound));
  return with_detail(status, absl::StrCat("Specified lower bound ", shown_limits(key, out.from),
                                          " is greater than or equal to upper bound ", shown_limits(key, out.to), "."));
}

// Beside the partitions that are there, and the rows that a default one has.
Status Definer::check_bound(TableId parent, const PartitionBound& bound, const std::string& name,
                            const ast::PartitionBound& written) {
  const std::string shown(bare_name(name));
  for (const View* view : partitions_of(next(), parent)) {
    if (!view->partition->bound.is_default) continue;
    if (bound.is_default)
      return error("42P17",
                   absl::StrCat("partition \"", shown, "\" conflicts with existing default partition \"",
                                std::string(bare_name(view->name)), "\""),
                   written.location);
    SCYPER_ASSIGN_OR_RETURN(const bool is_free,
                            has_no_rows(absl::StrCat("SELECT 1 FROM ", quote_identifier(view->name), " WHERE ",
                                                     bound_condition(next(), parent, bound), " LIMIT 1")));
    if (!is_free)
      return error("23514",
                   absl::StrCat("updated partition constraint for default partition \"",
                                std::string(bare_name(view->name)), "\" would be violated by some row"),
                   -1);
  }
  int32_t location = place_of(written);
  for (size_t i = 0; i < bound.values.size() && i < written.values.size(); i++) {
    PartitionBound one;
    one.values.push_back(bound.values[i]);
    if (find_overlap(next(), parent, one) == nullptr) continue;
    location = written.values[i]->location;
    break;
  }
  if (const View* other = find_overlap(next(), parent, bound); other != nullptr)
    return error(
        "42P17",
        absl::StrCat("partition \"", shown, "\" would overlap partition \"", std::string(bare_name(other->name)), "\""),
        location);
  return Status();
}

// --- partitions ---

// A partitioned table, or a partition that is partitioned itself: its number and that of the table with the rows.
StatusOr<std::pair<TableId, TableId>> Definer::partitioned_relation(const ast::Name& name, int32_t location) {
  const std::string& key = name.back();
  if (const DeclaredPartition* partition = next().find_partition(key); partition != nullptr) {
    if (partition->partitioning) return std::pair(partition->id, partition->root);
  } else if (const auto table = next().find_table(key); table != nullptr) {
    if (next().rules[table->schema().id].partitioning) return std::pair(table->schema().id, table->schema().id);
    if (table->schema().scheme == storage::PartitionScheme::kHash)
      return with_hint(error("0A000", "partitions of a table PARTITION BY HASH is not supported", location),
                       "Its partitions are made by the system: one for each of the setting partitions.");
  } else if (!name_taken(key)) {
    return error("42P01", absl::StrCat("relation \"", key, "\" does not exist"), -1);
  }
  return error("42P17", absl::StrCat("\"", std::string(bare_name(key)), "\" is not partitioned"), -1);
}

Status Definer::define_partition_default(const ast::Expr& expr, const std::string& column,
                                         DeclaredPartition* partition) {
  const storage::TableSchema& schema = next().find_table(partition->root)->schema();
  Binder binder(next(), text_);
  const SqlType type = schema.columns[static_cast<size_t>(find_column(schema, column))].type;
  SCYPER_RETURN_IF_ERROR(binder.bind_constant(expr, type).status());
  partition->defaults[column] = to_sql(expr);
  return Status();
}

// Rules of one partition alone: they are checked where its rows change.
Status Definer::define_partition_rule(const ast::Constraint& constraint, const std::string& column,
                                      const std::string& name, DeclaredPartition* partition) {
  const auto table = next().find_table(partition->root);
  switch (constraint.kind) {
    case ast::ConstraintKind::kNull:
      return Status();
    case ast::ConstraintKind::kNotNull: {
      const int position = find_column(table->schema(), column);
      const CheckRule check{absl::StrCat(column, "_not_null"), absl::StrCat(quote_identifier(column), " IS NOT NULL")};
      const bool is_known = std::any_of(partition->checks.begin(), partition->checks.end(),
                                        [&](const auto& other) { return other.expression == check.expression; });
      if (!is_known && !table->schema().columns[static_cast<size_t>(position)].not_null)
        partition->checks.push_back(check);
      return Status();
    }
    case ast::ConstraintKind::kDefault:
      return define_partition_default(*constraint.expr, column, partition);
    case ast::ConstraintKind::kCheck: {
      Binder binder(next(), text_);
      SCYPER_ASSIGN_OR_RETURN(const BoundPtr bound, binder.bind_check(*constraint.expr, table));
      std::set<uint32_t> columns;
      visit(*bound, [&](const BoundExpr& e) {
        if (e.kind == BoundKind::kColumn) columns.insert(e.index);
      });
      std::string check = constraint.name, base = std::string(bare_name(name));
      if (columns.size() == 1) absl::StrAppend(&base, "_", table->schema().columns[*columns.begin()].name);
      base += "_check";
      for (int i = 0; check.empty(); i++) {
        const std::string candidate = i == 0 ? base : absl::StrCat(base, i);
        if (std::none_of(partition->checks.begin(), partition->checks.end(),
                         [&](const auto& other) { return other.name == candidate; }))
          check = candidate;
      }
      partition->checks.push_back({check, to_sql(*constraint.expr)});
      return Status();
    }
    case ast::ConstraintKind::kPrimaryKey:
    case ast::ConstraintKind::kUnique:
      if (has_same_key(constraint, column, table->schema())) return Status();
      [[fallthrough]];
    default:
      return with_hint(error("0A000", "keys and foreign keys of one partition are not supported", constraint.location),
                       "Define them on the partitioned table.");
  }
}

// A key of one partition that the table has for all of them holds already.
bool Definer::has_same_key(const ast::Constraint& constraint, const std::string& column,
                           const storage::TableSchema& schema) const {
  std::vector<std::string> wanted = constraint.columns;
  if (wanted.empty()) wanted.push_back(column);
  std::sort(wanted.begin(), wanted.end());
  const bool is_primary_wanted = constraint.kind == ast::ConstraintKind::kPrimaryKey;
  return std::any_of(schema.indexes.begin(), schema.indexes.end(), [&](const storage::IndexDef& index) {
    if (!index.unique || index.partial || (is_primary_wanted && !index.primary)) return false;
    std::vector<std::string> names = key_names(schema, index);
    std::sort(names.begin(), names.end());
    return names == wanted;
  });
}

Status Definer::define_partition_rules(const ast::CreateTableStatement& create, DeclaredPartition* partition) {
  const auto table = next().find_table(partition->root);
  const std::string& name = create.table.name.back();
  for (const auto& column : create.columns) {
    if (find_column(table->schema(), column.name) < 0)
      return error("42703", absl::StrCat("column \"", column.name, "\" does not exist"), -1);
    for (const auto& constraint : column.constraints)
      SCYPER_RETURN_IF_ERROR(define_partition_rule(constraint, column.name, name, partition));
  }
  for (const auto& constraint : create.constraints)
    SCYPER_RETURN_IF_ERROR(define_partition_rule(constraint, "", name, partition));
  return Status();
}

Status Definer::check_persistence(const std::string& name, const std::string& parent) const {
  const bool is_temporary = is_temporary_key(name);
  if (is_temporary == is_temporary_key(parent)) return Status();
  const std::string shown(bare_name(parent));
  return error(
      "42809",
      is_temporary
          ? absl::StrCat("cannot create a temporary relation as partition of permanent relation \"", shown, "\"")
          : absl::StrCat("cannot create a permanent relation as partition of temporary relation \"", shown, "\""),
      -1);
}

Status Definer::create_partition(const ast::CreateTableStatement& create) {
  const std::string& name = create.table.name.back();
  SCYPER_ASSIGN_OR_RETURN(const auto ids, partitioned_relation(create.parent.name, create.parent.location));
  SCYPER_RETURN_IF_ERROR(check_persistence(name, create.parent.name.back()));
  if (create.on_commit != ast::OnCommit::kPreserveRows)
    return with_hint(error("0A000", "ON COMMIT of one partition is not supported", -1),
                     "Use ON COMMIT of the partitioned table.");
  auto partition = std::make_shared<DeclaredPartition>();
  std::tie(partition->parent, partition->root) = ids;
  SCYPER_ASSIGN_OR_RETURN(partition->bound,
                          partition_bound(*create.bound, partitioning_of(next(), partition->parent), name));
  SCYPER_RETURN_IF_ERROR(check_bound(partition->parent, partition->bound, name, *create.bound));
  const std::string root = next().find_table(partition->root)->schema().name;
  if (create.partition_by.strategy == ast::PartitionStrategy::kHash)
    return error("0A000", "partitions that are partitioned by hash are not supported", create.partition_by.location);
  if (create.partition_by.strategy != ast::PartitionStrategy::kNone) {
    SCYPER_ASSIGN_OR_RETURN(partition->partitioning, partition_key(create.partition_by, root));
  }
  SCYPER_RETURN_IF_ERROR(define_partition_rules(create, partition.get()));
  add_partition(name, std::move(partition));
  return Status();
}

void Definer::add_partition(const std::string& name, std::shared_ptr<DeclaredPartition> partition) {
  partition->id = TableId(draw_number(&next().next_table_id));
  const TableId root = partition->root;
  auto view = std::make_shared<View>();
  view->name = name;
  view->access.owner = actor().id;
  view->partition = std::move(partition);
  next().views[name] = std::move(view);
  remake_partitions(root);
}

// The partitions' columns and conditions, as the table and their neighbours are now.
void Definer::remake_partitions(TableId root) {
  const auto table = next().find_table(root);
  if (table == nullptr) return;
  const storage::TableSchema& schema = table->schema();
  for (const View* old : partitions_below(next(), root)) {
    auto view = std::make_shared<View>(*old);
    view->column_names.clear();
    view->column_types.clear();
    for (size_t c = 0; c < storage::visible_columns(schema); c++) {
      view->column_names.push_back(schema.columns[c].name);
      view->column_types.push_back(schema.columns[c].type);
    }
    view->query = query_of_partition(next(), *view->partition, schema);
    view->relations = {schema.name};
    const std::string name = view->name;
    next().views[name] = std::move(view);
  }
}

// A column of the table has another name: keys and the partitions' own rules say so, too.
Status Definer::rename_in_partitions(TableId root, const std::string& from, const std::string& to) {
  const auto renamed = [&](std::string* text) { *text = renamed_in_text(*text, from, to); };
  const auto rename_key = [&](Partitioning* key) {
    for (Partitioning::Key& part : key->keys) {
      if (part.column == from) part.column = to;
      renamed(&part.expression);
    }
  };
  rename_key(&next().rules[root].partitioning);
  std::vector<std::pair<std::string, std::vector<std::string>>> renamed_views;  // with their columns until now
  for (const View* old : partitions_below(next(), root)) {
    auto partition = std::make_shared<DeclaredPartition>(*old->partition);
    rename_key(&partition->partitioning);
    for (CheckRule& check : partition->checks) renamed(&check.expression);
    if (auto value = partition->defaults.extract(from); !value.empty()) {
      value.key() = to;
      partition->defaults.insert(std::move(value));
    }
    const std::vector<std::string> before = old->column_names;
    const std::string name = old->name;
    put_partition(name, std::move(partition));
    renamed_views.emplace_back(name, before);
  }
  remake_partitions(root);
  for (const auto& [name, before] : renamed_views) SCYPER_RETURN_IF_ERROR(rename_column_below_views(name, before));
  return Status();
}

}  // namespace scyper::query
