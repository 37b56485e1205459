#include "storage/row_claims.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "storage/key.h"
#include "table_test_schema.h"

namespace scyper::storage {
namespace {

// a is the primary key, b unique, c neither.
class RowClaimsTest : public testing::Test {
 protected:
  RowClaimsTest() {
    TableSchema schema;
    schema.id = TableId(7);
    schema.name = "t";
    schema.columns = {{"a", make_type(TypeId::kInt4), true},
                      {"b", make_type(TypeId::kInt4), false},
                      {"c", make_type(TypeId::kInt4), false}};
    schema.indexes = {{IndexId(1), "t_pkey", {0}, {}, true, true}, {IndexId(2), "t_b_key", {1}, {}, true, false}};
    table_ = store_.table(schema);
    for (uint32_t column = 0; column < 3; ++column)
      updates_.push_back(make_update_descriptor(*table_, std::vector<uint32_t>{column}));
  }
  Tid add(int64_t a, Datum b) {
    Tid tid = kNoTid;
    EXPECT_EQ(insert_row(table_->partition(0), log_, {int_datum(a), b, int_datum(0)}, &tid), ChangeResult::kOk);
    return tid;
  }
  void set(Tid tid, uint32_t column, int64_t value) {
    EXPECT_EQ(update_row(table_->partition(0), log_, tid, updates_[column], {int_datum(value)}), ChangeResult::kOk);
  }
  void erase(Tid tid) { EXPECT_EQ(delete_tuple(table_->partition(0), tid, log_), ChangeResult::kOk); }
  // "a=1": the row or key of the primary index, "b=1": the key of the other one. The strongest lock of each.
  std::map<std::string, RowLock> claims(const UndoEntry* before = nullptr) {
    std::map<std::string, RowLock> found;
    const auto all = visit_claims(*log_, before, [&](const RowClaim& claim) {
      const std::string name = name_of(claim.name);
      if (found.count(name) == 0 || found[name] < claim.lock) found[name] = claim.lock;
      return true;
    });
    EXPECT_TRUE(all.ok() && *all);
    return found;
  }
  std::string name_of(std::string_view bytes) const {
    for (const uint32_t index : {0u, 1u}) {
      for (int64_t value = 0; value < 20; ++value) {
        char key[kMaxIndexKeyBytes];
        const KeyFormat format = *KeyFormat::create(table_->schema().indexes[index], table_->schema());
        const Datum datum = int_datum(value);
        const size_t size = format.encode({&datum, 1}, key);
        if (bytes[4] == static_cast<char>(index) && bytes.substr(8) == std::string_view(key, size))
          return (index == 0 ? "a=" : "b=") + std::to_string(value);
      }
    }
    return "?";
  }

  TestStore store_;
  ChangeLog* log_ = store_.log.get();
  std::unique_ptr<Table> table_;
  std::vector<UpdateDescriptor> updates_;
};

using Claims = std::map<std::string, RowLock>;

TEST_F(RowClaimsTest, RowsAndTheKeysThatTheyHaveNow) {
  const Tid one = add(1, int_datum(11)), two = add(2, int_datum(12)), three = add(3, null_datum());
  log_->commit();
  set(one, 2, 5);
  EXPECT_EQ(claims(), (Claims{{"a=1", RowLock::kNoKeyUpdate}}));
  const UndoEntry* before = log_->top();
  set(one, 1, 15);
  set(one, 1, 16);
  EXPECT_EQ(claims(before), (Claims{{"a=1", RowLock::kUpdate}, {"b=16", RowLock::kUpdate}}));
  log_->rollback_all();
  erase(two);
  EXPECT_EQ(claims(), (Claims{{"a=2", RowLock::kUpdate}}));
  log_->rollback_all();
  set(three, 1, 13);
  EXPECT_EQ(claims(), (Claims{{"a=3", RowLock::kUpdate}, {"b=13", RowLock::kUpdate}}));
  log_->rollback_all();
  add(4, null_datum());  // NULL is equal to no other
  EXPECT_EQ(claims(), (Claims{{"a=4", RowLock::kUpdate}}));
  EXPECT_FALSE(*visit_claims(*log_, nullptr, [](const RowClaim&) { return false; }));
  log_->rollback_all();
}

TEST_F(RowClaimsTest, ARowIsNamedByTheKeyThatOthersSee) {
  const Tid one = add(1, int_datum(11));
  log_->commit();
  set(one, 2, 5);
  set(one, 0, 7);
  set(one, 2, 6);
  set(one, 0, 8);
  const Claims expected = {{"a=1", RowLock::kUpdate}, {"a=7", RowLock::kUpdate}, {"a=8", RowLock::kUpdate}};
  EXPECT_EQ(claims(), expected);
  erase(one);
  EXPECT_EQ(claims(), expected);
  log_->rollback_all();
}

TEST_F(RowClaimsTest, NamesByValuesAreTheSame) {
  const Tid one = add(1, int_datum(11));
  log_->commit();
  char by_place[kClaimBytesMax], by_value[kClaimBytesMax];
  const Datum key = int_datum(1);
  EXPECT_EQ(*name_row(table_->partition(0), one, by_place), *name_row(*table_, {&key, 1}, by_value));
}

TEST(RowLockTest, ExcludesAsPostgresDoes) {
  const RowLock all[] = {RowLock::kKeyShare, RowLock::kShare, RowLock::kNoKeyUpdate, RowLock::kUpdate};
  const bool expected[4][4] = {
      {false, false, false, true}, {false, false, true, true}, {false, true, true, true}, {true, true, true, true}};
  for (int i = 0; i < 4; ++i) {
    for (int j = 0; j < 4; ++j) EXPECT_EQ(excludes(all[i], all[j]), expected[i][j]);
  }
}

}  // namespace
}  // namespace scyper::storage
