#include "base/partition_set.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "base/test_seed.h"

namespace scyper {
namespace {

PartitionSet set_of(const char* text) { return *PartitionSet::parse(text); }

TEST(PartitionSet, ReadsWhatItWrites) {
  for (const char* text : {"0", "0-3", "0-3,7", "1,3,5-4095", "63-64"}) {
    const auto set = PartitionSet::parse(text);
    ASSERT_TRUE(set.ok()) << set.status();
    EXPECT_EQ(set->to_string(), text);
    EXPECT_EQ(PartitionSet::of_words(set->words()), *set);
    EXPECT_FALSE(set->is_all());
  }
  EXPECT_EQ(set_of("3, 2,1-2 ").to_string(), "1-3");
  EXPECT_TRUE(set_of("").is_all());
  EXPECT_TRUE(PartitionSet::of_words({}).is_all());
  EXPECT_EQ(PartitionSet().to_string(), "none");
  EXPECT_EQ(PartitionSet::of_words(PartitionSet().words()), PartitionSet());
}

TEST(PartitionSet, RefusesWhatIsNoList) {
  for (const char* text : {",", "a", "-", "1-", "-1", "3-1", "1,,2", "4096", "0-99999999999", "1;2"})
    EXPECT_EQ(sqlstate_of(PartitionSet::parse(text).status()), "22023") << text;
}

TEST(PartitionSet, CoversAsItsPartitionsDo) {
  Random random(test_seed());
  for (int round = 0; round < 2000; ++round) {
    PartitionSet one, other;
    for (uint64_t i = random.below(6); i > 0; --i) one.add(static_cast<uint32_t>(random.below(130)));
    for (uint64_t i = random.below(3); i > 0; --i) other.add(static_cast<uint32_t>(random.below(130)));
    bool covers = true;
    uint32_t highest = 0;
    for (uint32_t partition = 0; partition < 200; ++partition) {
      covers &= !other.has(partition) || one.has(partition);
      if (one.has(partition)) highest = partition;
    }
    EXPECT_EQ(one.covers(other), covers) << one.to_string() << " and " << other.to_string();
    EXPECT_EQ(one.highest(), highest);
    EXPECT_TRUE(PartitionSet::all().covers(one));
    EXPECT_FALSE(one.covers(PartitionSet::all()));
  }
}

}  // namespace
}  // namespace scyper
