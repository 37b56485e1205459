#include "referenced_rows.h"

#include <algorithm>
#include <utility>

namespace scyper::primary {

using storage::Table;
using storage::TablePartition;

namespace {

bool is_same_set(std::vector<uint32_t> a, std::vector<uint32_t> b) {
  std::sort(a.begin(), a.end());
  std::sort(b.begin(), b.end());
  return a == b;
}

// The value as a value of the other type, for its key; false: no value of that type is equal.
bool convert(const SqlType& from, const SqlType& to, Datum* value) {
  if (to.id != TypeId::kNumeric) return is_integer(from.id) == is_integer(to.id);
  if (from.id != TypeId::kNumeric && !is_integer(from.id)) return false;
  if (to.precision == 0) return from.id == TypeId::kNumeric;
  __int128 number = from.id == TypeId::kNumeric ? value->int128() : value->lo;
  int32_t scale = from.id == TypeId::kNumeric ? value->scale : 0;
  for (; scale < to.scale; ++scale) {
    if (__builtin_mul_overflow(number, static_cast<__int128>(10), &number)) return false;
  }
  for (; scale > to.scale; --scale) {
    if (number % 10 != 0) return false;
    number /= 10;
  }
  *value = int128_datum(number, to.scale);
  return true;
}

}  // namespace

void ReferencedRows::use(const query::Database& database, uint64_t version) {
  if (catalog_ != nullptr && version == version_) [[likely]]
    return;
  references_.clear();
  catalog_ = database.catalog();
  version_ = catalog_->version;
}

const std::vector<ReferencedRows::Reference>& ReferencedRows::references_of(const storage::TableSchema& schema) {
  const auto known = references_.find(schema.id.value());
  if (known != references_.end()) return known->second;
  std::vector<Reference>& references = references_[schema.id.value()];
  const auto rules = catalog_->rules.find(schema.id);
  if (rules == catalog_->rules.end()) return references;
  for (const query::ForeignKey& key : rules->second.foreign_keys) {
    std::shared_ptr<Table> table = catalog_->find_table(key.table);
    if (table == nullptr || !key.checks) continue;
    const storage::TableSchema& parent = table->schema();
    for (uint32_t i = 0; i < parent.indexes.size(); ++i) {
      const storage::IndexDef& index = parent.indexes[i];
      if (!index.unique || index.partial || !is_same_set(index.columns, key.referenced)) continue;
      auto format = storage::KeyFormat::create(index, parent);
      if (!format.ok()) continue;
      Reference reference{table, i, *std::move(format), {}, std::nullopt};
      for (const uint32_t column : index.columns) {
        const auto at = std::find(key.referenced.begin(), key.referenced.end(), column) - key.referenced.begin();
        if (column == parent.partition_column) reference.partition_column = reference.columns.size();
        reference.columns.push_back(key.columns[static_cast<size_t>(at)]);
      }
      references.push_back(std::move(reference));
      break;
    }
  }
  return references;
}

StatusOr<bool> ReferencedRows::visit(const storage::ChangeLog& log, const storage::UndoEntry* before,
                                     uint32_t partition, const Wanted& wanted, const storage::ClaimVisitor& visit) {
  return storage::visit_written(log, before, [&](const storage::WrittenRow& row) -> StatusOr<bool> {
    for (const Reference& reference : references_of(row.partition->table->schema())) {
      if (wanted && !wanted(reference.table->schema().id)) continue;
      const auto is_written = [&](uint32_t column) {
        if (row.descriptor == nullptr) return true;
        const auto& cells = row.descriptor->cells;
        return std::any_of(cells.begin(), cells.end(), [column](const auto& cell) { return cell.column == column; });
      };
      if (std::none_of(reference.columns.begin(), reference.columns.end(), is_written)) continue;
      SCYPER_ASSIGN_OR_RETURN(const bool goes_on, visit_row(row, reference, partition, visit));
      if (!goes_on) return false;
    }
    return true;
  });
}

StatusOr<bool> ReferencedRows::visit_row(const storage::WrittenRow& row, const Reference& reference, uint32_t only,
                                         const storage::ClaimVisitor& visit) const {
  const storage::TableSchema& schema = row.partition->table->schema();
  const auto& wanted = reference.format.columns();
  std::vector<Datum> values;
  for (size_t i = 0; i < wanted.size(); ++i) {
    const uint32_t column = reference.columns[i];
    Datum value = storage::read_column(row.partition, row.tid, column);
    if (value.null != 0 || !convert(schema.columns[column].type, wanted[i].type, &value)) return true;
    values.push_back(value);
  }
  char key[storage::kMaxIndexKeyBytes];
  const size_t size = reference.format.encode(values, key);
  if (size == storage::kKeyTooLarge) return true;
  const Table& parent = *reference.table;
  const uint32_t partitions = parent.partition_count();
  uint32_t first = 0, end = partitions;
  if (partitions > 1 && reference.partition_column.has_value()) {
    first = storage::route(parent.schema(), values[*reference.partition_column], partitions);
    end = first + 1;
  }
  const bool is_shared = parent.schema().scheme == storage::PartitionScheme::kShared;
  for (uint32_t i = first; i < end; ++i) {
    if (!is_shared && only != kAnyPartition && i != only) continue;
    const TablePartition* partition = parent.partition(i);
    const storage::Tid tid = storage::find_unique(partition, reference.index, key, static_cast<uint32_t>(size));
    if (tid == storage::kNoTid) continue;
    char name[storage::kClaimBytesMax];
    SCYPER_ASSIGN_OR_RETURN(const std::string_view row_name, storage::name_row(partition, tid, name));
    return visit({partition, row_name, storage::RowLock::kKeyShare});
  }
  return true;
}

}  // namespace scyper::primary
