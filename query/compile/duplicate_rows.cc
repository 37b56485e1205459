#include "compile/duplicate_rows.h"

#include "absl/strings/str_cat.h"
#include "base/object_name.h"
#include "parse/printer.h"

namespace scyper::query {

std::string duplicates_query(const storage::TableSchema& schema, const storage::IndexDef& index,
                             const KeyRules& rules) {
  if (!rules.any()) return "";
  std::string columns, texts, present;
  for (const uint32_t column : index.columns) {
    const std::string name = quote_identifier(schema.columns[column].name);
    absl::StrAppend(&columns, columns.empty() ? "" : ", ", name);
    absl::StrAppend(&texts, texts.empty() ? "" : ", ", "coalesce(", name, "::text, 'null')");
    absl::StrAppend(&present, present.empty() ? " WHERE " : " AND ", name, " IS NOT NULL");
  }
  return absl::StrCat("SELECT ", texts, " FROM ", quote_identifier(schema.name), rules.are_nulls_equal ? "" : present,
                      " GROUP BY ", columns, " HAVING count(*) > 1 LIMIT 1");
}

Status check_duplicates(const storage::TableSchema& schema, const storage::IndexDef& index, const ResultSet& found) {
  if (found.row_count() == 0) return Status();
  std::string names, values;
  for (size_t i = 0; i < index.columns.size(); i++) {
    const Datum& value = found.value(0, i);
    absl::StrAppend(&names, i == 0 ? "" : ", ", schema.columns[index.columns[i]].name);
    absl::StrAppend(&values, i == 0 ? "" : ", ", std::string(value.data(), value.size()));
  }
  return with_detail(
      sql_error("23505", absl::StrCat("could not create unique index \"", std::string(bare_name(index.name)), "\"")),
      absl::StrCat("Key (", names, ")=(", values, ") is duplicated."));
}

}  // namespace scyper::query
