#include "compile/copy.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/object_name.h"
#include "bind/binder.h"
#include "compile/definition.h"
#include "parse/printer.h"
#include "parse/scanner.h"
#include "parse/sql_parser.h"
#include "parse/text.h"
#include "parse/type_resolver.h"
#include "query/copy_binary.h"

namespace scyper::query {

using ast::node_as;

namespace {

const TableRules* rules_of(const storage::TableSchema& schema, const Catalog& catalog) {
  auto rules = catalog.rules.find(schema.id);
  return rules == catalog.rules.end() ? nullptr : &rules->second;
}

bool is_generated(const TableRules* rules, size_t column) {
  return rules != nullptr && !rules->columns[column].generated_text.empty();
}

std::string shown_name(const ast::Name& name) {
  return name.size() > 1 ? absl::StrCat(name[name.size() - 2], ".", name.back()) : name.back();
}

StatusOr<std::shared_ptr<storage::Table>> table_of(const ast::CopyStatement& copy, const Catalog& catalog) {
  const std::string& key = copy.table.name.back();
  const bool is_public = copy.table.name.size() == 1 || copy.table.name[copy.table.name.size() - 2] == kPublicSchema;
  if (auto table = is_public ? catalog.find_table(key) : nullptr; table != nullptr) return table;
  if (const DeclaredPartition* partition = is_public ? catalog.find_partition(key) : nullptr; partition != nullptr)
    return catalog.find_table(partition->root);
  const std::string schema(schema_of(key));
  if (schema != kPublicSchema && catalog.namespaces.count(schema) == 0)
    return sql_error("3F000", absl::StrCat("schema \"", schema, "\" does not exist"));
  const std::string way = copy.from ? "to" : "from";
  if (is_public && catalog.has_foreign_table(key)) {
    if (copy.from) return sql_error("0A000", absl::StrCat("cannot insert into foreign table \"", key, "\""));
    return with_hint(sql_error("42809", absl::StrCat("cannot copy from foreign table \"", key, "\"")),
                     "Try the COPY (SELECT ...) TO variant.");
  }
  if (is_public && catalog.views.count(key) != 0) {
    Status status = sql_error("42809", absl::StrCat("cannot copy ", way, " view \"", key, "\""));
    return with_hint(status, copy.from ? "To enable copying to a view, provide an INSTEAD OF INSERT trigger."
                                       : "Try the COPY (SELECT ...) TO variant.");
  }
  if (is_public && catalog.sequences.count(key) != 0)
    return sql_error("42809", absl::StrCat("cannot copy ", way, " sequence \"", key, "\""));
  return sql_error("42P01", absl::StrCat("relation \"", shown_name(copy.table.name), "\" does not exist"));
}

// The relation that the statement names: the table, or a partition of it.
std::string relation_of(const ast::CopyStatement& copy, const Catalog& catalog) {
  const std::string& key = copy.table.name.back();
  return catalog.find_partition(key) != nullptr ? key : catalog.find_table(key)->schema().name;
}

// Those of the list, or all that are not generated.
StatusOr<std::vector<uint32_t>> columns_of(const ast::CopyStatement& copy, const storage::TableSchema& schema,
                                           const Catalog& catalog) {
  const TableRules* rules = rules_of(schema, catalog);
  const size_t visible = storage::visible_columns(schema);
  std::vector<uint32_t> columns;
  for (uint32_t c = 0; copy.columns.empty() && c < visible; c++)
    if (!is_generated(rules, c)) columns.push_back(c);
  for (const std::string& name : copy.columns) {
    const int c = find_column(schema, name);
    if (c < 0)
      return sql_error("42703", absl::StrCat("column \"", name, "\" of relation \"", schema.name, "\" does not exist"));
    if (is_generated(rules, static_cast<size_t>(c)))
      return with_detail(sql_error("42P10", absl::StrCat("column \"", name, "\" is a generated column")),
                         "Generated columns cannot be used in COPY.");
    if (std::find(columns.begin(), columns.end(), static_cast<uint32_t>(c)) != columns.end())
      return sql_error("42701", absl::StrCat("column \"", name, "\" specified more than once"));
    columns.push_back(static_cast<uint32_t>(c));
  }
  return columns;
}

// table: null = a query, whose columns are all that there are.
Status set_flags(const std::vector<std::string>& names, const std::string& option,
                 const std::vector<ResultColumn>& columns, const storage::TableSchema* table,
                 std::vector<bool>* flags) {
  if (names.empty()) return Status();
  flags->assign(columns.size(), false);
  for (const std::string& name : names) {
    auto found = std::find_if(columns.begin(), columns.end(), [&](const auto& column) { return column.name == name; });
    if (found != columns.end()) {
      flags->at(static_cast<size_t>(found - columns.begin())) = true;
      continue;
    }
    if (table == nullptr) return sql_error("42703", absl::StrCat("column \"", name, "\" does not exist"));
    if (find_column(*table, name) < 0)
      return sql_error("42703", absl::StrCat("column \"", name, "\" of relation \"", table->name, "\" does not exist"));
    return sql_error("42P10", absl::StrCat(option, " column \"", name, "\" not referenced by COPY"));
  }
  return Status();
}

StatusOr<ast::StatementPtr> parse_one(const std::string& sql) {
  SCYPER_ASSIGN_OR_RETURN(auto statements, parse_sql(sql, TextOf::kSystem));
  return std::move(statements[0]);
}

std::string list_of(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& name : names) absl::StrAppend(&out, out.empty() ? "" : ", ", quote_identifier(name));
  return out;
}

bool has_subquery(const ast::Expr& expr) {
  const std::string sql = to_sql(expr);
  auto tokens = scan(sql);
  return tokens.ok() && std::any_of(tokens->begin(), tokens->end(), [](const Token& token) {
           return token.kind == TokenKind::kWord && (token.text == "SELECT" || token.text == "select");
         });
}

bool begins_with_copy(std::string_view sql) {
  size_t at = sql.find_first_not_of(" \t\r\n\f");
  if (at == std::string_view::npos) return false;
  if (sql[at] == '-' || sql[at] == '/' || sql[at] == ';') return true;  // a comment: the parser knows
  constexpr std::string_view kWord = "copy";
  for (size_t i = 0; i < kWord.size(); i++)
    if (at + i >= sql.size() || std::tolower(static_cast<unsigned char>(sql[at + i])) != kWord[i]) return false;
  return true;
}

}  // namespace

