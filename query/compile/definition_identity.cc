#include <algorithm>

#include "absl/strings/str_cat.h"
#include "compile/definition.h"

// ALTER TABLE ... ALTER COLUMN ... ADD, SET and DROP of identities.
namespace scyper::query {

namespace {

Status not_identity(const std::string& column, const std::string& table) {
  return sql_error("55000",
                   absl::StrCat("column \"", column, "\" of relation \"", table, "\" is not an identity column"));
}

}  // namespace

// Of an identity column; it owns one.
StatusOr<std::string> Definer::identity_sequence(TableId table, uint32_t column) {
  for (const auto& [name, sequence] : next().sequences) {
    const storage::SequenceDefinition& definition = sequence->definition();
    if (definition.is_identity && definition.owner == table && definition.owner_column == column) return name;
  }
  return error("XX000", "no owned sequence found", -1);
}

Status Definer::add_identity(const ast::AlterTableCommand& command, const std::string& name) {
  SCYPER_ASSIGN_OR_RETURN(const uint32_t column, column_to_alter(command.name, name));
  const storage::TableSchema& schema = next().find_table(name)->schema();
  TableRules& rules = next().rules[schema.id];
  const TableRules::Column& rule = rules.columns[column];
  const std::string what = absl::StrCat("column \"", command.name, "\" of relation \"", name, "\"");
  if (!is_integer(schema.columns[column].type.id))
    return error("22023", "identity column type must be smallint, integer, or bigint", -1);
  if (!schema.columns[column].not_null)
    return error("55000", absl::StrCat(what, " must be declared NOT NULL before identity can be added"), -1);
  if (rule.identity != Identity::kNone) return error("55000", absl::StrCat(what, " is already an identity column"), -1);
  if (!rule.default_text.empty() || !rule.generated_text.empty())
    return error("55000", absl::StrCat(what, " already has a default value"), -1);
  return define_serial(schema, column, command.constraint->options,
                       command.constraint->identity_always ? Identity::kAlways : Identity::kByDefault, &rules);
}

// SET GENERATED, and options of the sequence.
Status Definer::set_identity(const ast::AlterTableCommand& command, const std::string& name) {
  SCYPER_ASSIGN_OR_RETURN(const uint32_t column, column_to_alter(command.name, name));
  const TableId id = next().find_table(name)->schema().id;
  TableRules::Column& rule = next().rules[id].columns[column];
  if (rule.identity == Identity::kNone) return not_identity(command.name, name);
  std::vector<ast::Option> options;
  bool is_set = false;
  for (const ast::Option& option : command.options) {
    if (option.name != "generated") {
      options.push_back(option);
      continue;
    }
    if (std::exchange(is_set, true)) return error("42601", "conflicting or redundant options", option.location);
    rule.identity = option.value == "a" || option.value == "97" ? Identity::kAlways : Identity::kByDefault;
  }
  if (options.empty()) return absl::OkStatus();
  SCYPER_ASSIGN_OR_RETURN(const std::string sequence_name, identity_sequence(id, column));
  storage::SequenceDefinition sequence = next().sequences[sequence_name]->definition();
  storage::SequenceState state = next().sequences[sequence_name]->state();
  SCYPER_RETURN_IF_ERROR(define_sequence_options(options, false, &sequence, &state));
  state.changes++;
  auto changed = std::make_shared<storage::Sequence>(std::move(sequence));
  changed->restore(state);
  next().sequences[sequence_name] = std::move(changed);
  return absl::OkStatus();
}

Status Definer::drop_identity(const ast::AlterTableCommand& command, const std::string& name, ResultSet* result) {
  SCYPER_ASSIGN_OR_RETURN(const uint32_t column, column_to_alter(command.name, name));
  const TableId id = next().find_table(name)->schema().id;
  TableRules::Column& rule = next().rules[id].columns[column];
  if (rule.identity == Identity::kNone) {
    if (!command.if_exists) return not_identity(command.name, name);
    result->notices.push_back(absl::StrCat("NOTICE:  column \"", command.name, "\" of relation \"", name,
                                           "\" is not an identity column, skipping"));
    return absl::OkStatus();
  }
  rule.identity = Identity::kNone;
  rule.default_text.clear();
  SCYPER_ASSIGN_OR_RETURN(const std::string sequence, identity_sequence(id, column));
  next().sequence_access.erase(next().sequences[sequence]->definition().id);
  next().sequences.erase(sequence);
  return absl::OkStatus();
}

}  // namespace scyper::query
