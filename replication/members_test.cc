#include "replication/members.h"

#include <gtest/gtest.h>

namespace scyper::replication {
namespace {

Member voter(const std::string& name) {
  Member member;
  member.name = name;
  member.is_voter = true;
  return member;
}

Position at(uint64_t term, uint64_t received_lsn, uint64_t durable_lsn) {
  Position position;
  position.term = term;
  position.received_lsn = received_lsn;
  position.durable_lsn = durable_lsn;
  return position;
}

TEST(Members, AQuorumIsWhatEnoughVotersHaveOfThisTerm) {
  Members members(2, [] {});
  EXPECT_EQ(members.confirmed_lsn(0, true), ~uint64_t{0});
  EXPECT_EQ(members.confirmed_lsn(1, false), 0u);
  const uint64_t a = members.enter(voter("a")), b = members.enter(voter("b"));
  members.report(a, at(2, 10, 8), 1);
  members.report(b, at(1, 20, 20), 1);  // of another term
  EXPECT_EQ(members.confirmed_lsn(1, false), 10u);
  EXPECT_EQ(members.confirmed_lsn(1, true), 8u);
  EXPECT_EQ(members.confirmed_lsn(2, false), 0u);
  members.report(b, at(2, 7, 5), 2);
  EXPECT_EQ(members.confirmed_lsn(2, false), 7u);
  EXPECT_EQ(members.confirmed_lsn(2, true), 5u);
  members.leave(a);
  EXPECT_EQ(members.confirmed_lsn(1, false), 7u);
}

// Its queries end after it has come back under the same name.
TEST(Members, TicketsOfAConnectionBeforeDoNotCount) {
  Members members(1, [] {});
  const uint64_t before = members.enter(voter("a"));
  EXPECT_EQ(members.list().front().number, before);
  members.add_ticket(before, 1);
  EXPECT_EQ(members.list().front().tickets, 1u);
  const uint64_t after = members.enter(voter("a"));
  ASSERT_EQ(members.list().size(), 1u);
  members.add_ticket(after, 1);
  members.add_ticket(before, -1);
  EXPECT_EQ(members.list().front().tickets, 1u);
  members.add_ticket(after, -1);
  EXPECT_EQ(members.list().front().tickets, 0u);
}

}  // namespace
}  // namespace scyper::replication
