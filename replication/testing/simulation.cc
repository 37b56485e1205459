#include "testing/simulation.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/random.h"
#include "replication/datagram.h"
#include "replication/inbox.h"
#include "replication/members.h"
#include "replication/outbox.h"
#include "testing/schedule.h"
#include "testing/stream_history.h"

namespace scyper::replication {
namespace {

constexpr ClusterId kCluster{{7, 9}};
constexpr uint32_t kStreams = 5;
constexpr size_t kWhole = 3;    // secondaries that have all partitions
constexpr size_t kPartial = 2;  // and that subscribe to some
const DatagramKey kKey({1, 2, 3});
constexpr int64_t kMs = 1'000'000;
constexpr int64_t kRepairAfterNs = 30 * kMs;

Inbox::Flaw inbox_flaw(SimulationFlaw flaw) {
  switch (flaw) {
    case SimulationFlaw::kIgnoresGaps:
      return Inbox::Flaw::kIgnoresGaps;
    case SimulationFlaw::kAppliesUnconfirmed:
      return Inbox::Flaw::kAppliesUnconfirmed;
    case SimulationFlaw::kKeepsTails:
      return Inbox::Flaw::kKeepsTails;
    case SimulationFlaw::kTrustsPeers:
      return Inbox::Flaw::kTrustsPeers;
    case SimulationFlaw::kNone:
    case SimulationFlaw::kReusesSource:
      return Inbox::Flaw::kNone;
  }
  return Inbox::Flaw::kNone;
}

struct Faults {
  double loss = 0, duplicate = 0, flip = 0;
  double forge = 0, replay = 0;  // by somebody without the key; only where datagrams are sealed
  int64_t delay_ns = 1 * kMs;
};

class Cluster;

// What one incarnation of the primary sends with, or a part of one.
struct Primary final : Transmitter {
  Primary(Cluster* owner, uint64_t source);
  void send(const Parcel& parcel, const Watermark& watermark) noexcept override;
  void send(const Watermark& watermark) noexcept override;
  Cluster* const cluster;
  DatagramWriter writer;
};

struct Secondary {
  std::string name;
  PartitionSet partitions = PartitionSet::all();
  bool logs = false;
  std::unique_ptr<Inbox> inbox;
  std::unique_ptr<DatagramReader> reader;
  uint64_t start_lsn = 0;  // what it did not apply itself
  uint64_t applied_hash = 0;
  std::vector<uint64_t> applied_streams;  // the same by stream; empty: it has applied nothing yet
  uint64_t member = 0;
  int64_t missing_since_ns = -1;
  Inbox::Range missing{0, 0};
  bool is_cut_off = false;
  uint64_t incarnation = 0;
  std::vector<Parcel> log;  // its own, when it keeps one
  uint64_t log_base = 0;
};

class Cluster {
 public:
  Cluster(uint64_t seed, bool logs, uint32_t copies, bool is_sealed, uint32_t channels, SimulationFlaw flaw)
      : random_(seed), logs_(logs), copies_(copies), is_sealed_(is_sealed), channels_(channels), flaw_(flaw) {
    start_primary();
    for (size_t i = 0; i < kWhole + kPartial; ++i) {
      secondaries_.push_back(std::make_unique<Secondary>());
      secondaries_.back()->name = "s" + std::to_string(i);
      secondaries_.back()->logs = logs_ && i < kWhole;
      if (i >= kWhole) secondaries_.back()->partitions = draw_partitions();
      join(secondaries_.back().get(), 0);
    }
    tick();
  }

  void run(int64_t until_ns) {
    while (schedule_.step(until_ns)) {
      if (testing::Test::HasFailure()) return;
    }
    schedule_.now_ns = until_ns;
  }

