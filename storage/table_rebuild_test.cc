#include "storage/table_rebuild.h"

#include <gtest/gtest.h>

#include "storage/column_values.h"
#include "storage/string_heap.h"
#include "table_test_schema.h"

namespace scyper::storage {
namespace {

constexpr int kRows = 20'000;  // more than a chunk
constexpr const char* kLong = "a text that is too long for its cell";

TableSchema notes_schema(Layout layout) {
  TableSchema schema;
  schema.id = TableId(7);
  schema.name = "notes";
  schema.layout = layout;
  schema.columns = {{"id", make_type(TypeId::kInt4), true},
                    {"name", make_string(TypeId::kVarchar, 20), false},
                    {"note", make_type(TypeId::kText), false},
                    {"size", make_type(TypeId::kInt4), false}};
  schema.indexes = {{IndexId(1), "notes_pkey", {0}, {}, true, true},
                    {IndexId(2), "notes_size", {3, 2}, {}, false, false}};
  return schema;
}

class TableRebuildTest : public testing::TestWithParam<Layout> {
 protected:
  void SetUp() override {
    table_ = store_.table(notes_schema(GetParam()));
    for (int i = 0; i < kRows; ++i) insert(table_.get(), i);
    store_.log->commit();
    for (int i = 0; i < kRows; i += 7) remove(table_.get(), i);
    store_.log->commit();
    ASSERT_TRUE(table_->build_hash_companion(0).ok());
    columns_.resize(4);
    for (int i = 0; i < 4; ++i) columns_[static_cast<size_t>(i)].from = i;
  }
  // In reverse order of the key.
  void insert(Table* table, int i) {
    const std::string note = i % 3 == 0 ? std::string(kLong) + std::to_string(i) : "short";
    const size_t visible = visible_columns(table->schema());
    std::vector<Datum> row = {int_datum(kRows - i), string_datum("name", 4), string_datum(note.data(), note.size()),
                              i % 5 == 0 ? null_datum() : int_datum(i)};
    row.resize(visible, int_datum(1));
    Tid tid;
    ASSERT_EQ(insert_row(table->partition(0), store_.log.get(), row, &tid), ChangeResult::kOk);
  }
  void remove(Table* table, Tid tid) {
    ASSERT_EQ(delete_tuple(table->partition(0), tid, store_.log.get()), ChangeResult::kOk);
  }
  void add_column(const char* name, const SqlType& type, std::vector<Datum> values, bool not_null = false) {
    schema_.columns.push_back({name, type, not_null});
    columns_.emplace_back();
    columns_.back().values = std::move(values);
  }
  StatusOr<std::unique_ptr<Table>> rebuild(bool by_identity = false, RebuildMode mode = RebuildMode::kCopies) {
    return rebuild_table(table_.get(), schema_, columns_, by_identity, plain_text, mode);
  }

