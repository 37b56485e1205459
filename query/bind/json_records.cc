#include "bind/json_records.h"

#include "absl/strings/str_cat.h"
#include "base/object_name.h"
#include "parse/printer.h"
#include "parse/type_resolver.h"
#include "query/error_status.h"
#include "storage/json_text_type.h"

namespace scyper::query {

namespace {
const ast::FunctionCall& call_of(const ast::FromFunction& item) {
  return ast::node_as<ast::FunctionCall>(*item.functions[0]);
}
std::string name_of(const ast::FromFunction& item) { return std::string(bare_name(call_of(item).name.back())); }
bool is_populate(const std::string& function) { return function.find("populate") != std::string::npos; }

// The functions are called jsonb_..., whichever type the document has.
std::string prefix_of(const ast::FromFunction& item) { return call_of(item).is_of_json ? "json" : "jsonb"; }
std::string shown_name(const ast::FromFunction& item) {
  return prefix_of(item) + name_of(item).substr(std::string_view("jsonb").size());
}

// What a column is made of the document. Names of the query's own begin with a space: no variable is called so.
std::string base_value_of(const JsonColumn& column, const std::string& prefix) {
  const std::string key = quote_literal(column.name);
  const std::string value = absl::StrCat("\" row\".o -> ", key), text = absl::StrCat("\" row\".o ->> ", key);
  if (column.type.id == TypeId::kJsonb || is_json_text(column.type))
    return absl::StrCat("CASE WHEN ", prefix, "_typeof(", value, ") <> 'null' THEN CAST(", value, " AS ",
                        type_name(column.type), ") END");
  if (is_string(column.type.id) && !is_checked_text(column.type)) return text;
  if (column.type.id != TypeId::kArray) return absl::StrCat("CAST(", text, " AS ", type_name(column.type), ")");
  return absl::StrCat("CASE WHEN ", text, " IS NOT NULL THEN ARRAY(SELECT CAST(\" item\".v AS ",
                      type_name(element_of(column.type)), ") FROM ", prefix, "_array_elements_text(\" json_array\"(",
                      value, ", ", key, ")) AS \" item\" (v)) END");
}
// base: the row that fields come from whose keys the document does not have; null: there is none.
std::string value_of(const JsonColumn& column, const std::string& prefix, const ast::Expr* base) {
  std::string value = base_value_of(column, prefix);
  if (base != nullptr)
    value = absl::StrCat("CASE WHEN (\" row\".o -> ", quote_literal(column.name), ") IS NULL THEN (", to_sql(*base),
                         ").", quote_identifier(column.name), " ELSE ", value, " END");
  if (column.domain == 0) return value;
  return absl::StrCat("CAST(", value, " AS ", quote_identifier(column.domain_name), ")");
}

void set_domain(const Domain* domain, JsonColumn* column) {
  if (domain == nullptr) return;
  column->domain = domain->id;
  column->domain_name = domain->name;
}
}  // namespace

bool gives_json_records(const ast::FromFunction& item) {
  if (item.functions.size() != 1 || item.rows_from) return false;
  const auto* call = ast::node_if<ast::FunctionCall>(item.functions[0].get());
  if (call == nullptr) return false;
  const std::string_view name = bare_name(call->name.back());
  if (name == "jsonb_to_record" || name == "jsonb_to_recordset") return call->args.size() == 1 && !item.columns.empty();
  return (name == "jsonb_populate_record" || name == "jsonb_populate_recordset") && call->args.size() == 2;
}

StatusOr<std::vector<JsonColumn>> json_columns(const ast::FromFunction& item, const Catalog& catalog,
                                               std::string_view source) {
  std::vector<JsonColumn> columns;
  const std::string function = name_of(item);
  if (item.ordinality) return sql_error("0A000", absl::StrCat("WITH ORDINALITY of ", function, " is not supported"));
  if (!is_populate(function)) {
    for (const auto& column : item.columns) {
      SCYPER_ASSIGN_OR_RETURN(SqlType type, resolve_type(column.type, source, catalog.user_types()));
      columns.push_back({column.name, type});
      set_domain(named_domain(column.type, catalog.user_types()), &columns.back());
    }
    return columns;
  }
  const auto* row = ast::node_if<ast::Cast>(call_of(item).args[0].get());
  const auto table = row == nullptr ? nullptr : catalog.find_table(row->type.name.back());
  if (table == nullptr)
    return sql_error("0A000", absl::StrCat(shown_name(item), " of anything but row::type is not supported"));
  const storage::TableSchema& schema = table->schema();
  const auto rules = catalog.rules.find(schema.id);
  for (size_t c = 0; c < storage::visible_columns(schema); c++) {
    columns.push_back({schema.columns[c].name, schema.columns[c].type});
    if (rules != catalog.rules.end()) set_domain(catalog.find_domain(rules->second.columns[c].domain), &columns.back());
  }
  return columns;
}

std::string json_records_query(const ast::FromFunction& item, const std::vector<JsonColumn>& columns) {
  const std::string function = shown_name(item), prefix = prefix_of(item);
  const ast::Expr* base = nullptr;
  if (is_populate(function)) {
    const auto& row = ast::node_as<ast::Cast>(*call_of(item).args[0]);
    if (to_sql(*row.arg) != "NULL") base = &row;
  }
  std::string text = "SELECT ";
  for (const JsonColumn& column : columns)
    absl::StrAppend(&text, &column == &columns[0] ? "" : ", ", value_of(column, prefix, base), " AS ",
                    quote_identifier(column.name));
  const std::string document = absl::StrCat("CAST(", to_sql(*call_of(item).args.back()), " AS ", prefix, ")");
  const std::string name = quote_literal(function);
  if (function.ends_with("set"))
    return absl::StrCat(text, " FROM (SELECT \" json_object\"(\" item\".v, ", name, ") AS o FROM ", prefix,
                        "_array_elements(\" json_rows\"(", document, ", ", name, ")) AS \" item\" (v)) AS \" row\"");
  return absl::StrCat(text, " FROM (SELECT \" json_object\"(", document, ", '') AS o) AS \" row\"");
}

}  // namespace scyper::query
