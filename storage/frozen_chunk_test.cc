#include "storage/frozen_chunk.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <map>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/test_seed.h"
#include "table_test_schema.h"

namespace scyper::storage {
namespace {

std::string read_block(const char* block, size_t bytes) { return {block, bytes}; }

TEST(FrozenMemoryTest, BlocksAreWrittenThroughTheOtherView) {
  auto memory = *FrozenMemory::create(size_t{64} << 20);
  const char* block = memory->allocate(100000);
  ASSERT_NE(block, nullptr);
  char* view = memory->writable(block);
  EXPECT_NE(view, block);
  std::memset(view, 'x', 100000);
  EXPECT_EQ(read_block(block, 100000), std::string(100000, 'x'));
  const FrozenMemory::Usage usage = memory->usage();
  size_t granted = 0;
  for (size_t bytes : usage.granted_bytes) granted += bytes;
  EXPECT_GE(granted, usage.used_bytes);
  EXPECT_GE(usage.used_bytes, 100000u);
}

#ifndef SCYPER_SANITIZED
TEST(FrozenMemoryDeathTest, ReadersCannotWrite) {
  auto memory = *FrozenMemory::create(size_t{64} << 20);
  const char* block = memory->allocate(4096);
  EXPECT_EXIT(*const_cast<char*>(block) = 1, testing::KilledBySignal(SIGSEGV), "");
}
#endif

// 0: it read what it should and has no view to write; else what went wrong.
int child_of(const char* block, char* view) {
  const pid_t child = fork();
  if (child == 0) {
    if (read_block(block, 4096) != std::string(4096, 'y')) _exit(1);
    // a system call on unmapped memory fails, where a store would end the child
    int pipes[2];
    if (pipe(pipes) != 0) _exit(2);
    _exit(write(pipes[1], view, 1) == -1 ? 0 : 3);
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(FrozenMemoryTest, ChildrenReadOnly) {
  auto memory = *FrozenMemory::create(size_t{64} << 20);
  const char* block = memory->allocate(4096);
  char* view = memory->writable(block);
  std::memset(view, 'y', 4096);
  const FrozenPin pin = memory->pin();
  memory->begin_fork();
  const int result = child_of(block, view);
  memory->end_fork();
  EXPECT_EQ(result, 0);
  memory->unpin(pin);
}

TEST(FrozenMemoryTest, TheBudgetEnds) {
  auto memory = *FrozenMemory::create(1 << 20, FrozenPages::kSmall);
  const char* block = memory->allocate(900000);
  ASSERT_NE(block, nullptr);
  EXPECT_EQ(memory->allocate(200000), nullptr);
  memory->retire(block, 900000);
  EXPECT_NE(memory->allocate(200000), nullptr);
  EXPECT_FALSE(FrozenMemory::create(0).ok());
}

// Blocks are written when they are made; whatever a snapshot could see must not change before it is unpinned.
TEST(FrozenMemoryTest, NothingIsReusedThatASnapshotCanSee) {
  Random random(test_seed());
  for (FrozenPages best : {FrozenPages::kReservedHuge, FrozenPages::kSmall}) {
    auto memory = *FrozenMemory::create(size_t{8} << 20, best);
    using Blocks = std::map<const char*, std::pair<size_t, char>>;
    Blocks live;
    std::map<FrozenPin, Blocks> snapshots;
    uint64_t reused = 0;
    std::map<const char*, int> times;
    for (int step = 0; step < 2000; ++step) {
      const uint64_t what = random.below(10);
      if (what < 5) {
        const size_t bytes = 1 + random.below(60000);
        const char* block = memory->allocate(bytes);
        if (block == nullptr) continue;
        ASSERT_FALSE(live.contains(block));
        const char fill = static_cast<char>(random.below(256));
        std::memset(memory->writable(block), fill, bytes);
        live[block] = {bytes, fill};
        reused += times[block]++ > 0 ? 1 : 0;
      } else if (what < 8 && !live.empty()) {
        auto it = std::next(live.begin(), static_cast<std::ptrdiff_t>(random.below(live.size())));
        memory->retire(it->first, it->second.first);
        live.erase(it);
      } else if (what == 8 && snapshots.size() < 3) {
        const Blocks seen = live;
        snapshots[memory->pin()] = seen;
      } else if (what == 9 && !snapshots.empty()) {
        auto it = std::next(snapshots.begin(), static_cast<std::ptrdiff_t>(random.below(snapshots.size())));
        for (const auto& [block, content] : it->second) {
          ASSERT_EQ(read_block(block, content.first), std::string(content.first, content.second));
        }
        memory->unpin(it->first);
        snapshots.erase(it);
      }
    }
    EXPECT_GT(reused, 100u);
    while (!snapshots.empty()) {
      memory->unpin(snapshots.begin()->first);
      snapshots.erase(snapshots.begin());
    }
    EXPECT_EQ(memory->usage().retired_bytes, 0u);
    for (const auto& [block, content] : live) {
      ASSERT_EQ(read_block(block, content.first), std::string(content.first, content.second));
      memory->retire(block, content.first);
    }
    EXPECT_EQ(memory->usage().used_bytes, 0u);
  }
}

TableSchema freezable_schema(Layout layout) {
  TableSchema schema = wide_schema(layout);
  std::erase_if(schema.columns, [](const ColumnDef& column) { return column.type.id == TypeId::kArray; });
  return schema;
}

ModelValue random_value(Random* random, const SqlType& type, bool not_null, int id) {
  ModelValue value;
  if (!not_null && random->one_in(4)) return value;
  value.null = false;
  value.scale = type.scale;
  if (is_string(type.id)) {
    const uint64_t characters = type.id == TypeId::kChar      ? static_cast<uint64_t>(type.length)
                                : type.id == TypeId::kVarchar ? random->below(17)
                                                              : random->below(40);
    for (uint64_t i = 0; i < characters; ++i) value.text += static_cast<char>('a' + random->below(26));
    if (type.id != TypeId::kChar && random->one_in(3)) value.text = "\xf0\x9f\x98\x80\xf0\x9f\x98\x80";
    if (type.id == TypeId::kText) value.text += std::to_string(id);  // unique
    return value;
  }
  if (is_float(type.id)) {
    value.number = float_datum(random->real()).lo;
  } else {
    value.number = type.id == TypeId::kBool ? random->below(2) : random->between(-9999, 9999);
  }
  return value;
}

void fill(Table* table, ChangeLog* log, Random* random, int rows, std::vector<Tid>* tids) {
  for (int id = 0; id < rows; ++id) {
    std::vector<ModelValue> row;
    for (const ColumnDef& column : table->schema().columns) {
      row.push_back(random_value(random, column.type, column.not_null, id));
    }
    row[0].number = id;
    row[3].number = id;
    std::vector<Datum> values;
    for (size_t i = 0; i < row.size(); ++i) values.push_back(row[i].datum(table->schema().columns[i].type));
    Tid tid;
    ASSERT_EQ(insert_row(table->partition(0), log, values, &tid), ChangeResult::kOk);
    tids->push_back(tid);
    if (id % 50 == 0) log->commit();
  }
  log->commit();
}

// All live tuples of the chunk, in every column, as the table has them; all others are invalid.
void expect_same(const Table& table, uint32_t chunk, const FrozenChunk& frozen, const InvalidRanges& invalid) {
  const TablePartition* partition = table.partition(0);
  const auto count = reinterpret_cast<const ChunkHeader*>(partition->chunks[chunk])->used;
  ASSERT_EQ(frozen.header().count, count);
  for (uint32_t column = 0; column < table.schema().columns.size(); ++column) {
    const FrozenVector vector = frozen.column(column);
    for (uint32_t i = 0; i < count; ++i) {
      const Tid tid = Tid{chunk} << kChunkShift | i;
      ASSERT_EQ(invalid.contains(i), !is_live(partition, tid));
      if (invalid.contains(i)) continue;
      ASSERT_TRUE(same_value(table.schema().columns[column].type, vector.get(i), read_column(partition, tid, column)))
          << table.schema().columns[column].name << " at " << i;
    }
  }
  ASSERT_EQ(frozen.header().live, count - invalid.positions());
}

TEST(FrozenChunkTest, EqualsTheChunkItWasMadeOf) {
  Random random(test_seed());
  for (Layout layout : {Layout::kColumn, Layout::kRow}) {
    TestStore store;
    auto table = store.table(freezable_schema(layout));
    auto memory = *FrozenMemory::create(size_t{64} << 20);
    const RelationDictionaries dictionaries(table->schema());
    std::vector<Tid> tids;
    fill(table.get(), store.log.get(), &random, static_cast<int>(kChunkTuples) + 500, &tids);
    for (Tid tid : tids) {
      if (random.one_in(10)) ASSERT_EQ(delete_tuple(table->partition(0), tid, store.log.get()), ChangeResult::kOk);
    }
    store.log->commit();
    for (uint32_t chunk = 0; chunk < 2; ++chunk) {
      const FrozenImage image = freeze_chunk(*table, table->partition(0)->chunks[chunk], dictionaries);
      const char* published = publish_image(image, memory.get());
      ASSERT_NE(published, nullptr);
      expect_same(*table, chunk, FrozenChunk(published, &dictionaries), image.invalid);
      release_image(published, dictionaries);
      memory->retire(published, image.bytes.size());
    }
    EXPECT_EQ(memory->usage().used_bytes, 0u);
    for (uint32_t i = 0; i < table->schema().columns.size(); ++i) {
      if (dictionaries.column(i) != nullptr) EXPECT_EQ(dictionaries.column(i)->values(), 0u);
    }
  }
}

TEST(FrozenChunkTest, ArraysAreNotFrozen) {
  EXPECT_FALSE(can_freeze(wide_schema(Layout::kColumn)));
  EXPECT_TRUE(can_freeze(freezable_schema(Layout::kRow)));
}

}  // namespace
}  // namespace scyper::storage