  TestStore store_;
  std::unique_ptr<Table> table_;
  TableSchema schema_ = notes_schema(GetParam());
  std::vector<RebuiltColumn> columns_;
};

TEST_P(TableRebuildTest, RowsKeepTheirPlaces) {
  add_column("more", make_type(TypeId::kInt8), {int_datum(42)}, true);
  add_column("none", make_type(TypeId::kText), {null_datum()});
  add_column("long", make_type(TypeId::kText), {string_datum(kLong, strlen(kLong))});
  schema_.columns[1].type = make_string(TypeId::kVarchar, 40);  // a wider cell
  auto next = rebuild();
  ASSERT_TRUE(next.ok()) << next.status();
  EXPECT_NE((*next)->partition(0)->indexes[0].hash, nullptr);
  check_table(**next);
  check_table(*table_);
  for (Tid tid = 1; tid < 100; ++tid) {
    ASSERT_EQ(is_live((*next)->partition(0), tid), is_live(table_->partition(0), tid));
    if (!is_live((*next)->partition(0), tid)) continue;
    EXPECT_EQ(read_column((*next)->partition(0), tid, 0).lo, read_column(table_->partition(0), tid, 0).lo);
    EXPECT_EQ(read_column((*next)->partition(0), tid, 4).lo, 42);
    EXPECT_NE(read_column((*next)->partition(0), tid, 5).null, 0);
    EXPECT_EQ(read_column((*next)->partition(0), tid, 6).size(), strlen(kLong));
  }
  table_->release();
  check_table(**next);
}

// What a transaction does to the new table and takes back leaves the old one as it was.
TEST_P(TableRebuildTest, TheOldTableServesAgain) {
  const Digest before = table_digest(*table_);
  remove(table_.get(), 1);  // of the same transaction
  add_column("more", make_type(TypeId::kInt4), {int_datum(1)});
  auto next = rebuild();
  ASSERT_TRUE(next.ok()) << next.status();
  check_table(**next);
  for (int i = 1; i < 3000; ++i) insert(next->get(), -i);
  check_table(**next);
  for (Tid tid = 2; tid < 6; ++tid) remove(next->get(), tid);
  store_.log->rollback_all();
  (*next)->release();
  next->reset();
  check_table(*table_);
  EXPECT_EQ(table_digest(*table_), before);
  insert(table_.get(), -1);
  store_.log->commit();
  check_table(*table_);
}

TEST_P(TableRebuildTest, WhatOneTransactionDeletedBeforeIsGoneBehindIt) {
  remove(table_.get(), 1);
  remove(table_.get(), 6);
  add_column("more", make_type(TypeId::kInt4), {int_datum(1)});
  auto next = rebuild();
  ASSERT_TRUE(next.ok()) << next.status();
  insert(next->get(), -1);
  store_.log->commit();
  table_->release();
  check_table(**next);
  EXPECT_EQ((*next)->live_tuples(), static_cast<uint64_t>(kRows - (kRows + 6) / 7 - 1));
}

TEST_P(TableRebuildTest, ADroppedTextLeavesNoPieces) {
  schema_.columns.erase(schema_.columns.begin() + 2);
  schema_.indexes[1].columns = {2};
  columns_.erase(columns_.begin() + 2);
  auto next = rebuild();
  ASSERT_TRUE(next.ok()) << next.status();
  check_table(**next);
  EXPECT_EQ((*next)->partition(0)->heap->in_use_pieces(), 0u);
}

TEST_P(TableRebuildTest, ValuesAreGivenByIdentity) {
  std::vector<Datum> values;
  for (uint64_t i = 0; i < table_->live_tuples(); ++i) values.push_back(int_datum(static_cast<int64_t>(i)));
  add_column("rank", make_type(TypeId::kInt8), values, true);
  auto next = rebuild(true);
  ASSERT_TRUE(next.ok()) << next.status();
  check_table(**next);
  const TablePartition* partition = (*next)->partition(0);
  EXPECT_EQ(read_column(partition, kRows - 2, 0).lo, 2);
  EXPECT_EQ(read_column(partition, kRows - 2, 4).lo, 0);  // the least key lies last
  EXPECT_EQ(read_column(partition, kRows - 3, 4).lo, 1);
  const auto places = places_by_identity(*table_);
  ASSERT_TRUE(places.ok());
  EXPECT_EQ(places->front(), table_->live_tuples() - 1);
  EXPECT_EQ(places->back(), 0u);
}

TEST_P(TableRebuildTest, NullsAreFoundAndColumnsWidened) {
  schema_.columns[3].not_null = true;
  EXPECT_EQ(sqlstate_of(rebuild().status()), "23502");
  schema_.columns[3] = {"size", make_type(TypeId::kInt8), false};
  auto wider = rebuild();
  ASSERT_TRUE(wider.ok()) << wider.status();
  check_table(**wider);
  EXPECT_EQ(read_column((*wider)->partition(0), 1, 3).lo, 1);
  EXPECT_NE(read_column((*wider)->partition(0), 5, 3).null, 0);
  add_column("missing", make_type(TypeId::kInt4), {null_datum()}, true);
  EXPECT_EQ(sqlstate_of(rebuild().status()), "23502");
  check_table(*table_);
}

TEST_P(TableRebuildTest, RowIdsTakeThePlaceOfAKey) {
  schema_.indexes.erase(schema_.indexes.begin());
  schema_.columns.push_back({"__row_id", make_type(TypeId::kInt8), true});
  schema_.has_row_id = true;
  auto next = rebuild();
  ASSERT_TRUE(next.ok()) << next.status();
  check_table(**next);
  EXPECT_LT(read_column((*next)->partition(0), kRows - 1, 4).lo, read_column((*next)->partition(0), 1, 4).lo);
  schema_.indexes.push_back({IndexId(9), "one", {2}, {}, true, false});
  EXPECT_EQ(sqlstate_of(rebuild().status()), "23505");
}

TEST_P(TableRebuildTest, SharedRowsAreNotCopied) {
  const Digest before = table_digest(*table_);
  add_column("more", make_type(TypeId::kInt8), {int_datum(42)}, true);
  add_column("none", make_type(TypeId::kText), {null_datum()});
  add_column("long", make_type(TypeId::kText), {string_datum(kLong, strlen(kLong))});
  schema_.indexes.push_back({IndexId(3), "notes_more", {4, 0}, {}, true, false});
  auto next = rebuild(false, RebuildMode::kShares);
  ASSERT_TRUE(next.ok()) << next.status();
  const TablePartition* old = table_->partition(0);
  const TablePartition* made = (*next)->partition(0);
  EXPECT_EQ(made->chunks[0], old->chunks[0]);
  EXPECT_EQ(made->indexes[0].hash, old->indexes[0].hash);
  EXPECT_EQ(made->indexes[1].ordered, old->indexes[1].ordered);
  EXPECT_EQ(table_digest(*table_), before);
  for (Tid tid = 1; tid < kRows; tid += 101) {
    if (!is_live(made, tid)) continue;
    EXPECT_EQ(read_column(made, tid, 0).lo, read_column(old, tid, 0).lo);
    EXPECT_EQ(read_column(made, tid, 4).lo, 42);
    EXPECT_NE(read_column(made, tid, 5).null, 0);
    EXPECT_EQ(read_column(made, tid, 6).size(), strlen(kLong));
  }
  table_->release();
  EXPECT_EQ(table_->live_tuples(), 0u);
  check_table(**next);
  for (int i = 1; i < 3000; ++i) insert(next->get(), -i);
  for (Tid tid = 8; tid < 12; ++tid) remove(next->get(), tid);
  store_.log->commit();
  check_table(**next);
  table_.reset();
  check_table(**next);
}

// A definition that fails leaves the old table as it was.
TEST_P(TableRebuildTest, SharedRowsComeBack) {
  const Digest before = table_digest(*table_);
  const uint64_t pieces = table_->partition(0)->heap->in_use_pieces();
  for (int round = 0; round < 3; ++round) {
    add_column("long", make_type(TypeId::kText), {string_datum(kLong, strlen(kLong))});
    schema_.indexes.push_back({IndexId(static_cast<uint32_t>(9 + round)), "one", {2}, {}, round == 2, false});
    auto next = rebuild(false, RebuildMode::kShares);
    ASSERT_EQ(next.ok(), round < 2) << next.status();
    if (next.ok()) next->reset();
    schema_.indexes.pop_back();
    EXPECT_EQ(table_->partition(0)->heap->in_use_pieces(), pieces);
    EXPECT_EQ(table_digest(*table_), before);
    check_table(*table_);
    insert(table_.get(), -1);
    store_.log->rollback_all();
    remove(table_.get(), 9);
    store_.log->rollback_all();
    check_table(*table_);
  }
}

// ALTER TABLE with several commands makes several tables; the last one may fail.
TEST_P(TableRebuildTest, SharedRowsGoToTheLastTable) {
  add_column("long", make_type(TypeId::kText), {string_datum(kLong, strlen(kLong))});
  auto second = rebuild(false, RebuildMode::kShares);
  ASSERT_TRUE(second.ok()) << second.status();
  columns_[4] = RebuiltColumn{.from = 4, .values = {}};
  schema_.columns[3] = {"size", make_type(TypeId::kInt8), false};  // in cells of its own, which an index reads
  add_column("other", make_type(TypeId::kText), {string_datum(kLong, strlen(kLong))});
  add_column("missing", make_type(TypeId::kInt4), {null_datum()}, true);
  auto remake = [&] {
    return rebuild_table(second->get(), schema_, columns_, false, plain_text, RebuildMode::kShares);
  };
  EXPECT_EQ(sqlstate_of(remake().status()), "23502");
  schema_.columns.back().not_null = false;
  for (const bool succeeds : {false, true}) {
    auto third = remake();
    ASSERT_TRUE(third.ok()) << third.status();
    EXPECT_EQ((*third)->partition(0)->chunks[0], table_->partition(0)->chunks[0]);
    EXPECT_EQ((*third)->partition(0)->chunks[0], (*second)->partition(0)->chunks[0]);
    EXPECT_EQ(read_column((*third)->partition(0), 1, 3).lo, 1);
    EXPECT_NE((*third)->partition(0)->indexes[1].ordered, table_->partition(0)->indexes[1].ordered);
    ASSERT_TRUE((*second)->build_hash_companion(0).ok());
    if (!succeeds) continue;
    table_->release();
    second->reset();
    check_table(**third);
    for (int i = 1; i < 30; ++i) insert(third->get(), -i);
    store_.log->commit();
    check_table(**third);
    return;
  }
}

TEST_P(TableRebuildTest, AlotOfColumnsEndUpInNewChunks) {
  for (int i = 0; i < 12; ++i) {
    add_column("more", make_type(TypeId::kInt4), {int_datum(i)});
    auto next = rebuild(false, RebuildMode::kShares);
    ASSERT_TRUE(next.ok()) << next.status();
    columns_.back() = RebuiltColumn{.from = static_cast<int>(columns_.size()) - 1, .values = {}};
    table_->release();
    table_ = *std::move(next);
    check_table(*table_);
    EXPECT_LE(table_->layout().chunk_bytes, chunk_bytes_of(schema_) * 5 / 4 + 16384);
  }
  EXPECT_EQ(read_column(table_->partition(0), 1, 4).lo, 0);
  EXPECT_EQ(read_column(table_->partition(0), 1, 15).lo, 11);
}

TEST_P(TableRebuildTest, LoggedValuesAreRead) {
  const std::vector<std::pair<SqlType, Datum>> kinds = {{make_type(TypeId::kInt4), int_datum(7)},
                                                        {make_type(TypeId::kText), string_datum(kLong, strlen(kLong))},
                                                        {make_numeric(0, 0), int128_datum(12345, 2)},
                                                        {make_type(TypeId::kText), null_datum()}};
  for (const auto& [type, value] : kinds) {
    std::vector<Datum> values(table_->live_tuples(), value);
    values[3] = null_datum();
    std::string bytes;
    append_column_values(*table_, type, values, &bytes);
    const auto read = read_column_values(bytes, *table_, type, false);
    ASSERT_TRUE(read.ok()) << read.status();
    ASSERT_EQ(read->values.size(), values.size());
    EXPECT_TRUE(same_value(type, read->values[4], value));
    EXPECT_NE(read->values[3].null, 0);
    for (const size_t size : {size_t{1}, size_t{9}, bytes.size() / 2, bytes.size() - 1})
      EXPECT_EQ(sqlstate_of(read_column_values(bytes.substr(0, size), *table_, type, false).status()), "XX001") << size;
    std::string one;
    append_column_values(*table_, type, {&value, 1}, &one);
    EXPECT_EQ(read_column_values(one, *table_, type, false)->values.size(), 1u);
    EXPECT_EQ(sqlstate_of(read_column_values(one + bytes, *table_, type, false).status()), "XX001");
  }
  auto other = store_.table(notes_schema(GetParam()));
  std::string bytes;
  append_column_values(*table_, make_type(TypeId::kInt4), std::vector<Datum>(table_->live_tuples(), int_datum(1)),
                       &bytes);
  EXPECT_EQ(sqlstate_of(read_column_values(bytes, *other, make_type(TypeId::kInt4), false).status()), "XX001");
  EXPECT_TRUE(read_column_values(bytes, *other, make_type(TypeId::kInt4), true).ok());  // another partition's
}

INSTANTIATE_TEST_SUITE_P(Layouts, TableRebuildTest, testing::Values(Layout::kColumn, Layout::kRow));

}  // namespace
}  // namespace scyper::storage
