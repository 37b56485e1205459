#include "bind/object_text.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/object_name.h"
#include "bind/index_nulls.h"
#include "bind/partitions.h"
#include "bind/shown_expression.h"
#include "bind/system_types.h"
#include "parse/printer.h"
#include "query/key_rules.h"

namespace scyper::query {

namespace {

std::string column_list(const storage::TableSchema& schema, const std::vector<uint32_t>& columns) {
  std::vector<std::string> names;
  for (uint32_t column : columns) names.push_back(quote_identifier(schema.columns[column].name));
  return absl::StrCat("(", absl::StrJoin(names, ", "), ")");
}

const char* action_text(ReferentialAction action) {
  switch (action) {
    case ReferentialAction::kNoAction:
      return "";
    case ReferentialAction::kRestrict:
      return "RESTRICT";
    case ReferentialAction::kCascade:
      return "CASCADE";
    case ReferentialAction::kSetNull:
      return "SET NULL";
    case ReferentialAction::kSetDefault:
      return "SET DEFAULT";
  }
  return "";
}

std::string check_text(const Catalog& catalog, const TableConstraint& constraint, bool is_pretty) {
  std::string text =
      shown_expression(catalog, constraint.check->expression,
                       {ExpressionPlace::kCondition, catalog.find_table(constraint.table), 0}, is_pretty);
  return absl::StrCat("CHECK (", text, ")");
}

std::string constraint_text(const Catalog& catalog, const TableConstraint& constraint, bool is_pretty) {
  if (constraint.check != nullptr) return check_text(catalog, constraint, is_pretty);
  const std::string columns = column_list(*constraint.schema, constraint.columns);
  if (constraint.foreign == nullptr) {
    const KeyRules rules = key_rules(catalog, constraint.index->id);
    return absl::StrCat(constraint.type == 'p' ? "PRIMARY KEY " : "UNIQUE ",
                        rules.are_nulls_equal ? "NULLS NOT DISTINCT " : "", columns,
                        rules.is_deferrable ? " DEFERRABLE" : "", rules.is_deferred ? " INITIALLY DEFERRED" : "");
  }
  const ForeignKey& key = *constraint.foreign;
  const auto parent = catalog.find_table(key.table);
  if (parent == nullptr) return "";
  std::string text = absl::StrCat("FOREIGN KEY ", columns, " REFERENCES ", quote_identifier(parent->schema().name),
                                  column_list(parent->schema(), key.referenced));
  if (key.on_update != ReferentialAction::kNoAction) absl::StrAppend(&text, " ON UPDATE ", action_text(key.on_update));
  if (key.on_delete != ReferentialAction::kNoAction) absl::StrAppend(&text, " ON DELETE ", action_text(key.on_delete));
  if (key.deferrable) absl::StrAppend(&text, " DEFERRABLE", key.deferred ? " INITIALLY DEFERRED" : "");
  return text;
}

// The unique index that a foreign key's columns are a key of.
const storage::IndexDef* referenced_index(const Catalog& catalog, const ForeignKey& key) {
  const auto parent = catalog.find_table(key.table);
  if (parent == nullptr) return nullptr;
  std::vector<uint32_t> wanted = key.referenced;
  std::sort(wanted.begin(), wanted.end());
  for (const auto& index : parent->schema().indexes) {
    std::vector<uint32_t> columns = index.columns;
    std::sort(columns.begin(), columns.end());
    if (index.unique && !index.partial && columns == wanted) return &index;
  }
  return nullptr;
}

std::string key_part(const Catalog& catalog, const storage::TableSchema& schema, const storage::IndexDef& index,
                     size_t i, bool is_pretty) {
  const uint32_t column = index.columns[i];
  if (column < storage::visible_columns(schema)) return quote_identifier(schema.columns[column].name);
  std::string text = index_part_text(catalog, schema, column, false, is_pretty);
  const bool is_call = !text.starts_with('(') && text.ends_with(')') && text.find('(') != std::string::npos;
  return is_call || (!is_pretty && text.starts_with('(')) ? absl::StrCat(is_call ? "" : "(", text, is_call ? "" : ")")
                                                          : absl::StrCat("(", text, ")");
}

}  // namespace

std::vector<TableConstraint> table_constraints(const Catalog& catalog) {
  constexpr int64_t kFirst = 9000000;
  std::vector<TableConstraint> all;
  int64_t next = kFirst;
  for (const auto& [key, table] : catalog.tables) {
    const storage::TableSchema& schema = table->schema();
    for (const auto& index : schema.indexes)
      if (index.primary || index.constraint)
        all.push_back({index_oid(index), key, std::string(bare_name(index.name)),
                       is_primary(catalog, index) ? 'p' : 'u', &schema, &index, nullptr, nullptr, index.columns});
    const auto rules = catalog.rules.find(schema.id);
    if (rules == catalog.rules.end()) continue;
    for (const auto& check : rules->second.checks)
      all.push_back({next++, key, check.name, 'c', &schema, nullptr, &check, nullptr,
                     columns_of_expression(catalog, check.expression, {ExpressionPlace::kCondition, table, 0})});
    for (const auto& foreign : rules->second.foreign_keys)
      all.push_back({next++, key, foreign.name, 'f', &schema, referenced_index(catalog, foreign), nullptr, &foreign,
                     foreign.columns});
  }
  for (const auto& [view, root] : all_partitions(catalog))
    for (const CheckRule& check : view->partition->checks)
      all.push_back({next++, view->name, check.name, 'c', &root->schema(), nullptr, &check, nullptr,
                     columns_of_expression(catalog, check.expression, {ExpressionPlace::kCondition, root, 0}),
                     partition_oid(*view->partition)});
  return all;
}

std::vector<DomainConstraint> domain_constraints(const Catalog& catalog) {
  constexpr int64_t kFirst = 9500000;
  std::vector<DomainConstraint> all;
  for (const auto& [name, domain] : catalog.domains)
    for (const auto& check : domain->checks)
      all.push_back({kFirst + static_cast<int64_t>(all.size()), domain.get(), &check});
  return all;
}

std::string domain_check_text(const Catalog& catalog, const DomainConstraint& constraint, bool is_pretty) {
  const std::string text =
      shown_expression(catalog, constraint.check->expression,
                       {ExpressionPlace::kCondition, nullptr, 0, constraint.domain->base}, is_pretty);
  return absl::StrCat("CHECK (", text, ")", constraint.check->is_validated ? "" : " NOT VALID");
}

std::string shown_default(const Catalog& catalog, const Domain& domain) {
  if (domain.default_text.empty()) return "";
  return shown_expression(catalog, domain.default_text, {ExpressionPlace::kDefault, nullptr, 0, domain.base}, false);
}

std::string index_part_text(const Catalog& catalog, const storage::TableSchema& schema, uint32_t column,
                            bool is_predicate, bool is_pretty) {
  return shown_expression(
      catalog, schema.columns[column].name,
      {is_predicate ? ExpressionPlace::kCondition : ExpressionPlace::kIndex, catalog.find_table(schema.name), 0},
      is_pretty);
}

std::string shown_default(const Catalog& catalog, const storage::TableSchema& schema, uint32_t column, bool is_pretty) {
  const auto rules = catalog.rules.find(schema.id);
  if (rules == catalog.rules.end() || column >= rules->second.columns.size()) return "";
  const TableRules::Column& rule = rules->second.columns[column];
  if (rule.identity != Identity::kNone) return "";
  const auto table = catalog.find_table(schema.name);
  if (!rule.generated_text.empty())
    return shown_expression(catalog, rule.generated_text, {ExpressionPlace::kGenerated, table, column}, is_pretty);
  const SystemRelation relation{schema.name, table_oid(schema), &schema, nullptr};
  const std::string text = default_of_column(catalog, relation, column);
  if (text.empty() || text.starts_with("nextval(")) return text;
  return shown_expression(catalog, text, {ExpressionPlace::kDefault, table, column}, is_pretty);
}

std::string shown_default(const Catalog& catalog, const View& partition, uint32_t column) {
  const auto root = catalog.find_table(partition.partition->root);
  if (root == nullptr) return "";
  const auto& defaults = partition.partition->defaults;
  const auto own = defaults.find(partition.column_names[column]);
  return own == defaults.end()
             ? shown_default(catalog, root->schema(), column, false)
             : shown_expression(catalog, own->second, {ExpressionPlace::kDefault, root, column}, false);
}

std::string key_definition(const Catalog& catalog, const storage::TableSchema& schema, const storage::IndexDef& index,
                           bool is_pretty) {
  std::vector<std::string> parts;
  for (size_t i = index.partial ? 1 : 0; i < index.columns.size(); i++) {
    parts.push_back(key_part(catalog, schema, index, i, is_pretty));
    parts.back() += shown_key_order(catalog, index, i);
  }
  std::string text = absl::StrCat("(", absl::StrJoin(parts, ", "), ")");
  if (key_rules(catalog, index.id).are_nulls_equal) text += " NULLS NOT DISTINCT";
  if (index.partial)
    absl::StrAppend(&text, " WHERE ", index_part_text(catalog, schema, index.columns[0], true, is_pretty));
  return text;
}

std::string index_definition(const Catalog& catalog, const storage::TableSchema& schema, const storage::IndexDef& index,
                             bool is_pretty) {
  const std::string schema_part = is_pretty && schema_of(schema.name) == kPublicSchema
                                      ? ""
                                      : quote_identifier(std::string(schema_of(schema.name))) + ".";
  return absl::StrCat("CREATE ", is_unique(catalog, index) ? "UNIQUE " : "", "INDEX ",
                      quote_identifier(std::string(bare_name(index.name))), " ON ", schema_part,
                      quote_identifier(std::string(bare_name(schema.name))), " USING btree ",
                      key_definition(catalog, schema, index, is_pretty));
}

std::string index_source(const Catalog& catalog, const storage::TableSchema& schema, const storage::IndexDef& index) {
  std::vector<std::string> parts;
  for (size_t i = index.partial ? 1 : 0; i < index.columns.size(); i++) {
    const std::string& name = schema.columns[index.columns[i]].name;
    const bool is_plain = index.columns[i] < storage::visible_columns(schema);
    parts.push_back(is_plain ? quote_identifier(name) : absl::StrCat("(", name, ")"));
    parts.back() += shown_key_order(catalog, index, i);
  }
  return absl::StrCat("CREATE ", is_unique(catalog, index) ? "UNIQUE " : "", "INDEX ",
                      quote_identifier(std::string(bare_name(index.name))), " ON ",
                      quote_identifier(std::string(schema_of(schema.name))), ".",
                      quote_identifier(std::string(bare_name(schema.name))), " (", absl::StrJoin(parts, ", "), ")",
                      key_rules(catalog, index.id).are_nulls_equal ? " NULLS NOT DISTINCT" : "",
                      index.partial ? " WHERE " + schema.columns[index.columns[0]].name : "");
}

std::map<std::string, std::string> index_texts(const Catalog& catalog) {
  std::map<std::string, std::string> all;
  for (const auto& [key, table] : catalog.tables)
    for (const auto& index : table->schema().indexes)
      for (int pretty : {0, 1}) {
        const int64_t oid = index_oid(index);
        all[absl::StrCat(oid, " 0 ", pretty)] = index_definition(catalog, table->schema(), index, pretty != 0);
        const size_t first = index.partial ? 1 : 0;
        for (size_t i = first; i < index.columns.size(); i++)
          all[absl::StrCat(oid, " ", i - first + 1, " ", pretty)] =
              key_part(catalog, table->schema(), index, i, pretty != 0);
      }
  return all;
}

std::map<std::string, std::string> constraint_texts(const Catalog& catalog) {
  std::map<std::string, std::string> all;
  for (const TableConstraint& constraint : table_constraints(catalog))
    for (int pretty : {0, 1})
      all[absl::StrCat(constraint.oid, " ", pretty)] = constraint_text(catalog, constraint, pretty != 0);
  for (const DomainConstraint& constraint : domain_constraints(catalog))
    for (int pretty : {0, 1})
      all[absl::StrCat(constraint.oid, " ", pretty)] = domain_check_text(catalog, constraint, pretty != 0);
  return all;
}

std::map<std::string, std::string> view_texts(const Catalog& catalog) {
  std::map<std::string, std::string> all;
  for (const auto& [name, view] : catalog.views)
    if (view->partition == nullptr)
      all[absl::StrCat(view_oid(catalog, name))] = absl::StrCat(" ", without_keys(view->query, true), ";");
  for (const auto& [name, view] : catalog.materialized_views)
    all[absl::StrCat(table_oid(catalog.find_table(name)->schema()))] =
        absl::StrCat(" ", without_keys(view->query, true), ";");
  return all;
}

int64_t relation_with_triggers(const Catalog& catalog, const std::string& name) {
  const auto table = catalog.find_table(name);
  return table != nullptr                            ? table_oid(table->schema())
         : catalog.find_view(name, false) != nullptr ? view_oid(catalog, name)
                                                     : 0;
}

namespace {

std::string trigger_text(const Trigger& trigger, bool is_pretty) {
  std::vector<std::string> events, arguments;
  if ((trigger.events & Trigger::kInsert) != 0) events.push_back("INSERT");
  if ((trigger.events & Trigger::kDelete) != 0) events.push_back("DELETE");
  if ((trigger.events & Trigger::kUpdate) != 0) {
    std::vector<std::string> columns;
    for (const auto& column : trigger.columns) columns.push_back(quote_identifier(column));
    events.push_back(columns.empty() ? "UPDATE" : "UPDATE OF " + absl::StrJoin(columns, ", "));
  }
  for (const auto& argument : trigger.arguments) arguments.push_back(quote_literal(argument));
  const auto table = [&](const std::string& name) {
    return (is_pretty || schema_of(name) != kPublicSchema ? "" : "public.") + quote_identifier(name);
  };
  std::string text = absl::StrCat(trigger.is_constraint ? "CREATE CONSTRAINT TRIGGER " : "CREATE TRIGGER ",
                                  quote_identifier(trigger.name),
                                  trigger.instead  ? " INSTEAD OF "
                                  : trigger.before ? " BEFORE "
                                                   : " AFTER ",
                                  absl::StrJoin(events, " OR "), " ON ", table(trigger.table));
  if (!trigger.constraint_table.empty()) absl::StrAppend(&text, " FROM ", table(trigger.constraint_table));
  if (trigger.is_constraint)
    absl::StrAppend(&text, trigger.is_deferrable ? "" : " NOT", " DEFERRABLE INITIALLY IMMEDIATE");
  if (!trigger.old_table.empty() || !trigger.new_table.empty()) text += " REFERENCING";
  if (!trigger.old_table.empty()) absl::StrAppend(&text, " OLD TABLE AS ", quote_identifier(trigger.old_table));
  if (!trigger.new_table.empty()) absl::StrAppend(&text, " NEW TABLE AS ", quote_identifier(trigger.new_table));
  return absl::StrCat(text, trigger.per_row ? " FOR EACH ROW" : " FOR EACH STATEMENT",
                      trigger.when.empty() ? "" : absl::StrCat(" WHEN (", trigger.when, ")"), " EXECUTE FUNCTION ",
                      quote_identifier(trigger.function), "(", absl::StrJoin(arguments, ", "), ")");
}

}  // namespace

std::map<std::string, std::string> trigger_texts(const Catalog& catalog) {
  std::map<std::string, std::string> all;
  int64_t number = kFirstTriggerOid;
  for (const auto& [key, trigger] : catalog.triggers) {
    if (relation_with_triggers(catalog, key.first) == 0) continue;
    for (int pretty : {0, 1}) all[absl::StrCat(number, " ", pretty)] = trigger_text(*trigger, pretty != 0);
    number++;
  }
  return all;
}

std::vector<ObjectComment> all_comments(const Catalog& catalog) {
  std::vector<ObjectComment> all;
  const int64_t relations = system_table_oid("pg_class"), routines = system_table_oid("pg_proc");
  for (const auto& [key, text] : catalog.comments) {
    const std::string_view kind = std::string_view(key).substr(0, key.find(' '));
    const std::string name = key.substr(kind.size() + 1);
    if (kind == "table") {
      if (const auto table = catalog.find_table(name); table != nullptr)
        all.push_back({table_oid(table->schema()), relations, 0, text});
      else if (catalog.find_partition(name) != nullptr)
        all.push_back({view_oid(catalog, name), relations, 0, text});
    } else if (kind == "view") {
      if (catalog.views.contains(name)) all.push_back({view_oid(catalog, name), relations, 0, text});
    } else if (kind == "sequence") {
      if (const auto found = catalog.sequences.find(name); found != catalog.sequences.end())
        all.push_back({sequence_oid(*found->second), relations, 0, text});
    } else if (kind == "index") {
      const auto found = catalog.index_tables.find(name);
      const auto table = found == catalog.index_tables.end() ? nullptr : catalog.find_table(found->second);
      for (const auto& index : table == nullptr ? std::vector<storage::IndexDef>() : table->schema().indexes)
        if (index.name == name) all.push_back({index_oid(index), relations, 0, text});
    } else if (kind == "column") {
      const auto table = catalog.find_table(std::string_view(name).substr(0, name.rfind('.')));
      for (size_t i = 0; table != nullptr && i < storage::visible_columns(table->schema()); i++)
        if (table->schema().name + "." + table->schema().columns[i].name == name)
          all.push_back({table_oid(table->schema()), relations, static_cast<int64_t>(i) + 1, text});
    } else if (kind == "type") {
      const int64_t types = system_table_oid("pg_type");
      if (const auto found = catalog.domains.find(name); found != catalog.domains.end())
        all.push_back({domain_oid(found->second->id), types, 0, text});
      if (const auto found = catalog.enums.find(name); found != catalog.enums.end())
        all.push_back({enum_oid(found->second->number), types, 0, text});
    } else if (kind == "schema") {
      if (name == kPublicSchema || catalog.namespaces.contains(name))
        all.push_back({schema_oid(catalog, object_key(name, "")), system_table_oid("pg_namespace"), 0, text});
    } else if (kind == "routine") {
      if (const auto found = catalog.routines.find(name); found != catalog.routines.end())
        all.push_back({routine_oid(*found->second), routines, 0, text});
    }
  }
  return all;
}

std::map<std::string, std::string> object_comments(const Catalog& catalog) {
  std::map<std::string, std::string> all;
  for (const ObjectComment& comment : all_comments(catalog))
    if (comment.column == 0) all[absl::StrCat(comment.oid)] = comment.text;
  return all;
}

std::map<std::string, std::string> column_comments(const Catalog& catalog) {
  std::map<std::string, std::string> all;
  for (const ObjectComment& comment : all_comments(catalog))
    if (comment.column != 0) all[absl::StrCat(comment.oid, " ", comment.column)] = comment.text;
  return all;
}

std::map<std::string, std::string> pretty_expressions(const Catalog& catalog) {
  std::map<std::string, std::string> all;
  for (const auto& [key, table] : catalog.tables) {
    const storage::TableSchema& schema = table->schema();
    for (uint32_t i = 0; i < storage::visible_columns(schema); i++)
      if (std::string text = shown_default(catalog, schema, i, false); !text.empty())
        all[text] = shown_default(catalog, schema, i, true);
    for (const auto& index : schema.indexes)
      for (size_t i = 0; i < index.columns.size(); i++) {
        if (index.columns[i] < storage::visible_columns(schema)) continue;
        const bool is_predicate = index.partial && i == 0;
        all[index_part_text(catalog, schema, index.columns[i], is_predicate, false)] =
            index_part_text(catalog, schema, index.columns[i], is_predicate, true);
      }
  }
  return all;
}

}  // namespace scyper::query
