#include "storage/table.h"

#include <atomic>
#include <utility>

#include "base/check.h"
#include "positions.h"
#include "row_plan.h"
#include "shared_rows.h"
#include "slots.h"
#include "storage/change_log.h"
#include "storage/string_heap.h"

namespace scyper::storage {
namespace {

std::string quoted(const std::string& name) { return '"' + name + '"'; }

// Without its indexes, and without its heap.
void free_rows(Arena* arena, TablePartition* partition) {
  // large payloads are blocks of the arena of their own; the others go with the heap
  for (Tid tid = 0; tid < partition->tuple_limit && partition->heap->large_bytes() > 0; ++tid) {
    if (chunk_of(partition, tid) != nullptr && is_live(partition, tid)) free_payloads(partition, tid);
  }
  for (uint32_t i = 0; i < partition->chunk_count; ++i) {
    if (partition->chunks[i] != nullptr) free_chunk(arena, partition->chunks[i]);
  }
  free_slots(partition, /*frees_texts=*/partition->heap->large_bytes() > 0);
  forget_chunks(partition);
  delete std::exchange(partition->heap, nullptr);
}

}  // namespace

Table::Table(TableSchema schema, TableLayout layout, Arena* arena)
    : arena_(arena), layout_(std::move(layout)), plan_(std::make_unique<RowPlan>()) {
  publish(std::make_unique<const TableSchema>(std::move(schema)));
}

void Table::publish(std::unique_ptr<const TableSchema> schema) {
  schema_.store(schema.get(), std::memory_order_release);
  versions_.push_back(std::move(schema));
}

StatusOr<std::unique_ptr<Table>> Table::create(TableSchema schema, uint32_t partitions, Arena* arena) {
  CHECK(partitions > 0);
  for (const ColumnDef& column : schema.columns) {
    if (is_storable(column.type.id)) continue;
    return sql_error("42P16", "column " + quoted(column.name) + " has pseudo-type " + type_name(column.type));
  }
  if (chunk_bytes_of(schema) > kMaxChunkBytes) {
    return sql_error("54000", "rows of table " + quoted(schema.name) + " are too wide");
  }
  if (schema.scheme == PartitionScheme::kShared) partitions = 1;
  TableLayout layout = make_layout(schema);
  std::unique_ptr<Table> table(new Table(std::move(schema), std::move(layout), arena));
  SCYPER_ASSIGN_OR_RETURN(*table->plan_, make_row_plan(table->schema(), table->layout_));
  table->add_partitions(partitions);
  for (TablePartition* partition : table->partitions_) partition->heap = new StringHeap(arena);
  for (uint32_t i = 0; i < table->schema().indexes.size(); ++i) {
    SCYPER_RETURN_IF_ERROR(table->add_index_structures(i));
  }
  return table;
}

StatusOr<std::unique_ptr<Table>> Table::create_sharing(Table* old, TableSchema schema, TableLayout layout,
                                                       const std::vector<int>& kept) {
  CHECK(kept.size() == schema.indexes.size());
  std::unique_ptr<Table> table(new Table(std::move(schema), std::move(layout), old->arena_));
  SCYPER_ASSIGN_OR_RETURN(*table->plan_, make_row_plan(table->schema(), table->layout_));
  table->add_partitions(old->partition_count());
  if (old->shared_rows_ == nullptr) old->shared_rows_ = std::make_shared<SharedRows>(old);
  table->shared_rows_ = old->shared_rows_;
  table->shared_rows_->add(table.get());
  for (uint32_t i = 0; i < old->partition_count(); ++i) {
    TablePartition* to = table->partitions_[i];
    const TablePartition* from = old->partitions_[i];
    to->heap = from->heap;
    to->free_chunk = from->free_chunk;
    for (size_t index = 0; index < kept.size(); ++index)
      if (kept[index] >= 0) to->indexes[index] = from->indexes[kept[index]];
  }
  for (uint32_t i = 0; i < kept.size(); ++i)
    if (kept[i] < 0) SCYPER_RETURN_IF_ERROR(table->add_index_structures(i));
  return table;
}

void Table::allow_freezing(FrozenMemory* memory) {
  CHECK(frozen_store_ == nullptr && memory != nullptr);
  if (can_freeze(schema())) frozen_store_ = std::make_unique<FrozenStore>(schema(), memory);
}

Table::~Table() {
  if (frozen_store_ != nullptr) frozen_store_->gate->close();
  if (shared_rows_ != nullptr && shared_rows_->leave(this)) return;
  for (uint32_t i = 0; i < kMaxIndexesPerTable; ++i) destroy_index(i);
  for (TablePartition* partition : partitions_) free_rows(arena_, partition);
}

void Table::release() {
  if (frozen_store_ != nullptr) frozen_store_->gate->close();
  const bool is_left = shared_rows_ != nullptr && shared_rows_->leave(this);
  shared_rows_ = nullptr;
  for (uint32_t i = 0; i < kMaxIndexesPerTable && !is_left; ++i) destroy_index(i);
  for (TablePartition* partition : partitions_) {
    if (!is_left) free_rows(arena_, partition);
    partition->heap = new StringHeap(arena_);
  }
}

void Table::add_partitions(uint32_t count) {
  for (uint32_t i = 0; i < count; ++i) {
    owned_.push_back(std::make_unique<TablePartition>());
    TablePartition* partition = owned_.back().get();
    partition->table = this;
    partition->partition = i;
    partition->partitions = count;
    partition->plan = plan_.get();
    partitions_.push_back(partition);
  }
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
  for (uint32_t i = 0; i < partitions_.size(); ++i) {
    TablePartition* partition = partitions_[i];
    if (shared_rows_ != nullptr && shared_rows_->drop_index(this, i, index)) continue;
    PartitionIndex& entry = partition->indexes[index];
    delete entry.ordered;
    delete entry.hash;
    entry = {};
  }
}

uint64_t Table::live_tuples() const {
  uint64_t live = 0;
  for (TablePartition* partition : partitions_)
    live += std::atomic_ref(partition->live_tuples).load(std::memory_order_relaxed);
  return live;
}

TableMemory Table::memory() const {
  TableMemory memory;
  for (const TablePartition* partition : partitions_) {
    memory.hot_chunks += partition->chunk_count;
    memory.heap_bytes += partition->heap->memory_bytes();
    for (const PartitionIndex& index : partition->indexes) {
      if (index.ordered != nullptr) memory.index_bytes += index.ordered->memory_bytes();
      if (index.hash != nullptr) memory.index_bytes += index.hash->memory_bytes();
    }
  }
  if (frozen_store_ != nullptr) frozen_store_->add_to(&memory);
  memory.chunk_bytes = (memory.hot_chunks + memory.cold_chunks) * layout_.chunk_bytes;
  return memory;
}

}  // namespace scyper::storage
