#include "storage/logged_apply.h"

#include <gtest/gtest.h>

#include <set>
#include <utility>

#include "base/random.h"
#include "table_test_schema.h"

// Tables without primary key, and changes that do not fit any more. Tables of every type: table_model_test.cc.
namespace scyper::storage {
namespace {

TableSchema queue_schema() {
  TableSchema schema;
  schema.id = TableId(7);
  schema.name = "queue";
  schema.columns = {{"v", make_type(TypeId::kInt4), false},
                    {"note", make_type(TypeId::kText), false},
                    {"__row_id", make_type(TypeId::kInt8), true}};
  schema.indexes = {{IndexId(1), "queue_v", {0}, {}, false, false}};
  schema.has_row_id = true;
  return schema;
}

using Row = std::pair<int64_t, std::string>;

class QueueTest : public testing::Test {
 protected:
  std::string note_of(int64_t number) const {
    return number % 3 == 0 ? std::string(static_cast<size_t>(number % 2000), 'n') : std::to_string(number);
  }
  Tid add(int64_t v) {
    const std::string note = note_of(v);
    Tid tid = kNoTid;
    EXPECT_EQ(insert_row(partition_, log_, {int_datum(v), string_datum(note.data(), note.size())}, &tid),
              ChangeResult::kOk);
    return tid;
  }
  void change(Tid tid, int64_t v) {
    const std::string note = note_of(v);
    const bool both = v % 2 == 0;
    std::vector<Datum> values = {int_datum(v)};
    if (both) values.push_back(string_datum(note.data(), note.size()));
    EXPECT_EQ(update_row(partition_, log_, tid, both ? both_ : number_, values), ChangeResult::kOk);
  }
  // Live rows that are not among `kept`: row id to place.
  std::vector<Tid> rows(const std::set<int64_t>& kept = {}) const {
    std::vector<Tid> tids;
    for (Tid tid = 0; tid < partition_->tuple_limit; ++tid) {
      if (is_live(partition_, tid) && kept.count(read_column(partition_, tid, 2).lo) == 0) tids.push_back(tid);
    }
    return tids;
  }
  std::multiset<Row> contents() const {
    std::multiset<Row> found;
    for (const Tid tid : rows()) {
      const Datum note = read_column(partition_, tid, 1);
      found.insert({read_column(partition_, tid, 0).lo, std::string(note.data(), note.size())});
    }
    return found;
  }
  void apply(const std::string& redo) {
    const Status status = applier_.apply(redo, log_, &places_);
    ASSERT_TRUE(status.ok()) << status;
  }

  TestStore store_;
  std::unique_ptr<Table> table_ = store_.table(queue_schema());
  TablePartition* partition_ = table_->partition(0);
  ChangeLog* log_ = store_.log.get();
  UpdateDescriptor number_ = make_update_descriptor(*table_, std::vector<uint32_t>{0});
  UpdateDescriptor both_ = make_update_descriptor(*table_, std::vector<uint32_t>{0, 1});
  LoggedApplier applier_{[this](TableId) { return table_.get(); }, plain_text};
  RowPlaces places_;
};

// Between two applications others change other rows and draw the row ids that the changes had drawn.
TEST_F(QueueTest, ChangesFollowTheirRowsWhateverIdsAndPlacesTheseGet) {
  const uint64_t seed = 20261129;
  SCOPED_TRACE(seed);
  Random random(seed);
  for (int64_t i = 0; i < 50; ++i) add(i);
  log_->commit();
  for (int round = 0; round < 60 && !HasFailure(); ++round) {
    std::set<int64_t> own;  // row ids that were there before
    std::string redo;
    for (int job = 0; job < 4; ++job) {
      const std::multiset<Row> before = contents();
      const Digest digest = table_digest(*table_);
      apply(redo);
      for (uint64_t i = random.below(6); i > 0; --i) {
        const std::vector<Tid> all = rows();
        const Tid tid = all[random.below(all.size())];
        const int64_t id = read_column(partition_, tid, 2).lo;
        const uint64_t what = random.below(3);
        if (what != 0) own.insert(id);
        if (what == 0) add(random.between(0, 5000));
        if (what == 1) change(tid, random.between(0, 5000));
        if (what == 2 && all.size() > 20) ASSERT_EQ(delete_tuple(partition_, tid, log_), ChangeResult::kOk);
      }
      redo = log_->redo();
      const std::multiset<Row> after = contents();
      log_->rollback_all();
      EXPECT_EQ(table_digest(*table_), digest);
      apply(redo);
      EXPECT_EQ(contents(), after);
      log_->rollback_all();
      EXPECT_EQ(contents(), before);
      check_table(*table_);
      // others, who leave the block's rows alone
      for (uint64_t i = random.below(4); i > 0; --i) add(random.between(0, 5000));
      const std::vector<Tid> free = rows(own);
      if (!free.empty()) change(free[random.below(free.size())], random.between(0, 5000));
      log_->commit();
      if (random.one_in(4)) places_.clear();
    }
    const size_t rows_before = rows().size();
    apply(redo);
    if (random.one_in(2)) {
      log_->commit();
    } else {
      log_->rollback_all();
      EXPECT_EQ(rows().size(), rows_before);
    }
    check_table(*table_);
  }
}

TEST_F(QueueTest, AChangeOfARowThatHasGoneIsRefused) {
  const Tid tid = add(1);
  add(2);
  log_->commit();
  change(tid, 3);
  const std::string redo(log_->redo());
  log_->rollback_all();
  ASSERT_EQ(delete_tuple(partition_, tid, log_), ChangeResult::kOk);
  log_->commit();
  const Digest digest = table_digest(*table_);
  EXPECT_EQ(sqlstate_of(applier_.apply(redo, log_, &places_)), "40001");
  log_->rollback_all();
  EXPECT_EQ(table_digest(*table_), digest);
}

TEST(LoggedApplierTest, AKeyThatIsThereByNowIsRefusedWithoutATrace) {
  TestStore store;
  TableSchema schema = queue_schema();
  schema.columns.pop_back();
  schema.has_row_id = false;
  schema.columns[0].not_null = true;
  schema.indexes = {{IndexId(1), "queue_pkey", {0}, {}, true, true}};
  auto table = store.table(schema);
  ChangeLog* log = store.log.get();
  Tid tid;
  for (const int64_t v : {1, 2}) {
    ASSERT_EQ(insert_row(table->partition(0), log, {int_datum(v), null_datum()}, &tid), ChangeResult::kOk);
  }
  const std::string redo(log->redo());
  log->rollback_all();
  ASSERT_EQ(insert_row(table->partition(0), log, {int_datum(2), null_datum()}, &tid), ChangeResult::kOk);
  log->commit();
  const Digest digest = table_digest(*table);
  LoggedApplier applier([&](TableId) { return table.get(); }, plain_text);
  RowPlaces places;
  const Status status = applier.apply(redo, log, &places);
  EXPECT_EQ(sqlstate_of(status), "23505") << status;
  log->rollback_all();
  EXPECT_EQ(table_digest(*table), digest);
  EXPECT_EQ(sqlstate_of(applier.apply("\7", log, &places)), "XX001");
  log->rollback_all();
  check_table(*table);
}

}  // namespace
}  // namespace scyper::storage
