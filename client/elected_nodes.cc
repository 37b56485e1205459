#include "elected_nodes.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <sstream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/free_port.h"
#include "node_process.h"

namespace scyper::client {

namespace {

// The first of that name on the path; empty: none.
std::string find_program(const std::string& name) {
  const char* path = std::getenv("PATH");
  std::istringstream parts(path == nullptr ? "/usr/local/bin:/usr/bin" : path);
  for (std::string part; std::getline(parts, part, ':');) {
    const std::string candidate = part + "/" + name;
    if (!part.empty() && ::access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  return "";
}

}  // namespace

bool ElectedNodes::is_possible() { return !find_program("etcd").empty(); }

ElectedNodes::~ElectedNodes() {
  if (is_left_) return;
  for (const Process& node : nodes_) end_process(node.pid, SIGKILL);
  end_process(etcd_.pid, SIGKILL);
}

Status ElectedNodes::start_etcd() {
  etcd_.pid = launch(etcd_.arguments, options_.directory + "/etcd.log");
  return Status();
}

void ElectedNodes::kill_etcd() { end_process(std::exchange(etcd_.pid, -1), SIGKILL); }

Status ElectedNodes::begin_etcd() {
  const std::string program = find_program("etcd");
  if (program.empty()) {
    return with_hint(sql_error("58P01", "there is no etcd on this machine"), "Debian's package is etcd-server.");
  }
  etcd_.name = "etcd";
  etcd_.port = free_port();
  const std::string client = "http://" + etcd(), peer = absl::StrCat("http://127.0.0.1:", free_port());
  etcd_.arguments = {program,
                     "--name=etcd",
                     "--data-dir=" + options_.directory + "/etcd",
                     "--listen-client-urls=" + client,
                     "--advertise-client-urls=" + client,
                     "--listen-peer-urls=" + peer,
                     "--initial-advertise-peer-urls=" + peer,
                     "--initial-cluster=etcd=" + peer};
  return start_etcd();
}

Status ElectedNodes::start() {
  if (options_.has_spaces) SCYPER_RETURN_IF_ERROR(spaces_.make(options_.count));
  SCYPER_RETURN_IF_ERROR(begin_etcd());
  std::vector<std::string> names;
  for (uint32_t i = 1; i <= options_.count; ++i) names.push_back(absl::StrCat("n", i));
  for (uint32_t i = 0; i < options_.count; ++i) {
    Process node;
    node.name = names[i];
    node.port = options_.port == 0 ? free_port() : static_cast<uint16_t>(options_.port + i);
    node.arguments = {program_beside_this("scyperd"),
                      "--listen",
                      absl::StrCat(host(i), ":", node.port),
                      "--http-listen",
                      "",
                      "--node-name",
                      node.name,
                      "--memory",
                      options_.memory,
                      "--cluster",
                      "local",
                      "--etcd",
                      etcd(),
                      "--voter-names",
                      absl::StrJoin(names, ","),
                      "--lease-ttl",
                      options_.lease_ttl,
                      "--commit-mode",
                      options_.commit_mode,
                      "--data-directory",
                      options_.directory + "/" + node.name};
    node.arguments.insert(node.arguments.end(), options_.flags.begin(), options_.flags.end());
    if (options_.has_spaces) {
      node.arguments.insert(node.arguments.begin(), {"ip", "netns", "exec", spaces_.name(i)});
      node.arguments.insert(node.arguments.end(), {"--insecure-listen", "--peer-listen", host(i) + ":0"});
    }
    launch_node(&node);
    nodes_.push_back(std::move(node));
  }
  return Status();
}

void ElectedNodes::launch_node(Process* process) const {
  process->pid = launch(process->arguments, absl::StrCat(options_.directory, "/", process->name, ".log"));
}

void ElectedNodes::stop() {
  std::vector<pid_t> pids;
  for (Process& node : nodes_) pids.push_back(std::exchange(node.pid, -1));
  stop_processes(pids);
  end_process(std::exchange(etcd_.pid, -1), SIGTERM);
}

void ElectedNodes::kill(size_t node, int signal_number) {
  end_process(std::exchange(nodes_[node].pid, -1), signal_number);
}
void ElectedNodes::start_again(size_t node) { launch_node(&nodes_[node]); }

// A process that is another's child: its state tells when it stands.
void ElectedNodes::freeze(size_t node) {
  ::kill(nodes_[node].pid, SIGSTOP);
  ::waitpid(nodes_[node].pid, nullptr, WUNTRACED);
}
void ElectedNodes::thaw(size_t node) { ::kill(nodes_[node].pid, SIGCONT); }
Status ElectedNodes::isolate(size_t node, bool is_isolated) {
  return spaces_.set_link(static_cast<uint32_t>(node), !is_isolated);
}

std::string ElectedNodes::host(size_t node) const {
  return options_.has_spaces ? spaces_.address(static_cast<uint32_t>(node)) : "127.0.0.1";
}
std::string ElectedNodes::target(size_t node) const { return absl::StrCat(host(node), ":", nodes_[node].port); }
std::string ElectedNodes::etcd() const {
  return absl::StrCat(options_.has_spaces ? spaces_.bridge_address() : "127.0.0.1", ":", etcd_.port);
}

std::vector<std::string> ElectedNodes::targets() const {
  std::vector<std::string> all;
  for (size_t i = 0; i < nodes_.size(); ++i) all.push_back(target(i));
  return all;
}

std::vector<pid_t> ElectedNodes::pids() const {
  std::vector<pid_t> all = {etcd_.pid};
  for (const Process& node : nodes_) all.push_back(node.pid);
  return all;
}

Status ElectedNodes::check() const {
  for (size_t i = 0; i <= nodes_.size(); ++i) {
    const Process& process = i < nodes_.size() ? nodes_[i] : etcd_;
    siginfo_t how{};
    if (process.pid <= 0 || ::waitid(P_PID, static_cast<id_t>(process.pid), &how, WEXITED | WNOHANG | WNOWAIT) != 0 ||
        how.si_pid == 0) {
      continue;
    }
    return with_hint(
        sql_error("58030", absl::StrCat(process.name, " has ended: ",
                                        how.si_code == CLD_EXITED ? "exit code " : "signal ", how.si_status)),
        "See the messages in " + options_.directory + ".");
  }
  return Status();
}

std::optional<size_t> ElectedNodes::primary(const ConnectOptions& connect) const {
  for (size_t node = 0; node < nodes_.size(); ++node) {
    ConnectOptions to = connect;
    to.target = target(node);
    to.connect_timeout_ms = 250;
    to.fails_when_refused = true;
    auto client = Client::connect(to);
    auto status = client.ok() ? (*client)->status(1000) : client.status();
    if (!status.ok() || status->role != "primary") continue;
    size_t following = 0;
    for (const SecondaryStatus& other : status->secondaries) following += other.serves ? 1 : 0;
    if (following + 1 == nodes_.size()) return node;
  }
  return std::nullopt;
}

}  // namespace scyper::client
