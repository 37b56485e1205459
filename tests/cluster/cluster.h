#pragma once

#include <sys/types.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "client/client.h"
#include "session.h"

namespace scyper::tests {

struct Output {
  int code = -1;
  std::string text;  // both streams
};
Output run_command(const std::string& command);

// Nodes as processes in one temporary directory; all end with it. Errors are test failures.
class ClusterProcesses {
 public:
  ClusterProcesses();
  ~ClusterProcesses();

  // name_space: network namespace, empty = this one; address: of the node in it.
  void start(const std::string& name, const std::string& flags, const std::string& address = "127.0.0.1",
             const std::string& name_space = "");
  // Of the nodes started from now on: "NAME=value ...".
  void set_environment(const std::string& environment) { environment_ = environment; }
  // As it was started first, with the same port.
  void start_again(const std::string& name);
  void kill(const std::string& name, int signal_number);
  void signal(const std::string& name, int signal_number);  // after SIGSTOP until it stands still
  int wait_for_end(const std::string& name);                // exit code

  std::string target(const std::string& name) const;
  std::string directory(const std::string& name) const { return directory_ + "/" + name; }
  std::string log_of(const std::string& name) const;
  // `scyper` with arguments, against a node.
  Output scyper(const std::string& name, const std::string& arguments) const;
  std::unique_ptr<client::Session> session(const std::string& name) const;
  client::NodeStatus status(const std::string& name) const;

  // Until every named secondary has applied what the primary has now.
  void wait_until_level(const std::string& primary, const std::vector<std::string>& secondaries);
  // All rows of all tables of CH-benCHmark, sorted.
  std::map<std::string, std::string> contents(const std::string& name) const;
  // TPC-C's conditions, and the same contents on all of them.
  void check(const std::vector<std::string>& nodes, int warehouses) const;

 private:
  struct Process {
    pid_t pid = -1;
    uint16_t port = 0;
    std::string command, address;
  };
  void launch(const std::string& name, Process* process);
  std::string directory_;
  std::map<std::string, Process> nodes_;
  std::string environment_;
};

}  // namespace scyper::tests
