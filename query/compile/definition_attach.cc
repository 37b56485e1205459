#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/object_name.h"
#include "bind/binder.h"
#include "bind/object_text.h"
#include "bind/partitions.h"
#include "compile/definition.h"
#include "parse/printer.h"
#include "parse/sql_parser.h"
#include "parse/text.h"
#include "query/error_status.h"

// Partitions that come, go and change (query/partitioning.h): ATTACH, DETACH, DROP, TRUNCATE, ALTER TABLE, CREATE
// INDEX.
namespace scyper::query {

using ast::node_as;

namespace {

// The columns that an INSERT may name: all but the generated ones.
std::string list_of_given_columns(const storage::TableSchema& schema, const TableRules& rules) {
  std::string text;
  for (size_t c = 0; c < storage::visible_columns(schema); c++)
    if (rules.columns[c].generated_text.empty())
      absl::StrAppend(&text, text.empty() ? "" : ", ", quote_identifier(schema.columns[c].name));
  return text;
}

}  // namespace

// A column that a partition key reads may neither go nor get another type.
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

Status Definer::check_not_only(const ast::TableRef& ref) const {
  if (!ref.only || !partitioning_of(*old_, ref.name.back())) return Status();
  return with_hint(error("42809", "cannot truncate only a partitioned table", -1),
                   "Do not specify the ONLY keyword, or use TRUNCATE ONLY on the partitions directly.");
}

// Puts a copy in the table's place before a definition changes its rows: a rollback leaves the old table as it was.
Status Definer::renew_table(TableId id) {
  if (!renewed_.insert(id).second) return Status();
  return apply_change(begin_change(next().find_table(id), next().rules[id]));
}

Status Definer::delete_rows_of(const DeclaredPartition& partition) {
  SCYPER_RETURN_IF_ERROR(renew_table(partition.root));
  auto& conditions = rows_to_delete_[partition.root];
  absl::StrAppend(&conditions, conditions.empty() ? "" : " OR ", "(", partition_condition(next(), partition), ")");
  return Status();
}

// One statement for all tables that lose rows.
void Definer::write_deletes() {
  std::vector<std::string> deletes;
  for (const auto& [root, conditions] : rows_to_delete_)
    if (const auto table = next().find_table(root); table != nullptr)
      deletes.push_back(absl::StrCat("DELETE FROM ", quote_identifier(table->schema().name), " WHERE ", conditions));
  rows_to_delete_.clear();
  if (deletes.empty()) return;
  std::string text;
  for (size_t i = 0; i + 1 < deletes.size(); i++)
    absl::StrAppend(&text, i == 0 ? "WITH d" : ", d", i, " AS (", deletes[i], ")");
  move_rows(absl::StrCat(text, deletes.size() > 1 ? " " : "", deletes.back()));
}

// The statement moves the rows once the definition is made. A replay has the rows in the log.
void Definer::move_rows(std::string text) {
  if (is_repeated_) return;
  rows_text_ = std::move(text);
  moves_rows_ = true;
  tells_rows_ = false;
}

void Definer::put_partition(const std::string& name, std::shared_ptr<const DeclaredPartition> partition) {
  auto view = std::make_shared<View>(*next().views[name]);
  view->partition = std::move(partition);
  next().views[name] = std::move(view);
}

Status Definer::drop_partition(const std::string& name, const ast::DropStatement& drop, ResultSet* result) {
  const auto partition = next().views[name]->partition;
  SCYPER_RETURN_IF_ERROR(delete_rows_of(*partition));
  SCYPER_RETURN_IF_ERROR(erase_partition(name, drop, result));
  remake_partitions(partition->root);
  return Status();
}

// With those below it; what reads them goes too, or keeps them.
Status Definer::erase_partition(const std::string& name, const ast::DropStatement& drop, ResultSet* result) {
  SCYPER_RETURN_IF_ERROR(erase_partitions_of(next().views[name]->partition->id, drop, result));
  SCYPER_RETURN_IF_ERROR(drop_dependents("table", name, drop, result));
  erase_view(name);
  return Status();
}

Status Definer::erase_partitions_of(TableId parent, const ast::DropStatement& drop, ResultSet* result) {
  for (const View* view : partitions_of(next(), parent))
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

// The partitions below a table or partition that changes its place leave it,
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
    auto partition = std::make_shared<DeclaredPartition>(*view->partition);
    partition->root = root;
    if (partition->parent == old_parent) partition->parent = new_parent;
    next().views[view->name] = view;
    put_partition(view->name, std::move(partition));
  }
  remake_partitions(root);
}

