#include <algorithm>

#include "absl/strings/str_cat.h"
#include "bind/binder.h"
#include "compile/definition.h"
#include "parse/printer.h"

// CREATE and DROP TRIGGER.
namespace scyper::query {

Status Definer::create_trigger(const ast::CreateTriggerStatement& create, ResultSet* result) {
  result->command_tag = "CREATE TRIGGER";
  if (create.is_constraint) return error("0A000", "CREATE CONSTRAINT TRIGGER is not supported", create.location);
  if (create.instead) return error("0A000", "INSTEAD OF triggers are not supported", create.location);
  if (create.has_transitions) return error("0A000", "REFERENCING of triggers is not supported", create.location);
  if (create.on_truncate) return error("0A000", "triggers of TRUNCATE are not supported", create.location);
  SCYPER_ASSIGN_OR_RETURN(auto table, find_table(create.table.name));
  const storage::TableSchema& schema = table->schema();
  const std::string& function = create.function.back();
  auto range = old_->routines.equal_range(function);
  auto found = std::find_if(range.first, range.second, [](const auto& e) { return e.second->input_count() == 0; });
  if (found == range.second) return error("42883", absl::StrCat("function ", function, "() does not exist"), -1);
  if (!found->second->is_trigger)
    return error("42P17", absl::StrCat("function ", function, " must return type trigger"), -1);
  auto trigger = std::make_shared<Trigger>();
  trigger->name = create.name;
  trigger->table = schema.name;
  trigger->function = function;
  trigger->before = create.before;
  trigger->per_row = create.per_row;
  trigger->events =
      static_cast<uint8_t>((create.on_insert ? Trigger::kInsert : 0) | (create.on_delete ? Trigger::kDelete : 0) |
                           (create.on_update ? Trigger::kUpdate : 0));
  trigger->columns = create.columns;
  for (const auto& column : create.columns)
    if (std::none_of(schema.columns.begin(), schema.columns.end(), [&](const auto& c) { return c.name == column; }))
      return error("42703", absl::StrCat("column \"", column, "\" of relation \"", schema.name, "\" does not exist"),
                   -1);
  if (create.when != nullptr) {
    SCYPER_RETURN_IF_ERROR(Binder(*old_, text_).check_trigger_condition(*create.when, *trigger, table));
    trigger->when = to_sql(*create.when);
  }
  trigger->arguments = create.arguments;
  std::pair<std::string, std::string> key{schema.name, create.name};
  if (old_->triggers.count(key) != 0 && !create.or_replace)
    return error("42710",
                 absl::StrCat("trigger \"", create.name, "\" for relation \"", schema.name, "\" already exists"), -1);
  next().triggers[key] = std::move(trigger);
  return absl::OkStatus();
}

Status Definer::drop_trigger(const ast::DropStatement& drop, const ast::ObjectRef& object, ResultSet* result) {
  const std::string& name = object.name.back();
  std::string table = object.name.size() > 1 ? object.name[object.name.size() - 2] : "";
  if (next().triggers.erase({table, name}) != 0) return absl::OkStatus();
  bool has_table = next().tables.count(table) != 0;
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
  auto& triggers = next().triggers;
  for (auto it = triggers.begin(); it != triggers.end();)
    it = it->first.first == table ? triggers.erase(it) : std::next(it);
}

}  // namespace scyper::query
