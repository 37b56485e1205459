#include "bench_cluster.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <sstream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "bench_node.h"
#include "node_process.h"

namespace scyper::client {

namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kStartWait = std::chrono::seconds(60);
constexpr auto kLevelWait = std::chrono::seconds(120);
constexpr uint16_t kPort = 7400;
constexpr uint16_t kMulticastPort = 7402;
constexpr double kLoadSliceS = 1;

// Of /proc/PID/stat.
struct ProcessTimes {
  std::string name;
  pid_t parent = 0;
  double own_us = 0, reaped_us = 0;  // reaped: of children that have ended
};

bool read_times(pid_t pid, ProcessTimes* out) {
  std::ifstream file(absl::StrCat("/proc/", pid, "/stat"));
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const size_t name_begin = text.find('('), name_end = text.rfind(')');
  if (name_end == std::string::npos) return false;
  out->name = text.substr(name_begin + 1, name_end - name_begin - 1);
  std::istringstream fields(text.substr(name_end + 1));
  std::string skipped;
  fields >> skipped >> out->parent;
  for (int i = 0; i < 9; ++i) fields >> skipped;  // pgrp ... cmajflt
  double user = 0, system = 0, reaped_user = 0, reaped_system = 0;
  fields >> user >> system >> reaped_user >> reaped_system;
  const double us = 1e6 / static_cast<double>(::sysconf(_SC_CLK_TCK));
  out->own_us = (user + system) * us;
  out->reaped_us = (reaped_user + reaped_system) * us;
  return true;
}

void for_each_child(pid_t parent, const std::function<void(pid_t, const ProcessTimes&)>& each) {
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const pid_t pid = std::atoi(entry.path().filename().c_str());
    ProcessTimes times;
    if (pid > 0 && read_times(pid, &times) && times.parent == parent) each(pid, times);
  }
}

constexpr char kPgm[] = "scyper-pgm";

}  // namespace

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

double cpu_us(pid_t pid) {
  ProcessTimes times;
  return read_times(pid, &times) ? times.own_us : 0;
}

pid_t pgm_of(pid_t node) {
  pid_t found = -1;
  for_each_child(node, [&](pid_t pid, const ProcessTimes& times) {
    if (times.name == kPgm) found = pid;
  });
  return found;
}

OltpOptions light_load(const ReplicationBenchOptions& options) {
  OltpOptions light = options.oltp;
  light.outstanding = 1;
  light.streams = 1;
  light.batch = options.light_batch;
  return light;
}

BenchCluster::~BenchCluster() {
  stop_processes(pids_);
  std::error_code error;
  if (!directory_.empty()) std::filesystem::remove_all(directory_, error);
}

Status BenchCluster::start_primary(uint32_t digest_period_s) {
  std::string path = options_.directory + "/scyper_replication_XXXXXX";
  if (::mkdtemp(path.data()) == nullptr) return sql_error("58030", "no directory can be made in " + options_.directory);
  directory_ = path;
  has_spaces_ = ::geteuid() == 0 || options_.transport == "pgm";
  if (has_spaces_) SCYPER_RETURN_IF_ERROR(spaces_.make(secondaries_max_ + 1));
  std::vector<std::string> flags = {secondaries_max_ > 0 ? "--replication" : "--replication=false",
                                    "--data-directory",
                                    directory_ + "/p",
                                    "--commit-mode",
                                    options_.commit_mode,
                                    "--digest-period",
                                    absl::StrCat(digest_period_s, "s"),
                                    "--transport",
                                    options_.transport == "pgm" ? "auto" : "unicast"};
  for (const auto& [key, value] : common_.node_settings) {
    std::string flag = "--" + key;
    for (char& c : flag) c = c == '_' ? '-' : c;
    flags.push_back(flag + "=" + value);
  }
  add(flags);
  return wait_for_node(0);
}

Status BenchCluster::add_secondary() {
  std::vector<std::string> flags = {"--role", "secondary", "--primary", target(0)};
  if (options_.commit_mode.starts_with("quorum")) {
    flags.insert(flags.end(), {"--voter", "--data-directory", absl::StrCat(directory_, "/s", pids_.size())});
  }
  for (const auto& [key, value] : common_.node_settings) {
    if (key == "memory" || key == "pages" || key == "layout") flags.push_back(absl::StrCat("--", key, "=", value));
  }
  add(flags);
  return Status();
}

Status BenchCluster::start(uint32_t digest_period_s, const ch::Generator& generator) {
  SCYPER_RETURN_IF_ERROR(start_primary(digest_period_s));
  for (uint32_t i = 0; i < secondaries_max_; ++i) SCYPER_RETURN_IF_ERROR(add_secondary());
  SCYPER_ASSIGN_OR_RETURN(auto admin, session(0));
  SCYPER_RETURN_IF_ERROR(create_ch_database(admin.get(), generator, database_options(options_.ch)).status());
  return wait_until_level(admin.get()).status();
}

std::string BenchCluster::target(uint32_t node) const {
  return has_spaces_ ? absl::StrCat(spaces_.address(node), ":", kPort)
                     : absl::StrCat("127.0.0.1:", kPort + 50 + static_cast<int>(node));
}