// Defaults of a table that becomes a partition, where they are not the partitioned table's.
void Definer::keep_defaults(const storage::TableSchema& schema, const TableRules& rules, DeclaredPartition* partition) {
  const auto root = next().find_table(partition->root);
  const TableRules& theirs = next().rules[partition->root];
  for (size_t c = 0; c < storage::visible_columns(schema); c++) {
    const std::string& text = rules.columns[c].default_text;
    const int column = find_column(root->schema(), schema.columns[c].name);
    const bool draws = text.starts_with(kSequenceDraw);
    if (draws || text == theirs.columns[static_cast<size_t>(column)].default_text) continue;
    partition->defaults[schema.columns[c].name] = text.empty() ? "NULL" : text;
  }
}

// The indexes of a table that becomes a partition, without those that the partitioned table has, too.
std::vector<std::string> Definer::indexes_to_keep(const storage::TableSchema& mine,
                                                  const storage::TableSchema& theirs) {
  std::vector<std::string> kept;
  for (const storage::IndexDef& index : mine.indexes) {
    const bool is_known = std::any_of(theirs.indexes.begin(), theirs.indexes.end(), [&](const auto& other) {
      return other.unique >= index.unique && !other.partial && !index.partial &&
             key_names(theirs, other) == key_names(mine, index);
    });
    if (!is_known) kept.push_back(index_source(next(), mine, index));
  }
  return kept;
}

// The table's rows become rows of the partitioned table.
Status Definer::take_in(const std::string& name, std::shared_ptr<DeclaredPartition> partition) {
  ast::DropStatement drop;  // foreign keys and views that need the table keep it from going
  drop.object = ast::ObjectKind::kTable;
  drop.objects.emplace_back().name = {name};
  ResultSet ignored;
  SCYPER_RETURN_IF_ERROR(renew_table(partition->root));
  attached_ = next().find_table(name);
  const TableRules rules = next().rules[attached_->schema().id];
  const Access access = rules.access;
  const TableId old = attached_->schema().id, root_id = partition->root;
  partition->partitioning = rules.partitioning;
  const auto below = take_partitions_of(old);
  const auto& known = next().rules[root_id].checks;
  for (const auto& check : rules.checks)
    if (std::none_of(known.begin(), known.end(), [&](const auto& k) { return k.expression == check.expression; }))
      partition->checks.push_back(check);
  keep_defaults(attached_->schema(), rules, partition.get());
  const std::vector<std::string> indexes = indexes_to_keep(attached_->schema(), next().find_table(root_id)->schema());
  SCYPER_RETURN_IF_ERROR(drop_references(old, name, drop, &ignored));
  for (const auto& index : attached_->schema().indexes) next().index_tables.erase(index.name);
  drop_sequences_of(old, -1);
  next().rules.erase(old);
  next().tables.erase(name);
  const storage::TableSchema& schema = next().find_table(partition->root)->schema();
  const std::string columns = list_of_given_columns(schema, next().rules[schema.id]), root = schema.name;
  add_partition(name, std::move(partition));
  auto view = std::make_shared<View>(*next().views[name]);
  view->access = access;
  const TableId id = view->partition->id;
  next().views[name] = std::move(view);
  give_partitions(below, old, id, root_id);
  for (const std::string& text : indexes) {
    SCYPER_ASSIGN_OR_RETURN(auto statements, parse_sql(text, TextOf::kSystem));
    const auto made = next().views[name]->partition;
    SCYPER_RETURN_IF_ERROR(create_partition_index(node_as<ast::CreateIndexStatement>(*statements[0]), *made, &ignored));
  }
  SCYPER_RETURN_IF_ERROR(check_views(name));
  move_rows(absl::StrCat("INSERT INTO ", quote_identifier(root), " (", columns, ") OVERRIDING SYSTEM VALUE SELECT ",
                         columns, " FROM ", quote_identifier(std::string(kAttachedTable))));
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
  SCYPER_RETURN_IF_ERROR(renew_table(partition.root));
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
  rules.foreign_keys = next().rules[partition.root].foreign_keys;
  for (const auto& [column, text] : partition.defaults)
    rules.columns[static_cast<size_t>(find_column(next().find_table(name)->schema(), column))].default_text = text;
  const TableId id = next().find_table(name)->schema().id;
  give_partitions(below, partition.id, id, id);
  rules.checks.insert(rules.checks.end(), partition.checks.begin(), partition.checks.end());
  remake_partitions(partition.root);
  move_rows(absl::StrCat("WITH moved AS (DELETE FROM ", quote_identifier(root), " WHERE ", condition, " RETURNING ",
                         columns, ") INSERT INTO ", quote_identifier(name), " (", columns, ") SELECT ", columns,
                         " FROM moved"));
  return Status();
}

