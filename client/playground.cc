#include "playground.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "elected_nodes.h"
#include "node_process.h"

namespace scyper::client {

namespace {

constexpr auto kStartWait = std::chrono::seconds(30);
constexpr const char* kDefaultDirectory = "/tmp/scyper-playground";

std::string directory_of(const PlaygroundOptions& options) {
  return options.directory.empty() ? kDefaultDirectory : options.directory;
}

Status claim_directory(const std::string& directory) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) return sql_error("58030", directory + ": " + error.message());
  if (!std::filesystem::exists(directory + "/pids")) return Status();
  return with_hint(sql_error("55006", "a playground runs in " + directory), "End it: scyper playground --stop");
}

// For the process that stops it.
void write_pids(const std::string& directory, const std::vector<pid_t>& pids) {
  std::ofstream(directory + "/pids") << absl::StrJoin(pids, "\n") << "\n";
}

class Playground {
 public:
  explicit Playground(const PlaygroundOptions& options) : options_(options), directory_(directory_of(options)) {}

  Status start() {
    SCYPER_RETURN_IF_ERROR(claim_directory(directory_));
    add("p1", options_.port,
        {"--replication", "--data-directory", directory_ + "/p1", "--commit-mode", options_.commit_mode});
    for (uint32_t i = 1; i <= options_.secondaries; ++i) {
      const std::string name = absl::StrCat("s", i);
      add(name, static_cast<uint16_t>(options_.port + i),
          {"--role", "secondary", "--primary", target(0), "--data-directory", directory_ + "/" + name, "--voter"});
    }
    write_pids(directory_, pids_);
    return wait_until_level();
  }

  // Of a playground that this or another process has started.
  static void stop(const std::string& directory) {
    std::ifstream file(directory + "/pids");
    for (pid_t pid; file >> pid;) {
      if (pid > 0) ::kill(pid, SIGTERM);
    }
    file.close();
    std::error_code error;
    std::filesystem::remove(directory + "/pids", error);
  }

  void wait_for_nodes() {
    for (pid_t pid : pids_) ::waitpid(pid, nullptr, 0);
  }
  std::string target(size_t node) const {
    return absl::StrCat("127.0.0.1:", options_.port + static_cast<uint16_t>(node));
  }
  void print_next_steps() const {
    std::printf("\nprimary    %s\n", target(0).c_str());
    for (uint32_t i = 1; i <= options_.secondaries; ++i) std::printf("secondary  %s\n", target(i).c_str());
    const std::string to = options_.port == 7400 ? "" : " --target " + target(0);
    std::printf("\ndata and messages: %s\n\nTry:\n", directory_.c_str());
    std::printf("  scyper status%s\n  scyper sql --receipts%s\n", to.c_str(), to.c_str());
    if (!options_.load.empty()) {
      std::printf("  scyper bench oltp --loaded --warehouses %s%s\n", options_.load.substr(3).c_str(), to.c_str());
    }
    const std::string where = options_.directory.empty() ? "" : " --directory " + directory_;
    std::printf("  scyper playground --stop%s\n", where.c_str());
    std::fflush(stdout);
  }

