// `scyper bench replication`: what secondaries cost the primary, and how fresh their answers are (ScyPer, DanaC 2013,
// Fig. 5(b)).

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "absl/strings/str_cat.h"
#include "base/histogram.h"
#include "bench_node.h"
#include "network_spaces.h"
#include "node_process.h"
#include "progress.h"

namespace scyper::client {

namespace {

using nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

constexpr auto kStartWait = std::chrono::seconds(60);
constexpr auto kLevelWait = std::chrono::seconds(120);
constexpr auto kProbePause = std::chrono::milliseconds(20);
constexpr uint16_t kPort = 7400;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// User and system time of a process so far, in microseconds; 0 when it is gone.
double cpu_us(pid_t pid) {
  std::ifstream file(absl::StrCat("/proc/", pid, "/stat"));
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return 0;
  std::istringstream fields(text.substr(name_end + 1));
  std::string skipped;
  for (int i = 0; i < 11; ++i) fields >> skipped;  // state ... cmajflt
  double user = 0, system = 0;
  fields >> user >> system;
  return (user + system) * 1e6 / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

// The multicast process of a node.
pid_t pgm_of(pid_t node) {
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const pid_t pid = std::atoi(entry.path().filename().c_str());
    if (pid <= 0) continue;
    std::ifstream file(entry.path() / "stat");
    std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    const size_t name_end = text.rfind(')');
    if (name_end == std::string::npos || text.find("(scyper-pgm)") == std::string::npos) continue;
    std::istringstream fields(text.substr(name_end + 1));
    std::string state;
    pid_t parent = 0;
    fields >> state >> parent;
    if (parent == node) return pid;
  }
  return -1;
}

// A primary and its secondaries as processes, each in a network namespace of its own where they can be made. All end
// with it.
class BenchCluster {
 public:
  BenchCluster(const CommonOptions& common, const ReplicationBenchOptions& options, uint32_t secondaries)
      : common_(common), options_(options), secondaries_(secondaries) {}
  ~BenchCluster() {
    stop_processes(pids_);
    std::error_code error;
    if (!directory_.empty()) std::filesystem::remove_all(directory_, error);
  }

  Status start() {
    std::string path = options_.directory + "/scyper_replication_XXXXXX";
    if (::mkdtemp(path.data()) == nullptr)
      return sql_error("58030", "no directory can be made in " + options_.directory);
    directory_ = path;
    has_spaces_ = ::geteuid() == 0 || options_.transport == "pgm";
    if (has_spaces_) SCYPER_RETURN_IF_ERROR(spaces_.make(secondaries_ + 1));
    std::vector<std::string> primary = {secondaries_ > 0 ? "--replication" : "--replication=false",
                                        "--data-directory",
                                        directory_ + "/p",
                                        "--commit-mode",
                                        options_.commit_mode,
                                        "--digest-period",
                                        absl::StrCat(digest_period_s(), "s"),
                                        "--transport",
                                        options_.transport == "pgm" ? "auto" : "unicast"};
    for (const auto& [key, value] : common_.node_settings) {
      std::string flag = "--" + key;
      for (char& c : flag) c = c == '_' ? '-' : c;
      primary.push_back(flag + "=" + value);
    }
    add(0, primary);
    SCYPER_RETURN_IF_ERROR(wait_for_node(0));
    for (uint32_t i = 1; i <= secondaries_; ++i) {
      std::vector<std::string> flags = {"--role", "secondary", "--primary", target(0)};
      if (options_.commit_mode.starts_with("quorum")) {
        flags.insert(flags.end(), {"--voter", "--data-directory", absl::StrCat(directory_, "/s", i)});
      }
      add(i, flags);
    }
    return Status();
  }

  std::string target(uint32_t node) const {
    return has_spaces_ ? absl::StrCat(spaces_.address(node), ":", kPort)
                       : absl::StrCat("127.0.0.1:", kPort + 50 + static_cast<int>(node));
  }
  pid_t primary() const { return pids_.front(); }
  uint32_t digest_period_s() const { return static_cast<uint32_t>(2 * options_.oltp.seconds) + 5; }