// ALTER INDEX ... ATTACH PARTITION: nothing is left to do. An index of a partitioned table is one of all its
// partitions.
bool Definer::attaches_index(const ast::AlterTableStatement& alter, ResultSet* result) const {
  if (alter.object != ast::ObjectKind::kIndex || old_->index_tables.count(alter.table.name.back()) == 0 ||
      alter.commands[0].action != ast::AlterTableAction::kAttachPartition)
    return false;
  result->command_tag = "ALTER INDEX";
  return true;
}

Status Definer::alter_partition(const ast::AlterTableStatement& alter) {
  for (const auto& command : alter.commands) SCYPER_RETURN_IF_ERROR(alter_partition(command, alter.table.name));
  return Status();
}

// Partitions lose their own default of a column; with_checks: their own checks that read it, too.
void Definer::forget_in_partitions(TableId root, const std::string& column, bool with_checks) {
  const auto table = next().find_table(root);
  const int position = find_column(table->schema(), column);
  for (const View* old : partitions_below(next(), root)) {
    auto partition = std::make_shared<DeclaredPartition>(*old->partition);
    partition->defaults.erase(column);
    if (with_checks)
      std::erase_if(partition->checks, [&](const CheckRule& check) {
        return reads_column(table->schema(), check.expression, static_cast<uint32_t>(position));
      });
    put_partition(std::string(old->name), std::move(partition));
  }
}

// The checks and defaults of single partitions still have all that they need.
Status Definer::check_partition_rules() const {
  for (const PartitionOfTable& of : all_partitions(*next_)) {
    const auto& [view, table] = of;
    const auto needs = [&, &name = of.view->name](const Status& why) {
      return with_detail(
          error("2BP01", absl::StrCat("cannot change what partition \"", std::string(bare_name(name)), "\" depends on"),
                -1),
          absl::StrCat("Its checks and defaults would fail: ", std::string(why.message())));
    };
    for (const CheckRule& check : view->partition->checks) {
      SCYPER_ASSIGN_OR_RETURN(const auto expr, parse_expression(check.expression, TextOf::kSystem));
      Binder binder(*next_, check.expression);
      if (const Status status = binder.bind_check(*expr, table).status(); !status.ok()) return needs(status);
    }
    for (const auto& [column, text] : view->partition->defaults) {
      const int position = find_column(table->schema(), column);
      SCYPER_ASSIGN_OR_RETURN(const auto expr, parse_expression(text, TextOf::kSystem));
      Binder binder(*next_, text);
      const SqlType type = table->schema().columns[static_cast<size_t>(position)].type;
      if (const Status status = binder.bind_constant(*expr, type).status(); !status.ok()) return needs(status);
    }
  }
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
  auto partition = std::make_shared<DeclaredPartition>(*next().find_partition(key));
  SCYPER_RETURN_IF_ERROR(change_partition(command, key, partition.get()));
  put_partition(key, std::move(partition));
  return Status();
}

// A rule that has come: the rows that are there meet it, or that is the error.
Status Definer::check_rows_of(const std::string& partition, const CheckRule& check, Status violated) {
  SCYPER_ASSIGN_OR_RETURN(const bool holds, has_no_rows(absl::StrCat("SELECT 1 FROM ", quote_identifier(partition),
                                                                     " WHERE NOT (", check.expression, ") LIMIT 1")));
  return holds ? Status() : violated;
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
      const size_t known = partition->checks.size();
      SCYPER_RETURN_IF_ERROR(define_partition_rule(*command.constraint, "", key, partition));
      if (partition->checks.size() == known) break;
      const CheckRule& check = partition->checks.back();
      return check_rows_of(key, check,
                           error("23514",
                                 absl::StrCat("check constraint \"", check.name, "\" of relation \"",
                                              std::string(bare_name(key)), "\" is violated by some row"),
                                 -1));
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
    case ast::AlterTableAction::kSetNotNull: {
      const size_t known = partition->checks.size();
      SCYPER_RETURN_IF_ERROR(must_exist(command.name));
      rule.kind = ast::ConstraintKind::kNotNull;
      SCYPER_RETURN_IF_ERROR(define_partition_rule(rule, command.name, key, partition));
      if (partition->checks.size() == known) break;
      return check_rows_of(key, partition->checks.back(),
                           error("23502",
                                 absl::StrCat("column \"", command.name, "\" of relation \"",
                                              std::string(bare_name(key)), "\" contains null values"),
                                 -1));
    }
    case ast::AlterTableAction::kSetDefault:
      SCYPER_RETURN_IF_ERROR(must_exist(command.name));
      partition->defaults.erase(command.name);
      if (command.expr != nullptr)
        return without_position(define_partition_default(*command.expr, command.name, partition));
      break;
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
