#include "cluster.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "absl/strings/str_cat.h"
#include "base/child_process.h"
#include "base/free_port.h"
#include "ch_database.h"
#include "client/ch/generator.h"

namespace scyper::tests {

namespace {
constexpr std::chrono::seconds kPatience{120};  // a busy machine
constexpr const char* kTables[] = {"warehouse",  "district", "customer", "history",  "new_order", "orders",
                                   "order_line", "item",     "stock",    "supplier", "nation",    "region"};
}  // namespace

Output run_command(const std::string& command) {
  Output out;
  std::FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return out;
  char buffer[4096];
  for (size_t n; (n = std::fread(buffer, 1, sizeof(buffer), pipe)) > 0;) out.text.append(buffer, n);
  const int status = pclose(pipe);
  out.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return out;
}

ClusterProcesses::ClusterProcesses() {
  char path[] = "/tmp/scyper_cluster_XXXXXX";
  directory_ = mkdtemp(path);
}

ClusterProcesses::~ClusterProcesses() {
  if (testing::Test::HasFailure()) {
    for (const auto& [name, process] : nodes_) std::fprintf(stderr, "--- %s\n%s", name.c_str(), log_of(name).c_str());
  }
  std::vector<std::string> names;
  for (const auto& [name, process] : nodes_) names.push_back(name);
  for (const std::string& name : names) kill(name, SIGKILL);
  std::filesystem::remove_all(directory_);
}

void ClusterProcesses::start(const std::string& name, const std::string& flags, const std::string& address,
                             const std::string& name_space) {
  Process process;
  process.port = free_port();
  process.address = address;
  process.command =
      absl::StrCat("env ", environment_, name_space.empty() ? " " : " ip netns exec " + name_space + " ",
                   SCYPERD_PROGRAM, " --listen ", address, ":", process.port, " --http-listen '' --pages small",
                   flags.find("--memory ") == std::string::npos ? " --memory 1GB" : "",
                   address == "127.0.0.1" ? "" : " --insecure-listen", " --node-name ", name, " ", flags);
  launch(name, &process);
  nodes_[name] = process;
}

void ClusterProcesses::launch(const std::string& name, Process* process) {
  const std::string command = "exec " + process->command;
  process->pid = ::fork();
  if (process->pid == 0) {
    const int log = ::open(absl::StrCat(directory_, "/", name, ".log").c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
    ::dup2(log, STDOUT_FILENO);
    ::dup2(log, STDERR_FILENO);
    ::execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
    ::_exit(127);
  }
}

void ClusterProcesses::start_again(const std::string& name) { launch(name, &nodes_.at(name)); }

void ClusterProcesses::kill(const std::string& name, int signal_number) {
  Process& process = nodes_.at(name);
  if (process.pid <= 0) return;
  ::kill(process.pid, signal_number);
  ::waitpid(process.pid, nullptr, 0);
  process.pid = -1;
}

int ClusterProcesses::wait_for_end(const std::string& name) {
  Process& process = nodes_.at(name);
  int status = 0;
  ::waitpid(process.pid, &status, 0);
  process.pid = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

void ClusterProcesses::signal(const std::string& name, int signal_number) {
  signal_child(nodes_.at(name).pid, signal_number);
}

std::string ClusterProcesses::target(const std::string& name) const {
  return absl::StrCat(nodes_.at(name).address, ":", nodes_.at(name).port);
}

std::string ClusterProcesses::log_of(const std::string& name) const {
  std::ifstream file(absl::StrCat(directory_, "/", name, ".log"));
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

Output ClusterProcesses::scyper(const std::string& name, const std::string& arguments) const {
  return run_command(absl::StrCat(SCYPER_PROGRAM, " ", arguments, " --target ", target(name)));
}

std::unique_ptr<client::Session> ClusterProcesses::session(const std::string& name) const {
  client::ConnectOptions to;
  to.target = target(name);
  const auto until = std::chrono::steady_clock::now() + kPatience;
  while (true) {
    auto client = client::Client::connect(to);
    if (client.ok()) return client::remote_session(*std::move(client), to.target);
    if (std::chrono::steady_clock::now() > until) {
      ADD_FAILURE() << name << ": " << client.status();
      return nullptr;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
}

client::NodeStatus ClusterProcesses::status(const std::string& name) const {
  const auto until = std::chrono::steady_clock::now() + kPatience;
  while (true) {
    auto connected = session(name);
    if (connected == nullptr) return {};
    auto status = connected->status();
    if (status.ok()) return *std::move(status);
    if (std::chrono::steady_clock::now() > until) {
      ADD_FAILURE() << name << ": " << status.status();
      return {};
    }
  }
}

void ClusterProcesses::wait_until_level(const std::string& primary, const std::vector<std::string>& secondaries) {
  const auto until = std::chrono::steady_clock::now() + kPatience;
  // markers may go on: what there is now
  const uint64_t last_lsn = status(primary).last_lsn;
  auto is_level = [&] {
    const client::NodeStatus status = this->status(primary);
    for (const std::string& name : secondaries) {
      const auto found = std::find_if(status.secondaries.begin(), status.secondaries.end(),
                                      [&](const auto& one) { return one.node == name; });
      if (found == status.secondaries.end() || !found->serves || found->applied_lsn < last_lsn) return false;
    }
    return true;
  };
  while (!is_level()) {
    if (std::chrono::steady_clock::now() > until) {
      ADD_FAILURE() << "the secondaries do not catch up:\n" << scyper(primary, "status").text;
      return;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

std::map<std::string, std::string> ClusterProcesses::contents(const std::string& name) const {
  std::map<std::string, std::string> all;
  for (const char* table : kTables) {
    const Output out = scyper(name, absl::StrCat("sql -q -t -o csv -c 'SELECT * FROM ", table, "'"));
    EXPECT_EQ(out.code, 0) << name << ": " << out.text;
    std::vector<std::string> lines;
    std::istringstream text(out.text);
    for (std::string line; std::getline(text, line);) lines.push_back(line);
    std::sort(lines.begin(), lines.end());
    for (const std::string& line : lines) all[table] += line + "\n";
  }
  return all;
}

void ClusterProcesses::check(const std::vector<std::string>& nodes, int warehouses) const {
  std::map<std::string, std::string> first;
  for (const std::string& name : nodes) {
    auto connected = session(name);
    ASSERT_NE(connected, nullptr);
    const auto report = client::check_consistency(connected.get(), ch::Scale::tiny(warehouses), /*after_load=*/false);
    for (const auto& violation : report.violations) ADD_FAILURE() << name << ": " << violation.name << violation.error;
    EXPECT_GT(report.checked, 0);
    auto contents = this->contents(name);
    if (first.empty()) {
      first = std::move(contents);
      continue;
    }
    for (const auto& [table, rows] : contents)
      EXPECT_TRUE(rows == first[table]) << name << " differs in " << table << ": " << rows.size()
                                        << " bytes instead of " << first[table].size() << "\n"
                                        << rows.substr(0, 200);
  }
}

}  // namespace scyper::tests
