#include "storage/table.h"

#include <utility>

#include "base/check.h"
#include "positions.h"
#include "row_plan.h"
#include "storage/change_log.h"
#include "storage/string_heap.h"

namespace scyper::storage {
namespace {

std::string quoted(const std::string& name) { return '"' + name + '"'; }

}  // namespace

Table::Table(TableSchema schema, Arena* arena) : arena_(arena), plan_(std::make_unique<RowPlan>()) {
  layout_ = make_layout(schema);
  publish(std::make_unique<const TableSchema>(std::move(schema)));
}

void Table::publish(std::unique_ptr<const TableSchema> schema) {
  schema_.store(schema.get(), std::memory_order_release);
  versions_.push_back(std::move(schema));
}

StatusOr<std::unique_ptr<Table>> Table::create(TableSchema schema, uint32_t partitions, Arena* arena) {
  CHECK(partitions > 0);
  for (const ColumnDef& column : schema.columns) {
    bool storable = column.type.id != TypeId::kUnknown && column.type.id <= TypeId::kArray;
    if (storable || column.type.id == TypeId::kFloat4 || column.type.id == TypeId::kInterval) continue;
    return sql_error("42P16", "column " + quoted(column.name) + " has pseudo-type " + type_name(column.type));
  }
  if (chunk_bytes_of(schema) > kMaxChunkBytes) {
    return sql_error("54000", "rows of table " + quoted(schema.name) + " are too wide");
  }
  if (schema.scheme == PartitionScheme::kShared) partitions = 1;
  std::unique_ptr<Table> table(new Table(std::move(schema), arena));
  SCYPER_ASSIGN_OR_RETURN(*table->plan_, make_row_plan(table->schema(), table->layout_));
  SCYPER_RETURN_IF_ERROR(table->add_partitions(partitions));
  for (uint32_t i = 0; i < table->schema().indexes.size(); ++i) {
    SCYPER_RETURN_IF_ERROR(table->add_index_structures(i));
  }
  return table;
}

Table::~Table() {
  for (uint32_t i = 0; i < kMaxIndexesPerTable; ++i) destroy_index(i);
  for (TablePartition* partition : partitions_) {
    // large payloads are blocks of the arena of their own; the others go with the heap
    for (Tid tid = 0; tid < partition->tuple_limit && partition->heap->large_bytes() > 0; ++tid) {
      if (is_live(partition, tid)) free_payloads(partition, tid);
    }
    for (uint32_t i = 0; i < partition->chunk_count; ++i) arena_->free(partition->chunks[i], layout_.chunk_bytes);
    delete[] partition->chunks;
    delete[] partition->changed;
    delete partition->heap;
  }
}

Status Table::add_partitions(uint32_t count) {
  for (uint32_t i = 0; i < count; ++i) {
    auto partition = std::make_unique<TablePartition>();
    partition->heap = new StringHeap(arena_);
    partition->table = this;
    partition->partition = i;
    partition->partitions = count;
    partition->plan = plan_.get();
    partitions_.push_back(partition.get());
    owned_.push_back(std::move(partition));
  }
  return absl::OkStatus();
}

Status Table::add_index_structures(uint32_t index) {
  const uint32_t key_bytes = plan_->indexes[index].key_bytes;
  for (TablePartition* partition : partitions_) {
    partition->indexes[index].ordered = OrderedIndex::create(arena_, key_bytes).release();
    if (partition->indexes[index].ordered == nullptr) return sql_error("53200", "out of memory");
  }
  return absl::OkStatus();
}

void Table::destroy_index(uint32_t index) {
  for (TablePartition* partition : partitions_) {
    PartitionIndex& entry = partition->indexes[index];
    delete entry.ordered;
    delete entry.hash;
    entry = {};
  }
}

uint64_t Table::live_tuples() const {
  uint64_t live = 0;
  for (const TablePartition* partition : partitions_) live += partition->live_tuples;
  return live;
}

TableMemory Table::memory() const {
  TableMemory memory;
  for (const TablePartition* partition : partitions_) {
    memory.chunk_bytes += uint64_t{partition->chunk_count} * layout_.chunk_bytes;
    memory.heap_bytes += partition->heap->memory_bytes();
    for (const PartitionIndex& index : partition->indexes) {
      if (index.ordered != nullptr) memory.index_bytes += index.ordered->memory_bytes();
      if (index.hash != nullptr) memory.index_bytes += index.hash->memory_bytes();
    }
  }
  return memory;
}

}  // namespace scyper::storage
