#include "consensus/cluster_keys.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/check.h"

namespace scyper::consensus {

namespace {

using Words = std::map<std::string, std::string>;
using Compare = EtcdTxn::Compare;

constexpr char kFailureWord[] = " failure=";
constexpr char kDisks[] = "disks/";

Words words_of(const std::string& value) {
  Words words;
  for (const std::string& word : std::vector<std::string>(absl::StrSplit(value, ' ', absl::SkipEmpty()))) {
    const size_t equals = word.find('=');
    if (equals != std::string::npos) words[word.substr(0, equals)] = word.substr(equals + 1);
  }
  return words;
}

StatusOr<uint64_t> number_of(const Words& words, const std::string& name) {
  const auto found = words.find(name);
  uint64_t number = 0;
  if (found != words.end()) {
    const char* end = found->second.data() + found->second.size();
    const auto read = std::from_chars(found->second.data(), end, number);
    if (read.ec == std::errc() && read.ptr == end) return number;
  }
  return absl::DataLossError("etcd: a key of the cluster has no number " + name);
}

std::string text_of(const Words& words, const std::string& name) {
  const auto found = words.find(name);
  return found == words.end() ? "" : found->second;
}

StatusOr<Position> position_of(const Words& words) {
  Position position;
  SCYPER_ASSIGN_OR_RETURN(position.term, number_of(words, "term"));
  SCYPER_ASSIGN_OR_RETURN(position.lsn, number_of(words, "lsn"));
  return position;
}

std::string term_value(uint64_t term) { return absl::StrCat("term=", term); }

}  // namespace

std::string encode_position(const Position& position) {
  return absl::StrCat("term=", position.term, " lsn=", position.lsn);
}

StatusOr<Position> decode_position(const std::string& value) { return position_of(words_of(value)); }

std::string encode_member(const MemberEntry& entry) {
  return absl::StrCat(encode_position(entry.member.position), " complete=", entry.member.is_complete ? 1 : 0,
                      " row=", entry.member.has_row_layout ? 1 : 0, " address=", entry.address, " peers=", entry.peers);
}

StatusOr<MemberEntry> decode_member(const std::string& value) {
  const Words words = words_of(value);
  MemberEntry entry;
  SCYPER_ASSIGN_OR_RETURN(entry.member.position, position_of(words));
  SCYPER_ASSIGN_OR_RETURN(const uint64_t is_complete, number_of(words, "complete"));
  SCYPER_ASSIGN_OR_RETURN(const uint64_t has_row_layout, number_of(words, "row"));
  entry.member.is_complete = is_complete == 1;
  entry.member.has_row_layout = has_row_layout == 1;
  entry.address = text_of(words, "address");
  entry.peers = text_of(words, "peers");
  return entry;
}

std::string encode_config(const ClusterConfig& config) {
  return absl::StrCat("version=", config.version, " voters=", absl::StrJoin(config.voters.names, ","),
                      " commit_mode=", config.commit_mode);
}

StatusOr<ClusterConfig> decode_config(const std::string& value) {
  const Words words = words_of(value);
  ClusterConfig config;
  SCYPER_ASSIGN_OR_RETURN(config.version, number_of(words, "version"));
  config.voters.names = std::vector<std::string>(absl::StrSplit(text_of(words, "voters"), ',', absl::SkipEmpty()));
  config.commit_mode = text_of(words, "commit_mode");
  if (config.voters.names.empty()) return absl::DataLossError("etcd: the cluster's config names no voters");
  return config;
}

std::string encode_leader(const Promise& leader) {
  std::string value = absl::StrCat("term=", leader.term, " node=", leader.node);
  if (leader.config != 0) absl::StrAppend(&value, " config=", leader.config);
  return value;
}

StatusOr<Promise> decode_leader(const std::string& value) {
  const Words words = words_of(value);
  Promise leader;
  SCYPER_ASSIGN_OR_RETURN(leader.term, number_of(words, "term"));
  leader.node = text_of(words, "node");
  if (leader.node.empty()) return absl::DataLossError("etcd: the leader has no name");
  if (words.contains("config")) {
    SCYPER_ASSIGN_OR_RETURN(leader.config, number_of(words, "config"));
  }
  return leader;
}

std::string encode_appointment(const Appointment& appointment) {
  return absl::StrCat("term=", appointment.term, " node=", appointment.node,
                      " accepts_loss=", appointment.accepts_loss ? 1 : 0);
}

StatusOr<Appointment> decode_appointment(const std::string& value) {
  const Words words = words_of(value);
  Appointment appointment;
  SCYPER_ASSIGN_OR_RETURN(appointment.term, number_of(words, "term"));
  SCYPER_ASSIGN_OR_RETURN(const uint64_t accepts_loss, number_of(words, "accepts_loss"));
  appointment.node = text_of(words, "node");
  appointment.accepts_loss = accepts_loss == 1;
  return appointment;
}

// The failure is the rest: it has blanks.
std::string encode_switchover(const SwitchoverRequest& request) {
  return absl::StrCat("term=", request.term, " id=", request.id, " to=", request.to, " drain_ms=", request.drain_ms,
                      request.failure.empty() ? "" : kFailureWord, request.failure);
}

StatusOr<SwitchoverRequest> decode_switchover(const std::string& value) {
  const size_t failure = value.find(kFailureWord);
  const Words words = words_of(value.substr(0, failure));
  SwitchoverRequest request;
  SCYPER_ASSIGN_OR_RETURN(request.term, number_of(words, "term"));
  SCYPER_ASSIGN_OR_RETURN(request.drain_ms, number_of(words, "drain_ms"));
  request.id = text_of(words, "id");
  request.to = text_of(words, "to");
  if (failure != std::string::npos) request.failure = value.substr(failure + std::string_view(kFailureWord).size());
  return request;
}

bool is_key_name(const std::string& name) {
  if (name.empty() || name.size() > 100) return false;
  for (const char c : name) {
    const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (!is_letter && c != '-' && c != '_' && c != '.') return false;
  }
  return true;
}

ClusterKeys::ClusterKeys(Etcd* etcd, const std::string& cluster, std::string node)
    : etcd_(etcd), prefix_("/scyper/" + cluster + "/"), node_(std::move(node)) {
  CHECK(is_key_name(cluster) && is_key_name(node_));
}

StatusOr<ClusterKeys::Seen> ClusterKeys::read() {
  SCYPER_ASSIGN_OR_RETURN(const Etcd::Range range, etcd_->read(prefix_));
  Seen seen;
  seen.view.revision = range.revision;
  bool has_config = false;
  for (const EtcdValue& entry : range.values) {
    const std::string key = entry.key.substr(prefix_.size());
    if (key == "config") {
      SCYPER_ASSIGN_OR_RETURN(seen.config, decode_config(entry.value));
      seen.view.config_revision = entry.mod_revision;
      has_config = true;
    } else if (key == "term") {
      SCYPER_ASSIGN_OR_RETURN(seen.view.term, number_of(words_of(entry.value), "term"));
      seen.view.term_revision = entry.mod_revision;
    } else if (key == "opened") {
      // without it nothing but the next change waits, until it is written again
      if (auto opened = number_of(words_of(entry.value), "config"); opened.ok()) seen.view.opened = *opened;
      seen.opened_revision = entry.mod_revision;
    } else if (key == "leader") {
      SCYPER_ASSIGN_OR_RETURN(seen.view.leader, decode_leader(entry.value));
    } else if (key == "floor") {
      SCYPER_ASSIGN_OR_RETURN(seen.view.floor, decode_position(entry.value));
    } else if (key == "paused") {
      seen.paused = entry.value.empty() ? "?" : entry.value;
      seen.view.paused_revision = entry.mod_revision;
    } else if (key == "appointed") {
      if (auto appointment = decode_appointment(entry.value); appointment.ok()) seen.view.appointment = *appointment;
    } else if (key == "switchover") {
      if (auto request = decode_switchover(entry.value); request.ok()) seen.switchover = *std::move(request);
    } else if (key.starts_with(kDisks)) {
      seen.view.disks[key.substr(std::string_view(kDisks).size())] = {text_of(words_of(entry.value), "id"),
                                                                      entry.mod_revision};
    } else if (key.starts_with("members/")) {
      // one node's nonsense stops nobody else
      auto member = decode_member(entry.value);
      if (!member.ok()) continue;
      member->member.revision = entry.mod_revision;
      seen.members[key.substr(8)] = *std::move(member);
    }
  }
  if (!has_config) return absl::NotFoundError("etcd: the cluster has no config");
  seen.view.voters = seen.config.voters;
  seen.view.config = seen.config.version;
  for (const auto& [name, entry] : seen.members) seen.view.members[name] = entry.member;
  return seen;
}

StatusOr<bool> ClusterKeys::found(const ClusterConfig& config) {
  EtcdTxn txn;
  txn.compares.push_back({Compare::Kind::kIsAbsent, prefix_ + "config", 0, ""});
  txn.puts.push_back({prefix_ + "config", encode_config(config)});
  SCYPER_ASSIGN_OR_RETURN(const Etcd::Outcome outcome, etcd_->txn(txn));
  return outcome.has_succeeded;
}

Status ClusterKeys::publish(const MemberEntry& entry, int64_t lease) {
  return etcd_->put({prefix_ + "members/" + node_, encode_member(entry), lease});
}

StatusOr<bool> ClusterKeys::campaign(uint64_t term, const Expected& expected, int64_t lease) {
  EtcdTxn txn;
  txn.compares.push_back({Compare::Kind::kIsAbsent, prefix_ + "leader", 0, ""});
  txn.compares.push_back({Compare::Kind::kModRevision, prefix_ + "term", expected.term_revision, ""});
  txn.compares.push_back({Compare::Kind::kModRevision, prefix_ + "config", expected.config_revision, ""});
  txn.compares.push_back({Compare::Kind::kModRevision, prefix_ + "paused", expected.paused_revision, ""});
  txn.puts.push_back({prefix_ + "term", term_value(term)});
  txn.puts.push_back({prefix_ + "leader", leader_value(term), lease});
  txn.removes = {prefix_ + "appointed", prefix_ + "switchover"};
  return has_succeeded(txn);
}

StatusOr<bool> ClusterKeys::register_disk(const std::string& id, int64_t revision, const Promise& leader,
                                          bool is_known_again) {
  const std::string key = absl::StrCat(prefix_, kDisks, node_);
  EtcdTxn txn;
  txn.compares.push_back({Compare::Kind::kModRevision, key, revision, ""});
  if (leader.term != 0) {
    txn.compares.push_back({Compare::Kind::kValue, prefix_ + "leader", 0, encode_leader({leader.term, leader.node})});
  } else if (!is_known_again) {
    txn.compares.push_back({Compare::Kind::kIsAbsent, prefix_ + "term", 0, ""});
  }
  txn.puts.push_back({key, absl::StrCat("id=", id)});
  return has_succeeded(txn);
}

StatusOr<bool> ClusterKeys::reclaim(uint64_t term, int64_t lease) {
  EtcdTxn txn;
  txn.compares.push_back({Compare::Kind::kIsAbsent, prefix_ + "leader", 0, ""});
  txn.compares.push_back({Compare::Kind::kIsAbsent, prefix_ + "appointed", 0, ""});
  txn.compares.push_back({Compare::Kind::kValue, prefix_ + "term", 0, term_value(term)});
  txn.puts.push_back({prefix_ + "leader", leader_value(term), lease});
  return has_succeeded(txn);
}

StatusOr<bool> ClusterKeys::has_succeeded(const EtcdTxn& txn) {
  SCYPER_ASSIGN_OR_RETURN(const Etcd::Outcome outcome, etcd_->txn(txn));
  return outcome.has_succeeded;
}

StatusOr<bool> ClusterKeys::hand_over(uint64_t term, const std::string& to) {
  EtcdTxn txn;
  txn.compares.push_back({Compare::Kind::kValue, prefix_ + "leader", 0, leader_value(term)});
  txn.puts.push_back({prefix_ + "appointed", encode_appointment({term, to, false})});
  txn.removes = {prefix_ + "leader", prefix_ + "switchover"};
  return has_succeeded(txn);
}

StatusOr<bool> ClusterKeys::note_opened(uint64_t term, uint64_t config) {
  EtcdTxn txn;
  txn.compares.push_back({Compare::Kind::kValue, prefix_ + "leader", 0, leader_value(term)});
  txn.puts.push_back({prefix_ + "opened", absl::StrCat("config=", config, " ", term_value(term))});
  return has_succeeded(txn);
}

// Why `opened` is enough: majorities of the voters before and after a change by one meet, so that a term under the new
// ones finds what was confirmed, and fences who confirmed it; once it is open a majority of them has both (Ongaro's
// thesis on Raft, 4.1, and its correction of 2015: a leader's own term first).
StatusOr<bool> ClusterKeys::change_voters(const Seen& seen, const Voters& voters) {
  if (!differ_by_one(seen.config.voters, voters)) return absl::InvalidArgumentError("voters change one at a time");
  if (seen.view.opened != seen.config.version) return absl::FailedPreconditionError("the last change is under way");
  if (!seen.view.leader.has_value()) return absl::FailedPreconditionError("there is no primary");
  if (seen.view.paused_revision != 0) return absl::FailedPreconditionError("elections are paused");
  ClusterConfig config = seen.config;
  ++config.version;
  config.voters = voters;
  EtcdTxn txn;
  txn.compares.push_back({Compare::Kind::kModRevision, prefix_ + "config", seen.view.config_revision, ""});
  txn.compares.push_back({Compare::Kind::kModRevision, prefix_ + "opened", seen.opened_revision, ""});
  txn.compares.push_back({Compare::Kind::kModRevision, prefix_ + "paused", 0, ""});
  txn.compares.push_back({Compare::Kind::kValue, prefix_ + "leader", 0, encode_leader(*seen.view.leader)});
  txn.puts.push_back({prefix_ + "config", encode_config(config)});
  return has_succeeded(txn);
}

StatusOr<bool> ClusterKeys::answer_switchover(const SwitchoverRequest& request, const std::string& failure) {
  SwitchoverRequest answered = request;
  answered.failure = failure;
  EtcdTxn txn;
  txn.compares.push_back({Compare::Kind::kValue, prefix_ + "switchover", 0, encode_switchover(request)});
  txn.puts.push_back({prefix_ + "switchover", encode_switchover(answered)});
  return has_succeeded(txn);
}

StatusOr<bool> ClusterKeys::ask_switchover(const Promise& leader, const SwitchoverRequest& request) {
  EtcdTxn txn;
  txn.compares.push_back({Compare::Kind::kValue, prefix_ + "leader", 0, encode_leader(leader)});
  txn.puts.push_back({prefix_ + "switchover", encode_switchover(request)});
  return has_succeeded(txn);
}

StatusOr<bool> ClusterKeys::withdraw_switchover(const SwitchoverRequest& request) {
  EtcdTxn txn;
  txn.compares.push_back({Compare::Kind::kValue, prefix_ + "switchover", 0, encode_switchover(request)});
  txn.removes = {prefix_ + "switchover"};
  return has_succeeded(txn);
}

Status ClusterKeys::pause(const std::string& since) { return etcd_->put({prefix_ + "paused", since}); }

StatusOr<bool> ClusterKeys::resume() {
  SCYPER_ASSIGN_OR_RETURN(const int64_t removed, etcd_->remove(prefix_ + "paused"));
  return removed > 0;
}

StatusOr<bool> ClusterKeys::appoint(const Appointment& appointment, int64_t term_revision) {
  EtcdTxn txn;
  txn.compares.push_back({Compare::Kind::kIsAbsent, prefix_ + "leader", 0, ""});
  txn.compares.push_back({Compare::Kind::kModRevision, prefix_ + "term", term_revision, ""});
  txn.puts.push_back({prefix_ + "appointed", encode_appointment(appointment)});
  return has_succeeded(txn);
}

StatusOr<bool> ClusterKeys::raise_floor(const Position& floor, uint64_t term) {
  EtcdTxn txn;
  txn.compares.push_back({Compare::Kind::kValue, prefix_ + "leader", 0, leader_value(term)});
  txn.puts.push_back({prefix_ + "floor", encode_position(floor)});
  SCYPER_ASSIGN_OR_RETURN(const Etcd::Outcome outcome, etcd_->txn(txn));
  return outcome.has_succeeded;
}

bool differ_by_one(const Voters& before, const Voters& after) {
  const auto lacks = [](const Voters& from, const Voters& other) {
    return std::count_if(from.names.begin(), from.names.end(), [&](const auto& name) { return !other.has(name); });
  };
  const bool has_twice = std::any_of(after.names.begin(), after.names.end(), [&](const std::string& name) {
    return std::count(after.names.begin(), after.names.end(), name) != 1;
  });
  return !has_twice && !after.names.empty() && lacks(before, after) + lacks(after, before) == 1;
}

std::string successor_of(const ClusterKeys::Seen& seen, const std::string& from, const std::string& wished) {
  std::string found;
  Position position;
  for (const auto& [name, member] : seen.members) {
    if (name == from || !seen.config.voters.has(name) || !member.member.is_complete) continue;
    if (!wished.empty() && name != wished) continue;
    if (!found.empty() && member.member.position <= position) continue;
    found = name;
    position = member.member.position;
  }
  return found;
}

}  // namespace scyper::consensus
