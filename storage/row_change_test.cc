#include "storage/row_change.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "storage/row_apply.h"
#include "storage/string_heap.h"
#include "storage/temporary.h"
#include "table_test_schema.h"

namespace scyper::storage {
namespace {

// Damaged records end in XX001 or read as something else, but never beyond their bytes (address sanitizer).
TEST(RowChangeTest, DamagedBytesAreRefused) {
  TestStore store;
  auto table = store.table(wide_schema(Layout::kColumn));
  Random random(4711);
  {
    ModelValue marks;
    marks.null = false;
    for (int j = 0; j < 9; ++j) marks.elements.push_back({j % 3 == 0, j, 0, "some text", {}, {}, {}});
    ModelValue tags = marks;
    const auto& columns = table->schema().columns;
    std::vector<Datum> row(columns.size(), int_datum(1));
    row[8] = int128_datum(static_cast<__int128>(INT64_MAX) * 12345, 7);
    row[9] = row[10] = row[11] = string_datum("ab", 2);
    row[14] = marks.datum(columns[14].type);
    row[15] = tags.datum(columns[15].type);
    Tid tid;
    ASSERT_EQ(insert_row(table->partition(0), store.log.get(), row, &tid), ChangeResult::kOk);
  }
  const std::string redo(store.log->redo());
  auto read = [&](const std::string& bytes) {
    RowChangeReader reader(bytes, [&](TableId id) { return id == TableId(7) ? &table->schema() : nullptr; });
    RowChange change;
    for (;;) {
      StatusOr<bool> more = reader.next(&change);
      if (!more.ok()) {
        EXPECT_EQ(sqlstate_of(more.status()), "XX001");
        return false;
      }
      if (!*more) return true;
    }
  };
  RowApplier checker([&](TableId id) { return id == TableId(7) ? table.get() : nullptr; });
  EXPECT_EQ(checker.check(redo, RowApplier::kAnyPartition), Status());
  for (size_t size = 1; size < redo.size(); ++size) {
    EXPECT_EQ(sqlstate_of(checker.check(redo.substr(0, size), RowApplier::kAnyPartition)), "XX001");
  }
  EXPECT_TRUE(read(redo));
  for (size_t size = 1; size < redo.size(); ++size) EXPECT_FALSE(read(redo.substr(0, size)));
  for (int i = 0; i < 20000; ++i) {
    std::string bytes = redo;
    for (uint64_t j = random.below(4); j < 4; ++j) bytes[random.below(bytes.size())] = static_cast<char>(random.next());
    read(bytes);
    static_cast<void>(checker.check(bytes, RowApplier::kAnyPartition));
  }
  store.log->rollback_all();
}

// SET b = DEFAULT of a generated column that is as it was.
TEST(RowChangeTest, UpdatesOfNoColumnAreNotWrittenAndChangeNothing) {
  TestStore store;
  TableSchema schema;
  schema.id = TableId(9);
  schema.name = "same";
  schema.columns = {{"a", make_type(TypeId::kInt4), true}};
  schema.indexes = {{}};
  schema.indexes[0].id = IndexId(1);
  schema.indexes[0].name = "same_pkey";
  schema.indexes[0].columns = {0};
  schema.indexes[0].descending = {false};
  schema.indexes[0].unique = schema.indexes[0].primary = true;
  auto table = store.table(schema);
  const std::vector<Datum> row = {int_datum(1)};
  Tid tid;
  ASSERT_EQ(insert_row(table->partition(0), store.log.get(), row, &tid), ChangeResult::kOk);
  const std::string inserted(store.log->redo());
  const UpdateDescriptor nothing = make_update_descriptor(*table, {});
  ASSERT_EQ(update_begin(table->partition(0), tid, &nothing, store.log.get()), ChangeResult::kOk);
  ASSERT_EQ(update_finish(table->partition(0), tid, &nothing, store.log.get()), ChangeResult::kOk);
  EXPECT_EQ(std::string(store.log->redo()), inserted);
  store.log->commit();
  std::string bytes = nothing.redo_prefix;  // as it was written once
  bytes.append(2, '\0').append("\1\0\0\0", 4);
  RowApplier applier([&](TableId) { return table.get(); });
  EXPECT_EQ(sqlstate_of(applier.check(bytes, RowApplier::kAnyPartition)), "XX001");
  const Digest before = table_digest(*table);
  EXPECT_EQ(applier.apply(bytes, RowApplier::kAnyPartition), Status());
  EXPECT_EQ(table_digest(*table), before);
}

TEST(RowChangeTest, NumbersOfEveryLengthComeBack) {
  TestStore store;
  TableSchema schema;
  schema.id = TableId(kFirstTemporaryId - 1);
  schema.name = "numbers";
  schema.columns = {{"a", make_type(TypeId::kInt8), true}, {"b", make_numeric(38, 0), true}};
  schema.indexes = {{IndexId(1), "numbers_pkey", {0}, {}, true, true}};
  auto table = store.table(schema);
  std::vector<std::pair<int64_t, __int128>> numbers = {{INT64_MIN, -1}, {INT64_MAX, 0}};
  for (int bit = 0; bit < 62; ++bit) {
    for (int64_t near : {-1, 0, 1}) {
      for (int64_t sign : {-1, 1}) {
        const int64_t a = sign * (int64_t{1} << bit) + near;
        numbers.emplace_back(a, (static_cast<__int128>(a) << 62) + near);
      }
    }
  }
  std::sort(numbers.begin(), numbers.end());
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  size_t inserted = 0;
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (i > 0 && numbers[i].first == numbers[i - 1].first) continue;
    Tid tid;
    const std::vector<Datum> row = {int_datum(numbers[i].first), int128_datum(numbers[i].second, 0)};
    ASSERT_EQ(insert_row(table->partition(0), store.log.get(), row, &tid), ChangeResult::kOk);
    numbers[inserted++] = numbers[i];
  }
  RowChangeReader reader(store.log->redo(), [&](TableId) { return &table->schema(); });
  RowChange change;
  for (size_t i = 0; i < inserted; ++i) {
    ASSERT_TRUE(*reader.next(&change));
    EXPECT_EQ(change.values[0].lo, numbers[i].first);
    EXPECT_TRUE(change.values[1].int128() == numbers[i].second);
  }
  EXPECT_FALSE(*reader.next(&change));
  store.log->rollback_all();
}

TEST(StringHeapTest, PiecesNeverOverlapAndAreUsedAgain) {
  TestStore store;
  StringHeap heap(store.arena.get());
  Random random(99);
  std::vector<std::pair<char*, uint64_t>> pieces;
  for (int i = 0; i < 20000; ++i) {
    if (random.one_in(2) && !pieces.empty()) {
      std::swap(pieces[random.below(pieces.size())], pieces.back());
      auto [piece, size] = pieces.back();
      const char mark = piece[0];
      for (uint64_t j = 0; j < size; j += 7) ASSERT_EQ(piece[j], mark);
      heap.free(piece, size);
      pieces.pop_back();
      continue;
    }
    const uint64_t size =
        random.one_in(100) ? 60000 + random.below(20000) : 1 + random.below(random.one_in(5) ? 3000 : 100);
    char* piece = heap.allocate(size);
    ASSERT_NE(piece, nullptr);
    ASSERT_EQ(reinterpret_cast<uintptr_t>(piece) % 16, 0u);
    std::memset(piece, static_cast<int>(random.next()), size);
    pieces.emplace_back(piece, size);
    EXPECT_GE(StringHeap::piece_bytes(size), size);
    if (size >= 64 && size <= StringHeap::kMaxClassBytes) EXPECT_LE(StringHeap::piece_bytes(size), size * 5 / 4);
  }
  for (auto [piece, size] : pieces) heap.free(piece, size);
  EXPECT_EQ(heap.in_use_bytes(), 0u);
  EXPECT_EQ(heap.in_use_pieces(), 0u);
  const uint64_t before = heap.memory_bytes();
  for (auto& [piece, size] : pieces) piece = heap.allocate(size);
  EXPECT_LE(heap.memory_bytes(), before + (uint64_t{80} << 16));
  for (auto [piece, size] : pieces) heap.free(piece, size);
}

}  // namespace
}  // namespace scyper::storage
