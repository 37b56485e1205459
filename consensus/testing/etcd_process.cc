#include "testing/etcd_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "base/check.h"
#include "base/child_process.h"
#include "base/free_port.h"
#include "consensus/etcd.h"

namespace scyper::consensus {

namespace {

const char* const kPrograms[] = {"/usr/bin/etcd", "/usr/local/bin/etcd"};

std::string program() {
  if (const char* given = std::getenv("SCYPER_TEST_ETCD")) return ::access(given, X_OK) == 0 ? given : "";
  for (const char* path : kPrograms) {
    if (::access(path, X_OK) == 0) return path;
  }
  return "";
}

}  // namespace

bool EtcdProcess::is_installed() { return !program().empty(); }

EtcdProcess::EtcdProcess() : client_port_(free_port()), peer_port_(free_port()) {
  char name[] = "/tmp/scyper-etcd-XXXXXX";
  CHECK(::mkdtemp(name) != nullptr);
  directory_ = name;
}

EtcdProcess::~EtcdProcess() {
  kill(SIGKILL);
  std::error_code ignored;
  std::filesystem::remove_all(directory_, ignored);
}

std::string EtcdProcess::endpoint() const { return "127.0.0.1:" + std::to_string(client_port_); }

bool EtcdProcess::start() {
  const std::string client = "http://" + endpoint(), peer = "http://127.0.0.1:" + std::to_string(peer_port_);
  const std::vector<std::string> arguments = {program(),
                                              "--name=test",
                                              "--data-dir=" + directory_ + "/data",
                                              "--listen-client-urls=" + client,
                                              "--advertise-client-urls=" + client,
                                              "--listen-peer-urls=" + peer,
                                              "--initial-advertise-peer-urls=" + peer,
                                              "--initial-cluster=test=" + peer,
                                              "--initial-cluster-token=" + peer};
  std::vector<char*> raw;
  for (const std::string& argument : arguments) raw.push_back(const_cast<char*>(argument.c_str()));
  raw.push_back(nullptr);
  const std::string log_path = directory_ + "/log";
  pid_ = ::fork();
  if (pid_ == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    const int file = ::open(log_path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    ::dup2(file, STDOUT_FILENO);
    ::dup2(file, STDERR_FILENO);
    ::execv(raw[0], raw.data());
    ::_exit(127);
  }
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(120);  // a busy machine
  while (!answers()) {
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  return true;
}

bool EtcdProcess::answers() const {
  EtcdOptions options;
  options.endpoints = {endpoint()};
  options.call_us = 1'000'000;
  auto etcd = Etcd::make(options);
  return etcd.ok() && (*etcd)->read("/").ok();
}

void EtcdProcess::signal(int signal_number) {
  if (pid_ > 0) signal_child(pid_, signal_number);
}

void EtcdProcess::kill(int signal_number) {
  if (pid_ <= 0) return;
  ::kill(pid_, signal_number);
  ::waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

std::string EtcdProcess::log() const {
  std::ifstream file(directory_ + "/log");
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace scyper::consensus
