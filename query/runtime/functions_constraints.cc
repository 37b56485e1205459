#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/object_name.h"
#include "compile/program_parts.h"
#include "query/deferred_checks.h"
#include "query/definitions.h"
#include "query/key_rules.h"
#include "runtime/function_body.h"

// SET CONSTRAINTS.
namespace scyper::query {

// Declared where the builtins are listed (bind/builtins_sequence.cc).
extern const ir::External k_fn_set_constraints;

namespace {

using ConstraintKeys = std::vector<std::pair<uint32_t, std::string>>;

struct FoundConstraints {
  bool any = false;
  bool has_firm = false;  // one that is not deferrable
  ConstraintKeys keys;
};

void look_in_table(const Catalog& catalog, const storage::TableSchema& schema, std::string_view name,
                   FoundConstraints* found) {
  for (const auto& index : schema.indexes) {
    if (!index.constraint || bare_name(index.name) != name) continue;
    found->any = true;
    if (key_rules(catalog, index.id).is_deferrable)
      found->keys.emplace_back(schema.id.value(), std::string(name));
    else
      found->has_firm = true;
  }
  const auto rules = catalog.rules.find(schema.id);
  if (rules == catalog.rules.end()) return;
  for (const auto& check : rules->second.checks)
    if (check.name == name) found->any = found->has_firm = true;
  for (const ForeignKey& key : rules->second.foreign_keys) {
    if (key.name != name) continue;
    found->any = true;
    if (!key.deferrable) found->has_firm = true;
    if (key.deferrable) found->keys.emplace_back(schema.id.value(), key.name);
  }
}

// All of that name in one schema.
FoundConstraints constraints_in(const Catalog& catalog, std::string_view schema, std::string_view name) {
  FoundConstraints found;
  for (const auto& [key, table] : catalog.tables)
    if (schema_of(key) == schema) look_in_table(catalog, table->schema(), name, &found);
  return found;
}

bool has_deferrable_trigger(const Catalog& catalog, std::string_view schema, std::string_view name) {
  return std::any_of(catalog.triggers.begin(), catalog.triggers.end(), [&](const auto& entry) {
    const bool is_meant = name.empty() || (entry.second->name == name && schema_of(entry.first.first) == schema);
    return is_meant && entry.second->is_constraint && entry.second->is_deferrable;
  });
}

Status add_constraints(const Catalog& catalog, const std::vector<std::string>& path, std::string_view given_schema,
                       std::string_view name, bool is_deferred, ConstraintKeys* keys) {
  const std::string shown(name);
  const bool is_known =
      given_schema.empty() || given_schema == kPublicSchema || catalog.namespaces.contains(given_schema);
  if (!is_known) return sql_error("3F000", absl::StrCat("schema \"", std::string(given_schema), "\" does not exist"));
  std::vector<std::string> schemas = path;
  if (!given_schema.empty()) schemas = {std::string(given_schema)};
  if (schemas.empty()) schemas = {std::string(kPublicSchema)};
  for (const std::string& schema : schemas) {
    const FoundConstraints found = constraints_in(catalog, schema, name);
    if (found.has_firm) return sql_error("42809", absl::StrCat("constraint \"", shown, "\" is not deferrable"));
    keys->insert(keys->end(), found.keys.begin(), found.keys.end());
    if (found.any) return Status();
    if (!has_deferrable_trigger(catalog, schema, name)) continue;
    if (!is_deferred) return Status();
    return sql_error("0A000", absl::StrCat("deferring constraint trigger \"", shown, "\" is not supported"));
  }
  return sql_error("42704", absl::StrCat("constraint \"", shown, "\" does not exist"));
}

extern "C" {

// (whether deferred, schema, name, schema, name, ...); no names: ALL
SCYPER_FUNCTION(set_constraints) {
  const Definitions* definitions = Definitions::current;
  const ProgramParts& parts = c->program->parts();
  const auto catalog = definitions != nullptr ? definitions->catalog() : parts.catalog;
  const bool is_deferred = args[0].lo != 0;
  ConstraintKeys keys;
  for (int64_t i = 1; i + 1 < count; i += 2) {
    const Status status =
        add_constraints(*catalog, parts.search_path, text_of(args[i]), text_of(args[i + 1]), is_deferred, &keys);
    if (!status.ok()) return c->fail(status);
  }
  const bool is_all = count == 1;
  if (is_all && is_deferred && has_deferrable_trigger(*catalog, "", ""))
    return c->fail("0A000", "deferring constraint triggers is not supported");
  if (c->deferred != nullptr)
    if (const int32_t outcome = c->deferred->set(c, keys, is_all, is_deferred); outcome != 0) return outcome;
  return give(out, std::string_view());
}

}  // extern "C"

}  // namespace

SCYPER_DEFINE_FUNCTION(set_constraints)

}  // namespace scyper::query
