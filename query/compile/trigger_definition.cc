#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/object_name.h"
#include "bind/binder.h"
#include "bind/partitions.h"
#include "compile/definition.h"
#include "parse/printer.h"

// CREATE, ALTER and DROP TRIGGER, ALTER TABLE ... ENABLE | DISABLE TRIGGER.
namespace scyper::query {

namespace {

uint8_t events_of(const ast::CreateTriggerStatement& create) {
  return static_cast<uint8_t>((create.on_insert ? Trigger::kInsert : 0) | (create.on_delete ? Trigger::kDelete : 0) |
                              (create.on_update ? Trigger::kUpdate : 0));
}

}  // namespace

Status Definer::check_view_trigger(const ast::CreateTriggerStatement& create) const {
  const std::string& name = create.table.name.back();
  const auto refuse = [&](std::string_view what, std::string_view detail) {
    return with_detail(error("42809", absl::StrCat("\"", name, "\" is a ", std::string(what)), -1),
                       std::string(detail));
  };
  if (!old_->has_view(name)) {
    if (create.instead) return refuse("table", "Tables cannot have INSTEAD OF triggers.");
    return absl::OkStatus();
  }
  if (create.per_row && !create.instead) return refuse("view", "Views cannot have row-level BEFORE or AFTER triggers.");
  if (create.on_truncate) return refuse("view", "Views cannot have TRUNCATE triggers.");
  if (!create.instead) {
    if (!create.transitions.empty()) return refuse("view", "Triggers on views cannot have transition tables.");
    return create.when == nullptr
               ? absl::OkStatus()
               : error("0A000", "WHEN conditions of the triggers of views are not supported", create.location);
  }
  if (!create.per_row) return error("0A000", "INSTEAD OF triggers must be FOR EACH ROW", -1);
  if (create.when != nullptr) return error("0A000", "INSTEAD OF triggers cannot have WHEN conditions", -1);
  if (!create.columns.empty()) return error("0A000", "INSTEAD OF triggers cannot have column lists", -1);
  return create.transitions.empty() ? absl::OkStatus()
                                    : refuse("view", "Triggers on views cannot have transition tables.");
}

// REFERENCING, as PostgreSQL checks it.
Status Definer::check_transitions(const ast::CreateTriggerStatement& create, Trigger* trigger) const {
  const uint8_t events = events_of(create);
  for (const ast::Transition& transition : create.transitions) {
    if (!transition.is_table)
      return with_hint(error("0A000", "ROW variable naming in the REFERENCING clause is not supported", -1),
                       "Use OLD TABLE or NEW TABLE for naming transition tables.");
    if (create.before) return error("42P17", "transition table name can only be specified for an AFTER trigger", -1);
    if (create.on_truncate) return error("0A000", "TRUNCATE triggers with transition tables are not supported", -1);
    if ((events & (events - 1)) != 0)
      return error("0A000", "transition tables cannot be specified for triggers with more than one event", -1);
    if (!create.columns.empty())
      return error("0A000", "transition tables cannot be specified for triggers with column lists", -1);
    std::string* name = transition.is_new ? &trigger->new_table : &trigger->old_table;
    const std::string which = transition.is_new ? "NEW TABLE" : "OLD TABLE";
    if ((events & (transition.is_new ? Trigger::kDelete : Trigger::kInsert)) != 0)
      return error("42P17",
                   absl::StrCat(which, " can only be specified for ",
                                transition.is_new ? "an INSERT or UPDATE trigger" : "a DELETE or UPDATE trigger"),
                   -1);
    if (!name->empty()) return error("42P17", which + " cannot be specified multiple times", -1);
    *name = transition.name;
  }
  if (!trigger->new_table.empty() && trigger->new_table == trigger->old_table)
    return error("42P17", "OLD TABLE name and NEW TABLE name cannot be the same", -1);
  return absl::OkStatus();
}

Status Definer::check_constraint_trigger(const ast::CreateTriggerStatement& create, Trigger* trigger) const {
  trigger->is_constraint = create.is_constraint;
  trigger->is_deferrable = create.deferrable;
  if (!create.is_constraint) return absl::OkStatus();
  if (create.or_replace) return error("0A000", "CREATE OR REPLACE CONSTRAINT TRIGGER is not supported", -1);
  if (create.initially_deferred) return error("0A000", "INITIALLY DEFERRED is not supported", create.location);
  if (create.constraint_table.empty()) return absl::OkStatus();
  SCYPER_ASSIGN_OR_RETURN(const auto table, find_table(create.constraint_table));
  trigger->constraint_table = table->schema().name;
  return absl::OkStatus();
}

Status Definer::create_trigger(const ast::CreateTriggerStatement& create, ResultSet* result) {
  result->command_tag = "CREATE TRIGGER";
  const std::string& relation = create.table.name.back();
  std::shared_ptr<storage::Table> table;
  if (!old_->has_view(relation)) {
    const DeclaredPartition* partition = old_->find_partition(relation);
    table = partition == nullptr ? nullptr : old_->find_table(partition->root);
    if (table == nullptr) {
      SCYPER_ASSIGN_OR_RETURN(table, find_table(create.table.name));
    }
    if (old_->find_materialized_view(relation) != nullptr)
      return with_detail(error("42809", absl::StrCat("relation \"", relation, "\" cannot have triggers"), -1),
                         "This operation is not supported for materialized views.");
  }
  SCYPER_RETURN_IF_ERROR(check_view_trigger(create));
  if (create.on_truncate && create.per_row)
    return error("0A000", "TRUNCATE FOR EACH ROW triggers are not supported", -1);
  auto trigger = std::make_shared<Trigger>();
  trigger->name = create.name;
  trigger->table = relation;
  trigger->before = create.before;
  trigger->per_row = create.per_row;
  trigger->instead = create.instead;
  trigger->events = events_of(create);
  trigger->columns = create.columns;
  trigger->arguments = create.arguments;
  SCYPER_RETURN_IF_ERROR(check_transitions(create, trigger.get()));
  const bool is_partition = old_->find_partition(relation) != nullptr;
  if (create.per_row && !create.transitions.empty() &&
      (is_partition || (table != nullptr && partitioning_of(*old_, table->schema().id))))
    return is_partition
               ? error("0A000", "ROW triggers with transition tables are not supported on partitions", -1)
               : with_detail(
                     error("0A000", absl::StrCat("\"", std::string(bare_name(relation)), "\" is a partitioned table"),
                           -1),
                     "ROW triggers with transition tables are not supported on partitioned tables.");
  SCYPER_RETURN_IF_ERROR(check_constraint_trigger(create, trigger.get()));
  if (create.on_truncate) return error("0A000", "triggers of TRUNCATE are not supported", create.location);
  if (create.when != nullptr) {
    SCYPER_RETURN_IF_ERROR(Binder(*old_, text_).check_trigger_condition(*create.when, *trigger, table));
    trigger->when = to_sql(*create.when);
  }
  const std::string& function = create.function.back();
  auto range = old_->routines.equal_range(function);
  auto found = std::find_if(range.first, range.second, [](const auto& e) { return e.second->input_count() == 0; });
  if (found == range.second) return error("42883", absl::StrCat("function ", function, "() does not exist"), -1);
  if (!found->second->is_trigger)
    return error("42P17", absl::StrCat("function ", function, " must return type trigger"), -1);
  trigger->function = function;
  std::pair<std::string, std::string> key{relation, create.name};
  auto replaced = old_->triggers.find(key);
  if (replaced != old_->triggers.end() && !create.or_replace)
    return error("42710", absl::StrCat("trigger \"", create.name, "\" for relation \"", relation, "\" already exists"),
                 -1);
  if (replaced != old_->triggers.end() && replaced->second->is_constraint)
    return error("42710",
                 absl::StrCat("trigger \"", create.name, "\" for relation \"", relation, "\" is a constraint trigger"),
                 -1);
  for (const auto& column : create.columns)
    if (find_column(table->schema(), column) < 0)
      return error("42703", absl::StrCat("column \"", column, "\" of relation \"", relation, "\" does not exist"), -1);
  next().triggers[key] = std::move(trigger);
  return absl::OkStatus();
}

Status Definer::drop_trigger(const ast::DropStatement& drop, const ast::ObjectRef& object, ResultSet* result) {
  const std::string& name = object.name.back();
  std::string table = object.name.size() > 1 ? object.name[object.name.size() - 2] : "";
  next().comments.erase(absl::StrCat("trigger ", table, ".", name));
  if (next().triggers.erase({table, name}) != 0) return absl::OkStatus();
  const bool has_table = next().tables.count(table) != 0 || next().views.count(table) != 0;
  if (drop.if_exists) {
    result->notices.push_back(has_table ? absl::StrCat("NOTICE:  trigger \"", name, "\" for relation \"", table,
                                                       "\" does not exist, skipping")
                                        : absl::StrCat("NOTICE:  relation \"", table, "\" does not exist, skipping"));
    return absl::OkStatus();
  }
  if (!has_table) return error("42P01", absl::StrCat("relation \"", table, "\" does not exist"), -1);
  return error("42704", absl::StrCat("trigger \"", name, "\" for table \"", table, "\" does not exist"), -1);
}

void Definer::drop_triggers_of(const std::string& table) {
  std::erase_if(next().triggers, [&](const auto& entry) { return entry.first.first == table; });
}

// --- ALTER ---

// With the relation that they are of.
void Definer::move_triggers(const std::string& from, const std::string& to) {
  auto& triggers = next().triggers;
  std::vector<std::shared_ptr<const Trigger>> moved;
  for (auto& [key, trigger] : triggers) {
    if (trigger->constraint_table == from) {
      auto changed = std::make_shared<Trigger>(*trigger);
      changed->constraint_table = to;
      trigger = std::move(changed);
    }
    if (key.first == from) moved.push_back(trigger);
  }
  drop_triggers_of(from);
  for (const auto& trigger : moved) {
    auto changed = std::make_shared<Trigger>(*trigger);
    changed->table = to;
    triggers[{to, trigger->name}] = std::move(changed);
  }
}

Status Definer::rename_trigger(const std::string& table, const std::string& from, const std::string& to) {
  if (next().tables.count(table) == 0 && next().views.count(table) == 0)
    return error("42P01", absl::StrCat("relation \"", table, "\" does not exist"), -1);
  auto& triggers = next().triggers;
  if (triggers.count({table, to}) != 0)
    return error("42710", absl::StrCat("trigger \"", to, "\" for relation \"", table, "\" already exists"), -1);
  auto found = triggers.find({table, from});
  if (found == triggers.end())
    return error("42704", absl::StrCat("trigger \"", from, "\" for table \"", table, "\" does not exist"), -1);
  auto renamed = std::make_shared<Trigger>(*found->second);
  renamed->name = to;
  triggers.erase(found);
  triggers[{table, to}] = std::move(renamed);
  const std::string key = absl::StrCat("trigger ", table, ".");
  if (auto comment = next().comments.extract(key + from); !comment.empty()) {
    comment.key() = key + to;
    next().comments.insert(std::move(comment));
  }
  return absl::OkStatus();
}

// ENABLE and DISABLE TRIGGER; of ALL, foreign keys are triggers, too.
Status Definer::set_firing(const ast::AlterTableCommand& command, const std::string& name) {
  const auto firing = static_cast<Firing>(command.firing);
  bool is_found = false;
  for (auto& [key, trigger] : next().triggers) {
    const bool is_meant = command.triggers != ast::TriggerSet::kNamed || trigger->name == command.name;
    if (key.first != name || !is_meant) continue;
    is_found = true;
    if (trigger->firing == firing) continue;
    auto changed = std::make_shared<Trigger>(*trigger);
    changed->firing = firing;
    trigger = std::move(changed);
  }
  if (command.triggers == ast::TriggerSet::kAll) return fire_foreign_keys(name, firing != Firing::kDisabled);
  if (is_found || command.triggers != ast::TriggerSet::kNamed) return absl::OkStatus();
  return error("42704", absl::StrCat("trigger \"", command.name, "\" for table \"", name, "\" does not exist"), -1);
}

Status Definer::fire_foreign_keys(const std::string& name, bool fires) {
  const TableId id = next().find_table(name)->schema().id;
  for (auto& [other, rules] : next().rules)
    for (ForeignKey& key : rules.foreign_keys) {
      if (other != id && key.table != id) continue;
      if (!actor().is_superuser)
        return error("42501", absl::StrCat("permission denied: \"", key.name, "\" is a system trigger"), -1);
      if (other == id) key.checks = fires;
      if (key.table == id) key.acts = fires;
    }
  return absl::OkStatus();
}

}  // namespace scyper::query
