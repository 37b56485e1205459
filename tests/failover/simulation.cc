#include "simulation.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace scyper::failover {

using consensus::Action;
using consensus::Elector;
using consensus::Guard;
using consensus::View;

namespace {
constexpr int64_t kTickUs = 25'000;
constexpr int64_t kLeaseUs = 1'000'000;
constexpr int64_t kMarginUs = 250'000;
constexpr int64_t kMemberUs = 3'000'000;  // how long etcd keeps what a node published
constexpr int64_t kEtcdTimeoutUs = 400'000;
constexpr double kClockDrift = 0.05;  // the margin covers it

consensus::ElectorOptions elector_options(const Node& node, bool has_row_layout, Flaws flaws) {
  consensus::ElectorOptions options;
  options.node = node.name;
  options.disk = node.disk;
  options.was_registered = node.was_registered;
  options.has_row_layout = has_row_layout;
  options.lease_us = kLeaseUs;
  options.margin_us = kMarginUs;
  options.poll_us = 200'000;
  options.settle_us = 60'000;
  options.step_us = 120'000;
  options.resend_us = 50'000;
  options.flaws = flaws;
  return options;
}
}  // namespace

uint64_t Etcd::grant(int64_t now_us, int64_t ttl_us) {
  leases_[++last_lease_] = now_us + ttl_us;
  return last_lease_;
}

bool Etcd::keep_alive(uint64_t lease, int64_t now_us, int64_t ttl_us) {
  expire(now_us);
  auto found = leases_.find(lease);
  if (found == leases_.end()) return false;
  found->second = now_us + ttl_us;
  return true;
}

void Etcd::revoke(uint64_t lease) {
  leases_.erase(lease);
  if (leader_.has_value() && leader_lease_ == lease) leader_.reset();
}

void Etcd::expire(int64_t now_us) {
  std::erase_if(leases_, [&](const auto& lease) { return lease.second <= now_us; });
  if (leader_.has_value() && !leases_.contains(leader_lease_)) leader_.reset();
}

bool Etcd::campaign(const Promise& candidate, const Expected& expected, uint64_t lease, int64_t now_us) {
  expire(now_us);
  if (leader_.has_value() || term_revision_ != expected.term_revision || !leases_.contains(lease)) return false;
  if (paused_revision_ != expected.paused_revision || config_revision_ != expected.config_revision) return false;
  const bool is_appointed =
      appointment_.has_value() && appointment_->node == candidate.node && appointment_->term == term_;
  campaigns_of_appointed_ += is_appointed ? 1 : 0;
  if (paused_revision_ != 0 && !is_appointed) violation_ = candidate.node + " is elected while elections are paused";
  appointment_.reset();
  term_ = candidate.term;
  term_revision_ = ++revision_;
  leader_ = candidate;
  leader_lease_ = lease;
  return true;
}

bool Etcd::change_voters(const std::string& node, Flaws flaws) {
  if (config_.version != newest_.version) return false;
  if (flaws.is_on(Guard::kOneChange) && !has_effect()) return false;
  if (std::erase(config_.voters.names, node) == 0) config_.voters.names.push_back(node);
  ++config_.version;
  newest_ = config_;
  config_revision_ = ++revision_;
  return true;
}

void Etcd::put_voters_right() {
  if (config_.version == newest_.version) return;
  config_ = newest_;
  config_revision_ = ++revision_;
}

void Etcd::note_opened(const Promise& primary, uint64_t config, int64_t now_us) {
  expire(now_us);
  if (leader_ == primary) opened_ = config;
}

bool Etcd::hand_over(const Promise& primary, const std::string& to, int64_t now_us) {
  expire(now_us);
  if (leader_ != primary) return false;
  leader_.reset();
  appointment_ = consensus::Appointment{primary.term, to, false};
  ++revision_;
  return true;
}

bool Etcd::reclaim(const Promise& primary, uint64_t lease, int64_t now_us) {
  expire(now_us);
  if (leader_.has_value() || appointment_.has_value() || term_ != primary.term || !leases_.contains(lease))
    return false;
  leader_ = primary;
  leader_lease_ = lease;
  ++revision_;
  return true;
}

void Etcd::publish(const std::string& node, const consensus::Member& member, int64_t now_us) {
  auto& entry = members_[node];
  entry = {member, now_us + kMemberUs};
  entry.first.revision = ++revision_;
}

