#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <queue>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "base/random.h"
#include "consensus/elector.h"

namespace scyper::failover {

using consensus::Flaws;
using consensus::Position;
using consensus::Promise;

// What goes wrong: anything, or again and again what makes one guard matter that chance seldom needs.
enum class Schedule : uint8_t {
  kAny,
  kMinorityWithoutEtcd,   // a primary and one voter reach neither etcd nor the others, and nobody writes
  kLateAcknowledgements,  // they come when who they are for has cut its log and leads once more
  kChangingVoters,        // anything, while voters come and go and etcd forgets
};

struct SimulationOptions {
  uint64_t seed = 1;
  Schedule schedule = Schedule::kAny;
  Flaws flaws;
  int64_t fault_us = 6'000'000;  // faults, then
  int64_t heal_us = 20'000'000;  // none, at most so long until the cluster must work again
};

struct Outcome {
  std::string violation;  // empty: none
  uint64_t acknowledged = 0;
  uint64_t terms = 0;
  uint64_t faults = 0;
  uint64_t handed_over = 0;  // primaryships, and
  uint64_t appointed = 0;    // campaigns won by whom they went to
  uint64_t failsafe = 0;     // batches acknowledged without etcd, by what all voters had granted
  uint64_t reclaimed = 0;    // leases, by primaries that had gone on so
  uint64_t changed = 0;      // voters, by one each time
  uint64_t wiped = 0;        // disks that were lost, and
  uint64_t registered = 0;   // new ones that a voter counted with again
  uint64_t refused = 0;      // changes, because the one before had not taken effect
};

// A batch of the simulated log; its LSN is its place, from 1. value 0: the start of a term.
struct Entry {
  uint64_t term = 0;
  uint64_t value = 0;
  friend bool operator==(const Entry&, const Entry&) = default;
};

// etcd as the protocol sees it: one linearizable store with leases, by its own clock (the simulation's time).
class Etcd {
 public:
  uint64_t grant(int64_t now_us, int64_t ttl_us);
  bool keep_alive(uint64_t lease, int64_t now_us, int64_t ttl_us);
  void revoke(uint64_t lease);
  struct Expected {
    int64_t term_revision = 0, config_revision = 0, paused_revision = 0;
  };
  void found(const consensus::Voters& voters) { config_.voters = newest_.voters = backup_.voters = voters; }
  const consensus::Voters& voters() const { return newest_.voters; }
  // One comes or goes, where kOneChange lets it, and those that are there are not a backup's.
  bool change_voters(const std::string& node, Flaws flaws);
  void put_voters_right();  // by hand, after a backup has been restored
  bool has_effect() const { return opened_ == newest_.version; }
  void note_opened(const Promise& primary, uint64_t config, int64_t now_us);
  bool campaign(const Promise& candidate, const Expected& expected, uint64_t lease, int64_t now_us);
  bool hand_over(const Promise& primary, const std::string& to, int64_t now_us);
  bool reclaim(const Promise& primary, uint64_t lease, int64_t now_us);
  void set_paused(bool is_paused) { paused_revision_ = is_paused ? ++revision_ : 0; }
  uint64_t campaigns_of_appointed() const { return campaigns_of_appointed_; }
  const std::string& violation() const { return violation_; }
  void publish(const std::string& node, const consensus::Member& member, int64_t now_us);
  void raise_floor(const Promise& primary, Position floor, int64_t now_us);
  consensus::View read(int64_t now_us);
  void take_backup();
  void restore_backup();
  void lose_leases();
  // As ClusterKeys::register_disk().
  bool register_disk(const std::string& node, const std::string& id, const consensus::Action& wanted, int64_t now_us);
  bool knows(const std::string& node, const std::string& id) const {
    const auto found = disks_.find(node);
    return found != disks_.end() && found->second.id == id;
  }

 private:
  void expire(int64_t now_us);

