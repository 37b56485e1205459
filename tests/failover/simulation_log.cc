#include <algorithm>
#include <utility>

#include "simulation.h"

// The log of the simulated nodes: what replication does, as short as it can be said.
namespace scyper::failover {

using consensus::Copies;

namespace {
constexpr size_t kEntriesMax = 64;
}

void Simulation::log_changed(size_t n) {
  Node& node = nodes_[n];
  node.elector->on_log(node.position(is_durable_), node.is_complete);
  look_whether_caught_up(n);
}

// With what the primary that it follows had when it had heard of this process.
void Simulation::look_whether_caught_up(size_t n) {
  Node& node = nodes_[n];
  const uint64_t has = std::min<uint64_t>(node.matched, is_durable_ ? node.durable : node.log.size());
  const bool is_so = node.complete_at != 0 && has >= node.complete_at;
  node.elector->on_caught_up(is_so ? node.complete_in.term : 0);
  if (is_so) node.is_complete = true;
}

void Simulation::append_here(size_t n, const Entry& entry) {
  nodes_[n].log.push_back(entry);
  const uint64_t lsn = nodes_[n].log.size(), term = entry.term;
  log_changed(n);
  sync(n, lsn, [this, n, lsn, term] {
    if (is_durable_) note_copy(n, nodes_[n].name, term, lsn);
  });
  if (!is_durable_) note_copy(n, nodes_[n].name, term, lsn);
}

// What lies in the log now, up to lsn, is on disk a moment later, unless it is cut before.
void Simulation::sync(size_t n, uint64_t lsn, std::function<void()> done) {
  const Entry last = nodes_[n].log[lsn - 1];
  const int64_t delay_us = has_slow_disks_ ? between(2'000, 200'000) : between(100, 2'000);
  at(delay_us, n, [this, n, lsn, last, done] {
    Node& node = nodes_[n];
    if (node.log.size() < lsn || !(node.log[lsn - 1] == last)) return;
    node.durable = std::max<size_t>(node.durable, lsn);
    log_changed(n);
    done();
  });
}

// Keeps `keep` batches. False: something confirmed would go.
bool Simulation::cut(size_t n, uint64_t keep) {
  Node& node = nodes_[n];
  if (keep < node.confirmed) {
    fail(node.name + " would cut what it knows to be confirmed");
    return false;
  }
  if (node.started_term != 0 && keep < node.log.size()) {
    fail(node.name + ", a primary, would cut its own log");
    return false;
  }
  node.log.resize(keep);
  node.durable = std::min<size_t>(node.durable, keep);
  node.elector->on_cut(node.position(is_durable_), node.is_complete);
  return true;
}

void Simulation::start_term(size_t n, uint64_t term) {
  Node& node = nodes_[n];
  node.started_term = term;
  node.copies = std::make_unique<Copies>(node.elector->voters(), term, node.log.size() + 1, options_.flaws);
  node.next.assign(nodes_.size(), node.log.size() + 1);
  append_here(n, {term, 0});
  replicate(n);
}

void Simulation::adopt(size_t n, size_t from, Position position) {
  const uint64_t term = nodes_[n].elector->term();
  auto has_ended = std::make_shared<bool>(false);
  const auto end = [this, n, term, has_ended](bool succeeded) {
    if (std::exchange(*has_ended, true) || nodes_[n].elector->term() != term) return;
    nodes_[n].elector->on_adopted(term, succeeded, local_us(nodes_[n]));
    act(n);
  };
  at(500'000, n, [end] { end(false); });
  send(n, from, [this, n, from, position, end, term, has_ended] {
    const Node& source = nodes_[from];
    if (source.elector->promised() != Promise{term, nodes_[n].name} || source.position(is_durable_) != position) return;
    send(from, n, [this, n, log = source.log, lsn = position.lsn, end, term, has_ended] {
      Node& node = nodes_[n];
      if (*has_ended || node.elector->term() != term || node.elector->promised() != Promise{term, node.name}) return;
      uint64_t same = 0;
      while (same < lsn && same < node.log.size() && node.log[same] == log[same]) ++same;
      if (!cut(n, same)) return;
      node.log.insert(node.log.end(), log.begin() + static_cast<ptrdiff_t>(same),
                      log.begin() + static_cast<ptrdiff_t>(lsn));
      log_changed(n);
      is_durable_ ? sync(n, lsn, [end] { end(true); }) : end(true);
    });
  });
}

void Simulation::replicate(size_t n) {
  if (nodes_[n].started_term == 0) return;
  for (size_t to = 0; to < nodes_.size(); ++to) {
    if (to != n) replicate_to(n, to);
  }
}

void Simulation::replicate_to(size_t n, size_t to) {
  Node& node = nodes_[n];
  Append append;
  append.primaryship = {node.started_term, node.name};
  const uint64_t from = node.next[to];
  append.previous = from == 1 ? Position{} : Position{node.log[from - 2].term, from - 1};
  const uint64_t end = std::min<uint64_t>(node.log.size(), from - 1 + kEntriesMax);
  append.entries.assign(node.log.begin() + static_cast<ptrdiff_t>(from - 1),
                        node.log.begin() + static_cast<ptrdiff_t>(end));
  append.confirmed = node.confirmed;
  append.last_lsn = node.log.size();
  append.incarnation = node.incarnations[to];
  send(n, to, [this, to, n, append = std::move(append)] { on_append(to, n, append); });
}

void Simulation::on_append(size_t n, size_t from, const Append& append) {
  Node& node = nodes_[n];
  const bool is_taken = node.elector->takes_redo(append.primaryship, local_us(node));
  act(n);
  if (!is_taken) {
    return send(n, from, [this, from, promised = node.elector->promised()] {
      nodes_[from].elector->on_refused(promised, local_us(nodes_[from]));
      act(from);
    });
  }
  const uint64_t before = append.previous.lsn;
  if (before > node.log.size() || (before > 0 && node.log[before - 1].term != append.previous.term)) {
    // further back; a gap, or another history: then to its term's start, for one at a time outlasts a candidacy
    uint64_t keep = std::min<uint64_t>(before - 1, node.log.size());
    if (before <= node.log.size()) {
      while (keep > 0 && node.log[keep - 1].term == node.log[before - 1].term) --keep;
    }
    const uint64_t hint = keep + 1;
    return send(n, from, [this, n, from, hint, term = append.primaryship.term] {
      if (nodes_[from].started_term == term) nodes_[from].next[n] = std::min(nodes_[from].next[n], hint);
    });
  }
  for (size_t i = 0; i < append.entries.size(); ++i) {
    const uint64_t lsn = before + i + 1;
    if (lsn <= node.log.size() && node.log[lsn - 1] == append.entries[i]) continue;
    if (lsn <= node.log.size() && !cut(n, lsn - 1)) return;
    node.log.push_back(append.entries[i]);
  }
  const uint64_t matched = before + append.entries.size();
  if (node.complete_in != append.primaryship) node.complete_at = node.matched = 0;
  node.complete_in = append.primaryship;
  node.matched = std::max(node.matched, matched);
  if (append.incarnation == node.incarnation && node.complete_at == 0) {
    node.complete_at = std::max<uint64_t>(append.last_lsn, 1);
  }
  log_changed(n);
  act(n);
  confirm(n, std::min(append.confirmed, matched));
  const auto answer = [this, n, from, primaryship = append.primaryship, matched] {
    acknowledge(n, from, primaryship, matched);
  };
  if (matched == 0 || (is_durable_ && matched <= node.durable)) return answer();
  sync(n, matched, is_durable_ ? std::function<void()>(answer) : [] {});
  if (!is_durable_) answer();
}

// Only under the promise that it was taken under: a candidate that has been promised more was told a position without
// it.
void Simulation::acknowledge(size_t n, size_t from, const Promise& primaryship, uint64_t lsn) {
  if (nodes_[n].elector->promised() != primaryship) return;
  const bool is_copy = nodes_[n].elector->has_known_disk();
  const auto deliver = [this, n, from, term = primaryship.term, lsn, incarnation = nodes_[n].incarnation, is_copy] {
    Node& node = nodes_[from];
    node.incarnations[n] = incarnation;
    if (node.copies == nullptr) return;
    if (node.started_term == term) node.next[n] = std::max(node.next[n], lsn + 1);
    if (is_copy) note_copy(from, nodes_[n].name, term, lsn);
  };
  if (n != held_from_ || now_us_ > held_until_us_) return send(n, from, deliver);
  queue_.push({held_until_us_ + between(0, 4'000), ++events_, from, 0, deliver});
}

void Simulation::note_copy(size_t n, const std::string& who, uint64_t term, uint64_t lsn) {
  Node& node = nodes_[n];
  if (node.copies == nullptr || !node.elector->leads()) return;
  node.copies->note(who, term, lsn);
  const uint64_t confirmed = std::min<uint64_t>(node.copies->confirmed_lsn(), node.log.size());
  if (confirmed > node.confirmed) {
    const auto [known, is_new] = primary_of_term_.emplace(node.started_term, n);
    if (!is_new && known->second != n) fail("two primaries confirm in term " + std::to_string(node.started_term));
    confirm(n, confirmed);
    acknowledged_lsn_ = std::max(acknowledged_lsn_, confirmed);
    acknowledged_by_term_[node.started_term] = confirmed;
    outcome_.acknowledged = acknowledged_lsn_;
    outcome_.failsafe += node.elector->is_failsafe(local_us(node)) ? 1 : 0;
  }
  if (node.copies->confirmed_lsn() > 0) {
    node.elector->on_term_confirmed(node.started_term, local_us(node));
    act(n);
  }
}

void Simulation::confirm(size_t n, uint64_t lsn) {
  Node& node = nodes_[n];
  for (uint64_t at = node.confirmed + 1; at <= lsn; ++at) {
    if (at > confirmed_.size()) confirmed_.push_back(node.log[at - 1]);
    if (!(confirmed_[at - 1] == node.log[at - 1])) {
      return fail(node.name + " confirms another batch at LSN " + std::to_string(at) + ": term " +
                  std::to_string(node.log[at - 1].term) + ", was " + std::to_string(confirmed_[at - 1].term));
    }
  }
  node.confirmed = std::max(node.confirmed, lsn);
}

bool Simulation::has_all(const Node& node, uint64_t lsn) const {
  if (node.log.size() < lsn) return false;
  return std::equal(confirmed_.begin(), confirmed_.begin() + static_cast<ptrdiff_t>(lsn), node.log.begin());
}

// Where etcd forgets leases, a later term may have been opened already: then this one opens too late to confirm
// anything, and need not have what the later one acknowledged.
void Simulation::check_open(size_t n, uint64_t term) {
  uint64_t lsn = 0;
  for (const auto& [by, acknowledged] : acknowledged_by_term_) {
    if (by <= term || !etcd_lies_) lsn = std::max(lsn, acknowledged);
  }
  if (!has_all(nodes_[n], lsn)) {
    fail(nodes_[n].name + " opens term " + std::to_string(term) + " without all that was acknowledged");
  }
  const auto [known, is_new] = primary_of_term_.emplace(term, n);
  if (!is_new && known->second != n) fail("two primaries open term " + std::to_string(term));
}

void Simulation::check_read(size_t n) {
  const Node& node = nodes_[n];
  // an etcd that has forgotten a lease, or a clock beyond the margin: the holder still trusts it (docs/failover.md)
  if (etcd_lies_ || !node.elector->may_read(local_us(node))) return;
  if (node.confirmed < acknowledged_lsn_) fail(node.name + " answers a strong read without all that was acknowledged");
}

}  // namespace scyper::failover