void Etcd::raise_floor(const Promise& primary, Position floor, int64_t now_us) {
  expire(now_us);
  if (leader_ == primary && floor_ < floor) floor_ = floor;
}

View Etcd::read(int64_t now_us) {
  expire(now_us);
  View view;
  view.revision = revision_;
  view.voters = config_.voters;
  view.config = config_.version;
  view.config_revision = config_revision_;
  view.opened = opened_;
  view.term = term_;
  view.term_revision = term_revision_;
  view.leader = leader_;
  view.paused_revision = paused_revision_;
  view.appointment = appointment_;
  view.floor = floor_;
  view.disks = disks_;
  for (const auto& [name, member] : members_) {
    if (member.second > now_us) view.members[name] = member.first;
  }
  return view;
}

bool Etcd::register_disk(const std::string& node, const std::string& id, const Action& wanted, int64_t now_us) {
  expire(now_us);
  const auto found = disks_.find(node);
  if ((found == disks_.end() ? 0 : found->second.revision) != wanted.disk_revision) return false;
  if (wanted.promise.term != 0 && leader_ != wanted.promise) return false;
  if (wanted.promise.term == 0 && !wanted.is_known_again && term_ != 0) return false;
  disks_[node] = {id, ++revision_};
  return true;
}

// Without the leaders' knowledge: revoked by hand, or by a stalled etcd (issues 12528 and 15247 of etcd).
void Etcd::lose_leases() {
  leases_.clear();
  leader_.reset();
}

void Etcd::take_backup() {
  backup_term_ = term_;
  backup_ = config_;
  backup_opened_ = opened_;
}

void Etcd::restore_backup() {
  term_ = backup_term_;
  config_ = backup_;
  opened_ = backup_opened_;
  config_revision_ = ++revision_;
  term_revision_ = ++revision_;
  leader_.reset();
  leases_.clear();
  floor_ = {};
}