 private:
  void add(const std::string& name, uint16_t port, std::vector<std::string> flags) {
    std::vector<std::string> arguments = {program_beside_this("scyperd"),
                                          "--listen",
                                          absl::StrCat("127.0.0.1:", port),
                                          "--http-listen",
                                          "",
                                          "--node-name",
                                          name,
                                          "--memory",
                                          options_.memory};
    for (std::string& flag : flags) arguments.push_back(std::move(flag));
    pids_.push_back(launch(arguments, absl::StrCat(directory_, "/", name, ".log")));
  }
  Status wait_until_level() {
    const auto until = std::chrono::steady_clock::now() + kStartWait;
    while (std::chrono::steady_clock::now() < until) {
      for (pid_t pid : pids_) {
        if (::waitpid(pid, nullptr, WNOHANG) == pid) {
          return with_hint(sql_error("58030", "a node of the playground has ended"),
                           "See the messages in " + directory_);
        }
      }
      ConnectOptions to;
      to.target = target(0);
      to.connect_timeout_ms = 500;
      auto client = Client::connect(to);
      auto status = client.ok() ? (*client)->status(1000) : client.status();
      size_t serving = 0;
      if (status.ok()) {
        for (const SecondaryStatus& node : status->secondaries) serving += node.serves ? 1 : 0;
        if (serving == options_.secondaries) return Status();
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    return with_hint(sql_error("57014", "the playground's nodes do not come up"), "See the messages in " + directory_);
  }

  const PlaygroundOptions options_;
  const std::string directory_;
  std::vector<pid_t> pids_;
};

// Nodes that elect their primary, with an etcd.
class ElectedPlayground {
 public:
  ElectedPlayground(const CommonOptions& common, const PlaygroundOptions& options)
      : common_(common), directory_(directory_of(options)), nodes_(node_options(options)) {}

  Status start() {
    SCYPER_RETURN_IF_ERROR(claim_directory(directory_));
    SCYPER_RETURN_IF_ERROR(nodes_.start());
    write_pids(directory_, nodes_.pids());
    const auto until = std::chrono::steady_clock::now() + kStartWait;
    while (!primary_.has_value()) {
      SCYPER_RETURN_IF_ERROR(nodes_.check());
      if (std::chrono::steady_clock::now() > until) {
        return with_hint(sql_error("57014", "the playground's nodes elect no primary"),
                         "See the messages in " + directory_);
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      primary_ = nodes_.primary(common_.connect);
    }
    return Status();
  }
  std::string target() const { return nodes_.target(*primary_); }
  void print_next_steps() const {
    std::printf("\nprimary    %s (%s)\n", target().c_str(), nodes_.name(*primary_).c_str());
    for (size_t i = 0; i < nodes_.count(); ++i) {
      if (i != *primary_) std::printf("secondary  %s (%s)\n", nodes_.target(i).c_str(), nodes_.name(i).c_str());
    }
    std::printf("etcd       %s\n\ndata and messages: %s\n\nTry:\n", nodes_.etcd().c_str(), directory_.c_str());
    std::printf("  scyper status --target %s\n  kill -9 %d   # the primary: another node takes over\n",
                target().c_str(), nodes_.pids()[*primary_ + 1]);
    std::printf("  etcdctl --endpoints %s get --prefix /scyper/\n", nodes_.etcd().c_str());
    std::fflush(stdout);
  }
  ElectedNodes& nodes() { return nodes_; }

 private:
  static ElectedNodes::Options node_options(const PlaygroundOptions& options) {
    ElectedNodes::Options made;
    made.directory = directory_of(options);
    made.count = options.secondaries + 1;
    made.port = options.port;
    made.memory = options.memory;
    made.commit_mode = options.commit_mode;
    return made;
  }

  const CommonOptions& common_;
  const std::string directory_;
  ElectedNodes nodes_;
  std::optional<size_t> primary_;
};

void wait_for_stop_signal() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  int signal_number = 0;
  ::sigwait(&signals, &signal_number);
}

Status load(const CommonOptions& common, const PlaygroundOptions& options, const std::string& target) {
  if (options.load.empty()) return Status();
  ChOptions ch;
  ch.warehouses = std::atoi(options.load.c_str() + 3);
  if (!options.load.starts_with("ch:") || ch.warehouses <= 0) {
    return sql_error("22023", "--load wants ch:W, with W warehouses");
  }
  CommonOptions to = common;
  to.connect.target = target;
  return run_load_ch(to, ch, /*is_checked=*/false) == kExitOk ? Status()
                                                              : sql_error("58030", "the data was not loaded");
}

int run_elected(const CommonOptions& common, const PlaygroundOptions& options) {
  const std::string directory = directory_of(options);
  ElectedPlayground playground(common, options);
  Status status = playground.start();
  if (sqlstate_of(status) == "55006") return show_failure(status, common.is_json);
  if (status.ok()) status = load(common, options, playground.target());
  std::error_code error;
  if (!status.ok()) {
    playground.nodes().stop();
    std::filesystem::remove(directory + "/pids", error);
    return show_failure(status, common.is_json);
  }
  playground.print_next_steps();
  if (options.is_detached) {
    playground.nodes().leave();
    return kExitOk;
  }
  wait_for_stop_signal();
  playground.nodes().stop();
  std::filesystem::remove(directory + "/pids", error);
  if (options.directory.empty()) std::filesystem::remove_all(directory, error);
  return kExitOk;
}

}  // namespace

int run_playground(const CommonOptions& common, const PlaygroundOptions& options) {
  const std::string directory = directory_of(options);
  if (options.stops) {
    Playground::stop(directory);
    return kExitOk;
  }
  if (options.elects && !options.shows_address) return run_elected(common, options);
  Playground playground(options);
  if (options.shows_address) {
    std::printf("%s\n", playground.target(0).c_str());
    return kExitOk;
  }
  Status status = playground.start();
  if (sqlstate_of(status) == "55006") return show_failure(status, common.is_json);
  if (status.ok()) status = load(common, options, playground.target(0));
  if (!status.ok()) {
    Playground::stop(directory);
    playground.wait_for_nodes();
    return show_failure(status, common.is_json);
  }
  playground.print_next_steps();
  if (options.is_detached) return kExitOk;
  wait_for_stop_signal();
  Playground::stop(directory);
  playground.wait_for_nodes();
  if (options.directory.empty()) {
    std::error_code error;
    std::filesystem::remove_all(directory, error);
  }
  return kExitOk;
}

}  // namespace scyper::client
