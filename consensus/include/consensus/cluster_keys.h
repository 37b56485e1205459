#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "consensus/elector.h"
#include "consensus/etcd.h"

namespace scyper::consensus {

// What a node says of itself in etcd.
struct MemberEntry {
  Member member;
  std::string address;  // of its gRPC, for clients and secondaries
  std::string peers;    // of its service for the other voters (proto/failover.proto)
};

struct ClusterConfig {
  uint64_t version = 0;
  Voters voters;
  std::string commit_mode;
};

// A wish that the primary hands over (docs/failover.md, Switchover); the answer, where it is not done, in the same key.
struct SwitchoverRequest {
  uint64_t term = 0;      // of the primary that is asked
  std::string id;         // of the request: drawn by who asks
  std::string to;         // empty: the primary chooses
  uint64_t drain_ms = 0;  // that it may be closed for
  std::string failure;    // why it is not done; empty: no answer yet
  friend bool operator==(const SwitchoverRequest&, const SwitchoverRequest&) = default;
};

// Values of the keys: words "name=value". Decoders: DataLoss with what is wrong; words that they do not know are
// skipped.
std::string encode_position(const Position& position);
StatusOr<Position> decode_position(const std::string& value);
std::string encode_member(const MemberEntry& entry);
StatusOr<MemberEntry> decode_member(const std::string& value);
std::string encode_config(const ClusterConfig& config);
StatusOr<ClusterConfig> decode_config(const std::string& value);
std::string encode_leader(const Promise& leader);  // config is left out where it is 0
StatusOr<Promise> decode_leader(const std::string& value);
std::string encode_appointment(const Appointment& appointment);
StatusOr<Appointment> decode_appointment(const std::string& value);
std::string encode_switchover(const SwitchoverRequest& request);
StatusOr<SwitchoverRequest> decode_switchover(const std::string& value);

// Whether it can be a part of a key and of a value: letters, digits, "-_.".
bool is_key_name(const std::string& name);

// The keys of one cluster (docs/failover.md, Keys). Errors: Etcd's. Threads: any.
class ClusterKeys {
 public:
  // etcd must outlive it; cluster, node: is_key_name().
  ClusterKeys(Etcd* etcd, const std::string& cluster, std::string node);

  struct Seen {
    View view;  // asked_us: the caller's
    ClusterConfig config;
    std::map<std::string, MemberEntry> members;
    std::optional<SwitchoverRequest> switchover;
    std::string paused;  // since when; empty: elections are not
    int64_t opened_revision = 0;
  };
  // NotFound: there is no config yet.
  StatusOr<Seen> read();
  // Where there is none yet. False: there is one.
  StatusOr<bool> found(const ClusterConfig& config);
  // lease: the node's own, not the primary's.
  Status publish(const MemberEntry& entry, int64_t lease);
  // Unknown: it may have been won. False: something has changed since it was read.
  struct Expected {
    int64_t term_revision = 0, config_revision = 0, paused_revision = 0;
  };
  StatusOr<bool> campaign(uint64_t term, const Expected& expected, int64_t lease);
  // This node's disk, where its key has that revision still (0: it is absent), and `leader` leads; or, its term being
  // 0, nobody was ever elected; or, is_known_again, the key is absent. Results as found()'s.
  StatusOr<bool> register_disk(const std::string& id, int64_t revision, const Promise& leader, bool is_known_again);
  // The leader key again, of the highest term, where nobody has it and nobody is appointed. Results as campaign()'s.
  StatusOr<bool> reclaim(uint64_t term, int64_t lease);
  // The leader key of that term goes and `to` is appointed. Results as campaign()'s.
  StatusOr<bool> hand_over(uint64_t term, const std::string& to);
  // That term has been opened, under the voters of that version. False: this node is not its leader any more.
  StatusOr<bool> note_opened(uint64_t term, uint64_t config);
  // Why the request is not done. False: it is not there any more.
  StatusOr<bool> answer_switchover(const SwitchoverRequest& request, const std::string& failure);

  // --- by hand; node is not used ---
  // False: nobody leads in that term any more.
  StatusOr<bool> ask_switchover(const Promise& leader, const SwitchoverRequest& request);
  // False: it has been answered, or replaced.
  StatusOr<bool> withdraw_switchover(const SwitchoverRequest& request);
  Status pause(const std::string& since);
  StatusOr<bool> resume();  // false: they were not paused
  // Other voters, which count from the next term on. As `seen` they were: false: something has changed since, as who
  // leads. FailedPrecondition: no term has been opened under those that there are; nobody leads; elections are paused.
  // InvalidArgument: not just one comes or goes.
  StatusOr<bool> change_voters(const Seen& seen, const Voters& voters);
  // False: somebody leads, or the term is another one.
  StatusOr<bool> appoint(const Appointment& appointment, int64_t term_revision);

  // False: this node is not the leader of that term any more.
  StatusOr<bool> raise_floor(const Position& floor, uint64_t term);
  // Calls on_change as Etcd::watch() does.
  Status watch(const std::function<void()>& on_change) { return etcd_->watch(prefix_, on_change); }

 private:
  StatusOr<bool> has_succeeded(const EtcdTxn& txn);
  std::string leader_value(uint64_t term) const { return encode_leader({term, node_}); }

  Etcd* const etcd_;
  const std::string prefix_;
  const std::string node_;
};

// Whether exactly one is in `after` or in `before` and not in both.
bool differ_by_one(const Voters& before, const Voters& after);

// Who may take over from the primary `from`: `wished`, or, where that is empty, the voter that has most. Empty: nobody.
std::string successor_of(const ClusterKeys::Seen& seen, const std::string& from, const std::string& wished);

}  // namespace scyper::consensus
