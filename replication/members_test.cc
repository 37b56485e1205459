#include "replication/members.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

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

// By what they have to do, and in turns where that is the same.
TEST(Members, QueriesGoToThoseWithLeastToDo) {
  Members members(1, [] {});
  EXPECT_FALSE(members.choose("", PartitionSet::all(), 0).has_value());
  std::map<std::string, uint64_t> numbers;
  auto report = [&](const std::string& name, uint32_t queries, bool has_room = true, uint64_t term = 1) {
    Position position;
    position.term = term;
    position.serves = true;
    position.has_room = has_room;
    position.queries = queries;
    members.report(numbers[name], position, 0);
  };
  auto chosen = [&](const std::string& asking = "", int64_t now_ns = 1) {
    auto member = members.choose(asking, PartitionSet::all(), now_ns);
    return member.has_value() ? member->name : "";
  };
  for (const char* name : {"a", "b", "c"}) numbers[name] = members.enter(voter(name));
  EXPECT_EQ(chosen(), "");  // they have not said that they serve
  for (const char* name : {"a", "b", "c"}) report(name, 0);
  for (const char* name : {"a", "b", "c", "a", "b", "c"}) EXPECT_EQ(chosen(), name);
  report("a", 2);
  members.add_ticket(numbers["b"], 1);
  EXPECT_EQ(chosen(), "c");
  EXPECT_EQ(chosen(), "c");
  EXPECT_EQ(chosen("a"), "a");  // who asks takes it, whatever it has to do
  report("c", 0, /*has_room=*/false);
  EXPECT_EQ(chosen(), "b");
  report("b", 0, /*has_room=*/true, /*term=*/2);
  EXPECT_EQ(chosen(), "a");
  EXPECT_EQ(chosen("", Members::kSilenceNs + 1), "");
}

TEST(Members, QueriesGoToThoseWhoSubscribeToWhatTheyRead) {
  Members members(1, [] {});
  const auto enter = [&](const std::string& name, const char* partitions) {
    Member member = voter(name);
    member.partitions = *PartitionSet::parse(partitions);
    Position position;
    position.term = 1;
    position.serves = true;
    members.report(members.enter(member), position, 0);
  };
  enter("low", "0-3");
  enter("high", "2-7");
  const auto chosen = [&](const PartitionSet& reads, const std::string& asking = "") {
    auto member = members.choose(asking, reads, 0);
    return member.has_value() ? member->name : "";
  };
  EXPECT_EQ(chosen(*PartitionSet::parse("0")), "low");
  EXPECT_EQ(chosen(*PartitionSet::parse("0")), "low");
  EXPECT_EQ(chosen(*PartitionSet::parse("4,7")), "high");
  EXPECT_EQ(chosen(*PartitionSet::parse("2-3"), "low"), "low");
  EXPECT_EQ(chosen(*PartitionSet::parse("0,7")), "");
  EXPECT_EQ(chosen(PartitionSet::all()), "");
  EXPECT_EQ(chosen(PartitionSet(), "high"), "high");  // tables that all have
  enter("whole", "");
  EXPECT_EQ(chosen(PartitionSet::all(), "low"), "whole");
}

}  // namespace
}  // namespace scyper::replication
