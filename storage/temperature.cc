#include "storage/temperature.h"

#include "row_plan.h"
#include "storage/frozen_slot.h"
#include "storage/string_heap.h"

namespace scyper::storage {
namespace {

uint64_t tuples_of(const char* chunk) { return reinterpret_cast<const ChunkHeader*>(chunk)->live; }

void add_slot(const FrozenSlot& slot, TableTemperature* sum) {
  if (slot.chunk != nullptr) {
    TableTemperature::Part& part = slot.state == ChunkState::kCooling ? sum->cooling : sum->cold;
    ++part.chunks;
    part.tuples += tuples_of(slot.chunk);
  } else if (slot.state == ChunkState::kFrozen) {
    ++sum->frozen.chunks;
    sum->frozen.tuples += kChunkTuples - slot.invalid.positions();
    sum->invalid_tuples += slot.invalid.positions();
    sum->invalid_ranges += slot.invalid.ranges().size();
    if (slot.views == nullptr) return;
    (slot.relevant_to == 0 ? sum->irrelevant_tuples : sum->relevant_tuples) += kChunkTuples - slot.invalid.positions();
  }
}

TableTemperature::Attribute attribute_of(const Table& table, uint32_t column, uint64_t frozen_chunks) {
  const FrozenStore& store = *table.frozen_store();
  const ColumnAccess& access = table.layout().columns[column];
  TableTemperature::Attribute sum;
  sum.name = table.schema().columns[column].name;
  sum.frozen_bytes = store.attribute_bytes[column].load(std::memory_order_relaxed);
  sum.thawed_bytes = frozen_chunks * kChunkTuples * (access.cell_bytes + (access.null_offset != 0 ? 1 : 0));
  if (const RelationDictionary* dictionary = store.dictionaries.column(column)) {
    sum.dictionary_bytes = dictionary->memory_bytes();
    sum.dictionary_values = dictionary->values();
  }
  return sum;
}

}  // namespace

TableTemperature temperature_of(const Table& table) {
  TableTemperature sum;
  for (uint32_t p = 0; p < table.partition_count(); ++p) {
    const TablePartition* partition = table.partition(p);
    for (uint64_t chunk = 0; chunk < partition->chunk_count; ++chunk) {
      if (partition->chunks[chunk] == nullptr) {
        add_slot(partition->frozen[chunk], &sum);
        continue;
      }
      ++sum.hot.chunks;
      sum.hot.tuples += tuples_of(partition->chunks[chunk]);
    }
    sum.hot_bytes += partition->heap->memory_bytes();
  }
  sum.hot_bytes += (sum.hot.chunks + sum.cooling.chunks + sum.cold.chunks) * table.layout().chunk_bytes;
  sum.thawed_bytes = sum.frozen.chunks * table.layout().chunk_bytes;
  const TableMemory memory = table.memory();
  sum.frozen_bytes = memory.frozen_bytes;
  sum.dictionary_bytes = memory.dictionary_bytes;
  if (table.frozen_store() == nullptr) return sum;
  sum.tiered_bytes = table.frozen_store()->tiered_bytes.load(std::memory_order_relaxed);
  for (uint32_t column = 0; column < table.schema().columns.size(); ++column) {
    sum.attributes.push_back(attribute_of(table, column, sum.frozen.chunks));
  }
  return sum;
}

}  // namespace scyper::storage
