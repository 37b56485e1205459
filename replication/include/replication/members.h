#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/partition_set.h"

namespace scyper::replication {

struct StateDigest;

// How far a secondary is, as it says itself.
struct Position {
  uint64_t term = 0;
  uint64_t received_lsn = 0;
  uint64_t durable_lsn = 0;  // 0: keeps no log
  uint64_t applied_lsn = 0;
  uint32_t snapshot = 0;     // number of the newest global snapshot that it has
  bool serves = false;       // takes queries
  bool has_room = true;      // for global snapshots
  uint32_t queries = 0;      // running and waiting there
  uint64_t repaired = 0;     // groups that it had to fetch
  uint64_t resets = 0;       // of its multicast transport
  std::string transport;     // "pgm", "rdma", "unicast"
  int64_t lag_us = 0;        // since it was up to date
  uint64_t archive_lsn = 0;  // of the newest archive in its data directory; 0: none
  // Of its newest digested snapshot, once.
  std::shared_ptr<const StateDigest> digest;
};

struct Member {
  uint64_t number = 0;  // of its connection: Members::enter()'s
  std::string name;
  std::string address;  // host:port of its gRPC
  bool is_voter = false;
  PartitionSet partitions = PartitionSet::all();  // that it subscribes to
  Position position;
  int64_t seen_ns = 0;
  uint32_t tickets = 0;  // given and not yet over, as far as the primary knows
  uint64_t turn = 0;     // when it was chosen last, among all choices
};

// Who follows the primary and how far they are. Threads: any.
class Members {
 public:
  static constexpr int64_t kSilenceNs = 2'000'000'000;  // since a member's last word: then it gets no queries

  // on_change: after each report, without locks; must be quick.
  // voters: names that count in the quorums; empty: those that say so themselves. Of some partitions nobody counts.
  Members(uint64_t term, std::function<void()> on_change, std::vector<std::string> voters = {})
      : term_(term), on_change_(std::move(on_change)), voters_(std::move(voters)) {}

  // A connection begins and ends; one per name counts, the newest. Returns its number for report() and leave().
  uint64_t enter(const Member& member);
  void leave(uint64_t number);
  void report(uint64_t number, const Position& position, int64_t now_ns);

  // Up to where at least `copies` voters have everything, in memory or on disk. copies 0: everything.
  uint64_t confirmed_lsn(uint32_t copies, bool is_durable) const;
  // Of all that follow; ~0 when nobody does.
  uint64_t applied_lsn_min() const;
  std::vector<Member> list() const;
  // For a query that arrives now and reads those partitions: of those that subscribe to them, serve, have room and were
  // heard within kSilenceNs the one with least to do; of equals the one that was chosen longest ago. asking: the member
  // who asks and takes the query itself if it can.
  std::optional<Member> choose(const std::string& asking, const PartitionSet& reads, int64_t now_ns);
  // number: of the connection that the ticket was given for; when that is over it does not count any more.
  void add_ticket(uint64_t number, int change);

 private:
  const uint64_t term_;
  const std::function<void()> on_change_;
  const std::vector<std::string> voters_;
  mutable std::mutex mutex_;  // all that follows
  std::map<uint64_t, Member> members_;
  uint64_t last_ = 0;
  uint64_t choices_ = 0;
};

}  // namespace scyper::replication
