#include "block_history.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "query/program_tables.h"
#include "storage/row_change.h"

namespace scyper::primary {

using storage::RowChange;
using storage::RowChangeKind;
using storage::RowChangeReader;

Placement together(const Placement& a, const Placement& b) {
  if (a.kind == Placement::Kind::kAnywhere) return b;
  if (b.kind == Placement::Kind::kAnywhere || a == b) return a;
  return {Placement::Kind::kCrossing, 0};
}

void BlockStep::note_tables(const query::Program& program, uint32_t only) {
  std::vector<const storage::Table*> tables;
  is_dynamic = !query::add_tables(program, &tables);
  slots.assign(1, TableVersions::kAll);
  for (const storage::Table* table : tables) {
    const bool takes_all = table->partition_count() == 1 || only == ReferencedRows::kAnyPartition;
    for (uint32_t i = 0; i < table->partition_count(); ++i) {
      if (takes_all || i == only) slots.push_back(TableVersions::slot_of(table->partition(i)));
    }
  }
}

void BlockHistory::add(std::unique_ptr<BlockStep> step) {
  reads = together(reads, step->place);
  bytes += step->bytes();
  steps.push_back(std::move(step));
}

namespace {
std::unique_ptr<BlockStep> savepoint_step(BlockStep::Kind kind, size_t savepoint) {
  auto step = std::make_unique<BlockStep>();
  step->kind = kind;
  step->savepoint = savepoint;
  return step;
}
}  // namespace

void BlockHistory::set_savepoint() {
  savepoints.push_back(steps.size());
  add(savepoint_step(BlockStep::Kind::kSavepoint, savepoints.size() - 1));
}

void BlockHistory::roll_back_to(size_t savepoint) {
  savepoints.resize(savepoint + 1);
  for (size_t i = savepoints.back(); i < steps.size(); ++i) steps[i]->is_undone = true;
  steps[savepoints.back()]->is_undone = false;
  add(savepoint_step(BlockStep::Kind::kRollBack, savepoint));
}

void BlockHistory::release(size_t savepoint) {
  savepoints.resize(savepoint);
  add(savepoint_step(BlockStep::Kind::kRelease, savepoint));
}

namespace {

const storage::TableSchema* schema_in(const query::Catalog& catalog, TableId id) {
  const auto table = catalog.find_table(id);
  return table == nullptr ? nullptr : &table->schema();
}

// nullopt: rows are named by their primary key.
std::optional<uint64_t> row_id_of(const storage::TableSchema& schema, const RowChange& change) {
  if (!schema.has_row_id) return std::nullopt;
  const Datum& id = change.kind == RowChangeKind::kInsert ? change.values.back() : change.key[0];
  return static_cast<uint64_t>(id.lo);
}

// Without the row's id.
std::string text_of(const storage::TableSchema& schema, const RowChange& change) {
  std::string text = std::to_string(static_cast<int>(change.kind));
  text += " " + std::to_string(change.table.value()) + " " + std::to_string(change.partition) + " ";
  const bool has_key = change.kind != RowChangeKind::kInsert && !schema.has_row_id;
  const auto index =
      std::find_if(schema.indexes.begin(), schema.indexes.end(), [](const auto& i) { return i.primary; });
  for (size_t i = 0; has_key && i < change.key.size(); ++i)
    append_value_bytes(&text, schema.columns[index->columns[i]].type, change.key[i]);
  for (size_t i = 0; i < change.columns.size(); ++i) {
    const bool is_row_id = schema.has_row_id && change.columns[i] + 1 == schema.columns.size();
    if (is_row_id) continue;
    text += std::to_string(change.columns[i]) + "=";
    append_value_bytes(&text, schema.columns[change.columns[i]].type, change.values[i]);
  }
  return text;
}

}  // namespace

StatusOr<bool> RowIds::compare(std::string_view before, std::string_view now, Ids* ids) const {
  const auto lookup = [this](TableId id) { return schema_in(*catalog_, id); };
  RowChangeReader first(before, lookup), second(now, lookup);
  RowChange was, is;
  while (true) {
    SCYPER_ASSIGN_OR_RETURN(const bool has_first, first.next(&was));
    SCYPER_ASSIGN_OR_RETURN(const bool has_second, second.next(&is));
    if (has_first != has_second) return false;
    if (!has_first) return true;
    if (was.kind != is.kind || was.table != is.table || was.kind == RowChangeKind::kSequence) return false;
    const storage::TableSchema& schema = *lookup(was.table);
    if (text_of(schema, was) != text_of(schema, is)) return false;
    const auto id = row_id_of(schema, was), new_id = row_id_of(schema, is);
    if (!id.has_value()) continue;
    const storage::RowIdentity identity{was.table, was.partition, *id};
    if (was.kind == RowChangeKind::kInsert) {
      (*ids)[identity] = *new_id;
      continue;
    }
    const auto known = ids->find(identity);
    if (*new_id != (known == ids->end() ? *id : known->second)) return false;
  }
}

Status RowIds::learn(std::string_view before, std::string_view now) {
  if (before == now) return {};
  return compare(before, now, &now_).status();
}

StatusOr<bool> RowIds::is_same(std::string_view before, std::string_view now) const {
  if (before == now && now_.empty()) return true;
  Ids ids = now_;
  return compare(before, now, &ids);
}

}  // namespace scyper::primary
