#include "cluster_verbs.h"

#include <chrono>
#include <cstdio>
#include <ctime>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cluster_place.h"
#include "consensus/cluster_keys.h"
#include "error_format.h"

namespace scyper::client {

using consensus::ClusterKeys;
using consensus::Position;
using consensus::Promise;
using consensus::SwitchoverRequest;

namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kLook{10};

std::string draw_id() {
  std::random_device device;
  return absl::StrFormat("%08x%08x", device(), device());
}

// Whether the leader of the keys answers as the primary of its term, with its first batch confirmed.
bool serves(const CommonOptions& common, const ClusterKeys::Seen& seen) {
  const auto member = seen.members.find(seen.view.leader->node);
  if (member == seen.members.end()) return false;
  const auto status = status_of(common, member->second.address);
  return status.ok() && status->role == "primary" && status->term == seen.view.leader->term && status->commit_lsn > 0;
}

// The first primary of a term above `term`, once it serves. Nothing: not within the time; the error of what was read
// last.
using OnLook = std::function<Status(const ClusterKeys::Seen&)>;
StatusOr<std::optional<Promise>> wait_for_primary(const CommonOptions& common, const Cluster& cluster, uint64_t term,
                                                  Clock::time_point until, const OnLook& on_look) {
  Status last;
  while (true) {
    const auto seen = read_keys(cluster);
    last = seen.status();
    if (seen.ok()) {
      SCYPER_RETURN_IF_ERROR(on_look(*seen));
      const auto& leader = seen->view.leader;
      if (leader.has_value() && leader->term > term && serves(common, *seen)) return leader;
    }
    if (Clock::now() >= until) break;
    std::this_thread::sleep_for(kLook);
  }
  SCYPER_RETURN_IF_ERROR(last);
  return std::optional<Promise>();
}

double ms_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

int show_primary(const CommonOptions& common, const Promise& primary, double ms) {
  const std::string text =
      common.is_json
          ? absl::StrFormat("{\"primary\": \"%s\", \"term\": %d, \"ms\": %.1f}\n", primary.node, primary.term, ms)
          : absl::StrFormat("%s is primary in term %d, after %.0f ms\n", primary.node, primary.term, ms);
  std::fputs(text.c_str(), stdout);
  return kExitOk;
}

// --- switchover ---

Status check_target(const ClusterKeys::Seen& seen, const std::string& to) {
  if (!seen.view.leader.has_value()) {
    return refused("there is no primary", "Wait for an election (scyper resume), or see scyper failover.");
  }
  if (to.empty()) return Status();
  if (to == seen.view.leader->node) return refused(to + " is primary already", "");
  if (!seen.config.voters.has(to)) return sql_error("22023", to + " is no voter of the cluster");
  if (!seen.members.contains(to)) return refused(to + " is not there", "Start it, or choose another node.");
  return Status();
}

StatusOr<Promise> switch_over(const CommonOptions& common, const SwitchoverOptions& options, double* ms) {
  SCYPER_ASSIGN_OR_RETURN(const Cluster cluster, open_cluster(common, options.place));
  SCYPER_ASSIGN_OR_RETURN(const auto seen, read_keys(cluster));
  SCYPER_RETURN_IF_ERROR(check_target(seen, options.to));
  const Promise leader = *seen.view.leader;
  const SwitchoverRequest request{leader.term, draw_id(), options.to, options.drain_ms, ""};
  const auto start = Clock::now(), until = start + std::chrono::milliseconds(options.timeout_ms);
  const auto asked = cluster.keys->ask_switchover(leader, request);
  if (!asked.ok()) return etcd_error(asked.status());
  if (!*asked) return refused(leader.node + " is not primary any more", "Try again.");
  const auto primary = wait_for_primary(common, cluster, leader.term, until, [&](const ClusterKeys::Seen& now) {
    const auto& answer = now.switchover;
    const bool is_mine = answer.has_value() && answer->id == request.id;
    if (is_mine && !answer->failure.empty()) return refused("no switchover: " + answer->failure, "");
    if (answer.has_value() && !is_mine) return refused("no switchover: another one was asked for meanwhile", "");
    return Status();
  });
  *ms = ms_since(start);
  if (primary.ok() && primary->has_value()) {
    if (options.to.empty() || (*primary)->node == options.to) return **primary;
    return refused(absl::StrCat((*primary)->node, " has become primary, not ", options.to), "");
  }
  const auto withdrawn = cluster.keys->withdraw_switchover(request);
  if (!primary.ok()) return primary.status();
  if (withdrawn.ok() && *withdrawn) {
    return sql_error("57014", absl::StrCat(leader.node, " has not answered in ", options.timeout_ms,
                                           " ms: the request is taken back, nothing has changed"));
  }
  return with_hint(sql_error("57014", absl::StrCat(leader.node, " has given its place up, and nobody serves after ",
                                                   options.timeout_ms, " ms")),
                   "See scyper status of the nodes; while elections are paused, scyper failover.");
}

// --- failover ---

struct Candidate {
  std::string node;
  bool accepts_loss = false;
  std::string text;  // for people
};

// Who is there, who can lead, and what that costs.
StatusOr<Candidate> choose(const ClusterKeys::Seen& seen, const std::string& to) {
  Candidate chosen;
  Position highest;
  uint32_t complete = 0, there = 0;
  for (const std::string& voter : seen.config.voters.names) {
    const auto member = seen.members.find(voter);
    if (member == seen.members.end()) {
      absl::StrAppend(&chosen.text, voter, ": not there\n");
      continue;
    }
    const consensus::Member& known = member->second.member;
    ++there;
    complete += known.is_complete ? 1 : 0;
    absl::StrAppend(&chosen.text, voter, ": log up to LSN ", known.position.lsn, " of term ", known.position.term,
                    known.is_complete ? "" : ", may lack what it has acknowledged", "\n");
    if (chosen.node.empty() || known.position > highest) {
      chosen.node = voter;
      highest = known.position;
    }
  }
  const uint32_t needed = seen.config.voters.fence_answers();
  if (there < needed) {
    return with_detail(refused(absl::StrCat(there, " of ", seen.config.voters.names.size(), " voters are there, ",
                                            needed, " are needed"),
                               "Start more of them: nobody can be primary before."),
                       chosen.text);
  }
  if (!to.empty() && to != chosen.node) {
    const auto wished = seen.members.find(to);
    if (!seen.config.voters.has(to)) return sql_error("22023", to + " is no voter of the cluster");
    if (wished == seen.members.end()) return refused(to + " is not there", "");
    if (wished->second.member.position < highest) {
      return with_detail(refused(absl::StrCat("the log of ", chosen.node, " reaches further than that of ", to), ""),
                         chosen.text);
    }
    chosen.node = to;
  }
  const bool is_behind = highest < seen.view.floor;
  chosen.accepts_loss = complete < needed || is_behind || !seen.members.at(chosen.node).member.is_complete;
  absl::StrAppend(&chosen.text, "confirmed for certain: up to LSN ", seen.view.floor.lsn, " of term ",
                  seen.view.floor.term, ", and up to a second of commits behind it\n");
  if (chosen.accepts_loss) {
    absl::StrAppend(&chosen.text, "commits that were ACKNOWLEDGED MAY BE LOST: fewer than ", needed,
                    " voters are complete, or all are behind what was confirmed\n");
  } else if (seen.config.commit_mode == "async" || seen.config.commit_mode == "local") {
    absl::StrAppend(&chosen.text, "commit mode ", seen.config.commit_mode,
                    ": what only the last primary had is LOST, acknowledged or not\n");
  } else {
    absl::StrAppend(&chosen.text, "commit mode ", seen.config.commit_mode, ": nothing that was acknowledged is lost\n");
  }
  return chosen;
}

StatusOr<std::optional<Promise>> fail_over(const CommonOptions& common, const FailoverOptions& options, double* ms) {
  SCYPER_ASSIGN_OR_RETURN(const Cluster cluster, open_cluster(common, options.place));
  SCYPER_ASSIGN_OR_RETURN(const auto seen, read_keys(cluster));
  if (seen.view.leader.has_value()) {
    return refused(seen.view.leader->node + " is primary", "To move it, use scyper switchover.");
  }
  SCYPER_ASSIGN_OR_RETURN(const Candidate chosen, choose(seen, options.to));
  std::fputs(chosen.text.c_str(), stderr);
  if (!options.is_confirmed) {
    return refused(chosen.node + " could become primary: nothing has been done", "Say --confirm to make it primary.");
  }
  const auto start = Clock::now();
  const auto appointed =
      cluster.keys->appoint({seen.view.term, chosen.node, chosen.accepts_loss}, seen.view.term_revision);
  if (!appointed.ok()) return etcd_error(appointed.status());
  if (!*appointed) return refused("an election has begun meanwhile", "See scyper status.");
  auto primary =
      wait_for_primary(common, cluster, seen.view.term, start + std::chrono::milliseconds(options.timeout_ms),
                       [](const ClusterKeys::Seen&) { return Status(); });
  *ms = ms_since(start);
  if (primary.ok() && !primary->has_value()) {
    return with_hint(sql_error("57014", absl::StrCat(chosen.node, " does not lead after ", options.timeout_ms, " ms")),
                     "It stays appointed until an election begins; see its messages.");
  }
  return primary;
}

}  // namespace

