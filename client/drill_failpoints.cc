#include "drill_failpoints.h"

#include <signal.h>
#include <sys/wait.h>

#include <chrono>
#include <cstdlib>
#include <thread>

namespace scyper::client {

namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kDies = std::chrono::seconds(2);  // at what comes by itself, again and again
constexpr auto kWithoutEtcd = std::chrono::seconds(5);
constexpr std::chrono::milliseconds kLook{10};

bool has_ended(pid_t pid) {
  siginfo_t how{};
  return ::waitid(P_PID, static_cast<id_t>(pid), &how, WEXITED | WNOHANG | WNOWAIT) == 0 && how.si_pid == pid;
}

bool ends_within(pid_t pid, std::chrono::seconds wait) {
  const auto until = Clock::now() + wait;
  while (!has_ended(pid) && Clock::now() < until) std::this_thread::sleep_for(kLook);
  return has_ended(pid);
}

// Votes for another node, is asked to let a primary go on without etcd, is elected itself, hands over to another one.
// In this order: who has led begins anew, and comes to no failpoint any more.
StatusOr<bool> ends_in_elections(const FailpointSite& site, const std::string& name, size_t node, pid_t pid) {
  for (const bool is_elected : {false, true, false}) {
    auto primary = site.find_primary();
    if (has_ended(pid)) return true;
    if (!primary.ok()) return primary.status();
    if (is_elected && name.ends_with("_grant")) {
      site.nodes->kill_etcd();
      const bool has_died = ends_within(pid, kWithoutEtcd);
      SCYPER_RETURN_IF_ERROR(site.nodes->start_etcd());
      return has_died;
    }
    size_t to = node;
    while (!is_elected && (to == node || to == *primary)) to = (to + 1) % site.nodes->count();
    site.switch_over(to);
    if (ends_within(pid, kDies)) return true;
  }
  return false;
}

}  // namespace

const std::vector<std::string>& drill_failpoints() {
  // those of one kind apart from each other: a few of them, from anywhere, are of each kind
  static const std::vector<std::string> names = {"election.before_campaign",
                                                 "election.before_fenced",
                                                 "log.before_acknowledge",
                                                 "rejoin.after_seed",
                                                 "election.before_promise",
                                                 "promotion.in_promotion",
                                                 "election.before_hand_over",
                                                 "log.after_group_write",
                                                 "election.after_term",
                                                 "election.before_fence_answer",
                                                 "election.before_open",
                                                 "rejoin.before_redirect",
                                                 "log.before_build",
                                                 "election.before_fence",
                                                 "election.after_promise",
                                                 "election.after_hand_over",
                                                 "promotion.after_promotion",
                                                 "rejoin.before_follow",
                                                 "election.before_grant",
                                                 "log.in_acknowledge",
                                                 "election.before_term",
                                                 "election.before_bar",
                                                 "election.before_start",
                                                 "rejoin.before_last_answers",
                                                 "log.after_build",
                                                 "election.after_fence",
                                                 "election.before_keep_alive",
                                                 "election.before_end",
                                                 "promotion.before_promotion",
                                                 "rejoin.after_follow",
                                                 "log.before_group_write",
                                                 "election.after_grant",
                                                 "election.before_floor",
                                                 "election.before_give_up",
                                                 "log.after_acknowledge",
                                                 "election.after_keep_alive",
                                                 "election.after_give_up"};
  return names;
}

StatusOr<bool> kill_at_failpoint(const FailpointSite& site, const std::string& name, size_t node) {
  site.nodes->kill(node, SIGTERM);
  ::setenv("SCYPER_FAILPOINTS", (name + "=exit").c_str(), 1);
  site.nodes->start_again(node);
  ::unsetenv("SCYPER_FAILPOINTS");
  const pid_t pid = site.nodes->pids()[1 + node];
  SCYPER_ASSIGN_OR_RETURN(const bool has_died, ends_in_elections(site, name, node, pid));
  site.nodes->kill(node, SIGKILL);
  site.nodes->start_again(node);
  return has_died;
}

}  // namespace scyper::client
