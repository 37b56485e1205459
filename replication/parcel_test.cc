#include "replication/parcel.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/test_seed.h"
#include "testing/group_maker.h"

namespace scyper::replication {
namespace {

constexpr ClusterId kCluster{{7, 9}};

PartitionSet random_set(Random* random) {
  PartitionSet set;
  for (uint32_t partition = 0; partition < 6; ++partition) {
    if (random->one_in(2)) set.add(partition);
  }
  return set;
}

// Records of any size, none too, in any streams: of one several batches can be in a group.
struct RandomGroups {
  Random random{test_seed()};
  GroupMaker primary{kCluster, [this](uint64_t) {
                       std::string record(random.below(300), '\0');
                       for (char& each : record) each = static_cast<char>(random.below(256));
                       return record;
                     }};

  Parcel next() {
    std::vector<uint32_t> streams(1 + random.below(5));
    for (uint32_t& stream : streams) stream = static_cast<uint32_t>(random.below(7));
    return primary.make(1, streams, static_cast<uint32_t>(1 + random.below(3)));
  }
};

Parcel of_bytes(std::string bytes) {
  Parcel parcel;
  parcel.bytes = std::make_shared<const std::string>(std::move(bytes));
  return parcel;
}

TEST(Parcel, APartialOneHasAllHeadersAndTheBodiesOfItsStreams) {
  RandomGroups groups;
  for (int i = 0; i < 300; ++i) {
    Parcel whole = groups.next();
    const PartitionSet set = random_set(&groups.random);
    const auto all = open_parcel(kCluster, &whole);
    ASSERT_TRUE(all.ok()) << all.status();
    auto partial = partial_parcel(GroupMaker::fetched(whole), set);
    ASSERT_TRUE(partial.ok()) << partial.status();
    const auto some = open_parcel(kCluster, &*partial, set);
    ASSERT_TRUE(some.ok()) << some.status();
    EXPECT_EQ(partial->base_lsn, whole.base_lsn);
    EXPECT_EQ(partial->complete_lsn, whole.complete_lsn);
    ASSERT_EQ(some->size(), all->size());
    size_t bytes = 0;
    for (size_t batch = 0; batch < all->size(); ++batch) {
      const BatchHeader& header = (*all)[batch].header;
      EXPECT_EQ(std::memcmp(&(*some)[batch].header, &header, sizeof(header)), 0);
      const bool is_subscribed = header.stream == 0 || set.has(header.stream - 1);
      EXPECT_EQ((*some)[batch].has_body, is_subscribed);
      EXPECT_EQ((*some)[batch].body, is_subscribed ? (*all)[batch].body : "");
      bytes += is_subscribed ? header.total_bytes() : sizeof(header);
    }
    EXPECT_EQ(partial->bytes->size(), bytes);
    // once more changes nothing, and a subscription to all takes all
    EXPECT_EQ(partial_parcel(*partial, set)->bytes, partial->bytes);
    EXPECT_EQ(partial_parcel(whole, PartitionSet::all())->bytes, whole.bytes);
    std::vector<ChainPosition> with_all, with_some;
    EXPECT_TRUE(follow_chain(*all, true, &with_all).ok() && follow_chain(*some, true, &with_some).ok());
    EXPECT_EQ(with_all, with_some);
  }
}

// What a subscription has and another has not: missing, or too much.
TEST(Parcel, BodiesThatAreMissingOrTooManyAreDamage) {
  RandomGroups groups;
  int missing = 0, extra = 0;
  for (int i = 0; i < 500; ++i) {
    const Parcel whole = groups.next();
    const PartitionSet given = random_set(&groups.random), wanted = random_set(&groups.random);
    const Parcel partial = *partial_parcel(whole, given);
    Parcel same = whole, lacks = whole;
    const auto batches = *open_parcel(kCluster, &same);
    bool is_missing = false, is_extra = false;
    for (const BatchView& batch : batches) {
      const bool has_bytes = batch.header.total_bytes() > sizeof(BatchHeader);
      const bool is_given = has_stream(given, batch.header.stream), is_wanted = has_stream(wanted, batch.header.stream);
      is_missing |= has_bytes && is_wanted && !is_given;
      is_extra |= has_bytes && is_given && !is_wanted;
    }
    lacks.bytes = partial.bytes;
    const Status status = open_parcel(kCluster, &lacks, wanted).status();
    EXPECT_EQ(status.ok(), !is_missing && !is_extra) << status;
    EXPECT_TRUE(status.ok() || absl::IsDataLoss(status)) << status;
    missing += is_missing && !is_extra ? 1 : 0;
    extra += is_extra && !is_missing ? 1 : 0;
  }
  EXPECT_GT(missing, 0);
  EXPECT_GT(extra, 0);
}

TEST(Parcel, EachFlippedBitAndEachCutIsFound) {
  RandomGroups groups;
  for (int i = 0; i < 100; ++i) {
    const Parcel whole = groups.next();
    const PartitionSet set = random_set(&groups.random);
    const std::string bytes = *partial_parcel(whole, set)->bytes;
    for (int flip = 0; flip < 100; ++flip) {
      std::string flipped = bytes;
      flipped[groups.random.below(bytes.size())] ^= static_cast<char>(1 << groups.random.below(8));
      Parcel damaged = of_bytes(flipped);
      const Status status = open_parcel(kCluster, &damaged, set).status();
      EXPECT_TRUE(absl::IsDataLoss(status)) << status;
      // that is copied as it is, or not at all
      const auto again = partial_parcel(of_bytes(flipped), set);
      EXPECT_TRUE(!again.ok() || *again->bytes == flipped);
    }
    const size_t size = groups.random.below(bytes.size());
    for (std::string cut : {bytes.substr(0, size), bytes + bytes.substr(0, 128), bytes + "x"}) {
      Parcel damaged = of_bytes(std::move(cut));
      const Status status = open_parcel(kCluster, &damaged, set).status();
      EXPECT_TRUE(absl::IsDataLoss(status)) << status;
      if (damaged.bytes->size() < bytes.size()) EXPECT_FALSE(partial_parcel(damaged, set).ok());
    }
  }
}

}  // namespace
}  // namespace scyper::replication