Status check_copy_place(const ast::CopyStatement& copy, bool from) {
  if (!copy.file.empty()) {
    const std::string way = copy.from ? "from" : "to";
    Status status =
        copy.program
            ? sql_error("42501", absl::StrCat("must be superuser or a member of the pg_execute_server_program "
                                              "role to COPY to or from an external program"))
            : sql_error("42501", absl::StrCat("must be superuser or a member of the pg_", copy.from ? "read" : "write",
                                              "_server_files role to COPY ", way, " a file"));
    return with_hint(status, "Anyone can COPY to stdout or from stdin. psql's \\copy command also works for anyone.");
  }
  if (copy.from == from) return Status();
  return with_hint(
      sql_error("0A000", copy.from ? "COPY FROM STDIN is not supported here" : "COPY TO STDOUT is not supported here"),
      "Its text needs a stream of its own.");
}

// --- TO ---

StatusOr<ast::StatementPtr> query_of_copy(ast::CopyStatement* copy, const Catalog& catalog, std::string_view sql) {
  SCYPER_ASSIGN_OR_RETURN(CopyOptions options, read_copy_options(*copy, sql));
  if (copy->has_table) {
    SCYPER_ASSIGN_OR_RETURN(auto table, table_of(*copy, catalog));
    SCYPER_ASSIGN_OR_RETURN(auto columns, columns_of(*copy, table->schema(), catalog));
    std::vector<ResultColumn> shown;
    std::vector<std::string> names;
    for (uint32_t c : columns) {
      names.push_back(table->schema().columns[c].name);
      shown.push_back({names.back(), table->schema().columns[c].type});
    }
    std::vector<bool> flags;
    SCYPER_RETURN_IF_ERROR(set_flags(options.force_quote, "FORCE_QUOTE", shown, &table->schema(), &flags));
    return parse_one(absl::StrCat("SELECT ", list_of(names), " FROM ", quote_identifier(relation_of(*copy, catalog))));
  }
  const ast::Statement& query = *copy->query;
  if (const auto* select = ast::node_if<ast::SelectStatement>(&query); select != nullptr && select->into)
    return sql_error("0A000", "COPY (SELECT INTO) is not supported");
  const bool returns =
      query.kind == ast::StatementKind::kSelect ||
      (query.kind == ast::StatementKind::kInsert && !node_as<ast::InsertStatement>(query).returning.empty()) ||
      (query.kind == ast::StatementKind::kUpdate && !node_as<ast::UpdateStatement>(query).returning.empty()) ||
      (query.kind == ast::StatementKind::kDelete && !node_as<ast::DeleteStatement>(query).returning.empty());
  if (!returns) return sql_error("0A000", "COPY query must have a RETURNING clause");
  return std::move(copy->query);
}

