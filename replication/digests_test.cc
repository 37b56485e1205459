#include "replication/digests.h"

#include <gtest/gtest.h>

namespace scyper::replication {
namespace {

StateDigest digest_at(uint64_t lsn, uint64_t value = 1) {
  return {1, static_cast<uint32_t>(lsn), lsn, {{"a", 0, 5, 6, 7}, {"a", 1, value, 6, 7}, {"b", 0, 5, 6, 7}}};
}

TEST(Digests, EqualOnesInAnyOrder) {
  DigestBook book;
  book.add_own(digest_at(10));
  book.add("s1", digest_at(10));
  book.add("s2", digest_at(20));  // before this node's own
  EXPECT_EQ(book.comparisons()["s2"].equal, 0u);
  book.add_own(digest_at(20));
  EXPECT_EQ(book.comparisons()["s1"].equal, 1u);
  EXPECT_EQ(book.comparisons()["s2"].equal, 1u);
  EXPECT_EQ(book.comparisons()["s2"].lsn, 20u);
  EXPECT_TRUE(book.verdict("s1").ok() && book.verdict("s2").ok() && book.verdict("nobody").ok());
}

TEST(Digests, DifferentOnesAreNamed) {
  for (bool own_first : {true, false}) {
    DigestBook book;
    if (own_first) book.add_own(digest_at(10));
    book.add("s1", digest_at(10, 2));
    if (!own_first) book.add_own(digest_at(10));
    const Status verdict = book.verdict("s1");
    EXPECT_TRUE(absl::IsDataLoss(verdict));
    EXPECT_NE(verdict.message().find("at LSN 10: partition 1 of a has 7 rows instead of 7, with other values"),
              absl::string_view::npos)
        << verdict;
    book.forget("s1");  // it has begun anew
    EXPECT_TRUE(book.verdict("s1").ok());
    EXPECT_EQ(book.comparisons()["s1"].different, 1u);
    EXPECT_FALSE(book.comparisons()["s1"].difference.empty());
  }
}

// A node has the partitions that it subscribes to, and what is shared.
TEST(Digests, ThoseOfSomePartitions) {
  StateDigest own = digest_at(10);
  own.parts.push_back({"shared", 0, 3, 4, 5, /*is_shared=*/true});
  const PartitionSet subscribed = *PartitionSet::parse("1");
  const StateDigest told{1, 10, 10, {{"a", 1, 1, 6, 7}, {"shared", 0, 3, 4, 5}}};
  for (bool own_first : {true, false}) {
    DigestBook book;
    if (own_first) book.add_own(own);
    book.add("s1", told, subscribed);
    book.add("s2", told);
    if (!own_first) book.add_own(own);
    EXPECT_EQ(book.comparisons()["s1"].equal, 1u);
    EXPECT_EQ(book.comparisons()["s2"].different, 1u);
    EXPECT_TRUE(book.verdict("s1").ok());
  }
  StateDigest other = told;
  other.parts.erase(other.parts.begin());
  EXPECT_EQ(describe_difference(own, other, subscribed), "partition 1 of a is missing");
  other = told;
  other.parts.pop_back();
  EXPECT_EQ(describe_difference(own, other, subscribed), "partition 0 of shared is missing");
  other = told;
  other.parts.insert(other.parts.begin(), {"a", 0, 5, 6, 7});
  EXPECT_EQ(describe_difference(own, other, subscribed), "partition 0 of a should not be there");
  other = told;
  other.parts[0].rows = 8;
  EXPECT_EQ(describe_difference(own, other, subscribed), "partition 1 of a has 8 rows instead of 7");
}

// Should the primary's tables be wrong, the others have the only right ones: they must not all begin anew.
TEST(Digests, OneNodeIsToldUntilItIsEqual) {
  DigestBook book;
  book.add_own(digest_at(10));
  book.add("s1", digest_at(10, 2));
  book.add("s2", digest_at(10, 2));
  EXPECT_FALSE(book.verdict("s1").ok());
  EXPECT_TRUE(book.verdict("s2").ok());
  EXPECT_EQ(book.comparisons()["s2"].different, 1u);
  book.forget("s1");  // it has begun anew, and differs again
  EXPECT_TRUE(book.verdict("s2").ok());
  book.add_own(digest_at(20));
  for (const char* name : {"s1", "s2"}) book.add(name, digest_at(20, 2));
  EXPECT_TRUE(book.verdict("s2").ok());
  EXPECT_FALSE(book.verdict("s1").ok());
  book.forget("s1");
  book.add_own(digest_at(30));
  book.add("s1", digest_at(30));
  EXPECT_TRUE(book.verdict("s1").ok());
  EXPECT_FALSE(book.verdict("s2").ok());
  // gone for good: the next one's turn
  book.add("s1", digest_at(30, 2));
  EXPECT_TRUE(book.verdict("s1").ok());
  for (uint64_t lsn = 40; lsn <= 60; lsn += 10) book.add_own(digest_at(lsn));
  EXPECT_FALSE(book.verdict("s1").ok());
}

TEST(Digests, MissingAndSurplusPartitions) {
  StateDigest own = digest_at(10), other = own;
  EXPECT_EQ(describe_difference(own, other), "");
  other.parts.pop_back();
  EXPECT_EQ(describe_difference(own, other), "partition 0 of b is missing");
  EXPECT_EQ(describe_difference(other, own), "partition 0 of b should not be there");
  other = own;
  other.parts.erase(other.parts.begin());
  EXPECT_EQ(describe_difference(own, other), "partition 0 of a is missing");
  EXPECT_EQ(describe_difference(other, own), "partition 0 of a should not be there");
}

// Another term's state at the same LSN is another state; what nobody compares any more takes no memory.
TEST(Digests, OnlyTheSameCutIsCompared) {
  DigestBook book;
  StateDigest other = digest_at(10, 2);
  other.term = 2;
  book.add_own(digest_at(10));
  book.add("s1", other);
  for (uint64_t lsn = 1; lsn < 1000; ++lsn) book.add("s1", digest_at(lsn + 1000, 2));
  EXPECT_TRUE(book.verdict("s1").ok());
  EXPECT_EQ(book.comparisons()["s1"].different, 0u);
}

}  // namespace
}  // namespace scyper::replication