Simulation::Simulation(const SimulationOptions& options) : options_(options), random_(options.seed) {
  size_t voters = 3 + random_.below(3);
  is_durable_ = chance(0.5);
  etcd_lies_ = chance(0.5);
  has_slow_disks_ = chance(0.5);
  if (chance(0.3)) late_ = chance(0.5) ? 0.1 : 0.4;
  loss_ = chance(0.5) ? 0 : static_cast<double>(random_.below(15)) / 100;
  if (chance(0.5)) changes_ = chance(0.5) ? 0.2 : 0.8;
  if (options.schedule == Schedule::kChangingVoters) {
    etcd_lies_ = true;
    changes_ = 0.8;
  }
  if (is_planned()) {  // what it plans is enough, and needs a minority of two
    voters = 5;
    is_durable_ = true;
    etcd_lies_ = has_slow_disks_ = false;
    late_ = loss_ = changes_ = 0;
  }
  nodes_.resize(voters + 1 + (changes_ > 0 ? random_.below(2) : 0));  // the last are no voters
  consensus::Voters first;
  for (size_t n = 0; n < nodes_.size(); ++n) {
    Node& node = nodes_[n];
    node.name = std::string(1, static_cast<char>('a' + n));
    if (n < voters) first.names.push_back(node.name);
    node.disk = node.name + "0";
    const double drift = etcd_lies_ ? 10 * kClockDrift : kClockDrift;
    node.clock_rate = 1 + drift * (static_cast<double>(random_.below(2001)) / 1000 - 1);
    node.clock_offset_us = between(0, 1'000'000'000);
  }
  etcd_.found(first);
}

void Simulation::fail(const std::string& what) {
  if (!outcome_.violation.empty()) return;
  outcome_.violation = "at " + std::to_string(now_us_) + " us: " + what;
}

int64_t Simulation::local_us(const Node& node) const {
  return node.clock_offset_us + static_cast<int64_t>(static_cast<double>(now_us_) * node.clock_rate);
}

void Simulation::at(int64_t delay_us, size_t node, std::function<void()> work) {
  const uint64_t incarnation = node == kNobody ? 0 : nodes_[node].incarnation;
  queue_.push({now_us_ + delay_us, ++events_, node, incarnation, std::move(work)});
}

void Simulation::step(Event event) {
  now_us_ = std::max(now_us_, event.at_us);
  if (event.node != kNobody) {
    Node& node = nodes_[event.node];
    if (!node.is_alive || (event.incarnation != 0 && event.incarnation != node.incarnation)) return;
    if (node.frozen_until_us > now_us_) {
      event.at_us = node.frozen_until_us + between(0, 10'000);
      event.number = ++events_;
      queue_.push(std::move(event));
      return;
    }
  }
  event.work();
}

Outcome Simulation::run() {
  for (size_t n = 0; n < nodes_.size(); ++n) start(n);
  at(300'000, kNobody, [this] { plan_fault(); });
  at(50'000, kNobody, [this] { submit(); });
  if (!is_planned()) at(400'000, kNobody, [this] { plan_operator(); });
  if (changes_ > 0) at(500'000, kNobody, [this] { change_voters(); });
  const int64_t end_us = options_.fault_us + options_.heal_us;
  uint64_t acknowledged_before = 0;
  bool works_again = false;
  while (outcome_.violation.empty() && !queue_.empty() && now_us_ < end_us && !has_ended_) {
    Event event = queue_.top();
    queue_.pop();
    step(std::move(event));
    if (!etcd_.violation().empty()) fail(etcd_.violation());
    if (!is_healing_ && now_us_ >= options_.fault_us) {
      heal();
      isolate_one();
      acknowledged_before = acknowledged_lsn_;
    }
    if (works_again) continue;
    works_again = is_healing_ && now_us_ > options_.fault_us + 200'000 && acknowledged_lsn_ > acknowledged_before + 5 &&
                  etcd_.has_effect() && std::all_of(nodes_.begin(), nodes_.end(), [this](const Node& node) {
                    return node.name == isolated_ ||
                           (has_all(node, acknowledged_lsn_) && node.confirmed + 5 >= acknowledged_lsn_);
                  });
    has_ended_ = works_again && !lose_etcd();
  }
  if (outcome_.violation.empty() && !has_ended_)
    fail("the cluster does not work again after the faults: " + describe());
  outcome_.terms = primary_of_term_.size();
  outcome_.appointed = etcd_.campaigns_of_appointed();
  return outcome_;
}

std::string Simulation::describe() const {
  std::string text = "acknowledged " + std::to_string(acknowledged_lsn_) + "; voters";
  for (const std::string& voter : etcd_.voters().names) text += " " + voter;
  if (!etcd_.has_effect()) text += ", not in effect";
  for (const Node& node : nodes_) {
    text += "; " + node.name + (node.is_complete ? "" : " incomplete") + " log " + std::to_string(node.log.size()) +
            " confirmed " + std::to_string(node.confirmed) + " promised " + std::to_string(node.promise.term) +
            node.promise.node;
    if (node.elector != nullptr && node.elector->leads()) text += " leads " + std::to_string(node.elector->term());
    if (node.elector != nullptr && node.elector->is_open(local_us(node))) text += " open";
  }
  return text;
}

// A message: lost, late, doubled, blocked. It may find a later process than the one that it was meant for.
void Simulation::send(size_t from, size_t to, std::function<void()> deliver) {
  if (blocked_.contains({from, to}) || (!is_healing_ && chance(loss_))) return;
  const int copies = chance(0.02) ? 2 : 1;
  for (int i = 0; i < copies; ++i) {
    const int64_t delay_us = chance(late_) && !is_healing_ ? between(10'000, 2'000'000) : between(200, 4'000);
    queue_.push({now_us_ + delay_us, ++events_, to, 0, deliver});
  }
}

// `lost`: no answer came in time, whether it was done or not.
void Simulation::ask_etcd(size_t from, std::function<void()> at_etcd, std::function<void()> answered,
                          std::function<void()> lost) {
  const size_t etcd = nodes_.size();
  const bool reaches = !blocked_.contains({from, etcd}) && !(chance(loss_ / 3) && !is_healing_);
  const bool comes_back = reaches && !blocked_.contains({etcd, from}) && !(chance(loss_ / 3) && !is_healing_);
  if (reaches) {
    // it may lie in a queue and be applied after the client has given up
    if (!is_healing_ && chance(late_ / 4)) {
      at(between(kEtcdTimeoutUs, 2'000'000), kNobody, [this, at_etcd] {
        if (etcd_is_up_) at_etcd();
      });
      return at(kEtcdTimeoutUs, from, lost);
    }
    at(between(500, 3'000), kNobody, [this, from, at_etcd, answered, lost, comes_back] {
      if (!etcd_is_up_) return at(kEtcdTimeoutUs, from, lost);
      at_etcd();
      comes_back ? at(between(500, 3'000), from, answered) : at(kEtcdTimeoutUs, from, lost);
    });
  } else {
    at(kEtcdTimeoutUs, from, lost);
  }
}

void Simulation::start(size_t n) {
  Node& node = nodes_[n];
  const bool is_first = node.incarnation == 0;
  node.is_alive = true;
  node.frozen_until_us = 0;
  ++node.incarnation;
  node.log.resize(node.durable);
  node.is_complete = is_first || is_durable_ || node.has_ended_well;
  node.has_ended_well = false;
  node.complete_at = node.matched = 0;
  node.complete_in = {};
  node.confirmed = 0;
  node.started_term = 0;
  node.copies.reset();
  node.lease = 0;
  node.incarnations.assign(nodes_.size(), 0);
  node.elector =
      std::make_unique<Elector>(elector_options(node, n == 1, options_.flaws), node.promise, node.position(is_durable_),
                                node.is_complete, local_us(node), node.may_have_granted);
  at(between(0, kTickUs), n, [this, n] { tick(n); });
}

// What was on its way to the disk may have reached it: promises in their order, any part of the log.
void Simulation::crash(size_t n) {
  Node& node = nodes_[n];
  node.is_alive = false;
  for (const Promise& promise : std::exchange(node.storing, {})) {
    if (chance(0.5)) break;
    if (promise.term > node.promise.term) node.promise = promise;
  }
  if (chance(0.5)) node.durable += random_.below(node.log.size() - node.durable + 1);
  node.elector.reset();
  if (!is_durable_) node.is_complete = false;
}

// By itself: with all of its log on disk, so it forgets nothing.
void Simulation::end(size_t n) {
  Node& node = nodes_[n];
  node.durable = node.log.size();
  node.has_ended_well = node.is_complete;
  const bool was_complete = node.is_complete;
  crash(n);
  node.is_complete = was_complete;
}

void Simulation::tick(size_t n) {
  Node& node = nodes_[n];
  const bool waits = node.copies != nullptr && node.confirmed < node.log.size();
  const bool is_new = node.unconfirmed_since_us < 0 || node.confirmed != node.confirmed_before;
  if (!waits || is_new) node.unconfirmed_since_us = waits ? local_us(node) : -1;
  node.confirmed_before = node.confirmed;
  node.elector->on_unconfirmed(node.unconfirmed_since_us);
  make_way(n);
  look_at_drain(n);
  node.elector->on_time(local_us(node));
  act(n);
  if (!node.is_alive) return;
  if (random_.below(20) == 0) publish(n);
  if (node.elector->leads()) replicate(n);
  at(kTickUs, n, [this, n] { tick(n); });
}

void Simulation::act(size_t n) {
  Node& node = nodes_[n];
  while (node.is_alive) {
    const std::vector<Action> actions = node.elector->take_actions();
    if (actions.empty()) return;
    for (const Action& action : actions) {
      if (node.is_alive) act_on(n, action);
    }
  }
}

void Simulation::act_on(size_t n, const Action& action) {
  Node& node = nodes_[n];
  const size_t to = action.node.empty() ? n : static_cast<size_t>(action.node[0] - 'a');
  switch (action.kind) {
    case Action::Kind::kReadView:
      return read_view(n);
    case Action::Kind::kPublish:
      return publish(n);
    case Action::Kind::kCampaign:
      return campaign(n, action);
    case Action::Kind::kKeepAlive:
      return keep_alive(n);
    case Action::Kind::kGiveUpLease:
      return ask_etcd(n, [this, lease = std::exchange(node.lease, 0)] { etcd_.revoke(lease); }, [] {}, [] {});
    case Action::Kind::kStorePromise:
      return store_promise(n, action.promise);
    case Action::Kind::kSendFence:
      return send(n, to, [this, to, wanted = Promise{action.term, node.name, action.config}] {
        nodes_[to].elector->on_fence(wanted, local_us(nodes_[to]));
        act(to);
      });
    case Action::Kind::kAnswerFence:
      return send(n, to, [this, n, to, answer = action.answer] {
        nodes_[to].elector->on_fence_answer(nodes_[n].name, answer, local_us(nodes_[to]));
        act(to);
      });
    case Action::Kind::kAdopt:
      return adopt(n, to, action.position);
    case Action::Kind::kStartTerm:
      return start_term(n, action.term);
    case Action::Kind::kOpen:
      return check_open(n, action.term);
    case Action::Kind::kClose:
      return;
    case Action::Kind::kRegisterDisk:
      return register_disk(n, action);
    case Action::Kind::kHandOver:
      return hand_over(n, action);
    case Action::Kind::kNoteOpened:
      return ask_etcd(
          n,
          [this, me = Promise{action.term, node.name}, config = action.config] {
            etcd_.note_opened(me, config, now_us_);
          },
          [] {}, [] {});
    case Action::Kind::kAskGrant:
      return send(n, to, [this, n, to, term = action.term, asked_us = action.asked_us] {
        nodes_[to].elector->on_grant_asked(nodes_[n].name, term, asked_us, local_us(nodes_[to]));
        act(to);
      });
    case Action::Kind::kAnswerGrant:
      return send(n, to, [this, n, to, grant = action.grant] {
        nodes_[to].elector->on_grant(nodes_[n].name, grant, local_us(nodes_[to]));
        act(to);
      });
    case Action::Kind::kKeepGrant:
      return at(has_slow_disks_ ? 60'000 : 5'000, n, [this, n] {
        nodes_[n].may_have_granted = true;
        nodes_[n].elector->on_grant_kept(local_us(nodes_[n]));
        act(n);
      });
    case Action::Kind::kDropGrant:
      return at(has_slow_disks_ ? 60'000 : 5'000, n, [this, n] { nodes_[n].may_have_granted = false; });
    case Action::Kind::kReclaim:
      return reclaim(n);
    case Action::Kind::kStepDown:
      node.copies.reset();
      node.started_term = 0;
      return;
    case Action::Kind::kEnd:
      end(n);
      at(100'000, kNobody, [this, n] {
        if (!nodes_[n].is_alive) start(n);
      });
  }
}

void Simulation::campaign(size_t n, const Action& action) {
  auto lease = std::make_shared<uint64_t>(0);
  auto won = std::make_shared<bool>(false);
  const int64_t sent_us = local_us(nodes_[n]);
  const uint64_t term = action.term;
  const auto answer = [this, n, term, sent_us](Elector::Campaign outcome) {
    nodes_[n].elector->on_campaign(outcome, term, sent_us, local_us(nodes_[n]));
    act(n);
  };
  const auto lost = [answer] { answer(Elector::Campaign::kUnknown); };
  const Etcd::Expected expected{action.term_revision, action.config_revision, action.paused_revision};
  const auto draw = [this, n, term, expected, lease, won] {
    *won = etcd_.campaign({term, nodes_[n].name}, expected, *lease, now_us_);
    if (etcd_lies_ && !is_healing_ && chance(0.3)) etcd_.restore_backup();
  };
  ask_etcd(
      n, [this, lease] { *lease = etcd_.grant(now_us_, kLeaseUs); },
      [this, n, lease, won, draw, answer, lost] {
        nodes_[n].lease = *lease;
        ask_etcd(n, draw, [won, answer] { answer(*won ? Elector::Campaign::kWon : Elector::Campaign::kLost); }, lost);
      },
      lost);
}

void Simulation::read_view(size_t n) {
  auto view = std::make_shared<View>();
  const int64_t asked_us = local_us(nodes_[n]);
  ask_etcd(
      n, [this, view] { *view = etcd_.read(now_us_); },
      [this, n, view, asked_us] {
        view->asked_us = asked_us;
        nodes_[n].elector->on_view(*view, local_us(nodes_[n]));
        nodes_[n].was_registered |= nodes_[n].elector->has_known_disk();
        act(n);
      },
      [] {});
}

void Simulation::publish(size_t n) {
  const Node& node = nodes_[n];
  const consensus::Member member{node.position(is_durable_), node.elector->is_complete(), n == 1};
  ask_etcd(n, [this, n, member] { etcd_.publish(nodes_[n].name, member, now_us_); }, [] {}, [] {});
  if (!node.elector->leads() || node.confirmed == 0) return;
  const Promise me{node.elector->term(), node.name};
  const Position floor{node.log[node.confirmed - 1].term, node.confirmed};
  ask_etcd(n, [this, me, floor] { etcd_.raise_floor(me, floor, now_us_); }, [] {}, [] {});
}

void Simulation::keep_alive(size_t n) {
  auto ok = std::make_shared<bool>(false);
  const int64_t sent_us = local_us(nodes_[n]);
  const uint64_t lease = nodes_[n].lease, term = nodes_[n].elector->term();
  ask_etcd(
      n, [this, lease, ok] { *ok = etcd_.keep_alive(lease, now_us_, kLeaseUs); },
      [this, n, term, lease, ok, sent_us] {
        if (!*ok && lease != nodes_[n].lease) return;  // it has another one by now
        Elector* elector = nodes_[n].elector.get();
        const int64_t local = local_us(nodes_[n]);
        *ok ? elector->on_keep_alive(term, sent_us, local) : elector->on_lease_lost(term, local);
        act(n);
      },
      [] {});
}

void Simulation::register_disk(size_t n, const Action& action) {
  auto is_done = std::make_shared<bool>(false);
  ask_etcd(
      n,
      [this, n, action, id = nodes_[n].disk, is_done] {
        *is_done = etcd_.register_disk(nodes_[n].name, id, action, now_us_);
        outcome_.registered += *is_done && action.promise.term != 0 ? 1 : 0;
      },
      [this, n, is_done] {
        if (!*is_done) return;
        nodes_[n].was_registered = true;
        nodes_[n].elector->on_registered();
        act(n);
      },
      [] {});
}

// For other voters; to one that may lack something, too.
void Simulation::make_way(size_t n) {
  const Node& node = nodes_[n];
  if (!node.elector->has_old_voters() || !node.elector->drains_to().empty() || !chance(0.3)) return;
  const auto& names = etcd_.voters().names;
  node.elector->begin_drain(names[random_.below(names.size())], local_us(node) + between(100'000, 400'000),
                            local_us(node));
  act(n);
}

// What a primary knows of the node that it drains to; now and then it errs, or does not wait.
void Simulation::look_at_drain(size_t n) {
  Node& node = nodes_[n];
  const std::string& to = node.elector->drains_to();
  if (to.empty() || node.copies == nullptr) return;
  const bool has_all =
      node.confirmed == node.log.size() && node.next[static_cast<size_t>(to[0] - 'a')] == node.log.size() + 1;
  if (has_all || chance(0.05)) node.elector->on_drained(local_us(node));
}

void Simulation::hand_over(size_t n, const Action& action) {
  auto is_done = std::make_shared<bool>(false);
  const uint64_t term = action.term;
  ask_etcd(
      n,
      [this, n, term, to = action.node, is_done] {
        *is_done = etcd_.hand_over({term, nodes_[n].name}, to, now_us_);
        outcome_.handed_over += *is_done ? 1 : 0;
      },
      [this, n, term, is_done] {
        Elector* elector = nodes_[n].elector.get();
        const int64_t local = local_us(nodes_[n]);
        *is_done ? elector->on_handed_over(Elector::HandOver::kDone, term, local) : elector->on_lease_lost(term, local);
        act(n);
      },
      [this, n, term] {
        nodes_[n].elector->on_handed_over(Elector::HandOver::kUnknown, term, local_us(nodes_[n]));
        act(n);
      });
}

void Simulation::reclaim(size_t n) {
  auto lease = std::make_shared<uint64_t>(0);
  auto won = std::make_shared<bool>(false);
  const int64_t sent_us = local_us(nodes_[n]);
  const Promise me{nodes_[n].elector->term(), nodes_[n].name};
  const auto answer = [this, n, term = me.term, sent_us, lease](Elector::Campaign outcome) {
    nodes_[n].elector->on_reclaimed(outcome, term, sent_us, local_us(nodes_[n]));
    if (outcome == Elector::Campaign::kWon) nodes_[n].lease = *lease;
    act(n);
  };
  ask_etcd(
      n,
      [this, me, lease, won] {
        *lease = etcd_.grant(now_us_, kLeaseUs);
        *won = etcd_.reclaim(me, *lease, now_us_);
        outcome_.reclaimed += *won ? 1 : 0;
      },
      [won, answer] { answer(*won ? Elector::Campaign::kWon : Elector::Campaign::kLost); },
      [this, n, lease, answer] {
        ask_etcd(n, [this, lease] { etcd_.revoke(*lease); }, [] {}, [] {});
        answer(Elector::Campaign::kUnknown);
      });
}

// In the order asked for.
void Simulation::store_promise(size_t n, const Promise& promise) {
  nodes_[n].storing.push_back(promise);
  at(has_slow_disks_ ? 60'000 : 5'000, n, [this, n, promise] {
    nodes_[n].storing.pop_front();
    if (promise.term >= nodes_[n].promise.term) nodes_[n].promise = promise;
    nodes_[n].elector->on_promise_stored(promise, local_us(nodes_[n]));
    act(n);
  });
}

}  // namespace scyper::failover