StatusOr<CopyFormat> copy_format_of(std::string_view sql, const std::vector<ResultColumn>& columns) {
  SCYPER_ASSIGN_OR_RETURN(auto statements, parse_sql(sql));
  if (statements.size() != 1 || statements[0]->kind != ast::StatementKind::kCopy)
    return sql_error("XX000", "the statement is not a COPY");
  SCYPER_ASSIGN_OR_RETURN(CopyOptions options, read_copy_options(node_as<ast::CopyStatement>(*statements[0]), sql));
  SCYPER_RETURN_IF_ERROR(set_flags(options.force_quote, "FORCE_QUOTE", columns, nullptr, &options.format.force_quote));
  if (options.force_quote_all) options.format.force_quote.assign(columns.size(), true);
  return options.format;
}

void append_copy_begin(const CopyFormat& format, const std::vector<ResultColumn>& columns, std::string* out) {
  if (format.is_binary) return append_binary_begin(out);
  if (format.header != CopyHeader::kNone) append_copy_names(format, columns, out);
}

Status append_copy_row(const CopyFormat& format, const std::vector<ResultColumn>& columns, const Datum* row,
                       std::string* out) {
  if (format.is_binary) return append_binary_row(columns, row, out);
  append_copy_line(format, columns, row, out);
  return {};
}

void append_copy_end(const CopyFormat& format, std::string* out) {
  if (format.is_binary) append_binary_end(out);
}

StatusOr<std::unique_ptr<TextConverter>> copy_converter(const CopyFormat& format, TextConverter::Direction direction) {
  const bool is_plain = format.encoding == nullptr || format.encoding->number == kUtf8Encoding ||
                        format.encoding->number == kSqlAsciiEncoding;
  if (is_plain) return std::unique_ptr<TextConverter>();
  if (format.is_binary)
    return sql_error("0A000", "COPY in the binary format with texts that are not UTF-8 is not supported");
  return TextConverter::make(*format.encoding, direction);
}

std::optional<CopyCommand> copy_command_of(std::string_view sql) {
  if (!begins_with_copy(sql)) return std::nullopt;
  auto statements = parse_sql(sql);
  if (!statements.ok() || statements->size() != 1 || (*statements)[0]->kind != ast::StatementKind::kCopy)
    return std::nullopt;
  const auto& copy = node_as<ast::CopyStatement>(*(*statements)[0]);
  return CopyCommand{
      copy.from, copy.program, copy.file,
      std::ranges::any_of(copy.options, [](const ast::Option& option) { return option.name == "encoding"; })};
}

