#include <algorithm>
#include <atomic>

#include "absl/strings/str_cat.h"
#include "base/invariant.h"
#include "bind/declared_type.h"
#include "bind/index_nulls.h"
#include "bind/pl_binder.h"
#include "compile/definition.h"
#include "parse/name_path.h"
#include "parse/printer.h"
#include "parse/sql_parser.h"
#include "parse/text.h"
#include "parse/type_resolver.h"
#include "query/key_rules.h"
#include "query/local_indexes.h"

// CREATE TABLE AS, SELECT INTO, CREATE TABLE (LIKE ...).
namespace scyper::query {

using ast::node_as;

// The table is defined as if its columns had been written; who runs the definition fills it then.
Status Definer::create_table_as(const ast::CreateTableAsStatement& create, ResultSet* result) {
  if (create.query->kind != ast::StatementKind::kSelect)
    return error("0A000", "CREATE TABLE AS EXECUTE is not supported", create.location);
  result->command_tag = "CREATE TABLE AS";
  const NamedParameters named(names_);
  Binder binder(*old_, text_, names_.size());
  binder.allow_unpopulated();
  PlBinder::name_parameters(named, &binder);
  SCYPER_ASSIGN_OR_RETURN(auto program, binder.bind_statement(*create.query, types_));
  std::vector<const OutputColumn*> outputs;
  std::vector<SqlType> types;
  DeclaredTypes declared(*program->query);
  for (size_t i = 0; i < program->query->outputs.size(); i++) {
    if (program->query->outputs[i].hidden || program->query->outputs[i].name.empty()) continue;  // "" of no columns
    outputs.push_back(&program->query->outputs[i]);
    types.push_back(declared.of_output(*program->query, i));
  }
  if (create.columns.size() > outputs.size()) return error("42601", "too many column names were specified", -1);
  std::string columns;
  for (size_t i = 0; i < outputs.size(); i++) {
    const SqlType& type = types[i];
    const Domain* domain = old_->find_domain(outputs[i]->expr->domain);
    absl::StrAppend(&columns, i == 0 ? "" : ", ",
                    quote_identifier(i < create.columns.size() ? create.columns[i] : outputs[i]->name), " ",
                    domain != nullptr ? quote_identifier(domain->name)
                                      : to_sql(type.id == TypeId::kUnknown ? make_type(TypeId::kText) : type));
  }
  std::string name;
  for (const std::string& part : create.table.name)
    absl::StrAppend(&name, name.empty() ? "" : ".", quote_identifier(part));
  std::string options;
  for (const auto& option : create.options) {
    if (create.materialized_view && says_filled({option})) continue;
    absl::StrAppend(&options, options.empty() ? " WITH (" : ", ");
    if (!option.name_space.empty()) absl::StrAppend(&options, quote_identifier(option.name_space), ".");
    absl::StrAppend(&options, quote_identifier(option.name));
    if (option.has_value) absl::StrAppend(&options, " = ", quote_literal(option.value));
  }
  if (create.persistence == ast::Persistence::kTemporary && !is_temporary_key(create.table.name.back()))
    return error("42P16", "cannot create temporary relation in non-temporary schema", create.table.location);
  definition_text_ = absl::StrCat("CREATE TABLE ", create.if_not_exists ? "IF NOT EXISTS " : "", name, " (", columns,
                                  ")", options, options.empty() ? "" : ")");
  SCYPER_ASSIGN_OR_RETURN(auto statements, parse_sql(definition_text_));
  SCYPER_RETURN_IF_ERROR(create_table(node_as<ast::CreateTableStatement>(*statements[0]), result));
  const auto& used = binder.used_relations();
  if (create.materialized_view &&
      std::any_of(used.begin(), used.end(), [](const auto& key) { return is_temporary_key(key); }))
    return error("0A000", "materialized views must not use temporary tables or views", -1);
  result->command_tag = create.materialized_view ? "CREATE MATERIALIZED VIEW" : "CREATE TABLE AS";
  if (next_ != nullptr && create.materialized_view) note_materialized_view(create, name, binder.used_relations());
  if (next_ != nullptr && create.with_data) rows_text_ = absl::StrCat("INSERT INTO ", name, " ", to_sql(*create.query));
  return absl::OkStatus();
}

// --- LIKE ---

// Of a partition: the table with its rows.
StatusOr<std::shared_ptr<storage::Table>> Definer::table_like(const ast::Name& name) const {
  const DeclaredPartition* partition = old_->find_partition(name.back());
  if (partition == nullptr) return find_table(name);
  return old_->find_table(partition->root);
}

Status Definer::copy_columns(const ast::TableLike& like, storage::TableSchema* schema, TableRules* rules) {
  if (!name_taken(like.table.name.back()))
    return error("42P01", absl::StrCat("relation \"", like.table.name.back(), "\" does not exist"),
                 like.table.location);
  SCYPER_ASSIGN_OR_RETURN(auto source, table_like(like.table.name));
  const storage::TableSchema& from = source->schema();
  const auto known = old_->rules.find(from.id);
  const size_t visible = storage::visible_columns(from);
  for (size_t c = 0; c < visible; c++) {
    if (find_column(*schema, from.columns[c].name) >= 0)
      return error("42701", absl::StrCat("column \"", from.columns[c].name, "\" specified more than once"), -1);
    schema->columns.push_back(from.columns[c]);
    rules->columns.emplace_back();
    if (known == old_->rules.end()) continue;
    const TableRules::Column& rule = known->second.columns[c];
    TableRules::Column& copy = rules->columns.back();
    copy.domain = rule.domain;
    if (like.generated) copy.generated_text = rule.generated_text;
    if (rule.identity != Identity::kNone) {
      if (!like.identity) continue;
      SCYPER_RETURN_IF_ERROR(
          define_serial(*schema, static_cast<uint32_t>(schema->columns.size() - 1), {}, rule.identity, rules));
    } else if (like.defaults) {
      copy.default_text = rule.default_text;
    }
  }
  if (like.constraints && known != old_->rules.end())
    rules->checks.insert(rules->checks.end(), known->second.checks.begin(), known->second.checks.end());
  if (const DeclaredPartition* partition = old_->find_partition(like.table.name.back());
      partition != nullptr && like.constraints)
    rules->checks.insert(rules->checks.end(), partition->checks.begin(), partition->checks.end());
  for (size_t c = 0; like.comments && c < visible; c++) {
    const std::string& column = from.columns[c].name;
    auto comment = old_->comments.find(absl::StrCat("column ", from.name, ".", column));
    if (comment != old_->comments.end())
      next().comments[absl::StrCat("column ", schema->name, ".", column)] = comment->second;
  }
  return absl::OkStatus();
}

Status Definer::copy_indexes(const ast::TableLike& like, storage::TableSchema* schema, TableRules* rules) {
  if (!like.indexes) return absl::OkStatus();
  SCYPER_ASSIGN_OR_RETURN(auto source, table_like(like.table.name));
  const storage::TableSchema& from = source->schema();
  for (const storage::IndexDef& old : from.indexes) {
    if (is_local(old)) continue;
    storage::IndexDef index = old;
    std::string base = schema->name;
    const std::vector<std::string> keys = key_names(from, index);
    const bool primary = is_primary(*old_, old);
    for (size_t i = 0; !primary && i < keys.size(); i++) absl::StrAppend(&base, "_", keys[i]);
    for (uint32_t& column : index.columns) {
      const storage::ColumnDef& definition = from.columns[column];
      if (column < visible_columns(from)) {
        column = static_cast<uint32_t>(find_column(*schema, definition.name));
        continue;
      }
      rules->columns.push_back(found_in(old_->rules, from.id).columns[column]);
      schema->columns.push_back(definition);
      schema->hidden_columns++;
      column = static_cast<uint32_t>(schema->columns.size() - 1);
    }
    if (primary)
      for (const auto& other : schema->indexes)
        if (is_primary(next(), other))
          return error("42P16", absl::StrCat("multiple primary keys for table \"", schema->name, "\" are not allowed"),
                       -1);
    if (schema->indexes.size() >= storage::kMaxIndexesPerTable)
      return error("54011", "a table can have at most 16 indexes", -1);
    index.id = IndexId(draw_number(&next().next_index_id));
    note_index_nulls(index.id, std::string(index_nulls(*old_, old.id)), &next());
    note_key_rules(index.id, key_rules(*old_, old.id), &next());
    index.name = free_index_name(absl::StrCat(base, primary ? "_pkey" : index.constraint ? "_key" : "_idx"));
    SCYPER_RETURN_IF_ERROR(check_unique(*schema, index));
    next().index_tables[index.name] = schema->name;
    schema->indexes.insert(index.primary ? schema->indexes.begin() : schema->indexes.end(), std::move(index));
  }
  return absl::OkStatus();
}

}  // namespace scyper::query
