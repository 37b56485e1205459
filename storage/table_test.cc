#include "storage/table.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/random.h"
#include "storage/key.h"
#include "table_test_schema.h"

namespace scyper::storage {
namespace {

TableSchema pair_schema(Layout layout = Layout::kColumn) {
  TableSchema schema;
  schema.id = TableId(300);
  schema.name = "pair";
  schema.layout = layout;
  schema.columns = {{"a", make_type(TypeId::kInt4), true},
                    {"b", make_string(TypeId::kVarchar, 10), false},
                    {"c", make_type(TypeId::kText), false}};
  schema.indexes = {{IndexId(1), "pair_pkey", {0}, {}, true, true}, {IndexId(2), "pair_b_key", {1}, {}, true, false}};
  return schema;
}

TableSchema keyless_schema() {
  TableSchema schema;
  schema.id = TableId(5);
  schema.name = "keyless";
  schema.columns = {{"v", make_type(TypeId::kInt4), false}, {"__row_id", make_type(TypeId::kInt8), true}};
  schema.has_row_id = true;
  return schema;
}

Datum text(const char* value) { return string_datum(value, std::strlen(value)); }

Tid must_insert(TestStore* store, Table* table, const std::vector<Datum>& values, uint32_t partition = 0) {
  Tid tid;
  EXPECT_EQ(insert_row(table->partition(partition), store->log.get(), values, &tid), ChangeResult::kOk);
  return tid;
}

TEST(TableLayoutTest, CellsOfATupleNeverOverlap) {
  for (Layout layout : {Layout::kColumn, Layout::kRow}) {
    const TableSchema schema = wide_schema(layout);
    const TableLayout made = make_layout(schema);
    std::vector<std::pair<uint64_t, uint64_t>> spans = {{0, sizeof(ChunkHeader)}};
    for (uint32_t tuple : {0u, 1u, 2u, kChunkTuples - 2, kChunkTuples - 1}) {
      for (const ColumnAccess& access : made.columns) {
        const uint64_t start = access.value_offset + uint64_t{tuple} * access.value_stride;
        spans.emplace_back(start, start + access.cell_bytes);
        if (layout == Layout::kColumn) EXPECT_EQ(access.value_offset % 4096, 0u);
        if (access.null_offset == 0) continue;
        const uint64_t null = access.null_offset + uint64_t{tuple} * access.null_stride;
        spans.emplace_back(null, null + 1);
      }
      spans.emplace_back(made.live_offset + tuple, made.live_offset + tuple + 1);
      spans.emplace_back(made.free_offset + 2 * tuple, made.free_offset + 2 * tuple + 2);
    }
    std::sort(spans.begin(), spans.end());
    for (size_t i = 1; i < spans.size(); ++i) EXPECT_LE(spans[i - 1].second, spans[i].first);
    EXPECT_LE(spans.back().second, made.chunk_bytes);
    EXPECT_EQ(made.chunk_bytes % 4096, 0u);
    EXPECT_EQ(made.chunk_bytes, chunk_bytes_of(schema));
  }
}

TEST(TableTest, ADuplicateKeyIsReportedInPostgresWordsAndTakenBack) {
  TestStore store;
  auto table = store.table(pair_schema());
  TablePartition* partition = table->partition(0);
  const ChangeLog::Mark mark = store.log->mark();
  must_insert(&store, table.get(), {int_datum(1), text("one"), text("a note that needs the heap")});
  const Digest one = table_digest(*table);
  Tid tid;
  ChangeResult result =
      insert_row(partition, store.log.get(), {int_datum(2), text("one"), text("another note, as long")}, &tid);
  ASSERT_EQ(result, ChangeResult::kDuplicateKey);
  Status status = change_status(result, *store.log, plain_text);
  EXPECT_EQ(sqlstate_of(status), "23505");
  EXPECT_EQ(status.message(), "duplicate key value violates unique constraint \"pair_b_key\"");
  EXPECT_EQ(detail_of(status), "Key (b)=(one) already exists.");
  EXPECT_EQ(table_digest(*table), one);
  check_table(*table);
  must_insert(&store, table.get(), {int_datum(3), null_datum(), null_datum()});
  must_insert(&store, table.get(), {int_datum(4), null_datum(), null_datum()});  // NULLs are no duplicates
  const std::string redo(store.log->redo());
  store.log->rollback_to(mark);
  EXPECT_TRUE(store.log->empty());
  EXPECT_EQ(store.log->redo_bytes(), 0u);
  EXPECT_EQ(table->live_tuples(), 0u);
  check_table(*table);
}

TEST(TableTest, APositionIsUsedAgainOnlyAfterCommit) {
  TestStore store;
  auto table = store.table(pair_schema());
  const Tid first = must_insert(&store, table.get(), {int_datum(1), null_datum(), null_datum()});
  store.log->commit();
  ASSERT_EQ(delete_tuple(table->partition(0), first, store.log.get()), ChangeResult::kOk);
  EXPECT_FALSE(is_live(table->partition(0), first));
  EXPECT_NE(must_insert(&store, table.get(), {int_datum(1), null_datum(), null_datum()}), first);
  store.log->commit();
  EXPECT_EQ(must_insert(&store, table.get(), {int_datum(3), null_datum(), null_datum()}), first);
  store.log->commit();
  check_table(*table);
}

TEST(TableTest, AKeyOfTheSameBytesStaysWhereItIs) {
  TestStore store;
  auto table = store.table(pair_schema());
  const Tid tid = must_insert(&store, table.get(), {int_datum(1), text("b"), null_datum()});
  store.log->commit();
  const UpdateDescriptor all = make_update_descriptor(*table, std::vector<uint32_t>{0, 1});
  EXPECT_EQ(all.affected_indexes, 3u);
  ASSERT_EQ(update_row(table->partition(0), store.log.get(), tid, all, {int_datum(1), text("c")}), ChangeResult::kOk);
  EXPECT_EQ(store.log->top()->moved_indexes, 2u);
  store.log->rollback_all();
  check_table(*table);
  EXPECT_EQ(compare_strings({read_column(table->partition(0), tid, 1).data(), 1}, {"b", 1}), 0);
}

TEST(TableTest, RowIdsComeFromACounterThatRollbackRestores) {
  TestStore store;
  auto table = store.table(keyless_schema());
  must_insert(&store, table.get(), {int_datum(1)});
  must_insert(&store, table.get(), {int_datum(1)});
  store.log->rollback_all();
  EXPECT_EQ(table->partition(0)->next_row_id, 1u);
  const Tid tid = must_insert(&store, table.get(), {int_datum(7)});
  EXPECT_EQ(read_column(table->partition(0), tid, 1).lo, 1);
  store.log->commit();
  const UpdateDescriptor descriptor = make_update_descriptor(*table, std::vector<uint32_t>{0});
  ASSERT_EQ(update_row(table->partition(0), store.log.get(), tid, descriptor, {null_datum()}), ChangeResult::kOk);
  ASSERT_EQ(delete_tuple(table->partition(0), tid, store.log.get()), ChangeResult::kOk);
  RowChangeReader reader(store.log->redo(), [&](TableId) { return &table->schema(); });
  RowChange change;
  ASSERT_TRUE(*reader.next(&change));
  EXPECT_EQ(change.kind, RowChangeKind::kUpdate);
  EXPECT_EQ(change.columns, std::vector<uint32_t>{0});
  EXPECT_EQ(change.key[0].lo, 1);
  EXPECT_EQ(change.values[0].null, 1);
  ASSERT_TRUE(*reader.next(&change));
  EXPECT_EQ(change.kind, RowChangeKind::kDelete);
  ASSERT_FALSE(*reader.next(&change));
  store.log->commit();
  check_table(*table);
}

// The worked example of docs/redo_format.md.
TEST(TableTest, RedoBytesAreAsDocumented) {
  TestStore store;
  auto table = store.table(pair_schema());
  const Tid tid = must_insert(&store, table.get(), {int_datum(-2), text("hi"), null_datum()});
  const UpdateDescriptor descriptor = make_update_descriptor(*table, std::vector<uint32_t>{0, 2});
  ASSERT_EQ(update_row(table->partition(0), store.log.get(), tid, descriptor, {int_datum(64), text("x")}),
            ChangeResult::kOk);
  ASSERT_EQ(delete_tuple(table->partition(0), tid, store.log.get()), ChangeResult::kOk);
  const std::string_view expected(
      "\x01\xac\x02\x00\x00\x02\xfe\xff\xff\xff\x02hi"
      "\x02\xac\x02\x02\x00\x02\x00\x00\xfe\xff\xff\xff\x00\x40\x00\x00\x00\x01x"
      "\x03\xac\x02\x00\x00\x40\x00\x00\x00",
      13 + 19 + 9);
  EXPECT_EQ(store.log->redo(), expected);
  store.log->commit();
}

TEST(TableTest, UndoBringsBackLongAndMultibyteStrings) {
  TestStore store;
  for (Layout layout : {Layout::kColumn, Layout::kRow}) {
    auto table = store.table(pair_schema(layout));
    const std::string smileys = "\xf0\x9f\x98\x80\xf0\x9f\x98\x80\xf0\x9f\x98\x80\xf0\x9f\x98\x80\xf0\x9f\x98\x80";
    const std::string large(200000, 'L');
    const Tid tid = must_insert(&store, table.get(),
                                {int_datum(1), string_datum(smileys.data(), smileys.size()), text(large.c_str())});
    store.log->commit();
    const Digest before = table_digest(*table);
    const UpdateDescriptor both = make_update_descriptor(*table, std::vector<uint32_t>{1, 2});
    const Datum b = read_column(table->partition(0), tid, 1);
    EXPECT_EQ(std::string(b.data(), b.size()), smileys);
    ASSERT_EQ(update_row(table->partition(0), store.log.get(), tid, both, {text("x"), null_datum()}),
              ChangeResult::kOk);
    ASSERT_EQ(update_row(table->partition(0), store.log.get(), tid, both, {b, text("thirteen chars")}),
              ChangeResult::kOk);
    ASSERT_EQ(delete_tuple(table->partition(0), tid, store.log.get()), ChangeResult::kOk);
    store.log->rollback_all();
    EXPECT_EQ(table_digest(*table), before);
    check_table(*table);
    ASSERT_EQ(update_row(table->partition(0), store.log.get(), tid, both, {text("x"), text("y")}), ChangeResult::kOk);
    store.log->commit();
    EXPECT_EQ(table->partition(0)->heap != nullptr, true);
    check_table(*table);
  }
}

TEST(TableTest, LimitsOfUndoAndRedoFailTheStatement) {
  ChangeLog::Options options;
  options.redo_limit_bytes = 20000;
  TestStore store(size_t{64} << 20, options);
  auto table = store.table(pair_schema());
  Tid tid;
  int rows = 0;
  ChangeResult result = ChangeResult::kOk;
  while (result == ChangeResult::kOk) {
    result =
        insert_row(table->partition(0), store.log.get(), {int_datum(rows++), null_datum(), text("0123456789")}, &tid);
  }
  EXPECT_EQ(result, ChangeResult::kRedoLimit);
  EXPECT_EQ(sqlstate_of(change_status(result, *store.log, plain_text)), "53400");
  EXPECT_LE(store.log->redo_bytes(), 20000u);
  EXPECT_GT(store.log->redo_bytes(), 19900u);
  store.log->rollback_all();
  EXPECT_EQ(table->live_tuples(), 0u);
  check_table(*table);

  ChangeLog::Options small;
  small.undo_limit_bytes = 200000;
  auto log = *ChangeLog::create(store.arena.get(), small);
  log->record_redo(false);
  for (rows = 0, result = ChangeResult::kOk; result == ChangeResult::kOk; ++rows) {
    result = insert_row(table->partition(0), log.get(), {int_datum(rows), null_datum(), null_datum()}, &tid);
  }
  EXPECT_EQ(result, ChangeResult::kUndoLimit);
  EXPECT_LE(log->undo_bytes(), 200000u);
  log->rollback_all();
  check_table(*table);
}

// Keys that come back in random order fill leaves less than they were: the index needs more nodes than it gave back,
// and no memory is left.
TEST(TableTest, UndoSucceedsWhenMemoryIsUsedUp) {
  ChangeLog::Options options;
  options.reserve_bytes = kArenaGranuleBytes;
  TestStore store(size_t{128} << 20, options);
  auto table = store.table(pair_schema());
  std::vector<Tid> tids;
  for (int i = 0; i < 60000; ++i) {
    tids.push_back(must_insert(&store, table.get(), {int_datum(i), null_datum(), null_datum()}));
    if (i % 100 == 0) store.log->commit();
  }
  store.log->commit();
  const Digest before = table_digest(*table);
  Random random(3);
  std::shuffle(tids.begin(), tids.end(), random);
  for (Tid tid : tids) ASSERT_EQ(delete_tuple(table->partition(0), tid, store.log.get()), ChangeResult::kOk);
  std::vector<void*> hog;
  while (void* block = store.arena->allocate(kArenaGranuleBytes)) hog.push_back(block);
  const uint64_t index_bytes = table->memory().index_bytes;
  store.log->rollback_all();
  EXPECT_GT(table->memory().index_bytes, index_bytes);  // else this tests nothing
  EXPECT_EQ(table_digest(*table), before);
  check_table(*table);
  while (void* block = store.arena->allocate(kArenaGranuleBytes)) hog.push_back(block);
  const ChangeResult starved = delete_tuple(table->partition(0), tids[0], store.log.get());
  EXPECT_TRUE(starved == ChangeResult::kOk || starved == ChangeResult::kOutOfMemory);
  store.log->rollback_all();
  for (void* block : hog) store.arena->free(block, kArenaGranuleBytes);
  ASSERT_EQ(delete_tuple(table->partition(0), tids[0], store.log.get()), ChangeResult::kOk);
  store.log->commit();
  check_table(*table);
}

TEST(TableTest, AForkedChildUndoesWhatIsRunning) {
  TestStore store;
  auto table = store.table(pair_schema());
  std::vector<Tid> tids;
  for (int i = 0; i < 1000; ++i)
    tids.push_back(must_insert(&store, table.get(), {int_datum(i), null_datum(), text("before the fork")}));
  store.log->commit();
  const Digest before = table_digest(*table);
  const UpdateDescriptor descriptor = make_update_descriptor(*table, std::vector<uint32_t>{0, 2});
  for (int i = 0; i < 1000; i += 2) {
    ASSERT_EQ(
        update_row(table->partition(0), store.log.get(), tids[i], descriptor, {int_datum(i + 5000), text("running")}),
        ChangeResult::kOk);
    ASSERT_EQ(delete_tuple(table->partition(0), tids[i + 1], store.log.get()), ChangeResult::kOk);
  }
  const pid_t child = fork();
  if (child == 0) {
    store.log->rollback_all();
    check_table(*table);
    _exit(table_digest(*table) == before ? 0 : 1);
  }
  store.log->commit();
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(table->live_tuples(), 500u);
  check_table(*table);
}

TEST(TableTest, APartitionCrossingTransactionIsUndoneEverywhere) {
  TestStore store;
  TableSchema schema = pair_schema();
  schema.scheme = PartitionScheme::kHash;
  schema.indexes.pop_back();
  auto table = store.table(schema, 4);
  ASSERT_EQ(table->partition_count(), 4u);
  for (int i = 0; i < 100; ++i) {
    const uint32_t to = route(schema, int_datum(i), 4);
    EXPECT_EQ(to, partition_of(i, 4));
    must_insert(&store, table.get(), {int_datum(i), null_datum(), null_datum()}, to);
  }
  EXPECT_EQ(table->live_tuples(), 100u);
  for (uint32_t i = 0; i < 4; ++i) EXPECT_GT(table->partition(i)->live_tuples, 10u);
  store.log->rollback_all();
  EXPECT_EQ(table->live_tuples(), 0u);
  check_table(*table);
}

TEST(TableTest, EqualValuesOfOtherTypesGoTheSameWay) {
  TableSchema schema = pair_schema();
  schema.scheme = PartitionScheme::kHash;
  schema.columns[0].type = make_string(TypeId::kChar, 8);
  EXPECT_EQ(route(schema, text("ab      "), 97), route(schema, text("ab"), 97));
  schema.columns[0].type = make_numeric(0, 0);
  EXPECT_EQ(route(schema, int128_datum(10, 1), 97), route(schema, int128_datum(1, 0), 97));
  EXPECT_NE(route(schema, int128_datum(10, 1), 97), route(schema, int128_datum(2, 0), 97));
}

TEST(TableTest, IndexesComeAndGoWithTheirTable) {
  TestStore store;
  auto table = store.table(pair_schema());
  for (int i = 0; i < 5000; ++i)
    must_insert(&store, table.get(), {int_datum(i), null_datum(), text(i % 2 ? "odd" : "even")});
  store.log->commit();
  const Digest before = table_digest(*table);
  Status status = table->create_index({IndexId(9), "pair_c_key", {2}, {}, true, false}, plain_text);
  EXPECT_EQ(sqlstate_of(status), "23505");
  EXPECT_EQ(status.message(), "could not create unique index \"pair_c_key\"");
  EXPECT_EQ(detail_of(status), "Key (c)=(even) is duplicated.");
  check_table(*table);
  const TableSchema& old = table->schema();
  ASSERT_TRUE(table->create_index({IndexId(9), "pair_c", {2, 0}, {}, false, false}, plain_text).ok());
  EXPECT_EQ(table->schema().version, old.version + 1);
  check_table(*table);
  ASSERT_TRUE(table->build_hash_companion(0).ok());
  table->drop_index(1);
  EXPECT_EQ(table->schema().indexes[1].name, "pair_c");
  check_table(*table);
  EXPECT_EQ(table_digest(*table), before);
}

TEST(TableTest, AUniqueIndexOfAPartitionedTableNeedsThePartitionColumn) {
  TestStore store;
  TableSchema schema = pair_schema();
  schema.scheme = PartitionScheme::kHash;
  const auto table = Table::create(schema, 2, store.arena.get());
  EXPECT_EQ(sqlstate_of(table.status()), "0A000");
}

TEST(TableTest, AppendingTakesAllRowsOrNone) {
  TestStore store;
  auto table = store.table(pair_schema());
  std::vector<Datum> rows;
  for (int i = 0; i < 20000; ++i) {
    rows.insert(rows.end(), {int_datum(i), null_datum(), text("more than twelve bytes")});
  }
  ASSERT_TRUE(append_rows(table->partition(0), rows, plain_text).ok());
  const Digest before = table_digest(*table);
  std::vector<Datum> more = {int_datum(30000), text("x"),    text("more than twelve bytes"),
                             int_datum(77),    null_datum(), text("more than twelve bytes")};
  Status status = append_rows(table->partition(0), more, plain_text);
  EXPECT_EQ(sqlstate_of(status), "23505");
  EXPECT_EQ(detail_of(status), "Key (a)=(77) already exists.");
  more[3] = null_datum();
  status = append_rows(table->partition(0), more, plain_text);
  EXPECT_EQ(sqlstate_of(status), "23502");
  EXPECT_EQ(table_digest(*table), before);
  EXPECT_EQ(table->live_tuples(), 20000u);
  check_table(*table);
  const TableMemory memory = table->memory();
  EXPECT_GT(memory.heap_bytes, 20000u * 32);
  EXPECT_GT(memory.index_bytes, 20000u * 12);
  EXPECT_EQ(memory.chunk_bytes, 2u * table->layout().chunk_bytes);
}

TEST(TableTest, DroppingATableGivesAllMemoryBack) {
  TestStore store;
  const size_t before = store.arena->used_bytes();
  {
    auto table = store.table(pair_schema());
    const std::string large(300000, 'L');
    for (int i = 0; i < 10; ++i) must_insert(&store, table.get(), {int_datum(i), null_datum(), text(large.c_str())});
    ASSERT_TRUE(table->build_hash_companion(0).ok());
    store.log->commit();
  }
  // the redo buffer may have grown; it is given back beyond kKeptBytes
  EXPECT_LE(store.arena->used_bytes(), before + ChangeLog::kKeptBytes);
}

}  // namespace
}  // namespace scyper::storage
