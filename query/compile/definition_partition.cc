#include <algorithm>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "base/object_name.h"
#include "bind/binder.h"
#include "bind/partitions.h"
#include "compile/definition.h"
#include "parse/printer.h"
#include "parse/sql_parser.h"
#include "parse/text.h"
#include "parse/type_resolver.h"
#include "plan/expressions.h"
#include "types/datum_text.h"

// PARTITION BY RANGE and LIST, PARTITION OF, ATTACH and DETACH PARTITION (query/partitioning.h).
namespace scyper::query {

using ast::node_as;

namespace {

constexpr size_t kPartitionKeysMax = 32;  // PostgreSQL's

std::string list_of_columns(const storage::TableSchema& schema) {
  std::string text;
  for (size_t c = 0; c < storage::visible_columns(schema); c++)
    absl::StrAppend(&text, c == 0 ? "" : ", ", quote_identifier(schema.columns[c].name));
  return text;
}

// Those that an INSERT may name.
std::string list_of_given_columns(const storage::TableSchema& schema, const TableRules& rules) {
  std::string text;
  for (size_t c = 0; c < storage::visible_columns(schema); c++)
    if (rules.columns[c].generated_text.empty())
      absl::StrAppend(&text, text.empty() ? "" : ", ", quote_identifier(schema.columns[c].name));
  return text;
}

std::string query_of_partition(const Catalog& catalog, const DeclaredPartition& partition,
                               const storage::TableSchema& root) {
  return absl::StrCat("SELECT ", list_of_columns(root), " FROM ", quote_identifier(root.name), " WHERE ",
                      partition_condition(catalog, partition));
}

// MINVALUE and MAXVALUE.
bool is_word(const ast::Expr& expr, std::string_view word) {
  const auto* ref = ast::node_if<ast::ColumnRef>(&expr);
  return ref != nullptr && ref->name.size() == 1 && ref->name[0] == word;
}

// Of errors about its values.
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

// Rules of one partition alone: they are checked where its rows change.
Status Definer::define_partition_rule(const ast::Constraint& constraint, const std::string& column,
                                      const std::string& name, DeclaredPartition* partition) {
  const auto table = next().find_table(partition->root);
  switch (constraint.kind) {
    case ast::ConstraintKind::kNull:
      return Status();
    case ast::ConstraintKind::kNotNull: {
      const int position = find_column(table->schema(), column);
      if (table->schema().columns[static_cast<size_t>(position)].not_null) return Status();
      partition->checks.push_back(
          {absl::StrCat(column, "_not_null"), absl::StrCat(quote_identifier(column), " IS NOT NULL")});
      return Status();
    }
    case ast::ConstraintKind::kDefault: {
      Binder binder(next(), text_);
      const int position = find_column(table->schema(), column);
      const SqlType type = table->schema().columns[static_cast<size_t>(position)].type;
      SCYPER_RETURN_IF_ERROR(binder.bind_constant(*constraint.expr, type).status());
      partition->defaults[column] = to_sql(*constraint.expr);
      return Status();
    }
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
    std::vector<std::string> names;
    for (const uint32_t c : index.columns) names.push_back(schema.columns[c].name);
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

Status Definer::create_partition(const ast::CreateTableStatement& create) {
  const std::string& name = create.table.name.back();
  if (is_temporary_) return error("0A000", "partitioned temporary tables are not supported", create.table.location);
  SCYPER_ASSIGN_OR_RETURN(const auto ids, partitioned_relation(create.parent.name, create.parent.location));
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
  for (const View* old : partitions_below(next(), root)) {
    auto view = std::make_shared<View>(*old);
    auto partition = std::make_shared<DeclaredPartition>(*old->partition);
    rename_key(&partition->partitioning);
    for (DeclaredPartition::Check& check : partition->checks) renamed(&check.expression);
    if (auto value = partition->defaults.extract(from); !value.empty()) {
      value.key() = to;
      partition->defaults.insert(std::move(value));
    }
    const std::vector<std::string> before = view->column_names;
    const std::string name = view->name;
    view->partition = std::move(partition);
    std::replace(view->column_names.begin(), view->column_names.end(), from, to);
    next().views[name] = std::move(view);
    SCYPER_RETURN_IF_ERROR(rename_column_below_views(name, before));
  }
  remake_partitions(root);
  return Status();
}

// --- rows that come and go with partitions ---

// Partitions are cut by its values.
Status Definer::check_no_key_part(const std::string& table, const std::string& column, std::string_view verb) {
  const storage::TableSchema& schema = next().find_table(table)->schema();
  const int position = find_column(schema, column);
  std::vector<std::pair<std::string, const Partitioning*>> all = {{table, &partitioning_of(next(), schema.id)}};
  for (const View* view : partitions_below(next(), schema.id))
    all.emplace_back(view->name, &view->partition->partitioning);
  for (const auto& [name, key] : all)
    for (const Partitioning::Key& part : key->keys) {
      const bool is_part = part.column.empty() ? reads_column(schema, part.expression, static_cast<uint32_t>(position))
                                               : part.column == column;
      if (is_part)
        return error("42P16",
                     absl::StrCat("cannot ", std::string(verb), " column \"", column,
                                  "\" because it is part of the partition key of relation \"",
                                  std::string(bare_name(name)), "\""),
                     -1);
    }
  return Status();
}

void Definer::delete_rows_of(const DeclaredPartition& partition) {
  if (is_repeated_) return;  // the log has them
  auto& conditions = rows_to_delete_[partition.root];
  absl::StrAppend(&conditions, conditions.empty() ? "" : " OR ", "(", partition_condition(next(), partition), ")");
}

// One statement for all tables that lose rows.
void Definer::write_deletes() {
  std::vector<std::string> deletes;
  for (const auto& [root, conditions] : rows_to_delete_)
    if (const auto table = next().find_table(root); table != nullptr)
      deletes.push_back(absl::StrCat("DELETE FROM ", quote_identifier(table->schema().name), " WHERE ", conditions));
  rows_to_delete_.clear();
  if (deletes.empty()) return;
  rows_text_.clear();
  for (size_t i = 0; i + 1 < deletes.size(); i++)
    absl::StrAppend(&rows_text_, i == 0 ? "WITH d" : ", d", i, " AS (", deletes[i], ")");
  absl::StrAppend(&rows_text_, deletes.size() > 1 ? " " : "", deletes.back());
  moves_rows_ = true;
  tells_rows_ = false;
}

Status Definer::drop_partition(const std::string& name, const ast::DropStatement& drop, ResultSet* result) {
  const auto partition = next().views[name]->partition;
  for (const View* view : partitions_of(next(), partition->id))
    SCYPER_RETURN_IF_ERROR(erase_partition(std::string(view->name), drop, result));
  delete_rows_of(*partition);
  SCYPER_RETURN_IF_ERROR(erase_partition(name, drop, result));
  remake_partitions(partition->root);
  return Status();
}

// With those below it; what reads them goes too, or keeps them.
Status Definer::erase_partition(const std::string& name, const ast::DropStatement& drop, ResultSet* result) {
  const auto partition = next().views[name]->partition;
  for (const View* view : partitions_of(next(), partition->id))
    SCYPER_RETURN_IF_ERROR(erase_partition(std::string(view->name), drop, result));
  SCYPER_RETURN_IF_ERROR(drop_dependents("table", name, drop, result));
  erase_view(name);
  return Status();
}

Status Definer::erase_partitions_of(TableId root, const ast::DropStatement& drop, ResultSet* result) {
  for (const View* view : partitions_of(next(), root))
    SCYPER_RETURN_IF_ERROR(erase_partition(std::string(view->name), drop, result));
  return Status();
}

Status Definer::check_attached(const storage::TableSchema& mine, const storage::TableSchema& theirs,
                               const std::string& parent) const {
  for (size_t c = 0; c < storage::visible_columns(mine); c++)
    if (find_column(theirs, mine.columns[c].name) < 0)
      return with_detail(
          error("42804",
                absl::StrCat("table \"", std::string(bare_name(mine.name)), "\" contains column \"",
                             mine.columns[c].name, "\" not found in parent \"", std::string(bare_name(parent)), "\""),
                -1),
          "The new partition may contain only the columns present in parent.");
  for (size_t c = 0; c < storage::visible_columns(theirs); c++) {
    const int column = find_column(mine, theirs.columns[c].name);
    if (column < 0)
      return error("42804", absl::StrCat("child table is missing column \"", theirs.columns[c].name, "\""), -1);
    if (mine.columns[static_cast<size_t>(column)].type != theirs.columns[c].type)
      return error("42804",
                   absl::StrCat("child table \"", std::string(bare_name(mine.name)),
                                "\" has different type for column \"", theirs.columns[c].name, "\""),
                   -1);
    if (theirs.columns[c].not_null && !mine.columns[static_cast<size_t>(column)].not_null)
      return error("42804",
                   absl::StrCat("column \"", theirs.columns[c].name, "\" in child table must be marked NOT NULL"), -1);
  }
  return Status();
}

Status Definer::attach_partition(const ast::AlterTableCommand& command, const ast::Name& parent) {
  const std::string& name = command.partition.name.back();
  SCYPER_ASSIGN_OR_RETURN(const auto ids, partitioned_relation(parent, -1));
  if (next().find_partition(name) != nullptr)
    return error("42809", absl::StrCat("\"", std::string(bare_name(name)), "\" is already a partition"), -1);
  SCYPER_ASSIGN_OR_RETURN(auto table, find_table(command.partition.name));
  const auto root = next().find_table(ids.second);
  const storage::TableSchema &mine = table->schema(), &theirs = root->schema();
  if (mine.id == theirs.id)
    return with_detail(error("42P07", "circular inheritance not allowed", -1),
                       absl::StrCat("\"", std::string(bare_name(parent.back())), "\" is already a child of \"",
                                    std::string(bare_name(name)), "\"."));
  SCYPER_RETURN_IF_ERROR(check_attached(mine, theirs, parent.back()));
  auto partition = std::make_shared<DeclaredPartition>();
  std::tie(partition->parent, partition->root) = ids;
  SCYPER_ASSIGN_OR_RETURN(partition->bound, partition_bound(*command.bound, partitioning_of(next(), ids.first), name));
  SCYPER_RETURN_IF_ERROR(check_bound(ids.first, partition->bound, name, *command.bound));
  SCYPER_ASSIGN_OR_RETURN(const bool fits,
                          has_no_rows(absl::StrCat("SELECT 1 FROM ", quote_identifier(name), " WHERE (",
                                                   partition_condition(next(), *partition), ") IS NOT TRUE LIMIT 1")));
  if (!fits)
    return error(
        "23514",
        absl::StrCat("partition constraint of relation \"", std::string(bare_name(name)), "\" is violated by some row"),
        -1);
  return take_in(name, std::move(partition));
}

// Those below a table or partition that changes its place leave it,
std::vector<std::shared_ptr<const View>> Definer::take_partitions_of(TableId parent) {
  std::vector<std::shared_ptr<const View>> taken;
  for (const View* view : partitions_below(next(), parent)) taken.push_back(next().views[view->name]);
  for (const auto& view : taken) next().views.erase(view->name);
  return taken;
}

// and come back to it under its new number, with another table for their rows.
void Definer::give_partitions(const std::vector<std::shared_ptr<const View>>& views, TableId old_parent,
                              TableId new_parent, TableId root) {
  for (const auto& view : views) {
    auto moved = std::make_shared<View>(*view);
    auto partition = std::make_shared<DeclaredPartition>(*view->partition);
    partition->root = root;
    if (partition->parent == old_parent) partition->parent = new_parent;
    moved->partition = std::move(partition);
    next().views[view->name] = std::move(moved);
  }
  remake_partitions(root);
}

// The table's rows become rows of the partitioned table.
Status Definer::take_in(const std::string& name, std::shared_ptr<DeclaredPartition> partition) {
  ast::DropStatement drop;  // foreign keys and views that need the table keep it from going
  drop.object = ast::ObjectKind::kTable;
  drop.objects.emplace_back().name = {name};
  ResultSet ignored;
  attached_ = next().find_table(name);
  const TableRules rules = next().rules[attached_->schema().id];
  const Access access = rules.access;
  const TableId old = attached_->schema().id, root_id = partition->root;
  partition->partitioning = rules.partitioning;
  const auto below = take_partitions_of(old);
  for (const auto& check : rules.checks) partition->checks.push_back({check.name, check.expression});
  SCYPER_RETURN_IF_ERROR(drop_table(name, drop, &ignored));
  const storage::TableSchema& schema = next().find_table(partition->root)->schema();
  const std::string columns = list_of_given_columns(schema, next().rules[schema.id]), root = schema.name;
  add_partition(name, std::move(partition));
  auto view = std::make_shared<View>(*next().views[name]);
  view->access = access;
  const TableId id = view->partition->id;
  next().views[name] = std::move(view);
  give_partitions(below, old, id, root_id);
  if (is_repeated_) return Status();
  rows_text_ = absl::StrCat("INSERT INTO ", quote_identifier(root), " (", columns, ") OVERRIDING SYSTEM VALUE SELECT ",
                            columns, " FROM ", quote_identifier(std::string(kAttachedTable)));
  moves_rows_ = true;
  tells_rows_ = false;
  return Status();
}

Status Definer::detach_partition(const ast::AlterTableCommand& command, const ast::Name& parent) {
  SCYPER_ASSIGN_OR_RETURN(const auto ids, partitioned_relation(parent, -1));
  const std::string name = command.partition.name.back();
  const auto known = next().views.find(name);
  if (known == next().views.end() || known->second->partition == nullptr ||
      known->second->partition->parent != ids.first) {
    if (!name_taken(name)) return error("42P01", absl::StrCat("relation \"", name, "\" does not exist"), -1);
    return error("42P01",
                 absl::StrCat("relation \"", std::string(bare_name(name)), "\" is not a partition of relation \"",
                              std::string(bare_name(parent.back())), "\""),
                 -1);
  }
  const auto view = known->second;
  const DeclaredPartition& partition = *view->partition;
  const std::string condition = partition_condition(next(), partition);
  const storage::TableSchema& schema = next().find_table(partition.root)->schema();
  const std::string columns = list_of_given_columns(schema, next().rules[schema.id]), root = schema.name;
  const auto below = take_partitions_of(partition.id);
  next().views.erase(name);
  const std::string text = absl::StrCat("CREATE TABLE ", quote_identifier(name), " (LIKE ", quote_identifier(root),
                                        " INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING GENERATED INCLUDING "
                                        "INDEXES)");
  SCYPER_ASSIGN_OR_RETURN(auto statements, parse_sql(text, TextOf::kSystem));
  ResultSet ignored;
  SCYPER_RETURN_IF_ERROR(create_table(node_as<ast::CreateTableStatement>(*statements[0]), &ignored));
  TableRules& rules = next().rules[next().find_table(name)->schema().id];
  rules.access = view->access;
  rules.partitioning = partition.partitioning;
  const TableId id = next().find_table(name)->schema().id;
  give_partitions(below, partition.id, id, id);
  for (const DeclaredPartition::Check& check : partition.checks) rules.checks.push_back({check.name, check.expression});
  remake_partitions(partition.root);
  if (is_repeated_) return Status();
  rows_text_ =
      absl::StrCat("WITH moved AS (DELETE FROM ", quote_identifier(root), " WHERE ", condition, " RETURNING ", columns,
                   ") INSERT INTO ", quote_identifier(name), " (", columns, ") SELECT ", columns, " FROM moved");
  moves_rows_ = true;
  tells_rows_ = false;
  return Status();
}

// ALTER TABLE of a partition.
Status Definer::alter_partition(const ast::AlterTableCommand& command, const ast::Name& name) {
  const std::string& key = name.back();
  if (command.action == ast::AlterTableAction::kAttachPartition) return attach_partition(command, name);
  if (command.action == ast::AlterTableAction::kDetachPartition) return detach_partition(command, name);
  if (command.action == ast::AlterTableAction::kSetOwner) return set_owner(command.owner, key);
  if (command.action == ast::AlterTableAction::kTrigger && command.triggers == ast::TriggerSet::kNamed)
    return set_firing(command, key);
  auto view = std::make_shared<View>(*next().views[key]);
  auto partition = std::make_shared<DeclaredPartition>(*view->partition);
  SCYPER_RETURN_IF_ERROR(change_partition(command, key, partition.get()));
  view->partition = std::move(partition);
  next().views[key] = std::move(view);
  return Status();
}

Status Definer::change_partition(const ast::AlterTableCommand& command, const std::string& key,
                                 DeclaredPartition* partition) {
  const auto table = next().find_table(partition->root);
  ast::Constraint rule;
  const auto must_exist = [&](const std::string& column) -> Status {
    if (find_column(table->schema(), column) >= 0) return Status();
    return error("42703", absl::StrCat("column \"", column, "\" of relation \"", key, "\" does not exist"), -1);
  };
  switch (command.action) {
    case ast::AlterTableAction::kAddConstraint: {
      const ast::Constraint& constraint = *command.constraint;
      SCYPER_RETURN_IF_ERROR(define_partition_rule(constraint, "", key, partition));
      if (constraint.kind != ast::ConstraintKind::kCheck) break;
      SCYPER_ASSIGN_OR_RETURN(const bool holds,
                              has_no_rows(absl::StrCat("SELECT 1 FROM ", quote_identifier(key), " WHERE NOT (",
                                                       partition->checks.back().expression, ") LIMIT 1")));
      if (!holds)
        return error("23514",
                     absl::StrCat("check constraint \"", partition->checks.back().name, "\" of relation \"",
                                  std::string(bare_name(key)), "\" is violated by some row"),
                     -1);
      break;
    }
    case ast::AlterTableAction::kDropConstraint: {
      const size_t before = partition->checks.size();
      std::erase_if(partition->checks, [&](const auto& check) { return check.name == command.name; });
      if (partition->checks.size() == before && !command.if_exists)
        return error("42704",
                     absl::StrCat("constraint \"", command.name, "\" of relation \"", std::string(bare_name(key)),
                                  "\" does not exist"),
                     -1);
      break;
    }
    case ast::AlterTableAction::kSetNotNull:
      SCYPER_RETURN_IF_ERROR(must_exist(command.name));
      SCYPER_RETURN_IF_ERROR(define_partition_rule(rule, command.name, key, partition));
      break;
    case ast::AlterTableAction::kSetDefault: {
      SCYPER_RETURN_IF_ERROR(must_exist(command.name));
      partition->defaults.erase(command.name);
      if (command.expr != nullptr) partition->defaults[command.name] = to_sql(*command.expr);
      break;
    }
    case ast::AlterTableAction::kAddColumn:
      return error("42809", "cannot add column to a partition", -1);
    case ast::AlterTableAction::kDropColumn:
      return error("42P16", absl::StrCat("cannot drop inherited column \"", command.name, "\""), -1);
    case ast::AlterTableAction::kSetType:
      return error("42P16", absl::StrCat("cannot alter inherited column \"", command.name, "\""), -1);
    default:
      return with_hint(
          error("0A000", absl::StrCat("ALTER TABLE ... ", command.action_name, " of one partition is not supported"),
                command.location),
          "Change the partitioned table.");
  }
  return Status();
}

// CREATE INDEX of one partition: an index of the table with the rows; a unique one only of the partition's rows.
Status Definer::create_partition_index(const ast::CreateIndexStatement& create, const DeclaredPartition& partition,
                                       ResultSet* result) {
  SCYPER_ASSIGN_OR_RETURN(auto statements, parse_sql(to_sql(create), TextOf::kSystem));
  auto& index = node_as<ast::CreateIndexStatement>(*statements[0]);
  const std::string& name = create.table.name.back();
  index.table.name = {next().find_table(partition.root)->schema().name};
  if (index.name.empty()) {
    std::string base = name;
    for (const auto& element : index.elements)
      absl::StrAppend(&base, "_", element.column.empty() ? "expr" : element.column);
    index.name = std::string(bare_name(free_index_name(base + "_idx")));
  }
  if (index.unique) {
    const std::string rows = partition_condition(next(), partition);
    SCYPER_ASSIGN_OR_RETURN(
        index.where,
        parse_expression(index.where == nullptr ? rows : absl::StrCat(rows, " AND (", to_sql(*index.where), ")"),
                         TextOf::kSystem));
  }
  return create_index(index, result);
}

}  // namespace scyper::query
