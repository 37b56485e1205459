#include "replication/inbox.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/check.h"

namespace scyper::replication {

Inbox::Inbox(const ClusterId& cluster, const Start& start, const Options& options)
    : cluster_(cluster),
      options_(options),
      joins_(start.joins),
      is_at_start_(start.may_be_in_group),
      joined_lsn_(start.may_be_in_group ? start.lsn : 0),
      is_matched_(start.lsn == 0 || start.may_be_in_group),
      term_(start.term),
      received_lsn_(start.lsn),
      logged_lsn_(start.lsn),
      applied_lsn_(start.lsn),
      confirmed_lsn_(start.confirmed_lsn),
      done_term_(start.last_term),
      logged_term_(start.last_term),
      positions_(start.positions) {}

Inbox::Verdict Inbox::offer(Parcel parcel) {
  if (has_diverged_) return Verdict::kDiverged;
  const bool is_described = parcel.complete_lsn != 0;  // what was fetched says it in its batches only
  if (is_described && parcel.complete_lsn <= received_lsn_ && parcel.term <= term_) return Verdict::kKnown;
  auto opened = open_parcel(cluster_, &parcel, options_.partitions);
  if (!opened.ok()) {
    ++damaged_;
    return Verdict::kDamaged;
  }
  // the log of earlier terms is fetched, too: it fills gaps only. Who sends it as his own is no primary any more
  if (parcel.term < term_ && (is_described || parcel.base_lsn > received_lsn_ || parcel.complete_lsn > term_lsn_)) {
    return Verdict::kOldTerm;
  }
  // a forged group must not begin a term, nor change what is known of the end of the log
  if (parcel.is_unproven && (parcel.term > term_ || !is_matched_ || is_at_start_)) return Verdict::kUnproven;
  if (parcel.term > term_ && !begin_term(parcel.term, parcel.base_lsn)) return Verdict::kDiverged;
  if (!is_matched_ && !is_described && parcel.base_lsn < received_lsn_ && parcel.complete_lsn >= received_lsn_ &&
      !match(parcel, *opened)) {
    return has_diverged_ ? Verdict::kDiverged : Verdict::kDamaged;
  }
  if (parcel.complete_lsn <= received_lsn_ || ahead_.contains(parcel.base_lsn)) return Verdict::kKnown;
  if (!parcel.is_unproven) known_lsn_ = std::max(known_lsn_, parcel.complete_lsn);
  const bool is_next = parcel.base_lsn <= received_lsn_ || has(Flaw::kIgnoresGaps);
  if (is_next) make_room(parcel.bytes->size());
  // what is next always fits, so that a full inbox cannot stand still
  if (bytes_ + parcel.bytes->size() > options_.bytes_max && !(is_next && in_order_.empty())) return Verdict::kFull;
  if (!is_next) {
    bytes_ += parcel.bytes->size();
    ahead_.emplace(parcel.base_lsn, std::move(parcel));
    return Verdict::kNew;
  }
  if (!append(std::move(parcel))) return has_diverged_ ? Verdict::kDiverged : Verdict::kDamaged;
  advance();
  return Verdict::kNew;
}

Inbox::Verdict Inbox::offer_of_peer(Parcel parcel, uint64_t term) {
  if (has(Flaw::kTrustsPeers)) return offer(std::move(parcel));
  if (term != term_ || !is_matched_) return Verdict::kOldTerm;
  Parcel bare;  // what its batches say counts
  bare.bytes = std::move(parcel.bytes);
  Parcel seen = bare;
  auto opened = open_parcel(cluster_, &seen, options_.partitions);
  if (!opened.ok() || !follows(seen, *opened)) {
    ++damaged_;  // there: what is here is not doubted for it
    return Verdict::kDamaged;
  }
  if (seen.term > term_) return Verdict::kOldTerm;  // terms begin by their primary's own word
  return offer(std::move(bare));
}

// Whether a group goes on where this node stands, or is known, and what the primary has sent behind it goes on from it.
bool Inbox::follows(const Parcel& parcel, const std::vector<BatchView>& batches) const {
  if (parcel.complete_lsn <= received_lsn_) return true;
  std::vector<ChainPosition> positions = positions_;
  const bool fits = parcel.base_lsn == received_lsn_ || (is_at_start_ && parcel.base_lsn < received_lsn_);
  if (!fits || !follow_chain(batches, joins_, &positions).ok()) return false;
  const auto next = ahead_.find(parcel.complete_lsn);
  if (next == ahead_.end()) return true;
  Parcel behind = next->second;
  const auto opened = open_parcel(cluster_, &behind, options_.partitions);
  return opened.ok() && follow_chain(*opened, joins_, &positions).ok();
}

bool Inbox::is_shared(uint64_t term) const {
  return has(Flaw::kTrustsPeers) || (term_ == term && is_matched_ && !has_diverged_);
}

// For what is next: what lies furthest ahead is missing again later.
void Inbox::make_room(size_t bytes) {
  while (!ahead_.empty() && bytes_ + bytes > options_.bytes_max) {
    auto last = std::prev(ahead_.end());
    bytes_ -= last->second.bytes->size();
    ahead_.erase(last);
  }
}

// The new primary's own groups begin behind term_lsn: what came from the old one beyond was never confirmed. False: it
// has been applied or logged here all the same.
bool Inbox::begin_term(uint64_t term, uint64_t term_lsn) {
  if (const uint64_t confirmed_lsn = std::max(confirmed_lsn_, commit_lsn_);
      options_.holds_confirmed && confirmed_lsn > term_lsn) {
    lost_lsn_ = confirmed_lsn;
    has_diverged_ = true;
    return false;
  }
  while (!in_order_.empty() && in_order_.back().parcel.complete_lsn > term_lsn && !has(Flaw::kKeepsTails)) {
    if (is_touched(in_order_.size() - 1)) {
      has_diverged_ = true;
      return false;
    }
    drop_last();
  }
  if (received_lsn_ > term_lsn && !is_at_start_ && !has(Flaw::kKeepsTails)) {
    has_diverged_ = true;
    return false;
  }
  // what lies behind gaps may be of a history that has come to nothing, even below term_lsn: it is fetched again
  for (const auto& [base_lsn, parcel] : ahead_) bytes_ -= parcel.bytes->size();
  ahead_.clear();
  term_ = term;
  term_lsn_ = known_lsn_ = term_lsn;
  commit_lsn_ = std::min(commit_lsn_, term_lsn);  // what was confirmed beyond was the old term's
  is_matched_ = received_lsn_ == 0 || is_at_start_;
  return true;
}

bool Inbox::is_touched(size_t index) const {
  return index < applied_ + applying_ || (options_.logs && index < logged_ + logging_);
}

void Inbox::drop_last() {
  bytes_ -= in_order_.back().parcel.bytes->size();
  positions_ = std::move(in_order_.back().positions_before);
  received_lsn_ = in_order_.back().parcel.base_lsn;
  in_order_.pop_back();
  // the first behind an archive, which is the primary's: back to that
  if (joined_lsn_ == 0 || received_lsn_ > joined_lsn_) return;
  received_lsn_ = joined_lsn_;
  is_at_start_ = is_matched_ = true;
}

// The group of the primary's log that has received_lsn_, beside what is here. Terms may have come and gone that this
// node has not heard of: below term_lsn, too, its log may have another end than the primary's.
bool Inbox::match(const Parcel& parcel, const std::vector<BatchView>& batches) {
  std::vector<ChainPosition> ends;  // of the streams in it
  for (const BatchView& batch : batches) {
    if (ends.size() <= batch.header.stream) ends.resize(batch.header.stream + 1);
    ends[batch.header.stream] = {batch.header.number, batch.header.header_hash};
  }
  is_matched_ = parcel.complete_lsn == received_lsn_;
  for (size_t i = 0; i < ends.size() && is_matched_; ++i) {
    const ChainPosition here = i < positions_.size() ? positions_[i] : ChainPosition();
    is_matched_ = ends[i].number == 0 || ends[i] == here;
  }
  if (is_matched_) return true;
  ++damaged_;
  if (in_order_.empty() || is_touched(in_order_.size() - 1)) {
    has_diverged_ = true;
  } else {
    is_matched_ = in_order_.back().parcel.base_lsn == 0;
    drop_last();  // and the group before it is compared
  }
  return false;
}

bool Inbox::append(Parcel parcel) {
  Group group;
  group.positions_before = positions_;
  auto opened = open_parcel(cluster_, &parcel, options_.partitions);
  CHECK(opened.ok());
  const bool fits = parcel.base_lsn == received_lsn_ || is_at_start_ || has(Flaw::kIgnoresGaps);
  if (has(Flaw::kIgnoresGaps)) positions_.assign(positions_.size(), {});
  if (!fits || !follow_chain(*opened, joins_ || has(Flaw::kIgnoresGaps), &positions_).ok()) {
    ++damaged_;
    // of the current primary, and whole: then it is what is here that is wrong
    if (!parcel.is_unproven && parcel.term == term_ && parcel.base_lsn <= received_lsn_) has_diverged_ = true;
    return false;
  }
  is_at_start_ = false;
  received_lsn_ = parcel.complete_lsn;
  bytes_ += parcel.bytes->size();
  group.parcel = std::move(parcel);
  group.batches = *std::move(opened);
  in_order_.push_back(std::move(group));
  return true;
}

void Inbox::advance() {
  while (!ahead_.empty() && ahead_.begin()->first <= received_lsn_) {
    Parcel next = std::move(ahead_.begin()->second);
    ahead_.erase(ahead_.begin());
    bytes_ -= next.bytes->size();
    if (next.complete_lsn <= received_lsn_) continue;
    if (!append(std::move(next))) return;
  }
}

bool Inbox::note(const Watermark& watermark) {
  if (watermark.term < term_) return false;
  if (has_diverged_ || (watermark.term > term_ && !begin_term(watermark.term, watermark.term_lsn))) return true;
  // a parcel of the term may have come first, and have said less
  term_lsn_ = watermark.term_lsn;
  known_lsn_ = std::max(known_lsn_, watermark.complete_lsn);
  commit_lsn_ = std::max(commit_lsn_, watermark.commit_lsn);
  return true;
}

std::optional<Inbox::Range> Inbox::missing() const {
  if (has_diverged_) return std::nullopt;
  // an unproven group ahead may begin beyond the end of the primary's log
  const uint64_t upto = ahead_.empty() ? known_lsn_ : std::min(known_lsn_, ahead_.begin()->first);
  if (!is_matched_) return Range{next_lsn(), std::max(upto, received_lsn_)};
  if (upto <= received_lsn_) return std::nullopt;
  if (bytes_ >= options_.bytes_max && !in_order_.empty()) return std::nullopt;
  return Range{received_lsn_, upto};
}

const Inbox::Group* Inbox::next_to_log(size_t skip) {
  if (!options_.logs || logged_ + skip >= in_order_.size()) return nullptr;
  logging_ = skip + 1;
  return &in_order_[logged_ + skip];
}

void Inbox::logged() {
  CHECK(logging_ > 0 && logged_ + logging_ <= in_order_.size());
  logged_ += std::exchange(logging_, 0);
  logged_term_ = in_order_[logged_ - 1].parcel.term;
  logged_lsn_ = in_order_[logged_ - 1].parcel.complete_lsn;
  drop_done();
}

const Inbox::Group* Inbox::next_to_apply(size_t skip) const {
  const size_t index = applied_ + skip;
  if (!is_matched_) return nullptr;
  if (index >= in_order_.size()) return nullptr;
  if (in_order_[index].parcel.complete_lsn > commit_lsn_ && !has(Flaw::kAppliesUnconfirmed)) return nullptr;
  return &in_order_[index];
}

void Inbox::begin_apply(size_t count) {
  CHECK(applying_ == 0 && applied_ + count <= in_order_.size());
  CHECK(count == 0 || in_order_[applied_ + count - 1].parcel.complete_lsn <= commit_lsn_ ||
        has(Flaw::kAppliesUnconfirmed));
  applying_ = count;
}

void Inbox::applied() {
  applied_ += applying_;
  if (applying_ > 0) applied_lsn_ = in_order_[applied_ - 1].parcel.complete_lsn;
  applying_ = 0;
  drop_done();
}

std::vector<Inbox::Group> Inbox::unapplied() const {
  CHECK(applying_ == 0);
  return {in_order_.begin() + static_cast<ptrdiff_t>(applied_), in_order_.end()};
}

void Inbox::drop_done() {
  while (!in_order_.empty() && applied_ > 0 && (!options_.logs || logged_ > 0)) {
    bytes_ -= in_order_.front().parcel.bytes->size();
    done_term_ = in_order_.front().parcel.term;
    if (options_.newest_bytes > 0) keep_done(std::move(in_order_.front().parcel));
    in_order_.pop_front();
    --applied_;
    if (options_.logs) --logged_;
  }
}

void Inbox::keep_done(Parcel parcel) {
  done_bytes_ += parcel.bytes->size();
  done_.push_back(std::move(parcel));
  while (done_.size() > 1 && done_bytes_ > options_.newest_bytes) {
    done_bytes_ -= done_.front().bytes->size();
    done_.pop_front();
  }
}

std::vector<Parcel> Inbox::newest() const {
  std::vector<Parcel> parcels(done_.begin(), done_.end());
  for (const Group& group : in_order_) parcels.push_back(group.parcel);
  return parcels;
}

}  // namespace scyper::replication
