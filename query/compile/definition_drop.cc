#include <algorithm>
#include <cstdlib>
#include <set>

#include "absl/strings/str_cat.h"
#include "compile/definition.h"
#include "parse/text.h"
#include "storage/memory_reserve.h"

// DROP, TRUNCATE
namespace scyper::query {

namespace {
constexpr std::string_view kCascade = "NOTICE:  drop cascades to ", kOthers = " other objects";

bool is_cascade(const std::string& notice) { return notice.starts_with(kCascade); }
}  // namespace

size_t count_cascaded(const std::vector<std::string>& notices) {
  size_t objects = 0;
  for (const std::string& notice : notices)
    if (is_cascade(notice))
      objects += notice.ends_with(kOthers) ? std::strtoul(notice.c_str() + kCascade.size(), nullptr, 10) : 1;
  return objects;
}

namespace {
// Several objects that go together are counted, not listed.
void merge_cascades(std::vector<std::string>* notices) {
  if (std::count_if(notices->begin(), notices->end(), is_cascade) < 2) return;
  const size_t objects = count_cascaded(*notices);
  std::erase_if(*notices, is_cascade);
  notices->push_back(absl::StrCat("NOTICE:  drop cascades to ", objects, " other objects"));
}

// By nothing but its name.
bool is_named_alone(ast::ObjectKind kind) {
  using Kind = ast::ObjectKind;
  return kind != Kind::kTrigger && kind != Kind::kProcedure && kind != Kind::kFunction && kind != Kind::kRoutine;
}

// The indexes that are there, each once. Tables lose plain ones in place, which nothing takes back; for others the
// table is made anew, which may fail: those come first.
std::vector<std::string> in_safe_order(const ast::DropStatement& drop, const Catalog& catalog) {
  std::vector<std::string> plain, others;
  for (const auto& object : drop.objects) {
    const std::string& name = object.name.back();
    const auto table = catalog.index_tables.find(name);
    if (table == catalog.index_tables.end()) continue;
    const storage::TableSchema& schema = catalog.find_table(table->second)->schema();
    const auto index =
        std::find_if(schema.indexes.begin(), schema.indexes.end(), [&](const auto& i) { return i.name == name; });
    const size_t visible = visible_columns(schema);
    const bool is_plain =
        std::none_of(index->columns.begin(), index->columns.end(), [&](uint32_t column) { return column >= visible; });
    std::vector<std::string>& list = is_plain ? plain : others;
    if (std::find(list.begin(), list.end(), name) == list.end()) list.push_back(name);
  }
  others.insert(others.end(), plain.begin(), plain.end());
  return others;
}
}  // namespace

Status Definer::drop(const ast::DropStatement& drop, ResultSet* result) {
  result->command_tag = absl::StrCat("DROP ", drop.object_name);
  if (drop.is_hot_data) return drop_hot_views(drop, result);
  if (drop.object == ast::ObjectKind::kIndex) {
    for (const auto& object : drop.objects) SCYPER_RETURN_IF_ERROR(drop_index(object.name.back(), drop, result));
    for (const std::string& name : in_safe_order(drop, next())) SCYPER_RETURN_IF_ERROR(remove_index(name));
  }
  for (const auto& object : drop.objects)  // all of them are there, before what depends on them counts
    if (drop.object == ast::ObjectKind::kTable && !drop.if_exists && !name_taken(object.name.back()))
      return error("42P01", absl::StrCat("table \"", object.name.back(), "\" does not exist"), -1);
  std::set<std::string> seen;
  for (const auto& object : drop.objects) {
    const std::string& name = object.name.back();
    if (is_named_alone(drop.object) && !seen.insert(name).second) continue;
    switch (drop.object) {
      case ast::ObjectKind::kIndex:
        break;
      case ast::ObjectKind::kTable:
        SCYPER_RETURN_IF_ERROR(drop_table(name, drop, result));
        break;
      case ast::ObjectKind::kSchema:
        SCYPER_RETURN_IF_ERROR(drop_schema(name, drop, result));
        break;
      case ast::ObjectKind::kView:
        SCYPER_RETURN_IF_ERROR(drop_view(name, drop, result));
        break;
      case ast::ObjectKind::kMaterializedView:
        SCYPER_RETURN_IF_ERROR(drop_materialized_view(name, drop, result));
        break;
      case ast::ObjectKind::kForeignTable:
        SCYPER_RETURN_IF_ERROR(drop_foreign_table(name, drop, result));
        break;
      case ast::ObjectKind::kForeignServer:
        SCYPER_RETURN_IF_ERROR(drop_foreign_server(name, drop, result));
        break;
      case ast::ObjectKind::kExtension:
        SCYPER_RETURN_IF_ERROR(drop_extension(name, drop, result));
        break;
      case ast::ObjectKind::kType:
      case ast::ObjectKind::kDomain:
        SCYPER_RETURN_IF_ERROR(drop_type(name, drop, result));
        break;
      case ast::ObjectKind::kSequence:
        SCYPER_RETURN_IF_ERROR(drop_sequence(name, drop, result));
        break;
      case ast::ObjectKind::kTrigger:
        SCYPER_RETURN_IF_ERROR(drop_trigger(drop, object, result));
        break;
      case ast::ObjectKind::kProcedure:
      case ast::ObjectKind::kFunction:
      case ast::ObjectKind::kRoutine:
        SCYPER_RETURN_IF_ERROR(drop_routine(drop, object, result));
        break;
      default:
        return error("0A000", absl::StrCat("DROP ", drop.object_name, " is not supported"), -1);
    }
  }
  merge_cascades(&result->notices);
  write_deletes();
  return absl::OkStatus();
}

// Whether it may go, and what goes with it. It goes itself when all of the statement's indexes may.
Status Definer::drop_index(const std::string& name, const ast::DropStatement& drop, ResultSet* result) {
  const auto it = next().index_tables.find(name);
  if (it == next().index_tables.end()) {
    if (!drop.if_exists) return error("42704", absl::StrCat("index \"", name, "\" does not exist"), -1);
    result->notices.push_back(absl::StrCat("NOTICE:  index \"", name, "\" does not exist, skipping"));
    return absl::OkStatus();
  }
  auto table = next().tables.find(it->second)->second;
  const auto& indexes = table->schema().indexes;
  auto index = std::find_if(indexes.begin(), indexes.end(), [&](const auto& i) { return i.name == name; });
  if (index->constraint || index->primary)
    return with_hint(error("2BP01",
                           absl::StrCat("cannot drop index ", name, " because constraint ", name, " on table ",
                                        it->second, " requires it"),
                           -1),
                     absl::StrCat("You can drop constraint ", name, " on table ", it->second, " instead."));
  return drop_references_to(it->second, *index, "index " + name, drop.cascade, result);
}

// Foreign keys that need the unique index go with it, or keep it.
Status Definer::drop_references_to(const std::string& table, const storage::IndexDef& index, std::string_view what,
                                   bool cascade, ResultSet* result) {
  const TableId id = next().find_table(table)->schema().id;
  std::vector<uint32_t> columns = index.columns;
  std::sort(columns.begin(), columns.end());
  for (const auto& [name, other] : next().tables) {
    auto& keys = next().rules[other->schema().id].foreign_keys;
    for (size_t i = 0; i < keys.size();) {
      std::vector<uint32_t> referenced = keys[i].referenced;
      std::sort(referenced.begin(), referenced.end());
      if (keys[i].table != id || referenced != columns) {
        i++;
        continue;
      }
      if (!cascade)
        return with_hint(
            with_detail(
                error("2BP01", absl::StrCat("cannot drop ", std::string(what), " because other objects depend on it"),
                      -1),
                absl::StrCat("constraint ", keys[i].name, " on table ", name, " depends on index ", index.name)),
            "Use DROP ... CASCADE to drop the dependent objects too.");
      result->notices.push_back(
          absl::StrCat("NOTICE:  drop cascades to constraint ", keys[i].name, " on table ", name));
      keys.erase(keys.begin() + static_cast<ptrdiff_t>(i));
    }
  }
  return absl::OkStatus();
}

// A truncated table is a new empty one under the same definition. A full database must be able to make it.
Status Definer::truncate(const ast::TruncateStatement& truncate, ResultSet* result) {
  std::vector<std::string> names;
  for (const auto& ref : truncate.tables) {
    if (old_->has_foreign_table(ref.name.back()))
      return error("0A000", absl::StrCat("cannot truncate foreign table \"", ref.name.back(), "\""), -1);
    SCYPER_RETURN_IF_ERROR(check_not_only(ref));
    if (const DeclaredPartition* partition = old_->find_partition(ref.name.back()); partition != nullptr) {
      SCYPER_RETURN_IF_ERROR(delete_rows_of(*partition));
      continue;
    }
    SCYPER_RETURN_IF_ERROR(find_table(ref.name).status());
    if (old_->find_materialized_view(ref.name.back()) != nullptr)
      return error("42809", absl::StrCat("\"", ref.name.back(), "\" is not a table"), -1);
    if (std::find(names.begin(), names.end(), ref.name.back()) == names.end()) names.push_back(ref.name.back());
  }
  for (size_t i = 0; i < names.size(); i++) {
    const TableId id = old_->find_table(names[i])->schema().id;
    for (const auto& [other, table] : old_->tables) {
      auto rules = old_->rules.find(table->schema().id);
      if (rules == old_->rules.end() || std::find(names.begin(), names.end(), other) != names.end()) continue;
      const auto& keys = rules->second.foreign_keys;
      if (std::none_of(keys.begin(), keys.end(), [&](const ForeignKey& key) { return key.table == id; })) continue;
      if (!truncate.cascade)
        return with_hint(
            with_detail(error("0A000", "cannot truncate a table referenced in a foreign key constraint", -1),
                        absl::StrCat("Table \"", other, "\" references \"", names[i], "\".")),
            absl::StrCat("Truncate table \"", other, "\" at the same time, or use TRUNCATE ... CASCADE."));
      result->notices.push_back(absl::StrCat("NOTICE:  truncate cascades to table \"", other, "\""));
      names.push_back(other);
    }
  }
  const storage::ReserveScope reserve;
  for (const std::string& name : names) {
    storage::TableSchema schema = old_->find_table(name)->schema();
    const TableId id = schema.id;
    SCYPER_ASSIGN_OR_RETURN(auto empty, storage::Table::create(std::move(schema), options_.partitions, arena_));
    next().tables[name] = std::move(empty);
    if (truncate.restart_identity) restart_sequences_of(id);
  }
  write_deletes();
  return absl::OkStatus();
}

}  // namespace scyper::query
