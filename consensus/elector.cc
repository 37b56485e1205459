#include "consensus/elector.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/check.h"

namespace scyper::consensus {

namespace {
constexpr uint32_t kFailuresMax = 5;  // the back-off no longer grows
constexpr int64_t kSilentParts = 3;   // of a lease: who has not reached etcd for one of them does not reach it
}  // namespace

Elector::Elector(ElectorOptions options, Promise stored, Position position, bool is_complete, int64_t now_us,
                 bool may_have_granted)
    : options_(std::move(options)),
      ballot_(std::move(stored), options_.flaws),
      position_(position),
      is_complete_(is_complete),
      is_disk_known_(!tells_disks_apart()),
      next_read_us_(now_us),
      is_grant_kept_(may_have_granted) {
  CHECK(options_.margin_us > 0 && options_.margin_us < options_.lease_us);
  term_seen_ = std::max(ballot_.promised().term, position.term);
  // what it granted before it was restarted is not known
  if (may_have_granted && options_.flaws.is_on(Guard::kGrantOutlives)) bound_until_us_ = now_us + options_.lease_us;
}

std::vector<Action> Elector::take_actions() { return std::exchange(actions_, {}); }

Action& Elector::act(Action::Kind kind) {
  actions_.push_back({});
  actions_.back().kind = kind;
  actions_.back().term = term_;
  return actions_.back();
}

bool Elector::is_open(int64_t now_us) const { return takes_writes() && now_us < closing_us(); }

bool Elector::may_read(int64_t now_us) const {
  if (!options_.flaws.is_on(Guard::kLeaseForReads)) return state_ == State::kPrimary;
  return is_open(now_us);
}

void Elector::on_log(Position position, bool is_complete) {
  set_log(std::max(position_, position), is_complete_ || is_complete);
}

void Elector::on_cut(Position position, bool is_complete) { set_log(position, is_complete); }

void Elector::set_log(Position position, bool is_complete) {
  if (is_complete != is_complete_) act(Action::Kind::kPublish);
  position_ = position;
  is_complete_ = is_complete;
  term_seen_ = std::max(term_seen_, position.term);
}

// --- the disk ---

bool Elector::tells_disks_apart() const { return !options_.disk.empty() && options_.flaws.is_on(Guard::kKnownDisk); }

void Elector::set_disk_known(bool is_known) {
  if (is_known == is_disk_known_) return;
  is_disk_known_ = is_known;
  act(Action::Kind::kPublish);
}

void Elector::on_caught_up(uint64_t term) {
  if (std::exchange(caught_up_term_, term) == term || is_disk_known_) return;
  act(Action::Kind::kReadView);
}

void Elector::on_registered() { set_disk_known(true); }

// A disk that etcd does not know is empty, or an old one. The voter's promises on another disk were of terms that etcd
// had drawn, so the leader's term is not lower. Its acknowledged commits are in the leader's log. With both on this
// disk, the voter is as it was. Before anybody was elected there is nothing to lack.
void Elector::look_at_disk() {
  if (!tells_disks_apart()) return;
  const auto found = view_.disks.find(options_.node);
  const bool is_absent = found == view_.disks.end();
  set_disk_known(!is_absent && found->second.id == options_.disk);
  if (is_disk_known_) return;
  const auto& leader = view_.leader;
  const bool has_all = leader.has_value() && leader->node != options_.node && caught_up_term_ == leader->term &&
                       ballot_.is_stored(*leader) && !storing_.has_value();
  const bool is_known_again = is_absent && options_.was_registered;
  if (!has_all && !is_known_again && view_.term != 0) return;
  Action& action = act(Action::Kind::kRegisterDisk);
  action.disk_revision = is_absent ? 0 : found->second.revision;
  action.is_known_again = is_known_again;
  action.promise = has_all ? *leader : Promise();
}

void Elector::on_time(int64_t now_us) {
  if (state_ == State::kEnded) return;
  if (now_us >= next_read_us_) {
    act(Action::Kind::kReadView);
    next_read_us_ = now_us + options_.poll_us;
  }
  if (leads()) watch_lease(now_us);
  if (state_ == State::kPrimary) ask_grants(now_us);
  if (!drains_to_.empty() && !is_handing_over_ && now_us >= drain_until_us_) end_drain(now_us);
  if (leads() && now_us >= next_keep_alive_us_) {
    act(Action::Kind::kKeepAlive);
    next_keep_alive_us_ = now_us + options_.lease_us / 6;
  }
  if (state_ == State::kFencing && now_us >= next_fence_us_) send_fences(now_us);
  if (state_ == State::kCampaigning && now_us >= campaign_us_ + options_.lease_us) {
    act(Action::Kind::kGiveUpLease);  // no answer: should it have been won, the key goes
    state_ = State::kFollower;
    missing_since_us_ = -1;
  }
  if (state_ == State::kFollower) consider(now_us);
}

// Who holds the lease but reaches too few voters makes way for somebody who does: the lease alone proves nothing.
bool Elector::gets_nowhere(int64_t now_us) const {
  if (state_ == State::kStarting) return now_us >= won_us_ + std::max(options_.lease_us, options_.open_us);
  if (state_ != State::kPrimary) return now_us >= won_us_ + options_.lease_us;
  return unconfirmed_since_us_ >= 0 && now_us >= unconfirmed_since_us_ + options_.lease_us;
}

// A primary closes by itself; what is not primary yet gives up, and the next view decides anew.
void Elector::watch_lease(int64_t now_us) {
  if (now_us >= leased_us() + options_.lease_us) {
    if (state_ != State::kPrimary) return step_down(now_us);
    is_closed_ = true;
    drains_to_.clear();
    state_ = State::kEnded;
    act(Action::Kind::kEnd);
    return;
  }
  if (gets_nowhere(now_us)) return step_down(now_us);
  if (now_us >= closing_us() && state_ == State::kPrimary && !is_closed_) {
    is_closed_ = true;
    if (drains_to_.empty()) act(Action::Kind::kClose);
  }
}

void Elector::on_keep_alive(uint64_t term, int64_t sent_us, int64_t now_us) {
  if (!leads() || term != term_) return;
  lease_sent_us_ = std::max(lease_sent_us_, sent_us);
  reopen(now_us);
}

void Elector::reopen(int64_t now_us) {
  if (state_ != State::kPrimary || !is_closed_ || now_us >= closing_us()) return;
  is_closed_ = false;
  if (drains_to_.empty()) act(Action::Kind::kOpen);
}

void Elector::on_lease_lost(uint64_t term, int64_t now_us) {
  if (!leads() || term != term_) return;
  is_failsafe(now_us) && drains_to_.empty() ? reclaim() : step_down(now_us);
}

// --- without etcd ---

bool Elector::is_failsafe(int64_t now_us) const {
  return state_ == State::kPrimary && failsafe_us_ > lease_sent_us_ && now_us < closing_us();
}

// Early enough for the answers, late enough that the others miss etcd, too.
void Elector::ask_grants(int64_t now_us) {
  if (now_us < lease_sent_us_ + options_.lease_us / kSilentParts || now_us < next_ask_us_) return;
  next_ask_us_ = now_us + options_.resend_us;
  for (const std::string& voter : voters_.names) {
    if (voter == options_.node) continue;
    Action& ask = act(Action::Kind::kAskGrant);
    ask.node = voter;
    ask.asked_us = now_us;
  }
  if (voters_.names.size() > 1) return;
  failsafe_us_ = now_us;  // all voters
  reopen(now_us);
}

// Only to the primaryship that it has promised to, while it knows of no newer one, and while it does not reach etcd
// either: else somebody can be elected who does.
bool Elector::may_grant(const Promise& primaryship, int64_t now_us) const {
  if (state_ != State::kFollower || storing_.has_value() || !ballot_.is_stored(primaryship)) return false;
  // one that begins anew without etcd is not known yet: its promise is there, which an empty disk has not
  if (!is_disk_known_ && (has_view_ || !options_.was_registered)) return false;
  const bool reaches_etcd = has_view_ && now_us < view_.asked_us + options_.lease_us / kSilentParts;
  return view_.term <= primaryship.term && !reaches_etcd;
}

void Elector::on_grant_asked(const std::string& from, uint64_t term, int64_t asked_us, int64_t now_us) {
  if (state_ == State::kEnded) return;
  if (!may_grant({term, from}, now_us)) return answer_grant(from, term, asked_us, false);
  if (is_grant_kept_) {
    bound_until_us_ = std::max(bound_until_us_, now_us + options_.lease_us);
    return answer_grant(from, term, asked_us, true);
  }
  if (!granting_.has_value()) act(Action::Kind::kKeepGrant);
  granting_ = Asked{from, term, asked_us};
}

void Elector::on_grant_kept(int64_t now_us) {
  is_grant_kept_ = true;
  const auto asked = std::exchange(granting_, std::nullopt);
  if (asked.has_value()) on_grant_asked(asked->node, asked->term, asked->asked_us, now_us);
}

void Elector::answer_grant(const std::string& to, uint64_t term, int64_t asked_us, bool granted) {
  Action& action = act(Action::Kind::kAnswerGrant);
  action.node = to;
  action.grant = {term, asked_us, granted};
}

bool Elector::is_bound(int64_t now_us) const {
  return now_us < bound_until_us_ && options_.flaws.is_on(Guard::kGrantBinds);
}

void Elector::on_grant(const std::string& from, const GrantAnswer& answer, int64_t now_us) {
  if (state_ != State::kPrimary || answer.term != term_ || !answer.granted || !voters_.has(from)) return;
  grants_[from] = std::max(grants_[from], answer.asked_us);
  if (grants_.size() + 1 < voters_.names.size() && options_.flaws.is_on(Guard::kGrantOfAll)) return;
  int64_t oldest_us = grants_.begin()->second;
  for (const auto& [node, asked_us] : grants_) oldest_us = std::min(oldest_us, asked_us);
  failsafe_us_ = std::max(failsafe_us_, oldest_us);
  reopen(now_us);
}

void Elector::reclaim() {
  if (!std::exchange(is_reclaiming_, true)) act(Action::Kind::kReclaim);
}

// The voters have elected nobody meanwhile, or the Txn would have found a term above this one.
void Elector::on_reclaimed(Campaign result, uint64_t term, int64_t lease_sent_us, int64_t now_us) {
  is_reclaiming_ = false;
  if (state_ != State::kPrimary || term != term_) return;
  if (result == Campaign::kUnknown) return;  // etcd has gone again: it is tried again
  if (result == Campaign::kLost) return step_down(now_us);
  reclaimed_us_ = now_us;
  lease_sent_us_ = std::max(lease_sent_us_, lease_sent_us);
  reopen(now_us);
}

void Elector::on_unconfirmed(int64_t since_us) { unconfirmed_since_us_ = since_us; }

// --- switchover ---

bool Elector::begin_drain(const std::string& to, int64_t until_us, int64_t now_us) {
  if (!is_open(now_us) || to.empty() || to == options_.node) return false;
  drains_to_ = to;
  drain_until_us_ = until_us;
  is_handing_over_ = false;
  act(Action::Kind::kClose);
  return true;
}

// As before: nothing has been handed over.
void Elector::end_drain(int64_t now_us) {
  drains_to_.clear();
  is_handing_over_ = false;
  if (is_open(now_us)) act(Action::Kind::kOpen);
}

void Elector::on_drained(int64_t now_us) {
  if (drains_to_.empty() || is_handing_over_ || now_us >= closing_us()) return;
  is_handing_over_ = true;
  act(Action::Kind::kHandOver).node = drains_to_;
}

void Elector::on_handed_over(HandOver result, uint64_t term, int64_t now_us) {
  if (!leads() || term != term_ || !is_handing_over_) return;
  // not known: should it have been done, somebody else is about to lead
  result == HandOver::kNotDone ? end_drain(now_us) : step_down(now_us);
}

void Elector::step_down(int64_t now_us) {
  const bool had_lease = leads();
  if (had_lease) {
    act(Action::Kind::kStepDown);
    act(Action::Kind::kGiveUpLease);
    const bool has_failed = state_ != State::kPrimary || gets_nowhere(now_us);
    failures_ = has_failed ? std::min(failures_ + 1, kFailuresMax) : 0;
    not_before_us_ = now_us;
    // long enough for every other candidate: who reaches etcd alone, with the best log, must not win again and again
    if (has_failed)
      not_before_us_ += options_.settle_us + options_.poll_us + options_.step_us * (voters_.names.size() + failures_);
  }
  is_closed_ = true;
  drains_to_.clear();
  is_handing_over_ = false;
  is_reclaiming_ = false;
  state_ = State::kFollower;
  answers_.clear();
  grants_.clear();
  missing_since_us_ = -1;
  next_read_us_ = now_us;
}

void Elector::on_view(const View& view, int64_t now_us) {
  if (state_ == State::kEnded || (has_view_ && view.asked_us < view_.asked_us)) return;
  view_ = view;
  has_view_ = true;
  look_at_disk();
  term_seen_ = std::max(term_seen_, view.term);
  if (view.leader.has_value()) {
    term_seen_ = std::max(term_seen_, view.leader->term);
    led_by_ = view.leader->node;
    led_revision_ = view.revision;
  }
  const Promise me{term_, options_.node};
  if (leads()) {
    if (state_ == State::kPrimary && view.leader == me && view.opened < config_) note_opened();
    // what was read before the campaign was won says nothing
    if (view.asked_us < std::max(won_us_, reclaimed_us_) || view.leader == me) return;
    const bool is_free = !view.leader.has_value() && view.term == term_ && drains_to_.empty();
    return is_free && is_failsafe(now_us) ? reclaim() : step_down(now_us);
  }
  if (state_ == State::kCampaigning) return;
  if (view.leader.has_value()) {
    if (is_grant_kept_ && now_us >= bound_until_us_) {
      is_grant_kept_ = false;
      act(Action::Kind::kDropGrant);
    }
    missing_since_us_ = -1;
    // won, and the answer was lost, or a process before this one: the key goes when its lease does
    return;
  }
  if (missing_since_us_ < 0) {
    missing_since_us_ = now_us;
    act(Action::Kind::kPublish);
    next_read_us_ = std::min(next_read_us_, now_us + options_.settle_us);
  }
  consider(now_us);
}

bool Elector::is_appointed() const {
  const auto& appointment = view_.appointment;
  return appointment.has_value() && appointment->term == view_.term && appointment->node == options_.node;
}

// Whether all voters but the one that led have told where their logs end since it has gone.
bool Elector::have_published() const {
  if (led_by_.empty() || (view_.appointment.has_value() && view_.appointment->term == view_.term)) return false;
  for (const std::string& voter : view_.voters.names) {
    if (voter == options_.node || voter == led_by_) continue;
    const auto member = view_.members.find(voter);
    if (member == view_.members.end() || member->second.revision <= led_revision_) return false;
  }
  return true;
}

// Whether R voters may be complete, as far as they say. Else a campaign leads nowhere, and bars who chooses by hand.
// Before the first election they have to be known: who comes later has to catch up with a primary before it counts, so
// that there would never be one.
bool Elector::may_win() const {
  if (is_appointed() && view_.appointment->accepts_loss) return true;
  const auto& names = view_.voters.names;
  const auto is_unknown = [&](const std::string& voter) {
    return view_.term == 0 && tells_disks_apart() && !view_.disks.contains(voter);
  };
  const auto lacks = [&](const std::string& voter) {
    const auto member = view_.members.find(voter);
    const bool is_incomplete = member != view_.members.end() && !member->second.is_complete;
    return is_unknown(voter) || (voter != options_.node && is_incomplete && options_.flaws.is_on(Guard::kCompleteOnly));
  };
  const auto lacking = std::count_if(names.begin(), names.end(), lacks);
  return names.size() - static_cast<size_t>(lacking) >= view_.voters.fence_answers();
}

// How many candidates are to go before this node; none: it is no candidate.
std::optional<uint32_t> Elector::place() const {
  if (is_appointed() && view_.appointment->accepts_loss && view_.voters.has(options_.node)) return 0;
  if (!view_.voters.has(options_.node) || !is_complete() || position_ < view_.floor) return std::nullopt;
  using Key = std::tuple<Position, bool, std::string>;
  const auto less = [](const Key& a, const Key& b) {
    if (std::get<0>(a) != std::get<0>(b)) return std::get<0>(a) < std::get<0>(b);
    if (std::get<1>(a) != std::get<1>(b)) return std::get<1>(a) < std::get<1>(b);
    return std::get<2>(a) > std::get<2>(b);
  };
  const Key mine{position_, options_.has_row_layout, options_.node};
  if (is_appointed()) return 0;
  uint32_t before = 0;
  for (const auto& [name, member] : view_.members) {
    if (name == options_.node || !view_.voters.has(name)) continue;
    if (!member.is_complete || member.position < view_.floor) continue;
    before += less(mine, Key{member.position, member.has_row_layout, name}) ? 1 : 0;
  }
  return before;
}

void Elector::consider(int64_t now_us) {
  if (!has_view_ || missing_since_us_ < 0 || view_.leader.has_value() || now_us < not_before_us_) return;
  if (is_bound(now_us) || (view_.paused_revision != 0 && !is_appointed())) return;
  if (view_.config < ballot_.promised().config && options_.flaws.is_on(Guard::kNewestVoters)) return;
  if (!may_win()) return;
  const std::optional<uint32_t> before = place();
  // who was appointed needs no positions, and is given time
  const bool goes_at_once = is_appointed() || (before == 0u && have_published());
  // positions have to be read after the time that the others had to publish theirs
  int64_t settled_us = missing_since_us_ + options_.settle_us;
  if (view_.appointment.has_value() && view_.appointment->term == view_.term) settled_us += options_.lease_us;
  if (view_.asked_us < settled_us && !goes_at_once) {
    if (now_us >= settled_us) next_read_us_ = std::min(next_read_us_, now_us);
    return;
  }
  if (!before.has_value()) return;
  if (!goes_at_once && now_us < settled_us + *before * options_.step_us) return;
  state_ = State::kCampaigning;
  term_ = std::max(term_seen_, ballot_.promised().term) + 1;
  term_seen_ = term_;
  campaign_us_ = now_us;
  voters_ = view_.voters;
  config_ = view_.config;
  accepts_loss_ = is_appointed() && view_.appointment->accepts_loss;
  Action& campaign = act(Action::Kind::kCampaign);
  campaign.term_revision = view_.term_revision;
  campaign.config_revision = view_.config_revision;
  campaign.paused_revision = view_.paused_revision;
}

void Elector::on_campaign(Campaign result, uint64_t term, int64_t lease_sent_us, int64_t now_us) {
  if (state_ != State::kCampaigning || term != term_) return;
  // an etcd that was restored draws a term twice: what has been promised to another binds, on its way to the disk, too
  const bool is_free = ballot_.promised().term < term && (!storing_.has_value() || storing_->term < term);
  if (result == Campaign::kWon && is_free) return win(term, lease_sent_us, now_us);
  if (result != Campaign::kLost) act(Action::Kind::kGiveUpLease);
  state_ = State::kFollower;
  missing_since_us_ = -1;
  next_read_us_ = now_us;
}

void Elector::win(uint64_t term, int64_t lease_sent_us, int64_t now_us) {
  state_ = State::kFencing;
  term_ = term;
  is_closed_ = true;
  lease_sent_us_ = lease_sent_us;
  won_us_ = now_us;
  failsafe_us_ = 0;
  grants_.clear();
  is_reclaiming_ = false;
  unconfirmed_since_us_ = -1;
  next_keep_alive_us_ = now_us;
  answers_.clear();
  store_promise({term, options_.node, config_});
  send_fences(now_us);
  if (!options_.flaws.is_on(Guard::kOpenedIsOpen)) note_opened();
}

void Elector::note_opened() { act(Action::Kind::kNoteOpened).config = config_; }

void Elector::send_fences(int64_t now_us) {
  for (const std::string& voter : voters_.names) {
    if (voter == options_.node || answers_.contains(voter)) continue;
    Action& fence = act(Action::Kind::kSendFence);
    fence.node = voter;
    fence.config = config_;
  }
  next_fence_us_ = now_us + options_.resend_us;
}

// Whether a promise on its way to the disk forbids this one: it binds already.
bool Elector::is_barred(const Promise& wanted) const {
  if (!storing_.has_value()) return false;
  const bool has_old_voters = wanted.config != 0 && wanted.config < storing_->config;
  if (has_old_voters && options_.flaws.is_on(Guard::kNewestVoters)) return true;
  return *storing_ != wanted && storing_->term >= wanted.term && options_.flaws.is_on(Guard::kPromiseNamesNode);
}

void Elector::store_promise(const Promise& promise) {
  const bool is_on_its_way = storing_.has_value() && *storing_ == promise && storing_->config >= promise.config;
  if (is_barred(promise) || is_on_its_way) return;
  if (storing_.has_value() && storing_->term > promise.term) return;  // where a guard is off
  const uint64_t on_its_way = storing_.has_value() ? storing_->config : 0;
  storing_ = promise;
  storing_->config = std::max({promise.config, on_its_way, ballot_.promised().config});
  fenced_by_.clear();
  act(Action::Kind::kStorePromise).promise = *storing_;
}

void Elector::answer_fence(const Promise& wanted, bool granted) {
  Action& action = act(Action::Kind::kAnswerFence);
  action.node = wanted.node;
  action.answer = {wanted.term, granted, ballot_.promised(), position_, is_complete()};
}

void Elector::on_fence(const Promise& wanted, int64_t now_us) {
  if (state_ == State::kEnded) return;
  if (!is_plausible(wanted.term)) return answer_fence(wanted, false);
  term_seen_ = std::max(term_seen_, wanted.term);
  if (is_barred(wanted) || !ballot_.admits(wanted)) return answer_fence(wanted, false);
  if (ballot_.is_stored(wanted)) return answer_fence(wanted, true);
  if (is_bound(now_us)) return answer_fence(wanted, false);  // the candidate asks again
  if (leads() && wanted.term > term_) step_down(now_us);
  store_promise(wanted);
  fenced_by_.insert(wanted.node);
  if (!options_.flaws.is_on(Guard::kPromiseFirst)) answer_fence(wanted, true);
}

void Elector::on_promise_stored(const Promise& promise, int64_t now_us) {
  if (ballot_.admits(promise)) ballot_.stored(promise);
  const bool was_awaited = storing_.has_value() && *storing_ == promise && storing_->config == promise.config;
  if (was_awaited) storing_.reset();
  const Promise& bound = ballot_.promised();
  if (leads() && bound.term >= term_ && bound != Promise{term_, options_.node} &&
      options_.flaws.is_on(Guard::kPromiseNamesNode)) {
    step_down(now_us);
  }
  if (!was_awaited) return;
  const std::set<std::string> waiting = std::exchange(fenced_by_, {});
  if (!ballot_.is_stored(promise) && options_.flaws.is_on(Guard::kRefuseOldTerms)) return;
  for (const std::string& from : waiting) answer_fence({promise.term, from}, true);
  if (state_ == State::kFencing && promise == Promise{term_, options_.node}) {
    answers_[options_.node] = {term_, true, promise, position_, is_complete()};
    count_answers(now_us);
  }
}

void Elector::on_fence_answer(const std::string& from, const FenceAnswer& answer, int64_t now_us) {
  if (!is_plausible(answer.promised.term)) return;
  term_seen_ = std::max(term_seen_, answer.promised.term);
  if (state_ != State::kFencing || answer.term != term_) return;
  if (!answer.granted) {
    return on_refused(answer.promised, now_us);  // its own promise: the voter is about to give a higher one
  }
  answers_[from] = answer;
  count_answers(now_us);
}

void Elector::count_answers(int64_t now_us) {
  if (!answers_.contains(options_.node)) return;  // its own disk first
  uint32_t count = 0;
  const std::string* highest = &options_.node;
  for (const auto& [node, answer] : answers_) {
    if (!voters_.has(node) && options_.flaws.is_on(Guard::kVotersOnly)) continue;
    if (!answer.is_complete && !accepts_loss_ && options_.flaws.is_on(Guard::kCompleteOnly)) continue;
    ++count;
    if (answer.position > answers_[*highest].position) highest = &node;
  }
  if (count < voters_.fence_answers() && options_.flaws.is_on(Guard::kFenceQuorum)) return;
  if (*highest == options_.node || !options_.flaws.is_on(Guard::kAdoptHighest)) return start_term(now_us);
  state_ = State::kAdopting;
  Action& adopt = act(Action::Kind::kAdopt);
  adopt.node = *highest;
  adopt.position = answers_[*highest].position;
}

void Elector::on_adopted(uint64_t term, bool succeeded, int64_t now_us) {
  if (state_ != State::kAdopting || term != term_) return;
  if (!succeeded) return step_down(now_us);
  start_term(now_us);
}

void Elector::start_term(int64_t now_us) {
  state_ = State::kStarting;
  act(Action::Kind::kStartTerm);
  if (!options_.flaws.is_on(Guard::kStartCopies)) on_term_confirmed(term_, now_us);
}

void Elector::on_term_confirmed(uint64_t term, int64_t now_us) {
  if (state_ != State::kStarting || term != term_) return;
  state_ = State::kPrimary;
  failures_ = 0;
  drains_to_.clear();
  note_opened();
  if (now_us >= closing_us()) return;  // the next keep-alive opens it
  is_closed_ = false;
  act(Action::Kind::kOpen);
}

void Elector::on_refused(const Promise& promised, int64_t now_us) {
  if (!is_plausible(promised.term)) return;
  term_seen_ = std::max(term_seen_, promised.term);
  if (!leads()) return;
  const bool is_another = promised.term > term_ || (promised.term == term_ && promised.node != options_.node);
  if (is_another || promised.config > config_) step_down(now_us);
}

bool Elector::takes_redo(const Promise& primaryship, int64_t now_us) {
  if (state_ == State::kEnded || !is_plausible(primaryship.term)) return false;
  term_seen_ = std::max(term_seen_, primaryship.term);
  if (ballot_.is_stored(primaryship)) return true;
  if (is_barred(primaryship) || !ballot_.admits(primaryship)) return false;
  if (primaryship.term <= ballot_.promised().term) return true;  // only where a guard is off
  if (leads() && primaryship.term > term_) step_down(now_us);
  store_promise(primaryship);
  return false;
}

}  // namespace scyper::consensus