  struct Config {
    uint64_t version = 1;
    consensus::Voters voters;
  };
  Config config_, newest_, backup_;
  uint64_t opened_ = 0, backup_opened_ = 0;
  int64_t config_revision_ = 0;
  uint64_t term_ = 0, backup_term_ = 0;
  int64_t term_revision_ = 0, revision_ = 0, paused_revision_ = 0;
  std::optional<consensus::Appointment> appointment_;
  uint64_t campaigns_of_appointed_ = 0;
  std::string violation_;
  std::optional<Promise> leader_;
  uint64_t leader_lease_ = 0, last_lease_ = 0;
  Position floor_;
  std::map<uint64_t, int64_t> leases_;  // when they end
  std::map<std::string, std::pair<consensus::Member, int64_t>> members_;
  std::map<std::string, consensus::DiskEntry> disks_;
};

// One process at a time on one disk. What lies on the disk stays when it is killed.
struct Node {
  std::string name;
  double clock_rate = 1;
  int64_t clock_offset_us = 0;

  // disk
  std::string disk;  // its name; another one after the loss of it
  bool was_registered = false;
  Promise promise;
  size_t durable = 0;  // batches of `log` that are on disk
  bool has_ended_well = false;
  bool may_have_granted = false;

  // memory
  bool is_alive = false;
  uint64_t incarnation = 0;
  int64_t frozen_until_us = 0;
  std::vector<Entry> log;
  bool is_complete = true;
  uint64_t complete_at = 0;  // LSN to reach; 0: not known yet
  Promise complete_in;       // whose it is
  uint64_t matched = 0;      // up to where the log is that of complete_in
  uint64_t confirmed = 0;
  std::unique_ptr<consensus::Elector> elector;
  uint64_t lease = 0;
  std::deque<Promise> storing;  // promises on their way to the disk

  // of a primary
  uint64_t started_term = 0;  // its first batch is in the log
  std::unique_ptr<consensus::Copies> copies;
  int64_t unconfirmed_since_us = -1;
  uint64_t confirmed_before = 0;
  std::vector<uint64_t> next;          // LSN to send, by node
  std::vector<uint64_t> incarnations;  // heard of, by node

  Position position(bool is_durable) const {
    const size_t end = is_durable ? durable : log.size();
    return end == 0 ? Position{} : Position{log[end - 1].term, end};
  }
};

// A cluster of voters, who come and go, and others with electors and a simple log, etcd, network, disks and clocks that
// fail as the seed says; one thread. Checks while it runs:
// (1) one node at most acknowledges in a term; (2) what is confirmed at an LSN never differs between nodes or times;
// (3) a node that opens a term has all that was acknowledged before (where etcd lies, in terms up to this one); (4) a
// strong read sees all that was acknowledged before; (5) once the faults have ended, commits are acknowledged again and
// every node gets all of them; so do the others where one node goes on reaching etcd but none of them; (6) while
// elections are paused only who was appointed is elected; (7) without etcd, and with all nodes there, commits go on to
// be acknowledged in the same term, and with etcd again, too; (8) changed voters take effect once the faults have
// ended.
class Simulation {
 public:
  explicit Simulation(const SimulationOptions& options);
  Outcome run();

 private:
  struct Event {
    int64_t at_us;
    uint64_t number;
    size_t node;  // kNobody: none's
    uint64_t incarnation;
    std::function<void()> work;
    bool operator<(const Event& other) const {  // the queue's top is the greatest
      return std::tie(at_us, number) > std::tie(other.at_us, other.number);
    }
  };
  struct Append {
    Promise primaryship;
    Position previous;
    std::vector<Entry> entries;
    uint64_t confirmed = 0, last_lsn = 0, incarnation = 0;
  };
  static constexpr size_t kNobody = ~size_t{0};

  bool is_planned() const {
    return options_.schedule == Schedule::kMinorityWithoutEtcd || options_.schedule == Schedule::kLateAcknowledgements;
  }

  bool chance(double probability) { return static_cast<double>(random_.below(1'000'000)) < probability * 1e6; }
  int64_t between(int64_t from, int64_t to) {
    return from + static_cast<int64_t>(random_.below(static_cast<uint64_t>(to - from + 1)));
  }
  int64_t local_us(const Node& node) const;
  void at(int64_t delay_us, size_t node, std::function<void()> work);
  void send(size_t from, size_t to, std::function<void()> deliver);
  void ask_etcd(size_t from, std::function<void()> at_etcd, std::function<void()> answered, std::function<void()> lost);
  void fail(const std::string& what);
  std::string describe() const;
  void step(Event event);