ConnectOptions BenchCluster::connection(uint32_t node) const {
  ConnectOptions to = common_.connect;
  to.target = target(node);
  return to;
}

StatusOr<std::unique_ptr<Session>> BenchCluster::session(uint32_t node) const {
  SCYPER_ASSIGN_OR_RETURN(auto client, Client::connect(connection(node)));
  return remote_session(std::move(client), target(node));
}

NodeCpu BenchCluster::cpu(uint32_t node) const {
  NodeCpu cpu;
  ProcessTimes times;
  if (!read_times(pids_[node], &times)) return cpu;
  cpu.own_us = times.own_us;
  cpu.children_us = times.reaped_us;
  for_each_child(pids_[node], [&](pid_t, const ProcessTimes& child) {
    if (child.name != kPgm) cpu.children_us += child.own_us;
  });
  return cpu;
}

Status BenchCluster::set_loss(uint32_t percent) const {
  if (!has_spaces_ || options_.transport != "pgm") return sql_error("22023", "loss needs multicast in namespaces");
  for (uint32_t i = 1; i < pids_.size(); ++i) {
    SCYPER_RETURN_IF_ERROR(spaces_.set_loss(i, percent, kMulticastPort));
  }
  return Status();
}

StatusOr<NodeStatus> BenchCluster::wait_until_level(Session* admin) const {
  return wait_for(admin, "the secondaries do not catch up", [this](const NodeStatus& status) {
    size_t level = 0;
    for (const auto& node : status.secondaries) level += node.serves && node.applied_lsn == status.last_lsn ? 1 : 0;
    return level == secondaries();
  });
}

StatusOr<NodeStatus> BenchCluster::wait_until_compared(Session* admin, uint64_t lsn) const {
  return wait_for(admin, "no digests are compared", [this, lsn](const NodeStatus& status) {
    size_t compared = 0;
    for (const auto& node : status.secondaries) compared += node.digest_lsn >= lsn ? 1 : 0;
    return compared == secondaries();
  });
}

void BenchCluster::add(const std::vector<std::string>& flags) {
  const auto node = static_cast<uint32_t>(pids_.size());
  std::vector<std::string> arguments;
  if (has_spaces_) arguments = {"ip", "netns", "exec", spaces_.name(node)};
  const std::string name = node == 0 ? "p" : absl::StrCat("s", node);
  for (const std::string& argument :
       {program_beside_this("scyperd"), std::string("--listen"), target(node), std::string("--http-listen"),
        std::string(), std::string("--insecure-listen"), std::string("--node-name"), name}) {
    arguments.push_back(argument);
  }
  if (options_.transport == "pgm" && secondaries_max_ > 0) {
    arguments.insert(arguments.end(), {"--multicast-interface", spaces_.address(node)});
    if (options_.is_encrypted) arguments.insert(arguments.end(), {"--multicast-key-file", key_file()});
  }
  arguments.insert(arguments.end(), flags.begin(), flags.end());
  pids_.push_back(launch(arguments, absl::StrCat(directory_, "/", name, ".log")));
}

std::string BenchCluster::key_file() const {
  const std::string path = directory_ + "/key";
  if (!std::filesystem::exists(path)) {
    std::ofstream(path) << std::string(64, 'b');
    std::filesystem::permissions(path, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  }
  return path;
}

Status BenchCluster::wait_for_node(uint32_t node) const {
  const auto until = Clock::now() + kStartWait;
  while (Clock::now() < until) {
    ConnectOptions to = connection(node);
    to.connect_timeout_ms = 500;
    if (Client::connect(to).ok()) return Status();
    if (::waitpid(pids_[node], nullptr, WNOHANG) != 0) break;
  }
  std::ifstream log(absl::StrCat(directory_, node == 0 ? "/p" : absl::StrCat("/s", node), ".log"));
  std::string text((std::istreambuf_iterator<char>(log)), std::istreambuf_iterator<char>());
  return sql_error("58030", "a node does not start: " + text);
}

template <typename Condition>
StatusOr<NodeStatus> BenchCluster::wait_for(Session* admin, const char* failure, Condition holds) const {
  const auto until = Clock::now() + kLevelWait;
  while (Clock::now() < until) {
    SCYPER_ASSIGN_OR_RETURN(NodeStatus status, admin->status());
    if (holds(status)) return status;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return sql_error("57014", failure);
}

BackgroundLoad::BackgroundLoad(ConnectOptions target, const ch::Generator& generator, const OltpOptions& options)
    : target_(std::move(target)), generator_(generator), options_(options) {
  options_.seconds = kLoadSliceS;
  options_.warmup_seconds = 0;
  thread_ = std::thread([this] { run(); });
}

StatusOr<double> BackgroundLoad::stop() {
  is_over_ = true;
  if (thread_.joinable()) thread_.join();
  SCYPER_RETURN_IF_ERROR(status_);
  return seconds_ == 0 ? 0 : completed_ / seconds_;
}

void BackgroundLoad::run() {
  while (!is_over_) {
    auto slice = run_oltp_remote(target_, generator_, options_, {});
    if (!slice.ok()) {
      status_ = slice.status();
      return;
    }
    completed_ += static_cast<double>(slice->stats.completed());
    seconds_ += slice->seconds;
    options_.mix.seed += options_.streams;
  }
}

}  // namespace scyper::client
