#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/disk.h"
#include "base/metrics.h"
#include "consensus/cluster_keys.h"
#include "consensus/elector.h"
#include "consensus/etcd.h"
#include "consensus/peers.h"

namespace scyper::consensus {

// The node's log, as elections see it. Called by the supervisor's threads, several at once, without its locks.
class Replica {
 public:
  virtual ~Replica() = default;
  struct LogState {
    Position position;        // term and LSN of the last batch
    bool is_complete = true;  // it holds all that it has ever acknowledged
    // In this term it follows, and its log has all that the primary had at a moment since this process began; 0: none.
    uint64_t caught_up_term = 0;
    uint64_t cuts = 0;  // how often it was cut in this process: else it only grows
  };
  virtual LogState log() = 0;
  // The same, once what was received is in the log; or a moment is over.
  virtual LogState settled_log() { return log(); }
  // Returns when nothing of a lower primaryship is appended or acknowledged any more, and what was received before is
  // in the log. Unavailable: not now, it is asked again. Any other error: never in this process, which ends; the fence
  // is not answered.
  virtual Status bar(const Promise& promise) = 0;
  // While it leads: W voters have the first batch of the term.
  virtual bool has_start(uint64_t term) = 0;
  // While it leads: since when commits wait for copies and none has been confirmed; -1: none waits.
  virtual int64_t unconfirmed_since_us() = 0;
  // While it leads: the highest LSN that W voters have; 0: not known.
  virtual uint64_t copied_lsn() = 0;
  // While it leads and is closed, asked again and again: what was accepted has been answered, and `to` has all of it in
  // its log. drain: a number, another one each time that it closes for this.
  virtual bool is_drained(const std::string& to, uint64_t drain) = 0;
};

struct SupervisorOptions {
  ElectorOptions elector;
  EtcdOptions etcd;
  PeerOptions peers;
  std::string cluster;
  ClusterConfig config;         // put into etcd where there is none yet
  std::string address;          // of this node's gRPC, for others
  std::string advertise_peers;  // of its PeerServer, for others; empty: listen's host with the port it got
  Disk* disk = nullptr;
  std::string directory;  // of the promise; is there
  std::function<void(const std::string&)> on_progress;
  MetricsRegistry* metrics = nullptr;  // for etcd's answers; may be null
  // A primary has until then, unless more is said: see LeaseGuard::watch(). Called with a lock held. May be empty.
  std::function<void(int64_t boot_us)> on_leads_until;
  std::function<void(int64_t lease)> on_lease;  // the primary's, that this node has from now on; 0: none. May be empty
};

// What the node is to be.
struct Role {
  enum class Kind : uint8_t {
    kWait,    // nobody leads, as far as known: go on as before
    kFollow,  // the leader below
    kLead,    // start as primary of that term; open when may_write() says so
    kEnd,     // a primaryship is over, or the promise cannot be kept: begin anew as a secondary
  };
  Kind kind = Kind::kWait;
  Promise leader;
  std::string address;           // of the leader's gRPC
  ClusterConfig config;          // as the campaign found it
  std::string why;               // kEnd
  bool was_handed_over = false;  // kEnd: what was accepted has been answered; the answers may be on their way
};

// What is known of the cluster, for people: as etcd said it last.
struct ClusterState {
  std::string cluster;
  std::string etcd;    // members, separated by commas
  std::string paused;  // since when; empty: elections are not
  bool etcd_answers = false;
  std::string leader;    // the node that leads; empty: none
  uint64_t term = 0;     // the newest that was campaigned for
  uint64_t changes = 0;  // of the leader, that this process has seen
  bool leads = false;    // this node does, and
  int64_t lease_us = 0;  // may do so for so long
  struct Voter {
    std::string node;
    bool is_there = false;     // it says so in etcd
    bool is_complete = false;  // likewise: it has all that it ever acknowledged
  };
  std::vector<Voter> voters;
};

// Runs the elector against etcd, the other voters and this node's disk (docs/failover.md). Safety lies in Elector, in
// the promise's file and in what Replica promises; here are threads, time and the network. Threads: own: one that
// decides, one for etcd's leases, one for its keys, one that watches, one for the disk, one per voter; gRPC's for
// fences. All functions below: any.
class Supervisor {
 public:
  static StatusOr<std::unique_ptr<Supervisor>> start(const SupervisorOptions& options, Replica* replica);
  // Gives the lease back. The replica is not called any more when it returns.
  virtual ~Supervisor() = default;

  virtual Role role() const = 0;
  // Of a clock that goes on while the machine sleeps (boot_time_us()): writes and strong reads are allowed before it;
  // 0: they are not. By the clock alone: nothing has to run for it to end. Outlives nothing but the supervisor.
  virtual const std::atomic<int64_t>& open_until_us() const = 0;
  // Likewise for answers to what was accepted before: holds while the primary closes to hand over, too.
  virtual const std::atomic<int64_t>& leads_until_us() const = 0;
  // As Elector::takes_redo(). May be called with locks held that Replica's functions need.
  virtual bool takes_redo(const Promise& primaryship) = 0;
  // Somebody has refused this node's redo: it has promised that.
  virtual void refused(const Promise& promised) = 0;
  virtual uint16_t peer_port() const = 0;
  virtual Promise promised() const = 0;
  virtual ClusterState cluster_state() const = 0;
  // As Elector::has_known_disk(): else no copy of this node's counts for a commit.
  virtual bool has_known_disk() const = 0;
};

int64_t boot_time_us();

}  // namespace scyper::consensus