int run_switchover(const CommonOptions& common, const SwitchoverOptions& options) {
  double ms = 0;
  const auto primary = switch_over(common, options, &ms);
  return primary.ok() ? show_primary(common, *primary, ms) : show_failure(primary.status(), common.is_json);
}

int run_failover(const CommonOptions& common, const FailoverOptions& options) {
  double ms = 0;
  const auto primary = fail_over(common, options, &ms);
  return primary.ok() ? show_primary(common, **primary, ms) : show_failure(primary.status(), common.is_json);
}

int run_pause(const CommonOptions& common, const ClusterPlace& place) {
  const auto pause = [&]() -> Status {
    SCYPER_ASSIGN_OR_RETURN(const Cluster cluster, open_cluster(common, place));
    SCYPER_ASSIGN_OR_RETURN(const auto seen, read_keys(cluster));
    if (!seen.paused.empty()) return refused("elections are paused already, since " + seen.paused, "");
    const std::time_t now = std::time(nullptr);
    char since[40];
    std::tm parts{};
    std::strftime(since, sizeof(since), "%Y-%m-%d %H:%M:%S UTC", ::gmtime_r(&now, &parts));
    if (Status paused = cluster.keys->pause(since); !paused.ok()) return etcd_error(paused);
    const auto& leader = seen.view.leader;
    std::printf("no automatic election from now on; %s\n",
                leader.has_value() ? (leader->node + " goes on as primary").c_str() : "there is no primary");
    return Status();
  };
  const Status status = pause();
  return status.ok() ? kExitOk : show_failure(status, common.is_json);
}

int run_resume(const CommonOptions& common, const ClusterPlace& place) {
  const auto resume = [&]() -> Status {
    SCYPER_ASSIGN_OR_RETURN(const Cluster cluster, open_cluster(common, place));
    const auto resumed = cluster.keys->resume();
    if (!resumed.ok()) return etcd_error(resumed.status());
    if (!*resumed) return refused("elections were not paused", "");
    std::printf("elections are automatic again\n");
    return Status();
  };
  const Status status = resume();
  return status.ok() ? kExitOk : show_failure(status, common.is_json);
}

}  // namespace scyper::client
