#include <algorithm>
#include <charconv>

#include "absl/strings/str_cat.h"
#include "base/object_name.h"
#include "bind/binder.h"
#include "compile/definition.h"
#include "parse/name_path.h"
#include "parse/text.h"
#include "query/rows_elsewhere.h"

// CREATE, ALTER, DROP SEQUENCE; the sequences of serial and identity columns.
namespace scyper::query {

namespace {

const ast::Option* option_of(const std::vector<ast::Option>& options, std::string_view name) {
  for (const auto& option : options)
    if (option.name == name) return &option;
  return nullptr;
}

bool read_integer(const std::string& text, int64_t* value) {
  const char* begin = text.data() + (!text.empty() && text[0] == '+' ? 1 : 0);
  auto read = std::from_chars(begin, text.data() + text.size(), *value);
  return read.ec == std::errc() && read.ptr == text.data() + text.size();
}

int64_t type_minimum(TypeId type) {
  return type == TypeId::kInt2 ? INT16_MIN : type == TypeId::kInt4 ? INT32_MIN : INT64_MIN;
}
int64_t type_maximum(TypeId type) {
  return type == TypeId::kInt2 ? INT16_MAX : type == TypeId::kInt4 ? INT32_MAX : INT64_MAX;
}

}  // namespace

Status Definer::define_sequence_bounds(const std::vector<ast::Option>& options, bool is_new,
                                       storage::SequenceDefinition* sequence) {
  const bool ascends = sequence->increment > 0;
  const std::pair<const char*, int64_t*> bounds[] = {{"maxvalue", &sequence->maximum},
                                                     {"minvalue", &sequence->minimum}};
  for (const auto& [name, value] : bounds) {
    const ast::Option* option = option_of(options, name);
    const bool is_maximum = value == &sequence->maximum;
    if (option != nullptr && option->has_value) {
      if (!read_integer(option->value, value))
        return error("22003", absl::StrCat("value \"", option->value, "\" is out of range for type bigint"), -1);
    } else if (option != nullptr || is_new) {
      *value =
          is_maximum ? (ascends ? type_maximum(sequence->type) : -1) : (ascends ? 1 : type_minimum(sequence->type));
    }
    if (*value < type_minimum(sequence->type) || *value > type_maximum(sequence->type))
      return error("22023",
                   absl::StrCat(is_maximum ? "MAXVALUE (" : "MINVALUE (", *value,
                                ") is out of range for sequence data type ", type_name(make_type(sequence->type))),
                   -1);
  }
  if (sequence->minimum >= sequence->maximum)
    return error(
        "22023",
        absl::StrCat("MINVALUE (", sequence->minimum, ") must be less than MAXVALUE (", sequence->maximum, ")"), -1);
  return absl::OkStatus();
}

Status Definer::define_owner(const ast::Option& option, storage::SequenceDefinition* sequence) {
  const auto& name = option.list;
  if (name.size() == 1 && name[0] == "none") {
    sequence->owner = TableId();
    return absl::OkStatus();
  }
  if (name.size() < 2)
    return with_hint(error("42601", "invalid OWNED BY option", -1), "Specify OWNED BY table.column or OWNED BY NONE.");
  const std::string table_name =
      name.size() > 2 ? object_key(name[name.size() - 3], name[name.size() - 2]) : name[name.size() - 2];
  auto table = next().find_table(table_name);
  if (table == nullptr) return error("42P01", absl::StrCat("relation \"", table_name, "\" does not exist"), -1);
  int c = find_column(table->schema(), name.back());
  if (c < 0)
    return error("42703", absl::StrCat("column \"", name.back(), "\" of relation \"", table_name, "\" does not exist"),
                 -1);
  if (sequence_access_of(next(), sequence->id).owner != next().rules[table->schema().id].access.owner)
    return error("55000", "sequence must have same owner as table it is linked to", -1);
  sequence->owner = table->schema().id;
  sequence->owner_column = static_cast<uint32_t>(c);
  return absl::OkStatus();
}

// Of a new sequence, or changes of one. `state` is where it starts or goes on.
Status Definer::define_sequence_options(const std::vector<ast::Option>& options, bool is_new,
                                        storage::SequenceDefinition* sequence, storage::SequenceState* state) {
  for (const auto& option : options) {
    auto same = [&](const auto& other) { return &other != &option && other.name == option.name; };
    if (std::any_of(options.begin(), options.end(), same))
      return error("42601", "conflicting or redundant options", option.location);
  }
  if (const ast::Option* as = option_of(options, "as")) {
    sequence->type = as->value == "int2"   ? TypeId::kInt2
                     : as->value == "int4" ? TypeId::kInt4
                     : as->value == "int8" ? TypeId::kInt8
                                           : TypeId::kUnknown;
    if (sequence->type == TypeId::kUnknown)
      return error("22023", "sequence type must be smallint, integer, or bigint", -1);
  }
  if (const ast::Option* option = option_of(options, "increment")) {
    if (!read_integer(option->value, &sequence->increment) || sequence->increment == 0)
      return error("22023", "INCREMENT must not be zero", -1);
  }
  if (const ast::Option* option = option_of(options, "cycle")) sequence->cycles = option->value != "false";
  SCYPER_RETURN_IF_ERROR(define_sequence_bounds(options, is_new, sequence));
  if (is_new) sequence->start = sequence->increment > 0 ? sequence->minimum : sequence->maximum;
  if (const ast::Option* option = option_of(options, "start")) read_integer(option->value, &sequence->start);
  if (sequence->start < sequence->minimum)
    return error(
        "22023",
        absl::StrCat("START value (", sequence->start, ") cannot be less than MINVALUE (", sequence->minimum, ")"), -1);
  if (sequence->start > sequence->maximum)
    return error(
        "22023",
        absl::StrCat("START value (", sequence->start, ") cannot be greater than MAXVALUE (", sequence->maximum, ")"),
        -1);
  if (is_new) *state = {0, sequence->start, false};
  if (const ast::Option* option = option_of(options, "restart")) {
    state->value = sequence->start;
    state->is_called = false;
    if (option->has_value) read_integer(option->value, &state->value);
  }
  // a node that lacks partitions lacks what their transactions have drawn
  const bool knows_state = is_new || RowsElsewhereScope::now() != RowsElsewhere::kLacking;
  const bool below = state->value < sequence->minimum;
  if (knows_state && (below || state->value > sequence->maximum))
    return error("22023",
                 absl::StrCat("RESTART value (", state->value,
                              below ? ") cannot be less than MINVALUE (" : ") cannot be greater than MAXVALUE (",
                              below ? sequence->minimum : sequence->maximum, ")"),
                 -1);
  if (const ast::Option* option = option_of(options, "owned_by")) return define_owner(*option, sequence);
  return absl::OkStatus();
}

Status Definer::create_sequence(const ast::CreateSequenceStatement& create, ResultSet* result) {
  if (create.alter) return alter_sequence(create, result);
  result->command_tag = "CREATE SEQUENCE";
  SCYPER_RETURN_IF_ERROR(check_schema(create.sequence.name));
  if (create.persistence == ast::Persistence::kTemporary && !is_temporary_key(create.sequence.name.back()))
    return error("42P16", "cannot create temporary relation in non-temporary schema", create.sequence.location);
  storage::SequenceDefinition sequence;
  sequence.name = create.sequence.name.back();
  if (name_taken(sequence.name)) {
    if (!create.if_not_exists)
      return error("42P07", absl::StrCat("relation \"", sequence.name, "\" already exists"), -1);
    result->notices.push_back(absl::StrCat("NOTICE:  relation \"", sequence.name, "\" already exists, skipping"));
    return absl::OkStatus();
  }
  storage::SequenceState state;
  sequence.id = SequenceId(draw_number(&next().next_sequence_id));
  next().sequence_access[sequence.id].owner = actor().id;
  SCYPER_RETURN_IF_ERROR(define_sequence_options(create.options, true, &sequence, &state));
  const std::string name = sequence.name;
  next().sequences[name] = std::make_shared<storage::Sequence>(std::move(sequence));
  return absl::OkStatus();
}

Status Definer::alter_sequence(const ast::CreateSequenceStatement& alter, ResultSet* result) {
  result->command_tag = "ALTER SEQUENCE";
  const std::string& name = alter.sequence.name.back();
  auto found = old_->sequences.find(name);
  if (found == old_->sequences.end()) {
    if (old_->find_table(name) != nullptr) return error("42809", absl::StrCat("\"", name, "\" is not a sequence"), -1);
    if (!alter.if_exists) return error("42P01", absl::StrCat("relation \"", name, "\" does not exist"), -1);
    result->notices.push_back(absl::StrCat("NOTICE:  relation \"", name, "\" does not exist, skipping"));
    return absl::OkStatus();
  }
  storage::SequenceDefinition sequence = found->second->definition();
  storage::SequenceState state = found->second->state();
  SCYPER_RETURN_IF_ERROR(define_sequence_options(alter.options, false, &sequence, &state));
  state.changes++;
  auto changed = std::make_shared<storage::Sequence>(std::move(sequence));
  changed->restore(state);
  next().sequences[name] = std::move(changed);
  return absl::OkStatus();
}

// The sequence of a serial or identity column, and its default.
Status Definer::define_serial(const storage::TableSchema& schema, uint32_t column,
                              const std::vector<ast::Option>& options, Identity identity, TableRules* rules) {
  storage::SequenceDefinition sequence;
  sequence.type = schema.columns[column].type.id;
  std::vector<ast::Option> kept;
  for (const auto& option : options) {
    if (option.name == "sequence_name" && !option.list.empty())
      sequence.name = sibling_key(schema.name, option.list.back());
    if (option.name != "sequence_name") kept.push_back(option);
  }
  storage::SequenceState state;
  SCYPER_RETURN_IF_ERROR(define_sequence_options(kept, true, &sequence, &state));
  if (sequence.name.empty())
    sequence.name = free_index_name(absl::StrCat(schema.name, "_", schema.columns[column].name, "_seq"));
  else if (name_taken(sequence.name))
    return error("42P07", absl::StrCat("relation \"", sequence.name, "\" already exists"), -1);
  sequence.id = SequenceId(draw_number(&next().next_sequence_id));
  next().sequence_access[sequence.id].owner = rules->access.owner;
  sequence.owner = schema.id;
  sequence.owner_column = column;
  sequence.is_identity = identity != Identity::kNone;
  rules->columns[column].default_text = sequence_draw(sequence.id);
  rules->columns[column].identity = identity;
  const std::string name = sequence.name;
  next().sequences[name] = std::make_shared<storage::Sequence>(std::move(sequence));
  return absl::OkStatus();
}

Status Definer::drop_sequence(const std::string& name, const ast::DropStatement& drop, ResultSet* result) {
  auto found = next().sequences.find(name);
  if (found == next().sequences.end()) {
    if (next().find_table(name) != nullptr)
      return with_hint(error("42809", absl::StrCat("\"", name, "\" is not a sequence"), -1),
                       "Use DROP TABLE to remove a table.");
    if (!drop.if_exists) return error("42P01", absl::StrCat("sequence \"", name, "\" does not exist"), -1);
    result->notices.push_back(absl::StrCat("NOTICE:  sequence \"", name, "\" does not exist, skipping"));
    return absl::OkStatus();
  }
  const std::string use = sequence_draw(found->second->definition().id);
  for (const auto& [table_name, table] : next().tables) {
    const storage::TableSchema& schema = table->schema();
    auto& columns = next().rules[schema.id].columns;
    for (size_t c = 0; c < columns.size(); c++) {
      if (columns[c].default_text.find(use) == std::string::npos) continue;
      const std::string what = absl::StrCat("column ", schema.columns[c].name, " of table ", table_name);
      if (columns[c].identity != Identity::kNone)
        return with_hint(
            error("2BP01", absl::StrCat("cannot drop sequence ", name, " because ", what, " requires it"), -1),
            absl::StrCat("You can drop ", what, " instead."));
      const std::string depends = absl::StrCat("default value for ", what);
      if (!drop.cascade)
        return with_hint(
            with_detail(
                error("2BP01", absl::StrCat("cannot drop sequence ", name, " because other objects depend on it"), -1),
                absl::StrCat(depends, " depends on sequence ", name)),
            "Use DROP ... CASCADE to drop the dependent objects too.");
      result->notices.push_back(absl::StrCat("NOTICE:  drop cascades to ", depends));
      columns[c].default_text.clear();
    }
  }
  next().sequence_access.erase(found->second->definition().id);
  next().sequences.erase(found);
  return absl::OkStatus();
}

// Defaults that draw from sequences which go with a table or, unless it is -1, a column of it. dropped: tables that go
// too.
Status Definer::drop_uses_of_sequences(const std::string& name, int column, const std::vector<std::string>& dropped,
                                       bool cascade, ResultSet* result) {
  const TableId id = next().find_table(name)->schema().id;
  const std::string what =
      column < 0 ? absl::StrCat("table ", name)
                 : absl::StrCat("column ", next().find_table(name)->schema().columns[static_cast<size_t>(column)].name,
                                " of table ", name);
  for (const auto& [sequence_name, sequence] : next().sequences) {
    const storage::SequenceDefinition& definition = sequence->definition();
    if (definition.owner != id || (column >= 0 && definition.owner_column != static_cast<uint32_t>(column))) continue;
    const std::string use = sequence_draw(definition.id);
    for (const auto& [other, table] : next().tables) {
      const bool goes = std::find(dropped.begin(), dropped.end(), other) != dropped.end();
      if (goes || (column < 0 && other == name)) continue;
      const storage::TableSchema& schema = table->schema();
      auto& columns = next().rules[schema.id].columns;
      for (size_t c = 0; c < columns.size(); c++) {
        if (columns[c].default_text.find(use) == std::string::npos || (other == name && static_cast<int>(c) == column))
          continue;
        const std::string depends =
            absl::StrCat("default value for column ", schema.columns[c].name, " of table ", other);
        if (!cascade)
          return with_hint(
              with_detail(error("2BP01", absl::StrCat("cannot drop ", what, " because other objects depend on it"), -1),
                          absl::StrCat(depends, " depends on sequence ", sequence_name)),
              "Use DROP ... CASCADE to drop the dependent objects too.");
        result->notices.push_back(absl::StrCat("NOTICE:  drop cascades to ", depends));
        columns[c].default_text.clear();
      }
    }
  }
  return absl::OkStatus();
}

// column -1: of all columns.
void Definer::drop_sequences_of(TableId table, int column) {
  auto& sequences = next().sequences;
  for (auto it = sequences.begin(); it != sequences.end();) {
    const storage::SequenceDefinition& sequence = it->second->definition();
    bool owned = sequence.owner == table && table.value() != 0 &&
                 (column < 0 || sequence.owner_column == static_cast<uint32_t>(column));
    it = owned ? sequences.erase(it) : std::next(it);
  }
}

void Definer::restart_sequences_of(TableId table) {
  for (auto& [name, sequence] : next().sequences) {
    if (sequence->definition().owner != table) continue;
    auto restarted = std::make_shared<storage::Sequence>(sequence->definition());
    restarted->restore({sequence->state().changes + 1, sequence->definition().start, false});
    sequence = std::move(restarted);
  }
}

}  // namespace scyper::query