  // nodes
  void start(size_t n);
  void crash(size_t n);
  void end(size_t n);
  void tick(size_t n);
  void act(size_t n);
  void act_on(size_t n, const consensus::Action& action);
  void campaign(size_t n, const consensus::Action& action);
  void read_view(size_t n);
  void publish(size_t n);
  void keep_alive(size_t n);
  void hand_over(size_t n, const consensus::Action& action);
  void reclaim(size_t n);
  void look_at_drain(size_t n);
  void make_way(size_t n);
  void register_disk(size_t n, const consensus::Action& action);
  void look_whether_caught_up(size_t n);
  void store_promise(size_t n, const Promise& promise);
  void adopt(size_t n, size_t from, Position position);

  // log
  void start_term(size_t n, uint64_t term);
  void append_here(size_t n, const Entry& entry);
  void sync(size_t n, uint64_t lsn, std::function<void()> done);
  void replicate(size_t n);
  void replicate_to(size_t n, size_t to);
  void on_append(size_t n, size_t from, const Append& append);
  void acknowledge(size_t n, size_t from, const Promise& primaryship, uint64_t lsn);
  bool cut(size_t n, uint64_t keep);
  void note_copy(size_t n, const std::string& who, uint64_t term, uint64_t lsn);
  void confirm(size_t n, uint64_t lsn);
  void log_changed(size_t n);
  void check_open(size_t n, uint64_t term);
  void check_read(size_t n);
  bool has_all(const Node& node, uint64_t lsn) const;

  // faults
  void plan_fault();
  void cause_fault();
  void plan_operator();
  void switch_over();
  void change_voters();
  size_t pick_node();
  bool is_voter(const Node& node) const { return etcd_.voters().has(node.name); }
  uint32_t complete_voters(const consensus::Voters& voters, const std::string& but) const;
  void heal();
  void isolate_one();
  void separate(const std::set<size_t>& side);
  int64_t cut_off_minority();
  int64_t hold_acknowledgements();
  size_t pick_voter(size_t but);
  bool lose_etcd();
  void return_etcd();
  size_t open_primary() const;
  bool may_crash(size_t n) const;
  bool may_lose_disk(size_t n) const;
  void lose_disk(size_t n);
  void submit();

  const SimulationOptions options_;
  Random random_;
  bool is_durable_ = true;  // quorum_durable; else quorum
  bool etcd_lies_ = false;  // it forgets terms and leases (restored, or one of its bugs), and clocks run as they like
  bool has_slow_disks_ = false;
  double late_ = 0.01;  // messages that come much later
  double loss_ = 0;
  int64_t idle_from_us_ = 0, idle_until_us_ = 0;  // nobody submits anything
  size_t held_from_ = kNobody;                    // its acknowledgements
  int64_t held_until_us_ = 0;                     // are on their way so long
  int64_t now_us_ = 0;
  uint64_t events_ = 0;
  std::priority_queue<Event> queue_;
  Etcd etcd_;
  bool etcd_is_up_ = true;
  double changes_ = 0;  // of voters, each time that the operator looks
  std::vector<Node> nodes_;
  std::set<std::pair<size_t, size_t>> blocked_;  // (from, to); to == nodes: etcd
  bool is_healing_ = false;
  std::string isolated_;  // while healing: reaches etcd and nobody else
  bool has_ended_ = false;

  // the auditor
  std::vector<Entry> confirmed_;  // by LSN, whoever confirmed it first
  uint64_t acknowledged_lsn_ = 0;
  std::map<uint64_t, uint64_t> acknowledged_by_term_;  // LSN
  std::map<uint64_t, size_t> primary_of_term_;
  uint64_t next_value_ = 0;
  Outcome outcome_;
};

}  // namespace scyper::failover