  StatusOr<std::unique_ptr<Session>> session(uint32_t node) const {
    ConnectOptions to = common_.connect;
    to.target = target(node);
    SCYPER_ASSIGN_OR_RETURN(auto client, Client::connect(to));
    return remote_session(std::move(client), to.target);
  }
  // Until all secondaries serve what the primary has; its status then.
  StatusOr<NodeStatus> wait_until_level(Session* admin) const {
    return wait_for(admin, "the secondaries do not catch up", [this](const NodeStatus& status) {
      size_t level = 0;
      for (const auto& node : status.secondaries) level += node.serves && node.applied_lsn == status.last_lsn ? 1 : 0;
      return level == secondaries_;
    });
  }
  // Until the state of all of them has been compared at an LSN or later.
  StatusOr<NodeStatus> wait_until_compared(Session* admin, uint64_t lsn) const {
    return wait_for(admin, "no digests are compared", [this, lsn](const NodeStatus& status) {
      size_t compared = 0;
      for (const auto& node : status.secondaries) compared += node.digest_lsn >= lsn ? 1 : 0;
      return compared == secondaries_;
    });
  }

 private:
  void add(uint32_t node, const std::vector<std::string>& flags) {
    std::vector<std::string> arguments;
    if (has_spaces_) arguments = {"ip", "netns", "exec", spaces_.name(node)};
    const std::string name = node == 0 ? "p" : absl::StrCat("s", node);
    for (const std::string& argument :
         {program_beside_this("scyperd"), std::string("--listen"), target(node), std::string("--http-listen"),
          std::string(), std::string("--insecure-listen"), std::string("--node-name"), name}) {
      arguments.push_back(argument);
    }
    if (options_.transport == "pgm" && secondaries_ > 0) {
      arguments.insert(arguments.end(), {"--multicast-interface", spaces_.address(node)});
      if (options_.is_encrypted) arguments.insert(arguments.end(), {"--multicast-key-file", key_file()});
    }
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    pids_.push_back(launch(arguments, absl::StrCat(directory_, "/", name, ".log")));
  }
  std::string key_file() const {
    const std::string path = directory_ + "/key";
    if (!std::filesystem::exists(path)) {
      std::ofstream(path) << std::string(64, 'b');
      std::filesystem::permissions(path, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
    }
    return path;
  }
  Status wait_for_node(uint32_t node) const {
    const auto until = Clock::now() + kStartWait;
    while (Clock::now() < until) {
      ConnectOptions to = common_.connect;
      to.target = target(node);
      to.connect_timeout_ms = 500;
      if (Client::connect(to).ok()) return Status();
      if (::waitpid(pids_[node], nullptr, WNOHANG) != 0) break;
    }
    std::ifstream log(absl::StrCat(directory_, node == 0 ? "/p.log" : "/s.log"));
    std::string text((std::istreambuf_iterator<char>(log)), std::istreambuf_iterator<char>());
    return sql_error("58030", "a node does not start: " + text);
  }
  template <typename Condition>
  StatusOr<NodeStatus> wait_for(Session* admin, const char* failure, Condition holds) const {
    const auto until = Clock::now() + kLevelWait;
    while (Clock::now() < until) {
      SCYPER_ASSIGN_OR_RETURN(NodeStatus status, admin->status());
      if (holds(status)) return status;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return sql_error("57014", failure);
  }

  const CommonOptions& common_;
  const ReplicationBenchOptions& options_;
  const uint32_t secondaries_;
  std::string directory_;
  bool has_spaces_ = false;
  NetworkSpaces spaces_;
  std::vector<pid_t> pids_;
};

// Asks for fresh answers again and again. What had been committed when it asked is in the answer, so its time is that
// from a commit to its being seen.
class Prober {
 public:
  explicit Prober(std::vector<std::unique_ptr<Session>> sessions) : sessions_(std::move(sessions)) {
    thread_ = std::thread([this] { run(); });
  }
  ~Prober() { stop(); }
  void stop() {
    is_over_ = true;
    if (thread_.joinable()) thread_.join();
  }
  const Histogram& times_ns() const { return times_; }  // after stop(), as the next
  uint64_t failed() const { return failed_; }

 private:
  void run() {
    for (size_t i = 0; !is_over_; i = (i + 1) % sessions_.size()) {
      const auto start = Clock::now();
      Status status = sessions_[i]->execute("SELECT count(*) FROM warehouse", [](const query::ResultSet&) {});
      const auto time = Clock::now() - start;
      if (status.ok()) {
        times_.record(static_cast<uint64_t>(time / std::chrono::nanoseconds(1)));
      } else {
        ++failed_;
      }
      std::this_thread::sleep_for(kProbePause);
    }
  }

  std::vector<std::unique_ptr<Session>> sessions_;
  std::atomic<bool> is_over_{false};
  Histogram times_;
  uint64_t failed_ = 0;
  std::thread thread_;
};

struct Cost {
  double tps = 0, primary_us = 0, pgm_us = 0, datagrams = 0, bytes = 0;  // all but the first per transaction
};

// The load alone. CPU time is counted over the whole of it, as are transactions.
StatusOr<Cost> measure_cost(const BenchCluster& cluster, const ReplicationBenchOptions& options,
                            const ch::Generator& generator, const CommonOptions& common, Session* admin) {
  ConnectOptions to = common.connect;
  to.target = cluster.target(0);
  const pid_t pgm = pgm_of(cluster.primary());
  SCYPER_ASSIGN_OR_RETURN(const NodeStatus before, admin->status());
  const double primary_us = cpu_us(cluster.primary()), pgm_us = cpu_us(pgm);
  SCYPER_ASSIGN_OR_RETURN(OltpResult result, run_oltp_remote(to, generator, options.oltp, {}));
  const double primary_end_us = cpu_us(cluster.primary()), pgm_end_us = cpu_us(pgm);
  SCYPER_ASSIGN_OR_RETURN(const NodeStatus after, admin->status());
  const double count = static_cast<double>(after.committed + after.rolled_back - before.committed - before.rolled_back);
  Cost cost;
  cost.tps = result.tps();
  cost.primary_us = (primary_end_us - primary_us) / count;
  cost.pgm_us = (pgm_end_us - pgm_us) / count;
  cost.datagrams = static_cast<double>(after.datagrams_sent - before.datagrams_sent) / count;
  cost.bytes = static_cast<double>(after.replication_bytes - before.replication_bytes) / count;
  return cost;
}

struct Freshness {
  double tps = 0;
  Histogram times_ns;
  uint64_t failed = 0;
};

// With few calls outstanding, so that there is room for queries: the load is far below the most.
StatusOr<Freshness> measure_freshness(const BenchCluster& cluster, const ReplicationBenchOptions& options,
                                      const ch::Generator& generator, const CommonOptions& common,
                                      uint32_t secondaries) {
  std::vector<std::unique_ptr<Session>> sessions;
  for (uint32_t i = secondaries == 0 ? 0 : 1; i <= secondaries; ++i) {
    SCYPER_ASSIGN_OR_RETURN(auto session, cluster.session(i));
    sessions.push_back(std::move(session));
  }
  ConnectOptions to = common.connect;
  to.target = cluster.target(0);
  OltpOptions light = options.oltp;
  light.outstanding = 1;
  light.streams = 1;
  light.batch = options.light_batch;
  Prober prober(std::move(sessions));
  SCYPER_ASSIGN_OR_RETURN(OltpResult result, run_oltp_remote(to, generator, light, {}));
  prober.stop();
  return Freshness{result.tps(), prober.times_ns(), prober.failed()};
}

ordered_json stages_json(const NodeStatus& status) {
  ordered_json out = ordered_json::object();
  for (const StageStatus& stage : status.stages) out[stage.name] = stage.mean_ms;
  return out;
}

StatusOr<ordered_json> run_one(const CommonOptions& common, const ReplicationBenchOptions& options,
                               uint32_t secondaries, uint64_t* divergent) {
  BenchCluster cluster(common, options, secondaries);
  SCYPER_RETURN_IF_ERROR(cluster.start());
  SCYPER_ASSIGN_OR_RETURN(auto admin, cluster.session(0));
  ch::Generator generator(generator_options(options.ch));
  SCYPER_RETURN_IF_ERROR(create_ch_database(admin.get(), generator, database_options(options.ch)).status());
  SCYPER_RETURN_IF_ERROR(cluster.wait_until_level(admin.get()).status());
  SCYPER_ASSIGN_OR_RETURN(const Cost cost, measure_cost(cluster, options, generator, common, admin.get()));
  const auto start = Clock::now();
  SCYPER_ASSIGN_OR_RETURN(NodeStatus level, cluster.wait_until_level(admin.get()));
  const double catch_up_s = seconds_since(start);
  SCYPER_ASSIGN_OR_RETURN(const Freshness fresh, measure_freshness(cluster, options, generator, common, secondaries));
  SCYPER_ASSIGN_OR_RETURN(level, cluster.wait_until_level(admin.get()));
  SCYPER_ASSIGN_OR_RETURN(const NodeStatus last, cluster.wait_until_compared(admin.get(), level.last_lsn));
  uint64_t repaired = 0, different = 0;
  for (const SecondaryStatus& node : last.secondaries) {
    repaired += node.repaired;
    different += node.digests_different;
  }
  *divergent += different;
  ordered_json run = {{"secondaries", secondaries},
                      {"transport", secondaries == 0 ? "none" : last.secondaries.front().transport},
                      {"encrypted", last.is_encrypted},
                      {"commit_mode", options.commit_mode},
                      {"redo", last.redo},
                      {"tps", cost.tps},
                      {"primary_cpu_us_per_tx", cost.primary_us},
                      {"pgm_cpu_us_per_tx", cost.pgm_us},
                      {"datagrams_per_tx", cost.datagrams},
                      {"log_bytes_per_tx", cost.bytes},
                      {"catch_up_s", catch_up_s},
                      {"freshness_tps", fresh.tps},
                      {"freshness_ms_p50", static_cast<double>(fresh.times_ns.percentile(50)) / 1e6},
                      {"freshness_ms_p99", static_cast<double>(fresh.times_ns.percentile(99)) / 1e6},
                      {"freshness_answers", fresh.times_ns.count()},
                      {"freshness_failed", fresh.failed},
                      {"repaired", repaired},
                      {"divergent", different}};
  ordered_json stages = stages_json(last);
  if (secondaries > 0) {
    SCYPER_ASSIGN_OR_RETURN(auto one, cluster.session(1));
    SCYPER_ASSIGN_OR_RETURN(const NodeStatus status, one->status());
    stages.update(stages_json(status));
  }
  run["stage_ms_mean"] = std::move(stages);
  return run;
}

}  // namespace

int run_bench_replication(const CommonOptions& common, ReplicationBenchOptions options) {
  options.ch.is_quiet = options.ch.is_quiet || common.is_json;
  ordered_json runs = ordered_json::array();
  uint64_t divergent = 0;
  for (uint32_t secondaries : options.secondaries) {
    auto run = run_one(common, options, secondaries, &divergent);
    if (!run.ok()) return show_failure(run.status(), common.is_json);
    if (!common.is_json) {
      std::printf(
          "%u secondaries by %s: %s tps, %.2f us of the primary's CPU per transaction, fresh within %.1f ms "
          "(half), %.1f ms (99 %%), %llu groups repaired\n",
          secondaries, run->at("transport").get<std::string>().c_str(),
          grouped(static_cast<uint64_t>(run->at("tps").get<double>())).c_str(),
          run->at("primary_cpu_us_per_tx").get<double>(), run->at("freshness_ms_p50").get<double>(),
          run->at("freshness_ms_p99").get<double>(), run->at("repaired").get<unsigned long long>());
      std::fflush(stdout);
    }
    runs.push_back(*std::move(run));
  }
  if (common.is_json) {
    const ordered_json report = {{"warehouses", options.ch.warehouses}, {"runs", runs}, {"divergent", divergent}};
    std::printf("%s\n", report.dump(2).c_str());
  }
  return divergent == 0 ? kExitOk : kExitCheck;
}

}  // namespace scyper::client
