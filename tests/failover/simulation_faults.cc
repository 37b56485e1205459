#include <algorithm>

#include "simulation.h"

// What goes wrong, as the seed says.
namespace scyper::failover {

namespace {
constexpr int64_t kFaultsEndUs = 5'000'000;  // more than any of them lasts
}

void Simulation::submit() {
  at(between(5'000, 40'000), kNobody, [this] { submit(); });
  for (size_t n = 0; n < nodes_.size(); ++n) {
    Node& node = nodes_[n];
    if (!node.is_alive || node.frozen_until_us > now_us_ || node.copies == nullptr) continue;
    check_read(n);
    if (!node.elector->is_open(local_us(node))) continue;
    if (now_us_ >= idle_from_us_ && now_us_ < idle_until_us_) continue;
    for (uint64_t i = 0, count = 1 + random_.below(3); i < count; ++i)
      append_here(n, {node.started_term, ++next_value_});
    replicate(n);
  }
}

// Who runs the cluster: now and then it is switched over, or elections are paused for a while.
void Simulation::plan_operator() {
  if (is_healing_) return;
  if (!chance(changes_ / 2)) switch_over();
  if (chance(0.1)) {
    etcd_.set_paused(true);
    at(between(100'000, 1'500'000), kNobody, [this] { etcd_.set_paused(false); });
  }
  at(between(200'000, 1'500'000), kNobody, [this] { plan_operator(); });
}

// Any node, dead ones, too, and as soon as etcd lets it; but with enough left who can promise.
void Simulation::change_voters() {
  if (is_healing_) return;
  at(between(50'000, 600'000), kNobody, [this] { change_voters(); });
  const std::string& node = nodes_[random_.below(nodes_.size())].name;
  consensus::Voters voters = etcd_.voters();
  if (std::erase(voters.names, node) == 0) voters.names.push_back(node);
  if (!chance(changes_) || voters.names.size() < 2 || complete_voters(voters, "") < voters.fence_answers()) return;
  if (chance(0.5)) etcd_.put_voters_right();
  if (etcd_lies_ && chance(0.2)) etcd_.take_backup();
  if (etcd_lies_ && chance(0.1)) etcd_.restore_backup();
  const bool is_done = etcd_is_up_ && etcd_.change_voters(node, options_.flaws);
  outcome_.changed += is_done ? 1 : 0;
  outcome_.refused += is_done || !etcd_is_up_ ? 0 : 1;
}

uint32_t Simulation::complete_voters(const consensus::Voters& voters, const std::string& but) const {
  uint32_t complete = 0;
  for (const Node& node : nodes_) {
    const bool is_known = etcd_.knows(node.name, node.disk) || !options_.flaws.is_on(consensus::Guard::kKnownDisk);
    const bool counts = node.is_complete && is_known;
    complete += voters.has(node.name) && counts && node.name != but ? 1 : 0;
  }
  return complete;
}

// To any node, also one that lacks something, is dead or does not vote.
void Simulation::switch_over() {
  for (size_t n = 0; n < nodes_.size(); ++n) {
    Node& node = nodes_[n];
    if (!node.is_alive || node.frozen_until_us > now_us_ || !node.elector->leads()) continue;
    const std::string& to = nodes_[random_.below(nodes_.size())].name;
    node.elector->begin_drain(to, local_us(node) + between(20'000, 400'000), local_us(node));
    act(n);
  }
}

void Simulation::plan_fault() {
  if (is_healing_) return;
  int64_t until_us = 0;
  if (!is_planned()) cause_fault();
  if (options_.schedule == Schedule::kMinorityWithoutEtcd) until_us = cut_off_minority();
  if (options_.schedule == Schedule::kLateAcknowledgements) until_us = hold_acknowledgements();
  at(until_us + between(50'000, 600'000), kNobody, [this] { plan_fault(); });
}

// Those of `side` reach each other only, and nobody else them.
void Simulation::separate(const std::set<size_t>& side) {
  blocked_.clear();
  for (size_t from = 0; from <= nodes_.size(); ++from) {
    for (size_t to = 0; to <= nodes_.size(); ++to) {
      if (side.contains(from) != side.contains(to)) blocked_.insert({from, to});
    }
  }
}

size_t Simulation::pick_voter(size_t but) {
  size_t n = but;
  while (n == but) n = random_.below(etcd_.voters().names.size());
  return n;
}

// One voter's grant must not do: the three others elect somebody. How long it takes.
int64_t Simulation::cut_off_minority() {
  const size_t n = open_primary();
  if (n == kNobody) return 0;
  ++outcome_.faults;
  const int64_t lasts_us = between(1'200'000, 2'500'000);
  separate({n, pick_voter(n)});
  idle_from_us_ = now_us_;
  idle_until_us_ = now_us_ + lasts_us;
  at(lasts_us, kNobody, [this] { blocked_.clear(); });
  return lasts_us;
}

// Of five, a primary and `holder` have a tail that the primary never hears acknowledged: the others elect somebody, it
// cuts the tail, is switched over to, and has another tail on one voter when it hears of the old one. How long it
// takes.
int64_t Simulation::hold_acknowledgements() {
  const size_t n = open_primary();
  if (n == kNobody) return 0;
  ++outcome_.faults;
  const size_t holder = pick_voter(n);
  size_t follower = holder;
  while (follower == holder) follower = pick_voter(n);
  const int64_t back_us = between(1'400'000, 1'700'000), over_us = back_us + 300'000,
                apart_us = over_us + between(300'000, 400'000), ends_us = apart_us + between(1'500'000, 2'000'000);
  separate({n, holder});
  held_from_ = holder;
  held_until_us_ = now_us_ + apart_us + between(50'000, 500'000);
  idle_from_us_ = now_us_ + 1'000'000;
  idle_until_us_ = now_us_ + apart_us;
  at(back_us, kNobody, [this, holder] { separate({holder}); });
  at(over_us, kNobody, [this, n] {
    const size_t other = open_primary();
    if (other == kNobody || other == n) return;
    Node& node = nodes_[other];
    node.elector->begin_drain(nodes_[n].name, local_us(node) + 400'000, local_us(node));
    act(other);
  });
  at(apart_us, kNobody, [this, n, follower] {
    if (open_primary() == n) separate({n, follower});
  });
  at(ends_us, kNobody, [this] { blocked_.clear(); });
  return ends_us;
}

// In mode quorum a voter that has restarted may have forgotten: R have to be complete, else nobody can be elected.
bool Simulation::may_crash(size_t n) const {
  if (!nodes_[n].is_alive) return false;
  if (is_durable_ || !is_voter(nodes_[n]) || !nodes_[n].is_complete) return true;
  return complete_voters(etcd_.voters(), nodes_[n].name) >= etcd_.voters().fence_answers();
}

// R others have to be complete, else nobody can be elected before it is again. Where etcd forgets who had which disk,
// docs/failover.md promises nothing.
bool Simulation::may_lose_disk(size_t n) const {
  if (etcd_lies_ || is_planned() || !nodes_[n].is_alive || !is_voter(nodes_[n])) return false;
  return complete_voters(etcd_.voters(), nodes_[n].name) >= etcd_.voters().fence_answers();
}

// It comes back under its name with an empty one, as if nothing had been there.
void Simulation::lose_disk(size_t n) {
  ++outcome_.wiped;
  crash(n);
  Node& node = nodes_[n];
  node.disk = node.name + std::to_string(node.incarnation);
  node.was_registered = node.may_have_granted = false;
  node.promise = {};
  node.log.clear();
  node.durable = 0;
  node.has_ended_well = true;
}

// A primary or candidate, half of the time.
size_t Simulation::pick_node() {
  if (chance(0.5)) {
    for (size_t n = 0; n < nodes_.size(); ++n) {
      if (nodes_[n].is_alive && nodes_[n].elector->leads()) return n;
    }
  }
  return random_.below(nodes_.size());
}

void Simulation::cause_fault() {
  ++outcome_.faults;
  const size_t n = pick_node(), etcd = nodes_.size();
  switch (random_.below(etcd_lies_ ? 12 : 9)) {
    case 0:
    case 1:
    case 2:
      if (may_lose_disk(n) && chance(0.3)) {
        lose_disk(n);
      } else if (may_crash(n)) {
        crash(n);
      } else {
        return;
      }
      return at(chance(0.5) ? between(5'000, 100'000) : between(100'000, 2'000'000), kNobody, [this, n] {
        if (!nodes_[n].is_alive) start(n);
      });
    case 3:
      nodes_[n].frozen_until_us = now_us_ + between(50'000, 3'000'000);
      return;
    case 4:  // one node alone; sometimes it still reaches etcd
      for (size_t other = 0; other < nodes_.size() + (chance(0.5) ? 1 : 0); ++other) {
        if (other == n) continue;
        blocked_.insert({n, other});
        blocked_.insert({other, n});
      }
      break;
    case 5: {  // two halves, etcd on one side
      const uint64_t side = random_.next();
      for (size_t from = 0; from <= etcd; ++from) {
        for (size_t to = 0; to <= etcd; ++to) {
          if ((side >> from & 1) != (side >> to & 1)) blocked_.insert({from, to});
        }
      }
      break;
    }
    case 6:  // one way
      blocked_.insert({n, random_.below(etcd + 1)});
      break;
    case 7:
      etcd_is_up_ = false;
      return at(chance(0.7) ? between(50'000, 2'000'000) : between(2'000'000, 4'000'000), kNobody,
                [this] { return_etcd(); });
    case 8:
      blocked_.clear();
      etcd_.take_backup();
      return;
    case 9:
    case 10:
      etcd_.lose_leases();  // the primary does not know, and may not hear of it
      for (size_t other = 0; other <= etcd; ++other) {
        if (other != n && chance(0.5)) blocked_.insert({other, n});
        if (other != n && chance(0.2)) blocked_.insert({n, other});
      }
      break;
    default:
      etcd_.restore_backup();
      return;
  }
  at(between(100'000, 2'500'000), kNobody, [this] {
    if (!is_healing_) blocked_.clear();
  });
}

// A primary that went on without it is alone then, and all who have granted it begin anew.
void Simulation::return_etcd() {
  etcd_is_up_ = true;
  const size_t n = open_primary();
  if (is_healing_ || !is_durable_ || n == kNobody || !nodes_[n].elector->is_failsafe(local_us(nodes_[n]))) return;
  for (size_t other = 0; other <= nodes_.size(); ++other) {
    if (other == n) continue;
    blocked_.insert({n, other});
    blocked_.insert({other, n});
    if (other == nodes_.size() || !nodes_[other].is_alive) continue;
    crash(other);
    at(between(5'000, 20'000), kNobody, [this, other] {
      if (!nodes_[other].is_alive) start(other);
    });
  }
  at(1'500'000, kNobody, [this] {
    if (!is_healing_) blocked_.clear();
  });
}

void Simulation::heal() {
  is_healing_ = true;
  etcd_.set_paused(false);
  etcd_.put_voters_right();
  blocked_.clear();
  etcd_is_up_ = true;
  for (size_t n = 0; n < nodes_.size(); ++n) {
    if (!nodes_[n].is_alive) start(n);
    nodes_[n].frozen_until_us = std::min(nodes_[n].frozen_until_us, now_us_);
  }
}

size_t Simulation::open_primary() const {
  for (size_t n = 0; n < nodes_.size(); ++n) {
    if (nodes_[n].is_alive && nodes_[n].elector->is_open(local_us(nodes_[n]))) return n;
  }
  return kNobody;
}

// All nodes are there and reach each other: three leases without etcd change nothing, nor does its return. What faults
// have put off is done before. False: not with this seed.
bool Simulation::lose_etcd() {
  if (!chance(0.1) || etcd_lies_ || !isolated_.empty()) return false;
  at(options_.fault_us + kFaultsEndUs - now_us_, kNobody, [this] {
    const size_t primary = open_primary();
    if (primary == kNobody) return fail("nobody is open though the cluster works: " + describe());
    const uint64_t term = nodes_[primary].elector->term();
    const auto goes_on = [this, term](const char* when, uint64_t before) {
      const size_t now = open_primary();
      if (now != kNobody && nodes_[now].elector->term() == term && acknowledged_lsn_ > before) return;
      fail("term " + std::to_string(term) + " does not go on " + when + ": " + describe());
    };
    // a hand-over that etcd did late: somebody is appointed
    if (const consensus::View view = etcd_.read(now_us_); !view.leader.has_value() || view.appointment) {
      has_ended_ = true;
      return;
    }
    etcd_is_up_ = false;
    at(3'000'000, kNobody, [this, goes_on, before = acknowledged_lsn_] {
      goes_on("without etcd", before);
      etcd_is_up_ = true;
      at(3'000'000, kNobody, [this, goes_on, before = acknowledged_lsn_] {
        goes_on("with etcd again", before);
        has_ended_ = true;
      });
    });
  });
  return true;
}

// One that leads, where there is one: the others can do without it, and must.
void Simulation::isolate_one() {
  if (!chance(0.5)) return;
  const size_t n = pick_node();
  if (!is_voter(nodes_[n]) || complete_voters(etcd_.voters(), nodes_[n].name) < etcd_.voters().fence_answers()) return;
  isolated_ = nodes_[n].name;
  for (size_t other = 0; other < nodes_.size(); ++other) {
    if (other == n) continue;
    blocked_.insert({n, other});
    blocked_.insert({other, n});
  }
}

}  // namespace scyper::failover