// --- FROM ---

StatusOr<CopyTarget> copy_target(const ast::CopyStatement& copy, const Catalog& catalog, std::string_view sql) {
  SCYPER_ASSIGN_OR_RETURN(CopyOptions options, read_copy_options(copy, sql));
  SCYPER_ASSIGN_OR_RETURN(auto table, table_of(copy, catalog));
  const storage::TableSchema& schema = table->schema();
  SCYPER_ASSIGN_OR_RETURN(auto columns, columns_of(copy, schema, catalog));
  CopyTarget target;
  target.sql = std::string(sql);
  target.key = schema.name;
  target.id = schema.id;
  target.table = std::string(bare_name(schema.name));
  for (uint32_t c : columns) target.columns.push_back({schema.columns[c].name, schema.columns[c].type});
  target.format = options.format;
  SCYPER_RETURN_IF_ERROR(
      set_flags(options.force_not_null, "FORCE_NOT_NULL", target.columns, &schema, &target.format.force_not_null));
  SCYPER_RETURN_IF_ERROR(
      set_flags(options.force_null, "FORCE_NULL", target.columns, &schema, &target.format.force_null));
  return target;
}

// WHERE sees all columns but the generated ones, those that the text does not have with their defaults.
StatusOr<ast::StatementPtr> insert_of_copy(ast::CopyStatement* copy, const Catalog& catalog, const CopyTarget& target) {
  if (copy->where != nullptr && has_subquery(*copy->where))
    return sql_error("0A000", "cannot use subquery in COPY FROM WHERE condition");
  SCYPER_ASSIGN_OR_RETURN(auto table, table_of(*copy, catalog));
  const storage::TableSchema& schema = table->schema();
  const TableRules* rules = rules_of(schema, catalog);
  std::vector<std::string> given;
  for (const ResultColumn& column : target.columns) given.push_back(column.name);
  std::vector<std::string> all = given;
  std::string values = list_of(given);
  const size_t visible = storage::visible_columns(schema);
  for (size_t c = 0; copy->where != nullptr && c < visible; c++) {
    const storage::ColumnDef& column = schema.columns[c];
    if (is_generated(rules, c) || std::find(given.begin(), given.end(), column.name) != given.end()) continue;
    const std::string text = rules == nullptr ? "" : rules->columns[c].default_text;
    absl::StrAppend(&values, ", CAST((", text.empty() ? "NULL" : text, ") AS ", to_sql(column.type), ") AS ",
                    quote_identifier(column.name));
    all.push_back(column.name);
  }
  const std::string name = quote_identifier(std::string(bare_name(schema.name)));
  SCYPER_ASSIGN_OR_RETURN(
      ast::StatementPtr statement,
      parse_one(absl::StrCat("INSERT INTO ", quote_identifier(relation_of(*copy, catalog)), " (", list_of(all),
                             ") OVERRIDING SYSTEM VALUE SELECT * FROM (SELECT ", values, " FROM feed AS ", name, " (",
                             list_of(given), ")) AS ", name)));
  auto& outer = *node_as<ast::InsertStatement>(*statement).source;
  auto& inner = *node_as<ast::FromSubquery>(*outer.from[0]).subquery;
  node_as<ast::FromTable>(*inner.from[0]).table.name = {std::string(kFeedSchema), schema.name};
  outer.where = std::move(copy->where);
  return statement;
}

Status copy_error(const Status& status) {
  constexpr std::string_view kWhere = " in WHERE";
  std::string message(status.message());
  if (!message.ends_with(kWhere)) return status;
  message.replace(message.size() - kWhere.size(), kWhere.size(), " in COPY FROM WHERE conditions");
  return sql_error(sqlstate_of(status), message, position_of(status));
}

}  // namespace scyper::query