  // --- network ---
  void multicast(std::string_view datagram) {
    if (is_sealed_) {
      note_nonce(datagram);
      attack(datagram);
    }
    deliver(datagram);
  }
  void deliver(std::string_view datagram) {
    for (auto& secondary : secondaries_) {
      const int copies = chance(faults.duplicate) ? 2 : 1;
      for (int i = 0; i < copies; ++i) {
        if (secondary->is_cut_off || chance(faults.loss)) continue;
        std::string bytes(datagram);
        if (chance(faults.flip)) bytes[random_.below(bytes.size())] ^= static_cast<char>(1 + random_.below(127));
        Secondary* to = secondary.get();
        const uint64_t incarnation = to->incarnation;
        schedule_.after(random_.between(0, faults.delay_ns), [this, to, incarnation, bytes] {
          if (to->incarnation == incarnation) receive(to, bytes);
        });
      }
    }
  }

  Faults faults;
  std::vector<std::unique_ptr<Secondary>>& secondaries() { return secondaries_; }
  uint64_t written() const { return log_.size(); }
  uint64_t snapshots() const { return snapshots_.size(); }
  bool all_caught_up() {
    for (auto& secondary : secondaries_) {
      if (secondary->inbox->applied_lsn() != complete_lsn()) return false;
    }
    return outbox_->watermark().commit_lsn == complete_lsn();
  }
  std::string describe() {
    const Watermark now = outbox_->watermark();
    std::string text = "primary: term " + std::to_string(now.term) + ", complete " + std::to_string(complete_lsn()) +
                       ", commit " + std::to_string(now.commit_lsn) + ", durable groups " + std::to_string(durable_) +
                       " of " + std::to_string(log_.size()) + ", copies " + std::to_string(copies_) + "\n";
    for (auto& secondary : secondaries_) {
      Inbox& inbox = *secondary->inbox;
      const auto missing = inbox.missing();
      text += secondary->name + ": term " + std::to_string(inbox.term()) + ", received " +
              std::to_string(inbox.received_lsn()) + ", logged " + std::to_string(inbox.logged_lsn()) + ", applied " +
              std::to_string(inbox.applied_lsn()) + ", commit " + std::to_string(inbox.commit_lsn()) + ", bytes " +
              std::to_string(inbox.bytes()) + ", known " + std::to_string(inbox.known_lsn()) +
              (missing.has_value() ? ", misses something" : "") + (inbox.has_diverged() ? ", diverged" : "") + "\n";
    }
    return text;
  }
  uint64_t rejoined = 0;
  uint64_t peer_groups = 0;  // that other secondaries gave
  bool writes = true;

  void restart_primary() {
    // what was not on its disk is gone; the term rises
    outbox_->stop();
    log_.resize(durable_);
    start_primary();
  }
  void restart(Secondary* secondary) {
    ++secondary->incarnation;
    members_->leave(secondary->member);
    schedule_.after(5 * kMs, [this, secondary] { join(secondary, 1); });
  }
  // The process that sends has died; the primary has not.
  void restart_sender() { outbox_->set_transmitter(std::make_unique<Primary>(this, draw_source())); }
  bool is_sealed() const { return is_sealed_; }
  uint32_t channels() const { return channels_; }
  void partition(Secondary* secondary, bool is_cut_off) { secondary->is_cut_off = is_cut_off; }

 private:
  bool chance(double p) { return random_.real() < p; }
  PartitionSet draw_partitions() {
    PartitionSet set;
    for (uint32_t partition = 0; partition + 1 < kStreams; ++partition) {
      if (chance(0.5)) set.add(partition);
    }
    return set;
  }
  uint64_t complete_lsn() const { return log_.empty() ? 0 : log_.back().complete_lsn; }

