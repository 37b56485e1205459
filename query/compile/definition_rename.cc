#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/object_name.h"
#include "compile/definition.h"
#include "compile/definition_alter.h"
#include "parse/printer.h"
#include "parse/scanner.h"
#include "parse/text.h"

// ALTER ... RENAME, COMMENT ON
namespace scyper::query {

namespace {

bool is_name(const Token& token) {
  return token.kind == TokenKind::kWord || token.kind == TokenKind::kQuotedIdentifier;
}

// The text of a rule with a column or the table under another name. Words that stand before a bracket are functions,
// those behind pg_catalog are types.
std::string renamed(const std::string& text, const std::string& from, const std::string& to, bool is_table) {
  auto tokens = scan(text);
  if (!tokens.ok()) return text;
  std::string out;
  size_t done = 0;
  for (size_t i = 0; i + 1 < tokens->size(); i++) {
    const Token& token = (*tokens)[i];
    const std::string_view next = (*tokens)[i + 1].text;
    const bool is_type = i >= 2 && (*tokens)[i - 1].text == "." && (*tokens)[i - 2].text == "pg_catalog";
    if (!is_name(token) || value_of(token) != from || next == "(" || is_type || (next == ".") != is_table) continue;
    out += text.substr(done, static_cast<size_t>(token.begin) - done) + quote_identifier(to);
    done = static_cast<size_t>(token.end);
  }
  return out + text.substr(done);
}

void rename_in_rules(const std::string& from, const std::string& to, bool is_table, TableChange* change) {
  TableRules* rules = &change->rules;
  for (auto& check : rules->checks) check.expression = renamed(check.expression, from, to, is_table);
  auto& columns = change->schema.columns;
  for (size_t c = columns.size() - change->schema.hidden_columns; c < columns.size(); c++)
    columns[c].name = renamed(columns[c].name, from, to, is_table);
  for (auto& column : rules->columns)
    if (!column.generated_text.empty()) column.generated_text = renamed(column.generated_text, from, to, is_table);
}

}  // namespace

std::string Definer::renamed_in_text(const std::string& text, const std::string& from, const std::string& to) {
  return renamed(text, from, to, /*is_table=*/false);
}

void Definer::rename_in_hot_views(TableId table, const std::string& from, const std::string& to, bool is_table) {
  for (auto& [name, view] : next().hot_data_views) {
    if (view->table != table) continue;
    auto changed = std::make_shared<HotDataView>(*view);
    changed->predicate = renamed(view->predicate, from, to, is_table);
    view = std::move(changed);
  }
}

Status Definer::rename(const ast::RenameStatement& rename, ResultSet* result) {
  result->command_tag = absl::StrCat(
      "ALTER ", rename.object == ast::ObjectKind::kColumn || rename.object == ast::ObjectKind::kConstraint ? "TABLE"
                : rename.object == ast::ObjectKind::kDomainConstraint                                      ? "DOMAIN"
                                                                      : rename.object_name);
  if (rename.set_schema) return set_schema(rename, result);
  const std::string& name = rename.target.name.back();
  const std::string to = sibling_key(name, rename.new_name);
  auto missing = [&](bool exists) -> bool {
    if (exists || !rename.if_exists) return false;
    result->notices.push_back(absl::StrCat("NOTICE:  relation \"", name, "\" does not exist, skipping"));
    return true;
  };
  switch (rename.object) {
    case ast::ObjectKind::kMaterializedView:
      if (missing(old_->find_table(name) != nullptr)) return absl::OkStatus();
      SCYPER_RETURN_IF_ERROR(check_table_kind(name, true));
      return rename_table(name, to);
    case ast::ObjectKind::kTable:
      if (old_->sequences.count(name) != 0) return rename_sequence(name, to);
      if (old_->views.count(name) != 0) return rename_view(name, to);
      if (old_->index_tables.count(name) != 0) return rename_index(name, to);
      if (missing(old_->find_table(name) != nullptr)) return absl::OkStatus();
      return rename_table(name, to);
    case ast::ObjectKind::kColumn:
      if (old_->has_view(name)) {
        result->command_tag = "ALTER VIEW";
        return rename_view_column(name, rename.old_name, rename.new_name);
      }
      if (missing(old_->find_table(name) != nullptr)) return absl::OkStatus();
      if (old_->find_partition(name) != nullptr)
        return error("42P16", absl::StrCat("cannot rename inherited column \"", rename.old_name, "\""), -1);
      return rename_column(name, rename.old_name, rename.new_name);
    case ast::ObjectKind::kConstraint:
      if (missing(old_->find_table(name) != nullptr)) return absl::OkStatus();
      return rename_constraint(name, rename.old_name, rename.new_name);
    case ast::ObjectKind::kIndex:
      if (missing(old_->index_tables.count(name) != 0)) return absl::OkStatus();
      return rename_index(name, to);
    case ast::ObjectKind::kSequence:
      if (missing(old_->sequences.count(name) != 0)) return absl::OkStatus();
      return rename_sequence(name, to);
    case ast::ObjectKind::kView:
      if (missing(old_->views.count(name) != 0)) return absl::OkStatus();
      return rename_view(name, to);
    case ast::ObjectKind::kFunction:
    case ast::ObjectKind::kProcedure:
    case ast::ObjectKind::kRoutine:
      return rename_routine(rename.object, rename.target, to);
    case ast::ObjectKind::kTrigger:
      return rename_trigger(name, rename.old_name, rename.new_name);
    case ast::ObjectKind::kType:
      return rename_type(name, to);
    case ast::ObjectKind::kDomain:
      return rename_domain(name, to);
    case ast::ObjectKind::kDomainConstraint:
      return rename_domain_constraint(name, rename.old_name, rename.new_name);
    case ast::ObjectKind::kRole:
      return rename_role(rename.old_name, rename.new_name, result);
    case ast::ObjectKind::kSchema:
      return rename_schema(rename.target.name.back(), rename.new_name);
    default:
      return error("0A000", absl::StrCat("ALTER ", rename.object_name, " ... RENAME is not supported"), -1);
  }
}

Status Definer::check_new_name(const std::string& name) const {
  if (!name_taken(name)) return absl::OkStatus();
  return error("42P07", absl::StrCat("relation \"", name, "\" already exists"), -1);
}

// Those of a relation and of what belongs to it; to: empty = it goes.
void Definer::move_comments(const std::string& from, const std::string& to) {
  std::map<std::string, std::string, std::less<>> moved;
  std::erase_if(next().comments, [&](const auto& entry) {
    const size_t blank = entry.first.find(' ') + 1;
    const std::string kind = entry.first.substr(0, blank), name = entry.first.substr(blank);
    const bool is_member = kind == "column " || kind == "trigger " || kind == "constraint ";
    const bool is_relation = kind == "table " || kind == "view ";
    const bool is_meant = is_member ? name.size() > from.size() && name.starts_with(from) && name[from.size()] == '.'
                                    : is_relation && name == from;
    if (is_meant && !to.empty()) moved[kind + to + name.substr(from.size())] = entry.second;
    return is_meant;
  });
  next().comments.merge(moved);
}

Status Definer::rename_table(const std::string& from, const std::string& to) {
  SCYPER_RETURN_IF_ERROR(find_table({from}).status());
  SCYPER_RETURN_IF_ERROR(check_new_name(to));
  auto table = next().find_table(from);
  TableChange change = begin_change(table, next().rules[table->schema().id]);
  change.schema.name = to;
  move_triggers(from, to);
  move_comments(from, to);
  rename_in_rules(std::string(bare_name(from)), std::string(bare_name(to)), true, &change);
  rename_in_hot_views(change.schema.id, std::string(bare_name(from)), std::string(bare_name(to)), true);
  for (const auto& index : change.schema.indexes) next().index_tables[index.name] = to;
  if (auto view = next().materialized_views.extract(from); !view.empty()) {
    view.key() = to;
    next().materialized_views.insert(std::move(view));
  }
  next().tables.erase(from);
  SCYPER_RETURN_IF_ERROR(apply_change(std::move(change)));
  remake_partitions(table->schema().id);
  return rename_below_views(from, to);
}

Status Definer::rename_column(const std::string& name, const std::string& from, const std::string& to) {
  SCYPER_RETURN_IF_ERROR(find_table({name}).status());
  auto table = next().find_table(name);
  SCYPER_ASSIGN_OR_RETURN(const uint32_t column, rename_position(name, from));
  if (find_column(table->schema(), to) >= 0)
    return error("42701", absl::StrCat("column \"", to, "\" of relation \"", name, "\" already exists"), -1);
  std::vector<std::string> before;
  for (size_t c = 0; c < storage::visible_columns(table->schema()); c++)
    before.push_back(table->schema().columns[c].name);
  TableChange change = begin_change(table, next().rules[table->schema().id]);
  change.schema.columns[column].name = to;
  rename_in_rules(from, to, false, &change);
  rename_in_hot_views(change.schema.id, from, to, false);
  SCYPER_RETURN_IF_ERROR(apply_change(std::move(change)));
  SCYPER_RETURN_IF_ERROR(rename_column_below_views(name, before));
  return rename_in_partitions(table->schema().id, from, to);
}

StatusOr<uint32_t> Definer::rename_position(const std::string& name, const std::string& column) {
  int c = find_column(next().find_table(name)->schema(), column);
  if (c < 0) return error("42703", absl::StrCat("column \"", column, "\" does not exist"), -1);
  return static_cast<uint32_t>(c);
}

Status Definer::rename_constraint(const std::string& name, const std::string& from, const std::string& to) {
  SCYPER_RETURN_IF_ERROR(find_table({name}).status());
  const storage::TableSchema& schema = next().find_table(name)->schema();
  if (!constraint_taken(schema, from))
    return error("42704", absl::StrCat("constraint \"", from, "\" for table \"", name, "\" does not exist"), -1);
  if (constraint_taken(schema, to))
    return error("42710", absl::StrCat("constraint \"", to, "\" for relation \"", name, "\" already exists"), -1);
  TableRules& rules = next().rules[schema.id];
  for (auto& check : rules.checks)
    if (check.name == from) check.name = to;
  std::sort(rules.checks.begin(), rules.checks.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  for (auto& key : rules.foreign_keys)
    if (key.name == from) key.name = to;
  const std::string index = sibling_key(name, from);
  return next().index_tables.count(index) != 0 ? rename_index(index, sibling_key(name, to)) : absl::OkStatus();
}

Status Definer::rename_index(const std::string& from, const std::string& to) {
  auto found = next().index_tables.find(from);
  if (found == next().index_tables.end())
    return error("42P01", absl::StrCat("relation \"", from, "\" does not exist"), -1);
  SCYPER_RETURN_IF_ERROR(check_new_name(to));
  const std::string name = found->second;
  auto table = next().find_table(name);
  TableChange change = begin_change(table, next().rules[table->schema().id]);
  for (auto& index : change.schema.indexes)
    if (index.name == from) index.name = to;
  next().index_tables.erase(from);
  next().index_tables[to] = name;
  return apply_change(std::move(change));
}

Status Definer::rename_sequence(const std::string& from, const std::string& to) {
  auto found = old_->sequences.find(from);
  if (found == old_->sequences.end()) return error("42P01", absl::StrCat("relation \"", from, "\" does not exist"), -1);
  SCYPER_RETURN_IF_ERROR(check_new_name(to));
  storage::SequenceDefinition definition = found->second->definition();
  storage::SequenceState state = found->second->state();
  definition.name = to;
  state.changes++;
  auto renamed_sequence = std::make_shared<storage::Sequence>(std::move(definition));
  renamed_sequence->restore(state);
  next().sequences.erase(from);
  next().sequences[to] = std::move(renamed_sequence);
  return absl::OkStatus();
}

Status Definer::rename_view(const std::string& from, const std::string& to) {
  auto found = next().views.find(from);
  if (found == next().views.end()) return error("42P01", absl::StrCat("relation \"", from, "\" does not exist"), -1);
  SCYPER_RETURN_IF_ERROR(check_new_name(to));
  auto view = std::make_shared<View>(*found->second);
  view->name = to;
  move_triggers(from, to);
  move_comments(from, to);
  next().views.erase(from);
  next().views[to] = std::move(view);
  return rename_below_views(from, to);
}

// After a column has gone: sequences know theirs by position.
void Definer::move_owned_sequences(TableId table, uint32_t dropped) {
  for (auto& [name, sequence] : next().sequences) {
    storage::SequenceDefinition definition = sequence->definition();
    if (definition.owner != table || definition.owner_column < dropped) continue;
    storage::SequenceState state = sequence->state();
    definition.owner_column--;
    state.changes++;
    auto moved = std::make_shared<storage::Sequence>(std::move(definition));
    moved->restore(state);
    sequence = std::move(moved);
  }
}

StatusOr<std::string> Definer::member_to_comment(const ast::CommentStatement& comment) {
  const ast::Name& name = comment.target.name;
  const std::string& table = name[name.size() - 2];
  SCYPER_ASSIGN_OR_RETURN(const auto found, find_table({table}));
  const bool is_trigger = comment.object == ast::ObjectKind::kTrigger;
  const bool exists =
      is_trigger ? old_->triggers.count({table, name.back()}) != 0 : constraint_taken(found->schema(), name.back());
  const std::string word = is_trigger ? "trigger" : "constraint";
  if (!exists)
    return error("42704", absl::StrCat(word, " \"", name.back(), "\" for table \"", table, "\" does not exist"), -1);
  return word + " " + table + "." + name.back();
}

Status Definer::comment(const ast::CommentStatement& comment, ResultSet* result) {
  result->command_tag = "COMMENT";
  const ast::Name& name = comment.target.name;
  std::string key;
  auto unknown = [&](std::string_view what) {
    return error("42P01", absl::StrCat("relation \"", std::string(what), "\" does not exist"), -1);
  };
  switch (comment.object) {
    case ast::ObjectKind::kMaterializedView:
    case ast::ObjectKind::kTable:
      SCYPER_RETURN_IF_ERROR(check_table_kind(name.back(), comment.object == ast::ObjectKind::kMaterializedView));
      key = "table " + name.back();
      break;
    case ast::ObjectKind::kView:
      if (!old_->has_view(name.back())) return unknown(name.back());
      key = "view " + name.back();
      break;
    case ast::ObjectKind::kSequence:
      if (old_->sequences.count(name.back()) == 0) return unknown(name.back());
      key = "sequence " + name.back();
      break;
    case ast::ObjectKind::kIndex:
      if (old_->index_tables.count(name.back()) == 0) return unknown(name.back());
      key = "index " + name.back();
      break;
    case ast::ObjectKind::kColumn: {
      if (name.size() < 2) return error("42601", "column name must be qualified", -1);
      const std::string& table = name[name.size() - 2];
      SCYPER_RETURN_IF_ERROR(find_table({table}).status());
      if (find_column(old_->find_table(table)->schema(), name.back()) < 0)
        return error("42703", absl::StrCat("column \"", name.back(), "\" of relation \"", table, "\" does not exist"),
                     -1);
      key = "column " + table + "." + name.back();
      break;
    }
    case ast::ObjectKind::kProcedure:
    case ast::ObjectKind::kFunction:
    case ast::ObjectKind::kRoutine:
      if (old_->routines.count(name.back()) == 0)
        return error("42883", absl::StrCat("function ", name.back(), " does not exist"), -1);
      key = "routine " + name.back();
      break;
    case ast::ObjectKind::kTrigger:
    case ast::ObjectKind::kConstraint: {
      SCYPER_ASSIGN_OR_RETURN(key, member_to_comment(comment));
      break;
    }
    case ast::ObjectKind::kSchema:
      if (!has_schema(name.back()))
        return error("3F000", absl::StrCat("schema \"", name.back(), "\" does not exist"), -1);
      key = "schema " + name.back();
      break;
    case ast::ObjectKind::kType:
    case ast::ObjectKind::kDomain:
      if (old_->enums.count(name.back()) == 0 && old_->domains.count(name.back()) == 0 &&
          old_->composites.count(name.back()) == 0)
        return error("42704", absl::StrCat("type \"", name.back(), "\" does not exist"), -1);
      if (comment.object == ast::ObjectKind::kDomain && old_->domains.count(name.back()) == 0)
        return error("42809", absl::StrCat("\"", name.back(), "\" is not a domain"), -1);
      key = "type " + name.back();
      break;
    default:
      return error("0A000", absl::StrCat("COMMENT ON ", comment.object_name, " is not supported"), -1);
  }
  if (comment.has_text && !comment.text.empty())
    next().comments[key] = comment.text;
  else
    next().comments.erase(key);
  return absl::OkStatus();
}

}  // namespace scyper::query
