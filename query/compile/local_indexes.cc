#include "query/local_indexes.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/object_name.h"
#include "parse/printer.h"
#include "parse/sql_parser.h"
#include "parse/text.h"
#include "query/database.h"

namespace scyper::query {

namespace {

// No statement can name them so: the primary's names never meet them.
constexpr std::string_view kNamePrefix = "\x02secondary_";

Status wrong_entry(std::string_view entry, std::string_view why) {
  return with_hint(
      sql_error("22023", absl::StrCat("secondary_indexes: \"", std::string(entry), "\": ", std::string(why))),
      "Write tables with their columns, separated by semicolons: orders (o_c_id, o_id); item (i_name)");
}

Status check_entry(std::string_view entry) {
  auto parsed = parse_sql(absl::StrCat("CREATE INDEX ON ", std::string(entry)));
  if (!parsed.ok()) return wrong_entry(entry, std::string(parsed.status().message()));
  const auto* create = parsed->size() != 1 ? nullptr : ast::node_if<ast::CreateIndexStatement>((*parsed)[0].get());
  if (create == nullptr) return wrong_entry(entry, "one index is wanted");
  const bool has_expression =
      std::any_of(create->elements.begin(), create->elements.end(), [](const auto& e) { return e.column.empty(); });
  if (has_expression || create->where != nullptr || !create->include.empty())
    return wrong_entry(entry, "only indexes of columns are possible, without expressions, INCLUDE and WHERE");
  return Status();
}

std::string_view without_blanks(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const size_t from = std::min(text.find_first_not_of(kBlanks), text.size());
  return text.substr(from, text.find_last_not_of(kBlanks) + 1 - from);
}

template <class Action>
void for_each_local(const Catalog& catalog, const Action& action) {
  for (const auto& [name, table] : catalog.tables)
    for (const auto& index : table->schema().indexes)
      if (is_local(index)) action(index);
}

}  // namespace

uint32_t shared_position(const storage::TableSchema& schema, uint32_t index) {
  return index - static_cast<uint32_t>(std::count_if(schema.indexes.begin(), schema.indexes.begin() + index, is_local));
}

uint32_t next_local_index(const Catalog& catalog) {
  uint32_t next = kFirstLocalIndex;
  for_each_local(catalog, [&](const storage::IndexDef& index) { next = std::max(next, index.id.value() + 1); });
  return next;
}

StatusOr<LocalIndexes> LocalIndexes::parse(std::string_view list) {
  LocalIndexes indexes;
  while (!list.empty()) {
    const size_t end = std::min(list.find(';'), list.size());
    const std::string_view entry = without_blanks(list.substr(0, end));
    list.remove_prefix(std::min(end + 1, list.size()));
    if (entry.empty()) continue;
    SCYPER_RETURN_IF_ERROR(check_entry(entry));
    Wanted wanted;
    wanted.text = entry;
    wanted.name = absl::StrCat(std::string(kNamePrefix), indexes.wanted_.size() + 1);
    indexes.wanted_.push_back(std::move(wanted));
  }
  return indexes;
}

Status LocalIndexes::define(Database* database, const std::string& sql) {
  is_defining_ = true;
  auto prepared = database->prepare(sql);
  ResultSet ignored;
  Status status = prepared.ok() ? database->define(**prepared, &ignored) : prepared.status();
  is_defining_ = false;
  return status;
}

std::vector<std::string> LocalIndexes::make(Database* database) {
  std::vector<std::string> lines;
  if (wanted_.empty() || made_for_ == database->catalog()->version) return lines;
  std::set<std::string> known;
  for_each_local(*database->catalog(),
                 [&](const storage::IndexDef& index) { known.insert(std::string(bare_name(index.name))); });
  for (Wanted& wanted : wanted_) {
    if (known.count(wanted.name) != 0) continue;
    const Status status =
        define(database, absl::StrCat("CREATE INDEX ", quote_identifier(wanted.name), " ON ", wanted.text));
    const std::string complaint(status.message());
    if (std::exchange(wanted.complaint, complaint) == complaint && !status.ok()) continue;
    lines.push_back(status.ok() ? absl::StrCat("index of this node: ", wanted.text)
                                : absl::StrCat("no index on ", wanted.text, " yet: ", complaint));
  }
  made_for_ = database->catalog()->version;
  return lines;
}

Status LocalIndexes::drop(Database* database) {
  std::vector<std::string> names;
  for_each_local(*database->catalog(), [&](const storage::IndexDef& index) { names.push_back(index.name); });
  for (const std::string& name : names)
    SCYPER_RETURN_IF_ERROR(define(database, absl::StrCat("DROP INDEX ", quote_identifier(name))));
  return Status();
}

}  // namespace scyper::query