  void start_primary() {
    ++term_;
    durable_ = log_.size();
    ASSERT_GE(durable_, remembered_) << "confirmed history is lost";
    remembered_ = 0;  // all of it is looked at again
    positions_.assign(kStreams, {});
    for (Parcel parcel : log_) ASSERT_TRUE(follow_chain(*open_parcel(kCluster, &parcel), false, &positions_).ok());
    members_ = std::make_unique<Members>(term_, [] {});
    Outbox::Start start;
    start.cluster = kCluster;
    start.term = term_;
    start.lsn = start.commit_lsn = complete_lsn();
    start.bytes_max = 20'000;                                      // small: much of the repair comes from the log
    const size_t held = std::min<size_t>(log_.size(), term_ % 4);  // as a secondary that becomes primary has them
    start.parcels.assign(log_.end() - static_cast<ptrdiff_t>(held), log_.end());
    outbox_ = std::make_unique<Outbox>(start);
    outbox_->set_transmitter(std::make_unique<Primary>(this, draw_source()));
    snapshot_ = 0;
    for (auto& secondary : secondaries_) secondary->member = enter(*secondary);
  }

  uint64_t enter(const Secondary& secondary) {
    Member member;
    member.name = secondary.name;
    member.is_voter = true;
    member.partitions = secondary.partitions;
    return members_->enter(member);
  }

  // A group: some records in some streams, with a marker now and then.
  void write_group() {
    const uint64_t base = complete_lsn();
    const uint64_t count = 1 + random_.below(20);
    const uint32_t batches = static_cast<uint32_t>(1 + random_.below(std::min<uint64_t>(count, 4)));
    Parcel parcel;
    parcel.term = term_;
    parcel.base_lsn = base;
    parcel.complete_lsn = base + count;
    parcel.snapshot = chance(0.1) ? ++snapshot_ : 0;
    std::string bytes;
    uint64_t first = base + 1;
    for (uint32_t i = 0; i < batches; ++i) {
      const uint64_t n = i + 1 == batches ? base + count + 1 - first : 1;
      BatchHeader header;
      header.group_index = static_cast<uint16_t>(i);
      header.group_batches = static_cast<uint16_t>(batches);
      header.stream = static_cast<uint32_t>(random_.below(kStreams));
      header.cluster = kCluster;
      header.term = term_;
      ChainPosition& position = positions_[header.stream];
      header.number = position.number + 1;
      header.first_lsn = first;
      header.last_lsn = first + n - 1;
      header.count = static_cast<uint32_t>(n);
      header.snapshot = parcel.snapshot;
      header.complete_lsn = parcel.complete_lsn;
      header.previous_hash = position.hash;
      std::string raw(random_.below(3000), 'x');
      for (char& c : raw) c = static_cast<char>(random_.below(256));
      std::string out(batch_bytes_max(raw.size()), '\0');
      out.resize(write_batch(&header, raw, false, out.data()));
      position = {header.number, header.header_hash};
      bytes += out;
      first += n;
    }
    parcel.bytes = std::make_shared<const std::string>(bytes);
    log_.push_back(parcel);
    outbox_->send(bytes, parcel.complete_lsn, parcel.snapshot, 0);
  }

  // Every millisecond: the primary writes, its disk follows, secondaries log, apply, repair and report.
  void tick() {
    if (writes && chance(0.5)) write_group();
    if (durable_ < log_.size() && chance(0.7)) ++durable_;
    uint64_t lsn = durable_ == 0 ? 0 : log_[durable_ - 1].complete_lsn;
    if (copies_ > 0) lsn = std::min(lsn, members_->confirmed_lsn(copies_, logs_));
    outbox_->confirm(lsn);
    remember_confirmed();
    outbox_->beat(schedule_.now_ns, 0);
    for (auto& secondary : secondaries_) work(secondary.get());
    schedule_.after(1 * kMs, [this] { tick(); });
  }

  // Confirmed history never changes: its hash at each border.
  void remember_confirmed() {
    const uint64_t commit = outbox_->watermark().commit_lsn;
    uint64_t hash = remembered_ == 0 ? 0 : confirmed_[log_[remembered_ - 1].complete_lsn];
    for (; remembered_ < log_.size() && log_[remembered_].complete_lsn <= commit; ++remembered_) {
      const Parcel& parcel = log_[remembered_];
      hash = mix(hash, parcel);
      streams_.add(parcel, kCluster);
      auto [known, is_new] = confirmed_.emplace(parcel.complete_lsn, hash);
      ASSERT_EQ(known->second, hash) << "confirmed history has changed at LSN " << parcel.complete_lsn;
    }
  }
  static uint64_t mix(uint64_t hash, const Parcel& parcel) {
    return (hash ^ std::hash<std::string>()(*parcel.bytes)) * 0x9E3779B97F4A7C15ull + parcel.complete_lsn;
  }

