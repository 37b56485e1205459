#include "member_verbs.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "consensus/cluster_keys.h"
#include "progress.h"
#include "result_format.h"

namespace scyper::client {

using consensus::ClusterKeys;
using consensus::Promise;
using consensus::Voters;

namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kLook{20};
constexpr std::chrono::seconds kSayPause{1};
// Raft's rounds (Ongaro's thesis, 4.2.1): who gets what there was at its begin within this is not far behind.
constexpr std::chrono::seconds kRoundMax{1};
constexpr std::chrono::minutes kEffectMax{1};  // a hand-over takes a tenth of a second, and is tried again
constexpr double kSilentMsMax = 5000;          // a node's entry in etcd outlives it by a lease
constexpr size_t kVotersMin = 2;
constexpr size_t kVotersMax = 31;  // more than anybody needs; each fence asks all of them

bool is_in_effect(const ClusterKeys::Seen& seen) { return seen.view.opened == seen.config.version; }

StatusOr<NodeStatus> primary_status(const CommonOptions& common, const ClusterKeys::Seen& seen) {
  const auto& leader = seen.view.leader;
  const auto member = leader.has_value() ? seen.members.find(leader->node) : seen.members.end();
  if (member == seen.members.end())
    return refused("there is no primary", "Wait for an election, or see scyper status.");
  auto status = status_of(common, member->second.address);
  if (status.ok() && status->role == "primary") return status;
  return sql_error("08006", absl::StrCat(leader->node, ", the primary, does not answer at ", member->second.address));
}

// --- list ---

struct Row {
  std::string node, address, role;
  bool is_voter = false;
  bool is_complete = false;
  uint64_t durable_lsn = 0;
};

std::vector<Row> rows_of(const ClusterKeys::Seen& seen, const StatusOr<NodeStatus>& primary) {
  std::map<std::string, uint64_t> durable;  // newer than what nodes publish
  if (primary.ok()) {
    durable[primary->node] = primary->durable_lsn;
    for (const SecondaryStatus& secondary : primary->secondaries) durable[secondary.node] = secondary.durable_lsn;
  }
  std::vector<std::string> names = seen.config.voters.names;
  for (const auto& [name, member] : seen.members) {
    if (!seen.config.voters.has(name)) names.push_back(name);
  }
  std::vector<Row> rows;
  for (const std::string& name : names) {
    Row row{name, "", "not there", seen.config.voters.has(name), false, 0};
    if (const auto member = seen.members.find(name); member != seen.members.end()) {
      row.address = member->second.address;
      row.is_complete = member->second.member.is_complete;
      row.role = seen.view.leader.has_value() && seen.view.leader->node == name ? "primary" : "secondary";
      row.durable_lsn = std::max(member->second.member.position.lsn, durable[name]);
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

void show_table(const std::vector<Row>& rows, const ClusterKeys::Seen& seen) {
  std::vector<std::vector<std::string>> cells = {{"node", "address", "role", "vote", "durable LSN"}};
  for (const Row& row : rows) {
    const bool lacks = row.is_voter && row.role != "not there" && !row.is_complete;
    cells.push_back({row.node, row.address, row.role,
                     !row.is_voter ? "learner"
                     : lacks       ? "voter (INCOMPLETE)"
                                   : "voter",
                     row.role == "not there" ? "" : absl::StrCat(row.durable_lsn)});
  }
  std::fputs(format_cells(cells, {false, false, false, false, true}).c_str(), stdout);
  std::printf("voters of version %llu, a majority is %u\n", static_cast<unsigned long long>(seen.config.version),
              seen.config.voters.write_copies());
  if (is_in_effect(seen)) return;
  std::printf("NOT IN EFFECT yet: they count from the next term on, which the primary makes way for\n");
}

void show_json(const std::vector<Row>& rows, const ClusterKeys::Seen& seen) {
  std::vector<std::string> members;
  for (const Row& row : rows) {
    members.push_back(absl::StrFormat(
        "{\"node\": %s, \"address\": %s, \"role\": %s, \"vote\": \"%s\", \"complete\": %s, \"durable_lsn\": %d}",
        json_string(row.node), json_string(row.address), json_string(row.role), row.is_voter ? "voter" : "learner",
        row.is_complete ? "true" : "false", row.durable_lsn));
  }
  std::printf("{\"version\": %llu, \"in_effect\": %s, \"members\": [%s]}\n",
              static_cast<unsigned long long>(seen.config.version), is_in_effect(seen) ? "true" : "false",
              absl::StrJoin(members, ", ").c_str());
}

// --- add, remove ---

// One change, from its wish to its effect.
class Change {
 public:
  Change(const CommonOptions& common, const MemberOptions& options, bool is_add)
      : common_(common), options_(options), is_add_(is_add) {}
  Status run();
  void show() const;

 private:
  Status check(const ClusterKeys::Seen& seen) const;
  Status check_majority(const ClusterKeys::Seen& seen) const;
  Voters after(const ClusterKeys::Seen& seen) const;
  Status catch_up(const Cluster& cluster);
  Status write(const Cluster& cluster);
  Status wait_for_effect(const Cluster& cluster);
  bool is_over() const { return Clock::now() >= start_ + std::chrono::milliseconds(options_.timeout_ms); }
  void say(uint64_t durable_lsn, uint64_t last_lsn);
  Status timeout(const std::string& what) const {
    return sql_error("57014", absl::StrCat(what, " after ", options_.timeout_ms, " ms"));
  }

  const CommonOptions& common_;
  const MemberOptions& options_;
  const bool is_add_;
  const Clock::time_point start_ = Clock::now();
  Clock::time_point said_ = start_;
  uint64_t version_ = 0;  // that was written
  Voters voters_;
  Promise primary_;
};

Voters Change::after(const ClusterKeys::Seen& seen) const {
  Voters voters = seen.config.voters;
  if (is_add_) voters.names.push_back(options_.node);
  if (!is_add_) std::erase(voters.names, options_.node);
  return voters;
}

// What of the voters to be is complete and follows the primary must, with that, be a majority, else nobody could lead.
Status Change::check_majority(const ClusterKeys::Seen& seen) const {
  const Voters after = this->after(seen);
  if (after.names.size() < kVotersMin) {
    return refused(absl::StrCat("no other voter than ", absl::StrJoin(after.names, ", "), " would be left"),
                   "Two are the least: add another one before.");
  }
  if (after.names.size() > kVotersMax) return refused(absl::StrCat("there are ", kVotersMax, " voters already"), "");
  SCYPER_ASSIGN_OR_RETURN(const NodeStatus primary, primary_status(common_, seen));
  Voters there_now{{seen.view.leader->node}};
  for (const SecondaryStatus& secondary : primary.secondaries) {
    if (secondary.silent_ms < kSilentMsMax) there_now.names.push_back(secondary.node);
  }
  std::vector<std::string> missing;
  for (const std::string& name : after.names) {
    const auto member = seen.members.find(name);
    const bool is_complete = member != seen.members.end() && member->second.member.is_complete;
    if (!is_complete || !there_now.has(name)) missing.push_back(name);
  }
  const size_t there = after.names.size() - missing.size();
  if (there >= after.fence_answers()) return Status();
  return refused(absl::StrCat(there, " of the ", after.names.size(), " voters would be there, ", after.fence_answers(),
                              " are needed: nobody could lead"),
                 absl::StrCat("Start ", absl::StrJoin(missing, ", "), " before."));
}

Status Change::check(const ClusterKeys::Seen& seen) const {
  const std::string& node = options_.node;
  const bool is_voter = seen.config.voters.has(node);
  if (is_add_ && is_voter) return refused(node + " is a voter already", "");
  if (!is_add_ && !is_voter) {
    return sql_error("22023", seen.members.contains(node) ? node + " is no voter: it follows as a learner"
                                                          : "the cluster has no voter " + node);
  }
  if (!seen.paused.empty()) {
    return refused("elections are paused since " + seen.paused, "A change takes effect by a new term: scyper resume.");
  }
  if (!seen.view.leader.has_value()) {
    return refused("there is no primary", "Wait for an election, or see scyper failover.");
  }
  if (!is_in_effect(seen)) {
    return refused(absl::StrCat("another change is under way: no term has been opened under the voters of version ",
                                seen.config.version, " (", absl::StrJoin(seen.config.voters.names, ", "), ")"),
                   "Wait until scyper members says that it is in effect.");
  }
  if (is_add_ && !seen.members.contains(node)) {
    return with_hint(sql_error("22023", "the cluster has no node " + node),
                     "Start it with the cluster's name and etcd: it follows as a learner, and can be added then.");
  }
  return Status();
}

void Change::say(uint64_t durable_lsn, uint64_t last_lsn) {
  if (common_.is_json || Clock::now() < said_ + kSayPause) return;
  said_ = Clock::now();
  const std::string text = durable_lsn == 0 ? options_.node + " makes its tables"
                                            : absl::StrCat(options_.node, " has ", grouped(durable_lsn), " of ",
                                                           grouped(last_lsn), " on its disk");
  std::fprintf(stderr, "%s\n", text.c_str());
}

// A voter that lacks much would make a majority of less: until it has on its disk, within a round, what there was at
// the round's begin.
Status Change::catch_up(const Cluster& cluster) {
  std::optional<uint64_t> target;
  Clock::time_point round;
  Status last;
  while (!is_over()) {
    SCYPER_ASSIGN_OR_RETURN(const auto seen, read_keys(cluster));
    SCYPER_RETURN_IF_ERROR(check(seen));
    const auto primary = primary_status(common_, seen);
    last = primary.status();
    uint64_t durable_lsn = 0;
    bool follows = false;
    for (const SecondaryStatus& secondary : primary.ok() ? primary->secondaries : std::vector<SecondaryStatus>()) {
      if (secondary.node != options_.node) continue;
      durable_lsn = secondary.durable_lsn;
      follows = true;
    }
    if (primary.ok()) say(durable_lsn, primary->last_lsn);
    if (follows && target.has_value() && durable_lsn >= *target) {
      if (Clock::now() <= round + kRoundMax && seen.members.at(options_.node).member.is_complete) return Status();
      target.reset();
    }
    if (primary.ok() && !target.has_value()) {
      target = primary->last_lsn;
      round = Clock::now();
    }
    std::this_thread::sleep_for(kLook);
  }
  SCYPER_RETURN_IF_ERROR(last);
  return with_hint(timeout(options_.node + " has not caught up"), "Nothing has changed; it goes on following.");
}

Status Change::write(const Cluster& cluster) {
  while (true) {
    SCYPER_ASSIGN_OR_RETURN(const auto seen, read_keys(cluster));
    SCYPER_RETURN_IF_ERROR(check(seen));
    SCYPER_RETURN_IF_ERROR(check_majority(seen));
    voters_ = after(seen);
    version_ = seen.config.version + 1;
    const auto changed = cluster.keys->change_voters(seen, voters_);
    if (!changed.ok() && !absl::IsUnknown(changed.status())) return etcd_error(changed.status());
    if (changed.ok() && *changed) return Status();
    if (!changed.ok()) {
      SCYPER_ASSIGN_OR_RETURN(const auto now, read_keys(cluster));
      if (now.config.version == version_ && now.config.voters.names == voters_.names) return Status();
    }
    if (is_over()) return with_hint(timeout("etcd's keys have changed again and again"), "Nothing has changed.");
  }
}

Status Change::wait_for_effect(const Cluster& cluster) {
  const auto written = Clock::now();
  Status last;
  while (true) {
    const auto seen = read_keys(cluster);
    last = seen.status();
    if (seen.ok() && seen->view.opened >= version_ && seen->view.leader.has_value()) {
      primary_ = *seen->view.leader;
      return Status();
    }
    if (is_over() || Clock::now() >= written + kEffectMax) break;
    std::this_thread::sleep_for(kLook);
  }
  SCYPER_RETURN_IF_ERROR(last);
  return with_hint(sql_error("57014", absl::StrCat("the voters of version ", version_,
                                                   " are written, but no term has been opened under them yet")),
                   "They count from the next term on; scyper members says when. Until then those before count.");
}

Status Change::run() {
  if (!consensus::is_key_name(options_.node)) return sql_error("22023", options_.node + " is no name of a node");
  SCYPER_ASSIGN_OR_RETURN(const Cluster cluster, open_cluster(common_, options_.place));
  SCYPER_ASSIGN_OR_RETURN(const auto seen, read_keys(cluster));
  SCYPER_RETURN_IF_ERROR(check(seen));
  if (is_add_) SCYPER_RETURN_IF_ERROR(catch_up(cluster));
  SCYPER_RETURN_IF_ERROR(write(cluster));
  return wait_for_effect(cluster);
}

void Change::show() const {
  const double ms = std::chrono::duration<double, std::milli>(Clock::now() - start_).count();
  if (common_.is_json) {
    std::vector<std::string> names;
    for (const std::string& name : voters_.names) names.push_back(json_string(name));
    std::printf("{\"version\": %llu, \"voters\": [%s], \"primary\": %s, \"term\": %llu, \"ms\": %.1f}\n",
                static_cast<unsigned long long>(version_), absl::StrJoin(names, ", ").c_str(),
                json_string(primary_.node).c_str(), static_cast<unsigned long long>(primary_.term), ms);
    return;
  }
  std::printf("%s votes %s: %s; %s is primary in term %llu, after %.0f ms\n", options_.node.c_str(),
              is_add_ ? "now" : "no more", absl::StrJoin(voters_.names, ", ").c_str(), primary_.node.c_str(),
              static_cast<unsigned long long>(primary_.term), ms);
}

int run_change(const CommonOptions& common, const MemberOptions& options, bool is_add) {
  Change change(common, options, is_add);
  if (const Status status = change.run(); !status.ok()) return show_failure(status, common.is_json);
  change.show();
  return kExitOk;
}

}  // namespace

int run_members(const CommonOptions& common, const ClusterPlace& place) {
  const auto list = [&]() -> Status {
    SCYPER_ASSIGN_OR_RETURN(const Cluster cluster, open_cluster(common, place));
    SCYPER_ASSIGN_OR_RETURN(const auto seen, read_keys(cluster));
    const std::vector<Row> rows = rows_of(seen, primary_status(common, seen));
    common.is_json ? show_json(rows, seen) : show_table(rows, seen);
    return Status();
  };
  const Status status = list();
  return status.ok() ? kExitOk : show_failure(status, common.is_json);
}

int run_member_add(const CommonOptions& common, const MemberOptions& options) {
  return run_change(common, options, true);
}

int run_member_remove(const CommonOptions& common, const MemberOptions& options) {
  return run_change(common, options, false);
}

}  // namespace scyper::client
