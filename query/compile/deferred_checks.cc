#include "query/deferred_checks.h"
#include "base/object_name.h"

#include <algorithm>
#include <charconv>

#include "absl/strings/str_cat.h"
#include "compile/compiler.h"
#include "compile/program_parts.h"
#include "parse/printer.h"
#include "query/definitions.h"
#include "query/key_rules.h"
#include "query/program.h"
#include "query/result.h"

namespace scyper::query {

namespace {

// A key of the catalog as it is now: DDL of the transaction may have changed it since its check was put off.
struct FoundKey {
  const storage::TableSchema* child = nullptr;
  const ForeignKey* key = nullptr;
};

FoundKey find_key(const Catalog& catalog, uint32_t table, std::string_view name) {
  const auto child = catalog.find_table(TableId(table));
  const auto rules = catalog.rules.find(TableId(table));
  if (child == nullptr || rules == catalog.rules.end()) return {};
  for (const ForeignKey& key : rules->second.foreign_keys)
    if (key.name == name) return {&child->schema(), &key};
  return {};
}

// Rows that refer to the key $1, ... which is not there.
std::string orphans_of(const Catalog& catalog, const FoundKey& found) {
  const auto parent = catalog.find_table(found.key->table);
  if (parent == nullptr) return "";
  std::string is_key, has_parent;
  for (size_t i = 0; i < found.key->columns.size(); i++) {
    const std::string mine = "c." + quote_identifier(found.child->columns[found.key->columns[i]].name);
    absl::StrAppend(&is_key, i == 0 ? "" : " AND ", mine, " = $", i + 1);
    absl::StrAppend(&has_parent, i == 0 ? "" : " AND ", "p.",
                    quote_identifier(parent->schema().columns[found.key->referenced[i]].name), " = ", mine);
  }
  return absl::StrCat("SELECT 1 FROM ", quote_identifier(found.child->name), " c WHERE ", is_key,
                      " AND NOT EXISTS (SELECT 1 FROM ", quote_identifier(parent->schema().name), " p WHERE ",
                      has_parent, ") LIMIT 1");
}

// Rows of the key $1, ... of a constraint that is one of the table's keys: more than one of them. Empty: it is none.
std::string duplicates_of(const Catalog& catalog, uint32_t table, std::string_view name) {
  const auto found = catalog.find_table(TableId(table));
  if (found == nullptr) return "";
  const storage::TableSchema& schema = found->schema();
  const auto index = std::find_if(schema.indexes.begin(), schema.indexes.end(),
                                  [&](const auto& i) { return i.constraint && bare_name(i.name) == name; });
  if (index == schema.indexes.end()) return "";
  const bool are_nulls_equal = key_rules(catalog, index->id).are_nulls_equal;
  std::string is_key;
  for (size_t i = 0; i < index->columns.size(); i++)
    absl::StrAppend(&is_key, i == 0 ? "" : " AND ", quote_identifier(schema.columns[index->columns[i]].name),
                    are_nulls_equal ? " IS NOT DISTINCT FROM $" : " = $", i + 1);
  return absl::StrCat("SELECT 1 FROM ", quote_identifier(schema.name), " WHERE ", is_key, " OFFSET 1 LIMIT 1");
}

bool has_pointer(const SqlType& type) {
  return is_string(type.id) || type.id == TypeId::kNumeric || kept_as(type.id) == TypeId::kBytea ||
         type.id == TypeId::kArray || kept_as(type.id) == TypeId::kJsonb;
}

std::shared_ptr<const Catalog> catalog_of(const ExecContext& context) {
  const Definitions* definitions = Definitions::current;
  return definitions != nullptr ? definitions->catalog() : context.program->parts().catalog;
}

}  // namespace

struct DeferredChecks::Savepoint {
  size_t events = 0, renames = 0;
  std::optional<bool> all_deferred;
  std::map<Key, bool> set_deferred;
};

std::string DeferredChecks::mark_of(const ForeignKey& key, TableId table) {
  if (!key.deferrable) return "";
  return absl::StrCat(key.deferred ? "D" : "I", table.value(), " ", key.name);
}

void DeferredChecks::begin(bool is_block) {
  is_block_ = is_block;
  has_locks_ = false;
  if (!events_.empty()) events_.clear();
  memory_.clear();
  all_deferred_.reset();
  if (!set_deferred_.empty()) set_deferred_.clear();
  renames_.clear();
}

void DeferredChecks::rename(TableId table, const std::string& from, const std::string& to) {
  const Key key(table.value(), from);
  renames_.push_back({key, to});
  if (auto set = set_deferred_.extract(key); !set.empty()) {
    set.key().second = to;
    set_deferred_.insert(std::move(set));
  }
}

// Its constraint as it is called now.
DeferredChecks::Key DeferredChecks::key_of(const Event& event) const {
  Key key = event.key;
  for (size_t i = event.renames; i < renames_.size(); i++)
    if (renames_[i].from == key) key.second = renames_[i].to;
  return key;
}

bool DeferredChecks::is_deferred(const Key& key, bool is_initially) const {
  const auto set = set_deferred_.find(key);
  return set != set_deferred_.end() ? set->second : all_deferred_.value_or(is_initially);
}

bool DeferredChecks::defer(ExecContext* context, std::string_view mark, const Datum* key, const SqlType* types,
                           int64_t count) {
  if (mode_ == Mode::kForgets) {
    context->error = ErrorState();
    return true;
  }
  Event event;
  const size_t blank = mark.find(' ');
  std::from_chars(mark.data() + 1, mark.data() + blank, event.key.first);
  event.key.second = mark.substr(blank + 1);
  if (!is_deferred(event.key, mark[0] == 'D')) return false;
  event.renames = renames_.size();
  event.types.assign(types, types + count);
  event.values.assign(key, key + count);
  for (size_t i = 0; i < event.values.size(); i++) {
    if (event.values[i].null || !has_pointer(event.types[i])) continue;
    std::string text;
    append_value(&text, event.types[i], event.values[i]);
    if (!parse_value(event.types[i], text, &memory_, &event.values[i]).ok()) return false;
  }
  event.error = std::exchange(context->error, ErrorState());
  events_.push_back(std::move(event));
  return true;
}

int32_t DeferredChecks::set(ExecContext* context, const std::vector<std::pair<uint32_t, std::string>>& keys,
                            bool is_all, bool is_deferred) {
  if (mode_ == Mode::kForgets) return 0;
  std::map<Key, bool> chosen;
  if (is_all) {
    all_deferred_ = is_deferred;
    set_deferred_.clear();
  }
  for (const Key& key : keys) set_deferred_[key] = chosen[key] = is_deferred;
  return is_deferred ? 0 : check_if(context, is_all ? nullptr : &chosen);
}

int32_t DeferredChecks::check(ExecContext* context) { return check_if(context, nullptr); }

// In the order in which they came.
int32_t DeferredChecks::check_if(ExecContext* context, const std::map<Key, bool>* chosen) {
  const auto catalog = catalog_of(*context);
  std::map<Key, std::string> texts;
  const auto is_chosen = [&](const Event& event) { return chosen == nullptr || chosen->contains(key_of(event)); };
  for (const Event& event : events_) {
    if (!is_chosen(event)) continue;
    const Key key = key_of(event);
    auto text = texts.find(key);
    if (text == texts.end()) {
      const FoundKey found = find_key(*catalog, key.first, key.second);
      text = texts
                 .emplace(key, found.key == nullptr ? duplicates_of(*catalog, key.first, key.second)
                                                    : orphans_of(*catalog, found))
                 .first;
    }
    if (text->second.empty()) continue;  // the constraint has been dropped
    if (const int32_t outcome = check_event(context, event, text->second); outcome != 0) return outcome;
  }
  std::erase_if(events_, is_chosen);
  return 0;
}

int32_t DeferredChecks::check_event(ExecContext* context, const Event& event, const std::string& sql) {
  const ProgramParts& parts = context->program->parts();
  if (parts.compiler == nullptr) return context->fail("XX000", "a deferred constraint cannot be checked here");
  auto program = parts.compiler->dynamic_program(sql, event.types, catalog_of(*context));
  if (!program.ok()) return context->fail(program.status(), /*catchable=*/false);
  context->pins.push_back(*program);
  ResultSet rows;
  rows.columns = (*program)->columns();
  ResultSet* result = std::exchange(context->result, &rows);
  RowSink* sink = std::exchange(context->sink, nullptr);
  const uint64_t affected = context->affected_rows;
  const int32_t outcome = (*program)->run_nested(context, event.values.data(), nullptr);
  context->result = result;
  context->sink = sink;
  context->affected_rows = affected;
  if (outcome != 0 || rows.row_count() == 0) return outcome;
  context->error = event.error;
  const std::string now = key_of(event).second, before = "constraint \"" + event.key.second + "\"";
  std::string& message = context->error.message;
  if (const size_t at = message.rfind(before); at != std::string::npos)
    message.replace(at, before.size(), "constraint \"" + now + "\"");
  return static_cast<int32_t>(Outcome::kError);
}

std::shared_ptr<const DeferredChecks::Savepoint> DeferredChecks::mark() const {
  return std::make_shared<Savepoint>(Savepoint{events_.size(), renames_.size(), all_deferred_, set_deferred_});
}

void DeferredChecks::roll_back_to(const Savepoint& savepoint) {
  if (savepoint.events < events_.size()) events_.resize(savepoint.events);
  if (savepoint.renames < renames_.size()) renames_.resize(savepoint.renames);
  all_deferred_ = savepoint.all_deferred;
  set_deferred_ = savepoint.set_deferred;
}

}  // namespace scyper::query