  // As it comes from the primary's log: it says all in its batches.
  static Parcel fetched(const Secondary& secondary, const Parcel& parcel) {
    return Parcel{.bytes = partial_parcel(parcel, secondary.partitions)->bytes};
  }

  void receive(Secondary* secondary, const std::string& datagram) {
    secondary->reader->forget(secondary->inbox->term(), secondary->inbox->received_lsn());
    auto received = secondary->reader->read(datagram, secondary->inbox->term());
    if (received.watermark.has_value()) {
      ASSERT_LE(received.watermark->term, term_) << "a forged datagram was believed";
      secondary->inbox->note(*received.watermark);
    }
    if (received.parcel.has_value()) secondary->inbox->offer(*std::move(received.parcel));
    check_diverged(secondary);
  }

  void check_diverged(Secondary* secondary) {
    if (!secondary->inbox->has_diverged()) return;
    // only what was logged before it was confirmed may differ, never what was applied
    ASSERT_TRUE(secondary->logs);
    secondary->log.clear();
    join(secondary, 0);
  }

  // how 0: from an archive, or nothing; 1: from its own log, if it has one.
  void join(Secondary* secondary, int how) {
    ++rejoined;
    ++secondary->incarnation;
    Inbox::Start start;
    start.joins = start.may_be_in_group = false;
    secondary->applied_hash = 0;
    secondary->applied_streams.clear();
    const uint64_t commit = outbox_->watermark().commit_lsn;
    if (how == 1 && secondary->logs && !secondary->log.empty()) {
      std::vector<ChainPosition> positions;
      for (Parcel parcel : secondary->log) {
        ASSERT_TRUE(follow_chain(*open_parcel(kCluster, &parcel), true, &positions).ok());
        secondary->applied_hash = mix(secondary->applied_hash, parcel);
      }
      start.lsn = secondary->log.back().complete_lsn;
      start.term = secondary->log.back().term;
      start.positions = positions;
      start.joins = secondary->log.front().base_lsn != 0;
      if (start.joins) secondary->applied_hash = 0;
      secondary->start_lsn = secondary->log.front().base_lsn == 0 ? 0 : start.lsn;
    } else {
      secondary->log.clear();
      // an archive may lie within a group
      start.lsn = commit == 0 || chance(0.3) ? 0 : commit - random_.below(std::min<uint64_t>(commit, 5));
      start.joins = start.may_be_in_group = start.lsn != 0;
      start.term = start.lsn != 0 ? term_ : 0;
      secondary->start_lsn = start.lsn;
    }
    Inbox::Options options;
    options.logs = secondary->logs;
    options.partitions = secondary->partitions;
    options.bytes_max = 60'000;
    options.newest_bytes = 5'000;
    options.flaw = inbox_flaw(flaw_);
    secondary->inbox = std::make_unique<Inbox>(kCluster, start, options);
    secondary->reader = std::make_unique<DatagramReader>(
        kCluster, DatagramReader::Options{30'000, is_sealed_ ? &kKey : nullptr, channels_, secondary->partitions});
    secondary->missing_since_ns = -1;
    secondary->member = enter(*secondary);
  }

  // What it would hand over, should it become primary: the end of what it has, without gaps.
  static void check_newest(const Inbox& inbox) {
    const std::vector<Parcel> newest = inbox.newest();
    if (newest.empty()) return;
    ASSERT_EQ(newest.back().complete_lsn, inbox.received_lsn());
    for (size_t i = 1; i < newest.size(); ++i) ASSERT_EQ(newest[i].base_lsn, newest[i - 1].complete_lsn);
  }

  void work(Secondary* secondary) {
    Inbox& inbox = *secondary->inbox;
    if (secondary->logs && chance(0.8)) {
      if (const Inbox::Group* group = inbox.next_to_log()) {
        secondary->log.push_back(group->parcel);
        inbox.logged();
      }
    }
    if (chance(0.8)) apply(secondary);
    check_newest(inbox);
    if (!secondary->is_cut_off) {
      Position position;
      position.term = inbox.is_matched() ? inbox.term() : 0;
      position.received_lsn = inbox.received_lsn();
      position.durable_lsn = secondary->logs ? inbox.logged_lsn() : 0;
      position.applied_lsn = inbox.applied_lsn();
      members_->report(secondary->member, position, schedule_.now_ns);
    }
    repair(secondary);
  }

  void apply(Secondary* secondary) {
    Inbox& inbox = *secondary->inbox;
    const Inbox::Group* group = inbox.next_to_apply();
    if (group == nullptr) return;
    const Parcel parcel = group->parcel;
    const uint64_t before = inbox.applied_lsn();
    ASSERT_TRUE(parcel.base_lsn == before || (before == secondary->start_lsn && parcel.base_lsn < before))
        << "applied " << parcel.base_lsn << " behind " << before;
    ASSERT_TRUE(confirmed_.contains(parcel.complete_lsn)) << "applied before it was confirmed";
    streams_.check(parcel, group->batches, secondary->partitions, &secondary->applied_streams);
    inbox.begin_apply(1);
    inbox.applied();
    ASSERT_EQ(inbox.applied_lsn(), parcel.complete_lsn);
    const uint64_t hash = std::hash<std::string>()(*parcel.bytes);
    auto [known, is_new] = applied_.emplace(std::pair(parcel.complete_lsn, secondary->partitions.to_string()), hash);
    ASSERT_EQ(known->second, hash) << "two nodes applied different groups at LSN " << parcel.complete_lsn;
    if (secondary->start_lsn == 0 && secondary->partitions.is_all()) {
      secondary->applied_hash = mix(secondary->applied_hash, parcel);
      ASSERT_EQ(confirmed_[parcel.complete_lsn], secondary->applied_hash);
    }
    if (parcel.snapshot == 0) return;
    auto [cut, is_first] = snapshots_.emplace(std::pair(parcel.term, parcel.snapshot), parcel.complete_lsn);
    ASSERT_EQ(cut->second, parcel.complete_lsn) << "a global snapshot has two cuts";
  }

  void repair(Secondary* secondary) {
    auto missing = secondary->inbox->missing();
    if (!missing.has_value()) {
      secondary->missing_since_ns = -1;
      return;
    }
    if (secondary->missing_since_ns < 0 || secondary->missing.after_lsn != missing->after_lsn) {
      secondary->missing_since_ns = schedule_.now_ns;
      secondary->missing = *missing;
    }
    if (schedule_.now_ns - secondary->missing_since_ns < kRepairAfterNs || secondary->is_cut_off) return;
    secondary->missing_since_ns = schedule_.now_ns;
    const uint64_t incarnation = secondary->incarnation;
    const bool asks_peer = secondary->partitions.is_all() && chance(0.75);
    schedule_.after(random_.between(0, 10 * kMs), [this, secondary, incarnation, asks_peer, range = *missing] {
      if (secondary->incarnation != incarnation || secondary->is_cut_off) return;
      if (!asks_peer || !fetch_from_peer(secondary, range)) fetch(secondary, range);
    });
  }

  // Of another secondary, which the primary may not reach, in its memory or its log. It may end in the middle, and what
  // it gives comes when terms have changed. False: it has nothing.
  bool fetch_from_peer(Secondary* secondary, const Inbox::Range& range) {
    Secondary* peer = secondary;
    while (peer == secondary) peer = secondaries_[random_.below(kWhole)].get();
    const uint64_t term = secondary->inbox->term();
    const bool is_matched = secondary->inbox->is_matched() || flaw_ == SimulationFlaw::kTrustsPeers;
    if (!is_matched || !peer->inbox->is_shared(term)) return false;
    std::vector<Parcel> found;
    for (const Parcel& parcel : peer->inbox->newest()) {
      if (parcel.complete_lsn > range.after_lsn && parcel.base_lsn < range.upto_lsn) found.push_back(parcel);
    }
    if (found.empty() || found.front().base_lsn > range.after_lsn) {
      found.clear();
      for (const Parcel& parcel : peer->log) {
        if (parcel.complete_lsn > range.after_lsn && parcel.base_lsn < range.upto_lsn) found.push_back(parcel);
      }
    }
    if (found.empty()) return false;
    if (chance(0.2)) found.resize(random_.below(found.size() + 1));
    const uint64_t incarnation = secondary->incarnation;
    schedule_.after(random_.between(0, 20 * kMs), [this, secondary, incarnation, term, found] {
      if (secondary->incarnation != incarnation) return;
      for (const Parcel& parcel : found) {
        peer_groups +=
            secondary->inbox->offer_of_peer(fetched(*secondary, parcel), term) == Inbox::Verdict::kNew ? 1 : 0;
      }
      check_diverged(secondary);
    });
    return true;
  }

  // As the publisher answers: from memory, or from the log.
  void fetch(Secondary* secondary, const Inbox::Range& range) {
    Watermark seen;
    Outbox::Piece piece = outbox_->read(range.after_lsn, seen, 1 << 20, std::chrono::milliseconds(0));
    secondary->inbox->note(piece.watermark);
    std::vector<Parcel> parcels = piece.parcels;
    if (piece.is_too_old) {
      for (const Parcel& parcel : log_) {
        if (parcel.complete_lsn > range.after_lsn && parcel.base_lsn < range.upto_lsn) parcels.push_back(parcel);
      }
    }
    for (const Parcel& parcel : parcels) {
      secondary->inbox->offer(fetched(*secondary, parcel));
    }
    check_diverged(secondary);
  }

  // As multicast.h draws them, but from the seed.
  uint64_t draw_source() { return flaw_ == SimulationFlaw::kReusesSource ? 1 : ++sources_; }
  void note_nonce(std::string_view datagram) {
    SealedHeader header;
    ASSERT_GE(datagram.size(), sizeof(header));
    std::memcpy(&header, datagram.data(), sizeof(header));
    ASSERT_TRUE(nonces_.emplace(header.term, header.source, header.counter).second)
        << "nonce " << header.counter << " of source " << header.source << " seals two datagrams in term "
        << header.term;
  }

  // What somebody on the network sends who does not have the key: what went by before, and his own.
  void attack(std::string_view datagram) {
    if (heard_.size() < 1000) heard_.emplace_back(datagram);
    if (chance(faults.replay)) deliver(std::string(heard_[random_.below(heard_.size())]));
    if (!chance(faults.forge)) return;
    std::array<uint8_t, DatagramKey::kBytes> guess;
    guess.fill(static_cast<uint8_t>(1 + random_.below(255)));
    const DatagramKey wrong(guess);
    DatagramWriter writer(kCluster, random_.next(), 1448, chance(0.5) ? &wrong : nullptr);
    // of a term to come: taken for true it would cut what the nodes have
    const Watermark lie{term_ + random_.below(3), random_.below(complete_lsn() + 1),
                        complete_lsn() + random_.below(100), complete_lsn() + random_.below(100), 0};
    writer.write(lie, [this](uint32_t, std::string_view bytes) { deliver(bytes); });
  }

  friend struct Primary;
  Random random_;
  const bool logs_;
  const uint32_t copies_;
  const bool is_sealed_;
  const uint32_t channels_;  // that the primary sends by
  const SimulationFlaw flaw_;
  uint64_t sources_ = 0;
  std::set<std::tuple<uint64_t, uint64_t, uint64_t>> nonces_;  // term, source, counter
  std::vector<std::string> heard_;                             // by the attacker
  Schedule schedule_;
  uint64_t term_ = 0;
  uint32_t snapshot_ = 0;
  std::vector<Parcel> log_;  // the primary's; the first durable_ are on its disk
  size_t durable_ = 0;
  size_t remembered_ = 0;  // of it
  std::vector<ChainPosition> positions_;
  std::unique_ptr<Members> members_;
  std::unique_ptr<Outbox> outbox_;
  std::vector<std::unique_ptr<Secondary>> secondaries_;
  std::map<uint64_t, uint64_t> confirmed_;
  StreamHistory streams_{kStreams};                               // that are confirmed
  std::map<std::pair<uint64_t, std::string>, uint64_t> applied_;  // by subscription, too
  std::map<std::pair<uint64_t, uint32_t>, uint64_t> snapshots_;
};

Primary::Primary(Cluster* owner, uint64_t source)
    : cluster(owner), writer(kCluster, source, 1448, owner->is_sealed() ? &kKey : nullptr, owner->channels()) {}
void Primary::send(const Parcel& parcel, const Watermark& watermark) noexcept {
  writer.write(parcel, watermark, [this](uint32_t, std::string_view bytes) { cluster->multicast(bytes); });
}
void Primary::send(const Watermark& watermark) noexcept {
  writer.write(watermark, [this](uint32_t, std::string_view bytes) { cluster->multicast(bytes); });
}

}  // namespace

uint64_t run_simulation(uint64_t seed, SimulationFlaw flaw) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed ^ 0x5eed);
  const bool logs = (random.real() < 0.5);
  const uint32_t copies = static_cast<uint32_t>(random.below(3));
  const uint32_t channels = seed % 2 == 0 ? 1 : static_cast<uint32_t>(2 + seed / 2 % kStreams);
  Cluster cluster(seed, logs, copies, /*is_sealed=*/random.real() < 0.5, channels, flaw);
  cluster.faults.loss = (random.real() < 0.3) ? 0 : 0.2 * random.real();
  cluster.faults.duplicate = 0.1 * random.real();
  cluster.faults.flip = (random.real() < 0.5) ? 0 : 0.02;
  cluster.faults.forge = cluster.faults.replay = 0.05 * random.real();
  cluster.faults.delay_ns = static_cast<int64_t>(1 + random.below(30)) * kMs;
  int64_t now_ns = 0;
  for (int round = 0; round < 20 && !testing::Test::HasFailure(); ++round) {
    now_ns += static_cast<int64_t>(5 + random.below(60)) * kMs;
    cluster.run(now_ns);
    auto& secondary = cluster.secondaries()[random.below(kWhole + kPartial)];
    switch (random.below(7)) {
      case 0:
        cluster.partition(secondary.get(), true);
        break;
      case 1:
        cluster.partition(secondary.get(), false);
        break;
      case 2:
        cluster.restart(secondary.get());
        break;
      case 3:
        if ((random.real() < 0.5)) cluster.restart_primary();
        break;
      case 4:  // terms pass that it does not hear of, while it has what none of them has
        cluster.partition(secondary.get(), true);
        for (int terms = 0; terms < 2 && random.real() < 0.8; ++terms) {
          cluster.restart_primary();
          now_ns += static_cast<int64_t>(1 + random.below(30)) * kMs;
          cluster.run(now_ns);
        }
        cluster.partition(secondary.get(), false);
        break;
      case 5:
        cluster.restart_sender();
        break;
      default:
        break;
    }
  }
  // the faults end: everybody has everything within bounded time
  cluster.faults = Faults();
  cluster.writes = false;
  for (auto& secondary : cluster.secondaries()) cluster.partition(secondary.get(), false);
  for (int i = 0; i < 200 && !cluster.all_caught_up() && !testing::Test::HasFailure(); ++i) {
    now_ns += 50 * kMs;
    cluster.run(now_ns);
  }
  EXPECT_TRUE(cluster.all_caught_up()) << "seed " << seed << "\n" << cluster.describe();
  return cluster.peer_groups;
}

}  // namespace scyper::replication
